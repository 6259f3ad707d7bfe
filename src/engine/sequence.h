// One request in progress: what is known of its text, what of that is computed, and how it goes on.
//
// Tokens are known first (the prompt, then each chosen one) and computed later; the difference is the backlog. Drafts
// are tokens that are not known: rows behind the backlog, of which those stay that the sampler chooses too. So it
// chooses the tokens that it would choose without them, from the same logits. Used by the thread that runs the batch.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/kept_sequences.h"
#include "engine/logits_hash.h"
#include "engine/request.h"
#include "engine/scheduler.h"

namespace sluice {

class Sequence {
 public:
  static constexpr int kFirstDrafts = 2, kMostDrafts = EngineOptions::kDraftRows - 1, kMostOfHead = 3;

  // Takes a slot. Goes on from what an earlier conversation has computed of the prompt, if its state is not null.
  Sequence(Engine& engine, Request request, std::shared_ptr<RequestListener> listener, KeptSequence from);

  RunningSequence schedule() const;
  // Drafts tokens for the next step, if it is one of decoding and there is anything to draft from.
  void propose();
  bool proposes() const { return !drafts_.empty(); }
  bool decoding() const { return decoding_; }
  // Rows of its backlog are tokens that nobody had to choose.
  bool goes_on_forced() const { return decoding_ && forced_ > 0; }
  // Remembers where the sequence stands now; how much one such mark takes, and all of them.
  void mark(int kept) { state_->mark(kept); }
  void drop_marks() { state_->drop_marks(); }
  // Of the copy that is kept since its first rows that might go again, if it has recurrent parts.
  std::uint64_t recurrent_bytes() const { return state_->shape().recurrent_bytes(); }
  std::uint64_t copy_bytes() const { return copied_ ? state_->shape().recurrent_bytes() : 0; }
  void drop_copy() {
    if (std::exchange(copied_, false)) state_->trim();
  }
  std::uint64_t mark_bytes() const { return state_->shape().mark_bytes(); }
  std::uint64_t marks_bytes() const { return static_cast<std::uint64_t>(state_->marks()) * mark_bytes(); }
  RequestListener& listener() { return *listener_; }

  // The next `rows` tokens as a part of a step, drafts behind the backlog. Requires: 1 <= rows <= backlog + drafts.
  BatchPart next_part(int rows);
  void wait();
  // The step succeeded; in it, the sequence's rows begin at first_row and the logits that next_part asked for at
  // first_logits. Returns the number of new tokens.
  int computed(int rows, int first_row, int first_logits);

  // Ended, in whatever way: nothing but `end` may be called.
  bool over() const { return finish_.has_value() || failed_.has_value(); }
  void cancel() { finish_ = Finish::cancelled; }
  void fail_with(Error error) { failed_ = std::move(error); }
  // Tells the listener.
  void end();
  // What it computed, for those who go on from there. Requires: over.
  KeptSequence leave();

 private:
  static constexpr int kNoToken = -1;
  using Clock = std::chrono::steady_clock;
  int backlog() const { return static_cast<int>(tokens_.size()) - computed_; }
  int drafts_in(int rows) const { return std::max(rows - backlog(), 0); }
  int logit_rows(int rows) const;
  bool prompt_logprobs() const { return request_.prompt_logprobs && !decoding_; }
  Result<> check_logits(int first, int count) const;
  void tell_prompt(int rows, int first_logits);
  int choose(int row);
  void accept(const TokenEvent& token);
  std::optional<int> forced() const;
  void take_forced();
  int choose_all(int rows, int first_logits);
  void follow(int first_row, int rows);

  Engine& engine_;
  Request request_;
  std::shared_ptr<RequestListener> listener_;
  std::unique_ptr<SequenceState> state_;
  std::unique_ptr<HeadDrafter> head_;  // null: no head drafts
  std::vector<int> tokens_;            // prompt and what was generated
  int computed_ = 0;                   // of tokens_, by state_
  std::vector<int> drafts_;            // that may follow them
  std::vector<int> part_;              // tokens of a step with drafts
  int draft_length_ = kFirstDrafts;    // that are worth while
  int forced_ = 0;                     // of the backlog, were not chosen
  int steps_waited_ = 0;
  bool copied_ = false;
  Sampler sampler_;
  std::unique_ptr<TokenConstraint> constraint_;  // null: the text is free
  LogitsHash hash_;
  Generation made_;
  std::optional<Finish> finish_;
  std::optional<Error> failed_;
  Clock::time_point began_, decoding_since_;
  bool decoding_ = false;
};

}  // namespace sluice
