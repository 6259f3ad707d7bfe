// Writes safetensors files: the way the released ones are laid out, or in an order of the caller's.
//
// Order inside a released file: by type (wide ones first: F32, BF16, U8), then by name bytewise; the JSON header is
// padded with spaces to a multiple of 8 and has no __metadata__. Source: docs/specs of Kimi K3, section 2.1.
// Tensor bytes are asked for in pieces as they are needed, so a tensor never has to fit in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "checkpoint/dtype.h"
#include "io/output_file.h"

namespace sluice {

struct StoredTensor {
  std::string name;
  Dtype type = Dtype::f32;
  std::vector<std::uint64_t> shape;

  std::uint64_t bytes() const;
};

// A file before it is written: the order of its tensors, its header, and where everything will lie.
struct SafetensorsLayout {
  std::vector<StoredTensor> tensors;  // in file order
  std::vector<std::uint64_t> begins;  // of tensor i in the file; one more entry: the end of the file
  std::string head;                   // length word, JSON header, padding

  std::uint64_t file_bytes() const { return begins.back(); }
  std::uint64_t payload_bytes() const { return begins.back() - head.size(); }
};

// As in a released file. Fails if a name occurs twice.
Result<SafetensorsLayout> lay_out_safetensors(std::vector<StoredTensor> tensors);
// In the order given, the first tensor at a multiple of head_multiple. Fails if a name occurs twice.
Result<SafetensorsLayout> lay_out_in_order(std::vector<StoredTensor> tensors, std::uint64_t head_multiple);

// Stores the bytes [offset, offset + piece.size()) of layout.tensors[tensor] into `piece`. A piece never cuts an
// element in two. With one thread the pieces of a file come in rising order.
using FillTensor = FunctionRef<Result<>(std::size_t tensor, std::uint64_t offset, std::span<std::byte> piece)>;

struct WriteOptions {
  int threads = 1;  // fill and write side by side; above 1, `fill` is called by several threads at once
  Durability durability = Durability::synced;
};

// Writes `path`; an error of `fill` or of the disk leaves no file behind.
Result<> write_safetensors(const std::string& path, const SafetensorsLayout& layout, FillTensor fill,
                           WriteOptions options = {});

// "model-00001-of-000096.safetensors": five digits, then six. Requires: 1 <= shard <= shards.
std::string shard_name(int shard, int shards);

// DIRECTORY/model.safetensors.index.json for shards laid out as given, in the order of their numbers.
Result<> write_safetensors_index(const std::string& directory, std::span<const SafetensorsLayout> shards);

}  // namespace sluice
