"""Small real Gaussian beliefs, and what they must say, computed the slow way: dense inverses and rebuilt beliefs."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.core.beliefs import Frame, Gaussian
from hentropy.core.beliefs.kernels import Kernel, Profile, Stationary

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
    noise = belief.frame.scale**2 * belief.future_noise[:, None, None] * torch.eye(x.shape[0], dtype=x.dtype)
    density = torch.distributions.MultivariateNormal(mean, cov + noise).log_prob(y).exp()
    return belief.weights * density / (belief.weights * density).sum()


def rebuilt(belief: Gaussian, x: Tensor, y: Tensor) -> Gaussian:
    """The belief made from scratch on the data and y (m) at x (m x d)."""
    outcomes = (belief.residual + belief.prior_mean(belief.inputs))[0]
    new = (y - belief.frame.shift) / belief.frame.scale
    return Gaussian.from_data(
        torch.cat([belief.X, x]),
        torch.cat([outcomes, new]),
        torch.cat([belief.noise, belief.future_noise[:, None].expand(-1, x.shape[0])], -1),
        belief.future_noise,
        belief.kernel,
        belief.prior_mean,
        belief.frame,
        bayes_weights(belief, x, y),
    )


def two_sided(false_alarm: float, tests: int) -> float:
    """How many standard errors `tests` normal averages all stay within, but for the false-alarm rate (Bonferroni)."""
    return math.sqrt(2.0) * float(torch.erfinv(torch.tensor(1.0 - false_alarm / tests, dtype=torch.float64)))
