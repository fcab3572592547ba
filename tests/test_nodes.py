"""Nodes: exact moments, exact polynomials, and what a seed does."""

import functools
import math

import pytest
import torch

from hentropy.core.beliefs import Nodes, gauss_hermite, outcome_nodes, value_draws
from hentropy.core.beliefs.nodes import pair_nodes
from hentropy.core.decisions.base import shares_of_draws
from hentropy.errors import InputError

pytestmark = pytest.mark.numerics

SHAPES = [(2, 1, 1), (5, 1, 1), (16, 1, 1), (16, 1, 4), (7, 2, 1), (32, 3, 6)]


@pytest.mark.parametrize(("count", "q", "components"), SHAPES)
@pytest.mark.parametrize("seed", [None, 0, 7])
def test_outcomes_to_search_with_have_mean_zero_and_variance_one(
    count: int, q: int, components: int, seed: int | None
) -> None:
    nodes = outcome_nodes(count, q, components, seed)
    assert nodes.z.shape == (count, q)
    assert nodes.count == count
    assert nodes.z.dtype == nodes.weights.dtype == torch.float64
    assert float(nodes.weights.sum()) == pytest.approx(1.0, abs=1e-12)
    assert bool(((nodes.component > 0) & (nodes.component < 1)).all())
    one = torch.ones(q, dtype=torch.float64)
    if seed is None or (q == 1 and count % 2 == 0):
        torch.testing.assert_close(nodes.weights @ nodes.z, 0.0 * one, rtol=0, atol=1e-9)
    if seed is None:
        torch.testing.assert_close(nodes.weights @ nodes.z.square(), one, rtol=0, atol=1e-12)


@functools.cache
def drawn(count: int, components: int) -> list[Nodes]:
    """Outcomes of one experiment for 2,000 seeds."""
    return [outcome_nodes(count, 1, components, seed) for seed in range(2000)]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "components"), [(8, 1), (9, 1), (12, 4)])
@pytest.mark.parametrize("corner", [0.0, 1.0, 2.0, 3.0])
def test_outcomes_to_audit_with_are_right_on_average_in_the_tails_too(
    count: int, components: int, corner: float
) -> None:
    """E max(0, z - c) over 2,000 seeds, within 5 standard errors: one false alarm in two million, were seeds drawn."""
    nodes = drawn(count, components)
    z, weights = torch.stack([each.z[:, 0] for each in nodes]), torch.stack([each.weights for each in nodes])
    gains = (weights * (z - corner).clamp_min(0.0)).sum(-1)
    truth = math.exp(-0.5 * corner**2) / math.sqrt(2 * math.pi) - corner * 0.5 * math.erfc(corner / math.sqrt(2))
    assert abs(float(gains.mean()) - truth) < 5 * float(gains.std()) / 2000**0.5


@pytest.mark.parametrize(("count", "components"), [(8, 1), (12, 1), (16, 4)])
def test_outcomes_to_search_with_see_gains_that_take_a_surprise(count: int, components: int) -> None:
    """E max(0, z - c) within 45 % up to three standard deviations; equally likely nodes give zero from 2 on."""
    nodes = outcome_nodes(count, 1, components)
    for corner in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
        exact = math.exp(-0.5 * corner**2) / math.sqrt(2 * math.pi) - corner * 0.5 * math.erfc(corner / math.sqrt(2))
        found = float(nodes.weights @ (nodes.z[:, 0] - corner).clamp_min(0.0))
        assert found == pytest.approx(exact, rel=0.1 if corner <= 1.0 else 0.45)


@pytest.mark.parametrize("components", [2, 5, 8, 12, 16])
@pytest.mark.parametrize("seed", [None, 3])
def test_components_have_their_weights(components: int, seed: int | None) -> None:
    """Up to the weight of one stratum on either side; no component is left out where there are enough nodes."""
    nodes = outcome_nodes(32, 1, components, seed)
    share = torch.zeros(components, dtype=torch.float64)
    share.index_add_(0, (nodes.component * components).long(), nodes.weights)
    assert float((share - 1 / components).abs().max()) <= float(nodes.weights.max()) + 1e-12
    assert float(share.min()) > 0


@pytest.mark.parametrize("stratum", [0, 5, 11])
def test_each_stratum_is_equally_likely_to_be_of_any_component(stratum: int) -> None:
    """Over 2,000 seeds, mean 1/2 and variance 1/12 of a uniform number, within 5 standard errors."""
    found = torch.stack([nodes.component[stratum] for nodes in drawn(12, 4)])
    assert abs(float(found.mean()) - 0.5) < 5 * (1 / 12 / 2000) ** 0.5
    assert abs(float(found.var()) - 1 / 12) < 5 * (1 / 180 / 2000) ** 0.5


@pytest.mark.parametrize(("count", "q", "components"), SHAPES[1:])
def test_a_seed_says_which_outcomes(count: int, q: int, components: int) -> None:
    def made(seed: int) -> torch.Tensor:
        nodes = outcome_nodes(count, q, components, seed)
        return torch.cat([nodes.z, nodes.component[:, None]], -1)

    assert torch.equal(made(1), made(1))
    assert not torch.allclose(made(1), made(2))


def test_many_outcomes_are_normal_and_components_even() -> None:
    nodes = outcome_nodes(4096, 2, 5, seed=0)
    for column in nodes.z.T:
        share = torch.stack([(column < t).double().mean() for t in (-2.0, -1.0, 0.0, 1.0, 2.0)])
        exact = torch.tensor([0.02275, 0.158655, 0.5, 0.841345, 0.97725], dtype=torch.float64)
        torch.testing.assert_close(share, exact, rtol=0, atol=3e-3)
    assert torch.histc(nodes.component, 5, 0, 1).sub(4096 / 5).abs().max() < 3
    assert abs(float((nodes.z[:, 0] * nodes.z[:, 1]).mean())) < 1e-2
    assert abs(float((nodes.z[:, 0] * (nodes.component - 0.5)).mean())) < 1e-2


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_gauss_hermite_is_exact_for_polynomials(count: int) -> None:
    nodes = gauss_hermite(count)
    for degree in range(2 * count):
        exact = 0.0 if degree % 2 else float(math.prod(range(1, degree, 2)))
        assert float(nodes.weights @ nodes.z[:, 0] ** degree) == pytest.approx(exact, rel=1e-10, abs=1e-6)
    beyond = float(nodes.weights @ nodes.z[:, 0] ** (2 * count))
    assert beyond < 0.999 * math.prod(range(1, 2 * count, 2))  # and not for the next one


@pytest.mark.parametrize("count", [2, 3, 8, 33])
def test_value_draws_come_in_pairs(count: int) -> None:
    draws = value_draws(count, 3, seed=1)
    assert draws.shape == (count, 3)
    for power in (1, 3, 5):
        torch.testing.assert_close(draws.pow(power).mean(0), torch.zeros(3, dtype=torch.float64), rtol=0, atol=1e-10)
    torch.testing.assert_close(draws.square().mean(0), torch.ones(3, dtype=torch.float64))
    assert torch.equal(draws, value_draws(count, 3, seed=1))
    assert not torch.allclose(draws, value_draws(count, 3, seed=2)) or count < 4


def test_moving_nodes_moves_every_field() -> None:
    nodes = outcome_nodes(4, 1, 2).to(torch.zeros((), dtype=torch.float32))
    assert isinstance(nodes, Nodes)
    assert {nodes.z.dtype, nodes.weights.dtype, nodes.component.dtype} == {torch.float32}


def test_too_few_outcomes_are_refused() -> None:
    with pytest.raises(InputError, match="at least 2 outcomes are needed to look ahead, got 1"):
        outcome_nodes(1, 1, 1)
    with pytest.raises(InputError, match="at least 2 draws are needed to integrate over values, got 1"):
        value_draws(1, 1, 0)


@pytest.mark.parametrize("count", [4, 7, 8, 12, 16, 24, 128])
def test_nodes_of_two_outcomes_have_the_moments_of_a_normal_distribution(count: int) -> None:
    nodes = pair_nodes(count)
    assert nodes.z.shape == (count, 2)
    assert float(nodes.weights.sum()) == pytest.approx(1.0)
    torch.testing.assert_close(nodes.weights @ nodes.z, torch.zeros(2).double(), rtol=0, atol=1e-12)
    torch.testing.assert_close(nodes.weights @ nodes.z.square(), torch.ones(2).double())
    assert float(nodes.weights @ nodes.z.prod(-1)) == pytest.approx(0.0, abs=0.25)
    if count >= 8:  # some node lies in the tails
        assert float(nodes.z.norm(dim=-1).max()) > 3.0


def test_random_nodes_of_two_outcomes_are_right_on_average() -> None:
    """E of smooth, kinked and rare functions over 4000 seeds, at 5 standard errors: false alarms below 1e-5."""
    sets = [pair_nodes(8, seed) for seed in range(4000)]
    z, weights = torch.stack([n.z for n in sets]), sets[0].weights
    turned = z[..., 0] * 0.6 + z[..., 1] * 0.8
    exact = {
        "x": (turned, 0.0),
        "square": (turned.square(), 1.0),
        "kink": ((turned - 1.0).clamp_min(0.0), 0.08331547),
        "rare": ((turned > 2.5).double(), 0.00620967),
        "both": ((z > 0).all(-1).double(), 0.25),
    }
    for name, (values, expected) in exact.items():
        each = values @ weights
        error = float(each.std()) / len(each) ** 0.5
        assert float(each.mean()) == pytest.approx(expected, abs=5 * error + 1e-9), name


def test_too_few_nodes_for_two_outcomes_are_refused() -> None:
    with pytest.raises(InputError, match="at least 4 nodes"):
        pair_nodes(3)


def test_each_component_gets_draws_that_cover_the_normal_distribution() -> None:
    """Near and far from the middle: every eighth point of a Sobol sequence lies in an eighth of one coordinate."""
    for components in (2, 5, 8):
        own = shares_of_draws(value_draws(256, 6, seed=3), components)  # M' x H x K
        far = (own.abs() > 0.6745).double().mean(0)  # half of a normal distribution
        assert far.shape == (components, 6)
        assert ((far > 0.3) & (far < 0.7)).all()
        torch.testing.assert_close(own.mean(0), torch.zeros(components, 6, dtype=torch.float64), atol=1e-12, rtol=0.0)
        torch.testing.assert_close(own.square().mean(0), torch.ones(components, 6, dtype=torch.float64))
