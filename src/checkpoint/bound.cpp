// See bound.h.
#include "checkpoint/bound.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace sluice {

namespace {

constexpr int kOwnLayout = -1;  // in Entry::file: the shape is absolute and belongs to this expert alone
// How far back a shape is looked for. Releases have one or two; a checkpoint in disorder must not make this quadratic.
constexpr std::size_t kShapesTried = 64;

bool same_shape(const BlockLayout& left, const BlockLayout& right) {
  return left.extents == right.extents && left.payload_bytes == right.payload_bytes && left.tensors == right.tensors;
}

// Moves a layout of one extent to another place on disk. The remainder modulo a page moves with it into the slot.
void move_to(BlockLayout& layout, int file, std::uint64_t offset) {
  Extent& extent = layout.extents.front();
  const std::uint64_t slot_offset = offset % kDiskPage;
  const std::uint64_t shift = slot_offset - extent.slot_offset;  // modulo 2^64: may be "negative"
  for (Placement& tensor : layout.tensors) {
    tensor.weights += shift;
    if (tensor.scales != kNoScales) tensor.scales += shift;
  }
  extent = {file, offset, extent.bytes, slot_offset};
  layout.slot_bytes = page_ceil(slot_offset + extent.bytes);
}

}  // namespace

ExpertTable::ExpertTable(int layers, int experts)
    : layers_(layers),
      experts_(experts),
      entries_(static_cast<std::size_t>(layers) * static_cast<std::size_t>(experts)) {}

const ExpertTable::Entry& ExpertTable::entry(int layer, int expert) const {
  SLUICE_DCHECK(layer >= 0 && layer < layers_ && expert >= 0 && expert < experts_);
  return entries_[static_cast<std::size_t>(layer) * static_cast<std::size_t>(experts_) +
                  static_cast<std::size_t>(expert)];
}

bool ExpertTable::has(int layer, int expert) const {
  return layer >= 0 && layer < layers_ && expert >= 0 && expert < experts_ && entry(layer, expert).shape >= 0;
}

BlockLayout ExpertTable::layout(int layer, int expert) const {
  const Entry& found = entry(layer, expert);
  SLUICE_CHECK(found.shape >= 0);
  BlockLayout layout = shapes_[static_cast<std::size_t>(found.shape)];
  if (found.file != kOwnLayout) move_to(layout, found.file, found.offset);
  return layout;
}

std::string ExpertTable::label(int layer, int expert) const { return fmt::format("layer {} expert {}", layer, expert); }

void ExpertTable::set(int layer, int expert, BlockLayout layout) {
  SLUICE_CHECK(layer >= 0 && layer < layers_ && expert >= 0 && expert < experts_ && !has(layer, expert));
  ++count_;
  slot_bytes_ = std::max(slot_bytes_, layout.slot_bytes);
  payload_bytes_ += layout.payload_bytes;

  Entry place{-1, kOwnLayout, 0};
  const bool movable = layout.extents.size() == 1;
  if (movable) {
    place.file = layout.extents.front().file;
    place.offset = layout.extents.front().offset;
    move_to(layout, 0, 0);
    const std::size_t oldest = shapes_.size() - std::min(shapes_.size(), kShapesTried);
    for (std::size_t shape = shapes_.size(); shape-- > oldest && place.shape < 0;)
      if (same_shape(shapes_[shape], layout)) place.shape = static_cast<int>(shape);
  }
  if (place.shape < 0) {
    place.shape = static_cast<int>(shapes_.size());
    shapes_.push_back(std::move(layout));
  }
  entries_[static_cast<std::size_t>(layer) * static_cast<std::size_t>(experts_) + static_cast<std::size_t>(expert)] =
      place;
}

}  // namespace sluice
