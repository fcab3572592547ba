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

from hentropy.beliefs.kernels import Profile

NOISE_FLOOR = 1e-6
"""The least noise variance, as a share of the variance of the outcomes: keeps repeated designs and smooth kernels solvable."""


def log_prior_lengthscale(log_l: Tensor) -> Tensor:
    """log l ~ N(log(0.4 sqrt d), 1), for d lengthscales in the unit cube: ... x d to ... .

    Distances in the cube grow like sqrt d; a median that grows with them keeps neighbours correlated in ten dimensions.
    The width covers functions with several periods per axis (l about 0.1) and axes that hardly matter (l about 5): both
    are within two to three standard deviations, so that few data can choose them.
    """
    d = log_l.shape[-1]
    return -0.5 * (log_l - _lengthscale_location(d)).square().sum(-1) / LENGTHSCALE_WIDTH**2


LENGTHSCALE_MEDIAN = 0.4
LENGTHSCALE_WIDTH = 1.0
OUTPUTSCALE_WIDTH = 1.0
MEAN_WIDTH = 1.0
NOISE_MEDIAN = 1e-4
NOISE_WIDTH = 3.0


def _lengthscale_location(d: int) -> float:
    return math.log(LENGTHSCALE_MEDIAN) + 0.5 * math.log(d)


def log_prior_outputscale(log_s: Tensor) -> Tensor:
    """log s ~ N(0, 1): the outcomes have variance one; long lengthscales need more than that, constant stretches less."""
    return -0.5 * (log_s / OUTPUTSCALE_WIDTH).square()


def log_prior_mean(m: Tensor) -> Tensor:
    """m ~ N(0, 1): the mean of the outcomes, known to about their spread where the data cover the space badly."""
    return -0.5 * (m / MEAN_WIDTH).square()


def log_prior_noise(log_v: Tensor) -> Tensor:
    """log v ~ N(log 1e-4, 3): mostly next to nothing (simulators), yet a tenth of the variance costs only 2.7 nats."""
    return -0.5 * ((log_v - math.log(NOISE_MEDIAN)) / NOISE_WIDTH).square()


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
    """The target, given inputs (n x d, unit cube), standardised outcomes (n) and noise variances (n) or None to fit one."""

    inputs: Tensor
    outcomes: Tensor
    noise: Tensor | None
    profile: Profile

    @property
    def size(self) -> int:
        """p."""
        return self.inputs.shape[-1] + (3 if self.noise is None else 2)

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

    def log_prior(self, theta: Tensor) -> Tensor:
        """Rows C x p to C, up to a constant."""
        d = self.inputs.shape[-1]
        value = (
            log_prior_lengthscale(theta[:, :d]) + log_prior_outputscale(theta[:, d]) + log_prior_mean(theta[:, d + 1])
        )
        return value if self.noise is not None else value + log_prior_noise(theta[:, d + 2])

    def prior_draws(self, count: int, generator: torch.Generator) -> Tensor:
        """Rows drawn from the prior: count x p."""
        z = torch.randn(count, self.size, generator=generator, dtype=torch.float64).to(self.inputs)
        d = self.inputs.shape[-1]
        width = [LENGTHSCALE_WIDTH] * d + [OUTPUTSCALE_WIDTH, MEAN_WIDTH] + [NOISE_WIDTH] * (self.noise is None)
        return self.prior_median() + z * z.new_tensor(width)

    def prior_median(self) -> Tensor:
        """The middle of the prior: 1 x p."""
        d = self.inputs.shape[-1]
        middle = [_lengthscale_location(d)] * d + [0.0, 0.0] + [math.log(NOISE_MEDIAN)] * (self.noise is None)
        return self.inputs.new_tensor([middle])

    def with_noise(self, theta: Tensor) -> Tensor:
        """Rows without a noise (C x (d + 2)) with the prior's median noise: C x (d + 3)."""
        return torch.cat([theta, torch.full_like(theta[:, :1], math.log(NOISE_MEDIAN))], -1)
