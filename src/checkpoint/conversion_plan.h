// What every tensor of a checkpoint becomes, and where it will lie: decided in full before the first byte is written.
//
// A kind of tensors (model_tensors.h) becomes a format, stays, or becomes what is usual for it. Usual is what the
// measured sensitivity of the families supports (docs/converted.md), and never something larger than what is there.
// In the output the tensors of a block follow each other, scales before weights, and an expert begins on a disk page:
// one read gets it. Blocks are never cut, so a shard is a run of blocks. Equal sources and targets give equal plans.
// Packing is a conversion that changes no byte of any tensor, only where they lie: there every block begins on a page.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/compression.h"
#include "checkpoint/model_tensors.h"
#include "checkpoint/records_by_place.h"
#include "checkpoint/safetensors_writer.h"
#include "checkpoint/storage.h"
#include "checkpoint/tensor_index.h"

namespace sluice {

struct Target {
  enum class Choice : std::uint8_t { usual, keep, format };
  Choice choice = Choice::usual;
  FormatId format = FormatId::f32;  // if that is the choice
};
// "usual", "keep" or the name of a format that is written. `flag` names the origin in the error (usage).
Result<Target> parse_target(std::string_view text, std::string_view flag);
std::string writable_formats();  // "f32, bf16, ..."

struct ConversionOptions {
  std::array<Target, kTensorKinds> targets = {};       // by TensorKind; `kept` ones are kept
  std::uint64_t shard_bytes = std::uint64_t{4} << 30;  // of one file, unless a single block is larger
  const Compression* compression = nullptr;            // when packing: what becomes a stream; must outlive the plan
  bool packs = false;  // bytes are copied unseen, whatever the targets say, and every block begins on a disk page
};

struct ConvertedTensor {
  ModelTensor from;
  FormatId to = FormatId::f32;
  std::size_t weights = 0, scales = 0;  // their numbers in the shard's layout; scales: where the format has them
};
struct CopiedTensor {  // as it is: all of a packed checkpoint, and parts that sluice does not run
  FileRun from;
  std::size_t number = 0;
};
struct StreamTensor {  // compressed rows
  const CompressedSlice* slice = nullptr;
  std::size_t number = 0;
};
struct ConvertedShard {
  SafetensorsLayout layout;
  std::vector<ConvertedTensor> converted;
  std::vector<CopiedTensor> copied;
  std::vector<StreamTensor> compressed;
};

struct KindTotals {
  std::uint64_t tensors = 0, bytes_before = 0, bytes_after = 0;
  std::set<FormatId> before, after;
};

class ConversionPlan {
 public:
  // Everything given must outlive the plan. A format that a tensor's shape does not allow: bad_input.
  static Result<ConversionPlan> make(const ModelTensors& tensors, const TensorIndex& index,
                                     const ConversionOptions& options);

  const KindTotals& totals(TensorKind kind) const { return totals_[static_cast<std::size_t>(kind)]; }
  std::uint64_t shard_bytes() const { return options_.shard_bytes; }
  bool packs() const { return options_.packs; }
  const Compression* compression() const { return options_.compression; }
  std::size_t shards() const { return file_bytes_.size(); }
  std::uint64_t file_bytes(std::size_t shard) const { return file_bytes_[shard]; }
  std::uint64_t file_bytes() const;                         // of all
  std::uint64_t band_bytes() const { return band_bytes_; }  // what a thread that converts holds at most
  bool changes_anything() const;
  // Made anew for each call, so that a plan for half a million tensors stays small.
  Result<ConvertedShard> shard(std::size_t number) const;

 private:
  ConversionPlan(const ModelTensors& tensors, const TensorIndex& index, const ConversionOptions& options)
      : tensors_(&tensors), index_(&index), places_(std::make_shared<const RecordsByPlace>(index)), options_(options) {}
  FormatId becomes(const ModelTensor& tensor) const;
  Result<> take_tensor(const ModelTensor& tensor);
  Result<> take_block(std::size_t number, std::vector<bool>& used);
  void take_rest(const std::vector<bool>& used);
  void take_unit(std::uint64_t bytes);
  std::uint64_t padding_before(const TensorBlock& block, std::uint64_t offset, std::uint64_t bytes) const;
  WrittenForm form_of(const ModelTensor& tensor) const;
  const std::vector<CompressedSlice>* streams_of(const ModelTensor& tensor) const;
  std::uint64_t bytes_of(const ModelTensor& tensor) const;
  struct Part;
  void add_parts(const ModelTensor& tensor, std::vector<Part>& parts, ConvertedTensor& converted) const;
  void add_block(std::size_t number, std::uint64_t& offset, std::vector<StoredTensor>& stored,
                 ConvertedShard& shard) const;

  const ModelTensors* tensors_;
  const TensorIndex* index_;
  std::shared_ptr<const RecordsByPlace> places_;  // plans are copied
  ConversionOptions options_;
  std::array<KindTotals, kTensorKinds> totals_;
  std::vector<std::size_t> rest_;    // numbers of tensors that are copied unseen
  std::vector<std::size_t> begins_;  // of each shard, and the end: blocks, then the rest
  std::uint64_t filled_ = 0;         // bytes of the shard that grows while the plan is made
  std::uint64_t band_bytes_ = 0;
  std::vector<std::uint64_t> file_bytes_;
};

}  // namespace sluice
