"""Screening: many designs valued quickly against good actions."""

from dataclasses import replace

import torch
from torch import Tensor

from hentropy.core.action_search import ContinuousSearch
from hentropy.core.gain import Appraisal
from hentropy.core.solvers.base import Cost, leading, per_cost

FIRST_SHARE = 2
LOOKED_AT_TWICE = 0.125
"""A first look at all designs takes half of the outcomes and a few typical components of a mixture; the best eighth is
looked at again with all of them."""

APART = 0.25
"""The designs that go on are so far from each other in the unit cube: one peak of the gain does not take all places."""


def first_designs(appraisal: Appraisal, count: int) -> Tensor:
    """Designs worth a look, one at a time: points that fill the space, and points around the best actions: M x d."""
    space = appraisal.space
    if space.points is not None:
        return space.points.to(appraisal.belief.X)
    filling = space.sample(count, appraisal.seed + 1).to(appraisal.belief.X)
    anchors = _anchors(appraisal)
    if len(anchors) == 0:
        return filling
    generator = torch.Generator().manual_seed(appraisal.seed + 2)
    repeats = max(1, count // (2 * len(anchors)))
    noise = torch.randn(repeats, *anchors.shape, generator=generator, dtype=torch.float64).to(anchors)
    around = (space.to_unit(anchors) + 0.05 * noise).clamp(0.0, 1.0).flatten(0, 1)
    return torch.cat([filling, space.project(space.from_unit(around)), space.project(anchors)])


def _anchors(appraisal: Appraisal) -> Tensor:
    """Points of the good actions: where an observation could change what is decided."""
    search = appraisal.search
    if not isinstance(search, ContinuousSearch):
        return appraisal.belief.X[:0]
    points = search.decision.points(search.contenders).reshape(-1, appraisal.space.dim)
    return torch.unique(points, dim=0)[:64]


def screen(appraisal: Appraisal, cost: Cost | None, designs: int, outcomes: int, keep: int) -> Tensor:
    """The best single designs by their quick gain, apart from each other: keep x 1 x d."""
    x = first_designs(appraisal, designs).unsqueeze(-2)
    if isinstance(appraisal.search, ContinuousSearch) and appraisal.applicable(1) is None:
        quick = replace(appraisal, belief=appraisal.belief.typical())
        scores = per_cost(quick.screen(x, quick.nodes(max(2, outcomes // FIRST_SHARE), 1)), x, cost)
        x = x[scores.argsort(descending=True)[: max(keep, int(LOOKED_AT_TWICE * len(x)))]]
    scores = per_cost(appraisal.screen(x, appraisal.nodes(outcomes, 1)), x, cost)
    finite = appraisal.space.points is not None
    return leading(x, scores, keep, appraisal, apart=0.0 if finite else APART)


def local_search(appraisal: Appraisal, start: Tensor, cost: Cost | None, outcomes: int, rounds: int = 4) -> Tensor:
    """Refine designs F x 1 x d by random steps of falling length, for gains without a gradient: the best first."""
    space, generator = appraisal.space, torch.Generator().manual_seed(appraisal.seed + 3)
    nodes = appraisal.nodes(outcomes, 1)
    for round_ in range(rounds):
        if appraisal.clock.expired:
            break
        noise = torch.randn(16, *start.shape, generator=generator, dtype=torch.float64).to(start)
        u = (space.to_unit(start) + 0.1 * 0.5**round_ * noise).clamp(0.0, 1.0)
        trial = torch.cat([start.unsqueeze(0), space.project(space.from_unit(u))])  # 17 x F x 1 x d
        scores = per_cost(appraisal.screen(trial.flatten(0, 1), nodes), trial.flatten(0, 1), cost)
        value, best = scores.reshape(trial.shape[:2]).max(0)
        order = value.argsort(descending=True)
        start = trial[best[order], order]
    return start
