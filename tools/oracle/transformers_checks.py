"""Checks the oracles and the goldens' files against transformers, in the release that has these families right.

    python3 -m venv V && V/bin/pip install -r tools/oracle/requirements.txt
    V/bin/python tools/oracle/transformers_checks.py

Each golden directory is loaded as transformers loads a release: config, tokenizer, shards, experts apart or fused (FP8 ones
as the values they mean, since transformers decodes them on other devices only). The code runs eagerly on the CPU, with its
casts to float32 widened to float64. What it does differently is told here: the latent norms keep the class default 1e-6
whatever the config says (glm_5_2.md 3.2), so theirs is set from the golden; the order of equal index scores is left open;
and there is no MTP head for GLM: a model of one layer, fed with what section 4.1 feeds it, is one.
"""

import os
import sys

import plain_torch
from plain_torch import torch
import families
import goldens
import make_goldens

import transformers
from transformers import modeling_rope_utils
from transformers.models.deepseek_v3 import modeling_deepseek_v3
from transformers.models.glm_moe_dsa import modeling_glm_moe_dsa
from transformers.models.olmoe import modeling_olmoe

SAME = 1e-9


class Widened:
    """The module torch, but with float64 where float32 is asked for."""

    float32 = float = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


def widen(*modules):
    torch.Tensor.float = torch.Tensor.double
    torch.Tensor.topk = topk_lower_first
    for module in modules:
        module.torch = Widened()


def config_of(directory, **changes):
    config = transformers.AutoConfig.from_pretrained(directory, **changes)
    config._attn_implementation = "eager"
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    return config


def load(config, values):
    """A model in float64 that holds the oracle's weights."""
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float64).eval()
    own = model.state_dict()
    given = {}
    for name in own:
        if name.endswith("experts.gate_up_proj"):
            prefix = name.removesuffix("gate_up_proj")
            given[name] = torch.stack([torch.cat([torch.tensor(values[f"{prefix}{e}.{part}_proj.weight"])
                                                  for part in ("gate", "up")]) for e in range(len(own[name]))])
        elif name.endswith("experts.down_proj"):
            prefix = name.removesuffix("down_proj")
            given[name] = torch.stack([torch.tensor(values[f"{prefix}{e}.down_proj.weight"])
                                       for e in range(len(own[name]))])
        else:
            given[name] = torch.tensor(values[name])
    model.load_state_dict(given)
    return model


def set_latent_eps(model, eps):
    for module in model.modules():
        for name in ("q_a_layernorm", "kv_a_layernorm"):
            if hasattr(module, name):
                getattr(module, name).variance_epsilon = eps


def topk_lower_first(scores, k, dim=-1, **unused):
    """topk, whose order among equals is unspecified, with the lower index first: index scores tie at zero."""
    values, indices = torch.sort(scores, dim=dim, descending=True, stable=True)
    return torch.return_types.topk((values.narrow(dim, 0, k), indices.narrow(dim, 0, k)))


def relative(ours, theirs):
    return float(((ours - theirs).norm(dim=-1) / theirs.norm(dim=-1)).max())


def mtp_model(directory, values, layer):
    """The MTP layer as the only layer of a model: its last norm is shared_head.norm, its head the trunk's."""
    changes = {"num_hidden_layers": 1, "first_k_dense_replace": 0, "num_nextn_predict_layers": 0}
    config = config_of(directory, **changes)
    if config.model_type == "glm_moe_dsa":
        config.indexer_types, config.mlp_layer_types = ["full"], ["sparse"]
    own, prefix = {}, f"model.layers.{layer}."
    for name, matrix in values.items():
        if name.startswith(prefix):
            own["model.layers.0." + name.removeprefix(prefix)] = matrix
    own["model.norm.weight"] = values[prefix + "shared_head.norm.weight"]
    own |= {name: values[name] for name in ("model.embed_tokens.weight", "lm_head.weight")}
    return load(config, own)


def mtp_difference(directory, values, facts, arrays, f, ids):
    """f [N, width] of transformers' trunk, ids [N]."""
    prefix, eps = f"model.layers.{facts['mtp_layer']}.", config_of(directory).rms_norm_eps
    w = {name: torch.tensor(values[prefix + name]) for name in ("enorm.weight", "hnorm.weight", "eh_proj.weight")}
    embedded = torch.tensor(values["model.embed_tokens.weight"])[ids[1:]]
    both = [plain_torch.rms_norm(embedded, w["enorm.weight"], eps), plain_torch.rms_norm(f[:-1], w["hnorm.weight"], eps)]
    model = mtp_model(directory, values, facts["mtp_layer"])
    set_latent_eps(model, facts["latent_norm_eps"])
    logits = model(inputs_embeds=(torch.cat(both, -1) @ w["eh_proj.weight"].T)[None], use_cache=False).logits[0]
    return relative(logits, torch.tensor(arrays["mtp_logits"]))


def check_text(directory, facts):
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    assert tokenizer(facts["prompt"], add_special_tokens=False).input_ids == facts["prompt_ids"], "tokenizer"


@torch.no_grad()
def check(family, name):
    directory = os.path.join(make_goldens.GOLDEN, family.NAME, name)
    facts, arrays = goldens.read(directory)
    _, values = family.read(directory)
    check_text(directory, facts)
    model = load(config_of(directory), values)
    if "latent_norm_eps" in facts:
        set_latent_eps(model, facts["latent_norm_eps"])
    ids, golden = torch.tensor([facts["prompt_ids"] + facts["greedy_ids"]]), torch.tensor(arrays["logits"])
    whole = model(ids, use_cache=False, output_hidden_states=True)
    cut = len(facts["prompt_ids"])
    first = model(ids[:, :cut], use_cache=True)
    second = model(ids[:, cut:], past_key_values=first.past_key_values, use_cache=True)
    found = {"in one chunk": relative(whole.logits[0], golden),
             "in two": relative(torch.cat([first.logits[0], second.logits[0]]), golden)}
    if "mtp_layer" in facts:
        found["of the MTP head"] = mtp_difference(directory, values, facts, arrays, whole.hidden_states[-1][0], ids[0])
    assert max(found.values()) < SAME, f"{family.NAME}/{name}: {found}"
    print(f"{family.NAME}/{name}: transformers' logits differ", ", ".join(f"{what} by {x:.1e}" for what, x in found.items()))


if __name__ == "__main__":
    print("transformers", transformers.__version__, "torch", torch.__version__)
    widen(modeling_olmoe, modeling_glm_moe_dsa, modeling_deepseek_v3, modeling_rope_utils)
    for chosen in sys.argv[1:] or ("olmoe", "glm_dsa"):
        for model_name in families.FAMILIES[chosen].SEEDS:
            check(families.FAMILIES[chosen], model_name)
