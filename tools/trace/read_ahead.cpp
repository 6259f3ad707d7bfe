// What reading experts early, because a router named them, would gain or lose: a model of one token after the other
// over a recorded trace, with the shipped policy and a disk of a chosen speed. The figures of docs/cache_policy.md. It
// is no part of the build:
//
//   g++ -std=c++20 -O1 -I src tools/trace/read_ahead.cpp
//   build/src/libsluice_{residency,checkpoint,io,formats,base}.a
//       -lfmt -lxxhash -o build/read_ahead && build/read_ahead SHARE RECALL TRACE...
//
// SHARE: the percent of the experts that were used that have a slot. RECALL: 0 takes what the traces say was foreseen
// (sluice run --trace FILE --predict); else predictions are drawn, such that a used expert is named with that chance in
// percent and the other names are any experts of the layer.
//
// A layer takes an attention part and an expert part of equal length; of the latter a quarter is the shared expert's,
// and the routed ones share the rest. Residents are computed while missing ones are read, then each as it lands. The
// disk reads one expert after the other, demanded ones first, and does not stop one it has begun; what was foreseen and
// not begun is withdrawn when the router has spoken. Predictions are free. Columns: `reads` is the time that the disk
// needs for a token's misses, in token computing times, without predictions; `waits` the part of a token's time spent
// waiting then; the others what prediction changes of a token's time in percent, less is better: asked before
// attention (A) or before the last experts (L), the best k or 2k names, read into `k` or 2k slots that the cache goes
// without (staged) or over what the policy lets go (evicting).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "residency/replay.h"

using namespace sluice;

namespace {

constexpr double kShared = 0.25;  // of the expert part

struct Way {
  AskedBefore when = AskedBefore::attention;
  int times_k = 0;  // names; 0: none
  bool evicting = false;
};

// Reads one thing after the other, demanded ones first.
class Disk {
 public:
  explicit Disk(double read) : read_(read) {}
  void demand(int key, double now) { demanded_.push_back({key, now}); }
  void foresee(int key, double now) { foreseen_.push_back({key, now}); }
  // False: it is under way or there.
  bool withdraw(int key) {
    return std::erase_if(foreseen_, [&](const Read& one) { return one.key == key; }) > 0;
  }
  void run_until(double now) {
    while (start_next(now)) {
    }
  }
  // When it lands. Requires: it was asked for and not withdrawn.
  double landing(int key) {
    while (!landed_.contains(key) && start_next(1e300)) {
    }
    return landed_.at(key);
  }
  void forget(int key) { landed_.erase(key); }
  std::uint64_t reads() const { return reads_; }

 private:
  struct Read {
    int key;
    double since;
  };
  // Begins the next read, if that is before `now`.
  bool start_next(double now) {
    std::deque<Read>& queue = !demanded_.empty() && (foreseen_.empty() || std::max(free_, demanded_.front().since) <=
                                                                              std::max(free_, foreseen_.front().since))
                                  ? demanded_
                                  : foreseen_;
    if (queue.empty()) return false;
    const double begin = std::max(free_, queue.front().since);
    if (begin >= now) return false;
    free_ = begin + read_;
    landed_[queue.front().key] = free_;
    queue.pop_front();
    ++reads_;
    return true;
  }
  double read_, free_ = 0;
  std::deque<Read> demanded_, foreseen_;
  std::map<int, double> landed_;
  std::uint64_t reads_ = 0;
};

struct Outcome {
  double time = 0, waits = 0;  // of all decoded tokens
  std::uint64_t misses = 0, reads = 0, tokens = 0;
};

// One run over a trace. `read`: seconds for an expert; a layer computes for 1 / layers seconds, so a token for one.
class Run {
 public:
  Run(const Trace& trace, int slots, double read, Way way)
      : trace_(trace),
        way_(way),
        slots_(slots - (way.evicting ? 0 : way.times_k * trace.top_k)),
        policy_(make_policy("default", shape_of(trace, slots_))),
        disk_(read) {
    for (const std::uint64_t bytes : trace.layer_bytes) layers_ += bytes > 0 ? 1 : 0;
  }
  Outcome go() {
    for (std::size_t at = 0; at < trace_.lines.size(); ++at) {
      const TraceLine& line = trace_.lines[at];
      if (!line.decode) {
        warm(line);
        continue;
      }
      const double begin = now_;
      if (way_.when == AskedBefore::attention) foresee(line);
      now_ += 0.5 / layers_;
      request(line, at + 1 < trace_.lines.size() ? &trace_.lines[at + 1] : nullptr);
      outcome_.time += now_ - begin;
      outcome_.tokens += at + 1 == trace_.lines.size() || trace_.lines[at + 1].token != line.token ? 1 : 0;
    }
    outcome_.reads = disk_.reads();
    return outcome_;
  }

 private:
  int key(int layer, int expert) const { return layer * trace_.experts + expert; }
  bool resident(int key) const { return slot_of_.contains(key); }
  // Into a slot, as the policy says; those of `keep` stay.
  void fill(int layer, int expert, const std::set<int>& keep) {
    int slot = static_cast<int>(keys_.size());
    if (!empty_.empty()) {
      slot = empty_.back();
      empty_.pop_back();
    } else if (slot < slots_) {
      keys_.push_back(-1);
    } else {
      slot = policy_->victim([&](int one) { return !keep.contains(keys_[static_cast<std::size_t>(one)]); });
      slot_of_.erase(keys_[static_cast<std::size_t>(slot)]);
    }
    keys_[static_cast<std::size_t>(slot)] = key(layer, expert);
    slot_of_[key(layer, expert)] = slot;
    policy_->filled(slot, {layer, expert});
  }
  void warm(const TraceLine& line) {
    policy_->requested(line.layer, line.uses);
    for (const ExpertUse& use : line.uses)
      if (!resident(key(line.layer, use.expert))) fill(line.layer, use.expert, {});
  }
  // Reads of what the router of the line would name begin.
  void foresee(const TraceLine& line) {
    const std::vector<int>& names = line.foreseen[static_cast<std::size_t>(way_.when)];
    const std::size_t count = std::min(names.size(), static_cast<std::size_t>(way_.times_k * trace_.top_k));
    std::set<int> keep = in_use_;
    for (std::size_t name = 0; name < count; ++name) keep.insert(key(line.layer, names[name]));
    for (std::size_t name = 0; name < count; ++name) {
      const int one = key(line.layer, names[name]);
      if (resident(one)) continue;
      if (way_.evicting) fill(line.layer, names[name], keep);
      foreseen_.insert(one);
      disk_.foresee(one, now_);
    }
  }
  void request(const TraceLine& line, const TraceLine* next) {
    disk_.run_until(now_);
    policy_->requested(line.layer, line.uses);
    std::set<int> used;
    for (const ExpertUse& use : line.uses) used.insert(key(line.layer, use.expert));
    // What is not needed and not begun is withdrawn; what was begun stays, or is dropped if it is staged.
    for (const int one : foreseen_) {
      if (used.contains(one)) continue;
      const bool withdrawn = disk_.withdraw(one);
      if (!withdrawn) disk_.forget(one);
      if (!way_.evicting || !withdrawn) continue;
      empty_.push_back(slot_of_.at(one));
      slot_of_.erase(one);
    }
    std::vector<int> to_come;
    for (const ExpertUse& use : line.uses) {
      const int one = key(line.layer, use.expert);
      const bool ahead = foreseen_.contains(one);
      if (!ahead && resident(one)) continue;
      to_come.push_back(one);
      outcome_.misses += ahead ? 0 : 1;
      if (!ahead || disk_.withdraw(one)) disk_.demand(one, now_);
      if (!resident(one)) fill(line.layer, use.expert, used);
    }
    foreseen_.clear();
    in_use_ = used;
    if (way_.when == AskedBefore::last_experts && next != nullptr && next->token == line.token) foresee(*next);
    compute(line.uses.size(), to_come);
    in_use_.clear();
  }
  void compute(std::size_t experts, const std::vector<int>& to_come) {
    const double part = 0.5 / layers_, each = part * (1 - kShared) / static_cast<double>(experts);
    now_ += part * kShared + each * static_cast<double>(experts - to_come.size());
    std::vector<double> landings;
    for (const int one : to_come) {
      landings.push_back(disk_.landing(one));
      disk_.forget(one);
    }
    std::ranges::sort(landings);
    for (const double landing : landings) {
      outcome_.waits += std::max(0.0, landing - now_);
      now_ = std::max(now_, landing) + each;
    }
  }

  const Trace& trace_;
  Way way_;
  int slots_, layers_ = 0;
  std::unique_ptr<EvictionPolicy> policy_;
  Disk disk_;
  double now_ = 0;
  std::vector<int> keys_, empty_;
  std::map<int, int> slot_of_;
  std::set<int> foreseen_;  // read ahead for the request to come
  std::set<int> in_use_;    // of the request in hand
  Outcome outcome_;
};

// Predictions such that a used expert is named with chance `recall`.
void draw_predictions(Trace& trace, double recall) {
  std::mt19937_64 random(1);
  for (TraceLine& line : trace.lines)
    for (std::vector<int>& names : line.foreseen) {
      names.clear();
      if (!line.decode) continue;
      for (const ExpertUse& use : line.uses)
        if (static_cast<double>(random() % 1000000) < recall * 1e6) names.push_back(use.expert);
      while (names.size() < 2 * line.uses.size()) {
        const int other = static_cast<int>(random() % static_cast<std::uint64_t>(trace.experts));
        const bool used = std::ranges::count(line.uses, other, &ExpertUse::expert) > 0;
        if (!used && std::ranges::count(names, other) == 0) names.push_back(other);
      }
    }
}

int used_experts(const Trace& trace) {
  std::set<int> used;
  for (const TraceLine& line : trace.lines)
    for (const ExpertUse& use : line.uses) used.insert(line.layer * trace.experts + use.expert);
  return static_cast<int>(used.size());
}

void print_table(const char* path, Trace trace, double share, double recall) {
  if (recall > 0) draw_predictions(trace, recall);
  const int slots = std::max(4 * trace.top_k + 1, static_cast<int>(share * used_experts(trace)));
  const Outcome free = Run(trace, slots, 1e-12, {}).go();
  const auto misses = static_cast<double>(free.misses) / static_cast<double>(free.tokens);
  for (const double reads : {0.125, 0.25, 0.5, 1.0, 2.0, 4.0}) {
    const double read = reads / misses;
    const Outcome shipped = Run(trace, slots, read, {}).go();
    std::printf("| %s | %.0f %% | %.3g | %.1f", path, 100 * share, reads, 100 * shipped.waits / shipped.time);
    for (const AskedBefore when : kAskedBefore)
      for (const bool evicting : {false, true})
        for (const int times : {1, 2}) {
          const Outcome with = Run(trace, slots, read, {when, times, evicting}).go();
          std::printf(" | %+.1f (%.2f)", 100 * (with.time / shipped.time - 1),
                      static_cast<double>(with.reads) / static_cast<double>(shipped.reads));
        }
    std::printf(" |\n");
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  std::printf(
      "| trace | cache | reads | waits | A staged k | A staged 2k | A evicting k | A evicting 2k | L staged k | "
      "L staged 2k | L evicting k | L evicting 2k |\n");
  for (int word = 3; word < count; ++word) {
    Result<Trace> trace = read_trace(words[word]);
    if (!trace) return std::fprintf(stderr, "%s\n", trace.error().what.c_str()), 1;
    print_table(words[word], *std::move(trace), std::atof(words[1]) / 100, std::atof(words[2]) / 100);
  }
}
