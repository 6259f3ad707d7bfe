// See replay.h.
#include "residency/replay.h"

#include <time.h>

#include <algorithm>
#include <limits>
#include <set>

#include "residency/policies/layer_ranks.h"

namespace sluice {

namespace {

double thread_cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Belady final : public EvictionPolicy {
 public:
  explicit Belady(const Trace& trace)
      : trace_(trace),
        next_(trace.lines.size()),
        next_of_(static_cast<std::size_t>(trace.layers) * static_cast<std::size_t>(trace.experts), kNever),
        ranks_(trace.layers) {
    std::vector<double> coming(next_of_);
    for (std::size_t line = trace.lines.size(); line-- > 0;)
      for (const ExpertUse& use : trace.lines[line].uses) {
        double& next = coming[index_of({trace.lines[line].layer, use.expert}, trace.experts)];
        next_[line].push_back(next);
        next = static_cast<double>(line);
      }
  }
  void requested(int layer, std::span<const ExpertUse> uses) override {
    SLUICE_CHECK(line_ < next_.size() && trace_.lines[line_].layer == layer);
    for (std::size_t use = 0; use < uses.size(); ++use)
      next_of_[index_of({layer, uses[use].expert}, trace_.experts)] = next_[line_][use];
    ++line_;
    ranks_.requested(layer);
  }
  void filled(int slot, ExpertKey key) override { ranks_.filled(slot, key); }
  int victim(FunctionRef<bool(int)> may_go) override {
    return ranks_.victim(
        may_go, [&](ExpertKey key) { return -next_of_[index_of(key, trace_.experts)]; },
        [](int, double value) { return -value; });
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  const Trace& trace_;
  std::size_t line_ = 0;
  std::vector<std::vector<double>> next_;  // of each use of each line: the line that uses the expert again
  std::vector<double> next_of_;            // [layers * experts], as of now
  LayerRanks ranks_;
};

// Slots without limit.
class Room {
 public:
  Room(const Trace& trace, EvictionPolicy& policy)
      : trace_(trace),
        policy_(policy),
        slot_of_(static_cast<std::size_t>(trace.layers) * static_cast<std::size_t>(trace.experts), -1) {}

  int slot_of(ExpertKey key) const { return slot_of_[index_of(key, trace_.experts)]; }
  std::uint64_t bytes() const { return bytes_; }
  std::size_t held() const { return held_; }
  ReplayCounts finish() {
    counts_.cpu_seconds = thread_cpu_seconds() - begin_;
    return counts_;
  }

  void request(const TraceLine& line) {
    if (line.begins_turn) policy_.between_turns();
    for (const ExpertUse& use : line.uses) {
      const bool hit = slot_of({line.layer, use.expert}) >= 0;
      ++counts_.requests;
      counts_.hits += hit ? 1 : 0;
      counts_.decode_requests += line.decode ? 1 : 0;
      counts_.decode_hits += line.decode && hit ? 1 : 0;
    }
    policy_.requested(line.layer, line.uses);
  }
  int fill(ExpertKey key) {
    int slot = static_cast<int>(keys_.size());
    if (free_.empty()) {
      keys_.push_back(key);
    } else {
      slot = free_.back();
      free_.pop_back();
      keys_[static_cast<std::size_t>(slot)] = key;
    }
    slot_of_[index_of(key, trace_.experts)] = slot;
    bytes_ += trace_.layer_bytes[static_cast<std::size_t>(key.layer)];
    ++held_;
    policy_.filled(slot, key);
    return slot;
  }
  void evict(FunctionRef<bool(int)> may_go) {
    const int slot = policy_.victim(may_go);
    const ExpertKey key = keys_[static_cast<std::size_t>(slot)];
    slot_of_[index_of(key, trace_.experts)] = -1;
    bytes_ -= trace_.layer_bytes[static_cast<std::size_t>(key.layer)];
    --held_;
    free_.push_back(slot);
  }

 private:
  const Trace& trace_;
  EvictionPolicy& policy_;
  std::vector<int> slot_of_;     // [layers * experts], -1 where not resident
  std::vector<ExpertKey> keys_;  // by slot
  std::vector<int> free_;        // slots that hold nothing
  std::uint64_t bytes_ = 0;
  std::size_t held_ = 0;
  ReplayCounts counts_;
  double begin_ = thread_cpu_seconds();
};

}  // namespace

PolicyShape shape_of(const Trace& trace, int slots) {
  return {.layers = trace.layers, .experts = trace.experts, .slots = slots, .top_k = trace.top_k};
}

int slots_within(const Trace& trace, std::uint64_t capacity_bytes) {
  std::uint64_t bytes = 0, layers = 0;
  for (const std::uint64_t one : trace.layer_bytes) bytes += one, layers += one > 0 ? 1 : 0;
  const std::uint64_t most = static_cast<std::uint64_t>(trace.layers) * static_cast<std::uint64_t>(trace.experts);
  return static_cast<int>(std::clamp<std::uint64_t>(capacity_bytes / (bytes / layers), 1, most));
}

std::unique_ptr<EvictionPolicy> make_belady(const Trace& trace) { return std::make_unique<Belady>(trace); }

ReplayCounts replay_in_bytes(const Trace& trace, EvictionPolicy& policy, std::uint64_t capacity_bytes) {
  Room room(trace, policy);
  for (const TraceLine& line : trace.lines) {
    room.request(line);
    for (const ExpertUse& use : line.uses)
      if (room.slot_of({line.layer, use.expert}) < 0) room.fill({line.layer, use.expert});
    while (room.bytes() > capacity_bytes) room.evict([](int) { return true; });
  }
  return room.finish();
}

// As the expert store does it (expert_store.cpp): misses take slots in rising expert, and when there are not enough,
// the experts handed out so far, one at a time, make room for the others.
ReplayCounts replay_in_slots(const Trace& trace, EvictionPolicy& policy, int slots) {
  Room room(trace, policy);
  for (const TraceLine& line : trace.lines) {
    room.request(line);
    std::set<int> leased;
    std::vector<int> handed_out, misses;
    for (const ExpertUse& use : line.uses) {
      const int slot = room.slot_of({line.layer, use.expert});
      if (slot < 0) {
        misses.push_back(use.expert);
      } else {
        leased.insert(slot);
        handed_out.push_back(slot);
      }
    }
    std::size_t started = 0;
    for (std::size_t next = 0; started < misses.size(); ++next) {
      if (next > 0) leased.erase(handed_out[next - 1]);
      for (; started < misses.size(); ++started) {
        if (room.held() == static_cast<std::size_t>(slots)) {
          if (leased.size() == room.held()) break;
          room.evict([&](int slot) { return !leased.contains(slot); });
        }
        const int slot = room.fill({line.layer, misses[started]});
        leased.insert(slot);
        handed_out.push_back(slot);
      }
    }
  }
  return room.finish();
}

}  // namespace sluice
