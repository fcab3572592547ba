"""More experiments at once are never expected to tell less: gains of batches do not fall as they grow."""

from functools import cache

import pytest
import torch

import hentropy as he
from hentropy.bench.problems import alpine
from hentropy.core.beliefs import Belief
from hentropy.core.gain import gain
from hentropy.core.solvers import propose

SPACE = alpine(2).space
SIZES = (1, 2, 4, 8, 30)

DECISIONS: dict[str, he.Decision] = {
    "maximize": he.Maximize(),
    "top k": he.TopK(3, weight=10.0, cap=1.25),
    "k guesses": he.KGuesses(2),
    "min max": he.MinMax(),
}


@cache
def belief(kind: str) -> Belief:
    X = SPACE.sample(15, 5)
    return he.fit(X, alpine(2)(X), space=SPACE, hyperparameters=kind, seed=5)  # type: ignore[call-overload]


def assert_rising(values: list[float], errors: list[float]) -> None:
    for before, after in zip(range(len(values)), range(1, len(values)), strict=False):
        # three standard errors, and what nobody misses beside the gain of the largest batch
        allowed = 3.0 * (errors[before] ** 2 + errors[after] ** 2) ** 0.5 + 0.005 * max(values)
        assert values[after] >= values[before] - allowed, list(zip(values, errors, strict=True))


@pytest.mark.parametrize("kind", ["map", "mixture"])
@pytest.mark.parametrize("name", DECISIONS)
def test_the_gain_of_a_set_is_at_least_that_of_its_part(name: str, kind: str) -> None:
    x = SPACE.sample(max(SIZES), 9)
    gains = [gain(DECISIONS[name], belief(kind), x[:q].unsqueeze(0), SPACE, seed=1) for q in SIZES]
    assert_rising([float(g.value) for g in gains], [float(g.std_error) for g in gains])
    assert float(gains[-1].value) > float(gains[0].value) + 3.0 * float(gains[-1].std_error)


@pytest.mark.parametrize("name", ["maximize", "top k"])
def test_a_larger_batch_is_proposed_with_a_greater_gain(name: str) -> None:
    proposals = [propose(DECISIONS[name], belief("map"), SPACE, q=q, seed=1) for q in (1, 2, 4, 8)]
    assert all(p.x.shape == (q, 2) for p, q in zip(proposals, (1, 2, 4, 8), strict=True))
    assert_rising([p.gain for p in proposals], [p.std_error for p in proposals])
    # eight experiments are worth more than one
    assert proposals[-1].gain > proposals[0].gain
    assert torch.unique(proposals[-1].x, dim=0).shape == (8, 2)
