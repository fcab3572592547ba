"""Actions after an outcome, searched for in the whole space and not only near those that are good today.

An outcome tells of components as well as of f near its design: far away from it, the mean of a mixture moves to that of
the components which foresaw the outcome, and another action may be the best, of which nothing is seen today. Here are
actions of a loss that adds over its members (`Sums`, affine in f) that exchange finds after an outcome, from random
tuples of points and today's contenders. Descent refines them (`ContinuousSearch`).

    F  outcomes    M  points    S  tuples to start from    k  members of an action
"""

from hentropy.core.action_search.exchange import exchange_sums, gains_of
from hentropy.core.beliefs import Fantasy, Needs
from hentropy.core.decisions import Decision, Sums
from hentropy.core.decisions.actions import PointsDomain
from hentropy.lazy import Tensor, torch

RANDOM, KNOWN = 48, 8
"""Tuples to start from: random ones, and the first of the contenders."""

SWEEPS = 4
KEPT, APART = 6, 0.05
"""After each outcome so many tuples are kept, each with a member that is this far from all members of a better one in
the unit cube."""

AT_ONCE = 2**22


def sums_of_means(decision: Decision) -> Sums | None:
    """The sums of a loss that is affine in f, if it has that form."""
    return decision.sums() if decision.needs is Needs.MEAN else None


def found_afresh(sums: Sums, fantasy: Fantasy, domain: PointsDomain, points: Tensor, contenders: Tensor) -> Tensor:
    """Good actions after each of few outcomes of b designs, of members among points M x d: b x F x T x k x d.

    The best one, if members do not depend on each other.
    """
    k, d = domain.k, points.shape[-1]
    known = contenders[:KNOWN]
    points = torch.cat([known.flatten(0, 1), points])
    moments = fantasy.shared_moments(points.unsqueeze(0), Needs.MEAN)  # H x b x F x 1 x M
    means = moments.expect(moments.mean).squeeze(-2)
    factor, summand = sums.weighed(points)
    values = (summand + factor * means).flatten(0, 1)  # b F x M
    M, u, R = len(points), gains_of(sums, points), sums.rewards(points)
    if R is None:
        index, _ = exchange_sums(values, u, R, values.new_zeros(len(values), k, dtype=torch.long), False, SWEEPS)
        return points[index].reshape(*means.shape[:2], 1, k, d)
    generator = torch.Generator().manual_seed(0)
    own = torch.arange(len(known) * k).reshape(-1, k)
    starts = torch.cat([own, torch.randint(M, (RANDOM, k), generator=generator)]).to(points.device)
    S = len(starts)
    chosen = []
    for some in values.split(max(1, AT_ONCE // (S * M))):
        index, worth = exchange_sums(
            some.repeat_interleave(S, 0), u, R, starts.repeat(len(some), 1), distinct=False, sweeps=SWEEPS
        )
        index, worth = index.reshape(-1, S, k), worth.reshape(-1, S)
        chosen.append(_best_apart(domain.space.to_unit(points), index, worth))
    return points[torch.cat(chosen)].reshape(*means.shape[:2], KEPT, k, d)


def _best_apart(unit: Tensor, index: Tensor, worth: Tensor) -> Tensor:
    """Of tuples of points (index P x S x k, points in the unit cube M x d) the best ones that differ: P x KEPT x k."""
    P, S, k = index.shape
    every = torch.arange(P, device=index.device)
    members = unit[index]  # P x S x k x d
    chosen = []
    for _ in range(KEPT):
        best = worth.argmax(-1)
        chosen.append(index[every, best])
        # in whatever order: how far the farthest member lies from the nearest of the chosen tuple
        far = torch.cdist(members.flatten(1, 2), members[every, best]).reshape(P, S, k, k).amin(-1).amax(-1)
        worth = worth.masked_fill(far < APART, -torch.inf)
    return torch.stack(chosen, 1)
