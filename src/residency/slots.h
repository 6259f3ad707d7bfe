// A fixed number of equal slots in one arena, each in exactly one state and on that state's list.
//
//   away ◄─ give_back ─ empty (take_back returns it)
//   empty ── fill ──► in flight ── landed ──► held ◄── lease / release ──► leased
//     ▲                   │                    │
//     └────── failed ─────┘                    └─ fill (evicts) ─► in flight
//
// The lists are the only record of the states, so "on two lists" cannot be written down. Every transition checks where
// it comes from: a slot that is in flight or leased cannot be filled. Memory is touched only where a slot is filled;
// the lowest empty slots are filled first. Used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "io/aligned.h"
#include "residency/lease.h"

namespace sluice {

enum class SlotState : std::uint8_t { empty, in_flight, held, leased, away };

class Slots final : public LeaseHome {
 public:
  // Requires: count >= 1; slot_bytes is a multiple of the disk page.
  Slots(int count, std::uint64_t slot_bytes);
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  int count() const { return static_cast<int>(places_.size()); }
  SlotState state(int slot) const { return place(slot).state; }
  std::span<const int> in(SlotState state) const { return list(state); }  // in no particular order
  int first_empty() const;                                                // -1 if none
  std::span<std::byte> bytes(int slot) const;

  void fill(int slot);    // empty or held -> in flight
  void landed(int slot);  // in flight -> held
  void failed(int slot);  // in flight or held -> empty
  // empty -> away: the system gets its memory, but for what huge pages share with neighbours.
  void give_back(int slot);
  void take_back(int slot);  // away -> empty
  // held or leased -> leased; one release for each. `layout` must live as long as the lease.
  Lease lease(int slot, const BlockLayout* layout);
  void release(int slot) override;  // called by leases

 private:
  struct Place {
    SlotState state = SlotState::empty;
    int index = 0;   // in its list
    int leases = 0;  // > 0 exactly while leased
  };
  const Place& place(int slot) const { return places_[static_cast<std::size_t>(slot)]; }
  std::vector<int>& list(SlotState state) { return lists_[static_cast<std::size_t>(state)]; }
  const std::vector<int>& list(SlotState state) const { return lists_[static_cast<std::size_t>(state)]; }
  void move(int slot, SlotState to);

  std::uint64_t slot_bytes_;
  PageArena arena_;
  std::vector<Place> places_;
  std::array<std::vector<int>, 5> lists_;  // by state
};

}  // namespace sluice
