#!/usr/bin/env python3
"""What pins are worth when a usual kind of text comes back after others: a table of docs/cache_policy.md.

Usage: pins_return.py SLUICE FOLDER, the program and the folder in which demo_table.py left its traces. Three of their texts tell stories, then come
all the others but the last, which is a story again: hits in percent of its first quarter, for shares of the slots that are pinned.
"""
import json
import os
import subprocess
import sys
import tempfile

SHARES, PINS = (10, 20, 40), (5, 10, 25, 50)  # percent of the experts' bytes, and of the slots


def texts_of(path):
    """The lines of each text: it begins with its prompt (phase 0), which is computed in one pass, layer by layer."""
    texts, last_layer = [], 0
    with open(path) as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            phase, _, layer, _ = line.split(maxsplit=3)
            if phase == "0" and (int(layer) <= last_layer or not texts):
                texts.append([])
            last_layer = int(layer)
            texts[-1].append(line)
    return texts


def hits(program, texts, capacity, percent):
    with tempfile.TemporaryDirectory() as scratch:
        trace = os.path.join(scratch, "texts.trace")
        with open(trace, "w") as out:
            out.writelines(line for text in texts for line in text)
        done = subprocess.run([program, "trace", "replay", trace, "--capacity", str(capacity), "--policy", "default,pinned", "--pin-experts",
                               str(percent), "--json", "-"], check=True, stdout=subprocess.PIPE)
    return {entry["policy"]: (entry["hits"], entry["requests"]) for entry in json.loads(done.stdout)}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, folder = sys.argv[1:]
    print("| model | cache | default | " + " | ".join(f"{pins} % pinned" for pins in PINS) + " |")
    print("|---" * (3 + len(PINS)) + "|")
    for name in sorted(os.listdir(folder)):
        texts = texts_of(os.path.join(folder, name))
        used = {(line.split()[2], expert): int(line.split()[3]) for text in texts for line in text for expert in line.split()[4:]}
        stories, last = [texts[number] for number in (0, 2, 4)], texts[-1]
        before = stories + [text for text in texts[:-1] if text not in stories]
        for share in SHARES:
            row = {}
            for pins in PINS:
                without, whole = (hits(program, some, sum(used.values()) * share // 100, pins) for some in (before, before + [last[:len(last) // 4]]))
                for policy, key in (("default", 0), ("pinned", pins)):
                    row[key] = 100 * (whole[policy][0] - without[policy][0]) / (whole[policy][1] - without[policy][1])
            print(f"| {name.removesuffix('.trace')} | {share} % | " + " | ".join(f"{row[key]:.1f}" for key in (0, *PINS)) + " |")


if __name__ == "__main__":
    main()
