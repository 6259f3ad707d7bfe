// See mlp.h.
#include "models/kimi_k3/mlp.h"

#include "models/common/vectors.h"

namespace sluice::kimi_k3 {

namespace {
constexpr float kRouterSumEpsilon = 1e-20f;  // spec 3.7
}

DenseMlp::DenseMlp(const KimiK3Config& config, Workspace& work, int rows)
    : config_(config), slices_(dense_slices(config)) {
  gate_ = work.rows(rows, config.intermediate_size);
  up_ = work.rows(rows, config.intermediate_size);
}

Result<> DenseMlp::run(Pass& pass, int first_step) {
  const Rows gate = gate_.slice(0, pass.rows()), up = up_.slice(0, pass.rows());
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(first_step));
    pass.residual.read(pass.ops, w[dense_norms::res_norm], w[dense_norms::res_proj], w[dense_norms::post_norm], pass.x);
  }
  int step = first_step + 1;
  TRY(project(pass, step, slices_.inner, pass.x, gate));
  TRY(project(pass, step, slices_.inner, pass.x, up));
  pass.ops.situ(gate, up, config_.activation_situ_beta, config_.activation_situ_linear_beta, gate);
  return project(pass, step, slices_.hidden, gate, pass.output);
}

Result<> DenseMlp::project(Pass& pass, int& step, const std::vector<int>& slices, Rows x, Rows y) {
  int first = 0;
  for (const int rows : slices) {
    TRY_TAKE(const Lease w, pass.trunk.acquire(step++));
    const Product part[] = {{w[dense_slice::rows], x, y.columns(first, rows)}};
    pass.ops.matmul(part);
    first += rows;
  }
  return {};
}

LatentMoe::LatentMoe(const KimiK3Config& config, Workspace& work, int rows, Ops* ops, ExpertStore* store)
    : config_(config) {
  const int latent = config.routed_expert_hidden_size;
  const int shared_inner = config.num_shared_experts * config.moe_intermediate_size;
  scores_ = work.rows(rows, config.num_experts);
  z_ = work.rows(rows, latent);
  outputs_ = work.rows(rows * config.num_experts_per_token, latent);
  sum_ = work.rows(rows, latent);
  shared_gate_ = work.rows(rows, shared_inner);
  shared_up_ = work.rows(rows, shared_inner);
  shared_out_ = work.rows(rows, config.hidden_size);
  bias_ = work.rows(1, config.num_experts);
  if (store == nullptr) {
    RamTier::measure(expert_spec(config), work, rows);
    return;
  }
  ram_.emplace(*ops, *store, expert_spec(config), work, rows);
  runner_.emplace(*ops, std::vector<ExpertTier*>{&*ram_});
}

ExpertSpec LatentMoe::expert_spec(const KimiK3Config& config) {
  return {.in = config.routed_expert_hidden_size,
          .inner = config.moe_intermediate_size,
          .out = config.routed_expert_hidden_size,
          .gate = expert::w1,
          .up = expert::w3,
          .down = expert::w2,
          .activation = Activation::situ,
          .beta = config.activation_situ_beta,
          .linear_beta = config.activation_situ_linear_beta};
}

Result<> LatentMoe::run(Pass& pass, int layer, int first_step, const std::function<void(int, const Routes&)>& routed) {
  const int rows = pass.rows();
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(first_step));
    pass.foresight.ask(pass.ops, layer, [&](Rows prefix, int snapshots) {
      return score(pass, w, {snapshots, prefix}, {});
    });
    chooser_.choose(pass.ops, score(pass, w, pass.residual.now(), z_.slice(0, rows)));
  }
  const Routes& routes = chooser_.routes();
  if (routed) routed(layer, routes);
  runner_->start(layer, z_.slice(0, rows), routes, outputs_);
  {  // the shared experts are multiplied while routed ones are still on their way
    const Rows gate = shared_gate_.slice(0, rows), up = shared_up_.slice(0, rows);
    {
      TRY_TAKE(const Lease w, pass.trunk.acquire(first_step + 1));
      const Product in[] = {{w[shared_in::gate_proj], pass.x, gate}, {w[shared_in::up_proj], pass.x, up}};
      pass.ops.matmul(in);
    }
    pass.ops.situ(gate, up, config_.activation_situ_beta, config_.activation_situ_linear_beta, gate);
    TRY_TAKE(const Lease w, pass.trunk.acquire(first_step + 2));
    const Product out[] = {{w[shared_out::down_proj], gate, shared_out_.slice(0, rows)}};
    pass.ops.matmul(out);
  }
  const Rows sum = sum_.slice(0, rows);
  TRY(runner_->finish(sum));
  TRY_TAKE(const Lease w, pass.trunk.acquire(first_step + 3));
  pass.ops.rms_norm(sum, w[latent_out::latent_norm], config_.rms_norm_eps, sum);  // once, on the aggregate
  const Product up[] = {{w[latent_out::latent_up_proj], sum, pass.output}};
  pass.ops.matmul(up);
  pass.ops.add(shared_out_.slice(0, rows), pass.output);
  return {};
}

void LatentMoe::expect(Pass& pass, int layer, int first_step, ExpertStore& store) {
  if (const std::optional<Lease> w = pass.trunk.peek(first_step))
    expect_experts(pass.ops, store, layer, score(pass, *w, pass.residual.now(), {}));
}

RouterScores LatentMoe::score(Pass& pass, const Lease& w, const ResidualStream::Moment& stream, Rows z) {
  pass.residual.read_at(stream, pass.ops, w[router::res_norm], w[router::res_proj], w[router::post_norm], pass.x);
  const Rows scores = scores_.slice(0, pass.rows());
  // The router sees the full width; the experts work on the latent z.
  const Product in[] = {{w[router::gate], pass.x, scores}, {w[router::latent_down_proj], pass.x, z}};
  pass.ops.matmul(std::span(in).first(z.data != nullptr ? 2 : 1));
  pass.ops.sigmoid(scores, scores);
  return {scores,
          decode_vector(w[router::bias], bias_),
          {.top_k = config_.num_experts_per_token,
           .renormalize = config_.moe_renormalize,
           .factor = config_.routed_scaling_factor,
           .sum_epsilon = kRouterSumEpsilon}};
}

}  // namespace sluice::kimi_k3
