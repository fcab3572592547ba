"""The table of all decisions, decisions of one's own, and spaces, that tests run through relations."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch
from torch import Tensor

from hentropy import (
    BestObserved,
    Box,
    Choice,
    Decision,
    Estimate,
    Fractions,
    Gaussian,
    Identify,
    Improve,
    KGuesses,
    Levels,
    LevelSets,
    Listed,
    Maximize,
    Minimize,
    MinMax,
    Options,
    Pareto,
    Points,
    Pool,
    Real,
    Sequence,
    Space,
    Target,
    TopK,
    decision,
)
from hentropy.core.beliefs import Frame, Needs, Several
from hentropy.core.beliefs.kernels import Profile, Stationary
from support.beliefs import LOW, WIDTH, designs
from support.tiers import cover, nightly

SPACE = Space.box(LOW.tolist(), (LOW + WIDTH).tolist())
POOL = Pool(designs(10, seed=1))
PLACES = designs(4, seed=2)
ASIDE = torch.tensor([0.05, 0.0], dtype=torch.float64)


class Worst(Decision):
    """Two points, only the worse of which counts."""

    actions = Points(2, as_set=True)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        return -f.min(-1).values


class BothSides(Decision):
    """A point that is used with an error: f is looked at on both sides of it, not at it."""

    actions = Points(1)

    def __init__(self, aside: Tensor = ASIDE) -> None:
        self.aside = torch.as_tensor(aside, dtype=torch.float64)

    def points(self, a: Any) -> Tensor:
        return torch.cat([a - self.aside, a + self.aside], -2)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        return -f.min(-1).values


class Neighbours(Decision):
    """Two designs that were measured one after the other: actions that grow with the data."""

    follows_data = True

    def __init__(self, dim: int = 2) -> None:
        self.actions = Listed(torch.zeros(1, 2, dim, dtype=torch.float64))

    def actions_given(self, observed: Tensor) -> Listed:
        return Listed(torch.stack([observed[:-1], observed[1:]], 1))

    def loss(self, f: Tensor, a: Any) -> Tensor:
        return -f.max(-1).values


@dataclass(frozen=True)
class Row:
    """make(c) is the decision about f + c, unless it does not move; `linear` says that its gains double with f."""

    make: Callable[[float], Decision]
    linear: bool = False
    moves: bool = True

    @property
    def searched(self) -> bool:
        """Whether actions are searched: then gains take seconds."""
        return isinstance(self.make(0.0).actions, Points | Box)

    @property
    def designs(self) -> int:
        """At how many designs gains are compared.

        At two where losses are averages over draws and actions are searched: that takes most of the time, and of such
        gains the suite only sees what is wrong by a quarter and more.
        """
        return 2 if self.searched and self.make(0.0).needs is Needs.JOINT else 4


def bet(f: Tensor, a: tuple[str, float]) -> Tensor:
    return a[1] * (f.mean(-1) - 4.0)


def tracking(f: Tensor, a: Tensor) -> Tensor:
    return (f - a).abs().sum(-1)


def _rows_at(places: Tensor, pairs: Tensor, aside: Tensor) -> dict[str, Row]:
    """The rows that name designs: some places (4 x d), pairs of designs (4 x 2 x d), a step aside (d)."""
    return {
        "identify_values": Row(lambda c: Identify(places)),
        "level_sets": Row(lambda c: LevelSets([3.0 + c, 4.5 + c], at=places), linear=False),
        "level_sets_labels": Row(lambda c: LevelSets([3.0 + c, 4.5 + c], at=places, relation="misclassification")),
        "level_sets_conservative": Row(
            lambda c: LevelSets([3.0 + c, 4.5 + c], at=places, confidence=0.8, weights=[0.5, 2.0, 1.0, 0.0])
        ),
        "estimate": Row(lambda c: Estimate(places)),
        "own_points": Row(lambda c: BothSides(aside), linear=True),
        "own_listed": Row(lambda c: decision(lambda f, a: -f.max(-1).values, Listed(pairs)), linear=True),
        "own_box": Row(lambda c: decision(tracking, Box([0.0 + c, 0.0 + c], [8.0 + c, 8.0 + c], at=places[:2]))),
        "own_options": Row(
            lambda c: decision(
                lambda f, a: bet(f - c, a), Options([("short", 1.0), ("none", 0.0), ("long", -1.0)], at=places[:3])
            )
        ),
        "own_follows_data": Row(lambda c: Neighbours(places.shape[-1]), linear=True),
    }


ROWS: dict[str, Row] = {
    "maximize": Row(lambda c: Maximize(), linear=True),
    "minimize": Row(lambda c: Minimize(), linear=True),
    "best_observed": Row(lambda c: BestObserved(), linear=True),
    "least_observed": Row(lambda c: BestObserved(largest=False), linear=True),
    "improve": Row(lambda c: Improve(4.5 + c)),
    "improve_below": Row(lambda c: Improve(2.5 + c, above=False)),
    "identify_argmax": Row(lambda c: Identify("argmax", candidates=16)),
    "identify_max": Row(lambda c: Identify("max", candidates=32)),
    "k_guesses_1": Row(lambda c: KGuesses(1), linear=True),
    "k_guesses_2": Row(lambda c: KGuesses(2), linear=True),
    "k_guesses_2_least": Row(lambda c: KGuesses(2, largest=False), linear=True),
    "k_guesses_3": Row(lambda c: KGuesses(3), linear=True),
    "top_k": Row(lambda c: TopK(3, weight=2.0, cap=5.0)),
    "top_k_no_distance": Row(lambda c: TopK(2, weight=0.0), linear=True),
    "top_k_least": Row(lambda c: TopK(2, weight=1.0, distance="l2", largest=False)),
    "sequence_squares": Row(lambda c: Sequence([2.0 + c, 5.0 + c])),
    "sequence_absolute": Row(lambda c: Sequence([2.0 + c, 5.0 + c], power=1, link=0.05)),
    "min_max": Row(lambda c: MinMax(), linear=True),
    "maximize_limited": Row(lambda c: Maximize("value", [f"value <= {4.5 + c}"], 1.0 + c)),
    "target": Row(lambda c: Target({"value": (3.0 + c, 4.0 + c)})),
    "own_class": Row(lambda c: Worst(), linear=True),
    **_rows_at(PLACES, designs(4, 2, seed=6), ASIDE),
}


def each_way(rows: dict[str, Row], *ways: str) -> list[Any]:
    """Each row in each way; of those whose actions are searched, one of each kind runs in one way each time."""
    made = {name: row.make(0.0) for name, row in rows.items() if row.searched}
    kinds = {(type(own), type(own.actions)): name for name, own in made.items()}
    kept = cover(product(kinds.values(), ways))
    return [case if case in kept or case[0] not in made else nightly(*case) for case in product(rows, ways)]


TWO = ("yield", "impurity")


class BetterOfTwo(Decision):
    """Two recipes, the better of which is sold: both outcomes of both count together."""

    actions = Points(2, as_set=True)
    outcomes = TWO

    def loss(self, f: Tensor, a: Any) -> Tensor:
        return -(f[..., 0] - 2.0 * (f[..., 1] + 1.0).clamp_min(0.0)).max(-1).values


def _several_rows_at(places: Tensor, pairs: Tensor) -> dict[str, Row]:
    return {
        "level_sets": Row(lambda c: LevelSets(-0.5 + c, at=places, outcome="impurity")),
        "estimate": Row(lambda c: Estimate(places, outcome="yield")),
        "own_listed": Row(
            lambda c: decision(lambda f, a: -f.prod(-1).amax(-1), Listed(pairs), outcomes=TWO), moves=False
        ),
        "own_box": Row(
            lambda c: decision(
                lambda f, a: tracking(f.sum(-1), a), Box([0.0, 0.0], [8.0, 8.0], at=places[:2]), outcomes=TWO
            ),
            moves=False,
        ),
        "own_options": Row(
            lambda c: decision(
                lambda f, a: bet(f.sum(-1), a), Options([("short", 1.0), ("long", -1.0)], at=places[:3]), outcomes=TWO
            ),
            moves=False,
        ),
    }


SEVERAL_ROWS: dict[str, Row] = {
    "maximize": Row(lambda c: Maximize("yield", [f"impurity <= {-0.5 + c}"], 1.0 + c)),
    "maximize_worst_seen": Row(lambda c: Maximize("yield", [f"impurity <= {-0.5 + c}", f"yield <= {6 + c}"])),
    "minimize": Row(lambda c: Minimize("impurity", [f"{3 + c} <= yield <= {6 + c}"])),
    "best_observed": Row(lambda c: BestObserved(outcome="yield", subject_to=[f"impurity <= {-0.5 + c}"])),
    "top_k": Row(lambda c: TopK(2, cap=5.0, outcome="yield", subject_to=[f"impurity <= {-0.5 + c}"])),
    "k_guesses": Row(lambda c: KGuesses(2, outcome="yield", subject_to=[f"impurity <= {-0.5 + c}"])),
    "sequence": Row(lambda c: Sequence([3.0 + c, 5.0 + c], outcome="yield", subject_to=[f"impurity <= {-0.5 + c}"])),
    "target": Row(lambda c: Target({"yield": 5.0 + c, "impurity": f"<= {-1 + c}"}, weights={"yield": 2.0})),
    "pareto_1": Row(lambda c: Pareto(1, {"yield": "max", "impurity": "min"})),
    "pareto_2": Row(lambda c: Pareto(2, {"yield": "max", "impurity": "min"}, {"yield": 2.0 + c, "impurity": 0.5 + c})),
    "improve": Row(lambda c: Improve(4.5 + c, outcome="yield")),
    "identify": Row(lambda c: Identify("max", candidates=32, outcome="impurity")),
    "min_max": Row(lambda c: MinMax(outcome="impurity"), linear=True),
    "own_class": Row(lambda c: BetterOfTwo(), moves=False),
    "own_order": Row(
        lambda c: decision(lambda f, a: (f[..., 0] - 0.1 * f[..., 1]).sum(-1), Points(1), outcomes=TWO[::-1]),
        moves=False,
    ),
    "own_one_of_two": Row(
        lambda c: decision(lambda f, a: f[..., 0].square(), Points(1), outcomes=["impurity"]), moves=False
    ),
    **_several_rows_at(PLACES, designs(4, 2, seed=6)),
}


BOILING = {"THF": 66.0, "water": 100.0, "toluene": 111.0}
MIXED = Space(
    solvent=list(BOILING),
    size=Levels(["small", "middle", "large"]),
    mix=Fractions(["A", "B", "C"]),
    t=Real(20.0, 100.0),
    where=["t <= boiling[solvent]"],
    tables={"boiling": BOILING},
)
STEPPED = Space(
    solvent=Choice(list(BOILING), descriptors={"boiling": list(BOILING.values())}),
    dose=Real(0.1, 10.0, log=True),
    t=Real(20.0, 100.0, step=20.0),
)
"""Between them every kind of parameter, a condition, descriptors, a logarithm and steps."""

ON_MIXED = {
    **ROWS,
    **_rows_at(MIXED.sample(4, 3), MIXED.sample(8, 5).reshape(4, 2, -1), torch.eye(MIXED.dim).double()[-1]),
}
SEVERAL_ON_MIXED = {**SEVERAL_ROWS, **_several_rows_at(MIXED.sample(4, 3), MIXED.sample(8, 5).reshape(4, 2, -1))}


def on_mixed(space: Space = MIXED, seed: int = 0, shift: float = 3.0, scale: float = 2.0) -> Gaussian:
    """One Gaussian process on seven designs of a mixed space."""
    X = space.sample(7, seed)
    one = torch.ones(1, dtype=torch.float64)
    return Gaussian.from_data(
        X,
        (space.to_unit(X) * torch.linspace(-2.0, 3.0, space.dim, dtype=torch.float64)).sum(-1).sin(),
        1e-2 * one.expand(1, len(X)),
        2e-2 * one,
        Stationary(Profile.MATERN52, one.expand(1, space.dim), one),
        lambda a: a.new_zeros(1, *a.shape[:-1]),
        Frame(space.to_unit, shift * one[0], scale * one[0]),
        one,
    )


def two_on_mixed() -> Several:
    """Yield and impurity on the mixed space."""
    return Several(
        (replace(on_mixed(), outcomes=("yield",)), replace(on_mixed(MIXED, 1, -1.0, 0.6), outcomes=("impurity",)))
    )


def line() -> Gaussian:
    """One Gaussian process about one parameter between -3 and -2.5, observed five times with a little noise."""
    X = torch.tensor([[-2.97], [-2.83], [-2.74], [-2.66], [-2.52]], dtype=torch.float64)
    outcomes = torch.sin(20.0 * X[:, 0])
    one = torch.ones(1, dtype=torch.float64)
    return Gaussian.from_data(
        X,
        outcomes,
        1e-3 * one.expand(1, 5),
        1e-3 * one,
        Stationary(Profile.MATERN52, 0.3 * one.view(1, 1), one),
        lambda a: a.new_zeros(1, *a.shape[:-1]),
        Frame(lambda x: (x + 3.0) / 0.5, torch.tensor(1.0).double(), torch.tensor(2.0).double()),
        one,
    )
