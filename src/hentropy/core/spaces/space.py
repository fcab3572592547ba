"""Design spaces: where experiments live, and the only place that knows the unit cubes. `Space` is made of parameters.

Designs are rows of float64 tensors: the coordinates of all parameters, numbers in their own units (for the others see
`coordinates`). People know designs by names and values, `encode` and `decode` translate. Nothing outside this package
scales designs: `to_unit` is for the model and for distances, `to_cube` and `from_cube` are for searches.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from hentropy.core.given import is_number
from hentropy.core.spaces.constraints import Condition, Conditions, DesignTest, FeasibleSet
from hentropy.core.spaces.coordinates import MAX_LISTED_DESIGNS, Coordinates, Straight, ValueTable, scales_of
from hentropy.core.spaces.evaluation import Categories, ParameterColumn, Tables
from hentropy.core.spaces.first_designs import SAMPLES_PER_DESIGN, balanced_over_options
from hentropy.core.spaces.options import Choice, OneOf, descriptor_tables
from hentropy.core.spaces.parameters import Field, Number, Parameter, Real, blocks_of, nearest
from hentropy.errors import DocPage, InputError, explained_in
from hentropy.lazy import Tensor, torch

Params = dict[str, Any]

SAME_DESIGN_TOLERANCE = 1e-9
"""Designs whose unit coordinates differ by no more are the same."""


class DesignSpace(ABC):
    """The set of experiments that can be run: parameters by name, and d coordinates that describe a design."""

    parameters: Mapping[str, Parameter]
    names: tuple[str, ...]
    """What people call the values of a design: the parameters, or the parts of a whole."""

    fields: tuple[Field, ...]
    """The values of a design as people see them, in the order of the names."""

    places: Mapping[str, slice]
    """Where the coordinates of each parameter stand in a row."""

    dim: int
    """How many coordinates a design has."""

    all_tables: Tables
    """Numbers by option that conditions and costs may look up."""

    same_in_batch: tuple[str, ...] = ()
    """The parameters that have the same value in all designs that are asked for together."""

    _feasible: FeasibleSet | None = None

    def _lay_out(self, parameters: Mapping[str, Parameter], held: Mapping[str, Tensor] | None = None) -> None:
        """Give every parameter its coordinates; those of parameters that are `held` are the given ones.

        How many there are is known at once; what they are is worked out when they are needed.
        """
        check_size(len(parameters))
        self.parameters = dict(parameters)
        self.all_tables = {}
        self.fields = tuple(field for name, p in parameters.items() for field in p.fields(name))
        self.names = tuple(field.name for field in self.fields)
        repeated = next((name for name, count in Counter(self.names).items() if count > 1), None)
        if repeated is not None:
            raise InputError(f"the names of a design's values must differ, got {repeated} twice")
        starts = [0, *accumulate(parameter.width for parameter in parameters.values())]
        self.dim = starts[-1]
        if not self.dim:
            raise InputError("every parameter has a single value, so there is one design only; widen one of them")
        check_size(self.dim)
        self.places = {name: slice(*ends) for name, ends in zip(parameters, pairwise(starts), strict=True)}
        self._held = held or {}

    @cached_property
    def _parts(self) -> list[Coordinates]:
        """The coordinates; numbers that follow each other are handled together."""
        return blocks_of(self.parameters, self._held)

    @cached_property
    def cube(self) -> int:
        """How many coordinates searches step in."""
        return sum(block.size for block in self._parts)

    @cached_property
    def bounds(self) -> Tensor:
        """The smallest and the largest value of each coordinate, in its own units: 2 x d."""
        return torch.cat([block.bounds for block in self._parts], -1)

    @cached_property
    def scales(self) -> tuple[int, ...]:
        """Which of the model's length scales belongs to each coordinate: d numbers."""
        return scales_of(self._parts)

    @cached_property
    def exchanges(self) -> int:
        """How many `neighbours` a design has; 0 where all values are numbers that descent can move."""
        return self.free_neighbours(self.bounds[0]).shape[-2]

    @cached_property
    def _unit(self) -> Straight:
        return Straight.joined([block.unit for block in self._parts])

    @property
    def points(self) -> Tensor | None:
        """All designs where they are finitely many and listed (m x d); None otherwise."""
        return None

    def _each(self, values: Tensor, action: Callable[[Coordinates, Tensor], Tensor], cube: bool = False) -> Tensor:
        """What each block makes of its coordinates of a row (... x d), or of the cube (... x cube), side by side."""
        if len(self._parts) == 1:
            return action(self._parts[0], values)
        parts = values.split([block.size if cube else block.width for block in self._parts], -1)
        return torch.cat([action(block, part) for block, part in zip(self._parts, parts, strict=True)], -1)

    def to_unit(self, x: Tensor) -> Tensor:
        """Designs as the model sees them, and as distances are measured: ... x d, every coordinate from 0 to 1."""
        return self._unit(x)

    def to_compare(self, x: Tensor, power: float, scaled: bool) -> Tensor:
        """Designs (... x d) so that the l1 or l2 norm of a difference is how much designs differ: ... x d.

        Numbers count in their own units, or as shares of their ranges if `scaled`; another option counts 1.
        """
        x = self.to_unit(x) if scaled else x
        if not self.compares_options:
            return x
        return x * torch.cat([block.weights(power) for block in self._parts]).to(x)

    @property
    def compares_options(self) -> bool:
        """Whether designs differ in options without an order, whose coordinates are no measure of distance."""
        return any(field.options and not field.ordered for field in self.fields)

    def to_cube(self, x: Tensor) -> Tensor:
        """Designs in the cube of a search: ... x d to ... x cube."""
        return self._each(x, lambda block, part: block.to_cube(part))

    def from_cube(self, u: Tensor) -> Tensor:
        """The inverse of `to_cube`: ... x d; numbers on a grid come out relaxed, `project` rounds them."""
        return self.free_from_cube(u) if self._feasible is None else self._feasible.from_cube(u)

    def neighbours(self, x: Tensor) -> Tensor:
        """Designs (... x d) with one value exchanged for another option or the next step: ... x N x d.

        In place of infeasible ones it has x itself.
        """
        moved = self.free_neighbours(x)
        return moved if self._feasible is None else self._feasible.repaired(moved, x)

    def free_from_cube(self, u: Tensor) -> Tensor:
        """`from_cube` without conditions."""
        return self._each(u, lambda block, part: block.from_cube(part), cube=True)

    def free_filling(self, u: Tensor) -> Tensor:
        """Uniform points of the cube (... x cube) as designs that fill the space, without conditions: ... x d."""
        return self._each(u, lambda block, part: block.filling(part), cube=True)

    def free_stepped(self, x: Tensor, step: Tensor) -> Tensor:
        """Designs (... x d) after a step of a random walk in the cube (... x cube), without conditions: ... x d."""
        rows = x.split([block.width for block in self._parts], -1)
        steps = step.split([block.size for block in self._parts], -1)
        moved = [block.stepped(*each) for block, *each in zip(self._parts, rows, steps, strict=True)]
        return torch.cat(moved, -1)

    def free_project(self, x: Tensor) -> Tensor:
        """The nearest design without conditions: clamped to the bounds, whole numbers rounded, the nearest options."""
        return self._each(x, lambda block, part: block.project(part))

    def free_clamp(self, x: Tensor) -> Tensor:
        """Numbers within their bounds, parts of a whole at their total; steps and options are left as they are."""
        return self._each(x, lambda block, part: block.clamp(part))

    def free_numbers(self) -> dict[str, int]:
        """The coordinates of all numbers that descent may move, by name."""
        found: dict[str, int] = {}
        for name, parameter in self.parameters.items():
            if not isinstance(parameter, OneOf):
                found |= {column: self.places[name].start + i for i, column in enumerate(parameter.columns(name))}
        return found

    def free_columns(self, x: Tensor) -> dict[str, ParameterColumn]:
        """The columns of designs (... x d) by name, as conditions and costs look at them."""
        found = {name: ParameterColumn(x[..., place]) for name, place in self.free_numbers().items()}
        for name, parameter in self.parameters.items():
            if isinstance(parameter, OneOf):
                table = parameter.coordinates()
                own = x[..., self.places[name]]
                index = (
                    torch.zeros(x.shape[:-1], dtype=torch.long, device=x.device) if table is None else table.index(own)
                )
                found[name] = ParameterColumn(index, parameter.categories)
        return found

    @property
    def kinds(self) -> dict[str, Categories | None]:
        """The columns that conditions and costs may look at: None for numbers."""
        return {f.name: Categories(f.options, f.ordered) if f.options else None for f in self.fields}

    def from_unit_slope(self, x: Tensor) -> Tensor:
        """How fast coordinates (... x d) change with those of the unit cube: ... x d."""
        return self._unit.slope(x)

    def free_neighbours(self, x: Tensor) -> Tensor:
        """`neighbours` without conditions."""
        parts = x.split([block.width for block in self._parts], -1)
        found = []
        for i, (block, part) in enumerate(zip(self._parts, parts, strict=True)):
            moved = block.neighbours(part)  # ... x N' x width
            around = [each.unsqueeze(-2).expand(*moved.shape[:-1], each.shape[-1]) for each in parts]
            found.append(torch.cat([*around[:i], moved, *around[i + 1 :]], -1))
        return torch.cat(found, -2)

    @abstractmethod
    def project(self, x: Tensor) -> Tensor:
        """The nearest design that can really be run: clamped, rounded, or the nearest row of a list: ... x d."""

    def contains(self, x: Tensor) -> Tensor:
        """Which designs (... x d) can really be run, up to rounding errors: ... ."""
        return (self.to_unit(x) - self.to_unit(self.project(x))).abs().amax(-1) <= SAME_DESIGN_TOLERANCE

    @abstractmethod
    def same_designs(self, other: "DesignSpace") -> bool:
        """Whether the other space has the same designs, as far as definitions tell; functions are not looked into."""

    @abstractmethod
    def sample(self, count: int, seed: int) -> Tensor:
        """Designs that fill the space evenly: count x d, the same for the same seed."""

    @abstractmethod
    def fixed(self, **values: Any) -> "DesignSpace":
        """The designs with these values of some parameters: a space with the same coordinates."""

    def plate(self, row: Tensor) -> "DesignSpace":
        """The designs that may be asked for together with a design (d)."""
        params = self.decode(row)
        shared = {}
        for name in self.same_in_batch:
            columns = self.parameters[name].columns(name)
            shared[name] = params[name] if columns == (name,) else {column: params[column] for column in columns}
        return self.fixed(**shared)

    def with_plates(self, count: int, taken: Tensor) -> tuple["DesignSpace", int]:
        """The designs that can be asked for with others, and how many together: `count`, or fewer of a list.

        A list offers those that are not `taken` (p x d) while there are others, and no design twice.
        """
        return self, count

    def spread(self, count: int, seed: int, known: Tensor | None = None, place: int | None = None) -> Tensor:
        """First designs: they fill the space, and have each option before one has been seen twice: count x d.

        They go on from those `known` (m x d). Options take turns, those used least first; numbers fill what the options
        of a design allow: a sequence from its `place` on, by default the m-th.
        """
        before = self.bounds[:0] if known is None else known
        m, tables = len(before), self._option_tables()
        start = m if place is None else place
        if not tables:
            return self.sample(start + count, seed)[start:]
        numbers = self.free_filling(sobol(start + count, self.cube, seed))[start:]

        def drawn(generator: torch.Generator) -> Tensor:
            return self.free_filling(
                torch.rand(SAMPLES_PER_DESIGN, self.cube, generator=generator, dtype=torch.float64)
            )

        def feasible() -> Tensor:
            return self.sample(
                max(SAMPLES_PER_DESIGN, 2 * count), seed + m + 1
            )  # another seed: not the numbers above again

        return balanced_over_options(numbers, drawn, feasible, tables, before, self.holds, seed + m)

    def _option_tables(self) -> list[tuple[slice, ValueTable]]:
        """Where the options of choices and levels stand in a row, unless they are held."""
        start, found = 0, []
        for block in self._parts:
            if isinstance(block, ValueTable):
                found.append((slice(start, start + block.width), block))
            start += block.width
        return found

    def holds(self, x: Tensor) -> Tensor:
        """Which designs (... x d) satisfy all conditions: ... ."""
        if self._feasible is None:
            return torch.ones(x.shape[:-1], dtype=torch.bool, device=x.device)
        return self._feasible.holds(x)

    def violated(self, row: Tensor) -> list[str]:
        """The conditions that a design (d) does not satisfy."""
        return [] if self._feasible is None else self._feasible.violated(row)

    def encode(self, params: Mapping[str, Any]) -> Tensor:
        """One design as a row (d), checked."""
        return self.encode_many([params])[0]

    def encode_many(self, designs: Sequence[Mapping[str, Any]]) -> Tensor:
        """Designs as rows (n x d), checked together: much faster than one by one."""
        for params in designs:
            self._check_names(params)
        parts = [
            parameter.encode(name, [[params[column] for params in designs] for column in parameter.columns(name)])
            for name, parameter in self.parameters.items()
        ]
        rows = torch.cat(parts, -1)
        self.check(rows)
        return rows

    def _check_names(self, params: Mapping[str, Any]) -> None:
        if not isinstance(params, Mapping):
            raise InputError(f"a design is given by name, such as {{{self.names[0]!r}: ...}}; got {params!r}")
        needed = [field.name for field in self.fields]  # a pool also shows columns that nobody has to give
        if params.keys() != set(needed):
            missing = [name for name in needed if name not in params]
            unknown = [str(name) for name in params if name not in needed]
            what = [f"misses {', '.join(missing)}"] * bool(missing) + [f"has unknown {', '.join(unknown)}"] * bool(
                unknown
            )
            raise InputError(f"the design {dict(params)} {' and '.join(what)}; its parameters are {', '.join(needed)}")

    def decode(self, row: Tensor) -> Params:
        """A row (d) as named values."""
        values = row.tolist()
        return {
            column: value
            for name, parameter in self.parameters.items()
            for column, value in zip(parameter.columns(name), parameter.decode(values[self.places[name]]), strict=True)
        }

    def cleaned(self, params: Mapping[str, Any]) -> Params:
        """A design as it is kept: checked, with every value as its parameter has it."""
        return self.decode(self.encode(params))

    def check(self, x: Tensor, relaxed: bool = False) -> None:
        """Raise an `InputError` that names a value of x (... x d) outside the space; `relaxed`: off its bounds."""
        if x.dim() == 0 or x.shape[-1] != self.dim:
            raise InputError(
                f"designs of this space have {self.dim} coordinates ({', '.join(self.names)}), got shape"
                f" {tuple(x.shape)}"
            )
        flat = x.reshape(-1, self.dim)
        for name, parameter in self.parameters.items():
            parameter.check(name, flat[:, self.places[name]], relaxed)


class Space(DesignSpace):
    """Designs with named parameters: `Space(x1=Real(0, 10), solvent=["water", "ethanol"])`.

    `where` are conditions on every design, such as "solvent != 'ethanol' or x1 <= 78"; `tables` are numbers
    by option that they may look up, as in "x1 <= boiling_point[solvent]", and the descriptors of a choice are tables
    too. All designs of a batch share their values of the parameters `same_in_batch`.
    """

    def __init__(
        self,
        *,
        # checked at run time: a type checker takes the values of Space(**parameters) for these as well
        where: Any = (),
        tables: Any = None,
        same_in_batch: Any = (),
        **parameters: Parameter | Sequence[Any],
    ) -> None:
        if not parameters:
            raise InputError("a space needs at least one parameter: Space(x=Real(0, 1))")
        made = {name: _as_parameter(name, given) for name, given in parameters.items()}
        self._build(made, where, tables or {}, same_in_batch, {})

    def _build(
        self,
        parameters: Mapping[str, Parameter],
        where: Sequence[Condition],
        tables: Mapping[str, Mapping[Any, float]],
        same_in_batch: Sequence[str],
        held: Mapping[str, Tensor],
        test: DesignTest | None = None,
    ) -> None:
        self._lay_out(parameters, held)
        self.where, self.tables, self.held = tuple(where) if not isinstance(where, str) else where, dict(tables), held
        if isinstance(same_in_batch, str):
            raise InputError(f"same_in_batch is a list of parameters: write [{same_in_batch!r}]")
        check_shared(same_in_batch, list(parameters), "parameters")
        if set(same_in_batch) == set(parameters):
            raise InputError(
                "same_in_batch names all parameters, so the designs of a batch would all be the same; leave one out"
            )
        self.same_in_batch = tuple(same_in_batch)
        with explained_in(DocPage.CONSTRAINTS):
            conditions = Conditions.of(where, {**descriptor_tables(parameters), **tables}, self.kinds)
            self.all_tables = conditions.tables
            self._feasible = FeasibleSet(self, conditions, test) if conditions.given or test is not None else None

    def limited(self, test: DesignTest) -> "Space":
        """The designs that also pass a test: a space with the same coordinates."""
        made = Space.__new__(Space)
        made._build(self.parameters, self.where, self.tables, self.same_in_batch, self.held, test)
        return made

    def fixed(self, **values: Any) -> "Space":
        """The designs with these values of some parameters: a space with the same coordinates."""
        held = dict(self.held)
        for name, value in values.items():
            if name not in self.parameters:
                known = nearest(name, list(self.parameters), what="parameters")
                raise InputError(f"the space has no parameter {name}; {known}")
            parameter = self.parameters[name]
            columns = [[value]] if len(parameter.columns(name)) == 1 else [[value[c]] for c in parameter.columns(name)]
            row = parameter.encode(name, columns)
            parameter.check(name, row)
            held[name] = row[0]
        made = Space.__new__(Space)
        still = [name for name in self.same_in_batch if name not in held]
        made._build(self.parameters, self.where, self.tables, still, held)
        return made

    def same_designs(self, other: DesignSpace) -> bool:
        """Whether the other space has the same parameters, conditions, tables and fixed values."""
        if self is other or not isinstance(other, Space):
            return self is other
        if self.limited_by is not other.limited_by or self.held.keys() != other.held.keys():
            return False
        held = all(torch.equal(row, other.held[name]) for name, row in self.held.items())
        mine, theirs = ((of.parameters, of.where, of.tables) for of in (self, other))
        return held and mine == theirs

    @property
    def limited_by(self) -> DesignTest | None:
        """The test that its designs also pass, if there is one."""
        return None if self._feasible is None else self._feasible.test

    @property
    def held_values(self) -> dict[str, Any]:
        """The values of fixed parameters, as `fixed` takes them."""
        found = {}
        for name, row in self.held.items():
            columns, values = self.parameters[name].columns(name), self.parameters[name].decode(row.tolist())
            found[name] = values[0] if columns == (name,) else dict(zip(columns, values, strict=True))
        return found

    def idle_conditions(self) -> list[str]:
        """The conditions that exclude nothing."""
        return [] if self._feasible is None else self._feasible.idle()

    @classmethod
    def box(cls, low: list[float], high: list[float]) -> "Space":
        """A space of reals x1, x2, ... from two lists of bounds."""
        if len(low) != len(high):
            raise InputError(f"a box needs as many lower as upper bounds, got {list(low)} and {list(high)}")
        return cls(**{f"x{i}": Real(lo, hi) for i, (lo, hi) in enumerate(zip(low, high, strict=True), start=1)})

    @cached_property
    def points(self) -> Tensor | None:
        """All designs, where every parameter has finitely many values and they are not too many: m x d."""
        if any(isinstance(p, Number) and not p.grid for name, p in self.parameters.items() if name not in self.held):
            return None
        rows = torch.empty(1, 0, dtype=torch.float64)
        for block in self._parts:
            values = block.values
            if values is None or len(rows) * len(values) > MAX_LISTED_DESIGNS:
                return None
            rows = torch.cat([rows.repeat_interleave(len(values), 0), values.repeat(len(rows), 1)], -1)
        return rows[self.holds(rows)]

    def project(self, x: Tensor) -> Tensor:
        """Clamped to the bounds, whole numbers rounded, the nearest options, conditions satisfied: ... x d."""
        return self.free_project(x) if self._feasible is None else self._feasible.project(x)

    def sample(self, count: int, seed: int) -> Tensor:
        """Scrambled Sobol designs: count x d; integers and options get equal shares of the feasible designs."""
        if self._feasible is not None:
            return self._feasible.sample(count, seed)
        return self.free_filling(sobol(count, self.cube, seed))

    def __repr__(self) -> str:
        """As it was written."""
        inside = [f"{name}={parameter!r}" for name, parameter in self.parameters.items()]
        inside += [f"where={list(self.where)!r}"] * bool(self.where)
        inside += [f"same_in_batch={list(self.same_in_batch)!r}"] * bool(self.same_in_batch)
        return f"Space({', '.join(inside)})"


def _as_parameter(name: str, given: Any) -> Parameter:
    """A parameter; a list of texts, or of truth values, is a choice."""
    if isinstance(given, Parameter):
        return given
    if isinstance(given, Sequence) and not isinstance(given, str) and not all(is_number(each) for each in given):
        return Choice(tuple(given))
    raise InputError(
        f"parameter {name} is {given!r}; it must be Real(low, high), Integer(low, high), Choice(options),"
        " Levels(values), Fractions(parts), or a list of texts to choose from"
    )


MAX_PARAMETERS = 5_000
"""No model learns from experiments with more, and the points that fill a space end soon after."""


def check_shared(names: Sequence[str], known: Sequence[str], what: str) -> None:
    """Refuse what is to be the same in a batch and is not there."""
    for name in names:
        if name not in known:
            raise InputError(
                f"same_in_batch must name {what}, and {name!r} is none; {nearest(str(name), known, what=what)}"
            )


def check_size(parameters: int) -> None:
    """Refuse a space with more parameters than can be searched."""
    if parameters > MAX_PARAMETERS:
        raise InputError(
            f"a design has at most {MAX_PARAMETERS} parameters, got {parameters}, each option of a choice counted;"
            " choose those that matter. A column of a table whose texts all differ is an id, or ignored"
        )


def sobol(count: int, dim: int, seed: int) -> Tensor:
    """Scrambled Sobol points in the open unit cube: count x dim, float64."""
    engine = torch.quasirandom.SobolEngine(dim, scramble=True, seed=seed)
    return engine.draw(count, dtype=torch.float64).clamp(1e-9, 1 - 1e-9)
