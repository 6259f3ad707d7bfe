#!/usr/bin/env python3
"""sluice beside llama.cpp on one checkpoint under the same memory limits: bytes read and seconds a token.

Usage: engines.py check
       engines.py run [--family olmoe|deepseek-v4] [--limits 2G,3G,5G,8G] [--tokens N] [--warm N] [--rounds N]
                      [--read-ahead KIB] [--json FILE]

`check` feeds both the same ids on bundled demos (OLMoE; the other families as their converters fit them to llama.cpp)
and compares the logits of every step, with weights widened to f32 (then llama.cpp rounds no activations) and OLMoE's
as they are: without it no figure would mean anything.

`run` makes a random checkpoint of the released widths (`sluice synth`; fewer layers, of DeepSeek-V4 fewer experts)
and its GGUF in build-peer/ where they are missing, and then, for every limit, starts either engine in a memory cgroup
of its own, by turns and in changing order. The limit counts everything, the page cache of a mapped file too. Both are
fed the same random ids one by one; the first --warm steps do not count. What is read is the kernel's count of the
process. Before every start the files are dropped from the page cache, so that nothing comes for free. llama.cpp is
run without repacking, which would need all weights in memory of its own; where the limit allows that, with it too,
and the faster one counts.

How much the system reads ahead of a page fault decides how a mapped file fares under a limit. While llama.cpp runs,
--read-ahead is set for its drive (128: Linux's default, and the best of those tried; 0 leaves it as it is) and put
back afterwards; sluice reads past the page cache and does not depend on it. Needs root, and `setup.sh engines`.
"""
import argparse
import array
import contextlib
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEER = ROOT / "build-peer"
# How `run` makes a checkpoint; its converter; limits from a fifth of it to more than all.
FAMILIES = {"olmoe": (["--layers", "8"], "olmoe_to_gguf.py", "2G,3G,5G,8G"),
            "deepseek-v4": (["--layers", "6", "--experts", "64"], "deepseek_v4_to_gguf.py", "4G,5G,6G,12G")}
UNITS = {"M": 1 << 20, "G": 1 << 30}


def size(text):
    return int(float(text[:-1]) * UNITS[text[-1]])


class Group:
    """A memory cgroup, version 1 or 2, with a limit; none if the limit is None."""

    def __init__(self, limit):
        self.folder = None
        if limit is None:
            return
        first, second = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")
        if first.is_dir():
            self.folder, self.peak_file = first / "sluice-peer", "memory.max_usage_in_bytes"
            limit_file = "memory.limit_in_bytes"
        elif "memory" in (second / "cgroup.subtree_control").read_text().split():
            self.folder, self.peak_file, limit_file = second / "sluice-peer", "memory.peak", "memory.max"
        else:
            sys.exit("engines.py: there is no memory cgroup to be had")
        self.folder.mkdir(exist_ok=True)
        (self.folder / limit_file).write_text(str(limit))

    def enter(self):
        if self.folder is not None:
            (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        if self.folder is None:
            return 0
        peak = int((self.folder / self.peak_file).read_text()) if (self.folder / self.peak_file).exists() else 0
        for _ in range(50):  # until its last process is gone
            try:
                self.folder.rmdir()
                break
            except OSError:
                time.sleep(0.1)
        return peak


def forget(folder_or_file):
    """Drops its files from the page cache."""
    for path in sorted(folder_or_file.glob("*")) if folder_or_file.is_dir() else [folder_or_file]:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextlib.contextmanager
def read_ahead(kib, path):
    """Sets it for the drive of a file."""
    device = path.stat().st_dev
    setting = pathlib.Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
    if kib == 0 or not setting.exists():
        yield
        return
    before = setting.read_text()
    try:
        setting.write_text(str(kib))
        yield
    finally:
        setting.write_text(before)


def start(program, model, ids, *more, limit=None):
    forget(model)
    group = Group(limit)
    began = time.monotonic()
    done = subprocess.run([PEER / program, model, "--ids", ",".join(map(str, ids)), *more], stdout=subprocess.PIPE,
                          preexec_fn=group.enter)
    seconds = time.monotonic() - began
    peak = group.close()
    if done.returncode != 0:
        return None
    return {**json.loads(done.stdout), "peak_of_group_bytes": peak, "whole_s": seconds}


def convert(converter, checkpoint, out, *words):
    part = out.with_suffix(".part")
    subprocess.run(["/usr/bin/python3", ROOT / "tools/peer" / converter, checkpoint, part, *words], check=True)
    part.rename(out)


def decode(program, model, ids, *more):
    """The ids fed, the likeliest next ones and all logits."""
    with tempfile.NamedTemporaryFile() as file:
        done = start(program, model, ids, "--logits", file.name, *more)
        if done is None:
            sys.exit(f"engines.py: {program} does not run")
        return [s[0] for s in done["steps"]], [s[1] for s in done["steps"]], array.array("f", file.read())


def agree(title, demo, ids, model, *more, most, new=56):
    """Both on the same ids, llama.cpp also on what sluice chose, so that one other choice does not end it."""
    ids, ours_next, ours = decode("sluice_tokens", demo, ids, "--new", str(new))
    _, theirs_next, theirs = decode("llama_tokens", model, ids, *more)
    scale = math.sqrt(sum(a * a for a in ours) / len(ours))
    errors = [abs(a - b) / scale for a, b in zip(ours, theirs)]
    same = sum(a == b for a, b in zip(ours_next, theirs_next))
    print(f"{title}, {len(ids)} steps: same likeliest next id in {same}; logits differ by at most {max(errors):.1e} of "
          f"their root mean square, half of them by less than {statistics.median(errors):.1e}")
    if len(ours) != len(theirs) or same < 0.95 * len(ids) or max(errors) > most:
        sys.exit("engines.py: these two do not compute the same model")


def prompt_of(demo):
    asked = subprocess.run([ROOT / "build/sluice", "run", demo, "--prompt", "Once upon a time there was",
                            "--max-tokens", "1", "--json", "-"], check=True, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)
    return json.loads(asked.stdout)["prompt_ids"]


def check(_):
    demo = ROOT / "demo/olmoe"
    for words, kv, most in (("f32", ["--kv", "f32"], 1e-4), ("bf16", [], 0.5)):
        model = PEER / f"check-{words}.gguf"
        convert("olmoe_to_gguf.py", demo, model, words)
        agree(f"olmoe in {words}", demo, prompt_of(demo), model, *kv, most=most)
    draw = random.Random(1)
    many = [draw.randrange(2, 1000) for _ in range(300)]  # for what begins after some hundred positions
    for family, ids in (("kimi-k3", prompt_of(ROOT / "demo/kimi-k3")), ("deepseek-v4", many), ("glm-5.2", many)):
        both, converter = PEER / f"check-{family}", f"{family.replace('-', '_').replace('.', '_')}_to_gguf.py"
        subprocess.run(["/usr/bin/python3", ROOT / "tools/peer" / converter, ROOT / "demo" / family, both], check=True)
        agree(f"{family} in f32", both, ids, pathlib.Path(f"{both}.gguf"), "--kv", "f32", most=1e-3)


def counted(done, warm):
    steps = done["steps"][warm:]
    return {"s_per_token": statistics.fmean(step[2] for step in steps),
            "median_s": statistics.median(step[2] for step in steps),
            "bytes_per_token": statistics.fmean(step[3] for step in steps)}


def prepare(family):
    """The checkpoint and its GGUF, made where they are missing."""
    options, converter, _ = FAMILIES[family]
    checkpoint, model = PEER / f"full-{family}", PEER / f"full-{family}.gguf"
    if not (checkpoint / "model.safetensors.index.json").exists():
        subprocess.run([ROOT / "build/sluice", "synth", family, checkpoint, "--scale", "full", *options], check=True)
    if not model.exists():
        convert(converter, checkpoint, model)
    return checkpoint, model


def measure(flags, limit, name, program, where, ids, more):
    """One start of one engine under a limit, told in a line; None: it did not finish."""
    with read_ahead(flags.read_ahead if program == "llama_tokens" else 0, where):
        done = start(program, where, ids, *more, "--threads", str(flags.threads), limit=size(limit))
    if done is None:
        print(f"{limit:>6} {name:20} did not finish", flush=True)
        return None
    entry = {**counted(done, flags.warm), "load_s": done["load_s"], "next": [s[1] for s in done["steps"]],
             "peak_of_group_bytes": done["peak_of_group_bytes"], "peak_rss_bytes": done["peak_rss_bytes"]}
    print(f"{limit:>6} {name:20} {entry['s_per_token']:8.3f} s  {entry['bytes_per_token'] / 1e6:8.1f} MB read  "
          f"loaded in {entry['load_s']:.1f} s, at most {entry['peak_of_group_bytes'] / 1e9:.2f} GB", flush=True)
    return entry


def middle(entries):
    return {key: statistics.median(e[key] for e in entries) for key in ("s_per_token", "bytes_per_token")}


def table(found):
    has_fast = any("sluice fast" in engines for engines in found.values())
    head = ["limit", "sluice: a token", "read", "fast mode", "llama.cpp: a token", "read", "times as fast"]
    head[3:4] = head[3:4] if has_fast else []
    print("\n| " + " | ".join(head) + ("; fast mode" if has_fast else "") + " |\n" + "|---" * len(head) + "|")
    for limit, engines in found.items():
        all_ = {name: middle(entries) for name, entries in engines.items()}
        theirs = min((one for name, one in all_.items() if name.startswith("llama")),
                     key=lambda one: one["s_per_token"], default=None)
        if "sluice" not in all_ or theirs is None:
            continue
        ours, fast = all_["sluice"], all_.get("sluice fast")
        ratios = [f"{theirs['s_per_token'] / one['s_per_token']:.2f}" for one in (ours, fast) if one]
        cells = [limit, f"{ours['s_per_token']:.3f} s", f"{ours['bytes_per_token'] / 1e6:.0f} MB"]
        cells += [f"{fast['s_per_token']:.3f} s" if fast else ""] if has_fast else []
        cells += [f"{theirs['s_per_token']:.3f} s", f"{theirs['bytes_per_token'] / 1e6:.0f} MB", "; ".join(ratios)]
        print("| " + " | ".join(cells) + " |")


def run(flags):
    checkpoint, model = prepare(flags.family)
    limits = (flags.limits or FAMILIES[flags.family][2]).split(",")
    vocabulary, draw = json.loads((checkpoint / "config.json").read_text())["vocab_size"], random.Random(1)
    ids = [draw.randrange(vocabulary) for _ in range(flags.warm + flags.tokens)]
    found = {}
    print(f"{flags.family}: {sum(f.stat().st_size for f in checkpoint.iterdir()) / 1e9:.1f} GB, GGUF "
          f"{model.stat().st_size / 1e9:.1f} GB; {flags.tokens} tokens after {flags.warm}, {flags.rounds} rounds")
    for round_ in range(flags.rounds):
        for limit in limits:
            engines = [("sluice", "sluice_tokens", checkpoint, ["--memory", limit]),
                       ("llama.cpp", "llama_tokens", model, ["--repack", "off"])]
            if flags.family != "olmoe":  # bf16 is neither repacked nor multiplied otherwise in the fast mode
                engines.append(("sluice fast", "sluice_tokens", checkpoint, ["--memory", limit, "--numerics", "fast"]))
                if size(limit) > 1.3 * model.stat().st_size:
                    engines.append(("llama.cpp repacked", "llama_tokens", model, []))
            for name, program, where, more in engines[::-1] if round_ % 2 else engines:
                entry = measure(flags, limit, name, program, where, ids, more)
                if entry is not None:
                    found.setdefault(limit, {}).setdefault(name, []).append(entry)
    table(found)
    pairs = [(a, b) for engines in found.values() if "sluice" in engines and "llama.cpp" in engines
             for a, b in zip(engines["sluice"][0]["next"], engines["llama.cpp"][0]["next"])]
    if pairs:
        print(f"\nsame likeliest next id in {sum(a == b for a, b in pairs)} of {len(pairs)} steps")
    if flags.json:
        pathlib.Path(flags.json).write_text(json.dumps(found, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("check").set_defaults(do=check)
    figures = commands.add_parser("run")
    figures.add_argument("--family", choices=FAMILIES, default="olmoe")
    figures.add_argument("--limits")
    figures.add_argument("--tokens", type=int, default=12)
    figures.add_argument("--warm", type=int, default=4)
    figures.add_argument("--rounds", type=int, default=1)
    figures.add_argument("--threads", type=int, default=2)
    figures.add_argument("--read-ahead", type=int, default=128)
    figures.add_argument("--json")
    figures.set_defaults(do=run)
    flags = parser.parse_args()
    flags.do(flags)


if __name__ == "__main__":
    main()
