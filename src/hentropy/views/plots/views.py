"""How a space is looked at: a line, a plane, or slices through a reference design.

One field is a line, two are a pair. Of more fields each is varied alone, and a few pairs together, while the others are
held at a reference design. A field that never varies (a constant column of a pool) is not looked at. Options stand side
by side in place of a line; with a number they are a line each, and two choices are a matrix.

    d  coordinates of a design    F  fields of a design    g, h  values along the first and the second axis
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from hentropy.core.decisions import Identify, LevelSets
from hentropy.core.spaces import DesignSpace, Fractions
from hentropy.views.plots.marks import Axis, cell_edges
from hentropy.views.plots.relevance import by_relevance
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.shown_fields import (
    can_run,
    grid_of,
    grid_step,
    in_words,
    is_named,
    owner,
    parameter_axis,
    seen,
    varied,
    varying,
)

LINE_POINTS = 101
PLANE_POINTS = 41
MOST_LINES = 8
"""Of many fields, this many are shown alone: the most relevant ones. As many options have lines of their own."""

PAIRED = 3
"""Every two of this many most relevant fields are shown together."""

MOST_OPTIONS = 20
"""Of more options only this many are shown side by side: those that are expected to do best."""

LISTED = 40
"""So few values of a number are marked one by one."""


@dataclass(frozen=True)
class SliceFrame:
    """Where a slice is drawn: which one or two fields vary (`indices`, `names`), their axes, the values along these.

    Of options `grids` has the places along the axis (0, 1, ...) and `options` their positions among all options, which
    may be more; none for numbers. Of a choice and a number, the number comes first. `listed` says of each axis whether
    all values along it stand in `grids`. `held` is what the other fields are held at, in words.
    """

    indices: tuple[int, ...]
    names: tuple[str, ...]
    axes: tuple[Axis, ...]
    grids: tuple[np.ndarray, ...]
    options: tuple[tuple[int, ...], ...]
    listed: tuple[bool, ...]
    held: str

    @property
    def is_pair(self) -> bool:
        """Whether two fields vary."""
        return len(self.axes) == 2

    @property
    def has_options(self) -> bool:
        """Whether a single field varies, which is a choice."""
        return not self.is_pair and bool(self.axes[0].names)

    @property
    def has_lines(self) -> bool:
        """Whether a number varies, and an option with it: a line for each option."""
        return self.is_pair and bool(self.axes[1].names) and not self.axes[0].names

    @property
    def is_plane(self) -> bool:
        """Whether both axes are those of fields: a map of two numbers, or a matrix of two choices."""
        return self.is_pair and not self.has_lines

    @property
    def is_matrix(self) -> bool:
        """Whether both fields are choices."""
        return self.is_pair and all(axis.names for axis in self.axes)

    def places(self, values: np.ndarray) -> tuple[np.ndarray, ...]:
        """Where designs, given by all their fields (n x F), lie along the axes (n each); NaN for what is not shown."""
        found = []
        for index, options in zip(self.indices, self.options, strict=True):
            own = values[:, index].astype(float)
            at = {position: float(place) for place, position in enumerate(options)}
            found.append(np.array([at.get(value, np.nan) for value in own.tolist()]) if options else own)
        return tuple(found)


@dataclass(frozen=True)
class Slice:
    """One or two fields varied over a grid, the others held at a reference design.

    `axes` are their indices, `grids` their values (g, and h; of options their positions), `reference` the design (d).
    `designs` are all designs of the slice: g x d along a line, and h g x d over a plane, the first axis running
    fastest. Those that cannot be run are not in `runs`.
    """

    space: DesignSpace
    axes: tuple[int, ...]
    names: tuple[str, ...]
    reference: Tensor
    grids: tuple[Tensor, ...]
    designs: Tensor
    runs: Tensor

    @classmethod
    def over(cls, space: DesignSpace, reference: Tensor, axes: tuple[int, ...], grids: tuple[Tensor, ...]) -> "Slice":
        """The slice in which fields have such values."""
        # "xy" over (g, h) gives h x g: the first axis runs fastest
        mesh = torch.meshgrid(*grids, indexing="xy") if len(grids) == 2 else grids
        held = reference.to(torch.float64).repeat(mesh[0].numel(), 1)
        designs = varied(space, held, {index: each.reshape(-1) for index, each in zip(axes, mesh, strict=True)})
        names = tuple(space.fields[index].name for index in axes)
        return cls(space, axes, names, reference, grids, designs, can_run(space, designs))

    @property
    def is_plane(self) -> bool:
        """Whether two fields vary."""
        return len(self.axes) == 2

    @property
    def shape(self) -> tuple[int, ...]:
        """g of a line, (h, g) of a plane."""
        return tuple(len(grid) for grid in reversed(self.grids))

    @property
    def runnable(self) -> Tensor:
        """The designs that can be run: n x d."""
        return self.designs[self.runs]

    def shaped(self, values: Tensor | np.ndarray) -> np.ndarray:
        """Values at all designs (... x g or h g) as marks take them: ... x g along a line, ... x h x g over a plane."""
        array = values.detach().cpu().numpy() if isinstance(values, Tensor) else values
        return array.reshape(*array.shape[:-1], *self.shape)

    def filled(self, values: Tensor | np.ndarray) -> np.ndarray:
        """Values at the designs that can be run (... x n), as marks take them: NaN where nothing can be run."""
        array = values.detach().cpu().numpy() if isinstance(values, Tensor) else values
        every = np.full((*array.shape[:-1], len(self.designs)), np.nan)
        every[..., self.runs.numpy()] = array
        return self.shaped(every)

    def seen(self, rows: Tensor) -> np.ndarray:
        """Designs (n x d) as this slice sees them, the other fields left out: n x 1 or n x 2."""
        return seen(self.space, rows)[:, list(self.axes)]

    def onto(self, rows: Tensor) -> Tensor:
        """Where designs (n x d) lie on the slice: the fields that vary are theirs, the others the reference's."""
        own = torch.from_numpy(self.seen(rows))
        held = self.reference.to(torch.float64).repeat(len(rows), 1)
        return varied(self.space, held, {index: own[:, k] for k, index in enumerate(self.axes)})

    def frame(self) -> SliceFrame:
        """Where the slice is drawn."""
        fields = [self.space.fields[index] for index in self.axes]
        options = tuple(
            tuple(int(v) for v in grid.tolist()) if is_named(field) else ()
            for field, grid in zip(fields, self.grids, strict=True)
        )
        return SliceFrame(
            indices=self.axes,
            names=self.names,
            axes=tuple(_axis(self.space, index, own) for index, own in zip(self.axes, options, strict=True)),
            grids=tuple(
                np.arange(len(own), dtype=float) if own else grid.numpy()
                for own, grid in zip(options, self.grids, strict=True)
            ),
            options=options,
            listed=tuple(
                bool(field.options or grid_step(self.space, index)) and len(grid) <= LISTED
                for index, field, grid in zip(self.axes, fields, self.grids, strict=True)
            ),
            held=held(self.space, self),
        )


def _axis(space: DesignSpace, index: int, options: tuple[int, ...]) -> Axis:
    """The axis of a field in a slice: only the options that are shown; the title of a part says how it is varied.

    Levels that are numbers have a cell each, also the first and the last.
    """
    axis, field = parameter_axis(space, index), space.fields[index]
    if len(field.options) > 1 and not axis.names:
        ends = cell_edges(np.array(field.options, dtype=float), log=axis.log)
        return replace(axis, low=float(ends[0]), high=float(ends[-1]))
    if isinstance(owner(space, index)[1], Fractions):
        return replace(axis, title=f"{axis.title}, the rest in proportion")
    if not options or len(options) == len(axis.names):
        return axis
    names = tuple(axis.names[position] for position in options)
    title = f"{axis.title} ({len(options)} of {len(axis.names)})"
    return Axis(title, -0.5, len(names) - 0.5, names=names)


def reference_design(scene: Scene) -> Tensor:
    """The design that slices pass through (d): the first decided point, or the one that the decision is about.

    Where f is largest, or how great it gets, is asked near the largest value, and levels near a threshold; another
    decision about all of the space is looked at from the middle of the data.
    """
    # what an estimate states may have as many numbers as a design, and is none
    if scene.decision.actions.of_designs and isinstance(scene.recommended, Tensor):
        return scene.recommended.reshape(-1, scene.space.dim)[0].detach().cpu().to(torch.float64)
    if isinstance(scene.decision, Identify) and scene.decision.what == "argmax":
        return scene.decision.settled_points[int(scene.action.argmax())].detach().cpu().to(torch.float64)
    told = [trial for trial in scene.trials if scene.outcome in trial.measurements]
    measured = [scene.study.outcomes.modelled(scene.outcome, trial) for trial in told]
    # data from elsewhere may be what cannot be run here
    rows = scene.space.project(scene.rows(told).detach().cpu().to(torch.float64))
    if not told:
        return scene.belief.X[-1].detach().cpu().to(torch.float64)
    values = torch.tensor([one.value for one in measured if one is not None], dtype=torch.float64)
    if isinstance(scene.decision, Identify) and scene.decision.what == "max":
        return rows[values.argmax()]
    if isinstance(scene.decision, LevelSets):
        levels = torch.tensor(scene.decision.thresholds, dtype=torch.float64)
        return rows[(values[:, None] - levels).abs().amin(-1).argmin()]
    unit = scene.space.to_unit(rows)
    return rows[(unit - unit.median(0).values).square().sum(-1).argmin()]


def slices(
    where: Scene | DesignSpace,
    reference: Tensor | None = None,
    *,
    order: Sequence[int] | None = None,
    points: int = LINE_POINTS,
    plane: int = PLANE_POINTS,
) -> tuple[Slice, ...]:
    """How a space is looked at, with `points` along a line and `plane` along each axis of a plane; lines come first.

    The reference is a scene's `reference_design`, or the middle of a space, unless it is given. `order` names the
    fields from the most to the least relevant: by a scene's belief (`by_relevance`), unless it is given.
    """
    space = where.space if isinstance(where, Scene) else where
    if reference is None:
        reference = reference_design(where) if isinstance(where, Scene) else _middle(space)
    if order is None:
        order = by_relevance(where.belief, space) if isinstance(where, Scene) else range(len(space.fields))
    varies = varying(space)
    views: list[tuple[int, ...]]
    shown = [index for index in order if index in varies] or [order[0]]
    if len(shown) > 2:
        leading = shown[:PAIRED]
        pairs = [(first, second) for k, first in enumerate(leading) for second in leading[k + 1 :]]
        views = [*((index,) for index in shown[:MOST_LINES]), *(pair for pair in pairs if not _bound(space, pair))]
    elif len(shown) == 2 and not _bound(space, (shown[0], shown[1])):
        views = [tuple(sorted(shown))]
    else:
        views = [(shown[0],)]
    made = []
    for view in views:
        # a number first, and a line of it for each option
        axes = tuple(sorted(view, key=lambda index: is_named(space.fields[index])))
        mixed = is_named(space.fields[axes[-1]]) and not is_named(space.fields[axes[0]])
        most = MOST_LINES if mixed else MOST_OPTIONS
        count = plane if len(axes) == 2 else points
        grids = tuple(_few(where, reference, index, grid_of(space, index, count), most) for index in axes)
        made.append(Slice.over(space, reference, axes, grids))
    return tuple(made)


def _bound(space: DesignSpace, pair: tuple[int, int]) -> bool:
    """Whether two fields are the only parts of a whole: one says what the other is."""
    (first, whole, _), (second, _, _) = (owner(space, index) for index in pair)
    return first == second and isinstance(whole, Fractions) and len(whole.names) == 2


def _few(where: Scene | DesignSpace, reference: Tensor, index: int, grid: Tensor, most: int) -> Tensor:
    """The values of a field; of many options the reference's own and those expected to do best, in their order."""
    space = where.space if isinstance(where, Scene) else where
    if not is_named(space.fields[index]) or len(grid) <= most:
        return grid
    rank = -grid
    if isinstance(where, Scene):
        rank = _expected(where, varied(space, reference.repeat(len(grid), 1), {index: grid}))
    own = int(seen(space, reference[None])[0, index])
    rank[own] = torch.inf
    return rank.topk(most).indices.sort().values.to(grid)


@torch.no_grad()
def _expected(scene: Scene, designs: Tensor) -> Tensor:
    return scene.belief.means(designs.to(scene.belief.X)).mean[0].cpu()


def _middle(space: DesignSpace) -> Tensor:
    return space.project(space.from_cube(torch.full((space.cube,), 0.5, dtype=torch.float64)))


def held(space: DesignSpace, view: Slice) -> str:
    """What a slice holds the other fields at, in words; empty where there are no others."""
    own = list(view.names)
    for index in view.axes:  # the other parts of a whole are not held
        name, parameter, _ = owner(space, index)
        if isinstance(parameter, Fractions):
            own += parameter.columns(name)
    return in_words(space, view.reference, without=tuple(own))
