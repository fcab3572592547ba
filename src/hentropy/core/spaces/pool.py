"""`Pool`: a finite list of designs, such as the rows of a table of samples on the shelf."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hentropy.core.given import is_finite, is_number, real_array
from hentropy.core.spaces.constraints import Conditions
from hentropy.core.spaces.evaluation import Categories, ParameterColumn
from hentropy.core.spaces.first_designs import uses_of
from hentropy.core.spaces.options import Choice, Levels
from hentropy.core.spaces.parameters import MIN_LOG_BOUND, Number, Parameter, check_unit, nearest
from hentropy.core.spaces.rows import RowIndex
from hentropy.core.spaces.space import DesignSpace, Params, check_shared, sobol
from hentropy.core.spaces.tables import columns_of
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

PAIRS_AT_ONCE = 2**22
"""Distances between designs and rows that are held at once."""


class TableColumn(Number):
    """Numbers of a table, from the smallest to the largest in it."""

    kind = "column"

    def __post_init__(self) -> None:
        """Any numbers will do, also a single one."""
        check_unit(self.unit)


class Pool(DesignSpace):
    """Designs from a list: a tensor, an array, nested lists, or a table with named columns (a DataFrame, a dict of
    columns, or a list of dicts).

    Columns of numbers are numbers, columns of texts choices, and so are columns of numbers named in `choices`, such as
    lot numbers. `levels` gives the values of a column in their order: `{"size": ["small", "large"]}`. For columns in
    `log`, equal ratios count as equal steps. `units` are shown next to the names of columns. `id` names the column that
    identifies the designs; columns in `ignore` are shown but not modelled. `tables` are numbers by option that costs
    may look up.
    """

    def __init__(
        self,
        rows: Any,
        names: Sequence[str] | None = None,
        *,
        id: str | None = None,
        ignore: Sequence[str] = (),
        choices: Sequence[str] = (),
        levels: Mapping[str, Sequence[Any]] | None = None,
        log: Sequence[str] = (),
        units: Mapping[str, str] | None = None,
        tables: Mapping[str, Mapping[Any, float]] | None = None,
        same_in_batch: Sequence[str] = (),
    ) -> None:
        for what, given in {"choices": choices, "log": log}.items():
            if isinstance(given, str):
                raise InputError(f"{what} must be a list of columns, such as [{given!r}]")
        levels, units = dict(levels or {}), dict(units or {})
        table = columns_of(rows, names)
        self.id, self.ignored = id, tuple(ignore)
        for name in (*([] if id is None else [id]), *self.ignored, *choices, *levels, *log, *units):
            if name not in table:
                raise InputError(f"the pool has no column {name!r}; {nearest(name, list(table), what='columns')}")
        self.shown = {name: _plain(table[name]) for name in (*([] if id is None else [id]), *self.ignored)}
        modelled = [name for name in table if name not in self.shown]
        if not modelled:
            raise InputError("all columns of the pool are ids or ignored; the model needs at least one")
        for what, columns in {"choices": choices, "levels": [*levels], "log": log, "units": [*units]}.items():
            for name in columns:
                if name in self.shown:
                    raise InputError(
                        f"column {name} is in {what}, but the model does not look at ids and ignored columns"
                    )
        made = {
            name: _parameter(name, table[name], name in choices, levels.get(name), name in log, units.get(name, ""))
            for name in modelled
        }
        self._lay_out({name: parameter for name, (parameter, _) in made.items()})
        if isinstance(same_in_batch, str):
            raise InputError(f"same_in_batch is a list of columns: write [{same_in_batch!r}]")
        check_shared(same_in_batch, list(made), "columns")
        self.same_in_batch = tuple(same_in_batch)
        self.names = tuple(table)
        self._points = torch.cat([coordinates for _, coordinates in made.values()], -1)
        self.tables = dict(tables or {})
        self.all_tables = Conditions.of((), self.tables, self.kinds).tables
        self._check_ids()

    @classmethod
    def among(cls, space: DesignSpace, rows: Tensor) -> "Pool":
        """Some designs of a space, listed: rows m x d."""
        pool = cls.__new__(cls)
        pool.id, pool.ignored, pool.shown, pool.tables = None, (), {}, {}
        pool._lay_out(space.parameters)
        pool.all_tables = space.all_tables
        pool.same_in_batch = space.same_in_batch
        pool._points = rows
        return pool

    def _check_ids(self) -> None:
        if self.id is None:
            return
        seen: dict[Any, int] = {}
        for row, value in enumerate(self.shown[self.id]):
            if value is None or value in seen:
                what = "nothing" if value is None else f"{value!r}, as row {seen[value]} has"
                raise InputError(f"row {row} of the pool has {what} in its id column {self.id}; every id must differ")
            seen[value] = row
        self._row_of = seen

    @cached_property
    def index(self) -> RowIndex:
        """Where designs stand in the list."""
        return RowIndex(self._points)

    @property
    def points(self) -> Tensor:
        """All designs: m x d."""
        return self._points

    def project(self, x: Tensor) -> Tensor:
        """The nearest row of the pool, distances in unit coordinates: ... x d."""
        flat = x.detach().reshape(-1, self.dim)
        position = self.index.find(flat.to(self._points))
        missing = (position < 0).nonzero()[:, 0]
        if len(missing):
            position[missing] = self._nearest(flat[missing])
        return self._points.to(x)[position.to(x.device)].reshape(x.shape)

    def same_designs(self, other: DesignSpace) -> bool:
        """Whether the other space is a list of the same rows in the same order."""
        if self is other or not isinstance(other, Pool):
            return self is other
        return self.parameters == other.parameters and torch.equal(self.points, other.points)

    def _nearest(self, x: Tensor) -> Tensor:
        """The positions of the rows nearest to designs b x d: b."""
        rows = self.to_unit(self._points.to(x))
        # by differences: the faster product form cannot tell rows that are closer than the root of rounding errors
        return torch.cat(
            [
                torch.cdist(part, rows, compute_mode="donot_use_mm_for_euclid_dist").argmin(-1)
                for part in self.to_unit(x).split(max(1, PAIRS_AT_ONCE // rows.shape[0]))
            ]
        ).to(self._points.device)

    def sample(self, count: int, seed: int) -> Tensor:
        """Rows spread over the pool: count x d; without repetition until the pool is used up."""
        generator = torch.Generator().manual_seed(seed)
        size = self._points.shape[0]
        if count >= size:
            extra = torch.randint(size, (count - size,), generator=generator)
            return self._points[torch.cat([torch.randperm(size, generator=generator), extra])]
        columns = self.to_unit(self._points).T.contiguous()
        targets = self.to_unit(self.from_cube(sobol(count, self.cube, seed)))
        taken = torch.zeros(size, dtype=self._points.dtype)  # infinite once a row is
        chosen = []
        for target in targets:
            distance = taken.clone()
            for column, place in zip(columns, target.tolist(), strict=True):
                gap = column - place
                distance.addcmul_(gap, gap)
            chosen.append(int(distance.argmin()))
            taken[chosen[-1]] = torch.inf
        return self._points[chosen]

    @property
    def kinds(self) -> dict[str, Categories | None]:
        """The columns that costs may use, including columns of numbers that are not modelled."""
        return {**super().kinds, **dict.fromkeys(self._shown_numbers)}

    @cached_property
    def _shown_numbers(self) -> dict[str, Tensor]:
        """The columns that are not modelled and have a number in every row: m each."""
        numbers = {name: column for name, column in self.shown.items() if all(is_number(value) for value in column)}
        return {name: torch.tensor(column, dtype=torch.float64) for name, column in numbers.items()}

    def free_columns(self, x: Tensor) -> dict[str, ParameterColumn]:
        """The columns of designs (... x d) by name, including numbers of the table that are not modelled."""
        found = super().free_columns(x)
        if self._shown_numbers:
            position = self.index.find(self.project(x.detach())).to(x.device)
            found |= {name: ParameterColumn(column.to(x)[position]) for name, column in self._shown_numbers.items()}
        return found

    def within(self, space: DesignSpace) -> "Pool":
        """The same designs in the coordinates of a space that has the same parameters."""
        names = [field.name for field in self.fields]
        if names != [field.name for field in space.fields]:
            theirs = ", ".join(field.name for field in space.fields)
            raise InputError(f"the pool has the columns {', '.join(names)}, the space {theirs}; they must be the same")
        own = [DesignSpace.decode(self, row) for row in self._points]
        parts = [
            parameter.encode(name, [[params[column] for params in own] for column in parameter.columns(name)])
            for name, parameter in space.parameters.items()
        ]
        made = Pool.among(space, torch.cat(parts, -1))
        made.same_in_batch = self.same_in_batch
        return made._with_labels_of(self, range(len(own)))

    def _with_labels_of(self, whole: "Pool", positions: Sequence[int]) -> "Pool":
        """Itself, with the ids and other columns of those rows of a pool from which its own come."""
        self.id, self.ignored, self.names, self.tables = whole.id, whole.ignored, whole.names, whole.tables
        self.all_tables = {**self.all_tables, **whole.all_tables}
        self.shown = {name: [column[i] for i in positions] for name, column in whole.shown.items()}
        self._check_ids()
        return self

    def fixed(self, **values: Any) -> "Pool":
        """The rows that have these values of some columns."""
        has = torch.ones(len(self._points), dtype=torch.bool)
        for name, value in values.items():
            if name not in self.parameters:
                known = nearest(name, list(self.parameters), what="columns")
                raise InputError(f"the pool has no column {name} that is modelled; {known}")
            wanted = self.parameters[name].encode(name, [[value]])
            has &= (self._points[:, self.places[name]] == wanted).all(-1)
        positions = has.nonzero()[:, 0]
        if not len(positions):
            raise InputError(f"no design of the pool has {values}")
        found = Pool.among(self, self._points[positions])
        found.same_in_batch = tuple(name for name in self.same_in_batch if name not in values)
        return found._with_labels_of(self, positions.tolist())

    def with_plates(self, count: int, taken: Tensor) -> tuple["Pool", int]:
        """The rows not taken (p x d) for which enough others have the same shared values, and how many are enough."""
        free = ~self.index.equal_to_any(taken)
        rows = self._points[free] if bool(free.any()) else self._points
        shared = torch.cat([rows[:, self.places[name]] for name in self.same_in_batch], -1)
        _, group, sizes = torch.unique(shared, dim=0, return_inverse=True, return_counts=True)
        most = min(count, int(sizes.max()))
        return Pool.among(self, rows[sizes[group] >= most]), most

    def spread(self, count: int, seed: int, known: Tensor | None = None, place: int | None = None) -> Tensor:
        """Rows spread over the pool, covering all options before repeating one where possible: count x d.

        Fewer than `count` if the pool has no more rows besides those `known` (m x d).
        """
        before = self._points[:0] if known is None else known
        start, tables = len(before) if place is None else place, self._option_tables()
        free = ~self.index.equal_to_any(before)
        count = min(count, int(free.sum()))
        if not tables:
            rows = self.sample(min(len(self._points), start + count), seed)
            rows = rows[~RowIndex(rows).equal_to_any(before)]
            return rows[:count] if place is None else rows[-count:]
        positions = [table.index(self._points[:, place]) for place, table in tables]
        uses = [uses_of(table, before[:, place]) for place, table in tables]
        unit, chosen = self.to_unit(self._points), []
        targets = sobol(start + count, self.cube, seed)[start:]
        for target in self.to_unit(self.from_cube(targets)):
            repeated = torch.stack([used[each] for used, each in zip(uses, positions, strict=True)]).sum(0)
            least = free & (repeated <= repeated[free].min())
            rows = least.nonzero()[:, 0]
            chosen.append(int(rows[(unit[rows] - target).square().sum(-1).argmin()]))
            free[chosen[-1]] = False
            for used, each in zip(uses, positions, strict=True):
                used[each[chosen[-1]]] += 1.0
        return self._points[chosen]

    def check(self, x: Tensor, relaxed: bool = False) -> None:
        """Raise an `InputError` for a design that is not a row of the pool."""
        super().check(x, relaxed)
        if relaxed:
            return
        flat = x.reshape(-1, self.dim)
        gap = (self.to_unit(flat) - self.to_unit(self.project(flat))).abs().amax(-1)
        if bool((gap > 1e-9).any()):
            row = flat[int((gap > 1e-9).nonzero()[0])]
            raise InputError(f"the design {super().decode(row)} is not in the pool of {self._points.shape[0]} designs")

    def encode_many(self, designs: Sequence[Mapping[str, Any]]) -> Tensor:
        """Designs as rows (n x d): by their id where they have one, else by the values of all columns."""
        if not self.shown:
            return super().encode_many(designs)
        modelled = [field.name for field in self.fields]
        if self.id is not None and all(isinstance(params, Mapping) and self.id in params for params in designs):
            return torch.stack([self._points[self._row_with_id(params)] for params in designs])
        plain = [
            {name: value for name, value in params.items() if name in modelled or name not in self.names}
            if isinstance(params, Mapping)
            else params
            for params in designs
        ]
        return super().encode_many(plain)

    def _row_with_id(self, params: Mapping[str, Any]) -> int:
        """The row with an id; other values that are given must be those of the row."""
        value = params[self.id or ""]
        value = value.item() if isinstance(value, np.generic) else value
        if value not in self._row_of:
            by_text = {str(known): known for known in self._row_of}
            if str(value) not in by_text:
                raise InputError(f"no design has {self.id} {value!r}; {nearest(str(value), list(by_text), what='ids')}")
            value = by_text[str(value)]
        row = self._row_of[value]
        own = super().decode(self._points[row])
        for field in self.fields:
            if field.name in params and not field.same(params[field.name], own[field.name]):
                raise InputError(
                    f"{self.id} {value!r} has {field.name} = {own[field.name]} in the pool, not {params[field.name]!r}"
                )
        return row

    def cleaned(self, params: Mapping[str, Any]) -> Params:
        """A design as it is stored: as in the table, under the given id."""
        row = self.encode(params)
        if self.id is None or self.id not in params:
            return self.decode(row)
        position = self._row_with_id(params)
        return {**self.decode(row), **{name: column[position] for name, column in self.shown.items()}}

    def decode(self, row: Tensor) -> Params:
        """A row (d) as named values, with its id and the other columns of the table."""
        values = super().decode(row)
        if not self.shown:
            return values
        position = int(self.index.find(row.to(self._points).unsqueeze(0))[0])
        own = {name: None if position < 0 else column[position] for name, column in self.shown.items()}
        return {name: own[name] if name in own else values[name] for name in self.names}

    def __repr__(self) -> str:
        """How many designs, and of what."""
        return f"Pool({self._points.shape[0]} designs; {', '.join(self.names)})"


def _plain(column: np.ndarray) -> list[Any]:
    """A column that is not modelled, as plain values; what is missing is None."""
    return [None if isinstance(value, float) and np.isnan(value) else value for value in column.tolist()]


def _parameter(
    name: str, column: np.ndarray, chosen: bool, levels: Sequence[Any] | None, log: bool, unit: str
) -> tuple[Parameter, Tensor]:
    """A column as a parameter, a choice if it is `chosen` to be one, and its coordinates: m x width."""
    if levels is not None:
        if chosen:
            raise InputError(f"column {name} is in choices, which have no order, and in levels; leave one out")
        ordered = Levels(levels, log, unit)
        return ordered, ordered.encode(name, [column.tolist()])
    texts = column.dtype.kind in "OUb" and any(isinstance(value, str | bool | np.bool_) for value in column.tolist())
    if chosen or texts:
        if log or unit:
            what = "is in log" if log else f"has the unit {unit!r}"
            raise InputError(f"column {name} {what}, but its values are options without an order")
        options, position = _options(name, column, chosen)
        choice = Choice(options)
        block = choice.coordinates()
        return choice, torch.empty(len(column), 0) if block is None else block.rows[torch.from_numpy(position)]
    try:
        values = real_array(column)
    except (TypeError, ValueError) as error:
        raise InputError(f"a pool needs a table of numbers and texts; column {name} is not: {error}") from None
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argwhere(bad)[0][0])
        raise InputError(
            f"row {row} of the pool has the value {values[row]} in column {name}; drop that row, or the column"
            f" with ignore=[{name!r}]"
        )
    if log and values.min() < MIN_LOG_BOUND:
        row = int(values.argmin())
        raise InputError(
            f"column {name} is in log, but row {row} of the pool has the value {values[row]} there; its values must"
            " be above 0"
        )
    number = TableColumn(float(values.min()), float(values.max()), log, None, unit)
    return number, torch.from_numpy(values).unsqueeze(-1)


def _options(name: str, column: np.ndarray, numbers: bool) -> tuple[tuple[Any, ...], np.ndarray]:
    """The different values of a column in the order of their first row, and which each row has.

    Where `numbers` may be options, whole ones are so in any table: columns of a file are all floats.
    """
    values = column.tolist()
    seen: dict[Any, int] = {}
    position = np.array([seen.setdefault(value, len(seen)) for value in values])
    for value in seen:
        if value == "" or not (isinstance(value, str | bool) or (numbers and is_finite(value))):
            what = "is no option" if numbers else "has texts elsewhere"
            raise InputError(
                f"row {values.index(value)} of the pool has the value {value!r} in column {name}, which {what}; correct"
                f" it, or drop the column with ignore=[{name!r}]"
            )
    options = tuple(int(value) if isinstance(value, float) and value.is_integer() else value for value in seen)
    return options, position
