"""Writes tests/golden/formats/quantised.json: a matrix in every quantised format, made with PyTorch's own number types.

Run: python3 tools/formats/make_format_goldens.py tests/golden/formats/quantised.json (needs torch with float8_e4m3fn).
The rules are those of docs/converted.md, written out here once more and sharing no code with the engine: FP8 blocks of
128 x 128, int8 rows, int4 rows and groups. Numbers are rounded by torch (float8_e4m3fn, round half to even), products
are single fp32 multiplications.
"""

import base64
import hashlib
import json
import math
import sys

import torch

ROWS, COLS = 131, 205  # no multiple of a block, of a group, or of two


def input_matrix():
    draw = torch.Generator().manual_seed(20)
    values = torch.randn(ROWS, COLS, generator=draw)
    values *= torch.exp2(torch.randint(-6, 3, (ROWS, 1), generator=draw).float())
    values[5] = 0
    values[7, 40:90] = -0.0
    values[9, 3] = 60.0  # an outlier that starves its row
    values[11, 64:128] = torch.arange(64) / 9.0  # ties when the scale is a small whole number of ninths
    return values.to(torch.bfloat16)


def groups_of(row_count, width):
    return [(first, min(first + width, row_count)) for first in range(0, row_count, width)]


def quantise_whole_numbers(values, most, width):
    """(numbers int32 [rows, cols], scales fp32 [rows, groups]) with a scale for each `width` columns."""
    numbers, scales = torch.empty(ROWS, COLS, dtype=torch.int32), []
    for first, last in groups_of(COLS, width):
        group = values[:, first:last]
        scale = torch.clamp(group.abs().amax(dim=1) / most, min=torch.tensor(1e-8))
        numbers[:, first:last] = torch.clamp(torch.round(group / scale[:, None]), -most - 1, most).to(torch.int32)
        scales.append(scale)
    return numbers, torch.stack(scales, dim=1)


def spread(scales, height, width):
    return scales.repeat_interleave(height, 0)[:ROWS].repeat_interleave(width, 1)[:, :COLS]


def whole_numbers(values, bits, width):
    most = 2 ** (bits - 1) - 1
    numbers, scales = quantise_whole_numbers(values, most, width)
    decoded = numbers.float() * spread(scales, 1, width)
    if bits == 8:
        packed = numbers.to(torch.int8).view(torch.uint8)
    else:
        nibbles = torch.full((ROWS, COLS + COLS % 2), 8, dtype=torch.int32)
        nibbles[:, :COLS] = numbers + 8
        packed = (nibbles[:, 0::2] | nibbles[:, 1::2] << 4).to(torch.uint8)
    return packed, scales, decoded


def fp8(values, power_of_two):
    scales = torch.empty(len(groups_of(ROWS, 128)), len(groups_of(COLS, 128)))
    for i, (top, bottom) in enumerate(groups_of(ROWS, 128)):
        for j, (left, right) in enumerate(groups_of(COLS, 128)):
            largest = values[top:bottom, left:right].abs().max()
            if power_of_two:
                scales[i, j] = 2.0 ** math.ceil(math.log2(float(largest) / 448))
            else:
                scales[i, j] = torch.clamp(largest / 448, min=torch.finfo(torch.float32).tiny)
    spread_scales = spread(scales, 128, 128)
    codes = torch.clamp(values / spread_scales, -448, 448).to(torch.float8_e4m3fn)
    return codes.view(torch.uint8), scales, codes.float() * spread_scales


def e8m0(scales):
    return (torch.log2(scales) + 127).to(torch.uint8)


def digest(tensor):
    return hashlib.sha256(tensor.contiguous().numpy().tobytes()).hexdigest()


def main():
    stored = input_matrix()
    values = stored.float()
    codes = torch.arange(256, dtype=torch.uint8)
    golden = {
        "rows": ROWS, "columns": COLS,
        "bf16_base64": base64.b64encode(stored.view(torch.int16).numpy().tobytes()).decode(),
        "e4m3_values": [None if math.isnan(v) else v for v in codes.view(torch.float8_e4m3fn).float().tolist()],
        "formats": {},
    }
    made = {"fp8": fp8(values, False), "fp8_e8m0": fp8(values, True), "int8": whole_numbers(values, 8, COLS),
            "int4": whole_numbers(values, 4, COLS), "int4g32": whole_numbers(values, 4, 32),
            "int4g64": whole_numbers(values, 4, 64), "int4g128": whole_numbers(values, 4, 128)}
    for name, (weights, scales, decoded) in made.items():
        golden["formats"][name] = {
            "weights_sha256": digest(weights), "scales_sha256": digest(e8m0(scales) if name == "fp8_e8m0" else scales),
            "decoded_f32le_sha256": digest(decoded), "first_decoded": decoded[0, :8].tolist(),
            "relative_error": float((decoded - values).norm() / values.norm())}
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump(golden, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
