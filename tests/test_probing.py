"""Probing goes on where descent stops: at kinks, on ridges, between whole numbers."""

import torch

import hentropy as he
from hentropy.core.action_search.base import loss_now
from hentropy.core.action_search.descent import descend, polish
from hentropy.core.action_search.incumbent import probe
from hentropy.core.clock import Clock
from hentropy.core.decisions.actions import PointsDomain
from hentropy.core.entropy import entropy

BREAD = he.Space(temperature=he.Real(20, 90), minutes=he.Integer(5, 60))
APART = he.TopK(k=3, weight=2.0, cap=15.0)


def bread(temperature: float, minutes: float) -> float:
    return 10 - ((temperature - 62) / 20) ** 2 - ((minutes - 33) / 15) ** 2


def belief(seed: int) -> he.Belief:
    X = BREAD.sample(11, seed)
    return he.fit(X, [bread(*row) for row in X.tolist()], space=BREAD, hyperparameters="map")


def ridge(f: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
    """Least, 0, at (0.3, 0.7) alone; along the ridge where both add up to 1 its gradient points across."""
    first, second = a[..., 0, 0], a[..., 1, 0]
    return 5 * (first + second - 1).abs() + (first - 0.3).abs() + 0.0 * f.sum(-1)


def half_smooth(u: torch.Tensor) -> torch.Tensor:
    """Least at 0.5; where the first coordinate is above 0.8 its slope is no number, and below 0.1 neither is it."""
    assert bool(u.isfinite().all())
    spoilt = (0.0 * (u[..., 0] - 0.8).clamp_min(0.0)).sqrt()
    return (u - 0.5).square().sum(-1) + torch.where(u[..., 0] > 0.8, spoilt, 0.0 * (u[..., 0] - 0.1).sqrt())


def test_what_is_no_number_stops_one_descent_and_no_other() -> None:
    start = torch.tensor([[0.9, 0.9], [0.3, 0.2], [0.05, 0.3]], dtype=torch.float64)
    found, losses, _ = polish(half_smooth, start, 12, Clock())
    assert bool(found.isfinite().all())
    assert float(losses[1]) < 1e-6
    assert torch.equal(found[0], start[0])
    assert bool(descend(half_smooth, start, 12, Clock())[0].isfinite().all())


def test_it_walks_along_a_ridge_to_the_best_action() -> None:
    space = he.Space(x=he.Real(0, 1))
    known = he.fit([[0.1], [0.5], [0.9]], [0.0, 1.0, 0.0], space=space, hyperparameters="map")
    decision = he.decision(ridge, actions=he.Points(2))
    start = torch.tensor([[[0.9], [0.1]], [[0.0], [1.0]]], dtype=torch.float64)
    domain, draws = PointsDomain(space, 2), torch.zeros(1, 2, dtype=torch.float64)
    found, losses = probe(decision, known, domain, draws, start, 150, 0, Clock())
    assert losses[0] < 0.02
    torch.testing.assert_close(found[0, :, 0], torch.tensor([0.3, 0.7], dtype=torch.float64), atol=0.02, rtol=0)
    assert bool((losses <= loss_now(decision, known, start, draws).sort().values).all())


def test_no_action_gets_worse_and_whole_numbers_stay_whole() -> None:
    known, draws = belief(0), torch.zeros(1, 3, dtype=torch.float64)
    start = BREAD.sample(12, 5).reshape(4, 3, 2)
    before = loss_now(APART, known, start, draws)
    found, losses = probe(APART, known, PointsDomain(BREAD, 3), draws, start, 10, 0, Clock())
    assert bool((losses <= before.sort().values + 1e-12).all())
    torch.testing.assert_close(losses, loss_now(APART, known, found, draws))
    assert torch.equal(found[..., 1], found[..., 1].round())


def test_time_that_is_up_ends_it() -> None:
    known, draws = belief(0), torch.zeros(1, 3, dtype=torch.float64)
    start = BREAD.sample(3, 5).unsqueeze(0)
    found, _ = probe(APART, known, PointsDomain(BREAD, 3), draws, start, 10, 0, Clock(seconds=-1.0))
    assert torch.equal(found, start)


def test_todays_best_action_is_as_good_as_that_of_many_random_searches() -> None:
    for data in (0, 1):
        known, draws = belief(data), torch.zeros(1, 3, dtype=torch.float64)
        found = entropy(APART, known, BREAD).value
        tuples = BREAD.sample(3 * 512, 7).reshape(512, 3, 2)
        domain = PointsDomain(BREAD, 3)
        many = tuples[loss_now(APART, known, tuples, draws).argsort()[:16]]
        _, losses = probe(APART, known, domain, draws, many, 200, 1, Clock())
        assert found <= float(losses[0]) + 0.03
