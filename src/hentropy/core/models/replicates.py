r"""Whether the noise depends on the design, as the spread of replicates shows it.

Whatever the function is, m replicates of one design with noise variance v have a sample variance s with s (m - 1) / v
distributed as chi squared with m - 1 degrees of freedom. So G designs with replicates have a likelihood of their own,

    log v_i = a + b.u_i        log L = -1/2 sum_i (m_i - 1) (log v_i + s_i / v_i) + constant        b ~ N(0, WIDTH^2 I)

with u the coordinates in the unit cube. It is log-concave: Newton's method finds the most probable a and b, and the
evidence against a constant noise (b = 0) follows by Laplace's approximation. A wrong value among the replicates of a
single design raises the spread there alone, and would make a trend: the evidence has to suffice without any one design.
docs/design.md has the simulations that the constants were chosen by.

The level of the noise is fitted with the other hyperparameters; here it is about where it is higher than elsewhere.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from hentropy.core.beliefs.gaussian import NoiseTrend
from hentropy.core.models.hyperparameters import NOISE_FLOOR, RelativeNoise
from hentropy.lazy import Tensor, torch

WIDTH = 2.0
"""The prior standard deviation of b: across a range, a noise standard deviation changes by a factor of e (e^2, ...)."""

MARGIN = 1.0
"""Nats of evidence by which a noise that varies must be better than a constant one, without any one design."""

LEAVING = 8
"""So many designs are left out in turn: those that speak for it most."""

LEAST = 1e-3
"""Sample variances count as at least this share of the pooled one: those of rounded values may be zero by chance."""

ROUNDS = 50
ROUNDING = 1e-9
"""Newton's method ends where no step promises more than so many nats."""


@dataclass(frozen=True)
class Spreads:
    """G designs with replicates: coordinates u (G x d), sample variances (G) and their degrees of freedom (G)."""

    u: Tensor
    variance: Tensor
    freedom: Tensor

    @classmethod
    def of(cls, u: Tensor, values: Tensor, group: Tensor) -> "Spreads":
        """Of standardised values (n) at coordinates u (n x d), where `group` (n) numbers the designs."""
        count = group.bincount()
        sums = torch.zeros_like(count, dtype=values.dtype)
        mean = sums.index_add(0, group, values) / count
        squares = sums.index_add(0, group, (values - mean[group]).square())
        at = u.new_empty(len(count), u.shape[-1]).index_copy(0, group, u)  # those of one design are alike
        several = count > 1
        freedom = (count - 1)[several].to(values)
        return cls(at[several], (squares[several] / freedom).clamp_min(NOISE_FLOOR), freedom)

    def most_probable(self, kept: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Slopes b (B x d) and the log evidence against b = 0 (B), where some designs are kept (B x G: 1, else 0).

        And the price (B): by how much the evidence falls short of the likelihood at b.
        """
        w = kept * self.freedom  # B x G
        total = w.sum(-1, keepdim=True)
        pooled = (w * self.variance).sum(-1, keepdim=True) / total
        s = torch.maximum(self.variance, LEAST * pooled)
        s = s * total / (w * s).sum(-1, keepdim=True)  # so that a constant noise is 1
        centred = self.u - (w / total).unsqueeze(-2) @ self.u  # B x G x d
        design = torch.cat([torch.ones_like(centred[..., :1]), centred], -1)
        ridge = torch.full_like(design[0, 0], WIDTH**-2.0)
        ridge[0] = 0.0

        def height(theta: Tensor) -> Tensor:
            log_v = (design @ theta.unsqueeze(-1)).squeeze(-1)
            return -0.5 * (w * (log_v + s * (-log_v).exp())).sum(-1) - 0.5 * (ridge * theta.square()).sum(-1)

        theta = design.new_zeros(len(w), design.shape[-1])
        constant = value = height(theta)
        for _ in range(ROUNDS):
            ratio = s * (-(design @ theta.unsqueeze(-1)).squeeze(-1)).exp()  # s / v: B x G
            slope = (0.5 * (w * (ratio - 1.0)).unsqueeze(-2) @ design).squeeze(-2) - ridge * theta
            curvature = (0.5 * w * ratio).unsqueeze(-2) * design.mT @ design + torch.diag(ridge)
            step = torch.linalg.solve(curvature, slope)
            if not bool(((slope * step).sum(-1) > ROUNDING).any()):
                break
            for _ in range(ROUNDS):
                rises = height(theta + step) >= value - ROUNDING
                if bool(rises.all()):
                    break
                step = torch.where(rises.unsqueeze(-1), step, 0.5 * step)
            theta = theta + torch.where(rises.unsqueeze(-1), step, 0.0)
            value = height(theta)
        d = self.u.shape[-1]
        widths = 0.5 * (torch.logdet(curvature) - (0.5 * total.squeeze(-1)).log()) + d * math.log(WIDTH)
        return theta[:, 1:], value - constant - widths, widths + 0.5 * (ridge * theta.square()).sum(-1)

    def slopes(self) -> tuple[Tensor, float] | None:
        """b (d) and its price where the evidence suffices, also without any one of the designs; None otherwise."""
        everything = torch.ones_like(self.freedom).unsqueeze(0)
        [b], [odds], [price] = self.most_probable(everything)
        if not float(odds) > MARGIN:
            return None
        log_v = (self.u - self.u.mean(0)) @ b
        s = self.variance / self.variance.mean()
        speaks = self.freedom * (s - log_v - s * (-log_v).exp())  # about what each design adds to the log likelihood
        most = speaks.topk(min(LEAVING, len(speaks))).indices
        kept = everything.repeat(len(most), 1)
        kept[torch.arange(len(most), device=kept.device), most] = 0.0
        return (b, float(price)) if bool((self.most_probable(kept)[1] > MARGIN).all()) else None


@torch.no_grad()
def relative_noise(
    X: Tensor, to_unit: Callable[[Tensor], Tensor], values: Tensor, group: Tensor, trusted: Tensor
) -> RelativeNoise | None:
    """That of values (n) at designs X (n x d), numbered by `group` (n), where the replicates among them show it.

    Those that are not `trusted` (n) are left out. The noise is the usual one where its logarithm is the average of the
    observations, and not continued beyond the least and the greatest at a design with replicates.
    """
    u = to_unit(X)
    spreads = Spreads.of(u[trusted], values[trusted], group[trusted])
    found = spreads.slopes()
    if found is None:
        return None
    b, price = found
    at = spreads.u @ b
    low, high = at.min(), at.max()
    centre = (u @ b).clamp(low, high).mean()
    trend = NoiseTrend(to_unit, b.unsqueeze(0), low.reshape(1), high.reshape(1), centre.reshape(1))
    return RelativeNoise(trend, trend(X)[0], price)
