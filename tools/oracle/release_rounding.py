"""Roundings of activations in the release's own kernels (deepseek_v4.md 3.10), on tensors of any float type.

Written from their definitions by significand and exponent, not by bit tricks; nothing here is shared with the engine.
"""

from plain_torch import torch


def nearest(x, bits, least_exponent):
    """The nearest number with `bits` significant bits, ties to even; below 2^least_exponent steps stay what they are there."""
    exponent = torch.frexp(x).exponent.clamp(min=least_exponent + 1)  # x = m · 2^exponent, 1/2 <= |m| < 1
    step = torch.ldexp(torch.ones_like(x), exponent - bits)
    return torch.round(x / step) * step  # torch.round takes ties to even


def bf16(x):
    return nearest(x, 8, -126)


def e4m3(x):
    return nearest(x.clamp(-448, 448), 4, -6)


def e2m1(x):
    return nearest(x.clamp(-6, 6), 2, 0)


def power_above(x):
    """The least power of two that is not below x > 0."""
    mantissa, exponent = torch.frexp(x)
    return torch.ldexp(torch.ones_like(x), torch.where(mantissa == 0.5, exponent - 1, exponent))


def in_blocks(x, block, rounded):
    """Runs of `block` numbers of the last dimension by themselves; the last one may be shorter."""
    return torch.cat([rounded(part) for part in x.split(block, dim=-1)], dim=-1)


def fp8(x, block):
    def rounded(part):
        scale = power_above(part.abs().amax(-1, keepdim=True).clamp(min=1e-4) / 448)
        return e4m3(part / scale) * scale
    return in_blocks(x, block, rounded)


def fp4(x, block):
    def rounded(part):
        scale = power_above(part.abs().amax(-1, keepdim=True).clamp(min=6 * 2.0 ** -126) / 6)
        return e2m1(part / scale) * scale
    return in_blocks(x, block, rounded)


def hadamard(x):
    """H x · d^-1/2, H of Sylvester's order, over the last dimension."""
    matrix = torch.ones(1, 1, dtype=x.dtype)
    while len(matrix) < x.shape[-1]:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    return (x @ matrix) * x.shape[-1] ** -0.5
