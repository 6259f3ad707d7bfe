// Runs decoder layers over one set of buffers: the trunk's for a model, the extra one for its draft head.
#pragma once

#include "models/deepseek_v4/attention.h"
#include "models/deepseek_v4/moe.h"

namespace sluice::deepseek_v4 {

class Layers {
 public:
  // Null stores: over a counting workspace only the size is found. Runs at most `rows` rows at a time.
  Layers(const V4Config& config, Rounding rounding, Workspace& work, int rows, const ModelParts& parts);
  Layers(const Layers&) = delete;
  Layers& operator=(const Layers&) = delete;

  // A pass over the rows of the segments, `offset` positions behind what is committed.
  Pass begin(std::span<const Segment> segments, std::span<const int> tokens, int offset, Observers observers);

  // pass.streams go through the layer's two sub-layers.
  Result<> run(Pass& pass, int layer, const LogPlaces& logs, const LayerSteps& steps);
  // pass.x [rows, hidden] = RMSNorm of the collapsed streams, what the head's matrix meets.
  Result<> collapse(Pass& pass, int step);

 private:
  const V4Config& config_;
  Rounding rounding_;
  ModelParts parts_;
  RopeAngles plain_angles_, compressed_angles_;
  Rows streams_, x_, output_;
  Rotation plain_, compressed_;
  HyperConnections connections_;
  std::uint64_t after_shared_;  // where the buffers that share room begin
  Attention attention_;
  Moe moe_;
  KeyChoice choice_;
  Foresight foresight_;
};

// Rows without gaps, so that the streams of all rows are rows of one stride too.
Rows stream_rows(const V4Config& config, Workspace& work, int rows);

}  // namespace sluice::deepseek_v4
