r"""`Gaussian`: an exact Gaussian process, or a weighted set of them that share their data (a mixture).

Conditioning on q new observations at x is done in closed form, without a new model and without solving anything larger
than n x q. With data X, y, prior mean m and kernel k, for each of the H components:

    K = k(X, X) + noise        alpha = K^-1 (y - m(X))        mean(a) = m(a) + k(a, X) alpha
    W = K^-1 k(X, x)           C(a) = k(a, x) - k(a, X) W     S = C(x) + noise = L L^T
    mean'(a) = mean(a) + C(a) S^-1 (y' - mean(x))             cov'(a, b) = cov(a, b) - C(a) S^-1 C(b)^T

An outcome y' is drawn from one component h, y' = mean_h(x) + L_h z, and the weight of each component follows it:
w'_g is proportional to w_g N(y'; mean_g(x), S_g).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from hentropy.core.beliefs.ahead import GaussianLookAhead
from hentropy.core.beliefs.base import FEW, Belief, Moments, Needs
from hentropy.core.beliefs.expansions import KernelSum
from hentropy.core.beliefs.frame import Frame
from hentropy.core.beliefs.kernels import Kernel
from hentropy.core.beliefs.linalg import cholesky, outcome_root, white_outcomes
from hentropy.core.beliefs.paths import draw_paths


@dataclass(frozen=True)
class Gaussian(Belief):
    """H Gaussian processes with weights (H) and common data; H = 1 is an ordinary GP.

    X is n x d in the user's units. In the model's own frame are `prior_mean` (inputs ... x m x d to H x ... x m),
    `inputs`, `residual` (H x n, data minus prior mean), `noise` (H x n, per observation) and `future_noise` (H, of an
    observation to come).
    """

    X: Tensor
    kernel: Kernel
    prior_mean: Callable[[Tensor], Tensor]
    frame: Frame
    inputs: Tensor
    residual: Tensor
    noise: Tensor
    future_noise: Tensor
    weights: Tensor
    chol: Tensor
    root_inverse: Tensor
    alpha: Tensor

    @classmethod
    def from_data(
        cls,
        X: Tensor,
        outcomes: Tensor,
        noise: Tensor,
        future_noise: Tensor,
        kernel: Kernel,
        prior_mean: Callable[[Tensor], Tensor],
        frame: Frame,
        weights: Tensor,
    ) -> "Gaussian":
        """Factorise once. Outcomes (n) and noise variances (H x n, H) are in the model's frame, X in the user's."""
        inputs = frame.transform(X)
        residual = outcomes - prior_mean(inputs)
        chol = cholesky(kernel(inputs, inputs) + torch.diag_embed(noise), "kernel matrix of the data")
        alpha = torch.cholesky_solve(residual.unsqueeze(-1), chol).squeeze(-1)
        root_inverse = torch.linalg.solve_triangular(chol, torch.eye(X.shape[0]).to(X), upper=False)
        weights = weights / weights.sum()
        return cls(
            X, kernel, prior_mean, frame, inputs, residual, noise, future_noise, weights, chol, root_inverse, alpha
        )

    @property
    def components(self) -> int:
        """H."""
        return self.weights.shape[0]

    def component(self, h: int) -> "Gaussian":
        """The Gaussian process of one component alone."""
        return self.some([h])

    def typical(self, count: int = FEW) -> "Gaussian":
        """A mixture of `count` components whose mean and variance come close to those of all."""
        if count >= self.components:
            return self
        if "typical" not in self.found or self.found["typical"].components != count:
            self.found["typical"] = self.some(self._most_typical[:count])
        few: Gaussian = self.found["typical"]
        return few

    @cached_property
    @torch.no_grad()
    def _most_typical(self) -> list[int]:
        """Components, each next one chosen so that the average over the chosen comes closest to that over all.

        They are compared half way between observations: there they differ. Those without weight come last.
        """
        between = 0.5 * (self.X + self.X.roll(1, 0))[-128:]
        moments = self.moments(between, Needs.VARIANCE)
        mean, sd = moments.mean, moments.variance.sqrt()
        seen = torch.cat([mean, sd], -1) / moments.total()[1].mean().sqrt().clamp_min(1e-300)  # H x 2m
        weights = self.weights.unsqueeze(-1)
        aim, left, chosen = (weights * seen).sum(0), list(range(self.components)), []
        total, mass = torch.zeros_like(aim), torch.zeros_like(self.weights[0])
        while left:
            trial = (total + weights[left] * seen[left]) / (mass + weights[left]).clamp_min(1e-300)
            miss = (trial - aim).square().sum(-1)
            best = left.pop(int(torch.where(self.weights[left] > 0, miss, torch.inf).argmin()))
            chosen.append(best)
            total, mass = total + weights[best] * seen[best], mass + self.weights[best]
        return chosen

    def some(self, components: list[int]) -> "Gaussian":
        """The mixture of some of the components."""
        # one alone is a view of the arrays, not a copy
        index = slice(components[0], components[0] + 1) if len(components) == 1 else components
        weights = self.weights[index]
        return replace(
            self,
            kernel=self.kernel.some(components),
            prior_mean=_SomeMeans(self.prior_mean, tuple(components)),
            residual=self.residual[index],
            noise=self.noise[index],
            future_noise=self.future_noise[index],
            weights=weights / weights.sum() if bool(weights.sum() > 0) else torch.ones_like(weights) / len(components),
            chol=self.chol[index],
            root_inverse=self.root_inverse[index],
            alpha=self.alpha[index],
        )

    @property
    def noise_std(self) -> float:  # type: ignore[override]
        """The standard deviation of an observation to come, in the user's units (averaged over components)."""
        return float((self.weights * self.future_noise).sum().sqrt() * self.frame.scale)

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points ... x m x d: H x ... x m."""
        a = self.frame.transform(points)
        if needs is Needs.MEAN:
            weights = self.weights.view(-1, *[1] * (a.dim() - 2))
            sums = self._mean_sum(a.reshape(1, 1, -1, a.shape[-1])).reshape(-1, *a.shape[:-1])
            return Moments(weights, self._in_user_units(self.prior_mean(a)) + sums)
        k_aX = self.kernel(a.reshape(-1, a.shape[-1]), self.inputs).reshape(self.components, *a.shape[:-1], -1)
        weights = self.weights.view(-1, *[1] * (a.dim() - 2))
        return self._moments(weights, self._in_user_units(self._mean(a, k_aX)), *self._spread(a, k_aX, needs))

    @cached_property
    def _mean_sum(self) -> KernelSum:
        """The mean less the prior mean, in the user's units."""
        return KernelSum(self.kernel, self.inputs.unsqueeze(0), (self.frame.scale * self.alpha)[:, None, None])

    def _mean(self, a: Tensor, k_aX: Tensor) -> Tensor:
        alpha = self.alpha.view(self.components, *[1] * (k_aX.dim() - 3), -1, 1)
        return self.prior_mean(a) + (k_aX @ alpha).squeeze(-1)

    def _spread(self, a: Tensor, k_aX: Tensor, needs: Needs) -> tuple[Tensor | None, Tensor | None]:
        """Variances or covariances at inputs a (... x m x d), whichever is needed."""
        if needs is Needs.MEAN:
            return None, None
        H, n = self.alpha.shape
        flat = k_aX.reshape(H, -1, n)
        root = (flat @ self.root_inverse.mT).reshape(k_aX.shape)
        if needs is Needs.VARIANCE:
            return (self.kernel.diagonal(a) - root.square().sum(-1)).clamp_min(0.0), None
        cov = self.kernel(a, a) - root @ root.mT
        return cov.diagonal(dim1=-2, dim2=-1).clamp_min(0.0), cov

    def _in_user_units(self, mean: Tensor) -> Tensor:
        return torch.addcmul(self.frame.shift, self.frame.scale, mean)

    def _moments(self, weights: Tensor, mean: Tensor, var: Tensor | None, cov: Tensor | None) -> Moments:
        """The mean is in the user's units already, variances and covariances are not."""
        square = self.frame.scale.square()
        return Moments(weights, mean, None if var is None else square * var, None if cov is None else square * cov)

    def look_ahead(self, x: Tensor) -> GaussianLookAhead:
        """Prepare to observe at x: b x q x d."""
        b, q, d = x.shape
        H, n = self.alpha.shape
        u = self.frame.transform(x)
        k_xX = self.kernel(u.reshape(b * q, d), self.inputs)
        Q = k_xX @ self.root_inverse.mT  # H x bq x n: what the data explain of the outcomes is Q Q^T
        W = (Q @ self.root_inverse).reshape(H, b, q, n).mT
        k_xX, Q = k_xX.reshape(H, b, q, n), Q.reshape(H, b, q, n)
        prior = self.kernel.diagonal(u)  # H x b x q
        if q == 1:
            S = (prior + self.future_noise.view(H, 1, 1) - Q.square().sum(-1)).unsqueeze(-1)
        else:
            noise = self.future_noise.view(H, 1, 1, 1) * torch.eye(q, dtype=x.dtype, device=x.device)
            S = self.kernel(u, u) - Q @ Q.mT + noise
        L, blind = outcome_root(S, prior, "covariance of the observations to come")
        return GaussianLookAhead(self, u, W, L, blind, self._mean(u, k_xX))

    def condition(self, x: Tensor, y: Tensor) -> "Gaussian":
        """The belief after observing y (m) at x (m x d): a block update of the factor, hyperparameters kept."""
        u = self.frame.transform(x)
        H, m = self.components, x.shape[0]
        value = (y - self.frame.shift) / self.frame.scale
        noise = self.future_noise[:, None].expand(H, m)
        k_xX = self.kernel(u, self.inputs)
        corner = self.root_inverse @ k_xX.mT
        S = self.kernel(u, u) - corner.mT @ corner + torch.diag_embed(noise)
        lower, blind = outcome_root(S, self.kernel.diagonal(u), "covariance of the new observations")
        above = corner.new_zeros(H, self.inputs.shape[0], m)
        chol = torch.cat([torch.cat([self.chol, above], -1), torch.cat([corner.mT, lower], -1)], -2)
        residual = torch.cat([self.residual, value - self.prior_mean(u)], -1)
        innovation = (value - self._mean(u, k_xX)).unsqueeze(-2)
        _, log_density = white_outcomes(innovation, lower, blind)
        return replace(
            self,
            X=torch.cat([self.X, x]),
            inputs=torch.cat([self.inputs, u]),
            residual=residual,
            noise=torch.cat([self.noise, noise], -1),
            weights=torch.softmax(self.weights.log() + log_density.squeeze(-1), 0),
            chol=chol,
            root_inverse=_extended_inverse(self.root_inverse, corner, lower),
            alpha=torch.cholesky_solve(residual.unsqueeze(-1), chol).squeeze(-1),
        )

    def paths(self, count: int, seed: int) -> Callable[[Tensor], Tensor]:
        """Functions drawn from the belief by pathwise conditioning: points ... x m x d to count x ... x m."""
        paths = draw_paths(
            self.kernel, self.prior_mean, self.inputs, self.residual, self.noise, self.chol, self.weights, count, seed
        )
        frame = self.frame
        return lambda points: frame.shift + frame.scale * paths(frame.transform(points))


@dataclass(frozen=True)
class _SomeMeans:
    """The prior mean of some of the components."""

    mean: Callable[[Tensor], Tensor]
    components: tuple[int, ...]

    def __call__(self, a: Tensor) -> Tensor:
        """Inputs ... x m x d: H x ... x m."""
        return self.mean(a)[list(self.components)]


def _extended_inverse(inverse: Tensor, corner: Tensor, lower: Tensor) -> Tensor:
    """The inverse of the root (L, 0; corner^T, lower) from that of L: H x (n + m) x (n + m)."""
    small = torch.linalg.solve_triangular(lower, torch.eye(lower.shape[-1]).to(lower), upper=False)
    above = inverse.new_zeros(*corner.shape)
    return torch.cat([torch.cat([inverse, above], -1), torch.cat([-small @ corner.mT @ inverse, small], -1)], -2)
