"""Descent for many small problems at once, in the unit cube.

Losses of decisions have kinks just where their optima lie (capped distances, absolute deviations), so methods that
trust the length of a gradient stall there. Resilient steps use its signs alone: each coordinate of each problem has a
step length of its own, longer while the sign stays, half as long where it turns (Riedmiller and Braun 1993). One
evaluation, value and gradient of all problems together, per step. The best point seen is kept.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from hentropy.clock import Clock

Objective = Callable[[Tensor], Tensor]

LONGER, SHORTER, LONGEST = 1.2, 0.5, 0.15


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
