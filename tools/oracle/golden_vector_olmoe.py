"""Checks the OLMoE oracle against its published vector (olmoe.md 5.1): three variants, 13 significant digits.

    python3 tools/oracle/golden_vector_olmoe.py        reads tests/golden/olmoe/spec_vector.json
"""

import json
import os

import hash_weights
import plain_torch
from olmoe import Olmoe, Trace
import olmoe_layout

VECTOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "olmoe",
                      "spec_vector.json")
TOLERANCE = 1e-9  # 13 digits of numbers up to 30, and rounding of sums in another order

RULES = [
    ("embed_tokens.weight", 1, 0), ("lm_head.weight", .5, 0), ("norm.weight", .3, 1), ("q_proj.weight", .06, 0),
    ("k_proj.weight", .06, 0), ("v_proj.weight", .3, 0), ("o_proj.weight", .4, 0), ("mlp.gate.weight", .4, 0),
    ("gate_proj.weight", .3, 0), ("up_proj.weight", .3, 0), ("down_proj.weight", .3, 0),
]


def generate(config):
    layout = {name: shape for group in olmoe_layout.groups(config) for name, (_, shape) in group.items()}
    return {name: hash_weights.uniform(name, shape, RULES) for name, shape in layout.items()}


def check_variant(golden, expected):
    config = {**golden["config"], **expected["overrides"], "torch_dtype": "float32"}
    tensors = generate(config)
    if not expected["overrides"]:
        hash_weights.check_tensors(golden["tensor_checks"], tensors)
        assert len(tensors) == golden["n_tensors"]
        assert sum(values.size for values in tensors.values()) == golden["n_parameters"]
    compare, trace, tokens = hash_weights.Comparison(TOLERANCE), Trace(), golden["tokens"]
    greedy, logits, _ = plain_torch.greedy(Olmoe(config, tensors), tokens, 8, trace)
    compare.equal("argmax", logits[:len(tokens)].argmax(-1).tolist(), expected["argmax"])
    compare.close("sums", logits[:len(tokens)].sum(-1), expected["logit_sums"])
    compare.close("logits", logits[expected["positions"]], expected["logits"])
    norms = [trace.get("prefix", layer)[expected["positions"]].norm(dim=1).tolist()
             for layer in range(config["num_hidden_layers"])]
    compare.close("residuals", list(zip(*norms)), expected["residual_norms"])
    compare.equal("greedy", greedy, expected["greedy"]["tokens"])
    compare.equal("argmax after greedy", logits[len(tokens):].argmax(-1).tolist(), expected["greedy"]["argmax_after"])
    compare.close("logits after greedy", logits[len(tokens):, :6], expected["greedy"]["logits_first6"])
    for layer, printed in expected["experts"].items():
        ids, order = trace.get("router_ids", int(layer))[:len(tokens)].sort(-1)
        compare.equal("experts", ids.tolist(), printed)
        weights = trace.get("router_weights", int(layer))[:len(tokens)].gather(1, order)
        compare.close("weights", weights[-1], expected["expert_weights_last"][layer])
    return compare


if __name__ == "__main__":
    with open(VECTOR, encoding="utf-8") as file:
        vector = json.load(file)
    for name, expected in vector["variants"].items():
        compare = check_variant(vector, expected)
        print(f"{name}: {compare.count} numbers, largest difference {compare.worst:.1e}")
