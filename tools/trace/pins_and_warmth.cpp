// What pins by use would add to the shipped policy, and what a start with the hottest experts of an earlier text is
// worth, by replay. The figures of docs/cache_policy.md. It is no part of the build:
//
//   g++ -std=c++20 -O1 -I src tools/trace/pins_and_warmth.cpp
//   build/src/libsluice_{residency,checkpoint,io,formats,base}.a
//       -lfmt -lxxhash -o build/pins_and_warmth && build/pins_and_warmth TRACE MARGIN CAPACITY_MIB...
//
// Pins: every kRepin steps the experts with the highest decayed use counts, as many as the share of the slots, may not
// be evicted; one that is pinned stays so unless another was used `margin` times as much. Warm: the first half of the
// trace is only counted; of the second half, hits from an empty cache and from one that begins with the hottest ones.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "residency/replay.h"
#include "residency/usage.h"

using namespace sluice;

namespace {

constexpr double kDecay = 0.98;  // of a use, per request of its layer
constexpr int kRepin = 8;        // steps

class Pinned final : public EvictionPolicy {
 public:
  Pinned(std::unique_ptr<EvictionPolicy> inner, PolicyShape shape, double share, double margin)
      : inner_(std::move(inner)),
        shape_(shape),
        margin_(margin),
        room_(static_cast<std::size_t>(share * shape.slots)),
        uses_(static_cast<std::size_t>(shape.layers * shape.experts), 0),
        pinned_(uses_.size(), false) {}
  void requested(int layer, std::span<const ExpertUse> uses) override {
    if (layer <= last_ && ++steps_ % kRepin == 0) repin();
    last_ = layer;
    inner_->requested(layer, uses);
    for (int expert = 0; expert < shape_.experts; ++expert) uses_[index_of({layer, expert}, shape_.experts)] *= kDecay;
    for (const ExpertUse& use : uses) uses_[index_of({layer, use.expert}, shape_.experts)] += 1;
  }
  void filled(int slot, ExpertKey key) override {
    const auto index = static_cast<std::size_t>(slot);
    if (keys_.size() <= index) keys_.resize(index + 1);
    keys_[index] = key;
    inner_->filled(slot, key);
  }
  int victim(FunctionRef<bool(int)> may_go) override {
    return inner_->victim([&](int slot) {
      return may_go(slot) && !pinned_[index_of(keys_[static_cast<std::size_t>(slot)], shape_.experts)];
    });
  }

 private:
  void repin() {
    std::vector<std::size_t> order(uses_.size());
    for (std::size_t expert = 0; expert < order.size(); ++expert) order[expert] = expert;
    const auto worth = [&](std::size_t expert) { return uses_[expert] * (pinned_[expert] ? margin_ : 1); };
    std::ranges::sort(order, std::ranges::greater{}, worth);
    std::fill(pinned_.begin(), pinned_.end(), false);
    for (std::size_t rank = 0; rank < std::min(room_, order.size()); ++rank) pinned_[order[rank]] = true;
  }
  std::unique_ptr<EvictionPolicy> inner_;
  PolicyShape shape_;
  double margin_;
  std::size_t room_;
  std::vector<double> uses_;
  std::vector<bool> pinned_;
  std::vector<ExpertKey> keys_;
  int last_ = -1, steps_ = 0;
};

// Hits of the first tokens of the second half.
void begin_warm(const Trace& trace, int slots) {
  Trace second = trace;
  std::int64_t last = 0;
  for (const TraceLine& line : trace.lines) last = std::max(last, line.token);
  std::vector<TraceLine> first_lines, second_lines;
  for (const TraceLine& line : trace.lines) (line.token <= last / 2 ? first_lines : second_lines).push_back(line);
  ExpertUsage usage(trace.layers, trace.experts);
  for (const TraceLine& line : first_lines) usage.add(line.layer, line.uses);
  second.lines = second_lines;
  for (const int tokens : {1, 4, 16, 1000}) {
    Trace part = second;
    std::erase_if(part.lines, [&](const TraceLine& line) { return line.token > last / 2 + tokens; });
    std::uint64_t hits[2] = {}, requests = 0;
    for (const bool warm : {false, true}) {
      const auto policy = make_policy("default", shape_of(trace, slots));
      Trace run = part;
      std::set<std::pair<int, int>> resident;
      std::map<int, std::pair<int, int>> at;
      std::vector<int> free;
      for (int slot = slots - 1; slot >= 0; --slot) free.push_back(slot);
      const auto fill = [&](ExpertKey key) {
        const int slot = free.back();
        free.pop_back();
        at[slot] = {key.layer, key.expert};
        resident.insert({key.layer, key.expert});
        policy->filled(slot, key);
      };
      if (warm)
        for (const ExpertKey key : usage.hottest(static_cast<std::size_t>(slots))) fill(key);
      requests = 0;
      for (const TraceLine& line : run.lines) {
        policy->requested(line.layer, line.uses);
        std::set<std::pair<int, int>> in_use;
        for (const ExpertUse& use : line.uses) {
          in_use.insert({line.layer, use.expert});
          ++requests;
          hits[warm] += resident.contains({line.layer, use.expert}) ? 1 : 0;
        }
        for (const ExpertUse& use : line.uses) {
          if (resident.contains({line.layer, use.expert})) continue;
          if (free.empty()) {
            const int slot = policy->victim([&](int s) { return !in_use.contains(at[s]); });
            resident.erase(at[slot]);
            free.push_back(slot);
          }
          fill({line.layer, use.expert});
        }
      }
    }
    std::printf("  first %4d tokens: cold %.1f %%, warm %.1f %%\n", tokens,
                100.0 * static_cast<double>(hits[0]) / static_cast<double>(requests),
                100.0 * static_cast<double>(hits[1]) / static_cast<double>(requests));
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  const Result<Trace> read = read_trace(words[1]);
  if (!read) return std::fprintf(stderr, "%s\n", read.error().what.c_str()), 1;
  const Trace& trace = *read;
  const double margin = std::strtod(words[2], nullptr);
  for (int word = 3; word < count; ++word) {
    const std::uint64_t capacity = std::strtoull(words[word], nullptr, 10) << 20;
    const PolicyShape shape = shape_of(trace, slots_within(trace, capacity));
    const auto plain = make_policy("default", shape);
    std::printf("%s MiB: %.2f", words[word], 100 * replay_in_bytes(trace, *plain, capacity).decode_hit_rate());
    for (const double share : {0.05, 0.1, 0.25, 0.5}) {
      Pinned policy(make_policy("default", shape), shape, share, margin);
      std::printf("  %.0f%%: %.2f", 100 * share, 100 * replay_in_bytes(trace, policy, capacity).decode_hit_rate());
    }
    std::printf("\n");
    begin_warm(trace, shape.slots);
  }
}
