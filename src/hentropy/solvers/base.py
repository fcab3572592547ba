"""What a solver is: it turns an appraisal into a few designs worth auditing."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.gain import Appraisal

Cost = Callable[[Tensor], Tensor]
"""What a set of designs costs: b x q x d to b, above zero."""


@dataclass(frozen=True)
class Finalists:
    """Designs that a search found best, F x q x d, first the one it would choose; `complete` unless time ran out."""

    x: Tensor
    complete: bool


class Solver(ABC):
    """From a gain to the next designs."""

    @abstractmethod
    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """The most promising sets of q designs."""


def per_cost(gains: Tensor, x: Tensor, cost: Cost | None) -> Tensor:
    """Gains (b) per cost of the designs (b x q x d)."""
    return gains if cost is None else gains / cost(x)


def leading(x: Tensor, scores: Tensor, count: int, appraisal: Appraisal, apart: float) -> Tensor:
    """The designs with the greatest scores that lie apart from each other in the unit cube: at most count x q x d."""
    unit = appraisal.space.to_unit(x).flatten(1)
    scores = scores.clone()
    chosen: list[int] = []
    for _ in range(min(count, x.shape[0])):
        best = int(scores.argmax())
        if not bool(scores[best] > -torch.inf):
            break
        chosen.append(best)
        scores[(unit - unit[best]).norm(dim=-1) <= apart] = -torch.inf
    return x[chosen] if chosen else x[:1]
