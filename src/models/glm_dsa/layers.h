// Runs decoder layers over one set of buffers: the trunk's for a model, the extra one for its draft head.
#pragma once

#include "models/glm_dsa/attention.h"
#include "models/glm_dsa/mlp.h"
#include "models/glm_dsa/rope.h"

namespace sluice::glm_dsa {

// Who is told what a pass does; see ForwardBatch.
struct Observers {
  const std::function<void(int, const Routes&)>& routed;
  const ExpertsForeseen& foreseen;
  const KeysChosen& keys_chosen;
};

class Layers {
 public:
  // Null stores: over a counting workspace only the size is found. Runs at most `rows` rows at a time.
  Layers(const GlmConfig& config, Workspace& work, int rows, const ModelParts& parts);

  // A pass over the rows of the segments, at the positions behind what is committed; its choice of keys is empty.
  Pass begin(std::span<const Segment> segments, int rows, const Observers& observers);
  // A pass over one row at `position` that sees `keys` of the state and leaves no key of its own.
  Pass begin_ahead(const Segment& segment, int position, const std::vector<int>& keys, const Observers& observers);

  // pass.residual += Attention; pass.residual += FFN.
  Result<> run(Pass& pass, int layer, LogPlaces logs, const LayerSteps& steps);

  // [rows, 2 · hidden]; shares its room with the layers' own buffers.
  Rows pairs(int rows) const { return pairs_.slice(0, rows); }

 private:
  Pass pass_over(std::span<const Segment> segments, int rows, bool leaves_keys, const Observers& observers);

  const GlmConfig& config_;
  ModelParts parts_;
  RopeAngles angles_;
  Rows residual_, x_, output_, cos_, sin_;
  std::uint64_t after_shared_;  // where the buffers that share room begin
  Rows pairs_;
  Attention attention_;
  DenseMlp dense_;
  Moe moe_;
  KeyChoice choice_;
  Foresight foresight_;
};

}  // namespace sluice::glm_dsa
