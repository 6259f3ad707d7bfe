"""The goldens of DeepSeek-V4: tests/golden/deepseek_v4/{a,b}. See golden_run.py.

`prefix` is the four residual streams side by side.
"""

import numpy as np

import deepseek_v4_layout as layout
import float_checkpoint
from deepseek_v4 import DeepSeekV4
from golden_run import MIN_MARGIN, cut_margin
from golden_glm_dsa import index_margin, padded
from mutations_deepseek_v4 import MISTAKES  # noqa: F401
from plain_torch import Trace, torch
import safetensors_writer
import tiny_deepseek_v4
import tokenizer_json

NAME = "deepseek_v4"
SEEDS = {"a": 3, "b": 9}
Model = DeepSeekV4
read_config = float_checkpoint.read_config
read_stored = safetensors_writer.read_checkpoint


def write(name, seed, directory):
    config = tiny_deepseek_v4.config(name)
    float_checkpoint.write_checkpoint(directory, config, tokenizer_json.deepseek_generation(), layout.groups(config),
                                      tiny_deepseek_v4.initial_tensors(config, seed))
    tokenizer_json.write_tokenizer(directory, tokenizer_json.deepseek_file(tiny_deepseek_v4.VOCABULARY),
                                   tokenizer_json.deepseek_settings(config))


def widen(config, stored):
    return float_checkpoint.widen(stored)


def read(directory):
    config = read_config(directory)
    return config, widen(config, read_stored(directory))


def prompt(name):
    text = tiny_deepseek_v4.PROMPTS[name]
    return text, tiny_deepseek_v4.encode_prose(text)


def moe_layers(config):
    return range(config["num_hidden_layers"])


def choosing_layers(config):
    return [layer for layer in moe_layers(config) if not layout.is_hash_routed(config, layer)]


def picks(config):
    return config["num_experts_per_tok"]


def ordinary_ids(config):
    vocabulary = tiny_deepseek_v4.VOCABULARY
    return range(vocabulary.first, vocabulary.first + len(vocabulary.tokens))


def index_layers(config):
    return [layer for layer in range(config["num_hidden_layers"]) if layout.has_indexer(config, layer)]


def mtp(run):
    """(trace, logits) of the MTP block over the whole text, in one piece."""
    if not hasattr(run, "mtp"):
        trace = Trace()
        run.mtp = trace, run.model.mtp(run.state.streams[:-1], run.ids[1:], run.state, trace)[0]
    return run.mtp


def index_gap(run):
    return index_margin([(run.trace, layer) for layer in index_layers(run.config)], run.config["index_topk"])


def zero_cuts(run):
    """At how many cuts of the indexer two scores are exactly zero."""
    topk, count = run.config["index_topk"], 0
    for layer in index_layers(run.config):
        for row in run.trace.rows("index_scores", layer):
            top = row.sort(descending=True).values
            count += int(len(row) > topk and top[topk - 1] == 0 and top[topk] == 0)
    return count


def faults(run):
    trace, logits = mtp(run)
    margins = {"index": index_gap(run), "MTP argmax": cut_margin(logits, 1),
               "MTP router": cut_margin(trace.get("router_choice", run.config["num_hidden_layers"]), picks(run.config))}
    found = [f"{name} margin {margin:.1e}" for name, margin in margins.items() if margin < MIN_MARGIN]
    if zero_cuts(run):
        found.append(f"{zero_cuts(run)} cuts among zeros")
    if len(set(run.greedy)) < 32:
        found.append(f"only {len(set(run.greedy))} different greedy ids")
    return found


def facts(run):
    own = {"index_layers": index_layers(run.config), "index_topk": run.config["index_topk"],
           "hash_layers": run.config["num_hash_layers"], "compress_ratios": run.config["compress_ratios"],
           "mtp_layer": run.config["num_hidden_layers"], "index_margin": index_gap(run)}
    return {**run.first_facts(), **run.sequence_facts(), **own, **run.last_facts()}


def window(rows, size):
    """The last rows of a window, oldest first."""
    return rows[max(len(rows) - size, 0):]


def add_arrays(run, file):
    run.add_residuals(file)
    run.add_router(file)
    config, state = run.config, run.state
    for layer in run.layers:
        file.add(f"window.{layer}", "f32", window(state.kv[layer], config["sliding_window"]))
        for (block, name), entries in state.entries.items():
            if block == layer:
                file.add(f"{'index_entries' if 'indexer' in name else 'entries'}.{layer}", "f32", entries)
    for layer in index_layers(config):
        file.add(f"index_picks.{layer}", "i32", padded(run.trace.rows("index_picks", layer)))
        scores = run.trace.rows("index_scores", layer)
        width = max(len(row) for row in scores)
        kept = [np.pad(np.asarray(scores[position]), (0, width - len(scores[position]))) for position in run.positions_kept()]
        file.add(f"index_scores.{layer}", "f64", np.stack(kept))
    trace, logits = mtp(run)
    block = config["num_hidden_layers"]
    file.add("mtp_logits", "f64", logits)
    file.add("mtp_prefix_l2", "f64", trace.get("prefix", block).norm(dim=1))
    file.add("mtp_router_ids", "i32", trace.get("router_ids", block))
    file.add("mtp_router_weights", "f64", trace.get("router_weights", block))
    file.add(f"window.{block}", "f32", window(state.kv[block], config["sliding_window"]))


def observe(model, facts, state, trace):
    """What a mistake may move beside logits and router weights."""
    ids = facts["prompt_ids"] + facts["greedy_ids"]
    seen = {"mtp logits": model.mtp(state.streams[:-1], ids[1:], state)[0]}
    scores = [row for layer in facts["index_layers"] for row in trace.rows("index_scores", layer)]
    return {**seen, "index scores": torch.cat(scores)}


def check(directory):
    """Scale bytes differ, and every FP4 code occurs."""
    stored = read_stored(directory)
    scales = np.concatenate([words.ravel() for _, (tag, words) in stored.items() if tag == "F8_E8M0"])
    packed = np.concatenate([words.view(np.uint8).ravel() for _, (tag, words) in stored.items() if tag == "I8"])
    assert len(set(scales.tolist())) >= 6
    assert {*(packed & 15).tolist(), *(packed >> 4).tolist()} == set(range(16))
