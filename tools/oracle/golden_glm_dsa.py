"""The goldens of GLM-5.2 and DeepSeek-V3: tests/golden/glm_dsa/{a,b,c,d}. See golden_run.py.

Beside the trunk they hold the MTP head: its logits over the whole text, and three drafts at every position from the
last of the prompt on.
"""

import numpy as np

import float_checkpoint
from glm_dsa import Glm, drafts
import glm_dsa_layout as layout
from golden_run import GREEDY, MIN_MARGIN, cut_margin
from mutations_glm_dsa import MISTAKES  # noqa: F401
from plain_torch import Trace, torch
import safetensors_writer
import tiny_glm_dsa
import tokenizer_json

NAME = "glm_dsa"
SEEDS = {"a": 2, "b": 13, "c": 0, "d": 1}
Model = Glm
read_config = float_checkpoint.read_config
read_stored = safetensors_writer.read_checkpoint
DRAFTS = 3
MIN_SIGN = 3e-6  # how near a product of the indexer may come to zero, in units of its factors' lengths
ACCEPTED = (0.2, 0.85)  # share of drafts that should be right


def write(name, seed, directory):
    config = tiny_glm_dsa.config(name)
    float_checkpoint.write_checkpoint(directory, config, tokenizer_json.glm_generation(config), layout.groups(config),
                                      tiny_glm_dsa.initial_tensors(config, seed), fused=name in tiny_glm_dsa.FUSED,
                                      largest=tiny_glm_dsa.largest_byte)
    tokenizer_json.write_tokenizer(directory, tokenizer_json.glm_file(tiny_glm_dsa.VOCABULARY),
                                   tokenizer_json.glm_settings(config))


def widen(config, stored):
    return float_checkpoint.unfuse(float_checkpoint.widen(stored))


def read(directory):
    config = read_config(directory)
    return config, widen(config, read_stored(directory))


def prompt(name):
    text = tiny_glm_dsa.PROMPTS[name]
    return text, tiny_glm_dsa.encode_prose(text)


def moe_layers(config):
    return [layer for layer in range(config["num_hidden_layers"]) if not layout.is_dense(config, layer)]


def picks(config):
    return config["num_experts_per_tok"]


def ordinary_ids(config):
    return range(len(tiny_glm_dsa.VOCABULARY.tokens))


def index_layers(config):
    return [layer for layer in range(config["num_hidden_layers"]) if layout.has_indexer(config, layer)]


# ---------------------------------------------------------------------------------------------------------- MTP head


class Mtp:
    """The MTP head over a text whose trunk states are known: the prompt at once, then position by position."""

    def __init__(self, model, state, ids, prompt_length):
        self.trace, self.draft_trace, self.first = Trace(), Trace(), prompt_length - 1
        logits, self.ids, self.draft_logits = [], [], []
        if self.first > 0:
            logits.append(model.mtp(state.f[:self.first], ids[1:self.first + 1], state, self.trace)[0])
        for p in range(self.first, len(ids) - 1):
            first = model.mtp(state.f[p:p + 1], ids[p + 1:p + 2], state, self.trace)
            chain, rows = drafts(model, state, p, first, DRAFTS, self.draft_trace)
            logits.append(first[0])
            self.ids.append(chain)
            self.draft_logits.append(rows)
        self.logits = torch.cat(logits)
        self.draft_logits = torch.stack(self.draft_logits)
        self.accepted = [accepted(chain, ids[p + 2:]) for p, chain in enumerate(self.ids, start=self.first)]


def accepted(chain, truth):
    """How many leading drafts are what came."""
    count = 0
    while count < min(len(chain), len(truth)) and chain[count] == truth[count]:
        count += 1
    return count


def mtp(run):
    if not hasattr(run, "mtp"):
        run.mtp = Mtp(run.model, run.state, run.ids, len(run.prompt))
    return run.mtp


# ------------------------------------------------------------------------------------------------------------ margins


def index_margin(traces, topk):
    """Smallest gap at the cut, in units of the row's largest score; exact ties at zero are decided by position."""
    smallest = float("inf")
    for trace, layer in traces:
        for row in trace.rows("index_scores", layer):
            if len(row) > topk:
                top = row.sort(descending=True).values
                if top[topk - 1] != 0 or top[topk] != 0:
                    smallest = min(smallest, float((top[topk - 1] - top[topk]) / row.abs().max()))
    return smallest


def index_traces(run):
    config, head = run.config, mtp(run)
    layers = [(run.trace, layer) for layer in index_layers(config)]
    return layers + [(head.trace, config["num_hidden_layers"])] if layers else []


def zero_ties(run):
    """(how many cuts fall among scores that are exactly zero, smallest sign margin of those rows)."""
    topk, count, sign = run.config.get("index_topk", 0), 0, float("inf")
    for trace, layer in index_traces(run):
        for row, near in zip(trace.rows("index_scores", layer), trace.get("index_sign", layer)):
            if len(row) > topk:
                top = row.sort(descending=True).values
                if top[topk - 1] == 0 and top[topk] == 0:
                    count, sign = count + 1, min(sign, float(near))
    return count, sign


def group_margin(run):
    kept = run.config["topk_group"]
    scores = [run.trace.get("router_groups", layer) for layer in run.moe_layers]
    head, layer = mtp(run), run.config["num_hidden_layers"]
    return cut_margin(torch.cat([*scores, head.trace.get("router_groups", layer),
                                 head.draft_trace.get("router_groups", layer)]), kept)


def head_margins(run):
    """Router and argmax of the MTP head, drafts among them."""
    head, layer = mtp(run), run.config["num_hidden_layers"]
    router = min(cut_margin(trace.get("router_choice", layer), picks(run.config))
                 for trace in (head.trace, head.draft_trace))
    return router, min(cut_margin(head.logits, 1), cut_margin(head.draft_logits, 1))


def acceptance(run):
    """Share of drafts that were right, of those whose truth is known."""
    head = mtp(run)
    known = sum(min(DRAFTS, len(run.ids) - p - 2) for p in range(head.first, len(run.ids) - 1))
    return sum(head.accepted) / known


def faults(run):
    found, topk = [], run.config.get("index_topk", 0)
    router, argmax = head_margins(run)
    if min(router, argmax) < MIN_MARGIN:
        found.append(f"MTP margins {router:.1e} {argmax:.1e}")
    if not ACCEPTED[0] < acceptance(run) < ACCEPTED[1]:
        found.append(f"acceptance {acceptance(run):.2f}")
    if len(set(run.greedy)) < 32:
        found.append(f"only {len(set(run.greedy))} different greedy ids")
    if run.config.get("n_group", 1) > 1 and group_margin(run) < MIN_MARGIN:
        found.append(f"group margin {group_margin(run):.1e}")
    if 0 < topk < len(run.ids):
        margin = index_margin(index_traces(run), topk)
        _, sign = zero_ties(run)
        if margin < MIN_MARGIN:
            found.append(f"index margin {margin:.1e}")
        if sign < MIN_SIGN:
            found.append(f"index sign {sign:.1e}")
    return found


# --------------------------------------------------------------------------------------------------- facts and arrays


def facts(run):
    head = mtp(run)
    index = index_layers(run.config)
    own = {"latent_norm_eps": run.model.latent_eps, "index_layers": index, "index_topk": run.config.get("index_topk"),
           "mtp_layer": run.config["num_hidden_layers"], "first_draft_position": head.first, "draft_steps": DRAFTS,
           "drafts_kept": drafts_kept(run), "acceptance": acceptance(run)}
    if index and run.config["index_topk"] < len(run.ids):
        own |= {"index_margin": index_margin(index_traces(run), run.config["index_topk"]),
                "index_zero_ties": zero_ties(run)[0]}
    return {**run.first_facts(), **run.sequence_facts(), **own, **run.last_facts()}


def drafts_kept(run):
    """Numbers of the drafts whose logits are kept."""
    return np.linspace(0, GREEDY - 1, 6).astype(int).tolist()


def padded(rows):
    """Ragged rows as one matrix, filled up with -1."""
    width = max(len(row) for row in rows)
    return np.stack([np.pad(np.asarray(row), (0, width - len(row)), constant_values=-1) for row in rows])


def scores_matrix(rows, kept, width):
    """[kept, width] index scores, zeros after a token's own position."""
    return np.stack([np.pad(np.asarray(rows[position]), (0, width - len(rows[position]))) for position in kept])


def add_index(file, prefix, trace, state, layer, kept):
    rows = trace.rows("index_scores", layer)
    file.add(f"{prefix}index_picks.{layer}", "i32", padded(trace.rows("index_picks", layer)))
    file.add(f"{prefix}index_scores.{layer}", "f64", scores_matrix(rows, kept, len(rows)))
    file.add(f"{prefix}index_key.{layer}", "f32", state.index_k[layer])


def add_arrays(run, file):
    run.add_residuals(file)
    kept = run.positions_kept()
    file.add("final_norm", "f32", run.state.f[kept])
    run.add_router(file)
    for layer in run.layers:
        file.add(f"mla_c.{layer}", "f32", run.state.c[layer])
        file.add(f"mla_r.{layer}", "f32", run.state.r[layer])
    for layer in index_layers(run.config):
        add_index(file, "", run.trace, run.state, layer, kept)
    add_mtp(run, mtp(run), file)


def add_mtp(run, head, file):
    layer = run.config["num_hidden_layers"]
    kept = [position for position in run.positions_kept() if position < len(run.ids) - 1]
    file.add("mtp_logits", "f64", head.logits)
    file.add("mtp_prefix_l2", "f64", head.trace.get("prefix", layer).norm(dim=1))
    file.add("mtp_router_ids", "i32", head.trace.get("router_ids", layer))
    file.add("mtp_router_weights", "f64", head.trace.get("router_weights", layer))
    file.add(f"mla_c.{layer}", "f32", run.state.c[layer])
    file.add(f"mla_r.{layer}", "f32", run.state.r[layer])
    if layout.has_indexer(run.config, layer):
        add_index(file, "", head.trace, run.state, layer, kept)
    file.add("draft_ids", "i32", head.ids)
    file.add("draft_accepted", "i32", head.accepted)
    file.add("draft_logits", "f64", head.draft_logits[drafts_kept(run)])


def observe(model, facts, state, trace):
    """What a mistake may move beside logits and router weights."""
    ids = facts["prompt_ids"] + facts["greedy_ids"]
    logits, m, visible = model.mtp(state.f[:-1], ids[1:], state)
    last = (logits[-1:], m[-1:], None if visible is None else visible[-1:])
    _, rows = drafts(model, state, len(ids) - 2, last, DRAFTS)
    seen = {"mtp logits": logits, "draft logits": rows}
    if facts["index_layers"]:
        scores = [row for number in facts["index_layers"] for row in trace.rows("index_scores", number)]
        seen["index scores"] = torch.cat(scores)
    return seen


def check(directory):
    """An FP8 checkpoint has many codes, and several scales in a matrix."""
    scales = [words for name, (_, words) in read_stored(directory).items() if name.endswith("_scale_inv")]
    if scales:
        assert max(len(set(words.ravel().tolist())) for words in scales) >= 4
        codes = np.concatenate([words.ravel() for _, (tag, words) in read_stored(directory).items() if tag == "F8_E4M3"])
        assert len(set(codes.tolist())) > 200, len(set(codes.tolist()))
