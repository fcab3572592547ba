r"""A belief over families of models: a few draws of each family, weighted by how well they predict what they leave out.

One kernel with good hyperparameters is still one guess. The families:

    rough    a Matern-3/2 kernel
    smooth   a squared exponential kernel, waves along each coordinate and a quadratic trend

In the second the stationary kernel has what a sum of one-dimensional functions and a parabola leave over; how much each
contributes is for the data to say. Hyperparameters of each family are a few draws of their posterior. One draw of each
has all its standard deviations multiplied by `WIDE`: it stands for surprises that no draw foresees, so that the mixture
has heavy tails as far as the data speak for them. Every component is a Gaussian process: all that is exact for one
stays exact.

Weights by stacking (Yao et al. 2018): they maximise how probable the mixture holds each observation given the others,

    sum_i log sum_h w_h p_h(y_i | others) + a sum_h log w_h

by expectation maximisation; a is a pseudo-count of each component. Evidence as a weight, and the leave-one-out
density of each component by itself, are too sure of themselves with few data.

Gross errors. An observation that its neighbours contradict is either wrong or the first sight of a peak. Where the
evidence says that a few are wrong, most components doubt them (their noise has a great variance more) and one of each
family believes all: an experiment beside the observation will tell.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hentropy.core.beliefs import Gaussian
from hentropy.core.beliefs.kernels import Composed, Profile, Stationary
from hentropy.core.beliefs.leave_one_out import leave_one_out
from hentropy.core.beliefs.terms import Basis, FeatureKernel
from hentropy.core.models.hyperparameters import LogPosterior, stand_ins, summits
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

DOUBT = 100.0
"""The variance of gross errors, in units of that of the other outcomes."""

SUSPECT = 4.0
"""Observations are looked at whose standardised residual is as many times greater than is usual."""

WIDE = 2.5
"""By so much standard deviations are greater in the last draw of each family."""

PSEUDO_COUNT = 1.0
ROUNDS = 100
"""Of the expectation maximisation: weights then change in the third digit at most."""


def basis_of(d: int, scales: tuple[int, ...] | None) -> Basis:
    """Waves along coordinates with a length scale of their own; an option is in or out, which a trend can say."""
    lone = range(d) if scales is None else [j for j in range(d) if scales.count(scales[j]) == 1]
    return Basis(d, tuple(lone))


@dataclass(frozen=True)
class Fitted:
    """A family given data: rows of its hyperparameters (H x p), and the log posterior at its summit."""

    target: LogPosterior
    theta: Tensor
    summit: float

    def some(self, rows: int) -> "Fitted":
        """With the last rows alone."""
        return replace(self, theta=self.theta[-rows:])

    def retold(self, outcomes: Tensor, shift: Tensor, scale: Tensor) -> "Fitted":
        """The same about outcomes (n) from which a shift was taken, in units of a scale."""
        theta = self.target.widened(self.theta, 1.0 / float(scale))
        mean = self.target.groups + 1
        theta[:, mean] = (theta[:, mean] - shift) / scale
        return Fitted(replace(self.target, outcomes=outcomes), theta, self.summit + len(outcomes) * float(scale.log()))


def fit_families(target: LogPosterior, draws: int, generator: torch.Generator) -> list[Fitted]:
    """Each family given the data of `target`, with at most `draws` rows of its hyperparameters.

    The most probable row is too sure of itself, and stands alone only where a single one is wanted.
    """
    basis = basis_of(target.inputs.shape[-1], target.scales)
    fitted = []
    for family in FAMILIES:
        own = replace(target, profile=family.profile, basis=basis if family.with_terms else None)
        found = summits(own, target.inputs.new_empty(0, own.size), generator)
        theta = found.theta[found.value.argmax()].unsqueeze(0)
        if draws > 1:
            rows = stand_ins(own, found, draws, generator)[0]
            theta = torch.cat([rows[:-1] if len(rows) > 1 else rows, own.widened(rows[-1:], WIDE)])
        fitted.append(Fitted(own, theta, float(found.value.max())))
    return fitted


def standard_residuals(belief: Gaussian) -> Tensor:
    """What was observed less what the others predict, in standard deviations of an observation without doubt: n."""
    left_out = leave_one_out(belief)
    doubt = belief.frame.scale.square() * (belief.noise - belief.future_noise.unsqueeze(-1))
    variance = left_out.component_sd.square() - doubt
    total = (left_out.weights * (variance + (left_out.component_mean - left_out.mean).square())).sum(0)
    return (left_out.observed - left_out.mean) / total.sqrt()


def suspects(residual: Tensor) -> Tensor:
    """Which observations may be gross errors, by their standardised residuals (n): n.

    Far off is what is far from the others, as errors also make the standard deviations greater. At most a tenth of
    them: where more are far off, that is how the function is.
    """
    size = residual.abs()
    n = len(size)
    usual = 1.4826 * size.median()
    kth = size.topk(n // 10 + 1).values[-1]
    return (size > SUSPECT * usual) & (size > kth)


def doubting(target: LogPosterior, wrong: Tensor) -> LogPosterior:
    """The same data, of which some (n) are held for gross errors."""
    return replace(target, doubt=DOUBT * wrong.to(target.inputs))


def log_odds(doubtful: Sequence[Fitted], trusting: Sequence[Fitted], wrong: Tensor) -> float:
    """Of so many gross errors against none."""
    prior = int(wrong.sum()) * math.log(ERRORS / (1.0 - ERRORS))
    return prior + max(one.summit for one in doubtful) - max(one.summit for one in trusting)


def joined(kernels: Sequence[Composed]) -> Composed:
    """The components of all of them, one after the other."""
    profiles = [own for kernel in kernels for own in kernel.stationary.profiles * len(kernel.stationary.outputscale)]
    stationary = Stationary(
        tuple(profiles),
        torch.cat([kernel.stationary.lengthscale for kernel in kernels]),
        torch.cat([kernel.stationary.outputscale for kernel in kernels]),
    )
    return Composed(
        stationary, FeatureKernel(kernels[0].terms.basis, torch.cat([kernel.terms.variance for kernel in kernels]))
    )


def evened(belief: Gaussian, count: int) -> Gaussian:
    """A mixture of `count` components with equal weights that stands for the belief: heavy ones come several times."""
    places = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    chosen = torch.searchsorted(belief.weights.cumsum(0).cpu(), places).clamp_max(belief.components - 1)
    return replace(belief.some(chosen.tolist()), weights=belief.weights.new_full((count,), 1.0 / count))


def carried(belief: Gaussian) -> dict[str, float]:
    """The weight that each family carries, by name; nothing for a belief of another fit."""
    kernel = belief.kernel
    if not isinstance(kernel, Composed):
        return {}
    names = {family.profile: family.name for family in FAMILIES}
    weights = dict.fromkeys((family.name for family in FAMILIES), 0.0)
    profiles = kernel.stationary.profiles
    each = profiles * belief.components if len(profiles) == 1 else profiles
    for profile, weight in zip(each, belief.weights.tolist(), strict=True):
        weights[names[profile]] += weight
    return weights


def doubted(belief: Gaussian) -> Tensor:
    """How probably each observation is a gross error, by the weights of the components that doubt it: n."""
    if not belief.stacked:
        return torch.zeros_like(belief.residual[0])
    beside = belief.noise - belief.noise.min(-1, keepdim=True).values
    doubt = beside - beside.min(0).values  # what all components have was given
    return belief.weights @ (doubt > 0.5 * DOUBT).to(belief.weights)


def stacked(log_density: Tensor, pseudo_count: float = PSEUDO_COUNT) -> Tensor:
    """The weights (H) of components that hold each observation given the others to be so likely: H x n."""
    H, n = log_density.shape
    weights = log_density.new_full((H,), 1.0 / H)
    for _ in range(ROUNDS):
        shares = torch.softmax(weights.log().unsqueeze(-1) + log_density, 0)
        weights = (shares.sum(-1) + pseudo_count) / (n + H * pseudo_count)
    return weights
