"""Descent for many small problems at once, in the unit cube: one evaluation of all of them, with gradient, per step.

Losses of decisions have kinks just where their optima lie (capped distances, absolute deviations). Two methods that do
not mind:

`descend`  resilient steps use the signs of the gradient alone: each coordinate of each problem has a step length of its
           own, longer while the sign stays, half as long where it turns (Riedmiller and Braun 1993). Quick at first;
           where a kink runs at an angle to the axes it comes to rest on it.
`polish`   quasi-Newton steps follow such a kink: BFGS with a line search by bisection works without change on losses
           that have no gradient everywhere (Lewis and Overton 2013).

Both keep the best point seen.
"""

import math
from collections.abc import Callable

from hentropy.core.clock import Clock
from hentropy.lazy import Tensor, torch

Objective = Callable[[Tensor], Tensor]

LONGER, SHORTER, LONGEST = 1.2, 0.5, 0.15

ENOUGH_DECREASE, ENOUGH_CURVATURE = 1e-4, 0.7
FIRST_MOVE, LONGEST_MOVE = 0.02, 0.2


def value_and_gradient(loss: Objective, u: Tensor) -> tuple[Tensor, Tensor]:
    """Losses B of problems at u (B x A), and each one's gradient."""
    u = u.detach().requires_grad_(True)
    with torch.enable_grad():
        value = loss(u)
        if not value.requires_grad:  # a loss of steps alone, such as a count: there is nothing to descend
            return value, torch.zeros_like(u)
        (gradient,) = torch.autograd.grad(value.sum(), u)
    return value.detach(), gradient


def descend(loss: Objective, start: Tensor, steps: int, clock: Clock, reach: float = 0.015) -> tuple[Tensor, Tensor]:
    """Lower each of B losses from start (B x A, in the unit cube): the best points seen and their losses.

    `reach` is the length of the first step of every coordinate.
    """
    u = start.detach().clamp(0.0, 1.0)
    best, best_value = u, u.new_full(u.shape[:1], torch.inf)
    length, before = torch.full_like(u, reach), torch.zeros_like(u)
    for _ in range(steps):
        if clock.expired:
            break
        value, gradient = value_and_gradient(loss, u)
        best, best_value = _better(best, best_value, u, value)
        sign = gradient.sign_()
        turned = sign * before
        # 1.2 where the sign stayed, 0.5 where it turned, 1 where either is zero
        factor = torch.where(turned < 0, SHORTER, torch.where(turned > 0, LONGER, 1.0))
        length = (length * factor).clamp_(max=LONGEST)
        u = torch.addcmul(u, length, sign, value=-1.0).clamp_(0.0, 1.0)
        before = sign
    with torch.no_grad():
        return _better(best, best_value, u, loss(u))


def _better(best: Tensor, best_value: Tensor, u: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    lower = value < best_value
    return torch.where(lower.unsqueeze(-1), u, best), torch.where(lower, value, best_value)


def polish(
    loss: Objective, start: Tensor, steps: int, clock: Clock, metric: Tensor | None = None, fresh: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Lower each of B losses from start (B x A) by BFGS: the best points, their losses, the inverse Hessians B x A x A.

    `metric`, the inverse Hessians of similar problems, saves the steps that learn them; problems marked `fresh` (B)
    begin without.
    """
    u = start.detach().clamp(0.0, 1.0)
    value, gradient = value_and_gradient(loss, u)
    best, best_value = u, value
    M, fresh = _first_metric(gradient, metric, fresh)
    way, t = _direction(u, gradient, M), torch.ones_like(value)
    low, high = torch.zeros_like(t), torch.full_like(t, math.inf)
    for _ in range(steps):
        if clock.expired:
            break
        new = torch.addcmul(u, t.unsqueeze(-1), way).clamp_(0.0, 1.0)
        new_value, new_gradient = value_and_gradient(loss, new)
        best, best_value = _better(best, best_value, new, new_value)
        s = new - u
        before, after = (gradient * s).sum(-1), (new_gradient * s).sum(-1)  # slopes along the step, at either end
        lower = new_value <= torch.add(value, before, alpha=ENOUGH_DECREASE)
        bends = after >= ENOUGH_CURVATURE * before
        accepted = lower & bends
        # bisection: shorter where the loss did not fall, longer where it still falls steeply
        high, low = torch.where(lower, high, t), torch.where(lower & ~bends, t, low)
        t = torch.where(accepted, 1.0, torch.where(high.isinf(), 2.0 * t, 0.5 * (low + high)))
        low, high = low.masked_fill_(accepted, 0.0), high.masked_fill_(accepted, math.inf)
        M = _learned(M, s, new_gradient - gradient, after - before, accepted, fresh)
        fresh = fresh & ~accepted
        if bool(accepted.all()):
            u, gradient, value = new, new_gradient, new_value
            way = _direction(u, gradient, M)
            continue
        take = accepted.unsqueeze(-1)
        u, gradient = torch.where(take, new, u), torch.where(take, new_gradient, gradient)
        value = torch.where(accepted, new_value, value)
        way = torch.where(take, _direction(u, gradient, M), way)
    return best, best_value, M


def _first_metric(gradient: Tensor, metric: Tensor | None, fresh: Tensor | None) -> tuple[Tensor, Tensor]:
    """Where nothing is known, the metric that makes the first move FIRST_MOVE long."""
    B, A = gradient.shape
    if fresh is None:
        fresh = torch.full((B,), metric is None, device=gradient.device)
    scale = FIRST_MOVE / gradient.abs().amax(-1).clamp_min(1e-300)
    plain = scale.view(B, 1, 1) * torch.eye(A, dtype=gradient.dtype, device=gradient.device)
    return plain if metric is None else torch.where(fresh.view(B, 1, 1), plain, metric), fresh


def _direction(u: Tensor, gradient: Tensor, M: Tensor) -> Tensor:
    """The quasi-Newton direction, not longer than LONGEST_MOVE, nor out of the cube from one of its faces: B x A.

    Where it does not lead down (rounding, or a face), the steepest one instead.
    """
    outward = torch.where(u <= 0.0, 1.0, torch.where(u >= 1.0, -1.0, 0.0))  # the sign of a gradient that points out
    free = torch.where(outward * gradient > 0, 0.0, gradient)
    newton = (M @ free.unsqueeze(-1)).squeeze(-1)
    newton = torch.where(outward * newton > 0, 0.0, newton)
    down = (newton * free).sum(-1, keepdim=True) > 0
    way = newton
    if not bool(down.all()):
        steepest = free * (FIRST_MOVE / free.abs().amax(-1, keepdim=True).clamp_min(1e-300))
        way = torch.where(down, newton, steepest)
    return way * (-LONGEST_MOVE / way.abs().amax(-1, keepdim=True).clamp_min(LONGEST_MOVE))


def _learned(M: Tensor, s: Tensor, y: Tensor, sy: Tensor, accepted: Tensor, fresh: Tensor) -> Tensor:
    """The metric after steps s that changed the gradient by y, where they were accepted and the loss bends: B x A x A.

    The first step of a `fresh` problem scales its metric.
    """
    learns = accepted & (sy > 1e-14 * (s.norm(dim=-1) * y.norm(dim=-1)))
    first = fresh & learns
    if bool(first.any()):
        scale = (sy / y.square().sum(-1).clamp_min(1e-300)).view(-1, 1, 1)
        eye = torch.eye(M.shape[-1], dtype=M.dtype, device=M.device)
        M = torch.where(first.view(-1, 1, 1), scale * eye, M)
    rho = learns / torch.where(learns, sy, 1.0)
    My = (M @ y.unsqueeze(-1)).squeeze(-1)
    half = (0.5 * (rho + rho.square() * (y * My).sum(-1))).unsqueeze(-1) * s - rho.unsqueeze(-1) * My
    # M + half s^T + s half^T
    pair, other = torch.stack([half, s], -1), torch.stack([s, half], -2)
    return torch.baddbmm(M, pair, other)
