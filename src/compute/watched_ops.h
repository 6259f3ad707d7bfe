// The operations of somebody else, each told when it is over: which it was and when it began.
//
// So the time of a token can be told apart: what was spent in operations, in waiting for reads, and between them. Two
// looks at the clock an operation; without a watcher there is none in the way.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "compute/ops.h"

namespace sluice {

class WatchedOps final : public Ops {
 public:
  using Told = std::function<void(std::string_view name, std::chrono::steady_clock::time_point begin)>;
  WatchedOps(Ops& ops, Told told);

  // The same of an operation that does nothing, to learn what watching takes.
  void nothing();

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
  template <class Call>
  void watch(std::string_view name, const Call& call) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    told_(name, begin);
  }

  Ops& ops_;
  Told told_;
};

}  // namespace sluice
