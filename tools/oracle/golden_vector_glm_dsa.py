"""Checks the GLM-5.2 oracle against its published vector (glm_5_2.md 10.1): trunk, indexer, MTP head, drafts.

    python3 tools/oracle/golden_vector_glm_dsa.py        reads tests/golden/glm_dsa/spec_vector.json
"""

import json
import os

from glm_dsa import Glm, Trace, drafts
import glm_dsa_layout
from hash_weights import Comparison, check_tensors, uniform
import plain_torch

VECTOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "glm_dsa",
                      "spec_vector.json")
TOLERANCE = 1e-9  # 13 digits of numbers up to 40, and rounding of sums in another order

RULES = [
    ("embed_tokens.weight", 1, 0), ("lm_head.weight", .5, 0), ("norm.weight", .3, 1), ("indexer.k_norm.bias", .3, 0),
    ("q_a_proj.weight", .06, 0), ("kv_a_proj_with_mqa.weight", .1, 0), ("q_b_proj.weight", .4, 0),
    ("kv_b_proj.weight", .5, 0), ("o_proj.weight", .15, 0), ("mlp.gate.weight", .4, 0),
    ("e_score_correction_bias", .25, 0), ("gate_proj.weight", .3, 0), ("up_proj.weight", .3, 0),
    ("down_proj.weight", .3, 0), ("indexer.wq_b.weight", .4, 0), ("indexer.wk.weight", .3, 0),
    ("indexer.weights_proj.weight", .3, 0), ("eh_proj.weight", .2, 0), ("enorm.weight", .3, 1), ("hnorm.weight", .3, 1),
]


def generate(config):
    layout = {name: shape for group in glm_dsa_layout.groups(config) for name, (_, shape) in group.items()}
    return {name: uniform(name, shape, RULES) for name, shape in layout.items()}


def sorted_picks(trace, layer, count):
    """Experts by rising id [count, k], and the weights in that order."""
    ids, order = trace.get("router_ids", layer)[:count].sort(-1)
    return ids.tolist(), trace.get("router_weights", layer)[:count].gather(1, order)


def check_trunk(golden, model, compare):
    tokens, trace = golden["tokens"], Trace()
    greedy, logits, state = plain_torch.greedy(model, tokens, 8, trace)
    count, layers = len(tokens), model.config["num_hidden_layers"]
    compare.close("logits", logits[:count], golden["logits"])
    compare.equal("argmax", logits[:count].argmax(-1).tolist(), golden["argmax"])
    norms = [trace.get("prefix", layer)[:count].norm(dim=1).tolist() for layer in range(layers)]
    compare.close("residuals", list(zip(*norms)), golden["residual_norms"])
    for layer, printed in golden["experts"].items():
        ids, weights = sorted_picks(trace, int(layer), count)
        compare.equal("experts", ids, printed)
        compare.close("expert weights", weights[-1], golden["expert_weights_last"][layer])
    for layer, printed in golden["indexer"].items():
        picks = [row.tolist() for row in trace.rows("index_picks", int(layer))]
        compare.equal("key sets", picks[:count], printed)
        compare.close("index scores", trace.rows("index_scores", int(layer))[count - 1], golden["index_scores_last"][layer])
    compare.close("final norm", state.f[count - 1], golden["final_norm_last"])
    compare.equal("greedy", greedy, golden["greedy"]["tokens"])
    compare.equal("argmax after greedy", logits[count:].argmax(-1).tolist(), golden["greedy"]["argmax_after"])
    compare.close("logits after greedy", logits[count:, :6], golden["greedy"]["logits_first6"])
    check_probe(golden["probe"], trace, compare)
    return state


def check_probe(probe, trace, compare):
    position, layer = probe["position"], probe["layer"]
    compare.close("probe", trace.get("prefix", layer - 1)[position], probe["h_in"])
    compare.close("probe", trace.get("attention", layer)[position], probe["attn_out"])
    compare.close("probe", trace.get("mlp", layer)[position], probe["ffn_out"])


def check_mtp(golden, model, state, compare):
    tokens, printed, draft = golden["tokens"], golden["mtp"], golden["draft"]
    layer, trace = model.config["num_hidden_layers"], Trace()
    logits, m, _ = model.mtp(state.f[:len(tokens) - 1], tokens[1:], state, trace)
    compare.close("MTP logits", logits, printed["logits"])
    compare.equal("MTP argmax", logits.argmax(-1).tolist(), printed["argmax"])
    compare.equal("MTP key sets", [row.tolist() for row in trace.rows("index_picks", layer)], printed["indexer"])
    compare.equal("MTP experts", sorted_picks(trace, layer, len(logits))[0], printed["experts"])
    compare.close("MTP residuals", trace.get("prefix", layer).norm(dim=1), printed["residual_norms"])
    compare.close("MTP hidden", m[-1], printed["hidden_last"])
    last = len(tokens) - 1
    trace = Trace()
    first = model.mtp(state.f[last:last + 1], [draft["first_token"]], state, trace)
    compare.equal("draft set", trace.rows("index_picks", layer)[0].tolist(), draft["set"])
    ids, rows = drafts(model, state, last, first, len(draft["tokens"]), trace)
    compare.equal("drafts", ids, draft["tokens"])
    compare.close("draft logits", rows[:, :6], draft["logits_first6"])
    compare.equal("draft experts", sorted_picks(trace, layer, len(ids))[0], draft["experts"])


if __name__ == "__main__":
    with open(VECTOR, encoding="utf-8") as file:
        vector = json.load(file)
    vector["config"]["model_type"] = "glm_moe_dsa"
    tensors = generate(vector["config"])
    check_tensors(vector["tensor_checks"], tensors)
    assert len(tensors) == vector["n_tensors"]
    assert sum(values.size for values in tensors.values()) == vector["n_parameters"]
    oracle, numbers = Glm({**vector["config"], "latent_norm_eps": 1e-6}, tensors), Comparison(TOLERANCE)
    check_mtp(vector, oracle, check_trunk(vector, oracle, numbers), numbers)
    print(f"{numbers.count} numbers, largest difference {numbers.worst:.1e}")
