// Log probabilities of tokens: the logarithm of the softmax of a row of logits as the model gave them, before
// penalties, temperature and truncation.
//
// Arithmetic is double with our own exp and log, and the sum runs in rising id, so every machine reports the same.
#pragma once

#include <span>
#include <vector>

#include "generate/sampler.h"

namespace sluice {

struct TokenLogprob {
  int id = 0;
  double logprob = 0;  // minus infinity for a token that may not come
  bool operator==(const TokenLogprob&) const = default;
};

struct TokenLogprobs {
  double chosen = 0;
  std::vector<TokenLogprob> top;  // most likely first; ties: lower id
};

// Requires: 0 <= chosen < logits.size(), count >= 0, at least one logit is finite and none is NaN or +infinity.
TokenLogprobs token_logprobs(SamplingRoom& room, std::span<const float> logits, int chosen, int count);

}  // namespace sluice
