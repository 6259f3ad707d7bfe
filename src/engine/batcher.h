// Many requests through one model: each step is one forward pass over rows of all sequences that have a slot, so the
// weights it needs are read once for all of them.
//
// What a request generates does not depend on its company, nor on what earlier ones left behind for it. Owned and
// called by one thread; see engine_thread.h for one that takes requests from others.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>

#include "engine/draft_governor.h"
#include "engine/engine.h"
#include "engine/request.h"
#include "engine/sequence.h"

namespace sluice {

class Batcher {
 public:
  explicit Batcher(Engine& engine);

  // The listener is kept until it was told the end. Requires: the request is as request.h asks.
  void add(Request request, std::shared_ptr<RequestListener> listener);
  bool idle() const { return running_.empty() && waiting_.empty(); }
  std::size_t waiting() const { return waiting_.size(); }
  std::size_t running() const { return running_.size(); }
  std::uint64_t steps() const { return steps_; }  // forward passes so far
  // Ends what was cancelled, gives out free slots, computes one step. A step that fails ends every request that was in
  // it; the others, and those to come, go on. Where the system refuses memory beside a step, all that run end; a
  // request that gets none to begin with ends alone.
  void step();
  // Ends everything as if it had been cancelled.
  void cancel_all();

 private:
  struct Waiting {
    Request request;
    std::shared_ptr<RequestListener> listener;
  };
  void drop_cancelled(bool all);
  void advance();
  void admit();
  bool has_room_for_copies();
  void propose();
  void compute(const StepPlan& plan, const EngineStats& before);
  void mark(Sequence& sequence);
  void judge(const EngineStats& before, int rows, int tokens, bool drafted, std::uint64_t copied);
  std::uint64_t in_use(int more) const;
  void end_those_over();

  Engine& engine_;
  StepLimits limits_;
  std::deque<Waiting> waiting_;
  std::list<Sequence> running_;
  std::uint64_t steps_ = 0;
  DraftGovernor governor_;
};

}  // namespace sluice
