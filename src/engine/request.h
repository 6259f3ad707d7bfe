// What is asked of the engine and what comes back, as plain values: ids in, ids out. Text is its clients' business.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "generate/logprobs.h"
#include "generate/sampler.h"
#include "generate/token_constraint.h"

namespace sluice {

// Who knows the text better than the engine drafts for it: at most `most` tokens that may follow `text`.
using DraftSource = std::function<std::vector<int>(std::span<const int> text, int most)>;

struct Request {
  std::vector<int> prompt;         // at least one id, all inside the vocabulary
  int max_tokens = 256;            // 0: the prompt is only computed. prompt + max_tokens fit into the context
  std::vector<int> stop_ids = {};  // the id itself is the last one emitted
  SamplingParams sampling = {};    // valid
  std::uint64_t seed = 0;
  HeldTo held_to = {};           // a grammar that everything new must follow
  int top_logprobs = -1;         // alternatives to report with each token; -1: no log probabilities at all
  bool prompt_logprobs = false;  // the same for the prompt's tokens from the second on; requires top_logprobs >= 0
  int generated = 0;             // of the prompt, the last so many were generated before: penalties know them as such
  DraftSource drafts = {};       // asked first; without effect where nothing is drafted
  // Where a grammar leaves one token alone, it is taken without a pass of its own, and no logits are told; log
  // probabilities need all passes. Same tokens.
  bool skip_forced = true;
  bool recompute = false;  // no state between tokens: the whole sequence again for each. Same tokens, for checking.
};

enum class Finish { stop, length, cancelled };
std::string_view finish_name(Finish finish);

// What a request made.
struct Generation {
  std::vector<int> ids;
  Finish finish = Finish::length;
  std::string logits_hash;  // XXH3-64 over the logits rows that ids were chosen from, but for those that a grammar
                            // left no choice about, -0 as 0; 16 hex digits
  double prefill_seconds = 0, decode_seconds = 0;
  std::size_t cached = 0;                 // tokens of the prompt that an earlier request had computed
  std::size_t drafted = 0, accepted = 0;  // tokens drafted by speculation, and those that came to be
  std::size_t forced = 0;                 // tokens that a grammar left no choice about and that cost no pass
};

// One token of a sequence.
struct TokenEvent {
  int id = 0;
  std::optional<TokenLogprobs> logprobs = {};  // if asked for
};

// Follows one request. Called by the thread that runs the batch, which waits for it: implementations are quick.
class RequestListener {
 public:
  virtual ~RequestListener() = default;
  // Asked between steps, whether the request waits, prefills or decodes, and between the layers of a pass that computes
  // its prompt.
  virtual bool cancelled() const = 0;
  // Prompt tokens done so far; told first when the request gets its slot, with those known from earlier requests.
  virtual void prefilled(std::size_t /*done*/, std::size_t /*of*/) {}
  // A token of the prompt from the second on, if prompt_logprobs.
  virtual void prompt_token(const TokenEvent& /*token*/) {}
  // The row that the next token is chosen from.
  virtual void logits(std::span<const float> /*row*/) {}
  // A new token. False: stop here (a stop string was met).
  virtual bool token(const TokenEvent& token) = 0;
  // The last call. Cancellation is not an error: what was generated comes back with Finish::cancelled.
  virtual void finished(Result<Generation> made) = 0;
};

}  // namespace sluice
