r"""`Gaussian`: an exact Gaussian process, or a weighted set of them with common data (a mixture); and looking ahead.

Conditioning on q new observations at x is done in closed form, without a new model and without solving anything larger
than n x q. With data X, y, prior mean m and kernel k, for each of the H components:

    K = k(X, X) + noise        alpha = K^-1 (y - m(X))        mean(a) = m(a) + k(a, X) alpha
    W = K^-1 k(X, x)           C(a) = k(a, x) - k(a, X) W     S = C(x) + noise = L L^T
    mean'(a) = mean(a) + C(a) S^-1 (y' - mean(x))             cov'(a, b) = cov(a, b) - C(a) S^-1 C(b)^T

What an outcome does is V = S^-1 (y' - mean(x)): mean'(a) = mean(a) + C(a) V.

An outcome y' is drawn from one component h, y' = mean_h(x) + L_h z, and the weight of each component follows it:
w'_g is proportional to w_g N(y'; mean_g(x), S_g).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from hentropy.core.beliefs.base import Fantasy, LookAhead, Mixture, Moments, Needs
from hentropy.core.beliefs.kernels import (
    Composed,
    Kernel,
    KernelSum,
    SomeMeans,
    Stationary,
    ToSites,
    times,
    whiten,
)
from hentropy.core.beliefs.linalg import (
    extended_inverse,
    jittered_cholesky,
    less_explained,
    outcome_root,
    white_outcomes,
)
from hentropy.core.beliefs.nodes import Nodes, bayes, outcomes_in_turn
from hentropy.core.beliefs.paths import draw_paths
from hentropy.core.beliefs.tails import GROSS_ERROR_WEIGHT
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class Frame:
    """How a model sees designs and outcomes: inputs = transform(x), outcome = shift + scale x model value."""

    transform: Callable[[Tensor], Tensor]
    shift: Tensor
    scale: Tensor


CACHED_NUMBERS = 2**18
"""Numbers in the largest array of a chunk: 2 MiB stay in the cache, and memory is used again instead of fetched."""

GPU_NUMBERS = 2**26
"""The same on another device, which needs large arrays to be busy."""


@dataclass(frozen=True)
class GaussianLookAhead(LookAhead):
    """Observing at inputs u (b x q x d): W (H x b x n x q), mean (H x b x q), C = C(x) and the root L of S = C + noise
    (H x b x q x q each).

    `blind` (H x b x q) marks outcomes that are known already, from the data or from the outcomes before them in q:
    their coordinate of L^-1 (...) is left out, so that they move nothing.
    """

    belief: "Gaussian"
    u: Tensor
    W: Tensor
    C: Tensor
    L: Tensor
    blind: Tensor
    mean: Tensor

    def own_kernels(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """k(a, X) and k(a, x) at inputs of each design's own, b x m x d: H x b x m x n and H x b x m x q."""
        X, kernel = self.belief.inputs, self.belief.kernel
        if isinstance(kernel, Composed):  # features of the data are computed once for all designs, those of a for both
            features, data = kernel.terms.basis(a), self.belief.to_data.sites
            k_aX = kernel.at_sites(a.flatten(0, 1), data, features.flatten(0, 1)).unflatten(1, a.shape[:2])
            return k_aX, kernel.at_sites(a, kernel.sites(self.u, 3), features)
        sites = torch.cat([X.expand(a.shape[0], *X.shape), self.u], -2)
        both = kernel(a, sites)  # one evaluation serves both: the calls around it cost more than q columns
        return both[..., : X.shape[0]], both[..., X.shape[0] :]

    def at_own(self, a: Tensor, needs: Needs) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """At inputs of each design's own, b x ... x K x d: means now without the prior mean, C(a), and the spread then.

        Means are H x b x m with m for ... K, C is H x b x m x q; variances H x b x ... x K, covariances x K, as needed.
        """
        belief, (b, *rest, d) = self.belief, a.shape
        H, n = belief.alpha.shape
        k_aX, k_ax = self.own_kernels(a.reshape(b, -1, d))  # H x b x m x n
        C = k_ax - k_aX @ self.W
        mean = (k_aX @ belief.alpha.view(H, 1, n, 1)).squeeze(-1)
        if needs is Needs.MEAN:
            return mean, C, None, None
        root = self.whiten(C).reshape(H, b, *rest, C.shape[-1])
        return mean, C, *less_explained(root, *belief._spread(a, k_aX.reshape(H, b, *rest, n), needs))

    def shared_kernels(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """k(a, X) and C(a) at inputs that all designs share, m x d: H x m x n and H x b x m x q."""
        b, q, d = self.u.shape
        H, n = self.belief.alpha.shape
        kernel, u = self.belief.kernel, self.u.reshape(b * q, d)
        if isinstance(kernel, Composed):
            features = kernel.terms.basis(a)
            k_aX, k_au = (kernel.at_sites(a, to, features) for to in (self.belief.to_data.sites, kernel.sites(u, 2)))
        else:
            both = kernel(a, torch.cat([self.belief.inputs, u]))
            k_aX, k_au = both[..., :n], both[..., n:]
        C = torch.baddbmm(k_au, k_aX, self.W.transpose(1, 2).reshape(H, n, b * q), alpha=-1)
        return k_aX, C.unflatten(-1, (b, q)).movedim(2, 1)

    def whitened_cross(self, points: Tensor) -> Tensor:
        """C(a) L^-T at points all designs share (m x d), in the user's outcome units: H x b x m x q.

        By so much each standard normal coordinate of the outcome moves the mean: s in the closed forms.
        """
        return self.belief.frame.scale * self.whiten(self.shared_kernels(self.belief.frame.transform(points))[1])

    def whitened_own_cross(self, points: Tensor) -> Tensor:
        """The same at points of each design's own (b x m x d): H x b x m x q."""
        k_aX, k_ax = self.own_kernels(self.belief.frame.transform(points))
        return self.belief.frame.scale * self.whiten(k_ax - k_aX @ self.W)

    def whiten(self, C: Tensor) -> Tensor:
        """C L^-T, zero for blind outcomes: H x b x m x q."""
        return whiten(C, self.L, self.blind)

    def fantasy(self, nodes: Nodes) -> "GaussianFantasy":
        """The beliefs after the outcomes that the nodes stand for."""
        weights = self.belief.weights[:, None, None]
        white, innovation, log_density = self.drawn(nodes, weights)
        return self.after(nodes, white, innovation, bayes(weights, log_density))

    def drawn(self, nodes: Nodes, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The outcomes that the nodes stand for: L^-1 (y' - mean) and y' - mean, H x b x N x q; log density H x b x N.

        Quantiles are those of the mixture with these weights (H x b x N). Densities lack a factor that all share.
        """
        # what is known already has no noise to add: H x b x N x q
        z = torch.where(self.blind.unsqueeze(-2), 0.0, nodes.z)
        if self.belief.components == 1:
            step = self.L * z if z.shape[-1] == 1 else z @ self.L.mT
            return z, step, z.new_zeros(1, 1, 1)
        innovation = self._outcomes(nodes, z[0], weights) - self.mean.unsqueeze(-2)
        white, log_density = white_outcomes(innovation, self.L, self.blind)
        return white, innovation, log_density

    def after(self, nodes: Nodes, white: Tensor, innovation: Tensor, weights: Tensor) -> "GaussianFantasy":
        """The beliefs after outcomes that were drawn, components weighted so (H x b x N): V = S^-1 (y' - mean)."""
        return GaussianFantasy(self, nodes, self._unwhiten(white), weights, innovation)

    def _outcomes(self, nodes: Nodes, z: Tensor, weights: Tensor) -> Tensor:
        """Outcomes of a mixture: b x N x q, from nodes z (b x N x q; blind outcomes are so for all components).

        One outcome is a number, whichever component it comes from: its nodes are quantiles of the mixture itself, and
        of several outcomes of one design those of the mixture as the ones before have weighted it. Of several designs,
        each node is drawn from one component.
        """
        belief = self.belief
        if nodes.quantiles:
            return outcomes_in_turn(z, weights, self.mean, self.L, self.blind)
        drawn = torch.searchsorted(belief.weights.cumsum(0), nodes.component.contiguous())
        drawn = drawn.clamp_max(belief.components - 1)
        return self.mean[drawn].movedim(0, 1) + torch.einsum("nbqr,bnr->bnq", self.L[drawn], z)  # mean_h + L_h z

    def part(self, designs: slice) -> "GaussianLookAhead":
        """Observing at some of the b designs."""
        tensors = (self.W, self.C, self.L, self.blind, self.mean)
        return GaussianLookAhead(self.belief, self.u[designs], *(of[:, designs] for of in tensors))

    def some(self, belief: "Gaussian", components: slice | list[int]) -> "GaussianLookAhead":
        """Observing under some of the components, which make up this belief."""
        tensors = (self.W, self.C, self.L, self.blind, self.mean)
        return GaussianLookAhead(belief, self.u, *(of[components] for of in tensors))

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
        """A few designs at a time, so that an array with this many numbers for each outcome stays in the cache."""
        b, N = self.V.shape[1:3]
        room = CACHED_NUMBERS if self.V.device.type == "cpu" else GPU_NUMBERS
        size = max(1, room // (N * numbers))
        if size >= b:
            return iter([self])
        return (self._part(slice(start, start + size)) for start in range(0, b, size))

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

    def with_average(self) -> "GaussianFantasy":
        """With V and weights of the components for which w_h (mean_h + C_h V_h) is the average over the outcomes."""
        nodes, b = self.nodes, self.V.shape[1]
        each = self.component_weights.expand(*self.V.shape[:-1]) * nodes.weights  # H x b x N
        share = each.sum(-1, keepdim=True)
        V = (each.unsqueeze(-2) @ self.V) / share.clamp_min(1e-300).unsqueeze(-1)
        weights = torch.cat([self.component_weights.expand(-1, b, nodes.count), share], -1)
        more = replace(
            nodes,
            z=torch.cat([nodes.z, nodes.z[:1]]),
            weights=torch.cat([nodes.weights, nodes.weights.new_zeros(1)]),
            component=torch.cat([nodes.component, nodes.component[:1]]),
        )
        innovation = torch.cat([self.innovation, self.innovation[..., :1, :]], -2)
        return GaussianFantasy(self.look, more, torch.cat([self.V, V], -2), weights, innovation)

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points of each belief's own, b x (N or 1) x ... x K x d: H x b x N x ... x K."""
        belief, look, H = self.look.belief, self.look, self.look.belief.components
        a = belief.frame.transform(points)
        b, own, *rest, _ = a.shape
        if needs is Needs.MEAN and own == self.V.shape[2]:
            return self._means(a)
        mean, C, var, cov = look.at_own(a, needs)  # at H x b x (own ... K)
        before = belief._in_user_units(belief.prior_mean(a).reshape(H, b, -1) + mean).reshape(H, b, own, -1)
        V = belief.frame.scale * self.V  # scaled here and not later: it is the smaller array
        if needs is Needs.MEAN and H > 1:
            return self._averaged(before.reshape(H, b, -1), V, C, rest)
        if C.shape[-1] == 1:
            mean = _moved(before, V, C.reshape(H, b, own, -1))
        elif own == 1:
            mean = _moved(before, V, C.mT)
        else:
            mean = before + (C.reshape(H, b, own, before.shape[-1], C.shape[-1]) @ V.unsqueeze(-1)).squeeze(-1)
        mean = mean.reshape(H, b, -1, *rest)
        weights = self.component_weights.reshape(*self.component_weights.shape, *[1] * (len(rest) - 1))
        if needs is Needs.MEAN:
            return Moments(weights, mean)
        return belief._moments(weights, mean, var, cov)

    @cached_property
    def _mean_sum(self) -> KernelSum:
        """Prepared once where x is fixed: descent evaluates it many times."""
        return self._new_mean_sum()

    def _new_mean_sum(self) -> KernelSum:
        """The mean after each outcome minus the prior mean, times the weights of components, in the user's units.

        Kernels at the data and at x.
        """
        belief, look = self.look.belief, self.look
        b = look.u.shape[0]
        V = self.V if self.V.shape[1] == b else self.V.expand(-1, b, -1, -1)
        share = belief.frame.scale * self.component_weights.unsqueeze(-1)
        at_data, at_new = share * (belief.alpha[:, None, None] - V @ look.W.mT), share * V
        centres = torch.cat([belief.inputs.expand(b, *belief.inputs.shape), look.u], -2)
        return KernelSum(belief.kernel, centres, torch.cat([at_data, at_new], -1))

    def _means(self, a: Tensor) -> Moments:
        """Means alone, at inputs of each outcome's own, b x N x ... x K x d: the search's inner loop."""
        belief = self.look.belief
        b, N, *rest, d = a.shape
        points = a.reshape(b, N, -1, d)
        if not self.look.u.requires_grad:
            moved = self._mean_sum.over_components(points)
        else:  # a sum that carries a graph of x serves one evaluation only
            moved = self._new_mean_sum().over_components(points)
        moved = moved.reshape(b, N, *rest)
        weights = self.component_weights.reshape(*self.component_weights.shape, *[1] * (len(rest) - 1))
        before = Moments(weights, belief._in_user_units(belief.prior_mean(a))).averaged()
        return replace(before, mean=before.mean + moved)

    def own_means(self, x: Tensor) -> Tensor:
        """As the base says, without kernels at x once more: b x N x q."""
        return (self.component_weights.unsqueeze(-1) * self.means_at_x()).sum(0)

    def means_at_x(self) -> Tensor:
        """The means of each component at x itself after each outcome: H x b x N x q."""
        belief, look = self.look.belief, self.look
        return belief._in_user_units(look.mean).unsqueeze(-2) + belief.frame.scale * (self.V @ look.C)

    def shared_moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points that all beliefs share, P x K x d: H x b x N x P x K."""
        belief, look = self.look.belief, self.look
        H, n = belief.alpha.shape
        a = belief.frame.transform(points)
        P, K, d = a.shape
        k_aX, C = look.shared_kernels(a.reshape(-1, d))  # C is H x b x PK x q
        before, V = (
            belief._in_user_units(belief._mean(a.reshape(-1, d), k_aX))[:, None, None],
            belief.frame.scale * self.V,
        )
        if needs is Needs.MEAN and H > 1:
            return self._averaged(before[:, 0], V, C, [P, K])
        mean, weights = _moved(before, V, C.mT).unflatten(-1, (P, K)), self.component_weights.unsqueeze(-1)
        if needs is Needs.MEAN:
            return Moments(weights, mean)
        now = (None if s is None else s[:, None, None] for s in belief._spread(a, k_aX.reshape(H, P, K, n), needs))
        return belief._moments(weights, mean, *less_explained(look.whiten(C).unflatten(-2, (P, K)).unsqueeze(2), *now))

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


@dataclass(frozen=True)
class Summary:
    """What only a belief with inducing points has (see `inducing`).

    `part` is the belief given the observations at these points alone, to which the hyperparameters were fitted; `white`
    (H x M x M) is the root of R N R^T, with N the covariance of the noise of what stands for the observations.
    """

    part: "Gaussian"
    white: Tensor

    def some(self, components: list[int]) -> "Summary":
        """That of some of the components."""
        return Summary(self.part.some(components), self.white[components])

    def extended(self, corner: Tensor, C: Tensor, noise: Tensor) -> "Summary":
        """With m further observations whose noise (H x m) is their own, and R extended to (R, 0; -C corner^T R, C)."""
        below = torch.cat([-C @ corner.mT @ self.white, C * noise.sqrt().unsqueeze(-2)], -1)
        above = torch.cat([self.white, torch.zeros_like(corner)], -1)
        return Summary(self.part, torch.cat([above, below], -2))


NO_NOISE = 1e-8
"""A component with a smaller noise variance, as a share of that of the outcomes, expects none."""

UNSURE = 0.1
"""Whether there is noise is open while neither is less probable than this."""

DOUBT = 100.0
"""The variance of gross errors, in units of that of the other outcomes: observations that are held for one have it."""

PROBABLY = 0.5
"""Observations that are more probably gross errors than not are named."""


@dataclass(frozen=True, repr=False)
class Gaussian(Mixture):
    """H Gaussian processes with weights (H) and the same data; H = 1 is an ordinary GP.

    X is n x d in the user's units. In the model's own frame are `prior_mean` (inputs ... x m x d to H x ... x m),
    `inputs`, `residual` (H x n, data minus prior mean), `noise` (H x n, per observation) and `future_noise` (H, for a
    future observation; H x o where the last coordinate of an input is the index of one of o outcomes). `tails` (H x n)
    are the weights of observations with heavy tails, by which their noise has been divided.

    `root_inverse` is R with R^T R = K^-1 (H x n x n). With a `summary` the M `inputs` are inducing points
    for the n observations, and R and alpha refer to them.
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
    root_inverse: Tensor
    alpha: Tensor
    outcomes: tuple[str, ...] = ("value",)
    logs: frozenset[str] = frozenset()
    stacked: bool = False  # the weights come from observations left out, not from the likelihood of all of them
    summary: Summary | None = None
    tails: Tensor | None = None
    jitter: float = 0.0  # the largest variance that was added to a kernel matrix to make it positive definite

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
        """Factorise once. X is in the user's units; outcomes (n or H x n) and noise variances (H x n, H) are not."""
        inputs = frame.transform(X)
        residual = outcomes - prior_mean(inputs)
        matrix = kernel(inputs, inputs) + torch.diag_embed(noise)
        chol, jitter = jittered_cholesky(matrix, "kernel matrix of the data")
        alpha = torch.cholesky_solve(residual.unsqueeze(-1), chol).squeeze(-1)
        root_inverse = torch.linalg.solve_triangular(chol, torch.eye(X.shape[0]).to(X), upper=False)
        weights = weights / weights.sum()
        noise = noise + jitter.unsqueeze(-1)
        belief = cls(X, kernel, prior_mean, frame, inputs, residual, noise, future_noise, weights, root_inverse, alpha)
        return replace(belief, jitter=float(jitter.max()))

    @property
    def process(self) -> "Gaussian":
        """Itself."""
        return self

    @property
    def single_gp(self) -> "Gaussian | None":
        """Itself, if it has one component."""
        return self if self.components == 1 else None

    @property
    def bent(self) -> Tensor:
        """Which components are about transformed outcomes (H): none."""
        return torch.zeros_like(self.weights, dtype=torch.bool)

    @property
    def sites(self) -> int:
        """n, or M with a summary."""
        return self.inputs.shape[0]

    def some(self, components: list[int]) -> "Gaussian":
        """The mixture of some of the components."""
        # one alone is a view of the arrays, not a copy
        index = slice(components[0], components[0] + 1) if len(components) == 1 else components
        weights = self.weights[index]
        return replace(
            self,
            kernel=self.kernel.some(components),
            prior_mean=SomeMeans(self.prior_mean, tuple(components)),
            residual=self.residual[index],
            noise=self.noise[index],
            future_noise=self.future_noise[index],
            weights=weights / weights.sum() if bool(weights.sum() > 0) else torch.ones_like(weights) / len(components),
            root_inverse=self.root_inverse[index],
            alpha=self.alpha[index],
            summary=None if self.summary is None else self.summary.some(components),
            tails=None if self.tails is None else self.tails[index],
        )

    def weighted(self, weights: Tensor) -> "Gaussian":
        """With other weights of the components."""
        return replace(self, weights=weights)

    def exact(self) -> "Gaussian":
        """The same belief with noiseless future observations."""
        return replace(self, future_noise=torch.zeros_like(self.future_noise))

    def rescaled(self, shift: float, scale: float) -> "Gaussian":
        """The belief about shift + scale f, whatever the outcome."""
        frame = self.frame
        return replace(self, frame=replace(frame, shift=scale * frame.shift + shift, scale=scale * frame.scale))

    def widened(self, factor: float, noise: bool = True) -> "Gaussian":
        """With standard deviations `factor` times as great, those of the noise as well: means stay.

        K becomes factor^2 K, so R is divided by the factor and alpha by its square: nothing is factorised. Without
        `noise`, which is known then, the prior alone is wider, and means move towards the observations; with inducing
        points they stay, and only the noise of observations to come is what it was. A belief with another kernel than
        ours remains unchanged.
        """
        square = factor**2
        kernel = times(self.kernel, square)
        if kernel is None or factor == 1.0:
            return self
        if not noise and self.summary is None:
            matrix = kernel(self.inputs, self.inputs) + torch.diag_embed(self.noise)
            chol, jitter = jittered_cholesky(matrix, "kernel matrix of the data")
            root = torch.linalg.solve_triangular(chol, torch.eye(self.sites).to(self.inputs), upper=False)
            alpha = torch.cholesky_solve(self.residual.unsqueeze(-1), chol).squeeze(-1)
            added = (self.noise + jitter.unsqueeze(-1), self.jitter + float(jitter.max()))
            return replace(self, kernel=kernel, root_inverse=root, alpha=alpha, noise=added[0], jitter=added[1])
        return replace(
            self,
            kernel=kernel,
            noise=square * self.noise,
            future_noise=square * self.future_noise if noise else self.future_noise,
            root_inverse=self.root_inverse / factor,
            alpha=self.alpha / square,
            jitter=square * self.jitter,
            # R N R^T stays
            summary=None if self.summary is None else replace(self.summary, part=self.summary.part.widened(factor)),
        )

    @property
    def doubted(self) -> Tensor:
        """How probably each observation is a gross error, by the weights of the components that doubt it: n."""
        if self.tails is not None:
            return self.weights @ (self.tails < GROSS_ERROR_WEIGHT).to(self.weights)
        if not self.stacked:
            return torch.zeros_like(self.residual[0])
        beside = self.noise - self.future_noise.unsqueeze(-1)
        doubt = beside - beside.min(0).values  # what all components have was given
        return self.weights @ (doubt > 0.5 * DOUBT).to(self.weights)

    @property
    def kinds(self) -> list[str]:
        """The kernel of each component: H."""
        if isinstance(self.kernel, Stationary | Composed):
            return self.kernel.kinds
        return [type(self.kernel).__name__] * self.components

    @property
    def notes(self) -> tuple[str, ...]:
        """Which observations are doubted, where rounding limits what is known, and whether there is noise."""
        found = []
        chances = enumerate(self.doubted.tolist())
        wrong = [f"{row} ({100.0 * chance:.0f} % probable)" for row, chance in chances if chance > PROBABLY]
        if wrong:
            sure = "state their standard errors or the noise" if self.tails is None else "leave tails out"
            found.append(
                f"held for gross errors, because their neighbours contradict them: rows {', '.join(wrong)} of the data,"
                f" counted from 0; they count for little. If you are sure of them, {sure}"
            )
        if self.jitter > 0.0:
            size = self.jitter**0.5 * float(self.frame.scale)
            found.append(f"designs lie so close that numbers cannot hold it: outcomes count as known to {size:.1g}")
        if self.uncertain_noise is not None:
            size, share = self.uncertain_noise
            found.append(
                f"the data do not tell whether outcomes are noisy (by about {size:.2g}, {100.0 * share:.0f} % probable)"
                " or vary over short distances: running a good design again would tell, or state the noise"
            )
        return tuple(found)

    @property
    def uncertain_noise(self) -> tuple[float, float] | None:  # type: ignore[override]
        """The noise, a standard deviation, and how probable it is, while the data do not tell it from roughness."""
        quiet = self.future_noise < NO_NOISE
        share = float(self.weights[~quiet].sum()) if self.stacked and self.future_noise.dim() == 1 else 0.0
        if not bool(quiet.any()) or not UNSURE < share < 1.0 - UNSURE:
            return None
        usual = self.weights[~quiet] @ self.future_noise[~quiet] / share
        return float(usual.sqrt() * self.frame.scale), share

    @property
    def observed(self) -> Tensor:  # type: ignore[override]
        """The values it was fitted to, in the user's units: n."""
        prior = self.prior_mean(self.frame.transform(self.X))
        return self.frame.shift + self.frame.scale * (self.residual + prior)[0]

    @property
    def noise_std(self) -> float:  # type: ignore[override]
        """The noise standard deviation of a future observation, in the user's units (averaged over components)."""
        return float((self.weights @ self.noise_variance).sqrt())

    @property
    def _noise_variance(self) -> Tensor:
        return self.noise_variance.unsqueeze(-1)

    @property
    def noise_variance(self) -> Tensor:
        """The noise variance of a future observation in each component, in the user's units: H."""
        return self.frame.scale.square() * self.future_noise

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points ... x m x d: H x ... x m."""
        a = self.frame.transform(points)
        if needs is Needs.MEAN:
            weights = self.weights.view(-1, *[1] * (a.dim() - 2))
            sums = self._mean_sum(a.reshape(1, 1, -1, a.shape[-1])).reshape(-1, *a.shape[:-1])
            return Moments(weights, self._in_user_units(self.prior_mean(a)) + sums)
        weights = self.weights.view(-1, *[1] * (a.dim() - 2))
        k_aX = self.to_data(a.reshape(-1, a.shape[-1])).reshape(self.components, *a.shape[:-1], -1)
        return self._moments(weights, self._in_user_units(self._mean(a, k_aX)), *self._spread(a, k_aX, needs))

    def means(self, points: Tensor) -> Moments:
        """At points ... x m x d, averaged over the components: 1 x ... x m."""
        a = self.frame.transform(points)
        weights = self.weights.view(-1, *[1] * (a.dim() - 2))
        prior = Moments(weights, self._in_user_units(self.prior_mean(a))).averaged()
        moved = self._average_sum.over_components(a.reshape(1, 1, -1, a.shape[-1])).reshape(a.shape[:-1])
        return replace(prior, mean=prior.mean + moved)

    @cached_property
    def to_data(self) -> ToSites:
        """k(., X): inputs m x d to H x m x n."""
        return ToSites(self.kernel, self.inputs)

    @cached_property
    def _mean_sum(self) -> KernelSum:
        """The mean minus the prior mean, in the user's units."""
        return KernelSum(self.kernel, self.inputs.unsqueeze(0), (self.frame.scale * self.alpha)[:, None, None])

    @cached_property
    def _average_sum(self) -> KernelSum:
        """The same times the weights of the components."""
        share = self.frame.scale * self.weights.unsqueeze(-1) * self.alpha
        return KernelSum(self.kernel, self.inputs.unsqueeze(0), share[:, None, None])

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
            return less_explained(root, self.kernel.diagonal(a), None)
        return less_explained(root, None, self.kernel(a, a))

    def covariances(self, points: Tensor, others: Tensor) -> Tensor:
        """Of f at points (m x d) with f at others (p x d): H x m x p."""
        a, b = self.frame.transform(points), self.frame.transform(others)
        root, other = (self.to_data(u) @ self.root_inverse.mT for u in (a, b))
        return self.frame.scale.square() * torch.baddbmm(self.kernel(a, b), root, other.mT, alpha=-1)

    def _in_user_units(self, mean: Tensor) -> Tensor:
        return torch.addcmul(self.frame.shift, self.frame.scale, mean)

    def _moments(self, weights: Tensor, mean: Tensor, var: Tensor | None, cov: Tensor | None) -> Moments:
        """The mean is in the user's units already, variances and covariances are not."""
        square = self.frame.scale.square()
        return Moments(weights, mean, None if var is None else square * var, None if cov is None else square * cov)

    def look_ahead(self, x: Tensor) -> GaussianLookAhead:
        """Prepare to observe at x: b x q x d."""
        b, q, _ = x.shape
        H, n = self.alpha.shape
        u = self.frame.transform(x)
        k_xX = self.to_data(u.flatten(0, 1))
        Q = k_xX @ self.root_inverse.mT  # H x bq x n: what the data explain of the outcomes is Q Q^T
        W = (Q @ self.root_inverse).reshape(H, b, q, n).mT
        k_xX, Q = k_xX.reshape(H, b, q, n), Q.reshape(H, b, q, n)
        prior = self.kernel.diagonal(u)  # H x b x q
        C = (prior - Q.square().sum(-1)).unsqueeze(-1) if q == 1 else self.kernel(u, u) - Q @ Q.mT
        S = C + torch.diag_embed(self._noise_of(x))
        L, blind = outcome_root(S, prior, "covariance of the observations to come")
        return GaussianLookAhead(self, u, W, C, L, blind, self._mean(u, k_xX))

    def _noise_of(self, x: Tensor) -> Tensor:
        """The variances, in the model's frame, of the noise of observations at designs ... x m x d: H x ... x m."""
        if self.future_noise.dim() == 2:
            return self.future_noise[:, x[..., -1].long()]
        return self.future_noise.view(-1, *[1] * (x.dim() - 1)).expand(-1, *x.shape[:-1])

    def condition(self, x: Tensor, y: Tensor) -> "Gaussian":
        """The belief after observing y (m) at x (m x d), with the same hyperparameters."""
        after, log_density = self.extended(x, y)
        return after.weighted(bayes(self.weights, log_density))

    def extended(self, x: Tensor, y: Tensor, noise: Tensor | None = None) -> tuple["Gaussian", Tensor]:
        """With y (m, or H x m) at x (m x d) added to the data, weights unchanged: a block update of the factor.

        And the log density of these outcomes in each component: H. `noise` (H x m) are variances in the
        model's frame; by default, those of future observations.
        """
        u = self.frame.transform(x)
        H, n, m = self.components, self.inputs.shape[0], x.shape[0]
        value = (y - self.frame.shift) / self.frame.scale
        noise = self._noise_of(x) if noise is None else noise
        k_xX = self.to_data(u)
        corner = self.root_inverse @ k_xX.mT
        S = self.kernel(u, u) - corner.mT @ corner + torch.diag_embed(noise)
        lower, blind = outcome_root(S, self.kernel.diagonal(u), "covariance of the new observations")
        innovation = (value - self._mean(u, k_xX)).unsqueeze(-2)
        _, log_density = white_outcomes(innovation, lower, blind)
        root = extended_inverse(self.root_inverse, corner, lower)
        # R' (r', y - m(x)) is R r with L^-1 (y - mean(x)) below it, and R^T of that is what adds to alpha
        step = root[:, n:].mT @ torch.linalg.solve_triangular(lower, innovation.mT, upper=False)
        alpha = torch.cat([self.alpha, self.alpha.new_zeros(H, m)], -1) + step.squeeze(-1)
        after = replace(
            self,
            X=torch.cat([self.X, x]),
            inputs=torch.cat([self.inputs, u]),
            residual=torch.cat([self.residual, value - self.prior_mean(u)], -1),
            noise=torch.cat([self.noise, noise], -1),
            tails=None if self.tails is None else torch.cat([self.tails, torch.ones_like(noise)], -1),
            root_inverse=root,
            alpha=alpha,
            summary=None if self.summary is None else self.summary.extended(corner, root[:, n:, n:], noise),
        )
        return after, log_density.squeeze(-1)

    @property
    def white_noise(self) -> Tensor:
        """A root of R N R^T, with N the covariance of the noise: H x n x n."""
        if self.summary is not None:
            return self.summary.white
        return self.root_inverse * self.noise.sqrt().unsqueeze(-2)

    def paths(self, count: int, seed: int) -> Callable[[Tensor], Tensor]:
        """Functions drawn from the belief by pathwise conditioning: points ... x m x d to count x ... x m."""
        data = (self.inputs, self.alpha, self.root_inverse, self.white_noise)
        paths = draw_paths(self.kernel, self.prior_mean, *data, self.weights, count, seed)
        frame = self.frame
        return lambda points: frame.shift + frame.scale * paths(frame.transform(points))
