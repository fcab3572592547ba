r"""What past predictions say of the next ones: predictive distributions of observations, and a factor on their spread.

A model that chose its own experiments is judged by them. A prediction is kept before its result comes; the result has
a quantile p in it (the probability of a smaller one) and a normal score z = Phi^-1(p), which is (y - mean) / sd where
the prediction is normal. With a calibrated model z_1, z_2, ... are standard normal and independent, whatever the
designs. If instead all standard deviations are too small by a factor c, z_i ~ N(0, c^2), and with an inverse gamma
prior of c^2 of nu pseudo-observations around 1,

    c^2 ~ IG(nu/2, nu/2)        S = sum_i z_i^2        E = p(z | c unknown) / p(z | c = 1)

    log E = nu/2 log(nu/2) - log G(nu/2) + log G((nu+n)/2) - (nu+n)/2 log((nu+S)/2) + S/2

    c^2 | z ~ IG((nu+n)/2, (nu+S)/2)                   the factor: c^2 = (nu + S) / (nu + n)

with G the gamma function. Of a calibrated model, E is a nonnegative martingale with mean 1: the probability that it
ever reaches 20 while n grows to `WINDOW` is at most 1/20 (Ville's inequality), and so is that it is above 20 at any one
time later (Markov's). So the factor is exactly 1 unless E is at least 20: a good record has no effect. It is never
below 1: a spread that is too wide misleads less. Scores beyond `GROSS` count as that: one gross error of a measurement
must not widen everything. Designs that were asked together have scores that are not quite independent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hentropy.core.beliefs import Belief, Gaussian, Moments, Needs, Several, Transformed
from hentropy.core.beliefs.correlated import Correlated
from hentropy.core.beliefs.nodes import mixture_quantiles
from hentropy.core.decisions.normal import of_logarithm
from hentropy.lazy import Tensor, torch

PSEUDO_COUNT: Final = 10.0
"""nu: so many predictions the prior of the factor is worth."""

EVIDENCE: Final = 20.0
"""E from which on the record counts: one over the probability of a false alarm."""

WINDOW: Final = 30
"""The last predictions that count: a model learns, and early errors say little of later ones."""

GROSS: Final = 4.0
"""The greatest score that counts."""


def log_evidence(count: int, squares: float) -> float:
    """log E for `count` scores with this sum of squares."""
    half, after = 0.5 * PSEUDO_COUNT, 0.5 * (PSEUDO_COUNT + count)
    constant = half * math.log(half) - math.lgamma(half) + math.lgamma(after)
    return constant - after * math.log(0.5 * (PSEUDO_COUNT + squares)) + 0.5 * squares


def spread_factor(scores: Sequence[float]) -> float:
    """By which factor standard deviations are too small, from the normal scores of past results, the last one last.

    Exactly 1 unless the evidence is strong that they are.
    """
    last = [min(abs(score), GROSS) for score in scores[-WINDOW:]]
    count, squares = len(last), math.fsum(score * score for score in last)
    if squares <= count or log_evidence(count, squares) < math.log(EVIDENCE):
        return 1.0
    return math.sqrt((PSEUDO_COUNT + squares) / (PSEUDO_COUNT + count))


@dataclass(frozen=True)
class Predictive:
    """Of m observations to come, in the outcome's units: mean and sd (m each) and their quantiles (S x m)."""

    mean: Tensor
    sd: Tensor
    quantiles: Tensor


@torch.no_grad()
def predict(belief: Belief, name: str, points: Tensor, shares: Sequence[float]) -> Predictive:
    """What observations of an outcome at points m x d are expected to be, noise included, over all components."""
    own, log = process_of(belief, name), name in belief.logs
    normal = own.latent if isinstance(own, Transformed) else own
    moments = normal.moments(points, Needs.VARIANCE)
    variance = moments.variance.clamp_min(0.0) + _noise_variance(normal, points)
    at = Moments(moments.weights, moments.mean, variance.expand_as(moments.mean))
    each = (at.weights.unsqueeze(-1), at.mean, at.variance.sqrt())
    if isinstance(own, Transformed):
        quantiles, at = own.quantiles(shares, *each), own.linked(at, Needs.VARIANCE)
    else:
        quantiles = mixture_quantiles(shares, *each)
    if log:
        quantiles, at = quantiles.exp(), Moments(at.weights, *of_logarithm(at.mean, at.variance))
    mean, total = at.total()
    return Predictive(mean, total.clamp_min(0.0).sqrt(), quantiles)


def process_of(belief: Belief, name: str) -> Belief:
    """The belief about one outcome; of one that is correlated with others, its own process."""
    own = belief.of(name)
    if isinstance(own, Several) and isinstance(own.parts[0], Correlated):
        return own.parts[0].process_of(name)
    return own


def _noise_variance(belief: Belief, points: Tensor) -> Tensor:
    """Of observations at points m x d, in the user's units: H x m, or 1 x m where all components have the same."""
    if isinstance(belief, Gaussian):
        return belief.frame.scale.square() * belief.noise_at(points)
    noise = torch.as_tensor(belief.noise_std_at(points)).to(points)
    return noise.square().expand(1, len(points))
