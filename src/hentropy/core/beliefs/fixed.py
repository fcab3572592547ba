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
from hentropy.core.beliefs.kernels import ToSites, whiten
from hentropy.core.beliefs.links import Bend, neighbours
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
        return _average(fantasy.component_weights.expand(V.shape[:-1]), self.mean, V, C)

    def moments(self, fantasy: GaussianFantasy) -> Moments:
        """Means and variances of each component after each outcome: H x b x N x m, variances H x b x 1 x m."""
        C, V = self.cross(fantasy), self.belief.frame.scale * fantasy.V
        before = self.mean[:, None, None]
        mean = torch.addcmul(before, V, C) if V.shape[-1] == 1 else before + V @ C
        if self.var is None:
            return Moments(fantasy.component_weights, mean)
        return Moments(fantasy.component_weights, mean, self._variances(fantasy, C).unsqueeze(-2))

    def _variances(self, fantasy: GaussianFantasy, C: Tensor, own: slice | list[int] = slice(None)) -> Tensor:
        """After any outcome, of some of the components: H x b x m."""
        assert self.var is not None
        root = whiten(C[own].mT, fantasy.look.L[own], fantasy.look.blind[own])  # H x b x m x q
        less = self.belief.frame.scale.square() * root.square().sum(-1)
        return (self.var[own].unsqueeze(1) - less).clamp_min(0.0)

    def linked_means(self, fantasy: GaussianFantasy, plain: list[int], own: slice | list[int], bend: Bend) -> Tensor:
        """As `means`, where the values of `own` components are bent, and those of plain ones are not: b x N x m."""
        C, V = self.cross(fantasy), self.belief.frame.scale * fantasy.V
        weights = fantasy.component_weights.expand(V.shape[:-1])
        before = self.mean[own].unsqueeze(1)
        total = bend.average_mean(before, C[own], V[own], self._variances(fantasy, C, own), weights[own])
        there = neighbours(plain)
        return total + _average(weights[there], self.mean[there], V[there], C[there]) if plain else total


def _average(weights: Tensor, before: Tensor, V: Tensor, C: Tensor) -> Tensor:
    """sum_h w_h (before_h + V_h C_h): H x b x N, H x m, H x b x N x q and H x b x q x m to b x N x m."""
    b, m = C.shape[1], C.shape[-1]
    moved = (weights.unsqueeze(-1) * V).permute(1, 2, 0, 3).flatten(2)  # b x N x Hq
    return torch.baddbmm(weights.permute(1, 2, 0) @ before, moved, C.transpose(0, 1).reshape(b, -1, m))


@dataclass(frozen=True)
class TransformedPoints:
    """m points as a belief with transformed components sees them."""

    belief: Transformed
    latent: FixedPoints

    @property
    def now(self) -> Moments:
        """The moments before any outcome: H x m."""
        return self.belief.linked(self.latent.now, Needs.VARIANCE)

    @classmethod
    def prepare(cls, belief: Transformed, points: Tensor, needs: Needs = Needs.VARIANCE) -> "TransformedPoints":
        """At points m x d, with variances whatever is needed: means depend on them."""
        return cls(belief, FixedPoints.prepare(belief.latent, points, Needs.VARIANCE))

    def after(self, fantasy: TransformedFantasy, needs: Needs) -> Iterator[Moments]:
        """Moments after each outcome, a few designs at a time: H x b' x N x m; means averaged over components."""
        belief = self.belief
        if needs is not Needs.MEAN:
            parts = fantasy.latent.chunks(self.latent.count * belief.components)
            yield from (belief.linked(self.latent.moments(part), needs) for part in parts)
            return
        plain = [h for h, bent in enumerate(belief.bent.tolist()) if not bent]
        for part in fantasy.latent.chunks(2 * self.latent.count):  # more than one array is in use at the same time
            mean = self.latent.linked_means(part, plain, belief.own, belief.bend)
            yield Moments(mean.new_ones(1, 1, 1), mean.unsqueeze(0))
