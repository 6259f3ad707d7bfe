// The engine: a checkpoint opened under a memory plan, ready to generate.
//
// The one place where the house is put together is Engine::open (assemble.cpp). Used from one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/thread_pool.h"
#include "compute/cpu_ops.h"
#include "engine/engine_stats.h"
#include "engine/read_ahead_governor.h"
#include "engine/survey.h"
#include "generate/sampler.h"
#include "io/open_queue.h"
#include "io/read_queue.h"
#include "models/model.h"

namespace sluice {

// The next rows of one sequence in a step of many.
struct BatchPart {
  SequenceState* state = nullptr;
  std::span<const int> tokens;
  int logit_rows = 0;   // of the last rows
  bool certain = true;  // committed whole by the step; else whoever asked commits what turns out to be right
};

class ExpertUsage;
class KeptSequences;
class OperationClock;
class RunRecord;
class UsageLog;
struct UsagePlace;

class Engine {
 public:
  // Refused (exit code 3) also if the system does not give what the plan grants.
  static Result<std::unique_ptr<Engine>> open(Survey survey, const MemoryPlan& plan);
  ~Engine();

  std::unique_ptr<SequenceState> new_state() const;
  // One forward pass over rows of several sequences; commits those that are certain. A sequence's logits do not depend
  // on who else is in the step. If it fails, every state of the step is broken; memory that the system refuses is such
  // a failure (refused).
  // `given_up`, asked before each layer, may say that nobody waits for it any more: then it fails as cancelled, and the
  // states have gone back to where they can.
  // Requires: at least one row, at most plan().prefill_chunk rows and options().logit_rows() rows of logits in all.
  Result<> step(std::span<const BatchPart> parts, std::function<bool()> given_up = {});
  // [vocab], of the last step: counted over all its parts. check_logits says whether they are numbers.
  std::span<const float> logits(int row) const;
  Result<> check_logits(int row, const SequenceState& state) const;
  // The same for rows of one sequence; the logits of the last one are left in last_logits() if wanted, and checked.
  Result<> step(SequenceState& state, std::span<const int> tokens, bool want_logits);
  std::span<const float> last_logits() const { return logits(0); }
  // The same without the rows of lm_head that no token belongs to: what may be chosen from. Releases round their
  // vocabulary up, and nothing was learned for the rest.
  std::span<const float> choosable_logits(int row = 0) const { return choosable(logits(row)); }
  std::span<const float> choosable(std::span<const float> logits) const { return logits.first(choosable_); }
  // Of all rows of the last step, what a draft head goes on from. Requires: options().draft_head.
  Rows hidden() { return {hidden_.data(), plan_.prefill_chunk, hidden_width(), hidden_width()}; }
  int hidden_width() const { return config().draft_width(); }
  // A row of logits for the draft head, apart from those of the step. [1, vocab]
  Rows draft_logits();
  bool drafts_by_head() const { return options().draft_head && options().speculate != Speculate::off; }
  bool drafts_by_lookup() const {
    return options().speculate == Speculate::automatic || options().speculate == Speculate::lookup;
  }
  SamplingRoom& sampling() { return *sampling_; }
  // What requests left behind, for those that go on from there.
  KeptSequences& kept() { return *kept_; }
  std::uint64_t sequence_bytes() const { return sluice::sequence_bytes(survey_); }  // of one that runs
  // For callers that form their own batches: drafting, goldens.
  Model& model() { return *model_; }

  const std::string& directory() const { return survey_.model.directory; }
  const Survey& survey() const { return survey_; }
  const ModelConfig& config() const { return *survey_.model.config; }
  const Tokenizer* tokenizer() const { return survey_.model.tokenizer.get(); }  // may be null
  const EngineOptions& options() const { return survey_.options; }
  const MemoryPlan& plan() const { return plan_; }
  const char* isa() const { return kernels_->name; }
  // How weights are read in fact: "direct", "buffered" or "drop".
  const char* io_mode() const;
  const char* reading() const { return engine_name(reading_); }  // "io_uring" or "threads"
  // What each directory brought so far: the checkpoint's own first, then its mirrors.
  std::vector<SourceStats> directories() const { return sources_->stats(); }
  // For whoever has nothing to compute: carries on what is read ahead of any need, without waiting. False: nothing is.
  // Also lets the expert cache give way if the system is short of memory, as steps do.
  bool tend();
  // A request for text has ended: which experts are pinned is settled anew. Not during a step.
  void end_turn();
  // What is wrong with the file of expert uses, if anything: it was then ignored.
  std::string usage_refusal() const;
  // Adds the uses since the last time to it. Nothing where none is kept.
  Result<> write_usage();
  void write_usage_now_and_then();  // for a pause: only if the last time is a while ago
  EngineStats stats() const;
  std::uint64_t expert_bytes() const { return survey_.bound.experts.payload_bytes(); }  // of the checkpoint
  std::uint64_t trunk_bytes() const;                                                    // of all steps of the walk
  const ExpertTable& expert_table() const { return survey_.bound.experts; }
  // Told about every layer's choice of experts; for traces and goldens. May be empty.
  void observe(std::function<void(int layer, const Routes&)> routed, std::function<void(int layer, Rows)> after_layer);
  // From the next step on: told what routers would have said before their time. May be empty.
  void foresee(ExpertsForeseen told) { foreseen_ = std::move(told); }

 private:
  Engine(Survey survey, const MemoryPlan& plan);
  static Result<std::unique_ptr<Engine>> assemble(Survey survey, const MemoryPlan& plan);
  Result<> pass(std::span<const BatchPart> parts, std::function<bool()> given_up);
  Result<> judged_forward(const ForwardBatch& batch);  // the model's, timed for read_ahead_governor_
  Result<> open_reading();                             // files_ to queue_
  void open_experts(const UsagePlace* place);          // usage_ and experts_; where the history lies, or null
  std::unique_ptr<EvictionPolicy> expert_policy(const ExpertUsage* known);  // of earlier runs, or null
  Ops& open_operations(const ModelConfig& config);

  // In order of construction; each uses those above it.
  Survey survey_;
  MemoryPlan plan_;
  std::unique_ptr<RunRecord> record_;  // or null
  const KernelTable* kernels_ = nullptr;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<CpuOps> ops_;
  std::unique_ptr<OperationClock> clock_;  // or null
  std::unique_ptr<Files> files_;
  std::vector<std::unique_ptr<Files>> mirror_files_;
  std::unique_ptr<ReadSources> sources_;
  std::unique_ptr<ReadQueue> queue_;
  ReadEngine reading_ = ReadEngine::threads;
  std::unique_ptr<TrunkStore> trunk_;
  std::unique_ptr<UsageLog> usage_;  // or null
  std::unique_ptr<ExpertStore> experts_;
  const GovernedStore* governed_ = nullptr;  // within experts_
  PinnedExperts* pins_ = nullptr;            // within experts_; null: nothing is to be pinned
  std::unique_ptr<RowTable> embedding_;
  std::vector<IdTable> id_tables_;
  ReadAheadGovernor read_ahead_governor_;
  bool reads_named_ = false;  // whether the next pass begins to read what routers name early
  std::unique_ptr<Model> model_;
  struct {
    std::vector<int> tokens, logit_rows;
    std::vector<Segment> segments;
  } batch_;                    // of a pass; the lists keep their room
  std::vector<float> logits_;  // [logit rows, vocab], and a row for the draft head
  std::vector<float> hidden_;  // [prefill chunk, hidden], if there is a draft head
  std::size_t choosable_ = 0;
  std::optional<SamplingRoom> sampling_;
  std::unique_ptr<KeptSequences> kept_;
  std::function<void(int, const Routes&)> routed_;
  ExpertsForeseen foreseen_;
  std::function<void(int, Rows)> after_layer_;
};

}  // namespace sluice
