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


class _Waves(AutogradFunction):
    """Angles to their cosines and their sines; autograd alone would compute each of them again on the way back."""

    @staticmethod
    def forward(ctx: Any, angle: Tensor) -> tuple[Tensor, Tensor]:
        cosine, sine = angle.cos(), angle.sin()
        ctx.save_for_backward(cosine, sine)
        return cosine, sine

    @staticmethod
    def backward(ctx: Any, by_cosine: Tensor, by_sine: Tensor) -> Tensor:
        cosine, sine = ctx.saved_tensors
        return torch.addcmul(by_sine * cosine, by_cosine, sine, value=-1.0)


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
        """Inputs ... x d: ... x F."""
        own = x if len(self.waving) == self.d else x[..., list(self.waving)]
        cosine, sine = _Waves.apply((own.unsqueeze(-1) * self.frequencies(x)).flatten(-2))
        u = 2.0 * x - 1.0
        products = [(u.unsqueeze(-1) * u.unsqueeze(-2)).flatten(-2)] if self.bent else []
        return torch.cat([cosine, sine, u, *products], -1)

    def variances(self, waves: Tensor, linear: Tensor, products: Tensor) -> Tensor:
        """Of the features, from those of waves (H x (coordinates x frequencies)), b and c (H each): H x F."""
        _, d, p = self.sizes
        H = waves.shape[0]
        return torch.cat([waves, waves, linear.unsqueeze(-1).expand(H, d), products.unsqueeze(-1).expand(H, p)], -1)


@dataclass(frozen=True)
class FeatureKernel:
    """The kernel of a basis whose coefficients have these variances: H x F."""

    basis: Basis
    variance: Tensor

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """k(a, b): H x ... x m x p."""
        left, right = self.basis(a), self.basis(b)
        if left.dim() == right.dim() == 2:  # one product for all components
            scaled = (right * self.variance.unsqueeze(1)).flatten(0, 1)  # Hp x F
            return (left @ scaled.mT).unflatten(-1, (self.variance.shape[0], -1)).movedim(-2, 0)
        dims = max(left.dim(), right.dim())
        return (left * self.variance.view(-1, *[1] * (dims - 1), left.shape[-1])) @ right.mT

    def diagonal(self, a: Tensor) -> Tensor:
        """k(a_i, a_i): H x ... x m."""
        return (self.basis(a).square() @ self.variance.mT).movedim(-1, 0)

    def some(self, components: list[int]) -> "FeatureKernel":
        """The kernel of some of the components."""
        return FeatureKernel(self.basis, self.variance[components])

    def form(self, centres: Tensor, coefficients: Tensor) -> Tensor:
        """sum_i coefficients_i k(., centres_i) as coefficients of the features.

        Centres b x p x d, coefficients H x b x N x p: b x N x F x H.
        """
        sums = coefficients @ self.basis(centres)  # H x b x N x F
        return (sums * self.variance[:, None, None]).permute(1, 2, 3, 0)

    def at(self, a: Tensor, form: Tensor) -> Tensor:
        """Such a form at points b x N x K x d: H x b x N x K."""
        return (self.basis(a) @ form).movedim(-1, 0)
