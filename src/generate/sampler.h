// Chooses the next token from logits: a pure function of the logits, the tokens seen so far, the seed and the position.
//
// In this order: penalties on the logits; greedy if the temperature is 0 (ties: lower id); division by the temperature;
// top-k; top-p and min-p on the probabilities of what is left; one draw. Arithmetic is double with our own exp, so
// every machine chooses alike.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/result.h"

namespace sluice {

struct SamplingParams {
  double temperature = 0;        // >= 0; 0 is greedy
  int top_k = 0;                 // keep the k most likely; 0: all
  double top_p = 1;              // keep the fewest most likely tokens whose probabilities sum to at least p; (0, 1]
  double min_p = 0;              // drop tokens below min_p times the largest probability; [0, 1]
  double repeat_penalty = 1;     // > 0; divides positive logits of seen tokens and multiplies negative ones
  double presence_penalty = 0;   // subtracted once from the logit of a token that was generated
  double frequency_penalty = 0;  // subtracted for each time it was generated

  Result<> validate() const;  // bad_input, names the first field outside its range
};

class Sampler {
 public:
  Sampler(const SamplingParams& params, std::uint64_t seed) : params_(params), seed_(seed) {}

  // Tokens that penalties look at: the prompt counts for repeat_penalty only.
  void saw_prompt(int id) { ++seen_[id].prompt; }
  void saw(int id) { ++seen_[id].generated; }

  // The token at `position` (its index in the sequence). Requires: logits are finite.
  int choose(std::span<const float> logits, int position) const;

 private:
  struct Seen {
    int prompt = 0, generated = 0;
  };
  double penalised(float logit, int id) const;

  SamplingParams params_;
  std::uint64_t seed_;
  std::unordered_map<int, Seen> seen_;
};

}  // namespace sluice
