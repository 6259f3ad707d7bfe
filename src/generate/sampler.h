// Chooses the next token from logits: a pure function of the logits, the tokens seen so far, the seed and the position.
//
// In this order, each step on what the one before left: biases and penalties on the logits; greedy if the temperature
// is 0 (ties: lower id); division by the temperature; top-k (ties: lower ids stay); top-p; min-p; one draw.
// Probabilities are those of the tokens that are left. Arithmetic is double with our own exp and sums run in rising id,
// so every machine chooses alike. What looks at the whole vocabulary is left to Ops.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/ops.h"

namespace sluice {

struct SamplingParams {
  double temperature = 0;        // [0, 100]; 0 is greedy
  int top_k = 0;                 // keep the k most likely tokens; 0: all
  double top_p = 1;              // keep the fewest most likely tokens whose probabilities sum to at least p; (0, 1]
  double min_p = 0;              // drop tokens below min_p times the largest probability; [0, 1]
  double repeat_penalty = 1;     // (0, 100]; divides positive logits of seen tokens and multiplies negative ones
  double presence_penalty = 0;   // [-100, 100]; subtracted once from the logit of a token that was generated
  double frequency_penalty = 0;  // [-100, 100]; subtracted for each time it was generated
  std::vector<std::pair<int, double>> logit_bias = {};  // added to the logits of these ids, [-100, 100]

  Result<> validate() const;  // bad_input, names the first field outside its range
};

// What samplers work with: operations, and lists that keep their room from token to token. One for all samplers of a
// thread.
struct SamplingRoom {
  Ops& ops;
  std::vector<float> logits = {};  // of all tokens, penalised
  std::vector<int> ids = {};       // that are left, rising; empty: all
  std::vector<double> weights =
      {};  // of those that are left, proportional to their probabilities: 1 for the largest logit
  std::vector<float> likeliest = {};  // logits of the top k
  std::vector<int> places = {};       // of a choice among those that are left

  // Most that it takes.
  static std::uint64_t bytes(int vocab_size) {
    constexpr std::uint64_t kATokens = 2 * sizeof(float) + 2 * sizeof(int) + sizeof(double);
    return static_cast<std::uint64_t>(vocab_size) * kATokens;
  }
};

class Sampler {
 public:
  // Requires: params are valid.
  Sampler(const SamplingParams& params, std::uint64_t seed) : params_(params), seed_(seed) {}

  // Tokens that penalties look at: the prompt counts for repeat_penalty only.
  void saw_prompt(int id) { seen_.try_emplace(id, 0); }
  void saw(int id) { ++seen_[id]; }

  // The token at `position` (its index in the sequence). Requires: at least one logit is finite and none is NaN or
  // +infinity; -infinity is a token that may not come.
  int choose(SamplingRoom& room, std::span<const float> logits, int position) const;

 private:
  // The logits, or room.logits if anything changes them.
  std::span<const float> penalised(SamplingRoom& room, std::span<const float> logits) const;

  SamplingParams params_;
  std::uint64_t seed_;
  std::unordered_map<int, int> seen_;  // token -> how often it was generated
};

}  // namespace sluice
