// Pinned steps, and a ring that runs ahead of the walker. See trunk_store.h.
//
// Pinned steps are read once, each in its turn of the first walk, so that none delays one that is needed before it.
// The ring holds the steps that come next, oldest first: the one in use, then those read ahead. A step leaves when its
// lease is given back, and its room is used for reading ahead at once. Where the walk will begin anew is taken from
// the walk before (prefill chunks do not visit the head). Read-ahead that turns out wrong is taken back.
//
// An idle owner has the pinned steps read in order, each behind everything that anybody asks for; the walker then only
// hurries those that are still on their way.
#include "residency/trunk_store.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include "base/check.h"
#include "io/aligned.h"
#include "residency/block_check.h"
#include "residency/ring_space.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

enum class Arrival { absent, reading, here };

class RingTrunk final : public TrunkStore, public LeaseHome {
 public:
  RingTrunk(std::vector<BlockSpec> specs, std::vector<BlockLayout> layouts, TrunkSizes sizes, ReadQueue& queue,
            std::unique_ptr<BlockUnpacker> unpacker);
  ~RingTrunk();
  RingTrunk(const RingTrunk&) = delete;
  RingTrunk& operator=(const RingTrunk&) = delete;

  // Reads in flight know their places here, so none of this can be left half-done.
  Result<Lease> acquire(int step) noexcept override;
  bool tend() noexcept override;
  std::optional<Lease> peek(int step) noexcept override;
  TrunkStats stats() const override { return stats_; }
  void release(int step) noexcept override;

 private:
  struct Pinned {
    bool stays = false;     // false: a step of the ring
    int next_of_ring = -1;  // the first step after this one that passes through the ring; -1: none
    std::uint64_t offset = 0;
    Arrival arrival = Arrival::absent;
    bool unpacked = false;
    bool idle = false;  // nobody has asked for it yet
    std::optional<Error> error;
  };
  struct Ahead {  // a step in the ring
    int step = 0;
    std::uint64_t tag = 0;
    std::uint64_t offset = 0;
    Arrival arrival = Arrival::reading;
    std::optional<Error> error;
    bool idle = false;  // it was read for nobody
  };

  int steps() const { return static_cast<int>(layouts_.size()); }
  const BlockLayout& layout(int step) const { return layouts_[static_cast<std::size_t>(step)]; }
  std::uint64_t room(int step) const { return page_ceil(layout(step).slot_bytes); }
  Pinned& pinned(int step) { return pinned_[static_cast<std::size_t>(step)]; }
  bool stays(int step) const { return pinned_[static_cast<std::size_t>(step)].stays; }

  void note_walk(int step);
  int following(int step) const;
  Result<Lease> acquire_pinned(int step);
  Result<Lease> acquire_ahead(int step);
  bool try_read(int step, Urgency urgency);  // false if the ring has no room
  void read_pinned(int step, Urgency urgency);
  void load_up_to(int step);
  void fill_ring();
  bool asked_for(int step);
  void read_ahead();
  void skip_to(int step);  // drops what is in the ring before `step`
  void submit(std::uint64_t tag, int step, std::byte* to, Urgency urgency);
  void collect_landed();
  void await(std::uint64_t tag, const Arrival& arrival);
  void wait_for_landing();
  void arrive(Landed landed);
  std::optional<Error> finish(int step, const std::byte* at, Result<> status) const;
  std::optional<Error> unpack(int step, std::byte* at);

  std::vector<BlockSpec> specs_;
  std::vector<BlockLayout> layouts_;
  PageArena pinned_memory_, ring_memory_;
  std::vector<Pinned> pinned_;    // by step
  int first_of_ring_ = -1;        // -1: all steps are pinned
  int loaded_ = 0;                // of the steps before this one all that stay have been asked for
  int tended_ = 0;                // of the steps before this one all that stay were asked for, or have been tried
  int idle_in_flight_ = 0;        // reads of pinned steps that nobody has asked for
  std::uint64_t idle_bytes_ = 0;  // of these
  std::deque<Ahead> ahead_;       // oldest first; the leased step is the front one
  std::vector<Ahead> stale_;      // dropped while being read: their room is free when they land
  RingSpace space_;
  ReadQueue& queue_;
  std::unique_ptr<BlockUnpacker> unpacker_;
  Landings landings_;  // tag: pinned step, or steps() + a running number
  std::uint64_t next_tag_;
  int in_flight_ = 0;
  int leased_ = -1;
  int last_ = -1;  // step acquired last
  int turn_;       // last step of the walk before this one
  TrunkStats stats_;
};

RingTrunk::RingTrunk(std::vector<BlockSpec> specs, std::vector<BlockLayout> layouts, TrunkSizes sizes, ReadQueue& queue,
                     std::unique_ptr<BlockUnpacker> unpacker)
    : specs_(std::move(specs)),
      layouts_(std::move(layouts)),
      ring_memory_(PageArena::of_weights(sizes.ring_bytes, "the ring of the trunk")),
      queue_(queue),
      unpacker_(std::move(unpacker)),
      next_tag_(layouts_.size()),
      turn_(steps() - 1) {
  SLUICE_CHECK(specs_.size() == layouts_.size());
  SLUICE_CHECK(unpacker_ != nullptr ||
               std::ranges::all_of(layouts_, [](const BlockLayout& each) { return each.compressed.empty(); }));
  pinned_.resize(layouts_.size());
  for (const int step : sizes.pinned) pinned_.at(static_cast<std::size_t>(step)).stays = true;
  std::uint64_t pinned_bytes = 0, largest = 0;
  for (int step = steps(); step-- > 0;) {
    Pinned& mine = pinned(step);
    mine.next_of_ring = first_of_ring_;
    if (mine.stays) {
      mine.offset = pinned_bytes;
      pinned_bytes += room(step);
    } else {
      first_of_ring_ = step;
      largest = std::max(largest, room(step));
    }
  }
  SLUICE_CHECK(sizes.ring_bytes >= largest);
  pinned_memory_ = PageArena::of_weights(pinned_bytes, "the trunk");
  SLUICE_CHECK(pinned_memory_.size() >= pinned_bytes && ring_memory_.size() >= sizes.ring_bytes);
  space_ = RingSpace(page_floor(sizes.ring_bytes), largest);
}

RingTrunk::~RingTrunk() {
  SLUICE_CHECK(leased_ < 0);
  for (std::size_t step = 0; step < pinned_.size(); ++step)
    if (pinned_[step].arrival == Arrival::reading) queue_.withdraw(step, landings_);
  if (!ahead_.empty()) skip_to(-1);
  while (in_flight_ > 0) arrive(landings_.wait());
}

Result<Lease> RingTrunk::acquire(int step) noexcept {
  SLUICE_CHECK(leased_ < 0 && step >= 0 && step < steps());
  note_walk(step);
  collect_landed();
  return stays(step) ? acquire_pinned(step) : acquire_ahead(step);
}

std::optional<Lease> RingTrunk::peek(int step) noexcept {
  SLUICE_CHECK(leased_ < 0 && step >= 0 && step < steps());
  collect_landed();
  Pinned& mine = pinned(step);
  if (!mine.stays || mine.arrival != Arrival::here || !mine.unpacked) return std::nullopt;
  leased_ = step;
  return Lease(this, step, pinned_memory_.data() + mine.offset, &layout(step));
}

// Remembers where walks end.
void RingTrunk::note_walk(int step) {
  if (step <= last_) turn_ = last_;
  last_ = step;
}

// The step that is expected after `step` among those that pass through the ring. Requires: there are such.
int RingTrunk::following(int step) const {
  const int next = pinned_[static_cast<std::size_t>(step)].next_of_ring;
  const bool turns_before = step <= turn_ && next > turn_;
  return next < 0 || turns_before ? first_of_ring_ : next;
}

Result<Lease> RingTrunk::acquire_pinned(int step) {
  Pinned& mine = pinned(step);
  asked_for(step);
  if (mine.arrival == Arrival::absent && !mine.error) read_pinned(step, Urgency::demand);
  if (first_of_ring_ >= 0) skip_to(following(step));
  read_ahead();
  await(static_cast<std::uint64_t>(step), mine.arrival);
  std::byte* const at = pinned_memory_.data() + mine.offset;
  if (!mine.error && !mine.unpacked) {
    mine.error = unpack(step, at);
    mine.unpacked = !mine.error;
    if (mine.error) mine.arrival = Arrival::absent;
  }
  if (mine.error) return tl::unexpected<Error>(*std::exchange(mine.error, std::nullopt));  // read again next time
  leased_ = step;
  return Lease(this, step, at, &layout(step));
}

Result<Lease> RingTrunk::acquire_ahead(int step) {
  skip_to(step);
  if (!ahead_.empty() && ahead_.front().idle && ahead_.front().error) skip_to(-1);  // nobody has heard of it yet
  if (ahead_.empty())
    while (!try_read(step, Urgency::demand)) wait_for_landing();  // only stale reads are left, and they land
  read_ahead();
  await(ahead_.front().tag, ahead_.front().arrival);
  Ahead& mine = ahead_.front();
  std::byte* const at = ring_memory_.data() + mine.offset;
  if (!mine.error) mine.error = unpack(step, at);
  if (mine.error) {
    Error error = *std::move(mine.error);
    space_.give_back(mine.offset);
    ahead_.pop_front();
    return tl::unexpected<Error>(std::move(error));
  }
  leased_ = step;
  return Lease(this, step, at, &layout(step));
}

void RingTrunk::release(int step) noexcept {
  SLUICE_CHECK(leased_ == step);
  leased_ = -1;
  if (stays(step)) return;
  space_.give_back(ahead_.front().offset);
  ahead_.pop_front();
  collect_landed();
  read_ahead();
}

void RingTrunk::skip_to(int step) {
  while (!ahead_.empty() && ahead_.front().step != step) {
    Ahead& wrong = ahead_.front();
    if (wrong.arrival == Arrival::reading) {
      queue_.withdraw(wrong.tag, landings_);
      stale_.push_back(std::move(wrong));
    } else {
      space_.give_back(wrong.offset);
    }
    ahead_.pop_front();
  }
}

void RingTrunk::load_up_to(int step) {
  for (; loaded_ < step; ++loaded_)
    if (stays(loaded_) && pinned(loaded_).arrival == Arrival::absent && !pinned(loaded_).error)
      read_pinned(loaded_, Urgency::next);
}

void RingTrunk::read_ahead() {
  if (first_of_ring_ < 0) return load_up_to(steps());
  while (true) {
    const int step = following(ahead_.empty() ? last_ : ahead_.back().step);
    load_up_to(step > last_ ? step : steps());
    const bool there = std::ranges::any_of(ahead_, [&](const Ahead& a) { return a.step == step; });
    if (there || !try_read(step, Urgency::next)) return;
  }
}

// A pinned step is not read for nobody any more. False: it was not.
bool RingTrunk::asked_for(int step) {
  if (!std::exchange(pinned(step).idle, false)) return false;
  --idle_in_flight_;
  idle_bytes_ -= room(step);
  return true;
}

// Before the first walk.
void RingTrunk::fill_ring() {
  if (last_ >= 0 || first_of_ring_ < 0) return;
  while (true) {
    const int step = ahead_.empty() ? first_of_ring_ : pinned(ahead_.back().step).next_of_ring;
    if (step < 0 || !try_read(step, Urgency::idle)) return;
  }
}

bool RingTrunk::tend() noexcept {
  // The disk has work until the next call, and whoever comes waits for little: queued reads cost nothing.
  constexpr int kFewestInFlight = 2;
  constexpr std::uint64_t kBytesInFlight = std::uint64_t{16} << 20;
  collect_landed();
  for (; tended_ < steps() && (idle_in_flight_ < kFewestInFlight || idle_bytes_ < kBytesInFlight); ++tended_) {
    if (!stays(tended_) || pinned(tended_).arrival != Arrival::absent) continue;
    pinned(tended_).idle = true;
    ++idle_in_flight_;
    idle_bytes_ += room(tended_);
    read_pinned(tended_, Urgency::idle);
  }
  if (tended_ == steps()) fill_ring();
  return tended_ < steps() || in_flight_ > 0;
}

bool RingTrunk::try_read(int step, Urgency urgency) {
  const std::optional<std::uint64_t> offset = space_.take(room(step));
  if (!offset) return false;
  ahead_.push_back({step, next_tag_++, *offset, Arrival::reading, std::nullopt, urgency == Urgency::idle});
  submit(ahead_.back().tag, step, ring_memory_.data() + *offset, urgency);
  return true;
}

void RingTrunk::read_pinned(int step, Urgency urgency) {
  pinned(step).arrival = Arrival::reading;
  submit(static_cast<std::uint64_t>(step), step, pinned_memory_.data() + pinned(step).offset, urgency);
}

void RingTrunk::submit(std::uint64_t tag, int step, std::byte* to, Urgency urgency) {
  for (const Extent& extent : layout(step).extents) stats_.bytes_read += extent.bytes;
  ++in_flight_;
  queue_.submit(tag, layout(step).extents, {to, room(step)}, urgency, landings_);
}

void RingTrunk::collect_landed() {
  if (in_flight_ == 0) return;  // as nearly always where all that is asked for stays
  Landed landed;
  while (landings_.poll(landed)) arrive(std::move(landed));
}

// A read ahead may stand behind reads of experts that are only hinted at.
void RingTrunk::await(std::uint64_t tag, const Arrival& arrival) {
  if (arrival == Arrival::reading) queue_.hurry(tag, landings_);
  while (arrival == Arrival::reading) wait_for_landing();
}

void RingTrunk::wait_for_landing() {
  const Clock::time_point begin = Clock::now();
  Landed landed = landings_.wait();
  stats_.exposed_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  arrive(std::move(landed));
}

void RingTrunk::arrive(Landed landed) {
  --in_flight_;
  if (landed.tag < pinned_.size()) {
    const int step = static_cast<int>(landed.tag);
    Pinned& mine = pinned(step);
    mine.error = finish(step, pinned_memory_.data() + mine.offset, std::move(landed.status));
    mine.arrival = mine.error ? Arrival::absent : Arrival::here;
    if (asked_for(step)) mine.error.reset();  // whoever does ask will hear why
    return;
  }
  const auto has_tag = [&](const Ahead& a) { return a.tag == landed.tag; };
  if (const auto wrong = std::ranges::find_if(stale_, has_tag); wrong != stale_.end()) {
    space_.give_back(wrong->offset);
    stale_.erase(wrong);
    return;
  }
  const auto mine = std::ranges::find_if(ahead_, has_tag);
  SLUICE_CHECK(mine != ahead_.end());
  mine->error = finish(mine->step, ring_memory_.data() + mine->offset, std::move(landed.status));
  mine->arrival = Arrival::here;
}

// What is wrong with a block that has landed, if anything.
std::optional<Error> RingTrunk::finish(int step, const std::byte* at, Result<> status) const {
  const BlockSpec& spec = specs_[static_cast<std::size_t>(step)];
  const auto name = [&](std::size_t tensor) { return spec.tensors[tensor].name; };
  if (status) status = check_scales(layout(step), at, queue_.files(), name);
  if (status) return std::nullopt;
  return std::move(status.error()).within(spec.label);
}

std::optional<Error> RingTrunk::unpack(int step, std::byte* at) {
  if (layout(step).compressed.empty()) return std::nullopt;
  const BlockSpec& spec = specs_[static_cast<std::size_t>(step)];
  const Clock::time_point begin = Clock::now();
  Result<> done = unpacker_->unpack(layout(step), at, [&](std::size_t tensor) { return spec.tensors[tensor].name; });
  stats_.unpack_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  if (done) return std::nullopt;
  return std::move(done.error()).within(spec.label);
}

}  // namespace

std::unique_ptr<TrunkStore> make_trunk_store(std::vector<BlockSpec> specs, std::vector<BlockLayout> layouts,
                                             TrunkSizes sizes, ReadQueue& queue,
                                             std::unique_ptr<BlockUnpacker> unpacker) {
  return std::make_unique<RingTrunk>(std::move(specs), std::move(layouts), sizes, queue, std::move(unpacker));
}

}  // namespace sluice
