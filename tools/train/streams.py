"""What DeepSeek-V4's residual streams do at each sublayer, as autograd functions with few and large steps.

Written by hand because plain PyTorch would make a hundred small nodes of the Sinkhorn passes, and a thousand products of 4x4
matrices of one mixing. Shapes: N tokens, S streams of width W.
"""

import torch


class Sinkhorn(torch.autograd.Function):
    """c [S, S, N] (rows first) -> column and row divisions in turn, the last over columns (deepseek_v4.md 3.2).

    y = c / (Σ c + eps), so the gradient of c is (g - Σ g·y) / divisor.
    """

    @staticmethod
    def forward(ctx, c, iterations, eps):
        ctx.axes, kept = [0] + [1, 0] * (iterations - 1), []  # 0: over a column's rows
        for axis in ctx.axes:
            divisor = c.sum(axis, keepdim=True).add_(eps)
            c = c / divisor
            kept += [c, divisor]
        ctx.save_for_backward(*kept)
        return c

    @staticmethod
    def backward(ctx, grad):
        kept = ctx.saved_tensors
        for step in reversed(range(len(ctx.axes))):
            y, divisor = kept[2 * step], kept[2 * step + 1]
            grad = (grad - (grad * y).sum(ctx.axes[step], keepdim=True)).div_(divisor)
        return grad, None, None


class Merge(torch.autograd.Function):
    """x [N, S, W], out [N, W], post [N, S], c [N, S, S] -> [N, S, W]: post[k] · out + Σ_j c[j][k] · x[j]."""

    @staticmethod
    def forward(ctx, x, out, post, c):
        ctx.save_for_backward(x, out, post, c)
        merged = out[:, None] * post[..., None]
        for k in range(x.shape[1]):
            for j in range(x.shape[1]):
                merged[:, k].addcmul_(c[:, j, k, None], x[:, j])
        return merged

    @staticmethod
    def backward(ctx, grad):
        x, out, post, c = ctx.saved_tensors
        grad_x, grad_c, grad_out = torch.zeros_like(x), torch.empty_like(c), torch.zeros_like(out)
        grad_post = torch.empty_like(post)
        for k in range(x.shape[1]):
            grad_out.addcmul_(post[:, k, None], grad[:, k])
            grad_post[:, k] = (grad[:, k] * out).sum(-1)
            for j in range(x.shape[1]):
                grad_x[:, j].addcmul_(c[:, j, k, None], grad[:, k])
                grad_c[:, j, k] = (grad[:, k] * x[:, j]).sum(-1)
        return grad_x, grad_out, grad_post, grad_c


class Collapse(torch.autograd.Function):
    """x [N, S, W], share [N, S] -> [N, W]: Σ_j share[j] · x[j]."""

    @staticmethod
    def forward(ctx, x, share):
        ctx.save_for_backward(x, share)
        collapsed = x[:, 0] * share[:, :1]
        for j in range(1, x.shape[1]):
            collapsed.addcmul_(share[:, j, None], x[:, j])
        return collapsed

    @staticmethod
    def backward(ctx, grad):
        x, share = ctx.saved_tensors
        return grad[:, None] * share[..., None], torch.stack([(grad * x[:, j]).sum(-1) for j in range(x.shape[1])], 1)
