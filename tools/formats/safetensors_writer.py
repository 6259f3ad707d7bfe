"""Writes safetensors shards as the releases have them (of Kimi K3 byte for byte: spec 2.1, 9.4).

A tensor is `(dtype tag, array)`: the tag is the one of the file ("F32", "BF16", "F8_E4M3", "U8", …), the array holds
the *stored* words (float32, uint16, uint8, …), so that nothing is converted here. Inside a shard tensors stand by
dtype, in the order of STORAGE, and by name, bytewise, inside each dtype. The header is JSON without spaces, padded with
spaces to a multiple of 8; there is no `__metadata__`.
"""

import json
import os

import numpy as np

# Tag -> (rank in the file, type of a stored word). Little-endian whatever the machine.
STORAGE = {"I64": (0, np.dtype("<i8")), "F32": (1, np.dtype("<f4")), "BF16": (2, np.dtype("<u2")),
           "F8_E8M0": (3, np.dtype("u1")), "F8_E4M3": (4, np.dtype("u1")), "U8": (5, np.dtype("u1")),
           "I8": (6, np.dtype("i1"))}


def ordered_names(tensors):
    """Names in the order of the file: dtype rank, then bytes of the name."""
    return sorted(tensors, key=lambda name: (STORAGE[tensors[name][0]][0], name.encode()))


def write_shard(path, tensors, names=None):
    """Writes one file. `names` overrides the order (for checkpoints that are laid out unlike the release)."""
    names = ordered_names(tensors) if names is None else names
    assert sorted(names) == sorted(tensors)
    header, blobs, offset = {}, [], 0
    for name in names:
        tag, words = tensors[name]
        assert words.dtype == STORAGE[tag][1], f"{name}: {words.dtype} is not the storage type of {tag}"
        blob = np.ascontiguousarray(words).tobytes()
        header[name] = {"dtype": tag, "shape": list(words.shape), "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little"))
        out.write(text)
        for blob in blobs:
            out.write(blob)


def shard_name(number, total, digits=5):
    """`model-00001-of-00141.safetensors`; `number` counts from one. Kimi K3 has six digits in the total."""
    return f"model-{number:05d}-of-{total:0{digits}d}.safetensors"


def write_checkpoint_shards(directory, shards, digits=5):
    """Writes a list of `{name: (tag, words)}`, one file each, and `model.safetensors.index.json`."""
    os.makedirs(directory, exist_ok=True)
    weight_map, total_size = {}, 0
    for number, tensors in enumerate(shards, start=1):
        file = shard_name(number, len(shards), digits)
        write_shard(os.path.join(directory, file), tensors)
        weight_map.update({name: file for name in tensors})
        total_size += sum(words.nbytes for _, words in tensors.values())
    assert len(weight_map) == sum(map(len, shards)), "a tensor stands in two shards"
    write_index(directory, weight_map, total_size)


def write_index(directory, weight_map, total_size):
    index = {"metadata": {"total_size": total_size}, "weight_map": dict(sorted(weight_map.items()))}
    with open(os.path.join(directory, "model.safetensors.index.json"), "w", encoding="utf-8") as out:
        json.dump(index, out, indent=1)
        out.write("\n")


def read_shard(path):
    """The inverse of `write_shard`: `{name: (tag, words)}`, in the order of the file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        words = np.frombuffer(data[begin:end], dtype=STORAGE[entry["dtype"]][1]).reshape(entry["shape"])
        tensors[name] = (entry["dtype"], words)
    return tensors


def read_checkpoint(directory):
    """All tensors of all shards of a directory, by name."""
    tensors = {}
    for file in sorted(os.listdir(directory)):
        if file.endswith(".safetensors"):
            tensors.update(read_shard(os.path.join(directory, file)))
    return tensors
