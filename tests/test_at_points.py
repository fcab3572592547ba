"""Searches that save evaluations of moments at the points of actions."""

from typing import Any

import pytest
import torch
from torch import Tensor

from hentropy import Decision, KGuesses, TopK
from hentropy.core.action_search import ContinuousSearch, descend, prepare_search
from hentropy.core.beliefs import Fantasy, Gaussian, Moments, Needs, value_draws
from hentropy.core.clock import Clock
from support.beliefs import designs, gaussian
from support.decisions import SPACE

pytestmark = pytest.mark.numerics

H = 3
EACH_OWN, SHARED = (2, 4, 2, 3), (2, 1, 5, 3)


def draw(*shape: int, seed: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def parts(*moments: Moments) -> list[Tensor]:
    return [part for each in moments for part in (each.mean, each.var, each.cov) if part is not None]


def close(found: list[Tensor], expected: list[Tensor]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8 * float(other.abs().max()))


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("belief", [gaussian(H), gaussian(1)], ids=["mixture", "one"])
def test_the_mean_after_the_average_outcome_is_the_average_mean(q: int, belief: Gaussian) -> None:
    x, a = designs(2, q, seed=1), designs(2, 1, 3, seed=2)
    fantasy = belief.look_ahead(x).fantasy(belief.nodes(6, q))
    after = fantasy.moments(a, Needs.MEAN)
    average = (after.expect_vector(after.mean) * fantasy.weights[:, None]).sum(1)
    more = fantasy.with_average().moments(a.expand(2, 7, 3, -1), Needs.MEAN)
    torch.testing.assert_close(more.expect_vector(more.mean)[:, -1], average, rtol=1e-10, atol=1e-12)


def test_a_step_that_raises_the_loss_is_taken_back() -> None:
    """Descent whose first step is ten times the way to the minimum still comes close to it."""
    start, aim = draw(8, 4, seed=1), draw(8, 4, seed=2)
    aim = (start + 0.0015 * (aim - 0.5).sign()).clamp(0.0, 1.0)
    u, loss = descend(lambda u: (u - aim).square().sum(-1), start, 7, Clock(), back=True)
    assert (loss < 0.5 * (start - aim).square().sum(-1)).all()
    torch.testing.assert_close(loss, (u - aim).square().sum(-1))


def prepared(decision: Decision) -> tuple[ContinuousSearch, Gaussian]:
    belief = gaussian(2)
    search = prepare_search(decision.within(SPACE).informed(belief), belief, SPACE)
    assert isinstance(search, ContinuousSearch)
    return search, belief


def test_outcomes_with_draws_of_their_own_share_an_evaluation() -> None:
    search, belief = prepared(KGuesses(3))
    fantasy = belief.look_ahead(designs(2, 1, seed=1)).fantasy(belief.nodes(6, 1))
    draws = [value_draws(16, 3, seed) for seed in (1, 2, 3)]
    for actions in (designs(2, 6, 3, seed=2), search.best.expand(2, 1, *search.best.shape)):
        found, own = search.losses_on_draws(fantasy, actions, draws), actions.expand(2, 6, -1, -1)
        for part, each in zip(torch.arange(6).split(2), draws, strict=True):
            expected = search.loss_after(fantasy.some(part), own[:, part], each)
            torch.testing.assert_close(found[:, part], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("decision", [TopK(3, weight=1.0, cap=0.4, scaled=True), KGuesses(2)], ids=str)
def test_a_search_that_stops_early_finds_nearly_as_much(monkeypatch: pytest.MonkeyPatch, decision: Decision) -> None:
    """A share of 0.005 may be missed in each of two rounds; and fewer outcomes are polished."""
    search, belief = prepared(decision)
    x = designs(1, 1, seed=4)
    fantasy = belief.look_ahead(x).fantasy(belief.nodes(24, 1))
    polished: list[int] = []
    polish = ContinuousSearch.polished

    def count(self: ContinuousSearch, fantasy: Fantasy, u: Tensor, metric: Tensor | None, steps: int) -> Any:
        polished.append(u.shape[1])
        return polish(self, fantasy, u, metric, steps)

    monkeypatch.setattr(ContinuousSearch, "polished", count)
    gains, counts = [], []
    for enough in (0.0, 0.005):
        found = search.best_after(fantasy, x, steps=5, rounds=2, enough=enough)
        gains.append(float((found.saved * fantasy.weights).sum()))
        counts.append(sum(polished))
        polished.clear()
    assert gains[0] > 0
    assert gains[1] >= 0.98 * gains[0]
    assert counts[1] < counts[0]
