"""Small gains of losses that are averaged over draws, against closed forms of the same losses.

Actions that are chosen on few draws are not quite the best, today or after an outcome. That hardly matters for a large
gain, and is as large as a small one.
"""

import math
from functools import cache

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.bench.problems import alpine
from hentropy.core.beliefs import Gaussian, Needs, outcome_nodes

SPACE = alpine(2).space
AT = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
LEFT, MISSING = 1.0, 3.0
ORDERS = torch.linspace(-2.0, 8.0, 10001, dtype=torch.float64).unsqueeze(-1)


def order_cost(f: Tensor, a: Tensor) -> Tensor:
    gap = f[..., 0] - a[..., 0]
    return LEFT * torch.relu(-gap) + MISSING * torch.relu(gap)


NEWSVENDOR = he.decision(order_cost, actions=he.Box([-2.0], [8.0], at=AT))
BEST_OF_TWO = he.decision(lambda f, a: -f.max(-1).values, actions=he.Points(2))


@cache
def belief(n: int, seed: int) -> Gaussian:
    X = SPACE.sample(n, seed)
    return he.fit(X, alpine(2)(X), space=SPACE, hyperparameters="families", seed=seed)


def costs(known: Gaussian) -> Tensor:
    """The expected cost of each order: the excess of normal variables over it has a closed form."""
    moments = known.moments(AT, Needs.VARIANCE)
    mean, sd = moments.mean.flatten(), moments.variance.flatten().sqrt()
    u = (ORDERS - mean) / sd
    below = 0.5 * torch.erfc(-u / math.sqrt(2.0))
    left = sd * (u * below + torch.exp(-0.5 * u.square()) / math.sqrt(2.0 * math.pi))
    return (LEFT * left + MISSING * (left - (ORDERS - mean))) @ known.weights


def exact(known: Gaussian, design: Tensor) -> float:
    """The gain of a design (1 x d), by the best order after each of many outcomes."""
    nodes = outcome_nodes(48, 1, known.components)
    fantasy = known.look_ahead(design.unsqueeze(0)).fantasy(nodes)
    today = int(costs(known).argmin())
    after = torch.stack([costs(known.condition(design, y)) for y in fantasy.values[0]])
    return float(((after[:, today] - after.min(-1).values) * fantasy.weights).sum())


def test_small_gains_of_a_newsvendor() -> None:
    """Nine errors off, and below zero, where orders are chosen on few draws. False alarms: below 1e-3 for each."""
    known, designs = belief(10, 2), SPACE.sample(6, 9)[[0, 3, 5]]
    stated = he.gain(NEWSVENDOR, known, designs, SPACE)
    truth = torch.tensor([exact(known, row.unsqueeze(0)) for row in designs])
    assert float(truth.max()) < 0.05 * he.propose(NEWSVENDOR, known, SPACE).gain
    assert bool(((stated.value - truth).abs() < 5.0 * stated.std_error).all()), (stated, truth)
    assert bool((stated.std_error < 0.5 * truth).all())
    assert float((stated.value - truth).abs().sum()) < 0.25 * float(truth.sum())


def test_small_gains_of_the_best_of_two_designs() -> None:
    """`KGuesses(2)` has a closed form: an own loss that says the same states the same."""
    known, designs = belief(30, 3), SPACE.sample(6, 9)[[1, 4]]
    own, same = (he.gain(each, known, designs, SPACE) for each in (BEST_OF_TWO, he.KGuesses(2)))
    assert own.value.tolist() == pytest.approx(same.value.tolist(), rel=0.2)
    assert bool(((own.value - same.value).abs() < 4.0 * torch.hypot(own.std_error, same.std_error)).all()), (own, same)
