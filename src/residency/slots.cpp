// See slots.h.
#include "residency/slots.h"

#include <sys/mman.h>

#include "base/check.h"
#include "io/extent.h"

namespace sluice {

Slots::Slots(int count, std::uint64_t slot_bytes)
    : slot_bytes_(slot_bytes),
      arena_(PageArena::of_weights(static_cast<std::uint64_t>(count) * slot_bytes, "the experts")) {
  SLUICE_CHECK(count >= 1 && slot_bytes % kDiskPage == 0);
  SLUICE_CHECK(arena_.size() == static_cast<std::uint64_t>(count) * slot_bytes);
  places_.resize(static_cast<std::size_t>(count));
  std::vector<int>& empty = list(SlotState::empty);
  for (int slot = count - 1; slot >= 0; --slot) {  // the lowest is last: it is taken first
    places_[static_cast<std::size_t>(slot)].index = static_cast<int>(empty.size());
    empty.push_back(slot);
  }
}

int Slots::first_empty() const {
  const std::vector<int>& empty = list(SlotState::empty);
  return empty.empty() ? -1 : empty.back();
}

std::span<std::byte> Slots::bytes(int slot) const {
  return arena_.slice(static_cast<std::uint64_t>(slot) * slot_bytes_, slot_bytes_);
}

void Slots::fill(int slot) {
  SLUICE_CHECK(state(slot) == SlotState::empty || state(slot) == SlotState::held);
  move(slot, SlotState::in_flight);
}

void Slots::landed(int slot) {
  SLUICE_CHECK(state(slot) == SlotState::in_flight);
  move(slot, SlotState::held);
}

void Slots::failed(int slot) {
  SLUICE_CHECK(state(slot) == SlotState::in_flight || state(slot) == SlotState::held);
  move(slot, SlotState::empty);
}

void Slots::give_back(int slot) {
  SLUICE_CHECK(state(slot) == SlotState::empty);
  const std::span<std::byte> memory = bytes(slot);
  ::madvise(memory.data(), memory.size(), MADV_DONTNEED);
  move(slot, SlotState::away);
}

void Slots::take_back(int slot) {
  SLUICE_CHECK(state(slot) == SlotState::away);
  move(slot, SlotState::empty);
}

Lease Slots::lease(int slot, const BlockLayout* layout) {
  SLUICE_CHECK(state(slot) == SlotState::held || state(slot) == SlotState::leased);
  if (places_[static_cast<std::size_t>(slot)].leases++ == 0) move(slot, SlotState::leased);
  return Lease(this, slot, bytes(slot).data(), layout);
}

void Slots::release(int slot) {
  SLUICE_CHECK(state(slot) == SlotState::leased);
  if (--places_[static_cast<std::size_t>(slot)].leases == 0) move(slot, SlotState::held);
}

void Slots::move(int slot, SlotState to) {
  Place& mine = places_[static_cast<std::size_t>(slot)];
  std::vector<int>& from = list(mine.state);
  const int last = from.back();
  from[static_cast<std::size_t>(mine.index)] = last;
  places_[static_cast<std::size_t>(last)].index = mine.index;
  from.pop_back();
  mine.state = to;
  mine.index = static_cast<int>(list(to).size());
  list(to).push_back(slot);
}

}  // namespace sluice
