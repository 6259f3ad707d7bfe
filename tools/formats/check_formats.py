"""Checks of this folder against numbers that were not made by it. Run: python3 tools/formats/check_formats.py"""

import os
import tempfile

import numpy as np

import fp8
import kimi_k3_checkpoint
import kimi_k3_layout
import mxfp4
import safetensors_writer
import tiktoken_file

# A real row of the release: layer 1, expert 0, w1, row 0, columns 0..31 (spec 2.4).
REAL_PACKED = [22, 185, 206, 35, 133, 171, 155, 162, 188, 136, 11, 161, 197, 137, 153, 152]
REAL_SCALE = 121
REAL_VALUES = [.0625, .0078125, -.0078125, -.0234375, -.0625, -.03125, .0234375, .015625,
               .046875, -0., -.0234375, -.015625, -.0234375, -.0078125, .015625, -.015625,
               -.03125, -.0234375, -0., -0., -.0234375, 0., .0078125, -.015625,
               .046875, -.03125, -.0078125, -0., -.0078125, -.0078125, -0., -.0078125]


def check_mxfp4():
    packed = np.array([REAL_PACKED], dtype=np.uint8)
    scales = np.array([[REAL_SCALE]], dtype=np.uint8)
    decoded = mxfp4.decode(packed, scales)
    assert decoded.tobytes() == np.array([REAL_VALUES]).tobytes()  # bytes: the sign of zero counts
    requantised = np.array([REAL_VALUES]) * 2.0  # amax 4 * 2^-5: the largest code is 6 or the exponent drops by one
    assert np.array_equal(mxfp4.decode(*mxfp4.quantise(requantised)), requantised)
    # Ties go to the even code, above 6 saturates; the group's amax 7.9 keeps the exponent at 0.
    ties = np.zeros((1, 32))
    ties[0, :9] = [.25, .75, 1.25, 1.75, 2.5, 3.5, 5., 7.9, -.2]
    packed, scales = mxfp4.quantise(ties)
    assert scales[0, 0] == 127
    assert mxfp4.unpack_nibbles(packed)[0, :9].tolist() == [0, 2, 2, 4, 4, 6, 6, 7, 8]
    packed, scales = mxfp4.quantise(-np.zeros((2, 64)))
    assert np.all(packed == 0) and np.all(scales == 127)
    tiny = np.full((1, 32), 2.0 ** -126)  # needs e = -128, one below what a byte can say: clamped to scale byte 0
    packed, scales = mxfp4.quantise(tiny)
    assert scales[0, 0] == 0 and np.array_equal(mxfp4.decode(packed, scales), tiny)


def check_bf16():
    def word(bits):
        return int(mxfp4.to_bf16(np.array([bits], dtype="<u4").view("<f4"))[0])
    assert word(0x3F808000) == 0x3F80  # a tie: to even, down
    assert word(0x3F818000) == 0x3F82  # a tie: to even, up
    assert word(0x3F808001) == 0x3F81
    assert word(0xBF807FFF) == 0xBF80
    words = np.arange(0, 0x7F80, 7, dtype="<u2")
    assert np.array_equal(mxfp4.to_bf16(mxfp4.from_bf16(words)), words)


def check_fp8():
    assert fp8.from_e4m3(np.array([0x01, 0x08, 0x38, 0x7E, 0xB8, 0x80], dtype=np.uint8)).tolist() == [
        2.0 ** -9, 2.0 ** -6, 1.0, 448.0, -1.0, -0.0]
    every = np.array([code for code in range(256) if code & 127 != 127], dtype=np.uint8)
    assert np.array_equal(fp8.to_e4m3(fp8.from_e4m3(every)), every)
    ties = np.array([1.0625, 1.1875, 2.0 ** -10, 3 * 2.0 ** -10, 460, 1e6])  # 1 or 1.125; 1.125 or 1.25; 0 or 1 step; …
    assert fp8.to_e4m3(ties).tolist() == [0x38, 0x3A, 0x00, 0x02, 0x7E, 0x7E]
    values = np.random.RandomState(7).standard_normal((256, 300))
    error = np.abs(fp8.decode(*fp8.quantise(values)) - values) / np.abs(values)
    assert abs(error.mean() - 0.0226) < 0.001, error.mean()  # glm_5_2.md 6.4
    codes, scales = fp8.quantise_by_powers(np.array([[1, -3.3, .02, 7.9]]))  # deepseek_v4.md 3.10
    assert fp8.decode_powers(codes, scales)[0].tolist() == [1, -3.25, .01953125, 8] and scales.tolist() == [[127 - 5]]


def check_tiktoken():
    order = tiktoken_file.gpt2_byte_order()
    rank = {byte: number for number, byte in enumerate(order)}
    known = {0x21: 0, 0x24: 3, 0x28: 7, 0: 188, 0x7F: 221, 0x20: 220, 0x0A: 198}
    assert {byte: rank[byte] for byte in known} == known
    vocabulary = tiktoken_file.trivial_vocabulary()
    assert len(vocabulary) == len(set(vocabulary)) == 512
    for number in range(256, 512):
        token, lower = vocabulary[number], set(vocabulary[:number])
        assert any(token[:cut] in lower and token[cut:] in lower for cut in range(1, len(token)))
    specials = tiktoken_file.special_tokens(163584)
    assert len(specials) == 256 and specials["<|end_of_msg|>"] == 163586 and specials["[PAD]"] == 163839
    assert specials["<|media_pad|>"] == 163605 and specials["<|reserved_token_163592|>"] == 163592


def check_names_of_the_release():
    assert safetensors_writer.shard_name(1, 96, 6) == "model-00001-of-000096.safetensors"
    assert safetensors_writer.shard_name(141, 141) == "model-00141-of-00141.safetensors"


def check_checkpoint_round_trip():
    config = {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 512, "intermediate_size": 24,
              "num_attention_heads": 2, "q_lora_rank": 12, "kv_lora_rank": 10, "qk_nope_head_dim": 6,
              "qk_rope_head_dim": 4, "v_head_dim": 8, "attn_res_block_size": 1, "num_experts": 11,
              "num_experts_per_token": 2, "num_shared_experts": 2, "moe_intermediate_size": 32,
              "routed_expert_hidden_size": 64, "first_k_dense_replace": 1,
              "linear_attn_config": {"full_attn_layers": [2], "num_heads": 3, "head_dim": 8,
                                     "short_conv_kernel_size": 4, "gate_lower_bound": -5.0, "use_full_rank_gate": True}}
    draw = np.random.RandomState(1)
    tensors = {name: draw.standard_normal(shape) for name, (_, shape) in kimi_k3_layout.float_tensors(config).items()}
    with tempfile.TemporaryDirectory() as directory:
        rounded = kimi_k3_checkpoint.write_checkpoint(directory, config, tensors, tiktoken_file.byte_vocabulary())
        _, read = kimi_k3_checkpoint.read_float_tensors(directory)
        assert set(read) == set(rounded) == set(tensors)
        for name, values in read.items():
            assert np.array_equal(values, rounded[name]), name
            # the worst case is MXFP4: a group whose largest value lies just under 8 * 2^e is cut to 6 * 2^e
            assert np.abs(values - tensors[name]).max() <= 0.25 * np.abs(tensors[name]).max(), name
        shard = safetensors_writer.read_shard(os.path.join(directory, "model-00002-of-000004.safetensors"))
        check_order(list(shard))


def check_order(names):
    """Trunk first, then experts in the order of their decimal names; inside one w1, w2, w3, packed before scale."""
    experts = [name.split(".experts.")[1] for name in names if ".experts." in name]
    assert all(".experts." in name for name in names[-len(experts):])
    assert [name.split(".")[0] for name in experts[::6]] == ["0", "1", "10", "2", "3", "4", "5", "6", "7", "8", "9"]
    assert experts[:6] == [f"0.{w}.weight_{part}" for w in ("w1", "w2", "w3") for part in ("packed", "scale")]


if __name__ == "__main__":
    for check in (check_mxfp4, check_fp8, check_bf16, check_tiktoken, check_names_of_the_release, check_checkpoint_round_trip):
        check()
        print("ok", check.__name__)
