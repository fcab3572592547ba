"""Descent for many small problems at once, in the unit cube: one evaluation of all of them, with gradient, per step.

Losses of decisions have kinks just where their optima lie (capped distances, absolute deviations). Two methods that do
not mind:

`descend`  resilient steps use the signs of the gradient alone: each coordinate of each problem has a step length of its
           own, longer while the sign stays, half as long where it turns (Riedmiller and Braun 1993). A step that
           raises the loss may be taken back. Quick at first; where a kink runs at an angle to the axes it comes to rest
           on it.
`polish`   quasi-Newton steps follow such a kink: BFGS with a line search by bisection works without change on losses
           that have no gradient everywhere (Lewis and Overton 2013).

Both keep the best point seen.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hentropy.core.clock import Clock
from hentropy.lazy import Tensor, torch

Objective = Callable[[Tensor], Tensor]
Array = NDArray[Any]

SIGN_STEP_GROWTH, SIGN_STEP_CUT, LONGEST_SIGN_STEP = 1.2, 0.5, 0.15
FAILED_STEP_CUT = 0.25
"""By so much all steps of a problem are shorter after one that raised its loss."""

ENOUGH_DECREASE, ENOUGH_CURVATURE = 1e-4, 0.7
SHORTEST_SHARE = 0.1
"""The least share of a step that raised its loss which is tried next."""
FIRST_MOVE, LONGEST_MOVE = 0.02, 0.2


def value_and_gradient(loss: Objective, u: Tensor) -> tuple[Tensor, Tensor]:
    """Losses B of problems at u (B x A), and each one's gradient.

    Where a loss is no number it counts as infinite, and where its slope is none there is nothing to descend: the root
    of a covariance that is all but singular has no derivative.
    """
    u = u.detach().requires_grad_(True)
    with torch.enable_grad():
        value = loss(u)
        if not value.requires_grad:  # a loss of steps alone, such as a count: there is nothing to descend
            return value, torch.zeros_like(u)
        (gradient,) = torch.autograd.grad(value.sum(), u)
    good = gradient.isfinite().all(-1, keepdim=True)
    return value.detach().nan_to_num(nan=torch.inf), torch.where(good, gradient, 0.0)


def descend(
    loss: Objective, start: Tensor, steps: int, clock: Clock, reach: float | Tensor = 0.015, back: bool = False
) -> tuple[Tensor, Tensor]:
    """Lower each of B losses from start (B x A, in the unit cube): the best points seen and their losses.

    `reach` is the length of the first step of every coordinate: one for all, or B x A. With `back`, a step that raises
    a loss is taken back.
    """
    u = start.detach().clamp(0.0, 1.0)
    best, best_value = u, u.new_full(u.shape[:1], torch.inf)
    length, before = torch.ones_like(u) * reach, torch.zeros_like(u)
    for _ in range(steps):
        if clock.expired:
            break
        value, gradient = value_and_gradient(loss, u)
        failed = ((value > best_value) & back).unsqueeze(-1)
        best, best_value = _better(best, best_value, u, value)
        # back to the best point where a step failed: the sign there is the one that led away from it
        u, sign = torch.where(failed, best, u), torch.where(failed, before, gradient.sign_())
        turned = sign * before
        # 1.2 where the sign stayed, 0.5 where it turned, 1 where either is zero
        factor = torch.where(turned < 0, SIGN_STEP_CUT, torch.where(turned > 0, SIGN_STEP_GROWTH, 1.0))
        length = (length * torch.where(failed, FAILED_STEP_CUT, factor)).clamp_(max=LONGEST_SIGN_STEP)
        u = torch.addcmul(u, length, sign, value=-1.0).clamp_(0.0, 1.0)
        before = sign
    with torch.no_grad():
        return _better(best, best_value, u, loss(u))


def _better(best: Tensor, best_value: Tensor, u: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    lower = value < best_value
    return torch.where(lower.unsqueeze(-1), u, best), torch.where(lower, value, best_value)


def polish(
    loss: Objective, start: Tensor, steps: int, clock: Clock, metric: Tensor | None = None,
    fresh: Tensor | None = None, first_move: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Lower each of B losses from start (B x A) by BFGS: the best points, their losses, the inverse Hessians B x A x A.

    `metric`, the inverse Hessians of similar problems, saves the steps that learn them; problems marked `fresh` (B)
    begin without, by a move of the length `first_move` (B) in its largest coordinate. A step is a hundred operations
    on small arrays: NumPy takes a third of PyTorch's time for them.
    """

    def evaluate(u: Array) -> tuple[Array, Array]:
        value, gradient = value_and_gradient(loss, torch.from_numpy(u).to(start.device))
        return value.cpu().numpy(), gradient.cpu().numpy()

    with np.errstate(all="ignore"):
        u = start.detach().clamp(0.0, 1.0).cpu().numpy()
        found = _bfgs(evaluate, u, steps, clock, _array(metric), _array(fresh), _array(first_move))
    best, best_value, M = (torch.from_numpy(each).to(start.device) for each in found)
    return best, best_value, M


def _array(values: Tensor | None) -> Array | None:
    return None if values is None else values.detach().cpu().numpy()


def _bfgs(
    evaluate: Callable[[Array], tuple[Array, Array]], u: Array, steps: int, clock: Clock, metric: Array | None,
    fresh: Array | None, first_move: Array | None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    value, gradient = evaluate(u)
    best, best_value = u, value
    M, fresh = _first_metric(gradient, metric, fresh, FIRST_MOVE if first_move is None else first_move)
    way, t = _direction(u, gradient, M), np.ones_like(value)
    low, high = np.zeros_like(t), np.full_like(t, np.inf)
    for _ in range(steps):
        if clock.expired:
            break
        new = (u + t[:, None] * way).clip(0.0, 1.0)
        new_value, new_gradient = evaluate(new)
        least = new_value < best_value
        best, best_value = np.where(least[:, None], new, best), np.where(least, new_value, best_value)
        s = new - u
        before, after = _dot(gradient, s), _dot(new_gradient, s)  # slopes along the step, at either end
        lower = new_value <= value + ENOUGH_DECREASE * before
        bends = after >= ENOUGH_CURVATURE * before
        accepted = lower & bends
        # shorter where the loss did not fall, to the minimum of a parabola; longer where it still falls steeply
        high, low = np.where(lower, high, t), np.where(lower & ~bends, t, low)
        share = np.where(low > 0.0, 0.5, (-0.5 * before / (new_value - value - before)).clip(SHORTEST_SHARE, 0.5))
        share = np.where(np.isfinite(share), share, SHORTEST_SHARE)
        t = np.where(np.isinf(high), 2.0 * t, low + share * (high - low))
        t[accepted], low[accepted], high[accepted] = 1.0, 0.0, np.inf
        M = _learned(M, s, new_gradient - gradient, after - before, accepted, fresh)
        fresh = fresh & ~accepted
        take = accepted[:, None]
        u, gradient = np.where(take, new, u), np.where(take, new_gradient, gradient)
        value = np.where(accepted, new_value, value)
        way = np.where(take, _direction(u, gradient, M), way)
    return best, best_value, M


def _dot(a: Array, b: Array) -> Array:
    """Rows of a times rows of b: B."""
    product: Array = np.einsum("ba,ba->b", a, b)
    return product


def _times(M: Array, v: Array) -> Array:
    """Matrices times vectors: B x A."""
    product: Array = np.einsum("bij,bj->bi", M, v)
    return product


def _first_metric(
    gradient: Array, metric: Array | None, fresh: Array | None, move: float | Array
) -> tuple[Array, Array]:
    """Where nothing is known, the metric that makes the first move as long as this."""
    B, A = gradient.shape
    if fresh is None:
        fresh = np.full(B, metric is None)
    scale = move / np.abs(gradient).max(-1).clip(1e-300)
    plain = scale[:, None, None] * np.eye(A, dtype=gradient.dtype)
    return plain if metric is None else np.where(fresh[:, None, None], plain, metric), fresh


def _direction(u: Array, gradient: Array, M: Array) -> Array:
    """The quasi-Newton direction, not longer than LONGEST_MOVE, nor out of the cube from one of its faces: B x A.

    Where it does not lead down (rounding, or a face), the steepest one instead.
    """
    outward = (u <= 0.0) * 1.0 - (u >= 1.0)  # the sign of a gradient that points out
    free = np.where(outward * gradient > 0, 0.0, gradient)
    newton = _times(M, free)
    newton = np.where(outward * newton > 0, 0.0, newton)
    steepest = free * (FIRST_MOVE / np.abs(free).max(-1, keepdims=True).clip(1e-300))
    way = np.where(_dot(newton, free)[:, None] > 0, newton, steepest)
    return way * (-LONGEST_MOVE / np.abs(way).max(-1, keepdims=True).clip(LONGEST_MOVE))


def _learned(M: Array, s: Array, y: Array, sy: Array, accepted: Array, fresh: Array) -> Array:
    """The metric after steps s that changed the gradient by y, where they were accepted and the loss bends: B x A x A.

    The first step of a `fresh` problem scales its metric.
    """
    yy = _dot(y, y)
    learns = accepted & (sy > 1e-14 * np.sqrt(_dot(s, s) * yy))
    first = fresh & learns
    if first.any():
        scale = (sy / yy.clip(1e-300))[:, None, None]
        M = np.where(first[:, None, None], scale * np.eye(M.shape[-1], dtype=M.dtype), M)
    rho = learns / np.where(learns, sy, 1.0)
    My = _times(M, y)
    half = (0.5 * (rho + rho * rho * _dot(y, My)))[:, None] * s - rho[:, None] * My
    pair = np.stack([half, s], -2)
    M += pair.swapaxes(-2, -1) @ pair[:, ::-1]  # half s^T + s half^T
    return M
