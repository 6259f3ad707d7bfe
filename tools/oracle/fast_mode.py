"""The fast mode (docs/numerics.md, "Fast") in plain PyTorch: what the engine's is measured against.

Activations that meet matrices of small whole numbers are rounded to whole numbers, 32 of them with one scale; everything else is as in
the exact mode. A dot product of whole numbers is exact in any order, so here numbers times their scale meet the weights in floats.
"""

from plain_torch import torch
from kimi_k3 import KimiK3

GROUP, MOST = 32, 127


class Ties:
    """How near any quotient came to the middle between two whole numbers."""

    def __init__(self):
        self.nearest = 0.5

    def see(self, quotients):
        self.nearest = min(self.nearest, float((quotients - quotients.floor() - 0.5).abs().min()))


def whole(x, ties):
    """x [.., K] as whole numbers times scales of 32 columns."""
    groups = torch.nn.functional.pad(x, (0, -x.shape[-1] % GROUP)).unflatten(-1, (-1, GROUP))
    scales = groups.abs().amax(-1, keepdim=True) / MOST
    quotients = groups / torch.where(scales > 0, scales, torch.ones_like(scales))
    ties.see(quotients)
    return (torch.round(quotients) * scales).flatten(-2)[..., :x.shape[-1]]  # torch.round: ties to even


class FastKimiK3(KimiK3):
    """Only the experts are stored as small whole numbers."""

    ties = Ties()

    def expert(self, layer, expert, z):
        gate, up, down = (self.w(layer, f"block_sparse_moe.experts.{expert}.{w}.weight") for w in ("w1", "w3", "w2"))
        z = whole(z, self.ties)
        return whole(self.situ(z @ gate.T, z @ up.T), self.ties) @ down.T
