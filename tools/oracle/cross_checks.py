"""Checks of the oracles of OLMoE and GLM-5.2 against themselves, on the golden checkpoints.

    python3 tools/oracle/cross_checks.py

Forms that are equal in real arithmetic must agree to float64 rounding: a prompt in two parts and in one, for every cut, the MTP
head's history among them; two sequences in turn and apart; absorbed and expanded MLA; a selection of every position and none.
(Kimi K3 has a file of its own.)
"""

import os

from families import FAMILIES
import glm_dsa
import goldens
import make_goldens
from plain_torch import torch

SAME = 1e-11  # relative, of float64


class AbsorbedMla(glm_dsa.Glm):
    """Attention over the latent cache itself (3.4)."""

    def attend(self, layer, q, visible, state):
        heads, nope, d_v = (self.config[key] for key in ("num_attention_heads", "qk_nope_head_dim", "v_head_dim"))
        u, v = self.w(layer, "self_attn.kv_b_proj.weight").unflatten(0, (heads, -1)).split([nope, d_v], dim=1)
        q_hat = torch.einsum("thi,hic->thc", q[..., :nope], u)
        scores = torch.einsum("thc,jc->thj", q_hat, state.c[layer])
        scores = (scores + torch.einsum("thi,ji->thj", q[..., nope:], state.r[layer])) * self.scale()
        p = torch.softmax(scores.masked_fill(~visible[:, None], float("-inf")), dim=-1)
        o = torch.einsum("hvc,thc->thv", v, torch.einsum("thj,jc->thc", p, state.c[layer]))
        return o.flatten(1) @ self.w(layer, "self_attn.o_proj.weight").T


def relative(ours, reference):
    return float((ours - reference).norm() / reference.norm())


def in_chunks(model, chunks):
    state = model.new_state()
    return torch.cat([model.forward(chunk, state) for chunk in chunks if chunk]), state


def mtp_in_chunks(model, state, ids, cut):
    """The MTP head over all but the last position, in two parts."""
    parts = [(at, end) for at, end in ((0, cut), (cut, len(ids) - 1)) if at < end]
    return torch.cat([model.mtp(state.f[at:end], ids[at + 1:end + 1], state)[0] for at, end in parts])


def check_splits(model, ids):
    whole, state = in_chunks(model, [ids])
    has_head = hasattr(model, "mtp")
    head = mtp_in_chunks(model, state, ids, 0) if has_head else None
    for cut in range(len(ids)):
        logits, state = in_chunks(model, [ids[:cut], *([token] for token in ids[cut:])])
        assert relative(logits, whole) < SAME, cut
        if has_head:
            assert relative(mtp_in_chunks(model, state, ids, cut), head) < SAME, cut


def check_sequences_apart(model, ids):
    first, second = model.new_state(), model.new_state()
    mixed = [model.forward(ids[:7], first), model.forward(ids[9:12], second), model.forward(ids[7:15], first)]
    assert relative(torch.cat([mixed[0], mixed[2]]), in_chunks(model, [ids[:15]])[0]) < SAME
    assert relative(mixed[1], in_chunks(model, [ids[9:12]])[0]) < SAME


def check_glm(config, tensors, ids):
    plain, _ = in_chunks(glm_dsa.Glm(config, tensors), [ids])
    assert relative(in_chunks(AbsorbedMla(config, tensors), [ids])[0], plain) < SAME
    if "index_topk" in config:
        wide = in_chunks(glm_dsa.Glm({**config, "index_topk": len(ids)}, tensors), [ids])[0]
        dense = glm_dsa.Glm({key: value for key, value in config.items() if key != "index_topk"}, tensors)
        assert torch.equal(wide, in_chunks(dense, [ids])[0]), "a selection of everything is not dense attention"


def main():
    for family in (FAMILIES["olmoe"], FAMILIES["glm_dsa"]):
        for name in family.SEEDS:
            directory = os.path.join(make_goldens.GOLDEN, family.NAME, name)
            facts, _ = goldens.read(directory)
            config, tensors = family.read(directory)
            ids = (facts["prompt_ids"] + facts["greedy_ids"])[:28]
            model = family.Model(config, tensors)
            check_splits(model, ids)
            check_sequences_apart(model, ids)
            if family.Model is glm_dsa.Glm:
                check_glm(config, tensors, ids)
            print(f"{family.NAME}/{name}: every split = whole, sequences apart"
                  f"{', absorbed = expanded, all = dense' if family.Model is glm_dsa.Glm else ''}")


if __name__ == "__main__":
    main()
