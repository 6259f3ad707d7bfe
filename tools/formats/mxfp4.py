"""BF16 and MXFP4: from floats to stored words and back (spec 2.4, 9.3).

Shapes: a matrix [rows, K] is stored as packed [rows, K/2] (low nibble = even column) and scales [rows, K/32], both
uint8.
Everything decoded here is exact in float64 (and in float32, scale byte 0 being the subnormal 2^-127).
"""

import numpy as np

GROUP = 32  # columns that share a scale
E2M1 = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
E2M1_MIDPOINTS = (E2M1[:-1] + E2M1[1:]) / 2  # between code i and code i + 1
MAX_SCALE_BYTE = 254  # 255 is NaN


def to_bf16(values):
    """uint16 words of the values, rounded to nearest, ties to even. The values pass through float32 first."""
    bits = np.ascontiguousarray(values, dtype="<f4").view("<u4").astype(np.uint64)
    assert np.all((bits & 0x7F800000) != 0x7F800000), "not a finite number"
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return rounded.astype("<u2").reshape(np.shape(values))


def from_bf16(words):
    """float32 values of bf16 words: the word is the upper half."""
    return (np.asarray(words).astype("<u4") << 16).view("<f4")


def nearest_e2m1(magnitudes):
    """Codes 0..7 of the nearest E2M1 magnitude, ties to the even code, saturating at 6."""
    codes = np.zeros(magnitudes.shape, dtype=np.uint8)
    for below, midpoint in enumerate(E2M1_MIDPOINTS):
        past = magnitudes >= midpoint if below % 2 == 1 else magnitudes > midpoint
        codes += past.astype(np.uint8)
    return codes


def group_exponents(groups):
    """e = floor(log2(amax)) - 2 of each group [..., 32], clamped so that e + 127 is in 0..254; 0 when all are zero."""
    amax = np.abs(groups).max(axis=-1)
    _, exponent = np.frexp(amax)  # amax = m * 2^exponent, m in [0.5, 1): floor(log2(amax)) = exponent - 1
    clamped = np.clip(exponent - 1 - 2, -127, MAX_SCALE_BYTE - 127)
    return np.where(amax == 0, 0, clamped).astype(np.int32)


def quantise(matrix):
    """(packed, scales) of a float matrix [rows, K], K divisible by 32. Small negative values become -0 (code 8)."""
    values = np.asarray(matrix, dtype=np.float64)
    rows, columns = values.shape
    assert columns % GROUP == 0, f"{columns} columns cannot be cut into groups of {GROUP}"
    groups = values.reshape(rows, columns // GROUP, GROUP)
    exponents = group_exponents(groups)
    codes = nearest_e2m1(np.ldexp(np.abs(groups), -exponents[..., None]))
    all_zero = np.abs(groups).max(axis=-1, keepdims=True) == 0
    codes |= np.where(np.signbit(groups) & ~all_zero, 8, 0).astype(np.uint8)
    return pack_nibbles(codes.reshape(rows, columns)), (exponents + 127).astype(np.uint8)


def pack_nibbles(codes):
    """Codes 0..15 [rows, K] -> bytes [rows, K/2]: even columns in the low nibble."""
    return (codes[:, 0::2] | (codes[:, 1::2] << 4)).astype(np.uint8)


def unpack_nibbles(packed):
    codes = np.empty((packed.shape[0], packed.shape[1] * 2), dtype=np.uint8)
    codes[:, 0::2] = packed & 15
    codes[:, 1::2] = packed >> 4
    return codes


def decode(packed, scales):
    """float64 weights [rows, K] of a stored matrix: E2M1 value * 2^(scale - 127)."""
    assert not np.any(scales == 255), "scale byte 255 is NaN"
    codes = unpack_nibbles(packed)
    signed = np.where(codes & 8, -1.0, 1.0) * E2M1[codes & 7]  # -1 * 0 keeps the sign: code 8 is -0
    exponents = np.repeat(scales.astype(np.int32) - 127, GROUP, axis=1)
    return np.ldexp(signed, exponents)
