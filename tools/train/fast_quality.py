"""What the fast mode costs the bundled models: a table of docs/numerics.md, from `sluice convert` and `sluice compare --numerics fast`.

    /usr/bin/python3 tools/train/fast_quality.py build/sluice

Each model is read twice in one storage, exact and fast, over the text of format_quality.py. Storages without a matrix of small
whole numbers are left out: the mode changes nothing there.
"""

import json
import os
import sys

from format_quality import WINDOW, run, texts

# What is converted: format of the experts, format of every other matrix. None: as trained.
STORAGES = [None, ("int8", "keep"), ("int4g64", "keep"), ("int4g64", "int8"), ("int8", "int8")]
WHOLE_NUMBERS_AS_TRAINED = {"kimi-k3", "deepseek-v4"}


def measured(program, directory, ids):
    return json.loads(run(program, "compare", directory, directory, "--numerics", "fast", "--ids", ids, "--context", WINDOW,
                          "--json", "-"))["text"]


def storage(program, model, scratch, formats):
    if formats is None:
        return model
    converted = os.path.join(scratch, "-".join(formats))
    experts, rest = formats
    run(program, "convert", model, converted, "--experts", experts, "--dense", rest, "--io", rest, "--mtp", rest)
    return converted


def named(formats):
    if formats is None:
        return "as trained"
    experts, rest = formats
    return f"{experts} experts" if rest == "keep" else f"{experts} experts, {rest} matrices"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("| model | storage | predictions | same likeliest token | KL mean, largest (nats) | perplexity, exact and fast |")
    print("|---|---|---|---|---|---|")
    for name, model, scratch, ids in texts():
        for formats in STORAGES:
            if formats is None and name not in WHOLE_NUMBERS_AS_TRAINED:
                continue
            text = measured(sys.argv[1], storage(sys.argv[1], model, scratch, formats), ids)
            print(f"| {name} | {named(formats)} | {text['predictions']:,} | {text['agreement']:.4f} "
                  f"| {text['kl_mean']:.2g}, {text['kl_largest']:.2g} "
                  f"| {text['original_perplexity']:.5g}, {text['converted_perplexity']:.5g} |", flush=True)


if __name__ == "__main__":
    main()
