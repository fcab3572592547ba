"""A Gaussian belief at points that stay the same while many designs are looked at.

Letters as in `gaussian`: a are the m fixed points, x the designs to come, V = S^-1 (y' - mean(x)) what an outcome does.
Kernels between a and the data are computed once. An affine loss needs no more than the average mean after each outcome,

    sum_g w'_g mean'_g(a) = sum_g w'_g mean_g(a) + sum_g w'_g V_g C_g(a)^T

which is two matrix products: the H means of each outcome never exist.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from hentropy.core.beliefs.base import Moments, Needs
from hentropy.core.beliefs.gaussian import Gaussian, GaussianFantasy
from hentropy.core.beliefs.kernels import ToSites
from hentropy.core.beliefs.links import Bend
from hentropy.core.beliefs.transformed import Transformed, TransformedFantasy
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class FixedPoints:
    """m points as the belief sees them: inputs a (m x d), K = k(a, X) (H x m x n), mean and variance now (H x m).

    Mean and variance are in the user's units, as all moments are.
    """

    belief: Gaussian
    a: Tensor
    K: Tensor
    mean: Tensor
    var: Tensor | None

    @classmethod
    def prepare(cls, belief: Gaussian, points: Tensor, needs: Needs) -> "FixedPoints":
        """For moments up to `needs` (means, or variances as well) at points m x d."""
        a = belief.frame.transform(points)
        k_aX = belief.to_data(a)
        mean = belief._in_user_units(belief._mean(a, k_aX))
        var = None
        if needs is not Needs.MEAN:
            spread = belief._spread(a, k_aX, Needs.VARIANCE)[0]
            assert spread is not None
            var = belief.frame.scale.square() * spread
        return cls(belief, a, k_aX, mean, var)

    @cached_property
    def _to_points(self) -> ToSites:
        return ToSites(self.belief.kernel, self.a)

    @property
    def count(self) -> int:
        """m."""
        return self.a.shape[0]

    @property
    def now(self) -> Moments:
        """The moments before any outcome: H x m."""
        return Moments(self.belief.weights, self.mean, self.var)

    def take(self, index: Tensor) -> "FixedPoints":
        """Some of the points."""
        var = None if self.var is None else self.var[:, index]
        return FixedPoints(self.belief, self.a[index], self.K[:, index], self.mean[:, index], var)

    def of(self, components: slice | list[int], belief: Gaussian) -> "FixedPoints":
        """The same for a belief of some of the components."""
        var = None if self.var is None else self.var[components]
        return FixedPoints(belief, self.a, self.K[components], self.mean[components], var)

    def cross(self, fantasy: GaussianFantasy) -> Tensor:
        """C(a)^T, in the model's units: H x b x q x m."""
        look = fantasy.look
        b, q, d = look.u.shape
        H, n = self.belief.alpha.shape
        k_xa = self._to_points(look.u.reshape(b * q, d))  # H x bq x m
        W = look.W.mT.reshape(H, b * q, n)
        return torch.baddbmm(k_xa, W, self.K.mT, alpha=-1).unflatten(1, (b, q))

    def means(self, fantasy: GaussianFantasy) -> Tensor:
        """The average over components of the means after each outcome: b x N x m."""
        C, V = self.cross(fantasy), self.belief.frame.scale * fantasy.V
        b, m = C.shape[1], C.shape[-1]
        weights = fantasy.component_weights.expand(V.shape[:-1])
        moved = (weights.unsqueeze(-1) * V).permute(1, 2, 0, 3).flatten(2)  # b x N x Hq
        before = weights.permute(1, 2, 0) @ self.mean  # b x N x m
        return torch.baddbmm(before, moved, C.transpose(0, 1).reshape(b, -1, m))

    def moments(self, fantasy: GaussianFantasy) -> Moments:
        """Means and variances of each component after each outcome: H x b x N x m, variances H x b x 1 x m."""
        C, V = self.cross(fantasy), self.belief.frame.scale * fantasy.V
        before = self.mean[:, None, None]
        mean = torch.addcmul(before, V, C) if V.shape[-1] == 1 else before + V @ C
        if self.var is None:
            return Moments(fantasy.component_weights, mean)
        return Moments(fantasy.component_weights, mean, self._variances(fantasy, C).unsqueeze(-2))

    def _variances(self, fantasy: GaussianFantasy, C: Tensor) -> Tensor:
        """After any outcome: H x b x m."""
        assert self.var is not None
        root = fantasy.look.whiten(C.mT)  # H x b x m x q
        less = self.belief.frame.scale.square() * root.square().sum(-1)
        return (self.var[:, None] - less).clamp_min(0.0)

    def bent_means(self, fantasy: GaussianFantasy, bend: Bend) -> Tensor:
        """The average over components of the means of bent values after each outcome: b x N x m."""
        C, V = self.cross(fantasy), self.belief.frame.scale * fantasy.V
        weights = fantasy.component_weights.expand(V.shape[:-1])
        return bend.average_mean(self.mean[:, None], C, V, self._variances(fantasy, C), weights)


@dataclass(frozen=True)
class TransformedPoints:
    """m points as a belief with transformed components sees them: all of its components, or each side of them."""

    belief: Transformed
    whole: FixedPoints
    sides: tuple[FixedPoints, ...]

    @property
    def now(self) -> Moments:
        """The moments before any outcome: H x m."""
        return self.belief.linked(self.whole.now, Needs.VARIANCE)

    @classmethod
    def prepare(cls, belief: Transformed, points: Tensor, needs: Needs = Needs.VARIANCE) -> "TransformedPoints":
        """At points m x d, with variances whatever is needed: means depend on them."""
        whole = FixedPoints.prepare(belief.latent, points, Needs.VARIANCE)
        return cls(belief, whole, tuple(whole.of(side.index, side.latent) for side in belief.sides))

    def after(self, fantasy: TransformedFantasy, needs: Needs) -> Iterator[Moments]:
        """Moments after each outcome, a few designs at a time: H x b' x N x m; means averaged over components."""
        each = self.belief.components if needs is not Needs.MEAN else 2  # arrays that are in use at the same time
        for part in fantasy.latent.chunks(self.whole.count * each):
            yield self._means(part) if needs is Needs.MEAN else self.belief.linked(self.whole.moments(part), needs)

    def _means(self, fantasy: GaussianFantasy) -> Moments:
        total = torch.zeros(()).to(self.whole.mean)
        for side, points in zip(self.belief.sides, self.sides, strict=True):
            share, own = side.after(fantasy)
            mean = points.bent_means(own, self.belief.bend) if side.bent else points.means(own)
            total = total + share.unsqueeze(-1) * mean
        return Moments(total.new_ones(1, 1, 1), total.unsqueeze(0))
