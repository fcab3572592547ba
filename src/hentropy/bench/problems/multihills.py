"""Multihills: a few round hills of different heights on the unit square, smooth and easy to see."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.bench.problems.base import Best, Problem, best_labels, grid
from hentropy.core.decisions import LevelSets, Sequence
from hentropy.core.spaces import Real, Space
from hentropy.errors import InputError


@dataclass(frozen=True)
class Multihills:
    """sum of w_i N(x; c_i, width^2 I) over two parameters in [0, 1]: normal densities with centres c and weights w."""

    centres: tuple[tuple[float, float], ...]
    weights: tuple[float, ...]
    width: float = 0.2

    def __post_init__(self) -> None:
        if len(self.centres) != len(self.weights) or not self.centres:
            raise InputError(
                f"every hill has a centre and a weight, got {len(self.centres)} centres and {len(self.weights)} weights"
            )
        if not self.width > 0:
            raise InputError(f"the width of the hills is a standard deviation and must be above 0, got {self.width}")

    @property
    def space(self) -> Space:
        """[0, 1]^2."""
        return Space(x1=Real(0.0, 1.0), x2=Real(0.0, 1.0))

    def __call__(self, x: Tensor) -> Tensor:
        """Values at designs ... x 2: ... ."""
        centres = torch.tensor(self.centres, dtype=x.dtype, device=x.device)  # hills x 2
        weights = torch.tensor(self.weights, dtype=x.dtype, device=x.device)
        square = (x.unsqueeze(-2) - centres).square().sum(-1)  # ... x hills
        density = torch.exp(-0.5 * square / self.width**2) / (2.0 * math.pi * self.width**2)
        return (weights * density).sum(-1)


def multihills_levels() -> Problem:
    """Where two equal hills exceed 1.4 and 2.8, on 12 x 12 points."""
    hills = Multihills(((0.25, 0.5), (0.75, 0.5)), (0.8, 0.8))
    return _levels("multihills-two-levels", hills, (1.4, 2.8), count=12)


def multihills_level() -> Problem:
    """Where three hills exceed 2.1, on 10 x 10 points: the lowest of them does not."""
    hills = Multihills(((0.2, 0.15), (0.2, 0.75), (0.75, 0.5)), (0.4, 0.8, 0.9))
    return _levels("multihills-one-level", hills, (2.1,), count=10)


def multihills_sequence() -> Problem:
    """Designs whose values run from the greatest summit down to the plain."""
    hills = Multihills(((0.2, 0.2), (0.2, 0.8), (0.8, 0.8)), (0.4, 0.7, 1.0))
    return Problem("multihills-sequence", hills, hills.space, Sequence((4.0, 3.0, 2.0, 1.0, 0.05)), BEST)


def _levels(name: str, hills: Multihills, thresholds: tuple[float, ...], count: int) -> Problem:
    decision = LevelSets(thresholds, at=grid(hills.space, count, 0.05, 0.95))
    return Problem(name, hills, hills.space, decision, best_labels(hills, hills.space, decision))


BEST = Best(
    0.0,
    "exact: every target is met, by bisection",
    torch.tensor(
        [
            [0.798698687433, 0.785457240561],
            [0.832906211907, 0.651982960451],
            [0.853682003887, 0.570917933947],
            [0.877921890311, 0.476336363369],
            [0.942739345475, 0.223425248065],
        ],
        dtype=torch.float64,
    ),
)
"""Of the sequence, found by `experiments.problems.optima`."""
