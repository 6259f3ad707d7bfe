// See mlp.h.
#include "models/glm_dsa/mlp.h"

#include "models/common/blocks.h"
#include "models/common/vectors.h"

namespace sluice::glm_dsa {

namespace {

constexpr float kRouterSumEpsilon = 1e-20f;  // spec 3.6

}  // namespace

DenseMlp::DenseMlp(const GlmConfig& config, Workspace& work, int rows) : config_(config) {
  gate_ = work.rows(rows, config.intermediate_size);
  up_ = work.rows(rows, config.intermediate_size);
}

Result<> DenseMlp::run(Pass& pass, int first_step) {
  const Rows gate = gate_.slice(0, pass.rows()), up = up_.slice(0, pass.rows());
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(first_step));
    pass.ops.rms_norm(pass.residual, w[dense_in::post_norm], config_.rms_norm_eps, pass.x);
    const Product in[] = {{w[dense_in::gate_proj], pass.x, gate}, {w[dense_in::up_proj], pass.x, up}};
    pass.ops.matmul(in);
  }
  pass.ops.swiglu(gate, up, gate);
  TRY_TAKE(const Lease w, pass.trunk.acquire(first_step + 1));
  const Product out[] = {{w[dense_out::down_proj], gate, pass.output}};
  pass.ops.matmul(out);
  return {};
}

Moe::Moe(const GlmConfig& config, Workspace& work, int rows, Ops* ops, ExpertStore* store) : config_(config) {
  scores_ = work.rows(rows, config.n_routed_experts);
  outputs_ = work.rows(rows * config.num_experts_per_tok, config.hidden_size);
  shared_gate_ = work.rows(rows, config.shared_inner());
  shared_up_ = work.rows(rows, config.shared_inner());
  shared_out_ = work.rows(rows, config.hidden_size);
  bias_ = work.rows(1, config.n_routed_experts);
  const ExpertSpec expert = swiglu_expert(config.hidden_size, config.moe_intermediate_size);
  if (store == nullptr) {
    RamTier::measure(expert, work, rows);
    return;
  }
  ram_.emplace(*ops, *store, expert, work, rows);
  runner_.emplace(*ops, std::vector<ExpertTier*>{&*ram_});
}

Result<> Moe::run(Pass& pass, int layer, int first_step) {
  const int rows = pass.rows();
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(first_step));
    pass.foresight.ask(pass.ops, layer, [&](Rows earlier, int) { return score(pass, w, earlier); });
    chooser_.choose(pass.ops, score(pass, w, pass.residual));
  }
  const Routes& routes = chooser_.routes();
  if (pass.routed) pass.routed(layer, routes);
  runner_->start(layer, pass.x, routes, outputs_);
  {  // the shared experts are multiplied while routed ones are still on their way
    TRY_TAKE(const Lease w, pass.trunk.acquire(first_step + 1));
    const Rows gate = shared_gate_.slice(0, rows), up = shared_up_.slice(0, rows);
    const Product in[] = {{w[shared::gate_proj], pass.x, gate}, {w[shared::up_proj], pass.x, up}};
    pass.ops.matmul(in);
    pass.ops.swiglu(gate, up, gate);
    const Product out[] = {{w[shared::down_proj], gate, shared_out_.slice(0, rows)}};
    pass.ops.matmul(out);
  }
  TRY(runner_->finish(pass.output));
  pass.ops.add(shared_out_.slice(0, rows), pass.output);
  return {};
}

void Moe::expect(Pass& pass, int layer, int first_step, ExpertStore& store) {
  if (const std::optional<Lease> w = pass.trunk.peek(first_step))
    expect_experts(pass.ops, store, layer, score(pass, *w, pass.residual));
}

RouterScores Moe::score(Pass& pass, const Lease& w, Rows residual) {
  pass.ops.rms_norm(residual, w[router::post_norm], config_.rms_norm_eps, pass.x);
  const Rows scores = scores_.slice(0, pass.rows());
  const Product in[] = {{w[router::gate], pass.x, scores}};
  pass.ops.matmul(in);
  pass.ops.sigmoid(scores, scores);
  return {scores,
          decode_vector(w[router::bias], bias_),
          {.top_k = config_.num_experts_per_tok,
           .renormalize = config_.norm_topk_prob,
           .factor = config_.routed_scaling_factor,
           .sum_epsilon = kRouterSumEpsilon,
           .groups = config_.n_group,
           .groups_kept = config_.topk_group}};
}

}  // namespace sluice::glm_dsa
