// Slots, a map from experts to slots, and a policy. See expert_store.h.
//
// Which experts stay depends on requests and on what was expected, never on the order in which reads land: slots are
// given to misses in rising expert, before anything is read, and when a request is larger than the store its experts
// are handed out in that order too.
//
// A hinted fetch is a fetch that waits to be handed out. Of those that are under way, only the first that still lacks
// slots may take any: so the one in use always gets on, and later ones only use what it leaves.
//
// An expected expert is read as a preloaded one.
//
// A preloaded expert in flight has a slot and nobody who awaits it. A fetch that asks for it becomes the one; a fetch
// that lacks a slot because preloads hold the last ones waits for them.
#include "residency/expert_store.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include "base/check.h"
#include "residency/block_check.h"
#include "residency/resizable_store.h"
#include "residency/slots.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

// Preloads in flight: enough that the disk has work until the store is called again, few enough that whoever comes does
// not wait long.
constexpr std::uint64_t kPreloadBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kFewestPreloads = 2, kMostPreloads = 32;

class SlotStore;

class SlotFetch final : public Fetch {
 public:
  // Starts as many reads as there are slots for.
  SlotFetch(SlotStore& store, int layer, std::span<const ExpertUse> uses, Urgency urgency);
  ~SlotFetch() override;
  SlotFetch(const SlotFetch&) = delete;
  SlotFetch& operator=(const SlotFetch&) = delete;
  Result<std::optional<ReadyExpert>> next() noexcept override;

  // False while reads wait for slots.
  bool start_reads();
  void hand_out();  // from now on somebody waits for it
  void arrive(int slot, Result<Lease> arrival);

 private:
  struct Flight {  // a miss with a slot
    int expert = -1, slot = -1;
    std::optional<Result<Lease>> arrival;
  };

  bool waits() const {
    return std::ranges::any_of(flights_, [](const Flight& flight) { return !flight.arrival; });
  }
  // The flight that may be handed out now, or flights_.size().
  std::size_t arrived() const;

  SlotStore& store_;
  int layer_;
  Urgency urgency_;
  bool handed_out_ = false;
  bool in_order_;                       // more experts than slots
  std::vector<ReadyExpert> residents_;  // leased from the start, so that no miss takes their slots
  std::size_t residents_out_ = 0;
  std::vector<int> misses_;
  std::size_t misses_started_ = 0;
  std::uint64_t taken_over_ = 0;  // preloads that were in flight
  std::vector<Flight> flights_;   // those, then in the order of misses_
};

class SlotStore final : public ResizableStore {
 public:
  SlotStore(const ExpertTable& table, int slot_count, std::unique_ptr<EvictionPolicy> policy, ReadQueue& queue,
            std::function<BlockSpec(int, int)> spec)
      : table_(table),
        slots_(slot_count, page_ceil(table.slot_bytes())),
        holdings_(static_cast<std::size_t>(slot_count)),
        slot_of_(static_cast<std::size_t>(table.layers()) * static_cast<std::size_t>(table.experts()), -1),
        policy_(std::move(policy)),
        policy_asked_(slot_count < table.count()),
        queue_(queue),
        most_preloads_(static_cast<int>(std::clamp(kPreloadBytes / std::max<std::uint64_t>(1, table.slot_bytes()),
                                                   kFewestPreloads, kMostPreloads))),
        spec_(std::move(spec)) {}
  ~SlotStore() override {
    hints_.clear();
    for (const int slot : slots_.in(SlotState::in_flight)) queue_.withdraw(static_cast<std::uint64_t>(slot), landings_);
    while (preloads_in_flight_ > 0) take_landing();
  }
  SlotStore(const SlotStore&) = delete;
  SlotStore& operator=(const SlotStore&) = delete;

  // Reads in flight know their slots, so none of this can be left half-done.
  std::unique_ptr<Fetch> fetch(int layer, std::span<const ExpertUse> uses) noexcept override {
    SLUICE_CHECK(!fetching_);
    fetching_ = true;
    settle_expected(layer, uses);
    std::unique_ptr<SlotFetch> made;
    if (!hints_.empty() && hints_.front().is(layer, uses)) {
      made = std::move(hints_.front().fetch);
      hints_.pop_front();
    } else {
      hints_.clear();
    }
    if (!made) made = std::make_unique<SlotFetch>(*this, layer, uses, Urgency::demand);
    made->hand_out();
    go_on_preloading();
    return made;
  }
  void hint(int layer, std::span<const ExpertUse> uses) noexcept override {
    SLUICE_CHECK(!fetching_);
    if (!hints_.empty() && hints_.back().layer >= layer) hints_.clear();  // of a pass that was given up
    hints_.push_back({layer, {uses.begin(), uses.end()}, nullptr});
    begin_hints();
  }
  void expect(int layer, std::span<const int> experts) noexcept override {
    SLUICE_CHECK(!fetching_);
    collect_landed();
    const auto is_named = [&](int slot) {
      const ExpertKey key = holding(slot).key;
      return key.layer == layer && std::ranges::count(experts, key.expert) > 0;
    };
    for (const int expert : experts) {
      if (slot_of({layer, expert}) >= 0) continue;
      const int empty = slots_.first_empty(), slot = empty >= 0 ? empty : victim(is_named);
      if (slot < 0) return;
      ++preloads_in_flight_;
      ++stats_.expected;
      const std::uint64_t bytes = read(slot, {layer, expert}, Urgency::idle, nullptr);
      expected_.push_back({slot, {layer, expert}, bytes});
    }
  }
  void preload(std::vector<ExpertKey> experts, PreloadPace pace) noexcept override {
    to_preload_ = std::move(experts);
    preload_next_ = 0;
    preload_pace_ = pace;
    go_on_preloading();
  }
  bool tend() noexcept override {
    if (preloads_in_flight_ == 0 && to_preload_.empty()) return false;
    collect_landed();
    start_preloads();
    return preloads_in_flight_ > 0 || !to_preload_.empty();
  }
  ExpertStats stats() const override { return stats_; }
  int slots() const override { return slots_.count() - static_cast<int>(slots_.in(SlotState::away).size()); }
  int filled() const override { return slots() - static_cast<int>(slots_.in(SlotState::empty).size()); }
  void resize(int count) noexcept override {
    SLUICE_CHECK(!fetching_ && count >= 1);
    hints_.clear();
    if (count < table_.count()) ask_policy();
    while (slots() > count) {
      if (const int slot = empty_slot(); slot >= 0)
        slots_.give_back(slot);
      else if (preloads_in_flight_ > 0)
        take_landing();
      else
        return;  // the others are leased
    }
    while (slots() < std::min(count, slots_.count())) slots_.take_back(slots_.in(SlotState::away).back());
  }

 private:
  friend class SlotFetch;
  struct Holding {
    ExpertKey key{-1, -1};
    BlockLayout layout;               // lives as long as its leases
    SlotFetch* awaited_by = nullptr;  // while in flight
  };
  struct Expected {
    int slot = -1;
    ExpertKey key;
    std::uint64_t bytes = 0;
  };
  struct Hint {
    int layer = 0;
    std::vector<ExpertUse> uses;
    std::unique_ptr<SlotFetch> fetch;  // null: not begun, those before it lack slots

    bool is(int other_layer, std::span<const ExpertUse> others) const {
      return layer == other_layer &&
             std::ranges::equal(uses, others, [](const ExpertUse& left, const ExpertUse& right) {
               return left.expert == right.expert && left.rows == right.rows;
             });
    }
  };

  void begin_hints() {
    for (Hint& hint : hints_) {
      if (!hint.fetch) hint.fetch = std::make_unique<SlotFetch>(*this, hint.layer, hint.uses, Urgency::next);
      if (!hint.fetch->start_reads()) return;
    }
  }

  int& slot_of(ExpertKey key) { return slot_of_[index_of(key, table_.experts())]; }
  Holding& holding(int slot) { return holdings_[static_cast<std::size_t>(slot)]; }

  // From now on: it hears of all that is there.
  void ask_policy() {
    if (policy_asked_) return;
    policy_asked_ = true;
    for (int slot = 0; slot < slots_.count(); ++slot)
      if (holding(slot).key.layer >= 0) policy_->filled(slot, holding(slot).key);
  }
  // A slot that may be filled, or -1.
  int free_slot() {
    const int empty = slots_.first_empty();
    return empty >= 0 ? empty : victim();
  }
  // The slot of what is held and goes, or -1. Those that stay may not go.
  int victim(FunctionRef<bool(int)> stays = [](int) { return false; }) {
    const auto may_go = [&](int slot) { return slots_.state(slot) == SlotState::held && !stays(slot); };
    if (std::ranges::none_of(slots_.in(SlotState::held), may_go)) return -1;
    SLUICE_CHECK(policy_asked_);
    const int slot = policy_->victim(may_go);
    SLUICE_CHECK(may_go(slot));
    forget(slot);
    return slot;
  }
  // The same, of all slots; empty afterwards.
  int empty_slot() {
    const int empty = slots_.first_empty();
    if (empty >= 0) return empty;
    const int slot = victim();
    if (slot >= 0) slots_.failed(slot);
    return slot;
  }
  void forget(int slot) { slot_of(std::exchange(holding(slot).key, {-1, -1})) = -1; }

  // Returns the bytes that will be read. `fetch`: who awaits them, or null.
  std::uint64_t read(int slot, ExpertKey key, Urgency urgency, SlotFetch* fetch) {
    Holding& mine = holding(slot);
    mine = {key, table_.layout(key.layer, key.expert), fetch};
    slot_of(key) = slot;
    slots_.fill(slot);
    if (policy_asked_) policy_->filled(slot, key);
    std::uint64_t bytes = 0;
    for (const Extent& extent : mine.layout.extents) bytes += extent.bytes;
    stats_.bytes_read += bytes;
    queue_.submit(static_cast<std::uint64_t>(slot), mine.layout.extents, slots_.bytes(slot), urgency, landings_);
    return bytes;
  }

  void collect_landed() {
    for (Landed landed; landings_.poll(landed);) arrive(std::move(landed));
  }
  // Beside requests.
  void go_on_preloading() {
    if (preload_pace_ == PreloadPace::always)
      tend();
    else if (preloads_in_flight_ > 0)
      collect_landed();
  }
  void start_preloads() {
    for (; preload_next_ < to_preload_.size() && preloads_in_flight_ < most_preloads_; ++preload_next_) {
      const ExpertKey key = to_preload_[preload_next_];
      if (slot_of(key) >= 0) continue;
      const int slot = slots_.first_empty();
      if (slot < 0) {
        preload_next_ = to_preload_.size();
        break;
      }
      ++preloads_in_flight_;
      stats_.preloaded_bytes += read(slot, key, Urgency::idle, nullptr);
    }
    if (preload_next_ == to_preload_.size()) to_preload_ = {}, preload_next_ = 0;
  }
  // The layer is asked for: nobody expects anything of it any more.
  void settle_expected(int layer, std::span<const ExpertUse> uses) {
    std::erase_if(expected_, [&](const Expected& one) {
      if (one.key.layer != layer) return false;
      const bool rightly = std::ranges::count(uses, one.key.expert, &ExpertUse::expert) > 0;
      stats_.expected_rightly += rightly ? 1 : 0;
      stats_.surplus_bytes += rightly ? 0 : one.bytes;
      const bool on_its_way = slots_.state(one.slot) == SlotState::in_flight && holding(one.slot).key == one.key;
      if (!rightly && on_its_way) {
        queue_.withdraw(static_cast<std::uint64_t>(one.slot), landings_);
        forget(one.slot);  // whatever comes of it, the slot is empty then
      }
      return true;
    });
  }
  // True if the slot holds a preload on its way: from now on the fetch awaits it.
  bool take_over(int slot, SlotFetch& fetch) {
    if (slots_.state(slot) != SlotState::in_flight) return false;
    SLUICE_CHECK(holding(slot).awaited_by == nullptr);
    holding(slot).awaited_by = &fetch;
    --preloads_in_flight_;
    return true;
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

  // Waits for a landing and takes it to whoever awaits it.
  void take_landing() { arrive(landings_.wait()); }
  void arrive(Landed landed) {
    const int slot = static_cast<int>(landed.tag);
    if (holding(slot).key.layer < 0) {  // it was taken back
      --preloads_in_flight_;
      return slots_.failed(slot);
    }
    SlotFetch* const fetch = std::exchange(holding(slot).awaited_by, nullptr);
    Result<Lease> arrival = admit(slot, std::move(landed.status));
    if (fetch != nullptr) return fetch->arrive(slot, std::move(arrival));
    --preloads_in_flight_;  // if it failed, whoever asks for it will hear why
  }
  // Somebody needs the slots of preloads in flight. Requires: all that is in flight is preloaded.
  void hurry_preloads() {
    SLUICE_CHECK(preloads_in_flight_ > 0);
    for (const int slot : slots_.in(SlotState::in_flight)) queue_.hurry(static_cast<std::uint64_t>(slot), landings_);
  }
  // Waits for a landing if none is there.
  void collect() {
    Landed landed;
    if (landings_.poll(landed)) return arrive(std::move(landed));
    const Clock::time_point begin = Clock::now();
    landed = landings_.wait();
    stats_.exposed_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    arrive(std::move(landed));
  }

  const ExpertTable& table_;
  Slots slots_;
  std::vector<Holding> holdings_;  // by slot
  std::vector<int> slot_of_;       // [layers * experts], -1 where not resident
  std::unique_ptr<EvictionPolicy> policy_;
  bool policy_asked_;  // false while every expert has a slot: nothing is ever evicted
  ReadQueue& queue_;
  int most_preloads_;  // in flight
  std::function<BlockSpec(int, int)> spec_;
  Landings landings_;  // tag: slot
  ExpertStats stats_;
  bool fetching_ = false;
  std::vector<ExpertKey> to_preload_;  // from preload_next_ on
  std::size_t preload_next_ = 0;
  PreloadPace preload_pace_ = PreloadPace::always;
  int preloads_in_flight_ = 0;  // that nobody awaits, expected ones among them
  std::vector<Expected> expected_;
  std::deque<Hint> hints_;  // in the order of their fetches; last, because they use the others
};

SlotFetch::SlotFetch(SlotStore& store, int layer, std::span<const ExpertUse> uses, Urgency urgency)
    : store_(store),
      layer_(layer),
      urgency_(urgency),
      in_order_(uses.size() > static_cast<std::size_t>(store.slots())) {
  if (store_.policy_asked_) store_.policy_->requested(layer, uses);
  residents_.reserve(uses.size());
  for (const ExpertUse& use : uses) {
    const int slot = store_.slot_of({layer, use.expert});
    if (slot < 0)
      misses_.push_back(use.expert);
    else if (store_.take_over(slot, *this))
      flights_.push_back({use.expert, slot, std::nullopt});
    else
      residents_.push_back({use.expert, store_.slots_.lease(slot, &store_.holding(slot).layout)});
    // Places of tensors lie scattered: asked for together, they are at hand when each expert's turn comes.
    if (slot >= 0) __builtin_prefetch(store_.holding(slot).layout.tensors.data());
  }
  taken_over_ = flights_.size();
  start_reads();
}

SlotFetch::~SlotFetch() {
  for (const Flight& flight : flights_)
    if (!flight.arrival) store_.queue_.withdraw(static_cast<std::uint64_t>(flight.slot), store_.landings_);
  while (waits()) store_.take_landing();
  if (!handed_out_) return;
  store_.fetching_ = false;
  flights_.clear();  // leases among them: hints may use their slots
  residents_.clear();
  store_.begin_hints();
  store_.go_on_preloading();
}

bool SlotFetch::start_reads() {
  for (; misses_started_ < misses_.size(); ++misses_started_) {
    const int slot = store_.free_slot();
    if (slot < 0) return false;  // goes on when a lease has been given back
    const int expert = misses_[misses_started_];
    store_.read(slot, {layer_, expert}, urgency_, this);
    flights_.push_back({expert, slot, std::nullopt});
  }
  return true;
}

void SlotFetch::hand_out() {
  handed_out_ = true;
  store_.stats_.requests += residents_.size() + taken_over_ + misses_.size();
  store_.stats_.hits += residents_.size();
  store_.stats_.begun += taken_over_;
  if (urgency_ == Urgency::next) store_.stats_.begun += misses_started_;
  if (urgency_ == Urgency::demand && taken_over_ == 0) return;
  urgency_ = Urgency::demand;
  for (const Flight& flight : flights_)
    if (!flight.arrival) store_.queue_.hurry(static_cast<std::uint64_t>(flight.slot), store_.landings_);
}

Result<std::optional<ReadyExpert>> SlotFetch::next() noexcept {
  bool started = start_reads();
  if (residents_out_ < residents_.size()) return std::move(residents_[residents_out_++]);
  while (flights_.empty() && !started) {
    store_.hurry_preloads();  // else the caller holds a lease on every slot
    store_.collect();
    started = start_reads();
  }
  if (flights_.empty()) return std::nullopt;
  std::size_t index = arrived();
  while (index == flights_.size()) {
    store_.collect();
    index = arrived();
  }
  const int expert = flights_[index].expert;
  Result<Lease> weights = *std::move(flights_[index].arrival);
  flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(index));
  if (!weights) return tl::unexpected<Error>(std::move(weights.error()));
  return ReadyExpert{expert, *std::move(weights)};
}

void SlotFetch::arrive(int slot, Result<Lease> arrival) {
  const auto flight = std::ranges::find_if(flights_, [&](const Flight& f) { return f.slot == slot && !f.arrival; });
  SLUICE_CHECK(flight != flights_.end());
  flight->arrival = std::move(arrival);
}

std::size_t SlotFetch::arrived() const {
  if (in_order_) return flights_.front().arrival ? 0 : flights_.size();
  std::size_t index = 0;
  while (index < flights_.size() && !flights_[index].arrival) ++index;
  return index;
}

}  // namespace

std::unique_ptr<ResizableStore> make_resizable_store(const ExpertTable& experts, int slot_count,
                                                     std::unique_ptr<EvictionPolicy> policy, ReadQueue& queue,
                                                     std::function<BlockSpec(int layer, int expert)> spec) {
  return std::make_unique<SlotStore>(experts, slot_count, std::move(policy), queue, std::move(spec));
}

std::unique_ptr<ExpertStore> make_expert_store(const ExpertTable& experts, int slot_count,
                                               std::unique_ptr<EvictionPolicy> policy, ReadQueue& queue,
                                               std::function<BlockSpec(int layer, int expert)> spec) {
  return make_resizable_store(experts, slot_count, std::move(policy), queue, std::move(spec));
}

}  // namespace sluice
