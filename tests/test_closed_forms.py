"""Expectations in closed form equal numerical integration, and the envelope of lines equals brute force."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hentropy.core.decisions.max_value import information, log_density
from hentropy.core.decisions.normal import (
    absolute,
    both_positive,
    density,
    different_signs,
    distribution,
    excess,
    expected_rise,
    kept_above,
    maximum_of_two,
)
from hentropy.core.decisions.several_designs import all_pairs, l2
from support.beliefs import tensor

pytestmark = pytest.mark.numerics

Z = torch.linspace(-12.0, 12.0, 200_001, dtype=torch.float64)


def integral(function: Callable[[Tensor], Tensor]) -> Tensor:
    """E function(Z) by a dense trapezoid rule, good to 1e-9 for functions with kinks."""
    return torch.trapezoid(function(Z) * density(Z), Z)


numbers = st.floats(-20.0, 20.0)
spreads = st.floats(0.01, 10.0)


@given(numbers, spreads)
@settings(max_examples=25, deadline=None)
def test_excess_is_the_mean_of_the_positive_part(u: float, s: float) -> None:
    found = excess(tensor(u), tensor(s))
    torch.testing.assert_close(found, integral(lambda z: (s * z - u).clamp_min(0.0)), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("u", "limit"), [(3.0, 0.0), (-3.0, 3.0), (0.0, 0.0)])
@pytest.mark.parametrize("s", [0.0, 1e-300, 1e-160, 1e-12])
def test_excess_without_spread(u: float, limit: float, s: float) -> None:
    x = tensor([u, s]).requires_grad_(True)
    value = excess(x[0], x[1])
    torch.testing.assert_close(value.detach(), tensor(limit), rtol=0, atol=1e-11)
    (gradient,) = torch.autograd.grad(value, x)
    assert bool(torch.isfinite(gradient).all())


@given(numbers, spreads)
@settings(max_examples=25, deadline=None)
def test_absolute_is_the_mean_of_a_folded_normal(mean: float, s: float) -> None:
    found = absolute(tensor(mean), tensor(s * s))
    torch.testing.assert_close(found, integral(lambda z: (mean + s * z).abs()), rtol=1e-6, atol=1e-8)


@given(numbers, numbers, spreads, spreads, st.floats(-0.999, 0.999))
@settings(max_examples=25, deadline=None)
def test_maximum_of_two(m1: float, m2: float, s1: float, s2: float, rho: float) -> None:
    cov = tensor([[s1 * s1, rho * s1 * s2], [rho * s1 * s2, s2 * s2]])
    width = math.sqrt(s1 * s1 + s2 * s2 - 2 * rho * s1 * s2)
    expected = m2 + integral(lambda z: (m1 - m2 + width * z).clamp_min(0.0))
    torch.testing.assert_close(maximum_of_two(tensor([m1, m2]), cov), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("scale", [1e-15, 1.0, 1e12])
def test_maximum_of_two_has_no_scale_of_its_own(scale: float) -> None:
    mean, cov = tensor([0.3, 0.1]), tensor([[1.0, 0.2], [0.2, 0.5]])
    found = maximum_of_two(scale * mean, scale**2 * cov) / scale
    torch.testing.assert_close(found, maximum_of_two(mean, cov), rtol=1e-9, atol=0)


def test_maximum_of_a_value_and_itself_is_that_value() -> None:
    mean = tensor([0.3, 0.3]).requires_grad_(True)
    value = maximum_of_two(mean, torch.full((2, 2), 0.7, dtype=torch.float64))
    assert float(value.detach()) == pytest.approx(0.3)
    assert bool(torch.isfinite(torch.autograd.grad(value, mean)[0]).all())


def wrong_label(u: float, s: float, sd: float) -> Tensor:
    """P(sign M != sign F) by integration over M = u + s Z."""
    rest = math.sqrt(max(sd * sd - s * s, 1e-30))
    return integral(lambda z: distribution(-(u + s * z).abs() / rest))


@given(st.floats(-6.0, 6.0), st.floats(0.02, 0.99), st.floats(0.1, 3.0))
@settings(max_examples=40, deadline=None)
def test_different_signs(u: float, share: float, sd: float) -> None:
    found = different_signs(tensor(u), tensor(share * sd), tensor(sd))
    torch.testing.assert_close(found, wrong_label(u, share * sd, sd), rtol=0, atol=2e-6)


@pytest.mark.parametrize(
    ("u", "s", "sd", "expected"),
    [
        (0.7, 0.0, 1.0, 0.24196365),  # nothing learned: the label is wrong as often as now, Phi(-0.7)
        (0.7, 1.0, 1.0, 0.0),  # all learned
        (0.0, 0.0, 1.0, 0.5),
        (-2.0, 0.0, 0.0, 0.0),  # known before
    ],
)
def test_different_signs_at_the_ends(u: float, s: float, sd: float, expected: float) -> None:
    assert float(different_signs(tensor(u), tensor(s), tensor(sd))) == pytest.approx(expected, abs=1e-5)


@given(st.floats(-4.0, 4.0), st.floats(-4.0, 4.0), st.floats(0.0, 0.9999))
@settings(max_examples=40, deadline=None)
def test_both_positive(h: float, k: float, rho: float) -> None:
    """Integrated over one of the two values, given which the other is normal."""
    rest = math.sqrt(1.0 - rho * rho)
    expected = integral(lambda z: (z > -h).double() * distribution((k + rho * z) / rest))
    torch.testing.assert_close(both_positive(tensor(h), tensor(k), tensor(rho)), expected, rtol=0, atol=5e-5)


def conservative(u: float, s: float, sd: float, confidence: float) -> Tensor:
    """E max(0, (P - c) / (1 - c)) by integration over the mean after observing."""
    rest = math.sqrt(max(sd * sd - s * s, 1e-30))
    return integral(lambda z: (distribution((u + s * z) / rest) - confidence).clamp_min(0.0)) / (1.0 - confidence)


@given(st.floats(-6.0, 6.0), st.floats(0.001, 0.99999), st.floats(0.1, 3.0), st.floats(0.1, 0.99))
@settings(max_examples=60, deadline=None)
def test_what_is_kept_above_with_confidence(u: float, share: float, sd: float, confidence: float) -> None:
    found = kept_above(tensor(u), tensor(share * sd), tensor(sd), confidence)
    torch.testing.assert_close(found, conservative(u, share * sd, sd, confidence), rtol=0, atol=2e-5)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8999, 0.9001, 1.0])
def test_what_is_kept_above_has_a_gradient(share: float) -> None:
    x = tensor([0.7, share, 1.0]).requires_grad_(True)
    value = kept_above(x[0], x[1], x[2], 0.95)
    (gradient,) = torch.autograd.grad(value, x)
    assert bool(torch.isfinite(gradient).all())


@pytest.mark.parametrize(
    ("u", "s", "expected"),
    [
        (0.7, 0.0, 0.0),  # nothing learned: 76 % are not enough
        (2.0, 0.0, (0.977249868 - 0.95) / 0.05),  # enough before
        (0.7, 1.0, 0.758036348),  # all learned: above as often as it is
    ],
)
def test_what_is_kept_above_at_the_ends(u: float, s: float, expected: float) -> None:
    assert float(kept_above(tensor(u), tensor(s), tensor(1.0), 0.95)) == pytest.approx(expected, abs=1e-5)


def brute_rise(m: Tensor, s: Tensor) -> Tensor:
    return integral(lambda z: (m[:, None] + s[:, None] * z).max(0).values) - m.max()


LINES: dict[str, tuple[list[float], list[float]]] = {
    "one": ([2.0], [3.0]),
    "two": ([0.0, 0.5], [1.0, -1.0]),
    "parallel": ([0.0, 1.0, 2.0], [0.7, 0.7, 0.7]),
    "flat": ([0.0, 1.0], [0.0, 0.0]),
    "equal": ([1.0, 1.0, 1.0], [0.5, 0.5, 0.5]),
    "ties_at_zero": ([0.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.5, 2.0]),
    "three_through_one_corner": ([0.0, 1.0, 2.0], [2.0, 1.0, 0.0]),
    "dominated": ([0.0, -50.0, 0.3], [1.0, 1.1, -1.0]),
    "steepest_never_first": ([5.0, 4.0, -9.0], [0.0, 1.0, 3.0]),
    "huge_means": ([1e6, 1e6 + 1.0, 1e6 - 1.0], [1.0, -1.0, 2.0]),
    "huge_slopes": ([0.0, 1.0], [1e6, -1e6]),
    "nearly_parallel": ([0.0, 1e-9, 0.0], [1.0, 1.0 + 1e-13, 1.0 - 1e-13]),
}


@pytest.mark.parametrize("name", LINES)
def test_expected_rise_is_the_integral(name: str) -> None:
    m, s = (tensor(v) for v in LINES[name])
    found = expected_rise(m, s)
    assert float(found) >= 0
    torch.testing.assert_close(found, brute_rise(m, s), rtol=1e-7, atol=1e-8)


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=12))
@settings(max_examples=40, deadline=None)
def test_expected_rise_of_any_lines(lines: list[tuple[float, float]]) -> None:
    m, s = tensor(lines).unbind(-1)
    found = expected_rise(m, s)
    torch.testing.assert_close(found, brute_rise(m, s), rtol=1e-6, atol=1e-7)
    order = torch.randperm(len(lines), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(expected_rise(m[order], s[order]), found, rtol=1e-9, atol=1e-12)


def test_expected_rise_of_a_batch_is_a_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    m, s = torch.randn(2, 3, 5, 9, generator=generator, dtype=torch.float64)
    loop = torch.stack(
        [torch.stack([expected_rise(a, b) for a, b in zip(*pair, strict=True)]) for pair in zip(m, s, strict=True)]
    )
    torch.testing.assert_close(expected_rise(m, s), loop)


def test_gradient_of_expected_rise() -> None:
    generator = torch.Generator().manual_seed(1)
    m, s = torch.randn(2, 4, 6, generator=generator, dtype=torch.float64)
    m.requires_grad_(True), s.requires_grad_(True)
    assert torch.autograd.gradcheck(expected_rise, (m, s), eps=1e-7, atol=1e-6)


@pytest.mark.covering
@pytest.mark.parametrize("gamma", [-2.0, -0.5, 0.0, 0.7, 2.0, 5.0])
@pytest.mark.parametrize("rho", [0.05, 0.3, 0.7, 0.95, 0.99, 0.999, 0.99999])
def test_information_about_the_maximum_is_the_integral(gamma: float, rho: float) -> None:
    """Entropy of the outcome now less its entropy given that f is below the maximum, both integrated."""
    t = torch.linspace(-14.0, 14.0, 400_001, dtype=torch.float64)
    below = torch.special.log_ndtr(((gamma - rho * t) / math.sqrt(1 - rho * rho)).clamp_min(-1e4))
    log_p = -0.5 * t.square() - 0.5 * math.log(2 * math.pi) + below - torch.special.log_ndtr(tensor(gamma))
    given_maximum = -torch.trapezoid(torch.exp(log_p) * log_p.clamp_min(-1e4), t)
    expected = 0.5 * math.log(2 * math.pi * math.e) - given_maximum
    torch.testing.assert_close(information(tensor(gamma), tensor(rho)), expected, rtol=0, atol=2e-5)


def test_kernel_density_integrates_to_one_and_leaves_out_itself() -> None:
    draws = torch.randn(40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    grid = torch.linspace(-8.0, 8.0, 4001, dtype=torch.float64)
    assert float(torch.trapezoid(log_density(grid, draws).exp(), grid)) == pytest.approx(1.0, abs=1e-6)
    width = 1.06 * float(draws.std()) * 40**-0.2
    others = np.delete(draws.numpy(), 3)
    expected = np.log(
        np.mean(np.exp(-0.5 * ((draws[3].item() - others) / width) ** 2)) / (width * math.sqrt(2 * math.pi))
    )
    assert float(log_density(draws, draws, leave_out=True)[3]) == pytest.approx(float(expected))


def test_distances_and_their_gradient_where_points_coincide() -> None:
    a = tensor([[0.0, 0.0], [3.0, -4.0], [3.0, -4.0]]).requires_grad_(True)
    for distance, expected in (("l1", 7.0), ("l2", 5.0), (l2, 5.0), (lambda x, y: (x - y).abs().sum(-1), 7.0)):
        apart = all_pairs(distance, a)  # type: ignore[arg-type]
        torch.testing.assert_close(apart, tensor([[0.0, expected, expected], [expected, 0, 0], [expected, 0, 0]]))
        (slope,) = torch.autograd.grad(apart.sum(), a)
        assert bool(torch.isfinite(slope).all())
        side = {7.0: [-4.0, 4.0], 5.0: [-2.4, 3.2]}[expected]
        torch.testing.assert_close(slope[0], tensor(side))
