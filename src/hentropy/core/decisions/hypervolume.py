"""Hypervolumes: the union of boxes from 0 to corners y >= 0, and what one more corner adds.

`hypervolume` takes any number of outcomes, by slices. Of two outcomes it is an area under stairs, for which there are
two quicker ways: `area` sorts the corners of a whole batch at once, and `area_with` adds each of many corners to the
same stairs without sorting them again.
"""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from hentropy.core.clock import pieces
from hentropy.lazy import AutogradFunction, Tensor, torch


def hypervolume(y: Tensor) -> Tensor:
    """The volume of the union of boxes from 0 to each of k corners y >= 0 (... x k x m): ... , differentiable.

    By slices: between two corners that follow each other in the last outcome, the union is as thick as they are apart,
    and as wide as the volume of the corners above in all other outcomes.
    """
    k, m = y.shape[-2:]
    if m == 1:
        return y.amax(-2).squeeze(-1)
    order = y[..., -1].argsort(-1, descending=True)
    y = y.gather(-2, order.unsqueeze(-1).expand(y.shape))
    height, rest = y[..., -1], y[..., :-1]
    thick = height - torch.cat([height[..., 1:], torch.zeros_like(height[..., :1])], -1)
    if m == 2:
        return (thick * rest.squeeze(-1).cummax(-1).values).sum(-1)
    above = torch.ones(k, k, dtype=torch.bool, device=y.device).tril().unsqueeze(-1)  # slice x corner x 1
    return (thick * hypervolume(torch.where(above, rest.unsqueeze(-3), 0.0))).sum(-1)


def area(wide: Sequence[Tensor], high: Sequence[Tensor]) -> Tensor:
    """The same for two outcomes, each of the k corners a tensor by itself: 2 lists of k tensors ... to ... ."""
    sloped = torch.is_grad_enabled() and any(corner.requires_grad for corner in (*wide, *high))
    count, most = wide[0].numel(), pieces(2 * len(wide), wide[0].device)
    if sloped or count <= most:
        return _Area.apply(len(wide), *wide, *high)
    shape = wide[0].shape
    longest = max(range(len(shape)), key=shape.__getitem__)
    rows = max(1, most * shape[longest] // count)
    parts = zip(*(corner.split(rows, longest) for corner in (*wide, *high)), strict=True)
    return torch.cat([_Area.apply(len(wide), *part) for part in parts], longest)


class _Area(AutogradFunction):
    """Corners sorted by their height, the largest first; stairs of `thick` steps that `reach` so far."""

    @staticmethod
    def forward(ctx: Any, k: int, *corners: Tensor) -> Tensor:
        wide, high, swapped = list(corners[:k]), list(corners[k:]), []
        for i, j in sorting_network(k):
            swap = high[i] < high[j]
            high[i], high[j] = torch.maximum(high[i], high[j]), torch.minimum(high[i], high[j])
            wide[i], wide[j] = _exchanged(swap, wide[i], wide[j])
            swapped.append(swap)
        thick = [above - below for above, below in pairwise(high)] + [high[-1]]
        reach = [wide[0]]
        for each in wide[1:]:
            reach.append(torch.maximum(reach[-1], each))
        if any(ctx.needs_input_grad):
            ctx.k = k
            ctx.save_for_backward(*wide, *thick, *reach, *swapped)
        total = thick[0] * reach[0]
        for step, width in zip(thick[1:], reach[1:], strict=True):
            total.addcmul_(step, width)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        k, saved = ctx.k, ctx.saved_tensors
        wide, thick, reach, swapped = saved[:k], saved[k : 2 * k], saved[2 * k : 3 * k], saved[3 * k :]
        by_high = [grad * reach[0], *(grad * (reach[j] - reach[j - 1]) for j in range(1, k))]
        by_wide, below = [grad] * k, torch.zeros_like(grad)
        for j in reversed(range(k)):  # a corner that reaches furthest so far counts for all steps to the next such one
            below = torch.addcmul(below, grad, thick[j])
            if j == 0:
                by_wide[0] = below
            else:
                furthest = wide[j] > reach[j - 1]
                by_wide[j], below = below * furthest, below.masked_fill(furthest, 0.0)
        for (i, j), swap in zip(reversed(sorting_network(k)), reversed(swapped), strict=True):
            by_high[i], by_high[j] = _exchanged(swap, by_high[i], by_high[j])
            by_wide[i], by_wide[j] = _exchanged(swap, by_wide[i], by_wide[j])
        return None, *by_wide, *by_high


def _exchanged(swap: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return torch.where(swap, b, a), torch.where(swap, a, b)


@cache
def sorting_network(k: int) -> tuple[tuple[int, int], ...]:
    """Pairs of places that, put in order one after the other, sort k values: Batcher's merge exchange."""
    pairs = []
    half = 1 << max(0, (k - 1).bit_length() - 1)
    p = half
    while p:
        q, r, d = half, 0, p
        while True:
            pairs += [(i, i + d) for i in range(k - d) if i & p == r]
            if q == p:
                break
            q, r, d = q // 2, p, q - p
        p //= 2
    return tuple(pairs)


def area_with(kept: Tensor, new: Tensor) -> Tensor:
    """The area of boxes up to k corners (... x k x 2, k may be 0) and each of M others (... x M x 2): ... x M.

    Between the heights of two corners that follow each other, another one adds what it reaches beyond those above.
    """
    order = kept[..., 1].argsort(-1, descending=True)
    sides = [kept[..., i].gather(-1, order).unsqueeze(-1).unbind(-2) for i in (0, 1)]
    wide, tall = new.unbind(-1)
    reach = torch.zeros_like(kept[..., :1, 0].sum(-1, keepdim=True))
    total, top = (tall - (sides[1][0] if len(sides[1]) else reach)).clamp_min(0.0) * wide, None
    for j, (width, height) in enumerate(zip(*sides, strict=True)):
        reach, top = torch.maximum(reach, width), height
        low = sides[1][j + 1] if j + 1 < len(sides[1]) else torch.zeros_like(top)
        # the step itself, and what the new corner adds to it
        total = total + reach * (top - low)
        total = torch.addcmul(total, (torch.minimum(tall, top) - low).clamp_min(0.0), (wide - reach).clamp_min(0.0))
    return total
