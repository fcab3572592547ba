r"""The information of an outcome about how great f gets: the truncated-normal form of max-value entropy search.

Given the maximum f*, the value at x is taken to be normal below f*. With gamma = (f* - mean)/sd,
r = phi(gamma)/Phi(gamma), rho^2 = var f / var y and a standardised outcome t, the outcome has the density
phi(t) Phi((gamma - rho t)/sqrt(1 - rho^2))/Phi(gamma), and the information is

    rho^2 gamma r / 2 - log Phi(gamma) + E[w log w]/Phi(gamma),   w = Phi((gamma - rho t)/sqrt(1 - rho^2)),  t ~ N(0, 1)

whose last term vanishes without noise (Wang and Jegelka 2017) and is a one-dimensional integral otherwise.
"""

import math
from collections.abc import Callable

import numpy as np

from hentropy.core.beliefs import Belief, Gaussian, Needs
from hentropy.core.beliefs.linalg import RESOLVABLE
from hentropy.core.beliefs.normal import density, distribution
from hentropy.errors import DecisionError
from hentropy.lazy import Tensor, torch

MAXIMA = 64
INFORMATION_NODES = 36
INFORMATION_LEGENDRE = np.polynomial.legendre.leggauss(INFORMATION_NODES)

INTEGRAL_REACH = 8.0
"""This many standard deviations out, nothing is left to integrate."""

INFORMATION_NUMBERS = 2**18
"""Numbers in the largest array of one chunk of designs: what stays in the cache."""


def max_value_numbers(belief: Belief) -> int:
    """How many numbers the gain holds at once for one design."""
    return 4 * MAXIMA * INFORMATION_NODES * belief.components


def max_value_gain(belief: Belief, at: Tensor, seed: int) -> Callable[[Tensor], Tensor]:
    """The information about the maximum over candidates at (m x d), averaged over drawn maxima and components.

    For q observations, those of each in turn given the ones before it, means unchanged.
    """
    maxima = belief.sample(at, MAXIMA, seed).max(-1).values
    best = belief.moments(at, Needs.MEAN)
    maxima = maxima.clamp_min(best.expect_vector(best.mean).max())
    maxima = belief.behind(maxima)[0][:, None, None]  # as each component sees them: H x 1 x 1 x S

    def told(mean: Tensor, var: Tensor, noise: Tensor) -> Tensor:
        """The information of outcomes with these moments, a few designs at a time: H x b x q."""
        size = max(1, INFORMATION_NUMBERS // (MAXIMA * INFORMATION_NODES * mean.shape[0] * max(1, mean.shape[-1])))
        parts = []
        for start in range(0, mean.shape[1], size):
            m, v, n = (each[:, start : start + size].unsqueeze(-1) for each in (mean, var, noise))
            gamma = (maxima - m) / v.clamp_min(1e-300).sqrt()
            rho = (v / (v + n).clamp_min(1e-300)).clamp(1e-12, 1.0 - 1e-12).sqrt()
            parts.append(information(gamma, rho).mean(-1))
        return torch.cat(parts, 1)

    def gain(x: Tensor) -> Tensor:
        weights, mean, var, noise, known = _outcomes(belief, x)
        shared = _common(x)  # pending designs, say, tell the same whatever comes after them
        first = told(*(each[:, :1, :shared] for each in (mean, var, noise)))
        rest = told(*(each[:, :, shared:] for each in (mean, var, noise)))
        each = torch.cat([first.expand(-1, x.shape[0], -1), rest], -1)
        return torch.tensordot(weights, torch.where(known, 0.0, each).sum(-1), 1)

    return gain


def _common(x: Tensor) -> int:
    """How many of the first designs all rows of b x q x d share; none where a gradient is wanted of each."""
    if x.requires_grad:
        return 0
    return int((x == x[:1]).flatten(2).all(-1).all(0).long().cumprod(0).sum())


def _outcomes(belief: Belief, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Weights (H); mean, variance and noise variance of f at x (b x q x d), each given those before; which are known:
    H x b x q.
    """
    gp: Gaussian | None = belief.process
    if gp is None:
        # all functions together count as one normal distribution
        root = belief.look_ahead(x).joint_root
        if root is None:
            raise DecisionError(
                f'Identify("max") does not know how to look ahead with a belief of type {type(belief).__name__}'
            )
        mean, marginal = belief.moments(x, Needs.VARIANCE).total()
        given = root.diagonal(dim1=-2, dim2=-1).square() - belief.noise_std**2
        known = (given <= RESOLVABLE * marginal).unsqueeze(0)
        mean, var = mean.unsqueeze(0), torch.where(known, 1.0, given.unsqueeze(0))
        return mean.new_ones(1), mean, var, torch.full_like(mean, belief.noise_std**2), known
    look, scale = gp.look_ahead(x), gp.frame.scale
    noise = gp.noise_variance.view(-1, 1, 1).expand_as(look.mean)
    var = (scale * look.L.diagonal(dim1=-2, dim2=-1)).square() - noise
    known = look.blind | (var <= 0)
    mean = gp.frame.shift + scale * look.mean
    return gp.weights, mean, torch.where(known, 1.0, var), noise, known


def information(gamma: Tensor, rho: Tensor) -> Tensor:
    """The information in nats for one maximum: gamma and rho broadcast."""
    gamma = gamma.clamp(-8.0, 40.0)
    log_below = torch.special.log_ndtr(gamma)
    ratio = density(gamma) * torch.exp(-log_below)
    correction = _entropy_of_weight(gamma, rho) * torch.exp(-log_below)
    return (0.5 * rho.square() * gamma * ratio - log_below + correction).clamp_min(0.0)


def _entropy_of_weight(gamma: Tensor, rho: Tensor) -> Tensor:
    """E[w log w]: Legendre nodes where neither phi(t) nor w log w is zero, however narrow that is."""
    nodes, weights = INFORMATION_LEGENDRE
    node, weight = torch.from_numpy(nodes).to(gamma), torch.from_numpy(weights).to(gamma)
    root = (1.0 - rho.square()).sqrt()
    low = ((gamma - INTEGRAL_REACH * root) / rho).clamp(-INTEGRAL_REACH, INTEGRAL_REACH)
    high = ((gamma + INTEGRAL_REACH * root) / rho).clamp(-INTEGRAL_REACH, INTEGRAL_REACH)
    half = 0.5 * (high - low).unsqueeze(-1)
    t = torch.addcmul(low.unsqueeze(-1), half, node + 1.0)
    w = distribution(((gamma / root).unsqueeze(-1) - (rho / root).unsqueeze(-1) * t).clamp_min(-2.0 * INTEGRAL_REACH))
    return ((density(t) * torch.xlogy(w, w)) @ weight) * half.squeeze(-1)


def log_density(values: Tensor, draws: Tensor, leave_out: bool = False) -> Tensor:
    """The log of a kernel density of draws (... x S) at values; `leave_out`: at the draws, each left out once."""
    S = draws.shape[-1]
    spread = draws.std(-1, keepdim=True).clamp_min(1e-12)
    width = 1.06 * spread * S**-0.2
    log_kernel = -0.5 * ((values.unsqueeze(-1) - draws) / width).square() - torch.log(width * math.sqrt(2 * math.pi))
    if leave_out:
        log_kernel = log_kernel.masked_fill(torch.eye(S, dtype=torch.bool, device=draws.device), -torch.inf)
    return torch.logsumexp(log_kernel, -1) - math.log(S - 1 if leave_out else S)
