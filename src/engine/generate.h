// One request from prompt to last token, on the calling thread.
#pragma once

#include <span>

#include "base/cancel.h"
#include "base/function_ref.h"
#include "engine/engine.h"
#include "engine/request.h"

namespace sluice {

struct GenerationSink {
  FunctionRef<void(std::span<const float> logits)> logits;      // the row that the next token is chosen from
  FunctionRef<bool(int id)> token;                              // false: stop here (a stop string was met)
  FunctionRef<void(std::size_t done, std::size_t of)> prefill;  // prompt tokens done so far
};

// Cancellation is not an error: what was generated comes back with Finish::cancelled.
Result<Generation> generate(Engine& engine, const Request& request, const GenerationSink& sink,
                            const CancelFlag& cancel);

}  // namespace sluice
