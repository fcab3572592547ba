"""Alpine: a sum of rough one-dimensional hills, with many local maxima that differ in height.

Scaled as in the paper: inputs by 0.5, values by 0.05.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.decisions import LevelSets, TopK
from hentropy.errors import InputError
from hentropy.problems.base import Best, Problem
from hentropy.problems.levels import best_labels, grid
from hentropy.spaces import Real, Space


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


BEST: dict[tuple[int, int], Best] = {}
