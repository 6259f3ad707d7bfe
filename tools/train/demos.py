"""What each bundled demo is: its configuration, its vocabulary, its training class, and how it is written.

A demo has FAMILY (its corpus, chat format and oracle), encoder(), stored_encoder(directory), net(encoder),
write(net, encoder, directory), and how it is trained: ROWS and WARM_UP.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "formats")]
import deepseek_v4_layout  # noqa: E402
import float_checkpoint  # noqa: E402
import glm_dsa_layout  # noqa: E402
import kimi_k3_checkpoint  # noqa: E402
import olmoe_layout  # noqa: E402
import tiktoken_file  # noqa: E402
import tokenizer_json  # noqa: E402

import chat_formats  # noqa: E402
import tokenizer  # noqa: E402
from model_deepseek_v4 import DeepSeekV4 as DeepSeekV4Net  # noqa: E402
from model_glm_dsa import GlmDsa as GlmDsaNet  # noqa: E402
from model_kimi_k3 import KimiK3 as KimiK3Net  # noqa: E402
from model_olmoe import Olmoe as OlmoeNet  # noqa: E402

RANKS = 1152
SEED = 7


def merges(family, split, ranks=RANKS):
    """The byte-pair merges of 8,000 documents (seed 1)."""
    world = chat_formats.world(family, 1)
    documents = [world.document() if number % 8 else world.row_start(1000) for number in range(8000)]
    texts = [piece for document in documents for kind, piece in document if kind == "text"]
    return tokenizer.train_merges(texts, ranks, split)


class Demo:
    ROWS = {0: (4, 256), 800: (3, 384)}  # {first step: (rows, tokens in each)}
    WARM_UP = 100  # steps over which the rate rises


class KimiK3(Demo):
    FAMILY = "kimi_k3"
    CONFIG = {
        "hidden_size": 128, "num_hidden_layers": 9, "vocab_size": RANKS + 256, "intermediate_size": 128, "num_attention_heads": 4,
        "q_lora_rank": 48, "kv_lora_rank": 32, "qk_nope_head_dim": 24, "qk_rope_head_dim": 8, "v_head_dim": 24, "mla_norm_eps": 1e-6,
        "num_experts": 48, "num_experts_per_token": 4, "num_shared_experts": 1, "moe_intermediate_size": 64,
        "routed_expert_hidden_size": 96, "attn_res_block_size": 4, "max_position_embeddings": 4096,
        "linear_attn_config": {"full_attn_layers": [4, 8, 9], "num_heads": 3, "head_dim": 32, "short_conv_kernel_size": 4,
                               "gate_lower_bound": -5.0, "use_full_rank_gate": True},
    }

    @classmethod
    def encoder(cls):
        pairs = merges(cls.FAMILY, tokenizer.SPLIT)
        return tokenizer.Encoder(tiktoken_file.extend_by_merges(tiktoken_file.byte_vocabulary(), pairs))

    @classmethod
    def stored_encoder(cls, directory):
        return tokenizer.Encoder(tiktoken_file.read_tiktoken_model(os.path.join(directory, "tiktoken.model")))

    @classmethod
    def net(cls, encoder):
        return KimiK3Net(kimi_k3_checkpoint.complete_text_config(cls.CONFIG), SEED)

    @classmethod
    def write(cls, net, encoder, directory):
        kimi_k3_checkpoint.write_checkpoint(directory, cls.CONFIG, net.float_tensors(), encoder.vocabulary, with_vision=False)


class Olmoe(Demo):
    FAMILY = "olmoe"
    CONFIG = {
        "architectures": ["OlmoeForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "clip_qkv": None,
        "hidden_act": "silu", "hidden_size": 96, "initializer_range": 0.02, "intermediate_size": 48,
        "max_position_embeddings": 4096, "model_type": "olmoe", "norm_topk_prob": False, "num_attention_heads": 4,
        "num_experts": 24, "num_experts_per_tok": 4, "num_hidden_layers": 6, "num_key_value_heads": 4,
        "output_router_logits": False, "pad_token_id": 1, "rms_norm_eps": 1e-05, "rope_scaling": None, "rope_theta": 10000.0,
        "router_aux_loss_coef": 0.01, "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.43.0",
        "use_cache": True,
    }

    @classmethod
    def encoder(cls):
        return tokenizer.olmoe_encoder(merges(cls.FAMILY, tokenizer.compiled(tokenizer_json.GPT2_SPLIT)))

    @classmethod
    def stored_encoder(cls, directory):
        return tokenizer.olmoe_encoder(tokenizer_json.read_merges(directory))

    @classmethod
    def config(cls, encoder):
        """Rows are padded to a multiple of 8; the ids there have no token."""
        end = encoder.special[tokenizer_json.OLMOE_LAST[-1]]
        return {**cls.CONFIG, "eos_token_id": end, "vocab_size": -(-encoder.vocab_size // 8) * 8}

    @classmethod
    def net(cls, encoder):
        return OlmoeNet(cls.config(encoder), SEED)

    @classmethod
    def write(cls, net, encoder, directory):
        config = cls.config(encoder)
        float_checkpoint.write_checkpoint(directory, config, {"eos_token_id": config["eos_token_id"], "pad_token_id": 1},
                                          olmoe_layout.groups(config), net.float_tensors())
        tokenizer_json.write_tokenizer(directory, tokenizer_json.olmoe_file(encoder.vocabulary), tokenizer_json.olmoe_settings(config))


class Glm52(Demo):
    FAMILY = "glm_dsa"
    CONFIG = {
        "architectures": ["GlmMoeDsaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "dtype": "bfloat16",
        "ep_size": 1, "first_k_dense_replace": 1, "head_dim": 16, "hidden_act": "silu", "hidden_size": 96,
        "index_head_dim": 16, "index_n_heads": 4, "index_share_for_mtp_iteration": True, "index_skip_topk_offset": 2,
        "index_topk": 256, "index_topk_freq": 3, "index_topk_pattern": None,
        "indexer_types": ["full", "full", "shared", "shared", "full", "shared"], "indexer_rope_interleave": True,
        "initializer_range": 0.02, "intermediate_size": 256, "kv_lora_rank": 32, "max_position_embeddings": 4096,
        "mlp_layer_types": ["dense"] + ["sparse"] * 5, "model_type": "glm_moe_dsa", "moe_intermediate_size": 64,
        "moe_layer_freq": 1, "moe_router_dtype": "float32", "n_group": 1, "n_routed_experts": 24, "n_shared_experts": 1,
        "norm_topk_prob": True, "num_attention_heads": 4, "num_experts_per_tok": 3, "num_hidden_layers": 6,
        "num_key_value_heads": 4, "num_nextn_predict_layers": 1, "pretraining_tp": 1, "q_lora_rank": 64,
        "qk_head_dim": 24, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "rms_norm_eps": 1e-05, "rope_interleave": True,
        "rope_parameters": {"rope_theta": 10000, "rope_type": "default"}, "routed_scaling_factor": 2.5,
        "scoring_func": "sigmoid", "tie_word_embeddings": False, "topk_group": 1, "topk_method": "noaux_tc",
        "transformers_version": "5.12.0", "use_cache": True, "v_head_dim": 24,
        "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
                                "weight_block_size": [128, 128]},
    }

    @classmethod
    def encoder(cls):
        return tokenizer.glm_encoder(merges(cls.FAMILY, tokenizer.compiled(tokenizer_json.GLM_SPLIT)))

    @classmethod
    def stored_encoder(cls, directory):
        return tokenizer.glm_encoder(tokenizer_json.read_merges(directory))

    @classmethod
    def config(cls, encoder):
        ends = [encoder.special[text] for text in chat_formats.Glm.STOPS]
        return {**cls.CONFIG, "eos_token_id": ends, "pad_token_id": ends[0], "vocab_size": -(-encoder.vocab_size // 8) * 8}

    @classmethod
    def net(cls, encoder):
        return GlmDsaNet(cls.config(encoder), SEED)

    @classmethod
    def write(cls, net, encoder, directory):
        config = cls.config(encoder)
        float_checkpoint.write_checkpoint(directory, config, tokenizer_json.glm_generation(config), glm_dsa_layout.groups(config),
                                          net.float_tensors())
        tokenizer_json.write_tokenizer(directory, tokenizer_json.glm_file(encoder.vocabulary), tokenizer_json.glm_settings(config))


class DeepSeekV4(Demo):
    FAMILY = "deepseek_v4"
    WARM_UP = 30
    ROWS = {0: (3, 192), 800: (2, 512)}  # short ones first: the declaration of a tool takes 300 tokens
    CONFIG = {
        "architectures": ["DeepseekV4ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 0,
        "compress_ratios": [0, 4, 16, 4, 16, 4, 0], "compress_rope_theta": 160000, "eos_token_id": 1, "expert_dtype": "fp4",
        "hc_eps": 1e-06, "hc_mult": 4, "hc_sinkhorn_iters": 20, "head_dim": 48, "hidden_act": "silu", "hidden_size": 96,
        "index_head_dim": 32, "index_n_heads": 4, "index_topk": 32, "initializer_range": 0.02,
        "max_position_embeddings": 8192, "model_type": "deepseek_v4", "moe_intermediate_size": 64, "n_routed_experts": 24,
        "n_shared_experts": 1, "norm_topk_prob": True, "num_attention_heads": 4, "num_experts_per_tok": 3,
        "num_hash_layers": 2, "num_hidden_layers": 6, "num_key_value_heads": 1, "num_nextn_predict_layers": 1,
        "o_groups": 2, "o_lora_rank": 48, "q_lora_rank": 64, "qk_rope_head_dim": 16, "rms_norm_eps": 1e-06,
        "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 512, "beta_fast": 32, "beta_slow": 1},
        "rope_theta": 10000, "routed_scaling_factor": 1.5, "scoring_func": "sqrtsoftplus", "sliding_window": 48,
        "swiglu_limit": 10.0, "tie_word_embeddings": False, "topk_method": "noaux_tc", "torch_dtype": "bfloat16",
        "transformers_version": "4.57.1", "use_cache": True,
        "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "scale_fmt": "ue8m0", "activation_scheme": "dynamic",
                                "weight_block_size": [128, 128]},
    }

    @classmethod
    def encoder(cls):
        return tokenizer.deepseek_encoder(merges(cls.FAMILY, tokenizer.compiled(tokenizer_json.DEEPSEEK_SPLITS)))

    @classmethod
    def stored_encoder(cls, directory):
        return tokenizer.deepseek_encoder(tokenizer_json.read_merges(directory))

    @classmethod
    def config(cls, encoder):
        return {**cls.CONFIG, "vocab_size": -(-encoder.vocab_size // 8) * 8}

    @classmethod
    def net(cls, encoder):
        return DeepSeekV4Net(cls.config(encoder), SEED)

    @classmethod
    def write(cls, net, encoder, directory):
        config = cls.config(encoder)
        float_checkpoint.write_checkpoint(directory, config, tokenizer_json.deepseek_generation(), deepseek_v4_layout.groups(config),
                                          net.float_tensors())
        tokenizer_json.write_tokenizer(directory, tokenizer_json.deepseek_file(encoder.vocabulary),
                                       tokenizer_json.deepseek_settings(config))


DEMOS = {"kimi-k3": KimiK3, "olmoe": Olmoe, "glm-5.2": Glm52, "deepseek-v4": DeepSeekV4}
