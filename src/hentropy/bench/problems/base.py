"""What a problem is: a function with its space, the decision it is used with, and the best that can be decided.

And what problems share: points on a grid for level sets, distances that do not depend on units, names looked up with an
error that helps.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from hentropy.core.decisions import Decision, LevelSets
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError

Function = Callable[[Tensor], Tensor]
"""Values at designs ... x d: ... , or ... x o of several outcomes."""


@dataclass(frozen=True)
class Best:
    """The least true loss that any action has, the action that has it, and how it was found.

    The action is k x d for decisions that choose designs and T x m for level sets; None where only the loss is known.
    """

    loss: float
    how: str
    action: Tensor | None = None


@dataclass(frozen=True)
class Problem:
    """A function to experiment on. `best` is what the true function would allow; None where nobody looked for it.

    Experiments give no value where `fails` says so (designs ... x d to ...); the function has what deciding for such a
    design is worth. `noise` is the standard deviation of what an experiment adds to the function.
    """

    name: str
    function: Function
    space: DesignSpace
    decision: Decision
    best: Best | None = None
    credit: str = ""
    fails: Function | None = None
    noise: float = 0.0
    scored: LevelSets | None = None
    """The same level sets at fixed points, by which labels are scored, where the decision is about other points."""

    def __call__(self, x: Tensor) -> Tensor:
        """Values at designs ... x d: ... , or ... x o of several outcomes, as the decision names them."""
        return self.function(x)

    def at(self, **params: Any) -> float:
        """The value of one design given by name, where there is one outcome."""
        return float(self(self.space.encode(params)))

    @torch.no_grad()
    def value(self, row: Tensor) -> float | dict[str, float]:
        """What an experiment at a row (d) gives; of several outcomes, each by its name."""
        values, names = self(row), self.decision.outcomes
        return dict(zip(names, values.tolist(), strict=True)) if names else float(values)

    @torch.no_grad()
    def measured(self, row: Tensor, seed: int) -> float:
        """What an experiment at a row (d) measures, where there is one outcome: the value with its noise."""
        drawn = torch.randn((), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        return float(self(row) + self.noise * drawn)

    @torch.no_grad()
    def loss(self, action: Any) -> float:
        """What an action costs under the true function."""
        decision = (self.scored or self.decision).within(self.space)
        return float(decision.loss(self(decision.points(action)), action))

    def regret(self, action: Any) -> float | None:
        """By how much the true loss of an action exceeds the best."""
        return None if self.best is None else self.loss(action) - self.best.loss


Thing = TypeVar("Thing")


def named(name: str, known: Mapping[str, Thing], kind: str) -> Thing:
    """The thing with this name, or an `InputError` that says which names there are and which one is nearest."""
    if name in known:
        return known[name]
    raise unknown(name, known, kind)


def unknown(name: str, known: Iterable[str], kind: str) -> InputError:
    """The error for a name that is not among those known."""
    near = difflib.get_close_matches(str(name).lower(), sorted(known), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return InputError(f"there is no {kind} {name!r}; {hint}known are {', '.join(sorted(known))}")


def grid(space: DesignSpace, count: int, low: float = 0.0, high: float = 1.0) -> Tensor:
    """count points along each axis, from `low` to `high` in unit coordinates: count^d x d in the space's own units."""
    axis = torch.linspace(low, high, count, dtype=torch.float64)
    unit = torch.stack(torch.meshgrid(*[axis] * space.dim, indexing="ij"), -1).reshape(-1, space.dim)
    return space.from_cube(unit)


@torch.no_grad()
def best_labels(function: Function, space: DesignSpace, decision: LevelSets) -> Best:
    """The labels of the true values: no other labels have a smaller loss."""
    settled = decision.within(space)
    values = function(settled.settled_points)
    labels = (values > torch.tensor(settled.thresholds, dtype=values.dtype).unsqueeze(-1)).to(values)
    return Best(float(settled.loss(values, labels)), "exact: the labels of the true values", labels)


@dataclass(frozen=True, repr=False)
class UnitL1:
    """The sum of absolute differences in the unit coordinates of a space: every axis has length 1."""

    space: DesignSpace

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """Designs ... x d and ... x d: ... ."""
        return (self.space.to_unit(a) - self.space.to_unit(b)).abs().sum(-1)

    def __repr__(self) -> str:
        return "UnitL1()"
