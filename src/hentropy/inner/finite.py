"""Tuples of points of a finite space that are too many to enumerate: exchange, from the tuple that is best now."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hentropy.beliefs import Belief, Fantasy, Needs
from hentropy.decisions import Decision, Points
from hentropy.errors import DecisionError
from hentropy.inner.base import ActionSearch, Least, expected_loss
from hentropy.inner.exchange import exchange, gather_points

STARTS = 8
JOINT_CANDIDATES = 40
"""Where joint moments are needed, exchange after an outcome is limited to so many promising points."""


@dataclass(frozen=True)
class FiniteSearch(ActionSearch):
    """k points of a list (m x d), with the indices of the best tuple (k) and of points that may replace a member."""

    decision: Decision
    belief: Belief
    points: Tensor
    draws: Tensor
    best: Tensor
    value: Tensor
    index: Tensor
    promising: Tensor

    @classmethod
    def prepare(
        cls, decision: Decision, belief: Belief, points: Tensor, actions: Points, draws: Tensor, seed: int
    ) -> "FiniteSearch":
        """Exchange from several tuples; the points that did best as replacements are the promising ones."""
        m, k = points.shape[0], actions.k
        if not torch.equal(decision.points(points[:1].expand(k, -1)), points[:1].expand(k, -1)):
            raise DecisionError(
                f"{type(decision).__name__} looks at f elsewhere than at its action, and {actions.count_on(m)} actions"
                f" on {m} designs are too many to try: give the actions as Listed(rows), or take a smaller pool"
            )
        generator = torch.Generator().manual_seed(seed)
        first = torch.randint(m, (STARTS, k), generator=generator)
        if actions.as_set:
            first = torch.stack([torch.randperm(m, generator=generator)[:k] for _ in range(STARTS)])
        first = first.to(points.device)
        moments = belief.moments(points, decision.needs)
        index, losses = exchange(decision, moments, points, first, draws, sweeps=20, distinct=actions.as_set)
        winner = index[losses.argmin()]
        promising = torch.arange(m, device=points.device)
        if decision.needs is Needs.JOINT and m > JOINT_CANDIDATES:
            promising = cls._promising(decision, belief, points, winner, draws)
        return cls(decision, belief, points, draws, points[winner], losses.min(), winner, promising)

    @staticmethod
    def _promising(decision: Decision, belief: Belief, points: Tensor, winner: Tensor, draws: Tensor) -> Tensor:
        m, k = points.shape[0], winner.shape[0]
        least = torch.full((m,), torch.inf, dtype=points.dtype, device=points.device)
        for member in range(k):
            trial = winner.repeat(m, 1)
            trial[:, member] = torch.arange(m, device=points.device)
            actions = gather_points(points, trial)
            losses = expected_loss(decision, belief.moments(actions, decision.needs), actions, draws)
            least = torch.minimum(least, losses)
        least[winner] = -torch.inf
        return least.argsort()[: max(JOINT_CANDIDATES, 2 * k)]

    def least(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> Least:
        """Exchange from today's tuple after each outcome: one sweep while screening, more when refining."""
        listed = self.points[self.promising]
        where = torch.zeros(self.points.shape[0], dtype=torch.long, device=x.device)
        where[self.promising] = torch.arange(len(self.promising), device=x.device)
        moments = fantasy.pool_moments(listed.unsqueeze(0), self.decision.needs)  # H x b x N x 1 x M
        b, N = x.shape[0], fantasy.weights.shape[0]
        start = where[self.index].expand(b, N, 1, 1, -1)
        distinct = isinstance(self.decision.actions, Points) and self.decision.actions.as_set
        sweeps = 1 if steps == 0 else 4
        index, loss = exchange(self.decision, moments, listed, start, self.draws, sweeps, distinct)
        actions = listed[index[..., 0, 0, :]]
        loss = loss[..., 0, 0]
        today = self.best.expand(b, 1, *self.best.shape)
        stay = self._judge(fantasy, today, self.draws if draws is None else draws).expand(b, N)
        if draws is not None:
            loss = self._judge(fantasy, actions, draws)
        return Least(loss if draws is not None else torch.minimum(loss, stay), stay, actions)

    @torch.no_grad()
    def improved_by(self, actions: Tensor) -> "FiniteSearch":
        """With the best of these tuples as today's, if it is better than the one known."""
        flat = actions.flatten(0, 1)
        losses = expected_loss(self.decision, self.belief.moments(flat, self.decision.needs), flat, self.draws)
        best = losses.argmin()
        if not bool(losses[best] < self.value):
            return self
        index = torch.cdist(flat[best], self.points, compute_mode="donot_use_mm_for_euclid_dist").argmin(-1)
        return replace(self, best=flat[best], value=losses[best], index=index)

    def stay(self, fantasy: Fantasy, draws: Tensor | None = None) -> Tensor:
        """The expected loss of today's tuple after each outcome: b x (N or 1)."""
        today = self.best.expand(fantasy.values.shape[0], 1, *self.best.shape)
        return self._judge(fantasy, today, self.draws if draws is None else draws)

    def _judge(self, fantasy: Fantasy, actions: Tensor, draws: Tensor) -> Tensor:
        moments = fantasy.moments(self.decision.points(actions), self.decision.needs)
        return expected_loss(self.decision, moments, actions, draws)

    def numbers_per_design(self, outcomes: int) -> int:
        """Replacement losses of one member after all outcomes."""
        M, k = len(self.promising), self.index.shape[0]
        joint = k + self.draws.shape[0] if self.decision.needs is Needs.JOINT else 1
        return 4 * outcomes * M * k * joint * self.belief.components
