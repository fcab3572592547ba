r"""The information of an outcome about how great f gets: the truncated-normal form of max-value entropy search.

Given the maximum f*, the value at x is taken to be normal below f*. With gamma = (f* - mean)/sd, r = phi(gamma)/Phi(gamma),
rho^2 = var f / var y and a standardised outcome t, the outcome has density phi(t) Phi((gamma - rho t)/sqrt(1 - rho^2))/Phi(gamma),
and the information is

    rho^2 gamma r / 2 - log Phi(gamma) + E[w log w]/Phi(gamma),   w = Phi((gamma - rho t)/sqrt(1 - rho^2)),  t ~ N(0, 1)

whose last term vanishes without noise (Wang and Jegelka 2017) and is a one-dimensional integral otherwise.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from hentropy.beliefs import Belief, Gaussian, Needs, gauss_hermite
from hentropy.decisions.normal import density

MAXIMA = 64


def max_value_gain(belief: Belief, at: Tensor, seed: int) -> Callable[[Tensor], Tensor]:
    """The information about the maximum over candidates at (m x d), averaged over drawn maxima and components.

    For q observations, those of each in turn given the ones before it, means unchanged.
    """
    maxima = belief.sample(at, MAXIMA, seed).max(-1).values
    best = belief.moments(at, Needs.MEAN)
    maxima = maxima.clamp_min(best.expect_vector(best.mean).max())
    noise = belief.noise_std**2

    def gain(x: Tensor) -> Tensor:
        moments = belief.moments(x, Needs.VARIANCE)  # H x b x q
        var = moments.variance
        if isinstance(belief, Gaussian) and x.shape[-2] > 1:
            root = belief.look_ahead(x).L.diagonal(dim1=-2, dim2=-1) * belief.frame.scale
            var = (root.square() - noise).clamp_min(0.0)
        sd = var.clamp_min(1e-30).sqrt()
        gamma = (maxima - moments.mean.unsqueeze(-1)) / sd.unsqueeze(-1)
        rho = (var / (var + noise)).clamp(1e-12, 1.0 - 1e-9).sqrt().unsqueeze(-1)
        return moments.expect_vector(information(gamma, rho).mean(-1)).sum(-1)

    return gain


def information(gamma: Tensor, rho: Tensor) -> Tensor:
    """The information in nats for one maximum: gamma and rho broadcast."""
    gamma = gamma.clamp(-8.0, 40.0)
    log_below = torch.special.log_ndtr(gamma)
    ratio = density(gamma) * torch.exp(-log_below)
    nodes = gauss_hermite(48)
    t, weights = nodes.z[:, 0].to(gamma), nodes.weights.to(gamma)
    inner = (gamma.unsqueeze(-1) - rho.unsqueeze(-1) * t) / (1.0 - rho.square()).sqrt().unsqueeze(-1)
    log_w = torch.special.log_ndtr(inner.clamp_min(-35.0))
    correction = (weights * log_w.exp() * log_w).sum(-1) * torch.exp(-log_below)
    return (0.5 * rho.square() * gamma * ratio - log_below + correction).clamp_min(0.0)


def log_density(values: Tensor, draws: Tensor, leave_out: bool = False) -> Tensor:
    """The log of a normal kernel density of draws (S) at values; `leave_out`: values are the draws, each left out once."""
    S = draws.shape[-1]
    spread = draws.std().clamp_min(1e-12)
    width = 1.06 * spread * S**-0.2
    log_kernel = -0.5 * ((values.unsqueeze(-1) - draws) / width).square() - torch.log(width * math.sqrt(2 * math.pi))
    if leave_out:
        log_kernel = log_kernel.masked_fill(torch.eye(S, dtype=torch.bool, device=draws.device), -torch.inf)
    return torch.logsumexp(log_kernel, -1) - math.log(S - 1 if leave_out else S)
