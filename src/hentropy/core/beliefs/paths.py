"""Functions drawn from a Gaussian process that can be evaluated anywhere (pathwise conditioning, Matheron's rule).

A path is a prior draw plus a correction that makes it agree with the data:

    path(x) = prior(x) + k(x, X) K^-1 (y - m(X) - prior(X) - noise)

The prior draw of a stationary kernel is a sum of Fourier features at quasi-random frequencies; of any other kernel, the
interpolation of an exact joint draw at anchor points that fill the region of the data and a margin (far outside it the
paths fall back to the mean). Either way a path is one linear form in a fixed basis.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from scipy.special import gammaincinv
from torch import Tensor

from hentropy.core.beliefs.kernels import Kernel, Profile, Stationary
from hentropy.core.beliefs.linalg import cholesky
from hentropy.core.spaces import sobol

FEATURES = 1024
ANCHORS = 512


@dataclass(frozen=True)
class GaussianPaths:
    """Paths as coefficients (count x basis size) of a basis (points ... x m x d to H x ... x m x basis size)."""

    prior_mean: Callable[[Tensor], Tensor]
    basis: Callable[[Tensor], Tensor]
    coefficients: Tensor
    component: Tensor

    def __call__(self, points: Tensor) -> Tensor:
        """At points ... x m x d: count x ... x m."""
        values = _combine(self.basis(points), self.coefficients, self.component)
        return values + self.prior_mean(points)[self.component]


def _combine(basis: Tensor, coefficients: Tensor, component: Tensor) -> Tensor:
    """Each path's linear form in its own component's basis (H x ... x m x F): count x ... x m."""
    # a loop over components, since basis[component] would be as many copies as there are paths
    values = basis.new_empty(coefficients.shape[0], *basis.shape[1:-1])
    for h in range(basis.shape[0]):
        own = component == h
        values[own] = (basis[h] @ coefficients[own].mT).movedim(-1, 0)
    return values


def _solve_each(solve: Callable[[Tensor, Tensor], Tensor], roots: Tensor, right: Tensor, component: Tensor) -> Tensor:
    """solve(root, columns) with each path's own component's root (H x p x p) and right side (count x p): count x p."""
    solved = torch.empty_like(right)
    for h in range(roots.shape[0]):
        own = component == h
        solved[own] = solve(roots[h], right[own].mT).mT
    return solved


def draw_paths(
    kernel: Kernel,
    prior_mean: Callable[[Tensor], Tensor],
    inputs: Tensor,
    residual: Tensor,
    noise: Tensor,
    chol: Tensor,
    weights: Tensor,
    count: int,
    seed: int,
) -> GaussianPaths:
    """Draw `count` paths; each belongs to a component drawn by its weight. Letters as in `gaussian`."""
    generator = torch.Generator().manual_seed(seed)
    component = torch.multinomial(weights.cpu(), count, replacement=True, generator=generator).to(inputs.device)
    if isinstance(kernel, Stationary):
        prior_basis, coefficients = _fourier_basis(kernel, inputs, count, generator, seed)
    else:
        prior_basis, coefficients = _anchor_basis(kernel, inputs, component, count, generator, seed)
    prior = _combine(prior_basis(inputs), coefficients, component)  # count x n
    jitter = torch.randn(count, inputs.shape[0], generator=generator, dtype=torch.float64).to(inputs)
    gap = residual[component] - prior - noise[component].sqrt() * jitter
    correction = _solve_each(lambda root, right: torch.cholesky_solve(right, root), chol, gap, component)

    def basis(points: Tensor) -> Tensor:
        return torch.cat([prior_basis(points), kernel(points, inputs)], -1)

    return GaussianPaths(prior_mean, basis, torch.cat([coefficients, correction], -1), component)


def _fourier_basis(
    kernel: Stationary, inputs: Tensor, count: int, generator: torch.Generator, seed: int
) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    d, H = inputs.shape[-1], kernel.lengthscale.shape[0]
    u = sobol(FEATURES // 2, d + 1, seed)
    frequency = math.sqrt(2.0) * torch.erfinv(2.0 * u[:, :d] - 1.0)
    if kernel.profile is Profile.MATERN52:  # its spectral density is a Student t with 5 degrees of freedom
        # a chi-squared variable is a gamma one, doubled; scipy.stats would say it in a word, but takes long to import
        frequency = frequency / torch.from_numpy(2.0 * gammaincinv(2.5, u[:, d:].numpy()) / 5.0).sqrt()
    frequency = frequency.to(inputs)
    coefficients = torch.randn(count, FEATURES, generator=generator, dtype=torch.float64).to(inputs)

    def basis(points: Tensor) -> Tensor:
        angle = (points / kernel.lengthscale.view(H, *[1] * (points.dim() - 1), -1)) @ frequency.mT
        height = (2.0 * kernel.outputscale / FEATURES).sqrt().view(H, *[1] * points.dim())
        # cosine and sine of the same frequencies: the variance at every point is then exact
        return height * torch.cat([torch.cos(angle), torch.sin(angle)], -1)

    return basis, coefficients


def _anchor_basis(
    kernel: Kernel, inputs: Tensor, component: Tensor, count: int, generator: torch.Generator, seed: int
) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    low, high = inputs.min(0).values, inputs.max(0).values
    margin = 0.25 * (high - low).clamp_min(1e-6)
    filling = sobol(ANCHORS, inputs.shape[-1], seed).to(inputs)
    anchors = torch.cat([inputs, low - margin + filling * (high - low + 2 * margin)])
    root = cholesky(kernel(anchors, anchors), "kernel matrix of the anchors of the paths")
    draws = torch.randn(count, anchors.shape[0], generator=generator, dtype=torch.float64).to(inputs)
    # values root z at the anchors have coefficients (root root^T)^-1 root z = root^-T z
    solved = _solve_each(lambda L, z: torch.linalg.solve_triangular(L.mT, z, upper=True), root, draws, component)
    return lambda points: kernel(points, anchors), solved
