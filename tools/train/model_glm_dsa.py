"""GLM-5.2 with its MTP head for training: whole sequences in parallel, with gradients; the oracle's function (check_model.py).

Attention is dense: rows are no longer than index_topk, where the selection changes nothing. The indexer learns on the side: its
scores are drawn to the attention's own weights (a Kullback-Leibler term that touches nothing else), so that it knows what to
keep in longer texts.

Shapes: B sequences of T tokens, width = hidden_size, H heads, E experts.
"""

import os
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
import glm_dsa_layout as layout  # noqa: E402

from experts import StraightThrough, expert_sum, round_to_fp8  # noqa: E402
from model_olmoe import causal_softmax, initial_linear, swiglu  # noqa: E402
from trained import TrainedModel  # noqa: E402

MTP_WEIGHT, INDEX_WEIGHT = 0.3, 0.1
INDEX_NORM_EPS = 1e-6


class GlmDsa(TrainedModel):
    """`config` is config.json; no YaRN and no groups."""

    expert_parts = ("gate_proj", "up_proj", "down_proj")
    router_bias = "mlp.gate.e_score_correction_bias"

    def names(self):
        return self.stacked_names(layout.groups(self.config), self.moe_layers(), "mlp.experts.", ("gate_up_proj", "down_proj"))

    def moe_layers(self):
        mtp = layout.mtp_layer(self.config)
        trunk = range(self.config["num_hidden_layers"])
        return [layer for layer in trunk if not layout.is_dense(self.config, layer)] + ([] if mtp is None else [mtp])

    def initial_value(self, name, shape, generator):
        if name.endswith(("k_norm.bias", "e_score_correction_bias")):
            return torch.zeros(shape)
        return initial_linear(name, shape, generator)

    def layer_name(self, layer, name):
        return f"model.layers.{layer}.{name}"

    def decays(self, name):
        return not name.endswith("embed_tokens.weight")

    def matrix(self, layer, name):
        """A weight as it will be stored; stacked experts are FP8 where single ones are."""
        full = self.layer_name(layer, name)
        single = full.replace(".experts.gate_up_proj", ".experts.0.gate_proj.weight")
        if name == "mlp.experts.down_proj":
            single = full.replace(".down_proj", ".0.down_proj.weight")
        value = self.values[full]
        if not self.rounded or self.kinds[single] != "FP8":
            return value
        if name == "mlp.experts.gate_up_proj":  # gate and up are matrices of their own in the files
            return torch.cat([StraightThrough.apply(half, round_to_fp8) for half in value.chunk(2, 1)], 1)
        return StraightThrough.apply(value, round_to_fp8)

    # ---- trunk and head ---------------------------------------------------------------------------------------------

    def forward(self, ids):
        """ids [B, T] -> logits [B, T, vocab]."""
        return F.linear(self.trunk(ids), self.values["lm_head.weight"])

    def trunk(self, ids):
        """f [B, T, width], after the final norm."""
        self.index_loss = []
        h = F.embedding(ids, self.values["model.embed_tokens.weight"])
        for layer in range(self.config["num_hidden_layers"]):
            h = self.decoder_layer(layer, h)
        return self.rms_norm(h, self.values["model.norm.weight"])

    def mtp(self, f, ids):
        """f [B, T, width], ids [B, T] of the positions after them -> logits for the positions after those."""
        layer = layout.mtp_layer(self.config)
        e = self.rms_norm(F.embedding(ids, self.values["model.embed_tokens.weight"]), self.w(layer, "enorm.weight"))
        both = torch.cat([e, self.rms_norm(f, self.w(layer, "hnorm.weight"))], -1)
        r = self.decoder_layer(layer, F.linear(both, self.w(layer, "eh_proj.weight")))
        m = self.rms_norm(r, self.w(layer, "shared_head.norm.weight"))
        return F.linear(m, self.values["lm_head.weight"])

    def losses(self, rows):
        f = self.trunk(rows[:, :-1])
        logits = F.linear(f, self.values["lm_head.weight"])
        losses = {"loss": (F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()), 1.0)}
        if layout.mtp_layer(self.config) is not None:
            ahead = self.mtp(f[:, :-1], rows[:, 1:-1])
            losses["mtp"] = (F.cross_entropy(ahead.flatten(0, 1), rows[:, 2:].flatten()), MTP_WEIGHT)
        if self.index_loss:
            losses["index"] = (sum(self.index_loss) / len(self.index_loss), INDEX_WEIGHT)
        return losses

    def decoder_layer(self, layer, h):
        h = h + self.attention(layer, self.rms_norm(h, self.w(layer, "input_layernorm.weight")))
        x = self.rms_norm(h, self.w(layer, "post_attention_layernorm.weight"))
        if layer < self.config["num_hidden_layers"] and layout.is_dense(self.config, layer):
            return h + self.gated_mlp(layer, "mlp", x)
        return h + self.moe(layer, x.flatten(0, 1)).view_as(x)

    # ---- attention ----------------------------------------------------------------------------------------------------

    def rotate(self, x):
        """x [B, H, T, rope]: pairs (2j, 2j + 1), in place."""
        theta, _ = layout.rope(self.config)
        inverse = theta ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
        angle = torch.arange(x.shape[2], dtype=x.dtype)[:, None] * inverse
        cos, sin, a, b = angle.cos(), angle.sin(), x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)

    def attention(self, layer, x):
        config = self.config
        heads, nope, rope, d_v = (config[key] for key in ("num_attention_heads", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
        eps = config.get("mla_norm_eps", config["rms_norm_eps"])
        at = lambda name: self.matrix(layer, "self_attn." + name)
        by_head = lambda y: y.view(*y.shape[:2], -1, y.shape[2] // heads).transpose(1, 2)
        cq = self.rms_norm(F.linear(x, at("q_a_proj.weight")), at("q_a_layernorm.weight"), eps)
        q = by_head(F.linear(cq, at("q_b_proj.weight")))
        c, r = F.linear(x, at("kv_a_proj_with_mqa.weight")).split([config["kv_lora_rank"], rope], -1)
        c = self.rms_norm(c, at("kv_a_layernorm.weight"), eps)
        keys, values = by_head(F.linear(c, at("kv_b_proj.weight"))).split([nope, d_v], -1)
        q = torch.cat([q[..., :nope], self.rotate(q[..., nope:])], -1)
        keys = torch.cat([keys, self.rotate(r.unsqueeze(1)).expand(-1, heads, -1, -1)], -1)
        p = causal_softmax((q * (nope + rope) ** -0.5) @ keys.transpose(-1, -2))
        if self.training and layout.has_indexer(config, layer):
            self.index_loss.append(self.index_divergence(layer, x.detach(), cq.detach(), p.detach().mean(1)))
        return F.linear((p @ values).transpose(1, 2).flatten(2), at("o_proj.weight"))

    def index_scores(self, layer, x, cq):
        """I [B, T, T]."""
        config = self.config
        heads, rope = config["index_n_heads"], config["qk_rope_head_dim"]
        at = lambda name: self.matrix(layer, "self_attn.indexer." + name)
        turn = lambda y: torch.cat([self.rotate(y[..., :rope]), y[..., rope:]], -1)
        q = turn(F.linear(cq, at("wq_b.weight")).view(*x.shape[:2], heads, -1).transpose(1, 2))
        k = F.layer_norm(F.linear(x, at("wk.weight")), q.shape[-1:], at("k_norm.weight"), at("k_norm.bias"), INDEX_NORM_EPS)
        products = F.relu(q @ turn(k.unsqueeze(1)).transpose(-1, -2) * q.shape[-1] ** -0.5)
        w = F.linear(x, at("weights_proj.weight")) * heads ** -0.5
        return (products * w.transpose(1, 2).unsqueeze(-1)).sum(1)

    def index_divergence(self, layer, x, cq, p):
        """KL(p || softmax of the index scores), mean over tokens; p [B, T, T]."""
        q = causal_softmax(self.index_scores(layer, x, cq))
        return (p * ((p + 1e-9).log() - (q + 1e-9).log())).sum(-1).mean()

    # ---- MLP and MoE ----------------------------------------------------------------------------------------------------

    def gated_mlp(self, layer, name, x):
        at = lambda part: self.matrix(layer, f"{name}.{part}_proj.weight")
        return F.linear(swiglu(F.linear(x, at("gate")), F.linear(x, at("up"))), at("down"))

    def moe(self, layer, x):
        """x [N, width]; the bias picks, the plain scores weigh."""
        config = self.config
        scores = torch.sigmoid(F.linear(x, self.w(layer, "mlp.gate.weight")))
        ids = torch.topk(scores.detach() + self.w(layer, self.router_bias).detach(), config["num_experts_per_tok"], -1).indices
        self.note_load(layer, ids, config["n_routed_experts"])
        weights = scores.gather(-1, ids)
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-20) * config["routed_scaling_factor"]
        routed = expert_sum(x, ids, weights, self.matrix(layer, "mlp.experts.gate_up_proj"),
                            self.matrix(layer, "mlp.experts.down_proj"), swiglu)
        return routed + self.gated_mlp(layer, "mlp.shared_experts", x)
