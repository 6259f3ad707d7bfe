"""The golden of the fast mode: tests/golden/fast.json.

Products of every format that the mode knows, and logits of the first layers of the tiny Kimi K3 a. A rounding is a step: an engine
whose sums differ in the last bits can land on the other side of one, and that would show in everything after it. So vectors and texts
are taken only if no number comes near the middle between two whole ones; with all the layers of the model no text would be left.
Usage: fast_goldens.py [--check]
"""

import pathlib
import random
import sys

from plain_torch import Trace, torch  # first: it makes the formats importable
import numpy as np

from fast_mode import FastKimiK3, Ties, whole
import golden_kimi_k3 as family
from golden_run import cut_margin
from kimi_k3 import KimiK3
from long_deepseek_v4 import write_or_check
import mxfp4
from parity_goldens_deepseek_v4 import distance, numbers

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/golden"
MODEL, LAYERS, LENGTH, TIE, MARGIN = "kimi_k3/a", 5, 10, 2e-4, 1e-4
FORMATS = {"mxfp4": 32, "int8": 0, "int4": 0, "int4g32": 32, "int4g64": 64, "int4g128": 128}  # columns of a scale; 0: the row
SHAPES = [(4, 96), (2, 544), (2, 70), (3, 141)]  # MXFP4 has whole groups only
VECTORS = 3


def stored(kind, rows, cols, chooser):
    """(weight bytes [rows, ..], scale bytes [rows, ..], what they stand for [rows, cols]) by docs/converted.md."""
    if kind == "mxfp4":
        packed, scales = mxfp4.quantise(chooser.standard_normal((rows, cols)) * np.exp2(chooser.integers(-6, 7, (rows, 1))))
        return packed, scales, mxfp4.decode(packed, scales).astype(np.float64)
    group = FORMATS[kind] or cols
    scales = (np.exp(chooser.standard_normal((rows, -(-cols // group)))) / 64).astype("<f4")
    low, high = (-128, 128) if kind == "int8" else (-8, 8)
    codes = chooser.integers(low, high, (rows, cols))
    values = codes * np.repeat(scales.astype(np.float64), group, axis=1)[:, :cols]
    if kind == "int8":
        return codes.astype(np.int8).view(np.uint8), scales.view(np.uint8), values
    nibbles = np.full((rows, cols + cols % 2), 8, dtype=np.uint8)
    nibbles[:, :cols] = codes + 8
    return nibbles[:, ::2] | nibbles[:, 1::2] << 4, scales.view(np.uint8), values


def vectors(cols, chooser):
    """Of many sizes, with a group of zeros where there is room; float32."""
    while True:
        x = chooser.standard_normal((VECTORS, cols)) * np.exp2(chooser.integers(-3, 4, (VECTORS, cols)))
        x[1] *= 1e-20
        if cols > 64:
            x[2, 32:64] = 0
        x = torch.tensor(x.astype("<f4").astype(np.float64))
        ties = Ties()
        seen = whole(x, ties)
        if ties.nearest > 1e-4:
            return x, seen


def products():
    made, chooser = [], np.random.default_rng(7)
    for kind in FORMATS:
        for rows, cols in SHAPES:
            if kind == "mxfp4" and cols % 32:
                continue
            weights, scales, values = stored(kind, rows, cols, chooser)
            x, seen = vectors(cols, chooser)
            y, exact = (v @ torch.tensor(values).T for v in (seen, x))
            made.append({"format": kind, "shape": [rows, cols], "weights": weights.tobytes().hex(), "scales": scales.tobytes().hex(),
                         "x": numbers(x), "y": numbers(y), "distance_from_exact": distance(exact, y)})
    return made


def text(config, tensors):
    ordinary = list(family.ordinary_ids(config))
    layers = range(config["first_k_dense_replace"], LAYERS)
    for seed in range(1, 2000):
        chooser = random.Random(seed)
        ids = [chooser.choice(ordinary) for _ in range(LENGTH)]
        trace, model = Trace(), FastKimiK3(config, tensors)
        model.ties = Ties()
        logits = model.forward(ids, model.new_state(), trace)
        router = min(cut_margin(trace.get("router_choice", layer), family.picks(config)) for layer in layers)
        if model.ties.nearest > TIE and router > MARGIN:
            return seed, ids, model.ties.nearest, router, logits
    raise SystemExit("no seed is good enough")


def make():
    config, tensors = family.read(FOLDER / MODEL)
    config = {**config, "num_hidden_layers": LAYERS}
    seed, ids, tie, router, logits = text(config, tensors)
    plain = KimiK3(config, tensors)
    return {"model": MODEL, "layers": LAYERS, "seed": seed, "nearest_tie": tie, "router_margin": router,
            "distance_from_exact_mode": distance(plain.forward(ids, plain.new_state()), logits), "ids": ids,
            "logits": numbers(logits[[0, 2, LENGTH - 1]]), "positions": [0, 2, LENGTH - 1], "argmax": logits.argmax(1).tolist(),
            "products": products()}


if __name__ == "__main__":
    write_or_check(FOLDER / "fast.json", make())
