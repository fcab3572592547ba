"""BoTorch on several outcomes: constrained `qLogNoisyExpectedImprovement`, `qLogNoisyExpectedHypervolumeImprovement`.

Each outcome has a `SingleTaskGP` of its own, or a `MixedSingleTaskGP` where there are choices. BoTorch leaves it to its
user what to decide in the end. Here its own model decides by the loss of the problem: the design with the greatest
expected worth, and the designs whose means together have the greatest hypervolume.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product

import torch
from botorch.acquisition import AcquisitionFunction
from botorch.acquisition.logei import qLogNoisyExpectedImprovement, qLogProbabilityOfFeasibility
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.objective import WeightedMCMultiOutputObjective
from botorch.acquisition.objective import GenericMCObjective
from botorch.models.model_list_gp_regression import ModelListGP
from botorch.optim import optimize_acqf, optimize_acqf_mixed
from torch import Tensor

from hentropy.bench.baselines.botorch_models import cube_bounds, from_positions, mixed_model, options_of, to_positions
from hentropy.bench.baselines.with_botorch import contained
from hentropy.core.beliefs import Moments
from hentropy.core.decisions import Decision, Minimize, Pareto
from hentropy.core.decisions.hypervolume import area_with, hypervolume
from hentropy.core.decisions.limits import parse_limits
from hentropy.core.spaces import DesignSpace

FILLING, MEMBERS, AROUND, ROUNDS = 2048, 32, 64, 8
"""What a model recommends is searched among so many designs that fill the space, then around what was best so far."""


@dataclass(frozen=True)
class _Rule(ABC):
    """The next design (d) after designs X (n x d) with outcomes Y (n x o), and what the model recommends (k x d)."""

    decision: Decision
    restarts: int = 10
    raw_samples: int = 512

    @abstractmethod
    def acquisition(self, model: ModelListGP, X: Tensor, Y: Tensor) -> AcquisitionFunction:
        """What is maximised, after rows X with outcomes Y."""

    @abstractmethod
    def best(self, model: ModelListGP, rows: Tensor, known: Tensor | None) -> Tensor:
        """The best action of rows m x d of the model, or those known (k x d): k x d."""

    def next_design(self, space: DesignSpace, X: Tensor, Y: Tensor, seed: int) -> Tensor:
        """As BoTorch finds it: d."""
        options = options_of(space)
        with contained(seed):
            rows = to_positions(space.to_cube(X), options)
            search = partial(
                optimize_acqf,
                self.acquisition(self._model(rows, Y, options), rows, Y),
                cube_bounds(rows, options),
                q=1,
                num_restarts=self.restarts,
                raw_samples=self.raw_samples,
            )
            if options:
                fixed = [dict(zip(options, each, strict=True)) for each in product(*map(range, options.values()))]
                search = partial(optimize_acqf_mixed, *search.args, **search.keywords, fixed_features_list=fixed)
            row = search()[0].detach()[0]
        return space.project(space.from_cube(from_positions(row, options)))

    @torch.no_grad()
    def recommended(self, space: DesignSpace, X: Tensor, Y: Tensor, seed: int) -> Tensor:
        """What the model decides: k x d."""
        options = options_of(space)
        with contained(seed), torch.enable_grad():
            model = self._model(to_positions(space.to_cube(X), options), Y, options)
        generator = torch.Generator().manual_seed(seed)
        tried, chosen = torch.cat([space.sample(FILLING, seed).to(X), X]), None
        for round_ in range(ROUNDS):
            rows = to_positions(space.to_cube(tried), options)
            own = None if chosen is None else to_positions(space.to_cube(chosen), options)
            chosen = space.project(space.from_cube(from_positions(self.best(model, rows, own), options)))
            at = space.to_cube(chosen)
            noise = torch.randn(AROUND, *at.shape, generator=generator, dtype=torch.float64)
            moved = (at + 0.2 * 0.5**round_ * noise).clamp(0.0, 1.0).flatten(0, 1)
            tried = torch.cat([space.project(space.from_cube(moved)), space.neighbours(chosen).flatten(0, 1)])
        assert chosen is not None
        return chosen

    def _model(self, rows: Tensor, Y: Tensor, options: Mapping[int, int]) -> ModelListGP:
        return ModelListGP(*(mixed_model(rows, values, options) for values in Y.unbind(-1)))


@dataclass(frozen=True)
class BotorchConstrained(_Rule):
    """Constrained `qLogNoisyExpectedImprovement`, for the least value that holds limits on outcomes.

    The outcomes of Y are the one that counts and those that are limited, in the order of the decision.
    """

    decision: Minimize

    def acquisition(self, model: ModelListGP, X: Tensor, Y: Tensor) -> AcquisitionFunction:
        """Improvement of minus the first outcome, where all limits hold; at first, the chance that they do."""
        limits = [
            partial(_excess, place=i, sign=sign, bound=bound)
            for i, limit in enumerate(parse_limits(self.decision.subject_to), start=1)
            for sign, bound in ((1.0, limit.high), (-1.0, limit.low))
            if abs(bound) < torch.inf
        ]
        if not bool(torch.stack([limit(Y) <= 0 for limit in limits]).all(0).any()):
            return qLogProbabilityOfFeasibility(model, limits)  # as BoTorch advises
        objective = GenericMCObjective(lambda values, X=None: -values[..., 0])
        return qLogNoisyExpectedImprovement(model, X, objective=objective, constraints=limits, prune_baseline=True)

    def best(self, model: ModelListGP, rows: Tensor, known: Tensor | None) -> Tensor:
        """The row with the least expected loss: 1 x d."""
        rows = rows if known is None else torch.cat([known, rows])
        posterior = model.posterior(rows)
        mean, var = posterior.mean.unsqueeze(0), posterior.variance.unsqueeze(0)  # 1 x m x o
        moments = Moments(mean.new_ones(1, 1), mean, var, outcomes=mean.shape[-1])
        losses = self.decision.expected_loss(moments, rows.unsqueeze(-2), mean[..., :0])[0]
        return rows[losses.argmin()].unsqueeze(0)


def _excess(values: Tensor, place: int, sign: float, bound: float) -> Tensor:
    """By how much draws ... x o miss a bound; at most zero where it holds."""
    return sign * (values[..., place] - bound)


@dataclass(frozen=True)
class BotorchFront(_Rule):
    """`qLogNoisyExpectedHypervolumeImprovement`, for a front whose reference is given."""

    decision: Pareto

    def acquisition(self, model: ModelListGP, X: Tensor, Y: Tensor) -> AcquisitionFunction:
        """Improvement of the hypervolume."""
        signs = self._signs(X)
        reference = (signs * self.decision.origin.to(X)).tolist()
        objective = WeightedMCMultiOutputObjective(signs)
        return qLogNoisyExpectedHypervolumeImprovement(model, reference, X, objective=objective, prune_baseline=True)

    def _signs(self, like: Tensor) -> Tensor:
        return torch.tensor([1.0 if way == "max" else -1.0 for way in self.decision.ways.values()]).to(like)

    def best(self, model: ModelListGP, rows: Tensor, known: Tensor | None) -> Tensor:
        """Rows of which each is exchanged for a better one, by their means, until that helps no more: k x d."""
        k = self.decision.k
        rows = rows if known is None else torch.cat([known, rows])
        better = self._signs(rows) * (model.posterior(rows).mean - self.decision.origin.to(rows))
        corners = better.clamp_min(0.0)  # m x 2
        index = torch.arange(k) if known is not None else _greedy(corners, k)
        best = hypervolume(corners[index])
        for _ in range(MEMBERS):
            before = best
            for member in range(k):
                kept = torch.cat([index[:member], index[member + 1 :]])
                value, choice = area_with(corners[kept], corners).max(-1)
                if bool(value > best):
                    index = torch.cat([index[:member], choice.unsqueeze(0), index[member + 1 :]])
                    best = value
            if not bool(best > before):
                break
        return rows[index]


def _greedy(corners: Tensor, k: int) -> Tensor:
    """Corners m x 2 one after the other, each next one that adds most: k."""
    index = corners.new_empty(0, dtype=torch.long)
    for _ in range(k):
        index = torch.cat([index, area_with(corners[index], corners).argmax(-1, keepdim=True)])
    return index
