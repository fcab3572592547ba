r"""Expectations of correlated normal values within limits: X in a box, for each outcome from `low` to `high`.

    P = P(X in box)        M_i = E[(X_i - mean_i) 1(X in box)]        S_ij = E[(X_i - mean_i)(X_j - mean_j) 1(X in box)]

Two outcomes in closed form. With standardised values Z, correlation r and bounds a, b, Stein's identity
E[Z_i g(Z)] = sum_j r_ij E[d_j g(Z)] leaves integrals along the edges of the box (Tallis 1961):

    E[Z_i 1] = sum_j r_ij (D_j(a_j) - D_j(b_j))         D_j(t) = phi(t) P(the other within | Z_j = t)

and P itself is four bivariate distribution functions. More outcomes by quasi-random nodes, one outcome after the other
given those before it, the least likely to be within its bounds first (Genz 1992).
"""

import math
from collections.abc import Sequence

import numpy as np

from hentropy.core.beliefs.linalg import scaled_root
from hentropy.core.decisions.normal import FAR, density, distribution, truncated
from hentropy.core.spaces import sobol
from hentropy.lazy import Tensor, torch

NODES = 128
"""Quasi-random nodes for three outcomes and more."""

LEGENDRE = np.polynomial.legendre.leggauss(20)

KNOWN = 1e-140
"""A standard deviation of a value that is known."""

CLOSEST = 1.0 - 1e-9
"""The largest correlation: beyond, two values are one."""


def bivariate(h: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """P(Z_1 <= h, Z_2 <= k) for correlation r, by 20 Gauss-Legendre nodes in the angle (Drezner and Wesolowsky 1990).

    The error is below 1e-14 for |r| up to 0.95, 1e-6 at 0.999 and 1e-4 beyond.
    """
    t, w = (torch.from_numpy(part).to(h) for part in LEGENDRE)
    top = torch.asin(r)
    angle = 0.5 * top.unsqueeze(-1) * (t + 1.0)
    h1, k1 = h.unsqueeze(-1), k.unsqueeze(-1)
    exponent = (h1.square() + k1.square() - 2.0 * h1 * k1 * torch.sin(angle)) / (2.0 * torch.cos(angle).square())
    bridge = 0.5 * top * (w * torch.exp(-exponent)).sum(-1) / (2.0 * math.pi)
    return distribution(h) * distribution(k) + bridge


def box_moments(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """P (...), M (... x o) and S (... x o x o) of values with mean ... x o, cov ... x o x o; bounds like the mean."""
    if mean.shape[-1] == 1:
        zero, var = torch.zeros_like(mean), cov.squeeze(-1)
        chance, first, second = truncated(zero, var, low - mean, high - mean)
        return chance.squeeze(-1), first, second.unsqueeze(-1)
    if mean.shape[-1] == 2:
        return _two(mean, cov, low, high)
    weights, values = box_draws(mean, cov, low, high)
    gap = values - mean
    each = weights.unsqueeze(-1)
    first = (each * gap).mean(0)
    second = (each.unsqueeze(-1) * gap.unsqueeze(-1) * gap.unsqueeze(-2)).mean(0)
    return weights.mean(0), first, second


def one_within(
    mean: Tensor, cov: Tensor, limited: Sequence[int], low: Tensor, high: Tensor, of: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """P, M and S (... each) of the value `of`, where the values `limited` are within bounds (... x number of these).

    A value without bounds of its own follows the others linearly.
    """
    own, index = mean[..., limited], torch.tensor(limited)
    chance, first, second = box_moments(own, cov[..., index[:, None], index], low, high)
    if of in limited:
        place = list(limited).index(of)
        return chance, first[..., place], second[..., place, place]
    among = cov[..., index[:, None], index]
    jitter = 1e-10 * among.diagonal(dim1=-2, dim2=-1) + 1e-300
    cross = cov[..., index, of]
    slope = torch.linalg.solve(among + torch.diag_embed(jitter), cross.unsqueeze(-1)).squeeze(-1)
    left = (cov[..., of, of] - (slope * cross).sum(-1)).clamp_min(0.0)
    spread = (slope.unsqueeze(-2) @ second @ slope.unsqueeze(-1)).squeeze(-1).squeeze(-1)
    return chance, (slope * first).sum(-1), spread + left * chance


def _two(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    s = cov.diagonal(dim1=-2, dim2=-1).clamp_min(1e-300).sqrt()
    r = (cov[..., 0, 1] / (s[..., 0] * s[..., 1])).clamp(-CLOSEST, CLOSEST)
    a, b = _standardised(low, high, mean, s)
    (a1, a2), (b1, b2) = a.unbind(-1), b.unbind(-1)
    open_below, open_above = ([bool(torch.isinf(side[..., i]).all()) for i in range(2)] for side in (low, high))

    def corner(h: Tensor, k: Tensor, h_open: bool, k_open: bool) -> Tensor:
        """P(Z_1 <= h, Z_2 <= k), either of which may be no bound at all."""
        if h_open or k_open:
            return torch.ones_like(r) if h_open and k_open else distribution(k if h_open else h)
        return bivariate(h, k, r)

    chance = corner(b1, b2, *open_above)
    if not open_below[0]:
        chance = chance - corner(a1, b2, False, open_above[1])
    if not open_below[1]:
        chance = chance - corner(b1, a2, open_above[0], False)
    if not any(open_below):
        chance = chance + bivariate(a1, a2, r)
    chance, left = chance.clamp(0.0, 1.0), 1.0 - r.square()

    def edge(at: Tensor, other_low: Tensor, other_high: Tensor) -> tuple[Tensor, Tensor]:
        """phi(at) times P and E of the other value within its bounds, given that this one is at its bound."""
        given = truncated(r * at, left, other_low, other_high)
        return density(at) * given[0], density(at) * given[1]

    low_1, low_2, high_1, high_2 = edge(a1, a2, b2), edge(a2, a1, b1), edge(b1, a2, b2), edge(b2, a1, b1)
    along = low_1[0] - high_1[0], low_2[0] - high_2[0]  # D_j(a_j) - D_j(b_j)
    own = a1 * low_1[0] - b1 * high_1[0], a2 * low_2[0] - b2 * high_2[0]
    other = low_1[1] - high_1[1], low_2[1] - high_2[1]
    first = torch.stack([along[0] + r * along[1], r * along[0] + along[1]], -1)
    s11 = chance + own[0] + r * other[1]
    s22 = chance + own[1] + r * other[0]
    s12 = r * chance + other[0] + r * own[1]
    second = torch.stack([torch.stack([s11, s12], -1), torch.stack([s12, s22], -1)], -2)
    return chance, s * first, s.unsqueeze(-1) * s.unsqueeze(-2) * second


def _standardised(low: Tensor, high: Tensor, mean: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
    """Bounds in standard deviations; a value that is known and at its bound is within.

    No bound, and a value that is known, are set apart before they are divided: their slopes would not be numbers.
    """
    known = s <= KNOWN
    scale = torch.where(known, 1.0, s)
    far = torch.full_like(mean, FAR)

    def standardised(bound: Tensor, inside: Tensor, outer: Tensor) -> Tensor:
        none = bound.isinf()
        place = ((torch.where(none, 0.0, bound) - mean) / scale).clamp(-FAR, FAR)
        return torch.where(none | (known & inside), outer, torch.where(known, -outer, place))

    return standardised(low, mean >= low, -far), standardised(high, mean <= high, far)


def box_draws(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """Values in the box (M x ... x o) with weights (M x ...): weighted averages over them are expectations in it."""
    s = cov.diagonal(dim1=-2, dim2=-1).clamp_min(1e-300).sqrt()
    mean, low, high, s = torch.broadcast_tensors(mean, low, high, s)
    cov = cov.expand(*mean.shape, mean.shape[-1])
    below, above = map(distribution, _standardised(low, high, mean, s))
    order = (above - below).argsort(stable=True, dim=-1)
    mean, low, high = (each.gather(-1, order) for each in (mean, low, high))
    rows, columns = order.unsqueeze(-1).expand(cov.shape), order.unsqueeze(-2).expand(cov.shape)
    weights, values = _in_order(mean, cov.gather(-2, rows).gather(-1, columns), low, high)
    return weights, values.gather(-1, order.argsort(-1).expand(values.shape))


def _in_order(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """The same, beginning with the first outcome."""
    o = mean.shape[-1]
    root = scaled_root(cov)
    u = sobol(NODES, o, 0).to(mean).view(NODES, *[1] * (mean.dim() - 1), o)
    weights = mean.new_ones(())
    z: list[Tensor] = []
    values: list[Tensor] = []
    for i in range(o):
        given = mean[..., i]
        for j, before in enumerate(z):
            given = given + root[..., i, j] * before
        s = root[..., i, i].clamp_min(1e-300)
        below, above = map(distribution, _standardised(low[..., i], high[..., i], given, s))
        weights = weights * (above - below)
        place = (below + u[..., i] * (above - below)).clamp(1e-300, 1.0 - 1e-16)
        z.append(torch.special.ndtri(place))
        values.append(given + root[..., i, i] * z[-1])
    return weights, torch.stack(torch.broadcast_tensors(*values), -1)


def positive_product(mean: Tensor, cov: Tensor) -> Tensor:
    """E of the product of the positive parts of values with mean ... x o and cov ... x o x o: ... .

    Two in closed form; of more, the last two are, given nodes of those before them.
    """
    if mean.shape[-1] == 2:
        chance, first, second = box_moments(mean, cov, torch.zeros_like(mean), torch.full_like(mean, torch.inf))
        across = (mean * first.flip(-1)).sum(-1)
        return (mean.prod(-1) * chance + across + second[..., 0, 1]).clamp_min(0.0)
    at, own, cross = mean[..., :-2], cov[..., :-2, :-2], cov[..., :-2, -2:]
    weights, values = box_draws(at, own, torch.zeros_like(at), torch.full_like(at, torch.inf))
    jitter = 1e-10 * own.diagonal(dim1=-2, dim2=-1) + 1e-300
    slope = torch.linalg.solve(own + torch.diag_embed(jitter), cross)
    given = mean[..., -2:] + ((values - at).unsqueeze(-2) @ slope).squeeze(-2)
    rest = positive_product(given, (cov[..., -2:, -2:] - cross.mT @ slope).expand(*given.shape, 2))
    return (weights * values.prod(-1) * rest).mean(0)
