// See batcher.h.
#include "engine/batcher.h"

#include "base/check.h"

namespace sluice {

Batcher::Batcher(Engine& engine)
    : engine_(engine),
      limits_{
          .slots = engine.options().slots, .rows = engine.plan().prefill_chunk, .logit_rows = engine.options().slots} {}

void Batcher::add(Request request, std::shared_ptr<RequestListener> listener) {
  SLUICE_CHECK(!request.prompt.empty());
  waiting_.push_back({std::move(request), std::move(listener)});
}

void Batcher::step() {
  drop_cancelled(false);
  std::vector<RunningSequence> running;
  for (const Sequence& sequence : running_) running.push_back(sequence.schedule());
  const StepPlan plan = next_step(running, static_cast<int>(waiting_.size()), limits_);
  if (!running_.empty()) compute(plan);
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

void Batcher::admit() {
  running_.emplace_back(engine_, std::move(waiting_.front().request), std::move(waiting_.front().listener));
  waiting_.pop_front();
}

void Batcher::compute(const StepPlan& plan) {
  struct Part {
    Sequence* sequence;
    int rows;
  };
  std::vector<Part> members;
  std::vector<BatchPart> parts;
  std::size_t index = 0;
  for (Sequence& sequence : running_) {
    const int rows = plan.rows[index++];
    if (rows == 0) {
      sequence.wait();
      continue;
    }
    members.push_back({&sequence, rows});
    parts.push_back(sequence.next_part(rows));
  }
  ++steps_;
  if (const Result<> outcome = engine_.step(parts); !outcome) {
    for (const Part& member : members) member.sequence->fail_with(outcome.error());
    return;
  }
  int first_logits = 0;
  for (std::size_t member = 0; member < members.size(); ++member) {
    members[member].sequence->computed(engine_, members[member].rows, first_logits);
    first_logits += parts[member].logit_rows;
  }
}

void Batcher::end_those_over() {
  for (auto sequence = running_.begin(); sequence != running_.end();) {
    if (!sequence->over()) {
      ++sequence;
      continue;
    }
    sequence->end();
    sequence = running_.erase(sequence);
  }
}

}  // namespace sluice
