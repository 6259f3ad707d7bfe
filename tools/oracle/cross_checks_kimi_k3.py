"""Checks of the Kimi K3 oracle against itself and against worked numbers of its formulas.

    python3 tools/oracle/cross_checks_kimi_k3.py

Each form that is equal in real arithmetic must agree to float64 rounding: chunked KDA and the recurrence, absorbed and
expanded MLA (3.6), a prompt in two parts and in one, for every cut.
"""

import numpy as np
import torch

import kimi_k3
import golden_kimi_k3
import tiny_kimi_k3 as tiny_models

SAME = 1e-9  # relative, after thirteen layers that amplify 1e-16


class ChunkedKda(kimi_k3.KimiK3):
    """KDA by the chunked form of the Kimi Linear paper; exponents of differences only, so any chunk length is safe."""

    chunk = 16

    def recurrence(self, layer, q, k, v, alpha, beta, state):
        parts, g = [], alpha.log()
        for at in range(0, len(q), self.chunk):
            part = slice(at, at + self.chunk)
            heads = [self.chunk_of_head(q[part, h], k[part, h], v[part, h], g[part, h], beta[part, h],
                                        state.recurrent[layer][h]) for h in range(q.shape[1])]
            parts.append(torch.stack([o for o, _ in heads], dim=1))
            state.recurrent[layer] = torch.stack([s for _, s in heads])
        return torch.cat(parts)

    def chunk_of_head(self, q, k, v, g, beta, s0):
        """q, k, g [C, key], v [C, value], beta [C], s0 [key, value] -> O [C, value], S_C."""
        total = g.cumsum(0)
        between = torch.exp((total[:, None] - total[None]).clamp(max=0))  # e^(G_i - G_j); only j <= i is used
        a = (beta[:, None] * torch.einsum("ic,ijc,jc->ij", k, between, k)).tril(-1)
        b = torch.einsum("ic,ijc,jc->ij", q, between, k).tril()
        q_bar, k_bar, k_hat = q * total.exp(), k * total.exp(), k * (total[-1] - total).exp()
        right = beta[:, None] * (v - k_bar @ s0)
        n = torch.linalg.solve_triangular(a + torch.eye(len(q), dtype=q.dtype), right, upper=False)
        return q_bar @ s0 + b @ n, total[-1].exp()[:, None] * s0 + k_hat.T @ n


class AbsorbedMla(kimi_k3.KimiK3):
    """MLA over the latent cache itself (3.6)."""

    def mla_attention(self, layer, q, c, r, start):
        heads, nope, d_v = (self.config[key] for key in ("num_attention_heads", "qk_nope_head_dim", "v_head_dim"))
        u, v = self.w(layer, "self_attn.kv_b_proj.weight").unflatten(0, (heads, -1)).split([nope, d_v], dim=1)
        q_hat = torch.einsum("thi,hic->thc", q[..., :nope], u)
        scores = torch.einsum("thc,jc->thj", q_hat, c) + torch.einsum("thi,ji->thj", q[..., nope:], r)
        scores = scores * self.mla_scale()
        future = torch.arange(len(c))[None] > torch.arange(start, start + len(q))[:, None]
        p = torch.softmax(scores.masked_fill(future[:, None], float("-inf")), dim=-1)
        return torch.einsum("hvc,thc->thv", v, torch.einsum("thj,jc->thc", p, c))


def relative(ours, reference):
    return float((ours - reference).norm() / reference.norm())


def state_difference(ours, reference):
    pairs = [(ours.recurrent, reference.recurrent), (ours.c, reference.c), (ours.r, reference.r)]
    worst = max(relative(a[layer], b[layer]) for a, b in pairs for layer in b)
    conv = max(relative(ours.conv[layer][x], reference.conv[layer][x]) for layer in reference.conv for x in "qkv")
    return max(worst, conv)


def check_forms(config, tensors, ids):
    plain, plain_state = in_chunks(kimi_k3.KimiK3(config, tensors), [ids])
    for form, lengths in ((ChunkedKda, (1, 5, 16, 17, 64)), (AbsorbedMla, (None,))):
        for length in lengths:
            model = form(config, tensors)
            model.chunk = length
            logits, state = in_chunks(model, [ids])
            assert relative(logits, plain) < SAME and state_difference(state, plain_state) < SAME
    both = type("Both", (ChunkedKda, AbsorbedMla), {})(config, tensors)
    assert relative(in_chunks(both, [ids[:20], ids[20:]])[0], plain) < SAME


def in_chunks(model, chunks):
    state = kimi_k3.State(model)
    return torch.cat([model.forward(chunk, state) for chunk in chunks if chunk]), state


def check_splits(config, tensors, ids):
    """Prefill of k tokens, then the rest one by one, for every k."""
    model = kimi_k3.KimiK3(config, tensors)
    whole, whole_state = in_chunks(model, [ids])
    for cut in range(len(ids) + 1):
        logits, state = in_chunks(model, [ids[:cut], *([token] for token in ids[cut:])])
        assert relative(logits, whole) < SAME and state_difference(state, whole_state) < SAME, cut


def check_sequences_apart(config, tensors, ids):
    """Two sequences in turn equal two runs."""
    model = kimi_k3.KimiK3(config, tensors)
    first, second = kimi_k3.State(model), kimi_k3.State(model)
    mixed = [model.forward(ids[:7], first), model.forward(ids[9:12], second), model.forward(ids[7:15], first)]
    assert relative(torch.cat([mixed[0], mixed[2]]), in_chunks(model, [ids[:15]])[0]) < SAME
    assert relative(mixed[1], in_chunks(model, [ids[9:12]])[0]) < SAME


# ------------------------------------------------------------------------------------------ worked numbers of section 3


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def close(ours, printed, digits=10):
    """Equal to the printed decimals, the last one give or take one."""
    assert np.allclose(np.asarray(ours), np.asarray(printed), rtol=0, atol=10.0 ** -digits), (ours, printed)


def check_attn_res(model):
    """3.2"""
    sources = [tensor([1., 2.]), tensor([3., -1.]), tensor([.5, .5])]
    out, weights = model.attn_res(sources, tensor(1.1, .9), tensor([.5, -.25]))
    scores = model.attn_res_scores(torch.stack(sources, dim=1), tensor(1.1, .9) * tensor(.5, -.25))
    close(scores[0], [.06324542671, .83852465304, .32499350020], 10)
    close(weights[0], [.22369375447, .48568349903, .29062274651], 10)
    close(out[0], [1.82605562481, .10701538315], 10)


def check_short_conv(model):
    """3.3 step 2"""
    out = model.short_conv(tensor([1.], [2.], [3.], [4.], [5.]), tensor([.1, .2, .3, .4]), torch.zeros(3, 1).double())
    close(out[:, 0], [.23947506, .82528612, 1.76159416, 2.85772238, 3.92805516], 8)


def check_kda(model):
    """3.3, micro test: one head, d = 2."""
    q, k = tensor([.3, -.4], [1., .5]), tensor([.6, .8], [-.2, .9])
    v, z, b = tensor([1., 2.], [-1., .5]), tensor([.5, -1.], [2., 0.]), tensor([.7], [-.3])
    alpha = torch.exp(model.decay_gate(z[:, None], tensor(.25)))
    beta = model.beta(b)
    q, k = model.query_scale(model.l2_normalise(q)), model.l2_normalise(k)
    close(alpha[:, 0], [[.0377775045, .3381286149], [.0096202568, .0820849986]])
    close(beta[:, 0], [.6681877722, .4255574832])
    s = torch.zeros(1, 2, 2).double()
    s, o = model.kda_step(s, q[0][None], k[0][None], v[0][None], alpha[0], beta[0])
    close(o[0], [-.1322940986, -.2645881972])
    close(s[0], [[.4009124628, .8018249257], [.5345499505, 1.0690999009]])
    s, o = model.kda_step(s, q[1][None], k[1][None], v[1][None], alpha[1], beta[1])
    close(o[0], [-.0597325650, .0629909554])
    close(s[0], [[.1000502108, -.0306903918], [-.3889914529, .2605757545]])


def check_situ(model):
    """3.5"""
    g, u = tensor(1., -1., 8., .1, 100., -4.), tensor(1., 2., -30., .1, 1000., 10.)
    close(model.situ(g, u), [0.7158178280748404, -0.525828895514303, -80.33965239078263, 0.0052486704486271255, 100.0,
                             -0.5204613985223138], 13)


def check_router():
    """3.7"""
    prefix = kimi_k3.layout.layer_prefix(1) + "block_sparse_moe.gate."
    config = {**tiny_models.CONFIG_A, "num_experts": 4, "num_experts_per_token": 2}
    model = kimi_k3.KimiK3(config, {prefix + "weight": np.array([[.2], [-.5], [1.], [.1]]),
                                    prefix + "e_score_correction_bias": np.array([0., .3, -.2, .05])})
    ids, weights, choice = model.router(1, tensor([1.]), None)
    close(choice[0], [.549834, .677541, .531059, .574979], 6)
    assert ids.tolist() == [[1, 3]]
    close(weights[0], [.41831841, .58168159], 8)


def main():
    for name, config in tiny_models.CONFIGS.items():
        tensors = tiny_models.initial_tensors(config, golden_kimi_k3.SEEDS[name])
        ids = np.random.RandomState(3).randint(0, config["vocab_size"], 40).tolist()
        check_forms(config, tensors, ids)
        check_splits(config, tensors, ids[:24])
        check_sequences_apart(config, tensors, ids)
        print(f"{name}: chunked = recurrent, absorbed = expanded, every split = whole, sequences apart")
    model = kimi_k3.KimiK3(tiny_models.CONFIG_A, {})
    for check in (check_attn_res, check_short_conv, check_kda, check_situ):
        check(model)
    check_router()
    print("worked numbers of section 3: equal to the printed digits")


if __name__ == "__main__":
    main()
