"""The peers, each driven as its authors do."""

import torch
from botorch.acquisition import LogExpectedImprovement, qKnowledgeGradient
from botorch.optim import optimize_acqf
from botorch_community.acquisition.hentropy_search import qHEntropySearch, qLossFunctionTopK
from torch import Tensor

from benchmarks.posteriors import Case


def one_shot_as_in_the_paper(case: Case, k: int, weight: float, cap: float, steps: int = 200) -> Tensor:
    """botorch_community's class with the paper's settings: 128 random restarts, Adam at 0.1 on designs and actions.

    16 outcomes, 16 inner samples. The class cannot be driven by `optimize_acqf`, so the ascent is written here, in the
    unit cube, as in the authors' own script. The best restart's design: 1 x d.
    """
    restarts, outcomes, samples, d = 128, 16, 16, case.X.shape[-1]
    low, high = case.problem.space.bounds
    acquisition = qHEntropySearch(
        model=case.model,
        loss_function_class=qLossFunctionTopK,
        loss_function_hyperparameters={"dist_weight": weight, "dist_threshold": cap},
        n_fantasy_at_design_pts=outcomes,
        n_fantasy_at_action_pts=samples,
    )
    x = torch.rand(restarts, 1, d, dtype=torch.float64, requires_grad=True)
    a = torch.rand(restarts, outcomes, k, d, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([x, a], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        values = acquisition(low + (high - low) * x.clamp(0, 1), A=low + (high - low) * a.clamp(0, 1))
        (-values.sum()).backward()
        optimizer.step()
        with torch.no_grad():
            x.clamp_(0, 1)
            a.clamp_(0, 1)
    with torch.no_grad():
        values = acquisition(low + (high - low) * x, A=low + (high - low) * a)
        return low + (high - low) * x[values.argmax()]


def knowledge_gradient(case: Case) -> Tensor:
    """BoTorch's qKnowledgeGradient as the library ships it: 64 fantasies, 10 restarts, 512 raw samples. 1 x d."""
    acquisition = qKnowledgeGradient(case.model, num_fantasies=64)
    candidate, _ = optimize_acqf(acquisition, bounds=case.problem.space.bounds, q=1, num_restarts=10, raw_samples=512)
    return candidate.detach()


def log_expected_improvement(case: Case) -> Tensor:
    """BoTorch's LogExpectedImprovement as the library ships it: 10 restarts, 512 raw samples. 1 x d."""
    acquisition = LogExpectedImprovement(case.model, best_f=case.Y.max())
    candidate, _ = optimize_acqf(acquisition, bounds=case.problem.space.bounds, q=1, num_restarts=10, raw_samples=512)
    return candidate.detach()
