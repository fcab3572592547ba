"""A belief as the one-shot class of botorch_community asks a BoTorch model, without building a model per outcome.

    b  restarts     N  outcomes of each     M  inner samples     k  points of an action     d  parameters of a design

The class asks for two things: `fantasize` at designs b x q x d, and then `posterior` at an action of each outcome's
own, N x b x k x d. The belief does the conditioning, and the values are those of `as_botorch(belief)`. The slopes are
not: with a BoTorch model the class takes the fantasised data for constants and hands on a wrong slope in the design
(the authors' own code and BoTorch's qKnowledgeGradient do not); here the slope is that of the value.
"""

from collections.abc import Callable
from typing import Any

import torch
from botorch.models.model import Model
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.sampling.base import MCSampler
from botorch.sampling.normal import SobolQMCNormalSampler
from gpytorch.distributions import MultivariateNormal
from linear_operator.operators import DenseLinearOperator, ZeroLinearOperator
from torch import Tensor

from hentropy.core.beliefs import Fantasy, Gaussian, Needs, Nodes


class BeliefModel(Model):
    """A belief that fantasises; `points` says where the loss of an action looks at f (N x b x event to N x b x k x d).

    With needs = MEAN posteriors have their means only.
    """

    def __init__(self, belief: Gaussian, points: Callable[[Tensor], Tensor], needs: Needs) -> None:
        super().__init__()
        self._belief, self._points, self._needs = belief, points, needs

    def posterior(self, X: Tensor, *args: Any, **kwargs: Any) -> GPyTorchPosterior:
        """Of f at designs ... x q x d."""
        moments = self._belief.moments(X, Needs.JOINT)
        return _posterior(moments.mean[0], moments.covariance[0])

    def fantasize(self, X: Tensor, sampler: MCSampler, *args: Any, **kwargs: Any) -> "FantasyModel":
        """The beliefs after the outcomes that the sampler draws at designs b x q x d."""
        eye = torch.eye(X.shape[-2]).to(X)
        z = sampler(_posterior(torch.zeros_like(eye[0]), eye)).squeeze(-1)  # the sampler's own base samples: N x q
        weights = torch.full_like(z[:, 0], 1.0 / z.shape[0])
        fantasy = self._belief.look_ahead(X).fantasy(Nodes(z, weights, weights))
        return FantasyModel(fantasy, self._points, self._needs)


class FantasyModel(Model):
    """The beliefs after N outcomes of b designs."""

    def __init__(self, fantasy: Fantasy, points: Callable[[Tensor], Tensor], needs: Needs) -> None:
        super().__init__()
        self._fantasy, self._points, self._needs = fantasy, points, needs

    def posterior(self, X: Tensor, *args: Any, **kwargs: Any) -> GPyTorchPosterior:
        """Of f where an action of each belief looks, N x b x event: N x b x k."""
        points = self._points(X)
        if points.dim() == 2:  # common to all actions: k x d
            moments = self._fantasy.pool_moments(points.unsqueeze(0), self._needs)
            return _posterior(moments.mean[0].squeeze(-2).transpose(0, 1), None)
        moments = self._fantasy.moments(points.transpose(0, 1), self._needs)
        mean = moments.mean[0].transpose(0, 1)
        cov = None if moments.cov is None else moments.cov[0].expand(*moments.mean[0].shape, -1).transpose(0, 1)
        return _posterior(mean, cov)


class AverageSampler(SobolQMCNormalSampler):
    """The average of so many draws as one: all that a loss that is affine in f sees of them."""

    def __init__(self, count: int, seed: int) -> None:
        super().__init__(torch.Size([count]), seed=seed)

    def forward(self, posterior: GPyTorchPosterior) -> Tensor:
        """1 x ... x k x 1."""
        self._construct_base_samples(posterior)
        average = self.base_samples.mean(0, keepdim=True)
        return posterior.rsample_from_base_samples(
            torch.Size([1]), average.expand(torch.Size([1]) + posterior.base_sample_shape)
        )


class MeanSampler(MCSampler):
    """One draw, the mean."""

    def __init__(self) -> None:
        super().__init__(sample_shape=torch.Size([1]), seed=0)

    def forward(self, posterior: GPyTorchPosterior) -> Tensor:
        """1 x ... x k x 1."""
        return posterior.mean.unsqueeze(0)


def _posterior(mean: Tensor, cov: Tensor | None) -> GPyTorchPosterior:
    size = mean.shape[-1]
    zero = ZeroLinearOperator(*mean.shape, size, dtype=mean.dtype, device=mean.device)
    return GPyTorchPosterior(MultivariateNormal(mean, zero if cov is None else DenseLinearOperator(cov)))
