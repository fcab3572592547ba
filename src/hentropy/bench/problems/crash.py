"""A simulator with twelve settings that crashes in a corner, and whose values rise towards that corner.

    f(x) = 10 - sum_i w_i (x_i - c_i)^2 - 4 (x_4 - c_4) (x_5 - c_5) - 0.4 sum over i > 3 of (1 - cos(9 (x_i - c_i)))

on the unit cube; it crashes where x_1 + x_2 + x_3 > t, which is 8 % of the cube, since of three uniform numbers the sum
is above t with probability (3 - t)^3 / 6. The peak c of f lies in there, so that the best design which runs lies on the
edge of the crash region. Among the first three settings f is a parabola: the best on the edge is c_i - l / w_i with the
l that meets it; the others are at c_i.

A run that crashes gives no value. To decide for one costs about what the least value of f on the cube costs.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.bench.problems.base import Best, Problem
from hentropy.core.decisions import Maximize
from hentropy.core.spaces import Space

SHARE = 0.08
EDGE = 3.0 - (6.0 * SHARE) ** (1.0 / 3.0)
"""t, about 2.217."""

PEAK = (0.85, 0.9, 0.75, 0.3, 0.6, 0.45, 0.2, 0.7, 0.55, 0.35, 0.8, 0.5)
WEIGHTS = (8.0, 6.0, 4.0, 6.0, 5.0, 3.0, 3.0, 2.0, 2.0, 1.0, 1.0, 0.5)
RIPPLED = 3
"""All settings but so many have ripples on the parabola: 300 runs do not tell where the peak lies."""


@dataclass(frozen=True)
class Simulator:
    """f at designs ... x 12, `worst` where it crashes: ... ."""

    worst: float

    def __call__(self, x: Tensor) -> Tensor:
        """What a decision for the designs is worth."""
        return torch.where(crashes(x), self.worst, value(x))


def crashes(x: Tensor) -> Tensor:
    """Which runs give no value: ... x 12 to ... ."""
    return x[..., :3].sum(-1) > EDGE


def value(x: Tensor) -> Tensor:
    """f at designs ... x 12, as if nothing crashed: ... ."""
    away = x - torch.tensor(PEAK).to(x)
    ripples = (1.0 - torch.cos(9.0 * away[..., RIPPLED:])).sum(-1)
    weights = torch.tensor(WEIGHTS).to(x)
    return 10.0 - (weights * away.square()).sum(-1) - 4.0 * away[..., 3] * away[..., 4] - 0.4 * ripples


def crash_region() -> Problem:
    """The best design of the simulator."""
    peak, weights = torch.tensor(PEAK, dtype=torch.float64), torch.tensor(WEIGHTS, dtype=torch.float64)
    best = peak.clone()
    step = (peak[:3].sum() - EDGE) / (1.0 / weights[:3]).sum()
    best[:3] -= (1.0 + 1e-9) * step / weights[:3]  # by rounding it must not crash
    corner = torch.where(peak < 0.5, 1.0, 0.0).double()
    corner[4] = 1.0  # by its product with x_4
    simulator = Simulator(float(value(corner)))
    space = Space.box([0.0] * len(PEAK), [1.0] * len(PEAK))
    action = best.unsqueeze(0)
    stated = Best(
        -float(simulator(action)), "by hand: the point of the edge of the crash region with the greatest f", action
    )
    return Problem("crash-12", simulator, space, Maximize(), stated, fails=crashes)
