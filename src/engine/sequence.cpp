// See sequence.h.
#include "engine/sequence.h"

#include <algorithm>

#include "base/seconds.h"
#include "generate/prompt_lookup.h"

namespace sluice {

namespace {

// What may be chosen from; all of it if the prompt holds an id that may not.
std::span<const float> logits_for(const Engine& engine, int row, int id) {
  const std::span<const float> choosable = engine.choosable_logits(row);
  return static_cast<std::size_t>(id) < choosable.size() ? choosable : engine.logits(row);
}

}  // namespace

std::string_view finish_name(Finish finish) {
  return finish == Finish::stop ? "stop" : finish == Finish::length ? "length" : "cancelled";
}

Sequence::Sequence(Engine& engine, Request request, std::shared_ptr<RequestListener> listener, KeptSequence from)
    : engine_(engine),
      request_(std::move(request)),
      listener_(std::move(listener)),
      state_(from.state ? std::move(from.state) : engine.new_state()),
      head_(std::move(from.head)),
      tokens_(request_.prompt),
      computed_(state_->length()),
      sampler_(request_.sampling, request_.seed),
      began_(Clock::now()) {
  if (engine.drafts_by_head() && head_ == nullptr && computed_ == 0 && !request_.recompute)
    head_ = std::make_unique<HeadDrafter>(engine);
  made_.cached = static_cast<std::size_t>(computed_);
  const auto choosable = static_cast<int>(engine.choosable_logits().size());
  const std::size_t given = tokens_.size() - static_cast<std::size_t>(request_.generated);
  for (std::size_t token = 0; token < tokens_.size(); ++token) {
    if (tokens_[token] >= choosable) continue;  // rows of lm_head without a token have no logit to penalise
    if (token < given)
      sampler_.saw_prompt(tokens_[token]);
    else
      sampler_.saw(tokens_[token]);
  }
  if (request_.held_to.grammar != nullptr)
    constraint_ = std::make_unique<TokenConstraint>(request_.held_to, request_.stop_ids);
  listener_->prefilled(static_cast<std::size_t>(computed_), tokens_.size());
}

RunningSequence Sequence::schedule() const {
  return {.backlog = backlog(),
          .steps_waited = steps_waited_,
          .all_logits = prompt_logprobs(),
          .drafts = static_cast<int>(drafts_.size())};
}

// The text itself first: it costs nothing, and a long match is seldom wrong.
void Sequence::propose() {
  const int left = request_.max_tokens - static_cast<int>(made_.ids.size()) - 1;
  const int most = std::min(draft_length_, left);
  drafts_.clear();
  if (!decoding_ || backlog() != 1 || request_.recompute || most <= 0) return;
  constexpr int kShortMatch = 2, kSureMatch = 4;
  if (request_.drafts) drafts_ = request_.drafts(tokens_, most);
  const bool sure =
      head_ != nullptr || state_->shape().recurrent_bytes() > 0;  // a wrong draft costs more than its rows
  if (drafts_.empty() && engine_.drafts_by_lookup()) drafts_ = look_up(tokens_, sure ? kSureMatch : kShortMatch, most);
  if (!drafts_.empty() || head_ == nullptr || head_->length() != computed_) return;
  const auto next = static_cast<int>(tokens_.size());
  const auto as_the_model_would = [&](std::span<const float> logits, int place) {
    return sampler_.choose(engine_.sampling(), engine_.choosable(logits), next + place);
  };
  Result<std::vector<int>> drafts = head_->draft(std::min(most, kMostOfHead), as_the_model_would);
  if (!drafts) return fail_with(std::move(drafts.error()));
  drafts_ = std::move(*drafts);
}

int Sequence::logit_rows(int rows) const {
  if (prompt_logprobs()) return rows;
  return rows >= backlog() ? 1 + drafts_in(rows) : 0;
}

BatchPart Sequence::next_part(int rows) {
  const auto known = std::span<const int>(tokens_).subspan(static_cast<std::size_t>(computed_));
  const auto count = static_cast<std::size_t>(rows);
  if (drafts_in(rows) == 0) return {state_.get(), known.first(count), logit_rows(rows)};
  copied_ = true;
  part_.assign(known.begin(), known.end());
  part_.insert(part_.end(), drafts_.begin(), drafts_.begin() + drafts_in(rows));
  return {state_.get(), part_, logit_rows(rows), false};
}

void Sequence::wait() {
  ++steps_waited_;
  drafts_.clear();
}

Result<> Sequence::check_logits(int first, int count) const {
  for (int row = 0; row < count; ++row) TRY(engine_.check_logits(first + row, *state_));
  return {};
}

void Sequence::tell_prompt(int rows, int first_logits) {
  for (int row = 0; row < rows; ++row) {
    const std::size_t next = static_cast<std::size_t>(computed_ + row) + 1;
    if (next >= request_.prompt.size()) break;
    const int id = tokens_[next];
    listener_->prompt_token({id, token_logprobs(engine_.sampling(), logits_for(engine_, first_logits + row, id), id,
                                                request_.top_logprobs)});
  }
}

int Sequence::computed(int rows, int first_row, int first_logits) {
  const int with_logits = logit_rows(rows), drafts = drafts_in(rows);
  steps_waited_ = 0;
  if (Result<> numbers = check_logits(first_logits, with_logits - drafts); !numbers) {
    fail_with(std::move(numbers.error()));
    return 0;
  }
  if (prompt_logprobs()) tell_prompt(rows, first_logits);
  if (drafts > 0) {
    const int chosen = choose_all(rows, first_logits);
    const int kept = state_->commit(rows - drafts + std::max(chosen - 1, 0));
    follow(first_row, kept);
    computed_ += kept;
    take_forced();
    return chosen;
  }
  drafts_.clear();  // there was no room for them
  const bool last = rows == backlog();
  if (!decoding_) listener_->prefilled(static_cast<std::size_t>(computed_ + rows), request_.prompt.size());
  if (last && !decoding_) {
    decoding_ = true;
    decoding_since_ = Clock::now();
  }
  if (last && request_.max_tokens == 0) finish_ = Finish::length;
  if (last && !over()) choose(first_logits + with_logits - 1);
  follow(first_row, rows);
  computed_ += rows;
  if (last) {
    forced_ = 0;
    take_forced();
  }
  if (last && request_.recompute && !over()) {
    state_ = engine_.new_state();
    computed_ = 0;
  }
  return last ? 1 : 0;
}

// The head goes on from every position whose next token is known.
void Sequence::follow(int first_row, int rows) {
  if (head_ == nullptr || head_->length() != computed_) return;
  const int known = std::min(rows, static_cast<int>(tokens_.size()) - 1 - computed_);
  if (known <= 0 || failed_) return;
  const auto next =
      std::span<const int>(tokens_).subspan(static_cast<std::size_t>(computed_) + 1, static_cast<std::size_t>(known));
  if (Result<> followed = head_->follow(engine_.hidden().slice(first_row, known), next); !followed)
    fail_with(std::move(followed.error()));
}

// Chooses tokens as long as each is the one that was drafted for its place, so that the next row is its own. Returns
// how many.
int Sequence::choose_all(int rows, int first_logits) {
  const int drafts = drafts_in(rows);
  int chosen = 0;
  while (!over()) {
    if (Result<> numbers = check_logits(first_logits + chosen, 1); !numbers) {
      fail_with(std::move(numbers.error()));
      break;
    }
    const int id = choose(first_logits + chosen);
    ++chosen;
    if (chosen > drafts || id != drafts_[static_cast<std::size_t>(chosen - 1)]) break;
    ++made_.accepted;
  }
  made_.drafted += static_cast<std::size_t>(drafts);
  draft_length_ = chosen > drafts ? std::min(draft_length_ + 1, kMostDrafts) : std::max(chosen, 1);
  drafts_.clear();
  return chosen;
}

// kNoToken if none may come: then the sequence has failed.
int Sequence::choose(int row) {
  if (!forced()) hash_.add(engine_.logits(row));
  listener_->logits(engine_.logits(row));
  const std::span<const float> logits = engine_.choosable_logits(row);
  std::span<const float> allowed = logits;
  if (constraint_ != nullptr) {
    Result<std::span<const float>> masked = constraint_->masked(logits);
    if (!masked) {
      fail_with(std::move(masked.error()));
      return kNoToken;
    }
    allowed = *masked;
  }
  TokenEvent token{sampler_.choose(engine_.sampling(), allowed, static_cast<int>(tokens_.size()))};
  if (request_.top_logprobs >= 0)
    token.logprobs = token_logprobs(engine_.sampling(), logits, token.id, request_.top_logprobs);
  const int id = token.id;
  accept(token);
  return id;
}

void Sequence::accept(const TokenEvent& token) {
  if (constraint_ != nullptr) constraint_->accept(token.id);
  sampler_.saw(token.id);
  tokens_.push_back(token.id);
  made_.ids.push_back(token.id);
  const bool go_on = listener_->token(token);
  const bool ended = constraint_ != nullptr && constraint_->ended();
  if (!go_on || ended || std::ranges::find(request_.stop_ids, token.id) != request_.stop_ids.end())
    finish_ = Finish::stop;
  else if (static_cast<int>(made_.ids.size()) == request_.max_tokens)
    finish_ = Finish::length;
}

// The next token, if the grammar leaves no choice.
std::optional<int> Sequence::forced() const {
  if (constraint_ == nullptr) return std::nullopt;
  return constraint_->forced(static_cast<int>(engine_.choosable_logits().size()));
}

// Takes what needs no logits: it is computed together with the row of the next token that does.
void Sequence::take_forced() {
  if (!request_.skip_forced || request_.recompute || request_.top_logprobs >= 0) return;
  while (!over()) {
    const std::optional<int> id = forced();
    if (!id) return;
    accept({*id});
    ++forced_;
    ++made_.forced;
  }
}

void Sequence::end() {
  if (failed_) return listener_->finished(tl::unexpected<Error>(std::move(*failed_)));
  const Clock::time_point now = Clock::now();
  made_.prefill_seconds = in_seconds((decoding_ ? decoding_since_ : now) - began_);
  made_.decode_seconds = decoding_ ? in_seconds(now - decoding_since_) : 0;
  made_.finish = finish_.value_or(Finish::cancelled);
  made_.logits_hash = hash_.hex();
  listener_->finished(std::move(made_));
}

KeptSequence Sequence::leave() {
  if (request_.recompute || failed_ || state_ == nullptr) return {};
  const int prompt = static_cast<int>(request_.prompt.size()) - request_.generated;
  return {prompt, std::move(tokens_), std::move(state_), std::move(head_)};
}

}  // namespace sluice
