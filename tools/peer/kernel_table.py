#!/usr/bin/env python3
"""What `ggml_kernels --json FILE` measured, as the tables of docs/peers.md.

Usage: kernel_table.py FILE

A cell of the first table is the speed in 10^9 multiply-adds a second, and in brackets its share of the bound: of
reading for one vector, of fused multiply-adds for several. The second has the largest error of each.
"""
import json
import sys

COLUMNS = ["sluice exact", "sluice fast", "ggml", "ggml repacked", "oneDNN"]


def column(who):
    if who.startswith("ggml"):
        return "ggml repacked" if "REPACK" in who else "ggml"
    return who


def rows_of(entries):
    """{(format, ggml's type, vectors): {column: entry}}, in the order of the file."""
    rows, last, ours = {}, None, {}
    for entry in entries:
        if entry["who"] == "sluice exact":
            ours = {}
        ours[column(entry["who"])] = entry
        if entry["who"].startswith("ggml"):
            last = (entry["format"], entry["who"].split()[-1].upper(), entry["rows"])
        if last and entry["rows"] == last[2] and entry["format"] == last[0]:
            rows[last] = ours
    return rows


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = json.load(file)
    rows = rows_of(found["entries"])
    print(f"Reading {found['read_gb_per_s']:.1f} GB/s, {found['fma_gmac_per_s']:.0f} GMAC/s, "
          f"{found['threads']} threads, medians of {found['rounds']} rounds.\n")
    print("| format; ggml's | vectors | " + " | ".join(COLUMNS) + " | exact to ggml's best | fast to it |")
    print("|---" * (len(COLUMNS) + 4) + "|")
    for (name, theirs, vectors), by in rows.items():
        cells = []
        for one in COLUMNS:
            entry = by.get(one)
            share = entry and entry["bandwidth_ratio" if vectors == 1 else "peak_ratio"]
            cells.append(f"{entry['gmac_per_s']:.1f} ({share:.2f})" if entry else "")
        ratios = [f"{by[one]['against_ggml']:.2f}" if one in by else "" for one in ("sluice exact", "sluice fast")]
        label = f"{name}; {theirs}" if vectors == 1 else ""
        print(f"| {label} | {vectors} | " + " | ".join(cells + ratios) + " |")
    print("\n| format; ggml's | " + " | ".join(COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for name, theirs in dict.fromkeys(key[:2] for key in rows):
        cells = []
        for one in COLUMNS:
            errors = [by[one]["rel_error"] for key, by in rows.items() if key[:2] == (name, theirs) and one in by]
            cells.append(f"{max(errors):.0e}" if errors else "")
        print(f"| {name}; {theirs} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
