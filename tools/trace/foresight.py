"""How many of a token's experts a layer's router would have named before its time, by the float64 oracles.

    /usr/bin/python3 tools/trace/foresight.py [--write] demo/olmoe demo/glm-5.2 demo/kimi-k3 demo/deepseek-v4

What `sluice run --trace FILE --predict` and `sluice trace report FILE` count, computed without them: --write makes
tests/golden/foresight.json, which the program is tested against. The router of a layer is asked about the residual stream as it
was before the layer's own attention (`attention`) and before the feed-forward half of the layer before (`last-experts`): through
the layer's own norm, gate and bias. Kimi K3's stream is its snapshots and prefix, mixed as the layer mixes them; DeepSeek-V4's is
all of its streams, and layers that are routed by a table are left out.

Texts are continued greedily until one ends or has COUNT new tokens; what is counted are tokens that were generated and then fed.
"""

import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
GOLDEN = os.path.join(ROOT, "tests", "golden", "foresight.json")
sys.path[:0] = [os.path.join(HERE, "..", "train"), os.path.join(HERE, "..", "oracle")]
import plain_torch  # noqa: E402
import torch  # noqa: E402
import try_demo  # noqa: E402
from demos import DEMOS  # noqa: E402

TEXTS = ["Once upon a time there was", "The capital of France is", "one two three four five", "2 + 3 ="]
COUNT = 48


class OneStream:
    """OLMoE and GLM: what the halves of layers add up to."""

    def __init__(self, model, embedding):
        self.model, self.embedding, self.trace = model, embedding, plain_torch.Trace()

    def weight(self, layer, name):
        try:
            return self.model.w(layer, name)
        except KeyError:
            return self.model.w(layer, name + ".weight")

    def embedded(self, ids):
        return self.model.weights[self.embedding][torch.tensor(ids)]

    def after(self, layer, ids):
        return self.trace.get("prefix", layer) if layer >= 0 else self.embedded(ids)

    def before_attention(self, layer, ids):
        return self.after(layer - 1, ids)

    def before_feed_forward(self, layer, ids):
        return self.after(layer, ids) - self.trace.get("mlp", layer)

    def choice(self, layer, stream, ids):
        """What the layer's router chooses by [T, experts], or None if it has no say."""
        if ("router_ids", layer) not in self.trace.parts:
            return None
        return self.model.router(layer, self.model.norm(stream, self.weight(layer, "post_attention_layernorm")))[2]


class Snapshots(OneStream):
    """Kimi K3: a stream is the list of its sources, the prefix last."""

    def closed(self, last, ids):
        """Snapshots that the attention of layers up to `last` has left."""
        return [self.after(layer - 1, ids) for layer in range(last + 1) if self.model.starts_block(layer)]

    def before_attention(self, layer, ids):
        return [*self.closed(layer - 1, ids), self.after(layer - 1, ids)]

    def before_feed_forward(self, layer, ids):
        return [*self.closed(layer, ids), super().before_feed_forward(layer, ids)]

    def choice(self, layer, stream, ids):
        if ("router_ids", layer) not in self.trace.parts:
            return None
        h = self.model.layer_attn_res("mlp", layer, stream, plain_torch.Trace())
        return self.model.router(layer, self.model.rms_norm(h, self.weight(layer, "post_attention_layernorm")), None)[2]


class Streams(OneStream):
    """DeepSeek-V4: each half of a layer begins at a site."""

    def __init__(self, model, embedding):
        super().__init__(model, embedding)
        self.site, self.seen = model.site, {}
        model.site = self.watched_site

    def watched_site(self, layer, name, x):
        self.seen.setdefault((layer, name), []).append(x)
        return self.site(layer, name, x)

    def before_attention(self, layer, ids):
        return torch.cat(self.seen[layer, "hc_attn"])

    def before_feed_forward(self, layer, ids):
        return torch.cat(self.seen[layer, "hc_ffn"])

    def choice(self, layer, stream, ids):
        if layer < self.model.config["num_hash_layers"]:
            return None
        h = self.site(layer, "hc_ffn", stream)[0]
        return self.model.router(layer, plain_torch.rms_norm(h, self.model.w(layer, "ffn_norm.weight"), self.model.eps), ids)[2]


KINDS = {"olmoe": (OneStream, "model.embed_tokens.weight"), "glm_dsa": (OneStream, "model.embed_tokens.weight"),
         "kimi_k3": (Snapshots, "language_model.model.embed_tokens.weight"), "deepseek_v4": (Streams, "embed.weight")}


def continued(model, prompt, stops, trace):
    """Greedy ids, a stop among them as the last; all but the last are fed."""
    state, ids, fresh = model.new_state(), [], prompt
    while len(ids) < COUNT and not (ids and ids[-1] in stops):
        ids.append(int(model.forward(fresh, state, trace)[-1].argmax()))
        fresh = ids[-1:]
    return ids


def counted(used, choice, first):
    """requests, named, named_by_twice of the rows from `first` on. used [T, k], choice [T, experts]."""
    order, width = torch.sort(choice, dim=-1, descending=True, stable=True).indices, used.shape[1]
    counts = {"requests": 0, "named": 0, "named_by_twice": 0, "behind_another_token": 0, "used_by_that": 0}
    for row in range(first, len(used)):
        experts = set(used[row].tolist())
        counts["requests"] += width
        counts["named"] += len(experts & set(order[row, :width].tolist()))
        counts["named_by_twice"] += len(experts & set(order[row, :2 * width].tolist()))
        if row > first:
            counts["behind_another_token"] += width
            counts["used_by_that"] += len(experts & set(used[row - 1].tolist()))
    return counts


def foreseen(writer, text):
    """One text: prompt, ids, and counts by when the routers were asked, of each layer."""
    kind, embedding = KINDS[writer.family.NAME]
    model, site = writer.model, getattr(writer.model, "site", None)
    streams, prompt = kind(model, embedding), writer.encoder.document([*writer.format.begin_text(), ("text", text)])
    ids = continued(model, prompt, writer.stops, streams.trace)
    if site is not None:
        model.site = site
    fed, found = prompt + ids[:-1], {"prompt": prompt, "ids": ids, "attention": {}, "last-experts": {}}
    for layer in range(model.config["num_hidden_layers"]):
        asked = {"attention": streams.before_attention(layer, fed)}
        if layer > 0:
            asked["last-experts"] = streams.before_feed_forward(layer - 1, fed)
        for when, stream in asked.items():
            choice = streams.choice(layer, stream, fed)
            if choice is not None:
                found[when][layer] = counted(streams.trace.get("router_ids", layer), choice, len(prompt))
    return found


def table_row(name, texts):
    def percent(when, part, of):
        layers = [counts for text in texts for counts in text[when].values()]
        return f"{100 * sum(counts[part] for counts in layers) / sum(counts[of] for counts in layers):.1f} %"
    cells = [percent(when, part, "requests") for when in ("attention", "last-experts") for part in ("named", "named_by_twice")]
    return f"| {name} | {' | '.join([*cells, percent('attention', 'used_by_that', 'behind_another_token')])} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="the golden file")
    parser.add_argument("directories", nargs="+")
    options = parser.parse_args()
    golden = {}
    for directory in options.directories:
        name = os.path.basename(os.path.normpath(directory))
        writer = try_demo.Writer(DEMOS[name], directory)
        golden[name] = [foreseen(writer, text) for text in TEXTS]
        print(table_row(name, golden[name]), flush=True)
    if options.write:
        with open(GOLDEN, "w", encoding="utf-8") as file:
            json.dump(golden, file, separators=(",", ":"), sort_keys=True)
            file.write("\n")


if __name__ == "__main__":
    main()
