// See merge_table.h.
#include "text/merge_table.h"

namespace sluice {

std::size_t MergeTable::slot_of(int left, int right) const {
  std::uint64_t hash = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  hash = (hash ^ hash >> 31) * 0x9e3779b97f4a7c15u;
  hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(hash >> 32) & mask;
  for (;; slot = (slot + 1) & mask) {
    if (slots_[slot] == 0) return slot;
    const Merge& merge = merges_[slots_[slot] - 1];
    if (merge.left == left && merge.right == right) return slot;
  }
}

bool MergeTable::add(int left, int right, int result) {
  if ((merges_.size() + 1) * 8 > slots_.size() * 5) grow();
  const std::size_t slot = slot_of(left, right);
  if (slots_[slot] != 0) return false;
  merges_.push_back({left, right, {next_rank_++, result}});
  slots_[slot] = static_cast<std::uint32_t>(merges_.size());
  return true;
}

void MergeTable::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::size_t index = 0; index < merges_.size(); ++index)
    slots_[slot_of(merges_[index].left, merges_[index].right)] = static_cast<std::uint32_t>(index + 1);
}

void MergeTable::shrink() { merges_.shrink_to_fit(); }

Joined MergeTable::find(int left, int right) const {
  const std::uint32_t held = slots_[slot_of(left, right)];
  return held == 0 ? Joined{} : merges_[held - 1].joined;
}

std::uint64_t MergeTable::resident_bytes() const {
  return merges_.capacity() * sizeof(Merge) + slots_.capacity() * sizeof(std::uint32_t);
}

}  // namespace sluice
