"""Expectations of normal variables that closed forms are made of, and of the upper envelope of lines."""

import math

from hentropy.core.beliefs import Moments
from hentropy.core.beliefs.links import Latent, put
from hentropy.core.beliefs.normal import FAR, LEGENDRE, bivariate_excess, density, distribution
from hentropy.lazy import Tensor, torch


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


def chance_within(mean: Tensor, var: Tensor, low: float, high: float) -> Tensor:
    """P(low <= X <= high); a bound may be infinite, which costs nothing, and var zero."""
    random = var > 0
    s = torch.where(random, var, 1.0).sqrt()
    if math.isinf(low):
        chance = distribution((high - mean) / s) if math.isfinite(high) else torch.ones_like(mean)
    elif math.isinf(high):
        chance = distribution((mean - low) / s)
    else:  # both bounds in the lower tail, where probabilities keep their digits
        a, b = (low - mean) / s, (high - mean) / s
        above = a > 0
        chance = distribution(torch.where(above, -a, b)) - distribution(torch.where(above, -b, a))
    return torch.where(random, chance, ((mean >= low) & (mean <= high)).to(mean))


def truncated(mean: Tensor, var: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """E X^p 1(low <= X <= high) for p = 0, 1, 2; the bounds may be infinite, and var zero."""
    random = var > 0
    s = torch.where(random, var, 1.0).sqrt()
    a, b = (_standardised(bound, mean, s) for bound in (low, high))
    # both bounds in the lower tail, where probabilities keep their digits
    chance = torch.where(a > 0, distribution(-a) - distribution(-b), distribution(b) - distribution(a))
    at_a, at_b = density(a), density(b)
    first = mean * chance + s * (at_a - at_b)
    second = mean * first + s.square() * (chance + a * at_a - b * at_b) + mean * s * (at_a - at_b)
    inside = ((mean >= low) & (mean <= high)).to(mean)
    known = (inside, inside * mean, inside * mean.square())
    return tuple(torch.where(random, x, y) for x, y in zip((chance, first, second), known, strict=True))  # type: ignore[return-value]


def truncated_values(
    moments: Moments, gap: Tensor, var: Tensor, about: Tensor, low: Tensor, high: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """E (f - about)^p 1(low <= f <= high) for p = 0, 1, 2, where f - about has the mean `gap` and this variance.

    Of moments of a single outcome whose values may not be normal.
    """
    if moments.latent is not None:
        return truncated_outcomes(moments.latent, about, low, high)
    return truncated(gap, var, low - about, high - about)


def truncated_outcomes(latent: Latent, about: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same of outcomes (H x ... x m), some of which are bent: a closed form for the others."""
    plain = truncated(latent.mean - about, latent.var.expand_as(latent.mean), low - about, high - about)
    bent = latent.truncated(about, low, high)
    both = [put(one, other, latent.own) for one, other in zip(plain, bent, strict=True)]
    return both[0], both[1], both[2]


def _standardised(bound: Tensor, mean: Tensor, s: Tensor) -> Tensor:
    finite = torch.isfinite(bound)
    # an infinite bound has no gradient, not even one that is not a number
    u = (torch.where(finite, bound, 0.0) - mean) / s
    return torch.where(finite, u, torch.sign(bound) * FAR).clamp(-FAR, FAR)


def different_signs(u: Tensor, s: Tensor, sd: Tensor) -> Tensor:
    """P(sign M != sign F) where M ~ N(u, s^2) is the mean after observing, F = M + N(0, sd^2 - s^2) the value itself.

    Phi(h) + Phi(k) - 2 Phi2(h, k; rho) with h = u/s, k = u/sd, rho = s/sd.
    """
    sd = sd.clamp_min(1e-150)
    s = torch.minimum(s, sd).clamp_min(1e-150)
    h, k = (u / s).clamp(-40.0, 40.0), (u / sd).clamp(-40.0, 40.0)
    H, K = distribution(h), distribution(k)
    return (H + K - 2.0 * (H * K + bivariate_excess(h, k, s / sd))).clamp_min(0.0)


NEARLY_ONE = 0.9


def both_positive(h: Tensor, k: Tensor, rho: Tensor) -> Tensor:
    """Phi2(h, k; rho): P(X > 0, Y > 0) for normal values with means h, k, variances 1 and a correlation rho >= 0.

    With rho = cos(turn), the integral over angles goes up from independent values, or down from equal ones where rho is
    above `NEARLY_ONE`; there nodes crowd where X and Y are nearly equal. 20 Gauss-Legendre nodes: the error is below
    1e-5, and below 1e-8 where h and k differ as they do for a confidence of 0.95 or more.
    """
    nodes, weights = LEGENDRE
    t, w = 0.5 * (torch.from_numpy(nodes).to(h) + 1.0), 0.5 * torch.from_numpy(weights).to(h)
    h, k = h.clamp(-40.0, 40.0), k.clamp(-40.0, 40.0)
    turn = torch.acos(rho.clamp(0.0, 1.0 - 1e-14)).unsqueeze(-1)
    near = (rho > NEARLY_ONE).unsqueeze(-1)
    angle = torch.where(near, turn * t.square(), turn + (0.5 * math.pi - turn) * t)
    width = torch.where(near, -2.0 * turn * t, 0.5 * math.pi - turn)
    h1, k1 = h.unsqueeze(-1), k.unsqueeze(-1)
    exponent = ((h1 - k1).square() + 4.0 * h1 * k1 * torch.sin(0.5 * angle).square()) / (
        2.0 * torch.sin(angle).square()
    )
    bridge = (w * width * torch.exp(-exponent)).sum(-1) / (2.0 * math.pi)
    start = torch.where(near.squeeze(-1), distribution(torch.minimum(h, k)), distribution(h) * distribution(k))
    return (start + bridge).clamp_min(0.0)


def kept_above(u: Tensor, s: Tensor, sd: Tensor, confidence: float) -> Tensor:
    """E max(0, (P - c) / (1 - c)) where P is the probability, after observing, that the value is above 0.

    The value is N(u, sd^2) now, its mean after observing N(u, s^2), and c the confidence. P reaches c where that mean
    reaches z(c) sqrt(sd^2 - s^2): the expectation is (P(value > 0, P >= c) - c P(P >= c)) / (1 - c).
    """
    sd = sd.clamp_min(1e-150)
    s = torch.minimum(s, sd).clamp_min(1e-150)
    rho = (s / sd).clamp_max(1.0 - 1e-14)
    rest = sd * ((1.0 - rho) * (1.0 + rho)).sqrt()
    needed = torch.special.ndtri(torch.tensor(confidence, dtype=torch.float64)).to(u)
    h = ((u - needed * rest) / s).clamp(-40.0, 40.0)
    both = both_positive(h, (u / sd).clamp(-40.0, 40.0), rho)
    return ((both - confidence * distribution(h)) / (1.0 - confidence)).clamp_min(0.0)


def expected_rise(intercept: Tensor, slope: Tensor) -> Tensor:
    """E max_i (m_i + s_i Z) - max_i m_i for intercepts and slopes ... x m: ..., never negative, differentiable.

    Equals the sum over the envelope's corners c of (s_next - s) (phi(c) - |c| Phi(-|c|)) (Frazier et al. 2009).
    """
    m, s = torch.broadcast_tensors(intercept, slope)
    with torch.no_grad():
        current = _leftmost(m, s)
    total = m.new_zeros(m.shape[:-1])
    for _ in range(m.shape[-1]):
        m_now, s_now = _pick(m, current), _pick(s, current)
        with torch.no_grad():
            following, found = _overtaker(m, s, m_now, s_now)
        if not bool(found.any()):
            break
        m_next, s_next = _pick(m, following), _pick(s, following)
        gap = torch.where(found, s_next - s_now, 1.0)
        corner = torch.where(found, m_now - m_next, 0.0).abs()  # |c| x gap
        total = total + torch.where(found, excess(corner, gap), 0.0)
        current = torch.where(found, following, current)
    return total


def _pick(values: Tensor, index: Tensor) -> Tensor:
    return values.gather(-1, index.unsqueeze(-1)).squeeze(-1)


def _leftmost(m: Tensor, s: Tensor) -> Tensor:
    """The line that is on top as Z goes to minus infinity: least slope, then largest intercept."""
    least = s.min(-1, keepdim=True).values
    return torch.where(s == least, m, -torch.inf).argmax(-1)


def _overtaker(m: Tensor, s: Tensor, m_now: Tensor, s_now: Tensor) -> tuple[Tensor, Tensor]:
    """The steeper line that crosses the current one first; of several there, the steepest."""
    rise = s - s_now.unsqueeze(-1)
    steeper = rise > 0
    crossing = torch.where(steeper, (m_now.unsqueeze(-1) - m) / torch.where(steeper, rise, 1.0), torch.inf)
    first = crossing.min(-1, keepdim=True).values
    following = torch.where(steeper & (crossing <= first), s, -torch.inf).argmax(-1)
    return following, steeper.any(-1)
