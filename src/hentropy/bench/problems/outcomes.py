"""Problems with several outcomes: the best design that holds limits, and fronts.

gardner       sin(x1) + x2, to be small, where sin(x1) sin(x2) <= -0.95: 2 % of the space, in two places
gramacy       x1 + x2, to be small, above a wave and within a circle
welded-beam   the price of a welded beam, with limits on stress, deflection, buckling and sizes
branin-currin, dtlz2-4   fronts of BoTorch's test functions
reizman-front-1          yield and turnover number of a Suzuki coupling, the yield fitted as in `reactions`

A decision that violates a limit is worth the fallback, which is stated: the worst value that holds the limits. So the
loss of a problem is what a decision costs, feasible or not.
"""

import math
from dataclasses import dataclass

import torch
from botorch.test_functions.multi_objective import DTLZ2, BraninCurrin, MultiObjectiveTestProblem
from botorch.test_functions.synthetic import WeldedBeamSO
from torch import Tensor

from hentropy.bench.problems.base import Best, Function, Problem
from hentropy.bench.problems.reactions import REACTIONS, REIZMAN, Emulator, emulated
from hentropy.core.decisions import Minimize, Pareto
from hentropy.core.spaces import Space

GARDNER = "Gardner, Kusner, Xu, Weinberger and Cunningham, ICML 2014, second simulation"
GRAMACY = "Gramacy, Gray, Le Digabel, Lee, Ranjan, Wells and Wild, Technometrics 2016, 58, 1"
COELLO = "Coello Coello and Montes, Adv. Eng. Inform. 2002, 16, 193; by way of BoTorch"
FRONT = 5
"""Designs of a front."""


def _gardner(x: Tensor) -> Tensor:
    first, second = x.unbind(-1)
    return torch.stack([first.sin() + second, first.sin() * second.sin()], -1)


def gardner() -> Problem:
    """The least value in two small discs; by symmetry x1 is 3 pi / 2, and sin(x2) = 0.95."""
    action = torch.tensor([[1.5 * math.pi, math.asin(0.95) + 1e-12]], dtype=torch.float64)
    worst = 1.0 + 1.5 * math.pi + math.acos(0.95)
    decision = Minimize("value", ["limited <= -0.95"], fallback=worst)
    return _limited("gardner", _gardner, Space.box([0.0] * 2, [6.0] * 2), decision, action, "by hand", GARDNER)


def _gramacy(x: Tensor) -> Tensor:
    first, second = x.unbind(-1)
    wave = 1.5 - first - 2.0 * second - 0.5 * torch.sin(2.0 * math.pi * (first.square() - 2.0 * second))
    return torch.stack([first + second, wave, first.square() + second.square() - 1.5], -1)


def gramacy() -> Problem:
    """The least sum above a wave, at one of the places where the sum touches it."""
    action = torch.tensor([[0.19512269, 0.40466538]], dtype=torch.float64)
    decision = Minimize("value", ["wave <= 0", "circle <= 0"], fallback=math.sqrt(3.0))
    how = "searched: sequential quadratic programming from 200 starts"
    return _limited("gramacy", _gramacy, Space.box([0.0] * 2, [1.0] * 2), decision, action, how, GRAMACY)


_BEAM = WeldedBeamSO()
LOAD, LENGTH, ELASTICITY = 6000.0, 14.0, 30e6
SHEAR, BENDING, DEFLECTION = 13600.0, 30000.0, 0.25


def _welded_beam(x: Tensor) -> Tensor:
    """The price, and by how much limits are missed: stresses, deflection and load in logarithms of their ratios.

    In these the limits stay what they are, and the outcomes vary by a few units instead of eight powers of ten.
    """
    shear, bending, sizes, parts, deflection, buckling = (-_BEAM.evaluate_slack_true(x)).unbind(-1)
    ratios = [
        (1.0 + shear / SHEAR).log(),
        (1.0 + bending / BENDING).log(),
        (1.0 + deflection / DEFLECTION).log(),
        -(1.0 - buckling / LOAD).log(),
    ]
    return torch.stack([_BEAM.evaluate_true(x), *ratios, sizes, parts], -1)


def welded_beam() -> Problem:
    """The cheapest beam that carries the load."""
    low, high = _BEAM.bounds.tolist()
    limits = [f"{name} <= 0" for name in ("shear", "bending", "deflection", "buckling", "sizes", "parts")]
    decision = Minimize("price", limits, fallback=_BEAM._worst_feasible_value)
    # a stress that is met to the last digit is violated by rounding
    action = torch.tensor([[0.168000002, 4.067084772, 10.0, 0.168000003]], dtype=torch.float64)
    how = "searched: sequential quadratic programming from 60 starts; BoTorch states 1.728226"
    return _limited("welded-beam", _welded_beam, Space.box(low, high), decision, action, how, COELLO)


def _limited(
    name: str, function: Function, space: Space, decision: Minimize, action: Tensor, how: str,
    credit: str,
) -> Problem:  # fmt: skip
    problem = Problem(name, function, space, decision, credit=credit)
    return Problem(name, function, space, decision, Best(problem.loss(action), how, action), credit)


def botorch_front(name: str) -> Problem:
    """A front of one of BoTorch's test functions, whose values are made small."""
    function: MultiObjectiveTestProblem = BraninCurrin() if name == "branin-currin" else DTLZ2(4, 2)
    low, high = function.bounds.tolist()
    origin = {"first": float(function.ref_point[0]), "second": float(function.ref_point[1])}
    decision = Pareto(FRONT, {"first": "min", "second": "min"}, origin)
    return _front(name, function.evaluate_true, Space.box(low, high), decision, "BoTorch")


def reizman_front(number: int) -> Problem:
    """Yield in per cent against the turnover number, which is the yield per loading: both are to be great."""
    name = f"reizman-suzuki-{number}"
    decision = Pareto(FRONT, {"yield": "max", "turnover": "max"}, {"yield": 0.0, "turnover": 0.0})
    function = YieldAndTurnover(emulated(name).emulator)
    return _front(f"reizman-front-{number}", function, REACTIONS[name].space, decision, REIZMAN)


@dataclass(frozen=True)
class YieldAndTurnover:
    """The yield in per cent, and the yield per mol% of catalyst: designs ... x d to ... x 2."""

    emulator: Emulator

    def __call__(self, x: Tensor) -> Tensor:
        """Both outcomes."""
        per_cent = self.emulator(x)
        return torch.stack(
            [per_cent, per_cent / x[..., self.emulator.space.places["catalyst_loading"]].squeeze(-1)], -1
        )


def _front(name: str, function: Function, space: Space, decision: Pareto, credit: str) -> Problem:
    return Problem(name, function, space, decision, BEST.get(name), credit)


SEARCHED = "searched: exchange among candidates and descent, in turn"
_L4 = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]  # the catalyst P1-L4
BEST = {
    name: Best(loss, SEARCHED, torch.tensor(action, dtype=torch.float64))
    for name, loss, action in (
        (
            "branin-currin",
            -52.503574103547,
            [
                [0.068861606406, 0.975042161019],
                [0.012498955020, 1.0],
                [0.095497629602, 0.903810336641],
                [0.028016944711, 1.0],
                [0.046326912224, 1.0],
            ],
        ),
        (
            "dtlz2-4",
            -0.351535835597,
            [[x, 0.5, 0.5, 0.5] for x in (0.0, 0.320185737, 0.5, 0.679814263, 1.0)],
        ),
        (
            "reizman-front-1",
            -7140.437519798683,
            [
                [*_L4, 600.0, 110.0, 0.709427947406],
                [*_L4, 600.0, 110.0, 0.881526185600],
                [*_L4, 600.0, 110.0, 1.082905999778],
                [*_L4, 600.0, 110.0, 1.392909284115],
                [*_L4, 341.381637788954, 110.0, 2.157298343635],
            ],
        ),
    )
}
"""Found by `experiments.problems.optima`."""
