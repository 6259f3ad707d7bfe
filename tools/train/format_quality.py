"""What stored formats cost the bundled models: the table of docs/formats.md, from `sluice convert` and `sluice compare`.

    /usr/bin/python3 tools/train/format_quality.py build/sluice

Each model is converted into each format and both read the same text: documents and conversations of the closed world, drawn
with a seed that training does not use.
"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import chat_formats  # noqa: E402
from demos import DEMOS  # noqa: E402

FOLDER = os.path.join(HERE, "..", "..", "demo")
# Format of the experts, format of every other matrix.
FORMATS = [("int8", "keep"), ("mxfp4", "keep"), ("int4g64", "keep"), ("int4", "keep"), ("int8", "int8"), ("int4g64", "int8"),
           ("int4", "int8"), ("int4g64", "int4g64"), ("int4", "int4")]
HELD_OUT, TOKENS, WINDOW = 900_002, 6000, 512


def text_ids(demo, directory):
    encoder = demo.stored_encoder(directory)
    world, ids = chat_formats.world(demo.FAMILY, HELD_OUT), []
    while len(ids) < TOKENS:
        ids += encoder.document(world.document())
    return ids[:TOKENS]


def run(*arguments, may_say=None):
    """Standard output; None if it ends by saying `may_say`."""
    done = subprocess.run([*map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0 and may_say and may_say in done.stderr:
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def stored_bytes(directory):
    return sum(os.path.getsize(os.path.join(directory, name)) for name in os.listdir(directory) if name.endswith(".safetensors"))


def compared(program, model, scratch, ids, experts, rest):
    """The report of `compare`, and the converted shards' share of the original's bytes. None: rows do not suit the format."""
    converted = os.path.join(scratch, f"{experts}-{rest}")
    kinds = ["--experts", experts, "--dense", rest, "--io", rest, "--mtp", rest]
    if run(program, "convert", model, converted, *kinds, may_say="needs a multiple of") is None:
        return None
    report = json.loads(run(program, "compare", model, converted, "--ids", ids, "--context", WINDOW, "--json", "-"))
    return report["text"], stored_bytes(converted) / stored_bytes(model)


def texts():
    """Of each demo: its name and model, a folder for scratch, and a file with the ids of its text."""
    for name, demo in DEMOS.items():
        model = os.path.join(FOLDER, name)
        with tempfile.TemporaryDirectory() as scratch:
            ids = os.path.join(scratch, "ids")
            with open(ids, "w") as out:
                out.write(",".join(map(str, text_ids(demo, model))))
            yield name, model, scratch, ids


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("| model | experts | other matrices | bytes | perplexity | same next token | mean KL, nats |")
    print("|---|---|---|---|---|---|---|")
    for name, model, scratch, ids in texts():
        before = None
        for experts, rest in FORMATS:
            measured = compared(sys.argv[1], model, scratch, ids, experts, rest)
            if measured is None:
                continue
            text, share = measured
            if before is None:
                before = text["original_perplexity"]
                print(f"| {name} | as trained | as trained | 100 % | {before:.3f} | | |")
            print(f"| {name} | {experts} | {'as trained' if rest == 'keep' else rest} | {100 * share:.0f} % "
                  f"| {text['converted_perplexity']:.3f} | {100 * text['agreement']:.1f} % | {text['kl_mean']:.4f} |", flush=True)


if __name__ == "__main__":
    main()
