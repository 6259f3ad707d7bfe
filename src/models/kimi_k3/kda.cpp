// See kda.h. Step numbers are those of spec section 3.3.
#include "models/kimi_k3/kda.h"

#include <cmath>

#include "models/common/vectors.h"

namespace sluice::kimi_k3 {

namespace {
constexpr float kL2Epsilon = 1e-6f;  // added to the sum of squares, not to its mean
}

Kda::Kda(const KimiK3Config& config, Workspace& work, int rows) : config_(config) {
  const int width = config.kda_width();
  raw_q_ = work.rows(rows, width);
  raw_k_ = work.rows(rows, width);
  raw_v_ = work.rows(rows, width);
  q_ = work.rows(rows, width);
  k_ = work.rows(rows, width);
  v_ = work.rows(rows, width);
  decay_low_ = work.rows(rows, config.kda_head_dim);
  beta_ = work.rows(rows, config.kda_num_heads);
  taps_ = work.rows(1, width * config.short_conv_kernel_size);
  vector_ = work.rows(1, width + config.kda_head_dim);
  z_and_out_ = raw_q_;
  alpha_ = raw_k_;
  gate_ = raw_v_;
}

std::uint64_t Kda::state_floats(const KimiK3Config& config) {
  const auto width = static_cast<std::uint64_t>(config.kda_width());
  const std::uint64_t history = width * static_cast<std::uint64_t>(config.short_conv_kernel_size - 1);
  return width * static_cast<std::uint64_t>(config.kda_head_dim) + 3 * history;
}

Result<> Kda::run(Pass& pass, int layer, int first_step, bool close_block) {
  for (int stream = 0; stream < 3; ++stream) {
    TRY_TAKE(const Lease w, pass.trunk.acquire(first_step + stream));
    if (stream == 0) {
      pass.residual.read(pass.ops, w[kda_stream::res_norm], w[kda_stream::res_proj], w[kda_stream::input_norm], pass.x);
      if (close_block) pass.residual.close_block();
    }
    project(pass, layer, stream, w);
  }
  normalise(pass);
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(first_step + 3));
    gates(pass, w);
    recur(pass, layer);
    normalise_and_gate(pass, w);
  }
  TRY_TAKE(const Lease w, pass.trunk.acquire(first_step + 4));
  const Product out[] = {{w[kda_out::o_proj], z_and_out_.slice(0, pass.rows()), pass.output}};
  pass.ops.matmul(out);
  return {};
}

void Kda::project(Pass& pass, int layer, int stream, const Lease& w) {
  const int width = config_.kda_width(), kernel = config_.short_conv_kernel_size;
  const std::size_t history = static_cast<std::size_t>(width) * static_cast<std::size_t>(kernel - 1);
  const std::size_t matrix = static_cast<std::size_t>(width) * static_cast<std::size_t>(config_.kda_head_dim);
  const Rows raw[] = {raw_q_, raw_k_, raw_v_}, convolved[] = {q_, k_, v_};
  const Rows input = raw[stream], output = convolved[stream];
  const Product product[] = {{w[kda_stream::proj], pass.x, input.slice(0, pass.rows())}};
  pass.ops.matmul(product);
  const std::span<const float> taps = decode_vector(w[kda_stream::conv], taps_);
  for (const Segment& segment : pass.segments)
    pass.ops.short_conv(
        input.slice(segment.first_row, segment.rows), taps, kernel,
        segment.state->recurrent(layer).subspan(matrix + static_cast<std::size_t>(stream) * history, history),
        output.slice(segment.first_row, segment.rows));
}

void Kda::normalise(Pass& pass) {
  const int dim = config_.kda_head_dim;
  const float query_scale = 1.0f / std::sqrt(static_cast<float>(dim));
  pass.ops.l2_norm(q_.slice(0, pass.rows()), dim, kL2Epsilon, query_scale);
  pass.ops.l2_norm(k_.slice(0, pass.rows()), dim, kL2Epsilon, 1.0f);
}

void Kda::gates(Pass& pass, const Lease& w) {
  const int rows = pass.rows();
  const Rows low = decay_low_.slice(0, rows), beta = beta_.slice(0, rows), z = z_and_out_.slice(0, rows);
  const Product from_x[] = {{w[kda_gates::f_a_proj], pass.x, low},
                            {w[kda_gates::b_proj], pass.x, beta},
                            {w[kda_gates::g_proj], pass.x, gate_.slice(0, rows)}};
  pass.ops.matmul(from_x);
  pass.ops.sigmoid(beta, beta);
  const Product from_low[] = {{w[kda_gates::f_b_proj], low, z}};
  pass.ops.matmul(from_low);
  const int dim = config_.kda_head_dim;
  const std::span<const float> a_log = decode_vector(w[kda_gates::a_log], vector_.columns(0, dim));
  const std::span<const float> dt_bias =
      decode_vector(w[kda_gates::dt_bias], vector_.columns(dim, config_.kda_width()));
  pass.ops.kda_decay(z, a_log, dt_bias, config_.gate_lower_bound, dim, alpha_.slice(0, rows));
}

void Kda::recur(Pass& pass, int layer) {
  for (const Segment& segment : pass.segments) {
    const auto of = [&](Rows all) { return all.slice(segment.first_row, segment.rows); };
    pass.ops.kda_recurrence({of(q_), of(k_), of(v_), of(alpha_), of(beta_), of(z_and_out_), config_.kda_num_heads,
                             config_.kda_head_dim, segment.state->recurrent(layer).data()});
  }
}

void Kda::normalise_and_gate(Pass& pass, const Lease& w) {
  const Rows out = z_and_out_.slice(0, pass.rows());
  pass.ops.rms_norm(out, w[kda_gates::o_norm], config_.rms_norm_eps, out);
  pass.ops.gate_sigmoid(gate_.slice(0, pass.rows()), out);
}

}  // namespace sluice::kimi_k3
