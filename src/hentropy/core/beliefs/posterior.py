"""`Posterior`: any BoTorch model whose posterior is Gaussian, through joint posteriors of x and the action's points.

Slower than `Gaussian` (the model is evaluated again for every pair of a design and an action) and as exact:
conditioning is the formula for jointly normal values.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from hentropy.core.beliefs.base import Belief, Fantasy, LookAhead, Moments, Needs
from hentropy.core.beliefs.linalg import outcome_root, robust_root
from hentropy.core.beliefs.nodes import Nodes
from hentropy.errors import ModelError
from hentropy.lazy import Tensor, botorch, torch


@dataclass(frozen=True, repr=False)
class Posterior(Belief):
    """A BoTorch model seen through `posterior`; further observations (new_X m x d, new_Y m) are conditioned on."""

    model: "botorch.models.model.Model"
    X: Tensor
    noise: float
    new_X: Tensor  # noqa: N815
    new_Y: Tensor  # noqa: N815
    outcomes: tuple[str, ...] = ("value",)

    @property
    def components(self) -> int:
        """One: the posterior as the model gives it."""
        return 1

    def _asked(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """What the model itself says at points ... x m x d: mean (... x m) and covariance (... x m x m)."""
        # the model's hyperparameters may ask for gradients, which nobody wants here: only those of points count
        with torch.set_grad_enabled(torch.is_grad_enabled() and points.requires_grad):
            posterior = self.model.posterior(points)
            name = type(self.model).__name__
            normal, mixture = botorch.posteriors.GPyTorchPosterior, botorch.posteriors.fully_bayesian
            if not isinstance(posterior, normal) or isinstance(posterior, mixture.GaussianMixturePosterior):
                raise ModelError(
                    f"the posterior of {name} is a {type(posterior).__name__}, which is not Gaussian;"
                    " draw functions from the model and hand them to he.Samples instead"
                )
            mean = posterior.mean
            if mean.shape != (*points.shape[:-1], 1):
                raise ModelError(
                    f"the posterior mean of {name} at points of shape {tuple(points.shape)} has shape"
                    f" {tuple(mean.shape)}; a belief is about one outcome of one model: take one output of it"
                    " (model.subset_output([i]))"
                )
            return mean.squeeze(-1), posterior.distribution.covariance_matrix

    @property
    def noise_std(self) -> float:  # type: ignore[override]
        """The noise standard deviation of a future observation."""
        return self.noise**0.5

    def joint(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (... x m) and covariance (... x m x m) of f at points ... x m x d."""
        extra = self.new_X.shape[0]
        if not extra:
            return self._asked(points)
        mean, cov = self._asked(torch.cat([self.new_X.expand(*points.shape[:-2], -1, -1), points], -2))
        seen = cov[..., :extra, :extra]
        eye = self.noise * torch.eye(extra, dtype=cov.dtype, device=cov.device)
        L, known = self._root(seen + eye, seen)
        root = torch.linalg.solve_triangular(L, cov[..., :extra, extra:], upper=False)
        gap = torch.linalg.solve_triangular(L, (self.new_Y - mean[..., :extra]).unsqueeze(-1), upper=False)
        root = torch.where(known.unsqueeze(-1), 0.0, root)
        return mean[..., extra:] + (root.mT @ gap).squeeze(-1), cov[..., extra:, extra:] - root.mT @ root

    def _root(self, S: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """The root of covariances S of outcomes and which are known, measured by the model's own covariance there."""
        variance = before.diagonal(dim1=-2, dim2=-1)
        L, known = outcome_root(S.unsqueeze(0), variance.unsqueeze(0), "covariance of the observations")
        return L[0], known[0]

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points ... x m x d: 1 x ... x m."""
        return _moments(*self.joint(points), needs)

    def look_ahead(self, x: Tensor) -> "PosteriorLookAhead":
        """Prepare to observe at x: b x q x d."""
        mean, cov = self.joint(x)
        before = self._asked(x)[1] if self.new_X.shape[0] else cov
        eye = torch.eye(x.shape[-2], dtype=x.dtype, device=x.device)
        L, known = self._root(cov + self.noise * eye, before)
        return PosteriorLookAhead(self, x, mean, L, known)

    def condition(self, x: Tensor, y: Tensor) -> "Posterior":
        """The belief after observing y (m) at x (m x d)."""
        return replace(
            self, X=torch.cat([self.X, x]), new_X=torch.cat([self.new_X, x]), new_Y=torch.cat([self.new_Y, y])
        )

    def paths(self, count: int, seed: int) -> Callable[[Tensor], Tensor]:
        """Joint draws over all points of one call: exact within a call, independent between calls."""

        def draw(points: Tensor) -> Tensor:
            flat = points.reshape(-1, points.shape[-1])
            mean, cov = self.joint(flat)
            generator = torch.Generator().manual_seed(seed)
            noise = torch.randn(count, flat.shape[0], generator=generator, dtype=torch.float64).to(flat)
            return (mean + noise @ robust_root(cov).mT).reshape(count, *points.shape[:-1])

        return draw


def _moments(mean: Tensor, cov: Tensor, needs: Needs) -> Moments:
    weights = mean.new_ones(1, *[1] * (mean.dim() - 1))
    var = None if needs is Needs.MEAN else cov.diagonal(dim1=-2, dim2=-1).clamp_min(0.0).unsqueeze(0)
    return Moments(weights, mean.unsqueeze(0), var, cov.unsqueeze(0) if needs is Needs.JOINT else None)


@dataclass(frozen=True)
class PosteriorLookAhead(LookAhead):
    """Mean (b x q) and root of the covariance (b x q x q) of the observations at x; which are known already (b x q)."""

    belief: Posterior
    x: Tensor
    mean: Tensor
    L: Tensor
    known: Tensor

    @property
    def joint_root(self) -> Tensor:  # type: ignore[override]
        """Its root."""
        return self.L

    def fantasy(self, nodes: Nodes) -> "PosteriorFantasy":
        """The beliefs after the outcomes that the nodes stand for."""
        return PosteriorFantasy(self, nodes)


@dataclass(frozen=True)
class PosteriorFantasy(Fantasy):
    """A batch of conditioned joint posteriors."""

    look: PosteriorLookAhead
    nodes: Nodes

    @property
    def weights(self) -> Tensor:  # type: ignore[override]
        """The integration weights of the outcomes: N."""
        return self.nodes.weights

    def some(self, index: Tensor) -> "PosteriorFantasy":
        """The beliefs after some of the outcomes."""
        return PosteriorFantasy(self.look, self.nodes.some(index))

    @property
    def values(self) -> Tensor:
        """The outcomes: b x N x q."""
        return self.look.mean.unsqueeze(-2) + self._steps @ self.look.L.mT

    @property
    def _steps(self) -> Tensor:
        """The nodes, zero where an outcome is known already: b x N x q."""
        return torch.where(self.look.known.unsqueeze(-2), 0.0, self.nodes.z)

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points of each belief's own, b x (N or 1) x ... x K x d: 1 x b x N x ... x K."""
        x = self.look.x
        b, q, d = x.shape
        lead = points.shape[:-2]
        inner = [1] * (len(lead) - 1)
        both = torch.cat([x.view(b, *inner, q, d).expand(*lead, q, d), points], -2)
        mean, cov = self.look.belief.joint(both)
        L, known = self.look.L.view(b, *inner, q, q), self.look.known.view(b, *inner, q, 1)
        root = torch.where(known, 0.0, torch.linalg.solve_triangular(L, cov[..., :q, q:], upper=False))  # ... x q x K
        z = self._steps.view(b, -1, *inner[1:], 1, q)
        return _moments(mean[..., q:] + (z @ root).squeeze(-2), cov[..., q:, q:] - root.mT @ root, needs)

    def shared_moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points that all beliefs share, P x K x d: 1 x b x N x P x K."""
        b = self.look.x.shape[0]
        return self.moments(points.expand(b, 1, *points.shape), needs)
