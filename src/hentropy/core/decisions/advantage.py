r"""By how much one design is better than another under a belief: the expectation, the spread, the probability.

D = loss(f, b) - loss(f, a) is what choosing a saves over b. Where the loss is c f, with the joint moments of f at a and
b in component h of weight w_h,

    d_h = -c (m_ha - m_hb)            s_h^2 = V_ha + V_hb - 2 C_hab
    E D = sum w_h d_h                 Var D = sum w_h (s_h^2 + (d_h - E D)^2)
    P(D > 0) = sum w_h Phi(d_h / s_h)

is exact for a mixture of Gaussians. Outcomes that are an increasing function of a normal value (a `Bend`, a
probability and its probit) compare as these values do: they tell the probability, and the outcomes the rest. Any other
loss, such as one with limits on outcomes, is averaged over quasi-random draws of the values at both designs.
"""

from dataclasses import dataclass

from hentropy.core.beliefs import Belief, Moments, Needs, value_draws
from hentropy.core.beliefs.normal import distribution
from hentropy.core.decisions.base import Decision, by_outcome, checked_loss, drawn_values
from hentropy.lazy import Tensor, torch

DRAWS = 2**13
"""Draws of the values at both designs where there is no closed form: probabilities are known to about 0.005."""

ROUNDING = 1e-14
"""The share of both variances below which the variance of a difference is rounding: the two are the same value."""


@dataclass(frozen=True)
class Advantage:
    """What one action saves over another, in units of the loss: mean and standard deviation; P(it saves anything)."""

    mean: float
    sd: float
    chance: float


@torch.no_grad()
def advantage(decision: Decision, belief: Belief, action: Tensor, other: Tensor) -> Advantage:
    """What a design saves over another (1 x d each).

    The decision is `within` a space and `informed`, and the belief is the one that it looks at, as from `check_fit`.
    """
    both = torch.cat([decision.points(action), decision.points(other)]).to(belief.X)  # 2 x d
    moments = belief.moments(both, Needs.JOINT)
    sums = decision.sums()
    if sums is None or sums.worth is not None:
        return _drawn(decision, moments, action, other)
    [c] = sums.coefficients
    gap, var = _difference(c, moments.mean, moments.covariance)
    mean = moments.expect(gap)
    spread = moments.expect(var + (gap - mean).square())
    return Advantage(float(mean), float(spread.clamp_min(0.0).sqrt()), float(moments.expect(_chance(c, belief, both))))


def _difference(c: float, mean: Tensor, cov: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of D in each component: means H x 2, covariances H x 2 x 2 to H each."""
    variances = cov.diagonal(dim1=-2, dim2=-1).sum(-1)
    var = variances - 2.0 * cov[..., 0, 1]
    return -c * (mean[..., 0] - mean[..., 1]), c**2 * torch.where(var > ROUNDING * variances, var, 0.0)


def _chance(c: float, belief: Belief, both: Tensor) -> Tensor:
    """P(D > 0) in each component, by the normal values that outcomes are, or increase with: H."""
    moments = belief.scores.moments(both, Needs.JOINT)
    latent = moments.latent
    if latent is not None and latent.cov is not None:
        gap, var = _difference(c, latent.mean, latent.cov)
    else:
        gap, var = _difference(c, moments.mean, moments.covariance)
    certain = var <= 0
    z = gap / torch.where(certain, 1.0, var).sqrt()
    return torch.where(certain, (gap > 0).to(gap), distribution(z))


def _drawn(decision: Decision, moments: Moments, action: Tensor, other: Tensor) -> Advantage:
    """The same from draws of the values (H x 2 o) at both designs."""
    if moments.point_mass:
        values = moments.mean.unsqueeze(0)
    else:
        values = drawn_values(decision, moments, value_draws(DRAWS, moments.mean.shape[-1], seed=0).to(moments.mean))
    f = by_outcome(values, moments.outcomes)  # M x H x 2, of several outcomes M x H x 2 x o
    at = (f[..., :1], f[..., 1:]) if moments.outcomes == 1 else (f[..., :1, :], f[..., 1:, :])
    losses = [
        checked_loss(decision, part, own.expand(*part.shape[:2], 1, -1))
        for part, own in zip(at, (action, other), strict=True)
    ]
    saved = losses[1] - losses[0]  # M x H
    mean = moments.expect(saved.mean(0))
    var = moments.expect((saved - mean).square().mean(0))
    return Advantage(float(mean), float(var.sqrt()), float(moments.expect((saved > 0).to(saved).mean(0))))
