"""How many of a token's experts a layer's router would have named before its time, on a demo model.

    /usr/bin/python3 tools/trace/foresight.py demo/olmoe [demo/glm-5.2]

The router of a layer is asked about two earlier streams: the one before the experts of the layer before (`early`), and the
one before the layer's own attention (`attention`). Texts are the demo's own, continued greedily by the float64 oracle; what is
counted are decoded tokens. `last` is what the token before used. Recall: of the experts used, those that were named (as many
are named as are used). For OLMoE and GLM, whose residual is one stream.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "train"), os.path.join(HERE, "..", "oracle")]
import plain_torch  # noqa: E402
import try_demo  # noqa: E402
from demos import DEMOS  # noqa: E402

TEXTS = ["Once upon a time there was", "The capital of France is", "one two three four five", "2 + 3 ="]
COUNT = 48


def weight(model, layer, name):
    try:
        return model.w(layer, name)
    except KeyError:
        return model.w(layer, name + ".weight")


def named(model, layer, stream):
    x = model.norm(stream, weight(model, layer, "post_attention_layernorm"))
    return [set(row) for row in model.router(layer, x)[0].tolist()]


def measure(directory):
    demo = next(demo for name, demo in DEMOS.items() if os.path.basename(directory.rstrip("/")) == name)
    writer = try_demo.Writer(demo, directory)
    model, hits, uses = writer.model, {"early": 0, "attention": 0, "last": 0}, {"early": 0, "attention": 0, "last": 0}
    layers = range(model.config["num_hidden_layers"])
    for text in TEXTS:
        trace, prompt = plain_torch.Trace(), writer.encoder.document([*writer.format.begin_text(), ("text", text)])
        plain_torch.greedy(model, prompt, COUNT, trace)
        for layer in layers:
            if ("router_ids", layer) not in trace.parts:
                continue
            used = [set(row) for row in trace.get("router_ids", layer).tolist()]
            guesses = {"last": [set()] + used[:-1]}
            if layer > 0:
                before = trace.get("prefix", layer - 1)
                guesses["attention"] = named(model, layer, before)
                guesses["early"] = named(model, layer, before - trace.get("mlp", layer - 1))
            for kind, guess in guesses.items():
                for row in range(len(prompt), len(used)):
                    hits[kind] += len(used[row] & guess[row])
                    uses[kind] += len(used[row])
    print(directory, *(f"{kind} {100 * hits[kind] / uses[kind]:.1f} %" for kind in hits), f"of {uses['last']} experts")


if __name__ == "__main__":
    for path in sys.argv[1:]:
        measure(path)
