"""The action spaces: what can finally be done.

`Points(k)`      k points of the design space            a: ... x k x d
`Box(low, high)` a vector of its own, not a design       a: ... x p
`Listed(rows)`   one of finitely many sets of points     a: ... x k x d
`Options(items)` one of finitely many things of any kind a: the thing itself
`Report(what)`   something stated about fixed points, which the user gives or which are spread over the space
"""

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from hentropy.core.given import as_table, is_finite
from hentropy.core.spaces import DesignSpace, sobol
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch


class Domain(ABC):
    """A set of actions that a search steps through, as a unit cube of `size` coordinates."""

    size: int
    event: tuple[int, ...]

    @abstractmethod
    def to_action(self, u: Tensor) -> Tensor:
        """Coordinates of the cube ... x size to actions ... x event."""

    @abstractmethod
    def to_cube(self, a: Tensor) -> Tensor:
        """Actions ... x event to the coordinates of a search: ... x size."""

    @abstractmethod
    def to_unit(self, a: Tensor) -> Tensor:
        """Actions as distances between them are measured, one row each."""

    @abstractmethod
    def project(self, a: Tensor) -> Tensor:
        """The nearest action that can really be taken."""

    @property
    def exchanges(self) -> int:
        """How many values a member of an action may be exchanged for, which descent cannot reach."""
        return 0

    def neighbours(self, a: Tensor) -> Tensor:
        """Actions ... x event with one value of one member exchanged: ... x T x event."""
        return a.new_empty(*a.shape[: -len(self.event)], 0, *self.event)

    def sample(self, count: int, seed: int) -> Tensor:
        """Actions that fill the domain evenly: count x event."""
        return self.project(self.to_action(sobol(count, self.size, seed)))


@dataclass(frozen=True)
class PointsDomain(Domain):
    """k points of a design space."""

    space: DesignSpace
    k: int

    @property
    def size(self) -> int:  # type: ignore[override]
        """k times the coordinates of the space's cube."""
        return self.k * self.space.cube

    @property
    def event(self) -> tuple[int, ...]:  # type: ignore[override]
        """(k, d)."""
        return (self.k, self.space.dim)

    def to_action(self, u: Tensor) -> Tensor:
        """... x size to ... x k x d."""
        return self.space.from_cube(u.reshape(*u.shape[:-1], self.k, self.space.cube))

    def to_cube(self, a: Tensor) -> Tensor:
        """... x k x d to ... x size."""
        return self.space.to_cube(a).flatten(-2)

    def to_unit(self, a: Tensor) -> Tensor:
        """... x k x d to ... x kd."""
        return self.space.to_unit(a).flatten(-2)

    def project(self, a: Tensor) -> Tensor:
        """Clamped and rounded as the space says."""
        return self.space.project(a)

    @property
    def exchanges(self) -> int:
        """Those of a design."""
        return self.space.exchanges

    def neighbours(self, a: Tensor) -> Tensor:
        """... x k x d to ... x (k M) x k x d, the exchanges of the first member first."""
        moved = self.space.neighbours(a)  # ... x k x M x d
        M = moved.shape[-2]
        own = torch.eye(self.k, dtype=torch.bool, device=a.device).repeat_interleave(M, 0).unsqueeze(-1)  # kM x k x 1
        return torch.where(own, moved.flatten(-3, -2).unsqueeze(-2), a.unsqueeze(-3))


@dataclass(frozen=True)
class BoxDomain(Domain):
    """A box of vectors: bounds 2 x p."""

    bounds: Tensor

    @property
    def size(self) -> int:  # type: ignore[override]
        """p."""
        return self.bounds.shape[-1]

    @property
    def event(self) -> tuple[int, ...]:  # type: ignore[override]
        """(p,)."""
        return (self.size,)

    def to_action(self, u: Tensor) -> Tensor:
        """Unit coordinates to the box."""
        low, high = self.bounds.to(u)
        return low + (high - low) * u

    def to_cube(self, a: Tensor) -> Tensor:
        """The box to unit coordinates."""
        low, high = self.bounds.to(a)
        return (a - low) / (high - low)

    def to_unit(self, a: Tensor) -> Tensor:
        """As `to_cube`."""
        return self.to_cube(a)

    def project(self, a: Tensor) -> Tensor:
        """Clamped to the box."""
        low, high = self.bounds.to(a)
        return a.clamp(low, high)


Search_co = TypeVar("Search_co", covariant=True)


@dataclass(frozen=True)
class Searches(Generic[Search_co]):
    """The ways in which actions can be searched, of which an action space takes the one that fits it.

    In a unit cube; all of m sets of designs (m x k x d); all things of any kind; by exchange of designs of a list.
    """

    descent: Callable[[Domain], Search_co]
    rows: Callable[[Tensor], Search_co]
    items: Callable[["Options"], Search_co]
    tuples: Callable[[Tensor, "Points"], Search_co]


class ActionSpace(ABC):
    """What can finally be done: one of the classes of this module.

    `event` is the number of trailing dimensions that make one action, 0 where actions are no tensors; `of_designs` says
    that these are designs, k x d. `as_set`: the order of the designs does not matter. `items` are the things that can
    be chosen, where they have names.
    """

    event: ClassVar[int] = 0
    of_designs: ClassVar[bool] = False
    as_set: bool = False
    items: Sequence[Any] = ()

    @abstractmethod
    def sample(self, space: DesignSpace, count: int, seed: int) -> Sequence[Any] | Tensor:
        """At most this many actions that are spread over all that there are."""

    def points(self, a: Any) -> Tensor | None:
        """The designs that a loss looks at, ... x K x d; None where only the decision can say."""
        return None

    def domain(self, space: DesignSpace) -> Domain | None:
        """The actions as a unit cube in which to descend; None where they are finitely many."""
        return None

    def search(self, space: DesignSpace, ways: Searches[Search_co]) -> Search_co | None:
        """The search that fits; None where there is none."""
        domain = self.domain(space)
        return None if domain is None else ways.descent(domain)

    def shapes(self, space: DesignSpace) -> Sequence[Any] | Tensor:
        """Actions that between them have all numbers of points that a loss may look at."""
        return self.sample(space, 1, seed=0)

    def count_on(self, size: int) -> float:
        """How many actions there are on a finite space of this many designs, where they are tuples of them."""
        return math.inf

    def check(self, space: DesignSpace, decision: str) -> None:  # noqa: B027 (most can be taken anywhere)
        """An `InputError` where no action can be taken on this space."""

    def describe(self, a: Any, space: DesignSpace) -> list[dict[str, Any]]:
        """The action as rows of a table for a person."""
        if self.of_designs:
            return [space.decode(row) for row in a]
        values = a.reshape(-1).tolist() if isinstance(a, Tensor) else [a]
        return [{"action": value} for value in values]


@dataclass(frozen=True)
class Points(ActionSpace):
    """k points of the design space. `as_set`: their order does not matter, and a row of a list occurs at most once."""

    event: ClassVar[int] = 2
    of_designs: ClassVar[bool] = True
    k: int
    as_set: bool = False

    def __post_init__(self) -> None:
        try:
            k = operator.index(self.k)
        except TypeError:
            k = 0
        if k < 1:
            raise InputError(f"an action needs a whole number of points, at least 1, got {self.k!r}")

    def sample(self, space: DesignSpace, count: int, seed: int) -> Tensor:
        """Tuples of designs, on a list with distinct members if they are sets: count x k x d."""
        if space.points is None:
            return space.sample(count * self.k, seed).reshape(count, self.k, -1)
        generator, size = torch.Generator().manual_seed(seed), len(space.points)
        if not self.as_set:
            return space.points[torch.randint(size, (count, self.k), generator=generator)]
        return space.points[torch.stack([torch.randperm(size, generator=generator)[: self.k] for _ in range(count)])]

    def points(self, a: Any) -> Tensor:
        """The action itself."""
        return a

    def domain(self, space: DesignSpace) -> Domain | None:
        """All tuples of designs, unless these are listed."""
        return PointsDomain(space, self.k) if space.points is None else None

    def search(self, space: DesignSpace, ways: Searches[Search_co]) -> Search_co | None:
        """Exchange on a list of designs, descent elsewhere."""
        return super().search(space, ways) if space.points is None else ways.tuples(space.points, self)

    def count_on(self, size: int) -> float:
        """The number of actions on a finite space with this many designs."""
        return math.comb(size, self.k) if self.as_set else size**self.k

    def check(self, space: DesignSpace, decision: str) -> None:
        """A set needs k distinct designs."""
        size = None if not self.as_set or space.points is None else space.points.shape[0]
        if size is not None and self.k > size:
            raise InputError(f"{decision} asks for {self.k} different designs, but the space lists only {size}")


@dataclass(frozen=True)
class Box(ActionSpace):
    """A vector between `low` and `high` (p numbers each); its loss depends on f at the designs `at` (K x d)."""

    event: ClassVar[int] = 1
    low: Sequence[float]
    high: Sequence[float]
    at: Any = None

    def __post_init__(self) -> None:
        if len(self.low) != len(self.high) or not self.low:
            raise InputError(f"a box needs as many lower as upper bounds, got {len(self.low)} and {len(self.high)}")
        for lo, hi in zip(self.low, self.high, strict=True):
            if not (is_finite(lo) and is_finite(hi) and lo < hi):
                raise InputError(f"the bounds {lo}, {hi} of a box of actions must be finite and in order")

    @property
    def bounds(self) -> Tensor:
        """2 x p."""
        return torch.tensor([list(self.low), list(self.high)], dtype=torch.float64)

    def sample(self, space: DesignSpace, count: int, seed: int) -> Tensor:
        """Space-filling vectors: count x p."""
        return BoxDomain(self.bounds).sample(count, seed)

    def points(self, a: Any) -> Tensor | None:
        """The designs `at`, for each action."""
        if self.at is None:
            return None
        at = torch.as_tensor(self.at, dtype=torch.float64).to(a)
        return at.expand(*a.shape[:-1], *at.shape)

    def domain(self, space: DesignSpace) -> Domain:
        """The box."""
        return BoxDomain(self.bounds)


@dataclass(frozen=True)
class Listed(ActionSpace):
    """One of m sets of k points: m x k x d."""

    event: ClassVar[int] = 2
    of_designs: ClassVar[bool] = True
    rows: Tensor

    def __post_init__(self) -> None:
        if self.rows.dim() != 3 or self.rows.shape[0] == 0:
            raise InputError(f"listed actions have shape m x k x d with at least one row, got {tuple(self.rows.shape)}")

    def sample(self, space: DesignSpace, count: int, seed: int) -> Tensor:
        """The first rows."""
        return self.rows[:count]

    def points(self, a: Any) -> Tensor:
        """The action itself."""
        return a

    def search(self, space: DesignSpace, ways: Searches[Search_co]) -> Search_co:
        """All rows are tried."""
        return ways.rows(self.rows)


@dataclass(frozen=True)
class Options(ActionSpace):
    """One of finitely many items; the loss of each depends on f at the designs `at` (K x d)."""

    items: Sequence[Any]
    at: Any = None

    def __post_init__(self) -> None:
        if len(self.items) == 0:
            raise InputError("a decision needs at least one option to choose from")

    def sample(self, space: DesignSpace, count: int, seed: int) -> Sequence[Any]:
        """The first items."""
        return self.items[:count]

    def points(self, a: Any) -> Tensor | None:
        """The designs `at`, the same for all."""
        return None if self.at is None else torch.as_tensor(self.at, dtype=torch.float64)

    def search(self, space: DesignSpace, ways: Searches[Search_co]) -> Search_co:
        """All items are tried."""
        return ways.items(self)

    def shapes(self, space: DesignSpace) -> Sequence[Any]:
        """All items: a decision may have different points for each."""
        return self.items


@dataclass(frozen=True)
class Report(ActionSpace):
    """Something stated about fixed points (labels, numbers, a distribution): its best value follows from the belief."""

    what: str

    def sample(self, space: DesignSpace, count: int, seed: int) -> Sequence[Any]:
        """None: what is stated follows from a belief."""
        return ()


Places = Any
"""None, anything that makes a tensor m x d, or designs by name, [{"solvent": "THF", "x": 0.3}]."""

NamedDesigns = tuple[Mapping[str, Any], ...]

FILLING = 512


def as_places(at: Places) -> Tensor | NamedDesigns | None:
    """A tensor m x d, checked; designs by name, which a space has to check; or None."""
    if at is None:
        return None
    if isinstance(at, Sequence) and at and all(isinstance(design, Mapping) for design in at):
        return tuple(at)
    places = as_table("at", at)
    if places.dim() != 2 or places.shape[0] == 0:
        raise InputError(f"the points must have shape m x d with at least one row, got {tuple(places.shape)}")
    if not bool(torch.isfinite(places).all()):
        raise InputError("a point has a value that is NaN or infinite; drop that row")
    return places


def places_in(space: DesignSpace, at: Tensor | NamedDesigns | None, count: int = FILLING) -> Tensor:
    """The given points, checked against the space; all designs of a list; or points that fill the space."""
    if isinstance(at, tuple):
        return space.encode_many(at)
    if at is not None:
        if at.shape[-1] != space.dim:
            raise InputError(f"the points have {at.shape[-1]} values each, the designs of the space {space.dim}")
        return at
    return space.sample(count, seed=0) if space.points is None else space.points
