#!/usr/bin/env python3
"""Records the routing of the bundled models and replays it: the second table of docs/cache_policy.md.

Usage: demo_table.py SLUICE [FOLDER]. Each model goes on from a few texts, one after the other with the same cache, which holds a share of
all the routed experts that were used. The traces, with what was foreseen, stay in FOLDER.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from policy_table import replay

DEMO = pathlib.Path(__file__).resolve().parents[2] / "demo"
SHARES = (10, 20, 40, 60)  # percent of the experts' bytes
PROMPTS = ("Once upon a time there was", "one two three four five six", "Tom was a kind boy.", "The capital of Norway is Oslo. The capital of Egypt",
           "Anna was a brave girl.", "What is 7 + 5?", "The days of the week are", "There was a little boy called Leo.")
POLICIES = ("belady", "expected_use", "layer_recency", "lfu", "lru")


def record(program, model, trace):
    """One trace of all texts, with what routers foresaw: the tokens of each are numbered after those before."""
    lines, first = [], 0
    for seed, prompt in enumerate(PROMPTS):
        subprocess.run([program, "run", model, "--prompt", prompt, "--max-tokens", "100", "--temperature", "1", "--seed", str(seed),
                        "--trace", trace, "--predict", "--quiet"], check=True, stdout=subprocess.DEVNULL)
        with open(trace) as made:
            fields = [line.split(" ", 2) for line in made if not line.startswith("#") or line.startswith("# foreseen ")]
        lines += [" ".join([phase, token if phase == "#" else str(first + int(token)), rest]) for phase, token, rest in fields]
        first += max(int(token) for phase, token, _ in fields if phase != "#") + 1
    with open(trace, "w") as out:
        out.writelines(lines)


def expert_bytes(trace):
    """Bytes of all the experts in it. A line: phase, token, layer, bytes of an expert, experts."""
    used = {}
    with open(trace) as lines:
        for line in lines:
            if not line.startswith("#"):
                _, _, layer, size, *experts = map(int, line.split())
                used.update(((layer, expert), size) for expert in experts)
    return sum(used.values())


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    print("| model | cache | default | of Belady | " + " | ".join(POLICIES) + " |")
    print("|---" * (4 + len(POLICIES)) + "|")
    with tempfile.TemporaryDirectory() as scratch:
        for model in sorted(path.parent for path in DEMO.glob("*/config.json")):
            trace = os.path.join(sys.argv[2] if len(sys.argv) == 3 else scratch, model.name + ".trace")
            record(sys.argv[1], model, trace)
            total = expert_bytes(trace)
            for share in SHARES:
                hits = replay(sys.argv[1], trace, str(total * share // 100))
                others = " | ".join(f"{hits[policy]:.1f}" for policy in POLICIES)
                print(f"| {model.name} | {share} % | **{hits['default']:.1f}** | {hits['default'] / hits['belady']:.3f} | {others} |",
                      flush=True)


if __name__ == "__main__":
    main()
