"""One golden in the making: an oracle's run over a checkpoint directory, its margins, and the arrays all families write.

A *family* is a module with NAME, SEEDS, Model, and
    write(name, seed, directory)    the checkpoint
    read(directory)                 (config, {float name: float64 array})
    prompt(name)                    (text, ids)
    moe_layers(config), picks(config), ordinary_ids(config)    ids a greedy text may have
    choosing_layers(config)    where not every MoE layer chooses by scores
    facts(run), add_arrays(run, file), faults(run), check(directory)    what only this family has
"""

import numpy as np

import plain_torch
from plain_torch import Trace, torch

GREEDY = 64
MIN_MARGIN = 1e-4  # relative, of every router pick and every argmax
MAX_FLOAT32_ERROR = 2.5e-6  # relative L2 error of this model's own float32 form, at the worst position
PREFIX_POSITIONS = 8  # positions at which whole residual vectors are kept


class Run:
    """The oracle's answer to a checkpoint directory and a prompt, computed in float64 from the weights as stored."""

    def __init__(self, family, name, directory):
        self.family, self.name, self.trace = family, name, Trace()
        self.config, tensors = family.read(directory)
        self.text, self.prompt = family.prompt(name)
        self.model = family.Model(self.config, tensors)
        self.greedy, self.logits, self.state = plain_torch.greedy(self.model, self.prompt, GREEDY, self.trace)
        self.ids = self.prompt + self.greedy
        self.layers = range(self.config["num_hidden_layers"])
        self.moe_layers = family.moe_layers(self.config)
        self.float32_error = self.error_of_float32(family.Model(self.config, tensors, torch.float32))

    def error_of_float32(self, model):
        logits = model.forward(self.ids, model.new_state()).double()
        return float(((logits - self.logits).norm(dim=1) / self.logits.norm(dim=1)).max())

    def router_margin(self):
        """Over positions and layers, of the scores that choose."""
        k = self.family.picks(self.config)
        layers = getattr(self.family, "choosing_layers", self.family.moe_layers)(self.config)
        return min(cut_margin(self.trace.get("router_choice", layer), k) for layer in layers)

    def argmax_margin(self):
        return cut_margin(self.logits, 1)

    def faults(self):
        """Why this run is no golden; empty when it is."""
        found = []
        if self.router_margin() < MIN_MARGIN:
            found.append(f"router margin {self.router_margin():.1e}")
        if self.argmax_margin() < MIN_MARGIN:
            found.append(f"argmax margin {self.argmax_margin():.1e}")
        if self.float32_error > MAX_FLOAT32_ERROR:
            found.append(f"float32 error {self.float32_error:.1e}")
        if not set(self.greedy) <= set(self.family.ordinary_ids(self.config)):
            found.append("greedy text has a special token")
        return found + self.family.faults(self)

    def positions_kept(self):
        """First, last of the prompt, last of all, and some between."""
        spread = np.linspace(0, len(self.ids) - 1, PREFIX_POSITIONS).astype(int).tolist()
        return sorted({*spread, len(self.prompt) - 1})

    # ------------------------------------------------------------------------------------------------ facts and arrays

    def first_facts(self):
        return {"format": "sluice golden 1", "family": self.family.NAME, "model": self.name,
                "seed": self.family.SEEDS[self.name]}

    def sequence_facts(self):
        return {"prompt": self.text, "prompt_ids": self.prompt, "greedy_ids": self.greedy, "positions": len(self.ids)}

    def last_facts(self):
        return {"moe_layers": list(self.moe_layers), "prefix_positions": self.positions_kept(),
                "router_margin": self.router_margin(), "argmax_margin": self.argmax_margin(),
                "float32_error": self.float32_error}

    def add_residuals(self, file):
        file.add("logits", "f64", self.logits)
        for name in ("prefix", "attention", "mlp"):
            file.add(f"{name}_l2", "f64", [self.trace.get(name, layer).norm(dim=1).numpy() for layer in self.layers])
        kept = self.positions_kept()
        file.add("prefix", "f32", [self.trace.get("prefix", layer)[kept].numpy() for layer in self.layers])

    def add_router(self, file):
        for name, dtype in (("router_ids", "i32"), ("router_weights", "f64")):
            file.add(name, dtype, [self.trace.get(name, layer).numpy() for layer in self.moe_layers])


def cut_margin(scores, k):
    """Smallest (s_k - s_k+1) / |s_k| of rows of scores, s sorted falling."""
    top = scores.topk(k + 1).values
    return float(((top[..., k - 1] - top[..., k]) / top[..., k - 1].abs()).min())
