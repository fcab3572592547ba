"""A Gaussian belief at points that stay the same while many designs are looked at.

Letters as in `gaussian`: a are the m fixed points, x the designs to come, V = S^-1 (y' - mean(x)) what an outcome does.
Kernels between a and the data are computed once. An affine loss needs no more than the average mean after each outcome,

    sum_g w'_g mean'_g(a) = sum_g w'_g mean_g(a) + sum_g w'_g V_g C_g(a)^T

which is two matrix products: the H means of each outcome never exist.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from hentropy.core.beliefs.base import Belief, Fantasy, Moments, Needs
from hentropy.core.beliefs.gaussian import Gaussian, GaussianFantasy
from hentropy.core.beliefs.kernels import ToSites, whiten
from hentropy.core.beliefs.links import neighbours
from hentropy.core.beliefs.transformed import Transformed, normal_values
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class FixedPoints:
    """m points as the process of a belief sees them: inputs a (m x d), K = k(a, X) (H x m x n), mean and variance now
    (H x m), in the user's units, as all moments are.
    """

    observed: Belief
    belief: Gaussian
    a: Tensor
    K: Tensor
    mean: Tensor
    var: Tensor | None

    @classmethod
    def prepare(cls, observed: Belief, points: Tensor, needs: Needs) -> "FixedPoints":
        """For moments up to `needs` (means, or variances as well) at points m x d; transformed means need variances."""
        belief: Gaussian = observed.process
        a = belief.frame.transform(points)
        k_aX = belief.to_data(a)
        mean = belief._in_user_units(belief._mean(a, k_aX))
        var = None
        if needs is not Needs.MEAN or not observed.normal:
            spread = belief._spread(a, k_aX, Needs.VARIANCE)[0]
            assert spread is not None
            var = belief.frame.scale.square() * spread
        return cls(observed, belief, a, k_aX, mean, var)

    @cached_property
    def _to_points(self) -> ToSites:
        return ToSites(self.belief.kernel, self.a)

    def after(self, fantasy: Fantasy, needs: Needs) -> Iterator[Moments]:
        """Moments after each outcome, a few designs at a time: H x b' x N x m; means averaged over components."""
        own, m = normal_values(fantasy), len(self.a)
        if needs is not Needs.MEAN:
            parts = own.chunks(m * self.belief.components)
            yield from (self.observed.linked(self.moments(part), needs) for part in parts)
            return
        transformed = isinstance(self.observed, Transformed)
        for part in own.chunks(2 * m if transformed else m):  # more than one array is in use at the same time
            mean = (
                self.linked_means(part, self.observed) if isinstance(self.observed, Transformed) else self.means(part)
            )
            yield Moments(mean.new_ones(1, 1, 1), mean.unsqueeze(0))

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

    def linked_means(self, fantasy: GaussianFantasy, observed: Transformed) -> Tensor:
        """As `means`, where the values of some components are bent, and those of plain ones are not: b x N x m."""
        own, plain = observed.own, [h for h, bent in enumerate(observed.bent.tolist()) if not bent]
        C, V = self.cross(fantasy), self.belief.frame.scale * fantasy.V
        weights = fantasy.component_weights.expand(V.shape[:-1])
        before = self.mean[own].unsqueeze(1)
        total = observed.bend.average_mean(before, C[own], V[own], self._variances(fantasy, C, own), weights[own])
        there = neighbours(plain)
        return total + _average(weights[there], self.mean[there], V[there], C[there]) if plain else total


def _average(weights: Tensor, before: Tensor, V: Tensor, C: Tensor) -> Tensor:
    """sum_h w_h (before_h + V_h C_h): H x b x N, H x m, H x b x N x q and H x b x q x m to b x N x m."""
    b, m = C.shape[1], C.shape[-1]
    moved = (weights.unsqueeze(-1) * V).permute(1, 2, 0, 3).flatten(2)  # b x N x Hq
    return torch.baddbmm(weights.permute(1, 2, 0) @ before, moved, C.transpose(0, 1).reshape(b, -1, m))
