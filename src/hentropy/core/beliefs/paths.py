"""Functions drawn from a Gaussian process that can be evaluated anywhere (pathwise conditioning, Matheron's rule).

A path is a prior draw plus a correction that makes it agree with the data:

    path(x) = prior(x) + k(x, X) K^-1 (y - m(X) - prior(X) - noise)
            = prior(x) + k(x, X) (alpha - R^T (R prior(X) + R noise))        K^-1 = R^T R

The prior draw of a stationary kernel is a sum of Fourier features at quasi-random frequencies, and of correlated
outcomes several such sums; of any other kernel, the interpolation of an exact joint draw at anchor points that fill the
region of the data and a margin (far outside it the paths fall back to the mean). Either way a path is one linear form
in a fixed basis.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from hentropy.core.beliefs.kernels import Composed, Coregional, Kernel, Profile, Stationary
from hentropy.core.beliefs.linalg import cholesky
from hentropy.core.spaces import sobol
from hentropy.lazy import Tensor, special, torch

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
    alpha: Tensor,
    root_inverse: Tensor,
    white_noise: Tensor,
    weights: Tensor,
    count: int,
    seed: int,
) -> GaussianPaths:
    """Draw `count` paths; each belongs to a component drawn by its weight. Letters as in `gaussian`."""
    generator = torch.Generator().manual_seed(seed)
    component = torch.multinomial(weights.cpu(), count, replacement=True, generator=generator).to(inputs.device)
    if isinstance(kernel, Stationary | Composed):
        prior_basis, coefficients = _prior_basis(kernel, inputs, count, generator, seed)
    elif isinstance(kernel, Coregional) and isinstance(kernel.kernel, Stationary):
        prior_basis, coefficients = _coregional_basis(kernel.B, kernel.kernel, inputs, count, generator, seed)
    else:
        prior_basis, coefficients = _anchor_basis(kernel, inputs, component, count, generator, seed)
    prior = _combine(prior_basis(inputs), coefficients, component)  # count x n
    jitter = torch.randn(count, white_noise.shape[-1], generator=generator, dtype=torch.float64).to(inputs)
    # K^-1 (y - m(X)) is alpha; K^-1 = R^T R takes off the prior draw and the noise
    explained = _combine(root_inverse, prior, component) + _combine(white_noise, jitter, component)
    correction = alpha[component] - _combine(root_inverse.mT, explained, component)

    def basis(points: Tensor) -> Tensor:
        return torch.cat([prior_basis(points), kernel(points, inputs)], -1)

    return GaussianPaths(prior_mean, basis, torch.cat([coefficients, correction], -1), component)


def _prior_basis(
    kernel: Stationary | Composed, inputs: Tensor, count: int, generator: torch.Generator, seed: int
) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    if isinstance(kernel, Stationary):
        return _fourier_basis(kernel, inputs, count, generator, seed)
    waves, coefficients = _fourier_basis(kernel.stationary, inputs, count, generator, seed)
    # a path has coefficients of its own for the features of terms too: nothing to approximate
    terms, heights = kernel.terms, kernel.heights()
    more = torch.randn(count, heights.shape[-1], generator=generator, dtype=torch.float64).to(inputs)

    def basis(points: Tensor) -> Tensor:
        height = heights.view(heights.shape[0], *[1] * (points.dim() - 1), -1)
        return torch.cat([waves(points), height * terms.basis(points)], -1)

    return basis, torch.cat([coefficients, more], -1)


def _fourier_basis(
    kernel: Stationary, inputs: Tensor, count: int, generator: torch.Generator, seed: int
) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    d, H = inputs.shape[-1], kernel.lengthscale.shape[0]
    u = sobol(FEATURES // 2, d + 1, seed)
    frequency = math.sqrt(2.0) * torch.erfinv(2.0 * u[:, :d] - 1.0)
    each = torch.stack([_spread(profile, frequency, u[:, d:]) for profile in kernel.profiles]).to(inputs)
    coefficients = torch.randn(count, FEATURES, generator=generator, dtype=torch.float64).to(inputs)

    def basis(points: Tensor) -> Tensor:
        lead = [1] * (points.dim() - 2)
        scaled = points / kernel.lengthscale.view(H, *lead, 1, -1)
        angle = scaled @ each.mT.view(-1, *lead, d, FEATURES // 2)
        height = (2.0 * kernel.outputscale / FEATURES).sqrt().view(H, *[1] * points.dim())
        # cosine and sine of the same frequencies: the variance at every point is then exact
        return height * torch.cat([torch.cos(angle), torch.sin(angle)], -1)

    return basis, coefficients


def _coregional_basis(
    B: Tensor, kernel: Stationary, inputs: Tensor, count: int, generator: torch.Generator, seed: int
) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """Outcomes are root(B) times independent draws: a set of Fourier features for each of these."""
    root = cholesky(B, "covariance between outcomes")
    each = [_fourier_basis(kernel, inputs[:, :-1], count, generator, seed) for _ in range(B.shape[-1])]

    def basis(points: Tensor) -> Tensor:
        features = each[0][0](points[..., :-1])
        shares = root[:, points[..., -1].long()]  # H x ... x m x o
        return torch.cat([share.unsqueeze(-1) * features for share in shares.unbind(-1)], -1)

    return basis, torch.cat([coefficients for _, coefficients in each], -1)


def _spread(profile: Profile, frequency: Tensor, u: Tensor) -> Tensor:
    """Normal frequencies made those of the profile: the spectral density of Matern-nu is a Student t, 2 nu degrees."""
    degrees = profile.twice_smoothness
    if degrees is None:
        return frequency
    # a chi-squared variable is a gamma one, doubled; scipy.stats would say it in a word, but takes long to import
    return frequency / torch.from_numpy(2.0 * special.gammaincinv(degrees / 2.0, u.numpy()) / degrees).sqrt()


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
