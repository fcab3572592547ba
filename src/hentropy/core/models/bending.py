"""Whether outcomes are better modelled after a transform, and which (see `links`).

Candidates are bends of a few slopes, corners and directions. Each is judged by the likelihood of a Gaussian process
with the correlations that were fitted to the outcomes as they are; mean and variance are the best for each candidate,

    -n/2 log min_m (v - m)' K^-1 (v - m) + sum_i log g'(y_i)        v = g(y)

so that all of them take one factor. Correlations matter: a sample of a smooth function is skewed easily. Observations
that are held for gross errors say nothing of a transform: their slopes are left out, and K has a large variance there.
"""

from dataclasses import dataclass

from hentropy.core.beliefs.linalg import cholesky
from hentropy.core.beliefs.links import Bend
from hentropy.core.models.families import Fitted
from hentropy.lazy import Tensor, torch

RATIOS = (2.0, 4.0, 8.0, 16.0, 32.0)
"""By so much one slope is greater than the other."""

CORNERS = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""In standard deviations from the middle, positive towards the steep side."""

CANDIDATES = 2 * len(RATIOS) * len(CORNERS)

MARGIN = 2.0
"""Nats of log likelihood by which a transform must be better than none."""


@dataclass(frozen=True)
class Bent:
    """Standardised outcomes (n) as a bend sees them: `values` have mean 0 and variance 1; `log_slope` of these in y.

    Those that are doubted do not count for mean and variance, and have a log slope of 0.
    """

    bend: Bend
    values: Tensor
    log_slope: Tensor


def candidates(like: Tensor) -> Bend:
    """All bends that are tried: numbers are G x 1."""
    rows = [(1.0, ratio, corner) for ratio in RATIOS for corner in CORNERS]
    rows += [(ratio, 1.0, -corner) for _, ratio, corner in rows]
    left, right, corner = torch.tensor(rows, dtype=like.dtype, device=like.device).mT.unsqueeze(-1)
    return Bend.shaped(left, right, corner)


@torch.no_grad()
def best_bend(fitted: list[Fitted]) -> Bent | None:
    """The bend under which the outcomes (standardised) are likeliest; None where none is better by the margin."""
    best = max(fitted, key=lambda one: one.summit)
    target, theta = best.target, best.theta[:1]
    y = target.outcomes
    trusted = torch.ones_like(y, dtype=torch.bool) if target.doubt is None else target.doubt == 0
    K = target.covariance(theta)[0] + torch.diag(target.noise_variance(theta)[0])
    chol = cholesky(K, "kernel matrix of the data")
    bends = candidates(y)
    v = bends.behind(y.unsqueeze(0))  # G x n
    log_slope = torch.where(trusted, -bends.slope(v).log(), 0.0)
    white = torch.linalg.solve_triangular(chol, torch.cat([torch.ones_like(y)[None], y[None], v]).mT, upper=False)
    one, others = white[:, :1], white[:, 1:]
    rest = others - one * ((one * others).sum(0) / one.square().sum())
    log_likelihood = -0.5 * trusted.sum() * rest.square().sum(0).log()  # none, and G candidates
    gain = log_likelihood[1:] + log_slope.sum(-1) - log_likelihood[0]
    found = int(gain.argmax())
    if not float(gain[found]) > MARGIN:
        return None
    shift, scale = v[found, trusted].mean(), v[found, trusted].std(correction=0)
    bend = bends.one(found).of(shift, scale)
    return Bent(bend, (v[found] - shift) / scale, log_slope[found] - torch.where(trusted, scale.log(), 0.0))
