// See governed_store.h.
#include "residency/governed_store.h"

#include <utility>
#include <vector>

#include "residency/memory_pressure.h"

namespace sluice {

namespace {

class Governed final : public GovernedStore {
 public:
  using Clock = MemoryGovernor::Clock;

  Governed(std::unique_ptr<ResizableStore> store, GovernedCache cache, const MemoryFolders& folders)
      : store_(std::move(store)),
        cache_(cache),
        folders_(folders),
        governor_(cache, memory_of_machine(folders.proc, folders.cgroups).total_bytes),
        pressure_(folders) {}

  std::unique_ptr<Fetch> fetch(int layer, std::span<const ExpertUse> uses) override {
    look();
    return store_->fetch(layer, uses);
  }
  void hint(int layer, std::span<const ExpertUse> uses) override { store_->hint(layer, uses); }
  void expect(int layer, std::span<const int> experts) override { store_->expect(layer, experts); }
  void preload(std::vector<ExpertKey> experts, PreloadPace pace) override {
    if (pace == PreloadPace::always) all_ = experts;
    store_->preload(std::move(experts), pace);
  }
  bool tend() override {
    look();
    return store_->tend();
  }
  ExpertStats stats() const override { return store_->stats(); }
  GovernorStats governor_stats() const override {
    GovernorStats stats = stats_;
    stats.slots = store_->slots();
    stats.planned_slots = cache_.most;
    return stats;
  }

 private:
  void look() {
    const Clock::time_point now = Clock::now();
    if (now < next_look_) return;
    const Machine machine = memory_of_machine(folders_.proc, folders_.cgroups);
    next_look_ = now + governor_.pause(machine.available_bytes);
    if (machine.total_bytes == 0) return;
    const int before = store_->slots(), filled = store_->filled();
    const int slots = governor_.slots(machine.available_bytes, pressure_.stalled_share(now), filled, now);
    if (slots == before) return;
    store_->resize(slots);
    if (slots > before) {
      if (!all_.empty()) store_->preload(all_, PreloadPace::always);  // what went comes again, as far as there is room
      return;
    }
    ++stats_.times;
    if (filled > store_->filled())
      stats_.given_back_bytes += static_cast<std::uint64_t>(filled - store_->filled()) * cache_.slot_bytes;
  }

  std::unique_ptr<ResizableStore> store_;
  GovernedCache cache_;
  MemoryFolders folders_;
  MemoryGovernor governor_;
  PressureGauge pressure_;
  Clock::time_point next_look_{};
  GovernorStats stats_;
  std::vector<ExpertKey> all_;  // of a preload beside requests
};

}  // namespace

std::unique_ptr<GovernedStore> govern(std::unique_ptr<ResizableStore> store, GovernedCache cache,
                                      const MemoryFolders& folders) {
  return std::make_unique<Governed>(std::move(store), cache, folders);
}

}  // namespace sluice
