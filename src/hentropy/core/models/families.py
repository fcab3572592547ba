r"""A belief over families of models: a few draws of each family, weighted by how well they predict what they leave out.

One kernel with good hyperparameters is still only one assumption. The families:

    rough    a Matern-3/2 kernel
    smooth   a squared exponential kernel, waves along each coordinate and a quadratic trend

In the second the stationary kernel models what a sum of one-dimensional functions and a quadratic leave over; the data
determine how much each contributes. Each family has a few draws of its hyperparameters from their posterior. Every
component is a Gaussian process: everything that is exact for one stays exact.

Noisy or rough? Where nothing is said about noise, a function that varies over short distances and one that is smooth
but measured with noise explain the same outcomes, and predict what is left out equally well. So each family has rows
that expect some noise, at several levels, and rows that expect none. How probable the absence of noise is follows
from the evidence (normal approximations at the summits, to the power `CAUTION`). What the two disagree on is the value
at a design that was measured: running it again decides between them.

Weights by stacking (Yao et al. 2018): they maximise the leave-one-out predictive density of the mixture,

    sum_i log sum_h w_h p_h(y_i | others) + a sum_h log w_h

by expectation maximisation; a is a pseudo-count of each component. Evidence as a weight, and the leave-one-out
density of each component by itself, are overconfident with few data.

Leaving one out. Each observation is predicted from all the others, without refitting or refactorising anything. With
K = k(X, X) + noise, alpha = K^-1 (y - m(X)), for each of the H components (Rasmussen and Williams 2006, 5.12):

    sd_i^2 = 1 / (K^-1)_ii      mean_i = y_i - alpha_i / (K^-1)_ii      w_ih in proportion to w_h / p_h(y_i | others)

The variance is that of an observation, its own noise included. The weights are divided by what the observation had
contributed to them; stacked ones, which one observation hardly moves, stay. Hyperparameters are those of all data. Of
correlated outcomes one is predicted, each time from all other values: those of the other outcomes of the same design
are known.

Gross errors. An observation that its neighbours contradict is either wrong or the first sign of a peak. Where the
evidence says that a few are wrong, most components distrust them (with a large extra noise variance) and one of each
family trusts all: an experiment near the observation will decide.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hentropy.core.beliefs import Gaussian, Moments, Needs, Transformed
from hentropy.core.beliefs.correlated import OfOutcome
from hentropy.core.beliefs.gaussian import DOUBT
from hentropy.core.beliefs.kernels import Composed, Profile, Stationary
from hentropy.core.beliefs.nodes import mixture_quantiles
from hentropy.core.beliefs.tails import price
from hentropy.core.beliefs.terms import Basis, FeatureKernel
from hentropy.core.models.hyperparameters import (
    FLAT,
    LogPosterior,
    common_share,
    evidence_of_noise,
    stand_ins,
    summits,
    summits_without_noise,
)
from hentropy.core.models.tails import weighed
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class Family:
    """A stationary kernel, alone or with waves and a trend."""

    name: str
    profile: Profile
    with_terms: bool


FAMILIES = (
    Family("rough", Profile.MATERN32, False),
    Family("smooth", Profile.SQUARED_EXPONENTIAL, True),
)

ERRORS = 0.02
"""How probable it is beforehand that an observation is a gross error."""

SUSPECT = 4.0
"""Observations are looked at whose standardised residual is as many times greater than is usual."""

GROSS, NEAR = 1.0, 0.75
"""See `suspects`."""

QUIET_ODDS = 0.5
"""The odds beforehand that outcomes of which nothing is stated have no noise."""

CAUTION = 0.5
"""Evidence about noise counts by this power: the normal approximations and the families are not exact."""

CONTRADICTED = 6.0
"""Nats of evidence against the absence of noise, beyond which no component expects it."""

PSEUDO_COUNT = 1.0
ROUNDS = 100
"""Of the expectation maximisation: weights then change in the third digit at most."""


def basis_of(d: int, scales: tuple[int, ...] | None) -> Basis:
    """Waves along coordinates with a length scale of their own; an option is in or out, which a trend can say."""
    lone = range(d) if scales is None else [j for j in range(d) if scales.count(scales[j]) == 1]
    return Basis(d, tuple(lone))


@dataclass(frozen=True)
class Fitted:
    """A family given data: rows of its hyperparameters (H x p), which of them expect no noise (H), and the log
    posterior at its summit.

    `evidence` is the log evidence for some noise and for none, where both are possible.
    """

    target: LogPosterior
    theta: Tensor
    quiet: Tensor
    summit: float
    evidence: tuple[float, float] | None = None

    @property
    def without_noise(self) -> float:
        """How probable the absence of noise is, by the evidence."""
        noisy, quiet = (0.0, -math.inf) if self.evidence is None else self.evidence
        return float(torch.sigmoid(torch.tensor(CAUTION * (quiet - noisy) + math.log(QUIET_ODDS))))

    def some(self, rows: int) -> "Fitted":
        """With the last rows alone; a single one is of the more probable hypothesis about noise."""
        chosen = torch.arange(len(self.theta))
        if rows == 1 and bool(self.quiet.any()):
            chosen = chosen[(self.quiet == (self.without_noise > 0.5)).cpu()]
        chosen = chosen[-rows:].to(self.theta.device)
        return replace(self, theta=self.theta[chosen], quiet=self.quiet[chosen])

    def retold(self, outcomes: Tensor, shift: Tensor, scale: Tensor) -> "Fitted":
        """The same about outcomes (n) from which a shift was taken, in units of a scale."""
        theta = self.target.widened(self.theta, 1.0 / float(scale))
        mean = self.target.groups + 1
        theta[:, mean] = (theta[:, mean] - shift) / scale
        more = len(outcomes) * float(scale.log())
        target = replace(self.target, outcomes=outcomes)
        return replace(self.raised(more), target=target, theta=theta)

    def raised(self, nats: float) -> "Fitted":
        """With a log posterior, and log evidence, higher by so much."""
        evidence = None if self.evidence is None else (self.evidence[0] + nats, self.evidence[1] + nats)
        return replace(self, summit=self.summit + nats, evidence=evidence)


def fit_families(
    target: LogPosterior, draws: int, generator: torch.Generator, families: Sequence[Family] = FAMILIES
) -> list[Fitted]:
    """Each family given the data of `target`, with at most `draws` rows of its hyperparameters.

    The most probable row is too sure of itself, and stands alone only where a single one is wanted.
    """
    basis, common = basis_of(target.inputs.shape[-1], target.scales), common_share(target.groups)
    fitted = []
    for family in families:
        own = replace(target, profile=family.profile, basis=basis if family.with_terms else None, common=common)
        if target.tails is not None and target.noise is None:
            own = replace(own, some_noise=True)  # whoever expects gross errors does not expect none at all
        elif draws > 1 and target.noise is None:
            fitted.append(_with_and_without_noise(replace(own, some_noise=True), draws, generator))
            continue
        nothing = target.inputs.new_empty(0, own.size)
        if own.tails is None:
            found = summits(own, nothing, generator)
        else:
            own, found = weighed(own, nothing, generator)
        theta = found.theta[found.value.argmax()].unsqueeze(0)
        if draws > 1:
            theta = stand_ins(own, found, draws, generator)[0]
        fitted.append(Fitted(own, theta, torch.zeros_like(theta[:, 0], dtype=torch.bool), float(found.value.max())))
    return fitted


def _with_and_without_noise(own: LogPosterior, draws: int, generator: torch.Generator) -> Fitted:
    """Rows that expect noise, at several levels, and rows that expect none, as many as are probable.

    At least one of each, unless the data contradict the absence of noise. The last two are one of each.
    """
    noisy = summits(own, own.inputs.new_empty(0, own.size), generator, tolerance=FLAT)
    quiet = summits_without_noise(own, noisy, generator)
    evidence = evidence_of_noise(own, noisy, quiet)
    summit = max(float(found.value.max()) for found in (noisy, quiet))
    odds = evidence[1] - evidence[0] + math.log(QUIET_ODDS)
    count = 0 if odds < -CONTRADICTED else min(max(round(draws / (1.0 + math.exp(-odds))), 1), draws - 1)
    some = stand_ins(own, noisy, draws - count, generator)[0]
    some = some.roll(len(some) // 2, 0)  # they come by their noise: the middle level last
    none = stand_ins(own, quiet, count, generator)[0] if count else some[:0]
    rows = torch.cat([none[:-1], some, none[-1:]])
    expects_none = torch.ones_like(rows[:, 0], dtype=torch.bool)
    expects_none[max(0, len(none) - 1) : len(rows) - min(1, len(none))] = False
    return Fitted(own, rows, expects_none, summit, evidence)


def weigh_noise(weights: Tensor, fitted: Sequence[Fitted]) -> Tensor:
    """Weights (H) of the rows of all of these: in each family those without noise are as probable as its evidence says.

    Predictions of what is left out weigh families. They cannot tell a rough function from a noisy one; a shorter length
    scale is as good.
    """
    least, each = PSEUDO_COUNT / (len(fitted[0].target.outcomes) + len(weights)), []
    for one, rows in zip(fitted, weights.split([len(one.theta) for one in fitted]), strict=True):
        if not bool(one.quiet.any()) or bool(one.quiet.all()):
            each.append(rows)
            continue
        share = min(max(one.without_noise, least), 1.0 - least)
        total, quiet = rows.sum(), torch.where(one.quiet, rows, 0.0)
        noisy = rows - quiet
        each.append(total * (share * quiet / quiet.sum() + (1.0 - share) * noisy / noisy.sum()))
    return torch.cat(each)


@dataclass(frozen=True)
class LeftOut:
    """The n observations (n) and what each component says of each from the others (H x n), in the user's units.

    Where a belief is `transformed`, the latter are about the normal values behind the observations. With heavy tails,
    standard deviations are those given the weight of the observation, and `prices` (H x n) what these cost.
    """

    observed: Tensor
    weights: Tensor
    component_mean: Tensor
    component_sd: Tensor
    transformed: Transformed | None = None
    prices: Tensor | None = None

    @property
    def _total(self) -> tuple[Tensor, Tensor]:
        """Means and variances of the predicted observations, over all components: n each."""
        moments = Moments(self.weights.unsqueeze(-2), self.component_mean, self.component_sd.square())
        if self.transformed is not None:
            moments = self.transformed.linked(moments, Needs.VARIANCE)
        mean = (self.weights * moments.mean).sum(0)
        return mean, (self.weights * (moments.variance + (moments.mean - mean).square())).sum(0)

    @property
    def mean(self) -> Tensor:
        """The predictions, over all components: n."""
        return self._total[0]

    @property
    def sd(self) -> Tensor:
        """The standard deviations of the predicted observations, over all components: n."""
        return self._total[1].sqrt()

    @property
    def log_density(self) -> Tensor:
        """How likely each component held each observation to be, from the others: log densities H x n."""
        if self.transformed is not None:
            density = self.transformed.predicted(self.component_mean, self.component_sd, self.observed)
        else:
            density = torch.distributions.Normal(self.component_mean, self.component_sd).log_prob(self.observed)
        return density if self.prices is None else density - self.prices

    def quantiles(self, shares: Sequence[float]) -> Tensor:
        """Where so much of the probability of each observation lies below: S x n."""
        if self.transformed is not None:
            return self.transformed.quantiles(shares, self.weights, self.component_mean, self.component_sd)
        return mixture_quantiles(shares, self.weights, self.component_mean, self.component_sd)


@torch.no_grad()
def leave_one_out(belief: Gaussian | Transformed) -> LeftOut:
    """What the belief would have said of each of its observations without it; of many, of those at inducing points."""
    if isinstance(belief, Transformed):
        return replace(leave_one_out(belief.latent), observed=belief.observed, transformed=belief)
    if belief.summary is not None:
        return leave_one_out(belief.summary.part)
    precision = belief.root_inverse.square().sum(-2)  # the diagonal of K^-1 = R^T R: H x n
    gap = belief.alpha / precision  # observed less predicted, in the model's units
    observed = belief.residual + belief.prior_mean(belief.inputs)
    log_density = 0.5 * precision.log() - 0.5 * gap.square() * precision
    weights = belief.weights.unsqueeze(-1).expand_as(gap)
    if not belief.stacked:
        weights = torch.softmax(weights.log() - log_density, 0)
    shift, scale, transform = belief.frame.shift, belief.frame.scale, belief.frame.transform
    own = torch.ones_like(belief.inputs[:, -1], dtype=torch.bool)
    if isinstance(transform, OfOutcome):
        own = belief.inputs[:, -1] == transform.number
    return LeftOut(
        observed=shift + scale * observed[0, own],
        weights=weights[:, own],
        component_mean=shift + scale * (observed - gap)[:, own],
        component_sd=scale * precision[:, own].rsqrt(),
        prices=None if belief.tails is None else price(belief.tails),
    )


def suspects(belief: Gaussian) -> Tensor:
    """Which observations may be gross errors: n.

    Those that their neighbours contradict. An observation has neighbours where the others leave less than the share
    `NEAR` of the prior variance of f there. It is contradicted where it is off by more than `GROSS` spreads of all
    outcomes, and in standard deviations by `SUSPECT` times what is usual: errors also make those greater. The best
    outcome of a search is far from most others, and not from its neighbours. At most a tenth: where more are far off,
    that is how the function is.
    """
    left_out, square = leave_one_out(belief), belief.frame.scale.square()
    variance = left_out.component_sd.square() - square * (belief.noise - belief.future_noise.unsqueeze(-1))
    total = (left_out.weights * (variance + (left_out.component_mean - left_out.mean).square())).sum(0)
    unexplained = (left_out.component_sd.square() / square - belief.noise) / belief.kernel.diagonal(belief.inputs)
    gap = (left_out.observed - left_out.mean).abs()
    size = gap / total.sqrt()
    far = (size > SUSPECT * 1.4826 * size.median()) & (size > size.topk(len(size) // 10 + 1).values[-1])
    near = (left_out.weights * unexplained).sum(0) < NEAR
    return far & near & (gap > GROSS * left_out.observed.std(correction=0))


def doubting(target: LogPosterior, wrong: Tensor) -> LogPosterior:
    """The same data, of which some (n) are held for gross errors."""
    return replace(target, doubt=DOUBT * wrong.to(target.inputs))


def log_odds(doubtful: Sequence[Fitted], trusting: Sequence[Fitted], wrong: Tensor) -> float:
    """The log odds of this many gross errors against none."""
    prior = int(wrong.sum()) * math.log(ERRORS / (1.0 - ERRORS))
    return prior + max(one.summit for one in doubtful) - max(one.summit for one in trusting)


def joined(kernels: Sequence[Stationary | Composed]) -> Composed:
    """The components of all of them, one after the other; some have terms."""
    each = [kernel.stationary for kernel in kernels]
    stationary = Stationary(
        tuple(profile for kernel in each for profile in kernel.profiles * len(kernel.outputscale)),
        torch.cat([kernel.lengthscale for kernel in each]),
        torch.cat([kernel.outputscale for kernel in each]),
    )
    terms = [kernel.terms for kernel in kernels if kernel.terms is not None]
    counts = [len(kernel.outputscale) for kernel in each]
    has_terms = [kernel.terms is not None for kernel, count in zip(kernels, counts, strict=True) for _ in range(count)]
    having = tuple(place for place, has in enumerate(has_terms) if has)
    return Composed(stationary, FeatureKernel(terms[0].basis, torch.cat([one.variance for one in terms])), having)


def evenly(weights: Tensor, count: int) -> list[int]:
    """`count` components, evenly spread over the weights (H) of all: those with large weights occur several times."""
    places = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    return torch.searchsorted(weights.cumsum(0).cpu(), places).clamp_max(len(weights) - 1).tolist()


def evened(belief: Gaussian, count: int) -> Gaussian:
    """A mixture of `count` components with equal weights that stands for the belief."""
    return replace(belief.some(evenly(belief.weights, count)), weights=belief.weights.new_full((count,), 1.0 / count))


def families_of(belief: Gaussian | Transformed) -> list[str]:
    """The family of each component (H) by name, and whether it is about transformed outcomes; empty in other fits."""
    normal: Gaussian = belief.process
    kernel, H = normal.kernel, normal.components
    if not isinstance(kernel, Composed) or not normal.stacked:
        return [""] * H
    names = {family.profile: family.name for family in FAMILIES}
    bent = belief.bent.tolist()
    profiles = kernel.stationary.profiles
    each = profiles * H if len(profiles) == 1 else profiles
    return [names[own] + (", transformed" if is_bent else "") for own, is_bent in zip(each, bent, strict=True)]


def carried(belief: Gaussian | Transformed) -> dict[str, float]:
    """The weight that each family carries, by name; nothing for a belief of another fit."""
    families = families_of(belief)
    if not families[0]:
        return {}
    weights = dict.fromkeys((family.name for family in FAMILIES), 0.0)
    for name, weight in zip(families, belief.weights.tolist(), strict=True):
        weights[name] = weights.get(name, 0.0) + weight
    return weights


def doubted(belief: Gaussian | Transformed) -> Tensor:
    """How probably each observation is a gross error, by the weights of the components that doubt it: n."""
    process: Gaussian = belief.process
    return process.doubted


def stacked(log_density: Tensor, pseudo_count: float = PSEUDO_COUNT) -> Tensor:
    """The weights (H) of components with these leave-one-out log densities: H x n."""
    H, n = log_density.shape
    weights = log_density.new_full((H,), 1.0 / H)
    for _ in range(ROUNDS):
        shares = torch.softmax(weights.log().unsqueeze(-1) + log_density, 0)
        weights = (shares.sum(-1) + pseudo_count) / (n + H * pseudo_count)
    return weights
