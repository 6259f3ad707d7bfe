"""The goldens of Kimi K3: tests/golden/kimi_k3/{a,b}. See golden_run.py."""

import numpy as np

from kimi_k3 import KimiK3, layout, torch
import kimi_k3_checkpoint
from mutations_kimi_k3 import MISTAKES  # noqa: F401
import mxfp4
import safetensors_writer
import tiktoken_file
import tiny_kimi_k3

NAME = "kimi_k3"
SEEDS = {"a": 30, "b": 4}
Model = KimiK3
read = kimi_k3_checkpoint.read_float_tensors
read_stored = safetensors_writer.read_checkpoint
widen = kimi_k3_checkpoint.widen


def read_config(directory):
    return read(directory)[0]


def write(name, seed, directory):
    config = tiny_kimi_k3.CONFIGS[name]
    tensors = tiny_kimi_k3.initial_tensors(config, seed)
    kimi_k3_checkpoint.write_checkpoint(directory, config, tensors, tiny_kimi_k3.VOCABULARY)


def prompt(name):
    text = tiny_kimi_k3.PROMPTS[name]
    return text, tiny_kimi_k3.encode_prose(text)


def moe_layers(config):
    return range(config["first_k_dense_replace"], config["num_hidden_layers"])


def picks(config):
    return config["num_experts_per_token"]


def ordinary_ids(config):
    return range(config["vocab_size"] - tiktoken_file.SPECIALS)


def facts(run):
    mla = [layer for layer in run.layers if layout.is_mla(run.config, layer)]
    return {**run.first_facts(), "mla_norm_eps": run.config["mla_norm_eps"], **run.sequence_facts(), "mla_layers": mla,
            **run.last_facts()}


def faults(run):
    return []


def add_arrays(run, file):
    run.add_residuals(file)
    file.add("output_attn_res", "f64", run.trace.get("output_attn_res", None))
    for layer in run.layers:
        file.add(f"mlp_attn_res.{layer}", "f32", run.trace.get("mlp_attn_res", layer))
    run.add_router(file)
    for layer in run.layers:
        if layout.is_mla(run.config, layer):
            file.add(f"mla_c.{layer}", "f32", run.state.c[layer])
            file.add(f"mla_r.{layer}", "f32", run.state.r[layer])
        else:
            file.add(f"kda_state.{layer}", "f32", run.state.recurrent[layer])
            file.add(f"kda_conv.{layer}", "f32", torch.stack([run.state.conv[layer][x] for x in "qkv"]))


def observe(model, facts, state, trace):
    return {}


def check(directory):
    """Every nibble code and the scale bytes 0 and 127 occur among the experts."""
    stored = safetensors_writer.read_checkpoint(directory)
    packed = np.concatenate([words.ravel() for name, (_, words) in stored.items() if name.endswith("weight_packed")])
    scales = np.concatenate([words.ravel() for name, (_, words) in stored.items() if name.endswith("weight_scale")])
    assert set(mxfp4.unpack_nibbles(packed[None]).ravel().tolist()) == set(range(16))
    assert {0, 127} <= set(scales.tolist())
