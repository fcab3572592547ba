r"""Noise with heavy tails: Student's t distribution, a mixture of normal ones.

    e_i ~ t_nu, scale sqrt(v)       is       e_i | w_i ~ N(0, v / w_i),   w_i ~ Gamma(nu/2, nu/2)

Given the weight w_i of each observation everything is Gaussian: an error of many scales has a small weight. The best
approximation in which weights are independent of f is q(w_i) = Gamma(a, b_i) (Tipping and Lawrence 2005),

    a = (nu + 1) / 2        b_i = (nu + E[(y_i - f_i)^2] / v) / 2        E w_i = a / b_i

    log p(y) >= log N(y; m, K + diag(v / E w)) - sum_i price(E w_i)
    price(E w_i) = KL(q(w_i) || p(w_i)) + (log a - psi(a)) / 2

As weights that are independent of f make too sure of it, a belief has the noise v / E w x (nu + 3) / (nu + 1): what an
observation tells of f on average is the Fisher information of the t distribution, (nu + 1) / (nu + 3) / v. Standard
deviations are then within an eighth of those of the exact posterior, and too small by up to a third where an
observation may be wrong or not. An observation to come has variance v nu / (nu - 2).
"""

import math

from hentropy.lazy import Tensor, torch

FREEDOM = 4.0
"""nu. With 4, a measurement in 120 is off by more than 4 scales, and the variance is twice the squared scale."""

FUTURE = FREEDOM / (FREEDOM - 2.0)
"""The variance of an observation to come, in squared scales."""

BLURRED = (FREEDOM + 3.0) / (FREEDOM + 1.0)
"""By so much the noise variance in a belief is greater than that of the bound."""

GROSS_ERROR_WEIGHT = (FREEDOM + 1.0) / (FREEDOM + 16.0)
"""The weight of an observation that is off by 4 scales: those with less are named as gross errors."""

_A, _A0 = 0.5 * (FREEDOM + 1.0), 0.5 * FREEDOM


def weights_of(square: Tensor) -> Tensor:
    """E w for expected squares of errors, in squared scales; any shape."""
    return (FREEDOM + 1.0) / (FREEDOM + square)


def price(weight: Tensor) -> Tensor:
    """How much of the bound on the log evidence a weight E w costs, any shape: least at about 1."""
    b, psi = _A / weight, torch.digamma(weight.new_tensor(_A))
    divergence = (_A - _A0) * psi - math.lgamma(_A) + math.lgamma(_A0) + _A0 * (b / _A0).log() + _A * (_A0 - b) / b
    return divergence + 0.5 * (math.log(_A) - psi)
