"""The tiny DeepSeek-V4 models of the goldens: configs and weights.

a: every kind of layer (window only, overlapping windows of 4 with an indexer that drops, plain windows of 16), two layers
   routed by the token's table; expert weights in FP4, matrices in FP8, scales that differ from block to block.
b: the layout of Pro: compression from the first layer on, more groups in the output, another stream count's sizes, hardly a
   dimension a multiple of 128.
"""

import numpy as np

import deepseek_v4_layout
import tiktoken_file
import tokenizer_json
from tiny_models import Draw, prose_pieces

VOCABULARY = tokenizer_json.deepseek_vocabulary(tiktoken_file.trivial_merges())
PROMPTS = {"a": "The capital of France is Paris. What is the other thing that they say on the river?",
           "b": "When the traders came over the ice, what did the people there want from them?"}
RELEASED = {
    "architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4", "bos_token_id": 0, "eos_token_id": 1,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16", "num_key_value_heads": 1, "hc_mult": 4,
    "hc_sinkhorn_iters": 20, "hc_eps": 1e-06, "rms_norm_eps": 1e-06, "n_shared_experts": 1,
    "num_nextn_predict_layers": 1, "scoring_func": "sqrtsoftplus", "topk_method": "noaux_tc", "norm_topk_prob": True,
    "hidden_act": "silu", "expert_dtype": "fp4", "attention_bias": False, "attention_dropout": 0.0,
    "initializer_range": 0.02, "use_cache": True, "max_position_embeddings": 4096, "rope_theta": 10000,
    "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "scale_fmt": "ue8m0", "activation_scheme": "dynamic",
                            "weight_block_size": [128, 128]},
    "transformers_version": "4.57.1",
}
A = {
    "hidden_size": 64, "num_hidden_layers": 5, "num_attention_heads": 4, "head_dim": 40, "qk_rope_head_dim": 8,
    "q_lora_rank": 32, "o_groups": 2, "o_lora_rank": 24, "index_head_dim": 16, "index_n_heads": 8, "index_topk": 4,
    "sliding_window": 12, "compress_ratios": [0, 4, 16, 4, 16, 0], "num_hash_layers": 2, "n_routed_experts": 12,
    "num_experts_per_tok": 3, "moe_intermediate_size": 32, "routed_scaling_factor": 1.5, "swiglu_limit": 2.0,
    "compress_rope_theta": 1000,
    "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 512, "beta_fast": 8, "beta_slow": 1},
}
B = {
    "hidden_size": 96, "num_hidden_layers": 4, "num_attention_heads": 6, "head_dim": 24, "qk_rope_head_dim": 4,
    "q_lora_rank": 40, "o_groups": 3, "o_lora_rank": 44, "index_head_dim": 12, "index_n_heads": 6, "index_topk": 7,
    "sliding_window": 7, "compress_ratios": [20, 20, 4, 4, 0], "num_hash_layers": 1, "n_routed_experts": 11,
    "num_experts_per_tok": 2, "moe_intermediate_size": 32, "routed_scaling_factor": 2.5, "swiglu_limit": 3.0,
    "compress_rope_theta": 160000,
    "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 1024, "beta_fast": 32, "beta_slow": 1},
}
SHAPES = {"a": {**RELEASED, **A}, "b": {**RELEASED, **B}}
SMALL = 0.005  # of the rows that a norm follows, so that its epsilon of 1e-6 shows


def config(name):
    """config.json; four ids at the end have no token."""
    return {**SHAPES[name], "vocab_size": VOCABULARY.size + 4}


# Standard deviations in units of 1/sqrt(fan-in), by the end of the name; the first that fits.
SCALES = [
    ("indexer.wq_b.weight", 1), ("weights_proj.weight", 1), ("wq_a.weight", 1), ("compressor.wkv.weight", 1),
    ("wkv.weight", SMALL), ("wgate.weight", 1.5), ("wq_b.weight", 1), ("wo_a.weight", 1), ("wo_b.weight", 1),
    ("gate.weight", 1.5), ("w1.weight", 2), ("w3.weight", 2), ("w2.weight", 0.5), ("e_proj.weight", 0.7),
    ("h_proj.weight", 0.7), ("_fn", 1), ("head.weight", 4),
]


def initial(draw, name, shape, experts):
    """One float tensor, or the table of a hash-routed layer."""
    if name.endswith("tid2eid"):
        return np.stack([draw.stream.permutation(experts)[:shape[1]] for _ in range(shape[0])])
    if name.endswith("norm.weight"):
        return 1 + draw.normal(shape, 0.2)
    if name.endswith(("_base", "ape", "attn_sink")):
        return draw.normal(shape, 0.5)
    if name.endswith("_scale"):
        return 1 + draw.normal(shape, 0.2)
    if name.endswith("gate.bias"):
        return draw.shuffled(np.linspace(-0.2, 0.2, shape[0]))
    if name == "embed.weight":
        return draw.normal(shape, 1)
    values = draw.normal(shape, shape[-1] ** -0.5 * next(scale for ending, scale in SCALES if name.endswith(ending)))
    if name == "head.weight":  # so that greedy text has no added tokens in it
        ordinary = range(VOCABULARY.first, VOCABULARY.first + len(VOCABULARY.tokens))
        values[[id for id in range(shape[0]) if id not in ordinary]] *= np.float32(0.25)
    if ".experts." in name:  # groups of 32 columns whose sizes differ
        values *= np.exp2(np.arange(shape[0]) % 3 - 1).astype(np.float32)[:, None]
    return values


def initial_tensors(config, seed):
    """`{float name: array}`, drawn in the order of the names."""
    draw = Draw(seed)
    shapes = {name: shape for group in deepseek_v4_layout.groups(config) for name, (_, shape) in group.items()}
    return {name: initial(draw, name, shapes[name], config["n_routed_experts"]) for name in sorted(shapes)}


def encode_prose(text):
    return [id for piece in prose_pieces(text) for id in VOCABULARY.piece(piece)]
