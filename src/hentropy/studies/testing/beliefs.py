"""What every belief must do."""

import torch
from torch import Tensor

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.spaces import DesignSpace
from hentropy.studies.testing.relations import SIGMAS, replicated, require, require_close

REPLICATES = 8
OUTCOMES = 256


def check_belief(belief: Belief, space: DesignSpace, *, tolerance: float = 1e-6, seed: int = 0) -> None:
    """Raise an `AssertionError` if the belief is inconsistent.

    Means, variances and covariances agree; batches equal loops; looking ahead to an outcome equals conditioning on it;
    the average belief after an observation is the current one (the law of total expectation); draws have the stated
    moments.
    """
    points = space.sample(6, seed).to(belief.X)
    x = space.sample(4, seed + 1).to(belief.X)
    _check_moments(belief, points, tolerance)
    _check_batches(belief, points, x, tolerance)
    _check_conditioning(belief, points, x, tolerance, seed)
    for q in (1, 2):
        _check_total_expectation(belief, points, x.reshape(-1, q, x.shape[-1]), tolerance, seed)
    _check_draws(belief, points, seed)


def _check_moments(belief: Belief, points: Tensor, tolerance: float) -> None:
    H, m = belief.components, points.shape[0] * len(belief.outcomes)
    mean, var, joint = (belief.moments(points, needs) for needs in Needs)
    require(tuple(mean.mean.shape) == (H, m), f"the means have shape {tuple(mean.mean.shape)}, not {(H, m)}")
    require_close("component weights do not sum to one", mean.weights.sum(), torch.ones(()).to(points), 0.0)
    for other in (var, joint):
        require_close("the means depend on what else is asked for", other.mean, mean.mean, 0.0, tolerance)
    cov = joint.covariance
    require_close("a covariance is not symmetric", cov, cov.mT, 0.0, tolerance)
    require_close("variances are not the diagonal of the covariance", var.variance, _diagonal(cov), 0.0, tolerance)
    least = float(torch.linalg.eigvalsh(cov).min())
    require(least >= -tolerance * float(cov.abs().max()), f"a covariance has the negative eigenvalue {least:.3g}")


def _diagonal(cov: Tensor) -> Tensor:
    return cov.diagonal(dim1=-2, dim2=-1)


def _check_batches(belief: Belief, points: Tensor, x: Tensor, tolerance: float) -> None:
    pairs = points.reshape(3, 2, -1)
    together = belief.moments(pairs, Needs.JOINT)
    nodes = belief.nodes(4, 1)
    ahead = belief.look_ahead(x.unsqueeze(1)).fantasy(nodes).shared_moments(pairs, Needs.VARIANCE)
    for i, pair in enumerate(pairs):
        alone = belief.moments(pair, Needs.JOINT)
        require_close("a batch of points is not a loop over it (mean)", together.mean[:, i], alone.mean, 0.0, tolerance)
        require_close(
            "a batch of points is not a loop over it", together.covariance[:, i], alone.covariance, 0.0, tolerance
        )
    ahead_mean = ahead.mean.expand(-1, x.shape[0], -1, -1, -1)  # a belief may leave a dimension to broadcasting
    for i, design in enumerate(x):
        alone = belief.look_ahead(design.view(1, 1, -1)).fantasy(nodes).shared_moments(pairs, Needs.VARIANCE)
        require_close("a batch of designs is not a loop over it", ahead_mean[:, i], alone.mean[:, 0], 0.0, tolerance)


def _check_conditioning(belief: Belief, points: Tensor, x: Tensor, tolerance: float, seed: int) -> None:
    for q in (1, 2):
        designs = x[:q].unsqueeze(0)
        fantasy = belief.look_ahead(designs).fantasy(belief.nodes(3, q, seed))
        own = fantasy.moments(points.expand(1, 1, *points.shape), Needs.JOINT)
        pool = fantasy.shared_moments(points.unsqueeze(0), Needs.JOINT)
        mean, var = own.total()
        values, o = fantasy.values, len(belief.measured)
        require(tuple(values.shape) == (1, 3, q * o), f"outcomes of {q} designs have shape {tuple(values.shape)}")
        values = values if o == 1 else values.unflatten(-1, (q, o))
        require_close("moments and shared_moments differ", pool.total()[0][:, :, 0], mean, 0.0, tolerance)
        require_close("moments and shared_moments differ (variance)", pool.total()[1][:, :, 0], var, 0.0, tolerance)
        for n in range(3):
            after_mean, after_var = belief.condition(designs[0], values[0, n]).moments(points, Needs.VARIANCE).total()
            require_close("looking ahead is not conditioning (mean)", mean[0, n], after_mean, 0.0, tolerance)
            rows = var.expand(1, 3, -1)
            require_close("looking ahead is not conditioning (variance)", rows[0, n], after_var, 0.0, tolerance)


def _check_total_expectation(belief: Belief, points: Tensor, x: Tensor, tolerance: float, seed: int) -> None:
    now = belief.moments(points, Needs.VARIANCE)
    now_mean, now_var = now.total()
    # nodes with exact moments show exact laws, unless outcomes are not normal
    exact = belief.components == 1 and x.shape[-2] == len(belief.measured) == 1 and now.latent is None
    rows = []
    for replicate in range(REPLICATES):
        nodes = belief.nodes(OUTCOMES, x.shape[-2], None if exact else seed + replicate)
        fantasy = belief.look_ahead(x).fantasy(nodes)
        mean, var = fantasy.shared_moments(points.unsqueeze(0), Needs.VARIANCE).total()  # b x N x 1 x m
        second = var + (mean - now_mean).square()
        average = [
            torch.einsum("n,bnm->bm", nodes.weights, v.expand(x.shape[0], OUTCOMES, 1, -1)[:, :, 0])
            for v in (mean, second)
        ]
        rows.append(torch.stack(average))
    (mean, spread), error = replicated(torch.stack(rows))
    # quasi-random replicates agree better with each other than with the integral where an outcome is nearly known
    slack = SIGMAS * error + 2e-3 * now_var.sqrt().max()
    slack = torch.zeros_like(slack) if exact else slack
    require_close("the mean after observing is not the mean now, on average", mean, now_mean, slack[0], tolerance)
    require_close(
        "variances before and after observing do not add up",
        spread,
        now_var,
        slack[1] + 5e-3 * now_var.max() * (not exact),
        tolerance,
    )


def _check_draws(belief: Belief, points: Tensor, seed: int) -> None:
    mean, var = belief.moments(points, Needs.VARIANCE).total()
    for what, draws in (("sample", belief.sample(points, 4096, seed)), ("paths", belief.paths(4096, seed)(points))):
        shape = (points.shape[0],) if len(belief.outcomes) == 1 else (points.shape[0], len(belief.outcomes))
        require(tuple(draws.shape) == (4096, *shape), f"{what} gave shape {tuple(draws.shape)}")
        draws = draws.flatten(1)
        error = draws.std(0) / 4096**0.5
        require_close(f"{what}: the draws have another mean", draws.mean(0), mean, SIGMAS * error, 1e-6)
        require_close(f"{what}: the draws have another variance", draws.var(0), var, 0.2 * var, 1e-6)
