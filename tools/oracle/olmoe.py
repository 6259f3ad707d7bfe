"""OLMoE in plain PyTorch: the definition the engine is measured against.

Written from the formulas of docs/specs/olmoe.md (section 3) and made to be read, not to be fast: no fused kernel, a loop
over the selected experts, no cache but keys and values. float64 unless asked otherwise.

Shapes: T tokens of a chunk, `width` the hidden size, H query heads, K key heads, d channels of a head. Matrices are
[out, in], y = x Wᵀ. Each step is a method of its own, so that `mutations.py` can replace one.
"""

from plain_torch import Trace, rms_norm, torch

import olmoe_layout


class State:
    """Keys (normed, clipped, rotated) and values of every layer, [n, K·d]."""

    def __init__(self, model):
        width = model.sizes["kv_heads"] * model.sizes["head_dim"]
        layers = range(model.config["num_hidden_layers"])
        self.k = {layer: torch.zeros(0, width, dtype=model.dtype) for layer in layers}
        self.v = {layer: torch.zeros(0, width, dtype=model.dtype) for layer in layers}


class Olmoe:
    def __init__(self, config, tensors, dtype=torch.float64):
        self.config, self.dtype, self.sizes = config, dtype, olmoe_layout.settings(config)
        self.eps = self.sizes["eps"]
        self.weights = {name: torch.tensor(values, dtype=dtype) for name, values in tensors.items()}

    def new_state(self):
        return State(self)

    def w(self, layer, name):
        return self.weights[f"model.layers.{layer}.{name}.weight"]

    def forward(self, ids, state, trace=None):
        """Logits [T, vocab] of the next tokens of a sequence; `state` is advanced by them."""
        trace = Trace() if trace is None else trace
        h = self.weights["model.embed_tokens.weight"][torch.tensor(ids)]
        for layer in range(self.config["num_hidden_layers"]):
            a = self.attention(layer, self.norm(h, self.w(layer, "input_layernorm")), state)
            h = h + a
            m = self.moe(layer, self.norm(h, self.w(layer, "post_attention_layernorm")), trace)
            h = h + m
            for name, values in (("attention", a), ("mlp", m), ("prefix", h)):
                trace.record(name, layer, values)
        return self.norm(h, self.weights["model.norm.weight"]) @ self.weights["lm_head.weight"].T

    def norm(self, x, weight):
        return rms_norm(x, weight, self.eps)

    # ------------------------------------------------------------------------------------------------------ attention

    def attention(self, layer, x, state):
        """x [T, width] -> [T, width]; keys and values of the T tokens are appended to the state first."""
        start = len(state.k[layer])
        q, k, v = self.qkv(layer, x)
        positions = torch.arange(start, start + len(x), dtype=self.dtype)
        q, k = self.rotate(self.heads(q), positions), self.rotate(self.heads(k), positions)
        state.k[layer] = torch.cat([state.k[layer], k.flatten(1)])
        state.v[layer] = torch.cat([state.v[layer], v])
        o = self.attend(q, self.heads(state.k[layer]), self.heads(state.v[layer]), start)
        return o.flatten(1) @ self.w(layer, "self_attn.o_proj").T

    def heads(self, x):
        return x.unflatten(1, (-1, self.sizes["head_dim"]))

    def qkv(self, layer, x):
        """The norm spans all heads together; then the clamp."""
        q = self.qk_norm(x @ self.w(layer, "self_attn.q_proj").T, self.w(layer, "self_attn.q_norm"))
        k = self.qk_norm(x @ self.w(layer, "self_attn.k_proj").T, self.w(layer, "self_attn.k_norm"))
        return self.clip(q), self.clip(k), self.clip(x @ self.w(layer, "self_attn.v_proj").T)

    def qk_norm(self, x, weight):
        return self.norm(x, weight)

    def clip(self, x):
        limit = self.config.get("clip_qkv")
        return x if limit is None else x.clamp(-limit, limit)

    def rotate(self, x, positions):
        """x [T, heads, d]: pairs (j, j + d/2), angle pos · theta^(-2j/d)."""
        half = x.shape[-1] // 2
        angle = positions[:, None] * self.theta() ** (-torch.arange(half, dtype=self.dtype) / half)
        cos, sin = angle.cos()[:, None], angle.sin()[:, None]
        a, b = self.split_pairs(x)
        return self.join_pairs(a * cos - b * sin, b * cos + a * sin)

    def theta(self):
        return self.sizes["theta"]

    def split_pairs(self, x):
        return x.chunk(2, dim=-1)

    def join_pairs(self, a, b):
        return torch.cat([a, b], dim=-1)

    def attend(self, q, k, v, start):
        """q [T, H, d] of positions start.., k and v [n, K, d] of all so far -> [T, H, d]."""
        source = self.key_head(torch.arange(q.shape[1]), q.shape[1] // k.shape[1])
        scores = torch.einsum("thi,jhi->thj", q, k[:, source]) * self.scale()
        future = torch.arange(len(k))[None] > torch.arange(start, start + len(q))[:, None]
        p = torch.softmax(scores.masked_fill(future[:, None], float("-inf")), dim=-1)
        return torch.einsum("thj,jhv->thv", p, v[:, source])

    def key_head(self, head, group):
        """Query heads of a group stand side by side."""
        return head // group

    def scale(self):
        return self.sizes["head_dim"] ** -0.5

    # ------------------------------------------------------------------------------------------------------------ MoE

    def moe(self, layer, x, trace):
        ids, weights, choice = self.router(layer, x)
        for name, values in (("router_ids", ids), ("router_weights", weights), ("router_choice", choice)):
            trace.record(name, layer, values)
        return torch.stack([self.expert_sum(layer, x[t], ids[t], weights[t]) for t in range(len(x))])

    def router(self, layer, x):
        """ids and weights [T, k] by falling probability (ties: lower id), and the probabilities [T, experts]."""
        p = self.probabilities(x @ self.w(layer, "mlp.gate").T)
        ids = torch.sort(p, dim=-1, descending=True, stable=True).indices[:, :self.config["num_experts_per_tok"]]
        return ids, self.renormalise(p.gather(1, ids)), p

    def probabilities(self, logits):
        return torch.softmax(logits, dim=-1)

    def renormalise(self, picked):
        return picked / picked.sum(-1, keepdim=True) if self.config["norm_topk_prob"] else picked

    def expert_sum(self, layer, x, ids, weights):
        """One token: x [width] -> Σ w_e · expert_e(x), in ascending expert id."""
        y = torch.zeros_like(x)
        for expert, weight in sorted(zip(ids.tolist(), weights)):
            y = y + weight * self.expert(layer, expert, x)
        return y

    def expert(self, layer, expert, x):
        gate, up, down = (self.w(layer, f"mlp.experts.{expert}.{name}_proj") for name in ("gate", "up", "down"))
        return (self.activation(x @ gate.T) * (x @ up.T)) @ down.T

    def activation(self, x):
        return torch.nn.functional.silu(x)
