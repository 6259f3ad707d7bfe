// OLMoE's forward pass: multi-head attention and a softmax router over SwiGLU experts, nothing else. The family to read
// first. Formulas: the OLMoE specification, section 3; order and rounding: docs/numerics.md.
#pragma once

#include <optional>
#include <vector>

#include "compute/rope_angles.h"
#include "compute/workspace.h"
#include "models/common/wide_rows.h"
#include "models/model.h"
#include "models/olmoe/config.h"
#include "moe/expert_runner.h"
#include "moe/ram_tier.h"
#include "moe/router.h"

namespace sluice::olmoe {

class Olmoe final : public Model {
 public:
  // Runs the first `layers` layers over at most `max_rows` rows at a time.
  Olmoe(const OlmoeConfig& config, int layers, int max_rows, const ModelParts& parts);
  Result<> forward(const ForwardBatch& batch) override;

  static StateShape state_shape(const OlmoeConfig& config, int layers);
  static std::uint64_t scratch_bytes(const OlmoeConfig& config, int max_rows);

 private:
  // Activations; one row for each token of a batch.
  struct Buffers {
    Rows h;            // [hidden] the residual stream
    Rows x;            // [hidden] its norm
    Rows y;            // [hidden] what attention or the experts add to it
    Rows cos, sin;     // [head_dim / 2] of the row's position
    Rows q, attended;  // [heads, head_dim]
    Rows kv;           // [2, kv_heads, head_dim] keys, then values: a row of the cache
    Rows p;            // [experts] the router's probabilities
    Rows outputs;      // [top_k] rows of [hidden] for each token
  };
  static Buffers lay_out(const OlmoeConfig& config, Workspace& work, int max_rows);
  static Buffers first_rows(const Buffers& all, int rows, int top_k);

  Result<> run_layers(const ForwardBatch& batch);
  void attention(int layer, const Lease& w, const ForwardBatch& batch);
  RouterScores score(const Lease& w, Rows h);
  Result<> experts(int layer, const Routes& routes);
  Result<> head(const ForwardBatch& batch);
  void norm(Rows from, const WeightView& weight, Rows to);  // to = RMSNorm(from; weight)

  OlmoeConfig config_;
  int layers_, max_rows_;
  ModelParts parts_;
  RopeAngles angles_;
  std::vector<int> head_slices_;  // rows of lm_head in each step
  Workspace work_;
  Buffers all_, b_;  // for max_rows_ rows; for the rows of this batch
  WideRows wide_;
  Foresight foresight_;
  ExpertChooser chooser_;
  std::optional<RamTier> ram_;
  std::optional<ExpertRunner> runner_;
};

}  // namespace sluice::olmoe
