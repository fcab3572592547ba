r"""The most probable hyperparameters: many starts screened in one batch, the best few ascended together.

There are few hyperparameters (p), so BFGS keeps a whole inverse Hessian B (p x p) for each of the K rows that climb:

    step = t B g,   accepted where the log posterior rises by at least 1e-4 t g^T B g, else t is halved
    B' = (I - s u^T / s^T u) B (I - u s^T / s^T u) + s s^T / s^T u        s = theta' - theta,  u = g - g'

All rows share one batched value-and-gradient per round. B starts as the prior's covariance, which sets every scale.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.core.beliefs.linalg import cholesky
from hentropy.core.models.hyperparameters import LogPosterior
from hentropy.errors import ModelError

MANY = 128
"""Beyond so many observations a value is dear and the posterior has few summits: fewer starts then."""

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
