"""Today's best action, searched on: descent from many places beside the best actions, again while that finds better.

Kinks, where capped distances or orders of members change, hold descent away from the optimum that they cross, and the
best of a few descents has then a loss that is too high by up to a third of what the best experiment gains. All gains
are too large by that. A proposal compares designs, for which it is the same, and has no time for this; a stated entropy
or gain is searched for so.
"""

from dataclasses import replace

from hentropy.core.action_search.base import loss_now
from hentropy.core.action_search.descent import polish
from hentropy.core.action_search.incumbent import SEED, Incumbent
from hentropy.core.beliefs import Belief
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision
from hentropy.core.decisions.actions import Domain
from hentropy.lazy import Tensor, torch

RESTARTS, RESTART_STEPS, RESTART_ROUNDS = 48, 20, 12
RESTARTS_KEPT = 4
RESTART_SCALES = (0.005, 0.01, 0.03, 0.1)
"""In each round, this many restarts beside the best few actions that lie apart, at these distances in the unit cube."""

RESTARTS_APART = 0.01
RESTART_ENOUGH = 1e-4
"""A round that lowers the loss by less than this share of the spread of the losses it met is the last."""


@torch.no_grad()
def restarted(
    decision: Decision, belief: Belief, domain: Domain, draws: Tensor, found: Incumbent, clock: Clock
) -> Incumbent:
    """The incumbent, or a better one first among its contenders; `left` is what the last round still found."""

    def loss(u: Tensor) -> Tensor:
        return loss_now(decision, belief, domain.to_action(u), draws)

    generator = torch.Generator().manual_seed(SEED)
    u = domain.to_cube(found.contenders)
    metric, left = found.metric, torch.zeros_like(found.value)
    value = loss_now(decision, belief, found.contenders, draws)
    today = value[0]  # on these draws, which may be more than those that chose it
    u, value = (each[_apart(u, value)] for each in (u, value))
    for _ in range(RESTART_ROUNDS):
        beside = u[torch.arange(RESTARTS, device=u.device) % len(u)] + _steps(domain, generator).to(u)
        before = value[0]
        ends, values, metrics = polish(loss, torch.cat([u, beside]), RESTART_STEPS, clock)
        kept = _apart(ends, values)
        u, value, metric = ends[kept], values[kept], metrics[kept[0]]
        left = before - value[0]
        if clock.expired or not bool(left > RESTART_ENOUGH * (values.max() - value[0])):
            break
    best = domain.project(domain.to_action(u))
    losses = loss_now(decision, belief, best, draws)
    least = int(losses.argmin())
    left = left.clamp_min(0.0)
    if not bool(losses[least] < today):
        return replace(found, value=today, left=left)
    contenders = torch.cat([best[least : least + 1], found.contenders])
    return replace(found, contenders=contenders, value=losses[least], metric=metric, left=left)


def _steps(domain: Domain, generator: torch.Generator) -> Tensor:
    """Random steps of several lengths in the unit cube; every other one moves each member by chance only: S x A."""
    k = domain.event[0]
    noise = torch.randn(RESTARTS, k, domain.size // k, generator=generator, dtype=torch.float64)
    some = torch.rand(RESTARTS, k, 1, generator=generator) < 1.0 / k
    some[::2] = True
    scale = torch.tensor(RESTART_SCALES, dtype=torch.float64)[torch.arange(RESTARTS) // 2 % len(RESTART_SCALES)]
    return scale[:, None] * (noise * some).flatten(-2)


def _apart(u: Tensor, values: Tensor) -> Tensor:
    """Indices of the best few points (S x A) by their values that lie apart, the best first."""
    kept: list[int] = []
    for i in values.argsort().tolist():
        if not kept or bool(((u[kept] - u[i]).abs().amax(-1) > RESTARTS_APART).all()):
            kept.append(i)
        if len(kept) == RESTARTS_KEPT:
            break
    return torch.tensor(kept, device=u.device)
