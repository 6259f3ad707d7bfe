// See block_layout.h.
#include "checkpoint/block_layout.h"

#include <algorithm>
#include <vector>

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

}  // namespace

BlockLayout lay_out(std::span<const FoundTensor> tensors) {
  BlockLayout layout;
  const auto add = [&layout](const FileRun& run) {
    layout.extents.push_back({run.file, run.offset, run.bytes, 0});
    layout.payload_bytes += run.bytes;
  };
  layout.extents.reserve(2 * tensors.size());
  for (const FoundTensor& tensor : tensors) {
    add(tensor.weights);
    if (tensor.scales) add(*tensor.scales);
  }
  std::sort(layout.extents.begin(), layout.extents.end(), [](const Extent& left, const Extent& right) {
    return left.file != right.file ? left.file < right.file : left.offset < right.offset;
  });
  merge_and_place(layout);

  layout.tensors.reserve(tensors.size());
  for (const FoundTensor& tensor : tensors)
    layout.tensors.push_back({tensor.format, tensor.shape, place_of(tensor.weights, layout.extents),
                              tensor.scales ? place_of(*tensor.scales, layout.extents) : kNoScales,
                              tensor.scale_phase});
  return layout;
}

}  // namespace sluice
