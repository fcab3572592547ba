"""Exchange: a tuple of rows is improved by replacing one member at a time.

Any loss is valued at each tuple with a member replaced (`exchange`). For losses that are sums over members and pairs
(`Sums`) distances are added once, not per action (`exchange_sums`, `LongExchange`):

    u_j    = -c_j, what a value counts in member j          g    values of the rows: means, now or after an outcome
    R      rewards of pairs of rows                          T_i  sum over members of R(i, member)
    worth  = sum_j u_j g(a_j) + sum over pairs R(a_i, a_j), the loss with its sign changed

A member j may be replaced by row i if u_j g_i + T_i - R(i, j) is more than what j itself is worth: u_j g_j + T_j.
"""

from collections.abc import Callable

from hentropy.core.action_search.base import expected_loss, take
from hentropy.core.beliefs import Moments
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision, Sums
from hentropy.lazy import Tensor, torch

MAX_SWEEPS = 20
"""Exchange has always ended before."""

GREEDY_STARTS, FEWER_GREEDY_STARTS, LONG_LIST = 7, 2, 2**16
"""Greedy starts of an exchange on a list, and on lists longer than the last number."""

RANDOM_STARTS = 64


def replacement_losses(
    decision: Decision, moments: Moments, points: Tensor, index: Tensor, member: int, draws: Tensor
) -> Tensor:
    """The expected loss of each tuple with one member replaced by each point.

    Moments H x batch x M at points (batch or none) x M x d, tuples index batch x S x k: batch x S x M.
    """
    M = points.shape[-2]
    if moments.point_mass:
        quick = _losses_by_values(decision, moments, index, member)
        if quick is not None:
            return (moments.weights[..., None, None] * quick).sum(0)
    trial = index.unsqueeze(-2).repeat(*[1] * (index.dim() - 1), M, 1)
    trial[..., member] = torch.arange(M, device=index.device)
    return expected_loss(decision, take(moments, trial), gather_points(points, trial), draws)


def _losses_by_values(decision: Decision, moments: Moments, index: Tensor, member: int) -> Tensor | None:
    """Losses in each component, whose values are known, where the decision has a quick way: H x batch x S x M."""
    o = moments.outcomes
    others = torch.cat([index[..., :member], index[..., member + 1 :]], -1)
    kept = take(moments, others).mean.unflatten(-1, (-1, o))  # H x batch x S x (k - 1) x o
    new = moments.mean.expand(*kept.shape[:-3], moments.mean.shape[-1]).unflatten(-1, (-1, o)).unsqueeze(-3)
    return decision.losses_with(kept, new)


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


def gains_of(sums: Sums, like: Tensor) -> Tensor:
    """u: k."""
    return -torch.tensor(sums.coefficients).to(like)


Rewards = Callable[[Tensor], Tensor]
"""The rewards of all C rows with each of P rows: P to P x C. A matrix of all pairs has them as its rows."""


def exchange_sums(
    values: Tensor, u: Tensor, rewards: Rewards | None, index: Tensor, distinct: bool, sweeps: int = MAX_SWEEPS
) -> tuple[Tensor, Tensor]:
    """Sweeps of best replacements for P problems at once: values P x C, actions P x k.

    Returns actions P x k and their worth P. Without rewards the best action is found at once.
    """
    k = u.shape[0]
    if rewards is None and (k == 1 or not distinct or bool((u == u[0]).all())):
        index = _best_without_rewards(values, u, distinct)
        return index, (u * values.gather(-1, index)).sum(-1)
    columns = None if rewards is None else torch.stack([rewards(member) for member in index.unbind(-1)])  # k x P x C
    total = values.new_zeros(()) if columns is None else columns.sum(0)
    for _ in range(sweeps):
        before = index
        for member in range(k):
            old = index[:, member]
            if columns is not None:
                total -= columns[member]
            score = torch.add(total, values, alpha=float(u[member]))
            own = score.gather(-1, old.unsqueeze(-1)).squeeze(-1)
            if distinct:
                score.scatter_(-1, torch.cat([index[:, :member], index[:, member + 1 :]], -1), -torch.inf)
            best, new = score.max(-1)
            better = best > own
            index = torch.cat(
                [index[:, :member], torch.where(better, new, old).unsqueeze(-1), index[:, member + 1 :]], -1
            )
            if columns is not None and rewards is not None:
                if bool(better.any()):
                    columns[member, better] = rewards(new[better])
                total += columns[member]
        if torch.equal(before, index):
            break
    pairs = None if columns is None else torch.stack([column.gather(-1, index) for column in columns], 1)
    return index, worth_of(values, u, pairs, index)


def greedy_sums(values: Tensor, u: Tensor, rewards: Rewards, first: Tensor) -> Tensor:
    """Different rows taken one after the other from the first (P), each the best beside those before it: P x k."""
    total, index = u[0] * values, first.unsqueeze(-1)
    for _ in range(len(u) - 1):
        total += rewards(index[:, -1])
        free = total.scatter(-1, index, -torch.inf)
        index = torch.cat([index, free.argmax(-1, keepdim=True)], -1)
    return index


def worth_of(values: Tensor, u: Tensor, pairs: Tensor | None, index: Tensor) -> Tensor:
    """What actions P x k are worth on values P x C, with rewards of their pairs P x k x k: P."""
    worth = (u * values.gather(-1, index)).sum(-1)
    if pairs is None:
        return worth
    return worth + 0.5 * (pairs.sum((-1, -2)) - pairs.diagonal(dim1=-2, dim2=-1).sum(-1))


def _best_without_rewards(values: Tensor, u: Tensor, distinct: bool) -> Tensor:
    """The best action where members do not depend on each other: P x k."""
    if distinct:
        return (u[0] * values).topk(u.shape[0], -1).indices
    return torch.stack([(each * values).argmax(-1) for each in u], -1)


class LongExchange:
    """Exchange on one long list: values m, points m x d. Rewards are computed a column at a time.

    Once the clock has expired, no further start is tried.
    """

    def __init__(self, sums: Sums, points: Tensor, values: Tensor, distinct: bool, clock: Clock) -> None:
        self.sums, self.points, self.values, self.distinct, self.clock = sums, points, values, distinct, clock
        self.u = gains_of(sums, values)
        self.k = len(sums.coefficients)
        # once: a list in these units is long, and wide where there are options
        self._compared = points if sums.reward is None else sums.coordinates(points)

    def best(self) -> Tensor:
        """The best action that exchange finds from several starts, none of them random: k."""
        found = [self._improved(self._leading())]
        if self.sums.reward is None:
            return found[0][0]
        for first in self._firsts():
            if self.clock.expired:
                break
            start = greedy_sums(self.values[None], self.u, self._rewards, self.values.new_full((1,), first).long())
            found.append(self._improved(start[0]))
        return max(found, key=lambda pair: pair[1])[0]

    def again(self, rows: Tensor, known: Tensor) -> Tensor:
        """The best action from many random starts among some rows, improved on the list; the known one if not better.

        Where distances count for more than values, few starts miss the best action.
        """
        if self.sums.reward is None or self.clock.expired:
            return known
        generator = torch.Generator().manual_seed(0)
        order = torch.rand(RANDOM_STARTS, len(rows), generator=generator).argsort(-1)[:, : self.k].to(rows.device)
        values = self.values[rows].expand(RANDOM_STARTS, -1)
        R = self.sums.rewards(self.points[rows])
        index, worth = exchange_sums(values, self.u, None if R is None else R.__getitem__, order, self.distinct)
        other, more = self._improved(rows[index[worth.argmax()]])
        known, worth_known = self._improved(known)
        return other if more > worth_known + 1e-12 * abs(worth_known) else known

    def _leading(self) -> Tensor:
        g = self.u[0] * self.values
        return g.topk(self.k).indices if self.distinct else g.argmax().expand(self.k)

    def _firsts(self) -> list[int]:
        """The best row, and good rows that lie apart from each other."""
        count = FEWER_GREEDY_STARTS if len(self.values) > LONG_LIST else GREEDY_STARTS
        g = self.u[0] * self.values
        rows = g.topk(min(len(g), 4096)).indices
        low, high = self.points.min(0).values, self.points.max(0).values
        unit = (self.points[rows] - low) / torch.where(high > low, high - low, 1.0)
        apart = torch.full((len(rows),), torch.inf).to(unit)
        chosen: list[int] = []
        for _ in range(min(count, len(rows))):
            # the best of those that lie far enough away: half as far as the farthest one
            pick = int((apart >= 0.5 * apart.max()).nonzero()[0, 0]) if chosen else 0
            chosen.append(int(rows[pick]))
            apart = torch.minimum(apart, (unit - unit[pick]).square().sum(-1).sqrt())
        return chosen

    def _rewards(self, rows: Tensor) -> Tensor:
        """Of all rows with each of these: P x m."""
        assert self.sums.reward is not None
        return self.sums.reward(self._compared, self._compared[rows]).mT

    def _improved(self, index: Tensor) -> tuple[Tensor, float]:
        """Sweeps over all members until nothing improves: the action and its worth."""
        rewards = None if self.sums.reward is None else self._rewards
        found, worth = exchange_sums(self.values[None], self.u, rewards, index[None], self.distinct)
        return found[0], float(worth)

    def barriers(self, index: Tensor) -> Tensor:
        """T_i - R(i, j) less what member j is worth, for rows i and members j: m x k, or 1 x k without rewards.

        Row i replaces member j with profit where u_j g_i and this are above zero together.
        """
        own = self.u * self.values[index]
        if self.sums.reward is None:
            return -own.unsqueeze(0)
        columns = self.sums.reward(self._compared, self._compared[index])  # m x k
        others = columns.sum(-1, keepdim=True) - columns
        return others.sub_(own + others[index].diagonal())
