// See logprobs.h.
#include "generate/logprobs.h"

#include <algorithm>
#include <numeric>

#include "base/exact_math.h"

namespace sluice {

TokenLogprobs token_logprobs(std::span<const float> logits, int chosen, int count) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += exact_exp(logit - largest);
  const double log_sum = largest + exact_log(sum);
  const auto logprob = [&](int id) { return logits[static_cast<std::size_t>(id)] - log_sum; };

  TokenLogprobs found{logprob(chosen), {}};
  std::vector<int> ids(count > 0 ? logits.size() : 0);
  std::iota(ids.begin(), ids.end(), 0);
  const auto kept = static_cast<std::ptrdiff_t>(std::min(static_cast<std::size_t>(count), ids.size()));
  std::ranges::partial_sort(ids, ids.begin() + kept, [&](int a, int b) {
    const float left = logits[static_cast<std::size_t>(a)], right = logits[static_cast<std::size_t>(b)];
    return left != right ? left > right : a < b;
  });
  for (const int id : std::span(ids).first(static_cast<std::size_t>(kept))) found.top.push_back({id, logprob(id)});
  return found;
}

}  // namespace sluice
