// The operations as plain loops over decode_row: the definition that every kernel must equal, bit for bit.
//
// Written to be read beside docs/numerics.md, one step of it a line. Slow and single-threaded; used by tests, and good
// enough for tiny checkpoints. An operation that has no row in docs/numerics.md is defined here and there at once.
#pragma once

#include "compute/fast_format.h"
#include "compute/ops.h"

namespace sluice {

class ReferenceOps final : public Ops {
 public:
  explicit ReferenceOps(Numerics numerics = Numerics::exact) : numerics_(numerics) {}

  void matmul(std::span<const Product> products) override;
  void matmul_transposed(std::span<const Product> products) override;
  void rms_norm(Rows x, const WeightView& gain, float eps, Rows y) override;
  void inverse_rms(Rows x, float eps, Rows y) override;
  void layer_norm(Rows x, const WeightView& gain, const WeightView& bias, float eps, Rows y) override;
  void l2_norm(Rows x, int width, float eps, float scale) override;
  void add(Rows x, Rows y) override;
  void sigmoid(Rows x, Rows y) override;
  void gate_sigmoid(Rows gate, Rows y) override;
  void situ(Rows gate, Rows up, float b1, float b2, Rows y) override;
  void swiglu(Rows gate, Rows up, Rows y) override;
  void clamped_swiglu(Rows gate, Rows up, float limit, Rows y) override;
  void sqrt_softplus(Rows x, Rows y) override;
  void clamp(Rows x, float limit) override;
  void softmax(Rows x) override;
  void rope(const Rope& rope) override;
  void weighted_sum(Rows outputs, std::span<const float> weights, int per_row, Rows y) override;
  void attention_residual(std::span<const Rows> sources, const WeightView& gain, const WeightView& projection,
                          float eps, Rows y, Rows weights) override;
  void stream_weights(const StreamWeights& streams) override;
  void mix_streams(Rows output, Rows weights, int streams, Rows x) override;
  void pool(const ChannelPool& pool) override;
  void short_conv(Rows x, std::span<const float> taps, int kernel, std::span<float> history, Rows y) override;
  void kda_decay(Rows z, std::span<const float> a_log, std::span<const float> dt_bias, float bound, int dim,
                 Rows alpha) override;
  void kda_recurrence(const KdaStep& step) override;
  void latent_attention(const LatentAttention& attention) override;
  void head_attention(const HeadAttention& attention) override;
  void window_attention(const WindowAttention& attention) override;
  void index_scores(const IndexScores& scores) override;
  void choose(const Choice& choice) override;
  void exp_weights(std::span<const float> x, float largest, double divisor, std::span<double> y) override;

 private:
  Numerics numerics_;
};

}  // namespace sluice
