"""The outcome of one experiment under a mixture: quantiles, their slopes, and what they integrate."""

import math

import pytest
import torch
from torch import Tensor

from hentropy.core.beliefs import Needs, outcome_nodes
from hentropy.core.beliefs.nodes import mixture_outcomes, mixture_quantiles
from support.beliefs import designs, gaussian


def mixtures(H: int, b: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weights H x 1 x 1, means and standard deviations H x b x 1 of components that lie apart."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(H, 1, 1, generator=generator, dtype=torch.float64) + 0.05
    mean = 3.0 * torch.randn(H, b, 1, generator=generator, dtype=torch.float64)
    sd = torch.exp(torch.randn(H, b, 1, generator=generator, dtype=torch.float64))
    return weights / weights.sum(), mean, sd


@pytest.mark.parametrize("seed", range(4))
def test_outcomes_are_the_quantiles_of_the_mixture(seed: int) -> None:
    weights, mean, sd = mixtures(5, 3, seed)
    z = torch.linspace(-3.5, 3.5, 9, dtype=torch.float64)
    shares = [0.5 * math.erfc(-float(v) / math.sqrt(2.0)) for v in z]
    found = mixture_outcomes(z.expand(3, 9), weights, mean, sd)
    exact = mixture_quantiles(shares, weights[..., 0], mean[..., 0], sd[..., 0]).mT
    torch.testing.assert_close(found, exact, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("apart", [1.0, 1e3, 1e6])
def test_between_narrow_components_outcomes_stay_between_their_quantiles(apart: float) -> None:
    weights = torch.tensor([0.03, 0.03, 0.88, 0.06], dtype=torch.float64).view(4, 1, 1)
    mean = -1.5e5 + apart * torch.tensor([0.0, -0.1, 1.0, 1.7], dtype=torch.float64).view(4, 1, 1)
    sd = torch.tensor([1e-2, 1e-4, 1e-4, 1e-3], dtype=torch.float64).view(4, 1, 1)
    z = torch.linspace(-3.5, 3.5, 41, dtype=torch.float64).unsqueeze(0)
    found, own = mixture_outcomes(z, weights, mean, sd), mean + sd * z
    assert bool((found >= own.amin(0) - 1e-6).all() & (found <= own.amax(0) + 1e-6).all())
    assert bool((found.diff() >= -1e-6).all())


def test_their_slopes_are_finite_differences() -> None:
    weights, mean, sd = mixtures(4, 2, 9)
    z = torch.tensor([-2.0, 0.3, 1.7], dtype=torch.float64).expand(2, 3)

    def outcomes(mean: Tensor, sd: Tensor) -> Tensor:
        return mixture_outcomes(z, weights, mean, sd)

    assert torch.autograd.gradcheck(
        outcomes, (mean.clone().requires_grad_(), sd.clone().requires_grad_()), atol=1e-4, rtol=1e-3
    )


@pytest.mark.parametrize("H", [3, 6])
def test_few_outcomes_leave_the_mean_of_f_where_it_is(H: int) -> None:
    """The average of the means after an outcome is today's mean, up to a fraction of the moves."""
    belief, points = gaussian(H, 1e-3), designs(4, 2, seed=3)
    nodes = outcome_nodes(16, 1, H)
    after = belief.look_ahead(designs(5, 1, seed=4)).fantasy(nodes).shared_moments(points, Needs.MEAN).mean[0]
    moved = after.std(1)
    gap = torch.einsum("n,bn...->b...", nodes.weights, after) - belief.moments(points, Needs.MEAN).averaged().mean[0]
    assert bool((gap.abs() <= 0.03 * moved + 1e-9).all())
