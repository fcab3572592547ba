"""Small real Gaussian beliefs, and what they must say, computed the slow way: dense inverses and rebuilt beliefs."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from hentropy.core.beliefs import Correlated, Frame, Gaussian, Known, Several, Transformed
from hentropy.core.beliefs.kernels import Composed, Coregional, Kernel, Profile, Stationary
from hentropy.core.beliefs.links import Bend
from hentropy.core.beliefs.terms import WAVES, Basis, FeatureKernel

LOW = torch.tensor([-3.0, 100.0], dtype=torch.float64)
WIDTH = torch.tensor([0.5, 40.0], dtype=torch.float64)


def tensor(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def designs(*shape: int, seed: int) -> Tensor:
    """Random designs in a box that neither starts at 0 nor has equal sides: shape x 2."""
    unit = torch.rand(*shape, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return LOW + WIDTH * unit


def truth(x: Tensor) -> Tensor:
    u = (x - LOW) / WIDTH
    return 4.0 + 3.0 * torch.sin(5.0 * u[..., 0]) * torch.cos(3.0 * u[..., 1])


@dataclass(frozen=True)
class LinearMean:
    """A prior mean that differs between components and over the inputs: ... x m x d to H x ... x m."""

    level: Tensor
    slope: Tensor

    def __call__(self, a: Tensor) -> Tensor:
        H = self.level.shape[0]
        level, slope = (v.view(H, *[1] * (a.dim() - 1)) for v in (self.level, self.slope))
        return level + slope * a.sum(-1)


def kernel(H: int, profile: Profile = Profile.MATERN52) -> Stationary:
    lengthscale = tensor([[0.4, 0.7], [0.25, 1.3], [0.9, 0.5]])[:H]
    return Stationary(profile, lengthscale, tensor([1.0, 1.7, 0.6])[:H])


def composed(H: int, d: int) -> Composed:
    """Components of different smoothness, with waves and a trend of different sizes (the second has none)."""
    basis = Basis(d, tuple(range(d)))
    size = tensor([0.4, 0.2])[: max(1, H - 1)]
    waves = size[:, None] / (1.0 + torch.arange(d * WAVES, dtype=torch.float64) % WAVES) ** 2
    profiles = (Profile.SQUARED_EXPONENTIAL, Profile.MATERN52, Profile.MATERN32)[:H]
    lengthscale = tensor([[0.4, 0.7], [0.25, 1.3], [0.9, 0.5]])[:H, :1].expand(H, d)
    stationary = Stationary(profiles, lengthscale, tensor([0.5, 0.8, 0.6])[:H])
    return Composed(stationary, FeatureKernel(basis, basis.variances(waves, size, 0.5 * size)), (0, 2)[: len(size)])


def gaussian(
    H: int = 1,
    noise: float | Tensor = 1e-2,
    future_noise: float = 2e-2,
    n: int = 7,
    X: Tensor | None = None,
    covariance: Kernel | None = None,
) -> Gaussian:
    """H components with unequal weights on n data; noise (one number or n) differs a little between components."""
    X = designs(n, seed=3) if X is None else X
    frame = Frame(lambda x: (x - LOW) / WIDTH, tensor(3.0), tensor(2.5))
    outcomes = (truth(X) - frame.shift) / frame.scale
    factors = tensor([1.0, 1.5, 0.7])[:H]
    given = torch.as_tensor(noise, dtype=torch.float64).expand(X.shape[0])
    return Gaussian.from_data(
        X,
        outcomes,
        factors[:, None] * given,
        factors * future_noise,
        kernel(H) if covariance is None else covariance,
        LinearMean(tensor([0.3, -0.2, 0.0])[:H], tensor([0.1, 0.0, -0.4])[:H]),
        frame,
        tensor([0.5, 0.3, 0.2])[:H] / tensor([0.5, 0.3, 0.2])[:H].sum(),
    )


def transformed(H: int = 3, bent: tuple[int, ...] = (0, 2), **given: Any) -> Transformed:
    """Components of `gaussian`, of which some are about transformed outcomes, four times as steep above a corner."""
    plain = gaussian(H, **given)
    number = tensor(1.0)
    bend = Bend.shaped(0.5 * number, 2.0 * number, 0.3 * number).within(plain.frame.shift, plain.frame.scale)
    which = torch.tensor([h in bent for h in range(H)])
    seen = torch.where(which[:, None], bend.behind(plain.observed), plain.observed)
    outcomes = (seen - plain.frame.shift) / plain.frame.scale
    own = (plain.noise, plain.future_noise, plain.kernel, plain.prior_mean, plain.frame, plain.weights)
    return Transformed(Gaussian.from_data(plain.X, outcomes, *own), bend, which)


def dense(belief: Gaussian, points: Tensor) -> tuple[Tensor, Tensor]:
    """Means (H x m) and covariances (H x m x m) at points m x d by the textbook formula, in the user's units."""
    a = belief.frame.transform(points)
    K = belief.kernel(belief.inputs, belief.inputs) + torch.diag_embed(belief.noise)
    k_aX, inverse = belief.kernel(a, belief.inputs), torch.linalg.inv(K)
    mean = belief.prior_mean(a) + (k_aX @ inverse @ belief.residual.unsqueeze(-1)).squeeze(-1)
    cov = belief.kernel(a, a) - k_aX @ inverse @ k_aX.mT
    return belief.frame.shift + belief.frame.scale * mean, belief.frame.scale**2 * cov


def bayes_weights(belief: Gaussian, x: Tensor, y: Tensor) -> Tensor:
    """Component weights after observing y (m) at x (m x d), from the densities of the outcome: H."""
    mean, cov = dense(belief, x)
    noise = torch.diag_embed(belief.noise_variance.unsqueeze(-1).expand(-1, len(x)))
    density = torch.distributions.MultivariateNormal(mean, cov + noise).log_prob(y).exp()
    return belief.weights * density / (belief.weights * density).sum()


def rebuilt(belief: Gaussian, x: Tensor, y: Tensor) -> Gaussian:
    """The belief made from scratch on the data and y (m) at x (m x d)."""
    outcomes = (belief.residual + belief.prior_mean(belief.inputs))[0]
    new = (y - belief.frame.shift) / belief.frame.scale
    return Gaussian.from_data(
        torch.cat([belief.X, x]),
        torch.cat([outcomes, new]),
        torch.cat([belief.noise, belief.future_noise.unsqueeze(-1).expand(-1, len(x))], -1),
        belief.future_noise,
        belief.kernel,
        belief.prior_mean,
        belief.frame,
        bayes_weights(belief, x, y),
    )


def two_sided(false_alarm: float, tests: int) -> float:
    """How many standard errors `tests` normal averages all stay within, but for the false-alarm rate (Bonferroni)."""
    return math.sqrt(2.0) * float(torch.erfinv(torch.tensor(1.0 - false_alarm / tests, dtype=torch.float64)))


def price(x: Tensor) -> Tensor:
    """What designs ... x 2 cost, without a doubt."""
    return 2.0 * (x[..., 0] - LOW[0]) + (x[..., 1] - LOW[1]) / WIDTH[1]


def two_outcomes(H: int = 1) -> Several:
    """Yield and impurity: other data, kernels and units, the same weights."""
    purity = gaussian(H, noise=4e-2, n=5, X=designs(5, seed=8), covariance=kernel(H, Profile.SQUARED_EXPONENTIAL))
    return Several(
        (
            replace(gaussian(H), outcomes=("yield",)),
            replace(purity, frame=replace(purity.frame, shift=tensor(-1.0), scale=tensor(0.6)), outcomes=("impurity",)),
        )
    )


def three_outcomes(H: int = 1) -> Several:
    """The same, and a price that is known."""
    two = two_outcomes(H)
    return Several((two.parts[0], Known(two.X[:0], price, ("price",)), two.parts[1]))


NAMES = ("yield", "impurity")
RHO = tensor([-0.7, -0.9, 0.4])


def correlated(H: int = 1, rho: Tensor = RHO) -> Correlated:
    """Yield and impurity that are correlated, each with data, noise and units of its own; two values are missing."""
    X = designs(7, seed=3)
    Y = torch.stack([truth(X), -1.0 - 0.2 * truth(X) + 0.3 * torch.cos(5.0 * (X[:, 0] - LOW[0]))], -1)
    Y[1, 0] = Y[4, 1] = torch.nan
    factors, cross = tensor([1.0, 1.5, 0.7])[:H], rho[:H] * tensor([1.1, 1.0, 0.9])[:H]
    B = torch.stack([torch.stack([factors, cross], -1), torch.stack([cross, 1.3 / factors], -1)], -2)
    unit = replace(kernel(H), outputscale=torch.ones(H, dtype=torch.float64))
    return Correlated.from_data(
        X,
        Y,
        NAMES,
        noise=factors[:, None, None] * tensor([1e-2, 4e-2]).expand(H, 7, 2),
        future_noise=factors[:, None] * tensor([2e-2, 5e-2]),
        kernel=unit,
        B=B,
        means=tensor([[0.3, -0.1], [-0.2, 0.2], [0.0, 0.4]])[:H],
        frame=Frame(lambda x: (x - LOW) / WIDTH, tensor([3.0, -1.5]), tensor([2.5, 0.5])),
        weights=tensor([0.5, 0.3, 0.2])[:H],
    )


def dense_outcomes(belief: Correlated, points: Tensor) -> tuple[Tensor, Tensor]:
    """Means H x m x o and covariances H x (m o) x (m o), point by point, entry by entry from the definition."""
    model, o = belief.stacked, len(belief.names)
    kernel_of = model.kernel
    assert isinstance(kernel_of, Coregional)
    a = belief.stacked.frame.transform.transform(points)  # type: ignore[attr-defined]
    sites = [(x, i) for x in a for i in range(o)]
    data = [(row[:-1], int(row[-1])) for row in model.inputs]

    def cov(first: list[tuple[Tensor, int]], second: list[tuple[Tensor, int]]) -> Tensor:
        rows = [
            [kernel_of.B[:, i, j] * kernel_of.kernel(x[None], y[None])[:, 0, 0] for y, j in second] for x, i in first
        ]
        return torch.stack([torch.stack(row, -1) for row in rows], -2)

    inverse = torch.linalg.inv(cov(data, data) + torch.diag_embed(model.noise))
    cross = cov(sites, data)
    prior = model.prior_mean.values  # type: ignore[attr-defined]
    gap = model.residual.unsqueeze(-1)
    mean = (cross @ inverse @ gap).squeeze(-1).unflatten(-1, (-1, o)) + prior[:, None]
    spread = belief.scale.repeat(len(points))
    return belief.shift + belief.scale * mean, spread[:, None] * spread * (
        cov(sites, sites) - cross @ inverse @ cross.mT
    )
