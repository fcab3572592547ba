r"""What a parameter is to tensors: its coordinates in a row, in the unit cube of the model, and in that of a search.

    row     coordinates in the user's own units, `width` of them: a number is itself, a choice of m options is a row
            of m numbers with a single 1
    unit    the same coordinates as the model sees them, every one from 0 to 1
    cube    the `size` coordinates in which searches step; what has no direction, such as the options of a choice, is
            one coordinate with a cell for each option: a gradient never moves it, `neighbours` do

`scales` says which coordinates share a length scale: a kernel that depends on distances alone then sees any two options
of a choice equally far apart.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hentropy.core.spaces.uniform_parts import UniformParts
from hentropy.lazy import Tensor, torch

MAX_LISTED_DESIGNS = 20_000
"""This many designs are listed where they are finitely many; more are searched."""

MAX_LEVELS_EXCHANGED = 8
"""Of ordered values with more, only the next ones are neighbours."""


@dataclass(frozen=True)
class Straight:
    """Coordinates (... x d) to the unit cube: (x - origin) / width, of logarithms where `log` says so."""

    origin: Tensor
    width: Tensor
    log: Tensor

    @classmethod
    def over(cls, bounds: Tensor, log: Tensor) -> "Straight":
        """From the smallest value, 0, to the largest, 1 (bounds 2 x d); of width 1 where nothing varies."""
        low, high = torch.where(log, torch.where(log, bounds, 1.0).clamp_min(1e-300).log(), bounds)
        return cls(low, torch.where(high > low, high - low, 1.0), log)

    @classmethod
    def joined(cls, parts: Sequence["Straight"]) -> "Straight":
        """Several side by side."""
        return cls(*(torch.cat(each) for each in zip(*((p.origin, p.width, p.log) for p in parts), strict=True)))

    @cached_property
    def _any_log(self) -> bool:
        return bool(self.log.any())

    def __call__(self, x: Tensor) -> Tensor:
        """To the unit cube."""
        if self._any_log:
            # torch.where would hand NaN gradients through the branch it did not take: mask the argument as well
            log = self.log.to(x.device)
            x = torch.where(log, torch.where(log, x, 1.0).clamp_min(1e-300).log(), x)
        return (x - self.origin.to(x)) / self.width.to(x)

    def slope(self, x: Tensor) -> Tensor:
        """How fast coordinates change with those of the unit cube: ... x d."""
        return torch.where(self.log.to(x.device), x, 1.0) * self.width.to(x)

    def back(self, u: Tensor) -> Tensor:
        """From the unit cube."""
        x = self.origin.to(u) + self.width.to(u) * u
        if not self._any_log:
            return x
        log = self.log.to(u.device)
        return torch.where(log, torch.where(log, x, 0.0).exp(), x)


class Coordinates(ABC):
    """Some coordinates of a design, and what values they may have."""

    bounds: Tensor
    """The smallest and the largest value of each coordinate: 2 x width."""

    unit: "Straight"
    """How coordinates enter the unit cube of the model."""

    @property
    def width(self) -> int:
        """How many coordinates it has."""
        return self.bounds.shape[-1]

    @cached_property
    def size(self) -> int:
        """How many coordinates searches step in."""
        return self.width

    @cached_property
    def scales(self) -> tuple[int, ...]:
        """Which of its own length scales belongs to each coordinate."""
        return tuple(range(self.width))

    def weights(self, power: float) -> Tensor:
        """What coordinates count for in distances between designs (the l1 or l2 norm): width."""
        return torch.ones(self.width, dtype=torch.float64)

    def to_cube(self, x: Tensor) -> Tensor:
        """Coordinates ... x width to the cube of a search: ... x size."""
        return self.unit(x)

    def from_cube(self, u: Tensor) -> Tensor:
        """The inverse; whole numbers and steps come out relaxed, everything else as it can be run: ... x width."""
        return self.unit.back(u)

    def filling(self, u: Tensor) -> Tensor:
        """Uniform points of the cube to values that have equal shares: ... x width."""
        return self.from_cube(u)

    def stepped(self, x: Tensor, step: Tensor) -> Tensor:
        """Coordinates ... x width after a step of a random walk in the cube (... x size), reflected at its faces.

        The way back is as probable as the way there, so that walks are uniform in the long run.
        """
        there = (self.to_cube(x) + step).remainder(2.0)
        return self.from_cube(torch.minimum(there, 2.0 - there))

    @abstractmethod
    def project(self, x: Tensor) -> Tensor:
        """The nearest coordinates that can be run: ... x width."""

    def clamp(self, x: Tensor) -> Tensor:
        """Numbers within their bounds, relaxed, and options as they are: ... x width."""
        return x

    @property
    def values(self) -> Tensor | None:
        """All values where they are finitely many (m x width); None otherwise, or where they are very many."""
        return None

    @abstractmethod
    def neighbours(self, x: Tensor) -> Tensor:
        """Other values to exchange for those of x, maybe x itself among them: ... x N x width, N the same for all."""


class Numbers(Coordinates):
    """Several numbers at once: bounds, which are logarithmic, and the grid of each (0 where any value is allowed)."""

    def __init__(self, low: Sequence[float], high: Sequence[float], log: Sequence[bool], grid: Sequence[float]) -> None:
        self.bounds = torch.tensor([list(low), list(high)], dtype=torch.float64)
        self.unit = Straight.over(self.bounds, torch.tensor(list(log)))
        steps = torch.tensor(list(grid), dtype=torch.float64)
        self.on_grid = steps > 0
        self.grid = torch.where(self.on_grid, steps, 1.0)
        self.any_grid = bool(self.on_grid.any())

    def filling(self, u: Tensor) -> Tensor:
        """Values on a grid get equal shares, logarithmic ones shares by their ratios."""
        if not self.any_grid:
            return self.from_cube(u)
        # a value k stands for the cell from k - 1/2 to k + 1/2: else the first and the last would get half a share
        low, high = self.bounds.to(u)
        half = 0.5 * (self.grid * self.on_grid).to(u)
        first = torch.where(self.unit.log.to(u.device), torch.maximum(low - half, 0.5 * low), low - half)
        edges = self.unit(torch.stack([first, high + half]))
        return self.project(self.unit.back(edges[0] + (edges[1] - edges[0]) * u))

    def clamp(self, x: Tensor) -> Tensor:
        """Clamped to the bounds."""
        low, high = self.bounds.to(x)
        return torch.minimum(torch.maximum(x, low), high)

    def project(self, x: Tensor) -> Tensor:
        """Clamped to the bounds, then to the grid."""
        return self.rounded(self.clamp(x))

    def rounded(self, x: Tensor) -> Tensor:
        """The nearest values on the grids; of numbers that have none, themselves."""
        if not self.any_grid:
            return x
        low, grid = self.bounds[0].to(x), self.grid.to(x)
        return torch.where(self.on_grid.to(x.device), low + ((x - low) / grid).round() * grid, x)

    @property
    def values(self) -> Tensor | None:
        """The product of all grids, if there is no number without."""
        if not bool(self.on_grid.all()):
            return None
        low, high = self.bounds
        counts = ((high - low) / self.grid).round().add(1)
        if float(counts.prod()) > MAX_LISTED_DESIGNS:  # before they are whole numbers, for which they may be too large
            return None
        axes = [
            start + step * torch.arange(n)
            for start, step, n in zip(low, self.grid, counts.long().tolist(), strict=True)
        ]
        return torch.cartesian_prod(*axes).reshape(-1, self.width).to(torch.float64)

    def neighbours(self, x: Tensor) -> Tensor:
        """One step down and one up, for each number on a grid."""
        [places] = self.on_grid.nonzero(as_tuple=True)
        steps = torch.zeros(len(places), self.width, dtype=self.grid.dtype)
        steps[torch.arange(len(places)), places] = self.grid[places]
        steps = steps.to(x)
        moves = torch.cat([-steps, steps])
        return self.project(x.unsqueeze(-2) + moves)


class Held(Coordinates):
    """Coordinates that are held at one value (width), of which searches know nothing."""

    def __init__(self, row: Tensor, whole: Coordinates) -> None:
        self.row, self.size, self._whole = row, 0, whole
        self.bounds, self.unit, self.scales = whole.bounds, whole.unit, whole.scales

    def weights(self, power: float) -> Tensor:
        """As if they were not held."""
        return self._whole.weights(power)

    def to_cube(self, x: Tensor) -> Tensor:
        """Nothing: ... x 0."""
        return x[..., :0]

    def from_cube(self, u: Tensor) -> Tensor:
        """The value."""
        return self.row.to(u).expand(*u.shape[:-1], -1)

    def project(self, x: Tensor) -> Tensor:
        """The value."""
        return self.row.to(x).expand(x.shape)

    @property
    def values(self) -> Tensor:
        """The value."""
        return self.row.unsqueeze(0)

    def neighbours(self, x: Tensor) -> Tensor:
        """None."""
        return x.new_empty(*x.shape[:-1], 0, x.shape[-1])


class ValueTable(Coordinates):
    """One of m values, each a row of coordinates (m x width): the options of a choice, or levels.

    `unit` says how the model sees the coordinates; `ordered` values have only the next ones as neighbours.
    """

    def __init__(self, rows: Tensor, unit: "Straight", scales: Sequence[int], ordered: bool) -> None:
        self.rows, self.unit, self._ordered = rows, unit, ordered
        self.bounds = torch.stack([rows.min(0).values, rows.max(0).values])
        self.size, self.scales = 1, tuple(scales)
        m, width = rows.shape
        self._one_hot = m == width and bool((rows == torch.eye(m).to(rows)).all())

    def index(self, x: Tensor) -> Tensor:
        """Which value coordinates ... x width are, or are nearest to: ... ."""
        if self._one_hot:
            return x.detach().argmax(-1)
        rows, flat = self.unit(self.rows.to(x)), self.unit(x.detach()).reshape(-1, self.width)
        return torch.cdist(flat, rows, compute_mode="donot_use_mm_for_euclid_dist").argmin(-1).reshape(x.shape[:-1])

    def weights(self, power: float) -> Tensor:
        """Two options are one apart; what describes them does not count."""
        if self._ordered:
            return super().weights(power)
        own = torch.tensor(self.scales) == 0
        return own * 0.5 ** (1.0 / power)

    def to_cube(self, x: Tensor) -> Tensor:
        """The middle of the value's cell."""
        return ((self.index(x).to(x) + 0.5) / len(self.rows)).unsqueeze(-1)

    def from_cube(self, u: Tensor) -> Tensor:
        """The value in whose cell u is."""
        return self.rows.to(u)[self._cell(u)]

    def _cell(self, u: Tensor) -> Tensor:
        return (u.detach()[..., 0] * len(self.rows)).long().clamp(0, len(self.rows) - 1)

    def project(self, x: Tensor) -> Tensor:
        """The nearest value."""
        return self.rows.to(x)[self.index(x)]

    @property
    def values(self) -> Tensor:
        """The rows."""
        return self.rows

    def neighbours(self, x: Tensor) -> Tensor:
        """All values, or the next ones of many that have an order."""
        m, rows = len(self.rows), self.rows.to(x)
        if not self._ordered or m <= MAX_LEVELS_EXCHANGED:
            return rows.expand(*x.shape[:-1], m, self.width)
        steps = torch.tensor([-2, -1, 1, 2], device=x.device)
        return rows[(self.index(x).unsqueeze(-1) + steps).clamp(0, m - 1)]


class Simplex(Coordinates):
    """Parts of a whole: m numbers from `low` to `high` that add up to `total`, at most `at_most` of them above 0."""

    def __init__(self, low: Sequence[float], high: Sequence[float], total: float, at_most: int | None) -> None:
        self.bounds = torch.tensor([list(low), list(high)], dtype=torch.float64).clamp_max(total)
        self.unit = Straight.over(self.bounds, torch.zeros(len(low), dtype=torch.bool))
        self._total = total
        self._at_most = at_most if at_most is not None and at_most < self.width else None

    def from_cube(self, u: Tensor) -> Tensor:
        """The nearest amounts that add up."""
        return self.project(self.unit.back(u))

    def filling(self, u: Tensor) -> Tensor:
        """Amounts spread evenly over all that add up: uniform on that polytope, or on its faces with `at_most`."""
        if not self._even.has_volume:
            return self.from_cube(u)  # there is hardly more than one design
        low, high = self.bounds.to(u)
        y = torch.zeros_like(u)
        y[..., self._varying.to(u.device)] = self._even(u[..., self._varying.to(u.device)])
        return self.project(high - y if self._from_above else low + y)

    def stepped(self, x: Tensor, step: Tensor) -> Tensor:
        """What the parts that vary gain or lose adds up to nothing; a step beyond a bound is not taken.

        With `at_most`, these are the parts that are used; where the largest step is that of another one, it takes the
        amount of the used part that has the largest.
        """
        low, high = self.bounds.to(x)
        size = step.abs()
        moves = self._varying.to(x.device).expand_as(x)
        if self._at_most is not None:  # where fewer are used, those with the largest steps come in
            chosen = torch.where(x > 0.0, torch.inf, size).topk(self._at_most, dim=-1).indices
            moves = torch.zeros_like(moves).scatter(-1, chosen, True)
        change = torch.where(moves, step * self.unit.width.to(x), 0.0)
        change = change - torch.where(moves, change.sum(-1, keepdim=True) / moves.sum(-1, keepdim=True), 0.0)
        there = x + change
        if self._at_most is not None:
            used, other = (torch.where(each, size, -1.0).max(-1, keepdim=True) for each in (moves, ~moves))
            taken = x.gather(-1, used.indices)
            exchanged = x.scatter(-1, used.indices, 0.0).scatter(-1, other.indices, taken)
            there = torch.where(other.values > used.values, exchanged, there)
        inside = ((there >= low) & (there <= high)).all(-1, keepdim=True)
        return torch.where(inside, there, x)

    @cached_property
    def _from_above(self) -> bool:
        """Whether amounts are counted from their upper bounds: the smaller of the two wholes is shared out."""
        low, high = self.bounds.sum(-1).tolist()
        return self._at_most is None and high - self._total < self._total - low

    @cached_property
    def _varying(self) -> Tensor:
        """The parts whose bounds differ: m."""
        return self.bounds[1] - self.bounds[0] > 1e-12 * self._total

    @cached_property
    def _even(self) -> UniformParts:
        """What is shared out between the bounds of the parts that vary."""
        low, high = self.bounds
        whole = high.sum() - self._total if self._from_above else self._total - low.sum()
        widths = (high - low)[self._varying].tolist()
        used = len(widths) if self._at_most is None else min(self._at_most, len(widths))
        return UniformParts(tuple(widths), float(whole), used)

    def project(self, x: Tensor) -> Tensor:
        """The nearest amounts that add up: all that are not at a bound move by the same amount t.

        With s(t) the sum of x - t clamped to the bounds, piecewise linear between the 2 m places where one of them
        reaches a bound, t is where s(t) is the total; found without a gradient, and once more with it.
        """
        low, high = (bound.expand_as(x) for bound in self.bounds.to(x))
        if self._at_most is not None:
            kept = torch.zeros_like(x, dtype=torch.bool)
            # of equal amounts, such as none at all, the first ones stay
            order = x.detach().argsort(dim=-1, descending=True, stable=True)[..., : self._at_most]
            kept.scatter_(-1, order, True)
            low, high = torch.where(kept, low, 0.0), torch.where(kept, high, 0.0)
        with torch.no_grad():
            breakpoints = torch.cat([x - low, x - high], -1).sort(-1).values  # ... x 2m
            moved = torch.maximum(x.unsqueeze(-2) - breakpoints.unsqueeze(-1), low.unsqueeze(-2))
            sums = torch.minimum(moved, high.unsqueeze(-2))
            past = (sums.sum(-1) >= self._total).sum(-1, keepdim=True).clamp(1, 2 * self.width - 1)  # s falls with t
            middle = 0.5 * (breakpoints.gather(-1, past - 1) + breakpoints.gather(-1, past))
            moved = x - middle
            free = (moved > low) & (moved < high)
            at_bounds = torch.where(free, 0.0, torch.minimum(torch.maximum(moved, low), high)).sum(-1, keepdim=True)
        count = free.sum(-1, keepdim=True)
        t = (torch.where(free, x, 0.0).sum(-1, keepdim=True) + at_bounds - self._total) / count.clamp_min(1)
        t = torch.where(count > 0, t, middle)
        return torch.minimum(torch.maximum(x - t, low), high)

    def clamp(self, x: Tensor) -> Tensor:
        """The nearest amounts that add up."""
        return self.project(x)

    def neighbours(self, x: Tensor) -> Tensor:
        """The amounts of two parts exchanged."""
        first, second = torch.triu_indices(self.width, self.width, 1, device=x.device)
        order = torch.arange(self.width, device=x.device).repeat(len(first), 1)
        rows = torch.arange(len(first), device=x.device)
        order[rows, first], order[rows, second] = second, first
        every = x.unsqueeze(-2).expand(*x.shape[:-1], *order.shape)
        return self.project(every.gather(-1, order.expand_as(every)))


def scales_of(blocks: Sequence[Coordinates]) -> tuple[int, ...]:
    """The length scales of all blocks, numbered through."""
    found: list[int] = []
    for block in blocks:
        first = max(found, default=-1) + 1
        found += [first + scale for scale in block.scales]
    return tuple(found)
