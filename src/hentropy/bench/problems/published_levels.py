"""Level sets on which others have published results: one in two dimensions, one in ten.

Labels are scored at many fixed points, whatever points the decision is about.
"""

from dataclasses import replace

import torch
from botorch.test_functions.synthetic import Levy
from torch import Tensor

from hentropy.bench.problems.base import Function, Problem, best_labels, grid
from hentropy.core.decisions import LevelSets
from hentropy.core.spaces import Real, Space

TESTED = 10_000
"""Points at which labels are scored: a grid of 100 x 100, or points that fill the space."""


def exp_sin(x: Tensor) -> Tensor:
    """exp(sin^2 x1 sin^2 x2) at designs ... x 2: ... ."""
    return torch.exp(torch.sin(x).square().prod(-1))


def minus_levy(x: Tensor) -> Tensor:
    """The Levy function with its sign changed, at designs ... x d: ... ."""
    return -Levy(x.shape[-1])(x)


def exp_sin_level() -> Problem:
    """Where exp(sin^2 x1 sin^2 x2) exceeds 2 on [0, 9]^2, decided on 30 x 30 points."""
    space = Space(x1=Real(0.0, 9.0), x2=Real(0.0, 9.0))
    decision = LevelSets(2.0, at=grid(space, 30), relation="misclassification")
    return _scored(Problem("exp-sin-level", exp_sin, space, decision), grid(space, 100), exp_sin)


def levy_level() -> Problem:
    """Where the negative Levy-10 function exceeds -76.364; points are left to the decision."""
    space = Space.box([-10.0] * 10, [10.0] * 10)
    decision = LevelSets(-76.364, relation="misclassification")
    # other points than those that the decision chooses from
    return _scored(Problem("levy-10-level", minus_levy, space, decision), space.sample(TESTED, seed=1), minus_levy)


def _scored(made: Problem, tested: Tensor, function: Function) -> Problem:
    assert isinstance(made.decision, LevelSets)
    scored = LevelSets(made.decision.thresholds, tested, made.decision.relation)
    return replace(made, scored=scored, best=best_labels(function, made.space, scored))
