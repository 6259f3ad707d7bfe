// The forward pass of the GLM family. Formulas: the GLM-5.2 specification, sections 3 and 4; order and rounding:
// docs/numerics.md.
#pragma once

#include <optional>

#include "models/glm_dsa/layers.h"

namespace sluice::glm_dsa {

// The head that drafts tokens: one more layer over [embedding of the next token | final hidden vector] (spec 4).
class Mtp final : public DraftHead {
 public:
  // All but `steps` are the model's own; they outlive the head.
  Mtp(const GlmConfig& config, const WalkSteps& steps, const ModelParts& parts, Layers& layers);
  std::unique_ptr<SequenceState> new_state() const override;
  Result<DraftCursor> extend(const DraftBatch& batch) override;
  Result<> ahead(DraftCursor& cursor, int token, Rows logits) override;

  static StateShape state_shape(const GlmConfig& config);

 private:
  Result<> run(Pass& pass, std::span<const int> next, Rows hidden, const std::function<void(int, Rows)>& after_layer);

  const GlmConfig& config_;
  const WalkSteps& steps_;
  ModelParts parts_;
  Layers& layers_;
};

class Glm final : public Model {
 public:
  // Runs at most `max_rows` rows at a time.
  Glm(const GlmConfig& config, ModelScope scope, int max_rows, const ModelParts& parts);
  Result<> forward(const ForwardBatch& batch) override;
  DraftHead* draft_head() override { return mtp_ ? &*mtp_ : nullptr; }

  static StateShape state_shape(const GlmConfig& config, int layers);
  static std::uint64_t scratch_bytes(const GlmConfig& config, int max_rows);

 private:
  Result<> run_layers(const ForwardBatch& batch);
  Result<> head(Pass& pass, const ForwardBatch& batch);

  GlmConfig config_;
  int max_rows_;
  ModelParts parts_;
  WalkSteps steps_;
  std::vector<LogPlaces> logs_;  // by layer
  Workspace work_;
  Layers layers_;
  std::optional<Mtp> mtp_;
};

}  // namespace sluice::glm_dsa
