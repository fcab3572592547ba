r"""Expectations of correlated normal values within limits: X in a box, for each outcome from `low` to `high`.

    P = P(X in box)        M_i = E[(X_i - mean_i) 1(X in box)]        S_ij = E[(X_i - mean_i)(X_j - mean_j) 1(X in box)]

Two outcomes in closed form. With standardised values Z, correlation r and bounds a, b, Stein's identity
E[Z_i g(Z)] = sum_j r_ij E[d_j g(Z)] leaves integrals along the edges of the box (Tallis 1961):

    E[Z_i 1] = sum_j r_ij (D_j(a_j) - D_j(b_j))         D_j(t) = phi(t) P(the other within | Z_j = t)

and P itself is four bivariate distribution functions. P of three with one bound each is one more integral (Genz 2004).
More outcomes by quasi-random nodes, one outcome after the other given those before it, the least likely to be within
its bounds first (Genz 1992).
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

from hentropy.core.beliefs.linalg import scaled_root
from hentropy.core.beliefs.normal import FAR, LEGENDRE, bivariate_excess, density, distribution
from hentropy.core.clock import pieces
from hentropy.core.decisions.normal import truncated
from hentropy.core.spaces import sobol
from hentropy.lazy import Tensor, torch

BOX_NODES = 128
"""Quasi-random nodes for three outcomes and more."""

KNOWN_SD = 1e-140
"""A standard deviation of a value that is known."""

LARGEST_CORRELATION = 1.0 - 1e-9
"""The largest correlation: beyond, two values are one."""


def bivariate(h: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """P(Z_1 <= h, Z_2 <= k) for correlation r."""
    return distribution(h) * distribution(k) + bivariate_excess(h, k, r)


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

    Values whose covariances are all zero hold their bounds independently: only those that depend on each other are
    looked at together.
    """
    places = {i: place for place, i in enumerate(limited)}
    own, *others = _dependent(cov, [of, *(i for i in limited if i != of)])

    def sides(group: Sequence[int]) -> tuple[Tensor, Tensor]:
        at = [places[i] for i in group]
        return low[..., at], high[..., at]

    within = [i for i in own if i in places]
    if within:
        found = _one_within(mean, cov, within, *sides(within), of)
    else:
        value = mean[..., of]
        found = torch.ones_like(value), torch.zeros_like(value), cov[..., of, of].expand(value.shape)
    for group in others:
        index = torch.tensor(group)
        chance = box_chance(mean[..., index], cov[..., index[:, None], index], *sides(group))
        found = found[0] * chance, found[1] * chance, found[2] * chance
    return found


def _dependent(cov: Tensor, which: Sequence[int]) -> list[list[int]]:
    """Values in groups that depend on each other, anywhere in the batch: each group in order, the first one's first."""
    linked = (cov.detach() != 0).flatten(0, -3).any(0).tolist() if cov.dim() > 2 else (cov.detach() != 0).tolist()
    groups: list[list[int]] = []
    for i in which:
        joined = [group for group in groups if any(linked[i][j] or linked[j][i] for j in group)]
        merged = [j for group in joined for j in group] + [i]
        place = groups.index(joined[0]) if joined else len(groups)
        groups = [group for group in groups if group not in joined]
        groups.insert(place, merged)
    return groups


def _one_within(
    mean: Tensor, cov: Tensor, limited: Sequence[int], low: Tensor, high: Tensor, of: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The same without a look at what depends on what.

    A value without bounds of its own follows the others linearly.
    """
    own, index = mean[..., limited], torch.tensor(limited)
    among = cov[..., index[:, None], index]
    if of in limited:
        along, left = torch.eye(len(limited)).to(mean)[list(limited).index(of)].expand(own.shape), None
    else:
        jitter = 1e-10 * among.diagonal(dim1=-2, dim2=-1) + 1e-300
        cross = cov[..., index, of]
        along = torch.linalg.solve(among + torch.diag_embed(jitter), cross.unsqueeze(-1)).squeeze(-1)
        left = (cov[..., of, of] - (along * cross).sum(-1)).clamp_min(0.0)
    if len(limited) > 2:
        weights, values = box_draws(own, among, low, high)
        gap = ((values - own) * along).sum(-1)
        chance, first, second = weights.mean(0), (weights * gap).mean(0), (weights * gap.square()).mean(0)
    else:
        chance, each, spread = box_moments(own, among, low, high)
        first = (along * each).sum(-1)
        second = (along.unsqueeze(-2) @ spread @ along.unsqueeze(-1)).squeeze(-1).squeeze(-1)
    return chance, first, second if left is None else second + left * chance


def box_chance(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """P alone: ... . Of three values with one bound each by `trivariate`; of more by nodes of all but the last one.

    In pieces, unless a slope is needed.
    """
    o = mean.shape[-1]
    if o == 1:
        return truncated(mean, cov.squeeze(-1), low, high)[0].squeeze(-1)
    if o == 2:
        return _chance_of_two(mean, cov, low, high)
    sloped = torch.is_grad_enabled() and (mean.requires_grad or cov.requires_grad)
    shape = torch.broadcast_tensors(mean, low, high)[0].shape
    rows = [each.expand(shape).reshape(-1, o) for each in (mean, low, high)]
    rows.append(cov.expand(*shape, o).reshape(-1, o, o))
    open_sides = [[bool(end) for end in side.isinf().flatten(0, -2).all(0)] for side in (rows[1], rows[2])]
    if o == 3 and all(below or above for below, above in zip(*open_sides, strict=True)):
        signs = mean.new_tensor([1.0 if below else -1.0 for below in open_sides[0]])
        way: Callable[..., Tensor] = partial(_chance_of_three, signs=signs)
        nodes = len(LEGENDRE[0])
    else:
        way, nodes = _chance_by_nodes, BOX_NODES
    most = max(1, len(rows[0])) if sloped else pieces(8 * nodes, mean.device)
    parts = zip(*(each.split(most) for each in rows), strict=True)
    return torch.cat([way(m, c, below, above) for m, below, above, c in parts]).view(shape[:-1])


def _chance_by_nodes(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor) -> Tensor:
    return _nodes(mean, cov, low, high, True)[0].mean(0)


def _chance_of_three(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor, signs: Tensor) -> Tensor:
    """Of values that are bounded above (sign 1) or below (-1)."""
    s = cov.diagonal(dim1=-2, dim2=-1).clamp_min(1e-300).sqrt()
    a, b = _standardised(low, high, mean, s)
    r = (cov / (s.unsqueeze(-1) * s.unsqueeze(-2))).clamp(-LARGEST_CORRELATION, LARGEST_CORRELATION)
    return trivariate(torch.where(signs > 0, b, -a), signs.unsqueeze(-1) * signs * r)


def trivariate(b: Tensor, r: Tensor) -> Tensor:
    """P(Z_i <= b_i) for three standardised values with correlations r: ... x 3 and ... x 3 x 3 to ... .

    From the first being independent of the other two, along correlations that rise to r_12 and r_13 as sines: 20
    Gauss-Legendre nodes in the angle (Plackett 1954, Genz 2004). The two that are correlated most are left as they are.
    """
    pairs = torch.stack([r[..., 1, 2], r[..., 0, 2], r[..., 0, 1]], -1)  # each named by the value that it lacks
    order = torch.tensor([[0, 1, 2], [1, 0, 2], [2, 0, 1]], device=b.device)[pairs.abs().argmax(-1)]  # ... x 3
    b1, b2, b3 = b.gather(-1, order).unbind(-1)
    first, second, third = order.unsqueeze(-1).unbind(-2)
    r23, r13, r12 = (pairs.gather(-1, which).squeeze(-1) for which in (first, second, third))
    start = distribution(b1) * bivariate(b2, b3, r23)
    t, w = (torch.from_numpy(part).to(b) for part in LEGENDRE)
    tops = torch.asin(r12).unsqueeze(-1), torch.asin(r13).unsqueeze(-1)
    angles = [0.5 * top * (t + 1.0) for top in tops]
    p, q = (torch.sin(angle) for angle in angles)  # ... x nodes: r_12 and r_13 on the way
    b1, b2, b3, fixed = (each.unsqueeze(-1) for each in (b1, b2, b3, r23))
    det = (1.0 - p.square() - q.square() - fixed.square() + 2.0 * p * q * fixed).clamp_min(1e-12)
    total = torch.zeros_like(start)
    for top, own, other, at, far in ((tops[0], p, q, b2, b3), (tops[1], q, p, b3, b2)):
        left = 1.0 - own.square()
        # the one that is left, given that the first and the other are at their bounds
        given = far * left - b1 * (other - fixed * own) - at * (fixed - other * own)
        height = torch.exp(-0.5 * (b1.square() + at.square() - 2.0 * own * b1 * at) / left)
        total = total + 0.5 * top.squeeze(-1) * (w * height * distribution(given / (left * det).sqrt())).sum(-1)
    return (start + total / (2.0 * math.pi)).clamp(0.0, 1.0)


def _of_two(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Standard deviations (... x 2), the correlation (...), and bounds in standard deviations (... x 2 each)."""
    s = cov.diagonal(dim1=-2, dim2=-1).clamp_min(1e-300).sqrt()
    r = (cov[..., 0, 1] / (s[..., 0] * s[..., 1])).clamp(-LARGEST_CORRELATION, LARGEST_CORRELATION)
    return s, r, *_standardised(low, high, mean, s)


def _chance_of_two(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor) -> Tensor:
    _, r, a, b = _of_two(mean, cov, low, high)
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
    return chance.clamp(0.0, 1.0)


def _two(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    s, r, a, b = _of_two(mean, cov, low, high)
    (a1, a2), (b1, b2) = a.unbind(-1), b.unbind(-1)
    chance, left = _chance_of_two(mean, cov, low, high), 1.0 - r.square()

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
    """Bounds in standard deviations; a value that is known and at its bound is within."""
    return _side(low, mean, s, -FAR), _side(high, mean, s, FAR)


def _side(bound: Tensor, mean: Tensor, s: Tensor, outer: float) -> Tensor:
    """One bound in standard deviations, `outer` if there is none.

    No bound, and a value that is known, are set apart before they are divided: their slopes would not be numbers.
    """
    none, known = bound.isinf(), s <= KNOWN_SD
    place = ((torch.where(none, 0.0, bound) - mean) / torch.where(known, 1.0, s)).clamp(-FAR, FAR)
    if bool(known.any()):
        inside = mean >= bound if outer < 0 else mean <= bound
        place = torch.where(known, torch.where(inside, outer, -outer), place)
    return torch.where(none, outer, place) if bool(none.any()) else place


def box_draws(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """Values in the box (M x ... x o) with weights (M x ...): weighted averages over them are expectations in it."""
    weights, values = _nodes(mean, cov, low, high, False)
    assert values is not None
    return weights, values


def _nodes(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor, weights_only: bool) -> tuple[Tensor, Tensor | None]:
    """The weights and, unless these are all that is asked for, the values."""
    s = cov.diagonal(dim1=-2, dim2=-1).clamp_min(1e-300).sqrt()
    mean, low, high, s = torch.broadcast_tensors(mean, low, high, s)
    cov = cov.expand(*mean.shape, mean.shape[-1])
    below, above = map(distribution, _standardised(low, high, mean, s))
    order = (above - below).argsort(stable=True, dim=-1)
    mean, low, high = (each.gather(-1, order) for each in (mean, low, high))
    rows, columns = order.unsqueeze(-1).expand(cov.shape), order.unsqueeze(-2).expand(cov.shape)
    weights, values = _in_order(mean, cov.gather(-2, rows).gather(-1, columns), low, high, weights_only)
    return weights, None if values is None else values.gather(-1, order.argsort(-1).expand(values.shape))


def _in_order(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor, weights_only: bool) -> tuple[Tensor, Tensor | None]:
    """The same, beginning with the first outcome."""
    o = mean.shape[-1]
    root = scaled_root(cov)
    u = sobol(BOX_NODES, o, 0).to(mean).view(BOX_NODES, *[1] * (mean.dim() - 1), o)
    weights, z, values = mean.new_ones(()), list[Tensor](), list[Tensor]()
    open_below, open_above = (bool(side.isinf().all()) for side in (low, high))
    for i in range(o):
        given = mean[..., i]
        for j, before in enumerate(z):
            given = torch.addcmul(given, root[..., i, j], before)
        s = root[..., i, i].clamp_min(1e-300)
        if open_below:
            below, share = None, distribution(_side(high[..., i], given, s, FAR))
        else:
            start = _side(low[..., i], given, s, -FAR)
            below = distribution(start)
            share = distribution(-start) if open_above else distribution(_side(high[..., i], given, s, FAR)) - below
        weights = weights * share
        if weights_only and i == o - 1:
            break
        place = u[..., i] * share
        place = (place if below is None else below + place).clamp(1e-300, 1.0 - 1e-16)
        z.append(torch.special.ndtri(place))
        if not weights_only:
            values.append(torch.addcmul(given, root[..., i, i], z[-1]))
    return weights, None if weights_only else torch.stack(torch.broadcast_tensors(*values), -1)


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
