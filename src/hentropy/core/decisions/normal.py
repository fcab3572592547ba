"""Expectations of normal variables that closed forms are made of."""

import math

import numpy as np
import torch
from torch import Tensor

_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def density(u: Tensor) -> Tensor:
    """phi(u)."""
    return torch.exp(-0.5 * u.square() - _LOG_ROOT_TWO_PI)


def distribution(u: Tensor) -> Tensor:
    """Phi(u), by the complementary error function: exact far into the lower tail, where torch.special.ndtr gives 0."""
    return 0.5 * torch.erfc(u * -math.sqrt(0.5))


def excess(u: Tensor, s: Tensor) -> Tensor:
    """E max(0, s Z - u) = s phi(u/s) - u Phi(-u/s) for s >= 0; the limit max(0, -u) at s = 0."""
    safe = s.clamp_min(1e-150)
    t = (u / safe).clamp(-1e8, 1e8)
    return torch.where(s > 0, safe * density(t) - u * distribution(-t), (-u).clamp_min(0.0))


def maximum_of_two(mean: Tensor, cov: Tensor) -> Tensor:
    """E max(X1, X2) for jointly normal values: mean ... x 2, cov ... x 2 x 2 (Clark 1961)."""
    both = cov[..., 0, 0] + cov[..., 1, 1]
    spread = both - 2.0 * cov[..., 0, 1]
    positive = spread > 1e-14 * both  # less is rounding: the two are the same value
    return mean[..., 1] + excess(mean[..., 1] - mean[..., 0], torch.where(positive, spread, 1.0).sqrt() * positive)


def absolute(mean: Tensor, var: Tensor) -> Tensor:
    """E |X|: the mean of a folded normal."""
    s = torch.where(var > 0, var, 1.0).sqrt() * (var > 0)
    return excess(-mean, s) + excess(mean, s)


def different_signs(u: Tensor, s: Tensor, sd: Tensor) -> Tensor:
    """P(sign M != sign F) where M ~ N(u, s^2) is the mean after observing, F = M + N(0, sd^2 - s^2) the value itself.

    Phi(h) + Phi(k) - 2 Phi2(h, k; rho) with h = u/s, k = u/sd, rho = s/sd; the bivariate integral by 20 Gauss-Legendre
    nodes in the angle, in a form that stays smooth as rho goes to one.
    """
    nodes, weights = np.polynomial.legendre.leggauss(20)
    t, w = torch.from_numpy(nodes).to(u), torch.from_numpy(weights).to(u)
    sd = sd.clamp_min(1e-150)
    s = torch.minimum(s, sd).clamp_min(1e-150)
    rho = s / sd
    h, k = (u / s).clamp(-40.0, 40.0), (u / sd).clamp(-40.0, 40.0)
    top = torch.asin(rho.clamp_max(1.0 - 1e-14))
    theta = 0.5 * top.unsqueeze(-1) * (t + 1.0)
    sine, cosine2 = torch.sin(theta), torch.cos(theta).square()
    h1, k1 = h.unsqueeze(-1), k.unsqueeze(-1)
    exponent = ((h1 - k1).square() + 2.0 * h1 * k1 * (1.0 - sine)) / (2.0 * cosine2)
    bridge = 0.5 * top * (w * torch.exp(-exponent)).sum(-1) / (2.0 * math.pi)
    H, K = distribution(h), distribution(k)
    return (H + K - 2.0 * (H * K + bridge)).clamp_min(0.0)
