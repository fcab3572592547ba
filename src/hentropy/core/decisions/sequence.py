"""`Sequence`: find designs whose values run through a list of targets, if wanted close to each other in turn."""

import math
from collections.abc import Sequence as Targets
from typing import Any

import torch
from torch import Tensor

from hentropy.core.beliefs import Moments, Needs
from hentropy.core.decisions.actions import Points
from hentropy.core.decisions.base import Decision
from hentropy.core.decisions.distances import l2
from hentropy.core.decisions.normal import absolute
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError


class Sequence(Decision):
    """m designs with f(a_i) near target y_i: loss sum |f(a_i) - y_i|^power + link x length of the path through them."""

    needs = Needs.VARIANCE

    def __init__(self, targets: Targets[float], power: int = 2, link: float = 0.0) -> None:
        if len(targets) == 0 or not all(math.isfinite(t) for t in targets):
            raise InputError(f"a sequence needs at least one target, all finite, got {list(targets)}")
        if power not in (1, 2):
            raise InputError(f"the power of a sequence's deviations is 1 or 2, got {power}")
        if not (math.isfinite(link) and link >= 0):
            raise InputError(f"the weight of the path length must be finite and not negative, got {link}")
        self.actions = Points(len(targets))
        self.targets = tuple(float(t) for t in targets)
        self.power = power
        self.link = float(link)
        self._targets = torch.tensor(self.targets, dtype=torch.float64)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """sum |f(a_i) - y_i|^power + link x path length."""
        miss = (f - self._targets.to(f)).abs()
        return (miss if self.power == 1 else miss.square()).sum(-1) + self._length(a)

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """(mean - y)^2 + variance for power 2, the folded normal's mean for power 1."""
        gap, var = moments.mean - self._targets.to(moments.mean), moments.variance
        each = absolute(gap, var) if self.power == 1 else gap.square() + var
        return each.sum(-1) + self._length(a)

    def _length(self, a: Tensor) -> Tensor | float:
        return 0.0 if self.link == 0 else self.link * l2(a[..., 1:, :], a[..., :-1, :]).sum(-1)

    def describe(self, a: Any, space: DesignSpace) -> list[dict[str, Any]]:
        """Each design with its target."""
        return [{**row, "target": target} for row, target in zip(super().describe(a, space), self.targets, strict=True)]
