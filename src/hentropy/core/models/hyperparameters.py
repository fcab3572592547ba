r"""The log posterior of the hyperparameters of the default model, explicit and for many of them at once.

The model sees designs in the unit cube and standardised outcomes:

    y_i = m + g(x_i) + e_i        g ~ GP(0, s k(|x - x'| / l))        e_i ~ N(0, v_i)

    n  observations     d  parameters of a design     C  rows of hyperparameters     p  hyperparameters in a row
    g  length scales: coordinates of one group share one, such as those of a choice; without groups g = d
    theta = (log l_1 ... log l_g, log s, m, log v); the last is absent where the noise is given, so p = g + 3 or g + 2

A family with terms (waves and a trend, see `beliefs.terms`) has an own length scale of the waves along each coordinate,
the variance of all waves, and those of the linear and of the quadratic trend before the noise:

    theta = (log l_1 ... log l_g, log s, m, log w_1 ... log w_W, log t, log b, log c, log v)

    log p(theta | y) = -1/2 r^T K^-1 r - 1/2 log det K + log prior(theta) + constant     r = y - m,  K = s k + diag(v)

One batched Cholesky factor serves all C rows. With alpha = K^-1 r, the derivative in K is (alpha alpha^T - K^-1) / 2.

The most probable ones are found from many starts screened in one batch; the best few are ascended together.

There are few hyperparameters (p), so BFGS keeps a whole inverse Hessian B (p x p) for each of the K rows that climb:

    step = t B g,   accepted where the log posterior rises by at least 1e-4 t g^T B g, else t is halved
    B' = (I - s u^T / s^T u) B (I - u s^T / s^T u) + s s^T / s^T u        s = theta' - theta,  u = g - g'

All rows share one batched value-and-gradient per round. B starts as the prior's covariance, which sets every scale, or
as it ended for some of the observations.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hentropy.core.beliefs.kernels import Composed, Profile, Stationary, fallen
from hentropy.core.beliefs.linalg import cholesky
from hentropy.core.beliefs.tails import BLURRED, FUTURE, price
from hentropy.core.beliefs.terms import Basis, FeatureKernel
from hentropy.errors import NumericalError
from hentropy.lazy import AutogradFunction, Tensor, torch

NOISE_FLOOR = 1e-10
"""The least noise variance, as a share of the outcomes' variance. Variances are differences of products with the
inverse root of K, whose errors are of the size eps / sqrt(v): below v = eps^(2/3), about 4e-11, they are all errors."""


@dataclass(frozen=True)
class Normal:
    """A normal prior of one hyperparameter, on the scale that theta has."""

    location: float
    width: float

    @property
    def median(self) -> float:
        """Of the exponential of what has this prior."""
        return math.exp(self.location)


def lengthscale_prior(g: int) -> Normal:
    """log l ~ N(log(0.5 sqrt g), 1.3), for each of g lengthscales in the unit cube.

    Distances in the cube grow like sqrt g; a median that grows with them keeps neighbours correlated in ten dimensions.
    The width covers functions with several periods per axis (l about 0.1) and axes that hardly matter (l about 10),
    both within two standard deviations or so. Compared by the log density of held-out outcomes of rough, smooth, sparse
    and noisy functions: shorter or narrower loses on axes without effect, much longer on rough functions and few data.
    """
    return Normal(math.log(0.5 * math.sqrt(g)), 1.3)


def outputscale_prior() -> Normal:
    """log s ~ N(0, 1): the outcomes have variance one; long lengthscales need more. Half as wide did worse."""
    return Normal(0.0, 1.0)


def mean_prior() -> Normal:
    """m ~ N(0, 1): the mean of the outcomes, known to about their spread where the data cover the space badly."""
    return Normal(0.0, 1.0)


def noise_prior() -> Normal:
    """log v ~ N(log 1e-4, 3): mostly next to nothing (simulators), yet a tenth of the variance costs only 2.7 nats."""
    return Normal(math.log(1e-4), 3.0)


def measured_noise_prior() -> Normal:
    """log v ~ N(log 0.06, 1.5) where there is noise: a quarter of the spread of the outcomes; a twentieth to all of it.

    With N(log 0.03, 2), 90 % intervals at measured designs held the truth in 0.84 and 0.73 of the cases with noises of
    0.1 and 0.2 (6 to 40 observations of seven functions), and with this in 0.92 and 0.82.
    """
    return Normal(math.log(0.06), 1.5)


QUIET = math.log(1e-10)
"""log v of the rows that expect no noise: as good as none, see `NOISE_FLOOR`."""

COMMON, FEW, MANY_SCALES = 0.9, 2, 8
"""The share of the prior variance of log length scales that they have in common in a family, from this many scales on;
it falls to none at `FEW`. With few data in many dimensions one scale for all is learned first. Chosen by held-out
outcomes and by runs of three functions of ten parameters, against 0, 0.5 and 0.8."""


def common_share(scales: int) -> float:
    """The share for so many length scales."""
    return COMMON * min(max((scales - FEW) / (MANY_SCALES - FEW), 0.0), 1.0)


def terms_priors(waves: int) -> list[Normal]:
    """Of the length scales of the waves (a few periods or none along an axis), and of the variances of the terms.

    All are wide: what a sum of one-dimensional terms, a parabola and the rest contribute is for the data to say.
    """
    return [Normal(math.log(0.3), 1.0)] * waves + [Normal(0.0, 1.5), Normal(-1.0, 1.5), Normal(-1.0, 1.5)]


def rest_prior() -> Normal:
    """log s ~ N(-1, 1.5) where there are terms: what is left to the stationary kernel may be little."""
    return Normal(-1.0, 1.5)


class _LogDensity(AutogradFunction):
    """log N(r; 0, K) without its constant, K = G + diag(v): G is C x n x n, v and r are C x n; C.

    -inf where K is not positive definite; such rows hand no derivative on.
    """

    @staticmethod
    def forward(ctx: Any, G: Tensor, v: Tensor, r: Tensor) -> Tensor:
        K = G.clone()
        K.diagonal(dim1=-2, dim2=-1).add_(v)
        L, info = torch.linalg.cholesky_ex(K)
        white = torch.linalg.solve_triangular(L, r.unsqueeze(-1), upper=False)
        value = -0.5 * white.square().sum((-2, -1)) - L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        good = (info == 0) & value.isfinite()
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(L, white, good)
        return torch.where(good, value, -torch.inf)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        L, white, good = ctx.saved_tensors
        L = torch.where(good[:, None, None], L, torch.eye(L.shape[-1]).to(L))  # the factor of a failed row is no factor
        alpha = torch.linalg.solve_triangular(L.mT, white, upper=True)
        by_K = 0.5 * grad[:, None, None] * (alpha @ alpha.mT - torch.cholesky_inverse(L))
        by_r = -grad[:, None] * alpha.squeeze(-1)
        # the factor of a failed row holds NaN, and 0 x NaN is NaN: it must not reach the shared parameters
        by_K = torch.where(good[:, None, None], by_K, 0.0)
        return by_K, by_K.diagonal(dim1=-2, dim2=-1), torch.where(good[:, None], by_r, 0.0)


def log_density(G: Tensor, v: Tensor, r: Tensor) -> Tensor:
    """log N(r; 0, G + diag(v)) without its constant: G is C x n x n, v and r are C x n; C, -inf where there is none."""
    value: Tensor = _LogDensity.apply(G, v, r)
    return value


class KernelPosterior(ABC):
    """The log posterior of theta = (log l_1 ... log l_g, log s, m, ...) for whatever is seen of m + g(x)."""

    inputs: Tensor
    """n x d, in the unit cube."""

    outcomes: Tensor
    """n."""

    profile: Profile
    scales: tuple[int, ...] | None
    """Which length scale belongs to each coordinate (d numbers from 0 to g - 1); one each if left out."""

    basis: Basis | None = None
    """The features of the terms, in a family that has them."""

    common: float = 0.0

    @property
    @abstractmethod
    def own_priors(self) -> list[Normal]:
        """The priors of what follows the length scales in a row."""

    @abstractmethod
    def log_likelihood(self, theta: Tensor) -> Tensor:
        """The log probability of what was seen, up to a constant: C x p to C; -inf where it cannot be computed."""

    @abstractmethod
    def subset(self, rows: Tensor) -> "KernelPosterior":
        """The same given some of the observations only."""

    @cached_property
    def groups(self) -> int:
        """g."""
        return self.inputs.shape[-1] if self.scales is None else max(self.scales) + 1

    @property
    def size(self) -> int:
        """p."""
        return self.groups + len(self.own_priors)

    def lengthscales(self, theta: Tensor) -> Tensor:
        """The length scale of each coordinate: C x p to C x d."""
        own = theta[:, : self.groups].exp()
        return own if self.scales is None else own[:, list(self.scales)]

    @cached_property
    def squared_differences(self) -> Tensor:
        """(x_i - x_j)^2 of each group of coordinates: g x n^2, so that all scaled distances are one matrix product."""
        x = self.inputs.mT.contiguous()  # d x n
        each = (x.unsqueeze(-1) - x.unsqueeze(-2)).square().flatten(1)
        if self.scales is None or self.groups == len(x):
            return each
        group = torch.tensor(self.scales, device=each.device)
        return each.new_zeros(self.groups, each.shape[-1]).index_add_(0, group, each)

    def covariance(self, theta: Tensor) -> Tensor:
        """The prior covariance at the data: C x p to C x n x n."""
        g, n = self.groups, self.outcomes.shape[0]
        r2 = (torch.exp(-2.0 * theta[:, :g]) @ self.squared_differences).view(-1, n, n)
        covariance = fallen(r2, theta[:, g].exp()[:, None, None], self.profile)
        if self.basis is None:
            return covariance
        if n > MANY:  # the table of products would be larger than the features
            return covariance + self._terms(theta, self.basis)(self.inputs, self.inputs)
        return covariance + (torch.cat(self._variances(theta, self.basis), -1) @ self.products).view(-1, n, n)

    @cached_property
    def products(self) -> Tensor:
        """Sums of products of features that share a variance, cosines of differences, u.u' and (u.u')^2: P x n^2."""
        assert self.basis is not None
        u = 2.0 * self.inputs - 1.0
        dots = (u @ u.mT).reshape(1, -1)
        own = self.inputs[:, list(self.basis.waving)]
        away = (own[:, None] - own[None]).flatten(0, 1).mT  # W x n^2
        waves = torch.cos(self.basis.frequencies(own)[:, None] * away[:, None]).flatten(0, 1)
        return torch.cat([waves, dots, dots.square()])

    def _variances(self, theta: Tensor, basis: Basis) -> tuple[Tensor, Tensor, Tensor]:
        """Of the waves, of the linear and of the quadratic trend: C x (coordinates x frequencies), C x 1, C x 1."""
        W, first = len(basis.waving), self.groups + 2
        own = theta[:, first : first + W].exp().unsqueeze(-1)  # C x W x 1
        # the spectrum of a Matern-5/2 kernel, its variance shared by the coordinates
        spectrum = (1.0 + (own * basis.frequencies(theta)).square() / 5.0) ** -3
        share = spectrum / (max(W, 1) * spectrum.sum(-1, keepdim=True))
        t, b, c = theta[:, first + W : first + W + 3].exp().unsqueeze(-1).unbind(1)
        # u.u' grows with the number of coordinates
        return (t.unsqueeze(-1) * share).flatten(1), b / basis.d**0.5, c / basis.d * float(basis.bent)

    def _terms(self, theta: Tensor, basis: Basis) -> FeatureKernel:
        waves, b, c = self._variances(theta, basis)
        return FeatureKernel(basis, basis.variances(waves, b.squeeze(-1), c.squeeze(-1)))

    def kernel(self, theta: Tensor) -> Stationary | Composed:
        """Of rows H x p."""
        stationary = Stationary(self.profile, self.lengthscales(theta), theta[:, self.groups].exp())
        return stationary if self.basis is None else Composed(stationary, self._terms(theta, self.basis))

    def __call__(self, theta: Tensor) -> Tensor:
        """Rows C x p to C, up to a constant; -inf where the kernel matrix is not positive definite."""
        return self.log_likelihood(theta) + self.log_prior(theta)

    def value_and_slope(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """The log posterior (C) and its derivative (C x p) at rows C x p."""
        with torch.enable_grad():
            theta = theta.detach().requires_grad_()
            value = self(theta)
            (slope,) = torch.autograd.grad(value.sum(), theta)
        return value.detach(), slope

    def begun(self, theta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """These, and how far the posterior may reach from there, by what is known of its curvature: C x p x p."""
        return *self.value_and_slope(theta), self.prior_covariance.expand(theta.shape[0], -1, -1)

    @cached_property
    def prior_covariance(self) -> Tensor:
        """p x p."""
        width = self.priors[1]
        covariance = torch.diag(width.square())
        for some in self.alike:
            covariance[some, some] += self.common * (width[some, None] * width[some] - torch.diag(width[some].square()))
        return covariance

    @property
    def alike(self) -> tuple[slice, ...]:
        """Hyperparameters, neighbours in a row, that have the share `common` of their prior variance in common."""
        return ()

    @cached_property
    def prior_precision(self) -> Tensor:
        """The inverse of the prior covariance: p x p."""
        return torch.linalg.inv(self.prior_covariance)

    @cached_property
    def priors(self) -> tuple[Tensor, Tensor]:
        """Location and width of each hyperparameter's normal prior: p and p."""
        priors = [lengthscale_prior(self.groups)] * self.groups + self.own_priors
        return (
            self.inputs.new_tensor([prior.location for prior in priors]),
            self.inputs.new_tensor([prior.width for prior in priors]),
        )

    def log_prior(self, theta: Tensor) -> Tensor:
        """Rows C x p to C, up to a constant."""
        away = theta - self.priors[0]
        return -0.5 * ((away @ self.prior_precision) * away).sum(-1)

    def prior_draws(self, count: int, generator: torch.Generator) -> Tensor:
        """Rows drawn from the prior: count x p."""
        location = self.priors[0]
        z = torch.randn(count, self.size, generator=generator, dtype=torch.float64)
        return location + z.to(location) @ torch.linalg.cholesky(self.prior_covariance).mT


@dataclass(frozen=True)
class LogPosterior(KernelPosterior):
    """Given standardised outcomes (n), and noise variances (n) or None to fit one.

    `doubt` (n) is a variance that observations have on top of a fitted noise: what is doubted counts for less. With
    heavy tails, noises are squared scales, and `tails` (n, or C x n for C rows) the weights of the observations, see
    `beliefs.tails`.
    """

    inputs: Tensor
    outcomes: Tensor
    noise: Tensor | None
    profile: Profile
    scales: tuple[int, ...] | None = None
    basis: Basis | None = None
    doubt: Tensor | None = None
    common: float = 0.0
    some_noise: bool = False
    """Whether a fitted noise is that of measurements; without noise is another hypothesis then (see `families`)."""
    tails: Tensor | None = None

    @property
    def alike(self) -> tuple[slice, ...]:
        """Length scales of the kernel, and those of the waves."""
        waves = 0 if self.basis is None else len(self.basis.waving)
        return slice(0, self.groups), slice(self.groups + 2, self.groups + 2 + waves)

    @property
    def own_priors(self) -> list[Normal]:
        """Those of log s, m, the terms, and log v unless the noise is given."""
        noise = [measured_noise_prior() if self.some_noise else noise_prior()] * (self.noise is None)
        if self.basis is None:
            return [outputscale_prior(), mean_prior(), *noise]
        return [rest_prior(), mean_prior(), *terms_priors(len(self.basis.waving)), *noise]

    def subset(self, rows: Tensor) -> "LogPosterior":
        """The same given some of the observations only."""
        rows = rows.to(self.inputs.device)
        noise, doubt = (None if each is None else each[rows] for each in (self.noise, self.doubt))
        tails = None if self.tails is None else self.tails[..., rows]
        some = replace(self, inputs=self.inputs[rows], outcomes=self.outcomes[rows])
        return replace(some, noise=noise, doubt=doubt, tails=tails)

    def log_prior(self, theta: Tensor) -> Tensor:
        """Rows C x p to C, up to a constant; with heavy tails less the price of the weights."""
        own = super().log_prior(theta)
        return own if self.tails is None else own - price(self.tails).sum(-1)

    def log_likelihood(self, theta: Tensor) -> Tensor:
        """log N(y; m, K) without its constant: C x p to C."""
        residual = self.outcomes - theta[:, self.groups + 1, None]
        return log_density(self.covariance(theta), self.noise_variance(theta), residual)

    def noise_variance(self, theta: Tensor) -> Tensor:
        """The noise variance of each observation, given its weight with heavy tails: C x n."""
        usual = self.usual_variance(theta)
        return usual if self.tails is None else usual / self.tails

    def usual_variance(self, theta: Tensor) -> Tensor:
        """The same without weights: C x n."""
        n = self.outcomes.shape[0]
        if self.noise is not None:
            return self.noise.expand(theta.shape[0], n)
        fitted = (NOISE_FLOOR + theta[:, -1:].exp()).expand(theta.shape[0], n)
        return fitted if self.doubt is None else fitted + self.doubt

    def believed_variance(self, theta: Tensor) -> Tensor:
        """The noise variance that each observation has in a belief: C x n."""
        return self.noise_variance(theta) * (1.0 if self.tails is None else BLURRED)

    def future_noise(self, theta: Tensor) -> Tensor:
        """The noise variance of an observation to come: C. Given errors say what the next is likely to be."""
        tailed = 1.0 if self.tails is None else FUTURE
        if self.noise is not None:
            return tailed * self.noise.mean().expand(theta.shape[0])
        return tailed * (NOISE_FLOOR + theta[:, -1].exp())

    def widened(self, theta: Tensor, factor: float) -> Tensor:
        """Rows (C x p) that expect the same, with all standard deviations greater by the factor; given noise stays."""
        step = torch.full_like(theta, 2.0 * math.log(factor))
        step[:, : self.groups] = 0.0
        step[:, self.groups + 1] = 0.0
        if self.basis is not None:
            step[:, self.groups + 2 : self.groups + 2 + len(self.basis.waving)] = 0.0
        return theta + step

    def with_noise(self, theta: Tensor, generator: torch.Generator) -> Tensor:
        """Rows without a noise (C x (g + 2)) with one drawn from its prior: C x (g + 3).

        One each: chains that agree in a coordinate would agree in it for ever.
        """
        prior = noise_prior()
        z = torch.randn(theta.shape[0], 1, generator=generator, dtype=torch.float64).to(theta)
        return torch.cat([theta, prior.location + prior.width * z], -1)


MANY = 128
"""Beyond this many observations an evaluation is expensive and the posterior has few summits: fewer starts then."""

SUBSET = 256
"""With more observations, the modes are searched with this many random ones; the best then ascends with more."""

CLIMBED = 700
"""At most with this many: held-out outcomes were as likely as with 1,000, in two thirds of the time."""

NEARLY = 0.1
"""Each time so much of the log posterior may be left to rise: hyperparameters are known to a few tenths of it at best.
"""

ROUNDS = 80
TOLERANCE = 1e-3
"""A row has arrived where no slope per prior standard deviation is above this: flat to about 1e-6."""

FLAT = 0.02
"""The same where rows are drawn around the summits anyway: flat to about 1e-4."""

LONGEST_STEP = 2.0
"""In prior standard deviations: a first step far into a tail would be wasted."""


@dataclass(frozen=True)
class Summits:
    """Where rows arrived (K x p), the log posterior there (K), and BFGS's inverse Hessian of minus it (K x p x p)."""

    theta: Tensor
    value: Tensor
    spread: Tensor

    def some(self, index: Tensor) -> "Summits":
        """Those of an index."""
        return Summits(self.theta[index], self.value[index], self.spread[index])

    @property
    def evidence(self) -> float:
        """The log of the largest mass of a normal approximation, up to a constant."""
        return float(self._log_mass.max())

    def around(self, count: int, generator: torch.Generator) -> Tensor:
        """Draws from the normal approximations at the summits, each with its share of the mass: count x p."""
        shares = torch.softmax(self._log_mass, 0).cpu()
        chosen = torch.multinomial(shares, count, replacement=True, generator=generator).to(self.theta.device)
        z = torch.randn(count, self.theta.shape[-1], 1, generator=generator, dtype=torch.float64).to(self.theta)
        return self.theta[chosen] + (self._root[chosen] @ z).squeeze(-1)

    @cached_property
    def _root(self) -> Tensor:
        return cholesky(self.spread, "spread of the hyperparameters")

    @property
    def _log_mass(self) -> Tensor:
        """The log of the mass of each normal approximation, up to a constant: K."""
        return self.value + self._root.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_density(self, theta: Tensor) -> Tensor:
        """The log density of `around`, up to a constant: C x p to C."""
        away = (theta.unsqueeze(0) - self.theta.unsqueeze(1)).mT  # K x p x C
        white = torch.linalg.solve_triangular(self._root, away, upper=False)
        each = self.value.unsqueeze(-1) - 0.5 * white.square().sum(-2)  # the height at a summit is its value
        return torch.logsumexp(each, 0)


DRAWN = 24
"""This many rows are drawn around the summits, and a few of them stand for all."""


@torch.no_grad()
def stand_ins(target: KernelPosterior, found: Summits, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """At most `count` rows that stand for the posterior (H x p) and their weights (H).

    Rows are drawn from the normal approximations at the summits and weighted by how far these are from the posterior.
    """
    theta = found.around(DRAWN, generator)
    theta = theta[
        theta[:, -1].argsort()
    ]  # the last is the noise, where it is fitted: all levels of it are among the rows
    log_weight = target(theta) - found.log_density(theta)
    weight = torch.softmax(torch.where(log_weight.isfinite(), log_weight, -torch.inf), 0)
    weight = weight.clamp_max(DRAWN**-0.5)  # a few draws must not stand for all of them (Ionides 2008)
    places = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    chosen = torch.searchsorted((weight / weight.sum()).cumsum(0).cpu(), places).clamp_max(DRAWN - 1)
    rows, times = chosen.unique(return_counts=True)
    return theta[rows.to(theta.device)], times.to(theta) / count


def maximise(target: KernelPosterior, known: Tensor, generator: torch.Generator) -> Tensor:
    """The best row found: 1 x p. `known` rows (C x p, maybe none) of an earlier fit compete with draws of the prior."""
    found = summits(target, known, generator)
    return found.theta[found.value.argmax()].unsqueeze(0)


def summits(
    target: KernelPosterior,
    known: Tensor,
    generator: torch.Generator,
    unseen: float = 0.0,
    tolerance: float = TOLERANCE,
) -> Summits:
    """Where the best of `known` rows and of draws of the prior lead; `unseen` and `tolerance` as in `ascend`."""
    n = target.outcomes.shape[0]
    if n > SUBSET:
        rows, m = torch.randperm(n, generator=generator), min(n, CLIMBED)
        found = summits(target.subset(rows[:SUBSET]), known, generator, NEARLY)
        best = found.value.argmax().unsqueeze(0)
        # the posterior of more is so much narrower, and as wide in one direction compared with another
        spread = found.spread[best] * (SUBSET / m)
        more = target if m == n else target.subset(rows[:m])
        return ascend(more, found.theta[best], spread=spread, unseen=NEARLY)
    screened, ascended = (64, 4) if target.outcomes.shape[0] <= MANY else (24, 3)
    candidates = torch.cat([known, target.priors[0].unsqueeze(0), target.prior_draws(screened, generator)])
    best = target(candidates).topk(ascended).indices
    found = ascend(target, candidates[best], tolerance, unseen=unseen)
    if not math.isfinite(float(found.value.max())):
        raise NumericalError(
            "no hyperparameters give a positive definite kernel matrix; repeated designs with differing outcomes and a"
            " noise of zero are the likeliest cause: give the observations some noise, or none at all to have it fitted"
        )
    return found


FIXED_SPREAD = 1e-6
"""The variance of a hyperparameter that does not move."""


def summits_without_noise(target: LogPosterior, noisy: Summits, generator: torch.Generator) -> Summits:
    """Where those with noise, and the best draws of the prior, lead without it; their values have no prior of it."""
    start = torch.cat([noisy.theta, target.prior_draws(16, generator)])
    start[:, -1] = QUIET
    fixed = torch.zeros_like(target.priors[0], dtype=torch.bool)
    fixed[-1] = True
    places = torch.cat([noisy.value.topk(1).indices, target(start).topk(1).indices])
    found = ascend(target, start[places], FLAT, fixed=fixed)
    location, width = target.priors[0][-1], target.priors[1][-1]
    return replace(found, value=found.value + 0.5 * ((QUIET - location) / width).square())


def evidence_of_noise(target: LogPosterior, noisy: Summits, quiet: Summits) -> tuple[float, float]:
    """The logs of the evidence for some noise and for none, by normal approximations, up to a constant of both."""
    return noisy.evidence - math.log(float(target.priors[1][-1])), quiet.evidence - 0.5 * math.log(FIXED_SPREAD)


def ascend(
    target: KernelPosterior,
    theta: Tensor,
    tolerance: float = TOLERANCE,
    spread: Tensor | None = None,
    unseen: float = 0.0,
    fixed: Tensor | None = None,
) -> Summits:
    """From rows K x p uphill, until no slope per prior standard deviation is above the tolerance.

    What is `fixed` (p) stays.

    `spread` (K x p x p) is what B starts as; the prior's covariance if left out. With `unseen` the summit is all that
    counts, and B need not be a covariance there: it starts as what the target knows (`begun`) and learns from steps
    that led down as well, and a step that is expected to lead higher by less than `unseen` is the last.
    """
    width = target.priors[1]
    eye = torch.eye(theta.shape[-1], dtype=theta.dtype, device=theta.device)
    value, g, B = target.begun(theta) if unseen else (*target.value_and_slope(theta), target.prior_covariance)
    B = B.expand(theta.shape[0], -1, -1) if spread is None else spread
    if fixed is not None:
        width = torch.where(fixed, 0.0, width)
        B = B * ~(fixed.unsqueeze(-1) | fixed)  # no step of BFGS fills a row of zeros
    t, step = theta.new_ones(theta.shape[0]), (B @ g.unsqueeze(-1)).squeeze(-1)
    for _ in range(ROUNDS):
        longest = (step / target.priors[1]).abs().amax(-1)
        direction = step * (LONGEST_STEP / longest.clamp_min(LONGEST_STEP)).unsqueeze(-1)
        trial = theta + t.unsqueeze(-1) * direction
        new_value, new_g = target.value_and_slope(trial)
        rise = new_value - value
        accepted = rise >= 1e-4 * t * (g * direction).sum(-1)  # False where the new value is -inf or NaN
        s, u = trial - theta, g - new_g
        su = (s * u).sum(-1)
        curved = (su > 1e-12 + 1e-9 * s.norm(dim=-1) * u.norm(dim=-1)) & (accepted | (unseen > 0.0))
        scale = torch.where(curved, su, 1.0)[:, None, None]
        left = eye - s.unsqueeze(-1) * u.unsqueeze(-2) / scale
        updated = left @ B @ left.mT + s.unsqueeze(-1) * s.unsqueeze(-2) / scale
        B = torch.where(curved[:, None, None], updated, B)
        theta = torch.where(accepted.unsqueeze(-1), trial, theta)
        g = torch.where(accepted.unsqueeze(-1), new_g, g)
        value = torch.where(accepted, new_value, value)
        t = torch.where(accepted, 1.0, 0.5 * t)
        step = (B @ g.unsqueeze(-1)).squeeze(-1)
        promise = 0.5 * (g * step).sum(-1)
        arrived = ((g * width).abs().amax(-1) < tolerance) | (t < 1e-6) | ~value.isfinite() | (promise < unseen)
        if bool(arrived.all()):
            break
    if unseen:
        trial = theta + step
        there = target(trial)
        theta = torch.where((there > value).unsqueeze(-1), trial, theta)
        value = torch.maximum(value, torch.where(there.isnan(), -torch.inf, there))
    if fixed is not None:
        B = B + FIXED_SPREAD * torch.diag(fixed.to(B))
    # where rounding has spoilt B, the prior has to do
    good = torch.linalg.cholesky_ex(B)[1] == 0
    prior = target.prior_covariance
    if fixed is not None:
        prior = torch.where(fixed.unsqueeze(-1) | fixed, FIXED_SPREAD * eye, prior)
    return Summits(theta, value, torch.where(good[:, None, None], B, prior))
