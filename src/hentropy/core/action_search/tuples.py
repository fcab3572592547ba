"""Tuples of listed points: all of them where they are few, else improved by exchanging one member at a time."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from hentropy.core.action_search.base import ActionSearch, BestAfterOutcome, expected_loss, take
from hentropy.core.action_search.survey import SURVEY_SHARE, survey
from hentropy.core.beliefs import Belief, Fantasy, Moments, Needs
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision, Points
from hentropy.core.spaces.rows import RowIndex
from hentropy.errors import DecisionError


def replacement_losses(
    decision: Decision, moments: Moments, points: Tensor, index: Tensor, member: int, draws: Tensor
) -> Tensor:
    """The expected loss of each tuple with one member replaced by each point.

    Moments H x batch x M at points (batch or none) x M x d, tuples index batch x S x k: batch x S x M.
    """
    M = points.shape[-2]
    trial = index.unsqueeze(-2).repeat(*[1] * (index.dim() - 1), M, 1)
    trial[..., member] = torch.arange(M, device=index.device)
    return expected_loss(decision, take(moments, trial), gather_points(points, trial), draws)


def gather_points(points: Tensor, index: Tensor) -> Tensor:
    """Rows of points M x d (common) or batch x M x d (each problem's own) by index batch x ... x k: ... x k x d."""
    if points.dim() == 2:
        return points[index]
    batch = points.shape[:-2]
    flat = index.reshape(*batch, -1, 1).expand(*batch, -1, points.shape[-1])
    return points.gather(-2, flat).reshape(*index.shape, points.shape[-1])


def exchange(
    decision: Decision, moments: Moments, points: Tensor, index: Tensor, draws: Tensor, sweeps: int, distinct: bool
) -> tuple[Tensor, Tensor]:
    """Sweeps of best replacements over all members: tuples batch x S x k and their losses batch x S.

    `distinct` forbids a point that another member holds. Losses never rise.
    """
    k = index.shape[-1]
    best = expected_loss(decision, take(moments, index), gather_points(points, index), draws)
    for _ in range(sweeps):
        before = index
        for member in range(k):
            losses = replacement_losses(decision, moments, points, index, member, draws)
            if distinct and k > 1:
                others = torch.cat([index[..., :member], index[..., member + 1 :]], -1)
                losses = losses.scatter(-1, others, torch.inf)
            value, choice = losses.min(-1)
            better = value < best
            column = torch.where(better, choice, index[..., member])
            index = torch.cat([index[..., :member], column.unsqueeze(-1), index[..., member + 1 :]], -1)
            best = torch.minimum(value, best)
        if torch.equal(before, index):
            break
    return index, best


STARTS = 8
RANDOM = 4
"""Random tuples from which exchange starts after an outcome, besides today's and a leading one."""

CANDIDATES = 512
PROMISING = {Needs.MEAN: 256, Needs.VARIANCE: 128, Needs.JOINT: 40}
"""Rows among which exchange after an outcome chooses; the more a loss needs, the fewer."""

SURPRISE = 2.0
"""Standard deviations by which a row is taken to be better or worse than its mean."""


@dataclass(frozen=True)
class TupleSearch(ActionSearch):
    """Rows m x d of a list, the indices of the best tuple (k), and the rows that may replace a member.

    `scores` (m) order the rows: by how much the best tuple with one of them improves, if f there surprises us.
    """

    decision: Decision
    belief: Belief
    points: Tensor
    draws: Tensor
    best: Tensor
    value: Tensor
    index: Tensor
    promising: Tensor
    scores: Tensor
    cut_short: bool

    @classmethod
    def prepare(
        cls, decision: Decision, belief: Belief, points: Tensor, actions: Points, draws: Tensor, clock: Clock
    ) -> "TupleSearch":
        """Exchange from several tuples, the same for every seed; rows that do well as replacements are promising."""
        m, k = points.shape[0], actions.k
        if not torch.equal(decision.points(points[:1].expand(k, -1)), points[:1].expand(k, -1)):
            raise DecisionError(
                f"{type(decision).__name__} looks at f elsewhere than at its action, and {actions.count_on(m)} actions"
                f" on {m} designs are too many to try: give the actions as Listed(rows), or take a smaller pool"
            )
        cut_short = False
        if m > CANDIDATES:
            mean, sd, looked = survey(belief, points, clock.share(SURVEY_SHARE))
            cut_short = len(looked) < m
            points = points[looked[_candidates(mean, sd, max(CANDIDATES, 2 * k))]]
            m = points.shape[0]
        generator = torch.Generator().manual_seed(0)
        first = torch.randint(m, (STARTS, k), generator=generator)
        if actions.as_set:
            first = torch.stack([torch.randperm(m, generator=generator)[:k] for _ in range(STARTS)])
        first = first.to(points.device)
        moments = belief.moments(points, decision.needs)
        index, losses = exchange(decision, moments, points, first, draws, sweeps=20, distinct=actions.as_set)
        winner, value = index[losses.argmin()], losses.min()
        scores = value - _with_a_surprise(decision, belief, moments, points, winner, draws)
        scores[winner] = torch.inf
        count = max(PROMISING[decision.needs], 2 * k)
        promising = scores.topk(min(m, count)).indices if m > count else torch.arange(m, device=points.device)
        return cls(decision, belief, points, draws, points[winner], value, winner, promising, scores, cut_short)

    @cached_property
    def _rows(self) -> RowIndex:
        return RowIndex(self.points)

    def promise(self, x: Tensor, pending: Tensor) -> Tensor | None:
        """The scores of the rows at designs b x d: b. Rows that were not kept come last, -inf if time ran out."""
        position = self._rows.find(x)
        others = -torch.inf if self.cut_short else float(self.scores.min()) - 1.0
        return torch.where(position >= 0, self.scores[position.clamp_min(0)], others)

    def best_after(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> BestAfterOutcome:
        """Exchange from today's tuple after each outcome: one sweep while screening, more when refining."""
        listed = self.points[self.promising]
        where = torch.zeros(self.points.shape[0], dtype=torch.long, device=x.device)
        where[self.promising] = torch.arange(len(self.promising), device=x.device)
        moments = fantasy.shared_moments(listed.unsqueeze(0), self.decision.needs)  # H x b x N x 1 x M
        b, N = x.shape[0], fantasy.weights.shape[0]
        start = where[self.index].expand(b, N, 1, 1, -1)
        distinct = self.decision.actions.as_set
        sweeps = 1
        if steps > 0:
            start, sweeps = torch.cat([start, self._other_starts(moments, listed, distinct)], -2), 4
        index, loss = exchange(self.decision, moments, listed, start, self.draws, sweeps, distinct)
        loss, best = loss[..., 0, :].min(-1)
        each = index[..., 0, :, :]  # b x N x starts x k
        actions = listed[each.gather(-2, best[..., None, None].expand(*best.shape, 1, each.shape[-1])).squeeze(-2)]
        today = self.best.expand(b, 1, *self.best.shape)
        stay = self._judge(fantasy, today, self.draws if draws is None else draws).expand(b, N)
        if draws is not None:
            loss = self._judge(fantasy, actions, draws)
        return BestAfterOutcome(loss if draws is not None else torch.minimum(loss, stay), stay, actions)

    def _other_starts(self, moments: Moments, listed: Tensor, distinct: bool) -> Tensor:
        """The rows best if taken for all members, after each outcome, and random tuples: b x N x 1 x starts x k."""
        k, M = self.index.shape[0], listed.shape[0]
        alike = torch.arange(M, device=listed.device)[:, None].expand(M, k)
        batch = moments.mean.shape[1:-1]
        every = alike.expand(*batch, M, k)
        losses = expected_loss(self.decision, take(moments, every), listed[every], self.draws)  # b x N x 1 x M
        leading = losses.topk(min(k, M), -1, largest=False).indices
        if not distinct or k > M:
            leading = leading[..., :1].expand(*leading.shape[:-1], k)
        generator = torch.Generator().manual_seed(1)
        random = torch.rand(RANDOM, max(k, M), generator=generator).argsort(-1)[:, :k].remainder(M).to(listed.device)
        return torch.cat([leading.unsqueeze(-2), random.expand(*batch, RANDOM, k)], -2)

    @torch.no_grad()
    def improved_by(self, actions: Tensor) -> "TupleSearch":
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


def _candidates(mean: Tensor, sd: Tensor, count: int) -> Tensor:
    """Rows with high or low values, now or with a surprise, and rows spread over the list: positions in order."""
    share, m = count // 8, len(mean)
    chosen = [torch.arange(0, m, max(1, m // (2 * share)), device=mean.device)]
    for surprise in (0.0, SURPRISE):
        chosen.append((mean + surprise * sd).topk(min(m, share)).indices)
        chosen.append((surprise * sd - mean).topk(min(m, share)).indices)
    chosen.append(sd.topk(min(m, share)).indices)
    return torch.cat(chosen).unique()


def _with_a_surprise(
    decision: Decision, belief: Belief, moments: Moments, points: Tensor, winner: Tensor, draws: Tensor
) -> Tensor:
    """The least expected loss of the best tuple with a member replaced by each row, f there as good as it may be: m."""
    sd = belief.moments(points, Needs.VARIANCE).variance.sqrt()
    sd[:, winner] = 0.0
    least = torch.full((points.shape[0],), torch.inf, dtype=points.dtype, device=points.device)
    for side in (-SURPRISE, 0.0, SURPRISE):
        moved = replace(moments, mean=moments.mean + side * sd)
        for member in range(winner.shape[0]):
            losses = replacement_losses(decision, moved, points, winner.unsqueeze(0), member, draws)[0]
            least = torch.minimum(least, losses)
    return least
