r"""What past predictions say of the next ones: predictive distributions, weights of families, a factor on the spread.

A model that chose its own experiments is judged by them, in two closed forms that leave a good record alone.

**Families.** The mixture has components of several families f. With the hyperparameters of today, each component h has
a density of every observation given those before it, from the factor K = L L^T of its kernel matrix (rows in the order
of the experiments, R = L^-1, r = y - m):

    e = R r        log p_h(y_t | y_1 ... y_t-1) = -1/2 e_t^2 + log R_tt + constant

    l_f = sum over proposed t of log sum_{h in f} u_h p_h(y_t | before)        u: weights within the family, sum 1

and the weight of a family is multiplied by min(1, `EVIDENCE_OF_FAMILY` exp(l_f - max_g l_g)). If f were right, the
likelihood ratio exp(l_g - l_f) would be a martingale with mean 1, and reach 20 with a probability of at most 1/20
(Ville's inequality). So a family keeps its weight unless the record clearly speaks for another, and beyond that it
loses weight as by Bayes' rule. Stacked weights cannot do this: they keep a pseudo-count of each component, and one that
is a hundred times too wide then determines the spread of all.

**Spread.** A prediction is kept before its result comes; the result has an error z = (y - mean) / sd. If all standard
deviations are off by a factor c, and the model is right otherwise, z_i ~ N(0, c^2), and with an inverse gamma prior of
c^2 of nu pseudo-observations around 1,

    c^2 ~ IG(nu/2, nu/2)        S = sum_i z_i^2        E = p(z | c unknown) / p(z | c = 1)

    log E = nu/2 log(nu/2) - log G(nu/2) + log G((nu+n)/2) - (nu+n)/2 log((nu+S)/2) + S/2

    c^2 | z ~ IG((nu+n)/2, (nu+S)/2)                   the factor: c^2 = (nu + S) / (nu + n)

with G the gamma function. Of a calibrated model, E is a nonnegative martingale with mean 1. The factor is exactly 1
unless E is at least `EVIDENCE`: of a calibrated model it differs from 1 in about 3 of 100 cases, and then by a third.
Errors beyond `GROSS` count as that: one gross error of a measurement must not widen everything. Designs that were asked
together have errors that are not quite independent.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from hentropy.core.beliefs import Belief, Gaussian, Moments, Needs, Several, Transformed
from hentropy.core.beliefs.correlated import Correlated
from hentropy.core.beliefs.kernels import Composed
from hentropy.core.beliefs.nodes import mixture_quantiles
from hentropy.core.decisions.normal import of_logarithm
from hentropy.core.models.families import LeftOut
from hentropy.lazy import Tensor, torch

Fitted = TypeVar("Fitted", Gaussian, Transformed)

EVIDENCE_OF_FAMILY: Final = 20.0
"""Odds by the record from which on a family loses weight: one over the probability of a false alarm."""

PSEUDO_COUNT: Final = 4.0
"""nu: so many predictions the prior of the factor is worth."""

EVIDENCE: Final = 3.0
"""E from which on the record counts."""

WINDOW: Final = 20
"""The last predictions that count: a model learns, and early errors say little of later ones."""

GROSS: Final = 3.0
"""The greatest error that counts."""


def log_evidence(count: int, squares: float) -> float:
    """log E for `count` errors with this sum of squares."""
    half, after = 0.5 * PSEUDO_COUNT, 0.5 * (PSEUDO_COUNT + count)
    constant = half * math.log(half) - math.lgamma(half) + math.lgamma(after)
    return constant - after * math.log(0.5 * (PSEUDO_COUNT + squares)) + 0.5 * squares


def spread_factor(errors: Sequence[float]) -> float:
    """By which factor standard deviations are off, from the standardised errors of past predictions, the last one last.

    Exactly 1 unless the evidence says that they are.
    """
    last = [min(abs(error), GROSS) for error in errors[-WINDOW:]]
    count, squares = len(last), math.fsum(error * error for error in last)
    if log_evidence(count, squares) < math.log(EVIDENCE):
        return 1.0
    return math.sqrt((PSEUDO_COUNT + squares) / (PSEUDO_COUNT + count))


@torch.no_grad()
def each_from_earlier(belief: Gaussian | Transformed) -> LeftOut:
    """What each component, with the hyperparameters of today, says of each observation from those before it."""
    if isinstance(belief, Transformed):
        return replace(each_from_earlier(belief.latent), observed=belief.observed, transformed=belief)
    precision = belief.root_inverse.diagonal(dim1=-2, dim2=-1)  # 1 / L_tt: H x n
    gap = (belief.root_inverse @ belief.residual.unsqueeze(-1)).squeeze(-1) / precision
    observed = belief.residual + belief.prior_mean(belief.inputs)
    shift, scale = belief.frame.shift, belief.frame.scale
    return LeftOut(
        observed=shift + scale * observed[0],
        weights=belief.weights.unsqueeze(-1).expand_as(gap),
        component_mean=shift + scale * (observed - gap),
        component_sd=scale / precision,
    )


def families_of(belief: Gaussian | Transformed) -> list[Hashable]:
    """Which family each component is of: its kernel, with terms or without, and whether outcomes are transformed."""
    normal = belief.latent if isinstance(belief, Transformed) else belief
    kernel, H = normal.kernel, normal.components
    if not isinstance(kernel, Composed):
        return [None] * H
    profiles = kernel.stationary.profiles
    alone = set(kernel.stationary_alone())
    bent = belief.bent.tolist() if isinstance(belief, Transformed) else [False] * H
    each = profiles * H if len(profiles) == 1 else profiles
    return [(each[h], h in alone, bent[h]) for h in range(H)]


def family_weights(log_density: Tensor, weights: Tensor, families: Sequence[Hashable]) -> Tensor:
    """Weights (H) of components of these families, given the log densities that they had of results: H x n."""
    names = list(dict.fromkeys(families))
    of_family = torch.tensor([[name == own for own in families] for name in names]).to(weights)  # F x H
    some = weights.clamp_min(torch.finfo(weights.dtype).tiny)
    within = (of_family * some).log() - (of_family @ some).log().unsqueeze(-1)
    record = torch.logsumexp(within.unsqueeze(-1) + log_density, -2).sum(-1)  # F
    loss = (record - record.max() + math.log(EVIDENCE_OF_FAMILY)).clamp_max(0.0)
    found = weights * (of_family.mT @ loss.exp())
    return found / found.sum()


def weigh_families(belief: Fitted, proposed: Sequence[bool]) -> Fitted:
    """The belief with weights of families that its predictions of the proposed ones of n observations ask for.

    Only where it mixes families of kernels, and knows every observation.
    """
    normal = belief.latent if isinstance(belief, Transformed) else belief
    families = families_of(belief)
    known = normal.stacked and normal.summary is None and len(normal.residual[0]) == len(proposed)
    if not known or len(set(families)) == 1 or not any(proposed):
        return belief
    log_density = each_from_earlier(belief).log_density[:, torch.tensor(proposed)]
    return belief.weighted(family_weights(log_density, normal.weights, families))


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
