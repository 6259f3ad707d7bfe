// One request from prompt to last token.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/function_ref.h"
#include "engine/engine.h"
#include "generate/sampler.h"

namespace sluice {

struct Request {
  std::vector<int> prompt;  // at least one id, all inside the vocabulary
  int max_tokens = 256;
  std::vector<int> stop_ids;  // the id itself is the last one emitted
  SamplingParams sampling;
  std::uint64_t seed = 0;
  bool recompute = false;  // no state between tokens: the whole sequence again for each. Same tokens, for checking.
};

enum class Finish { stop, length, cancelled };
std::string_view finish_name(Finish finish);

struct Generation {
  std::vector<int> ids;
  Finish finish = Finish::length;
  std::string logits_hash;  // XXH3-64 over the logits rows that the ids were chosen from, -0 as 0; 16 hex digits
  double prefill_seconds = 0, decode_seconds = 0;
};

struct GenerationSink {
  FunctionRef<void(std::span<const float> logits)> logits;      // the row that the next token is chosen from
  FunctionRef<bool(int id)> token;                              // false: stop here (a stop string was met)
  FunctionRef<void(std::size_t done, std::size_t of)> prefill;  // prompt tokens done so far
};

// Cancellation is not an error: what was generated comes back with Finish::cancelled.
Result<Generation> generate(Engine& engine, const Request& request, const GenerationSink& sink,
                            const CancelFlag& cancel);

}  // namespace sluice
