// sluice as engines.py runs it: see steps.h. The engine as `sluice run` opens it, with its defaults; counting begins
// when what it loads while idle is there, as that of a mapped file begins when the file has been read through.
#include <array>
#include <thread>

#include "base/units.h"
#include "engine/engine.h"
#include "engine/idle_work.h"
#include "peer/steps.h"

using namespace sluice;

namespace {

template <class T>
T take(Result<T> result) {
  if (!result) peer::give_up(result.error().what + "; " + result.error().hint);
  return std::move(*result);
}
void check(const Result<>& result) {
  if (!result) peer::give_up(result.error().what + "; " + result.error().hint);
}

}  // namespace

int main(int count, char** words) {
  const peer::Wanted wanted(count, words);
  peer::Steps steps(wanted);
  EngineOptions options;
  if (!wanted.memory.empty()) options.memory_bytes = take(parse_size(wanted.memory, "--memory"));
  options.threads = wanted.threads;
  options.read_named = ReadNamed::where_it_pays;
  if (wanted.numerics == "fast") options.numerics = Numerics::fast;
  options.context = options.context_need = wanted.steps() + 1;
  Survey found = take(survey(take(know_model(wanted.model)), options));
  const MemoryPlan plan = take(plan_memory(found));
  const std::unique_ptr<Engine> engine = take(Engine::open(std::move(found), plan));
  const std::unique_ptr<SequenceState> state = engine->new_state();
  while (engine->tend()) std::this_thread::sleep_for(kTendEvery);
  steps.loaded();
  for (int id = 0; (id = steps.begin()) >= 0;) {
    check(engine->step(*state, std::array{id}, true));
    steps.end(engine->last_logits());
  }
  steps.print();
}
