// See conversion_plan.h.
#include "checkpoint/conversion_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "checkpoint/band_converter.h"
#include "checkpoint/padding.h"
#include "formats/format.h"
#include "io/extent.h"

namespace sluice {

namespace {

constexpr FormatId kWritable[] = {FormatId::f32,     FormatId::bf16,     FormatId::fp8,
                                  FormatId::int8,    FormatId::int4,     FormatId::int4g32,
                                  FormatId::int4g64, FormatId::int4g128, FormatId::mxfp4};

FormatId usual_format(TensorKind kind) { return kind == TensorKind::experts ? FormatId::int4g64 : FormatId::int8; }

std::uint64_t bytes_as(FormatId id, Shape shape) {
  return format(id).weight_bytes(shape) + format(id).scale_bytes(shape);
}

}  // namespace

std::string writable_formats() {
  std::string names;
  for (const FormatId id : kWritable) names += (names.empty() ? "" : ", ") + std::string(format(id).name);
  return names;
}

Result<Target> parse_target(std::string_view text, std::string_view flag) {
  if (text == "usual") return Target{};
  if (text == "keep") return Target{Target::Choice::keep, FormatId::f32};
  for (const FormatId id : kWritable)
    if (format(id).name == text) return Target{Target::Choice::format, id};
  return fail(ErrorKind::usage, fmt::format("{}: '{}' is not a format that is written", flag, text),
              fmt::format("say usual, keep, {}", writable_formats()));
}

FormatId ConversionPlan::becomes(const ModelTensor& tensor) const {
  if (options_.packs || tensor.kind == TensorKind::kept) return tensor.format;
  const Target& target = options_.targets[static_cast<std::size_t>(tensor.kind)];
  if (target.choice == Target::Choice::keep) return tensor.format;
  if (target.choice == Target::Choice::format) return target.format;
  const FormatId usual = usual_format(tensor.kind);
  return bytes_as(usual, tensor.shape) < bytes_as(tensor.format, tensor.shape) ? usual : tensor.format;
}

// Padding before a block of `bytes` that would begin at `offset`. When packing, every block gets its pages; else only
// experts, and only where it is little.
std::uint64_t ConversionPlan::padding_before(const TensorBlock& block, std::uint64_t offset,
                                             std::uint64_t bytes) const {
  const bool is_expert = block.front().kind == TensorKind::experts;
  const bool aligned = options_.packs || (is_expert && bytes >= 16 * kDiskPage);
  return aligned ? page_ceil(offset) - offset : 0;
}

// As the files spell it where a tensor stays: its names are kept, and [n, 1, 4] stays [n, 1, 4]. What was a part of a
// larger tensor gets names of its own.
WrittenForm ConversionPlan::form_of(const ModelTensor& tensor) const {
  const FormatId to = becomes(tensor);
  const TensorRecord* const weights = to == tensor.format ? places_->whole(tensor.weights) : nullptr;
  const TensorRecord* const scales = weights != nullptr ? places_->whole(tensor.scales) : nullptr;
  if (weights == nullptr || (scales == nullptr && tensor.scales.bytes > 0))
    return written_form(to, tensor.name, tensor.shape);
  const auto spelled = [&](const TensorRecord& record) {
    const std::span<const std::uint32_t> shape = index_->shape(record);
    return StoredTensor{std::string(record.name()), record.dtype, {shape.begin(), shape.end()}};
  };
  WrittenForm form{spelled(*weights), {}};
  if (scales != nullptr) form.scales = spelled(*scales);
  return form;
}

// Null if the tensor does not become streams.
const std::vector<CompressedSlice>* ConversionPlan::streams_of(const ModelTensor& tensor) const {
  return options_.compression == nullptr || tensor.slices.empty() ? nullptr : options_.compression->find(tensor.name);
}

std::uint64_t ConversionPlan::bytes_of(const ModelTensor& tensor) const {
  const std::vector<CompressedSlice>* const streams = streams_of(tensor);
  if (streams == nullptr) return bytes_as(becomes(tensor), tensor.shape);
  std::uint64_t bytes = 0;
  for (const CompressedSlice& slice : *streams) bytes += slice.stream.bytes();
  return bytes;
}

// Puts a unit of `bytes` behind those before it, in a new shard if the last one is full.
void ConversionPlan::take_unit(std::uint64_t bytes) {
  if (begins_.size() == 1 || (filled_ > 0 && filled_ + bytes > options_.shard_bytes)) {
    begins_.push_back(begins_.back());
    filled_ = 0;
  }
  ++begins_.back();
  filled_ += bytes;
}

Result<> ConversionPlan::take_tensor(const ModelTensor& tensor) {
  const FormatId to = becomes(tensor);
  const Format& stored = format(to);
  const std::string hint = options_.packs ? "convert its kind of tensors instead"
                                          : fmt::format("choose another format for --{}", kind_name(tensor.kind));
  if (tensor.shape.cols % stored.block_cols != 0)
    return fail(ErrorKind::bad_input,
                fmt::format("{} has {} columns, and {} needs a multiple of {}", tensor.name, tensor.shape.cols,
                            stored.name, stored.block_cols),
                hint);
  if (to == tensor.format && tensor.scale_phase != 0)
    return fail(ErrorKind::unsupported,
                fmt::format("{} shares {} scales with its neighbour in one tensor and cannot stay so", tensor.name,
                            stored.name),
                hint);
  KindTotals& totals = totals_[static_cast<std::size_t>(tensor.kind)];
  ++totals.tensors;
  totals.bytes_before += tensor.weights.bytes + tensor.scales.bytes;
  totals.bytes_after += bytes_as(to, tensor.shape);
  totals.before.insert(tensor.format);
  totals.after.insert(to);
  band_bytes_ = std::max(band_bytes_, BandConverter::bytes_held(tensor.format, to, tensor.shape));
  return {};
}

// `used`: which tensors of the files were asked for, by number.
Result<> ConversionPlan::take_block(std::size_t number, std::vector<bool>& used) {
  std::uint64_t bytes = 0;
  for (const ModelTensor& tensor : tensors_->block(number)) {
    TRY(take_tensor(tensor));
    for (const FileRun& run : {tensor.weights, tensor.scales})
      if (run.bytes > 0) used[index_->number(places_->at(run))] = true;
    bytes += bytes_of(tensor);
  }
  take_unit(bytes);
  return {};
}

// What no census asks for: parts that sluice does not run. They belong to the model and come along.
void ConversionPlan::take_rest(const std::vector<bool>& used) {
  KindTotals& totals = totals_[static_cast<std::size_t>(TensorKind::kept)];
  for (std::size_t number = 0; number < index_->count(); ++number) {
    const TensorRecord& tensor = index_->tensor(number);
    if (used[number] || is_padding(tensor.name())) continue;
    rest_.push_back(number);
    ++totals.tensors;
    totals.bytes_before += tensor.bytes;
    totals.bytes_after += tensor.bytes;
    take_unit(tensor.bytes);
  }
}

Result<ConversionPlan> ConversionPlan::make(const ModelTensors& tensors, const TensorIndex& index,
                                            const ConversionOptions& options) {
  ConversionPlan plan(tensors, index, options);
  plan.begins_ = {0};
  std::vector<bool> used(index.count());
  for (std::size_t block = 0; block < tensors.blocks(); ++block) TRY(plan.take_block(block, used));
  plan.take_rest(used);
  for (std::size_t shard = 0; shard + 1 < plan.begins_.size(); ++shard) {
    plan.file_bytes_.push_back(0);
    TRY_TAKE(const ConvertedShard made, plan.shard(shard));
    plan.file_bytes_.back() = made.layout.file_bytes();
  }
  return plan;
}

std::uint64_t ConversionPlan::file_bytes() const {
  return std::accumulate(file_bytes_.begin(), file_bytes_.end(), std::uint64_t{0});
}

bool ConversionPlan::changes_anything() const {
  for (const KindTotals& totals : totals_)
    if (totals.before != totals.after || totals.bytes_before != totals.bytes_after) return true;
  return false;
}

struct ConversionPlan::Part {
  StoredTensor stored;
  FileRun from;
  std::size_t* number = nullptr;           // where its place is noted, unless it is a stream
  const CompressedSlice* slice = nullptr;  // the stream
};

void ConversionPlan::add_parts(const ModelTensor& tensor, std::vector<Part>& parts, ConvertedTensor& converted) const {
  if (const std::vector<CompressedSlice>* const streams = streams_of(tensor)) {
    for (const CompressedSlice& slice : *streams)
      parts.push_back({{slice.name, Dtype::u8, {slice.stream.bytes()}}, slice.from, nullptr, &slice});
    return;
  }
  WrittenForm form = form_of(tensor);
  if (form.scales) parts.push_back({std::move(*form.scales), tensor.scales, &converted.scales});
  parts.push_back({std::move(form.weights), tensor.weights, &converted.weights});
}

// Appends a block to a shard: wide elements first, so that all are aligned where the block is, and streams last, since
// they are read behind the others (block_layout.h).
void ConversionPlan::add_block(std::size_t number, std::uint64_t& offset, std::vector<StoredTensor>& stored,
                               ConvertedShard& shard) const {
  TensorBlock block = tensors_->block(number);
  std::vector<Part> parts;
  std::vector<ConvertedTensor> converted(block.size());
  std::uint64_t bytes = 0;
  for (std::size_t tensor = 0; tensor < block.size(); ++tensor) add_parts(block[tensor], parts, converted[tensor]);
  for (const Part& part : parts) bytes += part.stored.bytes();
  std::ranges::stable_sort(parts, std::ranges::greater(),
                           [](const Part& part) { return part.slice != nullptr ? 0 : dtype_bits(part.stored.type); });
  if (const std::uint64_t padding = padding_before(block, offset, bytes); padding > 0) {
    stored.push_back(padding_tensor(number, padding));
    offset += padding;
  }
  for (Part& part : parts) {
    if (part.number != nullptr) *part.number = stored.size();
    if (part.slice != nullptr)
      shard.compressed.push_back({part.slice, stored.size()});
    else if (options_.packs)
      shard.copied.push_back({part.from, stored.size()});
    stored.push_back(std::move(part.stored));
  }
  offset += bytes;
  if (options_.packs) return;
  for (std::size_t tensor = 0; tensor < block.size(); ++tensor) {
    converted[tensor].to = becomes(block[tensor]);
    converted[tensor].from = std::move(block[tensor]);
    shard.converted.push_back(std::move(converted[tensor]));
  }
}

Result<ConvertedShard> ConversionPlan::shard(std::size_t number) const {
  SLUICE_CHECK(number < shards());
  ConvertedShard shard;
  std::vector<StoredTensor> stored;
  std::uint64_t offset = 0;  // of what comes next, from the first tensor on
  for (std::size_t unit = begins_[number]; unit < begins_[number + 1]; ++unit) {
    if (unit < tensors_->blocks()) {
      add_block(unit, offset, stored, shard);
      continue;
    }
    const TensorRecord& tensor = index_->tensor(rest_[unit - tensors_->blocks()]);
    const std::span<const std::uint32_t> shape = index_->shape(tensor);
    shard.copied.push_back({{tensor.file, tensor.offset, tensor.bytes}, stored.size()});
    stored.push_back({std::string(tensor.name()), tensor.dtype, {shape.begin(), shape.end()}});
    offset += tensor.bytes;
  }
  TRY_TAKE(shard.layout, lay_out_in_order(std::move(stored), kDiskPage));
  return shard;
}

}  // namespace sluice
