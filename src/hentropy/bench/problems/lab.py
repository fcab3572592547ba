"""Two series of real experiments, as finite lists of designs with what was measured.

fullerenes    mole fraction of the wanted product, for 216 settings of a flow reactor
photo-pce10   degradation under light of 1020 blends of four polymers, which is to be small

Designs that were measured several times (30 and 20 of the measurements are repeats) have the mean of their values.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files

import torch

from hentropy.bench.problems.base import Best, Problem, UnitL1, best_labels
from hentropy.bench.problems.measurements import Measurements, measurements
from hentropy.core.decisions import LevelSets, TopK

WALKER = "Walker, Bannock, Nightingale and deMello, React. Chem. Eng. 2017, 2, 785; by way of olymp 0.0.1b0 (MIT)"
LANGNER = "Langner, Häse et al., Adv. Mater. 2020, 1907801; by way of olymp 0.0.1b0 (MIT)"


@cache
def _shipped(file: str, inputs: tuple[str, ...], output: str) -> Measurements:
    with as_file(files("hentropy.bench.problems").joinpath("data", file)) as path:
        return measurements(path, inputs, output)


def _fullerenes() -> Measurements:
    return _shipped("fullerenes.csv", ("reaction_time_min", "sultine_equiv", "temperature_C"), "mole_fraction")


def _photo_pce10() -> Measurements:
    return _shipped("photo_pce10.csv", ("pce10", "p3ht", "pcbm", "oidtbr"), "degradation")


def fullerenes_top_k(k: int = 5) -> Problem:
    """k settings with a great yield that differ.

    Each axis has 6 settings, 0.2 apart in unit coordinates: two settings count as different at two steps. With weight 1
    and k = 5, a pair that is one step too close costs 0.02, more than what separates the best setting from the tenth.
    """
    function = _fullerenes()
    decision = TopK(k, weight=1.0, cap=0.4, distance=UnitL1(function.space))
    name = f"fullerenes-top-{k}"
    return Problem(name, function, function.space, decision, BEST.get(name), WALKER)


def fullerenes_levels(thresholds: Sequence[float] = (0.7, 0.92)) -> Problem:
    """Which settings exceed each yield; the default ones are the quartiles of all settings, rounded."""
    return _levels("fullerenes-levels", _fullerenes(), thresholds, WALKER)


def photo_pce10_top_k(k: int = 5) -> Problem:
    """k stable blends that differ.

    Two blends count as different when a fifth of the one is something else in the other: a distance of about 0.4. With
    weight 1 and k = 5, a pair half as far apart costs 0.02, about what separates the best blend from the tenth.
    """
    function = _photo_pce10()
    decision = TopK(k, weight=1.0, cap=0.4, distance=UnitL1(function.space), largest=False)
    name = f"photo-pce10-top-{k}"
    return Problem(name, function, function.space, decision, BEST.get(name), LANGNER)


def photo_pce10_levels(thresholds: Sequence[float] = (0.1, 0.2)) -> Problem:
    """Which blends degrade by more than each threshold; the default ones are the quartiles of all blends, rounded."""
    return _levels("photo-pce10-levels", _photo_pce10(), thresholds, LANGNER)


def _levels(name: str, function: Measurements, thresholds: Sequence[float], credit: str) -> Problem:
    decision = LevelSets(thresholds)
    best = best_labels(function, function.space, decision)
    return Problem(name, function, function.space, decision, best, credit)


EXACT = "exact: branch and bound over the list"

BEST = {
    "fullerenes-top-5": Best(
        -5.150719,
        EXACT,
        torch.tensor(
            [[8.6, 3.3, 110.0], [8.6, 5.1, 100.0], [14.2, 4.2, 100.0], [25.4, 2.4, 110.0], [31.0, 3.3, 100.0]],
            dtype=torch.float64,
        ),
    ),
    "photo-pce10-top-5": Best(
        -0.316616343,
        EXACT,
        torch.tensor(
            [
                [0.0, 0.0, 0.1, 0.9],
                [0.0, 0.2, 0.8, 0.0],
                [0.0, 0.4, 0.6, 0.0],
                [0.0, 0.6, 0.4, 0.0],
                [0.1, 0.0, 0.9, 0.0],
            ],
            dtype=torch.float64,
        ),
    ),
}
"""Found by `experiments.problems.optima`."""
