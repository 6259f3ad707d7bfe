"""Trains a demo checkpoint from nothing and writes it: corpus -> vocabulary -> weights -> files in the released layout.

    OMP_NUM_THREADS=1 /usr/bin/python3 tools/train/train.py demo/kimi-k3

One thread, CPU, equal seeds: the same machine gives the same files. A snapshot (`--snapshot F`, every 50 steps) lets an
interrupted run go on where it was. The learning rate rises, stays, and falls linearly to zero over the last third; the steps
of the router bias fall with it. While the rate falls, quantised matrices compute with the values they will be stored with.
"""

import argparse
import os
import sys
import time

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import chat_formats  # noqa: E402
from demos import DEMOS  # noqa: E402

PEAK_RATE, FALL = 3e-3, 0.35  # FALL: the share of the steps over which the rate falls
BALANCE_RATE = 3e-3
SNAPSHOT_EVERY = 50


class Batches:
    """Batch number `step`, made from a seed of its own; each row begins with a document. `sizes`: see demos.py."""

    def __init__(self, family, encoder, sizes):
        self.family, self.encoder, self.sizes = family, encoder, sizes

    def batch(self, step):
        rows, tokens = self.sizes[max(first for first in self.sizes if first <= step)]
        world = chat_formats.world(self.family, 1000 + step)
        return torch.tensor([self.row(world, tokens) for _ in range(rows)])

    def row(self, world, tokens):
        """`tokens` + 1 ids."""
        ids = self.encoder.document(world.row_start(tokens))
        while len(ids) <= tokens:
            ids += self.encoder.document(world.document())
        return ids[:tokens + 1]


def rate_at(step, steps, warm_up):
    if step < warm_up:
        return (step + 1) / warm_up
    return min(1.0, (steps - step) / (FALL * steps))


def optimiser_for(net):
    """AdamW; only matrices decay. The router bias is moved by balance(), a table of experts stays as it is."""
    trained = {name: value for name, value in net.values.items() if value.requires_grad}
    matrices = [v for n, v in trained.items() if v.dim() >= 2 and net.decays(n)]
    others = [v for v in trained.values() if all(v is not m for m in matrices)]
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=PEAK_RATE, betas=(0.9, 0.98), eps=1e-9, foreach=True), matrices + others


def train(net, demo, batches, steps, snapshot, stop_at):
    """Runs to `stop_at` (at most `steps`); the schedule is that of `steps`."""
    optimiser, parameters = optimiser_for(net)
    first, seen = 0, time.time()
    if snapshot and os.path.exists(snapshot):
        saved = torch.load(snapshot)
        net.load_state_dict(saved["net"])
        optimiser.load_state_dict(saved["optimiser"])
        first = saved["step"]
    mean = None
    for step in range(first, stop_at):
        factor = rate_at(step, steps, demo.WARM_UP)
        for group in optimiser.param_groups:
            group["lr"] = PEAK_RATE * factor
        net.rounded = step >= steps * (1 - FALL)
        rows = batches.batch(step)
        losses = net.losses(rows)
        optimiser.zero_grad(set_to_none=True)
        sum(weight * loss for loss, weight in losses.values()).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        net.balance(BALANCE_RATE * factor)
        now = {name: loss.item() for name, (loss, _) in losses.items()}
        mean = now if mean is None else {name: 0.95 * mean[name] + 0.05 * now[name] for name in now}
        if step % 20 == 19:
            busiest = max(float(load.max() * load.numel() / load.sum()) for load in net.load.values())
            idle = sum(int((load == 0).sum()) for load in net.load.values())
            print(f"step {step + 1} {' '.join(f'{name} {value:.4f}' for name, value in mean.items())} busiest {busiest:.1f}x idle {idle} {time.time() - seen:.0f} s", flush=True)
        if snapshot and (step + 1) % SNAPSHOT_EVERY == 0:
            torch.save({"net": net.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1}, snapshot + ".part")
            os.replace(snapshot + ".part", snapshot)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory")
    parser.add_argument("--demo", choices=DEMOS, help="which one; without it the directory's name says")
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--stop-at", type=int, help="end early; the schedule stays that of --steps")
    parser.add_argument("--snapshot")
    options = parser.parse_args()
    torch.set_num_threads(1)
    demo = DEMOS[options.demo or os.path.basename(os.path.normpath(options.directory))]
    encoder = demo.encoder()
    net = demo.net(encoder)
    train(net, demo, Batches(demo.FAMILY, encoder, demo.ROWS), options.steps, options.snapshot, options.steps if options.stop_at is None else options.stop_at)
    os.makedirs(options.directory, exist_ok=True)
    demo.write(net, encoder, options.directory)


if __name__ == "__main__":
    main()
