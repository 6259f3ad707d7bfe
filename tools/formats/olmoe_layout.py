"""Every tensor of an OLMoE checkpoint: name, storage type, shape (olmoe.md 2). `config` is config.json."""


def settings(config):
    """Sizes with the defaults that some published configs leave out (1)."""
    heads = config["num_attention_heads"]
    return {"heads": heads, "kv_heads": config.get("num_key_value_heads", heads),
            "head_dim": config["hidden_size"] // heads, "eps": config.get("rms_norm_eps", 1e-5),
            "theta": (config.get("rope_parameters") or config).get("rope_theta", 10000.0)}


def layer_tensors(config, layer, kind):
    width, inner, sizes = config["hidden_size"], config["intermediate_size"], settings(config)
    keys = sizes["kv_heads"] * sizes["head_dim"]
    shapes = {
        "input_layernorm": (width,), "post_attention_layernorm": (width,),
        "self_attn.q_proj": (width, width), "self_attn.k_proj": (keys, width), "self_attn.v_proj": (keys, width),
        "self_attn.o_proj": (width, width), "self_attn.q_norm": (width,), "self_attn.k_norm": (keys,),
        "mlp.gate": (config["num_experts"], width),
    }
    for expert in range(config["num_experts"]):
        shapes |= {f"mlp.experts.{expert}.gate_proj": (inner, width), f"mlp.experts.{expert}.up_proj": (inner, width),
                   f"mlp.experts.{expert}.down_proj": (width, inner)}
    return {f"model.layers.{layer}.{name}.weight": (kind, shape) for name, shape in shapes.items()}


def global_tensors(config, kind):
    width, vocabulary = config["hidden_size"], config["vocab_size"]
    return {"model.embed_tokens.weight": (kind, (vocabulary, width)), "lm_head.weight": (kind, (vocabulary, width)),
            "model.norm.weight": (kind, (width,))}


def groups(config):
    """One layout per shard: the layers, then the rest. All tensors have the type that the config names."""
    kind = {"bfloat16": "BF16", "float32": "F32"}[config["torch_dtype"]]
    layers = range(config["num_hidden_layers"])
    return [*(layer_tensors(config, layer, kind) for layer in layers), global_tensors(config, kind)]
