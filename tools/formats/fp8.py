"""E4M3 with one scale per block of 128x128: matrices of GLM-5.2 (glm_5_2.md 2.4) and DeepSeek-V4 (deepseek_v4.md 2.3).

Shapes: a matrix [rows, K] is stored as bytes [rows, K] and scales [ceil(rows/128), ceil(K/128)], the last blocks cut
short: W = e4m3(byte) * scale. A scale is a float32 (`weight_scale_inv`), or an E8M0 byte b that means 2^(b-127). The
variant is "fn": no infinities, 0x7F and 0xFF are NaN, largest 448.
"""

import numpy as np

BLOCK = 128
LARGEST = 448.0
NAN_CODE = 127


def magnitudes():
    """Values of the codes 0..126: subnormals are steps of 2^-9, then 8 steps per power of two, bias 7."""
    codes = np.arange(NAN_CODE)
    exponent, mantissa = codes >> 3, codes & 7
    return np.where(exponent == 0, np.ldexp(mantissa / 8.0, -6), np.ldexp(1 + mantissa / 8.0, exponent - 7))


MAGNITUDES = magnitudes()
MIDPOINTS = (MAGNITUDES[:-1] + MAGNITUDES[1:]) / 2  # between code i and code i + 1


def to_e4m3(values):
    """Bytes of the nearest value, ties to the even code, saturating at 448; the sign of zero is kept."""
    size = np.abs(values)
    codes = np.searchsorted(MIDPOINTS, size, side="left")  # how many midpoints lie below: ties go down
    tie = (codes < len(MIDPOINTS)) & (size == MIDPOINTS[np.minimum(codes, len(MIDPOINTS) - 1)]) & (codes % 2 == 1)
    return (codes + tie).astype(np.uint8) | np.where(np.signbit(values), 128, 0).astype(np.uint8)


def from_e4m3(codes):
    """float64 values of bytes."""
    assert not np.any((codes & 127) == NAN_CODE), "0x7F and 0xFF are NaN"
    return np.where(codes & 128, -1.0, 1.0) * MAGNITUDES[codes & 127]


def spread(scales, shape):
    """The scale of every element [rows, K]."""
    return np.repeat(np.repeat(scales, BLOCK, axis=0)[:shape[0]], BLOCK, axis=1)[:, :shape[1]]


def block_maxima(values):
    blocks = [-(-size // BLOCK) for size in values.shape]
    padded = np.pad(np.abs(values), [(0, count * BLOCK - size) for count, size in zip(blocks, values.shape)])
    return padded.reshape(blocks[0], BLOCK, blocks[1], BLOCK).max(axis=(1, 3))


def quantise(matrix, largest=LARGEST):
    """(bytes, scales): each block's largest magnitude becomes `largest`; an all-zero block has scale 1.

    A smaller `largest` wastes range; small enough, most bytes are subnormal (for tests of them)."""
    values = np.asarray(matrix, dtype=np.float64)
    amax = block_maxima(values)
    scales = np.where(amax > 0, amax / largest, 1).astype("<f4")
    return to_e4m3(values / spread(scales.astype(np.float64), values.shape)), scales


def quantise_by_powers(matrix):
    """(bytes, scale bytes): the smallest power of two that keeps a block within 448; an all-zero block has 2^0."""
    values = np.asarray(matrix, dtype=np.float64)
    amax = block_maxima(values)
    exponents = np.ceil(np.log2(np.where(amax > 0, amax / LARGEST, 1))).astype(np.int64)
    return to_e4m3(values / spread(np.ldexp(1.0, exponents), values.shape)), (exponents + 127).astype(np.uint8)


def decode(codes, scales):
    """float64 weights; the product of a byte's value and a float32 scale is exact."""
    return from_e4m3(codes) * spread(scales.astype(np.float64), codes.shape)


def decode_powers(codes, scale_bytes):
    return from_e4m3(codes) * spread(np.ldexp(1.0, scale_bytes.astype(np.int64) - 127), codes.shape)
