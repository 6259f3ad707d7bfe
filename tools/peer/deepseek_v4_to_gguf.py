#!/usr/bin/env python3
"""A DeepSeek-V4 checkpoint as a GGUF file, for llama.cpp.

Usage: deepseek_v4_to_gguf.py CHECKPOINT OUT.gguf
       deepseek_v4_to_gguf.py CHECKPOINT OUT

The first form keeps what is stored, as llama.cpp's own converter does: experts in MXFP4, bf16 as bf16, and FP8, which
GGUF has not, as Q8_0 (8.5 bits a weight instead of 8, rounded once more).

The second is for small ones whose logits are compared: all weights widened to f32 in OUT.gguf, and OUT/ in the released
form, for sluice, fitted to sizes that llama.cpp takes for granted. It compresses 4 or 128 positions into one, as the
release does; where the checkpoint has another number than 4, OUT has 128 and what is added to each place is repeated.
And it turns the vectors of the indexer by a matrix of 64 or more rows; OUT has zeros between to make them as wide. Its
text may be nonsense then, but its numbers are as large as a trained model's.

The draft head is left out. Needs what checkpoints.py needs.
"""
import json
import pathlib
import sys

import numpy

from checkpoints import (Checkpoint, from_fp8, from_mxfp4, gguf, mxfp4_blocks, wide, write_checkpoint,
                         write_gguf_tensors)
from gguf_fields import add_experts, add_indexer, begin

INDEX_WIDTH = 64
WHOLE = {"embed": "token_embd", "norm": "output_norm", "head": "output", "hc_head_fn": "output_hc_fn",
         "hc_head_base": "output_hc_base", "hc_head_scale": "output_hc_scale"}
LAYER = {"attn_norm": "attn_norm", "ffn_norm": "ffn_norm", "attn.attn_sink": "attn_sinks", "attn.wq_a": "attn_q_a",
         "attn.q_norm": "attn_q_a_norm", "attn.wq_b": "attn_q_b", "attn.wkv": "attn_kv",
         "attn.kv_norm": "attn_kv_a_norm", "attn.wo_a": "attn_output_a", "attn.wo_b": "attn_output_b",
         "attn.compressor.ape": "attn_compressor_ape",
         "attn.compressor.wkv": "attn_compressor_kv", "attn.compressor.wgate": "attn_compressor_gate",
         "attn.compressor.norm": "attn_compressor_norm", "attn.indexer.wq_b": "indexer.attn_q_b",
         "attn.indexer.weights_proj": "indexer.proj", "attn.indexer.compressor.ape": "indexer_compressor_ape",
         "attn.indexer.compressor.wkv": "indexer_compressor_kv",
         "attn.indexer.compressor.wgate": "indexer_compressor_gate",
         "attn.indexer.compressor.norm": "indexer_compressor_norm", "ffn.gate": "ffn_gate_inp",
         "ffn.shared_experts.w1": "ffn_gate_shexp", "ffn.shared_experts.w2": "ffn_down_shexp",
         "ffn.shared_experts.w3": "ffn_up_shexp", **{f"hc_{of}_{part}": f"hc_{of}_{part}" for of in ("attn", "ffn")
                                                    for part in ("fn", "base", "scale")}}


class Stored:
    """Tensors as GGUF can have them without losing bytes; each with its type there."""

    def __init__(self, tensors):
        self.tensors = tensors

    def matrix(self, name):
        """The tensor NAME or NAME.weight, or None."""
        if f"{name}.scale" in self.tensors:
            values = from_fp8(self.tensors[f"{name}.weight"], self.tensors[f"{name}.scale"])
            return gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0), gguf.GGMLQuantizationType.Q8_0
        for full in (name, f"{name}.weight"):
            if full in self.tensors:
                tensor = self.tensors[full]
                if tensor.dtype != numpy.uint16 or tensor.ndim < 2 or name.endswith("ffn.gate"):
                    return wide(tensor), None
                return tensor, gguf.GGMLQuantizationType.BF16
        return None

    def expert(self, name):
        return mxfp4_blocks(self.tensors[f"{name}.weight"], self.tensors[f"{name}.scale"])

    experts = gguf.GGMLQuantizationType.MXFP4


class Widened(Stored):
    """All of them in f32."""

    def matrix(self, name):
        if f"{name}.scale" in self.tensors:
            return from_fp8(self.tensors[f"{name}.weight"], self.tensors[f"{name}.scale"]), None
        found = super().matrix(name)
        return found and (wide(found[0]), None)

    def expert(self, name):
        return from_mxfp4(self.tensors[f"{name}.weight"], self.tensors[f"{name}.scale"])

    experts = None


def all_tensors(form, config):
    for name, other in WHOLE.items():
        yield f"{other}.weight", *form.matrix(name)
    for layer in range(config["num_hidden_layers"]):
        ours, theirs = f"layers.{layer}.", f"blk.{layer}."
        for name, other in LAYER.items():
            tensor = form.matrix(ours + name)
            if tensor is not None:
                yield f"{theirs}{other}.weight", *tensor
        if layer < config["num_hash_layers"]:
            yield f"{theirs}ffn_gate_tid2eid.weight", form.tensors[f"{ours}ffn.gate.tid2eid"].astype(numpy.int32), None
        else:
            yield f"{theirs}exp_probs_b.bias", form.tensors[f"{ours}ffn.gate.bias"], None
        for name, other in (("w1", "gate"), ("w2", "down"), ("w3", "up")):
            yield f"{theirs}ffn_{other}_exps.weight", numpy.stack(
                [form.expert(f"{ours}ffn.experts.{i}.{name}") for i in range(config["n_routed_experts"])]), form.experts


def write_gguf(out, config, form):
    writer, layers, scaling = begin(out, "deepseek4", config), config["num_hidden_layers"], config["rope_scaling"]
    writer.add_embedding_length_out(config["hidden_size"] * config["hc_mult"])
    writer.add_feed_forward_length(config["moe_intermediate_size"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["qk_rope_head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(scaling["factor"])
    writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
    writer.add_rope_scaling_yarn_beta_fast(scaling["beta_fast"])
    writer.add_rope_scaling_yarn_beta_slow(scaling["beta_slow"])
    writer.add_q_lora_rank(config["q_lora_rank"])
    writer.add_sliding_window(config["sliding_window"])
    add_experts(writer, config)
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SQRTSOFTPLUS)
    writer.add_swiglu_clamp_exp([config["swiglu_limit"]] * layers)
    writer.add_swiglu_clamp_shexp([config["swiglu_limit"]] * layers)
    add_indexer(writer, config)
    writer.add_attention_output_group_count(config["o_groups"])
    writer.add_attention_output_lora_rank(config["o_lora_rank"])
    writer.add_attention_compress_ratios(config["compress_ratios"])
    writer.add_attention_compress_rope_freq_base(config["compress_rope_theta"])
    writer.add_hyper_connection_count(config["hc_mult"])
    writer.add_hyper_connection_sinkhorn_iterations(config["hc_sinkhorn_iters"])
    writer.add_hyper_connection_epsilon(config["hc_eps"])
    writer.add_hash_layer_count(config["num_hash_layers"])
    write_gguf_tensors(writer, lambda: all_tensors(form, config))


def spread(tensor, axis, blocks, config):
    """Along an axis of blocks of index heads: zeros between the part without positions and the part with them."""
    shape = tensor.shape
    parts = tensor.reshape(*shape[:axis], blocks, config["index_head_dim"], *shape[axis + 1:])
    plain = config["index_head_dim"] - config["qk_rope_head_dim"]
    room = [(0, 0)] * parts.ndim
    room[axis + 1] = (0, INDEX_WIDTH - config["index_head_dim"])
    first, last = numpy.split(parts, [plain], axis=axis + 1)
    return numpy.concatenate([numpy.pad(first, room), last], axis=axis + 1).reshape(
        *shape[:axis], blocks * INDEX_WIDTH, *shape[axis + 1:])


def fit(name, tensor, config):
    """The tensor as OUT has it."""
    if not name.startswith("layers."):
        return tensor
    last = name.split(".", 2)[2]
    ratio = config["compress_ratios"][int(name.split(".")[1])]
    if last == "attn.compressor.ape" and ratio != 4:
        return numpy.tile(tensor, (128 // ratio, 1))
    if last == "attn.indexer.wq_b.weight":
        return spread(tensor, 0, config["index_n_heads"], config)
    if last == "attn.indexer.wq_b.scale":
        return tensor[:1].repeat(-(-config["index_n_heads"] * INDEX_WIDTH // 128), axis=0)
    if last in ("attn.indexer.compressor.wkv.weight", "attn.indexer.compressor.wgate.weight"):
        return spread(tensor, 0, 2, config)
    if last == "attn.indexer.compressor.ape":
        return spread(tensor, 1, 2, config)
    return spread(tensor, 0, 1, config) if last == "attn.indexer.compressor.norm.weight" else tensor


def main():
    source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    config = json.loads((source / "config.json").read_text())
    checkpoint, tensors = Checkpoint(source), {}
    if out.suffix in (".gguf", ".part"):
        write_gguf(out, config, Stored(checkpoint))
        return
    for name in checkpoint.tensors:
        tensors[name] = fit(name, checkpoint[name], config)
    config["index_head_dim"] = INDEX_WIDTH
    config["compress_ratios"] = [ratio if ratio in (0, 4) else 128 for ratio in config["compress_ratios"]]
    write_checkpoint(out, config, tensors, checkpoint.kind)
    write_gguf(pathlib.Path(f"{out}.gguf"), config, Widened(tensors))


if __name__ == "__main__":
    main()
