// How checkpoints spell a stored matrix: the table of naming conventions, and the search for one tensor by it.
//
// A family asks for "….weight"; whether that is one plain tensor or packed numbers with scales beside them is read off
// the names and types that are there, never off a quantization config. A new convention is one line of the table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/block.h"
#include "checkpoint/safetensors_writer.h"
#include "checkpoint/tensor_index.h"

namespace sluice {

// What was found for a TensorSpec: whole tensors, before any slice of rows.
struct StoredForm {
  FormatId format = FormatId::f32;
  const TensorRecord* weights = nullptr;
  const TensorRecord* scales = nullptr;  // null where the format has none
};

// Why nothing fit. `missing` names what is not there; otherwise `problem` is a sentence about what is there instead.
struct StorageProblem {
  std::string missing;
  std::string problem;
};

// True if the tensor holds the E8M0 scales of an MXFP4 tensor beside it.
bool is_mxfp4_scale(const TensorIndex& index, const TensorRecord& tensor);

tl::expected<StoredForm, StorageProblem> find_stored(const TensorIndex& index, const TensorSpec& spec);

// The tensor of a table of whole numbers: I64 or I32.
tl::expected<const TensorRecord*, StorageProblem> find_ids(const TensorIndex& index, const TensorSpec& spec);

// bf16 rows of a matrix as a stream (formats/bf16_stream.h), which `pack --compress` writes for each step of the walk:
// "NAME.sluice_bf16.FIRST.COUNT", bytes without a shape. Never beside the matrix itself.
inline constexpr std::string_view kCompressedType = "bf16z";  // for people
std::string compressed_name(std::string_view name, int first_row, int rows);
bool is_compressed(const TensorRecord& tensor);
// True if rows of this matrix are streams, whichever.
bool has_compressed_rows(const TensorIndex& index, const TensorSpec& spec);
// The stream of the rows that the spec holds; null if there is none.
tl::expected<const TensorRecord*, StorageProblem> find_compressed(const TensorIndex& index, const TensorSpec& spec);

// How sluice writes a matrix: names, types and shapes of its tensors. find_stored reads it back as what it was.
struct WrittenForm {
  StoredTensor weights;
  std::optional<StoredTensor> scales;  // none where the format has none
};
WrittenForm written_form(FormatId format, const std::string& name, Shape shape);

}  // namespace sluice
