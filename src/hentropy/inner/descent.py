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
from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.clock import Clock

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


@dataclass(frozen=True)
class _Place:
    """Where each problem stands: u, its gradient (B x A), its value (B), the inverse Hessian so far (B x A x A)."""

    u: Tensor
    value: Tensor
    gradient: Tensor
    metric: Tensor

    def direction(self) -> Tensor:
        """The quasi-Newton direction, not longer than LONGEST_MOVE, nor out of the cube from one of its faces: B x A.

        Where it does not lead down (rounding, or a face), the steepest one instead.
        """
        low, high = self.u <= 0.0, self.u >= 1.0
        gradient = torch.where((low & (self.gradient > 0)) | (high & (self.gradient < 0)), 0.0, self.gradient)
        newton = -(self.metric @ gradient.unsqueeze(-1)).squeeze(-1)
        newton = torch.where((low & (newton < 0)) | (high & (newton > 0)), 0.0, newton)
        down = (newton * gradient).sum(-1, keepdim=True) < 0
        way = torch.where(down, newton, _first_move(gradient) * -gradient)
        return way * (LONGEST_MOVE / way.abs().amax(-1, keepdim=True).clamp_min(LONGEST_MOVE))

    def moved(self, accepted: Tensor, u: Tensor, value: Tensor, gradient: Tensor, fresh: Tensor) -> "_Place":
        """With the accepted (B) of the new points, and the metric updated by what they tell of the curvature.

        The first update scales the metric of a problem that is `fresh` (B).
        """
        s, y = u - self.u, gradient - self.gradient
        sy = (s * y).sum(-1)
        learns = accepted & (sy > 1e-14 * s.norm(dim=-1) * y.norm(dim=-1))
        metric = self.metric
        if bool((fresh & learns).any()):
            scale = (sy / y.square().sum(-1).clamp_min(1e-300)).view(-1, 1, 1)
            eye = torch.eye(u.shape[-1], dtype=u.dtype, device=u.device)
            metric = torch.where((fresh & learns).view(-1, 1, 1), scale * eye, metric)
        rho = torch.where(learns, 1.0 / torch.where(learns, sy, 1.0), 0.0).view(-1, 1, 1)
        My = metric @ y.unsqueeze(-1)  # B x A x 1
        s_row, y_row = s.unsqueeze(-2), y.unsqueeze(-2)
        half = (0.5 * (rho + rho.square() * (y_row @ My))) * s.unsqueeze(-1) - rho * My
        change = half @ s_row
        take = accepted.unsqueeze(-1)
        return _Place(
            torch.where(take, u, self.u),
            torch.where(accepted, value, self.value),
            torch.where(take, gradient, self.gradient),
            metric + change + change.mT,
        )


def _first_move(gradient: Tensor) -> Tensor:
    """The factor that makes a step along the gradient FIRST_MOVE long: B x 1."""
    return FIRST_MOVE / gradient.abs().amax(-1, keepdim=True).clamp_min(1e-300)


def polish(
    loss: Objective, start: Tensor, steps: int, clock: Clock, metric: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Lower each of B losses from start (B x A) by BFGS: the best points, their losses, the inverse Hessians B x A x A.

    `metric`, the inverse Hessians of similar problems, saves the steps that learn them.
    """
    u = start.detach().clamp(0.0, 1.0)
    value, gradient = value_and_gradient(loss, u)
    eye = torch.eye(u.shape[-1], dtype=u.dtype, device=u.device)
    fresh = torch.full(u.shape[:1], metric is None, device=u.device)
    place = _Place(u, value, gradient, _first_move(gradient).unsqueeze(-1) * eye if metric is None else metric)
    best, best_value = u, value
    way, t = place.direction(), torch.ones_like(value)
    low, high = torch.zeros_like(t), torch.full_like(t, math.inf)
    for _ in range(steps):
        if clock.expired:
            break
        u = torch.addcmul(place.u, t.unsqueeze(-1), way).clamp_(0.0, 1.0)
        value, gradient = value_and_gradient(loss, u)
        best, best_value = _better(best, best_value, u, value)
        slope = (place.gradient * (u - place.u)).sum(-1)
        lower = value <= place.value + ENOUGH_DECREASE * slope
        bends = (gradient * (u - place.u)).sum(-1) >= ENOUGH_CURVATURE * slope
        accepted = lower & bends
        # bisection: shorter where the loss did not fall, longer where it still falls steeply
        high, low = torch.where(lower, high, t), torch.where(lower & ~bends, t, low)
        place = place.moved(accepted, u, value, gradient, fresh)
        fresh = fresh & ~accepted
        way = torch.where(accepted.unsqueeze(-1), place.direction(), way)
        t = torch.where(accepted, 1.0, torch.where(high.isinf(), 2.0 * t, 0.5 * (low + high)))
        low, high = torch.where(accepted, 0.0, low), torch.where(accepted, math.inf, high)
    return best, best_value, place.metric
