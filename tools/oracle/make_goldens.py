"""Makes the golden checkpoints and numbers of Kimi K3: tests/golden/kimi_k3/{a,b}/.

    python3 tools/oracle/make_goldens.py             writes both, from fixed seeds
    python3 tools/oracle/make_goldens.py --search    finds the first seeds that are good enough

A seed is good when no decision hangs on a hair: an engine with float32 activations must reach the same picks and the
same greedy ids. All numbers are computed in float64 from the weights as stored.
"""

import os
import sys
import tempfile

import numpy as np
import torch

import goldens
import kimi_k3
import kimi_k3_checkpoint
import mxfp4
import safetensors_writer
import tiktoken_file
import tiny_models

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "kimi_k3")
SEEDS = {"a": 30, "b": 4}
GREEDY = 64
MIN_MARGIN = 1e-4  # relative, of every router pick and every argmax
MAX_FLOAT32_ERROR = 2.5e-6  # relative L2 error of this model's own float32 form, at the worst position
PREFIX_POSITIONS = 8  # positions at which whole residual vectors are kept


class Run:
    """The oracle's answer to a checkpoint directory and a prompt."""

    def __init__(self, directory, prompt):
        self.config, tensors = kimi_k3_checkpoint.read_float_tensors(directory)
        self.prompt, self.trace = prompt, kimi_k3.Trace()
        model = kimi_k3.KimiK3(self.config, tensors)
        self.greedy, self.logits, self.state = kimi_k3.greedy(model, prompt, GREEDY, self.trace)
        self.layers = range(self.config["num_hidden_layers"])
        self.moe_layers = range(self.config["first_k_dense_replace"], self.config["num_hidden_layers"])
        self.float32_error = self.error_of_float32(kimi_k3.KimiK3(self.config, tensors, torch.float32))

    def error_of_float32(self, model):
        logits = model.forward(self.prompt + self.greedy, kimi_k3.State(model)).double()
        return float(((logits - self.logits).norm(dim=1) / self.logits.norm(dim=1)).max())

    def router_margin(self):
        """Smallest (choice_k - choice_k+1) / |choice_k| over positions and layers; choice = biased score."""
        k = self.config["num_experts_per_token"]
        margins = []
        for layer in self.moe_layers:
            choice = self.trace.get("router_choice", layer).sort(dim=-1, descending=True).values
            margins.append(((choice[:, k - 1] - choice[:, k]) / choice[:, k - 1].abs()).min())
        return float(min(margins))

    def argmax_margin(self):
        top = self.logits.topk(2).values
        return float(((top[:, 0] - top[:, 1]) / top[:, 0].abs()).min())

    def bias_reorders(self):
        """Share of (position, layer) pairs at which the bias changes the set of picks."""
        changed = []
        for layer, k in ((layer, self.config["num_experts_per_token"]) for layer in self.moe_layers):
            bias_free = self.trace.get("router_choice", layer) - self.bias[layer]
            picks = bias_free.topk(k).indices.sort().values
            changed.append((picks != self.trace.get("router_ids", layer).sort().values).any(1).double())
        return float(torch.cat(changed).mean())

    def faults(self):
        """Why this run is no golden; empty when it is."""
        specials = self.config["vocab_size"] - tiktoken_file.SPECIALS
        found = []
        if self.router_margin() < MIN_MARGIN:
            found.append(f"router margin {self.router_margin():.1e}")
        if self.argmax_margin() < MIN_MARGIN:
            found.append(f"argmax margin {self.argmax_margin():.1e}")
        if self.float32_error > MAX_FLOAT32_ERROR:
            found.append(f"float32 error {self.float32_error:.1e}")
        if max(self.greedy) >= specials:
            found.append("greedy text has a special token")
        return found


def facts(name, run):
    return {
        "format": "sluice golden 1", "family": "kimi_k3", "model": name, "seed": SEEDS[name],
        "mla_norm_eps": run.config["mla_norm_eps"], "prompt": tiny_models.PROMPTS[name], "prompt_ids": run.prompt,
        "greedy_ids": run.greedy, "positions": len(run.prompt) + GREEDY,
        "mla_layers": [layer for layer in run.layers if kimi_k3.layout.is_mla(run.config, layer)],
        "moe_layers": list(run.moe_layers), "prefix_positions": prefix_positions(run),
        "router_margin": run.router_margin(), "argmax_margin": run.argmax_margin(), "float32_error": run.float32_error,
    }


def prefix_positions(run):
    """First, last of the prompt, last of all, and some between."""
    last = len(run.prompt) + GREEDY - 1
    spread = np.linspace(0, last, PREFIX_POSITIONS).astype(int).tolist()
    return sorted({*spread, len(run.prompt) - 1})


def arrays(run):
    file, trace = goldens.ArrayFile(), run.trace
    file.add("logits", "f64", run.logits)
    for name in ("prefix", "attention", "mlp"):
        file.add(f"{name}_l2", "f64", [trace.get(name, layer).norm(dim=1).numpy() for layer in run.layers])
    file.add("prefix", "f32", [trace.get("prefix", layer)[prefix_positions(run)].numpy() for layer in run.layers])
    file.add("output_attn_res", "f64", trace.get("output_attn_res", None))
    for layer in run.layers:
        file.add(f"mlp_attn_res.{layer}", "f32", trace.get("mlp_attn_res", layer))
    file.add("router_ids", "i32", [trace.get("router_ids", layer).numpy() for layer in run.moe_layers])
    file.add("router_weights", "f64", [trace.get("router_weights", layer).numpy() for layer in run.moe_layers])
    for layer in run.layers:
        if kimi_k3.layout.is_mla(run.config, layer):
            file.add(f"mla_c.{layer}", "f32", run.state.c[layer])
            file.add(f"mla_r.{layer}", "f32", run.state.r[layer])
        else:
            file.add(f"kda_state.{layer}", "f32", run.state.recurrent[layer])
            file.add(f"kda_conv.{layer}", "f32", torch.stack([run.state.conv[layer][x] for x in "qkv"]))
    return file


def check_coverage(directory):
    """Every nibble code and the scale bytes 0 and 127 occur among the experts."""
    stored = safetensors_writer.read_checkpoint(directory)
    packed = np.concatenate([words.ravel() for name, (_, words) in stored.items() if name.endswith("weight_packed")])
    scales = np.concatenate([words.ravel() for name, (_, words) in stored.items() if name.endswith("weight_scale")])
    assert set(mxfp4.unpack_nibbles(packed[None]).ravel().tolist()) == set(range(16))
    assert {0, 127} <= set(scales.tolist())


def make_checkpoint(name, seed, directory):
    config = tiny_models.CONFIGS[name]
    tensors = tiny_models.initial_tensors(config, seed)
    kimi_k3_checkpoint.write_checkpoint(directory, config, tensors, tiny_models.VOCABULARY)
    return Run(directory, tiny_models.encode_prose(tiny_models.PROMPTS[name]))


def make(name):
    directory = os.path.join(GOLDEN, name)
    run = make_checkpoint(name, SEEDS[name], directory)
    assert not run.faults(), f"{name}: {run.faults()}"
    check_coverage(directory)
    goldens.write(directory, facts(name, run), arrays(run))
    print(f"{name}: {len(run.prompt)} + {GREEDY} positions, margins: router {run.router_margin():.1e}, argmax "
          f"{run.argmax_margin():.1e}; float32 form differs by {run.float32_error:.1e}")


def search(name):
    with tempfile.TemporaryDirectory() as directory:
        for seed in range(200):
            faults = make_checkpoint(name, seed, os.path.join(directory, str(seed))).faults()
            print(name, seed, faults, flush=True)
            if not faults:
                return


if __name__ == "__main__":
    for model in SEEDS:
        search(model) if "--search" in sys.argv else make(model)
