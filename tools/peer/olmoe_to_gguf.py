#!/usr/bin/env python3
"""An OLMoE checkpoint in the released names as a GGUF file, for llama.cpp.

Usage: olmoe_to_gguf.py CHECKPOINT OUT.gguf [f32]

The same numbers: bf16 stays bf16, but for norms and routers, which llama.cpp wants in f32 (a bf16 number is an f32
number); with `f32` all weights are widened so, and then llama.cpp rounds no activations. The experts of a layer
become one tensor. There is no tokenizer in it: ids go in and come out. llama.cpp's own converter does the same with a
released checkpoint, but wants a tokenizer it knows. Needs what checkpoints.py needs.
"""
import json
import pathlib
import sys

import numpy

from checkpoints import WORDS, Checkpoint, gguf, wide
from gguf_fields import begin

LAYER = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
         "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "mlp.gate": "ffn_gate_inp"}
EXPERTS = {"gate_proj": "ffn_gate_exps", "up_proj": "ffn_up_exps", "down_proj": "ffn_down_exps"}


def tensors(checkpoint, config):
    """Pairs of a name in GGUF and a function that reads the tensor."""
    def plain(name):
        return lambda: checkpoint[name]

    yield "token_embd.weight", plain("model.embed_tokens.weight")
    yield "output_norm.weight", lambda: wide(checkpoint["model.norm.weight"])
    yield "output.weight", plain("lm_head.weight")
    for layer in range(config["num_hidden_layers"]):
        ours = f"model.layers.{layer}."
        for name, theirs in LAYER.items():
            full = f"{ours}{name}.weight"
            narrow = name.startswith("self_attn") and name.endswith("proj")
            yield f"blk.{layer}.{theirs}.weight", plain(full) if narrow else lambda full=full: wide(checkpoint[full])
        for name, theirs in EXPERTS.items():
            yield f"blk.{layer}.{theirs}.weight", lambda ours=ours, name=name: numpy.stack(
                [checkpoint[f"{ours}mlp.experts.{expert}.{name}.weight"] for expert in range(config["num_experts"])])


def shapes(checkpoint, config):
    """The same with shape and element type alone, from headers."""
    for name, read in tensors(checkpoint, config):
        if "_exps" in name:
            layer, kind = int(name.split(".")[1]), next(k for k, v in EXPERTS.items() if f".{v}." in name)
            entry = checkpoint.tensors[f"model.layers.{layer}.mlp.experts.0.{kind}.weight"][1]
            yield name, read, [config["num_experts"], *entry["shape"]], WORDS[entry["dtype"]]
        else:
            tensor = read()
            yield name, read, tensor.shape, tensor.dtype


def main():
    folder, out = pathlib.Path(sys.argv[1]), sys.argv[2]
    config = json.loads((folder / "config.json").read_text())
    if config["model_type"] != "olmoe" or config.get("clip_qkv") is not None or config["norm_topk_prob"]:
        sys.exit(f"{folder}: not an OLMoE as llama.cpp computes it")
    checkpoint = Checkpoint(folder)
    writer = begin(out, "olmoe", config)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count_kv(config.get("num_key_value_heads") or config["num_attention_heads"])
    writer.add_layer_norm_rms_eps(config.get("rms_norm_eps", 1e-5))
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_expert_count(config["num_experts"])
    writer.add_expert_used_count(config["num_experts_per_tok"])
    readers = []
    for name, read, shape, words in shapes(checkpoint, config):
        if sys.argv[3:] == ["f32"]:
            words, read = numpy.float32, lambda read=read: wide(read())
        narrow = numpy.dtype(words) == numpy.uint16
        size = int(numpy.prod(shape)) * numpy.dtype(words).itemsize
        kind = gguf.GGMLQuantizationType.BF16 if narrow else gguf.GGMLQuantizationType.F32
        writer.add_tensor_info(name, shape, numpy.dtype(words), size, raw_dtype=kind)
        readers.append(read)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for read in readers:
        writer.write_tensor_data(read())
    writer.close()


if __name__ == "__main__":
    main()
