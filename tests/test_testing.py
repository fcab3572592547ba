"""The conformance suites pass what is right and fail what is wrong, each thing in its own way."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Belief, Moments, Needs
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Auto, Finalists, Solver
from hentropy.studies.testing import check_belief, check_decision, check_solver
from support.beliefs import gaussian
from support.decisions import POOL, SPACE


class NoVariance(he.Sequence):
    """Forgets the variance in the expectation of a square."""

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        return super().expected_loss(replace(moments, var=torch.zeros_like(moments.variance)), a, draws)


class FirstOnly(he.TopK):
    """Counts the first point more than the others, though the actions are sets."""

    def loss(self, f: Tensor, a: Any) -> Tensor:
        return super().loss(f, a) - f[..., 0]

    def expected_loss(self, moments: he.Moments, a: Any, draws: Tensor) -> Tensor:
        return self.loss(moments.mean, a)


class Keeps(he.Maximize):
    def loss(self, f: Tensor, a: Any) -> Tensor:
        return -f


class Squared(he.Maximize):
    """Says that its loss is linear in f; it is not."""

    def loss(self, f: Tensor, a: Any) -> Tensor:
        return -(f[..., 0].square())

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        return -moments.mean[..., 0].square()


class WorstReport(he.LevelSets):
    """Reports the opposite of what it should."""

    def within(self, space: Any) -> "WorstReport":
        return WorstReport(self.thresholds, he.LevelSets(self.thresholds).within(space).at, self.relation)

    def bayes_action(self, moments: Moments) -> Tensor:
        return 1.0 - super().bayes_action(moments)


class Negative(he.Estimate):
    def within(self, space: Any) -> "Negative":
        return Negative(super().within(space).at)

    def gain_formula(self, belief: Belief, space: Any, seed: int) -> Any:
        formula = super().gain_formula(belief, space, seed)
        return None if formula is None else replace(formula, function=lambda x: -formula(x))


WRONG_DECISIONS: dict[str, tuple[Callable[[], he.Decision], str]] = {
    "expectation": (lambda: NoVariance([2.0, 5.0]), "expected_loss is not the average of loss"),
    "order": (lambda: FirstOnly(2, weight=0.0), "order of the points"),
    "shape": (lambda: Keeps(), "last dimension of f only"),
    "nonlinear": (lambda: Squared(), "expected_loss is not the average of loss"),
    "bayes_action": (lambda: WorstReport([4.0], POOL.points), "entropy is not the expected loss|below the entropy"),
    "negative": (lambda: Negative(POOL.points), "a gain is negative"),
}


@pytest.mark.parametrize("name", WRONG_DECISIONS)
def test_wrong_decisions_fail(name: str) -> None:
    make, message = WRONG_DECISIONS[name]
    with pytest.raises(AssertionError, match=message):
        check_decision(make(), gaussian(1), POOL)


def test_wrong_relations_fail() -> None:
    with pytest.raises(AssertionError, match=r"f \+ 3"):
        check_decision(he.Improve(4.5), gaussian(1), SPACE, moved=lambda c: he.Improve(4.5))
    with pytest.raises(AssertionError, match="2 f"):
        check_decision(he.Estimate(POOL.points), gaussian(1), SPACE, scales=True)


@pytest.mark.parametrize("H", [1, 3], ids=["gp", "mixture"])
def test_right_beliefs_pass(H: int) -> None:
    check_belief(gaussian(H), SPACE)


@dataclass(frozen=True)
class Overconfident(he.Gaussian):
    """Halves variances where they are asked for alone."""

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        moments = super().moments(points, needs)
        return replace(moments, var=0.5 * moments.variance) if needs is Needs.VARIANCE else moments


@dataclass(frozen=True)
class Forgetful(he.Gaussian):
    """Does not learn when conditioned."""

    def condition(self, x: Tensor, y: Tensor) -> "Forgetful":
        return self


@dataclass(frozen=True)
class Hopeful(he.Gaussian):
    """Expects outcomes above its own mean."""

    def look_ahead(self, x: Tensor) -> Any:
        look = super().look_ahead(x)
        return replace(look, belief=replace(self, frame=replace(self.frame, shift=self.frame.shift + 0.3)))


@dataclass(frozen=True)
class Shifted(he.Gaussian):
    """Draws from somewhere else."""

    def sample(self, points: Tensor, count: int, seed: int) -> Tensor:
        return super().sample(points, count, seed) + 1.0


WRONG_BELIEFS: dict[str, tuple[type[he.Gaussian], str]] = {
    "variance": (Overconfident, "variances are not the diagonal"),
    "condition": (Forgetful, "looking ahead is not conditioning"),
    "look_ahead": (Hopeful, "looking ahead is not conditioning|the mean after observing"),
    "draws": (Shifted, "sample: the draws have another mean"),
}


@pytest.mark.parametrize("name", WRONG_BELIEFS)
def test_wrong_beliefs_fail(name: str) -> None:
    kind, message = WRONG_BELIEFS[name]
    right = gaussian(1)
    with pytest.raises(AssertionError, match=message):
        check_belief(kind(**vars(right)), SPACE)


@dataclass(frozen=True)
class Fixed(Solver):
    """Proposes what it is told, after a while."""

    make: Callable[[Appraisal, int], Tensor]
    seconds: float = 0.0

    def search(self, appraisal: Appraisal, q: int, cost: Any) -> Finalists:
        time.sleep(self.seconds)
        return Finalists(self.make(appraisal, q), True)


def corner(appraisal: Appraisal, q: int) -> Tensor:
    return appraisal.space.bounds[:1].expand(1, q, -1)


def outside(appraisal: Appraisal, q: int) -> Tensor:
    return Auto().search(appraisal, q, None).x[:1] + 1e3


def unseeded(appraisal: Appraisal, q: int) -> Tensor:
    return appraisal.space.sample(q, time.perf_counter_ns() % 2**31).unsqueeze(0)


def thorough(appraisal: Appraisal, q: int) -> Tensor:
    return Auto().search(appraisal, q, None).x


WRONG_SOLVERS: dict[str, tuple[Solver, str]] = {
    "lazy": (Fixed(corner), "the random designs"),
    "outside": (Fixed(outside), "not in the space"),
    "unseeded": (Fixed(unseeded), "the same seed gave"),
    "several": (Fixed(lambda appraisal, q: thorough(appraisal, q + 1)), "1 designs were asked for"),
    "slow": (Fixed(thorough, seconds=0.6), "but the proposal took"),
}


@pytest.mark.parametrize("name", WRONG_SOLVERS)
def test_wrong_solvers_fail(name: str) -> None:
    solver, message = WRONG_SOLVERS[name]
    with pytest.raises(AssertionError, match=message):
        check_solver(solver, he.Maximize(), gaussian(1), SPACE, grace=0.5)
