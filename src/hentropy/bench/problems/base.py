"""What a problem is: a function with its space, the decision it is used with, and the best that can be decided."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hentropy.core.decisions import Decision
from hentropy.core.spaces import DesignSpace

Function = Callable[[Tensor], Tensor]
"""Values at designs ... x d: ... ."""


@dataclass(frozen=True)
class Best:
    """The least true loss that any action has, the action that has it, and how it was found.

    The action is k x d for decisions that choose designs and T x m for level sets; None where only the loss is known.
    """

    loss: float
    how: str
    action: Tensor | None = None


@dataclass(frozen=True)
class Problem:
    """A function to experiment on. `best` is what the true function would allow; None where nobody looked for it."""

    name: str
    function: Function
    space: DesignSpace
    decision: Decision
    best: Best | None = None
    credit: str = ""

    def __call__(self, x: Tensor) -> Tensor:
        """Values at designs ... x d: ... ."""
        return self.function(x)

    def at(self, **params: float) -> float:
        """The value of one design given by name."""
        return float(self(self.space.encode(params)))

    @torch.no_grad()
    def loss(self, action: Any) -> float:
        """What an action costs under the true function."""
        decision = self.decision.within(self.space)
        return float(decision.loss(self(decision.points(action)), action))

    def regret(self, action: Any) -> float | None:
        """By how much the true loss of an action exceeds the best."""
        return None if self.best is None else self.loss(action) - self.best.loss
