// What every endpoint that generates lets its caller say, whatever the names of the API are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generate/sampler.h"
#include "serve/body.h"

namespace sluice::serve {

struct GenerationAsk {
  SamplingParams sampling;
  std::optional<std::uint64_t> seed;
  std::optional<int> max_tokens;
  std::vector<std::string> stops;
  int n = 1;
  int top_logprobs = -1;
  bool stream = false, include_usage = false;
};

inline constexpr int kMostTopLogprobs = 20;
inline constexpr int kMostChoices = 128;

// The fields that OpenAI's completions and chat completions share. Fields that would change the answer and that sluice
// does not know how to honour are refused; others are ignored.
GenerationAsk read_generation(const Body& body, const SamplingParams& defaults);

}  // namespace sluice::serve
