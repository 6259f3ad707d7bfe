// See logprobs.h.
#include "generate/logprobs.h"

#include <algorithm>

#include "base/exact_math.h"
#include "generate/likeliest.h"

namespace sluice {

TokenLogprobs token_logprobs(SamplingRoom& room, std::span<const float> logits, int chosen, int count) {
  find_likeliest(room.ops, logits, 1, room.places);
  const float largest = logits[static_cast<std::size_t>(room.places.front())];
  room.weights.clear();
  room.weights.resize(logits.size());
  room.ops.exp_weights(logits, largest, 1.0, room.weights);
  double sum = 0;
  for (const double weight : room.weights) sum += weight;
  const double log_sum = largest + exact_log(sum);
  const auto logprob = [&](int id) { return logits[static_cast<std::size_t>(id)] - log_sum; };

  TokenLogprobs found{logprob(chosen), {}};
  if (count == 0) return found;
  find_likeliest(room.ops, logits, std::min(count, static_cast<int>(logits.size())), room.places);
  sort_by_likelihood(logits, room.places);
  for (const int id : room.places) found.top.push_back({id, logprob(id)});
  return found;
}

}  // namespace sluice
