"""Alpine: a sum of rough one-dimensional hills, with many local maxima that differ in height.

Scaled as in the paper: inputs by 0.5, values by 0.05.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.bench.problems.base import Best, Problem, best_labels, grid
from hentropy.core.decisions import LevelSets, TopK
from hentropy.core.spaces import Real, Space
from hentropy.errors import InputError


@dataclass(frozen=True)
class Alpine:
    """0.05 sum |t sin t + 0.1 t| with t = 2 x, over d parameters in [0, 5]."""

    d: int

    def __post_init__(self) -> None:
        if self.d < 1:
            raise InputError(f"Alpine needs at least 1 parameter, got d = {self.d}")

    @property
    def space(self) -> Space:
        """[0, 5]^d."""
        return Space(**{f"x{i + 1}": Real(0.0, 5.0) for i in range(self.d)})

    def __call__(self, x: Tensor) -> Tensor:
        """Values at designs ... x d: ... ."""
        t = 2.0 * x
        return 0.05 * (t * torch.sin(t) + 0.1 * t).abs().sum(-1)


USED_WITH = {2: 5, 3: 3, 5: 5}
"""How many designs the paper looks for, by dimension."""


def alpine(d: int, k: int | None = None) -> Problem:
    """The k best designs of Alpine-d, apart from each other (the paper's k for d = 2, 3, 5; otherwise 5)."""
    function = Alpine(d)
    k = USED_WITH.get(d, 5) if k is None else k
    return Problem(
        name=f"alpine-{d}-top-{k}",
        function=function,
        space=function.space,
        decision=TopK(k, weight=10.0, cap=1.25),
        best=BEST.get((d, k)),
    )


def alpine_levels(thresholds: Sequence[float] = (0.35, 0.6)) -> Problem:
    """Where Alpine-2 exceeds each threshold, on 15 x 15 points."""
    function = Alpine(2)
    space = function.space
    decision = LevelSets(thresholds, at=grid(space, 15))
    count = {1: "one", 2: "two"}.get(len(thresholds), str(len(thresholds)))
    return Problem(
        name=f"alpine-2-{count}-level" + "s" * (len(thresholds) > 1),
        function=function,
        space=space,
        decision=decision,
        best=best_labels(function, space, decision),
    )


SEARCHED = "searched: thousands of descents, polish, hops until nothing better came; three seeds agree"

BEST = {
    (2, 5): Best(
        -15.971527413829,
        SEARCHED,
        torch.tensor(
            [
                [3.896510478364, 3.896510478363],
                [5.0, 4.043020956726],
                [2.446963982374, 3.995447289986],
                [4.043020956726, 5.0],
                [3.995447288162, 2.446963994148],
            ],
            dtype=torch.float64,
        ),
    ),
    (3, 3): Best(
        -15.998505746108,
        SEARCHED,
        torch.tensor(
            [
                [3.775500285044, 3.775500285829, 4.191914585759],
                [3.996457578316, 3.996457578315, 5.0],
                [4.192918449901, 4.192918453797, 3.776750918584],
            ],
            dtype=torch.float64,
        ),
    ),
    (5, 5): Best(
        -22.76786090679,
        SEARCHED,
        torch.tensor(
            [
                [3.727401639476, 4.113058647176, 4.114726121189, 4.231352792005, 3.993723214388],
                [3.872762693189, 3.993769629338, 3.727375436999, 3.871002863556, 4.231372530198],
                [3.993773536876, 3.872777132557, 4.231362771285, 3.727388392190, 3.870977676317],
                [4.113066378210, 4.231387418785, 3.870969739431, 3.995470227476, 3.727355671019],
                [4.231370798859, 3.727377735008, 3.993737447905, 4.113006204024, 4.114737881571],
            ],
            dtype=torch.float64,
        ),
    ),
}
"""By dimension and number of designs, found by `experiments.problems.optima`.

For (5, 5) every axis holds about the same five values, in another order each: a Latin square around one summit.
"""
