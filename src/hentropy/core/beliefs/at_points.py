r"""Means, variances and covariances at the points of actions, now and after an outcome, with a hand-written derivative.

A search evaluates them thousands of times at few points, where the calls around the arithmetic cost more than the
arithmetic: one function forward and one backward, in which the features of a point are computed once. With the letters
of `gaussian`, K^-1 = R^T R, and x and the outcomes fixed:

    Q = k(a, X) R^T        C = k(a, x) - k(a, X) W        T = C L^-T
    mean - m = k(a, X) alpha + C V                        cov = k(a, a) - Q Q^T - T T^T

Backward, with g the derivatives of the result in the mean (g_m) and in the covariance (g_S, made symmetric):

    g_C = g_m V - g_S T L^-1        g_k(a,X) = g_m alpha - g_S Q R - g_C W^T        g_k(a,x) = g_C        g_k(a,a) = g_S / 2

and from there to a by the slopes of the kernels and of the features.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hentropy.core.beliefs.kernels import Composed, Sites, Stationary, fall
from hentropy.core.beliefs.terms import by_component, side_by_side
from hentropy.lazy import AutogradFunction, Tensor, torch


@dataclass(frozen=True)
class Observing:
    """What observing at inputs u (b x q x d) needs: see `GaussianLookAhead`, whose fields these are."""

    u: Tensor
    W: Tensor
    L: Tensor
    blind: Tensor

    def whiten(self, C: Tensor) -> Tensor:
        """C L^-T, zero for blind outcomes: H x b x m x q."""
        white = C / self.L if self.L.shape[-1] == 1 else torch.linalg.solve_triangular(self.L, C.mT, upper=False).mT
        return torch.where(self.blind.unsqueeze(-2), 0.0, white)

    def whiten_back(self, by_white: Tensor) -> Tensor:
        """The derivative in C of what has this one in C L^-T: H x b x m x q."""
        seen = torch.where(self.blind.unsqueeze(-2), 0.0, by_white)
        return seen / self.L if self.L.shape[-1] == 1 else torch.linalg.solve_triangular(self.L.mT, seen.mT, upper=True).mT


@dataclass(frozen=True)
class AtPoints:
    """A posterior with data at `sites` (n), R (H x n x n) and alpha (H x n), and an observation to come, if any."""

    kernel: Stationary | Composed
    sites: Sites
    R: Tensor
    alpha: Tensor
    observing: Observing | None = None

    def __call__(self, a: Tensor, V: Tensor | None, joint: bool) -> tuple[Tensor, Tensor]:
        """At inputs b x g x K x d, means without the prior mean, H x b x g x K, and variances or covariances.

        The latter are H x b x g x K, or x K. V (H x b x N x q) are the outcomes, each with g / N groups of its own.
        """
        mean, spread = _AtPoints.apply(a, self, V, joint)
        return mean, spread

    @property
    def stationary(self) -> Stationary:
        """The kernel without terms."""
        return self.kernel.stationary if isinstance(self.kernel, Composed) else self.kernel

    @cached_property
    def new_sites(self) -> Sites:
        """The designs observed, from the origin of the data."""
        assert self.observing is not None
        return self.kernel.sites(self.observing.u, 3, self.sites.origin)


class _AtPoints(AutogradFunction):
    """See the head of the file."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, at: AtPoints, V: Tensor | None, joint: bool) -> tuple[Tensor, Tensor]:
        sloped = ctx.needs_input_grad[0]
        b, g, K, d = a.shape
        H, n = at.alpha.shape
        m, stationary, flat = g * K, at.stationary, a.reshape(b * g * K, d)
        scale, profiles = stationary.outputscale, stationary.profiles
        A = (flat - at.sites.origin) / stationary.lengthscale.unsqueeze(-2)  # H x bm x d
        square, ones = A.square().sum(-1, keepdim=True), A.new_ones(H, b * m, 1)
        left = torch.cat([A, square, ones], -1)
        k_aX, slope_X = fall(left @ at.sites.products.mT, scale.view(H, 1, 1), profiles, sloped)
        terms = at.kernel.terms if isinstance(at.kernel, Composed) else None
        own = at.kernel.own if isinstance(at.kernel, Composed) else slice(0, 0)
        features = None if terms is None else terms.basis.features(flat)  # bm x F
        if terms is not None:
            k_aX[own] += by_component(features @ at.sites.features.mT, len(terms.variance))
        Q = k_aX @ at.R.mT
        mean = (k_aX @ at.alpha.unsqueeze(-1)).view(H, b, g, K)
        T = slope_x = None
        if at.observing is not None:
            new = at.new_sites
            k_ax, slope_x = fall(left.view(H, b, m, -1) @ new.products.mT, scale.view(H, 1, 1, 1), profiles, sloped)
            if terms is not None:
                k_ax[own] += by_component(features.view(b, m, -1) @ new.features.mT, len(terms.variance))
            C = k_ax.sub_(k_aX.view(H, b, m, n) @ at.observing.W)
            T = at.observing.whiten(C)
            mean += _moved(C, V).view(H, b, g, K)
        slope_aa = None
        if joint:
            right = torch.cat([-2.0 * A, ones, square], -1).view(H, b * g, K, -1)
            k_aa, slope_aa = fall(left.view(H, b * g, K, -1) @ right.mT, scale.view(H, 1, 1, 1), profiles, sloped)
            if terms is not None:
                each = features.view(b * g, K, -1)
                k_aa[own] += (each * terms.variance[:, None, None]) @ each.mT
            spread = k_aa.sub_(_squares(Q.view(H, b * g, K, n)))
            spread = spread if T is None else spread.sub_(_squares(T.reshape(H, b * g, K, -1)))
            spread = spread.view(H, b, g, K, K)
        else:
            spread = scale.view(H, 1) - torch.linalg.vecdot(Q, Q)
            if terms is not None:
                spread[own] += (features.square() @ terms.variance.mT).mT
            spread = spread if T is None else spread.sub_(torch.linalg.vecdot(T, T).view(H, b * m))
            spread = spread.view(H, b, g, K)
        ctx.at, ctx.shape, ctx.own, ctx.terms = at, a.shape, own, terms
        ctx.save_for_backward(A, features, Q, T, V, slope_X, slope_x, slope_aa)
        return mean, spread

    @staticmethod
    def backward(ctx: Any, by_mean: Tensor, by_spread: Tensor) -> tuple[Tensor, None, None, None]:
        A, features, Q, T, V, slope_X, slope_x, slope_aa = ctx.saved_tensors
        at, (b, g, K, d), own, terms = ctx.at, ctx.shape, ctx.own, ctx.terms
        H, n = at.alpha.shape
        m = g * K
        joint = slope_aa is not None
        both = (by_spread + by_spread.mT).view(H, b * g, K, K) if joint else 2.0 * by_spread.reshape(H, b * m, 1)

        def explained(root: Tensor) -> Tensor:
            """g_S root: H x bm x p."""
            if not joint:
                return both * root
            return (both @ root.view(H, b * g, K, -1)).view(H, b * m, -1)

        by_X = torch.baddbmm(by_mean.reshape(H, b * m, 1) * at.alpha.unsqueeze(-2), explained(Q), at.R, alpha=-1)
        by_x = None
        if T is not None:
            by_x = at.observing.whiten_back(explained(T.reshape(H, b * m, -1)).view(T.shape)).neg_()
            by_x += _moved_back(by_mean, V).view(T.shape)
            by_X -= (by_x @ at.observing.W.mT).view(by_X.shape)
        by_features = None
        if terms is not None:
            by_features = side_by_side(by_X[own]) @ at.sites.features
            if by_x is not None:
                by_features += (side_by_side(by_x[own]) @ at.new_sites.features).view(by_features.shape)
            if joint:
                each = (features.view(b * g, K, -1) * terms.variance[:, None, None]) if joint else None
                by_features += (both[own] @ each).sum(0).view(by_features.shape)
            else:
                by_features += features * (both[own].squeeze(-1).mT @ terms.variance)
        # d k / d r2 = slope, d r2 / d a = 2 (a - c), and `products` are (-2 c, 1, |c|^2)
        M = by_X.mul_(slope_X) @ at.sites.products  # H x bm x (d + 2)
        if by_x is not None:
            M += ((by_x * slope_x) @ at.new_sites.products).view(M.shape)
        by_A = torch.addcmul(M[..., :d], A, M[..., d : d + 1], value=2.0)
        if joint:
            pairs, there = (both * slope_aa), A.view(H, b * g, K, d)
            moved = (there * pairs.sum(-1, keepdim=True)).sub_(pairs @ there)
            by_A = by_A.add_(moved.view(by_A.shape), alpha=2.0)
        by_a = (by_A / at.stationary.lengthscale.unsqueeze(-2)).sum(0)
        if terms is not None:
            by_a += terms.basis.slopes(features, by_features)
        return by_a.view(b, g, K, d), None, None, None


def _squares(root: Tensor) -> Tensor:
    """root root^T: ... x K x p to ... x K x K."""
    return root * root.mT if root.shape[-1] == 1 else root @ root.mT


def _moved(C: Tensor, V: Tensor) -> Tensor:
    """C V for outcomes (H x b x N x q) with points of their own (H x b x m x q): H x b x N x m/N."""
    each = C.unflatten(2, (V.shape[2], -1))  # H x b x N x m/N x q
    return each.squeeze(-1) * V if V.shape[-1] == 1 else (each @ V.unsqueeze(-1)).squeeze(-1)


def _moved_back(by_mean: Tensor, V: Tensor) -> Tensor:
    """The derivative in C of what has this one (H x b x g x K) in the means: H x b x N x m/N x q."""
    H, b, N, q = V.shape
    return by_mean.reshape(H, b, N, -1, 1) * V.view(H, b, N, 1, q)
