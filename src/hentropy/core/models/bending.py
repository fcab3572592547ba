"""Whether outcomes are better modelled after a transform, and which (see `links`).

Candidates are bends of a few slopes, corners and directions. Each is judged by the likelihood of a Gaussian process
with the correlations that were fitted to the outcomes as they are; mean and variance are the best for each candidate,

    -n/2 log min_m (v - m)' K^-1 (v - m) + sum_i log g'(y_i)        v = g(y)

so that all of them take one factor. Correlations matter: a sample of a smooth function is skewed easily. Observations
that are held for gross errors say nothing of a transform: their slopes are left out, and K has a large variance there.

Outcomes over decades. Between 3 and a million, every model of the outcomes as they are is wrong by thousands where the
least lie, and takes the greatest for gross errors. There the corner is such that v grows about as the logarithm of the
distance from the extreme outcome, the correlations are fitted to such v, and if that is decisively more probable all
of the model is about v.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hentropy.core.beliefs.linalg import cholesky
from hentropy.core.beliefs.links import Bend, below
from hentropy.core.given import Best
from hentropy.core.models.families import Fitted
from hentropy.lazy import Tensor, torch

RATIOS = (2.0, 4.0, 8.0, 16.0, 32.0)
"""By so much one slope is greater than the other."""

CORNERS = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""In standard deviations from the middle, positive towards the steep side."""

CANDIDATES = 2 * len(RATIOS) * len(CORNERS)

MARGIN = 2.0
"""Nats of log likelihood by which a transform must be better than none."""

SPREAD_OUT = 100.0
"""Outcomes may lie over decades if the farthest from the extreme one is as many times as far as the nearest tenth."""

NEAREST = 1e-7
"""Of the range: that distance counts as no smaller."""

GAPS = (1.0, 0.3, 3.0)
"""A transform of decades is straight from the extreme outcome on, which is off by so many times that distance."""

DECISIVE = 10.0
"""Nats of log posterior by which a transform of decades must be better than none."""


@dataclass(frozen=True)
class Bent:
    """Standardised outcomes (n) as a bend sees them: `values` have mean 0 and variance 1; `log_slope` of these in y.

    Those that are doubted do not count for mean and variance, and have a log slope of 0.
    """

    bend: Bend
    values: Tensor
    log_slope: Tensor


def candidates(like: Tensor) -> Bend:
    """The bends that are tried of outcomes that are skewed: numbers are G x 1."""
    rows = [(1.0, ratio, corner) for ratio in RATIOS for corner in CORNERS]
    rows += [(ratio, 1.0, -corner) for _, ratio, corner in rows]
    left, right, corner = torch.tensor(rows, dtype=like.dtype, device=like.device).mT.unsqueeze(-1)
    return Bend.shaped(left, right, corner)


def decades(y: Tensor, best: Best | None = None) -> list[Bend]:
    """The bends that are tried of outcomes (n) over decades above the least one, or below the greatest: G x 1 each.

    Where it is known which of these is the best, only that is tried.

    At the distance r from the extreme outcome, in units of the range, u = (v - corner) / w is psi^-1(r): psi grows over
    seven decades where u does so from -5 to 1. Beyond the extreme outcome the slope remains about what it is there.
    """
    found, zero, one = [], torch.zeros_like(y[:1]), torch.ones_like(y[:1])
    apart = y.unique()  # results at a limit, such as yields of 100 %, are equal, not close to each other
    if len(apart) < 2:
        return []
    for upwards in {"low": (True,), "high": (False,), None: (True, False)}[best]:
        distance = apart - apart[0] if upwards else apart[-1] - apart.flip(0)
        far = distance[-1:]
        near = distance[max(1, len(apart) // 10)].clamp_min(NEAREST * far)
        if not float(far) > SPREAD_OUT * float(near) > 0.0:
            continue
        gap = near * torch.tensor(GAPS, dtype=y.dtype, device=y.device).unsqueeze(-1)
        scale = far + gap
        u = Bend(zero, zero, one, zero, one).behind(gap / scale)
        slope = scale * below(u)
        begin = -gap - slope * u  # y - y.min() = begin + slope u + scale psi(u), or y.max() - y the same of -u
        if upwards:
            bend = Bend(y.min() + begin, slope, slope + scale, zero.expand_as(u), one.expand_as(u))
        else:
            bend = Bend(y.max() - begin, slope + scale, slope, zero.expand_as(u), one.expand_as(u))
        found.append(bend)
    return found


@torch.no_grad()
def best_bend(fitted: list[Fitted]) -> Bent | None:
    """The bend under which the outcomes (standardised) are likeliest; None where none is better by the margin."""
    best = max(fitted, key=lambda one: one.summit)
    found, gain = _likeliest(candidates(best.target.outcomes), best.target.outcomes, best)
    return found if gain > MARGIN else None


def bend_of_decades(fitted: list[Fitted], fit: Callable[[Bent], Fitted], best_outcome: Best | None) -> Bent | None:
    """The bend of outcomes over decades, where it is decisively more probable than none; `fit` fits a family to it."""
    y = fitted[0].target.outcomes
    best, chosen = max(one.summit for one in fitted) + DECISIVE, None
    for bends in decades(y, best_outcome):
        found = _bent(bends.one(0), y)
        again, _ = _likeliest(bends, y, fit(found))
        value = fit(again).summit
        if value > best:
            best, chosen = value, again
    return chosen


def _bent(bend: Bend, y: Tensor, trusted: Tensor | None = None) -> Bent:
    """Outcomes (n) as a bend sees them; those that are `trusted` (n) count."""
    trusted = torch.ones_like(y, dtype=torch.bool) if trusted is None else trusted
    v = bend.behind(y)
    shift, scale = v[trusted].mean(), v[trusted].std(correction=0)
    log_slope = torch.where(trusted, -bend.slope(v).log() - scale.log(), 0.0)
    return Bent(bend.of(shift, scale), (v - shift) / scale, log_slope)


@torch.no_grad()
def _likeliest(bends: Bend, y: Tensor, fitted: Fitted) -> tuple[Bent, float]:
    """The bend of these (G x 1) under which outcomes (n) are likeliest, with the correlations that were fitted to them
    or to others, and by how many nats it is better than none.
    """
    target, theta = fitted.target, fitted.theta[:1]
    trusted = torch.ones_like(y, dtype=torch.bool) if target.doubt is None else target.doubt == 0
    K = target.covariance(theta)[0] + torch.diag(target.noise_variance(theta)[0])
    chol = cholesky(K, "kernel matrix of the data")
    v = bends.behind(y.unsqueeze(0))  # G x n
    log_slope = torch.where(trusted, -bends.slope(v).log(), 0.0)
    white = torch.linalg.solve_triangular(chol, torch.cat([torch.ones_like(y)[None], y[None], v]).mT, upper=False)
    one, others = white[:, :1], white[:, 1:]
    rest = others - one * ((one * others).sum(0) / one.square().sum())
    log_likelihood = -0.5 * trusted.sum() * rest.square().sum(0).log()  # none, and G candidates
    gain = log_likelihood[1:] + log_slope.sum(-1) - log_likelihood[0]
    found = int(gain.argmax())
    return _bent(bends.one(found), y, trusted), float(gain[found])
