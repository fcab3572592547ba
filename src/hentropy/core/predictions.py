r"""What past predictions say of the next ones: predictive distributions, weights of families, a factor on the spread.

A model that chose its own experiments is judged by them, in two closed forms that leave a good record alone.

**Families.** The mixture has components of several families f. A prediction keeps the distribution that each family by
itself had of the result y_t, and that of the whole mixture. Over the last `WINDOW` results

    l_f = sum_t log p_f(y_t) - log p(y_t)            0 for results that the family did not predict

and the weight of a family is multiplied by min(1, `EVIDENCE_OF_FAMILY` exp(l_f - max_g l_g)). If f is right, the
likelihood ratio exp(l_g - l_f) of another one has mean 1, and is above 20 with a probability of at most 1/20 (Markov).
So a family keeps its weight unless the record clearly speaks for another, and beyond that it loses weight as by Bayes'
rule. Stacked weights cannot do this: they keep a pseudo-count of each component, and one that is a hundred times too
wide then determines the spread of all. Nor can the likelihood of the data, which a family that fitted them explains in
hindsight: what counts is what was said before.

**Spread.** A prediction is kept before its result comes; the result has an error z = (y - mean) / sd. If all standard
deviations are off by a factor c, and the model is right otherwise, z_i ~ N(0, c^2), and with an inverse gamma prior of
c^2 of nu pseudo-observations around 1,

    c^2 ~ IG(nu/2, nu/2)        S = sum_i z_i^2        E = p(z | c unknown) / p(z | c = 1)

    log E = nu/2 log(nu/2) - log G(nu/2) + log G((nu+n)/2) - (nu+n)/2 log((nu+S)/2) + S/2

    c^2 | z ~ IG((nu+n)/2, (nu+S)/2)                   the factor: c^2 = (nu + S) / (nu + n)

with G the gamma function. Of a calibrated model, E is a nonnegative martingale with mean 1. The factor is exactly 1
unless E is at least `EVIDENCE`: of a calibrated model it differs from 1 in about 5 of 100 cases, and then by a third.
Errors beyond `GROSS` count as that: one gross error of a measurement must not widen everything. Designs that were asked
together have errors that are not quite independent.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from hentropy.core.beliefs import Belief, Gaussian, Transformed
from hentropy.core.beliefs.base import Predictive
from hentropy.core.models.families import families_of
from hentropy.lazy import Tensor, torch

EVIDENCE_OF_FAMILY: Final = 20.0
"""Odds by the record from which on a family loses weight: one over the probability of a false alarm."""

PSEUDO_COUNT: Final = 1.0
"""nu: so many predictions the prior of the factor is worth."""

EVIDENCE: Final = 1.5
"""E from which on the record counts. With 3, and nu = 4, the factor came late: of 15 functions (seeds 100 to 102 of
`benchmarks/calibration.py`), 6 had errors and intervals as stated at the designs that were proposed, and 9 with these.
"""

WINDOW: Final = 20
"""The last predictions that count: a model learns, and early errors say little of later ones."""

GROSS: Final = 3.5
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


def family_parts(belief: Gaussian | Transformed) -> dict[str, Gaussian | Transformed]:
    """What each family by itself believes, by its name; nothing where there is only one."""
    families = families_of(belief)
    names = list(dict.fromkeys(families))
    if len(names) == 1:
        return {}
    return {name: belief.some([h for h, own in enumerate(families) if own == name]) for name in names}


def family_weights(record: Mapping[str, float], weights: Tensor, families: Sequence[str]) -> Tensor:
    """Weights (H) of components of these families, given what the record says of each (l_f)."""
    known = torch.tensor([record.get(name, 0.0) for name in families]).to(weights)
    loss = (known - known.max() + math.log(EVIDENCE_OF_FAMILY)).clamp_max(0.0)
    found = weights * loss.exp()
    return found / found.sum()


def weigh_families(belief: Gaussian | Transformed, record: Mapping[str, float]) -> Gaussian | Transformed:
    """The belief with the weights of families that the record asks for."""
    families = families_of(belief)
    if len(set(families)) == 1 or not record:
        return belief
    return belief.weighted(family_weights(record, belief.weights, families))


@torch.no_grad()
def predict(belief: Belief, name: str, points: Tensor, shares: Sequence[float]) -> Predictive:
    """What observations of an outcome at points m x d are expected to be, noise included, over all components."""
    return belief.process_of(name).marginal(points, shares, noise=True, log=name in belief.logs)
