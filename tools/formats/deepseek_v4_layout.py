"""Every tensor of a DeepSeek-V4 checkpoint: name, storage type, shape (deepseek_v4.md 2.2). `config` is config.json.

Types: F32, BF16, I64; FP8_E8M0 is E4M3 bytes and `.scale`, an E8M0 byte per 128x128 block; FP4 is packed E2M1 (I8) and `.scale`,
an E8M0 byte per row and 32 columns. Both kinds of matrix have `.weight` and `.scale`.
"""


def ratio(config, layer):
    """How many positions a compressed entry stands for; 0 without a compressor. MTP blocks have their own entry."""
    return config["compress_ratios"][layer]


def has_indexer(config, layer):
    return ratio(config, layer) == 4


def is_hash_routed(config, layer):
    return layer < config["num_hash_layers"]


def block_prefix(config, layer):
    """Layers from num_hidden_layers on are MTP blocks."""
    trunk = config["num_hidden_layers"]
    return f"layers.{layer}." if layer < trunk else f"mtp.{layer - trunk}."


def site_tensors(config, name):
    """One place where the streams are mixed (3.2)."""
    streams, width = config["hc_mult"], config["hidden_size"]
    rows = (2 + streams) * streams
    return {f"{name}_fn": ("F32", (rows, streams * width)), f"{name}_base": ("F32", (rows,)), f"{name}_scale": ("F32", (3,))}


def head_site_tensors(config):
    streams, width = config["hc_mult"], config["hidden_size"]
    return {"hc_head_fn": ("F32", (streams, streams * width)), "hc_head_base": ("F32", (streams,)),
            "hc_head_scale": ("F32", (1,))}


def compressor_tensors(config, prefix, ratio, d):
    """Overlapping windows (ratio 4) have two halves of channels."""
    wide, width = (2 * d if ratio == 4 else d), config["hidden_size"]
    return {prefix + "ape": ("F32", (ratio, wide)), prefix + "norm.weight": ("BF16", (d,)),
            prefix + "wkv.weight": ("BF16", (wide, width)), prefix + "wgate.weight": ("BF16", (wide, width))}


def attention_tensors(config, layer):
    width, heads, d, q = (config[key] for key in ("hidden_size", "num_attention_heads", "head_dim", "q_lora_rank"))
    groups, rank = config["o_groups"], config["o_lora_rank"]
    tensors = {
        "attn_sink": ("F32", (heads,)), "q_norm.weight": ("BF16", (q,)), "kv_norm.weight": ("BF16", (d,)),
        "wq_a.weight": ("FP8_E8M0", (q, width)), "wq_b.weight": ("FP8_E8M0", (heads * d, q)), "wkv.weight": ("FP8_E8M0", (d, width)),
        "wo_a.weight": ("FP8_E8M0", (groups * rank, heads * d // groups)), "wo_b.weight": ("FP8_E8M0", (width, groups * rank)),
    }
    if ratio(config, layer):
        tensors |= compressor_tensors(config, "compressor.", ratio(config, layer), d)
    if has_indexer(config, layer):
        index_heads, index_d = config["index_n_heads"], config["index_head_dim"]
        tensors |= {"indexer.wq_b.weight": ("FP8_E8M0", (index_heads * index_d, q)),
                    "indexer.weights_proj.weight": ("BF16", (index_heads, width))}
        tensors |= compressor_tensors(config, "indexer.compressor.", ratio(config, layer), index_d)
    return {"attn." + name: entry for name, entry in tensors.items()}


def gated_tensors(prefix, width, inner, kind):
    return {prefix + "w1.weight": (kind, (inner, width)), prefix + "w3.weight": (kind, (inner, width)),
            prefix + "w2.weight": (kind, (width, inner))}


def moe_tensors(config, layer):
    width, inner, experts = config["hidden_size"], config["moe_intermediate_size"], config["n_routed_experts"]
    tensors = {"ffn.gate.weight": ("BF16", (experts, width))}
    if is_hash_routed(config, layer):
        tensors["ffn.gate.tid2eid"] = ("I64", (config["vocab_size"], config["num_experts_per_tok"]))
    else:
        tensors["ffn.gate.bias"] = ("F32", (experts,))
    tensors |= gated_tensors("ffn.shared_experts.", width, inner * config["n_shared_experts"], "FP8_E8M0")
    for expert in range(experts):
        tensors |= gated_tensors(f"ffn.experts.{expert}.", width, inner, "FP4")
    return tensors


def block_tensors(config, layer):
    width = config["hidden_size"]
    tensors = {"attn_norm.weight": ("BF16", (width,)), "ffn_norm.weight": ("BF16", (width,))}
    tensors |= site_tensors(config, "hc_attn") | site_tensors(config, "hc_ffn")
    tensors |= attention_tensors(config, layer) | moe_tensors(config, layer)
    if layer >= config["num_hidden_layers"]:
        tensors |= {f"{name}.weight": ("FP8_E8M0", (width, width)) for name in ("e_proj", "h_proj")}
        tensors |= {f"{name}.weight": ("BF16", (width,)) for name in ("enorm", "hnorm", "norm")} | head_site_tensors(config)
    return {block_prefix(config, layer) + name: entry for name, entry in tensors.items()}


def groups(config):
    """One layout per shard: the embedding, the layers, the head, the MTP blocks."""
    table = ("BF16", (config["vocab_size"], config["hidden_size"]))
    trunk = config["num_hidden_layers"]
    head = {"norm.weight": ("BF16", (config["hidden_size"],)), "head.weight": table} | head_site_tensors(config)
    mtp = range(trunk, trunk + config["num_nextn_predict_layers"])
    return [{"embed.weight": table}, *(block_tensors(config, layer) for layer in range(trunk)), head,
            *(block_tensors(config, layer) for layer in mtp)]
