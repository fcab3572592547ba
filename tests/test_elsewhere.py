"""Losses that look elsewhere than at their action, such as robust designs: gains against nested Monte Carlo."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.action_search.base import loss_now
from hentropy.core.beliefs import value_draws
from hentropy.core.gain import gain
from support.tiers import nightly

SPACE = he.Space(x=he.Real(0, 1))
DRIFT = torch.tensor([[-0.05], [0.0], [0.05]], dtype=torch.float64)
OUTCOMES, DRAWS, PLACES = 47, 192, 601
WITHIN = 0.03
"""Gains differ by no more than this share of the largest one, and three standard errors: the oracle's grid of actions,
its draws and its outcomes are worth about 0.01 of it."""


def worst(f: Tensor, a: Any) -> Tensor:
    return -f.min(-1).values


def lower_half(f: Tensor, a: Any) -> Tensor:
    return -f.sort(-1).values[..., :2].mean(-1)


def penalised(f: Tensor, a: Tensor) -> Tensor:
    """A setting that costs: what is lost by drift counts twice."""
    return -f[..., 1] + 2.0 * (f[..., 1] - f.min(-1).values) + 0.2 * a[..., 0]


DECISIONS: dict[str, Callable[[], he.Decision]] = {
    "worst": lambda: he.decision(worst, he.Points(1), points=lambda a: a + DRIFT.to(a)),
    "cvar": lambda: he.decision(lower_half, he.Points(1), points=lambda a: a + DRIFT.to(a)),
    "box": lambda: he.decision(penalised, he.Box([0.05], [0.95]), points=lambda a: a.unsqueeze(-1) + DRIFT.to(a)),
}


def known(seed: int) -> he.Gaussian:
    """Four observations of a random wave."""
    generator = torch.Generator().manual_seed(seed)
    X = torch.rand(4, 1, generator=generator, dtype=torch.float64)
    fast, phase, slow = torch.rand(3, generator=generator, dtype=torch.float64)
    Y = torch.sin((4.0 + 6.0 * fast) * X + 6.0 * phase) + 0.5 * torch.cos(9.0 * slow * X)
    return he.fit(X, Y[:, 0], space=SPACE, hyperparameters="map", seed=0)


def nested(decision: he.Decision, belief: he.Gaussian, x: Tensor) -> Tensor:
    """EHIG of designs b x 1: beliefs conditioned on outcomes, and every action of a grid tried after each of them."""
    box = isinstance(decision.actions, he.Box)
    low, high = (0.05, 0.95) if box else (0.0, 1.0)
    grid = torch.linspace(low, high, PLACES, dtype=torch.float64)
    actions = grid[:, None] if box else grid[:, None, None]
    draws = value_draws(DRAWS, len(DRIFT), seed=5)
    fantasy = belief.look_ahead(x.unsqueeze(1)).fantasy(belief.nodes(OUTCOMES, 1))
    today = loss_now(decision, belief, actions, draws).argmin()
    gains = []
    for design, outcomes in zip(x, fantasy.values, strict=True):
        after = [loss_now(decision, belief.condition(design[None], y), actions, draws) for y in outcomes]
        gains.append(torch.stack([losses[today] - losses.min() for losses in after]) @ fantasy.weights)
    return torch.stack(gains)


@pytest.mark.parametrize(
    ("name", "seed"),
    [("worst", 0), ("cvar", 7), ("box", 1)]
    + [nightly(*case) for case in (*(("worst", seed) for seed in range(1, 8)), ("cvar", 1), ("box", 5))],
)
def test_gains_are_those_of_nested_monte_carlo(name: str, seed: int) -> None:
    decision, belief = DECISIONS[name](), known(seed)
    x = torch.linspace(0.06, 0.94, 4, dtype=torch.float64)[:, None]
    expected, found = nested(decision, belief, x), gain(decision, belief, x, SPACE)
    off = (found.value - expected).abs() - 3.0 * found.std_error
    assert float(off.max()) < WITHIN * float(expected.max()), f"{found.value.tolist()}, expected {expected.tolist()}"
