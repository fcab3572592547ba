r"""`Success`: what is known about whether experiments succeed.

An experiment at x succeeds with probability Phi(g(x)), and g is a Gaussian process that no one sees. Given which
experiments succeeded, g is close to normal (`models.success` says how close), so the belief about it is a `Gaussian`,
or a mixture of them. With mean m and variance v of g at a design, of each component h with weight w_h:

    chance(x) = sum_h w_h Phi(m_h / sqrt(1 + v_h))

One more success (y = 1) or failure (y = -1) at x moves g elsewhere, at a, through its covariance c with g(x). The mean
and the variance after it are exact:

    t = y m / sqrt(1 + v)      r = phi(t) / Phi(t)      m'(a) = m(a) + c y r / sqrt(1 + v)
    w'_h ~ w_h Phi(t_h)                                 v'(a) = v(a) - c^2 r (t + r) / (1 + v)
"""

from dataclasses import dataclass, replace
from functools import cached_property

from hentropy.core.beliefs.base import Needs
from hentropy.core.beliefs.gaussian import Gaussian
from hentropy.core.beliefs.normal import FAR, LOG_ROOT_TWO_PI, distribution
from hentropy.lazy import Tensor, torch

LEAST_PRECISION_SEEN = 1e-8
"""A result that was certain takes no less from the variance than this."""


def seen_between(mean: Tensor, var: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What seeing a latent value N(mean, var), with unit noise, between low and high says of it.

    The log probability log Z of that, and the derivatives of log Z in the mean: A, -B and the third. The value then has
    the mean + var A and the variance var - var^2 B. Bounds may be infinite.
    """
    root = (1.0 + var).sqrt()
    a, b = ((torch.where(bound.isinf(), 0.0, bound) - mean) / root for bound in (low, high))
    a, b = (
        torch.where(low.isinf(), b.clamp_max(0.0) - FAR, a),
        torch.where(high.isinf(), a.clamp_min(0.0) + FAR, b),
    )
    flip = a + b > 0  # into the lower tail, where probabilities keep their digits
    upper = torch.special.log_ndtr(torch.where(flip, -a, b))
    log_probability = upper + torch.log1p(-torch.exp(torch.special.log_ndtr(torch.where(flip, -b, a)) - upper))
    at_a, at_b = (torch.exp(-0.5 * each.square() - LOG_ROOT_TWO_PI - log_probability) for each in (a, b))
    first, second = at_a - at_b, a * at_a - b * at_b
    third = (a.square() - 1.0) * at_a - (b.square() - 1.0) * at_b - 3.0 * second * first + 2.0 * first**3
    return log_probability, first / root, (first.square() - second) / (1.0 + var), third / root**3


def seen_beyond(mean: Tensor, var: Tensor, bound: Tensor, side: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same of seeing it above (side 1) or below (-1) a bound: with r = phi(z) / Phi(z), a quarter of the time."""
    spread = 1.0 + var
    per = side / spread.sqrt()
    z = (mean - bound) * per
    log_probability = torch.special.log_ndtr(z)
    r = torch.exp(-0.5 * z.square() - LOG_ROOT_TWO_PI - log_probability)
    s = z + r
    return log_probability, per * r, r * s / spread, per**3 * r * (s * (s + r) - 1.0)


@dataclass(frozen=True)
class Sightings:
    """Latent values were seen between bounds that stay the same, while their mean and variance change."""

    low: Tensor
    high: Tensor

    @classmethod
    def yes_or_no(cls, y: Tensor) -> "Sightings":
        """Given outcomes 1 or -1."""
        return cls(*yes_or_no(y))

    @cached_property
    def _beyond(self) -> tuple[Tensor, Tensor] | None:
        """The one finite bound of each value and on which side of it that lies, where every value has one."""
        above, below = self.high.isinf(), self.low.isinf()
        if not bool((above ^ below).all()):
            return None
        return torch.where(above, self.low, self.high), torch.where(above, 1.0, -1.0).to(self.low)

    def says(self, mean: Tensor, var: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """As `seen_between`."""
        if self._beyond is None:
            return seen_between(mean, var, self.low, self.high)
        return seen_beyond(mean, var, *self._beyond)


def yes_or_no(y: Tensor) -> tuple[Tensor, Tensor]:
    """Between which bounds the latent value with its noise lies, given outcomes 1 or -1."""
    end = torch.full_like(y, torch.inf)
    return torch.where(y > 0, 0.0, -end), torch.where(y > 0, end, 0.0)


@dataclass(frozen=True)
class Success:
    """The belief about g, and the smallest probability of success that each design of an action must have."""

    latent: Gaussian
    at_least: float = 0.5

    def chance(self, points: Tensor) -> Tensor:
        """The probability that an experiment succeeds at points ... x d: ... ."""
        flat = points.reshape(-1, points.shape[-1])
        moments = self.latent.moments(flat.to(self.latent.X), Needs.VARIANCE)
        return moments.expect_vector(_chance(moments.mean, moments.variance)).reshape(points.shape[:-1]).to(points)

    def passes(self, points: Tensor) -> Tensor:
        """Which designs (... x d) may be part of a decided action: ... ."""
        if self.latent.components > 1 or self.at_least != 0.5:
            return self.chance(points) >= self.at_least
        # Phi is at least a half where m is not below zero, whatever the variance
        flat = points.reshape(-1, points.shape[-1]).to(self.latent.X)
        return (self.latent.moments(flat, Needs.MEAN).mean[0] >= 0.0).reshape(points.shape[:-1]).to(points.device)

    @torch.no_grad()
    def sample(self, points: Tensor, count: int, seed: int) -> Tensor:
        """Joint draws of whether experiments at points (m x d) succeed: count x m of ones and zeros."""
        g = self.latent.sample(points, count, seed)
        generator = torch.Generator().manual_seed(seed + 1)
        return (g + torch.randn(g.shape, generator=generator, dtype=torch.float64).to(g) > 0).to(g)

    @torch.no_grad()
    def given(self, x: Tensor, succeeds: bool) -> tuple[float, "Success"]:
        """The belief after an experiment at x (d) has succeeded or failed, and the probability of that.

        The result is replaced by a normal observation of g that gives the same mean and variance there.
        """
        moments = self.latent.moments(x.unsqueeze(0), Needs.VARIANCE)
        mean, var = moments.mean, moments.variance  # H x 1
        y = torch.full_like(mean, 1.0 if succeeds else -1.0)
        log_probability, A, B, _ = seen_between(mean, var, *yes_or_no(y))
        noise = (1.0 / B.clamp_min(LEAST_PRECISION_SEEN) - var).clamp_min(LEAST_PRECISION_SEEN)
        scale = self.latent.frame.scale.square()
        latent = self.latent.extended(x.unsqueeze(0), mean + A * (var + noise), noise / scale)[0]
        weights = self.latent.weights * log_probability[:, 0].exp()
        return float(weights.sum()), replace(self, latent=latent.weighted(weights / weights.sum()))

    @torch.no_grad()
    def watching(self, points: Tensor) -> "Watched":
        """Prepare to follow the probabilities at points (m x d)."""
        moments = self.latent.moments(points, Needs.VARIANCE)
        inputs = self.latent.frame.transform(points)
        return Watched(self, inputs, moments.mean, moments.variance, self._explained(inputs))

    def _explained(self, inputs: Tensor) -> Tensor:
        """Q (H x m x n) at inputs: the data take Q Q^T from the covariance of g."""
        return self.latent.to_data(inputs) @ self.latent.root_inverse.mT


@dataclass(frozen=True)
class Watched:
    """Inputs (m x d) at which probabilities of success are followed, the mean and the variance of g there (H x m each)
    and what the data explain of it (H x m x n): none of them depends on the experiment to come.
    """

    success: Success
    inputs: Tensor
    mean: Tensor
    var: Tensor
    explained: Tensor

    def after(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The probabilities of success at designs x (b x d), there after each has succeeded or failed, and here.

        b, 2 x b and 2 x b x m: success first.
        """
        latent = self.success.latent
        moments = latent.moments(x, Needs.VARIANCE)
        mean, var = moments.mean, moments.variance  # H x b
        u = latent.frame.transform(x)
        prior = latent.kernel(u, self.inputs)
        left = torch.baddbmm(prior, self.success._explained(u), self.explained.mT, alpha=-1)
        c = latent.frame.scale.square() * left  # H x b x m
        y = mean.new_tensor([1.0, -1.0]).view(2, 1, 1)
        log_probability, A, B, _ = seen_between(mean, var, *yes_or_no(y))  # 2 x H x b
        weights = torch.softmax(latent.weights.log()[:, None] + log_probability, 1)
        moved = self.mean[:, None] + c * A.unsqueeze(-1)
        spread = (self.var[:, None] - c.square() * B.unsqueeze(-1)).clamp_min(0.0)
        here = (weights.unsqueeze(-1) * _chance(moved, spread)).sum(1)
        there = (weights * _chance(mean + var * A, (var - var.square() * B).clamp_min(0.0))).sum(1)
        return (latent.weights[:, None] * log_probability[0].exp()).sum(0), there, here


def _chance(mean: Tensor, var: Tensor) -> Tensor:
    """Phi(m / sqrt(1 + v))."""
    return distribution(mean / (1.0 + var).sqrt())
