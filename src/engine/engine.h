// The engine: a checkpoint opened under a memory plan, ready to generate.
//
// The one place where the house is put together is Engine::open (assemble.cpp). Used from one thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/thread_pool.h"
#include "compute/cpu_ops.h"
#include "engine/survey.h"
#include "io/read_queue.h"
#include "models/model.h"

namespace sluice {

struct EngineStats {
  TrunkStats trunk;
  ExpertStats experts;
  std::uint64_t embedding_bytes_read = 0;
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> open(Survey survey, const MemoryPlan& plan);

  std::unique_ptr<SequenceState> new_state() const;
  // Runs rows of one sequence and commits them. logits [vocab] of the last row are left in last_logits() if wanted.
  // Requires: 1 <= tokens.size() <= plan().prefill_chunk.
  Result<> step(SequenceState& state, std::span<const int> tokens, bool want_logits);
  // Feeds any number of tokens in chunks. Cancelled between chunks.
  Result<> feed(SequenceState& state, std::span<const int> tokens, const CancelFlag& cancel);
  std::span<const float> last_logits() const { return logits_; }
  // The same without the rows of lm_head that no token belongs to: what may be chosen from. Releases round their
  // vocabulary up, and nothing was learned for the rest.
  std::span<const float> choosable_logits() const { return last_logits().first(choosable_); }
  // For callers that form their own batches: drafting, goldens.
  Model& model() { return *model_; }

  const ModelConfig& config() const { return *survey_.model.config; }
  const Tokenizer* tokenizer() const { return survey_.model.tokenizer.get(); }  // may be null
  const EngineOptions& options() const { return survey_.options; }
  const MemoryPlan& plan() const { return plan_; }
  const char* isa() const { return kernels_->name; }
  // How weights are read in fact: "direct", "buffered" or "drop".
  const char* io_mode() const;
  EngineStats stats() const;
  std::uint64_t expert_bytes() const { return survey_.bound.experts.payload_bytes(); }  // of the checkpoint
  const ExpertTable& expert_table() const { return survey_.bound.experts; }
  // Told about every layer's choice of experts; for traces and goldens. May be empty.
  void observe(std::function<void(int layer, const Routes&)> routed, std::function<void(int layer, Rows)> after_layer);

 private:
  Engine(Survey survey, const MemoryPlan& plan) : survey_(std::move(survey)), plan_(plan) {}

  // In order of construction; each uses those above it.
  Survey survey_;
  MemoryPlan plan_;
  const KernelTable* kernels_ = nullptr;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<CpuOps> ops_;
  std::unique_ptr<Files> files_;
  std::unique_ptr<ReadQueue> queue_;
  std::unique_ptr<TrunkStore> trunk_;
  std::unique_ptr<ExpertStore> experts_;
  std::unique_ptr<RowTable> embedding_;
  std::unique_ptr<Model> model_;
  std::vector<float> logits_;
  std::size_t choosable_ = 0;
  std::function<void(int, const Routes&)> routed_;
  std::function<void(int, Rows)> after_layer_;
};

}  // namespace sluice
