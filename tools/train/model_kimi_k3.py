"""Kimi K3 for training: whole sequences in parallel, with gradients.

The same function as the float64 oracle in tools/oracle (check_model.py asserts it), computed so that a CPU can train it: KDA
in chunks of 16 tokens (spec 4.4), expanded MLA (3.4), experts grouped by token, routed weights through MXFP4.

Shapes: B sequences of T tokens, width = hidden_size, H heads of d channels, n AttnRes sources. Weights live in one flat
dictionary (trained.py), the experts of a layer stacked: `….experts.w13` [E, 2I, L], `….w2` [E, L, I].
"""

import math
import os
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
import kimi_k3_layout as layout  # noqa: E402

from experts import StraightThrough, expert_sum  # noqa: E402
from trained import TrainedModel  # noqa: E402

CHUNK = 16  # 4.4: e^{-G} over more tokens could leave the range of float32
L2_EPS = 1e-6


def initial_value(name, shape, generator):
    """A trainable start for one float tensor of the layout."""
    leaf = name.rsplit(".", 2)[-2] if name.endswith(".weight") else name.rsplit(".", 1)[-1]
    normal = torch.randn(shape, generator=generator)
    if leaf.endswith("norm"):
        return torch.ones(shape)
    if leaf.endswith("res_proj") or leaf in ("A_log", "e_score_correction_bias"):
        return torch.zeros(shape)
    if leaf == "dt_bias":  # decays between about 0.998 and 0.6 a token
        return -8 + 6 * torch.rand(shape, generator=generator)
    if leaf.endswith("conv1d"):
        taps = torch.zeros(shape)
        taps[..., -1] = 1
        return taps + 0.2 * normal
    if leaf == "embed_tokens":
        return 0.5 * normal
    return normal * shape[-1] ** -0.5


class KimiK3(TrainedModel):
    """`config` is a text_config as in config.json; it must name `mla_norm_eps`."""

    expert_parts = ("w1", "w3", "w2")
    router_bias = "block_sparse_moe.gate.e_score_correction_bias"

    def names(self):
        config = self.config
        shapes = layout.global_tensors(config)
        for layer in range(config["num_hidden_layers"]):
            shapes |= layout.trunk_tensors(config, layer)
            if layer >= config["first_k_dense_replace"]:
                shapes |= self.expert_shapes(layer)
        return {name: shape for name, (_, shape) in shapes.items()}

    def initial_value(self, name, shape, generator):
        return initial_value(name, shape, generator)

    def expert_shapes(self, layer):
        experts, latent, inner = (self.config[key] for key in ("num_experts", "routed_expert_hidden_size", "moe_intermediate_size"))
        prefix = layout.layer_prefix(layer) + "block_sparse_moe.experts."
        return {prefix + "w13": ("MXFP4", (experts, 2 * inner, latent)), prefix + "w2": ("MXFP4", (experts, latent, inner))}

    def layer_name(self, layer, name):
        return layout.layer_prefix(layer) + name

    def decays(self, name):
        return not name.endswith(("conv1d.weight", "res_proj.weight", "embed_tokens.weight"))

    # ---- 3.1 layer loop -------------------------------------------------------------------------------------------

    def forward(self, ids):
        """ids [B, T] -> logits [B, T, vocab]."""
        prefix = F.embedding(ids, self.values[layout.MODEL + "embed_tokens.weight"])
        snapshots = []
        for layer in range(self.config["num_hidden_layers"]):
            h = prefix
            if snapshots:
                h = self.layer_attn_res("self_attention", layer, snapshots, prefix)
            if layer % self.config["attn_res_block_size"] == 0:
                snapshots.append(self.with_scale(prefix))
                prefix = None
            x = self.rms_norm(h, self.w(layer, "input_layernorm.weight"))
            a = self.mla(layer, x) if layout.is_mla(self.config, layer) else self.kda(layer, x)
            prefix = a if prefix is None else prefix + a
            h = self.layer_attn_res("mlp", layer, snapshots, prefix)
            x = self.rms_norm(h, self.w(layer, "post_attention_layernorm.weight"))
            prefix = prefix + self.mlp(layer, x)
        h = self.attn_res(snapshots + [self.with_scale(prefix)], self.values[layout.MODEL + "output_attn_res_norm.weight"],
                          self.values[layout.MODEL + "output_attn_res_proj.weight"])
        return F.linear(self.rms_norm(h, self.values[layout.MODEL + "norm.weight"]), self.values[layout.LM_HEAD])

    # ---- 3.2 AttnRes ----------------------------------------------------------------------------------------------

    def with_scale(self, v):
        """A source [B, T, width] and its inverse root mean square [B, T]."""
        return v, torch.rsqrt(v.square().mean(-1) + self.config["rms_norm_eps"])

    def layer_attn_res(self, which, layer, snapshots, prefix):
        return self.attn_res(snapshots + [self.with_scale(prefix)], self.w(layer, which + "_res_norm.weight"),
                             self.w(layer, which + "_res_proj.weight"))

    def attn_res(self, sources, gain, proj):
        f = gain * proj[0]
        mix = torch.softmax(torch.stack([(v @ f) * scale for v, scale in sources], -1), -1)
        out = mix[..., :1] * sources[0][0]
        for j in range(1, len(sources)):
            out = torch.addcmul(out, mix[..., j : j + 1], sources[j][0])
        return out

    # ---- 3.3 KDA --------------------------------------------------------------------------------------------------

    def kda(self, layer, x):
        linear = self.config["linear_attn_config"]
        heads, d, batch, tokens = linear["num_heads"], linear["head_dim"], x.shape[0], x.shape[1]
        at = lambda name: self.w(layer, "self_attn." + name)
        by_head = lambda y: y.view(batch, tokens, heads, d)
        q, k, v = (by_head(self.short_conv(F.linear(x, at(s + "_proj.weight")), at(s + "_conv1d.weight"))) for s in "qkv")
        q = q * torch.rsqrt(q.square().sum(-1, keepdim=True) + L2_EPS) * d**-0.5
        k = k * torch.rsqrt(k.square().sum(-1, keepdim=True) + L2_EPS)
        beta = torch.sigmoid(F.linear(x, at("b_proj.weight")))
        z = F.linear(F.linear(x, at("f_a_proj.weight")), at("f_b_proj.weight")) + at("dt_bias")
        g = linear["gate_lower_bound"] * torch.sigmoid(at("A_log")[:heads].exp().unsqueeze(-1) * by_head(z))
        o = self.rms_norm(self.delta_rule(q, k, v, g, beta), at("o_norm.weight"))
        y = o.reshape(batch, tokens, heads * d) * torch.sigmoid(F.linear(x, at("g_proj.weight")))
        return F.linear(y, at("o_proj.weight"))

    def short_conv(self, x, taps):
        """Causal depthwise convolution, then SiLU. x [B, T, C], taps [C, 1, n], the last tap for the present token."""
        count, tokens = taps.shape[-1], x.shape[1]
        padded = F.pad(x, (0, 0, count - 1, 0))
        return F.silu(sum(padded[:, i : i + tokens] * taps[:, 0, i] for i in range(count)))

    def delta_rule(self, q, k, v, g, beta):
        """4.4 over chunks; q (scaled), k, v, g [B, T, H, d], beta [B, T, H] -> o [B, T, H, d]."""
        batch, tokens, heads, d = q.shape
        pad = -tokens % CHUNK  # added tokens have g = 0 and beta = 0: they leave the state alone
        chunks = (tokens + pad) // CHUNK
        split = lambda y: F.pad(y, (0, 0, 0, 0, 0, pad)).view(batch, chunks, CHUNK, heads, -1).permute(0, 3, 1, 2, 4)
        q, k, v, g, beta = split(q), split(k), split(v), split(g), split(beta.unsqueeze(-1))  # [B, H, chunks, CHUNK, …]
        total = g.cumsum(3)
        grow = total.exp()
        q_bar, k_bar, k_inverse = q * grow, k * grow, k * (-total).exp()
        a = torch.tril(k_bar @ k_inverse.transpose(-1, -2), -1) * beta
        b = torch.tril(q_bar @ k_inverse.transpose(-1, -2))
        right = torch.cat([k_bar, v], -1) * beta
        w, u = torch.linalg.solve_triangular(a + torch.eye(CHUNK, dtype=a.dtype), right, upper=False, unitriangular=True).split(d, -1)
        end = total[..., -1:, :]
        k_hat = (k * (end - total).exp()).transpose(-1, -2)
        keep = end.exp().transpose(-1, -2)  # [B, H, chunks, d, 1]
        state, out = q.new_zeros(batch, heads, d, d), []
        for u_c, w_c, q_c, b_c, keep_c, k_c in zip(*(y.unbind(2) for y in (u, w, q_bar, b, keep, k_hat))):
            n = u_c - w_c @ state
            out.append(q_c @ state + b_c @ n)
            state = keep_c * state + k_c @ n
        return torch.stack(out, 2).reshape(batch, heads, chunks * CHUNK, d)[:, :, :tokens].transpose(1, 2)

    # ---- 3.4 MLA --------------------------------------------------------------------------------------------------

    def mla(self, layer, x):
        config, (batch, tokens, _) = self.config, x.shape
        heads, nope, rope, d_v = (config[key] for key in ("num_attention_heads", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
        at = lambda name: self.w(layer, "self_attn." + name)
        by_head = lambda y: y.view(batch, tokens, heads, -1).transpose(1, 2)
        cq = self.rms_norm(F.linear(x, at("q_a_proj.weight")), at("q_a_layernorm.weight"), config["mla_norm_eps"])
        q = by_head(F.linear(cq, at("q_b_proj.weight")))
        c, r = F.linear(x, at("kv_a_proj_with_mqa.weight")).split([config["kv_lora_rank"], rope], -1)
        c = self.rms_norm(c, at("kv_a_layernorm.weight"), config["mla_norm_eps"])
        keys, values = by_head(F.linear(c, at("kv_b_proj.weight"))).split([nope, d_v], -1)
        keys = torch.cat([keys, r.unsqueeze(1).expand(-1, heads, -1, -1)], -1)
        scores = (q @ keys.transpose(-1, -2)) * (nope + rope) ** -0.5
        hidden = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        o = torch.softmax(scores.masked_fill(hidden, -math.inf), -1) @ values
        y = o.transpose(1, 2).reshape(batch, tokens, heads * d_v) * torch.sigmoid(F.linear(x, at("g_proj.weight")))
        return F.linear(y, at("o_proj.weight"))

    # ---- 3.5, 3.7 MLP and MoE -------------------------------------------------------------------------------------

    def situ(self, g, u):
        """b1·tanh(g/b1)·σ(g) · b2·tanh(u/b2), with tanh(x) = 2σ(2x) − 1, which is the faster one here."""
        b1, b2 = self.config["activation_situ_beta"], self.config["activation_situ_linear_beta"]
        cap = lambda x, b: 2 * b * torch.sigmoid(x * (2 / b)) - b
        return cap(g, b1) * torch.sigmoid(g) * cap(u, b2)

    def gated_mlp(self, layer, name, x):
        at = lambda part: self.w(layer, f"{name}.{part}_proj.weight")
        return F.linear(self.situ(F.linear(x, at("gate")), F.linear(x, at("up"))), at("down"))

    def mlp(self, layer, x):
        if layer < self.config["first_k_dense_replace"]:
            return self.gated_mlp(layer, "mlp", x)
        return self.moe(layer, x.flatten(0, 1)).view_as(x)

    def moe(self, layer, x):
        """x [N, width]."""
        at = lambda name: self.w(layer, "block_sparse_moe." + name)
        ids, weights = self.route(layer, x)
        store = StraightThrough.to_mxfp4 if self.rounded else (lambda weight: weight)
        z = F.linear(x, at("routed_expert_down_proj.weight"))
        y = expert_sum(z, ids, weights, store(at("experts.w13")), store(at("experts.w2")), self.situ)
        routed = F.linear(self.rms_norm(y, at("routed_expert_norm.weight")), at("routed_expert_up_proj.weight"))
        return routed + self.gated_mlp(layer, "block_sparse_moe.shared_experts", x)

    def route(self, layer, x):
        """Ids and weights [N, k]; the bias picks, the plain scores weigh."""
        scores = torch.sigmoid(F.linear(x, self.w(layer, "block_sparse_moe.gate.weight")))
        bias = self.w(layer, "block_sparse_moe.gate.e_score_correction_bias").detach()
        ids = torch.topk(scores.detach() + bias, self.config["num_experts_per_token"], -1).indices
        self.note_load(layer, ids, self.config["num_experts"])
        picked = scores.gather(-1, ids)
        return ids, picked / (picked.sum(-1, keepdim=True) + 1e-20) * self.config["routed_scaling_factor"]
