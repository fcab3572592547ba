"""k points of a list that is too long to try all tuples, for losses that are sums over members and pairs (`Sums`).

The list is looked at once: mean and standard deviation of every row. From these follow today's best action, the rows
that some outcome may bring into it (`promising`), and an order of designs (`promise`). After an outcome:

    while screening     exchange among the promising rows and the designs themselves
    when auditing       exchange among the rows that the outcomes of these very designs lift the most, of the whole list

Up to SHORT_LIST rows none is left out. Of longer lists PROMISING_ROWS are promising, and an audit passes over at most
AUDITED_ROWS, those with the highest mean + AUDIT_SURPRISE standard deviations (and the reward for distances) first.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from hentropy.core.action_search.base import ActionSearch, BestAfterOutcome
from hentropy.core.action_search.exchange import LongExchange, exchange_sums, gains_of, greedy_sums, worth_of
from hentropy.core.action_search.survey import SURVEY_SHARE, mean_moves, means_after, survey
from hentropy.core.beliefs import Belief, Fantasy, Gaussian
from hentropy.core.clock import DEFAULT_MEMORY, Clock, pieces
from hentropy.core.decisions import Decision, GainFormula, Sums
from hentropy.core.decisions.normal import excess, expected_rise
from hentropy.core.spaces.rows import RowIndex
from hentropy.lazy import Tensor, torch

SHORT_LIST = 512
PROMISING_ROWS = 512
AUDITED_ROWS = 2**18
ROW_SURPRISES = (0.0, 1.5, 3.0)
"""Standard deviations above its mean at which a row is taken when the promising ones are chosen."""

AUDIT_SURPRISE = 4.0
AUDIT_SHARE = 0.9
"""The part of a time limit after which an audit's pass over the list ends."""

DESIGNS_TOGETHER = 32
"""Designs that are valued, or audited, in one pass: few enough for a time limit to be kept."""

LEADING_DESIGNS = 2**14
"""Designs whose promise is recomputed while others are pending."""

QUICK_SWEEPS, AUDIT_SWEEPS = 1, 4
OUT_OF_REACH = 1e300
"""What a row lacks that cannot take a place at all."""


@dataclass(frozen=True)
class FiniteSearch(ActionSearch):
    """Rows m x d with their means and standard deviations (m), those of the noise (m), and the best k: `index`.

    A value of a row counts by what it is worth, `factor` times it plus `summand` (m): `worth` is that of the mean.
    `barriers` (m x k, or 1 x k without rewards) say what a row has to overcome to replace a member. `looked` are the
    positions of the rows in the whole list: all of them, unless time ran out.
    """

    decision: Decision
    belief: Belief
    sums: Sums
    points: Tensor
    mean: Tensor
    sd: Tensor
    noise: Tensor
    factor: Tensor
    summand: Tensor
    looked: Tensor
    best: Tensor
    value: Tensor
    index: Tensor
    barriers: Tensor
    promising: Tensor
    clock: Clock

    helps_other_designs = True

    @classmethod
    @torch.no_grad()
    def prepare(cls, decision: Decision, belief: Belief, points: Tensor, sums: Sums, clock: Clock) -> "FiniteSearch":
        """Look at the list, and find today's best action: the same for every seed."""
        mean, sd, noise, looked = survey(belief, points, clock.share(SURVEY_SHARE))
        if len(looked) < len(points):
            points = points[looked]
        factor, summand = sums.weighed(points)
        worth, surprise = summand + factor * mean, factor * sd
        exchange = LongExchange(sums, points, worth, _distinct(decision), clock.share(SURVEY_SHARE))
        index = exchange.best()
        barriers = exchange.barriers(index)
        promising = _promising(points, worth, surprise, index, barriers, exchange.u)
        observed = RowIndex(points).find(belief.X) if sums.reward is not None else index
        again = exchange.again(torch.cat([promising, observed[observed >= 0]]).unique(), index)
        if not torch.equal(again, index):
            index, barriers = again, exchange.barriers(again)
            promising = _promising(points, worth, surprise, index, barriers, exchange.u)
        best = points[index]
        value = decision.loss(mean[index], best)
        found = (points, mean, sd, noise, factor, summand, looked, best, value, index, barriers, promising)
        return cls(decision, belief, sums, *found, clock)

    @cached_property
    def worth(self) -> Tensor:
        """What the rows are worth by their means: m."""
        return self.summand + self.factor * self.mean

    def _worth_after(self, fantasy: Fantasy, rows: Tensor) -> Tensor:
        """What rows are worth after each outcome: b x N x r."""
        return self.summand[rows] + self.factor[rows] * means_after(fantasy, self.points[rows])

    @cached_property
    def _rows(self) -> RowIndex:
        return RowIndex(self.points)

    @cached_property
    def _u(self) -> Tensor:
        return gains_of(self.sums, self.mean)

    def positions(self, x: Tensor) -> Tensor:
        """Where designs ... x d stand among the rows, -1 for others: ... ."""
        if x.shape == self.points.shape and torch.equal(x, self.points):
            return torch.arange(len(self.points), device=x.device)
        return self._rows.find(x)

    @torch.no_grad()
    def promise(self, x: Tensor, pending: Tensor) -> Tensor:
        """What a design (b x d) is worth if its outcome moves its own row alone: b, -inf for rows not looked at.

        E (e + s Z)^+ for a row outside that lacks -e to replace a member, or a member whose best replacement lacks -e;
        s is the standard deviation of the row's mean after the outcome.
        """
        position = self.positions(x)
        known = position >= 0
        position = position.clamp_min(0)
        value = torch.where(known, self._own_gain(position, self.sd[position], self.noise[position]), -torch.inf)
        if not len(pending):
            return value
        # what is still running will be known: of the leading designs, count what it leaves unknown
        first = value.topk(min(len(value), LEADING_DESIGNS)).indices
        _, sd, noise, _ = survey(self.belief.expecting(pending), x[first], Clock())
        left = torch.where(known, -1.0, -torch.inf).to(value)
        left[first] = torch.where(known[first], self._own_gain(position[first], sd, noise), -torch.inf)
        return left

    def _own_gain(self, position: Tensor, sd: Tensor, noise: Tensor) -> Tensor:
        """E (e + s Z)^+ of rows at these positions, with these standard deviations of f and of the noise: b."""
        u = self._u
        s = self.factor[position] * mean_moves(sd, noise)
        value = torch.zeros_like(s)
        for member, own in enumerate(self.index):
            lacks = -(u[member] * self.worth + self.barriers[:, member])
            lacks[self.index] = OUT_OF_REACH
            lacks[own] = lacks.min()  # a member leaves if it falls below its best replacement
            value = torch.maximum(value, excess(lacks[position], u[member].abs() * s))
        return value

    def best_after(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> BestAfterOutcome:
        """Exchange after each outcome, from today's action: among promising rows, or (`steps` > 0) all that matter."""
        with torch.no_grad():
            rows = self._joined(x, self.promising)
            if steps > 0 and len(rows) < len(self.points):
                rows = torch.cat([rows, self._lifted(fantasy, rows)]).unique()
        listed = self.points[rows]
        R = self.sums.rewards(listed)
        start = torch.searchsorted(rows, self.index)
        after = self._worth_after(fantasy, rows)
        b, N, C = after.shape
        parts = [
            self._solved(part, R, start, QUICK_SWEEPS if steps == 0 else AUDIT_SWEEPS)
            for part in after.flatten(0, 1).split(pieces(C, after.device))
        ]
        index, loss, stay = (torch.cat(each) for each in zip(*parts, strict=True))
        stay = stay.reshape(b, N)
        return BestAfterOutcome(
            torch.minimum(loss.reshape(b, N), stay), stay, listed[index].reshape(b, N, *self.best.shape)
        )

    def _solved(self, values: Tensor, R: Tensor | None, start: Tensor, sweeps: int) -> tuple[Tensor, Tensor, Tensor]:
        """For values P x C of the rows: the best action (P x k), its loss and that of today's (P)."""
        u, distinct = self._u, _distinct(self.decision)
        today = start.expand(len(values), -1)
        if R is None:
            index, worth = exchange_sums(values, u, None, today, distinct, sweeps)
            return index, -worth, -worth_of(values, u, None, today)
        index, worth = exchange_sums(values, u, R.__getitem__, today, distinct, sweeps)
        if sweeps == AUDIT_SWEEPS and not self.clock.share(AUDIT_SHARE).expired:
            leading = (u[0] * values).topk(len(u), -1).indices
            for begin in (leading, greedy_sums(values, u, R.__getitem__, leading[:, 0])):
                other, more = exchange_sums(values, u, R.__getitem__, begin, distinct, sweeps)
                index, worth = torch.where((more > worth).unsqueeze(-1), other, index), torch.maximum(worth, more)
        return index, -worth, -worth_of(values, u, R[start[:, None], start], today)

    def _joined(self, x: Tensor, rows: Tensor) -> Tensor:
        """The rows, and those of the designs (b x q x d) and of today's action: positions in ascending order."""
        if len(rows) == len(self.points):
            return rows
        own = self.positions(x).flatten()
        return torch.cat([rows, own[own >= 0], self.index]).unique()

    def _lifted(self, fantasy: Fantasy, known: Tensor) -> Tensor:
        """The rows that some outcome of these designs brings furthest above, or least below, those known to matter."""
        kinds = [(float(each), (self._u == each).nonzero()[:, 0]) for each in self._u.unique()]

        def standing(rows: Tensor) -> list[Tensor]:
            """How far above what they have to overcome rows are after each outcome: b x N x r for each kind."""
            after = self._worth_after(fantasy, rows)
            at = rows if len(self.barriers) > 1 else slice(None)
            return [torch.add(self.barriers[at][:, members].amax(-1), after, alpha=u) for u, members in kinds]

        places = [min(len(members), len(known)) for _, members in kinds]
        taken = [each.topk(k, -1).values[..., -1:] for each, k in zip(standing(known), places, strict=True)]
        b, N, _ = taken[0].shape
        clock, order, passed = self.clock.share(AUDIT_SHARE), self._audited, 0
        score = taken[0].new_empty(b, len(order))
        numbers = b * N + self.belief.components * self.belief.sites
        for part in order.split(pieces(numbers, order.device)):
            each = [(s - t).amax(1) for s, t in zip(standing(part), taken, strict=True)]
            score[:, passed : passed + len(part)] = torch.stack(each).amax(0)
            passed += len(part)
            if clock.expired:
                break
        return order[score[:, :passed].topk(min(PROMISING_ROWS, passed), -1).indices.flatten()]

    @cached_property
    def _audited(self) -> Tensor:
        """The rows that an audit passes over; the most promising first where they are not all, or time is short."""
        if len(self.points) <= AUDITED_ROWS and not self.clock.limited:
            return torch.arange(len(self.points), device=self.points.device)
        score = _standing(self.worth, AUDIT_SURPRISE * self.factor * self.sd, self.barriers, self._u).amax(-1)
        return score.topk(min(AUDITED_ROWS, len(score))).indices

    @torch.no_grad()
    def improved_by(self, actions: Tensor) -> "FiniteSearch":
        """With the best of these tuples as today's, if it is better than the one known."""
        flat = actions.flatten(0, 1)
        index = self.positions(flat)
        flat, index = flat[(index >= 0).all(-1)], index[(index >= 0).all(-1)]
        losses = self.decision.loss(self.mean[index], flat)
        if not len(losses) or not bool(losses.min() < self.value - 1e-12 * self.value.abs()):
            return self
        best = losses.argmin()
        exchange = LongExchange(self.sums, self.points, self.worth, _distinct(self.decision), self.clock)
        return replace(
            self, best=flat[best], value=losses[best], index=index[best], barriers=exchange.barriers(index[best])
        )

    def stay(self, fantasy: Fantasy, draws: Tensor | None = None) -> Tensor:
        """The expected loss of today's tuple after each outcome: b x N."""
        after = means_after(fantasy, self.best)
        return self.decision.loss(after, self.best.expand(*after.shape[:2], *self.best.shape))

    def lines(self) -> GainFormula | None:
        """The exact gain of one observation of one GP where the action is one row: an upper envelope of lines."""
        belief: Gaussian | None = self.belief.single_gp
        if len(self._u) > 1 or belief is None:
            return None
        sign = self._u[0]

        def gain(x: Tensor) -> Tensor:
            look = belief.look_ahead(x)
            size = pieces(belief.sites + len(x), x.device)
            s = torch.cat([look.whitened_cross(part)[0, ..., 0] for part in self.points.split(size)], -1)
            s, m = sign * self.factor * s, (sign * self.worth).expand(s.shape)
            rows = _near_the_top(m, s)
            return expected_rise(m.gather(-1, rows), s.gather(-1, rows))

        return GainFormula(gain, max_q=1, differentiable=False, numbers=DEFAULT_MEMORY // (8 * DESIGNS_TOGETHER))

    def numbers_per_design(self, outcomes: int) -> int:
        """Means after the outcomes; a pass over the list serves several designs."""
        return DEFAULT_MEMORY // (8 * DESIGNS_TOGETHER)


def _near_the_top(m: Tensor, s: Tensor) -> Tensor:
    """The lines m + s z (b x rows) that come closest to the highest one at some z: positions of each design's."""
    if m.shape[-1] <= PROMISING_ROWS:
        return torch.arange(m.shape[-1], device=m.device).expand(m.shape)
    places = torch.linspace(-6.0, 6.0, 49).tolist()
    gap = torch.full_like(m, torch.inf)
    for z in places:
        line = torch.add(m, s, alpha=z)
        gap = torch.minimum(gap, line.amax(-1, keepdim=True) - line)
    return gap.topk(PROMISING_ROWS, -1, largest=False).indices


def _distinct(decision: Decision) -> bool:
    return decision.actions.as_set


def _standing(mean: Tensor, surprise: Tensor, barriers: Tensor, u: Tensor) -> Tensor:
    """How far rows are above what they have to overcome, if f there surprises us: m x k."""
    return u * mean.unsqueeze(-1) + u.abs() * surprise.unsqueeze(-1) + barriers


def _promising(points: Tensor, mean: Tensor, sd: Tensor, index: Tensor, barriers: Tensor, u: Tensor) -> Tensor:
    """Rows that may replace a member: for each member and surprise the best ones, half of them from places apart.

    Positions in ascending order, today's action among them.
    """
    m, k = len(mean), len(u)
    if m <= SHORT_LIST:
        return torch.arange(m, device=mean.device)
    low, high = points.min(0).values, points.max(0).values
    share = max(4, PROMISING_ROWS // (len(ROW_SURPRISES) * k))
    chosen = [index]
    for surprise in ROW_SURPRISES:
        standing = _standing(mean, surprise * sd, barriers, u)
        for column in standing.unbind(-1):
            rows = column.topk(min(m, 16 * share)).indices
            unit = (points[rows] - low) / torch.where(high > low, high - low, 1.0)
            chosen += [rows[: share // 2], rows[_first_of_cells(unit)][: share - share // 2]]
    return torch.cat(chosen).unique()


CELLS_PER_SIDE = 4


def _first_of_cells(unit: Tensor) -> Tensor:
    """The first of the points (m x d, unit cube) in each cell of a coarse grid: positions in ascending order."""
    cell = (unit * CELLS_PER_SIDE).long().clamp_max(CELLS_PER_SIDE - 1)
    _, group = cell.unique(dim=0, return_inverse=True)
    first = torch.full((len(unit),), len(unit), dtype=torch.long, device=unit.device)
    first.scatter_reduce_(0, group, torch.arange(len(unit), device=unit.device), "amin")
    return first[first < len(unit)].sort().values
