"""Decisions whose best action follows from the belief at fixed points: nothing is searched."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.beliefs import Belief, Fantasy, Gaussian, Moments, Needs
from hentropy.beliefs.ahead import GaussianFantasy
from hentropy.beliefs.fixed import FixedPoints
from hentropy.decisions import Solved
from hentropy.inner.base import ActionSearch, Least

SEARCHED, SEARCHED_COMPONENTS = 4_096, 1_536
"""So many points stand for all while searching; fewer where each component counts, and not their average mean."""

NEGLIGIBLE = 1e-7
"""Points with less than this share of all that is at stake are left out while searching."""

BLOCK = 256
"""Points that are looked at together: enough for products of matrices, few enough for the cache."""


@dataclass(frozen=True)
class Block:
    """Some of the points: how much each counts (m'), and today's action there (... x m')."""

    points: FixedPoints
    counts: Tensor
    action: Tensor

    @property
    def count(self) -> int:
        """m'."""
        return self.counts.shape[0]


@dataclass(frozen=True)
class SolvedSearch(ActionSearch):
    """A solved decision at its points (m x d).

    Where losses are sums over the points, and the belief is Gaussian, points come in blocks: all of them, and those
    that stand for all while searching.
    """

    decision: Solved
    belief: Belief
    points: Tensor
    best: Tensor
    value: Tensor
    blocks: tuple[Block, ...] = ()
    searched: tuple[Block, ...] = ()

    @classmethod
    def prepare(cls, decision: Solved, belief: Belief) -> "SolvedSearch":
        """The best action now."""
        points = decision.settled_points.to(belief.X)
        if isinstance(belief, Gaussian) and decision.saved_by is not None:
            fixed = FixedPoints.prepare(belief, points, Needs.VARIANCE)
            best = decision.bayes_action(fixed.now)
            everywhere = tuple(_blocks(fixed, torch.ones_like(points[:, 0]), best))
            searched = tuple(_blocks(fixed, _counts(decision, fixed), best))
            return cls(decision, belief, points, best, decision.solve(fixed.now), everywhere, searched)
        moments = belief.moments(points, decision.needs)
        return cls(decision, belief, points, decision.bayes_action(moments), decision.solve(moments))

    def least(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> Least:
        """The least expected loss after each outcome, against that of today's action (or the entropy now).

        While searching (steps = 0) nobody asks for losses and reports: what is saved is all that counts.
        """
        if not self.blocks or not isinstance(fantasy, GaussianFantasy):
            moments = fantasy.pool_moments(self.points.unsqueeze(0), self.decision.needs)
            return self._judged(moments, self.best, (x.shape[0], fantasy.weights.shape[0], 1))
        if steps == 0:
            saved = torch.stack([self._saved(block, fantasy) for block in self.searched]).sum(0)
            return Least(-saved, torch.zeros_like(saved), saved)
        each = [self._judged_block(block, fantasy) for block in self.blocks]
        loss, stay = (torch.stack(losses).sum(0) for losses in ([p.loss for p in each], [p.stay for p in each]))
        return Least(loss, stay, torch.cat([part.actions for part in each], -1))

    def _saved(self, block: Block, fantasy: GaussianFantasy) -> Tensor:
        """What is saved after each outcome at the points of a block: b x N."""
        needs = self.decision.needs if self.decision.saved_by is None else self.decision.saved_by
        parts = self._after(block, fantasy, needs)
        return torch.cat([self.decision.saved_at(moments, block.action) @ block.counts for moments in parts])

    def _judged_block(self, block: Block, fantasy: GaussianFantasy) -> Least:
        parts = self._after(block, fantasy, self.decision.needs)
        each = [self._judged(moments, block.action, (*moments.mean.shape[1:3],)) for moments in parts]
        return Least(*(torch.cat(field) for field in zip(*((p.loss, p.stay, p.actions) for p in each), strict=True)))

    def _after(self, block: Block, fantasy: GaussianFantasy, needs: Needs) -> Iterator[Moments]:
        """Moments at the points of a block after each outcome, a few designs at a time: H x b' x N x m'.

        Where means suffice the loss is affine in f, or a function of the average mean: all components count as one.
        """
        if needs is Needs.MEAN:
            for part in fantasy.chunks(block.count):
                mean = block.points.means(part)
                yield Moments(mean.new_ones(1, 1, 1), mean.unsqueeze(0))
        else:
            yield from (block.points.moments(part) for part in fantasy.chunks(block.count * self.belief.components))

    def _judged(self, moments: Moments, best: Tensor, shape: tuple[int, ...]) -> Least:
        """From moments H x b x N (x 1) x m."""
        if not self.decision.scores_actions:
            loss = self.decision.solve(moments).expand(shape).reshape(shape[:2])
            return Least(loss, self.value.expand(loss.shape), loss)
        loss, stay, actions = self.decision.judged(moments, best)
        loss, stay = (each.expand(shape).reshape(shape[:2]) for each in (loss, stay))
        return Least(loss, stay, actions.squeeze(2) if len(shape) == 3 else actions)

    def numbers_per_design(self, outcomes: int) -> int:
        """Moments at all points after all outcomes; where those come in blocks, the reports after all outcomes."""
        m = self.points.shape[0]
        if self.blocks:
            return 4 * outcomes * max(self.best.numel(), self.belief.components)
        return 4 * outcomes * m * (m if self.decision.needs is Needs.JOINT else 1) * self.belief.components


def _blocks(fixed: FixedPoints, counts: Tensor, action: Tensor) -> Iterator[Block]:
    """The points that count, in blocks."""
    for index in counts.nonzero().squeeze(-1).split(BLOCK):
        yield Block(fixed.take(index), counts[index], action[..., index])


def _counts(decision: Solved, fixed: FixedPoints) -> Tensor:
    """How much each point counts while searching: m.

    Points where nothing is at stake do not. Of too many, points at equal distances along the sum of what is at stake
    stand for all: those where more is at stake are likelier, and count for less, so that sums stay right on average.
    """
    stake = decision.at_stake(fixed.now)
    order = stake.argsort()
    matters = torch.ones_like(stake)
    matters[order] = (stake[order].cumsum(0) > NEGLIGIBLE * stake.sum()).to(stake)
    most = SEARCHED if decision.saved_by is Needs.MEAN else SEARCHED_COMPONENTS
    if int(matters.sum()) <= most:
        return matters
    total = (stake * matters).cumsum(0)
    places = (torch.arange(most).to(stake) + 0.5) * (total[-1] / most)
    times = torch.bincount(torch.searchsorted(total, places).clamp_max(len(stake) - 1), minlength=len(stake))
    return times * total[-1] / (most * stake.clamp_min(1e-300))
