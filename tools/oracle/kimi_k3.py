"""Kimi K3 in plain PyTorch: the definition the engine is measured against.

Written from the formulas of the model's specification (numbers in the comments are sections of docs/specs/kimi_k3.md)
and made to be read, not to be fast: KDA token by token, MLA with expanded keys and values, a loop over the selected
experts, no fused kernel, no cache but the state the model itself defines. float64 unless asked otherwise.

Shapes: T tokens of a chunk, `width` the hidden size, H heads, d channels of a head. Matrices are [out, in], y = x Wᵀ.
Each step is a method of its own, so that `mutations.py` can replace one and show that the goldens notice.
"""

from plain_torch import Trace, rms_norm, torch

import kimi_k3_layout as layout

L2_EPS = 1e-6  # 3.3 step 3: added to the sum of squares
ROUTER_EPS = 1e-20  # 3.7
DEFAULT_MLA_NORM_EPS = 1e-6  # 3.0: the release's class default, which its two latent norms keep


class State:
    """What one sequence carries between tokens (4): S and conv history of KDA layers, c and r of MLA layers."""

    def __init__(self, model):
        linear, zeros = model.config["linear_attn_config"], model.zeros
        heads, d, taps = linear["num_heads"], linear["head_dim"], linear["short_conv_kernel_size"]
        self.recurrent, self.conv, self.c, self.r = {}, {}, {}, {}
        for layer in range(model.config["num_hidden_layers"]):
            if layout.is_mla(model.config, layer):
                self.c[layer] = zeros(0, model.config["kv_lora_rank"])
                self.r[layer] = zeros(0, model.config["qk_rope_head_dim"])
            else:
                self.recurrent[layer] = zeros(heads, d, d)  # [head, key, value]
                self.conv[layer] = {x: zeros(taps - 1, heads * d) for x in "qkv"}  # pre-conv inputs, oldest first


class KimiK3:
    """Config (a text_config), and weights by float name as `kimi_k3_checkpoint` gives them."""

    def __init__(self, config, tensors, dtype=torch.float64):
        self.config, self.dtype = config, dtype
        self.eps = config["rms_norm_eps"]
        self.mla_norm_eps = config.get("mla_norm_eps", DEFAULT_MLA_NORM_EPS)
        self.weights = {name: torch.tensor(values, dtype=dtype) for name, values in tensors.items()}

    def new_state(self):
        return State(self)

    def zeros(self, *shape):
        return torch.zeros(*shape, dtype=self.dtype)

    def w(self, layer, name):
        return self.weights[layout.layer_prefix(layer) + name]

    # ------------------------------------------------------------------------------------------------ 3.1 layer loop

    def forward(self, ids, state, trace=None):
        """Logits [T, vocab] of the next tokens of a sequence; `state` is advanced by them."""
        trace = Trace() if trace is None else trace
        prefix = self.weights[layout.MODEL + "embed_tokens.weight"][torch.tensor(ids)]
        snapshots = []
        for layer in range(self.config["num_hidden_layers"]):
            h = self.attention_source(layer, snapshots, prefix, trace)
            if self.starts_block(layer):
                snapshots.append(self.snapshot(prefix, h))
                prefix = None
            x = self.rms_norm(h, self.w(layer, "input_layernorm.weight"))
            a = self.mla(layer, x, state) if layout.is_mla(self.config, layer) else self.kda(layer, x, state)
            prefix = self.add_attention(prefix, a, h)
            h = self.layer_attn_res("mlp", layer, [*snapshots, prefix], trace)
            m = self.mlp(layer, self.rms_norm(h, self.w(layer, "post_attention_layernorm.weight")), trace)
            prefix = self.add_mlp(prefix, m, h)
            for name, values in (("attention", a), ("mlp", m), ("prefix", prefix)):
                trace.record(name, layer, values)
        h = self.final_source(snapshots, prefix, trace)
        return self.rms_norm(h, self.weights[layout.MODEL + "norm.weight"]) @ self.weights[layout.LM_HEAD].T

    def starts_block(self, layer):
        return layer % self.config["attn_res_block_size"] == 0

    def attention_source(self, layer, snapshots, prefix, trace):
        """At a boundary too: the old prefix is still the last source here."""
        if not snapshots:
            return prefix
        return self.layer_attn_res("self_attention", layer, [*snapshots, prefix], trace)

    def snapshot(self, prefix, h):
        return prefix

    def add_attention(self, prefix, a, h):
        return a if prefix is None else prefix + a

    def add_mlp(self, prefix, m, h):
        return prefix + m

    def final_source(self, snapshots, prefix, trace):
        out, weights = self.attn_res([*snapshots, prefix], self.weights[layout.MODEL + "output_attn_res_norm.weight"],
                                     self.weights[layout.MODEL + "output_attn_res_proj.weight"])
        trace.record("output_attn_res", None, weights)
        return out

    # ------------------------------------------------------------------------------------------- 3.0 norm, 3.2 AttnRes

    def rms_norm(self, x, weight, eps=None):
        return rms_norm(x, weight, self.eps if eps is None else eps)

    def layer_attn_res(self, which, layer, sources, trace):
        out, weights = self.attn_res(sources, self.w(layer, f"{which}_res_norm.weight"),
                                     self.w(layer, f"{which}_res_proj.weight"))
        trace.record(f"{which}_attn_res", layer, weights)
        return out

    def attn_res(self, sources, gain, proj):
        """sources: n of [T, width] -> mix [T, width], weights [T, n]."""
        values = torch.stack(sources, dim=1)
        weights = torch.softmax(self.attn_res_scores(values, gain * proj[0]), dim=-1)
        return (weights[..., None] * self.attn_res_values(values)).sum(1), weights

    def attn_res_scores(self, values, f):
        return (values * (values.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt()) @ f

    def attn_res_values(self, values):
        return values

    # -------------------------------------------------------------------------------------------------------- 3.3 KDA

    def kda(self, layer, x, state):
        """x [T, width] -> [T, width]."""
        q, k, v = (self.conv_stream(layer, stream, x, state) for stream in "qkv")
        q, k = self.query_scale(self.l2_normalise(q)), self.l2_normalise(k)
        beta = self.beta(x @ self.w(layer, "self_attn.b_proj.weight").T)
        alpha = torch.exp(self.log_decay(layer, x))
        o = self.recurrence(layer, q, k, v, alpha, beta, state)
        y = self.kda_gate(o, self.w(layer, "self_attn.o_norm.weight"),
                          self.heads(x @ self.w(layer, "self_attn.g_proj.weight").T))
        return y.flatten(1) @ self.w(layer, "self_attn.o_proj.weight").T

    def heads(self, x):
        """[T, H·d] -> [T, H, d]."""
        return x.unflatten(1, (self.config["linear_attn_config"]["num_heads"], -1))

    def conv_stream(self, layer, stream, x, state):
        """Steps 1 and 2: projection, causal depthwise convolution, SiLU; -> [T, H, d]."""
        projected = x @ self.w(layer, f"self_attn.{stream}_proj.weight").T
        history = state.conv[layer][stream]
        out = self.short_conv(projected, self.w(layer, f"self_attn.{stream}_conv1d.weight")[:, 0], history)
        state.conv[layer][stream] = self.conv_history(history, projected, out)
        return self.heads(out)

    def short_conv(self, inputs, taps, history):
        """inputs [T, C], taps [C, 4], history [3, C]: the last tap multiplies the current token."""
        padded, tokens = torch.cat([history, inputs]), len(inputs)
        out = sum(taps[:, j] * padded[j:j + tokens] for j in range(taps.shape[1]))
        return self.conv_activation(out)

    def conv_activation(self, x):
        return torch.nn.functional.silu(x)

    def conv_history(self, history, projected, out):
        padded = torch.cat([history, projected])
        return padded[len(padded) - len(history):]

    def l2_normalise(self, x):
        return x * (x.pow(2).sum(-1, keepdim=True) + L2_EPS).rsqrt()

    def query_scale(self, q):
        return q * q.shape[-1] ** -0.5

    def beta(self, x):
        return torch.sigmoid(x)

    def log_decay(self, layer, x):
        """g [T, H, d] (step 6)."""
        low_rank = x @ self.w(layer, "self_attn.f_a_proj.weight").T
        z = self.heads(low_rank @ self.w(layer, "self_attn.f_b_proj.weight").T)
        dt_bias = self.heads(self.w(layer, "self_attn.dt_bias")[None])
        return self.decay_gate(z + dt_bias, self.w(layer, "self_attn.A_log"))

    def decay_gate(self, z, a_log):
        """One A per head; entries of A_log after the heads are padding."""
        per_head = a_log[:z.shape[1], None].exp()
        return self.config["linear_attn_config"]["gate_lower_bound"] * torch.sigmoid(per_head * z)

    def recurrence(self, layer, q, k, v, alpha, beta, state):
        outputs = []
        for t in range(len(q)):
            state.recurrent[layer], o = self.kda_step(state.recurrent[layer], q[t], k[t], v[t], alpha[t], beta[t])
            outputs.append(o)
        return torch.stack(outputs)

    def kda_step(self, s, q, k, v, alpha, beta):
        """Step 7. s [H, key, value]; q, k, v, alpha [H, d]; beta [H]. Decay, delta rule, output from the new state."""
        s = alpha[..., None] * s
        u = torch.einsum("hij,hi->hj", s, k)
        s = s + torch.einsum("hi,hj->hij", k, beta[:, None] * (v - u))
        return s, torch.einsum("hij,hi->hj", s, q)

    def kda_gate(self, o, o_norm, gate):
        """Step 8: norm over the channels of a head, then the sigmoid gate."""
        return self.rms_norm(o, o_norm) * torch.sigmoid(gate)

    # -------------------------------------------------------------------------------------------------------- 3.4 MLA

    def mla(self, layer, x, state):
        """x [T, width] -> [T, width]; c and r of the T tokens are appended to the state first."""
        heads, start = self.config["num_attention_heads"], len(state.c[layer])
        cq = self.rms_norm(x @ self.w(layer, "self_attn.q_a_proj.weight").T,
                           self.w(layer, "self_attn.q_a_layernorm.weight"), self.mla_norm_eps)
        q = (cq @ self.w(layer, "self_attn.q_b_proj.weight").T).unflatten(1, (heads, -1))
        c, r = self.mla_latent(layer, x)
        state.c[layer], state.r[layer] = torch.cat([state.c[layer], c]), torch.cat([state.r[layer], r])
        o = self.mla_attention(layer, q, state.c[layer], state.r[layer], start)
        y = self.mla_gate(o.flatten(1), x @ self.w(layer, "self_attn.g_proj.weight").T)
        return y @ self.w(layer, "self_attn.o_proj.weight").T

    def mla_latent(self, layer, x):
        """c [T, 512] (normed) and r [T, 64] (as projected)."""
        rank = self.config["kv_lora_rank"]
        both = x @ self.w(layer, "self_attn.kv_a_proj_with_mqa.weight").T
        c = self.rms_norm(both[:, :rank], self.w(layer, "self_attn.kv_a_layernorm.weight"), self.mla_norm_eps)
        return c, both[:, rank:]

    def mla_attention(self, layer, q, c, r, start):
        """q [T, H, nope + rope] of positions start.., c and r of all n positions so far -> o [T, H, d_v]."""
        keys, values = self.expand_kv(layer, c)
        scores = self.mla_scores(q, keys, r) * self.mla_scale()
        future = torch.arange(len(c))[None] > torch.arange(start, start + len(q))[:, None]
        p = torch.softmax(scores.masked_fill(future[:, None], float("-inf")), dim=-1)
        return torch.einsum("thj,jhv->thv", p, values)

    def expand_kv(self, layer, c):
        """Keys [n, H, nope] and values [n, H, d_v]: kv_b holds per head its key rows, then its value rows."""
        kv = (c @ self.w(layer, "self_attn.kv_b_proj.weight").T).unflatten(1, (self.config["num_attention_heads"], -1))
        return kv.split([self.config["qk_nope_head_dim"], self.config["v_head_dim"]], dim=-1)

    def mla_scores(self, q, keys, r):
        q_nope, q_rope = q.split([keys.shape[-1], r.shape[-1]], dim=-1)
        return torch.einsum("thi,jhi->thj", q_nope, keys) + torch.einsum("thi,ji->thj", q_rope, r)

    def mla_scale(self):
        return (self.config["qk_nope_head_dim"] + self.config["qk_rope_head_dim"]) ** -0.5

    def mla_gate(self, o, gate):
        return o * torch.sigmoid(gate)

    # --------------------------------------------------------------------------------------------- 3.5 SiTU, 3.7 MoE

    def situ(self, g, u):
        b1, b2 = self.config["activation_situ_beta"], self.config["activation_situ_linear_beta"]
        return (b1 * torch.tanh(g / b1) * torch.sigmoid(g)) * (b2 * torch.tanh(u / b2))

    def gated_mlp(self, x, gate, up, down):
        return self.situ(x @ gate.T, x @ up.T) @ down.T

    def mlp(self, layer, x, trace):
        if layer < self.config["first_k_dense_replace"]:
            return self.gated_mlp(x, *(self.w(layer, f"mlp.{name}_proj.weight") for name in ("gate", "up", "down")))
        return self.moe(layer, x, trace)

    def moe(self, layer, x, trace):
        z = x @ self.w(layer, "block_sparse_moe.routed_expert_down_proj.weight").T
        ids, weights, choice = self.router(layer, x, z)
        for name, values in (("router_ids", ids), ("router_weights", weights), ("router_choice", choice)):
            trace.record(name, layer, values)
        y = torch.stack([self.expert_sum(layer, z[t], ids[t], weights[t]) for t in range(len(x))])
        routed = self.aggregate_norm(layer, y) @ self.w(layer, "block_sparse_moe.routed_expert_up_proj.weight").T
        return routed + self.shared_experts(layer, x)

    def router(self, layer, x, z):
        """ids and weights [T, k] by descending biased score (ties: lower id), and the biased scores [T, experts]."""
        logits = x @ self.w(layer, "block_sparse_moe.gate.weight").T
        s = torch.sigmoid(logits)
        choice = s + self.w(layer, "block_sparse_moe.gate.e_score_correction_bias")
        order = torch.sort(choice, dim=-1, descending=True, stable=True).indices
        ids = order[:, :self.config["num_experts_per_token"]]
        return ids, self.renormalise(s.gather(1, ids)), choice

    def renormalise(self, picked):
        return picked / (picked.sum(-1, keepdim=True) + ROUTER_EPS) * self.config["routed_scaling_factor"]

    def expert_sum(self, layer, z, ids, weights):
        """One token: z [latent] -> Σ w_e · expert_e(z), in ascending expert id."""
        y = torch.zeros_like(z)
        for expert, weight in sorted(zip(ids.tolist(), weights)):
            y = y + weight * self.expert(layer, expert, z)
        return y

    def expert(self, layer, expert, z):
        prefix = f"block_sparse_moe.experts.{expert}."
        return self.gated_mlp(z, *(self.w(layer, f"{prefix}{w}.weight") for w in ("w1", "w3", "w2")))

    def aggregate_norm(self, layer, y):
        return self.rms_norm(y, self.w(layer, "block_sparse_moe.routed_expert_norm.weight"))

    def shared_experts(self, layer, x):
        prefix = "block_sparse_moe.shared_experts."
        return self.gated_mlp(x, *(self.w(layer, f"{prefix}{name}_proj.weight") for name in ("gate", "up", "down")))
