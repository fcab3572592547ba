r"""`Samples`: a belief made of functions with weights, for models that can give draws but cannot look ahead.

Observing y at x gives function s the weight w'_s in proportion to w_s N(y; f_s(x), noise^2). Where the noise is small
against the spread of f(x), a few functions would take all the weight. The effective sample size 1 / sum w'^2 tells;
where it falls below a stated share, the functions are moved instead of weighted, with the samples' own covariance:

    f'_s(a) = f_s(a) + C(a) S^-1 (y - f_s(x) - e_s)        C(a) = cov_s(f_s(a), f_s(x))    S = cov_s(f_s(x)) + noise^2
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hentropy.core.beliefs.base import Belief, Fantasy, LookAhead, Moments, Needs, Predictive
from hentropy.core.beliefs.linalg import cholesky
from hentropy.core.beliefs.nodes import Nodes
from hentropy.errors import InputError, ModelError
from hentropy.lazy import Tensor, torch

Functions = Callable[[Tensor], Tensor]

FEW_LEFT = 10.0
"""Below this many effective functions, what they say is mostly chance."""


def _identity(values: Tensor) -> Tensor:
    return values


@dataclass(frozen=True, repr=False)
class Samples(Belief):
    """S functions (points ... x m x d to S x ... x m) with weights (S), observed with Gaussian noise.

    `outcome` maps the values of the functions to the user's units if the noise is Gaussian only on their scale (for
    models of log outcomes). `least_effective` is the share of S below which functions are moved, not weighted.
    """

    X: Tensor
    functions: Functions
    weights: Tensor
    noise_std: float
    outcome: Callable[[Tensor], Tensor] = _identity
    least_effective: float = 0.25
    seed: int = 0
    outcomes: tuple[str, ...] = ("value",)
    point_masses = True

    def __post_init__(self) -> None:
        """Check the input and make the weights sum to one."""
        if not self.noise_std > 0:
            raise InputError(f"a belief of samples needs noise_std above 0 to weigh them, got {self.noise_std}")
        if self.weights.dim() != 1 or self.weights.shape[0] < 2:
            raise InputError(f"a belief of samples needs at least 2 weights, got shape {tuple(self.weights.shape)}")
        if bool((self.weights < 0).any()) or not bool(self.weights.sum() > 0):
            raise InputError("the weights of the samples must not be negative and not all zero")
        object.__setattr__(self, "weights", self.weights / self.weights.sum())

    @property
    def components(self) -> int:
        """S."""
        return self.weights.shape[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning if a few functions carry all the weight."""
        effective = float(1.0 / self.weights.square().sum())
        if effective >= FEW_LEFT:
            return ()
        return (f"{effective:.1f} of {self.components} functions carry the weight: draw more of them",)

    def raw(self, points: Tensor) -> Tensor:
        """The values of the functions, checked: points ... x m x d to S x ... x m."""
        values = self.functions(points)
        expected = (self.components, *points.shape[:-1])
        if tuple(values.shape) != expected:
            raise ModelError(f"the functions gave shape {tuple(values.shape)} where {expected} was expected")
        return values

    def _zeros(self, mean: Tensor, weights: Tensor, needs: Needs) -> Moments:
        var = None if needs is Needs.MEAN else torch.zeros_like(mean)
        cov = torch.zeros_like(mean).unsqueeze(-1).expand(*mean.shape, mean.shape[-1]) if needs is Needs.JOINT else None
        return Moments(weights, mean, var, cov, point_mass=True)

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points ... x m x d: S x ... x m, each function a point mass."""
        weights = self.weights.view(-1, *[1] * (points.dim() - 2))
        return self._zeros(self.outcome(self.raw(points)), weights, needs)

    def marginal(self, points: Tensor, shares: Sequence[float], *, noise: bool, log: bool) -> Predictive:
        """With noise, in the units of the functions only: elsewhere it is not normal."""
        if noise and self.outcome is not _identity:
            raise InputError("these functions are read after a transform, and noise is known before it: noise=False")
        return super().marginal(points, shares, noise=noise, log=log)

    def look_ahead(self, x: Tensor) -> "SamplesLookAhead":
        """Prepare to observe at x: b x q x d."""
        at_x = self.raw(x)
        centred = at_x - torch.einsum("s,sbq->bq", self.weights, at_x)
        spread = torch.einsum("s,sbq,sbr->bqr", self.weights, centred, centred)
        eye = torch.eye(x.shape[-2], dtype=x.dtype, device=x.device)
        return SamplesLookAhead(
            self, at_x, centred, cholesky(spread + self.noise_std**2 * eye, "covariance of the samples")
        )

    def condition(self, x: Tensor, y: Tensor) -> "Samples":
        """The belief after observing y (m, on the functions' scale) at x (m x d): weighted, or moved if few remain."""
        look = self.look_ahead(x.unsqueeze(0))
        weights, moved = look.after(y.view(1, 1, -1))
        X = torch.cat([self.X, x])
        if not bool(moved):
            return replace(self, X=X, weights=weights[:, 0, 0])
        shift = look.shift(y.view(1, 1, -1))[:, 0, 0]

        def functions(points: Tensor) -> Tensor:
            values = self.raw(points)
            flat = values.reshape(self.components, -1)
            C = torch.einsum("s,sm,sq->mq", self.weights, flat - self.weights @ flat, look.centred[:, 0])
            return (flat + shift @ C.mT).reshape(values.shape)

        return replace(self, X=X, functions=functions, seed=self.seed + 1)

    def paths(self, count: int, seed: int) -> Callable[[Tensor], Tensor]:
        """Functions drawn by weight: points ... x m x d to count x ... x m."""
        generator = torch.Generator().manual_seed(seed)
        chosen = torch.multinomial(self.weights.cpu(), count, replacement=True, generator=generator)
        return lambda points: self.outcome(self.raw(points))[chosen.to(points.device)]


@dataclass(frozen=True)
class SamplesLookAhead(LookAhead):
    """The functions at x (S x b x q), centred, and the root of S (b x q x q)."""

    belief: Samples
    at_x: Tensor
    centred: Tensor
    L: Tensor

    @property
    def joint_root(self) -> Tensor:  # type: ignore[override]
        """That of all functions together, as if they were one normal distribution."""
        return self.L

    def after(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """Weights (S x b x N) given outcomes y (b x N x q), and where too few functions remain (b x N)."""
        belief = self.belief
        distance = (y - self.at_x.unsqueeze(-2)) / belief.noise_std
        weights = torch.softmax(belief.weights.log().view(-1, 1, 1) - 0.5 * distance.square().sum(-1), 0)
        effective = 1.0 / weights.square().sum(0)
        available = 1.0 / belief.weights.square().sum()
        return weights, effective < belief.least_effective * available

    def shift(self, y: Tensor) -> Tensor:
        """S^-1 (y - f_s(x) - e_s) with a noise e_s of each function's own: S x b x N x q."""
        generator = torch.Generator().manual_seed(self.belief.seed)
        noise = torch.randn(self.at_x.shape[0], 1, 1, y.shape[-1], generator=generator, dtype=torch.float64).to(y)
        # without a common part the mean moves by exactly C S^-1 (y - mean), however few the functions
        noise = noise - torch.einsum("s,s...->...", self.belief.weights, noise)
        gap = y - self.at_x.unsqueeze(-2) - self.belief.noise_std * noise
        return torch.cholesky_solve(gap.mT, self.L).mT

    def fantasy(self, nodes: Nodes) -> "SamplesFantasy":
        """Outcomes drawn from functions by weight, plus noise."""
        drawn = torch.searchsorted(self.belief.weights.cumsum(0), nodes.component.contiguous()).clamp_max(
            self.at_x.shape[0] - 1
        )
        y = (self.at_x[drawn] + self.belief.noise_std * nodes.z.unsqueeze(1)).movedim(0, 1)  # b x N x q
        weights, moved = self.after(y)
        shift = torch.where(moved.unsqueeze(-1), self.shift(y), 0.0)
        kept = self.belief.weights.view(-1, 1, 1)
        return SamplesFantasy(self, nodes, torch.where(moved, kept, weights), shift, y, bool(moved.any()))


@dataclass(frozen=True)
class SamplesFantasy(Fantasy):
    """Weights (S x b x N) and how far functions are moved (S x b x N x q, zero where they are weighted)."""

    look: SamplesLookAhead
    nodes: Nodes
    component_weights: Tensor
    shift: Tensor
    outcomes: Tensor
    any_moved: bool

    @property
    def weights(self) -> Tensor:  # type: ignore[override]
        """The integration weights of the outcomes: N."""
        return self.nodes.weights

    def some(self, index: Tensor) -> "SamplesFantasy":
        """The beliefs after some of the outcomes."""
        fields = (self.component_weights[:, :, index], self.shift[:, :, index], self.outcomes[:, index])
        return SamplesFantasy(self.look, self.nodes.some(index), *fields, self.any_moved)

    @property
    def values(self) -> Tensor:
        """The outcomes in the user's units: b x N x q."""
        return self.look.belief.outcome(self.outcomes)

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points of each belief's own, b x (N or 1) x ... x K x d: S x b x N x ... x K."""
        belief = self.look.belief
        values = belief.raw(points)
        extra = [1] * (values.dim() - 3)
        if self.any_moved:
            centred = values - torch.einsum("s,s...->...", belief.weights, values)
            C = torch.einsum("s,sb...,sbq->b...q", belief.weights, centred, self.look.centred)
            shift = self.shift.view(*self.shift.shape[:3], *extra, self.shift.shape[-1])
            values = values + (C * shift).sum(-1)
        weights = self.component_weights.view(*self.component_weights.shape, *extra[:-1])
        return belief._zeros(belief.outcome(values), weights, needs)

    def shared_moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points that all beliefs share, P x K x d: S x b x N x P x K."""
        belief = self.look.belief
        values = belief.raw(points)[:, None, None]  # S x 1 x 1 x P x K
        if needs is Needs.MEAN and not self.any_moved:
            # one product: an array of S x b x N x P x K numbers would be large where the functions are many
            mean = torch.einsum("sbn,spk->bnpk", self.component_weights, belief.outcome(values[:, 0, 0]))
            return Moments(mean.new_ones(1, 1, 1, 1), mean.unsqueeze(0))
        if self.any_moved:
            centred = values - torch.einsum("s,s...->...", belief.weights, values)
            C = torch.einsum("s,spk,sbq->bpkq", belief.weights, centred[:, 0, 0], self.look.centred)
            values = values + torch.einsum("bpkq,sbnq->sbnpk", C, self.shift)
        return belief._zeros(belief.outcome(values), self.component_weights.unsqueeze(-1), needs)
