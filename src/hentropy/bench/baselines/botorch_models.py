"""BoTorch's own models for choices and for fidelities, with the acquisition functions that go with them.

Both take data as BoTorch wants them: numbers in the unit cube, an option as its position, and the values, which are
maximised. Each fits its own model to the data, and returns the next row.
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
from botorch.optim import optimize_acqf, optimize_acqf_mixed
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from hentropy.bench.baselines.with_botorch import contained


def _fitted(model: SingleTaskGP) -> SingleTaskGP:
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def mixed_model(X: Tensor, Y: Tensor, options: Mapping[int, int]) -> MixedSingleTaskGP:
    """`MixedSingleTaskGP` of rows n x d and values n; `options` says how many options a column of positions has."""
    return _fitted(MixedSingleTaskGP(X, Y.unsqueeze(-1), cat_dims=list(options)))


@dataclass(frozen=True)
class MixedLogEI:
    """`LogExpectedImprovement` of a `MixedSingleTaskGP` by `optimize_acqf_mixed`: an ascent per combination of options.

    Improvement is counted from the best mean at an observed row.
    """

    restarts: int = 10
    raw_samples: int = 512

    def next_row(self, X: Tensor, Y: Tensor, options: Mapping[int, int], seed: int) -> Tensor:
        """After rows n x d with values n: d."""
        with contained(seed):
            model = mixed_model(X, Y, options)
            best = model.posterior(X).mean.max().detach()
            fixed = [dict(zip(options, chosen, strict=True)) for chosen in product(*map(range, options.values()))]
            found, _ = optimize_acqf_mixed(
                LogExpectedImprovement(model, best),
                _bounds(X, options),
                q=1,
                num_restarts=self.restarts,
                raw_samples=self.raw_samples,
                fixed_features_list=fixed,
            )
        return found.detach()[0]


def _bounds(X: Tensor, options: Mapping[int, int]) -> Tensor:
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
                _bounds(X, {}),
                q=1,
                num_restarts=self.restarts,
                raw_samples=self.raw_samples,
                fixed_features_list=[{last: fidelity} for fidelity in self.costs],
                options={"batch_limit": self.restarts, "maxiter": 200},
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
            at_target, _bounds(X, {})[:, :last], q=1, num_restarts=10, raw_samples=1024, options={"maxiter": 200}
        )
        return u.detach()[0], value.detach()

    def _cost(self, X: Tensor) -> Tensor:
        """What rows ... x (d + 1) cost: ... x 1."""
        fidelity = X[..., -1:]
        levels = X.new_tensor(list(self.costs))
        return X.new_tensor(list(self.costs.values()))[(fidelity - levels).abs().argmin(-1, keepdim=True)]
