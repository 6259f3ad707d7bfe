"""Writes and reads a checkpoint whose tensors are float names with a storage type each: OLMoE, GLM-5.2, DeepSeek-V4.

A *layout* is `{name: (type, shape)}`: F32, BF16, I64, FP8 (bytes plus `name_scale_inv`), and of DeepSeek-V4 FP8_E8M0 and FP4
(bytes of `X.weight`, scale bytes of `X.scale`). Every tensor is rounded
to its storage type first; what comes back is what the files mean, so that an oracle computes with the stored weights.
`fuse` turns stored experts (one tensor each) into the tensors that transformers keep in memory; reading takes both.
"""

import json
import os
import re

import numpy as np

import fp8
import mxfp4
import safetensors_writer
import tokenizer_json

SCALE = "_scale_inv"
EXPERT = re.compile(r"(.*mlp\.experts\.)(\d+)\.(gate|up|down)_proj\.weight")


def store(name, kind, values, largest):
    """`{stored name: (tag, words)}` of one tensor; `largest`: see fp8.quantise."""
    if kind == "F32":
        return {name: ("F32", np.ascontiguousarray(values, dtype="<f4"))}
    if kind == "BF16":
        return {name: ("BF16", mxfp4.to_bf16(values))}
    if kind == "I64":
        return {name: ("I64", np.ascontiguousarray(values, dtype="<i8"))}
    if kind == "FP8_E8M0":
        codes, scales = fp8.quantise_by_powers(values)
        return {name: ("F8_E4M3", codes), scale_name(name): ("F8_E8M0", scales)}
    if kind == "FP4":
        packed, scales = mxfp4.quantise(values)
        return {name: ("I8", packed.view(np.int8)), scale_name(name): ("F8_E8M0", scales)}
    codes, scales = fp8.quantise(values, largest)
    return {name: ("F8_E4M3", codes), name + SCALE: ("F32", scales)}


def scale_name(name):
    return name.removesuffix("weight") + "scale"


def read_config(directory):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        return json.load(file)


def widen(stored):
    """Float names and float64 values of stored tensors."""
    values = {}
    for name, (tag, words) in stored.items():
        if tag == "F8_E4M3" and name + SCALE in stored:
            values[name] = fp8.decode(words, stored[name + SCALE][1])
        elif tag == "F8_E4M3":
            values[name] = fp8.decode_powers(words, stored[scale_name(name)][1])
        elif tag == "I8":
            values[name] = mxfp4.decode(words.view(np.uint8), stored[scale_name(name)][1])
        elif tag == "I64":
            values[name] = words
        elif tag == "BF16":
            values[name] = mxfp4.from_bf16(words).astype(np.float64)
        elif tag == "F32" and not name.endswith(SCALE):
            values[name] = words.astype(np.float64)
    return values


def fuse(stored):
    """Experts stacked: `experts.gate_up_proj` [E, 2·inner, width], gate rows first, and `experts.down_proj`."""
    fused, experts = {}, {}
    for name, entry in stored.items():
        match = EXPERT.fullmatch(name)
        if match is None:
            fused[name] = entry
        else:
            experts.setdefault(match[1], {}).setdefault(int(match[2]), {})[match[3]] = entry
    for prefix, by_number in experts.items():
        tag = by_number[0]["down"][0]
        ordered = [by_number[number] for number in range(len(by_number))]
        gate_up = [np.concatenate([expert["gate"][1], expert["up"][1]]) for expert in ordered]
        fused[prefix + "gate_up_proj"] = (tag, np.stack(gate_up))
        fused[prefix + "down_proj"] = (tag, np.stack([expert["down"][1] for expert in ordered]))
    return fused


def unfuse(values):
    """The inverse, on float values."""
    apart = {}
    for name, matrix in values.items():
        if name.endswith("mlp.experts.gate_up_proj"):
            prefix, inner = name.removesuffix("gate_up_proj"), matrix.shape[1] // 2
            for expert in range(len(matrix)):
                apart[f"{prefix}{expert}.gate_proj.weight"] = matrix[expert, :inner]
                apart[f"{prefix}{expert}.up_proj.weight"] = matrix[expert, inner:]
        elif name.endswith("mlp.experts.down_proj"):
            for expert in range(len(matrix)):
                apart[f"{name.removesuffix('down_proj')}{expert}.down_proj.weight"] = matrix[expert]
        else:
            apart[name] = matrix
    return apart


def write_checkpoint(directory, config, generation_config, groups, tensors, fused=False, largest=lambda name: fp8.LARGEST):
    """One shard per layout in `groups`; exactly the tensors they name. Writes both configs, the shards and the index.

    `largest(name)`: what the largest value of a block of FP8 becomes."""
    wanted = {name: entry for group in groups for name, entry in group.items()}
    assert set(wanted) == set(tensors), f"tensor set differs: {sorted(set(wanted) ^ set(tensors))[:5]}"
    for name, (_, shape) in wanted.items():
        assert tensors[name].shape == tuple(shape), f"{name}: {tensors[name].shape}, the layout says {shape}"
    shards = []
    for group in groups:
        stored = {}
        for name, (kind, _) in group.items():
            stored |= store(name, kind, tensors[name], largest(name))
        shards.append(fuse(stored) if fused else stored)
    safetensors_writer.write_checkpoint_shards(directory, shards)
    tokenizer_json.write_json(os.path.join(directory, "config.json"), config)
    tokenizer_json.write_json(os.path.join(directory, "generation_config.json"), generation_config)
