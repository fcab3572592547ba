"""The twelve minimisation problems of De Ath et al. 2021, with the first designs and results that they published.

De Ath, Everson, Rahat, Fieldsend, "Greed is good: exploration and exploitation trade-offs in Bayesian optimisation",
2021: noiseless functions of one to ten parameters, 51 runs each, every run from 2 d stored Latin-hypercube designs. The
designs and the best values seen are not shipped: `first_designs` and `published_results` read them from a folder.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from botorch.test_functions.synthetic import Branin, Hartmann, Rosenbrock, SixHumpCamel, StyblinskiTang
from torch import Tensor

from hentropy.bench.problems.base import Best, Function, Problem, named
from hentropy.core.decisions import Minimize
from hentropy.core.spaces import Space
from hentropy.errors import InputError

RUNS = 51
CHECKPOINTS = (30, 50, 100, 250)
"""Numbers of evaluations, the first designs included, after which the best value seen was published."""

DESIGNS = "de_ath_2021_first_designs.npz"
RESULTS = "de_ath_2021_best_seen.csv"


def wang_freitas(x: Tensor) -> Tensor:
    """A wide valley at 0.1 and a narrow, deeper one at 0.9; designs ... x 1: ... ."""
    wide = torch.exp(-(((x - 0.1) / 0.1) ** 2) / 2.0)
    narrow = torch.exp(-(((x - 0.9) / 0.01) ** 2) / 2.0)
    return -(2.0 * wide + 4.0 * narrow)[..., 0]


def goldstein_price(x: Tensor) -> Tensor:
    """Values from 3 to a million on [-2, 2]^2; designs ... x 2: ... ."""
    a, b = x.unbind(-1)
    near = 19.0 - 14.0 * a + 3.0 * a**2 - 14.0 * b + 6.0 * a * b + 3.0 * b**2
    far = 18.0 - 32.0 * a + 12.0 * a**2 + 48.0 * b - 36.0 * a * b + 27.0 * b**2
    return (1.0 + (a + b + 1.0) ** 2 * near) * (30.0 + (2.0 * a - 3.0 * b) ** 2 * far)


def g_sobol(x: Tensor) -> Tensor:
    """A product with kinks at 0.5, every parameter with the same weight; designs ... x d: ... ."""
    return (((4.0 * x - 2.0).abs() + 1.0) / 2.0).prod(-1)


def _log(function: Function, shift: float = 0.0) -> Function:
    return lambda x: torch.log(function(x) + shift)


@dataclass(frozen=True)
class BoxedFunction:
    """A function on a box, and a design where it is least."""

    function: Function
    low: tuple[float, ...]
    high: tuple[float, ...]
    at: tuple[float, ...]

    @classmethod
    def cube(cls, function: Function, low: float, high: float, at: tuple[float, ...]) -> "BoxedFunction":
        """With the same bounds for every parameter."""
        return cls(function, (low,) * len(at), (high,) * len(at), at)


HARTMANN_AT = (0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573)
STYBLINSKI_TANG_AT = (-2.903534,) * 10

MINIMA: dict[str, Callable[[], BoxedFunction]] = {
    "WangFreitas": lambda: BoxedFunction.cube(wang_freitas, 0.0, 1.0, (0.9,)),
    "Branin": lambda: BoxedFunction(Branin(), (-5.0, 0.0), (10.0, 15.0), (torch.pi, 2.275)),
    "GoldsteinPrice": lambda: BoxedFunction.cube(goldstein_price, -2.0, 2.0, (0.0, -1.0)),
    "logGoldsteinPrice": lambda: BoxedFunction.cube(_log(goldstein_price), -2.0, 2.0, (0.0, -1.0)),
    "SixHumpCamel": lambda: BoxedFunction(SixHumpCamel(), (-3.0, -2.0), (3.0, 2.0), (0.0898420, -0.7126564)),
    "Hartmann6": lambda: BoxedFunction.cube(Hartmann(6), 0.0, 1.0, HARTMANN_AT),
    "StyblinskiTang": lambda: BoxedFunction.cube(StyblinskiTang(10), -5.0, 5.0, STYBLINSKI_TANG_AT),
    "logStyblinskiTang": lambda: BoxedFunction.cube(_log(StyblinskiTang(10), 400.0), -5.0, 5.0, STYBLINSKI_TANG_AT),
    "Rosenbrock": lambda: BoxedFunction.cube(Rosenbrock(10), -5.0, 10.0, (1.0,) * 10),
    "logRosenbrock": lambda: BoxedFunction.cube(_log(Rosenbrock(10), 0.5), -5.0, 10.0, (1.0,) * 10),
    "GSobol": lambda: BoxedFunction.cube(g_sobol, -5.0, 5.0, (0.5,) * 10),
    "logGSobol": lambda: BoxedFunction.cube(_log(g_sobol), -5.0, 5.0, (0.5,) * 10),
}
"""By the names under which they were published."""


def published_minimum(name: str) -> Problem:
    """The least value of one of the twelve functions."""
    made = named(name, MINIMA, "published minimum")()
    space = Space.box(list(made.low), list(made.high))
    on = Problem(name, made.function, space, Minimize(), credit="De Ath et al. 2021")
    action = torch.tensor([made.at], dtype=torch.float64)
    return replace(on, best=Best(on.loss(action), "at the known minimum", action))


def designs_file(data: str | Path) -> Path:
    """The published first designs in a folder."""
    return _file(data, DESIGNS)


def first_designs(name: str, run: int, data: str | Path) -> Tensor:
    """The first designs of a run, 1 to 51: 2 d x d, in the units of the problem."""
    if not 1 <= run <= RUNS:
        raise InputError(f"the published runs are 1 to {RUNS}; got {run}")
    with np.load(designs_file(data)) as stored:
        return torch.from_numpy(np.asarray(stored[f"{name}_{run}_X"], dtype=np.float64))


def first_values(name: str, run: int, data: str | Path) -> Tensor:
    """The published values of the first designs of a run: 2 d."""
    with np.load(designs_file(data)) as stored:
        return torch.from_numpy(np.asarray(stored[f"{name}_{run}_Y"], dtype=np.float64))


def published_results(data: str | Path) -> dict[tuple[str, str, int], dict[int, float]]:
    """The best value seen after each checkpoint, by problem, method and run."""
    with _file(data, RESULTS).open(newline="") as file:
        return {
            (row["problem"], row["method"], int(row["run"])): {at: float(row[f"after_{at}"]) for at in CHECKPOINTS}
            for row in csv.DictReader(file)
        }


def _file(data: str | Path, name: str) -> Path:
    if not data:
        raise InputError(f"the published runs are not shipped; say with --data in which folder {name} is")
    path = Path(data) / name
    if not path.is_file():
        raise InputError(
            f"{path} does not exist; it is made from the repository of De Ath et al., georgedeath/egreedy: see"
            " docs/results/minima.md"
        )
    return path
