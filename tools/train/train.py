"""Trains the demo checkpoint from nothing and writes it: corpus -> vocabulary -> weights -> files in the released layout.

    OMP_NUM_THREADS=1 /usr/bin/python3 tools/train/train.py demo/kimi-k3

One thread, CPU, equal seeds: the same machine gives the same files. A snapshot (`--snapshot F`, every 200 steps) lets an
interrupted run go on where it was. The learning rate rises, stays, and falls linearly to zero over the last third; the steps
of the router bias fall with it. While the rate falls, routed experts compute with the MXFP4 values they will be stored with.
"""

import argparse
import os
import sys
import time

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "formats")]
import kimi_k3_checkpoint  # noqa: E402

import corpus  # noqa: E402
import tokenizer  # noqa: E402
from model import KimiK3  # noqa: E402

RANKS = 1152
CONFIG = {
    "hidden_size": 128, "num_hidden_layers": 9, "vocab_size": RANKS + 256, "intermediate_size": 128, "num_attention_heads": 4,
    "q_lora_rank": 48, "kv_lora_rank": 32, "qk_nope_head_dim": 24, "qk_rope_head_dim": 8, "v_head_dim": 24, "mla_norm_eps": 1e-6,
    "num_experts": 48, "num_experts_per_token": 4, "num_shared_experts": 1, "moe_intermediate_size": 64,
    "routed_expert_hidden_size": 96, "attn_res_block_size": 4, "max_position_embeddings": 4096,
    "linear_attn_config": {"full_attn_layers": [4, 8, 9], "num_heads": 3, "head_dim": 32, "short_conv_kernel_size": 4,
                           "gate_lower_bound": -5.0, "use_full_rank_gate": True},
}
TOKENS, BATCH = 256, 4
PEAK_RATE, WARM_UP, FALL = 3e-3, 100, 0.35  # FALL: the share of the steps over which the rate falls
BALANCE_RATE = 3e-3
SNAPSHOT_EVERY = 200


def vocabulary():
    """The byte-pair vocabulary of 8,000 documents (seed 1)."""
    world = corpus.World(1)
    return tokenizer.train([piece for _ in range(8000) for kind, piece in world.document() if kind == "text"], RANKS)


class Batches:
    """Batch number `step` of TOKENS + 1 ids a row, made from a seed of its own; each row begins with a document."""

    def __init__(self, encoder):
        self.encoder = encoder

    def batch(self, step):
        world = corpus.World(1000 + step)
        rows = []
        for _ in range(BATCH):
            ids = []
            while len(ids) <= TOKENS:
                ids += self.encoder.document(world.document())
            rows.append(ids[: TOKENS + 1])
        return torch.tensor(rows)


def rate_at(step, steps):
    if step < WARM_UP:
        return (step + 1) / WARM_UP
    return min(1.0, (steps - step) / (FALL * steps))


def optimiser_for(net):
    """AdamW; only matrices decay. The router bias is moved by balance(), not by gradients."""
    trained = {name: value for name, value in net.values.items() if not name.endswith("e_score_correction_bias")}
    matrices = [v for n, v in trained.items() if v.dim() >= 2 and not n.endswith(("conv1d.weight", "res_proj.weight", "embed_tokens.weight"))]
    others = [v for v in trained.values() if all(v is not m for m in matrices)]
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=PEAK_RATE, betas=(0.9, 0.98), eps=1e-9, foreach=True), matrices + others


def train(net, encoder, steps, snapshot, stop_at):
    """Runs to `stop_at` (at most `steps`); the schedule is that of `steps`."""
    optimiser, parameters = optimiser_for(net)
    batches, first, seen = Batches(encoder), 0, time.time()
    if snapshot and os.path.exists(snapshot):
        saved = torch.load(snapshot)
        net.load_state_dict(saved["net"])
        optimiser.load_state_dict(saved["optimiser"])
        first = saved["step"]
    mean = None
    for step in range(first, stop_at):
        factor = rate_at(step, steps)
        for group in optimiser.param_groups:
            group["lr"] = PEAK_RATE * factor
        net.rounded = step >= steps * (1 - FALL)
        rows = batches.batch(step)
        logits = net(rows[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        net.balance(BALANCE_RATE * factor)
        mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
        if step % 20 == 19:
            busiest = max(float(load.max() * load.numel() / load.sum()) for load in net.load.values())
            idle = sum(int((load == 0).sum()) for load in net.load.values())
            print(f"step {step + 1} loss {mean:.4f} busiest {busiest:.1f}x idle {idle} {time.time() - seen:.0f} s", flush=True)
        if snapshot and (step + 1) % SNAPSHOT_EVERY == 0:
            torch.save({"net": net.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1}, snapshot + ".part")
            os.replace(snapshot + ".part", snapshot)


def write(net, encoder, directory):
    os.makedirs(directory, exist_ok=True)
    kimi_k3_checkpoint.write_checkpoint(directory, CONFIG, net.float_tensors(), encoder.vocabulary,
                                        with_vision=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory")
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--stop-at", type=int, help="end early; the schedule stays that of --steps")
    parser.add_argument("--snapshot")
    options = parser.parse_args()
    torch.set_num_threads(1)
    encoder = tokenizer.Encoder(vocabulary())
    net = KimiK3(kimi_k3_checkpoint.complete_text_config(CONFIG), seed=7)
    train(net, encoder, options.steps, options.snapshot, options.steps if options.stop_at is None else options.stop_at)
    write(net, encoder, options.directory)


if __name__ == "__main__":
    main()
