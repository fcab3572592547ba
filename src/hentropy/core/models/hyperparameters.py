r"""The log posterior of the hyperparameters of the default model, explicit and for many of them at once.

The model sees designs in the unit cube and standardised outcomes:

    y_i = m + g(x_i) + e_i        g ~ GP(0, s k(|x - x'| / l))        e_i ~ N(0, v_i)

    n  observations     d  parameters of a design     C  rows of hyperparameters     p  hyperparameters in a row
    g  length scales: coordinates of one group share one, such as those of a choice; without groups g = d
    theta = (log l_1 ... log l_g, log s, m, log v); the last is absent where the noise is given, so p = g + 3 or g + 2

    log p(theta | y) = -1/2 r^T K^-1 r - 1/2 log det K + log prior(theta) + constant     r = y - m,  K = s k + diag(v)

One batched Cholesky factor serves all C rows. With alpha = K^-1 r, the derivative in K is (alpha alpha^T - K^-1) / 2.

The most probable ones are found from many starts screened in one batch; the best few are ascended together.

There are few hyperparameters (p), so BFGS keeps a whole inverse Hessian B (p x p) for each of the K rows that climb:

    step = t B g,   accepted where the log posterior rises by at least 1e-4 t g^T B g, else t is halved
    B' = (I - s u^T / s^T u) B (I - u s^T / s^T u) + s s^T / s^T u        s = theta' - theta,  u = g - g'

All rows share one batched value-and-gradient per round. B starts as the prior's covariance, which sets every scale.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hentropy.core.beliefs.kernels import Profile
from hentropy.core.beliefs.linalg import cholesky
from hentropy.errors import ModelError

NOISE_FLOOR = 1e-6
"""The least noise variance, as a share of the outcomes' variance: repeated designs and smooth kernels stay solvable."""


@dataclass(frozen=True)
class Normal:
    """A normal prior of one hyperparameter, on the scale that theta has."""

    location: float
    width: float


def lengthscale_prior(g: int) -> Normal:
    """log l ~ N(log(0.5 sqrt g), 1.3), for each of g lengthscales in the unit cube.

    Distances in the cube grow like sqrt g; a median that grows with them keeps neighbours correlated in ten dimensions.
    The width covers functions with several periods per axis (l about 0.1) and axes that hardly matter (l about 10),
    both within two standard deviations or so. Compared by the log density of held-out outcomes of rough, smooth, sparse
    and noisy functions: shorter or narrower loses on axes without effect, much longer on rough functions and few data.
    """
    return Normal(math.log(0.5 * math.sqrt(g)), 1.3)


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
    scales: tuple[int, ...] | None = None
    """Which length scale belongs to each coordinate (d numbers from 0 to g - 1); one each if left out."""

    @cached_property
    def groups(self) -> int:
        """g."""
        return self.inputs.shape[-1] if self.scales is None else max(self.scales) + 1

    @property
    def size(self) -> int:
        """p."""
        return self.groups + (3 if self.noise is None else 2)

    def lengthscales(self, theta: Tensor) -> Tensor:
        """The length scale of each coordinate: C x p to C x d."""
        own = theta[:, : self.groups].exp()
        return own if self.scales is None else own[:, list(self.scales)]

    def subset(self, rows: Tensor) -> "LogPosterior":
        """The same given some of the observations only."""
        rows = rows.to(self.inputs.device)
        noise = None if self.noise is None else self.noise[rows]
        return LogPosterior(self.inputs[rows], self.outcomes[rows], noise, self.profile, self.scales)

    @cached_property
    def squared_differences(self) -> Tensor:
        """(x_i - x_j)^2 of each group of coordinates: g x n^2, so that all scaled distances are one matrix product."""
        d = self.inputs.shape[-1]
        each = (self.inputs[:, None] - self.inputs[None]).square().reshape(-1, d).mT.contiguous()
        if self.scales is None or self.groups == d:
            return each
        group = torch.tensor(self.scales, device=each.device)
        return each.new_zeros(self.groups, each.shape[-1]).index_add_(0, group, each)

    def __call__(self, theta: Tensor) -> Tensor:
        """Rows C x p to C, up to a constant; -inf where the kernel matrix is not positive definite."""
        return self.log_likelihood(theta) + self.log_prior(theta)

    def log_likelihood(self, theta: Tensor) -> Tensor:
        """log N(y; m, K) without its constant: C x p to C."""
        g, n = self.groups, self.outcomes.shape[0]
        r2 = (torch.exp(-2.0 * theta[:, :g]) @ self.squared_differences).view(-1, n, n)
        G = self.profile.of_squared_distance(r2, theta[:, g].exp()[:, None, None])
        value: Tensor = _LogDensity.apply(G, self.noise_variance(theta), self.outcomes - theta[:, g + 1, None])
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
        g = self.groups
        priors = [lengthscale_prior(g)] * g + [outputscale_prior(), mean_prior()]
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
        """Rows without a noise (C x (g + 2)) with one drawn from its prior: C x (g + 3).

        One each: chains that agree in a coordinate would agree in it for ever.
        """
        prior = noise_prior()
        z = torch.randn(theta.shape[0], 1, generator=generator, dtype=torch.float64).to(theta)
        return torch.cat([theta, prior.location + prior.width * z], -1)


MANY = 128
"""Beyond so many observations an evaluation is expensive and the posterior has few summits: fewer starts then."""

SUBSET = 384
"""Beyond so many, the summits are looked for with so many observations at random; the best one then climbs with all."""

ROUNDS = 80
TOLERANCE = 1e-3
"""A row has arrived where no slope per prior standard deviation is above this: flat to about 1e-6."""

LONGEST_STEP = 2.0
"""In prior standard deviations: a first step far into a tail would be wasted."""


@dataclass(frozen=True)
class Summits:
    """Where rows arrived (K x p), the log posterior there (K), and BFGS's inverse Hessian of minus it (K x p x p)."""

    theta: Tensor
    value: Tensor
    spread: Tensor

    def around(self, count: int, generator: torch.Generator) -> Tensor:
        """Draws from the normal approximations at the summits, each with its share of the mass: count x p."""
        root = cholesky(self.spread, "spread of the hyperparameters")
        mass = self.value + root.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        chosen = torch.multinomial(torch.softmax(mass, 0).cpu(), count, replacement=True, generator=generator)
        z = torch.randn(count, self.theta.shape[-1], 1, generator=generator, dtype=torch.float64).to(self.theta)
        chosen = chosen.to(self.theta.device)
        return self.theta[chosen] + (root[chosen] @ z).squeeze(-1)


def maximise(target: LogPosterior, known: Tensor, generator: torch.Generator) -> Tensor:
    """The best row found: 1 x p. `known` rows (C x p, maybe none) of an earlier fit compete with draws of the prior."""
    found = summits(target, known, generator)
    return found.theta[found.value.argmax()].unsqueeze(0)


def summits(target: LogPosterior, known: Tensor, generator: torch.Generator) -> Summits:
    """Where the best of `known` rows and of draws of the prior lead."""
    n = target.outcomes.shape[0]
    if n > SUBSET:
        part = target.subset(torch.randperm(n, generator=generator)[:SUBSET])
        found = summits(part, known, generator)
        return ascend(target, found.theta[found.value.argmax()].unsqueeze(0))
    screened, ascended = (64, 4) if target.outcomes.shape[0] <= MANY else (16, 2)
    candidates = torch.cat([known, target.priors[0].unsqueeze(0), target.prior_draws(screened, generator)])
    best = target(candidates).topk(ascended).indices
    found = ascend(target, candidates[best])
    if not math.isfinite(float(found.value.max())):
        raise ModelError(
            "no hyperparameters give a positive definite kernel matrix; repeated designs with differing outcomes and a"
            " noise of zero are the likeliest cause: give the observations some noise, or none at all to have it fitted"
        )
    return found


def ascend(target: LogPosterior, theta: Tensor) -> Summits:
    """From rows K x p uphill."""
    width = target.priors[1]
    eye = torch.eye(theta.shape[-1], dtype=theta.dtype, device=theta.device)
    value, g = _value_and_slope(target, theta)
    B = torch.diag(width.square()).expand(theta.shape[0], -1, -1).clone()
    t = theta.new_ones(theta.shape[0])
    for _ in range(ROUNDS):
        direction = (B @ g.unsqueeze(-1)).squeeze(-1)
        longest = (direction / width).abs().amax(-1)
        direction = direction * (LONGEST_STEP / longest.clamp_min(LONGEST_STEP)).unsqueeze(-1)
        trial = theta + t.unsqueeze(-1) * direction
        new_value, new_g = _value_and_slope(target, trial)
        rise = new_value - value
        accepted = rise >= 1e-4 * t * (g * direction).sum(-1)  # False where the new value is -inf or NaN
        s, u = trial - theta, g - new_g
        su = (s * u).sum(-1)
        curved = accepted & (su > 1e-12)
        scale = torch.where(curved, su, 1.0)[:, None, None]
        left = eye - s.unsqueeze(-1) * u.unsqueeze(-2) / scale
        updated = left @ B @ left.mT + s.unsqueeze(-1) * s.unsqueeze(-2) / scale
        B = torch.where(curved[:, None, None], updated, B)
        theta = torch.where(accepted.unsqueeze(-1), trial, theta)
        g = torch.where(accepted.unsqueeze(-1), new_g, g)
        value = torch.where(accepted, new_value, value)
        t = torch.where(accepted, 1.0, 0.5 * t)
        arrived = ((g * width).abs().amax(-1) < TOLERANCE) | (t < 1e-6) | ~value.isfinite()
        if bool(arrived.all()):
            break
    return Summits(theta, value, B)


def _value_and_slope(target: LogPosterior, theta: Tensor) -> tuple[Tensor, Tensor]:
    with torch.enable_grad():
        theta = theta.detach().requires_grad_()
        value = target(theta)
        (slope,) = torch.autograd.grad(value.sum(), theta)
    return value.detach(), slope
