"""Limits on outcomes: how they are written, what a design is worth under them, and how likely it holds them."""

import math
import re
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from hentropy import (
    BestObserved,
    DecisionError,
    Improve,
    InputError,
    KGuesses,
    LevelSets,
    Maximize,
    Minimize,
    Sequence,
    Target,
    TopK,
)
from hentropy.core.beliefs import Moments, Needs, value_draws
from hentropy.core.beliefs.known import Known
from hentropy.core.decisions.limits import Limit, Limited, parse_limits, seen
from hentropy.core.decisions.normal import chance_within, truncated
from support.beliefs import designs, gaussian, truth, two_sided
from support.value_moments import average_loss, moments, values

pytestmark = pytest.mark.smoke

LIMITS = ["b <= 0.4", "-0.5 <= c"]
OWN = [*LIMITS, "-0.8 <= a <= 1.1"]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("impurity <= 3", -math.inf, 3.0),
        ("impurity < 3", -math.inf, 3.0),
        ("3 >= impurity", -math.inf, 3.0),
        ("impurity >= -2.5", -2.5, math.inf),
        ("-2.5 < impurity", -2.5, math.inf),
        ("2 <= impurity <= 4", 2.0, 4.0),
        ("4 >= impurity > 2", 2.0, 4.0),
        ("1 <= impurity >= 2", 2.0, math.inf),
    ],
)
def test_limits_are_read_from_inequalities(text: str, low: float, high: float) -> None:
    assert Limit.parse(text) == Limit("impurity", low, high)


def test_names_that_are_no_identifiers_stand_between_back_quotes() -> None:
    assert Limit.parse("`water content` <= 3") == Limit("water content", high=3.0)


def test_limits_on_one_outcome_hold_together() -> None:
    assert parse_limits(["b <= 3", "a >= 1", "b >= 2", "b <= 5"]) == (Limit("b", 2.0, 3.0), Limit("a", 1.0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("impurity", "is no inequality"),
        ("impurity == 3", "is no inequality"),
        ("impurity <= 3 and yield >= 2", "is no inequality"),
        ("impurity <= yield", "not about one outcome"),
        ("1 <= 2", "not about one outcome"),
        ("impurity <= 3 <= 4", "not about one outcome"),
        ("2 * impurity <= 3", "not about one outcome"),
        ("impurity <= 'low'", "not a number"),
        ("4 <= impurity <= 2", "no value of impurity is at least 4 and at most 2"),
        ("impurity =< 3", "write '<='"),
    ],
)
def test_what_is_no_limit_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        Limit.parse(text)


def test_options_that_contradict_each_other_are_named() -> None:
    with pytest.raises(InputError, match="say which outcome counts"):
        Maximize(subject_to=["b <= 1"])
    with pytest.raises(InputError, match="finite"):
        Maximize("a", ["b <= 1"], fallback=math.nan)
    with pytest.raises(InputError, match="a list of limits"):
        Maximize("a", "b <= 1")
    with pytest.raises(InputError, match="no value of b"):
        Maximize("a", ["b <= 1", "b >= 2"])
    with pytest.raises(DecisionError, match="no fallback yet"):
        Maximize("a", ["b <= 1"]).loss(torch.zeros(1, 2), torch.zeros(1, 1))


def test_the_parts_of_a_truncated_normal_are_integrals() -> None:
    u = torch.linspace(-12.0, 12.0, 400_001, dtype=torch.float64)
    weight = torch.exp(-0.5 * u.square()) / math.sqrt(2 * math.pi) * (u[1] - u[0])
    for mean, sd, low, high in [(0.3, 1.2, -0.5, 1.0), (2.0, 0.3, 0.0, math.inf), (-3.0, 0.5, -math.inf, -3.4)]:
        x = mean + sd * u
        inside = weight * ((x >= low) & (x <= high))
        exact = [float((inside * x**p).sum()) for p in range(3)]
        found = truncated(*(torch.tensor(v, dtype=torch.float64) for v in (mean, sd**2, low, high)))
        assert [float(v) for v in found] == pytest.approx(exact, abs=2e-4)
        at = torch.tensor([mean, sd**2], dtype=torch.float64)
        within = chance_within(at[0], at[1], low, high)
        assert float(within) == pytest.approx(exact[0], abs=2e-4)


def test_truncated_normals_keep_their_digits_far_out() -> None:
    far = truncated(*(torch.tensor(v, dtype=torch.float64) for v in (0.0, 1.0, 10.0, math.inf)))
    assert float(far[0]) == pytest.approx(7.619853024160527e-24, rel=1e-9)
    known = truncated(*(torch.tensor(v, dtype=torch.float64) for v in (2.0, 0.0, 1.0, 3.0)))
    assert [float(v) for v in known] == [1.0, 2.0, 4.0]
    zero, one = torch.zeros(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    for low, high in ((10.0, math.inf), (-math.inf, -10.0), (10.0, 40.0), (-40.0, -10.0)):
        assert float(chance_within(zero, one, low, high)) == pytest.approx(7.619853024160527e-24, rel=1e-9)
    assert [float(chance_within(x * one, zero, 1.0, 3.0)) for x in (0.0, 2.0, 4.0)] == [0.0, 1.0, 0.0]
    assert float(chance_within(zero, one, -math.inf, math.inf)) == 1.0


ROWS: dict[str, Limited] = {
    "maximize": Maximize("a", LIMITS, -1.3),
    "maximize_own": Maximize("a", OWN, -1.3),
    "maximize_own_alone": Maximize("a", ["a <= 0.7"], -1.3),
    "minimize": Minimize("a", LIMITS, 2.0),
    "minimize_own": Minimize("a", OWN, 2.0),
    "best_observed": BestObserved(True, "a", LIMITS, -1.3),
    "least_observed": BestObserved(False, "a", OWN, 1.3),
    "top_k": TopK(3, weight=0.5, cap=2.0, outcome="a", subject_to=LIMITS, fallback=-1.3),
    "top_k_least": TopK(2, largest=False, outcome="a", subject_to=OWN, fallback=1.5),
    "k_guesses_1": KGuesses(1, outcome="a", subject_to=OWN, fallback=-1.3),
    "k_guesses_2": KGuesses(2, outcome="a", subject_to=LIMITS, fallback=-1.3),
    "k_guesses_3": KGuesses(3, outcome="a", subject_to=OWN, fallback=-1.3),
    "k_guesses_3_least": KGuesses(3, largest=False, outcome="a", subject_to=LIMITS, fallback=1.3),
    "sequence": Sequence([0.2, -0.4], outcome="a", subject_to=LIMITS, fallback=-1.3),
    "sequence_own": Sequence([0.2, -0.9, 1.5], outcome="a", subject_to=OWN, fallback=-1.3),
    "sequence_absolute": Sequence([0.2, -0.4], power=1, link=0.3, outcome="a", subject_to=LIMITS, fallback=-1.3),
    "sequence_absolute_own": Sequence([0.2, -0.9, 1.5], power=1, outcome="a", subject_to=OWN, fallback=-1.3),
}


def action(decision: Limited) -> Tensor:
    k = decision.k if isinstance(decision, TopK | KGuesses) else len(getattr(decision, "targets", [0]))
    return designs(k, seed=k)


def at(decision: Limited, components: int) -> Moments:
    return moments(len(action(decision)), len(decision.outcomes), components, seed=4)


@pytest.mark.parametrize("components", [1, 3])
@pytest.mark.parametrize("name", ROWS)
def test_expected_losses_are_averages_of_losses(name: str, components: int) -> None:
    decision = ROWS[name]
    a, there = action(decision), at(decision, components)
    average, error = average_loss(decision, there, a)
    draws = value_draws(4096 * components, there.mean.shape[-1], seed=1)
    found = decision.expected_loss(there, a, draws)
    # 17 rows of at most 3 components, twice; draws of the values have an error of their own
    slack = two_sided(1e-6, 102) * error + (3e-2 if decision.needs is Needs.JOINT else 1e-9)
    assert bool(((found - average).abs() <= slack).all()), (found, average, error)


@pytest.mark.parametrize("name", ROWS)
def test_expected_losses_have_gradients(name: str) -> None:
    decision = ROWS[name]
    a, there = action(decision), at(decision, 2)
    mean, cov = there.mean.clone().requires_grad_(), there.covariance.clone().requires_grad_()
    with_gradient = Moments(there.weights, mean, cov.diagonal(dim1=-2, dim2=-1), cov, outcomes=there.outcomes)
    draws = value_draws(64, there.mean.shape[-1], seed=1)
    gradients = torch.autograd.grad(decision.expected_loss(with_gradient, a, draws).sum(), [mean, cov])
    assert all(bool(torch.isfinite(gradient).all()) for gradient in gradients)
    assert bool((gradients[0] != 0).any())


@pytest.mark.parametrize("name", ["maximize_own", "sequence_own", "sequence_absolute_own", "top_k"])
def test_gradients_are_those_of_differences(name: str) -> None:
    decision = ROWS[name]
    a, there = action(decision), at(decision, 1)
    draws = value_draws(2, there.mean.shape[-1], seed=1)

    def loss(mean: Tensor, var: Tensor) -> Tensor:
        return decision.expected_loss(Moments(there.weights, mean, var, outcomes=there.outcomes), a, draws)

    assert torch.autograd.gradcheck(
        loss, (there.mean.clone().requires_grad_(), there.variance.clone().requires_grad_())
    )


@pytest.mark.parametrize("name", ["k_guesses_2", "k_guesses_3"])
def test_guesses_feel_the_limits_in_their_gradients(name: str) -> None:
    decision = ROWS[name]
    a, there = action(decision), at(decision, 1)
    mean = there.mean.clone().requires_grad_()
    draws = value_draws(2**15, there.mean.shape[-1], seed=1)

    def loss(mean: Tensor) -> Tensor:
        moved = Moments(there.weights, mean, there.var, there.cov, outcomes=there.outcomes)
        return decision.expected_loss(moved, a, draws).sum()

    found = torch.autograd.grad(loss(mean), mean)[0].reshape(len(a), -1)
    step = 0.1 * torch.eye(mean.numel(), dtype=torch.float64)
    slopes = torch.stack([(loss(mean + h) - loss(mean - h)) / 0.2 for h in step]).detach().reshape(len(a), -1)
    # a kernel estimate of a density
    assert bool(((found - slopes).abs() <= 0.05 + 0.15 * slopes.abs().max()).all()), (found, slopes)


@pytest.mark.parametrize("name", ROWS)
def test_the_chance_to_hold_the_limits_is_a_share_of_draws(name: str) -> None:
    decision = ROWS[name]
    there = at(decision, 3)
    share = decision.holds(values(there, 100_000)).to(there.mean).mean(0)  # H x K
    found = decision.limits_hold(there)
    assert found is not None
    assert bool(((found - there.weights @ share).abs() <= 0.5 * two_sided(1e-6, 51) / 100_000**0.5).all())


def test_a_known_outcome_holds_or_not() -> None:
    mean = torch.tensor([[1.0, 0.4, 1.0, 0.5]], dtype=torch.float64)
    sure = Moments(torch.ones(1).double(), mean, torch.tensor([[0.2, 0.0, 0.2, 0.0]]).double(), outcomes=2)
    decision = TopK(2, weight=0.0, outcome="a", subject_to=["b <= 0.4"], fallback=-2.0)
    assert decision.limits_hold(sure).tolist() == [1.0, 0.0]  # type: ignore[union-attr]
    assert decision.expected_loss(sure, torch.zeros(2, 1), torch.zeros(1, 4)).tolist() == [1.0]
    assert Maximize().limits_hold(sure) is None


def test_members_and_limits_may_stand_in_any_order() -> None:
    there = moments(3, 3, seed=2)
    order = torch.tensor([2, 0, 1])
    index = (order.unsqueeze(-1) * 3 + torch.arange(3)).flatten()
    swapped = (order.unsqueeze(-1) * 3 + torch.tensor([0, 2, 1])).flatten()
    a, draws = designs(3, seed=1), torch.zeros(1, 9, dtype=torch.float64)

    def picked(at: Tensor) -> Moments:
        return Moments(there.weights, there.mean[:, at], there.variance[:, at], outcomes=3)

    first = TopK(3, outcome="a", subject_to=OWN, fallback=-1.3)
    second = TopK(3, outcome="a", subject_to=[OWN[2], OWN[1], OWN[0]], fallback=-1.3)
    expected = first.expected_loss(there, a, draws)
    assert torch.allclose(first.expected_loss(picked(index), a[order], draws), expected)
    assert second.outcomes == ("a", "c", "b")
    assert torch.allclose(second.expected_loss(picked(swapped), a[order], draws), expected)


def test_guesses_count_the_best_that_holds() -> None:
    decision = KGuesses(3, outcome="a", subject_to=["b <= 0"], fallback=-5.0)
    f = torch.tensor([[9.0, 1.0], [2.0, -1.0], [3.0, -1.0]], dtype=torch.float64)
    a = torch.zeros(3, 1)
    assert float(decision.loss(f, a)) == -3.0
    assert float(decision.loss(f + torch.tensor([0.0, 5.0]), a)) == 5.0
    least = KGuesses(3, largest=False, outcome="a", subject_to=["b <= 0"], fallback=50.0)
    assert float(least.loss(f, a)) == 2.0
    assert float(least.loss(f + torch.tensor([0.0, 5.0]), a)) == 50.0


def test_the_fallback_is_the_worst_value_seen() -> None:
    belief = gaussian()
    data = truth(belief.X)
    assert torch.allclose(seen(belief, "value", "the fallback"), data)
    limits = ["value <= 4"]
    for decision, worst in [
        (Maximize("value", limits), data.min()),
        (Minimize("value", limits), data.max()),
        (TopK(2, largest=False, outcome="value", subject_to=limits), data.max()),
        (KGuesses(2, outcome="value", subject_to=limits), data.min()),
        (BestObserved(largest=False, outcome="value", subject_to=limits), data.max()),
    ]:
        settled = decision.informed(belief)
        assert isinstance(settled, Limited)
        assert torch.allclose(settled.instead, worst)
        assert decision.informed(belief) is settled
        assert settled.informed(belief) is settled
    sequence = Sequence([-100.0, 100.0], outcome="value", subject_to=limits).informed(belief)
    assert isinstance(sequence, Sequence)
    assert torch.allclose(sequence.instead, torch.stack([data.max(), data.min()]))
    given = Maximize("value", limits, fallback=1.0)
    assert given.informed(belief) is given


def test_limits_on_logarithms_are_those_of_the_outcome() -> None:
    belief = replace(gaussian(), logs=frozenset({"value"}))
    decision = Maximize("value", ["2 <= value <= 50"], fallback=1.0)
    settled = decision.informed(belief)
    assert isinstance(settled, Limited)
    assert settled.informed(belief) is settled
    assert float(settled.instead) == 0.0
    f = torch.tensor([[0.5], [1.0], [3.9], [4.0]], dtype=torch.float64)
    assert settled.holds(f).flatten().tolist() == [False, True, True, False]
    below = Maximize("value", ["-1 <= value"], fallback=1.0).informed(belief)
    assert isinstance(below, Limited)
    assert bool(below.holds(f).all())
    for wrong, said in [
        (Maximize("value", ["value <= 0"], 1.0), "cannot be"),
        (Maximize("value", ["value <= 1"], 0), "has none"),
    ]:
        with pytest.raises(InputError, match=said):
            wrong.informed(belief)
    target = Target({"value": (2.0, 8.0)}).informed(belief)
    losses = target.loss(torch.tensor([[math.log(2.0)], [math.log(16.0)]], dtype=torch.float64), torch.zeros(2, 1, 1))
    assert losses.tolist() == pytest.approx([0.0, math.log(2.0)])


def test_without_data_the_fallback_has_to_be_given() -> None:
    computed = Known(designs(0, seed=1), lambda x: x[..., 0], ("price",))
    with pytest.raises(DecisionError, match="nothing has been observed yet"):
        Minimize("price", ["price <= 4"]).informed(computed)


def test_numbers_about_logarithms_are_those_of_the_outcome() -> None:
    belief = replace(gaussian(), logs=frozenset({"value"}))
    f, a = torch.tensor([math.log(8.0)], dtype=torch.float64), torch.zeros(1, 1)
    above = Improve(7.0).informed(belief)
    assert (float(above.loss(f, a)), float(above.loss(f - 0.2, a))) == (-1.0, 0.0)
    assert above.informed(belief) is above
    levels = LevelSets([2.0, 16.0], at=designs(1, seed=1)).informed(belief)
    assert float(levels.loss(f, torch.ones(2, 1, dtype=torch.float64))) == pytest.approx(-math.log(4.0) + math.log(2.0))
    sequence = Sequence([2.0], power=1, outcome="value", subject_to=["value <= 4"]).informed(belief)
    assert isinstance(sequence, Sequence)
    assert float(sequence.loss(f - math.log(4.0), a)) == pytest.approx(0.0)
    furthest = (truth(belief.X) - math.log(2.0)).abs().max()
    assert float(sequence.loss(f, a)) == pytest.approx(float(furthest))
    assert sequence.informed(belief) is sequence
