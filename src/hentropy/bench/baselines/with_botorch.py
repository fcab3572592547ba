"""BoTorch's own acquisition functions, driven as the library ships them, in the unit cube of the space.

LogExpectedImprovement and qKnowledgeGradient; and a belief as the one-shot class of botorch_community asks a model,
without building one per outcome.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from botorch.acquisition import LogExpectedImprovement, qKnowledgeGradient
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.exceptions.warnings import BadInitialCandidatesWarning, BotorchWarning, OptimizationWarning
from botorch.models.gp_regression import SingleTaskGP
from botorch.models.model import Model
from botorch.optim import optimize_acqf, optimize_acqf_discrete
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.sampling.base import MCSampler
from botorch.sampling.normal import SobolQMCNormalSampler
from gpytorch.distributions import MultivariateNormal
from linear_operator.operators import DenseLinearOperator, ZeroLinearOperator
from linear_operator.utils.warnings import NumericalWarning
from torch import Tensor

from hentropy.bench.baselines.classic import incumbent
from hentropy.bench.baselines.maximise import believed, occurs, require_continuous, require_no_cost, require_one_gp
from hentropy.core.acquisition import as_botorch
from hentropy.core.beliefs import Fantasy, Gaussian, Needs, Nodes
from hentropy.core.clock import Clock
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver
from hentropy.core.spaces import DesignSpace


def model_in_unit_cube(belief: Gaussian, space: DesignSpace) -> SingleTaskGP:
    """The BoTorch model of the belief, about designs in the unit cube: where BoTorch's optimisers do best."""
    frame = belief.frame
    moved = replace(frame, transform=lambda u: frame.transform(space.from_cube(u)))
    return as_botorch(replace(belief, X=space.to_cube(belief.X), frame=moved))


def optimised(
    acquisition: AcquisitionFunction, appraisal: Appraisal, q: int, restarts: int, raw_samples: int
) -> Tensor:
    """The designs that `optimize_acqf` finds: q x d, in their own units."""
    ends = torch.arange(2.0).to(appraisal.belief.X)
    bounds = ends.unsqueeze(-1).expand(2, appraisal.space.cube).contiguous()
    u, _ = optimize_acqf(
        acquisition,
        bounds,
        q=q,
        num_restarts=restarts,
        raw_samples=raw_samples,
        timeout_sec=seconds_left(appraisal.clock),
    )
    return appraisal.space.project(appraisal.space.from_cube(u.detach()))


def seconds_left(clock: Clock) -> float | None:
    """Seconds until the time is up, at least a little: BoTorch returns nothing where it may not begin."""
    return None if clock.seconds == float("inf") else max(clock.seconds - clock.spent, 1e-3)


@contextmanager
def contained(seed: int) -> Iterator[None]:
    """BoTorch draws from torch's global generators: give it a seed, and put them back afterwards.

    Its warnings that an ascent ended early, that all starts are equally good, that a matrix got jitter, or that in some
    draws no limit holds are not for the user of a baseline: the best restart counts.
    """
    devices = range(torch.cuda.device_count())
    with torch.random.fork_rng(devices=devices), warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizationWarning)
        warnings.simplefilter("ignore", BadInitialCandidatesWarning)
        warnings.simplefilter("ignore", NumericalWarning)
        warnings.filterwarnings("ignore", "Optimization failed", RuntimeWarning)
        warnings.filterwarnings("ignore", "When all training points are infeasible", BotorchWarning)
        torch.manual_seed(seed)
        yield


@dataclass(frozen=True)
class BotorchLogEI(Solver):
    """`LogExpectedImprovement` by `optimize_acqf`; on a `Pool` all rows are tried. Needs one GP.

    Improvement is counted from the best mean at an observed design. Several designs are chosen one after the other,
    those before and those pending believed to have the values expected there.
    """

    largest: bool = True
    restarts: int = 10
    raw_samples: int = 512

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As BoTorch finds it."""
        require_no_cost(cost, "BotorchLogEI")
        chosen = appraisal.pending[:0]
        with contained(appraisal.seed):
            for _ in range(q):
                waiting = torch.cat([appraisal.pending, chosen])
                turn = replace(appraisal, belief=believed(appraisal.belief, waiting), pending=waiting)
                chosen = torch.cat([chosen, self._one(turn)])
        return Finalists(chosen.unsqueeze(0), not appraisal.clock.expired)

    def _one(self, appraisal: Appraisal) -> Tensor:
        """The next design: 1 x d."""
        belief, space = require_one_gp(appraisal.belief, "BotorchLogEI"), appraisal.space
        model = model_in_unit_cube(belief, space)
        best = belief.X.new_tensor(incumbent(belief, self.largest))  # BoTorch would keep a float in single precision
        acquisition = LogExpectedImprovement(model, best, maximize=self.largest)
        if space.points is None:
            return optimised(acquisition, appraisal, 1, self.restarts, self.raw_samples)
        rows = space.points.to(belief.X)
        free = ~occurs(rows, appraisal.pending)
        rows = rows[free] if bool(free.any()) else rows
        u, _ = optimize_acqf_discrete(acquisition, q=1, choices=space.to_cube(rows))
        return space.project(space.from_cube(u))


@dataclass(frozen=True)
class BotorchKG(Solver):
    """`qKnowledgeGradient` by `optimize_acqf`, all designs and one best design per fantasy together. Needs one GP."""

    largest: bool = True
    fantasies: int = 64
    restarts: int = 10
    raw_samples: int = 512

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As BoTorch finds it."""
        require_no_cost(cost, "BotorchKG")
        require_continuous(appraisal.space, "BotorchKG")
        belief, pending = require_one_gp(appraisal.belief, "BotorchKG"), appraisal.pending
        with contained(appraisal.seed):
            acquisition = qKnowledgeGradient(
                model_in_unit_cube(belief, appraisal.space),
                num_fantasies=self.fantasies,
                posterior_transform=None if self.largest else ScalarizedPosteriorTransform(-torch.ones(1).to(belief.X)),
                X_pending=appraisal.space.to_cube(pending) if len(pending) else None,
            )
            designs = optimised(acquisition, appraisal, q, self.restarts, self.raw_samples)
        return Finalists(designs.unsqueeze(0), not appraisal.clock.expired)


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
            moments = self._fantasy.shared_moments(points.unsqueeze(0), self._needs)
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
