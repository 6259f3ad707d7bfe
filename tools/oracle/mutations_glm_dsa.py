"""The mistakes of GLM-5.2 that others made (glm_5_2.md 3, 4, 9.2, 10.1); `mutations.py` measures them.

Those of the MTP head cannot show in the trunk's logits, some of the indexer only in its scores.
"""

import numpy as np

from glm_dsa import INDEX_NORM_EPS, Glm as Oracle
import glm_dsa_layout as layout
from mistakes import Catalogue, every
from plain_torch import rms_norm, torch

MISTAKES = Catalogue()
mistake = MISTAKES.mistake
DROPPING = ["b", "c"]  # models whose indexer drops positions
INDEXED = ["a", *DROPPING]
MTP = "mtp logits"
DRAFT = "draft logits"
SCORES = "index scores"


def halves(x):
    return x.chunk(2, dim=-1)


class HalfSplit(Oracle):
    """Pairs (j, j + d/2): the other layout of RoPE."""

    def split_pairs(self, x):
        return halves(x)

    def join_pairs(self, a, b):
        return torch.cat([a, b], dim=-1)


# --------------------------------------------------------------------------------------------------------------- MLA


@mistake("3.3", "half-split RoPE in attention")
class HalfSplitAttention(HalfSplit):
    def index_rotate(self, x, positions):
        return Oracle.index_rotate(Oracle(self.config, {}, self.dtype), x, positions)


@mistake("1.2", "theta of another place (10000 for 8000000, 1e6 for 10000)")
class OtherTheta(Oracle):
    def frequencies(self):
        theta, _ = layout.rope(self.config)
        other, d = (10000.0 if theta > 1e6 else 1e6), self.config["qk_rope_head_dim"]
        return other ** (-torch.arange(0, d, 2, dtype=self.dtype) / d)


@mistake("3.2", "the other epsilon of the latent norms")
class OtherLatentEps(Oracle):
    def latent_norm(self, x, weight):
        return rms_norm(x, weight, 1e-5 if self.latent_eps == 1e-6 else 1e-6)


@mistake("3.4", "the rotated key normed")
class RotatedKeyNormed(Oracle):
    def latent(self, layer, x):
        c, r = super().latent(layer, x)
        return c, self.latent_norm(r, 1)


@mistake("3.4", "scale (no-RoPE width)^-1/2")
class ScaleOfNope(Oracle):
    def scale(self):
        return self.config["qk_nope_head_dim"] ** -0.5


@mistake("3.4", "kv_b rows taken as all keys, then all values")
class KeysThenValues(Oracle):
    def expand(self, layer, c):
        heads, nope = self.config["num_attention_heads"], self.config["qk_nope_head_dim"]
        kv = c @ self.w(layer, "self_attn.kv_b_proj.weight").T
        return kv[:, :heads * nope].unflatten(1, (heads, -1)), kv[:, heads * nope:].unflatten(1, (heads, -1))


@mistake("3.4", "the rotated part at the front of attention heads")
class RotatedFirst(Oracle):
    def queries(self, layer, x, positions):
        q, cq = super().queries(layer, x, positions)
        plain = (cq @ self.w(layer, "self_attn.q_b_proj.weight").T).view_as(q)
        rotated = self.config["qk_rope_head_dim"]
        return torch.cat([plain[..., rotated:], self.rotate(plain[..., :rotated], positions)], dim=-1), cq


@mistake("3.3", "rotated by the place in the chunk")
class PlaceInChunk(Oracle):
    def rotate(self, x, positions):
        return super().rotate(x, positions - positions[0])


@mistake("6", "no YaRN at all", models=["d"])
class NoYarn(Oracle):
    def yarn_ramp(self, theta, scaling, d):
        return 1.0

    def yarn_mscale(self, scaling):
        return 1.0


@mistake("6", "YaRN without the softmax scale", models=["d"])
class NoYarnScale(Oracle):
    def yarn_mscale(self, scaling):
        return 1.0


@mistake("6", "YaRN's softmax scale not squared", models=["d"])
class YarnScaleOnce(Oracle):
    def yarn_mscale(self, scaling):
        return super().yarn_mscale(scaling) ** 0.5


@mistake("6", "every frequency divided by YaRN's factor", models=["d"])
class YarnEverywhere(Oracle):
    def yarn_ramp(self, theta, scaling, d):
        return 1 / scaling["factor"]


@mistake("6", "YaRN's ramp reversed", models=["d"])
class YarnReversed(Oracle):
    def yarn_ramp(self, theta, scaling, d):
        return super().yarn_ramp(theta, scaling, d).flip(0)


# ----------------------------------------------------------------------------------------------------------- indexer


@mistake("3.5", "selection ignored", models=DROPPING)
class SelectAll(Oracle):
    def select(self, scores, causal, trace, layer):
        super().select(scores, causal, trace, layer)
        return causal


@mistake("3.5", "selection ignored in shared layers", models=DROPPING)
class SharedSeeAll(Oracle):
    def shared_visible(self, layer, before, causal):
        return causal


@mistake("3.5", "index_topk one less", models=DROPPING)
class TopkLess(Oracle):
    def index_topk(self):
        return super().index_topk() - 1


@mistake("3.5", "index_topk one more", models=DROPPING)
class TopkMore(Oracle):
    def index_topk(self):
        return super().index_topk() + 1


@mistake("3.5", "the last positions instead of the best", models=DROPPING)
class SlidingWindow(Oracle):
    def select(self, scores, causal, trace, layer):
        return super().select(torch.arange(scores.shape[1]).to(scores).expand_as(scores), causal, trace, layer)


@mistake("3.5", "future positions take slots (masked after the choice)", models=DROPPING)
class MaskedLate(Oracle):
    def select(self, scores, causal, trace, layer):
        super().select(scores, causal, trace, layer)
        order = torch.sort(scores, dim=-1, descending=True, stable=True).indices[:, :self.index_topk()]
        own = torch.eye(scores.shape[1], dtype=torch.bool)[causal.sum(1) - 1]
        return (torch.zeros_like(causal).scatter(1, order, True) & causal) | own


@mistake("3.5", "ties go to the higher position", models=["b"])
class TiesHigh(Oracle):
    def select(self, scores, causal, trace, layer):
        picked = super().select(scores.flip(1), causal.flip(1), trace, layer)
        return picked.flip(1)


@mistake("3.5", "no ReLU", models=DROPPING)
class NoRelu(Oracle):
    def index_activation(self, products):
        return products


@mistake("3.5", "ReLU after the sum over heads", models=DROPPING)
class ReluLate(Oracle):
    def index_scores(self, w, products):
        return torch.relu(torch.einsum("th,thj->tj", w, products))


@mistake("3.5", "absolute weights of the heads", models=DROPPING)
class AbsoluteWeights(Oracle):
    def index_weights(self, layer, x):
        return super().index_weights(layer, x).abs()


@mistake("3.5", "half-split RoPE in the indexer", models=DROPPING)
class HalfSplitIndexer(Oracle):
    def index_rotate(self, x, positions):
        return HalfSplit.index_rotate(HalfSplit(self.config, {}, self.dtype), x, positions)


@mistake("3.5", "the indexer's last channels rotated", models=DROPPING)
class RotatedLast(Oracle):
    def index_rotate(self, x, positions):
        plain = x.shape[-1] - self.config["qk_rope_head_dim"]
        return torch.cat([x[..., :plain], self.rotate(x[..., plain:], positions)], dim=-1)


@mistake("3.5", "no RoPE in the indexer", models=DROPPING)
class IndexUnrotated(Oracle):
    def index_rotate(self, x, positions):
        return x


@mistake("3.5", "RMSNorm for the indexer's LayerNorm", models=DROPPING)
class IndexRmsNorm(Oracle):
    def index_norm(self, layer, x):
        weight, bias = (self.w(layer, f"self_attn.indexer.k_norm.{part}") for part in ("weight", "bias"))
        return rms_norm(x, weight, INDEX_NORM_EPS) + bias


@mistake("3.5", "no bias in the indexer's norm", models=DROPPING)
class IndexNoBias(Oracle):
    def index_norm(self, layer, x):
        return super().index_norm(layer, x) - self.w(layer, "self_attn.indexer.k_norm.bias")


@mistake("3.5", "RoPE before the indexer's norm", models=DROPPING)
class IndexNormLate(Oracle):
    def index_keys(self, layer, x, positions):
        raw = self.index_rotate(x @ self.w(layer, "self_attn.indexer.wk.weight").T, positions)
        return self.index_norm(layer, raw)


@mistake("3.5", "the indexer fed with the un-normed latent", models=DROPPING)
class IndexFromRaw(Oracle):
    def index_queries(self, layer, cq, x, positions):
        return super().index_queries(layer, x @ self.w(layer, "self_attn.q_a_proj.weight").T, x, positions)

    def index_keys(self, layer, x, positions):
        return super().index_keys(layer, x, positions)


@mistake("3.5", "index keys kept from the first drop on", models=DROPPING)
class KeysFromFirstDrop(Oracle):
    def visible(self, layer, x, cq, positions, state, before, trace):
        picked = super().visible(layer, x, cq, positions, state, before, trace)
        if layout.has_indexer(self.config, layer):
            state.index_k[layer][:self.index_topk()] = 0
        return picked


@mistake("3.5", "no factor d^-1/2 in index scores (it changes no choice)", SCORES, models=INDEXED)
class IndexUnscaled(Oracle):
    def index_products(self, q, keys):
        return super().index_products(q, keys) * self.config["index_head_dim"] ** 0.5


@mistake("3.5", "no factor heads^-1/2 in index scores (it changes no choice)", SCORES, models=INDEXED)
class IndexWeightsUnscaled(Oracle):
    def index_weights(self, layer, x):
        return super().index_weights(layer, x) * self.config["index_n_heads"] ** 0.5


@mistake("3.5", "an indexer used although nothing can be dropped", "nothing", models=["a"])
class DenseAnyway(Oracle):
    def select(self, scores, causal, trace, layer):
        super().select(scores, causal, trace, layer)
        return causal


# --------------------------------------------------------------------------------------------------------------- MoE


@mistake("3.6", "biased scores as weights")
class BiasedWeights(Oracle):
    def router(self, layer, x):
        ids, _, choice, groups = super().router(layer, x)
        return ids, self.renormalise(choice.gather(1, ids)), choice, groups


@mistake("3.6", "router bias ignored")
class NoBias(Oracle):
    def limit_groups(self, choice):
        return super().limit_groups(choice - self.bias)

    def router(self, layer, x):
        self.bias = self.w(layer, "mlp.gate.e_score_correction_bias")
        return super().router(layer, x)


@mistake("3.6", "softmax router")
class SoftmaxRouter(Oracle):
    def router(self, layer, x):
        s = torch.softmax(x @ self.w(layer, "mlp.gate.weight").T, dim=-1)
        choice, groups = self.limit_groups(s + self.w(layer, "mlp.gate.e_score_correction_bias"))
        ids = torch.sort(choice, dim=-1, descending=True, stable=True).indices[:, :self.config["num_experts_per_tok"]]
        return ids, self.renormalise(s.gather(1, ids)), choice, groups


@mistake("3.6", "no renormalisation")
class NotRenormalised(Oracle):
    def renormalise(self, picked):
        return picked * self.config["routed_scaling_factor"]


@mistake("3.6", "no routed scaling factor")
class NotScaled(Oracle):
    def renormalise(self, picked):
        return super().renormalise(picked) / self.config["routed_scaling_factor"]


@mistake("3.6", "shared expert scaled too")
class SharedScaled(Oracle):
    def shared_expert(self, layer, x):
        return super().shared_expert(layer, x) * self.config["routed_scaling_factor"]


@mistake("3.6", "no shared expert")
class NoShared(Oracle):
    def shared_expert(self, layer, x):
        return torch.zeros_like(x)


@mistake("3.6", "no groups", models=["d"])
class NoGroups(Oracle):
    def limit_groups(self, choice):
        return choice, torch.zeros(len(choice), 1, dtype=self.dtype)


@mistake("3.6", "a group counts its best expert only", models=["d"])
class GroupOfBest(Oracle):
    def group_score(self, members):
        return members.amax(-1)


@mistake("3.6", "a group counts all its experts", models=["d"])
class GroupOfAll(Oracle):
    def group_score(self, members):
        return members.sum(-1)


# --------------------------------------------------------------------------------------------------------- MTP head


@mistake("4.1", "MTP: hidden half first", MTP)
class HiddenFirst(Oracle):
    def mtp_input(self, layer, f, ids):
        e = self.norm(self.embed(ids), self.w(layer, "enorm.weight"))
        h = self.norm(f, self.w(layer, "hnorm.weight"))
        return torch.cat([h, e], dim=-1) @ self.w(layer, "eh_proj.weight").T


@mistake("4.1", "MTP: enorm and hnorm exchanged", MTP)
class NormsExchanged(Oracle):
    def mtp_input(self, layer, f, ids):
        e = self.norm(self.embed(ids), self.w(layer, "hnorm.weight"))
        h = self.norm(f, self.w(layer, "enorm.weight"))
        return torch.cat([e, h], dim=-1) @ self.w(layer, "eh_proj.weight").T


@mistake("4.1", "MTP: fed with the hidden state before the final norm", MTP)
class BeforeFinalNorm(Oracle):
    """The gain of the final norm is what is missing: the length does not survive hnorm."""

    def mtp_input(self, layer, f, ids):
        return super().mtp_input(layer, f / self.weights["model.norm.weight"], ids)


@mistake("4.1", "MTP: the final norm of the trunk for shared_head.norm", MTP)
class TrunkNorm(Oracle):
    def w(self, layer, name):
        return self.weights["model.norm.weight"] if name == "shared_head.norm.weight" else super().w(layer, name)


@mistake("4.1", "MTP: token of the position itself instead of the next", MTP)
class TokenOfPosition(Oracle):
    def mtp(self, f, ids, state, trace=None):
        shifted = [ids[0], *ids[:-1]]
        return super().mtp(f, shifted, state, trace)


@mistake("4.1", "MTP: position p + 1 (its caches are its own, and RoPE is relative)", "nothing")
class PositionAhead(Oracle):
    def rotate(self, x, positions):
        return super().rotate(x, positions + 1)


@mistake("4.2", "MTP: recycled before shared_head.norm", DRAFT)
class RecycledRaw(Oracle):
    def recycled(self, m, r):
        return r


@mistake("4.4", "MTP: drafts appended to the history they attend to", DRAFT)
class DraftsAppended(Oracle):
    def draft(self, m, visible, ids, position, state, trace=None):
        layer, positions = layout.mtp_layer(self.config), torch.tensor([position])
        x = self.norm(self.mtp_input(layer, m, ids), self.w(layer, "input_layernorm.weight"))
        self.append_keys(layer, x, positions, state)
        wider = torch.cat([visible, torch.ones(1, len(state.c[layer]) - visible.shape[1], dtype=torch.bool)], dim=1)
        out = super().draft(m, wider, ids, position, state, trace)
        state.c[layer], state.r[layer] = state.c[layer][:-1], state.r[layer][:-1]
        return out


# ----------------------------------------------------------------------------------------------------- stored tensors


@mistake("2.2", "gate and up exchanged")
def gate_and_up(stored):
    def halves_exchanged(words):
        inner = words.shape[1] // 2
        return np.concatenate([words[:, inner:], words[:, :inner]], axis=1)
    changed = every(stored, "experts.gate_up_proj", halves_exchanged)
    for name in stored:
        if ".experts." in name and "gate_proj" in name:
            other = name.replace("gate_proj", "up_proj")
            changed[name], changed[other] = stored[other], stored[name]
    return changed


@mistake("2.4", "FP8 scales divided by", models=["c"])
def scales_divided(stored):
    return every(stored, "_scale_inv", lambda words: (1e-4 / words).astype("<f4"))


@mistake("2.4", "one FP8 scale for the whole matrix", models=["c"])
def one_scale(stored):
    return every(stored, "_scale_inv", lambda words: np.full_like(words, words.ravel()[0]))


@mistake("2.4", "FP8 scale grid read by columns", models=["c"])
def grid_transposed(stored):
    return every(stored, "_scale_inv", lambda words: words.ravel().reshape(words.shape[::-1]).T.copy())


@mistake("2.4", "FP8 subnormals taken as zero", models=["c"])
def no_subnormals(stored):
    def flush(words):
        return np.where((words & 0x78) == 0, words & 0x80, words).astype(np.uint8)
    return {name: (tag, flush(words) if tag == "F8_E4M3" else words) for name, (tag, words) in stored.items()}
