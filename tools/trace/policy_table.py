#!/usr/bin/env python3
"""The shipped cache policy on the published traces, beside published figures: the table of docs/cache_policy.md.

Usage: policy_table.py SLUICE TRACES, the program and a folder with gemma.trace, gptoss.trace and k3.trace (their source
is in docs/cache_policy.md). Ends with 1 if a figure is more than half a point below the one it is compared with.
"""
import json
import pathlib
import subprocess
import sys

# Decode hits in percent at each capacity, of "expected next use with admission" as replayed before this policy was
# made; of Kimi K3 between 20 and 30 GiB of recency by layers, which was ahead there.
PUBLISHED = {
    "gemma": {"250M": 20.6, "500M": 32.4, "750M": 40.4, "1000M": 47.3, "1500M": 57.4, "2000M": 64.9, "3000M": 76.0,
              "4000M": 83.0},
    "gptoss": {"250M": 10.0, "500M": 15.7, "750M": 20.2, "1000M": 25.0, "1500M": 32.0, "2000M": 38.4, "3000M": 46.4,
               "4000M": 53.5},
    "k3": {"3.9G": 8.8, "7.5G": 14.8, "11.7G": 20.1, "14.9G": 23.6, "21.5G": 34.7, "24G": 39.9, "29.8G": 41.8,
           "59.6G": 51.9},
}


def replay(program, trace, capacity):
    done = subprocess.run([program, "trace", "replay", str(trace), "--capacity", capacity, "--json", "-"], check=True,
                          stdout=subprocess.PIPE)
    return {entry["policy"]: 100 * entry["decode_hits"] / entry["decode_requests"] for entry in json.loads(done.stdout)}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    behind = 0
    print("| trace | capacity | default | published | of Belady | belady | expected_use | layer_recency | lfu | lru |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, goals in PUBLISHED.items():
        for capacity, goal in goals.items():
            hits = replay(program, folder / f"{name}.trace", capacity)
            behind += hits["default"] < goal - 0.5
            others = " | ".join(f"{hits[policy]:.1f}" for policy in ("belady", "expected_use", "layer_recency", "lfu", "lru"))
            print(f"| {name} | {capacity} | **{hits['default']:.2f}** | {goal:.1f} | "
                  f"{hits['default'] / hits['belady']:.3f} | {others} |", flush=True)
    sys.exit(1 if behind else 0)


if __name__ == "__main__":
    main()
