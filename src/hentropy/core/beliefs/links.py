r"""`Bend`: a monotone map between a normal value and an outcome, with one slope below a corner and another above it.

    y = h(v) = level + left v + (right - left) w psi((v - corner) / w)        psi(u) = u Phi(u) + phi(u)

psi is the positive part, rounded: psi(u) = E max(0, u + Z). So h is smooth, and far from the corner it is a straight
line: beyond the data a value grows no faster than among them, as it would under a logarithm. Of a normal v with mean m
and variance s^2 the outcome has, with t = sqrt(s^2 + w^2), u = (m - corner) / t and the slope S = left + (right - left)
Phi(u), for two points a and b with the covariance c of v,

    E y = level + left m + (right - left) t psi(u)
    Cov(y_a, y_b) = c S_a S_b + (right - left)^2 t_a t_b J(u_a, u_b; c / (t_a t_b))

J(u, k; r) is the integral over rho from 0 to r of (r - rho) phi2(u, k; rho), with the bivariate normal density phi2:
the covariance of two positive parts has the second derivative t_a t_b phi2 in their correlation (Price 1958). Of a
point with itself,

    2 pi J(u, u; r) is the integral over theta from 0 to asin r of (r - sin theta) exp(-u^2 / (1 + sin theta))

and its derivatives in r and u are the integrals of the derivatives of the integrand, which is 0 at the upper end.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from hentropy.core.beliefs.normal import density, distribution
from hentropy.lazy import AutogradFunction, Tensor, torch

ANGLES, ANGLES_ALONE = 12, 6
"""Nodes of J, and of J of a point with itself: errors are below 1e-9 while v varies by up to three widths."""

BEND_NEWTON_STEPS = 40
"""At most so many steps find v from y; quadratic convergence takes about eight."""

NORMAL_REACH = 9.0
"""Beyond so many standard deviations a normal value does not count."""

INTEGRAL_NODES = 48
"""Of the integrals over v that have no closed form."""


def below(u: Tensor) -> Tensor:
    """Phi to 1e-16, in half the time: for slopes, to which it is added."""
    return torch.erf(u * math.sqrt(0.5)).add(1.0).mul(0.5)


def curved(u: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """J(u, k; r), by Gauss-Legendre nodes in the angle whose sine is the correlation."""
    nodes, weights = np.polynomial.legendre.leggauss(ANGLES)
    t, w = torch.from_numpy(nodes).to(u), torch.from_numpy(weights).to(u)
    r = r.clamp(-1.0 + 1e-12, 1.0 - 1e-12)
    half = 0.5 * torch.asin(r)
    u, k = u.clamp(-40.0, 40.0), k.clamp(-40.0, 40.0)
    squares, product = -0.5 * (u.square() + k.square()), u * k
    total = torch.zeros_like(squares + half)
    for node, weight in zip(t, w, strict=True):  # one array at a time stays in the cache
        sine = torch.sin(half * (node + 1.0))
        total = total + weight * (r - sine) * torch.exp((squares + product * sine) / (1.0 - sine.square()))
    return total * half / (2.0 * math.pi)


class _AverageMean(AutogradFunction):
    """sum_h w_h E h(v_h) where the means of v_h are before_h + V_h C_h: b x N x m, one component after the other.

    Before is H x (b or 1) x m, C is H x b x q x m, V H x b x N x q, the variances H x b x m, weights w H x b x N. With
    x = u / sqrt(2), E h(v) is

        level + left corner + sqrt(2) t (x ((left + right) / 2 + (right - left) / 2 erf x) + phi-part)
        phi-part = (right - left) / 2 exp(-x^2) / sqrt(pi)
    """

    @staticmethod
    def forward(
        ctx: Any, before: Tensor, C: Tensor, V: Tensor, var: Tensor, weights: Tensor, bend: "Bend"
    ) -> Tensor:  # fmt: skip
        half = float(0.5 * (bend.right - bend.left))
        t = (var + bend.width.square()).sqrt_()  # H x b x m
        rate = math.sqrt(0.5) / t
        start, C_x = (before - bend.corner) * rate, C * rate.unsqueeze(-2)
        b, m = V.shape[1], C.shape[-1]
        total = (weights.sum(0) * (bend.level + bend.left * bend.corner)).unsqueeze(-1).repeat(1, 1, m)
        for h in range(len(V)):
            x = _lines(start[h].expand(b, m), V[h], C_x[h])
            e = x.square().neg_().exp_()
            each = torch.erf(x).mul_(half).add_(float(bend.left) + half)
            each.mul_(x).add_(e, alpha=half / math.sqrt(math.pi)).mul_((math.sqrt(2.0) * t[h]).unsqueeze(-2))
            total.addcmul_(each, weights[h].unsqueeze(-1))
        ctx.bend = bend
        ctx.save_for_backward(before, C, V, var, weights)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """In means and variances: w_h S and w_h (right - left) phi(u) / (2 t)."""
        before, C, V, var, weights = ctx.saved_tensors
        bend, b = ctx.bend, V.shape[1]
        bent, t = bend.right - bend.left, (var + bend.width.square()).sqrt()
        by_C, by_V, by_var, by_w = [], [], [], []
        for h in range(len(V)):
            mean = _lines(before[h].expand(b, -1), V[h], C[h])
            rate = (1.0 / t[h]).unsqueeze(-2)
            u = (mean - bend.corner) * rate
            share, at, weighed = below(u), density(u), grad * weights[h].unsqueeze(-1)
            by_mean = weighed * (bend.left + bent * share)
            by_C.append(V[h].mT @ by_mean)
            by_V.append(by_mean @ C[h].mT)
            by_var.append((weighed * at).sum(-2) * (0.5 * bent / t[h]))
            value = (bend.level + bend.left * mean).addcmul_(u.mul_(share).add_(at), bent * t[h].unsqueeze(-2))
            by_w.append((grad * value).sum(-1))
        return None, torch.stack(by_C), torch.stack(by_V), torch.stack(by_var), torch.stack(by_w), None


def _lines(start: Tensor, V: Tensor, C: Tensor) -> Tensor:
    """start + V C: b x m, b x N x q and b x q x m to b x N x m."""
    start = start.unsqueeze(-2)
    return torch.addcmul(start, V, C) if V.shape[-1] == 1 else start + V @ C


@dataclass(frozen=True)
class Bend:
    """Numbers: the two slopes (both above 0), the corner between them, the width of the transition and the level."""

    level: Tensor
    left: Tensor
    right: Tensor
    corner: Tensor
    width: Tensor

    @classmethod
    def shaped(cls, left: Tensor, right: Tensor, corner: Tensor) -> "Bend":
        """With a width of 1, and an outcome of mean 0 and variance 1 where v is standard normal."""
        zero, one = torch.zeros_like(left), torch.ones_like(left)
        raw = cls(zero, left, right, corner, one)
        scale = raw.variance(zero, one).rsqrt()
        return cls(-scale * raw.mean(zero, one), scale * left, scale * right, corner, one)

    def one(self, index: int) -> "Bend":
        """One of several, whose numbers are G x 1."""
        return Bend(*(getattr(self, field.name)[index].squeeze() for field in fields(self)))

    def of(self, shift: Tensor, scale: Tensor) -> "Bend":
        """The same shape of v in units of a scale from a shift: h(shift + scale v')."""
        level = self.level + self.left * shift
        return Bend(level, scale * self.left, scale * self.right, (self.corner - shift) / scale, self.width / scale)

    def within(self, shift: Tensor, scale: Tensor) -> "Bend":
        """The same map where v and y both have this shift and scale: shift + scale h((v - shift) / scale)."""
        inside = self.of(-shift / scale, 1.0 / scale)
        level, left, right = scale * inside.level + shift, scale * inside.left, scale * inside.right
        return Bend(level, left, right, inside.corner, inside.width)

    @property
    def _bent(self) -> Tensor:
        return self.right - self.left

    def __call__(self, v: Tensor) -> Tensor:
        """h(v)."""
        return self.with_slope(v)[0]

    def slope(self, v: Tensor) -> Tensor:
        """h'(v)."""
        return self.left + self._bent * below((v - self.corner) / self.width)

    def with_slope(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """h(v) and h'(v): w psi(u) = (v - corner) Phi(u) + w phi(u)."""
        u = (v - self.corner) / self.width
        steeper = self._bent * below(u)
        value = torch.addcmul(self.level + self.left * v, v - self.corner, steeper)
        return value.add(density(u) * (self._bent * self.width)), self.left + steeper

    def _crossing(self, y: Tensor) -> Tensor:
        """Where y is crossed by the farther of the two lines, between which h turns."""
        lines = (y - self.level) / self.left, (y - self.level + self._bent * self.corner) / self.right
        return torch.where(self._bent > 0, torch.minimum(*lines), torch.maximum(*lines))

    def about(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers between which the v of outcomes from low to high lie.

        h is beyond both its lines, but by no more than (right - left) w phi(0).
        """
        beyond = self._bent * self.width * (1.0 / math.sqrt(2.0 * math.pi))
        return self._crossing(low - beyond.clamp_min(0.0)), self._crossing(high - beyond.clamp_max(0.0))

    def behind(self, y: Tensor) -> Tensor:
        """The v of an outcome y, differentiable.

        h is convex or concave and lies on one side of both its lines: Newton steps from their farther crossing with y
        come nearer from one side.
        """
        with torch.no_grad():
            v = self._crossing(y)
            for _ in range(BEND_NEWTON_STEPS):
                value, slope = self.with_slope(v)
                step = (value - y) / slope
                v = v - step
                if bool((step.abs() <= 1e-13 * (self.width + v.abs())).all()):
                    break
            at, slope = self.with_slope(v)
        return v + (y - at) / slope

    def mean(self, mean: Tensor, var: Tensor) -> Tensor:
        """E h(v) of normal values."""
        t = (var + self.width.square()).sqrt()
        u = (mean - self.corner) / t
        return torch.addcmul(self.level + self.left * mean, self._bent * t, u * below(u) + density(u))

    def average_mean(self, before: Tensor, C: Tensor, V: Tensor, var: Tensor, weights: Tensor) -> Tensor:
        """sum_h w_h E h(v_h) at fixed points, where the means of v_h are before_h + V_h C_h: see `_AverageMean`."""
        found: Tensor = _AverageMean.apply(before, C, V, var, weights, self)
        return found

    def variance(self, mean: Tensor, var: Tensor) -> Tensor:
        """Var h(v) of normal values: var S^2 + (right - left)^2 t^2 J(u, u; r), see the head of the file."""
        square = var + self.width.square()
        r, u = var / square, (mean - self.corner) * square.rsqrt()
        half, u2, total = 0.5 * torch.asin(r), u.square(), torch.zeros_like(u)
        for node, weight in zip(
            *(part.tolist() for part in np.polynomial.legendre.leggauss(ANGLES_ALONE)), strict=True
        ):
            sine = torch.sin(half * (node + 1.0))  # of the shape of the variances, which are fewer
            total = torch.addcmul(
                total, half * (r - sine), torch.exp(-u2 / (1.0 + sine)), value=weight / (2.0 * math.pi)
            )
        slope = self.left + self._bent * below(u)
        return torch.addcmul(var * slope.square(), total, square * self._bent.square())

    def covariance(self, mean: Tensor, other: Tensor, var: Tensor, other_var: Tensor, cov: Tensor) -> Tensor:
        """Cov(h(v), h(v')) of normal values with means, variances and a covariance, which broadcast."""
        t, s = (var + self.width.square()).sqrt(), (other_var + self.width.square()).sqrt()
        u, k = (mean - self.corner) / t, (other - self.corner) / s
        slopes = (self.left + self._bent * below(u)) * (self.left + self._bent * below(k))
        return cov * slopes + self._bent.square() * t * s * curved(u, k, cov / (t * s))


def bent_components(bent: Tensor) -> slice | list[int]:
    """Which of H components are bent (H), as an index."""
    return neighbours([h for h, one in enumerate(bent.tolist()) if one])


def neighbours(places: list[int]) -> slice | list[int]:
    """These components as an index: of neighbours a slice, which makes views of arrays and no copies."""
    if places and places[-1] - places[0] + 1 == len(places):
        return slice(places[0], places[-1] + 1)
    return places


def put(values: Tensor, new: Tensor, own: slice | list[int]) -> Tensor:
    """Values of H components (H x ...) with new ones for some of them."""
    if isinstance(own, slice):
        return torch.cat([values[: own.start], new, values[own.stop :]])
    return values.index_copy(0, torch.tensor(own, dtype=torch.long, device=values.device), new)


@dataclass(frozen=True)
class Latent:
    """The normal values (H x ... x m) behind outcomes: those of `bent` components (H) are h of theirs, others equal.

    `cov` is H x ... x m x m, where it was asked for.
    """

    bend: Bend
    bent: Tensor
    mean: Tensor
    var: Tensor
    cov: Tensor | None = None

    @cached_property
    def own(self) -> slice | list[int]:
        """The bent components, as an index."""
        return bent_components(self.bent)

    def variance(self) -> Tensor:
        """The variances of the outcomes: H x ... x m."""
        own = self.bend.variance(self.mean[self.own], self.var[self.own])
        return put(self.var.expand_as(self.mean), own, self.own)

    def covariance(self, cov: Tensor) -> Tensor:
        """The covariances of the outcomes, from those of the values behind them: H x ... x m x m."""
        m, v = self.mean[self.own], self.var.expand_as(self.mean)[self.own]
        across, down = (m.unsqueeze(-1), m.unsqueeze(-2)), (v.unsqueeze(-1), v.unsqueeze(-2))
        joint = self.bend.covariance(*across, *down, cov[self.own])
        return put(cov.expand(len(cov), *joint.shape[1:]), joint, self.own)

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Latent":
        """With means and variances picked or moved, without covariances."""
        return replace(self, mean=change(self.mean), var=change(self.var), cov=None)

    def outcomes(self, v: Tensor, at: int = 0) -> Tensor:
        """The outcomes of values of each component; dimension `at` counts the components."""
        own = v.movedim(at, 0)
        return put(own, self.bend(own[self.own]), self.own).movedim(0, at)

    def levels(self, y: Tensor) -> Tensor:
        """The values behind outcomes y (T) in each component: H x T; infinite ones stay."""
        return torch.where(self.bent.unsqueeze(-1), self._behind(y), y)

    def _behind(self, y: Tensor) -> Tensor:
        finite = torch.isfinite(y)
        return torch.where(finite, self.bend.behind(torch.where(finite, y, 0.0)), y)

    def standard(self, levels: Tensor) -> Tensor:
        """How many standard deviations the means lie above levels of the outcome (T): H x ... x T x m."""
        own = self.levels(levels)
        own = own.view(len(own), *[1] * (self.mean.dim() - 2), -1, 1)
        return (self.mean.unsqueeze(-2) - own) / self.var.clamp_min(1e-300).sqrt().unsqueeze(-2)

    def mean_log_slope(self) -> Tensor:
        """E log h'(v), zero where y = v: H x ... x m, by Gauss-Hermite nodes."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(2 * INTEGRAL_NODES)
        mean, sd = self.mean[self.own], self.var.expand_as(self.mean)[self.own].sqrt()
        total = torch.zeros_like(sd)
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):
            total = total + float(weight) * self.bend.slope(mean + float(node) * sd).log()
        return put(torch.zeros_like(self.mean), total, self.own)

    def truncated(self, about: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """E (y - about)^p 1(low <= y <= high) of bent components for p = 0, 1, 2; numbers, or one for each of m.

        By Gauss-Legendre nodes between the values behind the bounds: y is smooth there.
        """
        nodes, weights = np.polynomial.legendre.leggauss(INTEGRAL_NODES)
        mean, var = self.mean[self.own], self.var[self.own]
        t, w = torch.from_numpy(nodes).to(mean), torch.from_numpy(weights).to(mean)
        sd = var.clamp_min(1e-24 * self.bend.width.square()).sqrt()
        ends = []
        for bound in torch.broadcast_tensors(low.reshape(-1), high.reshape(-1)):
            own = self._behind(bound.to(mean))
            finite = torch.isfinite(own)
            # an infinite bound has no gradient, not even one that is not a number
            z = torch.where(finite, (torch.where(finite, own, 0.0) - mean) / sd, torch.sign(own) * NORMAL_REACH)
            ends.append(z.clamp(-NORMAL_REACH, NORMAL_REACH))
        a, b = ends
        half = 0.5 * (b - a)
        first = second = torch.zeros_like(half)
        for node, weight in zip(t, w, strict=True):
            z = a + half * (node + 1.0)
            mass = weight * half * density(z)
            gap = self.bend(mean + sd * z) - about.to(z)
            first, second = first + mass * gap, second + mass * gap.square()
        chance = torch.where(a > 0, distribution(-a) - distribution(-b), distribution(b) - distribution(a))
        return chance, first, second


def of_logarithm(mean: Tensor, var: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of a value whose logarithm is normal with this mean and variance."""
    expected = torch.exp(mean + 0.5 * var)
    return expected, expected.square() * torch.expm1(var)
