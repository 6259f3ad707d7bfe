#!/usr/bin/env python3
"""A small Kimi K3 checkpoint as a GGUF file in f32, for llama.cpp, and the checkpoint that both can run.

Usage: kimi_k3_to_gguf.py CHECKPOINT OUT

Writes OUT/ in the released form, for sluice, and OUT.gguf. llama.cpp takes it that linear attention has as many heads
as the other kind and that all norms share one epsilon, as in the release; the bundled demo differs in both, so OUT
has the lower number of heads (the others are cut away) and one epsilon. Its text is nonsense then, but its numbers
are as wide and as large as a trained model's. All weights are widened: experts decoded from MXFP4, the rest from
bf16. Needs what checkpoints.py needs.
"""
import json
import pathlib
import sys

import numpy

from checkpoints import Checkpoint, from_mxfp4, gguf, wide, write_checkpoint
from gguf_fields import add_latent_attention, begin

PLAIN = {  # in a layer: our name, theirs
    "input_layernorm.weight": "attn_norm.weight", "post_attention_layernorm.weight": "ffn_norm.weight",
    "self_attn.q_proj.weight": "attn_q.weight", "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight", "self_attn.o_proj.weight": "attn_output.weight",
    "self_attn.q_conv1d.weight": "ssm_conv1d_q.weight", "self_attn.k_conv1d.weight": "ssm_conv1d_k.weight",
    "self_attn.v_conv1d.weight": "ssm_conv1d_v.weight", "self_attn.f_a_proj.weight": "ssm_f_a.weight",
    "self_attn.f_b_proj.weight": "ssm_f_b.weight", "self_attn.b_proj.weight": "ssm_beta.weight",
    "self_attn.dt_bias": "ssm_dt.bias", "self_attn.o_norm.weight": "ssm_norm.weight",
    "self_attn.q_a_proj.weight": "attn_q_a.weight", "self_attn.q_a_layernorm.weight": "attn_q_a_norm.weight",
    "self_attn.q_b_proj.weight": "attn_q_b.weight", "self_attn.kv_a_proj_with_mqa.weight": "attn_kv_a_mqa.weight",
    "self_attn.kv_a_layernorm.weight": "attn_kv_a_norm.weight", "mlp.gate_proj.weight": "ffn_gate.weight",
    "mlp.up_proj.weight": "ffn_up.weight", "mlp.down_proj.weight": "ffn_down.weight",
    "block_sparse_moe.gate.weight": "ffn_gate_inp.weight",
    "block_sparse_moe.gate.e_score_correction_bias": "exp_probs_b.bias",
    "block_sparse_moe.routed_expert_down_proj.weight": "ffn_routed_down.weight",
    "block_sparse_moe.routed_expert_up_proj.weight": "ffn_routed_up.weight",
    "block_sparse_moe.routed_expert_norm.weight": "ffn_routed_norm.weight",
    "block_sparse_moe.shared_experts.gate_proj.weight": "ffn_gate_shexp.weight",
    "block_sparse_moe.shared_experts.up_proj.weight": "ffn_up_shexp.weight",
    "block_sparse_moe.shared_experts.down_proj.weight": "ffn_down_shexp.weight"}


def cut(name, tensor, linear, config, heads):
    """The part of a tensor that belongs to the first heads."""
    kda = config["linear_attn_config"]["head_dim"]
    value, key = config["v_head_dim"], config["qk_nope_head_dim"] + config["qk_rope_head_dim"]
    last = name.split("self_attn.")[-1].removesuffix(".weight")
    if linear:
        if last in ("q_proj", "k_proj", "v_proj", "q_conv1d", "k_conv1d", "v_conv1d", "f_b_proj", "g_proj", "dt_bias"):
            return tensor[:heads * kda]
        return tensor[:heads] if last == "b_proj" else tensor[:, :heads * kda] if last == "o_proj" else tensor
    rows = {"q_b_proj": key, "kv_b_proj": config["qk_nope_head_dim"] + value, "g_proj": value}
    return tensor[:heads * rows[last]] if last in rows else tensor[:, :heads * value] if last == "o_proj" else tensor


def expert(tensors, name):
    return from_mxfp4(tensors[f"{name}.weight_packed"], tensors[f"{name}.weight_scale"])


def layer_tensors(tensors, config, layer):
    ours, theirs = f"language_model.model.layers.{layer}.", f"blk.{layer}."
    linear = layer + 1 not in config["linear_attn_config"]["full_attn_layers"]
    for name, other in PLAIN.items():
        if ours + name in tensors:
            yield theirs + other, wide(tensors[ours + name])
    gate = "ssm_g" if linear else "attn_gate"
    yield f"{theirs}{gate}.weight", wide(tensors[f"{ours}self_attn.g_proj.weight"])
    for name, other in (("self_attention", "attn"), ("mlp", "ffn")):
        norm, proj = (wide(tensors[f"{ours}{name}_res_{part}.weight"]).ravel() for part in ("norm", "proj"))
        yield f"{theirs}{other}_res_score.weight", norm * proj
    if linear:
        yield f"{theirs}ssm_a", -numpy.exp(tensors[f"{ours}self_attn.A_log"][:config["num_attention_heads"]])
    else:
        both = wide(tensors[f"{ours}self_attn.kv_b_proj.weight"]).reshape(
            config["num_attention_heads"], -1, config["kv_lora_rank"])
        yield f"{theirs}attn_k_b.weight", both[:, :config["qk_nope_head_dim"]].transpose(0, 2, 1)
        yield f"{theirs}attn_v_b.weight", both[:, config["qk_nope_head_dim"]:]
    if layer >= config["first_k_dense_replace"]:
        for name, other in (("w1", "gate"), ("w2", "down"), ("w3", "up")):
            yield f"{theirs}ffn_{other}_exps.weight", numpy.stack(
                [expert(tensors, f"{ours}block_sparse_moe.experts.{i}.{name}") for i in range(config["num_experts"])])


def write_gguf(out, config, tensors):
    writer, linear = begin(out, "kimi-k3", config), config["linear_attn_config"]
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count_kv([int(i + 1 in linear["full_attn_layers"]) for i in range(config["num_hidden_layers"])])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_ssm_conv_kernel(linear["short_conv_kernel_size"])
    writer.add_kda_head_dim(linear["head_dim"])
    writer.add_kda_gate_lower_bound(linear["gate_lower_bound"])
    add_latent_attention(writer, config)
    writer.add_expert_count(config["num_experts"])
    writer.add_expert_used_count(config["num_experts_per_token"])
    writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    writer.add_expert_shared_count(config["num_shared_experts"])
    writer.add_leading_dense_block_count(config["first_k_dense_replace"])
    writer.add_expert_weights_scale(config["routed_scaling_factor"])
    writer.add_expert_weights_norm(config["moe_renormalize"])
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    writer.add_expert_latent_length(config["routed_expert_hidden_size"])
    writer.add_activation_situ_beta(config["activation_situ_beta"])
    writer.add_activation_situ_linear_beta(config["activation_situ_linear_beta"])
    writer.add_attn_res_block_size(config["attn_res_block_size"])
    whole = "language_model."
    for name, other in (("model.embed_tokens", "token_embd"), ("model.norm", "output_norm"), ("lm_head", "output")):
        writer.add_tensor(f"{other}.weight", wide(tensors[f"{whole}{name}.weight"]))
    norm, proj = (wide(tensors[f"{whole}model.output_attn_res_{part}.weight"]).ravel() for part in ("norm", "proj"))
    writer.add_tensor("output_res_score.weight", norm * proj)
    for layer in range(config["num_hidden_layers"]):
        for name, tensor in layer_tensors(tensors, config, layer):
            writer.add_tensor(name, numpy.ascontiguousarray(tensor, numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    config = json.loads((source / "config.json").read_text())
    text = config["text_config"]
    linear = text["linear_attn_config"]
    heads = min(text["num_attention_heads"], linear["num_heads"])
    checkpoint, tensors = Checkpoint(source), {}
    for name in checkpoint.tensors:
        tensor = checkpoint[name]
        if ".self_attn." in name:
            layer = int(name.split("layers.")[1].split(".")[0])
            tensor = cut(name, tensor, layer + 1 not in linear["full_attn_layers"], text, heads)
        tensors[name] = tensor
    text["num_attention_heads"] = text["num_key_value_heads"] = linear["num_heads"] = heads
    text["mla_norm_eps"] = text["rms_norm_eps"]
    write_checkpoint(out, config, tensors, checkpoint.kind)
    write_gguf(pathlib.Path(f"{out}.gguf"), text, tensors)


if __name__ == "__main__":
    main()
