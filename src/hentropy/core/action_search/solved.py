"""Decisions whose best action follows from the belief at fixed points: nothing is searched."""

from dataclasses import dataclass

from hentropy.core.action_search.base import ActionSearch, BestAfterOutcome
from hentropy.core.beliefs import Belief, Fantasy, Moments, Needs
from hentropy.core.beliefs.fixed import FixedPoints
from hentropy.core.decisions import Solved
from hentropy.lazy import Tensor, torch

SEARCHED_POINTS, SEARCHED_COMPONENTS = 4_096, 1_536
"""This many points stand for all while searching; fewer where each component counts, and not their average mean."""

NEGLIGIBLE_STAKE = 1e-7
"""Points with less than this share of all that is at stake are left out while searching."""

POINTS_PER_BLOCK = 256
"""Points that are looked at together: enough for products of matrices, few enough for the cache."""

MANY_BLOCKS = 6
"""Of this many blocks or more, half will do to rank designs."""


@dataclass(frozen=True)
class Block:
    """Some of the points: how many each stands for (m'), today's action there (... x m'), the decision about them."""

    points: FixedPoints
    counts: Tensor
    action: Tensor
    decision: Solved


@dataclass(frozen=True)
class SolvedSearch(ActionSearch):
    """A solved decision at its points (m x d).

    Where losses are sums over the points, and the belief is a mixture, points come in blocks; `searched` are those that
    stand for all while searching.
    """

    decision: Solved
    belief: Belief
    points: Tensor
    best: Tensor
    value: Tensor
    searched: tuple[Block, ...] = ()

    @classmethod
    def prepare(cls, decision: Solved, belief: Belief) -> "SolvedSearch":
        """The best action now. One GP has a formula for its gain, and needs nothing else."""
        points = decision.settled_points.to(belief.X)
        if belief.process is None or belief.components == 1 or decision.saved_by is None:
            moments = belief.moments(points, decision.needs)
            return cls(decision, belief, points, decision.bayes_action(moments), decision.solve(moments))
        moments = _moments_now(belief, points)
        best, counts = decision.bayes_action(moments), _counts(decision, moments)
        chosen = counts.nonzero().squeeze(-1)
        apart = -(
            -len(chosen) // POINTS_PER_BLOCK
        )  # points of a block lie so far apart in their list: each is a sample of all
        searched = tuple(
            Block(
                FixedPoints.prepare(belief, points[index], Needs.VARIANCE),
                counts[index],
                best[..., index],
                decision.among(index),
            )
            for index in (chosen[start::apart] for start in range(apart))
        )
        return cls(decision, belief, points, best, decision.solve(moments), searched)

    def best_after(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> BestAfterOutcome:
        """The smallest expected loss after each outcome, against that of today's action (or the entropy now).

        While searching (steps = 0) nobody asks for losses and reports: what is saved is all that counts.
        """
        if not self.searched:
            moments = fantasy.shared_moments(self.points.unsqueeze(0), self.decision.needs)
            return self._judged(self.decision, moments, self.best, (x.shape[0], fantasy.weights.shape[-1], 1))
        if steps == 0:
            # many designs are only to be ranked: half of many blocks do
            every = 2 if len(self.searched) >= MANY_BLOCKS and not x.requires_grad else 1
            blocks = self.searched[::every]
            saved = torch.stack([self._saved(block, fantasy) for block in blocks]).sum(0)
            saved = saved * (len(self.searched) / len(blocks))
            return BestAfterOutcome(-saved, torch.zeros_like(saved), saved)
        each = [self._judged_block(start, fantasy) for start in range(0, self.points.shape[0], POINTS_PER_BLOCK)]
        loss, stay = (torch.stack(losses).sum(0) for losses in ([p.loss for p in each], [p.stay for p in each]))
        return BestAfterOutcome(loss, stay, torch.cat([part.actions for part in each], -1))

    def _saved(self, block: Block, fantasy: Fantasy) -> Tensor:
        """What is saved after each outcome at the points of a block: b x N."""
        needs = self.decision.needs if self.decision.saved_by is None else self.decision.saved_by
        parts = block.points.after(fantasy, needs)
        return torch.cat([block.decision.saved_at(moments, block.action) @ block.counts for moments in parts])

    def _judged_block(self, start: int, fantasy: Fantasy) -> BestAfterOutcome:
        """At the points of one block, whose kernels are not kept: there may be many points."""
        here = slice(start, start + POINTS_PER_BLOCK)
        points = FixedPoints.prepare(self.belief, self.points[here], self.decision.needs)
        parts = points.after(fantasy, self.decision.needs)
        own, best = self.decision.among(here), self.best[..., here]
        each = [self._judged(own, moments, best, (*moments.mean.shape[1:3],)) for moments in parts]
        return BestAfterOutcome(
            *(torch.cat(field) for field in zip(*((p.loss, p.stay, p.actions) for p in each), strict=True))
        )

    def _judged(self, decision: Solved, moments: Moments, best: Tensor, shape: tuple[int, ...]) -> BestAfterOutcome:
        """From moments H x b x N (x 1) x m."""
        if not decision.scores_actions:
            loss = decision.solve(moments).expand(shape).reshape(shape[:2])
            return BestAfterOutcome(loss, self.value.expand(loss.shape), loss)
        loss, stay, actions = decision.judged(moments, best)
        loss, stay = (each.expand(shape).reshape(shape[:2]) for each in (loss, stay))
        return BestAfterOutcome(loss, stay, actions.squeeze(2) if len(shape) == 3 else actions)

    def numbers_per_design(self, outcomes: int) -> int:
        """Moments at all points after all outcomes; where those come in blocks, the reports after all outcomes."""
        m = self.points.shape[0] * len(self.belief.outcomes)
        if self.searched:
            return 4 * outcomes * max(self.best.numel(), self.belief.components)
        return 4 * outcomes * m * (m if self.decision.needs is Needs.JOINT else 1) * self.belief.components


def _moments_now(belief: Belief, points: Tensor) -> Moments:
    """Means and variances at points m x d, block by block: H x m."""
    parts = [belief.process.moments(block, Needs.VARIANCE) for block in points.split(POINTS_PER_BLOCK)]
    means, variances = ([part.mean for part in parts], [part.variance for part in parts])
    return belief.linked(Moments(parts[0].weights, torch.cat(means, -1), torch.cat(variances, -1)), Needs.VARIANCE)


def _counts(decision: Solved, moments: Moments) -> Tensor:
    """How much each point counts while searching: m.

    Points where nothing is at stake do not. Of too many, points at equal distances along the sum of what is at stake
    stand for all: those where more is at stake are likelier, and count for less, so that sums stay right on average.
    """
    stake = decision.at_stake(moments)
    order = stake.argsort()
    matters = torch.ones_like(stake)
    matters[order] = (stake[order].cumsum(0) > NEGLIGIBLE_STAKE * stake.sum()).to(stake)
    most = SEARCHED_POINTS if decision.saved_by is Needs.MEAN else SEARCHED_COMPONENTS
    if int(matters.sum()) <= most:
        return matters
    total = (stake * matters).cumsum(0)
    places = (torch.arange(most).to(stake) + 0.5) * (total[-1] / most)
    times = torch.bincount(torch.searchsorted(total, places).clamp_max(len(stake) - 1), minlength=len(stake))
    return times * total[-1] / (most * stake.clamp_min(1e-300))
