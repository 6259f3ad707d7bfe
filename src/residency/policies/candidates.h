// The few slots that may go next, worst first: one look at all slots serves all evictions of a layer's request.
//
// Between two requests the evictable slots only become fewer (those chosen) or gain slots of the request in hand, so a
// ranking stays right until the next request. That makes a policy that scores slots cheap at tens of thousands of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"

namespace sluice {

struct Candidate {
  double score = 0;      // the largest goes first
  std::int64_t tie = 0;  // then the smallest
  int slot = -1;

  bool before(const Candidate& other) const { return score != other.score ? score > other.score : tie < other.tie; }
};

class Candidates {
 public:
  void forget() { ranked_.clear(); }

  // The next slot to go. `candidate_of(slot)` scores a slot; called for all evictable ones when the ranking is used up.
  template <class CandidateOf>
  int next(std::span<const int> evictable, CandidateOf candidate_of) {
    SLUICE_CHECK(!evictable.empty());
    if (ranked_.empty()) rank(evictable, candidate_of);
    const int slot = ranked_.back().slot;
    ranked_.pop_back();
    return slot;
  }

 private:
  static constexpr std::size_t kRanked = 64;

  template <class CandidateOf>
  void rank(std::span<const int> evictable, CandidateOf candidate_of) {
    // A heap of the kRanked first ones so far, the last of them on top.
    const auto before = [](const Candidate& one, const Candidate& other) { return one.before(other); };
    for (const int slot : evictable) {
      const Candidate candidate = candidate_of(slot);
      if (ranked_.size() == kRanked) {
        if (!candidate.before(ranked_.front())) continue;
        std::pop_heap(ranked_.begin(), ranked_.end(), before);
        ranked_.pop_back();
      }
      ranked_.push_back(candidate);
      std::push_heap(ranked_.begin(), ranked_.end(), before);
    }
    std::sort_heap(ranked_.begin(), ranked_.end(), before);
    std::reverse(ranked_.begin(), ranked_.end());  // the first to go is at the back
  }

  std::vector<Candidate> ranked_;
};

}  // namespace sluice
