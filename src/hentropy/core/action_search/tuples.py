"""Tuples of listed points, too many to try them all: improved by exchange, now and after each outcome."""

from dataclasses import dataclass, replace
from functools import cached_property

from hentropy.core.action_search.base import (
    ActionSearch,
    BestAfterOutcome,
    expected_loss,
    listed_moments,
    surprises,
    take,
    wide,
)
from hentropy.core.action_search.exchange import exchange, replacement_losses
from hentropy.core.action_search.survey import SURVEY_SHARE, survey
from hentropy.core.beliefs import Belief, Fantasy, Moments, Needs
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision, Points
from hentropy.core.spaces.rows import RowIndex
from hentropy.errors import DecisionError
from hentropy.lazy import Tensor, torch

STARTS, WIDE_STARTS = 8, 3
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

    helps_other_designs = True

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
        starts = WIDE_STARTS if wide(decision, draws.shape[-1]) else STARTS
        generator = torch.Generator().manual_seed(0)
        first = torch.randint(m, (starts, k), generator=generator)
        if actions.as_set:
            first = torch.stack([torch.randperm(m, generator=generator)[:k] for _ in range(starts)])
        first = first.to(points.device)
        moments = listed_moments(decision, belief.moments(points, decision.needs), k)
        index, losses = exchange(decision, moments, points, first, draws, sweeps=20, distinct=actions.as_set)
        winner, value = index[losses.argmin()], losses.min()
        scores = value - _with_a_surprise(decision, belief, moments, points, winner, draws)
        scores[winner] = torch.inf
        count = max(PROMISING[decision.needs], 2 * k)
        promising = scores.topk(min(m, count)).indices if m > count else torch.arange(m, device=points.device)
        if moments.point_mass:  # what chose among drawn functions does not judge
            value = expected_loss(decision, belief.moments(points[winner], decision.needs), points[winner], draws)
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
        moments = listed_moments(self.decision, moments, len(self.index))
        b, N = x.shape[0], fantasy.weights.shape[-1]
        start = where[self.index].expand(b, N, 1, 1, -1)
        distinct = self.decision.actions.as_set
        is_wide = wide(self.decision, self.draws.shape[-1])
        sweeps = 2 if is_wide and steps > 0 else 1
        if steps > 0 and not is_wide:
            start, sweeps = torch.cat([start, self._other_starts(moments, listed, distinct)], -2), 4
        index, loss = exchange(self.decision, moments, listed, start, self.draws, sweeps, distinct)
        loss, best = loss[..., 0, :].min(-1)
        each = index[..., 0, :, :]  # b x N x starts x k
        actions = listed[each.gather(-2, best[..., None, None].expand(*best.shape, 1, each.shape[-1])).squeeze(-2)]
        today = self.best.expand(b, 1, *self.best.shape)
        stay = self._judge(fantasy, today, self.draws if draws is None else draws).expand(b, N)
        if draws is not None or is_wide:
            loss = self._judge(fantasy, actions, self.draws if draws is None else draws)
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
        M, k = len(self.promising), self.index.shape[0] * len(self.belief.outcomes)
        joint = k + self.draws.shape[0] if self.decision.needs is Needs.JOINT else 1
        return 4 * outcomes * M * k * joint * self.belief.components


def _candidates(mean: Tensor, sd: Tensor, count: int) -> Tensor:
    """Rows with high or low values, now or with a surprise, and rows spread over the list: positions in order.

    Means and standard deviations are m, or m x o of several outcomes: these share the places.
    """
    share, m = count // 8, len(mean)
    chosen = [torch.arange(0, m, max(1, m // (2 * share)), device=mean.device)]
    columns = [(mean, sd)] if mean.dim() == 1 else list(zip(mean.unbind(-1), sd.unbind(-1), strict=True))
    own = min(m, max(1, share // len(columns)))
    for value, spread in columns:
        for surprise in (0.0, SURPRISE):
            chosen.append((value + surprise * spread).topk(own).indices)
            chosen.append((surprise * spread - value).topk(own).indices)
        chosen.append(spread.topk(own).indices)
    return torch.cat(chosen).unique()


def _with_a_surprise(
    decision: Decision, belief: Belief, moments: Moments, points: Tensor, winner: Tensor, draws: Tensor
) -> Tensor:
    """The smallest expected loss of the best tuple with a member replaced by each row, with f optimistic there: m."""
    spread = belief.moments(points, Needs.VARIANCE)
    each = len(spread.variance) == len(
        moments.mean
    )  # functions drawn from all components share what these say together
    sd = (spread.variance if each else spread.total()[1].unsqueeze(0)).sqrt()
    sd.unflatten(-1, (-1, moments.outcomes))[:, winner] = 0.0
    least = torch.full((points.shape[0],), torch.inf, dtype=points.dtype, device=points.device)
    sides = surprises(moments.outcomes, points.shape[0], sd)
    for side in torch.cat([torch.zeros_like(sides[:1]), sides]):
        moved = replace(moments, mean=moments.mean + SURPRISE * side * sd)
        for member in range(winner.shape[0]):
            losses = replacement_losses(decision, moved, points, winner.unsqueeze(0), member, draws)[0]
            least = torch.minimum(least, losses)
    return least
