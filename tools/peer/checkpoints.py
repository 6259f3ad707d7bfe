"""Released checkpoints for the converters here: reading and writing safetensors, widening weights to f32, and
llama.cpp's module gguf from the source that setup.sh unpacks. Needs Debian's python3-numpy."""
import json
import pathlib
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(path) for path in (ROOT / "build-peer").glob("llama_cpp_python-*/vendor/llama.cpp/gguf-py")]
import gguf  # noqa: E402,F401

WORDS = {"F32": numpy.float32, "BF16": numpy.uint16, "U8": numpy.uint8, "I8": numpy.uint8, "F8_E4M3": numpy.uint8,
         "F8_E8M0": numpy.uint8, "I64": numpy.int64}
MAGNITUDES = [0, .5, 1, 1.5, 2, 3, 4, 6]
E2M1 = numpy.array(MAGNITUDES + [-m for m in MAGNITUDES], numpy.float32)
E4M3 = numpy.array([(-1) ** (code >> 7) * (numpy.ldexp(code & 7, -9) if code & 0x78 == 0 else
                                           numpy.ldexp(8 + (code & 7), (code >> 3 & 15) - 10)) for code in range(256)],
                   numpy.float32)


class Checkpoint:
    """Tensors by name, as stored."""

    def __init__(self, folder):
        self.tensors = {}
        for shard in sorted(folder.glob("*.safetensors")):
            with open(shard, "rb") as file:
                length = int.from_bytes(file.read(8), "little")
                for name, entry in json.loads(file.read(length)).items():
                    if name != "__metadata__":
                        self.tensors[name] = (shard, entry, 8 + length)

    def kind(self, name):
        return self.tensors[name][1]["dtype"]

    def __contains__(self, name):
        return name in self.tensors

    def __getitem__(self, name):
        shard, entry, base = self.tensors[name]
        begin, end = entry["data_offsets"]
        words = WORDS[entry["dtype"]]
        return numpy.fromfile(shard, words, (end - begin) // words().itemsize, offset=base + begin).reshape(
            entry["shape"])


def wide(tensor):
    """bf16 as f32."""
    return tensor if tensor.dtype == numpy.float32 else (tensor.astype(numpy.uint32) << 16).view(numpy.float32)


def e8m0(scales):
    return numpy.ldexp(numpy.float32(1), scales.astype(numpy.int32) - 127)


def from_mxfp4(packed, scales):
    codes = numpy.stack([packed & 15, packed >> 4], axis=-1).reshape(packed.shape[0], -1)
    return E2M1[codes] * e8m0(scales).repeat(32, axis=1)


def from_fp8(codes, scales):
    """Scales of blocks of 128 x 128, f32 or E8M0."""
    rows, cols = codes.shape
    scales = scales if scales.dtype == numpy.float32 else e8m0(scales)
    return E4M3[codes] * scales.repeat(128, axis=0)[:rows].repeat(128, axis=1)[:, :cols]


def mxfp4_blocks(packed, scales):
    """In ggml's blocks of 17 bytes: the scale, then columns j and j + 16 in one byte. [rows, groups * 17]"""
    rows, groups = scales.shape
    pairs = packed.reshape(rows, groups, 16)
    codes = numpy.stack([pairs & 15, pairs >> 4], axis=-1).reshape(rows, groups, 32)
    blocks = numpy.concatenate([scales[..., None], codes[..., :16] | codes[..., 16:] << 4], axis=-1)
    return blocks.reshape(rows, groups * 17)


def write_gguf_tensors(writer, tensors):
    """tensors() yields names, arrays and their type in GGUF (None: the array's own); called twice, so that one tensor
    at a time is in memory."""
    for name, tensor, kind in tensors():
        writer.add_tensor_info(name, tensor.shape, tensor.dtype, tensor.nbytes, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for _, tensor, _ in tensors():
        writer.write_tensor_data(numpy.ascontiguousarray(tensor))
    writer.close()


def write_checkpoint(folder, config, tensors, kind_of):
    """One shard of safetensors, with its index; tensors by name, kind_of(name) as safetensors spells it."""
    folder.mkdir(exist_ok=True)
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": kind_of(name), "shape": list(tensor.shape), "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    shard = "model-00001-of-00001.safetensors"
    with open(folder / shard, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(numpy.ascontiguousarray(tensor).tobytes())
    (folder / "model.safetensors.index.json").write_text(json.dumps(
        {"metadata": {"total_size": at}, "weight_map": {name: shard for name in tensors}}))
    (folder / "config.json").write_text(json.dumps(config))
