"""DeepSeek-V4 with its MTP block for training: whole sequences in parallel, with gradients; the oracle's function (check_model.py).

A window is computed in bands: queries in pieces of its length, each against its own piece of the keys and the one before. While
the rate has not begun to fall (`rounded` is off) a query attends to all compressed entries; then to those that the indexer
picks, as in use. The indexer learns on the side, drawn to the attention's own weights over the entries (a Kullback-Leibler
term that touches nothing else).

Shapes: B sequences of T tokens, hc residual streams, width = hidden_size, H heads of d channels, N entries, E experts.
"""

import math
import os
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
import deepseek_v4_layout as layout  # noqa: E402

from experts import StraightThrough, expert_sum, round_to_fp8_powers  # noqa: E402
from model_olmoe import initial_linear  # noqa: E402
from streams import Collapse, Merge, Sinkhorn  # noqa: E402
from trained import TrainedModel  # noqa: E402

MTP_WEIGHT, INDEX_WEIGHT = 0.3, 0.1


def table_of_experts(shape, experts, generator):
    """For each id, experts that differ: the first of a permutation of its own."""
    return torch.rand(shape[0], experts, generator=generator).argsort(1)[:, :shape[1]].contiguous()


class DeepSeekV4(TrainedModel):
    """`config` is config.json; blocks from num_hidden_layers on are MTP blocks (one)."""

    expert_parts = ("w1", "w3", "w2")
    router_bias = "ffn.gate.bias"

    def names(self):
        blocks = self.config["num_hidden_layers"] + self.config["num_nextn_predict_layers"]
        return self.stacked_names(layout.groups(self.config), range(blocks), "ffn.experts.", ("w13", "w2"))

    def initial_value(self, name, shape, generator):
        if name.endswith("tid2eid"):
            return table_of_experts(shape, self.config["n_routed_experts"], generator)
        if name.endswith(("attn_sink", "gate.bias", "ape")):
            return torch.zeros(shape)
        if name.endswith("_scale"):
            return torch.full(shape, 0.5)
        if name.endswith("_base"):
            return self.initial_base(shape)
        if name == "embed.weight":
            return 0.5 * torch.randn(shape, generator=generator)
        return initial_linear(name, shape, generator)

    def initial_base(self, shape):
        """Streams are collapsed to about their mean, written to in full, and mostly kept apart."""
        hc, base = self.config["hc_mult"], torch.zeros(shape)
        base[:hc] = -math.log(hc - 1)
        if len(base) > hc:
            base[2 * hc:] = 3 * torch.eye(hc).flatten()
        return base

    def layer_name(self, layer, name):
        return layout.block_prefix(self.config, layer) + name

    def decays(self, name):
        return not name.endswith(("embed.weight", "_fn", "ape"))

    def matrix(self, layer, name):
        """A weight as it will be stored."""
        full = self.layer_name(layer, name)
        value = self.values[full]
        if not self.rounded:
            return value
        if ".experts." in full:
            return StraightThrough.to_mxfp4(value)
        return StraightThrough.apply(value, round_to_fp8_powers) if self.kinds[full] == "FP8_E8M0" else value

    # ---- trunk, head, MTP ------------------------------------------------------------------------------------- 3.1, 3.9, 7.1

    def forward(self, ids):
        """ids [B, T] -> logits [B, T, vocab]."""
        return self.logits(self.trunk(ids), "", "norm.weight")

    def trunk(self, ids):
        """The streams after the last layer [B, T, hc, width]."""
        self.index_loss = []
        x = F.embedding(ids, self.values["embed.weight"])[:, :, None].repeat(1, 1, self.config["hc_mult"], 1)
        for layer in range(self.config["num_hidden_layers"]):
            x = self.block(layer, x, ids)
        return x

    def logits(self, x, prefix, norm):
        m = self.stream_products(x, self.values[prefix + "hc_head_fn"])
        a = torch.sigmoid(m * self.values[prefix + "hc_head_scale"][0] + self.values[prefix + "hc_head_base"])
        collapsed = Collapse.apply(x.flatten(0, 1), (a + self.config["hc_eps"]).flatten(0, 1)).view(*x.shape[:2], -1)
        return F.linear(self.rms_norm(collapsed, self.values[prefix + norm]), self.values["head.weight"])

    def mtp(self, x, ids):
        """Streams x [B, T, hc, width], ids [B, T] of the positions after them -> logits for the positions after those."""
        block = self.config["num_hidden_layers"]
        e = self.rms_norm(F.embedding(ids, self.values["embed.weight"]), self.w(block, "enorm.weight"))
        h = self.rms_norm(x, self.w(block, "hnorm.weight"))
        y = F.linear(e, self.matrix(block, "e_proj.weight"))[:, :, None] + F.linear(h, self.matrix(block, "h_proj.weight"))
        return self.logits(self.block(block, y, ids), self.layer_name(block, ""), "norm.weight")

    def losses(self, rows):
        """The MTP block learns from the first row alone, which is cheaper."""
        x = self.trunk(rows[:, :-1])
        logits = self.logits(x, "", "norm.weight")
        losses = {"loss": (F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()), 1.0)}
        ahead = self.mtp(x[:1, :-1], rows[:1, 1:-1])
        losses["mtp"] = (F.cross_entropy(ahead.flatten(0, 1), rows[:1, 2:].flatten()), MTP_WEIGHT)
        losses["index"] = (sum(self.index_loss) / len(self.index_loss), INDEX_WEIGHT)
        return losses

    def block(self, layer, x, ids):
        h, post, mix = self.site(layer, "hc_attn", x)
        x = self.merge(self.attention(layer, self.rms_norm(h, self.w(layer, "attn_norm.weight"))), x, post, mix)
        h, post, mix = self.site(layer, "hc_ffn", x)
        h = self.rms_norm(h, self.w(layer, "ffn_norm.weight"))
        return self.merge(self.moe(layer, h.flatten(0, 1), ids.flatten()).view_as(h), x, post, mix)

    # ---- the streams -------------------------------------------------------------------------------------------------- 3.2

    def stream_products(self, x, fn):
        flat = x.flatten(2)
        return F.linear(flat, fn) * torch.rsqrt(flat.square().mean(-1, keepdim=True) + self.config["rms_norm_eps"])

    def site(self, layer, name, x):
        """-> the sublayer's input [B, T, width], post [B T, hc], mixing matrix [B T, hc, hc]."""
        hc, eps = self.config["hc_mult"], self.config["hc_eps"]
        scale = self.w(layer, name + "_scale").repeat_interleave(torch.tensor([hc, hc, hc * hc]), output_size=(2 + hc) * hc)
        m = (self.stream_products(x, self.w(layer, name + "_fn")) * scale + self.w(layer, name + "_base")).flatten(0, 1)
        pre = torch.sigmoid(m[:, :hc]) + eps
        post = 2 * torch.sigmoid(m[:, hc:2 * hc])
        c = m[:, 2 * hc:].t().reshape(hc, hc, -1)  # [row, column, B T]
        c = Sinkhorn.apply(torch.softmax(c, 1) + eps, self.config["hc_sinkhorn_iters"], eps)
        return Collapse.apply(x.flatten(0, 1), pre).view(*x.shape[:2], -1), post, c.permute(2, 0, 1)

    def merge(self, out, x, post, mix):
        return Merge.apply(x.flatten(0, 1), out.flatten(0, 1), post, mix).view(x.shape)

    # ---- attention ---------------------------------------------------------------------------------------------------- 3.4, 3.5

    def frequencies(self, layer, dtype):
        config, d = self.config, self.config["qk_rope_head_dim"]
        steps = torch.arange(0, d, 2, dtype=dtype) / d
        if not layout.ratio(config, layer):
            return config["rope_theta"] ** -steps
        base, scaling = config["compress_rope_theta"], config["rope_scaling"]
        bound = lambda turns: d * math.log(scaling["original_max_position_embeddings"] / (2 * math.pi * turns)) / (2 * math.log(base))
        low, high = max(math.floor(bound(scaling["beta_fast"])), 0), min(math.ceil(bound(scaling["beta_slow"])), d - 1)
        ramp = ((torch.arange(d // 2, dtype=dtype) - low) / (high - low if high > low else 0.001)).clamp(0, 1)
        return base ** -steps * (ramp / scaling["factor"] + 1 - ramp)

    def angles(self, layer, positions, dtype):
        angle = positions.to(dtype)[:, None] * self.frequencies(layer, dtype)
        return angle.cos(), angle.sin()

    def rotate(self, x, angles, direction=1):
        """x [B, T, H, d] or [B, T, d]: pairs (2i, 2i + 1) of the last channels; angles [T, rope/2]."""
        rope = self.config["qk_rope_head_dim"]
        cos, sin = (part.unsqueeze(1) if x.dim() == 4 else part for part in angles)
        turned = x[..., -rope:]
        a, b = turned[..., 0::2], turned[..., 1::2]
        pairs = torch.stack([a * cos - direction * b * sin, b * cos + direction * a * sin], -1).flatten(-2)
        return torch.cat([x[..., :-rope], pairs], -1)

    def attention(self, layer, x):
        config, at = self.config, (lambda name: self.matrix(layer, f"attn.{name}"))
        heads, tokens = config["num_attention_heads"], x.shape[1]
        angles = self.angles(layer, torch.arange(tokens), x.dtype)
        qr = self.rms_norm(F.linear(x, at("wq_a.weight")), at("q_norm.weight"))
        q = F.linear(qr, at("wq_b.weight")).unflatten(-1, (heads, -1))
        q = self.rotate(self.rms_norm(q, 1), angles)
        kv = self.rotate(self.rms_norm(F.linear(x, at("wkv.weight")), at("kv_norm.weight")), angles)
        entries, hidden = self.compressed(layer, x, qr)
        o = self.attend(layer, q, kv, entries, hidden)
        if entries is not None and self.training and layout.has_indexer(config, layer):
            self.index_loss.append(self.index_divergence(layer, hidden))
        o = self.rotate(o, angles, -1).flatten(2).unflatten(2, (config["o_groups"], -1))
        blocks = at("wo_a.weight").unflatten(0, (config["o_groups"], -1))
        return F.linear(torch.einsum("btgi,gri->btgr", o, blocks).flatten(2), at("wo_b.weight"))

    def attend(self, layer, q, kv, entries, hidden):
        """q [B, T, H, d], kv [B, T, d], entries [B, N, d] or None, hidden [B or 1, T, N] -> [B, T, H, d]."""
        batch, tokens, heads, d = q.shape
        window, scale = self.config["sliding_window"], d ** -0.5
        bands, rest = -(-tokens // window), -tokens % window
        q = F.pad(q, (0, 0, 0, 0, 0, rest)).view(batch, bands, window * heads, d) * scale
        keys = F.pad(kv, (0, 0, window, rest)).view(batch, bands + 1, window, d)
        keys = torch.cat([keys[:, :-1], keys[:, 1:]], 2)  # [B, bands, 2 window, d]
        scores = (q @ keys.transpose(2, 3)).view(batch, bands, window, heads, 2 * window)
        scores = scores + self.band_mask(bands, window, q.dtype)
        sink = self.w(layer, "attn.attn_sink").view(heads, 1).expand(batch, bands, window, heads, 1)
        if entries is None:
            p = torch.softmax(torch.cat([scores, sink], -1), -1)
        else:
            far = (q.flatten(1, 2) @ entries.transpose(1, 2)).view(batch, bands, window, heads, -1)
            mask = torch.zeros(hidden.shape, dtype=q.dtype).masked_fill_(hidden, -math.inf)
            mask = F.pad(mask, (0, 0, 0, rest)).view(len(hidden), bands, window, 1, -1)
            p = torch.softmax(torch.cat([scores, far + mask, sink], -1), -1)
        o = p[..., :2 * window].reshape(batch, bands, window * heads, -1) @ keys
        if entries is not None:
            over = p[..., 2 * window:-1]
            self.seen = over.detach().sum(3).flatten(1, 2)[:, :tokens]  # [B, T, N]
            o = o + (over.reshape(batch, bands * window * heads, -1) @ entries).view_as(o)
        return o.reshape(batch, bands * window, heads, d)[:, :tokens]

    def band_mask(self, bands, window, dtype):
        """[bands, window, 1, 2 window]: 0 for the window's positions, -inf for others."""
        row, column = torch.arange(window)[:, None], torch.arange(2 * window) - window
        near = ((column <= row) & (column > row - window)).expand(bands, -1, -1).clone()
        near[0, :, :window] = False
        return torch.zeros(near.shape, dtype=dtype).masked_fill_(~near, -math.inf).unsqueeze(2)

    # ---- compressor and indexer ---------------------------------------------------------------------------------------- 3.6, 3.7

    def compressed(self, layer, x, qr):
        """(entries [B, N, d], hidden [B or 1, T, N]: what a query may not attend to), or (None, None)."""
        ratio = layout.ratio(self.config, layer)
        if not ratio or x.shape[1] < ratio:
            return None, None
        entries = self.compress(layer, "attn.compressor.", x, ratio)
        visible = (torch.arange(x.shape[1]) + 1) // ratio
        hidden = (torch.arange(entries.shape[1]) >= visible[:, None])[None]
        if not layout.has_indexer(self.config, layer):
            return entries, hidden
        topk = self.config["index_topk"]
        picks = (self.rounded or not self.training) and entries.shape[1] > topk
        if picks or self.training:
            self.scores = self.index_scores(layer, x.detach(), qr.detach())
        if picks:
            falling = self.scores.detach().masked_fill(hidden, -math.inf).sort(stable=True, dim=-1, descending=True)
            best = falling.indices[..., :topk]  # of equal scores the lower entry
            hidden = hidden | torch.ones_like(self.scores, dtype=torch.bool).scatter_(-1, best, False)
        return entries, hidden

    def compress(self, layer, prefix, x, ratio):
        """-> entries [B, N, d], normed and rotated."""
        at, count = (lambda name: self.w(layer, prefix + name)), x.shape[1] // ratio
        x = x[:, :count * ratio]
        cut = lambda y: y.view(y.shape[0], count, ratio, -1)
        rows, gates = cut(F.linear(x, at("wkv.weight"))), cut(F.linear(x, at("wgate.weight"))) + at("ape")
        if ratio == 4:  # the first halves of the window before, the second halves of its own
            d = rows.shape[-1] // 2
            before = lambda y, empty: F.pad(y[:, :-1, :, :d], (0, 0, 0, 0, 1, 0), value=empty)
            rows = torch.cat([before(rows, 0.0), rows[..., d:]], 2)
            gates = torch.cat([before(gates, -math.inf), gates[..., d:]], 2)
        pooled = (rows * torch.softmax(gates, 2)).sum(2)
        return self.rotate(self.rms_norm(pooled, at("norm.weight")), self.angles(layer, torch.arange(count) * ratio, x.dtype))

    def index_scores(self, layer, x, qr):
        """[B, T, N]; x and qr cut off from the rest, so that only the indexer learns from it."""
        heads, d = self.config["index_n_heads"], self.config["index_head_dim"]
        q = F.linear(qr, self.matrix(layer, "attn.indexer.wq_b.weight")).unflatten(-1, (heads, d))
        q = self.rotate(q, self.angles(layer, torch.arange(x.shape[1]), x.dtype))
        keys = self.compress(layer, "attn.indexer.compressor.", x, layout.ratio(self.config, layer))
        w = F.linear(x, self.w(layer, "attn.indexer.weights_proj.weight")) * (d * heads) ** -0.5
        products = F.relu(q.flatten(1, 2) @ keys.transpose(1, 2)).view(*q.shape[:3], -1)
        return (w.unsqueeze(3) * products).sum(2)

    def index_divergence(self, layer, hidden):
        """KL(the attention's weights over the entries it sees || softmax of the index scores), mean over tokens."""
        seen = ~hidden.all(-1)
        p = self.seen / (self.seen.sum(-1, keepdim=True) + 1e-9)
        q = torch.log_softmax(self.scores.masked_fill(hidden, -1e4), -1)
        divergence = (p * ((p + 1e-9).log() - q)).sum(-1)
        return (divergence * seen).sum() / seen.expand_as(divergence).sum()

    # ---- MoE --------------------------------------------------------------------------------------------------------------- 3.8

    def moe(self, layer, x, ids):
        """x [N, width], ids [N]; the bias or the table picks, the plain scores weigh."""
        config = self.config
        scores = F.softplus(F.linear(x, self.w(layer, "ffn.gate.weight")), threshold=60).sqrt()
        if layout.is_hash_routed(config, layer):
            picked = self.w(layer, "ffn.gate.tid2eid")[ids]
        else:
            bias = self.w(layer, self.router_bias).detach()
            picked = torch.topk(scores.detach() + bias, config["num_experts_per_tok"], -1).indices
            self.note_load(layer, picked, config["n_routed_experts"])
        weights = scores.gather(-1, picked)
        weights = weights / weights.sum(-1, keepdim=True) * config["routed_scaling_factor"]
        at = lambda name: self.matrix(layer, "ffn." + name)
        routed = expert_sum(x, picked, weights, at("experts.w13"), at("experts.w2"), self.swiglu)
        shared = self.swiglu(F.linear(x, at("shared_experts.w1.weight")), F.linear(x, at("shared_experts.w3.weight")))
        return routed + F.linear(shared, at("shared_experts.w2.weight"))

    def swiglu(self, gate, up):
        limit = self.config["swiglu_limit"]
        return F.silu(gate.clamp(max=limit)) * up.clamp(-limit, limit)
