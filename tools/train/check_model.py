"""Asserts that the training classes are the oracles' functions, and their MXFP4 and FP8 rounding the files'.

Random weights in float64 on tiny models with every kind of layer; sequences whose lengths are not multiples of a chunk.
Run: /usr/bin/python3 tools/train/check_model.py
"""

import os
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "formats"), os.path.join(HERE, "..", "oracle")]
import deepseek_v4  # noqa: E402
import glm_dsa  # noqa: E402
import kimi_k3  # noqa: E402
import olmoe  # noqa: E402
import fp8  # noqa: E402
import mxfp4  # noqa: E402
import kimi_k3_checkpoint  # noqa: E402
import tiny_deepseek_v4  # noqa: E402
import tiny_glm_dsa  # noqa: E402
import tiny_olmoe  # noqa: E402

import experts  # noqa: E402
import model_deepseek_v4  # noqa: E402
import model_glm_dsa  # noqa: E402
import model_kimi_k3  # noqa: E402
import model_olmoe  # noqa: E402
import streams  # noqa: E402

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
            if not value.is_floating_point():
                continue
            noise = torch.randn(value.shape, generator=generator, dtype=value.dtype)
            grow = 6 if "gate_proj" in name or "up_proj" in name or "experts.w13" in name else 1
            value.copy_(grow * value + 0.3 * noise)
            if name.endswith("A_log"):
                value[net.config["linear_attn_config"]["num_heads"]:] = 0
            if name.endswith("dt_bias"):
                value.add_(5)


def differences(net, oracle, vocabulary):
    """Largest difference of a logit between training model and oracle on a few batches; the oracle's states."""
    worst, states = 0.0, []
    for tokens in (1, 15, 37, 80):
        ids = torch.randint(0, vocabulary, (2, tokens), generator=torch.Generator().manual_seed(tokens))
        ours = net(ids).detach()
        for row in range(2):
            state = oracle.new_state()
            worst = max(worst, float((ours[row] - oracle.forward(ids[row].tolist(), state)).abs().max()))
            states.append((ids[row], state))
    return worst, states


def prepared(net):
    net = net.double()
    net.rounded = False
    randomise(net, 4)
    return net


def check_kimi_k3():
    config = kimi_k3_checkpoint.complete_text_config(TINY)
    net = prepared(model_kimi_k3.KimiK3(config, seed=3))
    return differences(net, kimi_k3.KimiK3(config, net.float_tensors()), config["vocab_size"])[0]


def check_olmoe():
    worst = 0.0
    for name in tiny_olmoe.SHAPES:
        config = tiny_olmoe.config(name)
        net = prepared(model_olmoe.Olmoe(config, seed=3))
        worst = max(worst, differences(net, olmoe.Olmoe(config, net.float_tensors()), config["vocab_size"])[0])
    return worst


def check_glm_dsa():
    """Trunk, MTP head and index scores."""
    worst = 0.0
    for name in ("a", "c"):
        config = {**tiny_glm_dsa.config(name), "index_topk": 2048}
        net = prepared(model_glm_dsa.GlmDsa(config, seed=3))
        oracle = glm_dsa.Glm(config, net.float_tensors())
        difference, states = differences(net, oracle, config["vocab_size"])
        for ids, state in states[-2:]:
            ours = net.mtp(state.f[None, :-1], ids[None, 1:]).detach()
            theirs, _, _ = oracle.mtp(state.f[:-1], ids[1:].tolist(), state)
            difference = max(difference, float((ours[0] - theirs).abs().max()), index_difference(net, oracle))
        worst = max(worst, difference)
    return worst


def check_deepseek_v4():
    """Trunk and MTP block, with an indexer that drops entries and gates that are clamped."""
    worst = 0.0
    for name in tiny_deepseek_v4.SHAPES:
        config = tiny_deepseek_v4.config(name)
        net = prepared(model_deepseek_v4.DeepSeekV4(config, seed=3)).eval()
        oracle = deepseek_v4.DeepSeekV4(config, net.float_tensors())
        difference, states = differences(net, oracle, config["vocab_size"])
        for ids, state in states[-2:]:
            ours = net.mtp(state.streams[None, :-1], ids[None, 1:]).detach()
            theirs, _ = oracle.mtp(state.streams[:-1], ids[1:].tolist(), state)
            difference = max(difference, float((ours[0] - theirs).abs().max()))
        worst = max(worst, difference)
    return worst


def index_difference(net, oracle):
    config, layer, tokens = net.config, 0, 9
    x = torch.randn(tokens, config["hidden_size"], dtype=torch.float64)
    cq = torch.randn(tokens, config["q_lora_rank"], dtype=torch.float64)
    positions = torch.arange(tokens)
    products = oracle.index_products(oracle.index_queries(layer, cq, x, positions), oracle.index_keys(layer, x, positions))
    theirs = oracle.index_scores(oracle.index_weights(layer, x), products)
    return float((net.index_scores(layer, x[None], cq[None])[0] - theirs).abs().max().detach())


def check_forward():
    for check in (check_kimi_k3, check_olmoe, check_glm_dsa, check_deepseek_v4):
        worst = check()
        assert worst < 1e-8, f"{check.__name__}: training model and oracle differ by {worst}"
        print(f"{check.__name__}: training model = oracle, largest difference of a logit {worst:.1e}")


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
    for shape in ((3, 128, 130), (2, 20, 300), (1, 257, 5)):
        weight = rng.standard_normal(shape) * np.exp2(rng.integers(-14, 8, shape[:-1] + (1,)))
        ours = experts.round_to_fp8(torch.from_numpy(weight)).numpy()
        theirs = np.stack([fp8.decode(*fp8.quantise(matrix)) for matrix in weight])
        assert np.array_equal(ours, theirs), f"FP8 rounding differs from the file's: {np.abs(ours - theirs).max()}"
        weight[0, 0, 0] = 448 * 2.0**9  # a block that its scale just holds
        ours = experts.round_to_fp8_powers(torch.from_numpy(weight)).numpy()
        theirs = np.stack([fp8.decode_powers(*fp8.quantise_by_powers(matrix)) for matrix in weight])
        assert np.array_equal(ours, theirs), f"FP8 rounding with E8M0 scales differs from the file's: {np.abs(ours - theirs).max()}"
    print("FP8 rounding = the file's")


def check_gradient():
    """The hand-written backward passes against finite differences."""
    c = torch.rand(4, 4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda value: streams.Sinkhorn.apply(value, 5, 1e-6), (c,))
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)
    generator = torch.Generator().manual_seed(6)
    assert torch.autograd.gradcheck(streams.Merge.apply, (draw(3, 4, 5), draw(3, 5), draw(3, 4), draw(3, 4, 4)))
    assert torch.autograd.gradcheck(streams.Collapse.apply, (draw(3, 4, 5), draw(3, 4)))
    assert torch.autograd.gradcheck(lambda a, b: experts.GroupedLinear.apply(a, b, [0, 3, 3, 7]), (draw(7, 5), draw(3, 4, 5)))
    print("gradients of the grouped product and of the residual streams: checked")


if __name__ == "__main__":
    torch.set_num_threads(1)
    check_rounding()
    check_gradient()
    check_forward()
