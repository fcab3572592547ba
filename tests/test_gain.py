"""Gains against brute force, and the relations that hold between the gains of different beliefs, spaces and designs."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from hentropy import (
    BestObserved,
    Decision,
    Estimate,
    Gaussian,
    Identify,
    Improve,
    KGuesses,
    LevelSets,
    Listed,
    Maximize,
    MinMax,
    Needs,
    Points,
    Pool,
    Real,
    Sequence,
    Space,
    TopK,
    decision,
    entropy,
    fit,
    gain,
)
from hentropy.core.action_search import expected_loss
from hentropy.core.beliefs import Frame
from hentropy.core.decisions import Solved
from support.beliefs import LOW, WIDTH, dense, designs, gaussian
from support.decisions import PLACES, POOL, ROWS, SPACE
from support.tiers import nightly

pytestmark = pytest.mark.smoke

QUERIES = designs(3, seed=41)


def nested(
    decision: Decision, belief: Gaussian, x: Tensor, space: Pool, outcomes: int, seed: int
) -> tuple[float, float]:
    """H now less the mean of H after outcomes drawn from the belief and conditioned on; and its standard error."""
    generator = torch.Generator().manual_seed(seed)
    mean, cov = dense(belief, x)
    noise = belief.frame.scale**2 * belief.future_noise
    falls = []
    now = entropy(decision, belief, space)
    for _ in range(outcomes):
        h = int(torch.multinomial(belief.weights, 1, generator=generator))
        root = torch.linalg.cholesky(cov[h] + noise[h] * torch.eye(len(x), dtype=torch.float64))
        y = mean[h] + root @ torch.randn(len(x), generator=generator, dtype=torch.float64)
        after = belief.condition(x, y)
        then = entropy(decision, after, space)
        # today's loss after the outcome is today's loss on average, and varies with it: a control variate
        falls.append(loss_of(now.decision, after, now.action) - then.value)
    values = torch.tensor(falls)
    return float(values.mean()), float(values.std()) / outcomes**0.5


def loss_of(decision: Decision, belief: Gaussian, action: Tensor) -> float:
    points = decision.points(action)
    draws = torch.zeros(1, points.shape[-2], dtype=torch.float64)
    return float(expected_loss(decision, belief.moments(points, decision.needs), action, draws))


NESTED: dict[str, Decision] = {
    "maximize": Maximize(),
    "best_observed": BestObserved(),
    "k_guesses_2": KGuesses(2),
    "top_k": TopK(2, weight=2.0),
    "sequence": Sequence([2.0, 5.0], power=1),
    "min_max": MinMax(),
    "estimate": Estimate(PLACES),
    "level_sets": LevelSets([3.0, 4.5], at=PLACES),
    "level_sets_labels": LevelSets([3.0, 4.5], at=PLACES, relation="misclassification"),
    "level_sets_conservative": LevelSets([3.0, 4.5], at=PLACES, confidence=0.9, weights=[0.5, 2.0, 1.0, 0.7]),
}


@pytest.mark.covering
@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("H", [1, 3], ids=["gp", "mixture"])
@pytest.mark.parametrize("q", [1, 2])
def test_gain_is_nested_monte_carlo(name: str, H: int, q: int) -> None:
    """False alarms: 40 cases at 5 standard errors of 64 outcomes, below 1e-3 for all together."""
    belief, x = gaussian(H), POOL.points[:q]
    expected, error = nested(NESTED[name], belief, x, POOL, outcomes=64, seed=3)
    found = gain(NESTED[name], belief, x.unsqueeze(0), POOL)
    slack = 5 * error + 6 * float(found.std_error[0])
    assert float(found.value[0]) == pytest.approx(expected, abs=slack), (found, expected, error)


LINE = Space(x=Real(0.0, 1.0))
ASIDE = torch.tensor([[-0.05], [0.0], [0.05]], dtype=torch.float64)
WORST_NEARBY = decision(lambda f, a: -f.min(-1).values, Points(1), points=lambda a: a + ASIDE)
PLACES_ON_LINE = torch.linspace(0.0, 1.0, 201, dtype=torch.float64).reshape(-1, 1, 1)


def saved_nearby(belief: Gaussian, x: Tensor) -> float:
    """The gain of a design (1 x 1) for `WORST_NEARBY` under one model: every place is tried after each outcome."""
    draws = torch.quasirandom.SobolEngine(3, scramble=True, seed=0).draw(2**10).double().clamp(1e-9, 1.0 - 1e-9)
    z = torch.special.ndtri(draws)

    def losses(mean: Tensor, root: Tensor) -> Tensor:
        return -(mean.unsqueeze(-2) + z @ root.mT).min(-1).values.mean(-1)

    points, at = PLACES_ON_LINE + ASIDE, belief.moments(x, Needs.VARIANCE)
    sd = (at.variance[0, 0] + belief.noise_variance[0]).sqrt()
    now, then = (each.moments(points, Needs.JOINT) for each in (belief, belief.condition(x, at.mean[0] + sd)))
    known, left = (torch.linalg.cholesky(each.covariance[0] + 1e-9 * torch.eye(3)) for each in (now, then))
    today, outcomes = losses(now.mean[0], known).argmin(), torch.linspace(-4.0, 4.0, 33, dtype=torch.float64)
    shares, saved = torch.exp(-0.5 * outcomes.square()), []
    for outcome in outcomes:  # means are lines in the outcome, and covariances the same after all of them
        after = losses(now.mean[0] + outcome * (then.mean[0] - now.mean[0]), left)
        saved.append(after[today] - after.min())
    return float(torch.stack(saved) @ (shares / shares.sum()))


@pytest.mark.parametrize("shift", [0.0, 4.0])
def test_gain_of_a_loss_that_looks_beside_its_action(shift: float) -> None:
    """Where the best action after an outcome is not looked for anew, gains are a fifth of what they are.

    False alarms: 6 gains at 5 standard errors, below 1e-5.
    """
    X = torch.rand(4, 1, generator=torch.Generator().manual_seed(int(shift)), dtype=torch.float64)
    belief = fit(X, torch.sin(9.0 * X[:, 0] + shift), space=LINE, hyperparameters="map", noise=1e-4)
    x = torch.tensor([[0.1], [0.35], [0.85]], dtype=torch.float64)
    expected = torch.tensor([saved_nearby(belief, row.unsqueeze(0)) for row in x])
    found = gain(WORST_NEARBY, belief, x, LINE)
    slack = 5.0 * found.std_error + 0.05 * expected + 0.005 * expected.max()
    assert bool(((found.value - expected).abs() < slack).all()), (found, expected)


def test_estimate_is_the_variance_that_is_removed() -> None:
    belief = gaussian(1)
    _, cov = dense(belief, torch.cat([PLACES, QUERIES]))
    S = cov[0].diagonal()[4:] + belief.frame.scale**2 * belief.future_noise[0]
    expected = (cov[0, :4, 4:].square() / S).sum(0)
    torch.testing.assert_close(gain(Estimate(PLACES), belief, QUERIES, SPACE).value, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", ["maximize", "minimize", "k_guesses_2", "top_k", "min_max", "sequence_squares"])
def test_a_larger_action_set_never_raises_the_entropy(name: str) -> None:
    belief, made = gaussian(3), ROWS[name].make(0.0)
    values = [entropy(made, belief, Pool(POOL.points[:m])).value for m in (3, 6, 10)]
    values.append(entropy(made, belief, SPACE).value)
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(values)), values


def test_top_k_without_distance_takes_the_largest_means() -> None:
    belief = gaussian(3)
    moments = belief.moments(POOL.points, Needs.MEAN)
    best = moments.expect_vector(moments.mean).sort(descending=True)
    for k in (1, 3, 5, 10):
        found = entropy(TopK(k, weight=0.0), belief, POOL)
        assert found.value == pytest.approx(-float(best.values[:k].sum()))
        rows = {tuple(row) for row in found.action.tolist()}
        assert rows == {tuple(row) for row in POOL.points[best.indices[:k]].tolist()}
    many = Pool(designs(60, seed=5))  # too many sets to enumerate
    means = belief.moments(many.points, Needs.MEAN)
    largest = means.expect_vector(means.mean).topk(4).values.sum()
    assert entropy(TopK(4, weight=0.0), belief, many).value == pytest.approx(-float(largest))


def rescaled(belief: Gaussian, shift: Tensor, scale: Tensor) -> Gaussian:
    """The same belief about designs that are written as shift + scale x."""
    old = belief.frame
    frame = Frame(lambda x: old.transform((x - shift) / scale), old.shift, old.scale)
    return replace(belief, X=shift + scale * belief.X, frame=frame)


@pytest.mark.parametrize(
    "name",
    [
        "best_observed",
        "improve",
        "top_k_no_distance",
        "estimate",
        "identify_max",
        *map(nightly, ("maximize", "k_guesses_2")),
    ],
)
def test_units_of_designs_change_nothing(name: str) -> None:
    shift, scale = torch.tensor([7.0, -300.0]).double(), torch.tensor([40.0, 0.25]).double()
    belief = gaussian(1)
    low, high = shift + scale * LOW, shift + scale * (LOW + WIDTH)
    made, moved = ROWS[name].make(0.0), ROWS[name].make(0.0)
    if isinstance(made, Solved) and isinstance(made.at, Tensor):
        moved = Estimate(shift + scale * made.at)
    there = Space.box(low.tolist(), high.tolist())
    found = gain(moved, rescaled(belief, shift, scale), shift + scale * QUERIES, there)
    expected = gain(made, belief, QUERIES, SPACE)
    # a search for actions takes another path where numbers are rounded otherwise; a formula does not
    torch.testing.assert_close(found.value, expected.value, rtol=1e-5 if expected.exact else 3e-2, atol=1e-6)


@pytest.mark.covering
@pytest.mark.parametrize(
    "name", [name for name in ROWS if name not in ("improve", "improve_below", "own_box", "k_guesses_3")]
)
@pytest.mark.parametrize("H", [1, 3], ids=["gp", "mixture"])
def test_a_known_value_teaches_nothing(name: str, H: int) -> None:
    """Designs that were observed without noise; `Improve` counts its claim anew, the box ends near its best action."""
    belief = gaussian(H, noise=0.0, future_noise=0.0)
    space = Pool(torch.cat([belief.X, POOL.points]))
    found = gain(ROWS[name].make(0.0), belief, belief.X[:2], space)
    assert bool((found.value.abs() <= 1e-6).all()), found


@pytest.mark.parametrize(
    "name", ["estimate", "level_sets", "identify_values", "maximize", "k_guesses_2", "best_observed"]
)
def test_pending_designs_take_their_part(name: str) -> None:
    """gain(x | pending) = gain(pending and x) - gain(pending); the same design again adds less than it did alone."""
    belief, made = gaussian(1), ROWS[name].make(0.0)
    pending, x = POOL.points[:1], POOL.points[1:3]
    given = gain(made, belief, x, POOL, pending=pending)
    both = gain(made, belief, torch.stack([torch.cat([pending, row[None]]) for row in x]), POOL)
    alone = gain(made, belief, pending, POOL)
    slack = 6 * (given.std_error + both.std_error + alone.std_error) + 1e-8
    assert bool(((given.value - (both.value - alone.value)).abs() <= slack).all())
    again = gain(made, belief, pending, POOL, pending=pending)
    assert float(again.value) < float(alone.value) + float(slack.max())


def test_pending_designs_do_not_count_against_a_claim() -> None:
    belief = gaussian(1)
    found = gain(Improve(4.5), belief, QUERIES, SPACE, pending=POOL.points[:1])
    torch.testing.assert_close(found.value, gain(Improve(4.5), belief, QUERIES, SPACE).value)


@pytest.mark.parametrize("what", ["argmax", "max"])
@pytest.mark.parametrize("future_noise", [0.0, 0.3])
def test_information_from_two_designs_is_between_one_and_their_sum(what: Any, future_noise: float) -> None:
    """Under noise of its own each, two observations of one design tell more than one, and less than twice as much."""
    belief = gaussian(1, future_noise=future_noise)
    x = POOL.points[3:4]
    one, two = (gain(Identify(what), belief, x.repeat(q, 1).unsqueeze(0), POOL) for q in (1, 2))
    slack = 6 * float(one.std_error + two.std_error) + 1e-9
    assert float(one.value) - slack <= float(two.value) <= 2 * float(one.value) + slack
    if future_noise == 0.0:
        assert float(two.value) == pytest.approx(float(one.value), abs=slack)


def test_listed_sets_of_points_need_no_points_method() -> None:
    """A joint loss over listed pairs: the best pair is the one with the greatest expected maximum."""
    belief, rows = gaussian(1), designs(5, 2, seed=51)
    listed = decision(lambda f, a: -f.max(-1).values, Listed(rows))
    found = entropy(listed, belief, SPACE)
    closed = KGuesses(2).expected_loss(belief.moments(rows, Needs.JOINT), rows, torch.zeros(1, 2))[0]
    assert found.value == pytest.approx(float(closed.min()), abs=6 * found.std_error + 1e-3)
    torch.testing.assert_close(found.action, rows[closed.argmin()])


def test_an_affine_loss_needs_no_closed_form_of_its_own() -> None:
    class Sum(Decision):
        actions = TopK(2).actions
        needs = Needs.MEAN

        def loss(self, f: Tensor, a: Any) -> Tensor:
            return -f.sum(-1)

    found, expected = (gain(made, gaussian(1), QUERIES, POOL) for made in (Sum(), TopK(2, weight=0.0)))
    assert found.exact
    torch.testing.assert_close(found.value, expected.value)


def test_memory_bound_changes_nothing() -> None:
    x = designs(300, seed=61)
    for made in (LevelSets([4.0], designs(128, seed=1), relation="misclassification"), TopK(2, weight=1.0)):
        free, tight = (
            gain(made, gaussian(3 if isinstance(made, TopK) else 1), x, POOL, max_memory=m) for m in (None, 2**20)
        )
        torch.testing.assert_close(tight.value, free.value, rtol=1e-10, atol=1e-12)
