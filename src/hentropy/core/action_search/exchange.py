"""Exchange: a tuple of rows is improved by replacing one member at a time.

Any loss is valued at each tuple with a member replaced (`exchange`). For losses that are sums over members and pairs
(`Sums`) distances are added once, not per action (`exchange_sums`, `LongExchange`):

    u_j    = -c_j, what a value counts in member j          g    values of the rows: means, now or after an outcome
    R      rewards of pairs of rows                          T_i  sum over members of R(i, member)
    worth  = sum_j u_j g(a_j) + sum over pairs R(a_i, a_j), the loss with its sign changed

A member j may be replaced by row i if u_j g_i + T_i - R(i, j) is more than what j itself is worth: u_j g_j + T_j.
"""

from hentropy.core.action_search.base import expected_loss, take
from hentropy.core.beliefs import Moments
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision, Sums
from hentropy.lazy import Tensor, torch

MOST_SWEEPS = 20
STARTS = 8
FEW_STARTS = 3
MANY_STARTS = 64
LONG = 2**16
"""Lists longer than this are searched from fewer starts."""


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


def exchange_sums(
    values: Tensor, u: Tensor, R: Tensor | None, index: Tensor, distinct: bool, sweeps: int
) -> tuple[Tensor, Tensor]:
    """Sweeps of best replacements for P problems at once: values P x C, rewards C x C, actions P x k.

    Returns actions P x k and their worth P. Without rewards the best action is found at once.
    """
    k = u.shape[0]
    if R is None and (k == 1 or not distinct or bool((u == u[0]).all())):
        index = _best_apart(values, u, distinct)
        return index, (u * values.gather(-1, index)).sum(-1)
    total = 0.0 if R is None else R[index].sum(1)  # P x C
    for _ in range(sweeps):
        before = index
        for member in range(k):
            old = index[:, member]
            if R is not None:
                total -= R[old]
            score = torch.add(total, values, alpha=float(u[member])) if R is not None else u[member] * values
            own = score.gather(-1, old.unsqueeze(-1)).squeeze(-1)
            if distinct:
                score.scatter_(-1, torch.cat([index[:, :member], index[:, member + 1 :]], -1), -torch.inf)
            best, new = score.max(-1)
            new = torch.where(best > own, new, old)
            index = torch.cat([index[:, :member], new.unsqueeze(-1), index[:, member + 1 :]], -1)
            if R is not None:
                total += R[new]
        if torch.equal(before, index):
            break
    return index, worth_of(values, u, R, index)


def greedy_sums(values: Tensor, u: Tensor, R: Tensor) -> Tensor:
    """Different rows taken one after the other, each the best beside those before it: P x k."""
    total = u[0] * values
    index = total.argmax(-1, keepdim=True)
    for _ in range(len(u) - 1):
        total += R[index[:, -1]]
        free = total.scatter(-1, index, -torch.inf)
        index = torch.cat([index, free.argmax(-1, keepdim=True)], -1)
    return index


def worth_of(values: Tensor, u: Tensor, R: Tensor | None, index: Tensor) -> Tensor:
    """What actions P x k are worth on values P x C: P."""
    worth = (u * values.gather(-1, index)).sum(-1)
    if R is None:
        return worth
    pairs = R[index.unsqueeze(-1), index.unsqueeze(-2)]  # P x k x k
    return worth + 0.5 * (pairs.sum((-1, -2)) - pairs.diagonal(dim1=-2, dim2=-1).sum(-1))


def _best_apart(values: Tensor, u: Tensor, distinct: bool) -> Tensor:
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
        if self.sums.reward is None:
            return exchange_sums(self.values[None], self.u, None, self._leading()[None], self.distinct, MOST_SWEEPS)[0][
                0
            ]
        found = [self.improved(self._leading())]
        for first in self._firsts():
            if self.clock.expired:
                break
            found.append(self.improved(self._greedy(first)))
        return max(found, key=lambda pair: pair[1])[0]

    def again(self, rows: Tensor, known: Tensor) -> Tensor:
        """The best action from many random starts among some rows, improved on the list; the known one if not better.

        Where distances count for more than values, few starts miss the best action.
        """
        if self.sums.reward is None or self.clock.expired:
            return known
        generator = torch.Generator().manual_seed(0)
        order = torch.rand(MANY_STARTS, len(rows), generator=generator).argsort(-1)[:, : self.k].to(rows.device)
        values = self.values[rows].expand(MANY_STARTS, -1)
        R = self.sums.rewards(self.points[rows])
        index, worth = exchange_sums(values, self.u, R, order, self.distinct, MOST_SWEEPS)
        found = [self.improved(rows[index[worth.argmax()]]), self.improved(known)]
        return found[0][0] if found[0][1] > found[1][1] + 1e-12 * abs(found[1][1]) else known

    def _leading(self) -> Tensor:
        g = self.u[0] * self.values
        return g.topk(self.k).indices if self.distinct else g.argmax().expand(self.k)

    def _firsts(self) -> list[int]:
        """The best row, and good rows that lie apart from each other."""
        count = FEW_STARTS if len(self.values) > LONG else STARTS
        g = self.u[0] * self.values
        rows = g.topk(min(len(g), 4096)).indices
        low, high = self.points.min(0).values, self.points.max(0).values
        unit = (self.points[rows] - low) / torch.where(high > low, high - low, 1.0)
        apart = torch.full((len(rows),), torch.inf).to(unit)
        chosen: list[int] = []
        for _ in range(min(count - 1, len(rows))):
            # the best of those that lie far enough away: half as far as the farthest one
            pick = int((apart >= 0.5 * apart.max()).nonzero()[0, 0]) if chosen else 0
            chosen.append(int(rows[pick]))
            apart = torch.minimum(apart, (unit - unit[pick]).square().sum(-1).sqrt())
        return chosen

    def _column(self, row: int) -> Tensor:
        """Rewards of all rows with one: m."""
        assert self.sums.reward is not None
        return self.sums.reward(self._compared, self._compared[row : row + 1])[:, 0]

    def _greedy(self, first: int) -> Tensor:
        chosen = [first]
        total = self.u[0] * self.values
        for _ in range(self.k - 1):
            total = total + self._column(chosen[-1])
            total[chosen] = -torch.inf
            chosen.append(int(total.argmax()))
        return torch.tensor(chosen, device=self.points.device)

    def improved(self, index: Tensor) -> tuple[Tensor, float]:
        """Sweeps over all members until nothing improves: the action and its worth."""
        members = index.tolist()
        columns = [self._column(row) for row in members]
        total = torch.stack(columns).sum(0)
        g = self.u[0] * self.values
        for _ in range(MOST_SWEEPS):
            before = list(members)
            for member, old in enumerate(members):
                score = g + total
                score -= columns[member]
                own = score[old].clone()
                score[members] = -torch.inf
                new = int(score.argmax())
                if bool(score[new] > own):
                    members[member] = new
                    total -= columns[member]
                    columns[member] = self._column(new)
                    total += columns[member]
            if members == before:
                break
        found = torch.tensor(members, device=self.points.device)
        pairs = torch.stack(columns)[:, found]
        worth = g[found].sum() + 0.5 * (pairs.sum() - pairs.diagonal().sum())
        return found, float(worth)

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
