"""How a space is looked at: a line, a plane, or slices through a reference design; and what is known over each.

One field is a line, two are a pair. Of more fields each is varied alone, and a few pairs together, while the others are
held at a reference design. A field that never varies (a constant column of a pool) is not looked at. Options stand side
by side in place of a line; with a number they are a line each, and two choices are a matrix.

    d  coordinates of a design    F  fields of a design    g, h  values along the first and the second axis
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.beliefs.nodes import mixture_quantiles
from hentropy.core.decisions import Identify, LevelSets
from hentropy.core.spaces import DesignSpace, Fractions
from hentropy.views.plots import fields
from hentropy.views.plots.marks import Axis, cell_edges
from hentropy.views.plots.scene import Scene

LINE_POINTS, PLANE_POINTS = 101, 41

MAX_LINES = 8
"""Of many fields, this many are shown alone: the most relevant ones. As many options have lines of their own."""

PAIRED = 3
"""Every two of this many most relevant fields are shown together."""

LISTED = 40
"""So few values of a number are marked one by one."""

QUANTILES = (0.025, 0.25, 0.75, 0.975)
"""The quantiles that bound the 95 % and the 50 % interval."""


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
        own = (values[:, index].astype(float) for index in self.indices)
        return tuple(
            fields.option_places(each, shown) if shown else each for each, shown in zip(own, self.options, strict=True)
        )


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
        designs = fields.varied(space, held, {index: each.reshape(-1) for index, each in zip(axes, mesh, strict=True)})
        names = tuple(space.fields[index].name for index in axes)
        return cls(space, axes, names, reference, grids, designs, fields.can_run(space, designs))

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

    def filled(self, values: Tensor | np.ndarray) -> np.ndarray:
        """Values at the designs that can be run (... x n), as marks take them: NaN where nothing can be run."""
        array = np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values)
        every = np.full((*array.shape[:-1], len(self.designs)), np.nan)
        every[..., self.runs.numpy()] = array
        return every.reshape(*array.shape[:-1], *self.shape)

    def onto(self, rows: Tensor) -> Tensor:
        """Where designs (n x d) lie on the slice: the fields that vary are theirs, the others the reference's."""
        own = torch.from_numpy(fields.seen(self.space, rows))
        held = self.reference.to(torch.float64).repeat(len(rows), 1)
        return fields.varied(self.space, held, {index: own[:, index] for index in self.axes})

    def frame(self) -> SliceFrame:
        """Where the slice is drawn."""
        options, grids, listed = [], [], []
        for index, grid in zip(self.axes, self.grids, strict=True):
            field = self.space.fields[index]
            options.append(() if field.is_number else tuple(grid.long().tolist()))
            grids.append(grid.numpy() if field.is_number else np.arange(len(grid), dtype=float))
            listed.append(bool(field.options or fields.grid_step(self.space, index)) and len(grid) <= LISTED)
        axes = tuple(_axis(self.space, index, own) for index, own in zip(self.axes, options, strict=True))
        return SliceFrame(self.axes, self.names, axes, tuple(grids), tuple(options), tuple(listed), held(self))


def _axis(space: DesignSpace, index: int, options: tuple[int, ...]) -> Axis:
    """The axis of a field in a slice: only the options that are shown; the title of a part says how it is varied.

    Levels that are numbers have a cell each, also the first and the last.
    """
    axis, field = fields.parameter_axis(space, index), space.fields[index]
    if len(field.options) > 1 and not axis.names:
        ends = cell_edges(np.array(field.options, dtype=float), log=axis.log)
        return replace(axis, low=float(ends[0]), high=float(ends[-1]))
    if isinstance(fields.owner(space, index)[1], Fractions):
        return replace(axis, title=f"{axis.title}, the rest in proportion")
    return fields.with_options(axis, options) if options else axis


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
    scene, space = (where, where.space) if isinstance(where, Scene) else (None, where)
    if reference is None:
        middle = torch.full((space.cube,), 0.5, dtype=torch.float64)
        reference = reference_design(scene) if scene else space.project(space.from_cube(middle))
    if order is None:
        order = fields.by_relevance(scene.belief, space) if scene else range(len(space.fields))
    shown = fields.relevant_fields(space, order)
    pairs = [pair for pair in combinations(shown[:PAIRED], 2) if not _complementary(space, pair)]
    lines = [(index,) for index in (shown[:MAX_LINES] if len(shown) > 2 else shown[: 0 if pairs else 1])]
    made = []
    for view in (*lines, *(pairs if len(shown) > 2 else [tuple(sorted(pair)) for pair in pairs])):
        # a number first, and a line of it for each option
        axes = tuple(sorted(view, key=lambda index: not space.fields[index].is_number))
        mixed = space.fields[axes[0]].is_number and not space.fields[axes[-1]].is_number
        count, most = plane if len(axes) == 2 else points, MAX_LINES if mixed else fields.MAX_OPTIONS
        grids = []
        for index in axes:
            grid = fields.grid_of(space, index, count)
            many = not space.fields[index].is_number and len(grid) > most
            grids.append(_best_options(space, scene, reference, index, grid, most) if many else grid)
        made.append(Slice.over(space, reference, axes, tuple(grids)))
    return tuple(made)


def _complementary(space: DesignSpace, pair: tuple[int, int]) -> bool:
    """Whether two fields are the only parts of a whole: one says what the other is."""
    (first, whole, _), (second, _, _) = (fields.owner(space, index) for index in pair)
    return first == second and isinstance(whole, Fractions) and len(whole.names) == 2


@torch.no_grad()
def _best_options(
    space: DesignSpace, scene: Scene | None, reference: Tensor, index: int, grid: Tensor, most: int
) -> Tensor:
    """Of many options the reference's own and those expected to do best, in their order."""
    rank = -grid
    if scene is not None:
        designs = fields.varied(space, reference.repeat(len(grid), 1), {index: grid})
        rank = scene.belief.means(designs.to(scene.belief.X)).mean[0].cpu()
    rank[int(fields.seen(space, reference[None])[0, index])] = torch.inf
    return rank.topk(most).indices.sort().values.to(grid)


def held(view: Slice) -> str:
    """What a slice holds the other fields at, in words; empty where there are no others."""
    own = list(view.names)
    for index in view.axes:  # the other parts of a whole are not held
        name, parameter, _ = fields.owner(view.space, index)
        if isinstance(parameter, Fractions):
            own += parameter.columns(name)
    return fields.in_words(view.space, view.reference, without=tuple(own))


@dataclass(frozen=True)
class Terrain(SliceFrame):
    """Mean and sd over one slice (g along a line, h x g over a pair), and its `QUANTILES` (4 x these).

    NaN where nothing can be run.
    """

    mean: np.ndarray
    sd: np.ndarray
    quantiles: np.ndarray


def terrains(
    scene: Scene, points: int = LINE_POINTS, plane: int = PLANE_POINTS, order: Sequence[int] | None = None
) -> tuple[Terrain, ...]:
    """What is known over each slice of the space; lines come before pairs."""
    return tuple(terrain_of(scene, view) for view in slices(scene, order=order, points=points, plane=plane))


def terrain_of(scene: Scene, view: Slice) -> Terrain:
    """What is known over one slice."""
    mean, sd = mean_and_sd(scene.belief, view.runnable)
    return Terrain(
        **vars(view.frame()),
        mean=view.filled(scene.within_bounds(mean)),
        sd=view.filled(sd),
        quantiles=view.filled(scene.within_bounds(intervals(scene.belief, view.runnable))),
    )


@torch.no_grad()
def mean_and_sd(belief: Belief, designs: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of f at designs ... x d, all components together: ... each."""
    if not len(designs):
        return np.zeros(0), np.zeros(0)
    mean, var = belief.moments(designs.to(belief.X), Needs.VARIANCE).total()
    return mean.cpu().numpy(), var.clamp_min(0.0).sqrt().cpu().numpy()


@torch.no_grad()
def intervals(belief: Belief, designs: Tensor) -> np.ndarray:
    """The `QUANTILES` of f at designs m x d, all components together: 4 x m."""
    if not len(designs):
        return np.zeros((len(QUANTILES), 0))
    moments = belief.scores.moments(designs.to(belief.X), Needs.VARIANCE)
    weights = moments.weights.unsqueeze(-1).expand_as(moments.mean)
    sd = moments.variance.clamp_min(0.0).sqrt()
    quantiles = mixture_quantiles(QUANTILES, weights, moments.mean, sd)
    return (torch.special.ndtr(quantiles) if belief.graded else quantiles).cpu().numpy()


def leading(grounds: Sequence[Terrain]) -> Terrain:
    """The one that shows most where only one has room: the first pair, else the line."""
    return next((ground for ground in grounds if ground.is_pair), grounds[0])
