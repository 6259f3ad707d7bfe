// See sequence.h.
#include "engine/sequence.h"

#include <algorithm>

namespace sluice {

namespace {

// What may be chosen from; all of it if the prompt holds an id that may not.
std::span<const float> logits_for(const Engine& engine, int row, int id) {
  const std::span<const float> choosable = engine.choosable_logits(row);
  return static_cast<std::size_t>(id) < choosable.size() ? choosable : engine.logits(row);
}

double seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

std::string_view finish_name(Finish finish) {
  return finish == Finish::stop ? "stop" : finish == Finish::length ? "length" : "cancelled";
}

Sequence::Sequence(const Engine& engine, Request request, std::shared_ptr<RequestListener> listener)
    : request_(std::move(request)),
      listener_(std::move(listener)),
      state_(engine.new_state()),
      tokens_(request_.prompt),
      sampler_(request_.sampling, request_.seed),
      began_(Clock::now()) {
  const auto choosable = static_cast<int>(engine.choosable_logits().size());
  for (const int id : tokens_)
    if (id < choosable) sampler_.saw_prompt(id);  // rows of lm_head without a token have no logit to penalise
  listener_->prefilled(0, tokens_.size());
}

RunningSequence Sequence::schedule() const {
  return {.backlog = static_cast<int>(backlog()),
          .steps_waited = steps_waited_,
          .all_logits = request_.prompt_logprobs && !decoding_};
}

int Sequence::logit_rows(int rows) const {
  if (request_.prompt_logprobs && !decoding_) return rows;
  return static_cast<std::size_t>(rows) == backlog() ? 1 : 0;
}

BatchPart Sequence::next_part(int rows) {
  return {state_.get(), std::span<const int>(tokens_).subspan(computed_, static_cast<std::size_t>(rows)),
          logit_rows(rows)};
}

void Sequence::computed(const Engine& engine, int rows, int first_logits) {
  const int with_logits = logit_rows(rows);
  steps_waited_ = 0;
  for (int row = 0; row < with_logits; ++row)
    if (Result<> numbers = engine.check_logits(first_logits + row, *state_); !numbers)
      return fail_with(std::move(numbers.error()));
  if (request_.prompt_logprobs && !decoding_)
    for (int row = 0; row < rows; ++row) {
      const std::size_t next = computed_ + static_cast<std::size_t>(row) + 1;
      if (next >= request_.prompt.size()) break;
      const int id = tokens_[next];
      listener_->prompt_token(
          {id, token_logprobs(logits_for(engine, first_logits + row, id), id, request_.top_logprobs)});
    }
  computed_ += static_cast<std::size_t>(rows);
  if (!decoding_) listener_->prefilled(computed_, request_.prompt.size());
  if (backlog() > 0) return;
  if (!decoding_) {
    decoding_ = true;
    decoding_since_ = Clock::now();
  }
  if (request_.max_tokens == 0) {
    finish_ = Finish::length;
    return;
  }
  choose(engine, first_logits + with_logits - 1);
  if (!request_.recompute || over()) return;
  state_ = engine.new_state();
  computed_ = 0;
}

void Sequence::choose(const Engine& engine, int row) {
  hash_.add(engine.logits(row));
  listener_->logits(engine.logits(row));
  const std::span<const float> logits = engine.choosable_logits(row);
  TokenEvent token{sampler_.choose(logits, static_cast<int>(tokens_.size()))};
  if (request_.top_logprobs >= 0) token.logprobs = token_logprobs(logits, token.id, request_.top_logprobs);
  sampler_.saw(token.id);
  tokens_.push_back(token.id);
  made_.ids.push_back(token.id);
  const bool go_on = listener_->token(token);
  if (!go_on || std::ranges::find(request_.stop_ids, token.id) != request_.stop_ids.end())
    finish_ = Finish::stop;
  else if (static_cast<int>(made_.ids.size()) == request_.max_tokens)
    finish_ = Finish::length;
}

void Sequence::end() {
  if (failed_) return listener_->finished(tl::unexpected<Error>(std::move(*failed_)));
  const Clock::time_point now = Clock::now();
  made_.prefill_seconds = seconds((decoding_ ? decoding_since_ : now) - began_);
  made_.decode_seconds = decoding_ ? seconds(now - decoding_since_) : 0;
  made_.finish = finish_.value_or(Finish::cancelled);
  made_.logits_hash = hash_.hex();
  listener_->finished(std::move(made_));
}

}  // namespace sluice
