// A token of a resident model asks the allocator for next to nothing: what a pass needs was laid out when the model was
// opened, and lists keep their room.
//
// Counted, not timed, with everything that a generated token takes: the pass, the check of its logits, the choice of
// the next one. The replacement of operator new below holds for this whole program, and does nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <string>

#include "engine/engine.h"
#include "support/engine/recorded_run.h"
#include "support/must.h"

namespace {

thread_local int allocations = 0;  // of this thread

void* count_and_take(std::size_t bytes) {
  ++allocations;
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return count_and_take(bytes); }
void* operator new[](std::size_t bytes) { return count_and_take(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace sluice::test {
namespace {

struct Demo {
  const char* name;
  int tables;  // layers whose experts a table gives
};

class Allocation : public testing::TestWithParam<Demo> {};

// Of the tokens that no page and no entry begins with.
int fewest_of_a_token(Engine& engine, const Sampler& sampler) {
  const std::unique_ptr<SequenceState> state = engine.new_state();
  int fewest = 1000;
  int next = 1;
  for (int token = 0; token < 40; ++token) {
    const int before = allocations;
    must(engine.step(*state, std::array{next}, true));
    next = sampler.choose(engine.sampling(), engine.choosable_logits(), state->length());
    if (token >= 8) fewest = std::min(fewest, allocations - before);
  }
  return fewest;
}

TEST_P(Allocation, ATokenTakesNextToNone) {
  const std::string model = std::string(SLUICE_SOURCE_DIR) + "/demo/" + GetParam().name;
  EngineOptions options;
  options.memory_bytes = resident_budget(model, options);
  Survey found = must(survey(must(know_model(model)), options));
  const MemoryPlan plan = must(plan_memory(found));
  const std::unique_ptr<Engine> engine = must(Engine::open(std::move(found), plan));
  while (engine->tend()) continue;
  int layers = 0;  // with experts
  engine->observe([&](int, const Routes&) { ++layers; }, {});
  must(engine->step(*engine->new_state(), std::array{1}, true));
  engine->observe({}, {});
  // A fetch of experts is an object with a list of leases; a hint keeps what it says, and is counted before.
  const int allowed = 2 * layers + 2 * GetParam().tables;
  EXPECT_LE(fewest_of_a_token(*engine, Sampler({}, 1)), allowed) << "greedy";
  EXPECT_LE(fewest_of_a_token(*engine, Sampler({.temperature = 0.8, .top_p = 0.9, .min_p = 0.05}, 1)), allowed);
  EXPECT_LE(fewest_of_a_token(*engine, Sampler({.temperature = 0.8, .top_k = 20, .repeat_penalty = 1.1}, 1)), allowed);
}

INSTANTIATE_TEST_SUITE_P(Demos, Allocation,
                         testing::Values(Demo{"kimi-k3", 0}, Demo{"glm-5.2", 0}, Demo{"olmoe", 0},
                                         Demo{"deepseek-v4", 2}),
                         [](const testing::TestParamInfo<Demo>& instance) {
                           std::string name(instance.param.name);
                           std::ranges::replace_if(
                               name, [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace sluice::test
