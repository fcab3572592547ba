"""The posteriors that all contenders share: Alpine data, a Matern-5/2 model fitted by BoTorch."""

from dataclasses import dataclass

import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

import hentropy as he
from hentropy.bench.problems import Problem, alpine
from hentropy.core.beliefs import Gaussian


@dataclass(frozen=True)
class Case:
    """One posterior: the problem, its data, the BoTorch model, and the belief made of that model."""

    name: str
    problem: Problem
    X: Tensor
    Y: Tensor
    model: SingleTaskGP
    belief: Gaussian


def alpine_case(d: int, n: int, seed: int, fitted: bool = True) -> Case:
    """Scrambled Sobol designs on Alpine-d; hyperparameters fitted, or a length scale of 0.3 for timing alone."""
    problem = alpine(d)
    X = problem.space.sample(n, seed)
    Y = problem(X).unsqueeze(-1)
    kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=d))
    bounds = problem.space.bounds
    model = SingleTaskGP(
        X,
        Y,
        covar_module=kernel,
        input_transform=Normalize(d, bounds=bounds),
        outcome_transform=Standardize(1),
    )
    if fitted:
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    else:
        kernel.base_kernel.lengthscale = torch.full((1, d), 0.3, dtype=torch.float64)
        kernel.outputscale = torch.ones((), dtype=torch.float64)
        model.likelihood.noise = torch.full((1,), 1e-3, dtype=torch.float64)
    model.eval()
    belief = he.from_botorch(model)
    assert isinstance(belief, Gaussian)
    return Case(f"Alpine-{d}, n = {n}", problem, X, Y, model, belief)
