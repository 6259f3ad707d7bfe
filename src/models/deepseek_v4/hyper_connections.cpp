// See hyper_connections.h.
#include "models/deepseek_v4/hyper_connections.h"

#include "models/common/vectors.h"

namespace sluice::deepseek_v4 {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

HyperConnections::HyperConnections(const V4Config& config, Workspace& work, int rows)
    : config_(config),
      mixes_(work.rows(rows, config.mixes())),
      inverse_rms_(work.rows(rows, 1)),
      weights_(work.rows(rows, config.hc_mult * (1 + config.hc_mult))),
      base_(work.rows(1, config.mixes())),
      scale_(work.rows(1, 3)),
      pre_(at(rows * config.hc_mult)) {}

// m = fn · flat(X) / rms(flat(X)), `count` numbers a row; pre, and post and c into `weights` if it has data, from m.
void HyperConnections::weigh(Ops& ops, Rows streams, const SiteWeights& w, int count, Rows weights) {
  const Rows mixes = mixes_.slice(0, streams.rows).columns(0, count), inverse = inverse_rms_.slice(0, streams.rows);
  const Product product[] = {{w.fn, streams, mixes}};
  ops.matmul(product);
  ops.inverse_rms(streams, config_.rms_norm_eps, inverse);
  ops.stream_weights({.mixes = mixes,
                      .inverse_rms = inverse,
                      .base = decode_vector(w.base, base_),
                      .scale = decode_vector(w.scale, scale_),
                      .streams = config_.hc_mult,
                      .iterations = config_.hc_sinkhorn_iters,
                      .eps = config_.hc_eps,
                      .pre = pre_,
                      .weights = weights});
}

// x = Σ_i pre_i X_i, a chain from zero in rising stream.
void HyperConnections::sum(Ops& ops, Rows streams, Rows x) {
  const int hc = config_.hc_mult, width = config_.hidden_size;
  ops.weighted_sum({streams.data, streams.rows * hc, width, width}, pre_, hc, x);
}

void HyperConnections::part(Ops& ops, Rows streams, const SiteWeights& w, Rows x) {
  weigh(ops, streams, w, config_.mixes(), weights_.slice(0, streams.rows));
  sum(ops, streams, x);
}

void HyperConnections::join(Ops& ops, Rows output, Rows streams) {
  ops.mix_streams(output, weights_.slice(0, streams.rows), config_.hc_mult, streams);
}

void HyperConnections::collapse(Ops& ops, Rows streams, const SiteWeights& w, Rows x) {
  weigh(ops, streams, w, config_.hc_mult, {});
  sum(ops, streams, x);
}

}  // namespace sluice::deepseek_v4
