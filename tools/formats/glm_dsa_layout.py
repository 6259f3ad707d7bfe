"""Every tensor of a GLM-5.2 checkpoint and of its siblings (DeepSeek-V3): name, storage type, shape (glm_5_2.md 2.2).

`config` is config.json. Matrices are FP8 where the config has a `quantization_config`, else BF16.
"""


def rope(config):
    """(theta, scaling or None): in `rope_parameters`, or at the top level as the siblings have it."""
    parameters = config.get("rope_parameters")
    if parameters is not None:
        return float(parameters["rope_theta"]), None
    return float(config["rope_theta"]), config.get("rope_scaling")


def is_dense(config, layer):
    types = config.get("mlp_layer_types")
    return types[layer] == "dense" if types else layer < config["first_k_dense_replace"]


def has_indexer(config, layer):
    """1.3: the list, else the pattern, else frequency and offset. The MTP layer always has one of its own."""
    if "index_topk" not in config:
        return False
    if layer >= config["num_hidden_layers"]:
        return True
    if config.get("indexer_types") is not None:
        return config["indexer_types"][layer] == "full"
    if config.get("index_topk_pattern") is not None:
        return config["index_topk_pattern"][layer] in ("F", "full")
    frequency, offset = config.get("index_topk_freq", 1), config.get("index_skip_topk_offset", 2)
    return max(layer - offset + 1, 0) % max(frequency, 1) == 0


def mtp_layer(config):
    """Its index, or None."""
    return config["num_hidden_layers"] if config.get("num_nextn_predict_layers", 0) else None


def attention_tensors(config, matrix):
    """Names inside `self_attn.`"""
    width, heads = config["hidden_size"], config["num_attention_heads"]
    nope, rotated, values = config["qk_nope_head_dim"], config["qk_rope_head_dim"], config["v_head_dim"]
    q_rank, kv_rank = config["q_lora_rank"], config["kv_lora_rank"]
    return {
        "q_a_proj.weight": (matrix, (q_rank, width)), "q_a_layernorm.weight": ("BF16", (q_rank,)),
        "q_b_proj.weight": (matrix, (heads * (nope + rotated), q_rank)),
        "kv_a_proj_with_mqa.weight": (matrix, (kv_rank + rotated, width)),
        "kv_a_layernorm.weight": ("BF16", (kv_rank,)),
        "kv_b_proj.weight": (matrix, (heads * (nope + values), kv_rank)),
        "o_proj.weight": (matrix, (width, heads * values)),
    }


def indexer_tensors(config, matrix):
    heads, d = config["index_n_heads"], config["index_head_dim"]
    return {
        "indexer.wq_b.weight": (matrix, (heads * d, config["q_lora_rank"])),
        "indexer.wk.weight": (matrix, (d, config["hidden_size"])),
        "indexer.k_norm.weight": ("BF16", (d,)), "indexer.k_norm.bias": ("BF16", (d,)),
        "indexer.weights_proj.weight": ("BF16", (heads, config["hidden_size"])),
    }


def gated_tensors(prefix, width, inner, matrix):
    return {prefix + "gate_proj.weight": (matrix, (inner, width)), prefix + "up_proj.weight": (matrix, (inner, width)),
            prefix + "down_proj.weight": (matrix, (width, inner))}


def mlp_tensors(config, layer, matrix):
    width, inner = config["hidden_size"], config["moe_intermediate_size"]
    if layer < config["num_hidden_layers"] and is_dense(config, layer):
        return gated_tensors("mlp.", width, config["intermediate_size"], matrix)
    tensors = {"mlp.gate.weight": ("BF16", (config["n_routed_experts"], width)),
               "mlp.gate.e_score_correction_bias": ("F32", (config["n_routed_experts"],))}
    tensors |= gated_tensors("mlp.shared_experts.", width, inner * config["n_shared_experts"], matrix)
    for expert in range(config["n_routed_experts"]):
        tensors |= gated_tensors(f"mlp.experts.{expert}.", width, inner, matrix)
    return tensors


def mtp_tensors(config):
    """What the MTP layer has beside a decoder layer (4.1); siblings of DeepSeek-V3's kind carry copies of the trunk's."""
    width, vocabulary = config["hidden_size"], config["vocab_size"]
    tensors = {"enorm.weight": ("BF16", (width,)), "hnorm.weight": ("BF16", (width,)),
               "eh_proj.weight": ("BF16", (width, 2 * width)), "shared_head.norm.weight": ("BF16", (width,))}
    if config["model_type"] != "glm_moe_dsa":
        tensors |= {name: ("BF16", (vocabulary, width)) for name in ("embed_tokens.weight", "shared_head.head.weight")}
    return tensors


def layer_tensors(config, layer):
    matrix, width = ("FP8" if "quantization_config" in config else "BF16"), config["hidden_size"]
    tensors = {f"{x}.weight": ("BF16", (width,)) for x in ("input_layernorm", "post_attention_layernorm")}
    attention = attention_tensors(config, matrix)
    if has_indexer(config, layer):
        attention |= indexer_tensors(config, matrix)
    tensors |= {"self_attn." + name: entry for name, entry in attention.items()} | mlp_tensors(config, layer, matrix)
    if layer == mtp_layer(config):
        tensors |= mtp_tensors(config)
    return {f"model.layers.{layer}.{name}": entry for name, entry in tensors.items()}


def groups(config):
    """One layout per shard: the layers, the MTP layer among them, then the rest."""
    width, vocabulary = config["hidden_size"], config["vocab_size"]
    layers = config["num_hidden_layers"] + (mtp_layer(config) is not None)
    return [*(layer_tensors(config, layer) for layer in range(layers)),
            {"model.embed_tokens.weight": ("BF16", (vocabulary, width)),
             "lm_head.weight": ("BF16", (vocabulary, width)), "model.norm.weight": ("BF16", (width,))}]
