"""Tuples of listed points, too many to try them all: improved by exchange, now and after each outcome."""

from dataclasses import dataclass, replace
from functools import cached_property

from hentropy.core.action_search.base import (
    ActionSearch,
    BestAfterOutcome,
    expected_loss,
    listed_moments,
    losses_after,
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

LIST_STARTS, WIDE_LIST_STARTS = 8, 3
RANDOM_STARTS = 4
"""Random tuples from which exchange starts after an outcome, besides today's and a leading one."""

FIRST_ROWS = 512
"""Rows among which exchange first looks for today's best tuple; passes over the list then add those that it lacks."""

PASSES, ADDED_ROWS = 3, 64
PASSED_ROWS = {Needs.MEAN: 2**15, Needs.VARIANCE: 2**15, Needs.JOINT: 2**10}
"""Passes over the list while they improve today's tuple, how many rows each adds, and of how many rows: of longer lists
those that are best alone, now or with a surprise."""

ROWS_AT_ONCE = {Needs.MEAN: 2**12, Needs.VARIANCE: 2**10, Needs.JOINT: 96}
"""Rows of a pass that are looked at together: with few, joint covariances are small."""

PROMISING = {Needs.MEAN: 256, Needs.VARIANCE: 128, Needs.JOINT: 40}
"""Rows among which exchange after an outcome chooses; the more a loss needs, the fewer."""

LIFTED, LIFTED_OUTCOMES, LIFTED_OF = 96, 6, 2**11
"""An audit adds the rows that some of the outcomes of these very designs bring furthest into today's tuple: so many of
each design, after so many outcomes, of so many rows with the best scores."""

JUDGED_REPLACEMENTS = 48
"""Of wide tuples, whose members are exchanged by drawn functions, this many replacements are judged by true losses."""

ROW_SURPRISE = 2.0
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
        """Exchange from several tuples, the same for every seed; rows that do well as replacements are promising.

        Passes over the list see to it that no row in place of a member makes today's tuple better.
        """
        m, k = points.shape[0], actions.k
        if not torch.equal(decision.points(points[:1].expand(k, -1)), points[:1].expand(k, -1)):
            raise DecisionError(
                f"{type(decision).__name__} looks at f elsewhere than at its action, and {actions.count_on(m)} actions"
                f" on {m} designs are too many to try: give the actions as Listed(rows), or take a smaller pool"
            )
        first = passed = torch.arange(m, device=points.device)
        if m > FIRST_ROWS:
            mean, sd, _, looked = survey(belief, points, clock.share(SURVEY_SHARE))
            points = points[looked]
            observed = RowIndex(points).find(belief.X)
            first = torch.cat([_candidates(mean, sd, max(FIRST_ROWS, 2 * k)), observed[observed >= 0]]).unique()
            passed = _best_alone(decision, belief, points, first, k, draws, PASSED_ROWS[decision.needs])
        cut_short, m = len(points) < m, len(points)
        starts = WIDE_LIST_STARTS if wide(decision, draws.shape[-1]) else LIST_STARTS
        generator = torch.Generator().manual_seed(0)
        tuples = torch.randint(len(first), (starts, k), generator=generator)
        if actions.as_set:
            tuples = torch.stack([torch.randperm(len(first), generator=generator)[:k] for _ in range(starts)])
        tuples = first[tuples.to(points.device)]
        winner, value = _exchanged(decision, belief, points, first, tuples, draws, actions.as_set)
        for _ in range(PASSES if len(first) < m else 0):
            if clock.share(SURVEY_SHARE).expired:
                break
            losses = _replacing(decision, belief, points, winner, passed, draws, actions.as_set, surprised=False)
            first = torch.cat(
                [first, passed[losses.topk(min(ADDED_ROWS, len(passed)), largest=False).indices]]
            ).unique()
            better, lower = _exchanged(decision, belief, points, first, winner.unsqueeze(0), draws, actions.as_set)
            if not bool(lower < value):
                break
            winner, value = better, lower
        scores = torch.full((m,), -torch.inf).to(points)
        scores[passed] = value - _replacing(
            decision, belief, points, winner, passed, draws, actions.as_set, surprised=True
        )
        scores = torch.where(torch.isinf(scores), scores[passed].min() - 1.0, scores)
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
        rows = self.promising
        is_wide = wide(self.decision, self.draws.shape[-1])
        if steps > 0 and not is_wide and len(rows) < len(self.points):
            rows = torch.cat([rows, self._lifted(fantasy)]).unique()
        listed = self.points[rows]
        where = torch.zeros(self.points.shape[0], dtype=torch.long, device=x.device)
        where[rows] = torch.arange(len(rows), device=x.device)
        moments = fantasy.shared_moments(listed.unsqueeze(0), self.decision.needs)  # H x b x N x 1 x M
        moments = listed_moments(self.decision, moments, len(self.index))
        b, N = x.shape[0], fantasy.weights.shape[-1]
        start = where[self.index].expand(b, N, 1, 1, -1)
        distinct = self.decision.actions.as_set
        sweeps = 2 if is_wide and steps > 0 else 1
        if steps > 0 and not is_wide:
            start, sweeps = torch.cat([start, self._other_starts(moments, listed, distinct)], -2), 4
        index, loss = exchange(self.decision, moments, listed, start, self.draws, sweeps, distinct)
        loss, best = loss[..., 0, :].min(-1)
        each = index[..., 0, :, :]  # b x N x starts x k
        actions = listed[each.gather(-2, best[..., None, None].expand(*best.shape, 1, each.shape[-1])).squeeze(-2)]
        loss, actions = self._with_designs(fantasy, x, loss, actions)
        today = self.best.expand(b, 1, *self.best.shape)
        stay = losses_after(self.decision, fantasy, today, self.draws if draws is None else draws).expand(b, N)
        if draws is not None or is_wide:
            loss = losses_after(self.decision, fantasy, actions, self.draws if draws is None else draws)
        return BestAfterOutcome(loss if draws is not None else torch.minimum(loss, stay), stay, actions)

    def _with_designs(self, fantasy: Fantasy, x: Tensor, loss: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Losses b x N and actions b x N x k x d, or today's tuple with a member replaced by a design where better."""
        k = len(self.index)
        position = self._rows.find(x)  # b x q
        barred = position < 0
        if self.decision.actions.as_set and k > 1:
            barred = barred | (position.unsqueeze(-1) == self.index).any(-1)
        if bool(barred.all()):
            return loss, actions
        member = torch.eye(k, dtype=torch.bool, device=x.device).unsqueeze(-1)  # k x k x 1
        moved = torch.where(member, x[:, :, None, None], self.best).flatten(1, 2)  # b x (q k) x k x d
        moments = fantasy.moments(self.decision.points(moved).unsqueeze(1), self.decision.needs)
        losses = expected_loss(self.decision, moments, moved.unsqueeze(1), self.draws)  # b x N x (q k)
        own = barred.repeat_interleave(k, 1).unsqueeze(1)
        least, choice = losses.masked_fill(own, torch.inf).min(-1)
        chosen = moved[torch.arange(len(x), device=x.device)[:, None], choice]
        better = least < loss
        return torch.minimum(least, loss), torch.where(better[..., None, None], chosen, actions)

    @torch.no_grad()
    def _lifted(self, fantasy: Fantasy) -> Tensor:
        """The rows that some outcome of these designs makes the best replacements in today's tuple: positions."""
        N = fantasy.weights.shape[-1]
        few = fantasy.some(torch.linspace(0, N - 1, min(N, LIFTED_OUTCOMES)).round().long().to(self.points.device))
        order = self.scores.topk(min(len(self.scores), LIFTED_OF)).indices
        parts = []
        for some in order.split(ROWS_AT_ONCE[self.decision.needs]):
            points = self.points[torch.cat([self.index, some])]
            moments = few.shared_moments(points.unsqueeze(0), self.decision.needs)  # H x b x N' x 1 x (k + C)
            parts.append(self._least_with_each(moments, points))
        gap = torch.cat(parts, -1)  # b x rows
        return order[gap.topk(min(LIFTED, len(order)), largest=False).indices.flatten()].unique()

    def _least_with_each(self, moments: Moments, points: Tensor) -> Tensor:
        """How far below today's tuple it is with a row in place of a member, after the best outcome: b x C.

        Moments at the members and C rows (points (k + C) x d), H x b x N x 1 x (k + C).
        """
        k = len(self.index)
        tuples = torch.arange(k, device=points.device).expand(*moments.mean.shape[1:-1], 1, k)
        stay = expected_loss(self.decision, take(moments, tuples), points[tuples], self.draws)
        least = torch.full_like(moments.mean[0, ..., : len(points) - k].unsqueeze(-2), torch.inf)
        for member in range(k):
            losses = replacement_losses(self.decision, moments, points, tuples, member, self.draws)
            least = torch.minimum(least, losses[..., k:] - stay.unsqueeze(-1))
        return least[:, :, 0, 0].amin(1)

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
        random = (
            torch.rand(RANDOM_STARTS, max(k, M), generator=generator).argsort(-1)[:, :k].remainder(M).to(listed.device)
        )
        return torch.cat([leading.unsqueeze(-2), random.expand(*batch, RANDOM_STARTS, k)], -2)

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
        return losses_after(self.decision, fantasy, today, self.draws if draws is None else draws)

    def numbers_per_design(self, outcomes: int) -> int:
        """Replacement losses of one member after all outcomes."""
        M, k = len(self.promising) + LIFTED, self.index.shape[0] * len(self.belief.outcomes)
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
        for surprise in (0.0, ROW_SURPRISE):
            chosen.append((value + surprise * spread).topk(own).indices)
            chosen.append((surprise * spread - value).topk(own).indices)
        chosen.append(spread.topk(own).indices)
    return torch.cat(chosen).unique()


def _best_alone(
    decision: Decision, belief: Belief, points: Tensor, known: Tensor, k: int, draws: Tensor, count: int
) -> Tensor:
    """The rows that are best if a tuple has no others, now or if f there is surprising, and those known: positions.

    At most `count` and those; all rows where they are not more.
    """
    m = len(points)
    if m <= count:
        return torch.arange(m, device=points.device)
    now, surprised = [], []
    for some in points.split(ROWS_AT_ONCE[Needs.VARIANCE]):
        moments = belief.moments(some.unsqueeze(1), decision.needs)  # H x P x o
        sd = belief.moments(some.unsqueeze(1), Needs.VARIANCE).total()[1].sqrt()  # P x o
        alike = torch.zeros(len(some), k, dtype=torch.long, device=points.device)
        tuples = some.unsqueeze(1).expand(-1, k, -1)
        losses = []
        sides = surprises(moments.outcomes, 1, sd)
        for side in torch.cat([torch.zeros_like(sides[:1]), sides]):
            moved = replace(moments, mean=moments.mean + ROW_SURPRISE * side * sd)
            losses.append(expected_loss(decision, take(moved, alike), tuples, draws))
        now.append(losses[0])
        surprised.append(torch.stack(losses).amin(0))
    best = [torch.cat(each).topk(count // 2, largest=False).indices for each in (now, surprised)]
    return torch.cat([known, *best]).unique()


def _exchanged(
    decision: Decision, belief: Belief, points: Tensor, rows: Tensor, tuples: Tensor, draws: Tensor, distinct: bool
) -> tuple[Tensor, Tensor]:
    """The best tuple that exchange among some rows finds from tuples (S x k, of these rows): k, and its loss."""
    listed, place = points[rows], torch.searchsorted(rows, tuples)
    moments = listed_moments(decision, belief.moments(listed, decision.needs), tuples.shape[-1])
    index, losses = exchange(decision, moments, listed, place, draws, sweeps=20, distinct=distinct)
    if not moments.point_mass:
        return rows[index[losses.argmin()]], losses.min()
    # drawn functions choose, but do not judge: the best replacements of each member are exchanged by their true losses
    best, k = index[losses.argmin()].unsqueeze(0), tuples.shape[-1]
    near = [replacement_losses(decision, moments, listed, best, member, draws)[0] for member in range(k)]
    count = min(len(rows), max(4, JUDGED_REPLACEMENTS // k))
    kept = torch.cat([index.flatten(), *(each.topk(count, largest=False).indices for each in near)]).unique()
    few = listed[kept]
    starts = torch.searchsorted(kept, index)
    index, losses = exchange(decision, belief.moments(few, decision.needs), few, starts, draws, 2, distinct)
    return rows[kept[index[losses.argmin()]]], losses.min()


def _replacing(
    decision: Decision,
    belief: Belief,
    points: Tensor,
    winner: Tensor,
    rows: Tensor,
    draws: Tensor,
    distinct: bool,
    surprised: bool,
) -> Tensor:
    """The smallest expected loss of the best tuple (k) with a member replaced by each of these rows: one for each.

    If `surprised`, f there may be higher or lower than its mean by ROW_SURPRISE standard deviations.
    """
    k, parts = len(winner), []
    for some in rows.split(ROWS_AT_ONCE[decision.needs]):
        there = points[torch.cat([winner, some])]
        moments = listed_moments(decision, belief.moments(there, decision.needs), k)
        sides: list[Tensor | float] = [0.0]
        if surprised:
            spread = belief.moments(there, Needs.VARIANCE)
            # functions drawn from all components share what these say together
            each = len(spread.variance) == len(moments.mean)
            sd = (spread.variance if each else spread.total()[1].unsqueeze(0)).sqrt()
            sd.unflatten(-1, (-1, moments.outcomes))[:, :k] = 0.0
            sides += [ROW_SURPRISE * side * sd for side in surprises(moments.outcomes, len(there), sd)]
        least = torch.full((len(some),), torch.inf).to(points)
        kept = torch.arange(k, device=points.device).unsqueeze(0)
        for side in sides:
            moved = replace(moments, mean=moments.mean + side)
            for member in range(k):
                least = torch.minimum(least, replacement_losses(decision, moved, there, kept, member, draws)[0, k:])
        if distinct and k > 1:  # a member cannot be taken twice
            least = least.masked_fill((some.unsqueeze(-1) == winner).any(-1), torch.inf)
        parts.append(least)
    return torch.cat(parts)
