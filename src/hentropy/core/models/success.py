r"""`fit_success` and `fit_grades`: beliefs about what is seen as success or failure, yes or no, or as ordered grades.

A latent Gaussian process g, seen with unit noise between bounds: above 0 for a success, P(success at x) = Phi(g(x)),
or between the cuts of a grade (ordered probit). It has the kernels, length scales and priors of `fit`. Its posterior is
not normal. Two approximations make it so (Rasmussen and Williams 2006, chapter 3); K and m are the prior covariance and
mean of g at the data, A and B derivatives of the log probability of what was seen:

Laplace   the normal distribution at the mode, for the hyperparameters: its evidence and the slope of it cost one
          factor and one inverse beside Newton's steps.

    g = m + K a,  a = A(g)      W = B(g)      R = (K + 1/W)^-1      q = (I - R K) diag(Sigma) (d^3 log p) / 2
    log Z = log p(y | g) - a (g - m) / 2 - log|I + W K| / 2
    d log Z = 1/2 <a a^T - R + 2 q a^T, dK> + <a + q, dm>

EP        each outcome is replaced by a normal observation of g_i, its site, with precision t_i and natural mean u_i,
          such that the mean and the variance of g_i are what they would be with the outcome itself in its place.

    Sigma = K - K (K + 1/t)^-1 K                  mean = m + Sigma (u - t m)
    cavity:  1/v = 1/Sigma_ii - t_i               c = v (mean_i / Sigma_ii - u_i)
    site:    t_i = B / (1 - v B)                  u_i = (c + v A) t_i + A            A, B at (c, v)

What EP leaves is a Gaussian process with the data u / t and the noise variances 1 / t: a `Gaussian`, as fast to ask as
any other. With 20 outcomes in two dimensions and g of variance 1, 4 and 10, its chances were off by at most 0.001,
0.005 and 0.010 from those of half a million weighted draws; Laplace's were off by 0.02, 0.06 and 0.12.

Newton's method begins at the g of the hyperparameters before (`Trail`), and a factor serves for as long as steps with
it lead on. Hyperparameters climb by BFGS, which begins with the average information (Gilmour, Thompson and Cullis
1995), as if the mode were a normal observation: with dK_i the derivatives of K, and 1 in place of dK_i a for the mean,

    V = (dK_1 a, ..., dK_p a) / sqrt 2            -d^2 log Z ~ V^T R V

It takes 9 or 10 evaluations for 200 to 300 outcomes in twelve dimensions, 14 to 18 from the prior's covariance, and 27
to 32 factors in all where 62 to 78 were needed. Recomputed on the way it took more of them, not fewer.

All sites are updated at once, by a share of the way only: with 300 outcomes in twelve dimensions whole steps overshot
for more than a hundred rounds. Most of the way is that of the means, which need no new factor: a few moves of u with t
as it is before each move of both leave 4 rounds, where moving both each time took 8 and left five times the error.

The posterior of the hyperparameters mostly has one summit: wherever sixteen draws of the prior began to climb, on six
sets of data, they met (on 3 of 26 others, climbs with shorter first steps or from fewer outcomes ended 0.1 to 1.3
nats lower). While outcomes are few, components are drawn around it and weighted; an ensemble of chains would take
seconds. With many the summit stands alone: on four sets of 300 outcomes in twelve dimensions, held-out outcomes had a
log score of -0.045 so, and of -0.053 with 4 or 16 components.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from hentropy.core.beliefs import Frame, Gaussian, Graded
from hentropy.core.beliefs.kernels import Profile, fall
from hentropy.core.beliefs.success import Sightings, Success
from hentropy.core.given import as_table, check_seed
from hentropy.core.models.families import leave_one_out
from hentropy.core.models.gp import MIXTURE_LIMIT, ConstantMean
from hentropy.core.models.hyperparameters import KernelPosterior, Normal, ascend, stand_ins
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

MODE_STEPS, MODE_CLOSE, MODE_SLOW = 60, 1e-6, 0.1
"""The most steps to the mode; the last one is expected to lead higher by no more than `MODE_CLOSE`. Steps with one
factor promise less each time: where that falls more slowly than by this factor, a new one is made.
"""

EP_ROUNDS, EP_MEANS, EP_SHARE, EP_SETTLED = 50, 4, 0.8, 5e-3
"""The most rounds of EP, how often means move in one before precisions do, the share of the way that a site moves each
time, and how little it then still has to move.
"""

ARRIVED = 0.03
"""Hyperparameters climb until no slope per prior standard deviation is above this: the summit is 1e-3 higher."""

UNSEEN = 5e-4
"""A step that promises to lead higher by less than this is the last one, where the summit is all that is asked for."""

LEAST_PRECISION = 1e-8
"""A site with less says nothing, and its noise variance must stay a number that can be added to a kernel."""

OUTPUTSCALE = Normal(1.0, 1.0)
"""log s: where experiments fail is mostly decided by the design, so g is large beside the unit noise of the link."""

COMPONENTS = 4
"""This many components stand for the posterior of the hyperparameters."""


@dataclass(frozen=True)
class Factor:
    """L, the Cholesky factor of I + W^1/2 K W^1/2 (C x n x n), for precisions W (C x n)."""

    K: Tensor
    W: Tensor
    root: Tensor
    L: Tensor

    @classmethod
    def of(cls, K: Tensor, W: Tensor) -> "Factor":
        """Of a prior covariance (C x n x n) and precisions (C x n)."""
        W = W.clamp_min(LEAST_PRECISION)
        root = W.sqrt()
        scaled = (root.unsqueeze(-1) * K).mul_(root.unsqueeze(-2))
        scaled.diagonal(dim1=-2, dim2=-1).add_(1.0)
        return cls(K, W, root, torch.linalg.cholesky(scaled))

    def solve(self, b: Tensor) -> Tensor:
        """(I + W K)^-1 b: C x n to C x n."""
        within = (self.root * _times(self.K, b)).unsqueeze(-1)
        return b - self.root * torch.cholesky_solve(within, self.L).squeeze(-1)

    def inverse(self) -> tuple[Tensor, Tensor]:
        """(K + 1/W)^-1 (C x n x n), and the variances of g that it leaves (C x n)."""
        inverse = torch.cholesky_inverse(self.L)
        var = (1.0 - inverse.diagonal(dim1=-2, dim2=-1)) / self.W
        return inverse.mul_(self.root.unsqueeze(-1)).mul_(self.root.unsqueeze(-2)), var


def _times(K: Tensor, b: Tensor) -> Tensor:
    """K b: C x n x n and C x n to C x n."""
    return (K @ b.unsqueeze(-1)).squeeze(-1)


@dataclass(frozen=True)
class Mode:
    """Where the posterior of g is highest, for C priors: g and a = K^-1 (g - m) (C x n each), and the factor there.

    `log_each` and `third` (C x n each) are the log probabilities of what was seen, and their third derivatives.
    """

    g: Tensor
    a: Tensor
    factor: Factor
    log_each: Tensor
    third: Tensor

    @classmethod
    def of(cls, K: Tensor, m: Tensor, seen: Sightings, near: Tensor | None = None) -> "Mode":
        """By Newton's method, steps halved where they lead down: K is C x n x n, m is C.

        It begins at a g `near` the mode (C x n or 1 x n), at m without one. A factor serves for several steps, until
        one leads down or promises more than a `MODE_SLOW` share of what the one before did.
        """
        m, zero = m.unsqueeze(-1), K.new_zeros(())
        a = pull = K.new_zeros(K.shape[:2])
        log_each, A, W, _ = seen.says(m.expand_as(a) if near is None else near.expand_as(a), zero)
        factor, fresh = Factor.of(K, W), near is None
        if near is not None:
            a = factor.solve(factor.W * (near - m) + A)
            pull = _times(K, a)
            log_each, A, W, _ = seen.says(m + pull, zero)
        height, length = log_each.sum(-1) - 0.5 * (a * pull).sum(-1), K.new_ones(K.shape[:1])
        before = torch.full_like(height, torch.inf)
        for _ in range(MODE_STEPS):
            left = A - a
            step = factor.solve(left)
            climb = _times(K, step)
            promise = (left * climb).sum(-1)  # twice how much higher the step leads
            arrives = promise < 2.0 * MODE_CLOSE
            if bool(arrives.all()):
                a, pull = a + step, pull + climb
                break
            if not fresh and bool((~arrives & (promise > MODE_SLOW * before)).any()):
                factor, fresh = Factor.of(K, W), True
                continue
            tried, there = (
                torch.addcmul(a, length.unsqueeze(-1), step),
                torch.addcmul(pull, length.unsqueeze(-1), climb),
            )
            log_each, new_A, new_W, _ = seen.says(m + there, zero)
            reached = log_each.sum(-1) - 0.5 * (tried * there).sum(-1)
            rises = reached >= height - MODE_CLOSE
            if bool(rises.all()):
                a, pull, A, W, height, before, fresh = tried, there, new_A, new_W, reached, promise, False
                length = torch.ones_like(length)
                continue
            if not fresh:
                factor, fresh = Factor.of(K, W), True
                continue
            moved = rises.unsqueeze(-1)
            a, pull = torch.where(moved, tried, a), torch.where(moved, there, pull)
            A, W = torch.where(moved, new_A, A), torch.where(moved, new_W, W)
            height, length = torch.where(rises, reached, height), torch.where(rises, 1.0, 0.5 * length)
            before, fresh = torch.where(rises, promise, torch.inf), False
        log_each, _, W, third = seen.says(m + pull, zero)
        return cls(m + pull, a, Factor.of(K, W), log_each, third)

    @property
    def evidence(self) -> Tensor:
        """log Z by Laplace's method: C."""
        pull = (self.a * _times(self.factor.K, self.a)).sum(-1)
        return self.log_each.sum(-1) - 0.5 * pull - self.factor.L.diagonal(dim1=-2, dim2=-1).log().sum(-1)


@dataclass
class Trail:
    """The g of the mode that was found last (C x n): while hyperparameters climb, the next one is near."""

    g: Tensor | None = None

    def mode(self, K: Tensor, m: Tensor, seen: Sightings) -> Mode:
        """The mode, searched from the last one."""
        fits = self.g is not None and len(self.g) in (1, len(K))
        mode = Mode.of(K, m, seen, self.g if fits else None)
        self.g = mode.g if bool(mode.g.isfinite().all()) else None
        return mode


@torch.no_grad()
def sites(K: Tensor, m: Tensor, seen: Sightings, trail: Trail | None = None) -> tuple[Tensor, Tensor]:
    """The data and the noise variances (C x n each) that EP puts in place of what was seen, under priors N(m, K)."""
    mode = (Trail() if trail is None else trail).mode(K, m, seen)
    factor, t, m = mode.factor, mode.factor.W, m.unsqueeze(-1)
    u = t * mode.g + mode.a
    for _ in range(EP_ROUNDS):
        R, var = factor.inverse()
        var = var.clamp_min(1e-12)
        v = 1.0 / (1.0 / var - t).clamp_min(1e-12)
        for means in range(EP_MEANS + 1):
            pull = _times(K, u - t * m)
            mean = m + pull - _times(K, _times(R, pull))
            c = v * (mean / var - u)
            _, A, B, _ = seen.says(c, v)
            new_t = (B / (1.0 - v * B)).clamp_min(LEAST_PRECISION)
            new_u = (c + v * A) * new_t + A
            if means == 0:
                left = torch.maximum((new_t - t).abs().amax(), (new_u - u).abs().amax())
            if means == EP_MEANS or bool(left < EP_SETTLED):
                break
            u = u + EP_SHARE * ((c + v * A) * t + A - u)
        t, u = t + EP_SHARE * (new_t - t), u + EP_SHARE * (new_u - u)
        if bool(left < EP_SETTLED):
            break
        factor = Factor.of(K, t)
    return u / t, 1.0 / t


@dataclass(frozen=True)
class GradesPosterior(KernelPosterior):
    """Given inputs (n x d, unit cube) and outcomes (n): the grades, from 0 on, of which there are two for yes and no.

    Grade j is seen where g with unit noise lies between the cuts c_j and c_j+1. The cut below the grade that is
    `wanted` is zero, so that g is above it where that grade, or a better one, is more likely than not. theta = (log l_1
    ... log l_g, log s, m, log(c_2 - c_1), log(c_3 - c_2) ...).
    """

    inputs: Tensor
    outcomes: Tensor
    profile: Profile
    scales: tuple[int, ...] | None
    shares: tuple[float, ...]
    """Of each grade. Priors of m and the cuts lie where, far from all data, the chances are these."""

    wanted: int = 1
    trail: Trail = field(default_factory=Trail, compare=False)

    @classmethod
    def of(cls, designs: Tensor, grades: Tensor, count: int, wanted: int, space: DesignSpace) -> "GradesPosterior":
        """Given designs (n x d) and which of this many grades each had (n)."""
        seen = grades.long().bincount(minlength=count).double() + 1.0
        shares = tuple((seen / seen.sum()).tolist())
        return cls(space.to_unit(designs), grades, Profile.MATERN52, space.scales, shares, wanted)

    @property
    def own_priors(self) -> list[Normal]:
        """Those of log s, m and the widths of the grades between the first and the last."""
        below = torch.tensor(self.shares, dtype=torch.float64).cumsum(0)[:-1]
        cuts = torch.special.ndtri(below) * (1.0 + OUTPUTSCALE.median) ** 0.5
        widths = [Normal(location, 1.0) for location in cuts.diff().log().tolist()]
        return [OUTPUTSCALE, Normal(-float(cuts[self.wanted - 1]), 1.0), *widths]

    def cuts(self, theta: Tensor) -> Tensor:
        """c_1 ... c_G-1: C x p to C x (G - 1)."""
        steps = theta[:, self.groups + 2 :].exp()
        cuts = torch.cat([torch.zeros_like(theta[:, :1]), steps.cumsum(-1)], -1)
        return cuts - cuts[:, self.wanted - 1 : self.wanted]

    def seen(self, theta: Tensor) -> Sightings:
        """Between which cuts g was seen: C x n each."""
        return self._yes_or_no if len(self.shares) == 2 else self._between(theta)

    @cached_property
    def _yes_or_no(self) -> Sightings:
        return self._between(self.priors[0].unsqueeze(0))

    def _between(self, theta: Tensor) -> Sightings:
        end = torch.full_like(theta[:, :1], torch.inf)
        edges, grade = torch.cat([-end, self.cuts(theta), end], -1), self.outcomes.long()
        return Sightings(edges[:, grade], edges[:, grade + 1])

    def subset(self, rows: Tensor) -> "GradesPosterior":
        """The same given some of the observations only."""
        rows = rows.to(self.inputs.device)
        return replace(self, inputs=self.inputs[rows], outcomes=self.outcomes[rows], trail=Trail())

    @torch.no_grad()
    def log_likelihood(self, theta: Tensor) -> Tensor:
        """The log probability of the outcomes by Laplace's method: C x p to C."""
        return self.trail.mode(self.covariance(theta), theta[:, self.groups + 1], self.seen(theta)).evidence

    def value_and_slope(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """The log posterior (C) and its derivative (C x p) at rows C x p."""
        value, slope, _ = self._evaluated(theta, False)
        return value, slope

    def begun(self, theta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """These, and the inverse of the average information with that of the prior: C x p x p."""
        value, slope, information = self._evaluated(theta, True)
        assert information is not None
        return value, slope, torch.linalg.inv(information + torch.diag(self.priors[1] ** -2))

    @torch.no_grad()
    def _evaluated(self, theta: Tensor, informed: bool) -> tuple[Tensor, Tensor, Tensor | None]:
        g = self.groups
        K, by_distance = fall(self._distances(theta), theta[:, g].exp()[:, None, None], (self.profile,))
        assert by_distance is not None
        mode = self.trail.mode(K, theta[:, g + 1], self.seen(theta))
        R, var = mode.factor.inverse()
        shrink = torch.exp(-2.0 * theta[:, :g])
        information = self._information(mode, R, by_distance, shrink) if informed else None
        bend = 0.5 * var * mode.third
        q = bend - _times(R, _times(K, bend))
        by_K = torch.baddbmm(R, (0.5 * mode.a + q).unsqueeze(-1), mode.a.unsqueeze(-2), beta=-0.5)
        by_scale = torch.linalg.vecdot(by_K.flatten(1), K.flatten(1)).unsqueeze(-1)
        by_distance.mul_(by_K)
        x = self._centred
        ends = by_distance.sum(-1) + by_distance.sum(-2)
        between = ends @ x.square() - 2.0 * (x * (by_distance @ x)).sum(-2)  # of <by_distance, (x - x')^2>: C x d
        slopes = [-2.0 * shrink * self._grouped(between), by_scale, (mode.a + q).sum(-1, keepdim=True)]
        if len(self.shares) > 2:
            slopes.append(self._by_cuts(theta, mode, var, _times(K, q)))
        location, width = self.priors
        slope = torch.cat(slopes, -1) - (theta - location) / width.square()
        return mode.evidence + self.log_prior(theta), slope, information

    def _information(self, mode: Mode, R: Tensor, by_distance: Tensor, shrink: Tensor) -> Tensor:
        """V^T R V, the average information: C x p x p."""
        x, a = self._centred, mode.a.unsqueeze(-1)  # n x d, C x n x 1
        # of (x - x')^2 a' summed over x'
        each = by_distance @ torch.cat([a, x * a, x.square() * a], -1)
        none, once, twice = each.split([1, *[x.shape[-1]] * 2], -1)
        lengths = -2.0 * shrink.unsqueeze(-2) * self._grouped(x.square() * none - 2.0 * x * once + twice)
        scale = _times(mode.factor.K, mode.a).unsqueeze(-1)
        cuts = x.new_zeros(*a.shape[:2], len(self.shares) - 2)
        V = torch.cat([lengths * 0.5**0.5, scale * 0.5**0.5, torch.ones_like(a), cuts], -1)
        return V.mT @ R @ V

    @cached_property
    def _centred(self) -> Tensor:
        return self.inputs - 0.5

    def _distances(self, theta: Tensor) -> Tensor:
        """Squared distances in length scales, as one product of matrices: C x n x n."""
        x = self._centred / self.lengthscales(theta).unsqueeze(-2)  # C x n x d
        norm = x.square().sum(-1)
        return torch.baddbmm(norm.unsqueeze(-1) + norm.unsqueeze(-2), x, x.mT, alpha=-2.0)

    def covariance(self, theta: Tensor) -> Tensor:
        """The prior covariance at the data: C x p to C x n x n."""
        return fall(self._distances(theta), theta[:, self.groups].exp()[:, None, None], (self.profile,), False)[0]

    def _grouped(self, each: Tensor) -> Tensor:
        """Sums over the coordinates that share a length scale: ... x d to ... x g."""
        if self.scales is None:
            return each
        group = torch.tensor(self.scales, device=each.device)
        return each.new_zeros(*each.shape[:-1], self.groups).index_add_(-1, group, each)

    def _by_cuts(self, theta: Tensor, mode: Mode, var: Tensor, moved: Tensor) -> Tensor:
        """The derivative of the evidence in the log widths between cuts: C x (G - 2)."""
        with torch.enable_grad():
            widths = theta[:, self.groups + 2 :].detach().requires_grad_()
            seen = self.seen(torch.cat([theta[:, : self.groups + 2].detach(), widths], -1))
            log_each, A, B, _ = seen.says(mode.g, mode.g.new_zeros(()))
            (slope,) = torch.autograd.grad((log_each - 0.5 * var * B + moved * A).sum(), widths)
        return slope

    def component(self, X: Tensor, frame: Frame, theta: Tensor, weights: Tensor) -> Gaussian:
        """The belief about g as a mixture over rows of theta (H x p) with weights (H)."""
        K, m = self.covariance(theta), theta[:, self.groups + 1]
        data, noise = sites(K, m, self.seen(theta), self.trail)
        unit = torch.ones_like(m)  # the noise of the link
        return Gaussian.from_data(X, data, noise, unit, self.kernel(theta), ConstantMean(m), frame, weights)


def fit_success(
    X: Any,
    succeeded: Sequence[bool] | Tensor,
    *,
    space: DesignSpace,
    at_least: float = 0.5,
    seed: int = 0,
) -> Success:
    """The belief after experiments at designs X (n x d) of which some `succeeded` (n).

    An action is decided only if each of its designs succeeds with a probability of at least `at_least`.
    """
    designs = as_table("X", X)
    told = torch.as_tensor(succeeded, dtype=torch.bool)
    if designs.dim() != 2 or 0 in designs.shape or tuple(told.shape) != designs.shape[:1]:
        raise InputError(
            f"X must be n x d and succeeded must have n truth values; got shapes {tuple(designs.shape)} and"
            f" {tuple(told.shape)}"
        )
    check_at_least(at_least)
    check_seed(seed)
    space.check(designs)
    return Success(fit_grades(designs, told.to(designs), space=space, seed=seed).latent, at_least)


def fit_grades(
    X: Tensor,
    grades: Tensor,
    *,
    space: DesignSpace,
    count: int = 2,
    wanted: int = 1,
    single: bool = False,
    seed: int = 0,
) -> Graded:
    """The belief about an outcome that has one of `count` ordered grades, from 0 on, seen (n) at designs X (n x d).

    It is about the probability of the grade that is `wanted`, or a better one; of a `single` component with the most
    probable hyperparameters, or of a few where data are few.
    """
    if not len(grades) or len(X) != len(grades):
        raise InputError(f"grades need at least one experiment, each with its design; got {len(grades)} and {len(X)}")
    target = GradesPosterior.of(X, grades, count, wanted, space)
    several = not single and len(grades) <= MIXTURE_LIMIT
    start = target.priors[0].unsqueeze(0)
    found = ascend(target, start, ARRIVED, unseen=0.0 if several else UNSEEN)
    theta, weights = found.theta, torch.ones_like(found.value)
    if several:
        theta, weights = stand_ins(target, found, COMPONENTS, torch.Generator().manual_seed(seed))
    frame = Frame(space.to_unit, X.new_zeros(()), X.new_ones(()))
    return Graded(target.component(X, frame, theta, weights), target.cuts(theta))


def check_at_least(at_least: Any) -> None:
    """Refuse what is no probability below 1."""
    if isinstance(at_least, bool) or not isinstance(at_least, int | float) or not 0.0 <= at_least < 1.0:
        raise InputError(
            f"at_least, the smallest probability of success of a decided action, must be in [0, 1), got {at_least!r}"
        )


@torch.no_grad()
def chances_left_out(belief: Graded, happened: Tensor) -> Tensor:
    """The probability of what is wanted at each observed design, by all other observations: n.

    `happened` (n, of ones and zeros) is whether it was so. A site of EP stands in the latent process as a normal
    observation of variance t. Left out, it leaves g_i with the variance of the prediction less t: its cavity.
    """
    latent = belief.latent
    left_out = leave_one_out(latent)
    var = (left_out.component_sd.square() - latent.frame.scale**2 * latent.noise).clamp_min(0.0)
    each = torch.special.ndtr(left_out.component_mean / (1.0 + var).sqrt())  # H x n
    seen = torch.where(happened.to(each) > 0.5, each, 1.0 - each).clamp_min(1e-12)
    weights = torch.softmax(latent.weights.log().unsqueeze(-1) - seen.log(), 0)
    return (weights * each).sum(0)
