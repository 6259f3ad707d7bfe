// What every endpoint that generates lets its caller say, whatever the names of the API are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/reply_grammar.h"
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
  AnswerForm form = {};         // what the text is held to
  const char* form_field = "";  // that said so
  bool stream = false, include_usage = false;
};

inline constexpr int kMostTopLogprobs = 20;
inline constexpr int kMostChoices = 128;

// The fields that OpenAI's completions and chat completions share. Fields that would change the answer and that sluice
// does not know how to honour are refused; others are ignored.
GenerationAsk read_generation(const Body& body, const SamplingParams& defaults);

// `response_format` and `grammar` as the form that the text is held to, and what a prompt says of it. `raw` is the body
// as it was sent.
ResponseFormat read_form(const Body& body, std::string_view raw, GenerationAsk& ask);

}  // namespace sluice::serve
