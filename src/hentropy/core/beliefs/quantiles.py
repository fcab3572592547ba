"""Quantiles of weighted sets of normal distributions, such as a mixture's belief at one point."""

from collections.abc import Sequence

import torch
from torch import Tensor

HALVINGS = 60
"""The interval that holds a quantile is halved so often: down to rounding errors."""


def mixture_quantiles(shares: Sequence[float], weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
    """Where so much of the probability lies below: S shares of mixtures with weights, mean and sd H x ...: S x ... .

    A component with sd 0 is a point mass.
    """
    share = torch.tensor(list(shares), dtype=mean.dtype, device=mean.device).view(-1, *[1] * (mean.dim() - 1))
    own = mean.unsqueeze(1) + sd.unsqueeze(1) * torch.special.ndtri(share)  # H x S x ...
    # the quantile lies between the least and the greatest of the components' own
    low, high = own.amin(0), own.amax(0)
    if mean.shape[0] == 1:
        return low
    weights, mean, sd = weights.unsqueeze(1), mean.unsqueeze(1), sd.clamp_min(1e-300).unsqueeze(1)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = (weights * torch.special.ndtr((middle - mean) / sd)).sum(0) < share
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return 0.5 * (low + high)


BRACKETING = 14
NEWTON = 3


def mixture_outcomes(z: Tensor, weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
    """The quantiles of mixtures at probability Phi(z): z b x N, weights, mean and sd H x b x 1: b x N.

    Differentiable in weights, mean and sd: the last Newton step from a solution has the derivative of the solution.
    """
    with torch.no_grad():
        share = 0.5 * torch.erfc(z * -(0.5**0.5))
        own = mean + sd * z
        low, high = own.amin(0), own.amax(0)
        for _ in range(BRACKETING):
            middle = 0.5 * (low + high)
            below = _distribution(middle, weights, mean, sd) < share
            low, high = torch.where(below, middle, low), torch.where(below, high, middle)
        y = 0.5 * (low + high)
        for _ in range(NEWTON):
            step = (_distribution(y, weights, mean, sd) - share) / _density(y, weights, mean, sd)
            y = torch.minimum(torch.maximum(y - step, low), high)
        slope = _density(y, weights, mean, sd)
    return y - (_distribution(y, weights, mean, sd) - share) / slope


def _distribution(y: Tensor, weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
    return (weights * torch.erfc((mean - y) / sd * 0.5**0.5)).sum(0) * 0.5


def _density(y: Tensor, weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
    return (weights * torch.exp(-0.5 * ((y - mean) / sd).square()) / sd).sum(0).clamp_min(1e-300) * 0.3989422804014327
