"""Every tensor of a Kimi K3 checkpoint: name, dtype in the file, shape (spec 2.2).

`config` is a `text_config` as in config.json. Two views of the same list: the *float* names, where a routed expert has
one `.weight` per matrix, and the *stored* names, where it has `.weight_packed` and `.weight_scale`.
"""

MODEL = "language_model.model."
LM_HEAD = "language_model.lm_head.weight"


def is_mla(config, layer):
    """The lists in the file are one-based."""
    return layer + 1 in config["linear_attn_config"]["full_attn_layers"]


def layer_prefix(layer):
    return f"{MODEL}layers.{layer}."


def global_tensors(config):
    width, vocabulary = config["hidden_size"], config["vocab_size"]
    return {
        MODEL + "embed_tokens.weight": ("BF16", (vocabulary, width)),
        LM_HEAD: ("BF16", (vocabulary, width)),
        MODEL + "norm.weight": ("BF16", (width,)),
        MODEL + "output_attn_res_norm.weight": ("BF16", (width,)),
        MODEL + "output_attn_res_proj.weight": ("BF16", (1, width)),
    }


def kda_tensors(config):
    """Names inside `self_attn.` of a KDA layer."""
    linear, width = config["linear_attn_config"], config["hidden_size"]
    heads, d, taps = linear["num_heads"], linear["head_dim"], linear["short_conv_kernel_size"]
    inner = heads * d
    tensors = {f"{x}_proj.weight": ("BF16", (inner, width)) for x in "qkvg"}
    tensors |= {f"{x}_conv1d.weight": ("F32", (inner, 1, taps)) for x in "qkv"}
    return tensors | {
        "f_a_proj.weight": ("BF16", (d, width)),
        "f_b_proj.weight": ("BF16", (inner, d)),
        "A_log": ("F32", (d,)),  # one value per head, zeros after them
        "dt_bias": ("F32", (inner,)),
        "b_proj.weight": ("BF16", (heads, width)),
        "o_norm.weight": ("F32", (d,)),
        "o_proj.weight": ("BF16", (width, inner)),
    }


def mla_tensors(config):
    """Names inside `self_attn.` of an MLA layer."""
    width, heads = config["hidden_size"], config["num_attention_heads"]
    nope, rope, d_v = config["qk_nope_head_dim"], config["qk_rope_head_dim"], config["v_head_dim"]
    q_rank, kv_rank = config["q_lora_rank"], config["kv_lora_rank"]
    return {
        "q_a_proj.weight": ("BF16", (q_rank, width)),
        "q_a_layernorm.weight": ("BF16", (q_rank,)),
        "q_b_proj.weight": ("BF16", (heads * (nope + rope), q_rank)),
        "kv_a_proj_with_mqa.weight": ("BF16", (kv_rank + rope, width)),
        "kv_a_layernorm.weight": ("BF16", (kv_rank,)),
        "kv_b_proj.weight": ("BF16", (heads * (nope + d_v), kv_rank)),
        "g_proj.weight": ("BF16", (heads * d_v, width)),
        "o_proj.weight": ("BF16", (width, heads * d_v)),
    }


def gated_mlp_tensors(prefix, width, inner):
    return {
        prefix + "gate_proj.weight": ("BF16", (inner, width)),
        prefix + "up_proj.weight": ("BF16", (inner, width)),
        prefix + "down_proj.weight": ("BF16", (width, inner)),
    }


def moe_tensors(config):
    """Names inside the layer, routed experts left out."""
    width, latent, experts = config["hidden_size"], config["routed_expert_hidden_size"], config["num_experts"]
    shared_inner = config["num_shared_experts"] * config["moe_intermediate_size"]
    moe = "block_sparse_moe."
    return {
        moe + "gate.weight": ("BF16", (experts, width)),
        moe + "gate.e_score_correction_bias": ("F32", (experts,)),
        moe + "routed_expert_down_proj.weight": ("BF16", (latent, width)),
        moe + "routed_expert_norm.weight": ("BF16", (latent,)),
        moe + "routed_expert_up_proj.weight": ("BF16", (width, latent)),
    } | gated_mlp_tensors(moe + "shared_experts.", width, shared_inner)


def expert_matrices(config, layer):
    """`{name without ".weight": (rows, columns)}`: w1 gate, w2 down, w3 up."""
    latent, inner = config["routed_expert_hidden_size"], config["moe_intermediate_size"]
    shapes = {"w1": (inner, latent), "w2": (latent, inner), "w3": (inner, latent)}
    prefix = layer_prefix(layer) + "block_sparse_moe.experts."
    return {f"{prefix}{expert}.{w}": shape for expert in range(config["num_experts"]) for w, shape in shapes.items()}


def trunk_tensors(config, layer):
    """Everything of a layer but its routed experts, by full name."""
    width = config["hidden_size"]
    tensors = {f"{x}.weight": ("BF16", (width,)) for x in
               ("input_layernorm", "post_attention_layernorm", "self_attention_res_norm", "mlp_res_norm")}
    tensors |= {f"{x}.weight": ("BF16", (1, width)) for x in ("self_attention_res_proj", "mlp_res_proj")}
    attention = mla_tensors(config) if is_mla(config, layer) else kda_tensors(config)
    tensors |= {"self_attn." + name: entry for name, entry in attention.items()}
    if layer < config["first_k_dense_replace"]:
        tensors |= gated_mlp_tensors("mlp.", width, config["intermediate_size"])
    else:
        tensors |= moe_tensors(config)
    return {layer_prefix(layer) + name: entry for name, entry in tensors.items()}


def float_layer_tensors(config, layer):
    """A layer by float names: experts appear as `….w1.weight` with dtype MXFP4."""
    tensors = trunk_tensors(config, layer)
    if layer >= config["first_k_dense_replace"]:
        tensors |= {name + ".weight": ("MXFP4", shape) for name, shape in expert_matrices(config, layer).items()}
    return tensors


def float_tensors(config):
    tensors = global_tensors(config)
    for layer in range(config["num_hidden_layers"]):
        tensors |= float_layer_tensors(config, layer)
    return tensors


def stored_tensors(config):
    """What the files hold: dtype F32, BF16 or U8."""
    stored = {}
    for name, (dtype, shape) in float_tensors(config).items():
        if dtype == "MXFP4":
            rows, columns = shape
            stored[name + "_packed"] = ("U8", (rows, columns // 2))
            stored[name + "_scale"] = ("U8", (rows, columns // 32))
        else:
            stored[name] = (dtype, shape)
    return stored
