"""The files of a golden: `golden.json` and `golden.bin` (format in tests/golden/README.md)."""

import json
import os

import numpy as np

TYPES = {"f64": np.dtype("<f8"), "f32": np.dtype("<f4"), "i32": np.dtype("<i4")}


class ArrayFile:
    """Arrays one after the other, little-endian, row-major; each begins at a multiple of 8 bytes."""

    def __init__(self):
        self.data, self.table = bytearray(), {}

    def add(self, name, dtype, values):
        array = np.ascontiguousarray(values, dtype=TYPES[dtype])
        self.table[name] = {"dtype": dtype, "shape": list(array.shape), "offset": len(self.data)}
        self.data += array.tobytes()
        self.data += bytes(-len(self.data) % 8)


def write(directory, facts, arrays):
    """golden.json: the facts, then the table of arrays, one a line."""
    with open(os.path.join(directory, "golden.bin"), "wb") as out:
        out.write(arrays.data)
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()]
    rows = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in arrays.table.items()]
    lines.append('"arrays": {\n' + ",\n".join(rows) + "\n}")
    with open(os.path.join(directory, "golden.json"), "w", encoding="utf-8") as out:
        out.write("{\n" + ",\n".join(lines) + "\n}\n")


def read(directory):
    """(facts, {name: array})."""
    with open(os.path.join(directory, "golden.json"), encoding="utf-8") as file:
        facts = json.load(file)
    with open(os.path.join(directory, "golden.bin"), "rb") as file:
        data = file.read()
    arrays = {}
    for name, entry in facts.pop("arrays").items():
        count = int(np.prod(entry["shape"]))
        arrays[name] = np.frombuffer(data, TYPES[entry["dtype"]], count, entry["offset"]).reshape(entry["shape"])
    return facts, arrays
