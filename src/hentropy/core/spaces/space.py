"""Design spaces: where experiments live, and the only place that knows the unit cubes. `Space` is made of parameters.

Designs are rows of float64 tensors: the coordinates of all parameters, numbers in their own units (for the others see
`coordinates`). People know designs by names and values, `encode` and `decode` translate. Nothing outside this package
scales designs: `to_unit` is for the model and for distances, `to_cube` and `from_cube` are for searches.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from hentropy.core.given import is_number
from hentropy.core.spaces.coordinates import MOST_VALUES, Coordinates, Numbers, Straight
from hentropy.core.spaces.options import Choice
from hentropy.core.spaces.parameters import Field, Number, Parameter, Real
from hentropy.errors import InputError

Params = dict[str, Any]


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

    cube: int
    """How many coordinates searches step in."""

    bounds: Tensor
    """The least and the greatest value of each coordinate, in its own units: 2 x d."""

    scales: tuple[int, ...]
    """Which of the model's length scales belongs to each coordinate: d numbers."""

    exchanges: int
    """How many `neighbours` a design has; 0 where all values are numbers that descent can move."""

    def _lay_out(self, parameters: Mapping[str, Parameter]) -> None:
        """Give every parameter its coordinates; numbers that follow each other are handled together."""
        self.parameters = dict(parameters)
        self.fields = tuple(field for name, p in parameters.items() for field in p.fields(name))
        self.names = tuple(field.name for field in self.fields)
        repeated = [name for name in self.names if self.names.count(name) > 1]
        if repeated:
            raise InputError(f"the names of a design's values must differ, got {repeated[0]} twice")
        self._parts = _parts(list(parameters.values()))
        if not self._parts:
            raise InputError("every parameter has a single value, so there is one design only; widen one of them")
        self.dim = sum(block.width for block in self._parts)
        self.cube = sum(block.size for block in self._parts)
        self.bounds = torch.cat([block.bounds for block in self._parts], -1)
        self.scales = _scales(self._parts)
        self.exchanges = self.neighbours(self.bounds[0]).shape[-2]
        self._unit = Straight.joined([block.unit for block in self._parts])
        widths = [0 if (block := p.coordinates()) is None else block.width for p in parameters.values()]
        starts = [0, *accumulate(widths)]
        self.places = {name: slice(*ends) for name, ends in zip(parameters, pairwise(starts), strict=True)}
        check_size(starts[-1])

    @property
    def points(self) -> Tensor | None:
        """All designs where they are finitely many and listed (m x d); None otherwise."""
        return None

    def _each(self, x: Tensor, action: Callable[[Coordinates, Tensor], Tensor]) -> Tensor:
        """What each block makes of its coordinates (... x d), side by side."""
        if len(self._parts) == 1:
            return action(self._parts[0], x)
        parts = x.split([block.width for block in self._parts], -1)
        return torch.cat([action(block, part) for block, part in zip(self._parts, parts, strict=True)], -1)

    def _from_cube(self, u: Tensor, action: Callable[[Coordinates, Tensor], Tensor]) -> Tensor:
        """What each block makes of its coordinates of the cube (... x cube), side by side."""
        if len(self._parts) == 1:
            return action(self._parts[0], u)
        parts = u.split([block.size for block in self._parts], -1)
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
        return self._from_cube(u, lambda block, part: block.from_cube(part))

    def neighbours(self, x: Tensor) -> Tensor:
        """Designs (... x d) with one value exchanged for another option or the next step: ... x N x d."""
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

    @abstractmethod
    def sample(self, count: int, seed: int) -> Tensor:
        """Designs that fill the space evenly: count x d, the same for the same seed."""

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
        if params.keys() != set(self.names):
            missing = [name for name in self.names if name not in params]
            unknown = [str(name) for name in params if name not in self.names]
            what = [f"misses {', '.join(missing)}"] * bool(missing) + [f"has unknown {', '.join(unknown)}"] * bool(
                unknown
            )
            raise InputError(
                f"the design {dict(params)} {' and '.join(what)}; its parameters are {', '.join(self.names)}"
            )

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
    """Designs with named parameters: `Space(x1=Real(0, 10), solvent=["water", "ethanol"])`."""

    def __init__(self, **parameters: Parameter | Sequence[Any]) -> None:
        if not parameters:
            raise InputError("a space needs at least one parameter: Space(x=Real(0, 1))")
        self._lay_out({name: _as_parameter(name, given) for name, given in parameters.items()})

    @classmethod
    def box(cls, low: list[float], high: list[float]) -> "Space":
        """A space of reals x1, x2, ... from two lists of bounds."""
        if len(low) != len(high):
            raise InputError(f"a box needs as many lower as upper bounds, got {list(low)} and {list(high)}")
        return cls(**{f"x{i}": Real(lo, hi) for i, (lo, hi) in enumerate(zip(low, high, strict=True), start=1)})

    @cached_property
    def points(self) -> Tensor | None:
        """All designs, where every parameter has finitely many values and they are not too many: m x d."""
        rows = torch.empty(1, 0, dtype=torch.float64)
        for block in self._parts:
            values = block.values
            if values is None or len(rows) * len(values) > MOST_VALUES:
                return None
            rows = torch.cat([rows.repeat_interleave(len(values), 0), values.repeat(len(rows), 1)], -1)
        return rows

    def project(self, x: Tensor) -> Tensor:
        """Clamped to the bounds, whole numbers rounded, the nearest options: ... x d."""
        return self._each(x, lambda block, part: block.project(part))

    def sample(self, count: int, seed: int) -> Tensor:
        """Scrambled Sobol designs: count x d; integers and options get equal shares."""
        return self._from_cube(sobol(count, self.cube, seed), lambda block, part: block.filling(part))

    def __repr__(self) -> str:
        """As it was written."""
        inside = ", ".join(f"{name}={parameter!r}" for name, parameter in self.parameters.items())
        return f"Space({inside})"


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


MOST_PARAMETERS = 5_000
"""No model learns from experiments with more, and the points that fill a space end soon after."""


def check_size(parameters: int) -> None:
    """Refuse a space with more parameters than can be searched."""
    if parameters > MOST_PARAMETERS:
        raise InputError(
            f"a design has at most {MOST_PARAMETERS} parameters, got {parameters}; choose those that matter"
        )


def _scales(blocks: Sequence[Coordinates]) -> tuple[int, ...]:
    """The length scales of all blocks, numbered through."""
    found: list[int] = []
    for block in blocks:
        first = max(found, default=-1) + 1
        found += [first + scale for scale in block.scales]
    return tuple(found)


def _parts(parameters: Sequence[Parameter]) -> list[Coordinates]:
    """The coordinates of the parameters in their order; numbers that follow each other share a block."""
    blocks: list[Coordinates] = []
    run: list[Number] = []
    for parameter in [*parameters, None]:
        if isinstance(parameter, Number):
            run.append(parameter)
            continue
        if run:
            blocks.append(
                Numbers([p.low for p in run], [p.high for p in run], [p.log for p in run], [p.grid for p in run])
            )
            run = []
        block = None if parameter is None else parameter.coordinates()
        if block is not None:
            blocks.append(block)
    return blocks


FEWEST_FIRST, MOST_FIRST = 4, 12
"""The default number of first designs is never outside of these: a model learns more from designs that it chooses."""


def usual_first(parameters: int) -> int:
    """How many first designs there are by default, earlier data among them: 2 (d + 1) for d parameters, 4 to 12."""
    return min(max(FEWEST_FIRST, 2 * (parameters + 1)), MOST_FIRST)


def sobol(count: int, dim: int, seed: int) -> Tensor:
    """Scrambled Sobol points in the open unit cube: count x dim, float64."""
    engine = torch.quasirandom.SobolEngine(dim, scramble=True, seed=seed)
    return engine.draw(count, dtype=torch.float64).clamp(1e-9, 1 - 1e-9)
