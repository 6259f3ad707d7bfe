"""What the oracles share: torch on one code path, the folder of the formats, traces, and a greedy run.

Import this before torch: the two variables make every x86-64 machine compute the same bits, so that goldens made
elsewhere are the same files.
"""

import os
import sys

os.environ["ATEN_CPU_CAPABILITY"] = "default"
os.environ["OPENBLAS_CORETYPE"] = "Prescott"

import torch  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
torch.set_num_threads(1)


class Trace:
    """Collects intermediate values, by name and layer, over the chunks of one sequence."""

    def __init__(self):
        self.parts = {}

    def record(self, name, layer, values):
        """`values` [T, …]."""
        self.parts.setdefault((name, layer), []).append(values)

    def get(self, name, layer):
        return torch.cat(self.parts[name, layer])

    def rows(self, name, layer):
        """What was recorded row by row, each of its own length."""
        return self.parts[name, layer]


def rms_norm(x, weight, eps):
    return x * (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt() * weight


def greedy(model, prompt, count, trace=None):
    """The prompt in one chunk, then `count` tokens one by one; -> (ids, logits at all positions, state).

    Every greedy id is fed, the last one too, so there are len(prompt) + count positions. No id ends the run.
    """
    state = model.new_state()
    logits, ids = [model.forward(prompt, state, trace)], []
    for _ in range(count):
        ids.append(int(logits[-1][-1].argmax()))
        logits.append(model.forward(ids[-1:], state, trace))
    return ids, torch.cat(logits), state
