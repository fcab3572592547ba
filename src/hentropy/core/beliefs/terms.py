r"""Sums of one-dimensional waves and a trend: covariance functions with finitely many features.

A function of many coordinates is often close to a sum of functions of one, or to a parabola. With inputs x in the unit
cube and u = 2 x - 1, such a part of it is

    t(x) = sum_j sum_k (A_jk cos w_k x_j + B_jk sin w_k x_j) + sum_j b_j u_j + sum_ij c_ij u_i u_j

with independent normal coefficients. A_jk and B_jk have the same variance v_jk, so that the covariance of the waves
depends on differences alone; all b_j have one variance, and so have all c_ij:

    k(x, x') = sum_jk v_jk cos(w_k (x_j - x'_j)) + v_b u.u' + v_c (u.u')^2 = sum_f variance_f phi_f(x) phi_f(x')

The frequencies w_k = pi k have the period 2: nothing comes back within the cube. A posterior mean of these features is
one linear form in them, whatever the number of data, so that a search pays for the features of a point only once for
all components.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hentropy.lazy import AutogradFunction, Tensor, torch

WAVES = 14
"""Frequencies per coordinate: up to seven periods over its range. What is faster is left to the stationary kernel."""

MOST_BENT = 16
"""With more coordinates the trend is linear: the number of products grows with the square."""


class _Features(AutogradFunction):
    """Inputs ... x d to their features ... x F, which are all that is kept for the way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, basis: "Basis") -> Tensor:
        features = basis.features(x)
        ctx.basis = basis
        ctx.save_for_backward(features)
        return features

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (features,) = ctx.saved_tensors
        return ctx.basis.slopes(features, grad), None


@dataclass(frozen=True)
class Basis:
    """The features of inputs with d coordinates, of which `waving` have waves: ... x d to ... x F.

    First the cosines, coordinate by coordinate, then the sines, the d linear features, and the d^2 products.
    """

    d: int
    waving: tuple[int, ...]

    @property
    def bent(self) -> bool:
        """Whether the trend has products of coordinates."""
        return self.d <= MOST_BENT

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many features are waves, linear, and products; their sum is F."""
        return 2 * WAVES * len(self.waving), self.d, self.d**2 if self.bent else 0

    @cached_property
    def _frequencies(self) -> Tensor:
        return math.pi * torch.arange(1, WAVES + 1, dtype=torch.float64)

    def frequencies(self, like: Tensor) -> Tensor:
        """w_k: as many as there are waves."""
        return self._frequencies.to(like)

    def __call__(self, x: Tensor) -> Tensor:
        """Inputs ... x d: ... x F, differentiable in the inputs."""
        features: Tensor = _Features.apply(x, self)
        return features

    def features(self, x: Tensor) -> Tensor:
        """Inputs ... x d: ... x F."""
        own = x if len(self.waving) == self.d else x[..., list(self.waving)]
        angle = (own.unsqueeze(-1) * self.frequencies(x)).flatten(-2)
        u = 2.0 * x - 1.0
        products = [(u.unsqueeze(-1) * u.unsqueeze(-2)).flatten(-2)] if self.bent else []
        return torch.cat([angle.cos(), angle.sin(), u, *products], -1)

    def slopes(self, features: Tensor, by_features: Tensor) -> Tensor:
        """The derivative in the inputs (... x d) of what has this one in their features (... x F)."""
        waves, d, p = self.sizes
        cosine, sine, u, _ = features.split([waves // 2, waves // 2, d, p], -1)
        by_cosine, by_sine, by_u, by_products = by_features.split([waves // 2, waves // 2, d, p], -1)
        if self.bent:
            by_product = by_products.unflatten(-1, (d, d))
            by_u = by_u + ((by_product + by_product.mT) @ u.unsqueeze(-1)).squeeze(-1)
        by_x = 2.0 * by_u
        by_angle = torch.addcmul(by_sine * cosine, by_cosine, sine, value=-1.0)
        by_own = by_angle.unflatten(-1, (len(self.waving), WAVES)) @ self.frequencies(features)
        if len(self.waving) == d:
            return by_x.add_(by_own)
        return by_x.index_add_(-1, torch.tensor(self.waving, dtype=torch.long, device=by_x.device), by_own)

    def variances(self, waves: Tensor, linear: Tensor, products: Tensor) -> Tensor:
        """Of the features, from those of waves (H x (coordinates x frequencies)), b and c (H each): H x F."""
        _, d, p = self.sizes
        H = waves.shape[0]
        return torch.cat([waves, waves, linear.unsqueeze(-1).expand(H, d), products.unsqueeze(-1).expand(H, p)], -1)


@dataclass(frozen=True)
class FeatureKernel:
    """The kernel of a basis whose coefficients have these variances: T x F."""

    basis: Basis
    variance: Tensor

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """k(a, b): T x ... x m x p."""
        return by_component(self.basis(a) @ self.scaled(b).mT, self.variance.shape[0])

    def scaled(self, b: Tensor) -> Tensor:
        """Features times their variances, of all components side by side: ... x p x d to ... x Tp x F.

        One matrix product with these serves all components.
        """
        return (self.basis(b).unsqueeze(-3) * self.variance.unsqueeze(-2)).flatten(-3, -2)

    def diagonal(self, a: Tensor) -> Tensor:
        """k(a_i, a_i): T x ... x m."""
        return (self.basis(a).square() @ self.variance.mT).movedim(-1, 0)

    def some(self, components: list[int]) -> "FeatureKernel":
        """The kernel of some of the components."""
        return FeatureKernel(self.basis, self.variance[components])

    def form(self, centres: Tensor, coefficients: Tensor) -> Tensor:
        """sum_i coefficients_i k(., centres_i) as coefficients of the features.

        Centres b x p x d, coefficients T x b x N x p: T x b x N x F.
        """
        sums = coefficients @ self.basis(centres)  # T x b x N x F
        return sums * self.variance[:, None, None]

    def at(self, a: Tensor, form: Tensor) -> Tensor:
        """Such forms at points b x N x K x d: T x b x N x K."""
        return (self.basis(a) @ form.permute(1, 2, 3, 0)).movedim(-1, 0)


@dataclass(frozen=True)
class LinearForms:
    """Linear forms in the features, b x N x F, which are evaluated with their derivatives by few matrix products."""

    basis: Basis
    coefficients: Tensor

    @cached_property
    def _waves(self) -> Tensor:
        """(cosines, sines) of a point times this are its waves and their derivatives: b x N x 2W x (1 + d)."""
        waves, _, _ = self.basis.sizes
        cosine, sine = self.coefficients[..., :waves].unflatten(-1, (2, len(self.basis.waving), WAVES)).unbind(-3)
        w = self.basis.frequencies(cosine)
        own = torch.eye(self.basis.d, dtype=cosine.dtype, device=cosine.device)[list(self.basis.waving)].unsqueeze(-2)
        by_cosine, by_sine = (w * sine).unsqueeze(-1) * own, (-w * cosine).unsqueeze(-1) * own
        rows = [torch.cat([cosine.unsqueeze(-1), by_cosine], -1), torch.cat([sine.unsqueeze(-1), by_sine], -1)]
        return torch.stack(rows, -4).flatten(-4, -2)

    @cached_property
    def _trend(self) -> tuple[Tensor, Tensor | None]:
        """The linear coefficients, b x N x 1 x d, and c + c^T of the products, b x N x d x d."""
        _, linear, products = self.coefficients.split(self.basis.sizes, -1)
        c = products.unflatten(-1, (self.basis.d, self.basis.d)) if self.basis.bent else None
        return linear.unsqueeze(-2), None if c is None else c + c.mT

    def value_and_slope(self, a: Tensor, sloped: bool) -> tuple[Tensor, Tensor | None]:
        """At points b x N x K x d: b x N x K, and the derivative there where it is wanted."""
        own = a if len(self.basis.waving) == self.basis.d else a[..., list(self.basis.waving)]
        angle = (own.unsqueeze(-1) * self.basis.frequencies(a)).flatten(-2)
        matrix = self._waves if sloped else self._waves[..., :1]
        waves = torch.cat([angle.cos(), angle.sin()], -1) @ matrix
        u, (linear, bend) = 2.0 * a - 1.0, self._trend
        bent = None if bend is None else u @ bend
        by_u = linear if bent is None else torch.add(linear, bent, alpha=0.5)  # u c u is half of u (c + c^T) u
        value = (u * by_u).sum(-1).add_(waves[..., 0])
        if not sloped:
            return value, None
        by_u = linear if bent is None else linear + bent
        return value, torch.add(waves[..., 1:], by_u, alpha=2.0)


def by_component(products: Tensor, components: int) -> Tensor:
    """Products with all components side by side, ... x m x Tp: T x ... x m x p."""
    return products.unflatten(-1, (components, -1)).movedim(-2, 0)


def side_by_side(values: Tensor) -> Tensor:
    """The other way: T x ... x m x p to ... x m x Tp."""
    return values.movedim(0, -2).flatten(-2)
