"""Targets: distances and their expectations, scales and weights."""

import math
import re

import pytest
import torch

from hentropy import DecisionError, InputError, Target
from hentropy.core.beliefs import Moments
from hentropy.core.decisions.limits import Limit
from hentropy.core.decisions.target import Aim
from support.beliefs import designs, gaussian, truth
from support.value_moments import moments

pytestmark = pytest.mark.smoke

AIMS: dict[str, Aim] = {"a": 0.3, "b": (-0.5, 0.2), "c": "<= 0.1", "d": ">= 0.4"}
SCALE = {"a": 2.0, "b": 0.5, "c": 1.0, "d": 4.0}


def test_the_loss_is_the_sum_of_distances() -> None:
    decision = Target(AIMS, weights={"c": 3.0}, scale=SCALE)
    f = torch.tensor([[[1.3, 0.0, -5.0, 9.0]], [[-0.7, 1.2, 0.6, 0.0]]], dtype=torch.float64)
    by_hand = [1.0 / 2.0, 1.0 / 2.0 + 1.0 / 0.5 + 3.0 * 0.5 + 0.4 / 4.0]
    assert decision.loss(f, torch.zeros(2, 1, 1)).tolist() == pytest.approx(by_hand)


@pytest.mark.parametrize("limit", [Limit("a", 0.3, 0.3), Limit("a", -0.5, 0.2), Limit("a", high=0.1), Limit("a", 0.4)])
def test_expected_distances_are_integrals(limit: Limit) -> None:
    u = torch.linspace(-10.0, 10.0, 200_001, dtype=torch.float64)
    weight = torch.exp(-0.5 * u.square()) / math.sqrt(2 * math.pi) * (u[1] - u[0])
    for mean, sd in [(0.0, 1.0), (2.0, 0.1), (-1.5, 0.7), (0.3, 1e-3)]:
        exact = float((weight * limit.distance(mean + sd * u)).sum())
        m, v = torch.tensor(mean, dtype=torch.float64), torch.tensor(sd**2, dtype=torch.float64)
        assert float(limit.expected_distance(m, v)) == pytest.approx(exact, abs=1e-8)
        assert float(limit.expected_distance(m, 0 * v)) == pytest.approx(float(limit.distance(m)))


def test_the_expected_loss_is_the_average_of_the_loss() -> None:
    decision, there, a = Target(AIMS, {"b": 2.0}, SCALE), moments(1, 4, 3, seed=2), designs(1, seed=1)
    u = torch.linspace(-10.0, 10.0, 20_001, dtype=torch.float64)
    weight = torch.exp(-0.5 * u.square()) / math.sqrt(2 * math.pi) * (u[1] - u[0])
    # a sum over outcomes: one integral moves them all
    f = (there.mean + u[:, None, None] * there.variance.sqrt()).unsqueeze(-2)  # U x H x 1 x 4
    exact = (weight.unsqueeze(-1) * decision.loss(f, a)).sum(0)
    assert torch.allclose(decision.expected_loss(there, a, torch.zeros(1, 4)), exact, atol=1e-6)


def test_the_expected_loss_has_its_gradient() -> None:
    decision, there, a = Target(AIMS, {"b": 2.0}, SCALE), moments(1, 4, seed=2), designs(1, seed=1)

    def loss(mean: torch.Tensor, var: torch.Tensor) -> torch.Tensor:
        return decision.expected_loss(Moments(there.weights, mean, var, outcomes=4), a, torch.zeros(1, 4))

    assert torch.autograd.gradcheck(
        loss, (there.mean.clone().requires_grad_(), there.variance.clone().requires_grad_())
    )


def test_the_order_of_outcomes_does_not_matter() -> None:
    f = torch.randn(20, 1, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    turned = Target({name: AIMS[name] for name in "cadb"}, scale=SCALE)
    assert turned.outcomes == ("c", "a", "d", "b")
    loss = Target(AIMS, scale=SCALE).loss(f, torch.zeros(20, 1, 1))
    assert torch.allclose(turned.loss(f[..., [2, 0, 3, 1]], torch.zeros(20, 1, 1)), loss)


def test_one_outcome_is_counted_in_its_own_units() -> None:
    decision = Target({"value": 2.0})
    assert decision.informed(gaussian()) is decision
    assert decision.loss(torch.tensor([5.0]), torch.zeros(1, 1)).item() == 3.0


def test_scales_are_the_spread_of_the_values_seen() -> None:
    belief = gaussian()
    decision = Target({"value": 2.0, "other": 1.0}, scale={"other": 3.0})
    with pytest.raises(DecisionError, match="no scales yet"):
        decision.loss(torch.zeros(1, 2), torch.zeros(1, 1))
    settled = decision.informed(belief)
    spread = float(truth(belief.X).std(correction=0))
    assert float(settled.loss(torch.tensor([[3.0, 1.0]]).double(), torch.zeros(1, 1))) == pytest.approx(1.0 / spread)
    assert decision.informed(belief) is settled


@pytest.mark.parametrize(
    ("targets", "weights", "scale", "said"),
    [
        ({}, None, None, "given by outcome"),
        ([1.0], None, None, "given by outcome"),
        ({"a": (1.0, 2.0, 3.0)}, None, None, "the target of a is"),
        ({"a": math.nan}, None, None, "the target of a is"),
        ({"a": (2.0, 1.0)}, None, None, "no value of a"),
        ({"a": "around 3"}, None, None, "cannot read"),
        ({"hardness": 1.0}, {"hardnes": 1.0}, None, "did you mean hardness?"),
        ({"a": 1.0}, {"a": 0.0}, None, "above 0"),
        ({"a": 1.0}, None, {"a": -1.0}, "above 0"),
    ],
)
def test_what_is_no_target_is_named(targets: object, weights: object, scale: object, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        Target(targets, weights, scale)  # type: ignore[arg-type]
