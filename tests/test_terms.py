"""Waves and trends beside a stationary kernel: against GPyTorch's kernels, and their sums against plain products."""

import math
import pickle

import pytest
import torch
from gpytorch.kernels import CosineKernel, LinearKernel, MaternKernel, PolynomialKernel
from torch import Tensor

from hentropy.core.beliefs.kernels import Composed, KernelSum, Profile, Stationary, ToSites
from hentropy.core.beliefs.terms import MOST_BENT, WAVES, Basis, FeatureKernel
from support.beliefs import composed

pytestmark = pytest.mark.numerics

D, H = 3, 3


def draw(*shape: int, seed: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_they_are_sums_of_gpytorchs_cosine_linear_and_polynomial_kernels() -> None:
    basis = Basis(D, (0, 2))
    waves, linear, square = draw(1, 2 * WAVES, seed=0), draw(1, seed=1), draw(1, seed=2)
    a, b = draw(5, D, seed=3).requires_grad_(), draw(6, D, seed=4).requires_grad_()
    value = FeatureKernel(basis, basis.variances(waves, linear, square))(a, b)[0]
    expected = torch.zeros(5, 6, dtype=torch.float64)
    for j, own in zip(basis.waving, waves.view(2, WAVES), strict=True):
        for k, variance in enumerate(own, 1):
            cosine = CosineKernel(active_dims=(j,)).double()
            cosine.period_length = torch.tensor(1.0 / k, dtype=torch.float64)
            expected = expected + variance * cosine(a, b).to_dense()
    line, bent = LinearKernel().double(), PolynomialKernel(power=2).double()
    line.variance, bent.raw_offset.data[:] = 1.0, -60.0
    u, v = 2.0 * a - 1.0, 2.0 * b - 1.0
    expected = expected + linear * line(u, v).to_dense() + square * bent(u, v).to_dense()
    # GPyTorch keeps the logarithm of a period that is near zero, and so only half of its digits
    torch.testing.assert_close(value, expected, rtol=1e-6, atol=1e-6)
    weight = draw(5, 6, seed=5)
    slopes = torch.autograd.grad((weight * value).sum(), (a, b))
    torch.testing.assert_close(slopes, torch.autograd.grad((weight * expected).sum(), (a, b)), rtol=1e-5, atol=1e-5)


def test_each_component_has_a_profile_of_its_own() -> None:
    lengthscale, scale = 0.2 + draw(4, D, seed=0), 0.5 + draw(4, seed=1)
    profiles = (Profile.MATERN32, Profile.MATERN52, Profile.MATERN52, Profile.SQUARED_EXPONENTIAL)
    mixed, a, b = Stationary(profiles, lengthscale, scale), draw(2, 5, D, seed=2), draw(2, 6, D, seed=3)
    a.requires_grad_()
    alone = torch.cat([Stationary(own, lengthscale[[h]], scale[[h]])(a, b) for h, own in enumerate(profiles)])
    torch.testing.assert_close(mixed(a, b), alone, rtol=1e-12, atol=1e-12)
    weight = draw(*alone.shape, seed=4)
    slopes = [torch.autograd.grad((weight * value).sum(), a) for value in (mixed(a, b), alone)]
    torch.testing.assert_close(*slopes, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(mixed.some([3, 0])(a, b), alone[[3, 0]], rtol=1e-12, atol=1e-12)
    rough = MaternKernel(1.5, ard_num_dims=D).double()
    rough.lengthscale = lengthscale[0]
    torch.testing.assert_close(alone[0], scale[0] * rough(a, b).to_dense(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("lead", [(), (4,), (2, 4)])
def test_shapes_variances_and_components(lead: tuple[int, ...]) -> None:
    kernel, a, b = composed(H, 2), draw(*lead, 5, 2, seed=1), draw(*lead, 6, 2, seed=2)
    together = kernel(a, b)
    assert together.shape == (H, *lead, 5, 6)
    torch.testing.assert_close(kernel.diagonal(a), kernel(a, a).diagonal(dim1=-2, dim2=-1), rtol=1e-6, atol=1e-6)
    for h in range(H):
        torch.testing.assert_close(kernel.some([h])(a, b), together[[h]], rtol=1e-12, atol=1e-12)
    shared = draw(6, 2, seed=2)
    torch.testing.assert_close(kernel(a, shared), kernel(a, shared.expand(*lead, 6, 2)), rtol=1e-12, atol=1e-12)


def test_sums_of_kernels_and_their_slopes_are_those_of_products() -> None:
    kernel = composed(H, 2)
    given = [draw(2, 3, 4, 2, seed=1), draw(2, 6, 2, seed=2), draw(H, 2, 3, 6, seed=3)]
    a, centres, coefficients = (value.requires_grad_() for value in given)
    fast = KernelSum(kernel, centres, coefficients)(a)
    slow = torch.einsum("hbnkp,hbnp->hbnk", kernel(a.flatten(1, 2), centres).unflatten(-2, (3, 4)), coefficients)
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)
    weight = draw(*fast.shape, seed=4)
    slopes = [torch.autograd.grad((weight * value).sum(), (a, centres, coefficients)) for value in (fast, slow)]
    torch.testing.assert_close(*slopes, rtol=1e-8, atol=1e-8)


def test_a_sum_without_slopes_in_its_centres_has_those_in_the_points() -> None:
    kernel: Composed = composed(2, 2)
    total = KernelSum(kernel, draw(1, 4, 2, seed=2), draw(2, 1, 3, 4, seed=3))
    assert torch.autograd.gradcheck(total, [draw(1, 3, 2, 2, seed=1).requires_grad_()], eps=1e-6, atol=1e-6)


def test_components_without_terms_have_the_stationary_kernel_alone() -> None:
    kernel, a, b = composed(H, 2), draw(4, 5, 2, seed=1).requires_grad_(), draw(4, 6, 2, seed=2).requires_grad_()
    variance = torch.zeros(H, kernel.terms.variance.shape[-1], dtype=torch.float64)
    variance[[0, 2]] = kernel.terms.variance
    plain = kernel.stationary(a, b) + FeatureKernel(kernel.terms.basis, variance)(a, b)
    torch.testing.assert_close(kernel(a, b), plain, rtol=1e-12, atol=1e-12)
    weight = draw(*plain.shape, seed=4)
    slopes = [torch.autograd.grad((weight * value).sum(), (a, b)) for value in (kernel(a, b), plain)]
    torch.testing.assert_close(*slopes, rtol=1e-9, atol=1e-9)
    assert isinstance(kernel.some([1]), Stationary)
    for chosen in ([2, 1, 0], [0, 1], [2, 0, 2]):
        torch.testing.assert_close(kernel.some(chosen)(a, b), plain[chosen], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(kernel.heights().square(), variance)


def test_prepared_points_and_known_features_change_nothing() -> None:
    kernel, a, b = composed(H, 2), draw(5, 2, seed=1).requires_grad_(), draw(6, 2, seed=2)
    to = ToSites(kernel, b)
    to(a)
    expected, weight = kernel(a, b), draw(H, 5, 6, seed=3)
    (slope,) = torch.autograd.grad((weight * expected).sum(), a)
    there = pickle.loads(pickle.dumps(to))
    assert "sites" in to.__dict__
    assert "sites" not in there.__dict__
    for value in (to(a), there(a), kernel.at_sites(a, to.sites, kernel.terms.basis(a))):
        torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(torch.autograd.grad((weight * value).sum(), a)[0], slope, rtol=1e-10, atol=1e-10)


def test_sums_over_components_are_sums_of_theirs() -> None:
    given = [draw(2, 3, 4, 2, seed=1), draw(2, 6, 2, seed=2), draw(H, 2, 3, 6, seed=3)]
    a, centres, coefficients = (value.requires_grad_() for value in given)
    for kernel in (composed(H, 2), composed(H, 2).stationary):
        whole, each = (KernelSum(kernel, centres, coefficients) for _ in range(2))
        values = whole.over_components(a), each(a).sum(0)
        torch.testing.assert_close(*values, rtol=1e-12, atol=1e-12)
        weight = draw(*values[0].shape, seed=4)
        slopes = [torch.autograd.grad((weight * value).sum(), (a, centres, coefficients)) for value in values]
        torch.testing.assert_close(*slopes, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("d", "waving"), [(2, (0, 1)), (3, (2,)), (3, ()), (MOST_BENT + 1, (1, 5))])
def test_a_sum_of_fixed_kernels_has_its_value_and_slope_at_once(d: int, waving: tuple[int, ...]) -> None:
    basis = Basis(d, waving)
    terms = FeatureKernel(basis, draw(2, sum(basis.sizes), seed=5).square())
    stationary = Stationary(
        (Profile.MATERN32, Profile.MATERN52, Profile.SQUARED_EXPONENTIAL), 0.2 + draw(H, d, seed=6), draw(H, seed=7)
    )
    a, centres, coefficients = draw(2, 3, 4, d, seed=1), draw(2, 6, d, seed=2), draw(H, 2, 3, 6, seed=3)
    for kernel in (stationary, Composed(stationary, terms, (0, 2))):
        total = KernelSum(kernel, centres, coefficients)
        at, weight = a.clone().requires_grad_(), draw(2, 3, 4, seed=4)
        values = total.over_components(at), total(at).sum(0)
        torch.testing.assert_close(*values, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(total.over_components(a), values[0].detach(), rtol=1e-12, atol=1e-12)
        slopes = [torch.autograd.grad((weight * value).sum(), at) for value in values]
        torch.testing.assert_close(*slopes, rtol=1e-8, atol=1e-8)


def test_with_many_coordinates_the_trend_is_linear() -> None:
    few, many = Basis(MOST_BENT, ()), Basis(MOST_BENT + 1, (3,))
    assert few.sizes == (0, MOST_BENT, MOST_BENT**2)
    assert many.sizes == (2 * WAVES, MOST_BENT + 1, 0)
    x = draw(2, MOST_BENT + 1, seed=0)
    assert many(x).shape == (2, sum(many.sizes))
    torch.testing.assert_close(many(x)[:, 1], torch.cos(2.0 * math.pi * x[:, 3]))
