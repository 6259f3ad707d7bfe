// Kimi K3's forward pass. Formulas: the Kimi K3 specification, section 3; order and rounding: docs/numerics.md.
#pragma once

#include "models/kimi_k3/kda.h"
#include "models/kimi_k3/mla.h"
#include "models/kimi_k3/mlp.h"

namespace sluice::kimi_k3 {

class KimiK3 final : public Model {
 public:
  // Runs the first `layers` layers over at most `max_rows` rows at a time.
  KimiK3(const KimiK3Config& config, int layers, int max_rows, const ModelParts& parts);
  Result<> forward(const ForwardBatch& batch) override;

  static std::uint64_t scratch_bytes(const KimiK3Config& config, int layers, int max_rows);

 private:
  // Every buffer of a pass, laid out in one workspace; attention and feed-forward buffers share room.
  struct Buffers {
    Buffers(const KimiK3Config& config, int layers, int max_rows, const ModelParts& parts, Workspace& work);
    ResidualStream residual;
    Rows x, output;
    std::uint64_t after_shared;  // where the buffers that share room begin
    Kda kda;
    Mla mla;
    DenseMlp dense;
    LatentMoe moe;
  };
  Result<> attention(Pass& pass, int layer);
  Result<> mlp(Pass& pass, int layer, const ForwardBatch& batch);
  Result<> head(Pass& pass, const ForwardBatch& batch);
  Result<> run_layers(const ForwardBatch& batch);

  KimiK3Config config_;
  int layers_, max_rows_;
  ModelParts parts_;
  WalkSteps steps_;
  Workspace work_;
  Buffers buffers_;
  Foresight foresight_;
};

}  // namespace sluice::kimi_k3
