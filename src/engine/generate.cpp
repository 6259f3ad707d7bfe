// See generate.h.
#include "engine/generate.h"

#include <algorithm>
#include <chrono>

#include "engine/logits_hash.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Feeds the prompt in chunks, telling the sink after each.
Result<> prefill(Engine& engine, SequenceState& state, std::span<const int> tokens, const GenerationSink& sink,
                 const CancelFlag& cancel) {
  const auto chunk = static_cast<std::size_t>(engine.plan().prefill_chunk);
  for (std::size_t done = 0; done < tokens.size();) {
    if (cancel.requested()) return fail(ErrorKind::cancelled, "interrupted");
    const std::size_t rows = std::min(chunk, tokens.size() - done);
    TRY(engine.step(state, tokens.subspan(done, rows), done + rows == tokens.size()));
    done += rows;
    sink.prefill(done, tokens.size());
  }
  return {};
}

}  // namespace

std::string_view finish_name(Finish finish) {
  return finish == Finish::stop ? "stop" : finish == Finish::length ? "length" : "cancelled";
}

Result<Generation> generate(Engine& engine, const Request& request, const GenerationSink& sink,
                            const CancelFlag& cancel) {
  Generation made;
  LogitsHash hash;
  Sampler sampler(request.sampling, request.seed);
  std::vector<int> sequence = request.prompt;
  for (int id : sequence) sampler.saw_prompt(id);
  std::unique_ptr<SequenceState> state = engine.new_state();

  const auto begin = Clock::now();
  Result<> fed = prefill(engine, *state, sequence, sink, cancel);
  made.prefill_seconds = seconds_since(begin);
  const auto decode_begin = Clock::now();
  while (fed && static_cast<int>(made.ids.size()) < request.max_tokens) {
    hash.add(engine.last_logits());
    sink.logits(engine.last_logits());
    const int id = sampler.choose(engine.choosable_logits(), static_cast<int>(sequence.size()));
    sampler.saw(id);
    sequence.push_back(id);
    made.ids.push_back(id);
    const bool go_on = sink.token(id);
    if (!go_on || std::ranges::find(request.stop_ids, id) != request.stop_ids.end()) {
      made.finish = Finish::stop;
      break;
    }
    if (static_cast<int>(made.ids.size()) == request.max_tokens) break;
    if (cancel.requested()) {
      made.finish = Finish::cancelled;
      break;
    }
    if (request.recompute) {
      state = engine.new_state();
      fed = engine.feed(*state, sequence, cancel);
    } else {
      fed = engine.step(*state, {&sequence.back(), 1}, true);
    }
  }
  if (!fed) {
    if (fed.error().kind != ErrorKind::cancelled) return tl::unexpected<Error>(std::move(fed.error()));
    made.finish = Finish::cancelled;
  }
  made.decode_seconds = seconds_since(decode_begin);
  made.logits_hash = hash.hex();
  return made;
}

}  // namespace sluice
