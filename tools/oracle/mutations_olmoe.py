"""The mistakes of OLMoE that others made (olmoe.md 3, 5.1); `mutations.py` measures them."""

import numpy as np

from mistakes import Catalogue, every, experts_in_the_order_of_names
from olmoe import Olmoe as Oracle
from plain_torch import rms_norm, torch

MISTAKES = Catalogue()
mistake = MISTAKES.mistake


# ---------------------------------------------------------------------------------------------------------- attention


@mistake("3", "qk-norm per head")
class NormPerHead(Oracle):
    def qk_norm(self, x, weight):
        return self.norm(self.heads(x), self.heads(weight[None])).flatten(1)


@mistake("3", "no qk-norm")
class NoQkNorm(Oracle):
    def qk_norm(self, x, weight):
        return x


@mistake("3", "qk-norm without its weights")
class PlainQkNorm(Oracle):
    def qk_norm(self, x, weight):
        return self.norm(x, torch.ones_like(weight))


@mistake("3", "interleaved RoPE")
class Interleaved(Oracle):
    def split_pairs(self, x):
        return x[..., 0::2], x[..., 1::2]

    def join_pairs(self, a, b):
        return torch.stack([a, b], dim=-1).flatten(-2)


@mistake("3", "no RoPE")
class NoRope(Oracle):
    def rotate(self, x, positions):
        return x


@mistake("1", "theta of another place (500 for 10000, 10000 for 500)")
class OtherTheta(Oracle):
    def theta(self):
        return 10000.0 if self.sizes["theta"] == 500.0 else 500.0


@mistake("1", "epsilon 1e-6")
class OtherEps(Oracle):
    def norm(self, x, weight):
        return rms_norm(x, weight, 1e-6)


@mistake("3", "keys not carried from chunk to chunk")
class KeysLost(Oracle):
    def attend(self, q, k, v, start):
        return super().attend(q, k[start:], v[start:], 0)


@mistake("3", "rotated by the place in the chunk")
class PlaceInChunk(Oracle):
    def rotate(self, x, positions):
        return super().rotate(x, positions - positions[0])


@mistake("3", "scale 1/sqrt(width)")
class ScaleOfWidth(Oracle):
    def scale(self):
        return self.config["hidden_size"] ** -0.5


@mistake("3", "query heads dealt to key heads in turn", models=["b"])
class HeadsInTurn(Oracle):
    def key_head(self, head, group):
        return head % (len(head) // group)


@mistake("3", "no clipping", models=["b", "c"])
class NoClipping(Oracle):
    def clip(self, x):
        return x


@mistake("3", "v not clipped", models=["b", "c"])
class ValuesFree(Oracle):
    def qkv(self, layer, x):
        q, k, _ = super().qkv(layer, x)
        return q, k, x @ self.w(layer, "self_attn.v_proj").T


@mistake("3", "clipped before the norms", models=["b", "c"])
class ClipFirst(Oracle):
    def qk_norm(self, x, weight):
        return super().qk_norm(Oracle.clip(self, x), weight)

    def clip(self, x):
        return x

    def qkv(self, layer, x):
        q, k, v = super().qkv(layer, x)
        return q, k, Oracle.clip(self, v)


@mistake("3", "clipped after RoPE", models=["b", "c"])
class ClipLate(Oracle):
    def qkv(self, layer, x):
        q, k, v = super().qkv(layer, x)
        return q, k, Oracle.clip(self, v)

    def clip(self, x):
        return x

    def rotate(self, x, positions):
        return Oracle.clip(self, super().rotate(x, positions))


# ---------------------------------------------------------------------------------------------------------------- MoE


@mistake("3", "norm_topk_prob flipped")
class RenormaliseFlipped(Oracle):
    def renormalise(self, picked):
        return picked if self.config["norm_topk_prob"] else picked / picked.sum(-1, keepdim=True)


@mistake("3", "softmax over the picked logits only", models=["a", "c"])
class SoftmaxAfter(Oracle):
    def router(self, layer, x):
        ids, _, p = super().router(layer, x)
        return ids, torch.softmax((x @ self.w(layer, "mlp.gate").T).gather(1, ids), dim=-1), p


@mistake("3", "sigmoid router")
class SigmoidRouter(Oracle):
    def probabilities(self, logits):
        return torch.sigmoid(logits)


@mistake("3", "one expert too few")
class OneExpertLess(Oracle):
    def expert_sum(self, layer, x, ids, weights):
        return super().expert_sum(layer, x, ids[:-1], weights[:-1])


@mistake("3", "GELU for SiLU")
class Gelu(Oracle):
    def activation(self, x):
        return torch.nn.functional.gelu(x)


@mistake("3", "experts fed with the residual before its norm")
class ExpertsUnnormed(Oracle):
    def norm(self, x, weight):
        after = [self.w(layer, "post_attention_layernorm") for layer in range(self.config["num_hidden_layers"])]
        return x if any(weight is gain for gain in after) else super().norm(x, weight)


# ----------------------------------------------------------------------------------------------------- stored tensors


def halves_exchanged(words):
    """[E, 2·inner, width]"""
    inner = words.shape[1] // 2
    return np.concatenate([words[:, inner:], words[:, :inner]], axis=1)


@mistake("2", "gate and up exchanged")
def gate_and_up(stored):
    changed = every(stored, "gate_up_proj", halves_exchanged)
    for name in stored:
        if ".experts." in name and "gate_proj" in name:
            other = name.replace("gate_proj", "up_proj")
            changed[name], changed[other] = stored[other], stored[name]
    return changed


@mistake("2", "fused gate and up rows taken in turn", models=["b"])
def gate_and_up_in_turn(stored):
    return every(stored, "gate_up_proj", lambda words: np.concatenate([words[:, 0::2], words[:, 1::2]], axis=1))


@mistake("2", "experts taken in the order of the file: 0, 1, 10, 11, 2, ...", models=["a", "c"])
def experts_by_place(stored):
    return experts_in_the_order_of_names(stored)


@mistake("1", "embedding used as the head")
def tied(stored):
    return {**stored, "lm_head.weight": stored["model.embed_tokens.weight"]}
