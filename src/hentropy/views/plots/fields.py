"""Designs as people see them: one value for each field; designs in which fields are varied; which fields matter.

    d  coordinates of a design    F  fields of a design    B  designs of departure    V  values of a field

Along an axis, a number stands at itself, and an option at its position in the list of options.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from hentropy.core.beliefs import Belief
from hentropy.core.spaces import DesignSpace, Fractions, Pool, Space
from hentropy.core.spaces.options import Choice, OneOf
from hentropy.core.spaces.parameters import Parameter, written
from hentropy.studies.records.numbers import short
from hentropy.views.plots.marks import Axis, Table, cell_edges

ADDED_UP = 1e-7
"""Parts of a whole may miss their total by so much of it, by rounding."""

HALVINGS = 80
MAX_TICKS = 7
"""So few levels are written along their axis."""

MAX_OPTIONS = 20
"""Of more options only this many are shown side by side: those that are expected to do best."""

DEPARTURES, VALUES, MAX_VALUES = 24, 13, 100
"""For the relevance of a field: designs of departure, values of a number, and at most so many options."""

SEED = 0


def owner(space: DesignSpace, index: int) -> tuple[str, Parameter, int]:
    """The parameter of a field, by name, and which of the parameter's fields it is."""
    owners = [(name, p, k) for name, p in space.parameters.items() for k in range(len(p.columns(name)))]
    return owners[index]


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
    if not field.is_number:
        return Axis(field.title, -0.5, len(field.options) - 0.5, names=tuple(map(written, field.options)))
    if not high > low:
        return Axis(field.title, low - 0.5, high + 0.5)
    step = grid_step(space, index)
    whole = all(float(v).is_integer() for v in field.options) if field.options else bool(step) and step % 1 == 0
    ticks = tuple(map(float, field.options)) if len(field.options) <= MAX_TICKS else ()
    return Axis(field.title, low, high, log=field.log, whole=whole and float(low).is_integer(), ticks=ticks)


def option_places(values: np.ndarray, options: Sequence[int]) -> np.ndarray:
    """Where values (n) stand along an axis that shows some options by their positions; NaN for what is not shown."""
    at = {float(position): float(place) for place, position in enumerate(options)}
    return np.array([at.get(value, np.nan) for value in values.tolist()])


def with_options(axis: Axis, options: Sequence[int]) -> Axis:
    """The axis of a choice with the options at some positions alone."""
    names = tuple(axis.names[position] for position in options)
    title = f"{axis.title} ({len(names)} of {len(axis.names)})" if len(names) < len(axis.names) else axis.title
    return Axis(title, -0.5, len(names) - 0.5, names=names)


def bin_edges(space: DesignSpace, bins: int) -> tuple[np.ndarray, ...]:
    """For each field the edges of bins, evenly spaced on its own scale; options and few values have a bin each."""
    made = []
    for index, field in enumerate(space.fields):
        axis = parameter_axis(space, index)
        low, high = float(axis.low or 0.0), float(axis.high or 0.0)
        step = grid_step(space, index)
        if axis.names:
            made.append(np.arange(len(axis.names) + 1) - 0.5)
        elif len(field.options) > 1 or (step and not axis.log and (high - low) / step < bins):
            made.append(cell_edges(grid_of(space, index, bins + 1).numpy(), log=axis.log))
        else:
            made.append(np.geomspace(low, high, bins + 1) if axis.log else np.linspace(low, high, bins + 1))
    return tuple(made)


def shares(values: np.ndarray, edges: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Which share of values (n, each of weight 1 / n unless given) lies in each bin (b + 1 edges): b.

    What is beyond the ends counts for the bins at the ends.
    """
    given = np.full(len(values), 1.0 / max(len(values), 1)) if weights is None else weights
    return np.histogram(np.clip(values, edges[0], edges[-1]), edges, weights=given)[0]


def shown_bins(axis: Axis, edges: np.ndarray, heights: np.ndarray) -> tuple[Axis, np.ndarray, np.ndarray]:
    """An axis over bins (b + 1 edges), which of the bins are shown, and their edges: of many names the highest bars.

    The bins of whole values reach half a step beyond the ends of their axis.
    """
    if len(axis.names) <= MAX_OPTIONS:
        return replace(axis, low=float(edges[0]), high=float(edges[-1])), np.arange(len(heights)), edges
    kept = np.sort(np.argsort(-heights, kind="stable")[:MAX_OPTIONS])
    return with_options(axis, kept.tolist()), kept, np.arange(MAX_OPTIONS + 1) - 0.5


def field_axes(space: DesignSpace) -> tuple[Axis, ...]:
    """The axes of all fields."""
    return tuple(parameter_axis(space, index) for index in range(len(space.fields)))


def design_table(
    title: str, axes: Sequence[Axis], designs: np.ndarray, more: Mapping[str, Sequence[str]], labels: Sequence[str] = ()
) -> Table:
    """Designs (n x F, as along their axes) as a table: their labels first, if there are some; more columns last."""
    fields = [[_cell(axis, value) for value in own] for axis, own in zip(axes, designs.T.tolist(), strict=True)]
    names = (*([""] if labels else []), *(axis.title for axis in axes), *more)
    columns = (*([labels] if labels else []), *fields, *more.values())
    return Table(title, names, tuple(zip(*columns, strict=True)))


def _cell(axis: Axis, value: float) -> str:
    return axis.names[round(value)] if axis.names else short(value, (axis.high or 0.0) - (axis.low or 0.0))


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


@torch.no_grad()
def relevance(belief: Belief, space: DesignSpace) -> np.ndarray:
    """How much the expected value changes when one field alone is moved over its range, or its options: F.

    It is the standard deviation of the mean along the field, from several designs of departure (root mean square), as
    a share of the standard deviation over all those designs. 0 where nothing changes. Designs that cannot be run do
    not count. It is not the length scale: along a field with a long one the value changes smoothly, maybe a lot.
    """
    start = space.sample(DEPARTURES, SEED).to(torch.float64)
    means = {}
    for index in varying(space):
        values = _values(space, index)
        designs = varied(space, start.repeat(len(values), 1), {index: values.repeat_interleave(len(start))})
        expected = belief.means(designs.to(belief.X)).mean[0].cpu()
        mean = torch.where(can_run(space, designs), expected, torch.nan)
        means[index] = mean.reshape(len(values), len(start)).numpy()
    found = np.zeros(len(space.fields))
    every = np.concatenate([np.zeros(0), *(mean.ravel() for mean in means.values())])
    every = every[~np.isnan(every)]
    if not every.size or not np.isfinite(every).all() or every.std() <= 1e-12 * np.abs(every).max():
        return found
    for index, along in means.items():
        several = along[:, (~np.isnan(along)).sum(0) > 1]
        if several.size:
            found[index] = np.sqrt(np.nanvar(several, 0).mean()) / every.std()
    return found


def _values(space: DesignSpace, index: int) -> Tensor:
    """Values of a field over its range, or all of its options, but not too many."""
    field = space.fields[index]
    if field.options:
        values = [float(v) for v in (field.options if field.is_number else range(len(field.options)))]
        return torch.tensor(values[:: max(1, len(values) // MAX_VALUES)], dtype=torch.float64)
    low, high = field_range(space, index)
    share = (torch.arange(VALUES, dtype=torch.float64) + 0.5) / VALUES
    return low * (high / low) ** share if field.log else low + (high - low) * share


def by_relevance(belief: Belief, space: DesignSpace) -> tuple[int, ...]:
    """All fields, those first along which the expected value changes most; equals in their own order."""
    # rounding errors decide nothing
    return tuple(int(index) for index in np.argsort(-relevance(belief, space).round(6), kind="stable"))


def relevant_fields(space: DesignSpace, order: Sequence[int]) -> tuple[int, ...]:
    """Of all fields in an order those that vary; the first one where none does."""
    varies = varying(space)
    return tuple(index for index in order if index in varies) or tuple(order[:1])
