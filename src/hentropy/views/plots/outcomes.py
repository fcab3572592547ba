"""What an experiment could give, and what would be decided then."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hentropy.core.action_search import ActionSearch, ContinuousSearch, expected_loss, prepare_search
from hentropy.core.action_search.finite import FiniteSearch
from hentropy.core.action_search.tuples import TupleSearch
from hentropy.core.beliefs import Belief, Gaussian, Needs
from hentropy.core.beliefs.nodes import mixture_quantiles
from hentropy.core.entropy import Entropy, entropy_of
from hentropy.views.plots.decided import DecidedInfo, decided_info
from hentropy.views.plots.relevance import by_relevance
from hentropy.views.plots.scene import Scene

SHARES = {"low": 0.1, "middle": 0.5, "high": 0.9}
"""The outcomes shown: with these probabilities an outcome is below them."""

DRAWS = 32
POINTS = 61
PLANE = 31
"""Three panels side by side are small: fewer drawn functions and coarser grids do."""


@dataclass(frozen=True)
class OutcomeInfo:
    """One outcome of the experiment: its name, its value, and what would be decided then, at which expected loss."""

    name: str
    value: float
    expected_loss: float
    decided: DecidedInfo


def outcomes(scene: Scene, row: Tensor) -> tuple[OutcomeInfo, ...]:
    """What would be decided after a low, a middle and a high outcome at a design (d)."""
    values = outcome_quantiles(scene.belief, row, tuple(SHARES.values()))
    return tuple(_after(scene, row, name, value) for name, value in zip(SHARES, values, strict=True))


@torch.no_grad()
def outcome_quantiles(belief: Belief, row: Tensor, shares: tuple[float, ...]) -> Tensor:
    """Quantiles of what an experiment at a design (d) would measure, noise included: one for each share."""
    at = belief.moments(row.to(belief.X).unsqueeze(0), Needs.VARIANCE)
    if isinstance(belief, Gaussian):
        noise = belief.frame.scale.square() * belief.future_noise.unsqueeze(-1)  # H x 1
    else:
        noise = at.mean.new_tensor(belief.noise_std**2)
    weights = at.weights.unsqueeze(-1).expand_as(at.mean)
    return mixture_quantiles(shares, weights, at.mean, (at.variance + noise).sqrt()).squeeze(-1)


def _after(scene: Scene, row: Tensor, name: str, value: Tensor) -> OutcomeInfo:
    with torch.no_grad():
        belief = scene.belief.condition(row.to(scene.belief.X).unsqueeze(0), value.unsqueeze(0))
    found = decided_after(scene, belief)
    order = by_relevance(scene.belief, scene.space)  # that of today: the panels need the same axes
    after = replace(scene, belief=belief, found=found)
    decided = decided_info(after, DRAWS, points=POINTS, plane=PLANE, order=order)
    return OutcomeInfo(name, float(value), found.value, decided)


def decided_after(scene: Scene, belief: Belief) -> Entropy:
    """The best action once more is known, searched from today's too: never a worse one than staying with today's.

    Where valuing the experiment met a better action of today, that one is tried as well.
    """
    search = prepare_search(scene.decision, belief, scene.study.decide_on)
    if not isinstance(search, ContinuousSearch | FiniteSearch | TupleSearch):  # all were tried, or the best follows
        return entropy_of(search, belief, scene.seed)
    today = scene.action.to(belief.X)
    other = torch.as_tensor(scene.explained.appraisal.search.best).to(today)
    best = entropy_of(search.improved_by(torch.stack([today, other])[None]), belief, scene.seed)
    if isinstance(search, FiniteSearch):  # exact: today's is no better
        return best
    stay = entropy_of(_staying(search, belief, today), belief, scene.seed)
    return best if best.value <= stay.value else stay


@torch.no_grad()
def _staying(search: ContinuousSearch | TupleSearch, belief: Belief, action: Tensor) -> ActionSearch:
    """The search as if it had come to a given action."""
    moments = belief.moments(search.decision.points(action), search.decision.needs)
    return replace(search, best=action, value=expected_loss(search.decision, moments, action, search.draws))
