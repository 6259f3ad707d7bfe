"""DeepSeek-V4 with the roundings of the release's own kernels (deepseek_v4.md 3.10): what the engine's parity mode is measured
against.

bf16 where the release has bf16 tensors, FP8 before the products of its FP8 and FP4 matrices, FP8 keys and FP4 index vectors. The
order of sums is not the release's: float64 unless asked otherwise. Attention weights are rounded relative to the largest score of
their block: 64 absolute positions, or 64 entries (docs/numerics.md, "Parity").
"""

from deepseek_v4 import DeepSeekV4
from plain_torch import Trace, rms_norm, torch
from release_rounding import bf16, fp4, fp8, hadamard

import deepseek_v4_layout as layout

LINEAR, KEY, INDEX = 128, 64, 32  # numbers that share a scale
ATTENTION_BLOCK = 64


class Parity(DeepSeekV4):
    # ------------------------------------------------------------------------------------------------ small parts

    def norm(self, x, weight):
        return bf16(rms_norm(x, weight, self.eps))

    def linear(self, x, weight):
        """A matrix that the release keeps in FP8 or FP4."""
        return bf16(self.linear_input(x) @ weight.T)

    def linear_input(self, x):
        return fp8(x, LINEAR)

    def rotate(self, layer, x, positions, direction=1):
        return bf16(super().rotate(layer, x, positions, direction))

    def key(self, x):
        """All but the rotated channels."""
        plain = x.shape[-1] - self.config["qk_rope_head_dim"]
        return torch.cat([fp8(x[..., :plain], KEY), x[..., plain:]], dim=-1)

    def index_vector(self, x):
        return fp4(bf16(hadamard(x)), INDEX)

    # ------------------------------------------------------------------------------------------------ streams, head

    def forward(self, ids, state, trace=None):
        trace = Trace() if trace is None else trace
        x = bf16(self.weights["embed.weight"][torch.tensor(ids)])[:, None].expand(-1, self.config["hc_mult"], -1)
        for layer in range(self.config["num_hidden_layers"]):
            x = self.block(layer, x, ids, state, trace)
        state.streams = torch.cat([state.streams, x])
        return self.logits(x, "hc_head", self.weights, self.weights["norm.weight"])

    def block(self, layer, x, ids, state, trace):
        h, post, mix = self.site(layer, "hc_attn", x)
        a = self.attention(layer, self.norm(h, self.w(layer, "attn_norm.weight")), state, trace)
        x = self.merge(a, x, post, mix)
        h, post, mix = self.site(layer, "hc_ffn", x)
        m = self.moe(layer, self.norm(h, self.w(layer, "ffn_norm.weight")), ids, trace)
        x = self.merge(m, x, post, mix)
        trace.record("prefix", layer, x.flatten(1))
        return x

    def site(self, layer, name, x):
        h, post, mix = super().site(layer, name, x)
        return bf16(h), post, mix

    def merge(self, out, x, post, mix):
        return bf16(super().merge(out, x, post, mix))

    def logits(self, x, name, weights, norm):
        m = self.stream_products(x, weights[f"{name}_fn"])
        a = torch.sigmoid(m * weights[f"{name}_scale"][0] + weights[f"{name}_base"]) + self.config["hc_eps"]
        return self.norm(bf16((a[..., None] * x).sum(1)), norm) @ self.weights["head.weight"].T

    # ------------------------------------------------------------------------------------------------ attention

    def attention(self, layer, x, state, trace):
        start = state.length[layer]
        state.length[layer] += len(x)
        positions = torch.arange(start, start + len(x))
        part = lambda name: self.w(layer, f"attn.{name}.weight")
        qr = self.norm(self.linear(x, part("wq_a")), part("q_norm"))
        q = self.linear(qr, part("wq_b")).unflatten(1, (self.config["num_attention_heads"], -1))
        q = self.rotate(layer, self.head_norm(q), positions)
        kv = self.rotate(layer, self.norm(self.linear(x, part("wkv")), part("kv_norm")), positions)
        state.kv[layer] = torch.cat([state.kv[layer], self.key(kv)])
        picked = self.compressed(layer, x, qr, positions, state, trace)
        o = torch.stack([self.attend(layer, q[t], int(positions[t]), picked[t], state) for t in range(len(x))])
        return self.output(layer, self.rotate(layer, bf16(o), positions, direction=-1))

    def head_norm(self, q):
        """Every step of it on bf16 tensors."""
        mean = bf16(bf16(q * q).mean(-1, keepdim=True))
        return bf16(q * bf16(bf16(mean + self.eps).rsqrt()))

    def attend(self, layer, q, position, picked, state):
        first = max(0, position - self.config["sliding_window"] + 1)
        places = [(p // ATTENTION_BLOCK, state.kv[layer][p]) for p in range(first, position + 1)]
        places += [(-1 - int(e) // ATTENTION_BLOCK, state.entries[layer, "compressor."][e]) for e in picked]
        keys = torch.stack([key for _, key in places])
        scores = (q @ keys.T) * self.config["head_dim"] ** -0.5
        sink = self.w(layer, "attn.attn_sink")[:, None]
        largest = torch.maximum(scores.amax(1, keepdim=True), sink)
        total, sum = torch.exp(sink - largest), torch.zeros_like(q)
        blocks = torch.tensor([block for block, _ in places])
        for block in blocks.unique():
            own = scores[:, blocks == block]
            m = own.amax(1, keepdim=True)
            e = torch.exp(own - m)
            total = total + e.sum(1, keepdim=True) * torch.exp(m - largest)
            sum = sum + self.attention_weights(e) @ keys[blocks == block] * torch.exp(m - largest)
        return sum / total

    def attention_weights(self, e):
        return bf16(e)

    def output(self, layer, o):
        groups = self.config["o_groups"]
        u = o.flatten(1).unflatten(1, (groups, -1))
        blocks = self.w(layer, "attn.wo_a.weight").unflatten(0, (groups, -1))
        return self.linear(bf16(torch.einsum("tgi,gri->tgr", u, blocks)).flatten(1), self.w(layer, "attn.wo_b.weight"))

    # ------------------------------------------------------------------------------------------------ entries

    def entry(self, layer, name, pooled, norm, position):
        entry = self.rotate(layer, self.norm(bf16(pooled), norm), position)
        return self.key(entry) if name == "compressor." else self.index_vector(entry)

    def index_scores(self, layer, x, qr, positions, state):
        heads, d = self.config["index_n_heads"], self.config["index_head_dim"]
        q = self.linear(qr, self.w(layer, "attn.indexer.wq_b.weight")).unflatten(1, (heads, d))
        q = self.index_vector(self.rotate(layer, q, positions))
        w = bf16(bf16(x @ self.w(layer, "attn.indexer.weights_proj.weight").T) * (d * heads) ** -0.5)
        products = bf16(torch.einsum("thi,ji->thj", q, state.entries[layer, "indexer.compressor."]))
        return bf16(bf16(torch.relu(products) * w[..., None]).sum(1))

    # ------------------------------------------------------------------------------------------------ experts

    def moe(self, layer, x, ids, trace):
        return bf16(super().moe(layer, x, ids, trace))

    def expert_sum(self, layer, x, ids, weights):
        y = torch.zeros_like(x)
        for expert, weight in sorted(zip(ids.tolist(), weights)):
            y = y + self.gated(layer, f"experts.{expert}", x, weight)
        return y

    def gated(self, layer, which, x, weight=None):
        """The weight of a route goes into the product of gate and up."""
        w1, w3, w2 = (self.w(layer, f"ffn.{which}.{name}.weight") for name in ("w1", "w3", "w2"))
        h = self.swiglu(self.linear(x, w1), self.linear(x, w3))
        return self.linear(bf16(h if weight is None else weight * h), w2)

    # ------------------------------------------------------------------------------------------------ 7.1

    def mtp(self, streams, ids, state, trace=None):
        trace = Trace() if trace is None else trace
        block = self.config["num_hidden_layers"]
        e = self.norm(bf16(self.weights["embed.weight"][torch.tensor(ids)]), self.w(block, "enorm.weight"))
        h = self.norm(streams, self.w(block, "hnorm.weight"))
        y = bf16(self.linear(e, self.w(block, "e_proj.weight"))[:, None] + self.linear(h, self.w(block, "h_proj.weight")))
        y = self.block(block, y, ids, state, trace)
        own = {name: self.w(block, name) for name in ("hc_head_fn", "hc_head_base", "hc_head_scale")}
        return self.logits(y, "hc_head", own, self.w(block, "norm.weight")), y
