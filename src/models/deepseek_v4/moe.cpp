// See moe.h.
#include "models/deepseek_v4/moe.h"

#include "models/common/blocks.h"
#include "models/common/vectors.h"
#include "models/deepseek_v4/hash_routes.h"

namespace sluice::deepseek_v4 {

namespace {

ExpertSpec expert_spec(const V4Config& config, Rounding rounding) {
  ExpertSpec spec = swiglu_expert(config.hidden_size, config.moe_intermediate_size);
  spec.activation = Activation::clamped_swiglu;
  spec.limit = config.swiglu_limit;
  spec.rounding = rounding.parity() ? ExpertRounding::release : ExpertRounding::none;
  return spec;
}

}  // namespace

Moe::Moe(const V4Config& config, Rounding rounding, Workspace& work, int rows, const ModelParts& parts)
    : config_(config),
      id_tables_(parts.id_tables),
      scores_(work.rows(rows, config.n_routed_experts)),
      outputs_(work.rows(rows * config.num_experts_per_tok, config.hidden_size)),
      gate_(work.rows(rows, config.moe_intermediate_size)),
      up_(work.rows(rows, config.moe_intermediate_size)),
      shared_out_(work.rows(rows, config.hidden_size)),
      bias_(work.rows(1, config.n_routed_experts)) {
  const ExpertSpec expert = expert_spec(config, rounding);
  if (parts.experts == nullptr) {
    RamTier::measure(expert, work, rows);
    return;
  }
  ram_.emplace(*parts.ops, *parts.experts, expert, work, rows);
  runner_.emplace(*parts.ops, std::vector<ExpertTier*>{&*ram_}, expert.rounding);
}

Result<> Moe::run(Pass& pass, int layer, const LayerSteps& steps, HyperConnections& streams) {
  {
    TRY_TAKE(const Lease w, pass.trunk.acquire(steps.router));
    const auto scored = [&](Rows from, int = 0) { return score(pass, layer, w, from, streams); };
    if (config_.hash_routed(layer)) {
      const RouterScores now = scored(pass.streams);
      given_experts(id_tables_[static_cast<std::size_t>(layer)], pass.tokens, given_);
      chooser_.take(now.scores, given_, now.rule);
    } else {
      pass.foresight.ask(pass.ops, layer, scored);
      chooser_.choose(pass.ops, scored(pass.streams));
    }
  }
  pass.rounding.input(pass.x);  // what is left to be done with it are products of experts
  const Routes& routes = chooser_.routes();
  if (pass.observers.routed) pass.observers.routed(layer, routes);
  runner_->start(layer, pass.x, routes, outputs_);
  TRY(share(pass, steps));  // while routed experts are still on their way
  TRY(runner_->finish(pass.output));
  pass.ops.add(shared_out_.slice(0, pass.rows()), pass.output);
  pass.rounding.tensor(pass.output);
  streams.join(pass.ops, pass.output, pass.streams);
  pass.rounding.tensor(pass.streams);
  return {};
}

void Moe::expect(Pass& pass, int layer, const LayerSteps& steps, HyperConnections& streams, ExpertStore& store) {
  if (const std::optional<Lease> w = pass.trunk.peek(steps.router))
    expect_experts(pass.ops, store, layer, score(pass, layer, *w, pass.streams, streams));
}

// s = sqrt(softplus(gate x)); the table says who works, or the best of s + bias. Weights are of s alone.
RouterScores Moe::score(Pass& pass, int layer, const Lease& w, Rows streams, HyperConnections& connections) {
  connections.part(pass.ops, streams, {w[router::hc_fn], w[router::hc_base], w[router::hc_scale]}, pass.x);
  pass.rounding.tensor(pass.x);
  pass.ops.rms_norm(pass.x, w[router::norm], config_.rms_norm_eps, pass.x);
  pass.rounding.tensor(pass.x);
  const Rows scores = scores_.slice(0, pass.rows());
  const Product in[] = {{w[router::gate], pass.x, scores}};
  pass.ops.matmul(in);
  pass.ops.sqrt_softplus(scores, scores);
  RouterScores scored{scores,
                      {},
                      {.top_k = config_.num_experts_per_tok,
                       .renormalize = config_.norm_topk_prob,
                       .factor = config_.routed_scaling_factor}};
  if (!config_.hash_routed(layer)) scored.bias = decode_vector(w[router::bias], bias_);
  return scored;
}

// The shared expert: the same function, not scaled.
Result<> Moe::share(Pass& pass, const LayerSteps& steps) {
  const Rows gate = gate_.slice(0, pass.rows()), up = up_.slice(0, pass.rows());
  TRY_TAKE(const Lease w, pass.trunk.acquire(steps.shared));
  const Product in[] = {{w[shared::w1], pass.x, gate}, {w[shared::w3], pass.x, up}};
  pass.ops.matmul(in);
  pass.rounding.tensor(gate);
  pass.rounding.tensor(up);
  pass.ops.clamped_swiglu(gate, up, config_.swiglu_limit, gate);
  pass.rounding.tensor(gate);
  pass.rounding.input(gate);
  const Product out[] = {{w[shared::w2], gate, shared_out_.slice(0, pass.rows())}};
  pass.ops.matmul(out);
  pass.rounding.tensor(shared_out_.slice(0, pass.rows()));
  return {};
}

}  // namespace sluice::deepseek_v4
