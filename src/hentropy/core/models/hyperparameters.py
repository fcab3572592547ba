r"""The log posterior of the hyperparameters of the default model, explicit and for many of them at once.

The model sees designs in the unit cube and standardised outcomes:

    y_i = m + g(x_i) + e_i        g ~ GP(0, s k(|x - x'| / l))        e_i ~ N(0, v_i)

    n  observations     d  parameters of a design     C  rows of hyperparameters     p  hyperparameters in a row
    theta = (log l_1 ... log l_d, log s, m, log v); the last is absent where the noise is given, so p = d + 3 or d + 2

    log p(theta | y) = -1/2 r^T K^-1 r - 1/2 log det K + log prior(theta) + constant     r = y - m,  K = s k + diag(v)

One batched Cholesky factor serves all C rows. With alpha = K^-1 r, the derivative in K is (alpha alpha^T - K^-1) / 2.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hentropy.core.beliefs.kernels import Profile

NOISE_FLOOR = 1e-6
"""The least noise variance, as a share of the outcomes' variance: repeated designs and smooth kernels stay solvable."""


@dataclass(frozen=True)
class Normal:
    """A normal prior of one hyperparameter, on the scale that theta has."""

    location: float
    width: float


def lengthscale_prior(d: int) -> Normal:
    """log l ~ N(log(0.5 sqrt d), 1.3), for each of d lengthscales in the unit cube.

    Distances in the cube grow like sqrt d; a median that grows with them keeps neighbours correlated in ten dimensions.
    The width covers functions with several periods per axis (l about 0.1) and axes that hardly matter (l about 10),
    both within two standard deviations or so. Compared by the log density of held-out outcomes of rough, smooth, sparse
    and noisy functions: shorter or narrower loses on axes without effect, much longer on rough functions and few data.
    """
    return Normal(math.log(0.5 * math.sqrt(d)), 1.3)


def outputscale_prior() -> Normal:
    """log s ~ N(0, 1): the outcomes have variance one; long lengthscales need more. Half as wide did worse."""
    return Normal(0.0, 1.0)


def mean_prior() -> Normal:
    """m ~ N(0, 1): the mean of the outcomes, known to about their spread where the data cover the space badly."""
    return Normal(0.0, 1.0)


def noise_prior() -> Normal:
    """log v ~ N(log 1e-4, 3): mostly next to nothing (simulators), yet a tenth of the variance costs only 2.7 nats."""
    return Normal(math.log(1e-4), 3.0)


class _LogDensity(torch.autograd.Function):
    """log N(r; 0, K) without its constant, K = G + diag(v): G is C x n x n, v and r are C x n; C.

    -inf where K is not positive definite; such rows hand no derivative on.
    """

    @staticmethod
    def forward(ctx: Any, G: Tensor, v: Tensor, r: Tensor) -> Tensor:
        K = G.clone()
        K.diagonal(dim1=-2, dim2=-1).add_(v)
        L, info = torch.linalg.cholesky_ex(K)
        white = torch.linalg.solve_triangular(L, r.unsqueeze(-1), upper=False)
        value = -0.5 * white.square().sum((-2, -1)) - L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        good = (info == 0) & value.isfinite()
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(L, white, good)
        return torch.where(good, value, -torch.inf)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        L, white, good = ctx.saved_tensors
        alpha = torch.linalg.solve_triangular(L.mT, white, upper=True)
        by_K = 0.5 * grad[:, None, None] * (alpha @ alpha.mT - torch.cholesky_inverse(L))
        by_r = -grad[:, None] * alpha.squeeze(-1)
        # the factor of a failed row holds NaN, and 0 x NaN is NaN: it must not reach the shared parameters
        by_K = torch.where(good[:, None, None], by_K, 0.0)
        return by_K, by_K.diagonal(dim1=-2, dim2=-1), torch.where(good[:, None], by_r, 0.0)


@dataclass(frozen=True)
class LogPosterior:
    """Given inputs (n x d, unit cube), standardised outcomes (n), and noise variances (n) or None to fit one."""

    inputs: Tensor
    outcomes: Tensor
    noise: Tensor | None
    profile: Profile

    @property
    def size(self) -> int:
        """p."""
        return self.inputs.shape[-1] + (3 if self.noise is None else 2)

    def subset(self, rows: Tensor) -> "LogPosterior":
        """The same given some of the observations only."""
        rows = rows.to(self.inputs.device)
        noise = None if self.noise is None else self.noise[rows]
        return LogPosterior(self.inputs[rows], self.outcomes[rows], noise, self.profile)

    @cached_property
    def squared_differences(self) -> Tensor:
        """(x_i - x_j)^2 along each axis: d x n^2, so that all scaled distances are one matrix product."""
        d = self.inputs.shape[-1]
        return (self.inputs[:, None] - self.inputs[None]).square().reshape(-1, d).mT.contiguous()

    def __call__(self, theta: Tensor) -> Tensor:
        """Rows C x p to C, up to a constant; -inf where the kernel matrix is not positive definite."""
        return self.log_likelihood(theta) + self.log_prior(theta)

    def log_likelihood(self, theta: Tensor) -> Tensor:
        """log N(y; m, K) without its constant: C x p to C."""
        d, n = self.inputs.shape[-1], self.outcomes.shape[0]
        r2 = (torch.exp(-2.0 * theta[:, :d]) @ self.squared_differences).view(-1, n, n)
        G = self.profile.of_squared_distance(r2, theta[:, d].exp()[:, None, None])
        value: Tensor = _LogDensity.apply(G, self.noise_variance(theta), self.outcomes - theta[:, d + 1, None])
        return value

    def noise_variance(self, theta: Tensor) -> Tensor:
        """The noise variance of each observation: C x n."""
        n = self.outcomes.shape[0]
        if self.noise is not None:
            return self.noise.expand(theta.shape[0], n)
        return (NOISE_FLOOR + theta[:, -1:].exp()).expand(theta.shape[0], n)

    @cached_property
    def priors(self) -> tuple[Tensor, Tensor]:
        """Location and width of each hyperparameter's normal prior: p and p."""
        d = self.inputs.shape[-1]
        priors = [lengthscale_prior(d)] * d + [outputscale_prior(), mean_prior()]
        priors += [noise_prior()] * (self.noise is None)
        return (
            self.inputs.new_tensor([prior.location for prior in priors]),
            self.inputs.new_tensor([prior.width for prior in priors]),
        )

    def log_prior(self, theta: Tensor) -> Tensor:
        """Rows C x p to C, up to a constant."""
        location, width = self.priors
        return -0.5 * ((theta - location) / width).square().sum(-1)

    def prior_draws(self, count: int, generator: torch.Generator) -> Tensor:
        """Rows drawn from the prior: count x p."""
        location, width = self.priors
        z = torch.randn(count, self.size, generator=generator, dtype=torch.float64)
        return location + width * z.to(location)

    def with_noise(self, theta: Tensor, generator: torch.Generator) -> Tensor:
        """Rows without a noise (C x (d + 2)) with one drawn from its prior: C x (d + 3).

        One each: chains that agree in a coordinate would agree in it for ever.
        """
        prior = noise_prior()
        z = torch.randn(theta.shape[0], 1, generator=generator, dtype=torch.float64).to(theta)
        return torch.cat([theta, prior.location + prior.width * z], -1)
