"""Decisions whose best action follows from the belief at fixed points: nothing is searched."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.beliefs import Belief, Fantasy, Gaussian, Moments, Needs
from hentropy.beliefs.ahead import GaussianFantasy
from hentropy.beliefs.fixed import FixedPoints
from hentropy.decisions import Solved
from hentropy.inner.base import ActionSearch, Least, expected_loss

SEARCHED = 16_384
"""So many numbers of each outcome are looked at while searching (points, for each component where each counts)."""

NEGLIGIBLE = 1e-7
"""Points with less than this share of all that is at stake are left out while searching."""


@dataclass(frozen=True)
class Sampled:
    """Points that stand for all while searching: how much each counts (m'), and today's action there (... x m')."""

    points: FixedPoints
    counts: Tensor
    action: Tensor


@dataclass(frozen=True)
class SolvedSearch(ActionSearch):
    """A solved decision at its points (m x d); `fixed` and `sampled` where losses are sums over points of Gaussians."""

    decision: Solved
    belief: Belief
    points: Tensor
    best: Tensor
    value: Tensor
    fixed: FixedPoints | None = None
    sampled: Sampled | None = None

    @classmethod
    def prepare(cls, decision: Solved, belief: Belief) -> "SolvedSearch":
        """The best action now."""
        points = decision.settled_points.to(belief.X)
        if isinstance(belief, Gaussian) and decision.saved_by is not None:
            fixed = FixedPoints.prepare(belief, points, Needs.VARIANCE)
            best = decision.bayes_action(fixed.now)
            sampled = _sample(decision, fixed, best)
            return cls(decision, belief, points, best, decision.solve(fixed.now), fixed, sampled)
        moments = belief.moments(points, decision.needs)
        return cls(decision, belief, points, decision.bayes_action(moments), decision.solve(moments))

    def least(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> Least:
        """The least expected loss after each outcome, against that of today's action (or the entropy now).

        While searching (steps = 0) nobody asks for losses and reports: what is saved is all that counts.
        """
        if self.fixed is None or self.sampled is None or not isinstance(fantasy, GaussianFantasy):
            moments = fantasy.pool_moments(self.points.unsqueeze(0), self.decision.needs)
            return self._judged(moments, steps, (x.shape[0], fantasy.weights.shape[0], 1))
        if steps == 0:
            saved = torch.cat([self._saved(part, self.sampled) for part in fantasy.chunks(self._numbers_searched)])
            return Least(-saved, torch.zeros_like(saved), saved)
        each = [
            self._judged(self.fixed.moments(part), steps, (*part.V.shape[1:3],))
            for part in fantasy.chunks(self.belief.components * self.fixed.count)
        ]
        return Least(*(torch.cat(field) for field in zip(*((p.loss, p.stay, p.actions) for p in each), strict=True)))

    def _judged(self, moments: Moments, steps: int, shape: tuple[int, ...]) -> Least:
        """From moments H x b x N (x 1) x m."""
        loss = self.decision.solve(moments).expand(shape).reshape(shape[:2])
        if not self.decision.scores_actions:
            return Least(loss, self.value.expand(loss.shape), loss)
        stay = expected_loss(self.decision, moments, self.best, moments.mean[..., :0]).expand(shape).reshape(shape[:2])
        if steps == 0:
            return Least(loss, stay, loss)
        actions = self.decision.bayes_action(moments)
        return Least(loss, stay, actions.squeeze(2) if len(shape) == 3 else actions)

    def _saved(self, fantasy: GaussianFantasy, sampled: Sampled) -> Tensor:
        """What is saved after each outcome, by the points that stand for all: b x N."""
        if self.decision.saved_by is Needs.MEAN:
            means = sampled.points.means(fantasy)
            moments = Moments(means.new_ones(1, 1, 1), means.unsqueeze(0))
        else:
            moments = sampled.points.moments(fantasy)
        return self.decision.saved_at(moments, sampled.action) @ sampled.counts

    @property
    def _numbers_searched(self) -> int:
        """How many numbers of each outcome are held at once while searching."""
        if self.sampled is None:
            return self.points.shape[0]
        return self.sampled.points.count * (1 if self.decision.saved_by is Needs.MEAN else self.belief.components)

    def numbers_per_design(self, outcomes: int) -> int:
        """Moments at all points after all outcomes; where those come in chunks, what the designs themselves need."""
        if self.sampled is not None:
            return 4 * outcomes * self.belief.components
        m = self.points.shape[0]
        return 4 * outcomes * m * (m if self.decision.needs is Needs.JOINT else 1) * self.belief.components


def _sample(decision: Solved, fixed: FixedPoints, best: Tensor) -> Sampled:
    """The points where something is at stake; of too many, some, more likely those where more is, which count for more.

    Taken at equal distances along the sum of what is at stake: points that lie close together in their list do not
    come together.
    """
    stake = decision.at_stake(fixed.now)
    order = stake.argsort()
    matters = torch.ones_like(stake, dtype=torch.bool)
    matters[order] = stake[order].cumsum(0) > NEGLIGIBLE * stake.sum()
    most = SEARCHED // (1 if decision.saved_by is Needs.MEAN else fixed.belief.components)
    counts = matters.to(stake)
    if int(matters.sum()) > most:
        total = (stake * counts).cumsum(0)
        place = (torch.arange(most, dtype=stake.dtype, device=stake.device) + 0.5) * (total[-1] / most)
        times = torch.bincount(torch.searchsorted(total, place).clamp_max(len(stake) - 1), minlength=len(stake))
        counts = times * total[-1] / (most * stake.clamp_min(1e-300))
    index = counts.nonzero().squeeze(-1)
    return Sampled(fixed.take(index), counts[index], best[..., index])
