"""Beliefs, decisions and data on which `benchmarks.search` compares proposals with brute force.

Seven families of functions of one to ten parameters and a mixed space; data early and late in a run.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Gaussian, Graded, Several, Transformed
from hentropy.core.models.gp import Treatment
from hentropy.core.spaces import DesignSpace

Fitted = Gaussian | Graded | Several | Transformed
Function = Callable[[Tensor], Tensor]
"""From the unit cube, ... x d to ..., to be maximised."""


def _ackley(u: Tensor) -> Tensor:
    x, d = 65.536 * u - 32.768, u.shape[-1]
    root = (x.square().sum(-1) / d).sqrt()
    return 20.0 * torch.exp(-0.2 * root) + torch.exp(torch.cos(2.0 * math.pi * x).mean(-1)) - 20.0 - math.e


def _branin(u: Tensor) -> Tensor:
    x, y = 15.0 * u[..., 0] - 5.0, 15.0 * u[..., 1]
    bowl = y - 5.1 / (4.0 * math.pi**2) * x.square() + 5.0 / math.pi * x - 6.0
    return -bowl.square() - 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * torch.cos(x) - 10.0


def _cosines(u: Tensor) -> Tensor:
    x = 1.6 * u - 0.5
    return 1.0 - (x.square() - 0.3 * torch.cos(3.0 * math.pi * x)).sum(-1)


def _forrester(u: Tensor) -> Tensor:
    x = u[..., 0]
    return -((6.0 * x - 2.0).square()) * torch.sin(12.0 * x - 4.0)


def _goldstein_price(u: Tensor) -> Tensor:
    x, y = 4.0 * u[..., 0] - 2.0, 4.0 * u[..., 1] - 2.0
    one = 1.0 + (x + y + 1.0).square() * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)
    two = 30.0 + (2 * x - 3 * y).square() * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
    return -(one * two)


_HARTMANN = {
    3: (
        [[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]],
        [[0.3689, 0.1170, 0.2673], [0.4699, 0.4387, 0.7470], [0.1091, 0.8732, 0.5547], [0.0381, 0.5743, 0.8828]],
    ),
    6: (
        [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]],
        [
            [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
            [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
            [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
            [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
        ],
    ),
}


def _hartmann(u: Tensor) -> Tensor:
    A, P = (torch.tensor(rows, dtype=u.dtype) for rows in _HARTMANN[u.shape[-1]])
    weights = torch.tensor([1.0, 1.2, 3.0, 3.2], dtype=u.dtype)
    return torch.exp(-(A * (u.unsqueeze(-2) - P).square()).sum(-1)) @ weights


def _styblinski_tang(u: Tensor) -> Tensor:
    x = 10.0 * u - 5.0
    return -0.5 * (x**4 - 16.0 * x.square() + 5.0 * x).sum(-1)


@dataclass(frozen=True)
class Problem:
    """A function of d parameters."""

    function: Function
    dim: int


PROBLEMS = {
    "Forrester": Problem(_forrester, 1),
    "Branin": Problem(_branin, 2),
    "Cosines-2": Problem(_cosines, 2),
    "Goldstein-Price": Problem(_goldstein_price, 2),
    "Hartmann-3": Problem(_hartmann, 3),
    "Ackley-4": Problem(_ackley, 4),
    "Styblinski-Tang-5": Problem(_styblinski_tang, 5),
    "Hartmann-6": Problem(_hartmann, 6),
    "Ackley-8": Problem(_ackley, 8),
    "Styblinski-Tang-10": Problem(_styblinski_tang, 10),
}

SOLVENTS = ("water", "ethanol", "toluene")


def _mixed_space() -> he.Space:
    return he.Space(solvent=list(SOLVENTS), runs=he.Integer(1, 8), x=he.Real(0.0, 1.0), y=he.Real(0.0, 1.0))


def _plain_space(d: int) -> he.Space:
    return he.Space(**{f"x{i}": he.Real(0.0, 1.0) for i in range(d)})


class Robust(he.Decision):
    """The design whose worse side is best: the values a step to either side count, along the last parameter."""

    actions = he.Points(1)
    step = 0.05

    def points(self, a: Tensor) -> Tensor:
        """... x 1 x d to ... x 3 x d."""
        aside = torch.zeros_like(a)
        aside[..., -1] = self.step
        return torch.cat([a - aside, a, a + aside], -2)

    def loss(self, f: Tensor, a: Tensor) -> Tensor:
        """Minus the worst value."""
        return -f.min(-1).values


def _better_of_two(f: Tensor, a: Tensor) -> Tensor:
    return -f.max(-1).values


OUTCOMES = ("yield", "impurity")


def _quantiles(y: Tensor, *shares: float) -> list[float]:
    return torch.quantile(y, torch.tensor(shares, dtype=y.dtype)).tolist()


DECISIONS: dict[str, Callable[[Tensor, DesignSpace], he.Decision]] = {
    "BestObserved": lambda y, space: he.BestObserved(),
    "Maximize": lambda y, space: he.Maximize(),
    "TopK": lambda y, space: he.TopK(3, weight=0.3 * float(y.std()), cap=1.0),
    "KGuesses": lambda y, space: he.KGuesses(2),
    "MinMax": lambda y, space: he.MinMax(),
    "Sequence": lambda y, space: he.Sequence(_quantiles(y, 0.3, 0.7, 0.9)),
    "Target": lambda y, space: he.Target({"value": (_quantiles(y, 0.75)[0], _quantiles(y, 0.8)[0])}),
    "LevelSets": lambda y, space: he.LevelSets(_quantiles(y, 0.8), at=space.sample(256, 0)),
    "own loss": lambda y, space: he.decision(_better_of_two, actions=he.Points(2)),
    "own points": lambda y, space: Robust(),
    "limits": lambda y, space: he.Maximize("yield", ["impurity <= 0.5"]),
    "Pareto": lambda y, space: he.Pareto(2, {"yield": "max", "impurity": "min"}),
}
"""Made for outcomes y (n) on a space. The last two are about two outcomes."""

TWO = ("limits", "Pareto")


@dataclass(frozen=True)
class Case:
    """A decision about one of PROBLEMS at a stage of a run, and how the belief is fitted.

    Stages: "early" has a few designs that fill the space; "late" 30 more, each around the best so far, on scales that
    fall from 0.1 to 0.001; "converged" has those around the optimum itself.
    """

    decision: str
    problem: str
    stage: str
    treatment: Treatment = "map"
    noise: float | None = None
    """The stated standard error as a share of the spread of the outcomes, which then have that noise; None: fitted."""
    mixed: bool = False
    seed: int = 0

    def __str__(self) -> str:
        noise = "fitted noise" if self.noise is None else f"noise {self.noise:g}"
        space = ", mixed" if self.mixed else ""
        return f"{self.decision}, {self.problem}{space}, {self.stage}, {self.treatment}, {noise}, seed {self.seed}"


LATE_DESIGNS = 30
SCALES = (0.1, 0.03, 0.01, 0.003, 0.001)


@dataclass(frozen=True)
class Setting:
    """What is proposed for."""

    decision: he.Decision
    belief: Fitted
    space: DesignSpace
    y: Tensor
    """The outcome that counts: n."""

    @property
    def unit(self) -> float:
        """A large loss: one where losses are probabilities, otherwise the spread of the outcomes."""
        return 1.0 if isinstance(self.decision, he.Target | he.LevelSets) else float(self.y.std())


def _objective(case: Case, space: DesignSpace) -> Callable[[Tensor], Tensor]:
    function = PROBLEMS[case.problem].function
    if not case.mixed:
        return function

    def mixed(x: Tensor) -> Tensor:
        """The last two coordinates count, shifted by solvent and number of runs."""
        solvent, runs = x[..., :3] @ torch.tensor([0.0, 0.04, 0.1], dtype=x.dtype), (x[..., 3] - 1.0) / 7.0
        u = (x[..., 4:] - solvent.unsqueeze(-1)).clamp(0.0, 1.0)
        return function(u) * (1.0 - 0.5 * (runs - 0.4).square())

    return mixed


def _crowded(f: Function, space: DesignSpace, x: Tensor, generator: torch.Generator, count: int) -> Tensor:
    """Designs n x d and `count` more, each beside the best so far, on scales that fall from 0.1 to 0.001."""
    for i in range(count):
        best = space.to_cube(x[f(x).argmax()])
        scale = SCALES[0] * (SCALES[-1] / SCALES[0]) ** (i / (count - 1))
        moved = best + scale * torch.randn(best.shape, generator=generator, dtype=torch.float64)
        x = torch.cat([x, space.project(space.from_cube(moved.clamp(0.0, 1.0))).unsqueeze(0)])
    return x


def setting(case: Case) -> Setting:
    """The data of a case, and the belief fitted to them."""
    d = PROBLEMS[case.problem].dim
    space: DesignSpace = _mixed_space() if case.mixed else _plain_space(d)
    f, generator = _objective(case, space), torch.Generator().manual_seed(1000 + case.seed)
    x = space.sample(6 + 2 * space.cube, 7 * case.seed + 3)
    if case.stage == "late":
        x = _crowded(f, space, x, generator, LATE_DESIGNS)
    elif case.stage == "converged":
        optimum = _crowded(f, space, x, generator, 600)
        centre = space.to_cube(optimum[f(optimum).argmax()])
        noise = torch.randn(LATE_DESIGNS, len(centre), generator=generator, dtype=torch.float64)
        scales = torch.tensor(SCALES, dtype=torch.float64).repeat(LATE_DESIGNS // len(SCALES)).unsqueeze(-1)
        x = torch.cat([x, space.project(space.from_cube((centre + scales * noise).clamp(0.0, 1.0)))])
    y = f(x)
    spread = float(y.std())
    error = None if case.noise is None else case.noise * spread
    if error is not None:
        y = y + error * torch.randn(y.shape, generator=generator, dtype=torch.float64)
    decision = DECISIONS[case.decision](y, space)
    belief: Fitted
    if case.decision in TWO:
        other = (space.to_unit(x)[:, -2:] - 0.4).square().sum(-1) * 2.0
        both = torch.stack([y, other], -1)
        errors = None if error is None else {"yield": error, "impurity": case.noise}
        belief = he.fit_outcomes(x, both, OUTCOMES, space=space, noise=errors, hyperparameters=case.treatment)
    else:
        belief = he.fit(x, y, space=space, noise=error, hyperparameters=case.treatment)
    return Setting(decision, belief, space, y)


STAGES = ("early", "late", "converged")
TREATMENTS: tuple[Treatment, ...] = ("map", "auto")
NOISES = (None, 0.001, 0.05)


def cases(seed: int) -> Iterator[Case]:
    """The table: every decision on every problem and on a mixed space at every stage, 396 cases.

    Both beliefs and all kinds of noise take turns, so that each meets each decision, problem and stage.
    """
    for row, decision in enumerate(DECISIONS):
        for i, problem in enumerate([*PROBLEMS, "Branin"]):
            for j, stage in enumerate(STAGES):
                treatment, noise = TREATMENTS[(row + i + j + seed) % 2], NOISES[(row + i + 2 * j + seed // 2) % 3]
                yield Case(decision, problem, stage, treatment, noise, mixed=i == len(PROBLEMS), seed=seed)
