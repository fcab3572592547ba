"""The action spaces: what can finally be done.

`Points(k)`      k points of the design space            a: ... x k x d
`Box(low, high)` a vector of its own, not a design       a: ... x p
`Listed(rows)`   one of finitely many sets of points     a: ... x k x d
`Options(items)` one of finitely many things of any kind a: the thing itself
`Report(what)`   something stated about fixed points, which the user gives or which are spread over the space
"""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError


class ActionSpace:
    """What can finally be done; one of the classes of this module."""


@dataclass(frozen=True)
class Points(ActionSpace):
    """k points of the design space. `as_set`: their order does not matter, and of a list none is taken twice."""

    k: int
    as_set: bool = False

    def __post_init__(self) -> None:
        try:
            k = operator.index(self.k)
        except TypeError:
            k = 0
        if k < 1:
            raise InputError(f"an action needs a whole number of points, at least 1, got {self.k!r}")

    def count_on(self, size: int) -> int:
        """How many actions there are on a finite space of so many designs."""
        return math.comb(size, self.k) if self.as_set else size**self.k


@dataclass(frozen=True)
class Box(ActionSpace):
    """A vector between `low` and `high` (p numbers each); `at` are the designs its loss looks at (K x d)."""

    low: Sequence[float]
    high: Sequence[float]
    at: Any = None

    def __post_init__(self) -> None:
        if len(self.low) != len(self.high) or not self.low:
            raise InputError(f"a box needs as many lower as upper bounds, got {len(self.low)} and {len(self.high)}")
        for lo, hi in zip(self.low, self.high, strict=True):
            if not (math.isfinite(lo) and math.isfinite(hi) and lo < hi):
                raise InputError(f"the bounds {lo}, {hi} of a box of actions must be finite and in order")

    @property
    def bounds(self) -> Tensor:
        """2 x p."""
        return torch.tensor([list(self.low), list(self.high)], dtype=torch.float64)


@dataclass(frozen=True)
class Listed(ActionSpace):
    """One of m sets of k points: m x k x d."""

    rows: Tensor

    def __post_init__(self) -> None:
        if self.rows.dim() != 3 or self.rows.shape[0] == 0:
            raise InputError(f"listed actions have shape m x k x d with at least one row, got {tuple(self.rows.shape)}")


@dataclass(frozen=True)
class Options(ActionSpace):
    """One of finitely many things; `at` are the designs whose values the loss looks at (K x d), common to all."""

    items: Sequence[Any]
    at: Any = None

    def __post_init__(self) -> None:
        if len(self.items) == 0:
            raise InputError("a decision needs at least one option to choose from")


@dataclass(frozen=True)
class Report(ActionSpace):
    """Something stated about fixed points (labels, numbers, a distribution): its best value follows from the belief."""

    what: str


Places = Any
"""None, or anything that makes a tensor m x d."""

FILLING = 512


def as_places(at: Places) -> Tensor | None:
    """A tensor m x d, checked, or None."""
    if at is None:
        return None
    places = torch.as_tensor(at, dtype=torch.float64)
    if places.dim() != 2 or places.shape[0] == 0:
        raise InputError(f"the points must have shape m x d with at least one row, got {tuple(places.shape)}")
    if not bool(torch.isfinite(places).all()):
        raise InputError("a point has a value that is NaN or infinite; drop that row")
    return places


def places_in(space: DesignSpace, at: Tensor | None, count: int = FILLING) -> Tensor:
    """The given points, checked against the space; all designs of a list; or points that fill the space."""
    if at is not None:
        if at.shape[-1] != space.dim:
            raise InputError(f"the points have {at.shape[-1]} values each, the designs of the space {space.dim}")
        return at
    return space.sample(count, seed=0) if space.points is None else space.points
