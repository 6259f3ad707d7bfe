// /v1/completions: JSON to a request and pieces of a reply to JSON. Prompts are raw text, or ids.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "serve/generation_ask.h"
#include "serve/reply_writer.h"

namespace sluice::serve {

using RawPrompt = std::variant<std::string, std::vector<int>>;

struct CompletionAsk {
  GenerationAsk generation;
  std::vector<RawPrompt> prompts;  // each gets n choices
  bool echo = false;               // the prompt comes back before the text, and its tokens with log probabilities
};

ApiResult<CompletionAsk> read_completion(std::string_view raw, const SamplingParams& sampling);

struct CompletionReplyOptions {
  std::size_t choices = 1;
  bool logprobs = false, stream = false, include_usage = false;
};
std::unique_ptr<ReplyWriter> completion_writer(ReplyNames names, const CompletionReplyOptions& options);

}  // namespace sluice::serve
