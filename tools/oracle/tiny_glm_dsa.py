"""The tiny GLM-5.2 models of the goldens, and one of a sibling: configs and weights.

a: bf16, index_topk larger than any run, so attention is dense; the indexer's keys are kept all the same.
b: index_topk 8: positions are dropped, layers share selections; two index heads, so that scores tie at zero; fused
   experts; the other epsilon of the latent norms; the indexer's schedule from frequency and offset.
c: FP8 in blocks of 128x128, hardly a dimension a multiple of 128; the schedule as a pattern.
d: DeepSeek-V3: no indexer, groups of experts, YaRN, the MTP layer with its copies of embedding and head.

The head follows a permutation: what comes after a token is mostly decided by that token, for the trunk and for the MTP
head alike. So drafts are accepted often, but not always.
"""

import numpy as np

import fp8
import glm_dsa_layout
import tiktoken_file
import tokenizer_json
from tiny_models import Draw, prose_pieces

VOCABULARY = tokenizer_json.glm_vocabulary(tiktoken_file.trivial_merges())
PROMPTS = {"a": "The capital of France is Paris. What is the other thing that they say on the river?",
           "b": "When the traders came over the ice, what did the people there want from them?",
           "c": "The lazy dog carried the salt to the north.",
           "d": "What would the fox have said of the other dog?"}

ATTENTION = {"attention_bias": False, "attention_dropout": 0.0}
RELEASED = {
    "architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", "dtype": "bfloat16", **ATTENTION,
    "moe_layer_freq": 1, "rope_interleave": True, "max_position_embeddings": 4096, "rms_norm_eps": 1e-05,
    "hidden_act": "silu", "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "scoring_func": "sigmoid",
    "topk_method": "noaux_tc", "norm_topk_prob": True, "routed_scaling_factor": 2.5, "moe_router_dtype": "float32",
    "indexer_rope_interleave": True, "index_share_for_mtp_iteration": True, "num_nextn_predict_layers": 1,
    "tie_word_embeddings": False, "initializer_range": 0.02, "pretraining_tp": 1, "ep_size": 1, "use_cache": True,
    "transformers_version": "5.12.0",
}
A = {
    "hidden_size": 64, "intermediate_size": 96, "moe_intermediate_size": 24, "num_hidden_layers": 6,
    "first_k_dense_replace": 2, "mlp_layer_types": ["dense"] * 2 + ["sparse"] * 4, "num_attention_heads": 4,
    "q_lora_rank": 48, "kv_lora_rank": 32, "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 16,
    "rope_parameters": {"rope_theta": 8000000, "rope_type": "default"}, "n_routed_experts": 12,
    "num_experts_per_tok": 3, "index_n_heads": 4, "index_head_dim": 16, "index_topk": 2048, "index_topk_freq": 4,
    "index_skip_topk_offset": 3, "index_topk_pattern": None, "indexer_types": ["full"] * 3 + ["shared"] * 3,
}
B = {
    "hidden_size": 56, "intermediate_size": 72, "moe_intermediate_size": 16, "num_hidden_layers": 8,
    "first_k_dense_replace": 1, "num_attention_heads": 3, "q_lora_rank": 40, "kv_lora_rank": 20,
    "qk_nope_head_dim": 10, "qk_rope_head_dim": 4, "v_head_dim": 14,
    "rope_parameters": {"rope_theta": 10000, "rope_type": "default"}, "n_routed_experts": 11,
    "num_experts_per_tok": 2, "index_n_heads": 2, "index_head_dim": 12, "index_topk": 8, "index_topk_freq": 4,
    "index_skip_topk_offset": 3, "mla_norm_eps": 1e-06,
}
C = {
    "hidden_size": 136, "intermediate_size": 150, "moe_intermediate_size": 132, "num_hidden_layers": 3,
    "first_k_dense_replace": 2, "num_attention_heads": 4, "q_lora_rank": 136, "kv_lora_rank": 40,
    "qk_nope_head_dim": 26, "qk_rope_head_dim": 8, "v_head_dim": 34,
    "rope_parameters": {"rope_theta": 10000, "rope_type": "default"}, "n_routed_experts": 6,
    "num_experts_per_tok": 2, "index_n_heads": 8, "index_head_dim": 20, "index_topk": 5, "index_topk_pattern": "FSF",
    "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
                            "weight_block_size": [128, 128]},
}
D = {
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "torch_dtype": "bfloat16", **ATTENTION,
    "hidden_size": 48, "intermediate_size": 64, "moe_intermediate_size": 20, "num_hidden_layers": 3,
    "first_k_dense_replace": 1, "moe_layer_freq": 1, "num_attention_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 24,
    "qk_nope_head_dim": 12, "qk_rope_head_dim": 16, "v_head_dim": 12, "rope_theta": 10000,
    "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 64, "beta_fast": 32,
                     "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0},
    "max_position_embeddings": 256, "rms_norm_eps": 1e-06, "hidden_act": "silu", "n_routed_experts": 12,
    "n_shared_experts": 1, "num_experts_per_tok": 3, "n_group": 4, "topk_group": 2, "scoring_func": "sigmoid",
    "topk_method": "noaux_tc", "norm_topk_prob": True, "routed_scaling_factor": 2.5, "num_nextn_predict_layers": 1,
    "tie_word_embeddings": False, "initializer_range": 0.02, "use_cache": True,
}
SHAPES = {"a": {**RELEASED, **A}, "b": {**RELEASED, **B}, "c": {**RELEASED, **C}, "d": D}
FUSED = {"b"}
SMALL = 0.03  # of the rows that a norm follows: mean squares near 1e-3, so that its epsilon shows


def follow(config):
    """How strongly the head follows the permutation: more layers leave less of the embedding."""
    return 21 + 3.5 * config["num_hidden_layers"]


def config(name):
    """config.json; four ids at the end have no token. `head_dim` is the width without rotation, as in the release."""
    shape = SHAPES[name]
    added = {text: id for text, (id, _) in VOCABULARY.added.items()}
    ends = [added[text] for text in ("<|endoftext|>", "<|user|>", "<|observation|>")]
    heads = {"num_key_value_heads": shape["num_attention_heads"]}
    if shape["model_type"] == "glm_moe_dsa":
        heads |= {"head_dim": shape["qk_nope_head_dim"],
                  "qk_head_dim": shape["qk_nope_head_dim"] + shape["qk_rope_head_dim"]}
    return {**shape, **heads, "vocab_size": VOCABULARY.size + 4, "eos_token_id": ends, "pad_token_id": ends[0]}


# Standard deviations in units of 1/sqrt(fan-in), by the end of the name; the first that fits.
SCALES = [
    ("q_a_proj.weight", SMALL), ("indexer.wq_b.weight", 1), ("indexer.wk.weight", 1), ("weights_proj.weight", 1),
    ("kv_a_proj_with_mqa.weight", 1), ("q_b_proj.weight", 1.5), ("kv_b_proj.weight", 1.5), ("o_proj.weight", 0.4),
    ("mlp.gate.weight", 1.5), ("gate_proj.weight", 2), ("up_proj.weight", 2), ("down_proj.weight", 0.09),
    ("eh_proj.weight", 0.4),
]


def initial(draw, config, name, shape):
    """One float tensor but for the head: attention and MLP write vectors of like length."""
    if name.endswith("norm.weight"):
        return 1 + draw.normal(shape, 0.2)
    if name.endswith("k_norm.bias"):
        return draw.normal(shape, 0.3)
    if name.endswith("e_score_correction_bias"):
        return draw.shuffled(np.linspace(-0.15, 0.15, shape[0]))
    fan_in = shape[-1] ** -0.5
    values = draw.normal(shape, fan_in * next(scale for ending, scale in SCALES if name.endswith(ending)))
    if name.endswith("kv_a_proj_with_mqa.weight"):
        values[:config["kv_lora_rank"]] *= np.float32(SMALL)
    if name.endswith("eh_proj.weight"):  # the embedding passes through
        values[:, :shape[0]] += np.eye(shape[0], dtype=np.float32)
    if "quantization_config" in config and values.ndim == 2:
        values *= block_factors(shape)
    return values


def block_factors(shape):
    """Blocks of 128x128 whose sizes differ, so that each needs its own scale."""
    rows, columns = (np.arange(size) // 128 for size in shape)
    return np.where((rows[:, None] + columns) % 2 == 1, np.float32(1.5), np.float32(0.75))


def largest_byte(name):
    """What the largest FP8 value of a block becomes: in down_proj so little that most bytes are subnormal."""
    return 0.125 if name.endswith("down_proj.weight") else fp8.LARGEST


def head(draw, embedding, strength):
    """lm_head: random rows, plus, for each ordinary token, the direction of the one it follows."""
    tokens, width = len(VOCABULARY.tokens), embedding.shape[1]
    values = draw.normal(embedding.shape, 4 * width ** -0.5)
    values[tokens:] *= np.float32(0.25)  # so that greedy text has no added tokens in it
    values[draw.stream.permutation(tokens)] += embedding[:tokens] * np.float32(strength / width)
    return values


def initial_tensors(config, seed):
    """`{float name: float32 array}`, drawn in the order of the names; the head last."""
    draw = Draw(seed)
    shapes = {name: shape for group in glm_dsa_layout.groups(config) for name, (_, shape) in group.items()}
    copies = ("shared_head.head.weight", "embed_tokens.weight")
    embedding = draw.normal(shapes["model.embed_tokens.weight"], 1)
    tensors = {name: initial(draw, config, name, shapes[name]) for name in sorted(shapes)
               if name != "lm_head.weight" and not name.endswith(copies)}
    lm_head = head(draw, embedding, follow(config))
    for name in shapes:
        if name == "lm_head.weight" or name.endswith(copies[0]):
            tensors[name] = lm_head
        elif name.endswith(copies[1]):
            tensors[name] = embedding
    return tensors


def encode_prose(text):
    return [id for piece in prose_pieces(text) for id in VOCABULARY.piece(piece, whole_first=True)]
