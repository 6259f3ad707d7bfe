// One request in progress: what is known of its text, what of that is computed, and how it goes on.
//
// Tokens are known first (the prompt, then each chosen one) and computed later; the difference is the backlog. Used by
// the thread that runs the batch.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/logits_hash.h"
#include "engine/request.h"
#include "engine/scheduler.h"

namespace sluice {

class Sequence {
 public:
  // Takes a slot: the state is made here.
  Sequence(const Engine& engine, Request request, std::shared_ptr<RequestListener> listener);

  RunningSequence schedule() const;
  RequestListener& listener() { return *listener_; }

  // The next `rows` tokens as a part of a step. Requires: 1 <= rows <= backlog.
  BatchPart next_part(int rows);
  void wait() { ++steps_waited_; }
  // The step succeeded; the logits that next_part asked for begin at `first_logits`.
  void computed(const Engine& engine, int rows, int first_logits);

  // Ended, in whatever way: nothing but `end` may be called.
  bool over() const { return finish_.has_value() || failed_.has_value(); }
  void cancel() { finish_ = Finish::cancelled; }
  void fail_with(Error error) { failed_ = std::move(error); }
  // Tells the listener.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  std::size_t backlog() const { return tokens_.size() - computed_; }
  int logit_rows(int rows) const;
  void choose(const Engine& engine, int row);

  Request request_;
  std::shared_ptr<RequestListener> listener_;
  std::unique_ptr<SequenceState> state_;
  std::vector<int> tokens_;   // prompt and what was generated
  std::size_t computed_ = 0;  // of tokens_, by state_
  int steps_waited_ = 0;
  Sampler sampler_;
  LogitsHash hash_;
  Generation made_;
  std::optional<Finish> finish_;
  std::optional<Error> failed_;
  Clock::time_point began_, decoding_since_;
  bool decoding_ = false;
};

}  // namespace sluice
