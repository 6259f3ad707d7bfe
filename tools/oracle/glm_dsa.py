"""GLM-5.2 in plain PyTorch, with its MTP head, and the siblings that differ in numbers (GLM-5, DeepSeek-V3).

Written from the formulas of docs/specs/glm_5_2.md (numbers in the comments are its sections; YaRN: olmoe.md 6) and made
to be read, not to be fast: expanded keys and values, index scores of every position, a loop over the selected experts.
float64 unless asked otherwise.

Shapes: T tokens of a chunk, n positions so far, H heads, d channels. Matrices are [out, in], y = x Wᵀ. Rotated pairs
stay where they are. Each step is a method of its own, so that `mutations_glm_dsa.py` can replace one.
"""

import math

from plain_torch import Trace, rms_norm, torch

import glm_dsa_layout as layout

ROUTER_EPS = 1e-20  # 3.6
INDEX_NORM_EPS = 1e-6  # 3.2: of the indexer's LayerNorm


class State:
    """What one sequence carries: latents c, rotated keys r of every layer, index keys of layers with an indexer.

    The MTP layer is one more layer; its caches hold verified positions only. `f` [n, width] is the trunk's hidden state
    after the final norm, the MTP head's input."""

    def __init__(self, model):
        config, zeros = model.config, lambda *shape: torch.zeros(*shape, dtype=model.dtype)
        layers = range(config["num_hidden_layers"] + (layout.mtp_layer(config) is not None))
        self.c = {layer: zeros(0, config["kv_lora_rank"]) for layer in layers}
        self.r = {layer: zeros(0, config["qk_rope_head_dim"]) for layer in layers}
        self.index_k = {layer: zeros(0, config["index_head_dim"]) for layer in layers
                        if layout.has_indexer(config, layer)}
        self.f = zeros(0, config["hidden_size"])


class Glm:
    """Config (config.json), and weights by float name, experts one tensor each."""

    def __init__(self, config, tensors, dtype=torch.float64):
        self.config, self.dtype = config, dtype
        self.eps = config["rms_norm_eps"]
        self.latent_eps = config.get("mla_norm_eps", config.get("latent_norm_eps", self.eps))  # 3.2
        self.weights = {name: torch.tensor(values, dtype=dtype) for name, values in tensors.items()}

    def new_state(self):
        return State(self)

    def w(self, layer, name):
        return self.weights[f"model.layers.{layer}.{name}"]

    # ---------------------------------------------------------------------------------------------------- 3.1 skeleton

    def forward(self, ids, state, trace=None):
        """Logits [T, vocab] of the next tokens of a sequence; `state` is advanced by them."""
        trace = Trace() if trace is None else trace
        h, start = self.embed(ids), len(state.f)
        positions, visible = torch.arange(start, start + len(ids)), None
        for layer in range(self.config["num_hidden_layers"]):
            h, visible = self.decoder_layer(layer, h, positions, state, visible, trace)
        f = self.norm(h, self.weights["model.norm.weight"])
        state.f = torch.cat([state.f, f])
        return f @ self.weights["lm_head.weight"].T

    def embed(self, ids):
        return self.weights["model.embed_tokens.weight"][torch.as_tensor(ids)]

    def decoder_layer(self, layer, h, positions, state, visible, trace):
        """h [T, width] -> (h, visible [T, n]); `visible` comes from the layer before, for layers without an indexer."""
        x = self.norm(h, self.w(layer, "input_layernorm.weight"))
        q, cq = self.queries(layer, x, positions)
        self.append_keys(layer, x, positions, state)
        visible = self.visible(layer, x, cq, positions, state, visible, trace)
        a = self.attend(layer, q, visible, state)
        h = h + a
        m = self.mlp(layer, self.norm(h, self.w(layer, "post_attention_layernorm.weight")), trace)
        h = h + m
        for name, values in (("attention", a), ("mlp", m), ("prefix", h)):
            trace.record(name, layer, values)
        return h, visible

    def norm(self, x, weight):
        return rms_norm(x, weight, self.eps)

    def latent_norm(self, x, weight):
        return rms_norm(x, weight, self.latent_eps)

    # -------------------------------------------------------------------------------------------------------- 3.3 RoPE

    def frequencies(self):
        """inv [rope/2], with YaRN's ramp where the config asks for it."""
        theta, scaling = layout.rope(self.config)
        d = self.config["qk_rope_head_dim"]
        inverse = theta ** (-torch.arange(0, d, 2, dtype=self.dtype) / d)
        return inverse if scaling is None else inverse * self.yarn_ramp(theta, scaling, d)

    def yarn_ramp(self, theta, scaling, d):
        def bound(beta):
            turns = scaling["original_max_position_embeddings"] / (2 * math.pi * beta)
            return d * math.log(turns) / (2 * math.log(theta))
        low = max(math.floor(bound(scaling["beta_fast"])), 0)
        high = min(math.ceil(bound(scaling["beta_slow"])), d - 1)
        ramp = (torch.arange(d // 2, dtype=self.dtype) - low) / (high - low if high > low else 0.001)
        ramp = ramp.clamp(0, 1)
        return (1 - ramp) + ramp / scaling["factor"]

    def rotate(self, x, positions):
        """x [T, …, rope]: pairs (2j, 2j + 1), in place."""
        angle = (positions.to(self.dtype)[:, None] * self.frequencies()).reshape(len(x), *[1] * (x.dim() - 2), -1)
        a, b = self.split_pairs(x)
        return self.join_pairs(a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin())

    def split_pairs(self, x):
        return x[..., 0::2], x[..., 1::2]

    def join_pairs(self, a, b):
        return torch.stack([a, b], dim=-1).flatten(-2)

    # --------------------------------------------------------------------------------------------------------- 3.4 MLA

    def queries(self, layer, x, positions):
        """q [T, H, nope + rope], the last part rotated; and the latent they come from [T, rank]."""
        latent = x @ self.w(layer, "self_attn.q_a_proj.weight").T
        cq = self.latent_norm(latent, self.w(layer, "self_attn.q_a_layernorm.weight"))
        q = (cq @ self.w(layer, "self_attn.q_b_proj.weight").T).unflatten(1, (self.config["num_attention_heads"], -1))
        nope = self.config["qk_nope_head_dim"]
        return torch.cat([q[..., :nope], self.rotate(q[..., nope:], positions)], dim=-1), cq

    def append_keys(self, layer, x, positions, state):
        c, r = self.latent(layer, x)
        state.c[layer] = torch.cat([state.c[layer], c])
        state.r[layer] = torch.cat([state.r[layer], self.rotate(r, positions)])

    def latent(self, layer, x):
        """c [T, rank] (normed), r [T, rope] (as projected)."""
        both = x @ self.w(layer, "self_attn.kv_a_proj_with_mqa.weight").T
        rank = self.config["kv_lora_rank"]
        return self.latent_norm(both[:, :rank], self.w(layer, "self_attn.kv_a_layernorm.weight")), both[:, rank:]

    def attend(self, layer, q, visible, state):
        """q [T, H, …], visible [T, n] -> [T, width]."""
        keys, values = self.expand(layer, state.c[layer])
        nope = self.config["qk_nope_head_dim"]
        scores = torch.einsum("thi,jhi->thj", q[..., :nope], keys)
        scores = (scores + torch.einsum("thi,ji->thj", q[..., nope:], state.r[layer])) * self.scale()
        p = torch.softmax(scores.masked_fill(~visible[:, None], float("-inf")), dim=-1)
        o = torch.einsum("thj,jhv->thv", p, values)
        return o.flatten(1) @ self.w(layer, "self_attn.o_proj.weight").T

    def expand(self, layer, c):
        """Keys [n, H, nope] and values [n, H, d_v]: kv_b holds per head its key rows, then its value rows."""
        kv = (c @ self.w(layer, "self_attn.kv_b_proj.weight").T).unflatten(1, (self.config["num_attention_heads"], -1))
        return kv.split([self.config["qk_nope_head_dim"], self.config["v_head_dim"]], dim=-1)

    def scale(self):
        scale = (self.config["qk_nope_head_dim"] + self.config["qk_rope_head_dim"]) ** -0.5
        _, scaling = layout.rope(self.config)
        return scale if scaling is None else scale * self.yarn_mscale(scaling) ** 2

    def yarn_mscale(self, scaling):
        return 0.1 * scaling["mscale_all_dim"] * math.log(scaling["factor"]) + 1

    # ----------------------------------------------------------------------------------------------------- 3.5 indexer

    def visible(self, layer, x, cq, positions, state, before, trace):
        """[T, n]: which positions each token attends to. A layer without an indexer takes the set of the one before."""
        n = len(state.c[layer])
        causal = torch.arange(n)[None] <= positions[:, None]
        if "index_topk" not in self.config:
            return causal
        if not layout.has_indexer(self.config, layer):
            return self.shared_visible(layer, before, causal)
        state.index_k[layer] = torch.cat([state.index_k[layer], self.index_keys(layer, x, positions)])
        q = self.index_queries(layer, cq, x, positions)
        products = self.index_products(q, state.index_k[layer])
        self.note_signs(products, q, state.index_k[layer], causal, trace, layer)
        scores = self.index_scores(self.index_weights(layer, x), products)
        return self.select(scores, causal, trace, layer)

    def shared_visible(self, layer, before, causal):
        assert before is not None, f"layer {layer} shares a selection, but no layer before it made one"
        return before

    def index_queries(self, layer, cq, x, positions):
        """[T, heads, d]: the first part of a head is rotated."""
        q = (cq @ self.w(layer, "self_attn.indexer.wq_b.weight").T).unflatten(1, (self.config["index_n_heads"], -1))
        return self.index_rotate(q, positions)

    def index_keys(self, layer, x, positions):
        k = self.index_norm(layer, x @ self.w(layer, "self_attn.indexer.wk.weight").T)
        return self.index_rotate(k, positions)

    def index_norm(self, layer, x):
        """LayerNorm with weight and bias."""
        centred = x - x.mean(-1, keepdim=True)
        normed = centred * (centred.pow(2).mean(-1, keepdim=True) + INDEX_NORM_EPS).rsqrt()
        return normed * self.w(layer, "self_attn.indexer.k_norm.weight") + self.w(layer, "self_attn.indexer.k_norm.bias")

    def index_rotate(self, x, positions):
        rotated = self.config["qk_rope_head_dim"]
        return torch.cat([self.rotate(x[..., :rotated], positions), x[..., rotated:]], dim=-1)

    def index_weights(self, layer, x):
        """Signed weights of the heads [T, heads]."""
        return (x @ self.w(layer, "self_attn.indexer.weights_proj.weight").T) * self.config["index_n_heads"] ** -0.5

    def index_products(self, q, keys):
        """[T, heads, n]"""
        return torch.einsum("thi,ji->thj", q, keys) * self.config["index_head_dim"] ** -0.5

    def note_signs(self, products, q, keys, causal, trace, layer):
        """How near the products of a token come to zero, in units of their factors: below zero they count nothing."""
        sizes = q.norm(dim=-1)[..., None] * keys.norm(dim=-1) * self.config["index_head_dim"] ** -0.5
        near = (products.abs() / sizes).masked_fill(~causal[:, None], float("inf"))
        trace.record("index_sign", layer, near.amin((1, 2)))

    def index_scores(self, w, products):
        """[T, n]"""
        return torch.einsum("th,thj->tj", w, self.index_activation(products))

    def index_activation(self, products):
        return torch.relu(products)

    def select(self, scores, causal, trace, layer):
        """The largest scores among the causal ones; ties go to the lower position."""
        masked = scores.masked_fill(~causal, float("-inf"))
        order = torch.sort(masked, dim=-1, descending=True, stable=True).indices[:, :self.index_topk()]
        picked = torch.zeros_like(causal).scatter(1, order, True) & causal
        for token in range(len(scores)):
            trace.record("index_scores", layer, scores[token, causal[token]])
            trace.record("index_picks", layer, picked[token].nonzero()[:, 0])
        return picked

    def index_topk(self):
        return self.config["index_topk"]

    # --------------------------------------------------------------------------------------------------------- 3.6 MoE

    def mlp(self, layer, x, trace):
        if layer < self.config["num_hidden_layers"] and layout.is_dense(self.config, layer):
            return self.gated(x, *(self.w(layer, f"mlp.{name}_proj.weight") for name in ("gate", "up", "down")))
        ids, weights, choice, groups = self.router(layer, x)
        for name, values in (("router_ids", ids), ("router_weights", weights), ("router_choice", choice),
                             ("router_groups", groups)):
            trace.record(name, layer, values)
        routed = torch.stack([self.expert_sum(layer, x[t], ids[t], weights[t]) for t in range(len(x))])
        return routed + self.shared_expert(layer, x)

    def gated(self, x, gate, up, down):
        return (torch.nn.functional.silu(x @ gate.T) * (x @ up.T)) @ down.T

    def router(self, layer, x):
        """ids and weights [T, k] by falling biased score (ties: lower id), the biased scores and those of the groups."""
        s = torch.sigmoid(x @ self.w(layer, "mlp.gate.weight").T)
        choice, groups = self.limit_groups(s + self.w(layer, "mlp.gate.e_score_correction_bias"))
        ids = torch.sort(choice, dim=-1, descending=True, stable=True).indices[:, :self.config["num_experts_per_tok"]]
        return ids, self.renormalise(s.gather(1, ids)), choice, groups

    def limit_groups(self, choice):
        """Experts outside the best groups are out; a group counts the sum of its two best."""
        groups = self.config.get("n_group", 1)
        if groups == 1:
            return choice, torch.zeros(len(choice), 1, dtype=self.dtype)
        members = choice.unflatten(1, (groups, -1))
        score = self.group_score(members)
        kept = torch.sort(score, dim=-1, descending=True, stable=True).indices[:, :self.config["topk_group"]]
        inside = torch.zeros_like(score, dtype=torch.bool).scatter(1, kept, True)
        return members.masked_fill(~inside[..., None], float("-inf")).flatten(1), score

    def group_score(self, members):
        return members.topk(2).values.sum(-1)

    def renormalise(self, picked):
        if self.config["norm_topk_prob"]:
            picked = picked / (picked.sum(-1, keepdim=True) + ROUTER_EPS)
        return picked * self.config["routed_scaling_factor"]

    def expert_sum(self, layer, x, ids, weights):
        """One token: x [width] -> Σ w_e · expert_e(x), in ascending expert id."""
        y = torch.zeros_like(x)
        for expert, weight in sorted(zip(ids.tolist(), weights)):
            y = y + weight * self.expert(layer, f"experts.{expert}", x)
        return y

    def expert(self, layer, which, x):
        return self.gated(x, *(self.w(layer, f"mlp.{which}.{name}_proj.weight") for name in ("gate", "up", "down")))

    def shared_expert(self, layer, x):
        return self.expert(layer, "shared_experts", x)

    # ----------------------------------------------------------------------------------------------------------- 4 MTP

    def mtp(self, f, ids, state, trace=None):
        """f [T, width] of the next positions p of the MTP layer's history, ids of p + 1 -> (logits for p + 2, m).

        Appends the positions to the history: for verified tokens only."""
        trace = Trace() if trace is None else trace
        layer = layout.mtp_layer(self.config)
        start = len(state.c[layer])
        positions = torch.arange(start, start + len(ids))
        r, visible = self.decoder_layer(layer, self.mtp_input(layer, f, ids), positions, state, None, trace)
        m = self.norm(r, self.w(layer, "shared_head.norm.weight"))
        return m @ self.weights["lm_head.weight"].T, self.recycled(m, r), visible

    def mtp_input(self, layer, f, ids):
        """4.1: the embedding's half first."""
        e = self.norm(self.embed(ids), self.w(layer, "enorm.weight"))
        return torch.cat([e, self.norm(f, self.w(layer, "hnorm.weight"))], dim=-1) @ self.w(layer, "eh_proj.weight").T

    def recycled(self, m, r):
        return m

    def draft(self, m, visible, ids, position, state, trace=None):
        """4.2, 4.4: one step after the first: token `ids` [1] at `position`, over the set of the first step [1, n].

        Nothing is appended. -> (logits [1, vocab], m)"""
        trace = Trace() if trace is None else trace
        layer, positions = layout.mtp_layer(self.config), torch.tensor([position])
        h = self.mtp_input(layer, m, ids)
        q, _ = self.queries(layer, self.norm(h, self.w(layer, "input_layernorm.weight")), positions)
        h = h + self.attend(layer, q, visible, state)
        h = h + self.mlp(layer, self.norm(h, self.w(layer, "post_attention_layernorm.weight")), trace)
        trace.record("prefix", layer, h)
        m = self.norm(h, self.w(layer, "shared_head.norm.weight"))
        return m @ self.weights["lm_head.weight"].T, self.recycled(m, h)


def drafts(model, state, position, first, steps, trace=None):
    """Draft ids and logits at a position whose MTP history is rows 0..position: `first` = (logits, m, visible) there."""
    logits, m, visible = first
    ids, rows = [int(logits[0].argmax())], [logits]
    for step in range(1, steps):
        logits, m = model.draft(m, visible, ids[-1:], position + step, state, trace)
        ids.append(int(logits[0].argmax()))
        rows.append(logits)
    return ids, torch.cat(rows)
