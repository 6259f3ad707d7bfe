"""A long text for the tiny DeepSeek-V4 of tests/golden/deepseek_v4/a: tests/golden/deepseek_v4/long.json.

Random ids over hundreds of positions: windows and compressed lists of many pages, far more entries than the indexer
keeps. Logits and choices of entries at some positions. Usage: long_deepseek_v4.py [--check]
"""

import json
import pathlib
import random
import sys

from plain_torch import Trace  # first: it makes the formats importable
from deepseek_v4 import DeepSeekV4
import golden_deepseek_v4 as family
from golden_glm_dsa import index_margin
from golden_run import cut_margin

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/deepseek_v4"
MODEL, LENGTH, MARGIN = "a", 600, 2e-5
POSITIONS = [3, 63, 64, 255, 256, 257, 300, 420, 511, 512, 575, 599]


def margins(model, state_trace, config):
    layers = family.index_layers(config)
    router = min(cut_margin(state_trace.get("router_choice", layer), family.picks(config))
                 for layer in family.choosing_layers(config))
    return router, index_margin([(state_trace, layer) for layer in layers], config["index_topk"])


def make():
    config, tensors = family.read(FOLDER / MODEL)
    model = DeepSeekV4(config, tensors)
    ordinary = list(family.ordinary_ids(config))
    for seed in range(1, 100):
        chooser = random.Random(seed)
        ids = [chooser.choice(ordinary) for _ in range(LENGTH)]
        trace, state = Trace(), model.new_state()
        logits = model.forward(ids, state, trace)
        found = margins(model, trace, config)
        print("seed", seed, "router, index margins", found, file=sys.stderr)
        if min(found) >= MARGIN:
            break
    else:
        raise SystemExit("no seed is good enough")
    picks = {str(layer): [trace.rows("index_picks", layer)[position].tolist() for position in POSITIONS]
             for layer in family.index_layers(config)}
    return {"model": MODEL, "seed": seed, "router_margin": found[0], "index_margin": found[1], "ids": ids,
            "positions": POSITIONS, "index_picks": picks,
            "argmax": [int(logits[position].argmax()) for position in POSITIONS],
            "logits": [[float(f"{value:.10g}") for value in logits[position].tolist()] for position in POSITIONS]}


def write_or_check(path, made):
    """A field a line. With --check nothing is written: ends with 1 if the file says anything else."""
    text = "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in made.items()) + "\n}\n"
    if "--check" in sys.argv:
        sys.exit(0 if path.read_text() == text else f"{path} differs")
    path.write_text(text)


if __name__ == "__main__":
    write_or_check(FOLDER / "long.json", make())
