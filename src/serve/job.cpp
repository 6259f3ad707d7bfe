// See job.h.
#include "serve/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/seconds.h"

namespace sluice::serve {

namespace {

constexpr std::chrono::seconds kKeepAlive{5};  // proxies cut connections that are silent for long

}  // namespace

// Follows one choice on the engine's thread.
class Job::Listener final : public RequestListener {
 public:
  Listener(const std::shared_ptr<Job>& job, std::size_t choice, std::unique_ptr<TextStream> text)
      : job_(job),
        post_(job->around_.post),
        cancel_(job->cancel_),
        tokenizer_(*job->around_.tokenizer),
        choice_(choice),
        text_(std::move(text)) {}

  bool cancelled() const override { return cancel_->requested(); }

  void prefilled(std::size_t done, std::size_t of) override {
    post_([job = job_, done, of] { job->on_progress(done, of); });
  }
  void prompt_token(const TokenEvent& token) override {
    Piece piece;
    piece.tokens.push_back(text_of(token));
    hand_over(std::move(piece), 0);
  }
  bool token(const TokenEvent& token) override {
    Piece piece;
    text_->push(token.id, piece.events);
    if (token.logprobs) piece.tokens.push_back(text_of(token));
    hand_over(std::move(piece), 1);
    return !text_->stop_met();
  }
  void finished(Result<Generation> made) override {
    Piece rest;
    if (made) text_->finish(rest.events);
    hand_over(std::move(rest), 0);
    auto ended = std::make_shared<Result<Generation>>(std::move(made));
    post_([job = std::exchange(job_, nullptr), choice = choice_, ended, stop = text_->stop_string()] {
      job->on_end(choice, std::move(*ended), stop);
    });
  }

 private:
  void hand_over(Piece piece, std::size_t new_tokens) {
    auto shared = std::make_shared<Piece>(std::move(piece));
    post_(
        [job = job_, choice = choice_, shared, new_tokens] { job->on_piece(choice, std::move(*shared), new_tokens); });
  }
  TokenText text_of(const TokenEvent& token) const {
    TokenText text{std::string(tokenizer_.bytes(token.id)), token.logprobs->chosen, {}};
    for (const TokenLogprob& other : token.logprobs->top)
      text.top.emplace_back(std::string(tokenizer_.bytes(other.id)), other.logprob);
    return text;
  }

  std::shared_ptr<Job> job_;
  std::function<void(std::function<void()>)> post_;
  std::shared_ptr<CancelFlag> cancel_;
  const Tokenizer& tokenizer_;
  std::size_t choice_;
  std::unique_ptr<TextStream> text_;
};

Job::Job(Surroundings surroundings, Prepared prepared, std::shared_ptr<Exchange> exchange)
    : around_(std::move(surroundings)),
      writer_(std::move(prepared.writer)),
      choices_(std::move(prepared.choices)),
      exchange_(std::move(exchange)),
      stream_(prepared.stream),
      usage_(prepared.prompt),
      unfinished_(choices_.size()),
      began_(Clock::now()),
      last_sent_(began_),
      last_token_(began_) {}

void Job::start() {
  std::vector<EngineThread::Job> jobs;
  std::vector<Piece> echoes;
  for (std::size_t choice = 0; choice < choices_.size(); ++choice) {
    echoes.push_back(std::move(choices_[choice].echo));
    jobs.push_back({std::move(choices_[choice].request),
                    std::make_shared<Listener>(shared_from_this(), choice, std::move(choices_[choice].text))});
  }
  choices_.clear();
  if (const Result<> taken = around_.engine->submit(std::move(jobs)); !taken) {
    if (taken.error().kind == ErrorKind::bad_input) return fail_with(to_api_error(taken.error(), "n"));
    const bool full = !around_.engine->draining();
    return fail_with({full ? 429 : 503, taken.error().what, {}, full ? "queue_full" : "shutting_down"});
  }
  exchange_->when_gone([self = weak_from_this()] {
    if (const auto job = self.lock(); job != nullptr && !job->over_) job->close(499);
  });
  if (stream_) {
    HttpReply head{.content_type = "text/event-stream", .body = writer_->stream_begin(), .headers = around_.headers};
    head.headers.emplace_back("Cache-Control", "no-cache");
    head.headers.emplace_back("X-Accel-Buffering", "no");
    exchange_->begin(std::move(head));
    begun_ = true;
  }
  for (std::size_t choice = 0; choice < echoes.size(); ++choice) on_piece(choice, std::move(echoes[choice]), 0);
}

void Job::tick(Clock::time_point now) {
  if (over_) return;
  if (around_.timeout.count() > 0 && now - began_ > around_.timeout)
    return fail_with(
        {504, fmt::format("the answer was not complete after {} seconds", around_.timeout.count()), {}, "timeout"});
  if (!stream_ || now - last_sent_ < kKeepAlive) return;
  send(prompt_of_ > prompt_done_ ? fmt::format(": prompt {} of {} tokens\n\n", prompt_done_, prompt_of_)
                                 : std::string(": waiting\n\n"));
}

void Job::send(std::string text) {
  if (text.empty() || over_) return;
  last_sent_ = Clock::now();
  exchange_->write(std::move(text));
}

void Job::on_progress(std::size_t done, std::size_t of) {
  prompt_done_ = done;
  prompt_of_ = of;
}

void Job::on_piece(std::size_t choice, Piece piece, std::size_t new_tokens) {
  if (over_) return;
  const Clock::time_point now = Clock::now();
  if (new_tokens > 0) {
    around_.metrics->token(first_token_ ? in_seconds(now - last_token_) : in_seconds(now - began_), !first_token_);
    first_token_ = true;
    last_token_ = now;
    usage_.completion_tokens += new_tokens;
  }
  std::string text = writer_->piece(choice, std::move(piece));
  if (stream_) send(std::move(text));
}

void Job::on_end(std::size_t choice, Result<Generation> made, std::string stop_string) {
  if (over_) return;
  if (!made) return fail_with(to_api_error(made.error()));
  if (made->finish == Finish::cancelled) return fail_with({503, "the server is shutting down", {}, "shutting_down"});
  usage_.cached_tokens = std::min(usage_.prompt_tokens, usage_.cached_tokens + made->cached);
  usage_.forced_tokens += made->forced;
  std::string text = writer_->choice_end(choice, {made->finish, std::move(stop_string)});
  if (stream_) send(std::move(text));
  if (--unfinished_ == 0) complete();
}

void Job::complete() {
  if (stream_) {
    send(writer_->stream_end(usage_));
    exchange_->end();
  } else {
    exchange_->reply({.body = writer_->whole(usage_), .headers = around_.headers});
  }
  close(200);
}

void Job::fail_with(const ApiError& error) {
  HttpReply reply = writer_->refusal(error);
  reply.headers.insert(reply.headers.end(), around_.headers.begin(), around_.headers.end());
  if (begun_) {
    send(writer_->stream_error(error));
    exchange_->end();
  } else {
    exchange_->reply(std::move(reply));
  }
  close(error.status);
}

void Job::close(int status) {
  if (over_) return;
  over_ = true;
  cancel_->request();
  around_.over(status);
  around_.metrics->generation(status, usage_, in_seconds(Clock::now() - began_));
}

}  // namespace sluice::serve
