"""The mistakes of Kimi K3 that others made (kimi_k3.md 3 and 2.4); `mutations.py` measures them.

Two kinds cannot show in logits: those the norm on the expert aggregate hides (the router weights must move), and those
that change nothing.
"""

import numpy as np

import kimi_k3
import mxfp4
from mistakes import Catalogue, every, experts_in_the_order_of_names
from plain_torch import torch

Oracle = kimi_k3.KimiK3
MISTAKES = Catalogue()
mistake = MISTAKES.mistake


# --------------------------------------------------------------------------------------------------------------- KDA


@mistake("3.3", "A_log indexed per channel")
class ALogPerChannel(Oracle):
    def decay_gate(self, z, a_log):
        return self.config["linear_attn_config"]["gate_lower_bound"] * torch.sigmoid(a_log.exp() * z)


@mistake("3.3", "softplus decay of the older KDA")
class SoftplusDecay(Oracle):
    def decay_gate(self, z, a_log):
        return -a_log[:z.shape[1], None].exp() * torch.nn.functional.softplus(z)


@mistake("3.3", "-exp(A_log) inside the sigmoid")
class NegativeA(Oracle):
    def decay_gate(self, z, a_log):
        return super().decay_gate(-z, a_log)


@mistake("3.3", "L2 epsilon added to the mean instead of the sum")
class L2Mean(Oracle):
    def l2_normalise(self, x):
        return x * (x.pow(2).mean(-1, keepdim=True) + kimi_k3.L2_EPS).rsqrt()


@mistake("3.3", "q not scaled")
class NoQueryScale(Oracle):
    def query_scale(self, q):
        return q


@mistake("3.3", "beta doubled")
class BetaTwice(Oracle):
    def beta(self, x):
        return 2 * torch.sigmoid(x)


@mistake("3.3", "decay after the delta update")
class DecayLate(Oracle):
    def kda_step(self, s, q, k, v, alpha, beta):
        u = torch.einsum("hij,hi->hj", s, k)
        s = alpha[..., None] * (s + torch.einsum("hi,hj->hij", k, beta[:, None] * (v - u)))
        return s, torch.einsum("hij,hi->hj", s, q)


@mistake("3.3", "output read from the old state")
class OutputEarly(Oracle):
    def kda_step(self, s, q, k, v, alpha, beta):
        new, _ = super().kda_step(s, q, k, v, alpha, beta)
        return new, torch.einsum("hij,hi->hj", alpha[..., None] * s, q)


@mistake("3.3", "KDA gate before the norm")
class GateFirst(Oracle):
    def kda_gate(self, o, o_norm, gate):
        return self.rms_norm(o * torch.sigmoid(gate), o_norm)


@mistake("3.3", "SiLU instead of the sigmoid in the KDA gate")
class SiluGate(Oracle):
    def kda_gate(self, o, o_norm, gate):
        return self.rms_norm(o, o_norm) * torch.nn.functional.silu(gate)


@mistake("3.3", "o_norm epsilon 1e-6")
class OutputNormEps(Oracle):
    def kda_gate(self, o, o_norm, gate):
        return self.rms_norm(o, o_norm, 1e-6) * torch.sigmoid(gate)


@mistake("3.3", "conv taps reversed")
class TapsReversed(Oracle):
    def short_conv(self, inputs, taps, history):
        return super().short_conv(inputs, taps.flip(1), history)


@mistake("3.3", "no SiLU after the conv")
class ConvLinear(Oracle):
    def conv_activation(self, x):
        return x


@mistake("3.3", "history stores post-conv values")
class HistoryAfterConv(Oracle):
    def conv_history(self, history, projected, out):
        return super().conv_history(history, out, out)


@mistake("4", "conv history not carried from chunk to chunk")
class HistoryLost(Oracle):
    def conv_history(self, history, projected, out):
        return torch.zeros_like(history)


@mistake("4", "KDA state not carried from chunk to chunk")
class StateLost(Oracle):
    def recurrence(self, layer, q, k, v, alpha, beta, state):
        state.recurrent[layer] = torch.zeros_like(state.recurrent[layer])
        return super().recurrence(layer, q, k, v, alpha, beta, state)


# --------------------------------------------------------------------------------------------------------------- MLA


@mistake("3.4", "rope part dropped")
class RopeDropped(Oracle):
    def mla_scores(self, q, keys, r):
        return torch.einsum("thi,jhi->thj", q[..., :keys.shape[-1]], keys)


def rotate(x, positions):
    """Rotary embedding of the last dimension (halves, base 10000)."""
    half = x.shape[-1] // 2
    angle = positions[:, None] * 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = angle.reshape(len(positions), *[1] * (x.dim() - 2), half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], dim=-1)


@mistake("3.4", "rope part rotated")
class RopeRotated(Oracle):
    def mla_scores(self, q, keys, r):
        nope, positions = keys.shape[-1], torch.arange(len(r), dtype=torch.float64)
        q = torch.cat([q[..., :nope], rotate(q[..., nope:], positions[-len(q):])], dim=-1)
        return super().mla_scores(q, keys, rotate(r, positions))


@mistake("3.4", "scale d_nope^-1/2")
class ScaleOfNope(Oracle):
    def mla_scale(self):
        return self.config["qk_nope_head_dim"] ** -0.5


@mistake("3.4", "norm over all kv_a outputs")
class NormOverAll(Oracle):
    def mla_latent(self, layer, x):
        rank, weight = self.config["kv_lora_rank"], self.w(layer, "self_attn.kv_a_layernorm.weight")
        both = x @ self.w(layer, "self_attn.kv_a_proj_with_mqa.weight").T
        gain = torch.cat([weight, torch.ones(both.shape[1] - rank, dtype=self.dtype)])
        return self.rms_norm(both, gain, self.mla_norm_eps).split([rank, both.shape[1] - rank], dim=1)


@mistake("3.4", "r normed by itself")
class RopeNormed(Oracle):
    def mla_latent(self, layer, x):
        c, r = super().mla_latent(layer, x)
        return c, self.rms_norm(r, 1, self.mla_norm_eps)


@mistake("3.4", "kv_b rows taken as all keys, then all values")
class KeysThenValues(Oracle):
    def expand_kv(self, layer, c):
        heads, nope = self.config["num_attention_heads"], self.config["qk_nope_head_dim"]
        kv = c @ self.w(layer, "self_attn.kv_b_proj.weight").T
        return kv[:, :heads * nope].unflatten(1, (heads, -1)), kv[:, heads * nope:].unflatten(1, (heads, -1))


@mistake("3.4", "no MLA output gate")
class NoMlaGate(Oracle):
    def mla_gate(self, o, gate):
        return o


@mistake("3.0", "the other epsilon in MLA's latent norms (1e-5 for 1e-6 and back)")
class OtherMlaEps(Oracle):
    def __init__(self, config, tensors):
        super().__init__({**config, "mla_norm_eps": 1e-5 if config["mla_norm_eps"] == 1e-6 else 1e-6}, tensors)


# ----------------------------------------------------------------------------------------------- AttnRes and layer loop


@mistake("3.2", "AttnRes normalises the values")
class ValuesNormed(Oracle):
    def attn_res_values(self, values):
        return values * (values.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt()


@mistake("3.1", "the residual stream is reset to h")
class ResetToH(Oracle):
    def add_attention(self, prefix, a, h):
        return h + a

    def add_mlp(self, prefix, m, h):
        return h + m


@mistake("3.1", "the snapshot takes h")
class SnapshotOfH(Oracle):
    def snapshot(self, prefix, h):
        return h


@mistake("3.1", "the residual is added twice")
class ResidualTwice(Oracle):
    def add_mlp(self, prefix, m, h):
        return prefix + (prefix + m)


@mistake("3.2", "AttnRes uniform")
class UniformMix(Oracle):
    def attn_res_scores(self, values, f):
        return 0 * super().attn_res_scores(values, f)


@mistake("3.2", "AttnRes scores divided by sqrt(width)")
class ScaledScores(Oracle):
    def attn_res_scores(self, values, f):
        return super().attn_res_scores(values, f) * len(f) ** -0.5


@mistake("3.1", "AttnRes before attention applied at layer 0 (one source: the mix is the source itself)", "nothing")
class MixAtLayerZero(Oracle):
    def attention_source(self, layer, snapshots, prefix, trace):
        return self.layer_attn_res("self_attention", layer, [*snapshots, prefix], trace)


@mistake("3.1", "AttnRes before attention skipped at boundaries")
class NoMixAtBoundary(Oracle):
    def attention_source(self, layer, snapshots, prefix, trace):
        return prefix if self.starts_block(layer) else super().attention_source(layer, snapshots, prefix, trace)


@mistake("3.1", "snapshot taken before the mix at boundaries (the old prefix counts twice)")
class SnapshotFirst(Oracle):
    def attention_source(self, layer, snapshots, prefix, trace):
        extra = [prefix] if self.starts_block(layer) else []
        return super().attention_source(layer, [*snapshots, *extra], prefix, trace)


@mistake("3.1", "boundaries one layer late")
class BoundaryLate(Oracle):
    def starts_block(self, layer):
        return layer == 0 or layer % self.config["attn_res_block_size"] == 1


@mistake("3.1", "no final aggregator")
class NoAggregator(Oracle):
    def final_source(self, snapshots, prefix, trace):
        return prefix


# --------------------------------------------------------------------------------------------------------------- MoE


@mistake("3.7", "router bias inside the weights")
class BiasedWeights(Oracle):
    def router(self, layer, x, z):
        ids, _, choice = super().router(layer, x, z)
        return ids, self.renormalise(choice.gather(1, ids)), choice


@mistake("3.7", "router bias ignored")
class NoBias(Oracle):
    def router(self, layer, x, z):
        _, _, choice = super().router(layer, x, z)
        s = choice - self.w(layer, "block_sparse_moe.gate.e_score_correction_bias")
        ids = torch.sort(s, dim=-1, descending=True, stable=True).indices[:, :self.config["num_experts_per_token"]]
        return ids, self.renormalise(s.gather(1, ids)), choice


@mistake("3.7", "softmax router")
class SoftmaxRouter(Oracle):
    def router(self, layer, x, z):
        s = torch.softmax(x @ self.w(layer, "block_sparse_moe.gate.weight").T, dim=-1)
        choice = s + self.w(layer, "block_sparse_moe.gate.e_score_correction_bias")
        ids = torch.sort(choice, dim=-1, descending=True, stable=True).indices[:, :self.config["num_experts_per_token"]]
        return ids, self.renormalise(s.gather(1, ids)), choice


@mistake("3.7", "router on the latent (the first columns of its matrix)")
class RouterOnLatent(Oracle):
    def router(self, layer, x, z):
        return super().router(layer, torch.nn.functional.pad(z, (0, x.shape[1] - z.shape[1])), z)


@mistake("3.7", "router weights not renormalised (the norm on the aggregate hides it)", "router weights")
class NotRenormalised(Oracle):
    def renormalise(self, picked):
        return picked * self.config["routed_scaling_factor"]


@mistake("3.7", "weights of the picks by rank of the bias-free score")
class WeightsShuffled(Oracle):
    def router(self, layer, x, z):
        ids, weights, choice = super().router(layer, x, z)
        return ids, weights.sort(dim=-1, descending=True).values, choice


@mistake("3.7", "a norm per expert")
class NormPerExpert(Oracle):
    def expert(self, layer, expert, z):
        return super().aggregate_norm(layer, super().expert(layer, expert, z))

    def aggregate_norm(self, layer, y):
        return y


@mistake("3.7", "the norm before the experts")
class NormBefore(Oracle):
    def expert_sum(self, layer, z, ids, weights):
        return super().expert_sum(layer, super().aggregate_norm(layer, z), ids, weights)

    def aggregate_norm(self, layer, y):
        return y


@mistake("3.7", "no norm on the aggregate")
class NoAggregateNorm(Oracle):
    def aggregate_norm(self, layer, y):
        return y


@mistake("3.7", "no shared experts")
class NoSharedExperts(Oracle):
    def shared_experts(self, layer, x):
        return torch.zeros_like(x)


@mistake("3.5", "no caps (SwiGLU)")
class NoCaps(Oracle):
    def situ(self, g, u):
        return torch.nn.functional.silu(g) * u


@mistake("3.5", "no cap on u")
class NoUpCap(Oracle):
    def situ(self, g, u):
        b1 = self.config["activation_situ_beta"]
        return b1 * torch.tanh(g / b1) * torch.sigmoid(g) * u


@mistake("3.5", "sigmoid of the capped gate")
class CappedSigmoid(Oracle):
    def situ(self, g, u):
        b1, b2 = self.config["activation_situ_beta"], self.config["activation_situ_linear_beta"]
        capped = b1 * torch.tanh(g / b1)
        return capped * torch.sigmoid(capped) * b2 * torch.tanh(u / b2)


# ------------------------------------------------------------------------------ stored tensors (functions, not classes)


@mistake("2.4", "MXFP4 nibbles swapped")
def nibbles_swapped(stored):
    return every(stored, "weight_packed", lambda words: (words << 4) | (words >> 4))


@mistake("2.4", "MXFP4 columns taken as two halves")
def nibbles_as_halves(stored):
    def change(words):
        codes = mxfp4.unpack_nibbles(words)  # even columns from low nibbles: read as the first half instead
        return mxfp4.pack_nibbles(np.concatenate([codes[:, 0::2], codes[:, 1::2]], axis=1))
    return every(stored, "weight_packed", change)


@mistake("2.4", "E8M0 bias 126: every scale doubled for w1 alone")
def scale_bias(stored):
    return every(stored, "w1.weight_scale", lambda words: words + 1)


def exchange(stored, first, second):
    """The bytes of two matrices of every expert exchanged, each read with the other's shape."""
    changed = dict(stored)
    for name, (tag, words) in stored.items():
        if f".{first}.weight_" in name:
            other = name.replace(f".{first}.", f".{second}.")
            changed[name] = (tag, stored[other][1].reshape(words.shape))
            changed[other] = (tag, words.reshape(stored[other][1].shape))
    return changed


@mistake("2.3", "w2 and w3 confused because of the order on disk")
def down_and_up(stored):
    return exchange(stored, "w2", "w3")


@mistake("2.3", "w1 and w3 exchanged")
def gate_and_up(stored):
    return exchange(stored, "w1", "w3")


@mistake("2.3", "experts taken in the order of the file: 0, 1, 10, 11, 2, ...")
def experts_by_place(stored):
    return experts_in_the_order_of_names(stored)
