"""Exchange: improve tuples of listed points by replacing one member at a time with the best point of the list.

It serves finite spaces, and on continuous ones it finds places for descent to start, for any decision about points.
"""

import torch
from torch import Tensor

from hentropy.core.action_search.base import expected_loss, take
from hentropy.core.beliefs import Moments
from hentropy.core.decisions import Decision


def replacement_losses(
    decision: Decision, moments: Moments, points: Tensor, index: Tensor, member: int, draws: Tensor
) -> Tensor:
    """The expected loss of each tuple with one member replaced by each point.

    Moments H x batch x M at points (batch or none) x M x d, tuples index batch x S x k: batch x S x M.
    """
    M = points.shape[-2]
    trial = index.unsqueeze(-2).repeat(*[1] * (index.dim() - 1), M, 1)
    trial[..., member] = torch.arange(M, device=index.device)
    return expected_loss(decision, take(moments, trial), gather_points(points, trial), draws)


def gather_points(points: Tensor, index: Tensor) -> Tensor:
    """Rows of points M x d (common) or batch x M x d (each problem's own) by index batch x ... x k: ... x k x d."""
    if points.dim() == 2:
        return points[index]
    batch = points.shape[:-2]
    flat = index.reshape(*batch, -1, 1).expand(*batch, -1, points.shape[-1])
    return points.gather(-2, flat).reshape(*index.shape, points.shape[-1])


def exchange(
    decision: Decision, moments: Moments, points: Tensor, index: Tensor, draws: Tensor, sweeps: int, distinct: bool
) -> tuple[Tensor, Tensor]:
    """Sweeps of best replacements over all members: tuples batch x S x k and their losses batch x S.

    `distinct` forbids a point that another member holds. Losses never rise.
    """
    k = index.shape[-1]
    best = expected_loss(decision, take(moments, index), gather_points(points, index), draws)
    for _ in range(sweeps):
        before = index
        for member in range(k):
            losses = replacement_losses(decision, moments, points, index, member, draws)
            if distinct and k > 1:
                others = torch.cat([index[..., :member], index[..., member + 1 :]], -1)
                losses = losses.scatter(-1, others, torch.inf)
            value, choice = losses.min(-1)
            better = value < best
            column = torch.where(better, choice, index[..., member])
            index = torch.cat([index[..., :member], column.unsqueeze(-1), index[..., member + 1 :]], -1)
            best = torch.minimum(value, best)
        if torch.equal(before, index):
            break
    return index, best
