// See batcher.h.
#include "engine/batcher.h"

#include <algorithm>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace sluice {

namespace {

// Beside what the plan grants a sequence.
std::uint64_t copy_bytes(const Engine& engine, const Sequence& sequence) {
  return engine.options().speculate == Speculate::automatic ? sequence.copy_bytes() : 0;
}

}  // namespace

Batcher::Batcher(Engine& engine)
    : engine_(engine),
      limits_{.slots = engine.options().slots,
              .rows = engine.plan().prefill_chunk,
              .logit_rows = engine.options().logit_rows()} {}

void Batcher::add(Request request, std::shared_ptr<RequestListener> listener) {
  SLUICE_CHECK(!request.prompt.empty());
  waiting_.push_back({std::move(request), std::move(listener)});
}

void Batcher::step() {
  if (const Result<> outcome = unless_refused(engine_.plan().budget_bytes, [this] { advance(); }); !outcome) {
    engine_.kept().clear();
    for (Sequence& sequence : running_)
      if (!sequence.over()) sequence.fail_with(outcome.error());
    end_those_over();
  }
}

void Batcher::advance() {
  drop_cancelled(false);
  const EngineStats before = engine_.stats();
  propose();
  std::vector<RunningSequence> running;
  for (const Sequence& sequence : running_) running.push_back(sequence.schedule());
  const StepPlan plan = next_step(running, static_cast<int>(waiting_.size()), limits_);
  if (!running_.empty()) compute(plan, before);
  end_those_over();
  for (int admitted = 0; admitted < plan.admit; ++admitted) admit();
}

void Batcher::cancel_all() { drop_cancelled(true); }

void Batcher::drop_cancelled(bool all) {
  for (Sequence& sequence : running_)
    if (all || sequence.listener().cancelled()) sequence.cancel();
  end_those_over();
  for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
    if (!all && !waiting->listener->cancelled()) {
      ++waiting;
      continue;
    }
    waiting->listener->finished(Generation{.ids = {}, .finish = Finish::cancelled, .logits_hash = {}});
    waiting = waiting_.erase(waiting);
  }
}

// Bytes of the states that run, and of `more` that begin.
std::uint64_t Batcher::in_use(int more) const {
  std::uint64_t bytes = engine_.sequence_bytes() * (running_.size() + static_cast<std::size_t>(more));
  for (const Sequence& sequence : running_) bytes += sequence.marks_bytes() + copy_bytes(engine_, sequence);
  return bytes;
}

void Batcher::admit() {
  Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  const std::shared_ptr<RequestListener> listener = next.listener;
  const auto begin = [&] {
    KeptSequence from;
    if (!next.request.recompute && !next.request.prompt_logprobs)  // a known prompt has no logits to tell of
      from = engine_.kept().take(next.request.prompt, in_use(1));
    engine_.kept().make_room(in_use(1));
    running_.emplace_back(engine_, std::move(next.request), std::move(next.listener), std::move(from));
  };
  if (Result<> begun = unless_refused(engine_.plan().budget_bytes, begin); !begun) {
    engine_.kept().clear();
    return listener->finished(tl::unexpected<Error>(std::move(begun.error())));
  }
  // Marks and copies took room that is needed now.
  for (Sequence& sequence : running_) {
    if (!engine_.kept().make_room(in_use(0))) sequence.drop_copy();
    if (!engine_.kept().make_room(in_use(0))) sequence.drop_marks();
  }
}

// Before rows that may go again, recurrent states are copied. Nothing that was computed goes for that.
bool Batcher::has_room_for_copies() {
  if (engine_.options().speculate != Speculate::automatic) return true;  // the plan has it
  std::uint64_t missing = 0;
  for (const Sequence& sequence : running_) missing += sequence.recurrent_bytes() - sequence.copy_bytes();
  return missing == 0 || in_use(0) + missing + engine_.kept().bytes() <= engine_.kept().room();
}

// Only where everyone decodes: beside a prefill, drafts would take its rows, and what they cost could not be told.
void Batcher::propose() {
  const bool all_decode = std::ranges::all_of(running_, [](const Sequence& one) { return one.decoding(); });
  const bool room = static_cast<std::size_t>(limits_.rows) > running_.size();
  if (engine_.options().speculate == Speculate::off || !room || !all_decode || !governor_.allows() ||
      !has_room_for_copies())
    return;
  for (Sequence& sequence : running_) sequence.propose();
  end_those_over();
}

void Batcher::compute(const StepPlan& plan, const EngineStats& before) {
  struct Member {
    Sequence* sequence;
    int rows;
  };
  std::vector<Member> members;
  std::vector<BatchPart> parts;
  std::size_t index = 0;
  bool all_decode = true, any_forced = false, drafted = false;
  std::uint64_t copied = 0;
  for (Sequence& sequence : running_) {
    const int rows = plan.rows[index++];
    if (rows == 0) {
      sequence.wait();
      continue;
    }
    all_decode = all_decode && sequence.decoding();
    any_forced = any_forced || sequence.goes_on_forced();
    drafted = drafted || rows > 1;  // drafts, or what rejected ones had taken along
    members.push_back({&sequence, rows});
    parts.push_back(sequence.next_part(rows));
    if (!parts.back().certain) copied += 2 * parts.back().state->shape().recurrent_bytes();
  }
  ++steps_;
  // A pass that only decodes takes as long as a token; one that computes prompts is not ended for nobody.
  const auto left_alone = [&] {
    return std::ranges::all_of(members, [](const Member& one) { return one.sequence->listener().cancelled(); });
  };
  if (const Result<> outcome = engine_.step(parts, all_decode ? std::function<bool()>() : left_alone); !outcome) {
    for (const Member& member : members)
      if (outcome.error().kind == ErrorKind::cancelled)
        member.sequence->cancel();
      else
        member.sequence->fail_with(outcome.error());
    return;
  }
  int first_logits = 0, first_row = 0, tokens = 0;
  for (std::size_t member = 0; member < members.size(); ++member) {
    const auto [sequence, rows] = members[member];
    const bool decoding = sequence->decoding();
    tokens += sequence->computed(rows, first_row, first_logits);
    if (!decoding && sequence->decoding()) mark(*sequence);
    first_logits += parts[member].logit_rows;
    first_row += rows;
  }
  if (all_decode && !any_forced && engine_.options().speculate != Speculate::off)
    judge(before, first_row, tokens, drafted, copied);
}

// Where a prompt ends, an answer begins that may be left out of the next prompt, in part or all of it.
void Batcher::mark(Sequence& sequence) {
  constexpr int kMarks = 2;  // the ends of this prompt and of the one before
  if (sequence.mark_bytes() > 0 && engine_.kept().make_room(in_use(0) + sequence.mark_bytes())) sequence.mark(kMarks);
}

void Batcher::judge(const EngineStats& before, int rows, int tokens, bool drafted, std::uint64_t copied) {
  const EngineStats step = engine_.stats() - before;
  const MemoryPlan& plan = engine_.plan();
  const std::uint64_t trunk = engine_.trunk_bytes();
  governor_.step({.bytes_read = step.trunk.bytes_read + step.experts.bytes_read -
                                step.experts.preloaded_bytes -  // those were for no step
                                step.experts.surplus_bytes,     // and when these are read depends on the machine
                  .bytes_touched = trunk + step.experts.requests * engine_.expert_table().slot_bytes(),
                  .bytes_a_row = plan.touched_bytes_per_token,
                  .bytes_copied = copied,
                  .rows = rows},
                 tokens, drafted);
}

void Batcher::end_those_over() {
  const std::size_t before = running_.size();
  for (auto sequence = running_.begin(); sequence != running_.end();) {
    if (!sequence->over()) {
      ++sequence;
      continue;
    }
    KeptSequence left = sequence->leave();
    sequence->end();
    sequence = running_.erase(sequence);
    engine_.kept().keep(std::move(left), in_use(0));
  }
  // With a request among many too: a busy server never rests.
  if (running_.size() < before) engine_.end_turn();
}

}  // namespace sluice
