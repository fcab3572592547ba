"""What a belief is: a weighted set of components, each of which is Gaussian at any finite set of points.

A Gaussian process is one component; a mixture over hyperparameters is several; a set of sampled functions is many whose
covariance is zero. All losses and closed forms see the same `Moments`, so a decision is written once for all of them.

    H  components        b  designs looked at        N  outcomes of each        K  points of an action
    n  observations      q  designs observed together                           d  parameters of a design

A belief about several outcomes of a design (o of them, see `several`) has o values at each point. They stand next to
each other: all of the first point, then all of the second. Wherever K or q values are spoken of, it is K o and q o.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, Self

from hentropy.core.beliefs.linalg import robust_root, scaled_root
from hentropy.core.beliefs.links import Latent, of_logarithm
from hentropy.core.beliefs.nodes import Nodes, mixture_quantiles, outcome_nodes
from hentropy.core.given import closest, is_number
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

TYPICAL = 2
"""Components of a mixture that a first look takes."""

QUANTILES = (0.05, 0.5, 0.95)
"""The probabilities of the quantiles that predictions have, unless others are asked for."""


class Needs(IntEnum):
    """The moments of a belief that a loss depends on; higher ones cost more.

    MEAN means that the loss is affine in f, so that its expectation depends only on the means.
    """

    MEAN = 0
    VARIANCE = 1
    JOINT = 2


@dataclass(frozen=True)
class Moments:
    """A belief at points: component weights (H x ...), means (H x ... x m), variances and covariances if requested.

    The batch dimensions of the fields broadcast against each other. `point_mass` says that all covariances are zero.
    With `outcomes` above 1, that many consecutive values belong to one point. Where these are
    correlated, `between` (H x ... x K x o x o) is their covariance at each point, given with variances; `apart` says
    that they are known to be independent, each from all others. Where some components are not normal, `latent` are the
    normal values behind them (see `links`), from which variances and covariances follow if anybody asks.
    """

    weights: Tensor
    mean: Tensor
    var: Tensor | None = None
    cov: Tensor | None = None
    point_mass: bool = False
    outcomes: int = 1
    between: Tensor | None = None
    apart: bool = False
    latent: Latent | None = None

    def expect(self, values: Tensor) -> Tensor:
        """The average over components of a value per component: H x ... to ... ."""
        return values[0] if values.shape[0] == 1 else (self.weights * values).sum(0)

    def expect_vector(self, values: Tensor) -> Tensor:
        """The average over components of vectors: H x ... x m to ... x m."""
        return values[0] if values.shape[0] == 1 else (self.weights.unsqueeze(-1) * values).sum(0)

    @property
    def variance(self) -> Tensor:
        """Each component's variances: H x ... x m."""
        if self.var is None and self.latent is not None:
            return self.latent.variance()
        if self.var is None:
            raise ValueError("these moments were asked for without variances")
        return self.var

    @property
    def covariance(self) -> Tensor:
        """Each component's covariance: H x ... x m x m."""
        if self.cov is None and self.latent is not None and self.latent.cov is not None:
            return self.latent.covariance(self.latent.cov)
        if self.cov is None:
            raise ValueError("these moments were asked for without covariances")
        return self.cov

    @cached_property
    def root(self) -> Tensor:
        """A lower triangular root of each component's covariance: H x ... x m x m."""
        return robust_root(self.covariance) if self.outcomes == 1 else scaled_root(self.covariance)

    @property
    def normal(self) -> tuple[Tensor, Tensor]:
        """Means (H x ... x m) and roots (H x ... x m x m) of the normal values that outcomes are, or are made of."""
        if self.latent is None:
            return self.mean, self.root
        if self.latent.cov is None:
            raise ValueError("these moments were asked for without covariances")
        return self.latent.mean, robust_root(self.latent.cov)

    @property
    def roots_apart(self) -> Tensor:
        """Roots of the covariance of each outcome, where these are `apart`: H x ... x o x K x K."""
        each = (-1, self.outcomes)
        own = self.covariance.unflatten(-1, each).unflatten(-3, each).diagonal(dim1=-3, dim2=-1)
        return scaled_root(own.movedim(-1, -3))

    def averaged(self) -> "Moments":
        """The means alone, averaged over the components: 1 x ... x m, all that an affine loss needs."""
        if self.mean.shape[0] == 1:
            return self
        return Moments(self.weights[:1], self.expect_vector(self.mean).unsqueeze(0), outcomes=self.outcomes)

    def total(self) -> tuple[Tensor, Tensor]:
        """Mean and variance over all components together: ... x m each."""
        mean = self.expect_vector(self.mean)
        second = self.expect_vector(self.variance + (self.mean - mean).square())
        return mean, second


@dataclass(frozen=True)
class Predictive:
    """An outcome at m points, in its units: mean and sd (m each) and its quantiles (S x m)."""

    mean: Tensor
    sd: Tensor
    quantiles: Tensor

    @classmethod
    def over_all(cls, at: Moments, quantiles: Tensor, log: bool) -> "Predictive":
        """From the moments of the components; with `log`, these and the quantiles are of the logarithm."""
        if log:
            quantiles, at = quantiles.exp(), Moments(at.weights, *of_logarithm(at.mean, at.variance))
        mean, variance = at.total()
        return cls(mean, variance.clamp_min(0.0).sqrt(), quantiles)

    def columns(self, name: str, shares: Sequence[float]) -> dict[str, list[float]]:
        """As columns of a table."""
        quantiles = {
            f"{name}_q{100 * share:g}": own.tolist() for share, own in zip(shares, self.quantiles, strict=True)
        }
        return {f"{name}_mean": self.mean.tolist(), f"{name}_sd": self.sd.tolist(), **quantiles}


class Fantasy(ABC):
    """A batch b x N of beliefs: each of b designs observed with each of N outcomes.

    With `Needs.MEAN` the moments may come averaged over the components already (H = 1): the expectation of a loss that
    is affine in f depends on that average alone.
    """

    weights: Tensor
    """The integration weights of the outcomes: N, or b x N where how likely they are depends on the design."""

    @abstractmethod
    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points of each belief's own, b x (N or 1) x ... x K x d: H x b x N x ... x K."""

    @abstractmethod
    def shared_moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points that all beliefs share, P x K x d: H x b x N x P x K."""

    @abstractmethod
    def some(self, index: Tensor) -> "Fantasy":
        """The beliefs after some of the outcomes, by their index."""

    def with_average(self) -> "Fantasy | None":
        """The same with one more outcome behind the others, after which means are the average over all of them.

        None where there is no such belief.
        """
        return None

    @property
    @abstractmethod
    def values(self) -> Tensor:
        """The outcomes themselves, in the user's units: b x N x q."""

    def own_means(self, x: Tensor) -> Tensor:
        """The average over components of the means at x (b x q x d) itself after each outcome: b x N x q."""
        moments = self.moments(x.unsqueeze(1), Needs.MEAN)
        return moments.expect_vector(moments.mean).expand(*self.values.shape[:2], -1)


class LookAhead(ABC):
    """Everything about observing at designs x (b x q x d) that does not depend on the outcome."""

    joint_root: Tensor | None = None
    """A root of the covariance of the outcomes over all components (b x q x q), where one stands for them."""

    @abstractmethod
    def fantasy(self, nodes: Nodes) -> Fantasy:
        """The beliefs after the outcomes that the nodes stand for."""


class Belief(ABC):
    """The posterior of the unknown function f, given the data."""

    X: Tensor
    """The designs observed so far: n x d."""

    noise_std: float
    """The standard deviation of the noise of an observation to come, in the user's units."""

    outcomes: tuple[str, ...] = ("value",)
    """What is observed of a design, by name."""

    logs: frozenset[str] = frozenset()
    """Outcomes that are believed, and observed, as their natural logarithms."""

    graded: frozenset[str] = frozenset()
    """Outcomes that are believed as probabilities, of yes or of a grade, and observed as grades."""

    normal: bool = True
    """Whether values at points are jointly normal in each component, or taken for it."""

    latent_view: bool = False
    """Whether these are believed as the probits of their probabilities instead (see `scores`)."""

    only: frozenset[str] | None = None
    """The outcomes that observations show, where these are not all."""

    awaited: tuple[frozenset[str], ...] = ()
    """The outcomes measured at each of the first designs of a look-ahead, where these are pending."""

    process: Any = None
    """The `Gaussian` that says all of it: itself, or the one about the normal values behind a transform."""

    single_gp: Any = None
    """Itself, where it is one Gaussian process of f: an outcome moves all means along a line."""

    ordinal: Any = None
    """Itself, where it is a `Graded` belief: the next outcome is one of a few grades."""

    point_masses: bool = False
    """Whether components are functions without uncertainty."""

    observed: Tensor | None = None
    """The values of its outcome that it was fitted to, in the user's units (n), where it keeps them."""

    uncertain_noise: tuple[float, float] | None = None
    """The noise, a standard deviation, and how probable it is, while the data do not tell it from roughness."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on how the outcomes are modelled, if there are any."""
        return ()

    @property
    def kinds(self) -> list[str]:
        """What each component is, in a few words (H); nothing where there is nothing to tell apart."""
        return []

    def __repr__(self) -> str:
        """What it is about, how much it has seen, of what components it consists, the noise, and the notes."""
        n, d = self.X.shape
        shares: dict[str, float] = {}
        for kind, weight in zip(self.kinds, getattr(self, "weights", ()), strict=False):
            shares[kind] = shares.get(kind, 0.0) + float(weight)
        which = ", ".join(kind + f" {100.0 * share:.0f} %" * (len(shares) > 1) for kind, share in shares.items())
        count = f"{self.components} components" if self.components > 1 else ""
        noise = ", ".join(f"{float(one):.3g}" for one in torch.as_tensor(self.noise_std).reshape(-1))
        seen = f"{n} observed design{'s' * (n != 1)} of {d} coordinate{'s' * (d != 1)}"
        made = ": ".join(filter(None, (count, which)))
        said = (", ".join(self.outcomes), seen, made, f"noise {noise}", *self.notes)
        return f"{type(self).__name__}({'; '.join(filter(None, said))})"

    @property
    def measured(self) -> tuple[str, ...]:
        """The outcomes that an observation of a design shows: all, unless set otherwise."""
        return self.outcomes

    @cached_property
    def found(self) -> dict[Any, Any]:
        """What was worked out from this belief, for those who ask again: a belief does not change."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what was found: who asked is known by the places of objects in the memory of this process."""
        return {name: value for name, value in self.__dict__.items() if name != "found"}

    @property
    @abstractmethod
    def components(self) -> int:
        """H: one for a Gaussian process."""

    @property
    def sites(self) -> int:
        """The number of points in its algebra, which determines the memory: n, or the number of inducing points."""
        return self.X.shape[0]

    @abstractmethod
    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points ... x m x d: H x ... x m."""

    def means(self, points: Tensor) -> Moments:
        """At points ... x m x d, averaged over the components: 1 x ... x m, all that an affine loss needs."""
        return self.moments(points, Needs.MEAN).averaged()

    @abstractmethod
    def look_ahead(self, x: Tensor) -> LookAhead:
        """Prepare to observe at x: b x q x d."""

    @abstractmethod
    def condition(self, x: Tensor, y: Tensor) -> "Belief":
        """The belief after observing the values y (m) at x (m x d), with the same hyperparameters."""

    @torch.no_grad()
    def predict(
        self, designs: Any, quantiles: Sequence[float] = QUANTILES, noise: bool = False
    ) -> dict[str, list[float]]:
        """The outcomes at designs m x d as columns of a table, in their units; of graded ones, their probabilities.

        Each outcome has "yield_mean", "yield_sd" and a column for each of the `quantiles`, "yield_q5", "yield_q50", ...
        With `noise`, what an observation would show. `pandas.DataFrame(belief.predict(X))` is the table.
        """
        points = torch.as_tensor(designs, dtype=self.X.dtype).to(self.X)
        if points.dim() != 2 or points.shape[-1] != self.X.shape[-1]:
            raise InputError(f"designs must be m x {self.X.shape[-1]}, a row for each, got shape {tuple(points.shape)}")
        for share in quantiles:
            if not (is_number(share) and 0.0 < share < 1.0):
                raise InputError(f"the probability of a quantile is {share!r}; it must be between 0 and 1")
        each = {
            name: self.of(name).marginal(points, quantiles, noise=noise, log=name in self.logs)
            for name in self.outcomes
        }
        return {title: own for name, one in each.items() for title, own in one.columns(name, quantiles).items()}

    def marginal(self, points: Tensor, shares: Sequence[float], *, noise: bool, log: bool) -> Predictive:
        """A single outcome at points m x d, over all components; with `noise`, what observations would show.

        With `log`, this belief is about its logarithm.
        """
        moments = self.moments(points, Needs.VARIANCE)
        variance = moments.variance.clamp_min(0.0) + (self._noise_variance if noise else 0.0)
        at = Moments(moments.weights, moments.mean, variance.expand_as(moments.mean))
        quantiles = mixture_quantiles(shares, at.weights.unsqueeze(-1), at.mean, at.variance.sqrt())
        return Predictive.over_all(at, quantiles, log)

    @property
    def _noise_variance(self) -> Tensor:
        """Of observations to come, in the user's units: H x 1, or 1 x 1 where all components have the same."""
        return torch.as_tensor(self.noise_std).to(self.X).square().reshape(1, 1)

    def noise_std_given(self, at: Moments) -> Tensor | float:
        """`noise_std` of an observation at m points where f has these moments, with variances: m, or one for all."""
        return self.noise_std

    def expecting(self, x: Tensor) -> "Belief":
        """The belief after designs x (m x d) have given their expected outcomes: the uncertainty that remains."""
        return self.condition(x, self.expected(x))

    @abstractmethod
    def paths(self, count: int, seed: int) -> Callable[[Tensor], Tensor]:
        """Functions drawn from the belief: points ... x m x d to count x ... x m."""

    def behind(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """What each component takes outcomes y (...) for, and the log of its slope in y: H (or 1) x ... each."""
        return y.unsqueeze(0), torch.zeros_like(y).unsqueeze(0)

    def linked(self, latent: Moments, needs: Needs) -> Moments:
        """The moments of outcomes from those of the normal values behind them, which have variances."""
        return latent

    def quantiles(self, shares: Sequence[float], weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        """Where so much of the probability of outcomes lies below, whose normal values are so (H x m each): S x m."""
        return mixture_quantiles(shares, weights, mean, sd)

    def exact(self) -> "Belief":
        """The same belief with noiseless future observations, where it can be without noise."""
        return self

    def rescaled(self, shift: float, scale: float) -> "Belief | None":
        """The belief about shift + scale f (scale above 0), whatever the outcome; None where it cannot say."""
        return None

    def named(self, name: str) -> "Belief | None":
        """The same belief, whose single outcome has this name; None where its class gives the name."""
        known = getattr(type(self), "__dataclass_fields__", {})
        return replace(self, outcomes=(name,)) if "outcomes" in known else None  # type: ignore[type-var]

    def split(self) -> "tuple[Belief, ...]":
        """The independent beliefs of which it consists, each about an outcome, or about some that are correlated."""
        return (self,)

    def rejoined(self, parts: Sequence["Belief"]) -> "Belief":
        """The same belief of such parts."""
        (part,) = parts
        return part

    def process_of(self, name: str) -> "Belief":
        """The belief about one outcome; of one that is correlated with others, its own process."""
        return self.of(name)

    def viewing(self, levels: Mapping[str, float | None]) -> "Belief":
        """The belief about the probits of some graded outcomes, for each of which there may be a level to exceed."""
        return self

    def of(self, *outcomes: str) -> "Belief":
        """The belief about some of the outcomes, in this order."""
        check_names(outcomes, self.outcomes)
        return self

    @property
    def scores(self) -> "Belief":
        """The belief in which the probability of a graded outcome is its probit g, which is normal."""
        return self

    def alone(self) -> "Belief":
        """The belief as if only its own outcomes were observed."""
        return self

    def related(self, *outcomes: str) -> frozenset[str]:
        """The outcomes whose measurement is informative about some of them: these, and those correlated with them."""
        return frozenset(outcomes)

    def measuring(self, *outcomes: str) -> "Belief":
        """The same belief, where observations show only some of the outcomes."""
        check_names(outcomes, self.outcomes)
        return self

    def awaiting(self, *each: frozenset[str]) -> "Belief":
        """The same belief, where the first designs of a look ahead are pending, each with outcomes of its own.

        With a single outcome there is no choice.
        """
        return self

    def width(self, designs: int) -> int:
        """How many values an observation of this many designs shows."""
        return designs * len(self.measured)

    def expected(self, x: Tensor) -> Tensor:
        """The means of what an observation at designs x (n x d) shows, as `condition` takes it."""
        return self.means(x).mean[0]

    def nodes(self, count: int, q: int, seed: int | None = None) -> Nodes:
        """Where the outcomes of q designs are integrated (see `outcome_nodes`): z is count x q."""
        return outcome_nodes(count, q, self.components, seed).to(self.X)

    def typical(self, count: int = TYPICAL) -> "Belief":
        """A belief of `count` components that approximate all of them, for a fast first pass.

        A belief that cannot be divided is returned as it is.
        """
        return self

    def sample(self, points: Tensor, count: int, seed: int) -> Tensor:
        """Joint draws of f at points m x d: count x m."""
        return joint_draws(self.moments(points, Needs.JOINT), count, torch.Generator().manual_seed(seed))


class Mixture(Belief):
    """A belief whose components can be taken apart."""

    weights: Tensor
    """Of the components: H."""

    @property
    def components(self) -> int:
        """H."""
        return self.weights.shape[0]

    @abstractmethod
    def some(self, components: list[int]) -> Self:
        """The mixture of some of the components."""

    @abstractmethod
    def weighted(self, weights: Tensor) -> Self:
        """With other weights of the components."""

    def component(self, h: int) -> Self:
        """A single component."""
        return self.some([h])

    def half_way(self) -> Tensor:
        """What each component says half way between observations, where they differ: see `half_way`."""
        return half_way(self)

    def typical(self, count: int = TYPICAL) -> Self:
        """A mixture of `count` components whose means and variances approximate those of all."""
        if count >= self.components:
            return self
        if "typical" not in self.found or self.found["typical"].components != count:
            self.found["typical"] = self.some(most_typical(self.weights, self.half_way())[:count])
        few: Self = self.found["typical"]
        return few


def joint_draws(moments: Moments, count: int, generator: torch.Generator) -> Tensor:
    """Draws of f at m points from their moments (H x m), components by weight: count x m."""
    weights, mean = moments.weights.reshape(-1), moments.mean
    component = torch.multinomial(weights.cpu(), count, replacement=True, generator=generator).to(mean.device)
    if moments.point_mass:
        return mean[component]
    noise = torch.randn(count, mean.shape[-1], generator=generator, dtype=torch.float64).to(mean)
    mean, root = moments.normal
    draws = torch.empty_like(noise)
    for h in range(mean.shape[0]):  # a root for each draw would take count x m x m numbers
        own = component == h
        draws[own] = mean[h] + noise[own] @ root[h].mT
        if moments.latent is not None and bool(moments.latent.bent[h]):
            draws[own] = moments.latent.bend(draws[own])
    return draws


def check_names(wanted: tuple[str, ...], known: tuple[str, ...]) -> None:
    """An `InputError` unless these are names of different outcomes, at least one."""
    if not wanted or len(set(wanted)) < len(wanted) or not set(wanted) <= set(known):
        asked = ", ".join(map(repr, wanted)) or "none of them"
        meant = next((close for name in wanted if name not in known and (close := closest(name, known))), None)
        question = f"; did you mean {meant}?" if meant else ""
        raise InputError(f"the outcomes are {', '.join(map(repr, known))}; asked for {asked}{question}")


def most_typical(weights: Tensor, seen: Tensor) -> list[int]:
    """Components, each next one chosen so that the average over the chosen comes closest to that over all.

    From their weights (H) and what they say (H x S, in comparable units). Those without weight come last.
    """
    each = weights.unsqueeze(-1)
    aim, left, chosen = (each * seen).sum(0), list(range(len(weights))), []
    total, mass = torch.zeros_like(aim), torch.zeros_like(weights[0])
    while left:
        trial = (total + each[left] * seen[left]) / (mass + each[left]).clamp_min(1e-300)
        miss = (trial - aim).square().sum(-1)
        best = left.pop(int(torch.where(weights[left] > 0, miss, torch.inf).argmin()))
        chosen.append(best)
        total, mass = total + each[best] * seen[best], mass + weights[best]
    return chosen


@torch.no_grad()
def half_way(belief: Belief) -> Tensor:
    """What each component says half way between observations, where they differ: standardised, H x 2 m o."""
    moments = belief.moments(0.5 * (belief.X + belief.X.roll(1, 0))[-128:], Needs.VARIANCE)
    each = moments.total()[1].unflatten(-1, (-1, moments.outcomes)).mean(0).sqrt().clamp_min(1e-300)
    spread = each.repeat(moments.mean.shape[-1] // moments.outcomes)
    return torch.cat([moments.mean / spread, moments.variance.sqrt() / spread], -1)
