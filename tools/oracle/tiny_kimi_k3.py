"""The two tiny Kimi K3 models of the goldens: their configs (spec 9.2) and their weights (9.3).

Scales are chosen so that every non-linearity is at work: SiTU caps engage, router biases reorder the picks, AttnRes
mixes are uneven, A_log differs between heads, norm gains are not one.
"""

import numpy as np

from kimi_k3 import layout
import kimi_k3_checkpoint
import tiktoken_file
from tiny_models import Draw, prose_pieces

VOCABULARY = tiktoken_file.trivial_vocabulary()

KDA_A = {"full_attn_layers": [4, 8, 12, 13], "num_heads": 5, "head_dim": 16, "short_conv_kernel_size": 4,
         "gate_lower_bound": -5.0, "use_full_rank_gate": True}
CONFIG_A = kimi_k3_checkpoint.complete_text_config({
    "hidden_size": 128, "num_hidden_layers": 13, "vocab_size": 768, "intermediate_size": 96, "num_attention_heads": 4,
    "q_lora_rank": 48, "kv_lora_rank": 32, "qk_nope_head_dim": 24, "qk_rope_head_dim": 8, "v_head_dim": 16,
    "num_experts": 12, "num_experts_per_token": 3, "num_shared_experts": 2, "moe_intermediate_size": 32,
    "routed_expert_hidden_size": 64, "attn_res_block_size": 3, "max_position_embeddings": 4096, "mla_norm_eps": 1e-6,
    "linear_attn_config": KDA_A,
})
# B: another block size and layer pattern (boundaries 0, 4, 8: the last block is incomplete, as in the release),
# smaller, the hidden size no multiple of 32, more experts, one shared expert, a routed scaling factor that is not 1 and
# the other epsilon of MLA's latent norms.
KDA_B = {"full_attn_layers": [4, 8, 10, 11], "num_heads": 3, "head_dim": 8, "short_conv_kernel_size": 4,
         "gate_lower_bound": -5.0, "use_full_rank_gate": True}
CONFIG_B = kimi_k3_checkpoint.complete_text_config({
    "hidden_size": 56, "num_hidden_layers": 11, "vocab_size": 768, "intermediate_size": 72, "num_attention_heads": 3,
    "q_lora_rank": 40, "kv_lora_rank": 20, "qk_nope_head_dim": 12, "qk_rope_head_dim": 4, "v_head_dim": 10,
    "num_experts": 14, "num_experts_per_token": 4, "num_shared_experts": 1, "moe_intermediate_size": 32,
    "routed_expert_hidden_size": 64, "routed_scaling_factor": 1.5, "attn_res_block_size": 4,
    "max_position_embeddings": 4096, "mla_norm_eps": 1e-5, "linear_attn_config": KDA_B,
})
CONFIGS = {"a": CONFIG_A, "b": CONFIG_B}
PROMPTS = {"a": "The capital of France is Paris. What is the other thing that they say on the river?",
           "b": "When the traders came over the ice, what did the people there want from them?"}

LATENT_SCALE = 0.03  # of q_a and kv_a: mean squares near 1e-3, so that 1e-6 and 1e-5 inside the norm are far apart


def kv_a(draw, config, shape, fan_in):
    """Small latent rows, shared key rows of ordinary size."""
    values = draw.normal(shape, fan_in)
    values[:config["kv_lora_rank"]] *= np.float32(LATENT_SCALE)
    return values


# What the first group of columns of rows 0..4 of every eight is multiplied with: ordinary, large, zeros (scale byte
# 127), far below the rest, and so small that the scale byte is 0 or 1 (2^-127, a subnormal).
GROUP_FACTORS = np.array([1, 4, 0, 2.0 ** -20, 2.0 ** -124, 1, 1, 1], dtype=np.float32)


def expert(draw, shape, std):
    """An expert's matrix: some groups of 32 columns have scales far from the others (9.3)."""
    values = draw.normal(shape, std)
    values[:, :32] *= GROUP_FACTORS[np.arange(shape[0]) % len(GROUP_FACTORS), None]
    return values


def lm_head(draw, shape, fan_in):
    """Wide margins; rows of the special tokens small, so that greedy text has no specials in it."""
    values = draw.normal(shape, 4 * fan_in)
    values[shape[0] - tiktoken_file.SPECIALS:] *= np.float32(0.25)
    return values


def a_log(draw, config):
    return draw.shuffled(np.linspace(-0.4, 1.2, config["linear_attn_config"]["num_heads"]))


def initial(draw, config, name, shape):
    """One float tensor (9.3)."""
    fan_in = shape[-1] ** -0.5
    if name.endswith("norm.weight"):
        return 1 + draw.normal(shape, 0.05)
    if name.endswith("A_log"):
        return a_log(draw, config)
    if name.endswith("dt_bias"):
        return draw.normal(shape, 0.5) - 1  # below zero: α near e^-1.3, a memory of several tokens
    if name.endswith("e_score_correction_bias"):
        return draw.shuffled(np.linspace(-0.15, 0.15, shape[0]))
    if name.endswith("kv_a_proj_with_mqa.weight"):
        return kv_a(draw, config, shape, fan_in)
    if name == layout.LM_HEAD:
        return lm_head(draw, shape, fan_in)
    if ".experts." in name:
        return expert(draw, shape, standard_deviation(name, fan_in))
    return draw.normal(shape, standard_deviation(name, fan_in))


def standard_deviation(name, fan_in):
    """Per name ending, in units of 1/sqrt(fan-in) but for the first two.

    Gates near 4 and ups near 15, so that about a third of the gates pass the cap 4 and a tenth of the ups the cap 25;
    what follows is scaled so that embedding, attention and MLP write vectors of like length: a mistake in any of them
    then moves the logits, and rounding errors are not blown up on the way.
    """
    if name.endswith("embed_tokens.weight"):
        return 1.0
    if name.endswith("conv1d.weight"):
        return 0.4
    scales = [("_res_proj.weight", 0.6), (".gate.weight", 2), ("q_a_proj.weight", LATENT_SCALE),
              (".w1.weight", 4), (".w3.weight", 15), (".gate_proj.weight", 4), (".up_proj.weight", 15),
              (".down_proj.weight", 0.02), ("expert_up_proj.weight", 0.3), ("v_proj.weight", 0.2)]
    return fan_in * next((scale for ending, scale in scales if name.endswith(ending)), 1)


def correlate(q, k):
    """k = 0.9 q + 0.44 k. Independent q and k would make most outputs of the recurrence a cancellation to nearly zero,
    which the norm after it then blows up: a test of luck, not of the formulas."""
    return np.float32(0.9) * q + np.float32(0.44) * k


def initial_tensors(config, seed):
    """`{float name: float32 array}`, drawn in the order of the names."""
    draw, shapes = Draw(seed), layout.float_tensors(config)
    tensors = {name: initial(draw, config, name, shapes[name][1]) for name in sorted(shapes)}
    for name in shapes:
        for ending in ("self_attn.k_proj.weight", "self_attn.k_conv1d.weight"):
            if name.endswith(ending):
                tensors[name] = correlate(tensors[name.replace("self_attn.k_", "self_attn.q_")], tensors[name])
    return tensors


def encode_prose(text):
    """Token ids of plain ASCII prose (split: 5.3)."""
    return [id for piece in prose_pieces(text) for id in tiktoken_file.encode_piece(VOCABULARY, piece)]
