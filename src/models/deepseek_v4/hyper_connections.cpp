// See hyper_connections.h.
#include "models/deepseek_v4/hyper_connections.h"

#include <algorithm>

#include "compute/exact_functions.h"
#include "models/common/vectors.h"

namespace sluice::deepseek_v4 {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

void softmax(std::span<float> row) {
  float largest = row[0];
  for (const float value : row) largest = value > largest ? value : largest;
  float total = 0;
  for (float& value : row) total = total + (value = exact_exp(value - largest));
  for (float& value : row) value = value / total;
}

// Every number of n, `step` apart, divided by their sum + eps.
void divide_by_sum(float* first, int n, int step, float eps) {
  float total = 0;
  for (int i = 0; i < n; ++i) total = total + first[i * step];
  total = total + eps;
  for (int i = 0; i < n; ++i) first[i * step] = first[i * step] / total;
}

}  // namespace

void sinkhorn(std::span<float> c, int n, int iterations, float eps) {
  for (int j = 0; j < n; ++j) softmax(c.subspan(at(j * n), at(n)));
  for (float& value : c) value = value + eps;
  for (int k = 0; k < n; ++k) divide_by_sum(c.data() + k, n, n, eps);
  for (int iteration = 1; iteration < iterations; ++iteration) {
    for (int j = 0; j < n; ++j) divide_by_sum(c.data() + j * n, n, 1, eps);
    for (int k = 0; k < n; ++k) divide_by_sum(c.data() + k, n, n, eps);
  }
}

HyperConnections::HyperConnections(const V4Config& config, Workspace& work, int rows)
    : config_(config),
      mixes_(work.rows(rows, config.mixes())),
      inverse_rms_(work.rows(rows, 1)),
      weights_(work.rows(rows, config.hc_mult * (1 + config.hc_mult))),
      base_(work.rows(1, config.mixes())),
      scale_(work.rows(1, 3)),
      pre_(at(rows * config.hc_mult)) {}

// mixes_ [rows, count] = fn · flat(X) / rms(flat(X)); base_ and scale_ are decoded.
void HyperConnections::mix(Ops& ops, Rows streams, const SiteWeights& w, int count) {
  const Rows mixes = mixes_.slice(0, streams.rows).columns(0, count), inverse = inverse_rms_.slice(0, streams.rows);
  const Product product[] = {{w.fn, streams, mixes}};
  ops.matmul(product);
  ops.inverse_rms(streams, config_.rms_norm_eps, inverse);
  for (int row = 0; row < streams.rows; ++row)
    for (float& value : mixes[row]) value = value * inverse[row][0];
  decode_vector(w.base, base_);
  decode_vector(w.scale, scale_);
}

// x = Σ_i pre_i X_i, a chain from zero in rising stream.
void HyperConnections::sum(Ops& ops, Rows streams, Rows x) {
  const int hc = config_.hc_mult, width = config_.hidden_size;
  ops.weighted_sum({streams.data, streams.rows * hc, width, width}, pre_, hc, x);
}

void HyperConnections::part(Ops& ops, Rows streams, const SiteWeights& w, Rows x) {
  const int hc = config_.hc_mult;
  mix(ops, streams, w, config_.mixes());
  const std::span<const float> base = base_[0], scale = scale_[0];
  for (int row = 0; row < streams.rows; ++row) {
    const std::span<const float> m = mixes_[row];
    const auto mixed = [&](int i, std::size_t kind) { return m[at(i)] * scale[kind] + base[at(i)]; };
    const std::span<float> post = weights_[row].first(at(hc)), c = weights_[row].subspan(at(hc));
    for (int i = 0; i < hc; ++i) {
      pre_[at(row * hc + i)] = exact_sigmoid(mixed(i, 0)) + config_.hc_eps;
      post[at(i)] = 2.f * exact_sigmoid(mixed(hc + i, 1));
    }
    for (int i = 0; i < hc * hc; ++i) c[at(i)] = mixed(2 * hc + i, 2);
    sinkhorn(c, hc, config_.hc_sinkhorn_iters, config_.hc_eps);
  }
  sum(ops, streams, x);
}

void HyperConnections::join(Ops& ops, Rows output, Rows streams) {
  ops.mix_streams(output, weights_.slice(0, streams.rows), config_.hc_mult, streams);
}

void HyperConnections::collapse(Ops& ops, Rows streams, const SiteWeights& w, Rows x) {
  const int hc = config_.hc_mult;
  mix(ops, streams, w, hc);
  for (int row = 0; row < streams.rows; ++row)
    for (int i = 0; i < hc; ++i)
      pre_[at(row * hc + i)] = exact_sigmoid(mixes_[row][at(i)] * scale_[0][0] + base_[0][at(i)]) + config_.hc_eps;
  sum(ops, streams, x);
}

}  // namespace sluice::deepseek_v4
