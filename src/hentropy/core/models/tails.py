r"""The weights of observations with heavy tails (see `beliefs.tails`) and the hyperparameters, in turn.

With K = G + D, D = diag(v / w), alpha = K^-1 r, what the errors are expected to be follows from one factor:

    E[(y_i - f_i)^2] = (D_ii alpha_i)^2 + D_ii - D_ii^2 (K^-1)_ii

An observation without neighbours determines f alone, and keeps a weight of about 1. Both steps raise the same bound on
the log evidence, which has several maxima: one where an observation is wrong, one where the function is rough. So many
draws of the hyperparameters are compared by the bound, with weights that begin with the errors of predictions from the
others, and the best few are followed.
"""

from dataclasses import replace

from hentropy.core.beliefs.linalg import cholesky
from hentropy.core.beliefs.tails import weights_of
from hentropy.core.models.hyperparameters import FLAT, MANY, NEARLY, SUBSET, LogPosterior, Summits, ascend
from hentropy.lazy import Tensor, torch

ROUNDS = 10
"""Weights and hyperparameters in turn, at most."""

SETTLED = 0.02
"""Weights have settled where none changes by more."""

ARRIVED = 0.1
"""Hyperparameters between them have arrived where no slope per prior standard deviation is above this."""

SCREENING_ROUNDS = 3
"""Rounds of weights after which draws of the hyperparameters are compared."""


@torch.no_grad()
def expected_weights(target: LogPosterior, theta: Tensor, left_out: bool = False) -> Tensor:
    """The weights given rows theta (C x p) and the weights that the target has: C x n.

    With `left_out` by the errors of predictions from the other observations, in units of what these are expected to be.
    """
    D, residual = target.noise_variance(theta), target.outcomes - theta[:, target.groups + 1, None]
    chol = cholesky(target.covariance(theta) + torch.diag_embed(D), "kernel matrix of the data")
    precision = torch.cholesky_inverse(chol).diagonal(dim1=-2, dim2=-1)
    alpha = torch.cholesky_solve(residual.unsqueeze(-1), chol).squeeze(-1)
    if left_out:
        return weights_of(alpha.square() / precision)
    error = (D * alpha).square() + (D - D.square() * precision).clamp_min(0.0)
    return weights_of(error / target.usual_variance(theta))


def weighed(target: LogPosterior, known: Tensor, generator: torch.Generator) -> tuple[LogPosterior, Summits]:
    """The log posterior with the best weights, and its summits: K x p. Starts are `known` rows (C x p) and prior draws.

    What has equal weights explains errors by a rough function, and keeps to it: starts are compared by the bound.
    """
    target = replace(target, tails=torch.ones_like(target.outcomes))
    if len(target.outcomes) > SUBSET:
        return _extended(target, known, generator)
    screened, starts = (64, 4) if len(target.outcomes) <= MANY else (24, 2)
    theta = torch.cat([known, target.priors[0].unsqueeze(0), target.prior_draws(screened, generator)])
    theta = theta[target(theta).isfinite()]
    weights = _iterated(target, theta, SCREENING_ROUNDS)
    best = replace(target, tails=weights)(theta).topk(min(starts, len(theta))).indices
    theta, weights, spread = theta[best], weights[best], None
    for _ in range(ROUNDS):
        found = ascend(replace(target, tails=weights), theta, ARRIVED, spread)
        theta, spread = found.theta, found.spread
        before, weights = weights, expected_weights(replace(target, tails=weights), theta)
        if float((weights - before).abs().max()) < SETTLED:
            break
    target = replace(target, tails=weights[replace(target, tails=weights)(theta).argmax()])
    return target, ascend(target, theta, FLAT, spread)


def _extended(target: LogPosterior, known: Tensor, generator: torch.Generator) -> tuple[LogPosterior, Summits]:
    """The same of many observations, with the best summit of some."""
    rows = torch.randperm(len(target.outcomes), generator=generator)[:SUBSET]
    found = weighed(target.subset(rows), known, generator)[1]
    best = found.value.topk(1).indices
    target = replace(target, tails=_iterated(target, found.theta[best], SCREENING_ROUNDS)[0])
    spread = found.spread[best] * (SUBSET / len(target.outcomes))
    found = ascend(target, found.theta[best], spread=spread, unseen=NEARLY)
    return replace(target, tails=expected_weights(target, found.theta)[0]), found


def _iterated(target: LogPosterior, theta: Tensor, rounds: int) -> Tensor:
    """Weights given rows theta (C x p), after so many rounds: C x n."""
    weights = expected_weights(target, theta, left_out=True)
    for _ in range(rounds):
        weights = expected_weights(replace(target, tails=weights), theta)
    return weights
