"""Nested: the inner minimum is solved for every outcome, and the envelope theorem gives the gradient in the design."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.core.action_search import descend
from hentropy.core.beliefs import Nodes
from hentropy.core.gain import Appraisal
from hentropy.core.solvers.base import Cost, Finalists, Solver, per_cost
from hentropy.core.solvers.screening import screen
from hentropy.errors import InputError


def ascend_nested(
    appraisal: Appraisal, x: Tensor, nodes: Nodes, steps: int, inner_steps: int, cost: Cost | None
) -> tuple[Tensor, Tensor]:
    """Ascend designs R x q x d by envelope gradients: designs reached and their gains R."""
    R, q, d = x.shape
    space = appraisal.space
    known = 0.0 if cost is None else appraisal.of_pending(nodes)

    def minus_gain(u: Tensor) -> Tensor:
        designs = space.from_unit(u.reshape(R, q, d))
        return -per_cost(appraisal.with_gradient(designs, nodes, inner_steps) - known, designs, cost)

    u, losses = descend(minus_gain, space.to_unit(x).reshape(R, q * d), steps, appraisal.clock)
    return space.from_unit(u.reshape(R, q, d)), -losses


@dataclass(frozen=True)
class Nested(Solver):
    """Slow and thorough: screened designs, every inner minimum solved by descent at every step."""

    restarts: int = 8
    outcomes: int = 16
    steps: int = 25
    inner_steps: int = 10
    screened: int = 256

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """Ascent by envelope gradients from screened designs."""
        space = appraisal.space
        if space.points is not None:
            raise InputError("the nested search needs a continuous space; on a list of designs use Finite() or Auto()")
        formula = appraisal.applicable(q)
        if formula is not None and not formula.differentiable:
            raise InputError(f"the gain of {appraisal.decision!r} has no gradient for the nested search; use Auto()")
        first = screen(appraisal, cost, self.screened, self.outcomes, self.restarts)
        generator = torch.Generator().manual_seed(appraisal.seed + 4)
        order = torch.stack([torch.randperm(first.shape[0], generator=generator) for _ in range(q)], -1)
        order[:, 0] = torch.arange(first.shape[0])
        start = first[:, 0][order.to(first.device)]  # R x q x d
        designs, gains = ascend_nested(
            appraisal, start, appraisal.nodes(self.outcomes, q), self.steps, self.inner_steps, cost
        )
        best = gains.argsort(descending=True)[:2]
        return Finalists(space.project(designs[best]), not appraisal.clock.expired)
