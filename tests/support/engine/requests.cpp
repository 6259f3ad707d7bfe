// See requests.h.
#include "support/engine/requests.h"

#include <filesystem>

#include "support/engine/recorded_run.h"
#include "support/must.h"

namespace sluice::test {

bool Recorder::token(const TokenEvent& token) {
  if (token.logprobs) answer.logprobs.push_back(token.logprobs->chosen);
  return true;
}

void Recorder::finished(Result<Generation> made) {
  generation = must(std::move(made));
  answer.ids = std::move(generation.ids);
  answer.logits_hash = generation.logits_hash;
  finish = generation.finish;
  ++times_finished;
}

std::unique_ptr<Engine> open_golden(const std::string& name, EngineOptions options, bool roomy) {
  const std::string directory = (std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden" / name).string();
  options.threads = 2;
  options.context = 128;
  options.memory_bytes = roomy ? resident_budget(directory, options) : minimum_budget(directory, options);
  Survey found = must(survey(must(know_model(directory)), options));
  const MemoryPlan plan = must(plan_memory(found));
  return must(Engine::open(std::move(found), plan));
}

Request random_request(std::mt19937& random, int vocabulary) {
  Request request;
  for (std::size_t length = 1 + random() % 40; length > 0; --length)
    request.prompt.push_back(static_cast<int>(random() % static_cast<unsigned>(vocabulary)));
  request.max_tokens = 1 + static_cast<int>(random() % 12);
  request.seed = random();
  if (random() % 2 == 0) request.sampling = {.temperature = 0.9, .top_k = 20, .top_p = 0.95, .repeat_penalty = 1.1};
  if (random() % 3 == 0) {
    request.top_logprobs = 2;
    request.prompt_logprobs = random() % 2 == 0;
  }
  return request;
}

std::shared_ptr<Recorder> run_alone(Engine& engine, const Request& request) {
  Batcher batcher(engine);
  auto recorder = std::make_shared<Recorder>();
  batcher.add(request, recorder);
  while (!batcher.idle()) batcher.step();
  return recorder;
}

}  // namespace sluice::test
