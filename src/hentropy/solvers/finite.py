"""Finite: designs from a list, all of them valued, in chunks under the memory bound."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hentropy.errors import InputError
from hentropy.gain import Appraisal
from hentropy.solvers.base import Cost, Finalists, Solver, leading, per_cost


@dataclass(frozen=True)
class Finite(Solver):
    """Every design of the list is valued; several are chosen one after the other, each knowing the ones before."""

    outcomes: int = 16
    finalists: int = 4

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """The designs with the greatest gain, those pending or chosen already left out while others remain."""
        if appraisal.space.points is None:
            raise InputError("the finite search needs a list of designs: make the space a Pool, or use Auto()")
        points = appraisal.space.points.to(appraisal.belief.X)
        chosen: list[Tensor] = []
        for turn in range(q):
            known = replace(appraisal, pending=torch.cat([appraisal.pending, *chosen]))
            x = _unused(points, known.pending).unsqueeze(-2)
            scores = per_cost(known.screen(x, known.nodes(self.outcomes, 1)), x, cost)
            best = leading(x, scores, self.finalists if turn == q - 1 else 1, appraisal, apart=0.0)
            if turn == q - 1:
                before = torch.cat(chosen) if chosen else points[:0]
                sets = torch.cat([before.expand(best.shape[0], *before.shape), best], -2)
                return Finalists(sets, not appraisal.clock.expired)
            chosen.append(best[0])
        raise InputError(f"at least one design must be proposed, got q = {q}")


def _unused(points: Tensor, taken: Tensor) -> Tensor:
    if len(taken) == 0:
        return points
    free = (points.unsqueeze(1) != taken).any(-1).all(-1)
    return points[free] if bool(free.any()) else points
