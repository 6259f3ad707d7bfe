"""DeepSeek-V4 in plain PyTorch, with its MTP block: the definition the engine is measured against.

Written from the formulas of docs/specs/deepseek_v4.md (numbers in the comments are its sections) and made to be read, not to
be fast: every position's rows are kept and masked by rule, where an engine has rings and partial windows. float64 unless
asked otherwise. No simulation of the activation formats of the release's own kernels (3.10).

Shapes: T tokens of a chunk, hc residual streams, `width` the hidden size, H heads, d channels of a head (key and value are one
vector for all heads). Matrices are [out, in], y = x Wᵀ. Rotated pairs stay where they are. Each step is a method of its own,
so that mistakes can be planted in one.
"""

import math

from plain_torch import Trace, rms_norm, torch

import deepseek_v4_layout as layout


class State:
    """All rows so far of every block, the MTP blocks among them.

    kv [n, d]: window keys (normed, rotated). For each compressor: rows and gates [n, wide] with ape added, and the
    entries [closed windows, d]. `streams` [n, hc, width]: the trunk's output, the MTP block's input.
    """

    def __init__(self, model):
        config, zeros = model.config, lambda *shape: torch.zeros(*shape, dtype=model.dtype)
        blocks = range(config["num_hidden_layers"] + config["num_nextn_predict_layers"])
        self.kv = {block: zeros(0, config["head_dim"]) for block in blocks}
        self.length = {block: 0 for block in blocks}
        self.rows, self.gates, self.entries = {}, {}, {}  # by (block, "compressor." or "indexer.compressor.")
        self.streams = zeros(0, config["hc_mult"], config["hidden_size"])


class DeepSeekV4:
    def __init__(self, config, tensors, dtype=torch.float64):
        self.config, self.dtype, self.eps = config, dtype, config["rms_norm_eps"]
        self.weights = {name: torch.tensor(values, dtype=None if name.endswith("tid2eid") else dtype)
                        for name, values in tensors.items()}

    def new_state(self):
        return State(self)

    def w(self, layer, name):
        return self.weights[layout.block_prefix(self.config, layer) + name]

    # ------------------------------------------------------------------------------------------------ 3.1, 3.3, 3.9

    def forward(self, ids, state, trace=None):
        """Logits [T, vocab] of the next tokens of a sequence; `state` is advanced by them."""
        trace = Trace() if trace is None else trace
        x = self.weights["embed.weight"][torch.tensor(ids)][:, None].expand(-1, self.config["hc_mult"], -1)
        for layer in range(self.config["num_hidden_layers"]):
            x = self.block(layer, x, ids, state, trace)
        state.streams = torch.cat([state.streams, x])
        return self.logits(x, "hc_head", self.weights, self.weights["norm.weight"])

    def block(self, layer, x, ids, state, trace):
        """x [T, hc, width] -> [T, hc, width]"""
        h, post, mix = self.site(layer, "hc_attn", x)
        a = self.attention(layer, rms_norm(h, self.w(layer, "attn_norm.weight"), self.eps), state, trace)
        x = self.merge(a, x, post, mix)
        h, post, mix = self.site(layer, "hc_ffn", x)
        m = self.moe(layer, rms_norm(h, self.w(layer, "ffn_norm.weight"), self.eps), ids, trace)
        x = self.merge(m, x, post, mix)
        for name, values in (("attention", a), ("mlp", m), ("prefix", x.flatten(1))):
            trace.record(name, layer, values)
        return x

    def logits(self, x, name, weights, norm):
        """The head's collapse of the streams (no Sinkhorn, no factor 2), norm, and the trunk's matrix."""
        m = self.stream_products(x, weights[f"{name}_fn"])
        a = torch.sigmoid(m * weights[f"{name}_scale"][0] + weights[f"{name}_base"]) + self.config["hc_eps"]
        return rms_norm((a[..., None] * x).sum(1), norm, self.eps) @ self.weights["head.weight"].T

    # ---------------------------------------------------------------------------------------------------------- 3.2

    def stream_products(self, x, fn):
        """fn · flat(x), divided by the root mean square over all streams: [T, rows]."""
        flat = x.flatten(1)
        return (flat @ fn.T) * (flat.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt()

    def site(self, layer, name, x):
        """-> input of the sublayer [T, width], post [T, hc], mixing matrix [T, hc, hc]."""
        streams, eps = self.config["hc_mult"], self.config["hc_eps"]
        m = self.stream_products(x, self.w(layer, f"{name}_fn"))
        base, scale = self.w(layer, f"{name}_base"), self.w(layer, f"{name}_scale")
        pre = torch.sigmoid(m[:, :streams] * scale[0] + base[:streams]) + eps
        post = 2 * torch.sigmoid(m[:, streams:2 * streams] * scale[1] + base[streams:2 * streams])
        mix = self.sinkhorn((m[:, 2 * streams:] * scale[2] + base[2 * streams:]).unflatten(1, (streams, streams)))
        return (pre[..., None] * x).sum(1), post, mix

    def sinkhorn(self, c):
        """Softmax over rows, then column and row divisions in turn; the last one is over columns."""
        eps = self.config["hc_eps"]
        c = torch.softmax(c, dim=-1) + eps
        c = c / (c.sum(-2, keepdim=True) + eps)
        for _ in range(self.config["hc_sinkhorn_iters"] - 1):
            c = c / (c.sum(-1, keepdim=True) + eps)
            c = c / (c.sum(-2, keepdim=True) + eps)
        return c

    def merge(self, out, x, post, mix):
        """Contraction over the first index of the matrix."""
        return post[..., None] * out[:, None] + torch.einsum("tjk,tjw->tkw", mix, x)

    # ---------------------------------------------------------------------------------------------------------- 3.4

    def frequencies(self, layer):
        """[rope/2]: plain, or with YaRN in layers that compress."""
        config, d = self.config, self.config["qk_rope_head_dim"]
        steps = torch.arange(0, d, 2, dtype=self.dtype) / d
        if not layout.ratio(config, layer):
            return config["rope_theta"] ** -steps
        base, scaling = config["compress_rope_theta"], config["rope_scaling"]

        def bound(turns):
            return d * math.log(scaling["original_max_position_embeddings"] / (2 * math.pi * turns)) / (2 * math.log(base))
        low, high = max(math.floor(bound(scaling["beta_fast"])), 0), min(math.ceil(bound(scaling["beta_slow"])), d - 1)
        ramp = (torch.arange(d // 2, dtype=self.dtype) - low) / (high - low if high > low else 0.001)
        ramp = ramp.clamp(0, 1)
        return base ** -steps * (ramp / scaling["factor"] + 1 - ramp)

    def rotate(self, layer, x, positions, direction=1):
        """x [T, …, channels]: pairs (2i, 2i + 1) of the last channels."""
        rope = self.config["qk_rope_head_dim"]
        angle = direction * positions.to(self.dtype)[:, None] * self.frequencies(layer)
        angle = angle.reshape(len(x), *[1] * (x.dim() - 2), -1)
        plain, turned = x[..., :-rope], x[..., -rope:]
        a, b = turned[..., 0::2], turned[..., 1::2]
        pairs = torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], dim=-1)
        return torch.cat([plain, pairs.flatten(-2)], dim=-1)

    # ---------------------------------------------------------------------------------------------------------- 3.5

    def attention(self, layer, x, state, trace):
        start = state.length[layer]
        state.length[layer] += len(x)
        positions = torch.arange(start, start + len(x))
        qr = rms_norm(x @ self.w(layer, "attn.wq_a.weight").T, self.w(layer, "attn.q_norm.weight"), self.eps)
        q = (qr @ self.w(layer, "attn.wq_b.weight").T).unflatten(1, (self.config["num_attention_heads"], -1))
        q = self.rotate(layer, rms_norm(q, 1, self.eps), positions)
        kv = rms_norm(x @ self.w(layer, "attn.wkv.weight").T, self.w(layer, "attn.kv_norm.weight"), self.eps)
        state.kv[layer] = torch.cat([state.kv[layer], self.rotate(layer, kv, positions)])
        picked = self.compressed(layer, x, qr, positions, state, trace)
        o = torch.stack([self.attend(layer, q[t], int(positions[t]), picked[t], state) for t in range(len(x))])
        return self.output(layer, self.rotate(layer, o, positions, direction=-1))

    def attend(self, layer, q, position, picked, state):
        """One token: q [H, d], entries `picked` of the compressed list -> [H, d]. The sink is in the denominator alone."""
        first = max(0, position - self.config["sliding_window"] + 1)
        keys = state.kv[layer][first:position + 1]
        if len(picked):
            keys = torch.cat([keys, state.entries[layer, "compressor."][picked]])
        scores = (q @ keys.T) * self.config["head_dim"] ** -0.5
        sink = self.w(layer, "attn.attn_sink")[:, None]
        return torch.softmax(torch.cat([scores, sink], dim=1), dim=1)[:, :-1] @ keys

    def output(self, layer, o):
        """o [T, H, d]: each group of heads through its own rows of wo_a, then all through wo_b."""
        groups = self.config["o_groups"]
        u = o.flatten(1).unflatten(1, (groups, -1))
        blocks = self.w(layer, "attn.wo_a.weight").unflatten(0, (groups, -1))
        return torch.einsum("tgi,gri->tgr", u, blocks).flatten(1) @ self.w(layer, "attn.wo_b.weight").T

    # ---------------------------------------------------------------------------------------------------- 3.6, 3.7

    def compressed(self, layer, x, qr, positions, state, trace):
        """Which entries of the compressed list each token attends to: a list of index tensors."""
        ratio = layout.ratio(self.config, layer)
        if not ratio:
            return [torch.zeros(0, dtype=torch.long)] * len(x)
        self.compress(layer, "compressor.", x, positions, state)
        visible = [(int(position) + 1) // ratio for position in positions]
        if not layout.has_indexer(self.config, layer):
            return [torch.arange(count) for count in visible]
        self.compress(layer, "indexer.compressor.", x, positions, state)
        scores = self.index_scores(layer, x, qr, positions, state)
        return [self.select(layer, scores[t, :count], trace) for t, count in enumerate(visible)]

    def compress(self, layer, name, x, positions, state):
        """Adds the rows of x, and an entry for every window that they close."""
        key, ratio = (layer, name), layout.ratio(self.config, layer)
        part = lambda leaf: self.w(layer, f"attn.{name}{leaf}")
        rows, gates = x @ part("wkv.weight").T, x @ part("wgate.weight").T + part("ape")[positions % ratio]
        none = torch.zeros(0, rows.shape[1], dtype=self.dtype)
        state.rows[key] = torch.cat([state.rows.get(key, none), rows])
        state.gates[key] = torch.cat([state.gates.get(key, none), gates])
        entries = state.entries.get(key, torch.zeros(0, len(part("norm.weight")), dtype=self.dtype))
        for window in range(len(entries), state.length[layer] // ratio):
            pooled = self.pool(state.rows[key], state.gates[key], window, ratio)
            position = torch.tensor([self.entry_position(window, ratio)])
            entries = torch.cat([entries, self.entry(layer, name, pooled[None], part("norm.weight"), position)])
        state.entries[key] = entries

    def entry(self, layer, name, pooled, norm, position):
        return self.rotate(layer, rms_norm(pooled, norm, self.eps), position)

    def entry_position(self, window, ratio):
        """That of the window's first token."""
        return window * ratio

    def pool(self, rows, gates, window, ratio):
        """Softmax over the slots, channel by channel. With overlap a window also mixes the first halves of the one before."""
        own = slice(window * ratio, (window + 1) * ratio)
        if ratio != 4:
            values, gate = rows[own], gates[own]
        else:
            d, before = rows.shape[1] // 2, slice(max(window - 1, 0) * ratio, window * ratio)
            values = torch.cat([rows[before, :d], rows[own, d:]])
            gate = torch.cat([gates[before, :d], gates[own, d:]])
        return (values * torch.softmax(gate, dim=0)).sum(0)

    def index_scores(self, layer, x, qr, positions, state):
        """[T, entries]"""
        heads, d = self.config["index_n_heads"], self.config["index_head_dim"]
        q = (qr @ self.w(layer, "attn.indexer.wq_b.weight").T).unflatten(1, (heads, d))
        q = self.rotate(layer, q, positions)
        w = (x @ self.w(layer, "attn.indexer.weights_proj.weight").T) * (d * heads) ** -0.5
        products = torch.einsum("thi,ji->thj", q, state.entries[layer, "indexer.compressor."])
        return torch.einsum("th,thj->tj", w, torch.relu(products))

    def select(self, layer, scores, trace):
        """One token: the largest scores, ties to the lower entry; rising."""
        order = torch.sort(scores, descending=True, stable=True).indices[:self.config["index_topk"]]
        picked = order.sort().values
        trace.record("index_scores", layer, scores)
        trace.record("index_picks", layer, picked)
        return picked

    # ---------------------------------------------------------------------------------------------------------- 3.8

    def moe(self, layer, x, ids, trace):
        expert_ids, weights, choice = self.router(layer, x, ids)
        for name, values in (("router_ids", expert_ids), ("router_weights", weights), ("router_choice", choice)):
            trace.record(name, layer, values)
        routed = torch.stack([self.expert_sum(layer, x[t], expert_ids[t], weights[t]) for t in range(len(x))])
        return routed + self.gated(layer, "shared_experts", x)

    def router(self, layer, x, ids):
        """ids and weights [T, k] (by falling biased score, or as the table has them), and the scores that choose."""
        s = torch.nn.functional.softplus(x @ self.w(layer, "ffn.gate.weight").T, threshold=1e9).sqrt()
        if layout.is_hash_routed(self.config, layer):
            picked, choice = self.w(layer, "ffn.gate.tid2eid")[torch.tensor(ids)], s
        else:
            choice = s + self.w(layer, "ffn.gate.bias")
            picked = torch.sort(choice, dim=-1, descending=True, stable=True).indices
            picked = picked[:, :self.config["num_experts_per_tok"]]
        weights = s.gather(1, picked)
        return picked, weights / weights.sum(-1, keepdim=True) * self.config["routed_scaling_factor"], choice

    def expert_sum(self, layer, x, ids, weights):
        """One token, in ascending expert id."""
        y = torch.zeros_like(x)
        for expert, weight in sorted(zip(ids.tolist(), weights)):
            y = y + weight * self.gated(layer, f"experts.{expert}", x)
        return y

    def gated(self, layer, which, x):
        w1, w3, w2 = (self.w(layer, f"ffn.{which}.{name}.weight") for name in ("w1", "w3", "w2"))
        return self.swiglu(x @ w1.T, x @ w3.T) @ w2.T

    def swiglu(self, gate, up):
        """The gate is clamped from above only."""
        limit = self.config["swiglu_limit"]
        return torch.nn.functional.silu(gate.clamp(max=limit)) * up.clamp(-limit, limit)

    # ---------------------------------------------------------------------------------------------------------- 7.1

    def mtp(self, streams, ids, state, trace=None):
        """streams [T, hc, width] of the next positions p of the MTP history, ids of p + 1 -> (logits for p + 2, streams)."""
        trace = Trace() if trace is None else trace
        block = self.config["num_hidden_layers"]
        e = rms_norm(self.weights["embed.weight"][torch.tensor(ids)], self.w(block, "enorm.weight"), self.eps)
        h = rms_norm(streams, self.w(block, "hnorm.weight"), self.eps)
        y = (e @ self.w(block, "e_proj.weight").T)[:, None] + h @ self.w(block, "h_proj.weight").T
        y = self.block(block, y, ids, state, trace)
        own = {name: self.w(block, name) for name in ("hc_head_fn", "hc_head_base", "hc_head_scale")}
        return self.logits(y, "hc_head", own, self.w(block, "norm.weight")), y
