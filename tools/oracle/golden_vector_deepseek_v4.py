"""Checks the DeepSeek-V4 oracle against its published vector (deepseek_v4.md 9.3) and the worked numbers of its sections.

    python3 tools/oracle/golden_vector_deepseek_v4.py        reads tests/golden/deepseek_v4/spec_vector.json

The vector has six decimals. All its numbers are compared, fed in one chunk, token by token, and in chunks of five.
"""

import json
import os

import numpy as np

from deepseek_v4 import DeepSeekV4, Trace, torch
import deepseek_v4_layout
from hash_weights import Comparison, fnv1a64, hash_words, uniform

VECTOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "deepseek_v4",
                      "spec_vector.json")
PRINTED = 0.6e-6

RULES = [
    ("embed.weight", 1, 0), ("head.weight", .5, 0), ("norm.weight", .2, 1), ("_fn", .2, 0), ("_base", .5, 0),
    ("_scale", .2, 1), ("attn_sink", 1, 0), ("wq_a.weight", .3, 0), ("wkv.weight", .3, 0), ("wgate.weight", .3, 0),
    ("wo_a.weight", .3, 0), ("gate.weight", .3, 0), ("w1.weight", .3, 0), ("w2.weight", .3, 0), ("w3.weight", .3, 0),
    ("e_proj.weight", .3, 0), ("h_proj.weight", .3, 0), ("wq_b.weight", .4, 0), ("wo_b.weight", .4, 0),
    ("weights_proj.weight", .4, 0), ("ape", .5, 0), ("gate.bias", .5, 0),
]


def released_config(c):
    """The vector's short names as config.json spells them."""
    return {
        "vocab_size": c["vocab"], "hidden_size": c["dim"], "num_hidden_layers": c["layers"],
        "num_attention_heads": c["heads"], "head_dim": c["hd"], "qk_rope_head_dim": c["rd"], "q_lora_rank": c["q"],
        "o_groups": c["og"], "o_lora_rank": c["ol"], "sliding_window": c["win"], "compress_ratios": c["ratios"],
        "n_routed_experts": c["E"], "num_experts_per_tok": c["K"], "moe_intermediate_size": c["I"],
        "num_hash_layers": c["hash"], "hc_mult": c["hc"], "hc_sinkhorn_iters": c["it"], "rms_norm_eps": c["eps"],
        "hc_eps": c["heps"], "routed_scaling_factor": c["scale"], "swiglu_limit": c["limit"],
        "index_n_heads": c["ih"], "index_head_dim": c["id"], "index_topk": c["topk"], "rope_theta": c["theta"],
        "compress_rope_theta": c["ctheta"], "n_shared_experts": 1, "num_nextn_predict_layers": 1,
        "rope_scaling": {"type": "yarn", "factor": c["factor"], "original_max_position_embeddings": c["orig"],
                         "beta_fast": c["bf"], "beta_slow": c["bs"]},
    }


def expert_table(name, shape, experts):
    """tid2eid: two different experts per token."""
    n = ((hash_words(name, int(np.prod(shape))) >> np.uint64(40)) % np.uint64(experts)).astype(np.int64).reshape(shape)
    n[:, 1] = (n[:, 0] + 1 + n[:, 1] % (experts - 1)) % experts
    return n


def generate(config):
    tensors = {}
    for group in deepseek_v4_layout.groups(config):
        for name, (kind, shape) in group.items():
            tensors[name] = (expert_table(name, shape, config["n_routed_experts"]) if kind == "I64"
                             else uniform(name, shape, RULES))
    return tensors


def check_generator(tensors):
    assert f"{fnv1a64(b'embed.weight'):016x}" == "9ac37bcac2dc8a00"
    assert np.allclose(tensors["embed.weight"].ravel()[:3], [.0350399, -.9550754, -.8646539], rtol=0, atol=1e-7)
    assert tensors["layers.0.ffn.gate.tid2eid"][:4].tolist() == [[0, 3], [0, 2], [2, 0], [2, 1]]
    assert tensors["layers.1.ffn.gate.tid2eid"][:3].tolist() == [[0, 4], [2, 5], [1, 2]]


def check_run(golden, model, chunk):
    compare, trace, tokens, state = Comparison(PRINTED), Trace(), golden["tokens"], model.new_state()
    parts = [tokens[at:at + chunk] for at in range(0, len(tokens), chunk)]
    logits = torch.cat([model.forward(part, state, trace) for part in parts])
    compare.close("logits", logits, golden["logits"])
    layers = range(model.config["num_hidden_layers"])
    for position in (0, 23):
        sums = [trace.get("prefix", layer)[position].view(model.config["hc_mult"], -1).sum(-1).tolist() for layer in layers]
        compare.close("streams", sums, golden[f"layer_stream_row_sums_pos{position}"])
    for layer, printed in golden["indexer_selected"].items():
        picks = trace.rows("index_picks", int(layer))
        for position, entries in printed.items():
            compare.equal("indexer", picks[int(position)].tolist(), entries)
    experts = [[sorted(trace.get("router_ids", layer)[p].tolist()) for layer in layers] for p in range(len(tokens))]
    compare.equal("experts", experts, golden["experts"])
    mtp = [model.mtp(state.streams[at:at + chunk][:len(tokens) - 1 - at], tokens[at + 1:at + chunk + 1], state)[0]
           for at in range(0, len(tokens) - 1, chunk)]
    compare.close("MTP logits", torch.cat(mtp), golden["mtp_logits"])
    return compare


def check_worked_numbers(model):
    """3.2: the mixing matrix of a printed example. 3.4: frequencies of the release."""
    i = torch.arange(24, dtype=torch.float64)
    m, base, scale = 0.1 * ((7 * i) % 11 - 5), 0.05 * ((5 * i) % 7 - 3), (0.5, 1, 2)
    mix = model.sinkhorn((m[8:] * scale[2] + base[8:]).reshape(1, 4, 4))[0]
    Comparison(0.6e-7).close("mixing", mix[0], [.1701831, .4255249, .2341078, .1701832])
    Comparison(0.6e-7).close("mixing", mix[3], [.4010657, .1111168, .0867510, .4010655])
    released = DeepSeekV4({"compress_ratios": [4, 0], "qk_rope_head_dim": 64, "rope_theta": 10000,
                           "compress_rope_theta": 160000, "rms_norm_eps": 1e-6, "rope_scaling": {
                               "factor": 16, "original_max_position_embeddings": 65536, "beta_fast": 32, "beta_slow": 1}}, {})
    ours = released.frequencies(0)[[0, 1, 15, 16, 20, 24, 25, 31]]
    printed = [1, 0.687656022, 0.00363553858, 0.002265625, 0.000296977778, 1.953125e-05, 5.37231267e-06, 5.68052904e-07]
    assert np.allclose(ours, printed, rtol=1e-8), ours
    assert np.allclose(released.frequencies(1)[[1, 31]], [0.749894209, 0.000133352143], rtol=1e-8)
    gate = torch.tensor([[-2, -.5, 0, .7, 1.5, 3]], dtype=torch.float64)
    scores = torch.nn.functional.softplus(gate).sqrt()[0]
    Comparison(0.6e-7).close("scores", scores, [.3562696, .6885325, .8325546, 1.0503266, 1.3043823, 1.7460204])


if __name__ == "__main__":
    with open(VECTOR, encoding="utf-8") as file:
        vector = json.load(file)
    settings = released_config(vector["config"])
    weights = generate(settings)
    check_generator(weights)
    oracle = DeepSeekV4(settings, weights)
    check_worked_numbers(oracle)
    for length in (24, 1, 5):
        numbers = check_run(vector, oracle, length)
        print(f"chunks of {length}: {numbers.count} numbers, largest difference {numbers.worst:.1e}")
