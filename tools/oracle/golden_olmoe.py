"""The goldens of OLMoE: tests/golden/olmoe/{a,b,c}. See golden_run.py."""

import float_checkpoint
from mutations_olmoe import MISTAKES  # noqa: F401
from olmoe import Olmoe
import olmoe_layout
import safetensors_writer
import tiny_olmoe
import tokenizer_json

NAME = "olmoe"
SEEDS = {"a": 0, "b": 0, "c": 0}
Model = Olmoe
read_config = float_checkpoint.read_config
read_stored = safetensors_writer.read_checkpoint


def write(name, seed, directory):
    config = tiny_olmoe.config(name)
    float_checkpoint.write_checkpoint(directory, config, {"eos_token_id": config["eos_token_id"], "pad_token_id": 1},
                                      olmoe_layout.groups(config), tiny_olmoe.initial_tensors(config, seed),
                                      fused=name in tiny_olmoe.FUSED)
    tokenizer_json.write_tokenizer(directory, tokenizer_json.olmoe_file(tiny_olmoe.VOCABULARY),
                                   tokenizer_json.olmoe_settings(config))


def widen(config, stored):
    return float_checkpoint.unfuse(float_checkpoint.widen(stored))


def read(directory):
    config = read_config(directory)
    return config, widen(config, read_stored(directory))


def prompt(name):
    text = tiny_olmoe.PROMPTS[name]
    return text, tiny_olmoe.encode_prose(text)


def moe_layers(config):
    return range(config["num_hidden_layers"])


def picks(config):
    return config["num_experts_per_tok"]


def ordinary_ids(config):
    vocabulary = tiny_olmoe.VOCABULARY
    return range(vocabulary.first, vocabulary.first + len(vocabulary.tokens))


def facts(run):
    return {**run.first_facts(), **run.sequence_facts(), **run.last_facts()}


def faults(run):
    """A text that turns in a circle tests little, and a clamp that never acts tests nothing."""
    found = [] if len(set(run.greedy)) >= 32 else [f"only {len(set(run.greedy))} different greedy ids"]
    limit = run.config["clip_qkv"]
    if limit is not None and not any((values.abs() == limit).any() for values in run.state.v.values()):
        found.append("no value is clipped")
    return found


def add_arrays(run, file):
    run.add_residuals(file)
    run.add_router(file)
    for layer in run.layers:
        file.add(f"key.{layer}", "f32", run.state.k[layer])
        file.add(f"value.{layer}", "f32", run.state.v[layer])


def observe(model, facts, state, trace):
    return {}


def check(directory):
    pass
