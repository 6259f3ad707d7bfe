// One request that generates, from admission to the last byte of its answer.
//
// Lives on the network's thread; its listeners live on the engine's and hand everything over. Ends early when the
// client leaves, when time is up or when the engine fails.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/cancel.h"
#include "engine/engine_thread.h"
#include "serve/http.h"
#include "serve/metrics.h"
#include "serve/prepare.h"

namespace sluice::serve {

class Job : public std::enable_shared_from_this<Job> {
 public:
  using Clock = std::chrono::steady_clock;
  struct Surroundings {
    EngineThread* engine = nullptr;
    const Tokenizer* tokenizer = nullptr;
    Metrics* metrics = nullptr;
    std::function<void(std::function<void()>)> post;  // onto the network's thread, from any
    std::function<void(int status)> over;             // the request has been answered, or left
    Headers headers;                                  // of the answer
    std::chrono::seconds timeout{0};                  // 0: none
  };

  Job(Surroundings surroundings, Prepared prepared, std::shared_ptr<Exchange> exchange);
  void start();
  // Called now and then: keeps a silent stream alive and ends what took too long.
  void tick(Clock::time_point now);
  bool over() const { return over_; }

 private:
  class Listener;

  void on_progress(std::size_t done, std::size_t of);
  void on_piece(std::size_t choice, Piece piece, std::size_t new_tokens);
  void on_end(std::size_t choice, Result<Generation> made, std::string stop_string);
  void send(std::string text);
  void complete();
  void fail_with(const ApiError& error);
  void close(int status);

  Surroundings around_;
  std::unique_ptr<ReplyWriter> writer_;
  std::vector<PreparedChoice> choices_;  // moved to the listeners at start
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<CancelFlag> cancel_ = std::make_shared<CancelFlag>();
  const bool stream_;
  Usage usage_;
  std::size_t unfinished_;
  bool over_ = false, begun_ = false, first_token_ = false;  // begun: of a stream
  std::size_t prompt_done_ = 0, prompt_of_ = 0;
  Clock::time_point began_, last_sent_, last_token_;
};

}  // namespace sluice::serve
