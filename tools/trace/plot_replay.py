#!/usr/bin/env python3
"""Draws what `sluice trace replay FILE --json replay.json` counted: hits against capacity, a line for each policy.

Usage: plot_replay.py replay.json plot.svg [title]. The standard library only; the picture is SVG.
"""
import json
import sys
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 760, 460, 60, 50, 40, 150
COLOURS = ["#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b", "#e377c2"]


def curves(entries):
    """policy -> [(capacity in MiB, hits in percent)], by capacity."""
    lines = {}
    for entry in entries:
        share = 100 * entry["decode_hits"] / max(1, entry["decode_requests"])
        lines.setdefault(entry["policy"], []).append((entry["capacity_bytes"] / 2**20, share))
    return {policy: sorted(points) for policy, points in lines.items()}


def draw(lines, title):
    widest = max(x for points in lines.values() for x, _ in points) or 1
    highest = max(10, max(y for points in lines.values() for _, y in points))
    across = lambda x: LEFT + x / widest * (WIDTH - LEFT - RIGHT)
    up = lambda y: HEIGHT - BOTTOM - y / highest * (HEIGHT - BOTTOM - TOP)
    text = lambda x, y, words, more="": f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(words)}</text>'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>',
             text(LEFT, 22, title, 'font-size="15"')]
    for step in range(6):
        y, x = highest * step / 5, widest * step / 5
        parts.append(f'<line x1="{LEFT}" y1="{up(y):.1f}" x2="{WIDTH - RIGHT}" y2="{up(y):.1f}" stroke="#ddd"/>')
        parts.append(text(LEFT - 6, up(y) + 4, f"{y:.0f} %", 'text-anchor="end"'))
        parts.append(text(across(x), HEIGHT - BOTTOM + 18, f"{x:,.0f}", 'text-anchor="middle"'))
    parts.append(text(across(widest / 2), HEIGHT - 12, "capacity, MiB", 'text-anchor="middle"'))
    for number, (policy, points) in enumerate(lines.items()):
        bound = policy == "belady"
        colour = "#444" if bound else COLOURS[number % len(COLOURS)]
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
        dashes = ' stroke-dasharray="5 4"' if bound else ""
        thick = 3 if policy == "default" else 1.5
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{thick}"{dashes}/>')
        y = TOP + 18 * number
        parts.append(f'<line x1="{WIDTH - RIGHT + 14}" y1="{y}" x2="{WIDTH - RIGHT + 34}" y2="{y}" '
                     f'stroke="{colour}" stroke-width="{thick}"{dashes}/>')
        parts.append(text(WIDTH - RIGHT + 40, y + 4, policy))
    return "\n".join(parts + ["</svg>", ""])


def read_counts(path):
    try:
        with open(path, encoding="utf-8") as file:
            lines = curves(json.load(file))
    except OSError as problem:
        sys.exit(f"{path} cannot be read: {problem.strerror}")
    except (ValueError, LookupError, TypeError, AttributeError):
        sys.exit(f"{path} is not what `sluice trace replay FILE --json` writes")
    if not lines:
        sys.exit(f"{path} holds no counts")
    return lines


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    picture = draw(read_counts(sys.argv[1]), sys.argv[3] if len(sys.argv) == 4 else "decode hits, % of requests")
    try:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(picture)
    except OSError as problem:
        sys.exit(f"{sys.argv[2]} cannot be written: {problem.strerror}")


if __name__ == "__main__":
    main()
