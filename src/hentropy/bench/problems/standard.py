"""The test functions of BoTorch, by name: `standard("branin")`, `standard("ackley-4")`. The number is the dimension.

And some of them with other decisions than the least value, on which beliefs are compared.
"""

from collections.abc import Callable, Container
from dataclasses import replace

import torch
from botorch.test_functions.synthetic import (
    Ackley,
    Beale,
    Branin,
    Bukin,
    Cosine8,
    DixonPrice,
    DropWave,
    EggHolder,
    Griewank,
    Hartmann,
    HolderTable,
    Levy,
    Michalewicz,
    Powell,
    Rastrigin,
    Rosenbrock,
    Shekel,
    SixHumpCamel,
    StyblinskiTang,
    SyntheticTestFunction,
    ThreeHumpCamel,
)

from hentropy.bench.problems.base import Best, Problem, best_labels, unknown
from hentropy.core.decisions import KGuesses, LevelSets, Maximize, Minimize, MinMax, TopK
from hentropy.core.spaces import Space
from hentropy.errors import InputError

FIXED: dict[str, Callable[[], SyntheticTestFunction]] = {
    "beale": Beale,
    "branin": Branin,
    "bukin": Bukin,
    "cosine-8": Cosine8,
    "drop-wave": DropWave,
    "egg-holder": EggHolder,
    "holder-table": HolderTable,
    "shekel": Shekel,
    "six-hump-camel": SixHumpCamel,
    "three-hump-camel": ThreeHumpCamel,
}

MANY = 1001

FAMILIES: dict[str, tuple[Callable[[int], SyntheticTestFunction], Container[int], str]] = {
    "ackley": (Ackley, range(1, MANY), "1 to 1000"),
    "dixon-price": (DixonPrice, range(1, MANY), "1 to 1000"),
    "griewank": (Griewank, range(1, MANY), "1 to 1000"),
    "hartmann": (Hartmann, (3, 4, 6), "3, 4 or 6"),
    "levy": (Levy, range(1, MANY), "1 to 1000"),
    "michalewicz": (Michalewicz, (2, 5, 10), "2, 5 or 10"),
    "powell": (Powell, range(4, MANY, 4), "a multiple of 4 up to 1000"),
    "rastrigin": (Rastrigin, range(1, MANY), "1 to 1000"),
    "rosenbrock": (Rosenbrock, range(2, MANY), "2 to 1000"),
    "styblinski-tang": (StyblinskiTang, range(1, MANY), "1 to 1000"),
}
"""Functions that exist for several dimensions: what makes them, which dimensions, and those in words."""


def standard(name: str) -> Problem:
    """The best design of a test function of BoTorch: the least value, or the greatest where BoTorch looks for that."""
    function = _function(name)
    low, high = function.bounds.tolist()
    decision = Minimize() if function.is_minimization_problem else Maximize()
    problem = Problem(name, function, Space.box(low, high), decision, credit="BoTorch")
    return replace(problem, best=_stated(problem, function))


def _function(name: str) -> SyntheticTestFunction:
    if name in FIXED:
        return FIXED[name]()
    family, _, dim = name.rpartition("-")
    if family not in FAMILIES or not dim.isdecimal():
        raise unknown(name, [*FIXED, *(f"{each}-D" for each in FAMILIES)], "standard function")
    make, dims, in_words = FAMILIES[family]
    if int(dim) not in dims:
        raise InputError(f"{family} does not exist with dimension {dim}; its dimension is {in_words}")
    return make(int(dim))


def _stated(problem: Problem, function: SyntheticTestFunction) -> Best | None:
    """What BoTorch says is best. It rounds the value, so that at the design it names is taken where it names one."""
    if function._optimal_value is None:
        return None
    if function._optimizers is not None:
        action = function.optimizers[:1].to(function.bounds)
        return Best(problem.loss(action), "at the design that BoTorch states", action)
    sign = 1.0 if function.is_minimization_problem else -1.0
    return Best(sign * function.optimal_value, "as BoTorch states it")


def levy_levels() -> Problem:
    """Where Levy-4 exceeds each of two levels, a third of the 600 points in between."""
    on = standard("levy-4")
    decision = LevelSets((25.0, 50.0), at=on.space.sample(600, 0))
    best = best_labels(on.function, on.space, decision)
    return replace(on, name="levy-4-two-levels", decision=decision, best=best)


def griewank_min_max() -> Problem:
    """A least and a greatest value of Griewank-5 near its centre, where its waves are higher than its bowl."""
    box = Space.box([-5.0] * 5, [5.0] * 5)
    on = replace(standard("griewank-5"), name="griewank-5-min-max", space=box, decision=MinMax())
    return _with_best(on, [[0.0] * 5, [0.0, 4.44733029, 0.0, 0.0, 0.0]], "searched: 400 descents")


def least_top_k(name: str, k: int, cap: float) -> Problem:
    """k designs with low values, apart from each other."""
    on = replace(standard(name), name=f"{name}-top-{k}", decision=TopK(k, weight=10.0, cap=cap, largest=False))
    return _with_best(on, *LEAST[on.name])


def branin_guesses() -> Problem:
    """Three guesses at the least value of Branin, measured with a noise of 10."""
    on = replace(standard("branin"), name="branin-3-guesses", decision=KGuesses(3, largest=False), noise=10.0)
    assert on.best is not None
    assert on.best.action is not None
    return _with_best(on, on.best.action.expand(3, -1).tolist(), on.best.how)


def _with_best(on: Problem, action: list[list[float]], how: str) -> Problem:
    best = torch.tensor(action, dtype=torch.float64)
    return replace(on, best=Best(on.loss(best), how, best))


NEAR, FAR, LOW = 0.019575430, 0.973939258, -0.003242656

LEAST = {
    "styblinski-tang-3-top-4": (
        [
            [-3.038759019281, -2.854117705396, -2.950604992970],
            [-2.746802764792, -2.950604998708, -2.746802774759],
            [-2.854117703433, -2.746802766708, -3.038759023422],
            [-2.950605002016, -3.038759021943, -2.854117723784],
        ],
        "searched: thousands of descents, polish, hops until nothing better came; two seeds agree",
    ),
    "ackley-10-top-3": (
        [[LOW] * 10, [FAR] * 5 + [NEAR] * 5, [NEAR] * 5 + [FAR] * 5],
        "searched: polished from the best of the patterns of its lattice of minima",
    ),
}
"""The best actions known, and how they were found."""
