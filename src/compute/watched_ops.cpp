// See watched_ops.h.
#include "compute/watched_ops.h"

#include <utility>

namespace sluice {

WatchedOps::WatchedOps(Ops& ops, Told told) : ops_(ops), told_(std::move(told)) {}

void WatchedOps::nothing() {
  watch("nothing", [] {});
}
void WatchedOps::matmul(std::span<const Product> products) {
  watch("matmul", [&] { ops_.matmul(products); });
}
void WatchedOps::matmul_transposed(std::span<const Product> products) {
  watch("matmul transposed", [&] { ops_.matmul_transposed(products); });
}
void WatchedOps::rms_norm(Rows x, const WeightView& gain, float eps, Rows y) {
  watch("rms norm", [&] { ops_.rms_norm(x, gain, eps, y); });
}
void WatchedOps::inverse_rms(Rows x, float eps, Rows y) {
  watch("inverse rms", [&] { ops_.inverse_rms(x, eps, y); });
}
void WatchedOps::layer_norm(Rows x, const WeightView& gain, const WeightView& bias, float eps, Rows y) {
  watch("layer norm", [&] { ops_.layer_norm(x, gain, bias, eps, y); });
}
void WatchedOps::l2_norm(Rows x, int width, float eps, float scale) {
  watch("l2 norm", [&] { ops_.l2_norm(x, width, eps, scale); });
}
void WatchedOps::add(Rows x, Rows y) {
  watch("add", [&] { ops_.add(x, y); });
}
void WatchedOps::sigmoid(Rows x, Rows y) {
  watch("sigmoid", [&] { ops_.sigmoid(x, y); });
}
void WatchedOps::gate_sigmoid(Rows gate, Rows y) {
  watch("gate sigmoid", [&] { ops_.gate_sigmoid(gate, y); });
}
void WatchedOps::situ(Rows gate, Rows up, float b1, float b2, Rows y) {
  watch("situ", [&] { ops_.situ(gate, up, b1, b2, y); });
}
void WatchedOps::swiglu(Rows gate, Rows up, Rows y) {
  watch("swiglu", [&] { ops_.swiglu(gate, up, y); });
}
void WatchedOps::clamped_swiglu(Rows gate, Rows up, float limit, Rows y) {
  watch("clamped swiglu", [&] { ops_.clamped_swiglu(gate, up, limit, y); });
}
void WatchedOps::sqrt_softplus(Rows x, Rows y) {
  watch("sqrt softplus", [&] { ops_.sqrt_softplus(x, y); });
}
void WatchedOps::clamp(Rows x, float limit) {
  watch("clamp", [&] { ops_.clamp(x, limit); });
}
void WatchedOps::softmax(Rows x) {
  watch("softmax", [&] { ops_.softmax(x); });
}
void WatchedOps::rope(const Rope& rope) {
  watch("rope", [&] { ops_.rope(rope); });
}
void WatchedOps::weighted_sum(Rows outputs, std::span<const float> weights, int per_row, Rows y) {
  watch("weighted sum", [&] { ops_.weighted_sum(outputs, weights, per_row, y); });
}
void WatchedOps::attention_residual(std::span<const Rows> sources, const WeightView& gain, const WeightView& projection,
                                    float eps, Rows y, Rows weights) {
  watch("attention residual", [&] { ops_.attention_residual(sources, gain, projection, eps, y, weights); });
}
void WatchedOps::stream_weights(const StreamWeights& streams) {
  watch("stream weights", [&] { ops_.stream_weights(streams); });
}
void WatchedOps::mix_streams(Rows output, Rows weights, int streams, Rows x) {
  watch("mix streams", [&] { ops_.mix_streams(output, weights, streams, x); });
}
void WatchedOps::pool(const ChannelPool& pool) {
  watch("pool", [&] { ops_.pool(pool); });
}
void WatchedOps::short_conv(Rows x, std::span<const float> taps, int kernel, std::span<float> history, Rows y) {
  watch("short conv", [&] { ops_.short_conv(x, taps, kernel, history, y); });
}
void WatchedOps::kda_decay(Rows z, std::span<const float> a_log, std::span<const float> dt_bias, float bound, int dim,
                           Rows alpha) {
  watch("kda decay", [&] { ops_.kda_decay(z, a_log, dt_bias, bound, dim, alpha); });
}
void WatchedOps::kda_recurrence(const KdaStep& step) {
  watch("kda recurrence", [&] { ops_.kda_recurrence(step); });
}
void WatchedOps::latent_attention(const LatentAttention& attention) {
  watch("latent attention", [&] { ops_.latent_attention(attention); });
}
void WatchedOps::head_attention(const HeadAttention& attention) {
  watch("head attention", [&] { ops_.head_attention(attention); });
}
void WatchedOps::window_attention(const WindowAttention& attention) {
  watch("window attention", [&] { ops_.window_attention(attention); });
}
void WatchedOps::index_scores(const IndexScores& scores) {
  watch("index scores", [&] { ops_.index_scores(scores); });
}
void WatchedOps::choose(const Choice& choice) {
  watch("choose", [&] { ops_.choose(choice); });
}
void WatchedOps::exp_weights(std::span<const float> x, float largest, double divisor, std::span<double> y) {
  watch("exp weights", [&] { ops_.exp_weights(x, largest, divisor, y); });
}

}  // namespace sluice
