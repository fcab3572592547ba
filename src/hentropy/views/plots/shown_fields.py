"""Designs as people see them: one value for each field; and designs in which some fields are varied.

    d  coordinates of a design        F  fields of a design

Along an axis, a number stands at itself, and an option at its position in the list of options.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from hentropy.core.spaces import DesignSpace, Field, Fractions, Pool, Space
from hentropy.core.spaces.options import Choice, OneOf
from hentropy.core.spaces.parameters import Parameter, written
from hentropy.studies.records.numbers import short
from hentropy.views.plots.marks import Axis

ADDED_UP = 1e-7
"""Parts of a whole may miss their total by so much of it, by rounding."""

HALVINGS = 80
MOST_TICKS = 7
"""So few levels are written along their axis."""


def owner(space: DesignSpace, index: int) -> tuple[str, Parameter, int]:
    """The parameter of a field, by name, and which of the parameter's fields it is."""
    owners = [(name, p, k) for name, p in space.parameters.items() for k in range(len(p.columns(name)))]
    return owners[index]


def is_named(field: Field) -> bool:
    """Whether the values of a field stand as names along an axis."""
    return not field.is_number


def varying(space: DesignSpace) -> tuple[int, ...]:
    """The fields that can have more than one value."""
    held = set(space.held) if isinstance(space, Space) else set()
    if isinstance(space, Pool):  # its rows may have less than its parameters allow
        same = space.points.amax(0) == space.points.amin(0)
        held = {name for name, place in space.places.items() if bool(same[place].all())}
    names = [owner(space, index)[0] for index in range(len(space.fields))]
    return tuple(
        index
        for index, (field, name) in enumerate(zip(space.fields, names, strict=True))
        if field.high > field.low and name not in held
    )


def seen(space: DesignSpace, rows: Tensor) -> np.ndarray:
    """Designs ... x d as numbers along the axes of their fields: ... x F; NaN where a design is."""
    columns = []
    for name, parameter in space.parameters.items():
        own = rows.detach().cpu()[..., space.places[name]]
        if isinstance(parameter, OneOf):
            [field] = parameter.fields(name)
            block = parameter.coordinates()
            if block is None:
                column = torch.full(rows.shape[:-1], field.low, dtype=torch.float64)
            else:
                place = block.index(torch.nan_to_num(own)).to(torch.float64)
                column = own[..., 0] if field.is_number else torch.where(own.isnan().any(-1), torch.nan, place)
            own = column.unsqueeze(-1)
        columns.append(own)
    return torch.cat(columns, -1).numpy()


def varied(space: DesignSpace, rows: Tensor, values: Mapping[int, Tensor]) -> Tensor:
    """Designs (n x d) with other values of some fields (n each, as along their axes).

    If parts of a whole are varied, the other parts shrink or grow in proportion, as far as their bounds allow.
    """
    made = rows.to(torch.float64).clone()
    parts: dict[str, dict[int, Tensor]] = {}
    for index, value in values.items():
        name, parameter, k = owner(space, index)
        if isinstance(parameter, Fractions):
            parts.setdefault(name, {})[k] = value
            continue
        place = space.places[name]
        if isinstance(parameter, Choice) and (table := parameter.coordinates()) is not None:
            made[:, place] = table.rows.to(made)[value.long()]
        elif place.stop > place.start:
            made[:, place.start] = value.to(made)
    for name, own in parts.items():
        whole = space.parameters[name]
        assert isinstance(whole, Fractions)
        made[:, space.places[name]] = _in_proportion(whole, made[:, space.places[name]], own)
    return made


def _in_proportion(whole: Fractions, amounts: Tensor, given: Mapping[int, Tensor]) -> Tensor:
    """Amounts (n x m) with some parts as given (n each): the others are s times as large, within their bounds."""
    made = amounts.clone()
    for part, value in given.items():
        made[:, part] = value.to(made)
    others = [part for part in range(amounts.shape[-1]) if part not in given]
    if not others:
        return made
    rest = whole.total - made[:, list(given)].sum(-1, keepdim=True)
    low, high = whole.coordinates().bounds[:, others]
    # what is left when all others are at their bounds goes to parts that had none, unless these must stay out
    least = 0.0 if whole.at_most is not None else 1e-9 * whole.total
    ratio = amounts[:, others].clamp_min(least)
    below, above = torch.full_like(rest, -12.0), torch.full_like(rest, 12.0)  # powers of ten of s
    for _ in range(HALVINGS):
        middle = 0.5 * (below + above)
        enough = (ratio * 10.0**middle).clamp(low, high).sum(-1, keepdim=True) >= rest
        below, above = torch.where(enough, below, middle), torch.where(enough, middle, above)
    made[:, others] = (ratio * 10.0**above).clamp(low, high)
    return made


def can_run(space: DesignSpace, rows: Tensor) -> Tensor:
    """Which designs (n x d) satisfy the conditions of a space, with parts that add up: n.

    The model is looked at between the rows of a pool too.
    """
    runs = torch.ones(len(rows), dtype=torch.bool)
    if isinstance(space, Space):
        runs &= space.holds(rows).cpu()
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Fractions):
            own = rows[:, space.places[name]]
            off = (own - parameter.coordinates().project(own)).abs().amax(-1)
            runs &= (off <= ADDED_UP * parameter.total).cpu()
    return runs


def grid_of(space: DesignSpace, index: int, count: int) -> Tensor:
    """Values of a field from end to end: all of few, else about this many, evenly spaced on the field's own scale."""
    field = space.fields[index]
    low, high = field_range(space, index)
    if field.options:
        every = field.options if field.is_number else range(len(field.options))
        return torch.tensor([float(value) for value in every], dtype=torch.float64)
    step = grid_step(space, index)
    if not high > low:
        return torch.linspace(low - 0.5, high + 0.5, max(count, 2), dtype=torch.float64)
    if step and (high - low) / step < count - 0.5:
        return low + step * torch.arange(round((high - low) / step) + 1, dtype=torch.float64)
    share = torch.linspace(0.0, 1.0, max(count, 2), dtype=torch.float64)
    values = low * (high / low) ** share if field.log else low + (high - low) * share
    values = values.clamp(low, high)
    return torch.unique(low + ((values - low) / step).round() * step) if step else values


def field_range(space: DesignSpace, index: int) -> tuple[float, float]:
    """The smallest and the largest value of a field; a part is never more than the whole."""
    _, parameter, k = owner(space, index)
    field = space.fields[index]
    if isinstance(parameter, Fractions):
        low, high = parameter.coordinates().bounds[:, k].tolist()
        return low, high
    return field.low, field.high


def grid_step(space: DesignSpace, index: int) -> float:
    """The steps of a number; 1 for a column of a pool that has whole numbers only; 0 where there are none."""
    field = space.fields[index]
    if field.options or field.grid or isinstance(space, Space):
        return field.grid
    listed, place = space.points, space.places[owner(space, index)[0]].start
    whole = listed is not None and bool((listed[:, place] == listed[:, place].round()).all())
    return 1.0 if whole else 0.0


def parameter_axis(space: DesignSpace, index: int) -> Axis:
    """The axis of a field: its title, its range, whether it is logarithmic or whole; the names of its options."""
    field = space.fields[index]
    low, high = field_range(space, index)
    if is_named(field):
        return Axis(field.title, -0.5, len(field.options) - 0.5, names=tuple(map(written, field.options)))
    if not high > low:
        return Axis(field.title, low - 0.5, high + 0.5)
    step = grid_step(space, index)
    whole = all(float(v).is_integer() for v in field.options) if field.options else bool(step) and step % 1 == 0
    ticks = tuple(map(float, field.options)) if len(field.options) <= MOST_TICKS else ()
    return Axis(field.title, low, high, log=field.log, whole=whole and float(low).is_integer(), ticks=ticks)


def cell(axis: Axis, value: float) -> str:
    """What stands at a place along an axis, as a table shows it."""
    if axis.names:
        return axis.names[round(value)]
    return short(value, (axis.high or 0.0) - (axis.low or 0.0))


def design_id(space: DesignSpace, design: Tensor) -> str:
    """By what people know a design (d) of a pool; empty where the pool has no ids."""
    if not isinstance(space, Pool) or space.id is None:
        return ""
    return str(space.decode(design)[space.id])


def in_words(space: DesignSpace, design: Tensor, without: tuple[str, ...] = ()) -> str:
    """A design (d), field by field, each as exact as its range calls for, with units; its id first.

    Without some of its fields it may be any of several designs, and has no id.
    """
    values = space.decode(design)
    said = []
    if isinstance(space, Pool) and space.id is not None and not without:
        said.append(f"{space.id} = {values[space.id]}")
    for field in space.fields:
        if field.name in without:
            continue
        value = values[field.name]
        text = written(value) if field.options else short(value, field.high - field.low)
        said.append(f"{field.name} = {text}{f' {field.unit}' if field.unit else ''}")
    return ", ".join(said)
