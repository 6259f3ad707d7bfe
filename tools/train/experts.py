"""The routed experts of one MoE layer, for training: tokens grouped by expert, and weights that pass through MXFP4 or FP8.

Both are autograd functions of their own because plain PyTorch would either build a graph node per expert or pad the groups.
Shapes: N tokens, k experts a token, E experts, L latent width, I inner width.
"""

import torch

GROUP = 32  # columns that share an MXFP4 scale
LEAST_EXPONENT = -127
BLOCK, LARGEST_E4M3 = 128, 448.0


def round_to_mxfp4(weight):
    """The nearest values MXFP4 can store (spec 9.3), in groups of 32 along the last axis; same shape and dtype.

    Ties go to the even code: inside each binade codes are evenly spaced, so torch.round (half to even) gives just that.
    """
    groups = weight.reshape(*weight.shape[:-1], -1, GROUP)
    amax = groups.abs().amax(-1, keepdim=True)
    _, exponent = torch.frexp(amax)  # amax = m * 2^exponent, m in [0.5, 1)
    scale = torch.ldexp(torch.ones_like(amax), (exponent - 3).clamp(min=LEAST_EXPONENT))
    scaled = groups / scale
    step = 0.5 + 0.5 * (scaled.abs() >= 2) + (scaled.abs() >= 4)
    return (torch.round(scaled / step) * step).clamp(-6, 6).mul(scale).reshape(weight.shape)


def e4m3_blocks(weight):
    """weight [..., rows, columns] cut into blocks [..., R, 128, C, 128], padded with zeros, and each block's largest size."""
    rows, columns = weight.shape[-2:]
    padded = torch.nn.functional.pad(weight, (0, -columns % BLOCK, 0, -rows % BLOCK))
    blocks = padded.unflatten(-1, (-1, BLOCK)).unflatten(-3, (-1, BLOCK))
    return blocks, blocks.abs().amax((-3, -1), keepdim=True)


def round_blocks(blocks, scale, shape):
    """The nearest values of E4M3 times `scale`, in the shape of the matrices.

    Inside each binade values are evenly spaced, so torch.round (half to even) gives the nearest code, ties to even.
    """
    scaled = blocks / scale
    _, exponent = torch.frexp(scaled)  # |x| = m * 2^exponent, m in [0.5, 1): three bits after the leading one
    step = torch.ldexp(torch.ones_like(scaled), (exponent - 4).clamp(min=-9))
    rounded = (torch.round(scaled / step) * step).clamp(-LARGEST_E4M3, LARGEST_E4M3) * scale
    return rounded.flatten(-4, -3).flatten(-2, -1)[..., :shape[-2], :shape[-1]]


def round_to_fp8(weight):
    """The values that E4M3 with a scale per 128x128 block can store (glm_5_2.md 2.4) of matrices [..., rows, columns]."""
    blocks, amax = e4m3_blocks(weight)
    scale = torch.where(amax > 0, amax / LARGEST_E4M3, torch.ones_like(amax)).float().to(weight.dtype)
    return round_blocks(blocks, scale, weight.shape)


def round_to_fp8_powers(weight):
    """The same with DeepSeek-V4's scales: the smallest power of two that keeps a block within 448 (deepseek_v4.md 2.3)."""
    blocks, amax = e4m3_blocks(weight)
    mantissa, exponent = torch.frexp(amax)  # 448 = 0.875 * 2^9
    scale = torch.ldexp(torch.ones_like(amax), exponent - 9 + (mantissa > 0.875).to(exponent.dtype))
    return round_blocks(blocks, torch.where(amax > 0, scale, torch.ones_like(amax)), weight.shape)


class StraightThrough(torch.autograd.Function):
    """Forward: the weights as they will be stored. Backward: as if they had not been rounded."""

    @staticmethod
    def forward(ctx, weight, rounding):
        return rounding(weight)

    @staticmethod
    def backward(ctx, grad):
        return grad, None

    @staticmethod
    def to_mxfp4(weight):
        return StraightThrough.apply(weight, round_to_mxfp4)


class GroupedLinear(torch.autograd.Function):
    """y[rows of e] = x[rows of e] W_eᵀ for rows sorted by expert.

    x [R, in], weight [E, out, in], ends: E + 1 row numbers (a list); -> [R, out].
    """

    @staticmethod
    def forward(ctx, x, weight, ends):
        y = x.new_empty(x.shape[0], weight.shape[1])
        for e, (begin, end) in enumerate(zip(ends, ends[1:])):
            if begin < end:
                torch.mm(x[begin:end], weight[e].t(), out=y[begin:end])
        ctx.save_for_backward(x, weight)
        ctx.ends = ends
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        grad = grad.contiguous()
        grad_x, grad_weight = torch.empty_like(x), torch.empty_like(weight)
        for e, (begin, end) in enumerate(zip(ctx.ends, ctx.ends[1:])):
            if begin < end:
                torch.mm(grad[begin:end], weight[e], out=grad_x[begin:end])
                torch.mm(grad[begin:end].t(), x[begin:end], out=grad_weight[e])
            else:
                grad_weight[e].zero_()
        return grad_x, grad_weight, None


def expert_sum(z, ids, weights, w13, w2, gated):
    """Σ over a token's experts of weight · W2 gated(W1 z, W3 z).

    z [N, L], ids and weights [N, k], w13 [E, 2I, L] (gate rows, then up rows), w2 [E, L, I]; -> [N, L].
    """
    tokens, k = ids.shape
    order = torch.argsort(ids.flatten(), stable=True)
    counts = torch.bincount(ids.flatten(), minlength=w13.shape[0])
    ends = [0] + counts.cumsum(0).tolist()
    both = GroupedLinear.apply(z[order // k], w13, ends)
    inner = w2.shape[2]
    y = GroupedLinear.apply(gated(both[:, :inner], both[:, inner:]), w2, ends)
    y = y * weights.flatten()[order].unsqueeze(1)
    back = torch.empty_like(order)
    back[order] = torch.arange(order.numel())
    return y[back].view(tokens, k, -1).sum(1)
