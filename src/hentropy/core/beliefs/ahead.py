r"""Looking ahead with a Gaussian belief: what does not depend on the outcome, and the beliefs after each outcome.

Letters as in `gaussian`; V = S^-1 (y' - mean(x)) is what an outcome does: mean'(a) = mean(a) + C(a) V.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hentropy.core.beliefs.base import Fantasy, LookAhead, Moments, Needs
from hentropy.core.beliefs.expansions import KernelSum
from hentropy.core.beliefs.linalg import white_outcomes
from hentropy.core.beliefs.nodes import Nodes
from hentropy.core.beliefs.quantiles import mixture_outcomes

if TYPE_CHECKING:
    from hentropy.core.beliefs.gaussian import Gaussian

CHUNK = 2**18
"""Numbers in the largest array of a chunk: 2 MiB stay in the cache, and memory is used again instead of fetched."""


@dataclass(frozen=True)
class GaussianLookAhead(LookAhead):
    """Observing at inputs u (b x q x d): W (H x b x n x q), the root L of S (H x b x q x q), mean (H x b x q).

    `blind` (H x b x q) marks outcomes that are known already, from the data or from the outcomes before them in q:
    their coordinate of L^-1 (...) is left out, so that they move nothing.
    """

    belief: "Gaussian"
    u: Tensor
    W: Tensor
    L: Tensor
    blind: Tensor
    mean: Tensor

    def own_kernels(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """k(a, X) and k(a, x) at inputs of each design's own, b x m x d: H x b x m x n and H x b x m x q."""
        X = self.belief.inputs
        sites = torch.cat([X.expand(a.shape[0], *X.shape), self.u], -2)
        both = self.belief.kernel(a, sites)  # one evaluation serves both: the calls around it cost more than q columns
        return both[..., : X.shape[0]], both[..., X.shape[0] :]

    def pool_kernels(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """k(a, X) and C(a) at inputs that all designs share, m x d: H x m x n and H x b x m x q."""
        b, q, d = self.u.shape
        H, n = self.belief.alpha.shape
        both = self.belief.kernel(a, torch.cat([self.belief.inputs, self.u.reshape(b * q, d)]))
        k_aX = both[..., :n]
        C = torch.baddbmm(both[..., n:], k_aX, self.W.transpose(1, 2).reshape(H, n, b * q), alpha=-1)
        return k_aX, C.unflatten(-1, (b, q)).movedim(2, 1)

    def whitened_cross(self, points: Tensor) -> Tensor:
        """C(a) L^-T at points all designs share (m x d), in the user's outcome units: H x b x m x q.

        By so much each standard normal coordinate of the outcome moves the mean: s in the closed forms.
        """
        return self.belief.frame.scale * self.whiten(self.pool_kernels(self.belief.frame.transform(points))[1])

    def whitened_own_cross(self, points: Tensor) -> Tensor:
        """The same at points of each design's own (b x m x d): H x b x m x q."""
        k_aX, k_ax = self.own_kernels(self.belief.frame.transform(points))
        return self.belief.frame.scale * self.whiten(k_ax - k_aX @ self.W)

    def whiten(self, C: Tensor) -> Tensor:
        """C L^-T, zero for blind outcomes: H x b x m x q."""
        white = C / self.L if self.L.shape[-1] == 1 else torch.linalg.solve_triangular(self.L, C.mT, upper=False).mT
        return torch.where(self.blind.unsqueeze(-2), 0.0, white)

    def fantasy(self, nodes: Nodes) -> "GaussianFantasy":
        """The beliefs after the outcomes that the nodes stand for: V = S^-1 (y' - mean) is H x b x N x q."""
        belief = self.belief
        # what is known already has no noise to add: H x b x N x q
        z = torch.where(self.blind.unsqueeze(-2), 0.0, nodes.z)
        if belief.components == 1:
            step = self.L * z if z.shape[-1] == 1 else z @ self.L.mT
            return GaussianFantasy(self, nodes, self._unwhiten(z), belief.weights.view(1, 1, 1), step)
        innovation = self._outcomes(nodes, z[0]) - self.mean.unsqueeze(-2)  # H x b x N x q
        white, log_density = white_outcomes(innovation, self.L, self.blind)
        weights = torch.softmax(belief.weights.log()[:, None, None] + log_density, 0)
        return GaussianFantasy(self, nodes, self._unwhiten(white), weights, innovation)

    def _outcomes(self, nodes: Nodes, z: Tensor) -> Tensor:
        """Outcomes of a mixture: b x N x q, from nodes z (b x N x q; blind outcomes are so for all components).

        One outcome is a number, whichever component it comes from: its nodes are quantiles of the mixture itself. Of
        several, each node is drawn from one component.
        """
        belief = self.belief
        if nodes.quantiles:
            weights, mean, sd = belief.weights[:, None, None], self.mean, self.L.squeeze(-1)
            return mixture_outcomes(z.squeeze(-1), weights, mean, sd).unsqueeze(-1)
        drawn = torch.searchsorted(belief.weights.cumsum(0), nodes.component.contiguous())
        drawn = drawn.clamp_max(belief.components - 1)
        return self.mean[drawn].movedim(0, 1) + torch.einsum("nbqr,bnr->bnq", self.L[drawn], z)  # mean_h + L_h z

    def part(self, designs: slice) -> "GaussianLookAhead":
        """Observing at some of the b designs."""
        tensors = (self.W[:, designs], self.L[:, designs], self.blind[:, designs], self.mean[:, designs])
        return GaussianLookAhead(self.belief, self.u[designs], *tensors)

    def _unwhiten(self, white: Tensor) -> Tensor:
        """L^-T times vectors: H x b x N x q."""
        if self.L.shape[-1] == 1:
            return white / self.L
        return torch.linalg.solve_triangular(self.L.mT, white.mT, upper=True).mT


@dataclass(frozen=True)
class GaussianFantasy(Fantasy):
    """The beliefs after observing: V (H x b x N x q), component weights (H x b x N), y' - mean (H x b x N x q)."""

    look: GaussianLookAhead
    nodes: Nodes
    V: Tensor
    component_weights: Tensor
    innovation: Tensor

    def chunks(self, numbers: int) -> Iterator["GaussianFantasy"]:
        """A few designs at a time, so that an array with so many numbers for each outcome stays in the cache."""
        b, N = self.V.shape[1:3]
        size = max(1, CHUNK // (N * numbers))
        return (self if size >= b else self._part(slice(start, start + size)) for start in range(0, b, size))

    def _part(self, designs: slice) -> "GaussianFantasy":
        """The beliefs after observing at some of the b designs."""
        weights = self.component_weights
        weights = weights if weights.shape[1] == 1 else weights[:, designs]
        step = (self.V[:, designs], weights, self.innovation[:, designs])
        return GaussianFantasy(self.look.part(designs), self.nodes, *step)

    @property
    def weights(self) -> Tensor:  # type: ignore[override]
        """The integration weights of the outcomes: N."""
        return self.nodes.weights

    @property
    def values(self) -> Tensor:
        """The outcomes in the user's units: b x N x q."""
        frame = self.look.belief.frame
        return frame.shift + frame.scale * (self.look.mean[0].unsqueeze(-2) + self.innovation[0])

    def some(self, index: Tensor) -> "GaussianFantasy":
        """The beliefs after some of the outcomes."""
        weights = (
            self.component_weights if self.component_weights.shape[2] == 1 else self.component_weights[:, :, index]
        )
        return GaussianFantasy(
            self.look, self.nodes.some(index), self.V[:, :, index], weights, self.innovation[:, :, index]
        )

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points of each belief's own, b x (N or 1) x ... x K x d: H x b x N x ... x K."""
        belief, look = self.look.belief, self.look
        H, n = belief.alpha.shape
        b, own, *rest, d = points.shape
        a = belief.frame.transform(points)
        if needs is Needs.MEAN and own == self.V.shape[2]:
            return self._means(a)
        k_aX, k_ax = look.own_kernels(a.reshape(b, -1, d))  # H x b x (own ... K) x n
        C = k_ax - k_aX @ look.W
        before = belief._in_user_units(belief._mean(a.reshape(b, -1, d), k_aX)).reshape(H, b, own, -1)
        V = belief.frame.scale * self.V  # scaled here and not later: it is the smaller array
        if needs is Needs.MEAN and H > 1:
            return self._averaged(before.reshape(H, b, -1), V, C, rest)
        if C.shape[-1] == 1:
            mean = _moved(before, V, C.reshape(H, b, own, -1))
        elif own == 1:
            mean = _moved(before, V, C.mT)
        else:
            mean = before + (C.reshape(H, b, own, -1, C.shape[-1]) @ V.unsqueeze(-1)).squeeze(-1)
        mean = mean.reshape(H, b, -1, *rest)
        weights = self.component_weights.reshape(*self.component_weights.shape, *[1] * (len(rest) - 1))
        if needs is Needs.MEAN:
            return Moments(weights, mean)
        root = look.whiten(C).reshape(H, b, own, *rest, -1)
        spread = belief._spread(a, k_aX.reshape(H, b, own, *rest, n), needs)
        return belief._moments(weights, mean, *_shrunk(root, *spread))

    @cached_property
    def _mean_sum(self) -> KernelSum:
        """Prepared once where x is fixed: descent evaluates it many times."""
        return self._new_mean_sum()

    def _new_mean_sum(self) -> KernelSum:
        """The mean after each outcome less the prior mean: kernels at the data and at x, in the user's units."""
        belief, look = self.look.belief, self.look
        b = look.u.shape[0]
        V = self.V if self.V.shape[1] == b else self.V.expand(-1, b, -1, -1)
        at_data = belief.alpha[:, None, None] - V @ look.W.mT
        centres = torch.cat([belief.inputs.expand(b, *belief.inputs.shape), look.u], -2)
        return KernelSum(belief.kernel, centres, belief.frame.scale * torch.cat([at_data, V], -1))

    def _means(self, a: Tensor) -> Moments:
        """Means alone, at inputs of each outcome's own, b x N x ... x K x d: the search's inner loop."""
        belief = self.look.belief
        b, N, *rest, d = a.shape
        # a sum that carries a graph of x serves one evaluation only
        sum_of_kernels = self._new_mean_sum() if self.look.u.requires_grad else self._mean_sum
        sums = sum_of_kernels(a.reshape(b, N, -1, d)).reshape(-1, b, N, *rest)
        weights = self.component_weights.reshape(*self.component_weights.shape, *[1] * (len(rest) - 1))
        return Moments(weights, belief._in_user_units(belief.prior_mean(a)) + sums).averaged()

    def own_means(self) -> Tensor:
        """The average over components of the means at x itself after each outcome: b x N x q."""
        belief, look = self.look.belief, self.look
        eye = torch.eye(look.u.shape[-2], dtype=look.u.dtype, device=look.u.device)
        # S = L L^T with the noise of the outcomes; C(x) is S without it. A known outcome moves nothing: V is zero
        C = look.L @ look.L.mT - belief.future_noise.view(-1, 1, 1, 1) * eye
        each = belief._in_user_units(look.mean).unsqueeze(-2) + belief.frame.scale * (self.V @ C)
        return (self.component_weights.unsqueeze(-1) * each).sum(0)

    def pool_moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points that all beliefs share, P x K x d: H x b x N x P x K."""
        belief, look = self.look.belief, self.look
        P, K, d = points.shape
        H, n = belief.alpha.shape
        a = belief.frame.transform(points)
        k_aX, C = look.pool_kernels(a.reshape(-1, d))  # C is H x b x PK x q
        before = belief._in_user_units(belief._mean(a.reshape(-1, d), k_aX))[:, None, None]
        if needs is Needs.MEAN and H > 1:
            return self._averaged(before[:, 0], belief.frame.scale * self.V, C, [P, K])
        mean = _moved(before, belief.frame.scale * self.V, C.mT).unflatten(-1, (P, K))
        weights = self.component_weights.unsqueeze(-1)
        if needs is Needs.MEAN:
            return Moments(weights, mean)
        root = look.whiten(C).unflatten(-2, (P, K)).unsqueeze(2)
        var, cov = belief._spread(a, k_aX.reshape(H, P, K, n), needs)
        spread = (None if s is None else s[:, None, None] for s in (var, cov))
        return belief._moments(weights, mean, *_shrunk(root, *spread))

    def _averaged(self, before: Tensor, V: Tensor, C: Tensor, shape: list[int]) -> Moments:
        """Means averaged over the components, from those before (H x (b or 1) x m), V and C (H x b x m x q).

        sum_h w_h (before_h + C_h V_h) as two matrix products: no array of H x b x N x m numbers is made.
        """
        w = self.component_weights  # H x b x N
        b = C.shape[1]
        moves = (w.unsqueeze(-1) * V).permute(1, 2, 0, 3).flatten(-2)  # b x N x Hq
        mean = torch.baddbmm(w.permute(1, 2, 0) @ before.transpose(0, 1), moves, C.permute(1, 0, 3, 2).flatten(1, 2))
        return Moments(w.new_ones(1, *[1] * (1 + len(shape))), mean.reshape(1, b, -1, *shape))


def _moved(before: Tensor, V: Tensor, C: Tensor) -> Tensor:
    """before (H x b x (N or 1) x m) + V (H x b x N x q) C (H x b x q x m; with q = 1 also H x b x N x m)."""
    return torch.addcmul(before, V, C) if V.shape[-1] == 1 else before + V @ C


def _shrunk(root: Tensor, var: Tensor | None, cov: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Variances and covariances less what the observation explains; root = C L^-T is H x b x (N or 1) x ... x K x q."""
    if cov is not None:
        cov = cov - root @ root.mT
        return cov.diagonal(dim1=-2, dim2=-1).clamp_min(0.0), cov
    return (None if var is None else (var - root.square().sum(-1)).clamp_min(0.0)), None
