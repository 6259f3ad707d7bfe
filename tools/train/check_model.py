"""Asserts that the training class is the oracle's function, and its MXFP4 rounding the file's.

Random weights in float64 on a tiny model with every kind of layer; sequences whose lengths are not multiples of a chunk.
Run: /usr/bin/python3 tools/train/check_model.py
"""

import os
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "formats"), os.path.join(HERE, "..", "oracle")]
import kimi_k3  # noqa: E402
import mxfp4  # noqa: E402
import kimi_k3_checkpoint  # noqa: E402

import experts  # noqa: E402
import model  # noqa: E402

TINY = {
    "hidden_size": 48, "num_hidden_layers": 7, "vocab_size": 300, "intermediate_size": 40, "num_attention_heads": 3,
    "q_lora_rank": 20, "kv_lora_rank": 16, "qk_nope_head_dim": 12, "qk_rope_head_dim": 4, "v_head_dim": 8, "mla_norm_eps": 1e-6,
    "num_experts": 12, "num_experts_per_token": 3, "num_shared_experts": 2, "moe_intermediate_size": 32, "routed_expert_hidden_size": 64,
    "attn_res_block_size": 2,
    "linear_attn_config": {"full_attn_layers": [3, 6, 7], "num_heads": 3, "head_dim": 8, "short_conv_kernel_size": 4,
                           "gate_lower_bound": -5.0, "use_full_rank_gate": True},
}


def randomise(net, seed):
    """Weights that use every path: no zeros, uneven biases, strong decays, SiTU caps reached."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in net.values.items():
            noise = torch.randn(value.shape, generator=generator, dtype=value.dtype)
            grow = 6 if "gate_proj" in name or "up_proj" in name or "experts.w13" in name else 1
            value.copy_(grow * value + 0.3 * noise)
            if name.endswith("A_log"):
                value[net.config["linear_attn_config"]["num_heads"]:] = 0
            if name.endswith("dt_bias"):
                value.add_(5)


def check_forward():
    config = kimi_k3_checkpoint.complete_text_config(TINY)
    net = model.KimiK3(config, seed=3).double()
    net.rounded = False
    randomise(net, 4)
    oracle = kimi_k3.KimiK3(config, net.float_tensors())
    worst = 0.0
    for tokens in (1, 15, 37, 80):
        ids = torch.randint(0, config["vocab_size"], (2, tokens), generator=torch.Generator().manual_seed(tokens))
        ours = net(ids).detach()
        for row in range(2):
            theirs = oracle.forward(ids[row].tolist(), kimi_k3.State(oracle))
            worst = max(worst, float((ours[row] - theirs).abs().max()))
    assert worst < 1e-9, f"training model and oracle differ by {worst}"
    print(f"training model = oracle: largest difference of a logit {worst:.1e}")


def check_rounding():
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((64, 96)) * np.exp2(rng.integers(-8, 8, (64, 1)))
    weight[0] = np.resize(np.arange(-12, 13) * 0.25, 96)  # every tie
    weight[1, :32] = 0
    ours = experts.round_to_mxfp4(torch.from_numpy(weight)).numpy()
    theirs = mxfp4.decode(*mxfp4.quantise(weight))
    assert np.array_equal(ours, theirs), "MXFP4 rounding differs from the file's"
    assert np.array_equal(experts.round_to_mxfp4(torch.from_numpy(ours)).numpy(), ours), "rounding twice differs from rounding once"
    print("MXFP4 rounding = the file's, and idempotent")


def check_gradient():
    """The hand-written backward passes against finite differences."""
    generator = torch.Generator().manual_seed(6)
    x = torch.randn(7, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(3, 4, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: experts.GroupedLinear.apply(a, b, [0, 3, 3, 7]), (x, weight))
    print("gradient of the grouped product: checked")


if __name__ == "__main__":
    torch.set_num_threads(1)
    check_rounding()
    check_gradient()
    check_forward()
