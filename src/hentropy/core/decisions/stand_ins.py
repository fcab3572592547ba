"""Some of many points that stand for all: more of them where more is at stake, each of which counts for less."""

from hentropy.lazy import Tensor, torch

EVEN = 0.5
"""The share of the points that are taken wherever they are: no point counts for more than 1 / EVEN."""


STRATA = 16
"""Groups of about as many points, in each of which points are taken as it deserves."""


def stand_ins(stake: Tensor, level: Tensor, count: int, start: float = 0.5) -> tuple[Tensor, Tensor]:
    """Which `count` of N points to take, given what is at stake at each (N), and how much each counts: their weights.

    A point is taken with a chance pi and counts count / (N pi): sums over the points taken, by weight, are those of
    `count` even points, on average over the `start`s from 0 to 1 (systematic sampling, Madow 1949). Points are gone
    through in groups of about the same `level` (N), so that what depends on it is nearly exact for any start; in each
    group in their own order, in which points of Sobol fill a space.
    """
    N = len(stake)
    if count >= N:
        return torch.arange(N, device=stake.device), torch.full_like(stake, count / N)
    group = level.argsort(stable=True).argsort() * STRATA // N
    order = group.argsort(stable=True)
    pi = chances(stake, count)
    ends = pi[order].cumsum(0)
    places = (torch.arange(count).to(stake) + start) * (ends[-1] / count)
    index = order[torch.searchsorted(ends, places, right=True).clamp_max(N - 1)].sort().values
    return index, count / (N * pi[index])


def chances(stake: Tensor, count: int) -> Tensor:
    """The chance of each of N points to be taken, `count` in all: even for a share, else by what is at stake; N.

    No chance is above 1: what a point has too much goes to the others.
    """
    N, total = len(stake), stake.sum()
    even = torch.full_like(stake, 1.0 / N)
    share = EVEN * even + (1.0 - EVEN) * stake / total if bool(total > 0) else even
    ordered = share.sort(descending=True).values
    left = ordered.flip(0).cumsum(0).flip(0)  # the sum from each place on
    factor = (count - torch.arange(N).to(stake)) / left
    # the first place from which on no chance exceeds 1, all before it being certain
    sure = int((factor * ordered <= 1.0).to(torch.int64).argmax())
    return (factor[sure] * share).clamp_max(1.0)
