"""Descent for many small problems at once, in the unit cube.

Each problem has a step length of its own (Barzilai and Borwein): where a step does not lower the loss it is taken back
and shortened, so values never rise. One evaluation, value and gradient of all problems together, per step.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from hentropy.clock import Clock

Objective = Callable[[Tensor], Tensor]


def value_and_gradient(loss: Objective, u: Tensor) -> tuple[Tensor, Tensor]:
    """Losses B of problems at u (B x A), and each one's gradient."""
    u = u.detach().requires_grad_(True)
    with torch.enable_grad():
        value = loss(u)
        (gradient,) = torch.autograd.grad(value.sum(), u)
    return value.detach(), torch.nan_to_num(gradient)


def descend(
    loss: Objective, start: Tensor, steps: int, clock: Clock, scale: Tensor | None = None, reach: float = 0.05
) -> tuple[Tensor, Tensor]:
    """Lower each of B losses from start (B x A, in the unit cube): the points reached and their losses.

    `scale` (A) stretches coordinates whose gradients are small by construction; `reach` is the first step's length.
    """
    u = start.detach().clamp(0.0, 1.0)
    value, gradient = value_and_gradient(loss, u)
    stretch = torch.ones(u.shape[-1], dtype=u.dtype, device=u.device) if scale is None else scale.to(u)
    step = reach / (gradient * stretch).abs().amax(-1, keepdim=True).clamp_min(1e-300)
    for _ in range(steps):
        if clock.expired:
            break
        moved = (u - step * stretch * gradient).clamp(0.0, 1.0)
        new_value, new_gradient = value_and_gradient(loss, moved)
        better = (new_value < value).unsqueeze(-1)
        du, dg = moved - u, new_gradient - gradient
        curvature = (du * dg).sum(-1, keepdim=True)
        length = (du.square() / stretch).sum(-1, keepdim=True)
        secant = torch.where(curvature > 1e-14 * length, length / curvature.clamp_min(1e-300), 2.0 * step)
        longest = 0.5 / (new_gradient * stretch).abs().amax(-1, keepdim=True).clamp_min(1e-300)
        step = torch.where(better, torch.minimum(secant, longest), 0.25 * step)
        u = torch.where(better, moved, u)
        gradient = torch.where(better, new_gradient, gradient)
        value = torch.where(better.squeeze(-1), new_value, value)
    return u, value
