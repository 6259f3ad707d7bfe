"""Checks the oracle against the published golden vector of Kimi K3 (spec 9.7): weights from a hash, printed results.

    python3 tools/oracle/golden_vector_kimi_k3.py        reads tests/golden/kimi_k3/spec_vector.json

The file was computed from the same formulas by other code (twice, and compared with a C engine). Everything in it is
compared to its printed precision: six decimals.
"""

import json
import os

import numpy as np

from hash_weights import Comparison, fnv1a64, hash_words
import plain_torch
import kimi_k3
from kimi_k3 import layout
import kimi_k3_checkpoint

HERE = os.path.dirname(os.path.abspath(__file__))
VECTOR = os.path.join(HERE, "..", "..", "tests", "golden", "kimi_k3", "spec_vector.json")
PRINTED = 0.6e-6  # half a unit of the sixth decimal, and some rounding

# Rule of each tensor, by the end of its name (spec 9.7, table). First match wins.
RULES = [
    ("embed_tokens.weight", "M", 1), ("lm_head.weight", "M", -1), ("_res_proj.weight", "M", -3),
    (".o_norm.weight", "GF", None), ("norm.weight", "G", None),
    ("_conv1d.weight", "F", 0), (".A_log", "A", None), (".dt_bias", "DT", None),
    ("self_attn.f_a_proj.weight", "M", -3), ("self_attn.f_b_proj.weight", "M", -1),
    ("self_attn.b_proj.weight", "M", -2), ("self_attn.g_proj.weight", "M", -2), ("self_attn.o_proj.weight", "M", 0),
    ("self_attn.q_a_proj.weight", "M", -7), ("self_attn.q_b_proj.weight", "M", -2),
    ("self_attn.kv_b_proj.weight", "M", -2), ("self_attn.kv_a_proj_with_mqa.weight", "KV", None),
    ("self_attn.q_proj.weight", "M", -3), ("self_attn.k_proj.weight", "M", -3), ("self_attn.v_proj.weight", "M", -3),
    ("routed_expert_down_proj.weight", "M", -3), ("routed_expert_up_proj.weight", "M", -2),
    (".gate_proj.weight", "M", -1), (".up_proj.weight", "M", 1), (".down_proj.weight", "M", -7),
    (".gate.weight", "M", -3), (".e_score_correction_bias", "F", -2), ("_packed", "P", None),
    (".w1.weight_scale", "S", 124), (".w2.weight_scale", "S", 121), (".w3.weight_scale", "S", 126),
]


def generate(name, shape, config):
    """Values (float64, exact in the storage dtype) or bytes of one stored tensor."""
    rule, e = next((rule, e) for ending, rule, e in RULES if name.endswith(ending))
    z = hash_words(name, int(np.prod(shape)))
    b, n, t = ((z >> np.uint64(shift)).astype(np.int64) for shift in (56, 40, 60))
    if rule == "M":
        values = (2 * b - 255) * 2.0 ** (e - 8)
    elif rule == "KV":
        rows = np.arange(len(z)) // shape[1]
        values = (2 * b - 255) * np.where(rows < config["kv_lora_rank"], 2.0 ** -16, 2.0 ** -10)
    elif rule == "G":
        values = (64 + (b >> 1)) / 128
    elif rule == "GF":
        values = 0.5 + (n >> 1) * 2.0 ** -23
    elif rule == "F":
        values = (n - 2 ** 23) * 2.0 ** (e - 23)
    elif rule == "DT":
        values = -n * 2.0 ** -22
    elif rule == "A":
        head = np.arange(len(z))
        values = np.where(head < config["linear_attn_config"]["num_heads"], head / 4 - 0.5, 0.0)
    elif rule == "P":
        values = b
    else:
        values = np.select([t == 0, t == 1, t == 2, t == 3, t == 15], [0, 1, e - 24, e - 6, e + 3], e - 1 + t % 3)
    return values.reshape(shape)


def generate_stored(config):
    """Every tensor of the layout as stored words; asserts that nothing was rounded."""
    stored = {}
    for name, (dtype, shape) in layout.stored_tensors(config).items():
        values = generate(name, shape, config)
        if dtype == "U8":
            stored[name] = (dtype, values.astype(np.uint8))
            continue
        words, rounded = kimi_k3_checkpoint.store_tensor(name, dtype, values)
        assert np.array_equal(rounded, values), name
        stored |= words
    return stored


def check_generator(golden, stored):
    assert len(stored) == golden["tensor_count"]
    for check in golden["generator_checks"]:
        assert f"{fnv1a64(check['name'].encode()):016x}" == check["h"], check["name"]
        assert f"{fnv1a64(stored[check['name']][1].tobytes()):016x}" == check["fnv1a64_of_stored_bytes"], check["name"]
    total = sum(fnv1a64(words.tobytes()) for _, words in stored.values()) & 0xFFFFFFFFFFFFFFFF
    assert f"{total:016x}" == golden["sum_of_fnv1a64_of_stored_bytes_over_all_tensors"]


def check_run(golden, expected, model):
    """One ε convention: the run of 24 prompt ids and 15 greedy ids."""
    compare, trace = Comparison(PRINTED), kimi_k3.Trace()
    layers = model.config["num_hidden_layers"]
    greedy, logits, state = plain_torch.greedy(model, golden["prompt_ids"], 15, trace)
    greedy.append(int(logits[-1].argmax()))
    compare.equal("greedy ids", greedy, expected["greedy_ids"])
    compare.equal("argmax", logits.argmax(-1).tolist(), expected["argmax"])
    top2 = logits.topk(2).values
    Comparison(PRINTED).close("top2 margin", top2[:, 0] - top2[:, 1], expected["top2_margin"], 0.6e-4)  # four decimals
    for position, printed in expected["logits"].items():
        compare.close(f"logits at {position}", logits[int(position)], printed)
    for position, by_layer in expected["router"].items():
        for layer, printed in by_layer.items():
            compare.equal("router ids", trace.get("router_ids", int(layer))[int(position)].tolist(), printed["ids"])
            compare.close("router weights", trace.get("router_weights", int(layer))[int(position)], printed["w"])
    for key, name in (("prefix_l2", "prefix"), ("attn_out_l2", "attention"), ("mlp_out_l2", "mlp")):
        for position, printed in expected[key].items():
            ours = [trace.get(name, layer)[int(position)].norm() for layer in range(layers)]
            compare.close(key, ours, printed)
    for position, printed in expected["prefix_first3"].items():
        ours = [trace.get("prefix", layer)[int(position), :3].tolist() for layer in range(layers)]
        compare.close("prefix", ours, printed)
    for position, printed in expected["final_attn_res_weights"].items():
        compare.close("final AttnRes", trace.get("output_attn_res", None)[int(position)], printed)
    for layer, printed in enumerate(expected.get("mlp_attn_res_weights_pos23", [])):
        compare.close("MLP AttnRes", trace.get("mlp_attn_res", layer)[23], printed)
    check_state(compare, expected["final_state"], state)
    return compare


def check_state(compare, expected, state):
    for layer, printed in expected["kda_S_frobenius_per_head"].items():
        compare.close("S", state.recurrent[int(layer)].flatten(1).norm(dim=1), printed)
    for layer, printed in expected["kda_conv_history_l2_qkv"].items():
        compare.close("conv history", [state.conv[int(layer)][x].norm() for x in "qkv"], printed)
    for key, cache in (("mla_c_frobenius", state.c), ("mla_r_frobenius", state.r)):
        for layer, printed in expected[key].items():
            compare.close(key, cache[int(layer)].norm(), printed)
    if "layer0_head0_S_row0_first4" in expected:
        compare.close("S row", state.recurrent[0][0, 0, :4], expected["layer0_head0_S_row0_first4"])


def main(path):
    with open(path, encoding="utf-8") as file:
        golden = json.load(file)
    config = golden["config"]["text_config"]
    stored = generate_stored(config)
    check_generator(golden, stored)
    print(f"generator: {len(stored)} tensors, all hashes equal")
    tensors = kimi_k3_checkpoint.widen(config, stored)
    for convention in ("release_eps", "uniform_eps"):
        expected = golden[convention]
        with_eps = {**config, "mla_norm_eps": expected["eps_q_a_and_kv_a_layernorm"]}
        compare = check_run(golden, expected, kimi_k3.KimiK3(with_eps, tensors))
        print(f"{convention}: {compare.count} numbers, largest difference {compare.worst:.1e}")


if __name__ == "__main__":
    main(VECTOR)
