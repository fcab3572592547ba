r"""Moments at the points of actions, now and after an outcome, with hand-written derivatives.

A search evaluates them thousands of times at few points, where the calls around the arithmetic cost more than the
arithmetic: one function forward and one backward, in which the features of a point are computed once. With the letters
of `gaussian`, and K^-1 = R^T R:

    mean - m = k(a, X) alpha        C = k(a, x) - k(a, X) W
    Q = k(a, X) R^T                 T = C L^-T                       cov' = k(a, a) - Q Q^T - T T^T

Backward, with g_m, g_C and g_S the derivatives of the result in these three (g_S made symmetric):

    g_T = -g_S T        D = g_C + g_T L^-1                g_k(a,X) = g_m alpha - g_S Q R - D W^T
    g_k(a,x) = D        g_k(a,a) = g_S / 2                g_W = -k(a,X)^T D        g_L = -(g_T L^-1)^T T

and from there to a and x by the slopes of the kernels and of the features. The means of each outcome's own points,
averaged over the components, are sums of kernels (`moving_means`).
"""

from dataclasses import dataclass
from typing import Any

from hentropy.core.beliefs.base import Needs
from hentropy.core.beliefs.kernels import Composed, Sites, Stationary, fall
from hentropy.core.beliefs.terms import FeatureKernel, by_component, side_by_side
from hentropy.lazy import AutogradFunction, Tensor, torch


@dataclass(frozen=True)
class AtPoints:
    """A posterior with data at `sites` (n), R (H x n x n) and alpha (H x n)."""

    kernel: Stationary | Composed
    sites: Sites
    R: Tensor
    alpha: Tensor

    @property
    def stationary(self) -> Stationary:
        """The kernel without terms."""
        return self.kernel.stationary if isinstance(self.kernel, Composed) else self.kernel

    @property
    def terms(self) -> FeatureKernel | None:
        """The terms besides, which components `own` have."""
        return self.kernel.terms if isinstance(self.kernel, Composed) else None

    @property
    def features(self) -> Tensor:
        """What the terms have at the data, times their variances: Tn x F."""
        assert self.sites.features is not None
        return self.sites.features

    @property
    def own(self) -> Any:
        """The components with terms, as an index."""
        return self.kernel.own if isinstance(self.kernel, Composed) else slice(0, 0)

    def now(self, a: Tensor, needs: Needs) -> tuple[Tensor, Tensor | None]:
        """At inputs b x g x K x d: means without the prior mean, H x b x gK, and the variances or covariances needed.

        Variances are H x b x g x K, covariances H x b x g x K x K.
        """
        mean, _, spread = _AtPoints.apply(a, None, None, None, self, None, needs)
        return mean, spread

    def observing(
        self, a: Tensor, needs: Needs, u: Tensor, W: Tensor, L: Tensor, blind: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """The same with C(a), H x b x gK x q, and less what observing at inputs u (b x q x d) explains of the spread.

        The letters are those of `GaussianLookAhead`; differentiable in a, u, W and L.
        """
        mean, C, spread = _AtPoints.apply(a, u, W, L, self, blind, needs)
        return mean, C, spread

    def scaled(self, u: Tensor) -> Tensor:
        """Inputs ... x d from the origin of the data, in length scales: H x ... x d."""
        scales = self.stationary.lengthscale
        return (u - self.sites.origin) / scales.view(scales.shape[0], *[1] * (u.dim() - 1), -1)


def _products(A: Tensor) -> tuple[Tensor, Tensor]:
    """(A, |A|^2, 1) and (-2 A, 1, |A|^2): the product of one with the transpose of the other are squared distances."""
    square, ones = A.square().sum(-1, keepdim=True), torch.ones_like(A[..., :1])
    return torch.cat([A, square, ones], -1), torch.cat([-2.0 * A, ones, square], -1)


class _AtPoints(AutogradFunction):
    """See the head of the file."""

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, u: Tensor | None, W: Any, L: Any, at: AtPoints, blind: Any, needs: Needs
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:  # fmt: skip
        sloped = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        b, g, K, d = a.shape
        H, n = at.alpha.shape
        m, terms, own, flat = g * K, at.terms, at.own, a.reshape(b * g * K, d)
        scale, profiles = at.stationary.outputscale, at.stationary.profiles
        A = at.scaled(flat)  # H x bm x d
        left, right = _products(A)
        k_aX, slope_X = fall(left @ at.sites.products.mT, scale.view(H, 1, 1), profiles, sloped)
        features: Any = None
        if terms is not None:
            features = terms.basis.features(flat)  # bm x F
            k_aX[own] += by_component(features @ at.features.mT, len(terms.variance))
        mean = (k_aX @ at.alpha.unsqueeze(-1)).view(H, b, m)
        C: Any = None
        Q: Any = None
        T: Any = None
        spread: Any = None
        U = slope_x = slope_aa = new_features = None
        if u is not None:
            U = at.scaled(u)  # H x b x q x d
            k_ax, slope_x = fall(left.view(H, b, m, -1) @ _products(U)[1].mT, scale.view(H, 1, 1, 1), profiles, sloped)
            if terms is not None:
                new_features = terms.basis.features(u)
                new = _weighed(new_features, terms)
                k_ax[own] += by_component(features.view(b, m, -1) @ new.mT, len(terms.variance))
            C = k_ax.sub_(k_aX.view(H, b, m, n) @ W)
        if needs is not Needs.MEAN:
            Q = k_aX @ at.R.mT
            T = None if C is None else whiten(C, L, blind)
        if needs is Needs.VARIANCE:
            spread = scale.view(H, 1) - Q.square().sum(-1)
            if terms is not None:
                spread[own] += (features.square() @ terms.variance.mT).mT
            spread = spread.view(H, b, g, K)
            spread = spread if T is None else spread.sub_(T.square().sum(-1).view(H, b, g, K))
        if needs is Needs.JOINT:
            groups = (H, b * g, K, -1)
            k_aa, slope_aa = fall(left.view(groups) @ right.view(groups).mT, scale.view(H, 1, 1, 1), profiles, sloped)
            if terms is not None:
                each = features.view(b * g, K, -1)
                k_aa[own] += (each * terms.variance[:, None, None]) @ each.mT
            spread = k_aa.sub_(_squares(Q.view(groups)))
            spread = spread if T is None else spread.sub_(_squares(T.reshape(groups)))
            spread = spread.view(H, b, g, K, K)
        ctx.at, ctx.needs, ctx.shape = at, needs, a.shape
        kept = k_aX if ctx.needs_input_grad[2] else None
        ctx.save_for_backward(A, features, Q, T, slope_X, slope_x, slope_aa, U, new_features, W, L, blind, kept)
        return mean, C, spread

    @staticmethod
    def backward(ctx: Any, by_mean: Tensor, by_C: Any, by_spread: Any) -> tuple[Tensor | None, ...]:
        A, features, Q, T, slope_X, slope_x, slope_aa, U, new_features, W, L, blind, k_aX = ctx.saved_tensors
        at, (b, g, K, d), needs = ctx.at, ctx.shape, ctx.needs
        H, n = at.alpha.shape
        m, terms, own = g * K, at.terms, at.own
        by_u = by_W = by_L = by_new = None
        both: Any = None
        if needs is Needs.JOINT:
            both = (by_spread + by_spread.mT).view(H, b * g, K, K)
        elif needs is Needs.VARIANCE:
            both = 2.0 * by_spread.reshape(H, b * m, 1)

        def explained(root: Tensor) -> Tensor:
            """g_S root: H x bm x p."""
            return both * root if needs is Needs.VARIANCE else (both @ root.view(H, b * g, K, -1)).view(H, b * m, -1)

        by_X = by_mean.reshape(H, b * m, 1) * at.alpha.unsqueeze(-2)
        if Q is not None:
            by_X = torch.baddbmm(by_X, explained(Q), at.R, alpha=-1)
        by_x = by_C  # H x b x m x q
        if T is not None:
            by_T = _whiten_back(explained(T.reshape(H, b * m, -1)).view(T.shape), L, blind)
            by_x, by_L = by_x - by_T, (by_T.mT @ T).tril() if ctx.needs_input_grad[3] else None
        if U is not None:
            by_X -= (by_x @ W.mT).view(by_X.shape)
            by_W = -(k_aX.view(H, b, m, n).mT @ by_x) if ctx.needs_input_grad[2] else None
        if terms is not None:
            by_features = side_by_side(by_X[own]) @ at.features
            if U is not None:
                there = side_by_side(by_x[own])  # b x m x Tq
                by_features += (there @ _weighed(new_features, terms)).view(by_features.shape)
                by_new = there.mT @ features.view(b, m, -1)
            if needs is Needs.JOINT:
                each = features.view(b * g, K, -1) * terms.variance[:, None, None]
                by_features += (both[own] @ each).sum(0).view(by_features.shape)
            elif needs is Needs.VARIANCE:
                by_features += features * (both[own].squeeze(-1).mT @ terms.variance)
        # d k / d r2 = slope, d r2 / d a = 2 (a - c), and `products` are (-2 c, 1, |c|^2)
        M = by_X.mul_(slope_X) @ at.sites.products  # H x bm x (d + 2)
        if U is not None:
            by_r2 = by_x * slope_x  # H x b x m x q
            M += (by_r2 @ _products(U)[1]).view(M.shape)
            if ctx.needs_input_grad[1]:
                by_u = _to_new(at, by_r2, A.view(H, b, m, d), U, by_new, new_features)
        by_A = torch.addcmul(M[..., :d], A, M[..., d : d + 1], value=2.0)
        if needs is Needs.JOINT:
            pairs, there = both * slope_aa, A.view(H, b * g, K, d)
            apart = (there * pairs.sum(-1, keepdim=True)).sub_(pairs @ there)
            by_A = by_A.add_(apart.view(by_A.shape), alpha=2.0)
        by_a = (by_A / at.stationary.lengthscale.unsqueeze(-2)).sum(0)
        if terms is not None:
            by_a += terms.basis.slopes(features, by_features)
        return by_a.view(b, g, K, d), by_u, by_W, by_L, None, None, None


def moving_means(at: AtPoints, a: Tensor, u: Tensor, at_data: Tensor, at_new: Tensor) -> Tensor:
    """sum_i at_data_i k(a, X_i) + sum_j at_new_j k(a, u_j), over the components as well: b x N x K.

    At points b x N x K x d, with coefficients H x b x N x n and x q: differentiable in the points, u and these.
    """
    value: Tensor = _MovingMeans.apply(a, u, at_data, at_new, at)
    return value


class _MovingMeans(AutogradFunction):
    """See `moving_means`. The derivative in the points is made on the way."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, u: Tensor, B: Tensor, V: Tensor, at: AtPoints) -> Tensor:
        b, N, K, d = a.shape
        (H, n), m, terms, own = at.alpha.shape, N * K, at.terms, at.own
        slope_X: Any
        slope_x: Any
        flat, scale, profiles = a.reshape(b * m, d), at.stationary.outputscale, at.stationary.profiles
        A, U = at.scaled(flat), at.scaled(u)
        left, new = _products(A)[0], _products(U)[1]
        k_aX, slope_X = fall(left @ at.sites.products.mT, scale.view(H, 1, 1), profiles)
        k_ax, slope_x = fall(left.view(H, b, m, -1) @ new.mT, scale.view(H, 1, 1, 1), profiles)
        k_aX, k_ax = k_aX.view(H, b, N, K, n), k_ax.unflatten(2, (N, K))
        value = (k_aX * B.unsqueeze(-2)).sum((0, -1)) + (k_ax * V.unsqueeze(-2)).sum((0, -1))
        near = slope_x.unflatten(2, (N, K)).mul_(V.unsqueeze(-2)).flatten(2, 3)  # H x b x m x q
        M = slope_X.view(H, b, N, K, n).mul_(B.unsqueeze(-2)).view(H, b * m, n) @ at.sites.products
        M += (near @ new).view(M.shape)
        by_A = torch.addcmul(M[..., :d], A, M[..., d : d + 1], value=2.0)
        slope = (by_A / at.stationary.lengthscale.unsqueeze(-2)).sum(0)
        features = new_features = None
        if terms is not None:
            features, new_features = terms.basis.features(flat), terms.basis.features(u)
            form = (side_by_side(B[own]).view(b * N, -1) @ at.features).view(b, N, -1)
            form += side_by_side(V[own]) @ _weighed(new_features, terms)  # b x N x F
            each = features.view(b, N, K, -1)
            value += (each @ form.unsqueeze(-1)).squeeze(-1)
            slope += terms.basis.slopes(each, form.unsqueeze(-2).expand(each.shape)).view(slope.shape)
        ctx.at, ctx.shape = at, a.shape
        ctx.save_for_backward(slope, k_aX, k_ax, near, A, U, features, new_features, V)
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        slope, k_aX, k_ax, near, A, U, features, new_features, V = ctx.saved_tensors
        at, (b, N, K, d) = ctx.at, ctx.shape
        (H, n), m, terms, own, rows = at.alpha.shape, N * K, at.terms, at.own, grad.unsqueeze(-2)
        by_B, by_V = (rows @ k_aX).squeeze(-2), (rows @ k_ax).squeeze(-2)
        by_new = None
        if terms is not None:
            by_form = (rows @ features.view(b, N, K, -1)).squeeze(-2)  # b x N x F
            T = len(terms.variance)
            by_B[own] += by_component(by_form.view(b * N, -1) @ at.features.mT, T).view(T, b, N, n)
            by_V[own] += by_component(by_form @ _weighed(new_features, terms).mT, T)
            by_new = side_by_side(V[own]).mT @ by_form
        by_u = _to_new(at, near * grad.reshape(b, m, 1), A.view(H, b, m, d), U, by_new, new_features)
        return grad.unsqueeze(-1) * slope.view(b, N, K, d), by_u, by_B, by_V, None


def _to_new(
    at: AtPoints, by_r2: Tensor, A: Tensor, U: Tensor, by_weighed: Tensor | None, features: Tensor | None
) -> Tensor:
    """The derivative in inputs u, b x q x d, from those in squared distances and in features.

    In squared distances of points to them, H x b x m x q, and in features as `_weighed` has them, b x Tq x F.
    """
    by_U = (U * by_r2.sum(-2).unsqueeze(-1)).sub_(by_r2.mT @ A).mul_(2.0)
    by_u = (by_U / at.stationary.lengthscale[:, None, None]).sum(0)
    if at.terms is None or by_weighed is None or features is None:
        return by_u
    variance = at.terms.variance
    each = by_weighed.unflatten(-2, (len(variance), -1)) * variance.unsqueeze(-2)
    return by_u + at.terms.basis.slopes(features, each.sum(-3))


def _weighed(features: Tensor, terms: FeatureKernel) -> Tensor:
    """Features times their variances, of all components side by side: b x q x F to b x Tq x F."""
    return (features.unsqueeze(-3) * terms.variance.unsqueeze(-2)).flatten(-3, -2)


def whiten(C: Tensor, L: Tensor, blind: Tensor) -> Tensor:
    """C L^-T, zero for blind outcomes: H x b x m x q."""
    white = C / L if L.shape[-1] == 1 else torch.linalg.solve_triangular(L, C.mT, upper=False).mT
    return torch.where(blind.unsqueeze(-2), 0.0, white)


def _whiten_back(by_white: Tensor, L: Tensor, blind: Tensor) -> Tensor:
    """The derivative in C of what has this one in C L^-T: H x b x m x q."""
    seen = torch.where(blind.unsqueeze(-2), 0.0, by_white)
    return seen / L if L.shape[-1] == 1 else torch.linalg.solve_triangular(L.mT, seen.mT, upper=True).mT


def _squares(root: Tensor) -> Tensor:
    """root root^T: ... x K x p to ... x K x K."""
    return root * root.mT if root.shape[-1] == 1 else root @ root.mT
