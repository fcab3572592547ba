"""Actions that are enumerated: a list of anything, a list of point sets, or all tuples of a small finite space."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from hentropy.core.action_search.base import (
    ActionSearch,
    BestAfterOutcome,
    chosen_losses,
    expected_loss,
    numbers_of_rows,
)
from hentropy.core.beliefs import Belief, Fantasy
from hentropy.core.decisions import Decision, Options, Points
from hentropy.errors import DecisionError
from hentropy.lazy import Tensor, torch

ENUMERABLE = 4096
"""Tuples of a finite space up to this many are all tried."""


ENUMERABLE_WORK = 2**19
"""Tuples times designs up to this many are all tried: a longer list has its own search even for single rows."""


def enumerable(rows: int, actions: Points) -> bool:
    """Whether every action on a list of this many designs is tried."""
    count = actions.count_on(rows)
    return count <= ENUMERABLE and count * rows <= ENUMERABLE_WORK


def all_tuples(points: Tensor, actions: Points) -> Tensor:
    """Every action of a finite space: m x k x d."""
    rows = range(points.shape[0])
    tuples = combinations(rows, actions.k) if actions.as_set else product(rows, repeat=actions.k)
    return points[torch.tensor(list(tuples), device=points.device)]


@dataclass(frozen=True)
class ListedSearch(ActionSearch):
    """Point sets m x k x d, all tried after every outcome."""

    decision: Decision
    belief: Belief
    rows: Tensor
    draws: Tensor
    best: Tensor
    value: Tensor

    @classmethod
    def prepare(cls, decision: Decision, belief: Belief, rows: Tensor, draws: Tensor) -> "ListedSearch":
        """Find the best row now."""
        losses = expected_loss(decision, belief.moments(decision.points(rows), decision.needs), rows, draws)
        return cls(decision, belief, rows, draws, rows[losses.argmin()], losses.min())

    def losses_after(self, fantasy: Fantasy, draws: Tensor) -> Tensor:
        """The expected loss of each row after each outcome: b x N x m."""
        moments = fantasy.shared_moments(self.decision.points(self.rows), self.decision.needs)
        return expected_loss(self.decision, moments, self.rows, draws)

    def best_after(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> BestAfterOutcome:
        """The best row after each outcome: exact, so `steps` are not needed."""
        losses = self.losses_after(fantasy, self.draws)
        choice = losses.argmin(-1)
        judged = losses if draws is None else self.losses_after(fantasy, draws)
        now = (self.rows == self.best).flatten(1).all(-1).nonzero()[0, 0]
        return BestAfterOutcome(chosen_losses(judged, choice), judged[..., now], self.rows[choice])

    def numbers_per_design(self, outcomes: int) -> int:
        """Moments of all rows after all outcomes."""
        return numbers_of_rows(self.decision, self.belief, self.rows, self.draws, outcomes)


@dataclass(frozen=True)
class OptionsSearch(ActionSearch):
    """Items of any kind, each with the points that its loss looks at."""

    decision: Decision
    belief: Belief
    items: Sequence[Any]
    points: tuple[Tensor, ...]
    draws: tuple[Tensor, ...]
    best: Any
    value: Tensor
    now: int

    @classmethod
    def prepare(cls, decision: Decision, belief: Belief, options: Options, draws: Tensor) -> "OptionsSearch":
        """Find the best item now."""
        points = tuple(torch.as_tensor(decision.points(item)).to(belief.X) for item in options.items)
        for item, at in zip(options.items, points, strict=True):
            if at.dim() != 2 or at.shape[-1] != belief.X.shape[-1]:
                raise DecisionError(
                    f"the points of option {item!r} have shape {tuple(at.shape)}; they must be K x {belief.X.shape[-1]}"
                )
        own_draws = tuple(draws[:, : at.shape[0] * len(belief.outcomes)] for at in points)
        losses = torch.stack(
            [
                expected_loss(decision, belief.moments(at, decision.needs), item, own)
                for item, at, own in zip(options.items, points, own_draws, strict=True)
            ]
        )
        now = int(losses.argmin())
        return cls(decision, belief, options.items, points, own_draws, options.items[now], losses[now], now)

    def best_after(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> BestAfterOutcome:
        """The best item after each outcome; `actions` are its indices."""
        table = self._table(fantasy, x.shape[0], self.draws)
        choice = table.argmin(-1)
        judged = table
        if draws is not None:
            judged = self._table(fantasy, x.shape[0], tuple(draws[:, : own.shape[1]] for own in self.draws))
        return BestAfterOutcome(chosen_losses(judged, choice), judged[..., self.now], choice)

    def _table(self, fantasy: Fantasy, b: int, draws: tuple[Tensor, ...]) -> Tensor:
        """The expected loss of each item after each outcome: b x N x items."""
        losses = []
        for item, at, own in zip(self.items, self.points, draws, strict=True):
            moments = fantasy.shared_moments(at.unsqueeze(0), self.decision.needs)
            losses.append(expected_loss(self.decision, moments, item, own).squeeze(-1))
        table = torch.stack(torch.broadcast_tensors(*losses), -1)
        return table.expand(b, fantasy.weights.shape[-1], len(self.items))

    def action(self, actions: Tensor, b: int, n: int) -> Any:
        """The item."""
        return self.items[int(actions[b, n])]

    def numbers_per_design(self, outcomes: int) -> int:
        """One item at a time: its joint moments and draws, and the table of all."""
        K = max(own.shape[1] for own in self.draws)
        return outcomes * (len(self.items) + 4 * K * (K + self.draws[0].shape[0])) * self.belief.components
