"""Probing: improve actions by random steps that are kept where they help.

Descent stops at kinks and ridges, which losses with caps, absolute values and whole numbers are full of. Steps that
move one member of an action, or all of it at once, go on from there; their length follows their success.
"""

import torch
from torch import Tensor

from hentropy.core.action_search.base import loss_now
from hentropy.core.action_search.domains import Domain
from hentropy.core.beliefs import Belief
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision

TRIES = 32
FIRST_STEP = 0.15
LONGER, SHORTER = 1.1, 0.75


@torch.no_grad()
def probe(
    decision: Decision, belief: Belief, domain: Domain, draws: Tensor, actions: Tensor, sweeps: int, seed: int,
    clock: Clock,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Actions S x event after so many rounds of tries, and their losses, the best first; none is worse than before."""
    S, k = actions.shape[0], domain.event[0]
    generator = torch.Generator().manual_seed(seed)
    losses = loss_now(decision, belief, actions, draws)
    step = torch.full((S, 1, 1), FIRST_STEP, dtype=actions.dtype, device=actions.device)
    every = torch.arange(S, device=actions.device)
    for _ in range(sweeps):
        if clock.expired:
            break
        moved = _direction(S, k, domain.size, generator).to(actions)
        trial = (domain.to_unit(actions).unsqueeze(1) + step * moved).clamp(0.0, 1.0)
        tried = domain.project(domain.to_action(trial))  # S x T x event
        value, choice = loss_now(decision, belief, tried, draws).min(1)
        better = value < losses
        actions = torch.where(better.view(S, *[1] * len(domain.event)), tried[every, choice], actions)
        losses = torch.minimum(value, losses)
        step = step * torch.where(better, LONGER, SHORTER).view(S, 1, 1)
    order = losses.argsort()
    return actions[order], losses[order]


def _direction(S: int, k: int, size: int, generator: torch.Generator) -> Tensor:
    """Random directions S x T x size of random length; every other one moves each of the k members by chance only."""
    noise = torch.randn(S, TRIES, k, size // k, generator=generator, dtype=torch.float64)
    length = torch.rand(S, TRIES, 1, 1, generator=generator, dtype=torch.float64)
    some = torch.rand(S, TRIES, k, 1, generator=generator) < 1.0 / k
    some[:, ::2] = True
    return (noise * length * some).flatten(-2)
