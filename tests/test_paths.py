"""Paths of a Gaussian belief against its exact moments."""

import pytest
import torch
from gpytorch.kernels import LinearKernel, MaternKernel, PeriodicKernel, ScaleKernel

from hentropy.core.beliefs import Frame, Gaussian, Needs, paths
from hentropy.core.beliefs.kernels import Kernel, Profile, Stationary, from_gpytorch
from hentropy.core.models.gp import ConstantMean
from hentropy.core.spaces import sobol
from support.beliefs import LOW, WIDTH, composed, designs, gaussian, kernel, truth, two_sided

pytestmark = pytest.mark.numerics

COUNT = 4000


def covariances() -> list[tuple[int, Kernel]]:
    rough = ScaleKernel(
        MaternKernel(1.5, active_dims=(0, 1), batch_shape=torch.Size([3])), batch_shape=torch.Size([3])
    ).double()
    rough.base_kernel.lengthscale = torch.tensor([0.4, 0.8, 1.5], dtype=torch.float64).view(3, 1, 1)
    wave = (ScaleKernel(PeriodicKernel()) + LinearKernel()).double()
    return [
        (1, kernel(1)),
        (3, kernel(3)),
        (1, kernel(1, Profile.SQUARED_EXPONENTIAL)),
        (3, from_gpytorch(rough)),
        (1, from_gpytorch(wave)),
        (3, composed(3, 2)),
    ]


@pytest.mark.parametrize(
    ("H", "covariance"), covariances(), ids=["matern", "mixture", "smooth", "rough mixture", "sum", "families"]
)
def test_many_paths_have_the_moments_of_the_belief(H: int, covariance: Kernel) -> None:
    # False alarms: means and products are within the bounds for all but 1e-4 of seeds. On top comes the error of the
    # prior draws themselves (Fourier features between anchors), allowed 1 percent of the prior variance.
    belief = gaussian(H, 1e-2, covariance=covariance)
    points = torch.cat([designs(5, seed=9), belief.X[:2]])
    moments = belief.moments(points, Needs.JOINT)
    mean = torch.einsum("h,hm->m", belief.weights, moments.mean)
    gap = moments.mean - mean
    cov = torch.einsum("h,hmk->mk", belief.weights, moments.covariance + gap.unsqueeze(-1) * gap.unsqueeze(-2))
    drawn = belief.paths(COUNT, seed=2)(points)
    assert drawn.shape == (COUNT, 7)
    bound = two_sided(1e-4, 7 + 28)
    centred = drawn - mean
    assert bool((centred.mean(0).abs() <= bound * (cov.diagonal() / COUNT).sqrt()).all())
    products = centred.unsqueeze(-1) * centred.unsqueeze(-2)
    allowed = bound * products.std(0) / COUNT**0.5 + 0.01 * float(belief.frame.scale**2 * belief.kernel.diagonal(
        belief.frame.transform(points)).max())  # fmt: skip
    assert bool(((products.mean(0) - cov).abs() <= allowed).all())


@pytest.mark.slow
@pytest.mark.parametrize("noise", [1e-6, 1e-2])
@pytest.mark.parametrize(("H", "covariance"), covariances()[:3], ids=["matern", "mixture", "smooth"])
def test_small_variances_of_paths_are_those_of_the_belief(H: int, covariance: Kernel, noise: float) -> None:
    """Each variance as a share of itself, between many data and beside them: 12 of them, false alarms below 1e-4.

    Paths are allowed an error of 4 % on top.
    """
    belief = gaussian(H, noise, noise, X=designs(20, seed=3), covariance=covariance)
    beside = belief.X[:6] + 0.02 * WIDTH * (2.0 * designs(6, seed=4).sub(LOW).div(WIDTH) - 1.0)
    points = torch.cat([designs(6, seed=9), beside])
    mean, variance = belief.moments(points, Needs.VARIANCE).total()
    assert float(variance.min()) < 0.01 * float(belief.frame.scale**2)
    squares = (belief.paths(COUNT, seed=2)(points) - mean).square()
    allowed = two_sided(1e-4, 12) * squares.std(0) / COUNT**0.5 + 0.04 * variance
    assert bool(((squares.mean(0) - variance).abs() <= allowed).all()), squares.mean(0) / variance


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 4, 8])
@pytest.mark.parametrize("profile", Profile)
def test_rough_paths_in_many_parameters_have_small_variances(
    profile: Profile, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variances and covariances close to data and far from them, of paths that all have the same frequencies.

    32 points, false alarms below 1e-4; frequencies are allowed an error of 15 % on top. With frequencies drawn from the
    spectral density alone, the variances of Matern kernels are off by factors of 0.5 to 2.5.
    """
    monkeypatch.setattr(paths, "SHARING", COUNT)
    one, X = torch.ones(1, dtype=torch.float64), sobol(40, d, 3)
    covariance = Stationary(profile, 0.35 * d**0.5 * torch.ones(1, d, dtype=torch.float64), one)
    frame = Frame(lambda x: x, 0.0 * one[0], one[0])
    data = (torch.sin(3.0 * X.sum(-1)), 1e-6 * torch.ones(1, 40, dtype=torch.float64), 1e-6 * one)
    belief = Gaussian.from_data(X, *data, covariance, ConstantMean(0.0 * one), frame, one)
    step = torch.nn.functional.normalize(sobol(24, d, 1) - 0.5, dim=-1)
    size = torch.tensor([0.01, 0.1, 0.3], dtype=torch.float64).repeat_interleave(8).unsqueeze(-1)
    points = torch.cat([X[:24] + size * step, 2.0 * sobol(8, d, 99) - 0.5])
    moments = belief.moments(points, Needs.JOINT)
    sd = moments.covariance[0].diagonal().sqrt()
    white = (belief.paths(COUNT, seed=2)(points) - moments.mean[0]) / sd
    products = white.unsqueeze(-1) * white.unsqueeze(-2)
    allowed = two_sided(1e-4, 32 * 33 // 2) * products.std(0) / COUNT**0.5 + 0.15
    assert bool(((products.mean(0) - moments.covariance[0] / (sd.unsqueeze(-1) * sd)).abs() <= allowed).all())


@pytest.mark.parametrize(("H", "covariance"), covariances()[:4])
def test_paths_meet_data_without_noise(H: int, covariance: Kernel) -> None:
    belief = gaussian(H, 0.0, 0.0, covariance=covariance)
    drawn = belief.paths(20, seed=0)(belief.X)
    torch.testing.assert_close(drawn, truth(belief.X).expand(20, 7), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("H", "covariance"), covariances())
def test_a_path_is_one_function_and_a_seed_says_which(H: int, covariance: Kernel) -> None:
    belief, points = gaussian(H, covariance=covariance), designs(2, 3, 4, seed=1)
    drawn = belief.paths(6, seed=5)
    values = drawn(points)
    assert values.shape == (6, 2, 3, 4)
    each = torch.stack([drawn(points[:, j]) for j in range(3)], 2)
    torch.testing.assert_close(values, each, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(values, belief.paths(6, seed=5)(points), rtol=0, atol=0)
    assert float((values - belief.paths(6, seed=6)(points)).abs().max()) > 1e-2


def test_slopes_of_paths_are_finite_differences() -> None:
    belief = gaussian(3, 1e-2)
    points = designs(3, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(belief.paths(5, seed=0), [points], eps=3e-5, atol=1e-3, rtol=1e-3)
