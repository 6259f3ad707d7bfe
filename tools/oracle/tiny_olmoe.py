"""The tiny OLMoE models of the goldens: configs and weights.

a is the released shape: as many key heads as query heads, no renormalisation, no clipping, experts one tensor each.
b is everything else: grouped key heads, renormalised, clipped, experts fused as transformers keep them, theta under
`rope_parameters`, no `rms_norm_eps` (its default counts); widths that are no multiples of 32.
c is published as float32, clips and does not renormalise.
"""

import numpy as np

import olmoe_layout
import tiktoken_file
import tokenizer_json
from tiny_models import Draw, prose_pieces

PROMPTS = {"a": "The capital of France is Paris. What is the other thing that they say on the river?",
           "b": "When the traders came over the ice, what did the people there want from them?",
           "c": "The lazy dog carried the salt to the north."}
SHAPES = {
    "a": {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 4,
          "intermediate_size": 32, "num_experts": 12, "num_experts_per_tok": 3, "norm_topk_prob": False,
          "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "rope_scaling": None, "clip_qkv": None,
          "torch_dtype": "bfloat16"},
    "b": {"hidden_size": 56, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
          "intermediate_size": 20, "num_experts": 14, "num_experts_per_tok": 4, "norm_topk_prob": True,
          "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}, "clip_qkv": 1.25,
          "torch_dtype": "bfloat16"},
    "c": {"hidden_size": 40, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
          "intermediate_size": 24, "num_experts": 11, "num_experts_per_tok": 2, "norm_topk_prob": False,
          "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "rope_scaling": None, "clip_qkv": 1.0,
          "torch_dtype": "float32"},
}
FUSED = {"b"}
SMALL = 0.03  # of the rows that a norm follows: mean squares near 1e-3, so that its epsilon shows


VOCABULARY = tokenizer_json.olmoe_vocabulary(tiktoken_file.trivial_merges())


def config(name):
    """config.json; four ids at the end have no token, as in the release."""
    return {
        "architectures": ["OlmoeForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "eos_token_id": VOCABULARY.size - 1, "hidden_act": "silu", "initializer_range": 0.02,
        "max_position_embeddings": 4096, "model_type": "olmoe", "output_router_logits": False, "pad_token_id": 1,
        "router_aux_loss_coef": 0.01, "tie_word_embeddings": False, "transformers_version": "5.15.0",
        "use_cache": True, "vocab_size": VOCABULARY.size + 4, **SHAPES[name],
    }


def initial(draw, name, shape):
    """One float tensor: embedding, attention and experts write vectors of like length."""
    if name.endswith("norm.weight"):
        return 1 + draw.normal(shape, 0.2)
    fan_in = shape[-1] ** -0.5
    scales = [("embed_tokens.weight", 1 / fan_in), ("lm_head.weight", 4), ("q_proj.weight", SMALL),
              ("k_proj.weight", SMALL), ("v_proj.weight", 1), ("o_proj.weight", 1), ("mlp.gate.weight", 1.5),
              ("gate_proj.weight", 2), ("up_proj.weight", 2), ("down_proj.weight", 1)]
    values = draw.normal(shape, fan_in * next(scale for ending, scale in scales if name.endswith(ending)))
    if name == "lm_head.weight":  # so that greedy text has no added tokens in it
        ordinary = range(VOCABULARY.first, VOCABULARY.first + len(VOCABULARY.tokens))
        values[[id for id in range(shape[0]) if id not in ordinary]] *= np.float32(0.25)
    return values


def initial_tensors(config, seed):
    """`{float name: float32 array}`, drawn in the order of the names."""
    draw = Draw(seed)
    shapes = {name: shape for group in olmoe_layout.groups(config) for name, (_, shape) in group.items()}
    return {name: initial(draw, name, shapes[name]) for name in sorted(shapes)}


def encode_prose(text):
    return [id for piece in prose_pieces(text) for id in VOCABULARY.piece(piece)]
