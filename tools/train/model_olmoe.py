"""OLMoE for training: whole sequences in parallel, with gradients; the same function as the oracle's (check_model.py).

Shapes: B sequences of T tokens, width = hidden_size, H heads of d channels, E experts.
"""

import math
import os
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
import olmoe_layout as layout  # noqa: E402

from experts import expert_sum  # noqa: E402
from trained import TrainedModel  # noqa: E402


UNEVEN_WEIGHT = 0.05  # five times the release's: these runs are short


def initial_linear(name, shape, generator):
    """Ones for gains, a wide embedding, else normal numbers by fan-in."""
    if name.endswith("norm.weight"):
        return torch.ones(shape)
    normal = torch.randn(shape, generator=generator)
    return 0.5 * normal if name.endswith("embed_tokens.weight") else normal * shape[-1] ** -0.5


def swiglu(gate, up):
    return F.silu(gate) * up


def causal_softmax(scores):
    """scores [B, H, T, T]"""
    tokens = scores.shape[-1]
    hidden = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(hidden, -math.inf), -1)


class Olmoe(TrainedModel):
    """`config` is config.json."""

    expert_parts = ("gate_proj", "up_proj", "down_proj")

    def names(self):
        config, shapes = self.config, {}
        for group in layout.groups(config):
            shapes |= {name: shape for name, (_, shape) in group.items() if ".experts." not in name}
        experts, width, inner = (config[key] for key in ("num_experts", "hidden_size", "intermediate_size"))
        for layer in range(config["num_hidden_layers"]):
            prefix = self.layer_name(layer, "mlp.experts.")
            shapes |= {prefix + "gate_up_proj": (experts, 2 * inner, width), prefix + "down_proj": (experts, width, inner)}
        return shapes

    def initial_value(self, name, shape, generator):
        return initial_linear(name, shape, generator)

    def layer_name(self, layer, name):
        return f"model.layers.{layer}.{name}"

    def decays(self, name):
        return not name.endswith("embed_tokens.weight")

    def forward(self, ids):
        """ids [B, T] -> logits [B, T, vocab]."""
        self.sizes = layout.settings(self.config)
        self.uneven = 0.0
        h = F.embedding(ids, self.values["model.embed_tokens.weight"])
        for layer in range(self.config["num_hidden_layers"]):
            h = h + self.attention(layer, self.rms_norm(h, self.w(layer, "input_layernorm.weight")))
            x = self.rms_norm(h, self.w(layer, "post_attention_layernorm.weight"))
            h = h + self.moe(layer, x.flatten(0, 1)).view_as(x)
        return F.linear(self.rms_norm(h, self.values["model.norm.weight"]), self.values["lm_head.weight"])

    def losses(self, rows):
        """With a loss of the router's load, E · Σ (share of tokens · mean probability)."""
        losses = super().losses(rows)
        return {**losses, "uneven": (self.uneven / self.config["num_hidden_layers"], UNEVEN_WEIGHT)}

    def attention(self, layer, x):
        at, d = (lambda name: self.w(layer, f"self_attn.{name}.weight")), self.sizes["head_dim"]
        by_head = lambda y: y.view(*y.shape[:2], -1, d).transpose(1, 2)
        clip = lambda y: y if self.config.get("clip_qkv") is None else y.clamp(-self.config["clip_qkv"], self.config["clip_qkv"])
        q, k = (by_head(clip(self.rms_norm(F.linear(x, at(s + "_proj")), at(s + "_norm")))) for s in "qk")
        v = by_head(clip(F.linear(x, at("v_proj"))))
        cos, sin = self.angles(x.shape[1], x.dtype)
        q, k = (y * cos + torch.cat([-y[..., d // 2:], y[..., :d // 2]], -1) * sin for y in (q, k))
        group = self.sizes["heads"] // self.sizes["kv_heads"]
        k, v = (y.repeat_interleave(group, 1) for y in (k, v))
        o = causal_softmax((q * d ** -0.5) @ k.transpose(-1, -2)) @ v
        return F.linear(o.transpose(1, 2).flatten(2), at("o_proj"))

    def angles(self, tokens, dtype):
        """cos and sin [T, d], both halves alike."""
        half = self.sizes["head_dim"] // 2
        angle = torch.arange(tokens, dtype=dtype)[:, None] * self.sizes["theta"] ** (-torch.arange(half, dtype=dtype) / half)
        angle = torch.cat([angle, angle], -1)
        return angle.cos(), angle.sin()

    def moe(self, layer, x):
        """x [N, width]."""
        at = lambda name: self.w(layer, "mlp." + name)
        p = torch.softmax(F.linear(x, at("gate.weight")), -1)
        weights, ids = torch.topk(p, self.config["num_experts_per_tok"], -1)
        if self.config["norm_topk_prob"]:
            weights = weights / weights.sum(-1, keepdim=True)
        self.note_load(layer, ids, p.shape[1])
        self.uneven = self.uneven + p.shape[1] * (p.mean(0) * (self.load[layer] / len(x))).sum()
        return expert_sum(x, ids, weights, at("experts.gate_up_proj"), at("experts.down_proj"), swiglu)
