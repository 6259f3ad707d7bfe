// See block_layout.h.
#include "checkpoint/block_layout.h"

#include <algorithm>
#include <vector>

#include "formats/format.h"

namespace sluice {

namespace {

std::uint64_t end_of(const Extent& extent) { return extent.offset + extent.bytes; }

// `extents` sorted by file and offset: joins neighbours, then gives each its pages.
void merge_and_place(BlockLayout& layout) {
  std::vector<Extent>& extents = layout.extents;
  std::size_t kept = 0;
  for (std::size_t next = 1; next < extents.size(); ++next) {
    Extent& run = extents[kept];
    const Extent& candidate = extents[next];
    const bool touches = candidate.offset <= end_of(run) || page_floor(candidate.offset) < page_ceil(end_of(run));
    if (candidate.file == run.file && touches)
      run.bytes = std::max(end_of(run), end_of(candidate)) - run.offset;
    else
      extents[++kept] = candidate;
  }
  extents.resize(extents.empty() ? 0 : kept + 1);
  for (Extent& extent : extents) {
    const std::uint64_t remainder = extent.offset % kDiskPage;
    extent.slot_offset = layout.slot_bytes + remainder;
    layout.slot_bytes += page_ceil(remainder + extent.bytes);
  }
}

// Where the first byte of `run` lies in the slot.
std::uint64_t place_of(const FileRun& run, const std::vector<Extent>& extents) {
  const auto after =
      std::upper_bound(extents.begin(), extents.end(), run, [](const FileRun& wanted, const Extent& extent) {
        return wanted.file != extent.file ? wanted.file < extent.file : wanted.offset < extent.offset;
      });
  const Extent& holder = *(after - 1);
  return holder.slot_offset + (run.offset - holder.offset);
}

void sort_extents(BlockLayout& layout) {
  std::sort(layout.extents.begin(), layout.extents.end(), [](const Extent& left, const Extent& right) {
    return left.file != right.file ? left.file < right.file : left.offset < right.offset;
  });
}

// Puts the compressed tensors of `tensors` behind what `layout` holds.
void add_compressed(std::span<const FoundTensor> tensors, BlockLayout& layout) {
  constexpr std::uint64_t kAligned = 64;
  BlockLayout streams;
  for (const FoundTensor& tensor : tensors)
    if (tensor.is_compressed)
      streams.extents.push_back({tensor.weights.file, tensor.weights.offset, tensor.weights.bytes, 0});
  if (streams.extents.empty()) return;
  sort_extents(streams);
  merge_and_place(streams);
  for (std::size_t number = 0; number < tensors.size(); ++number)
    if (const FoundTensor& tensor = tensors[number]; tensor.is_compressed)
      layout.compressed.push_back(
          {static_cast<int>(number), place_of(tensor.weights, streams.extents), tensor.weights.bytes});
  std::ranges::sort(layout.compressed, {}, &CompressedTensor::stream);

  std::uint64_t end = layout.slot_bytes, begin_of_streams = layout.slot_bytes;
  for (const CompressedTensor& each : layout.compressed) {
    Placement& placed = layout.tensors[static_cast<std::size_t>(each.tensor)];
    placed.weights = (end + kAligned - 1) / kAligned * kAligned;
    end = placed.weights + format(placed.format).weight_bytes(placed.shape);
    const std::uint64_t stream_end = each.stream + each.bytes;
    if (end > stream_end) begin_of_streams = std::max(begin_of_streams, page_ceil(end - stream_end));
  }
  for (CompressedTensor& each : layout.compressed) {
    each.stream += begin_of_streams;
    layout.payload_bytes += each.bytes;
  }
  for (Extent extent : streams.extents) {
    extent.slot_offset += begin_of_streams;
    layout.extents.push_back(extent);
  }
  layout.slot_bytes = begin_of_streams + streams.slot_bytes;
}

}  // namespace

BlockLayout lay_out(std::span<const FoundTensor> tensors) {
  BlockLayout layout;
  const auto add = [&layout](const FileRun& run) {
    layout.extents.push_back({run.file, run.offset, run.bytes, 0});
    layout.payload_bytes += run.bytes;
  };
  layout.extents.reserve(2 * tensors.size());
  for (const FoundTensor& tensor : tensors) {
    if (tensor.is_compressed) continue;
    add(tensor.weights);
    if (tensor.scales) add(*tensor.scales);
  }
  sort_extents(layout);
  merge_and_place(layout);

  layout.tensors.reserve(tensors.size());
  for (const FoundTensor& tensor : tensors)
    layout.tensors.push_back(
        {tensor.format, tensor.shape, tensor.is_compressed ? 0 : place_of(tensor.weights, layout.extents),
         tensor.scales ? place_of(*tensor.scales, layout.extents) : kNoScales, tensor.scale_phase});
  add_compressed(tensors, layout);
  return layout;
}

}  // namespace sluice
