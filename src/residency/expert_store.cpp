// Slots, a map from experts to slots, and a policy. See expert_store.h.
//
// Which experts stay depends on requests alone, never on the order in which reads land: slots are given to misses in
// rising expert, before anything is read, and when a request is larger than the store its experts are handed out in
// that order too.
#include "residency/expert_store.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/check.h"
#include "residency/block_check.h"
#include "residency/slots.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

class SlotStore;

class SlotFetch final : public Fetch {
 public:
  SlotFetch(SlotStore& store, int layer, std::span<const ExpertUse> uses);
  ~SlotFetch() override;
  SlotFetch(const SlotFetch&) = delete;
  SlotFetch& operator=(const SlotFetch&) = delete;
  Result<std::optional<ReadyExpert>> next() override;

 private:
  struct Flight {  // a miss with a slot
    int expert = -1, slot = -1;
    std::optional<Result<Lease>> arrival;
  };

  void start_reads();
  void collect();  // waits for a landing if none is there
  void arrive(Landed landed);
  // The flight that may be handed out now, or flights_.size().
  std::size_t arrived() const;

  SlotStore& store_;
  int layer_;
  bool in_order_;                       // more experts than slots
  std::vector<ReadyExpert> residents_;  // leased from the start, so that no miss takes their slots
  std::size_t residents_out_ = 0;
  std::vector<int> misses_;
  std::size_t misses_started_ = 0;
  std::vector<Flight> flights_;  // in the order of misses_
};

class SlotStore final : public ExpertStore {
 public:
  SlotStore(const ExpertTable& table, int slot_count, std::unique_ptr<EvictionPolicy> policy, ReadQueue& queue,
            std::function<BlockSpec(int, int)> spec)
      : table_(table),
        slots_(slot_count, page_ceil(table.slot_bytes())),
        holdings_(static_cast<std::size_t>(slot_count)),
        slot_of_(static_cast<std::size_t>(table.layers()) * static_cast<std::size_t>(table.experts()), -1),
        policy_(slot_count < table.count() ? std::move(policy) : nullptr),
        queue_(queue),
        spec_(std::move(spec)) {}

  std::unique_ptr<Fetch> fetch(int layer, std::span<const ExpertUse> uses) override {
    SLUICE_CHECK(!fetching_);
    return std::make_unique<SlotFetch>(*this, layer, uses);
  }
  ExpertStats stats() const override { return stats_; }

 private:
  friend class SlotFetch;
  struct Holding {
    ExpertKey key{-1, -1};
    BlockLayout layout;  // lives as long as its leases
  };

  int& slot_of(ExpertKey key) { return slot_of_[index_of(key, table_.experts())]; }
  Holding& holding(int slot) { return holdings_[static_cast<std::size_t>(slot)]; }

  // A slot that may be filled, or -1.
  int free_slot() {
    const int empty = slots_.first_empty();
    if (empty >= 0) return empty;
    if (slots_.in(SlotState::held).empty()) return -1;
    SLUICE_CHECK(policy_ != nullptr);
    const auto may_go = [&](int slot) { return slots_.state(slot) == SlotState::held; };
    const int slot = policy_->victim(may_go);
    SLUICE_CHECK(may_go(slot));
    forget(slot);
    return slot;
  }
  void forget(int slot) { slot_of(std::exchange(holding(slot).key, {-1, -1})) = -1; }

  void read(int slot, ExpertKey key) {
    Holding& mine = holding(slot);
    mine = {key, table_.layout(key.layer, key.expert)};
    slot_of(key) = slot;
    slots_.fill(slot);
    if (policy_) policy_->filled(slot, key);
    for (const Extent& extent : mine.layout.extents) stats_.bytes_read += extent.bytes;
    queue_.submit(static_cast<std::uint64_t>(slot), mine.layout.extents, slots_.bytes(slot), Urgency::demand,
                  landings_);
  }

  // What became of the read into a slot: a lease, or the slot is empty again.
  Result<Lease> admit(int slot, Result<> status) {
    const Holding& mine = holding(slot);
    const auto tensor_name = [&](std::size_t tensor) {
      return spec_ ? spec_(mine.key.layer, mine.key.expert).tensors[tensor].name : "tensor " + std::to_string(tensor);
    };
    if (status) status = check_scales(mine.layout, slots_.bytes(slot).data(), queue_.files(), tensor_name);
    if (status) {
      slots_.landed(slot);
      return slots_.lease(slot, &mine.layout);
    }
    Error error = std::move(status.error()).within(table_.label(mine.key.layer, mine.key.expert));
    forget(slot);
    slots_.failed(slot);
    return tl::unexpected<Error>(std::move(error));
  }

  const ExpertTable& table_;
  Slots slots_;
  std::vector<Holding> holdings_;           // by slot
  std::vector<int> slot_of_;                // [layers * experts], -1 where not resident
  std::unique_ptr<EvictionPolicy> policy_;  // null if every expert has a slot: nothing is ever evicted
  ReadQueue& queue_;
  std::function<BlockSpec(int, int)> spec_;
  Landings landings_;  // tag: slot
  ExpertStats stats_;
  bool fetching_ = false;
};

SlotFetch::SlotFetch(SlotStore& store, int layer, std::span<const ExpertUse> uses)
    : store_(store), layer_(layer), in_order_(uses.size() > static_cast<std::size_t>(store.slots_.count())) {
  store_.fetching_ = true;
  if (store_.policy_) store_.policy_->requested(layer, uses);
  for (const ExpertUse& use : uses) {
    const int slot = store_.slot_of({layer, use.expert});
    if (slot < 0)
      misses_.push_back(use.expert);
    else
      residents_.push_back({use.expert, store_.slots_.lease(slot, &store_.holding(slot).layout)});
  }
  store_.stats_.requests += uses.size();
  store_.stats_.hits += residents_.size();
  start_reads();
}

SlotFetch::~SlotFetch() {
  std::size_t waiting = 0;
  for (const Flight& flight : flights_) {
    if (flight.arrival) continue;
    ++waiting;
    store_.queue_.withdraw(static_cast<std::uint64_t>(flight.slot), store_.landings_);
  }
  for (; waiting > 0; --waiting) arrive(store_.landings_.wait());
  store_.fetching_ = false;
}

void SlotFetch::start_reads() {
  for (; misses_started_ < misses_.size(); ++misses_started_) {
    const int slot = store_.free_slot();
    if (slot < 0) return;  // goes on when a lease has been given back
    const int expert = misses_[misses_started_];
    store_.read(slot, {layer_, expert});
    flights_.push_back({expert, slot, std::nullopt});
  }
}

Result<std::optional<ReadyExpert>> SlotFetch::next() {
  start_reads();
  if (residents_out_ < residents_.size()) return std::move(residents_[residents_out_++]);
  if (flights_.empty()) {
    SLUICE_CHECK(misses_started_ == misses_.size());  // else the caller holds a lease on every slot
    return std::nullopt;
  }
  std::size_t index = arrived();
  while (index == flights_.size()) {
    collect();
    index = arrived();
  }
  const int expert = flights_[index].expert;
  Result<Lease> weights = *std::move(flights_[index].arrival);
  flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(index));
  if (!weights) return tl::unexpected<Error>(std::move(weights.error()));
  return ReadyExpert{expert, *std::move(weights)};
}

void SlotFetch::collect() {
  Landed landed;
  if (store_.landings_.poll(landed)) return arrive(std::move(landed));
  const Clock::time_point begin = Clock::now();
  landed = store_.landings_.wait();
  store_.stats_.exposed_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  arrive(std::move(landed));
}

void SlotFetch::arrive(Landed landed) {
  const int slot = static_cast<int>(landed.tag);
  const auto flight = std::ranges::find_if(flights_, [&](const Flight& f) { return f.slot == slot && !f.arrival; });
  SLUICE_CHECK(flight != flights_.end());
  flight->arrival = store_.admit(slot, std::move(landed.status));
}

std::size_t SlotFetch::arrived() const {
  if (in_order_) return flights_.front().arrival ? 0 : flights_.size();
  std::size_t index = 0;
  while (index < flights_.size() && !flights_[index].arrival) ++index;
  return index;
}

}  // namespace

std::unique_ptr<ExpertStore> make_expert_store(const ExpertTable& experts, int slot_count,
                                               std::unique_ptr<EvictionPolicy> policy, ReadQueue& queue,
                                               std::function<BlockSpec(int layer, int expert)> spec) {
  return std::make_unique<SlotStore>(experts, slot_count, std::move(policy), queue, std::move(spec));
}

}  // namespace sluice
