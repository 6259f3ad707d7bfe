// The forward pass of DeepSeek-V4. Formulas: the family's specification, sections 3 and 7.1; order and rounding:
// docs/numerics.md.
#pragma once

#include <optional>

#include "models/deepseek_v4/layers.h"
#include "models/deepseek_v4/state.h"

namespace sluice::deepseek_v4 {

// The MTP block (spec 7.1): one more layer, over the streams of a position and the embedding of the token after it. It
// goes on from the trunk's streams, or from its own.
class Mtp final : public DraftHead {
 public:
  // All but `steps` are the model's own; they outlive the head.
  Mtp(const V4Config& config, const WalkSteps& steps, const ModelParts& parts, Layers& layers);
  std::unique_ptr<SequenceState> new_state() const override;
  Result<DraftCursor> extend(const DraftBatch& batch) override;
  Result<> ahead(DraftCursor& cursor, int token, Rows logits) override;

  static StateShape state_shape(const V4Config& config);

 private:
  Result<> run(Pass& pass, Rows hidden);

  const V4Config& config_;
  const WalkSteps& steps_;
  ModelParts parts_;
  Layers& layers_;
};

class DeepseekV4 final : public Model {
 public:
  // Runs at most `max_rows` rows at a time.
  DeepseekV4(const V4Config& config, ModelScope scope, int max_rows, const ModelParts& parts);
  Result<> forward(const ForwardBatch& batch) override;
  DraftHead* draft_head() override { return mtp_ ? &*mtp_ : nullptr; }

  static StateShape state_shape(const V4Config& config, int layers);
  static std::uint64_t scratch_bytes(const V4Config& config, ModelScope scope, int max_rows);

 private:
  Result<> run_layers(const ForwardBatch& batch);

  V4Config config_;
  int max_rows_;
  ModelParts parts_;
  WalkSteps steps_;
  std::vector<LogPlaces> logs_;  // by layer
  Workspace work_;
  Layers layers_;
  std::optional<Mtp> mtp_;
};

}  // namespace sluice::deepseek_v4
