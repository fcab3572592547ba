"""BoTorch's own models for choices and for fidelities, with the acquisition functions that go with them.

Both fit their own model to the data, as BoTorch wants them: numbers in the unit cube, an option as its position, and
the values, which are maximised.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product

import torch
from botorch.acquisition import LogExpectedImprovement, PosteriorMean
from botorch.acquisition.cost_aware import InverseCostWeightedUtility
from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
from botorch.acquisition.knowledge_gradient import qMultiFidelityKnowledgeGradient
from botorch.acquisition.utils import project_to_target_fidelity
from botorch.fit import fit_gpytorch_mll
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.gp_regression import SingleTaskGP
from botorch.models.gp_regression_fidelity import SingleTaskMultiFidelityGP
from botorch.models.gp_regression_mixed import MixedSingleTaskGP
from botorch.optim import optimize_acqf, optimize_acqf_discrete, optimize_acqf_mixed
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from hentropy.bench.baselines.maximise import believed, occurs, require_no_cost
from hentropy.bench.baselines.with_botorch import contained, seconds_left
from hentropy.core.beliefs import Belief
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver
from hentropy.core.spaces import DesignSpace
from hentropy.errors import ModelError


def _fitted(model: SingleTaskGP) -> SingleTaskGP:
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def mixed_model(X: Tensor, Y: Tensor, options: Mapping[int, int]) -> SingleTaskGP:
    """`MixedSingleTaskGP` of rows n x d and values n; `options` says how many options a column of positions has.

    Without such columns, BoTorch's `SingleTaskGP`.
    """
    values = Y.unsqueeze(-1)
    return _fitted(MixedSingleTaskGP(X, values, cat_dims=list(options)) if options else SingleTaskGP(X, values))


@dataclass(frozen=True)
class BotorchMixed(Solver):
    """`LogExpectedImprovement` of a `MixedSingleTaskGP` by `optimize_acqf_mixed`: an ascent per combination of options.

    Without choices it is a `SingleTaskGP`; on a `Pool` all rows are tried. The belief gives its data only. Improvement
    is counted from the best mean at an observed design. Several designs are chosen one after the other, those before
    and those pending believed.
    """

    largest: bool = True
    restarts: int = 10
    raw_samples: int = 512

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As BoTorch finds it."""
        require_no_cost(cost, "BotorchMixed")
        chosen = appraisal.pending[:0]
        for turn in range(q):
            waiting = torch.cat([appraisal.pending, chosen])
            chosen = torch.cat([chosen, self._one(believed(appraisal.belief, waiting), appraisal, turn)])
        return Finalists(chosen.unsqueeze(0), not appraisal.clock.expired)

    def _one(self, belief: Belief, appraisal: Appraisal, turn: int) -> Tensor:
        """The next design: 1 x d."""
        space, options = appraisal.space, options_of(appraisal.space)
        X = to_positions(space.to_cube(belief.X), options)
        Y = observed(belief, "BotorchMixed") if self.largest else -observed(belief, "BotorchMixed")
        rows = None
        if space.points is not None:
            listed = space.points.to(belief.X)
            free = ~occurs(listed, belief.X)
            rows = to_positions(space.to_cube(listed[free]), options) if bool(free.any()) else X
        row = self.next_row(X, Y, options, appraisal.seed + turn, rows, seconds_left(appraisal.clock))
        return space.project(space.from_cube(from_positions(row, options))).unsqueeze(0)

    def next_row(
        self,
        X: Tensor,
        Y: Tensor,
        options: Mapping[int, int],
        seed: int,
        rows: Tensor | None = None,
        seconds: float | None = None,
    ) -> Tensor:
        """After rows n x d with values n: d, one of `rows` (m x d) if given. The ascent ends after `seconds`."""
        with contained(seed):
            model = mixed_model(X, Y, options)
            acquisition = LogExpectedImprovement(model, model.posterior(X).mean.max().detach())
            if rows is not None:
                found, _ = optimize_acqf_discrete(acquisition, q=1, choices=rows)
                return found.detach()[0]
            fixed = [dict(zip(options, chosen, strict=True)) for chosen in product(*map(range, options.values()))]
            found, _ = optimize_acqf_mixed(
                acquisition,
                cube_bounds(X, options),
                q=1,
                num_restarts=self.restarts,
                raw_samples=self.raw_samples,
                fixed_features_list=fixed,
                timeout_sec=seconds,
            )
        return found.detach()[0]


def observed(belief: Belief, who: str) -> Tensor:
    """The values that a belief was fitted to, in the user's units: n."""
    if belief.observed is None or belief.process is not belief:
        raise ModelError(f"{who} takes its data from a Gaussian process, and the belief is a {type(belief).__name__}")
    return belief.observed


def options_of(space: DesignSpace) -> dict[int, int]:
    """The coordinates of the cube that are choices, and how many options each has."""
    varied = [field for field in space.fields if len(field.options) != 1]
    return {j: len(field.options) for j, field in enumerate(varied) if field.options and not field.ordered}


def to_positions(u: Tensor, options: Mapping[int, int]) -> Tensor:
    """Rows of the cube of a space (... x d), each option as its position."""
    scale = _counts(u, options)
    return torch.where(scale > 0, (u * scale).floor(), u)


def from_positions(row: Tensor, options: Mapping[int, int]) -> Tensor:
    """The way back: the middle of an option's cell."""
    scale = _counts(row, options)
    return torch.where(scale > 0, (row + 0.5) / scale.clamp_min(1.0), row)


def _counts(like: Tensor, options: Mapping[int, int]) -> Tensor:
    """How many options each column has, 0 for numbers: d."""
    return torch.tensor([float(options.get(j, 0)) for j in range(like.shape[-1])]).to(like)


def cube_bounds(X: Tensor, options: Mapping[int, int]) -> Tensor:
    """The unit cube, and the positions of options: 2 x d."""
    return torch.tensor([[0.0, options.get(j, 2) - 1.0] for j in range(X.shape[-1])]).to(X).T.contiguous()


@dataclass(frozen=True)
class MultiFidelityKG:
    """`qMultiFidelityKnowledgeGradient` per cost, with a `SingleTaskMultiFidelityGP`.

    The last column is the fidelity; `costs` says which fidelities there are and what each costs. What is decided is
    about the `target` fidelity, the greatest one.
    """

    costs: Mapping[float, float]
    fantasies: int = 128
    restarts: int = 5
    raw_samples: int = 128
    iterations: int = 200

    @property
    def target(self) -> float:
        """The fidelity that counts."""
        return max(self.costs)

    def next_row(self, X: Tensor, Y: Tensor, seed: int) -> Tensor:
        """After rows n x (d + 1) with values n: d + 1."""
        last = X.shape[-1] - 1
        with contained(seed):
            model = self._model(X, Y)
            acquisition = qMultiFidelityKnowledgeGradient(
                model,
                num_fantasies=self.fantasies,
                current_value=self._best(model, X)[1],
                cost_aware_utility=InverseCostWeightedUtility(GenericDeterministicModel(self._cost)),
                project=partial(project_to_target_fidelity, target_fidelities={last: self.target}, d=last + 1),
            )
            found, _ = optimize_acqf_mixed(
                acquisition,
                cube_bounds(X, {}),
                q=1,
                num_restarts=self.restarts,
                raw_samples=self.raw_samples,
                fixed_features_list=[{last: fidelity} for fidelity in self.costs],
                options={"batch_limit": self.restarts, "maxiter": self.iterations},
            )
        return found.detach()[0]

    def recommended(self, X: Tensor, Y: Tensor, seed: int) -> Tensor:
        """The row with the greatest mean at the target fidelity: d + 1."""
        with contained(seed):
            u, _ = self._best(self._model(X, Y), X)
        return torch.cat([u, u.new_tensor([self.target])])

    def _model(self, X: Tensor, Y: Tensor) -> SingleTaskMultiFidelityGP:
        return _fitted(SingleTaskMultiFidelityGP(X, Y.unsqueeze(-1), data_fidelities=[X.shape[-1] - 1]))

    def _best(self, model: SingleTaskMultiFidelityGP, X: Tensor) -> tuple[Tensor, Tensor]:
        """Where the mean is greatest at the target fidelity (d), and the mean there."""
        last = X.shape[-1] - 1
        at_target = FixedFeatureAcquisitionFunction(PosteriorMean(model), last + 1, [last], [self.target])
        u, value = optimize_acqf(
            at_target,
            cube_bounds(X, {})[:, :last],
            q=1,
            num_restarts=10,
            raw_samples=1024,
            options={"maxiter": self.iterations},
        )
        return u.detach()[0], value.detach()

    def _cost(self, X: Tensor) -> Tensor:
        """What rows ... x (d + 1) cost: ... x 1."""
        fidelity = X[..., -1:]
        levels = X.new_tensor(list(self.costs))
        return X.new_tensor(list(self.costs.values()))[(fidelity - levels).abs().argmin(-1, keepdim=True)]
