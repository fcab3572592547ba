"""What an experiment could give, and what would be decided then."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from hentropy.core.action_search import ActionSearch, ContinuousSearch, expected_loss, prepare_search
from hentropy.core.action_search.finite import FiniteSearch
from hentropy.core.action_search.tuples import TupleSearch
from hentropy.core.beliefs import Belief, Gaussian, Graded, Needs, Transformed
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
    """One outcome of the experiment: its name, its value, and what would be decided then, at which expected loss.

    With `is_grade`, the name is a grade and the value how likely it is.
    """

    name: str
    value: float
    expected_loss: float
    decided: DecidedInfo
    is_grade: bool = False


def outcomes(scene: Scene, row: Tensor) -> tuple[OutcomeInfo, ...]:
    """What would be decided after a low, a middle and a high outcome at a design (d)."""
    words = scene.study.outcomes.words(scene.outcome)
    if words and isinstance(scene.belief, Graded):
        chances = scene.belief.look_ahead(row.to(scene.belief.X).view(1, 1, -1)).chances[0].tolist()
        after = [_after(scene, row, word, torch.tensor(float(grade))) for grade, word in enumerate(words)]
        return tuple(replace(one, value=chance, is_grade=True) for one, chance in zip(after, chances, strict=True))
    values = outcome_quantiles(scene.belief, row, tuple(SHARES.values()))
    return tuple(_after(scene, row, name, value) for name, value in zip(SHARES, values, strict=True))


@torch.no_grad()
def outcome_quantiles(belief: Belief, row: Tensor, shares: tuple[float, ...]) -> Tensor:
    """Quantiles of what an experiment at a design (d) would measure, noise included: one for each share."""
    if isinstance(belief, Transformed):
        latent = belief.latent
        at = latent.moments(row.to(belief.X).unsqueeze(0), Needs.VARIANCE)
        sd = (at.variance + latent.noise_variance.unsqueeze(-1)).sqrt()  # H x 1
        return belief.quantiles(shares, belief.weights.unsqueeze(-1), at.mean, sd).squeeze(-1)
    at = belief.moments(row.to(belief.X).unsqueeze(0), Needs.VARIANCE)
    if isinstance(belief, Gaussian):
        noise = belief.noise_variance.unsqueeze(-1)
    else:
        noise = at.mean.new_tensor(belief.noise_std**2)
    weights = at.weights.unsqueeze(-1).expand_as(at.mean)
    return mixture_quantiles(shares, weights, at.mean, (at.variance + noise).sqrt()).squeeze(-1)


def _after(scene: Scene, row: Tensor, name: str, value: Tensor) -> OutcomeInfo:
    with torch.no_grad():
        belief = scene.whole.condition(row.to(scene.belief.X).unsqueeze(0), _observed(scene, row, value))
    found = decided_after(scene, belief)
    order = by_relevance(scene.belief, scene.space)  # that of today: the panels need the same axes
    after = replace(scene, belief=belief.of(scene.outcome).alone(), whole=belief, found=found)
    decided = decided_info(after, DRAWS, points=POINTS, plane=PLANE, order=order)
    return OutcomeInfo(name, float(scene.within_bounds(np.array(float(value)))), found.value, decided)


def _observed(scene: Scene, row: Tensor, value: Tensor) -> Tensor:
    """What is observed at a design: a value (1), or with other outcomes as they are expected (1 x o)."""
    if len(scene.whole.outcomes) == 1:
        return value.unsqueeze(0)
    expected = scene.whole.expected(row.to(scene.belief.X).unsqueeze(0)).clone()
    expected[0, scene.whole.measured.index(scene.outcome)] = value
    return expected


def decided_after(scene: Scene, belief: Belief) -> Entropy:
    """The best action once more is known, searched from today's too: never a worse one than staying with today's.

    Where valuing the experiment met a better action of today, that one is tried as well. What failures cost, and which
    designs may be decided on, is as today.
    """
    appraisal = scene.explained.appraisal
    belief = belief.scores if scene.decision.by_sides else belief
    search = prepare_search(appraisal.decision, belief, appraisal.decide_on)
    if not isinstance(search, ContinuousSearch | FiniteSearch | TupleSearch):  # all were tried, or the best follows
        return entropy_of(search, belief, scene.seed)
    today = scene.action.to(belief.X)
    other = torch.as_tensor(appraisal.search.best).to(today)
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
