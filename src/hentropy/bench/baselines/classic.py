"""The classic rules that are this project's own gain for another decision, and so computed by it.

Expected improvement is the gain for the best observed design, the knowledge gradient that for the best design, the
probability of improvement that for passing the best value so far, and max-value entropy search the information about
how great f gets.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hentropy.bench.baselines.maximise import choose_by
from hentropy.core.beliefs import Belief, Gaussian, Needs
from hentropy.core.decisions import BestObserved, Decision, Identify, Improve, Maximize, Minimize
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Auto, Cost, Finalists, Solver
from hentropy.core.solvers.base import informed, leader
from hentropy.core.spaces import DesignSpace, Pool
from hentropy.errors import ModelError


def incumbent(belief: Belief, largest: bool) -> float:
    """The best mean at an observed design: the best value without noise, and not the luckiest one with it."""
    mean = belief.means(belief.X).mean[0]
    return float(mean.max() if largest else mean.min())


def choose_for(decision: Decision, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
    """What would be proposed if the decision were this one: the best of the finalists by its audited gain."""
    belief = appraisal.belief
    prepared = Appraisal.prepare(
        decision,
        belief,
        _all_designs(appraisal.space, belief),
        seed=appraisal.seed,
        limits=appraisal.limits,
        clock=appraisal.clock,
    )
    own = replace(prepared, space=appraisal.space, pending=appraisal.pending)
    found = Auto().search(own, q, cost)
    if not found.complete:
        return Finalists(found.x[:1], complete=False)
    best, _ = leader(informed(own, found.actions), found.x.detach(), cost)
    return Finalists(found.x[best : best + 1].detach(), not appraisal.clock.expired)


def _all_designs(space: DesignSpace, belief: Belief) -> DesignSpace:
    """Where actions may lie: a study leaves rows of a pool out that it need not ask again, but they can be chosen."""
    if space.points is None:
        return space
    return Pool.among(space, torch.unique(torch.cat([space.points.to(belief.X), belief.X]), dim=0))


@dataclass(frozen=True)
class ExpectedImprovement(Solver):
    """The proposal for `BestObserved`, whatever will be decided. With noise, means take the place of best values."""

    largest: bool = True

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As `Auto` finds it."""
        return choose_for(BestObserved(self.largest), appraisal, q, cost)


@dataclass(frozen=True)
class KnowledgeGradient(Solver):
    """The proposal for `Maximize` (`Minimize` with largest=False), whatever will be decided."""

    largest: bool = True

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As `Auto` finds it."""
        return choose_for(Maximize() if self.largest else Minimize(), appraisal, q, cost)


def passing(belief: Belief, x: Tensor, largest: bool) -> Tensor:
    """The probability that f passes the best mean at an observed design, at designs b x d: b."""
    decision = Improve(incumbent(belief, largest), above=largest)
    moments = belief.moments(x.unsqueeze(-2), Needs.VARIANCE)
    return -moments.expect(decision.expected_loss(moments, x.unsqueeze(-2), x[:0, 0]))


@dataclass(frozen=True)
class ProbabilityOfImprovement(Solver):
    """The design that is most likely to pass the best one so far (`Improve`), by however little."""

    largest: bool = True

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """Maximised over the space."""
        return choose_by(lambda belief, x: passing(belief, x, self.largest), appraisal, q, cost)


@dataclass(frozen=True)
class MaxValueEntropySearch(Solver):
    """The proposal for `Identify("max")`; with largest=False for the least value, about minus f."""

    largest: bool = True

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As `Auto` finds it."""
        if not self.largest:
            appraisal = replace(appraisal, belief=mirrored(appraisal.belief))
        return choose_for(Identify("max"), appraisal, q, cost)


def mirrored(belief: Belief) -> Gaussian:
    """The belief about minus f."""
    process: Gaussian | None = belief.process
    if process is None or not belief.normal:
        raise ModelError(
            f"MaxValueEntropySearch(largest=False) turns the belief upside down, which a {type(belief).__name__} cannot"
            " be; fit a Gaussian process with he.fit"
        )
    mean, frame = process.prior_mean, process.frame
    return replace(
        process,
        prior_mean=lambda inputs: -mean(inputs),
        frame=replace(frame, shift=-frame.shift),
        residual=-process.residual,
        alpha=-process.alpha,
    )
