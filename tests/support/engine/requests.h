// Requests to an engine over a golden model, and what comes of them: for tests of what an answer may not depend on.
#pragma once

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/batcher.h"
#include "support/engine/law_options.h"

namespace sluice::test {

struct Answer {
  std::vector<int> ids;
  std::string logits_hash;
  std::vector<double> logprobs;
  bool operator==(const Answer&) const = default;
};

// Keeps what it is told. Cancels when it is asked for the n-th time, if n is not negative.
class Recorder final : public RequestListener {
 public:
  explicit Recorder(int cancel_after = -1) : cancel_after_(cancel_after) {}
  bool cancelled() const override { return cancel_now || (cancel_after_ >= 0 && asked_++ >= cancel_after_); }
  void prompt_token(const TokenEvent& token) override { answer.logprobs.push_back(token.logprobs.value().chosen); }
  bool token(const TokenEvent& token) override;
  void finished(Result<Generation> made) override;

  Answer answer;
  Generation generation;  // but for the ids
  Finish finish = Finish::length;
  std::atomic<int> times_finished = 0;
  std::atomic<bool> cancel_now = false;

 private:
  int cancel_after_;
  mutable int asked_ = 0;
};

// tests/golden/NAME with a context of 128 tokens: everything resident, or as little as runs.
std::unique_ptr<Engine> open_golden(const std::string& name, EngineOptions options, bool roomy = true);
// For batches: that many slots, prefill chunks of `chunk` rows (0: as planned).
inline std::unique_ptr<Engine> open_golden(const std::string& name, Speculate how, int slots, bool roomy, int chunk) {
  EngineOptions options = law_options();
  options.speculate = how;
  options.prefill_chunk = chunk;
  options.slots = slots;
  return open_golden(name, options, roomy);
}

// Of any kind, over the first `vocabulary` ids.
Request random_request(std::mt19937& random, int vocabulary = 200);
// Runs a request, and only it.
std::shared_ptr<Recorder> run_alone(Engine& engine, const Request& request);
inline Answer alone(Engine& engine, const Request& request) { return run_alone(engine, request)->answer; }

}  // namespace sluice::test
