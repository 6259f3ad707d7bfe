#!/usr/bin/env python3
"""A small GLM-5.2 checkpoint as a GGUF file in f32, for llama.cpp, and the checkpoint that both can run.

Usage: glm_5_2_to_gguf.py CHECKPOINT OUT

Writes OUT/ in the released form, for sluice, and OUT.gguf. llama.cpp turns the vectors of the indexer by a matrix of
64 or more rows, so OUT has the rows of their part without positions several times. The indexer chooses 64 positions,
so that there is a choice in a few hundred tokens. Positions whose score is exactly 0, because no head likes them, are
equal, and the two choose differently among equals; so half of the heads in OUT are the other half with the other
sign, and no score is 0. Its text is nonsense then, but its numbers are as large as a trained model's. All weights are
widened from FP8 or bf16. The draft head is left out. Needs what checkpoints.py needs.
"""
import json
import pathlib
import sys

import numpy

from checkpoints import Checkpoint, from_fp8, gguf, wide, write_checkpoint, write_gguf_tensors
from gguf_fields import add_experts, add_indexer, add_latent_attention, begin

INDEX_WIDTH, INDEX_CHOICE = 64, 64
LAYER = {"input_layernorm.weight": "attn_norm.weight", "post_attention_layernorm.weight": "ffn_norm.weight",
         "self_attn.q_a_proj.weight": "attn_q_a.weight", "self_attn.q_a_layernorm.weight": "attn_q_a_norm.weight",
         "self_attn.q_b_proj.weight": "attn_q_b.weight", "self_attn.o_proj.weight": "attn_output.weight",
         "self_attn.kv_a_proj_with_mqa.weight": "attn_kv_a_mqa.weight",
         "self_attn.kv_a_layernorm.weight": "attn_kv_a_norm.weight",
         "self_attn.indexer.wq_b.weight": "indexer.attn_q_b.weight",
         "self_attn.indexer.wk.weight": "indexer.attn_k.weight",
         "self_attn.indexer.k_norm.weight": "indexer.k_norm.weight",
         "self_attn.indexer.k_norm.bias": "indexer.k_norm.bias",
         "self_attn.indexer.weights_proj.weight": "indexer.proj.weight", "mlp.gate.weight": "ffn_gate_inp.weight",
         "mlp.gate.e_score_correction_bias": "exp_probs_b.bias",
         **{f"mlp.{mine}{kind}_proj.weight": f"ffn_{kind}{theirs}.weight" for kind in ("gate", "up", "down")
            for mine, theirs in (("", ""), ("shared_experts.", "_shexp"))}}


def values(tensors, name):
    scales = f"{name}_scale_inv"
    return from_fp8(tensors[name], tensors[scales]) if scales in tensors else wide(tensors[name])


def all_tensors(tensors, config):
    for name, other in (("model.embed_tokens", "token_embd"), ("model.norm", "output_norm"), ("lm_head", "output")):
        yield f"{other}.weight", values(tensors, f"{name}.weight"), None
    for layer in range(config["num_hidden_layers"]):
        ours, theirs = f"model.layers.{layer}.", f"blk.{layer}."
        for name, other in LAYER.items():
            if ours + name in tensors:
                yield theirs + other, values(tensors, ours + name), None
        both = values(tensors, f"{ours}self_attn.kv_b_proj.weight").reshape(
            config["num_attention_heads"], -1, config["kv_lora_rank"])
        yield f"{theirs}attn_k_b.weight", both[:, :config["qk_nope_head_dim"]].transpose(0, 2, 1), None
        yield f"{theirs}attn_v_b.weight", both[:, config["qk_nope_head_dim"]:], None
        if layer >= config["first_k_dense_replace"]:
            for kind in ("gate", "up", "down"):
                yield f"{theirs}ffn_{kind}_exps.weight", numpy.stack(
                    [values(tensors, f"{ours}mlp.experts.{i}.{kind}_proj.weight")
                     for i in range(config["n_routed_experts"])]), None


def write_gguf(out, config, tensors):
    writer = begin(out, "glm-dsa", config)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    add_latent_attention(writer, config)
    writer.add_leading_dense_block_count(config["first_k_dense_replace"])
    add_experts(writer, config)
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    add_indexer(writer, config)
    writer.add_indexer_types([kind == "full" for kind in config["indexer_types"]])
    write_gguf_tensors(writer, lambda: all_tensors(tensors, config))


def spread(tensor, blocks, config):
    """Of blocks of index heads, along the first axis, the part without positions several times."""
    turned = config["qk_rope_head_dim"]
    parts = tensor.reshape(blocks, config["index_head_dim"], *tensor.shape[1:])
    plain = numpy.resize(numpy.arange(turned, config["index_head_dim"]), INDEX_WIDTH - turned)
    return parts[:, [*range(turned), *plain]].reshape(blocks * INDEX_WIDTH, *tensor.shape[1:])


def fit(name, tensor, config):
    """The tensor as OUT has it."""
    last = name.split(".indexer.")[-1]
    if last == "wq_b.weight_scale_inv":
        return tensor[:1].repeat(-(-config["index_n_heads"] * INDEX_WIDTH // 128), axis=0)
    blocks = {"wq_b.weight": config["index_n_heads"], "wk.weight": 1, "k_norm.weight": 1, "k_norm.bias": 1}
    if ".indexer." not in name or last not in blocks:
        return tensor
    wider = spread(tensor, blocks[last], config)
    if last == "wq_b.weight":  # E4M3: the highest bit is the sign
        half = len(wider) // 2
        wider = numpy.concatenate([wider[:half], wider[:half] ^ 0x80])
    return wider


def main():
    source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    config = json.loads((source / "config.json").read_text())
    checkpoint = Checkpoint(source)
    tensors = {name: fit(name, checkpoint[name], config) for name in checkpoint.tensors}
    config["index_head_dim"], config["index_topk"] = INDEX_WIDTH, INDEX_CHOICE
    write_checkpoint(out, config, tensors, checkpoint.kind)
    write_gguf(pathlib.Path(f"{out}.gguf"), config, tensors)


if __name__ == "__main__":
    main()
