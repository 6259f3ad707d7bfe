"""The mistakes of DeepSeek-V4 that others made (deepseek_v4.md 3, 8.2); `mutations.py` measures them."""

import numpy as np

from deepseek_v4 import DeepSeekV4 as Oracle
import deepseek_v4_layout as layout
from mistakes import Catalogue, every, experts_in_the_order_of_names
from plain_torch import rms_norm, torch

MISTAKES = Catalogue()
mistake = MISTAKES.mistake


# ------------------------------------------------------------------------------------------------------- streams (mHC)


@mistake("3.2", "the mixing matrix not transposed")
class MixUntransposed(Oracle):
    def merge(self, out, x, post, mix):
        return super().merge(out, x, post, mix.transpose(1, 2))


@mistake("3.2", "no Sinkhorn: the softmax alone")
class NoSinkhorn(Oracle):
    def sinkhorn(self, c):
        return torch.softmax(c, dim=-1)


@mistake("3.2", "two Sinkhorn rounds instead of twenty")
class FewRounds(Oracle):
    def __init__(self, config, tensors):
        super().__init__({**config, "hc_sinkhorn_iters": 2}, tensors)


@mistake("3.2", "post without the factor 2")
class PostHalved(Oracle):
    def site(self, layer, name, x):
        h, post, mix = super().site(layer, name, x)
        return h, post / 2, mix


@mistake("3.2", "the root mean square of each stream by itself")
class StreamwiseNorm(Oracle):
    def stream_products(self, x, fn):
        return (x * (x.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt()).flatten(1) @ fn.T


@mistake("3.2", "the streams normed before they are collapsed")
class CollapseNormed(Oracle):
    def site(self, layer, name, x):
        _, post, mix = super().site(layer, name, x)
        m = self.stream_products(x, self.w(layer, f"{name}_fn"))[:, :4]
        pre = torch.sigmoid(m * self.w(layer, f"{name}_scale")[0] + self.w(layer, f"{name}_base")[:4])
        return (pre[..., None] * rms_norm(x, 1, self.eps)).sum(1), post, mix


@mistake("3.9", "the head takes the mean of the streams")
class MeanHead(Oracle):
    def logits(self, x, name, weights, norm):
        return rms_norm(x.mean(1), norm, self.eps) @ self.weights["head.weight"].T


# ----------------------------------------------------------------------------------------------------------- attention


@mistake("3.5", "no norm of the query heads")
class NoHeadNorm(Oracle):
    """Undone after the rotation, which keeps lengths: each head is as long again as the projection made it."""

    def attention(self, layer, x, state, trace):
        qr = rms_norm(x @ self.w(layer, "attn.wq_a.weight").T, self.w(layer, "attn.q_norm.weight"), self.eps)
        q = (qr @ self.w(layer, "attn.wq_b.weight").T).unflatten(1, (self.config["num_attention_heads"], -1))
        self.lengths = iter(q.pow(2).mean(-1, keepdim=True).sqrt())
        return super().attention(layer, x, state, trace)

    def attend(self, layer, q, position, picked, state):
        return super().attend(layer, q * next(self.lengths), position, picked, state)


@mistake("3.5", "no sink")
class NoSink(Oracle):
    def w(self, layer, name):
        found = super().w(layer, name)
        return torch.full_like(found, -1e9) if name == "attn.attn_sink" else found


@mistake("3.5", "no inverse rotation of the output")
class NoInverse(Oracle):
    def rotate(self, layer, x, positions, direction=1):
        return x if direction < 0 else super().rotate(layer, x, positions)


@mistake("3.4", "half-split pairs")
class HalfSplit(Oracle):
    def rotate(self, layer, x, positions, direction=1):
        rope = self.config["qk_rope_head_dim"]
        order = torch.arange(rope).view(2, -1).T.flatten()
        paired = torch.cat([x[..., :-rope], x[..., -rope:][..., order]], dim=-1)
        turned = super().rotate(layer, paired, positions, direction)
        back = torch.argsort(order)
        return torch.cat([turned[..., :-rope], turned[..., -rope:][..., back]], dim=-1)


@mistake("3.4", "the first channels rotated")
class RotatedFirst(Oracle):
    def rotate(self, layer, x, positions, direction=1):
        rope = self.config["qk_rope_head_dim"]
        moved = torch.cat([x[..., rope:], x[..., :rope]], dim=-1)
        turned = super().rotate(layer, moved, positions, direction)
        return torch.cat([turned[..., -rope:], turned[..., :-rope]], dim=-1)


@mistake("3.4", "the plain base in layers that compress")
class PlainEverywhere(Oracle):
    def frequencies(self, layer):
        d = self.config["qk_rope_head_dim"]
        return self.config["rope_theta"] ** -(torch.arange(0, d, 2, dtype=self.dtype) / d)


@mistake("3.4", "no YaRN")
class NoYarn(Oracle):
    def frequencies(self, layer):
        d = self.config["qk_rope_head_dim"]
        base = self.config["compress_rope_theta" if layout.ratio(self.config, layer) else "rope_theta"]
        return base ** -(torch.arange(0, d, 2, dtype=self.dtype) / d)


@mistake("3.5", "a window one position wider")
class WiderWindow(Oracle):
    def __init__(self, config, tensors):
        super().__init__({**config, "sliding_window": config["sliding_window"] + 1}, tensors)


@mistake("3.5", "every position in the window")
class EndlessWindow(Oracle):
    def __init__(self, config, tensors):
        super().__init__({**config, "sliding_window": 1 << 20}, tensors)


@mistake("3.5", "one output group for all")
class GroupsMixed(Oracle):
    def output(self, layer, o):
        groups = self.config["o_groups"]
        u = o.flatten(1).unflatten(1, (groups, -1)).mean(1)
        return (u @ self.w(layer, "attn.wo_a.weight").T) @ self.w(layer, "attn.wo_b.weight").T


@mistake("3.5", "heads dealt to output groups in turn")
class GroupsInTurn(Oracle):
    def output(self, layer, o):
        groups = self.config["o_groups"]
        order = torch.arange(o.shape[1]).view(-1, groups).T.flatten()
        return super().output(layer, o[:, order])


# ---------------------------------------------------------------------------------------------- compressor and indexer


@mistake("3.6", "entries placed at the end of their window")
class EntryAtEnd(Oracle):
    def entry_position(self, window, ratio):
        return window * ratio + ratio - 1


@mistake("3.6", "entries placed at their number")
class EntryAtNumber(Oracle):
    def entry_position(self, window, ratio):
        return window


@mistake("3.6", "windows of 4 without overlap")
class NoOverlap(Oracle):
    def pool(self, rows, gates, window, ratio):
        if ratio != 4:
            return super().pool(rows, gates, window, ratio)
        own, d = slice(window * ratio, (window + 1) * ratio), rows.shape[1] // 2
        return (rows[own, d:] * torch.softmax(gates[own, d:], dim=0)).sum(0)


@mistake("3.6", "the halves of overlapping windows exchanged")
class HalvesExchanged(Oracle):
    def pool(self, rows, gates, window, ratio):
        if ratio == 4:
            rows, gates = (torch.cat(part.chunk(2, dim=1)[::-1], dim=1) for part in (rows, gates))
        return super().pool(rows, gates, window, ratio)


@mistake("3.6", "the window before the first one weighs as zeros")
class ZerosBefore(Oracle):
    def pool(self, rows, gates, window, ratio):
        if ratio != 4 or window > 0:
            return super().pool(rows, gates, window, ratio)
        d = rows.shape[1] // 2
        values, gate = (torch.cat([torch.zeros(ratio, d, dtype=self.dtype), part[:ratio, d:]]) for part in (rows, gates))
        return (values * torch.softmax(gate, dim=0)).sum(0)


@mistake("3.6", "the mean of a window instead of its weights")
class MeanOfWindow(Oracle):
    def pool(self, rows, gates, window, ratio):
        return super().pool(rows, torch.zeros_like(gates), window, ratio)


@mistake("3.6", "no compressed entries")
class NoEntries(Oracle):
    def compressed(self, layer, x, qr, positions, state, trace):
        super().compressed(layer, x, qr, positions, state, trace)
        return [torch.zeros(0, dtype=torch.long)] * len(x)


@mistake("3.6", "an entry seen only after the token that closes it")
class SeenLate(Oracle):
    def compressed(self, layer, x, qr, positions, state, trace):
        picked = super().compressed(layer, x, qr, positions, state, trace)
        ratio = layout.ratio(self.config, layer)
        return [rows[rows < int(p) // ratio] if ratio else rows for rows, p in zip(picked, positions)]


@mistake("3.7", "every entry picked")
class PickAll(Oracle):
    def select(self, layer, scores, trace):
        super().select(layer, scores, trace)
        return torch.arange(len(scores))


@mistake("3.7", "the newest entries instead of the best")
class PickNewest(Oracle):
    def select(self, layer, scores, trace):
        return super().select(layer, torch.arange(len(scores)).to(scores), trace)


@mistake("3.7", "the indexer's queries not rotated")
class IndexUnrotated(Oracle):
    def index_scores(self, layer, x, qr, positions, state):
        return super().index_scores(layer, x, qr, torch.zeros_like(positions), state)


@mistake("3.7", "no factors in index scores (they change no choice)", "index scores")
class IndexUnscaled(Oracle):
    def index_scores(self, layer, x, qr, positions, state):
        return super().index_scores(layer, x, qr, positions, state) * self.config["index_head_dim"] ** 0.5


# ----------------------------------------------------------------------------------------------------------------- MoE


@mistake("3.8", "biased scores as weights")
class BiasedWeights(Oracle):
    def router(self, layer, x, ids):
        picked, _, choice = super().router(layer, x, ids)
        weights = choice.gather(1, picked)
        return picked, weights / weights.sum(-1, keepdim=True) * self.config["routed_scaling_factor"], choice


@mistake("3.8", "sigmoid scores")
class SigmoidScores(Oracle):
    def router(self, layer, x, ids):
        picked, _, choice = super().router(layer, x, ids)
        weights = torch.sigmoid(x @ self.w(layer, "ffn.gate.weight").T).gather(1, picked)
        return picked, weights / weights.sum(-1, keepdim=True) * self.config["routed_scaling_factor"], choice


@mistake("3.8", "hash layers weigh their experts alike")
class HashAlike(Oracle):
    def router(self, layer, x, ids):
        picked, weights, choice = super().router(layer, x, ids)
        if layout.is_hash_routed(self.config, layer):
            weights = weights.mean(-1, keepdim=True).expand_as(weights)
        return picked, weights, choice


@mistake("3.8", "no clamp in SwiGLU")
class NoClamp(Oracle):
    def swiglu(self, gate, up):
        return torch.nn.functional.silu(gate) * up


@mistake("3.8", "the shared expert not clamped")
class SharedUnclamped(Oracle):
    def gated(self, layer, which, x):
        self.free = which == "shared_experts"
        return super().gated(layer, which, x)

    def swiglu(self, gate, up):
        return torch.nn.functional.silu(gate) * up if self.free else super().swiglu(gate, up)


@mistake("3.8", "the gate clamped from below too")
class ClampBelow(Oracle):
    def swiglu(self, gate, up):
        return super().swiglu(gate.clamp(min=-self.config["swiglu_limit"]), up)


@mistake("3.8", "the shared expert scaled too")
class SharedScaled(Oracle):
    def gated(self, layer, which, x):
        y = super().gated(layer, which, x)
        return y * self.config["routed_scaling_factor"] if which == "shared_experts" else y


@mistake("1.2", "epsilon 1e-5")
class OtherEps(Oracle):
    def __init__(self, config, tensors):
        super().__init__({**config, "rms_norm_eps": 1e-5}, tensors)


# ------------------------------------------------------------------------------------------------------------ MTP block


@mistake("7.1", "MTP: the token of the position itself", "mtp logits")
class TokenOfPosition(Oracle):
    def mtp(self, streams, ids, state, trace=None):
        return super().mtp(streams, [ids[0], *ids[:-1]], state, trace)


@mistake("7.1", "MTP: the streams' mean instead of each", "mtp logits")
class MeanStream(Oracle):
    def mtp(self, streams, ids, state, trace=None):
        return super().mtp(streams.mean(1, keepdim=True).expand_as(streams), ids, state, trace)


# ----------------------------------------------------------------------------------------------------- stored tensors


@mistake("2.3", "FP4 nibbles swapped")
def nibbles_swapped(stored):
    def swap(words):
        packed = words.view(np.uint8)
        return ((packed << 4) | (packed >> 4)).view(np.int8)
    return {name: (tag, swap(words) if tag == "I8" else words) for name, (tag, words) in stored.items()}


@mistake("2.3", "every scale byte taken as 127")
def scales_of_one(stored):
    return {name: (tag, np.full_like(words, 127) if tag == "F8_E8M0" else words) for name, (tag, words) in stored.items()}


@mistake("2.2", "gate and up exchanged")
def gate_and_up(stored):
    changed = dict(stored)
    for name in stored:
        if ".experts." in name and ".w1." in name:
            other = name.replace(".w1.", ".w3.")
            changed[name], changed[other] = stored[other], stored[name]
    return changed


@mistake("2.4", "experts taken in the order of the file: 0, 1, 10, 11, 2, ...", models=["a"])
def experts_by_place(stored):
    return experts_in_the_order_of_names(stored)


@mistake("1.2", "the table of a hash layer read with the id of the token before")
def table_shifted(stored):
    return every(stored, "tid2eid", lambda words: np.roll(words, 1, axis=0))
