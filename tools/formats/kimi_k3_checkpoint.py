"""Writes a small Kimi K3 checkpoint in the layout of the release (spec 1.2, 2, 9.4).

Floats go in under the released names, experts unquantised as `….experts.E.w1.weight` [rows, columns]. Every tensor is
rounded to its storage dtype first; what comes back is what the file means, so that an oracle computes with exactly the
stored weights:

    rounded = write_checkpoint(directory, text_config, tensors, vocabulary)

One layer per shard, then one shard with the globals, then one with vision tensors that a text engine must skip.
"""

import json
import os

import numpy as np

import kimi_k3_layout as layout
import mxfp4
import safetensors_writer
import tiktoken_file

# What every checkpoint says alike (values of the release); `text_config` may override any of it.
RELEASED_TEXT_FIELDS = {
    "architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear", "hidden_act": "situ",
    "activation_situ_beta": 4.0, "activation_situ_linear_beta": 25.0, "rms_norm_eps": 1e-05,
    "initializer_range": 0.02, "max_position_embeddings": 1048576, "mla_use_nope": True,
    "mla_use_output_gate": True, "latent_moe_use_norm": True, "moe_renormalize": True,
    "moe_router_activation_func": "sigmoid", "routed_scaling_factor": 1.0, "first_k_dense_replace": 1,
    "moe_layer_freq": 1, "use_grouped_topk": True, "num_expert_group": 1, "topk_group": 1, "topk_method": "noaux_tc",
    "num_nextn_predict_layers": 0, "tie_word_embeddings": False, "use_cache": True,
}
QUANTIZATION_CONFIG = {
    "quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized",
    "config_groups": {"group_0": {
        "targets": ["Linear"],
        "weights": {"num_bits": 4, "type": "float", "group_size": 32, "strategy": "group", "symmetric": True,
                    "scale_dtype": "torch.uint8", "dynamic": False, "observer": "minmax"},
        "input_activations": None}},
    "kv_cache_scheme": None,
    "ignore": ["re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
               "re:.*lm_head.*", "re:.*vision_tower.*", "re:.*mm_projector.*"],
}
TINY_VISION = {"width": 16, "qkv": 24, "inner": 32, "blocks": 2, "patch": 2, "position": 4}


def complete_text_config(config):
    """The text_config of the file: `config` over the released fields, with both one-based layer lists and token ids.

    The optional key `mla_norm_eps` (of q_a_layernorm and kv_a_layernorm; without it 1e-6) is passed through.
    """
    complete = {**RELEASED_TEXT_FIELDS, **config}
    complete["num_key_value_heads"] = complete["num_attention_heads"]
    base = complete["vocab_size"] - tiktoken_file.SPECIALS
    complete.update(bos_token_id=base + tiktoken_file.OFFSET["bos"],
                    eos_token_id=base + tiktoken_file.OFFSET["end_of_msg"],
                    pad_token_id=base + tiktoken_file.OFFSET["pad"])
    linear = dict(complete["linear_attn_config"])
    full = linear["full_attn_layers"]
    linear["kda_layers"] = [n for n in range(1, complete["num_hidden_layers"] + 1) if n not in full]
    complete["linear_attn_config"] = linear
    complete["quantization_config"] = QUANTIZATION_CONFIG
    return complete


def full_config(text_config):
    """config.json: the nested layout of the release."""
    base = text_config["vocab_size"] - tiktoken_file.SPECIALS
    return {
        "architectures": ["KimiK3ForConditionalGeneration"], "model_type": "kimi_k3", "dtype": "bfloat16",
        "bos_token_id": text_config["bos_token_id"], "eos_token_id": text_config["eos_token_id"],
        "pad_token_id": text_config["pad_token_id"], "ignore_index": -100,
        "image_placeholder": "<|kimi_image_placeholder|>",
        "media_placeholder_token_id": base + tiktoken_file.OFFSET["media_pad"], "tie_word_embeddings": False,
        "text_config": text_config, "vision_config": vision_config(text_config),
    }


def vision_config(text_config):
    v = TINY_VISION
    return {
        "patch_size": v["patch"], "init_pos_emb_height": v["position"], "init_pos_emb_width": v["position"],
        "init_pos_emb_time": 4, "pos_emb_type": "divided_fixed", "pos_emb_interpolation": "bilinear",
        "vt_hidden_size": v["width"], "vt_num_hidden_layers": v["blocks"], "vt_num_attention_heads": 2,
        "qkv_hidden_size": v["qkv"], "vt_intermediate_size": v["inner"], "merge_kernel_size": [2, 2],
        "merge_type": "sd2_tpool", "activation": "gelu_pytorch_tanh", "norm": "rmsnorm", "biases": "none",
        "mm_projector_type": "patchmergerv2", "mm_hidden_size": v["width"],
        "text_hidden_size": text_config["hidden_size"], "projector_ln_eps": 1e-05,
    }


def vision_tensors(text_config):
    """Small stand-ins under the names of spec 2.5. No text engine reads them; the values say so (all 1)."""
    v, width = TINY_VISION, text_config["hidden_size"]
    shapes = {"vision_tower.patch_embed.proj.weight": (v["width"], 3, v["patch"], v["patch"]),
              "vision_tower.patch_embed.pos_emb.weight": (v["position"], v["position"], v["width"]),
              "vision_tower.encoder.final_layernorm.weight": (v["width"],),
              "mm_projector.proj.0.weight": (4 * v["width"], 4 * v["width"]),
              "mm_projector.proj.2.weight": (width, 4 * v["width"]),
              "mm_projector.post_norm.weight": (width,)}
    for block in range(v["blocks"]):
        prefix = f"vision_tower.encoder.blocks.{block}."
        shapes |= {prefix + "norm0.weight": (v["width"],), prefix + "norm1.weight": (v["width"],),
                   prefix + "wqkv.weight": (3 * v["qkv"], v["width"]), prefix + "wo.weight": (v["width"], v["qkv"]),
                   prefix + "mlp.fc0.weight": (v["inner"], v["width"]),
                   prefix + "mlp.fc1.weight": (v["width"], v["inner"])}
    return {name: ("BF16", mxfp4.to_bf16(np.ones(shape))) for name, shape in shapes.items()}


def store_tensor(name, dtype, values):
    """`{stored name: (tag, words)}` of one float tensor and the float64 values those words mean."""
    if dtype == "F32":
        words = np.ascontiguousarray(values, dtype="<f4")
        return {name: ("F32", words)}, words.astype(np.float64)
    if dtype == "BF16":
        words = mxfp4.to_bf16(values)
        return {name: ("BF16", words)}, mxfp4.from_bf16(words).astype(np.float64)
    packed, scales = mxfp4.quantise(values)
    return {name + "_packed": ("U8", packed), name + "_scale": ("U8", scales)}, mxfp4.decode(packed, scales)


def fit_shape(name, values, shape):
    """A_log may come with one value per head (zeros are appended), conv weights as [channels, taps]."""
    values = np.asarray(values)
    if name.endswith(".A_log") and values.size < shape[0]:
        values = np.concatenate([values, np.zeros(shape[0] - values.size)])
    if name.endswith("_conv1d.weight") and values.ndim == 2:
        values = values[:, None, :]
    assert values.shape == tuple(shape), f"{name}: shape {values.shape}, the layout says {shape}"
    return values


def store_tensors(wanted, tensors):
    """Stores what the layout `wanted` names; -> (stored, rounded)."""
    stored, rounded = {}, {}
    for name, (dtype, shape) in wanted.items():
        words, rounded[name] = store_tensor(name, dtype, fit_shape(name, tensors[name], shape))
        stored |= words
    return stored, rounded


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as out:
        json.dump(value, out, indent=2, ensure_ascii=False)
        out.write("\n")


def write_checkpoint(directory, config, tensors, vocabulary, with_vision=True):
    """Writes everything; -> `{float name: float64 array}` of the stored weights. Exactly the tensors of the layout.

    `with_vision`: a last shard of small vision tensors, which a text engine must skip.
    """
    config = complete_text_config(config)
    assert config["vocab_size"] == len(vocabulary) + tiktoken_file.SPECIALS
    surplus = set(tensors) - set(layout.float_tensors(config))
    assert not surplus, f"not a tensor of this model: {sorted(surplus)[:5]}"
    groups = [layout.float_layer_tensors(config, layer) for layer in range(config["num_hidden_layers"])]
    groups.append(layout.global_tensors(config))
    shards, rounded = [], {}
    for wanted in groups:
        stored, values = store_tensors(wanted, tensors)
        shards.append(stored)
        rounded |= values
    if with_vision:
        shards.append(vision_tensors(config))
    safetensors_writer.write_checkpoint_shards(directory, shards, digits=6)
    write_json(os.path.join(directory, "config.json"), full_config(config))
    write_json(os.path.join(directory, "generation_config.json"),
               {"max_length": config["max_position_embeddings"], "eos_token_id": config["eos_token_id"]})
    tiktoken_file.write_tiktoken_model(os.path.join(directory, "tiktoken.model"), vocabulary)
    return rounded


def read_float_tensors(directory):
    """`(text_config, {float name: float64 array})` of a written checkpoint; vision tensors are skipped."""
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)["text_config"]
    stored = safetensors_writer.read_checkpoint(directory)
    return config, widen(config, stored)


def widen(config, stored):
    """Float names and float64 values of stored tensors. Refuses a set that differs from the layout."""
    stored = {name: entry for name, entry in stored.items() if not name.startswith(("vision_tower.", "mm_projector."))}
    wanted = layout.stored_tensors(config)
    assert set(stored) == set(wanted), f"tensor set differs: {sorted(set(stored) ^ set(wanted))[:5]}"
    for name, (dtype, shape) in wanted.items():
        assert stored[name][0] == dtype and stored[name][1].shape == tuple(shape), name
    values = {}
    for name, (dtype, _) in layout.float_tensors(config).items():
        if dtype == "MXFP4":
            values[name] = mxfp4.decode(stored[name + "_packed"][1], stored[name + "_scale"][1])
        elif dtype == "BF16":
            values[name] = mxfp4.from_bf16(stored[name][1]).astype(np.float64)
        else:
            values[name] = stored[name][1].astype(np.float64)
    return values
