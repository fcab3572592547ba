r"""Outcomes that are modelled together: their hyperparameters, and whether the data prefer it.

With standardised values y of outcome i at designs x in the unit cube, noise v_i, and correlations R (o x o),

    y = m_i + g_i(x) + e        cov(g_i(x), g_j(x')) = sqrt(s_i s_j) R_ij k(|x - x'| / l)        e ~ N(0, v_i)

    theta = (log l_1 ... log l_g, log s_1 ... log s_o, m_1 ... m_o, t_21, t_31, t_32 ..., log v of those not given)

R has the partial correlations tanh t. Outcomes are modelled together where the evidence for it, by Laplace's
approximation at the most probable theta, exceeds that of outcomes apart by `MARGIN`. The simulations
that it was chosen by are in docs/explanation/decisions-taken.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from hentropy.core.beliefs import Correlated, Frame
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.models.gp import Observations, UnitRange, draw
from hentropy.core.models.hyperparameters import (
    NOISE_FLOOR,
    KernelPosterior,
    LogPosterior,
    Normal,
    log_density,
    maximise,
    mean_prior,
    noise_prior,
    outputscale_prior,
    summits,
)
from hentropy.lazy import Tensor, torch

MARGIN = 3.0
"""Nats of evidence by which outcomes together must be better than apart."""

FEWEST, MOST = 6, 300
"""Designs of which two outcomes were measured that it takes to ask, and values beyond which it takes too long."""


@dataclass(frozen=True)
class TogetherPosterior(KernelPosterior):
    """The log posterior of theta given values (n) of outcomes `which` (n); noise variances, NaN where to be fitted."""

    inputs: Tensor
    outcomes: Tensor
    which: Tensor
    noise: Tensor
    fitted: tuple[int, ...]
    count: int
    profile: Profile
    scales: tuple[int, ...] | None = None

    @property
    def own_priors(self) -> list[Normal]:
        """Those of log s, m, t and log v."""
        o = self.count
        pairs = [correlation_prior()] * (o * (o - 1) // 2)
        return [outputscale_prior()] * o + [mean_prior()] * o + pairs + [noise_prior()] * len(self.fitted)

    def subset(self, rows: Tensor) -> "TogetherPosterior":
        """The same given some of the observations only."""
        rows = rows.to(self.inputs.device)
        data = (self.inputs[rows], self.outcomes[rows], self.which[rows], self.noise[rows])
        return TogetherPosterior(*data, self.fitted, self.count, self.profile, self.scales)

    @cached_property
    def _places(self) -> tuple[slice, slice, slice, slice]:
        """Where in theta log s, m, t and log v stand."""
        o, g = self.count, self.groups
        edges = [g, g + o, g + 2 * o, g + 2 * o + o * (o - 1) // 2, self.size]
        return tuple(slice(a, b) for a, b in pairwise(edges))  # type: ignore[return-value]

    def between(self, theta: Tensor) -> Tensor:
        """sqrt(s_i s_j) R_ij: C x p to C x o x o."""
        sd = (0.5 * theta[:, self._places[0]]).exp()
        root = correlation_root(torch.tanh(theta[:, self._places[2]]), self.count)
        return sd.unsqueeze(-1) * sd.unsqueeze(-2) * (root @ root.mT)

    def means(self, theta: Tensor) -> Tensor:
        """m: C x o."""
        return theta[:, self._places[1]]

    def noise_variances(self, theta: Tensor, given: Tensor) -> Tensor:
        """Those of each outcome (C x o), `given` (o) where they are not fitted."""
        each = given.expand(theta.shape[0], -1).clone()
        each[:, list(self.fitted)] = NOISE_FLOOR + theta[:, self._places[3]].exp()
        return each

    def log_likelihood(self, theta: Tensor) -> Tensor:
        """log N(y; m, K) without its constant: C x p to C."""
        unit = torch.cat([theta[:, : self.groups], torch.zeros_like(theta[:, :1])], -1)  # a kernel of variance one
        G = self.covariance(unit) * self.between(theta)[:, self.which[:, None], self.which]
        fitted = self.noise_variances(theta, self.outcomes.new_zeros(self.count))[:, self.which]
        v = torch.where(self.noise.isnan(), fitted, self.noise)
        return log_density(G, v, self.outcomes - self.means(theta)[:, self.which])


def correlation_prior() -> Normal:
    """t ~ N(0, 1): partial correlations of any size, few beyond 0.96."""
    return Normal(0.0, 1.0)


def correlation_root(partial: Tensor, o: int) -> Tensor:
    """The root of a correlation matrix with these partial correlations (C x o (o - 1) / 2, row by row): C x o x o."""
    rows, k = [], 0
    for i in range(o):
        left, row = torch.ones_like(partial[:, 0]), []
        for _ in range(i):
            row.append(partial[:, k] * left.sqrt())
            left = left - row[-1].square()
            k += 1
        rows.append(torch.stack([*row, left.clamp_min(1e-12).sqrt(), *[torch.zeros_like(left)] * (o - i - 1)], -1))
    return torch.stack(rows, -2)


def evidence(target: KernelPosterior, generator: torch.Generator) -> float:
    """The log of the integral of likelihood and prior over theta, by Laplace's approximation, up to a constant.

    log p(y, theta) - 1/2 log det(-W' H W) with the Hessian H there and a root W of the prior covariance.
    """
    found = summits(target, target.inputs.new_empty(0, target.size), generator)
    best = found.theta[found.value.argmax()]
    root = torch.linalg.cholesky(target.prior_covariance)
    step = 1e-3 * root.mT
    rows = torch.cat([best + step, best - step]).requires_grad_()
    (slope,) = torch.autograd.grad(target(rows).sum(), rows)
    p = len(best)
    hessian = -(slope[:p] - slope[p:]) @ root / 2e-3  # rows are steps along the columns of the root
    values = torch.linalg.eigvalsh(0.5 * (hessian + hessian.mT))
    # what is known of a direction is at least what the prior says
    return float(found.value.max() - 0.5 * values.clamp_min(1.0).log().sum())


@dataclass(frozen=True)
class OutcomeData:
    """What was measured of outcomes: designs X (n x d), values Y (n x o, NaN where not measured), each in its frame."""

    names: tuple[str, ...]
    X: Tensor
    Y: Tensor
    each: tuple[Observations, ...]
    profile: Profile
    scales: tuple[int, ...] | None

    def some(self, outcomes: Sequence[int]) -> "OutcomeData":
        """Of some of the outcomes."""
        names, each = (tuple(of[i] for i in outcomes) for of in (self.names, self.each))
        return OutcomeData(names, self.X, self.Y[:, list(outcomes)], each, self.profile, self.scales)  # type: ignore[arg-type]

    @cached_property
    def target(self) -> KernelPosterior:
        """The posterior of the hyperparameters: of one outcome, or of several together."""
        o = len(self.each)
        inputs = torch.cat([self._transform(one.X) for one in self.each])
        values = torch.cat([one.outcomes for one in self.each])
        if o == 1:
            return LogPosterior(inputs, values, self.each[0].noise, self.profile, self.scales)
        which = torch.cat([torch.full((len(one.outcomes),), i) for i, one in enumerate(self.each)])
        noise = [torch.full_like(one.outcomes, torch.nan) if one.noise is None else one.noise for one in self.each]
        fitted = tuple(i for i, one in enumerate(self.each) if one.noise is None)
        return TogetherPosterior(inputs, values, which, torch.cat(noise), fitted, o, self.profile, self.scales)

    @property
    def _transform(self) -> Callable[[Tensor], Tensor]:
        """One for all outcomes, whatever designs each was measured at."""
        own = self.each[0].frame.transform
        return UnitRange.of(self.X) if isinstance(own, UnitRange) else own

    @property
    def is_enough(self) -> bool:
        """Whether enough designs have all of them, and there are not too many values."""
        told = ~torch.isnan(self.Y)
        return int(told.all(-1).sum()) >= FEWEST and int(told.sum()) <= MOST

    def groups(self, seed: int) -> list[tuple[int, ...]]:
        """The outcomes that are modelled together, in groups: those whose joint evidence is better by the margin."""
        found: dict[tuple[int, ...], float] = {}

        def log_evidence(group: tuple[int, ...]) -> float:
            if group not in found:
                found[group] = evidence(self.some(group).target, torch.Generator().manual_seed(seed))
            return found[group]

        groups: list[tuple[int, ...]] = [(i,) for i in range(len(self.names))]
        while True:
            pairs = [(a, b) for i, a in enumerate(groups) for b in groups[i + 1 :] if self.some((*a, *b)).is_enough]
            gains = [log_evidence((*a, *b)) - log_evidence(a) - log_evidence(b) for a, b in pairs]
            if not gains or max(gains) < MARGIN:
                return groups
            a, b = pairs[gains.index(max(gains))]
            groups = [(*a, *b) if group == a else group for group in groups if group != b]

    def fit(self, mixture: bool, draws: int, seed: int) -> Correlated:
        """The belief about all of them together: the most probable hyperparameters, or a mixture of draws."""
        target, generator = self.target, torch.Generator().manual_seed(seed)
        assert isinstance(target, TogetherPosterior)
        known = target.inputs.new_empty(0, target.size)
        theta = draw(target, known, draws, generator)[0] if mixture else maximise(target, known, generator)
        H, n, o = len(theta), len(self.X), len(self.each)
        # given errors say what the next is likely to be
        given = torch.stack([theta.new_ones(()) if one.noise is None else one.noise.mean() for one in self.each])
        future = target.noise_variances(theta, given)
        noise = future.unsqueeze(1).expand(H, n, o).clone()
        for i, one in enumerate(self.each):
            if one.noise is not None:
                noise[:, ~torch.isnan(self.Y[:, i]), i] = one.noise
        shift, scale = (
            torch.stack([one.frame.shift for one in self.each]),
            torch.stack([one.frame.scale for one in self.each]),
        )
        return Correlated.from_data(
            self.X,
            self.Y,
            self.names,
            noise=noise,
            future_noise=future,
            kernel=Stationary(self.profile, target.lengthscales(theta), theta.new_ones(H)),
            B=target.between(theta),
            means=target.means(theta),
            frame=Frame(self._transform, shift, scale),
            weights=theta.new_full((H,), 1.0 / H),
        )
