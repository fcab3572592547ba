"""The most probable hyperparameters: many starts screened in one batch, the best ones ascended by L-BFGS."""

import numpy as np
import scipy.optimize
import torch
from torch import Tensor

from hentropy.errors import ModelError
from hentropy.models.hyperparameters import LogPosterior

SCREENED = 32
ASCENDED = 2
STEPS = 100


def maximise(target: LogPosterior, known: Tensor, generator: torch.Generator) -> Tensor:
    """The best row found: 1 x p. `known` rows (C x p, maybe none) of an earlier fit compete with draws of the prior."""
    candidates = torch.cat([known, target.prior_median(), target.prior_draws(SCREENED, generator)])
    value = target(candidates)
    order = value.argsort(descending=True)[:ASCENDED]
    found = [_ascend(target, row) for row in candidates[order]]
    best, theta = max(found, key=lambda pair: pair[0])
    if not np.isfinite(best):
        raise ModelError(
            "no hyperparameters give a positive definite kernel matrix; outcomes or designs of very different sizes are"
            " the likeliest cause: look at the data, or give the observations some noise"
        )
    return theta.unsqueeze(0)


def _ascend(target: LogPosterior, row: Tensor) -> tuple[float, Tensor]:
    """L-BFGS from one row (p): the log posterior there and the row."""

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        theta = torch.from_numpy(values).to(row).requires_grad_()
        value = target(theta.unsqueeze(0)).sum()
        (slope,) = torch.autograd.grad(value, theta)
        # a line search that meets +inf halves its step
        return -value.item(), -slope.cpu().numpy()

    result = scipy.optimize.minimize(
        loss, row.cpu().numpy(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS, "ftol": 1e-8, "gtol": 1e-4}
    )
    return -float(result.fun), torch.from_numpy(result.x).to(row)
