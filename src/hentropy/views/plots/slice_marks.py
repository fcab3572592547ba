"""What is drawn over a slice: values as lines, options side by side, a matrix or a map; trials as dots.

g, h  values along the first and the second axis        n  points
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hentropy.core.beliefs import Gaussian
from hentropy.studies.records import Measurement, State, Trial
from hentropy.studies.records.numbers import short, span
from hentropy.views.plots.fields import can_run, design_id, seen, varying
from hentropy.views.plots.marks import VALUE, Axis, Band, Dots, Heat, Line, Mark, Panel, Role
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.slices import Slice, SliceFrame, Terrain

GOLDEN = (0.6180339887498949, 0.7548776662466927)
"""Multiples of these, whole parts left out, are spread evenly."""

MAX_CELL_TEXTS = 60
"""Up to this many cells have their values written in them."""

BESIDE = (0.14, 0.36)
"""Points stand so far right of their option, in steps between options, so as not to cover what is drawn at it."""

IN_CELL = ((-0.3, 0.3), (-0.1, 0.34))
"""Where points stand about the middle of a cell, across and up: above its text."""

NEAR = 0.9
"""A trial is near a slice where the model correlates the values at the trial and at its place on the slice so much."""


def panel_over(frame: SliceFrame, title: str, value: Axis, *marks: Mark) -> Panel:
    """A panel over a slice: its axes are those of both fields, or that of a field and that of values.

    Where options have a line each, the title says of what.
    """
    title = f"{title}, by {frame.axes[1].title}" if frame.has_lines else title
    return Panel(title, frame.axes[0], frame.axes[1] if frame.is_plane else value, marks)


def beside(axis: Axis, places: np.ndarray) -> np.ndarray:
    """Places (n) along an axis; at names, points that would cover each other are spread out beside them."""
    return _spread(places, *BESIDE, GOLDEN[0]) if axis.names else places


def within(frame: SliceFrame, places: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Places (n each) on a map; in the cells of names, points are spread out above the text."""
    return tuple(
        _spread(own, *between, step) if axis.names else own
        for axis, own, between, step in zip(frame.axes, places, IN_CELL, GOLDEN, strict=True)
    )


def _spread(places: np.ndarray, low: float, high: float, step: float) -> np.ndarray:
    return places + low + (high - low) * ((np.arange(len(places)) + 0.5) * step % 1.0)


def side_by_side(across: Axis, places: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Places (n each) of few marks: those in one cell, or at one option, stand side by side in it."""
    if not across.names:
        return places
    together = np.stack(places, -1)
    x = places[0].copy()
    for own in np.unique(together, axis=0):
        same = np.flatnonzero((together == own).all(-1))
        x[same] += 0.24 * (np.arange(len(same)) - (len(same) - 1) / 2.0)
    return x, *places[1:]


def line_places(frame: SliceFrame, values: np.ndarray) -> np.ndarray | None:
    """To which line of a slice designs, given by all fields (n x F), belong (n); None where it has no such lines."""
    return frame.places(values)[1] if frame.has_lines else None


def option_lines(frame: SliceFrame, z: np.ndarray, role: Role) -> tuple[Line, ...]:
    """Values (h x g) over a number, a line for each option."""
    x, names = frame.grids[0], frame.axes[1].names
    return tuple(
        Line(x, row, role, f"{frame.names[1]}: {name}", dots=frame.listed[0], option=place)
        for place, (name, row) in enumerate(zip(names, z, strict=True))
    )


def intervals_at(x: np.ndarray, value: np.ndarray, quantiles: np.ndarray, label: str, role: Role) -> tuple[Mark, ...]:
    """Values (n) with their 95 % and 50 % intervals (quantiles 4 x n)."""
    low, lower, upper, high = quantiles
    return (
        Dots(x, value, Role.UNCERTAINTY, "95 % interval", error=bars_to(value, low, high)),
        Dots(x, value, role, f"{label}, 50 % interval", error=bars_to(value, lower, upper)),
    )


def bars_to(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How far bars reach from values (n) to the ends of their intervals (n each): below and above, 2 x n."""
    return np.maximum(np.stack([values - low, high - values]), 0.0)


def bands(x: np.ndarray, quantiles: np.ndarray) -> tuple[Band, Band]:
    """The 95 % and the 50 % interval (quantiles 4 x n) along a line."""
    low, lower, upper, high = quantiles
    return (
        Band(x, low, high, Role.UNCERTAINTY, "95 % interval"),
        Band(x, lower, upper, Role.UNCERTAINTY, "50 % interval"),
    )


def posterior_marks(ground: Terrain, label: str) -> tuple[Mark, ...]:
    """The expected value over one field, with the 95 % and the 50 % interval."""
    [x] = ground.grids
    if ground.has_options:
        return intervals_at(x, ground.mean, ground.quantiles, label, Role.MEAN)
    return (*bands(x, ground.quantiles), Line(x, ground.mean, Role.MEAN, label, dots=ground.listed[0]))


def ground_marks(ground: Terrain) -> tuple[Mark, ...]:
    """The ground for other marks: the mean with its band along a line, or by option; its map over a plane."""
    if ground.is_pair:
        return over_pair(ground, ground.mean, "mean", Role.MEAN)
    [x] = ground.grids
    if ground.has_options:
        return intervals_at(x, ground.mean, ground.quantiles, "mean", Role.MEAN)
    band = Band(x, ground.quantiles[0], ground.quantiles[3], Role.UNCERTAINTY, "95 % of what is plausible")
    return band, Line(x, ground.mean, Role.MEAN, "mean")


VALUE_AXIS = Axis(VALUE)
"""The axis of values of f."""


def over_pair(
    frame: SliceFrame, z: np.ndarray, label: str, role: Role, scale: tuple[float | None, float | None] = (None, None)
) -> tuple[Mark, ...]:
    """Values (h x g) over two fields: a line for each option, a matrix with its numbers, or a map; NaN is blank."""
    if frame.has_lines:
        return option_lines(frame, z, role)
    x, y = frame.grids
    return (Heat(x, y, z, label, *scale, texts=_cells(z) if frame.is_matrix else ()),)


def _cells(z: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """The numbers in the cells of a matrix, where they are few; none in what is blank."""
    if z.size > MAX_CELL_TEXTS:
        return ()
    spread = span(z[np.isfinite(z)].tolist()) or 1.0
    place = 1 - math.floor(math.log10(spread))  # two digits of the spread tell cells apart
    form = f".{max(place, 0)}f" if -4 < place < 5 else ".2g"
    rounded = [[round(v, place) if math.isfinite(v) else math.nan for v in row] for row in z.tolist()]
    return tuple(tuple("" if math.isnan(v) else f"{v:{form}}" if v else "0" for v in row) for row in rounded)


KINDS = ("first", "proposed", "attached", "failed", "pending")
"""What a trial is to a picture; one that was withdrawn is not shown."""

ROLES = {
    "first": Role.FIRST,
    "proposed": Role.DATA,
    "attached": Role.ATTACHED,
    "failed": Role.FAILED,
    "pending": Role.PENDING,
}

LABELS = {
    "first": "measured: first designs",
    "proposed": "measured: proposed",
    "attached": "earlier measurements",
    "failed": "failed",
    "pending": "pending",
}


@dataclass(frozen=True)
class ShownTrials:
    """n trials: numbers, designs (n x d), kinds, values and standard errors (n; NaN where there are none).

    `ids` are those of a pool's designs, or empty; `fields` (n x F) are the designs as they stand along axes, `expected`
    (n) is what is expected of the function there now.
    """

    numbers: tuple[int, ...]
    ids: tuple[str, ...]
    designs: np.ndarray
    fields: np.ndarray
    kinds: tuple[str, ...]
    values: np.ndarray
    errors: np.ndarray
    expected: np.ndarray

    def of_kind(self, kind: str) -> np.ndarray:
        """Which trials are of a kind: n."""
        return np.array([each == kind for each in self.kinds], dtype=bool)

    def texts(self, which: np.ndarray) -> tuple[str, ...]:
        """What is said of some of the trials (n, true for these)."""
        return tuple(self._text(int(index)) for index in np.flatnonzero(which))

    def _text(self, index: int) -> str:
        value, error = self.values[index], self.errors[index]
        name = f"trial {self.numbers[index]}" + (f" ({self.ids[index]})" if self.ids[index] else "")
        if not np.isfinite(value):
            return f"{name}, {LABELS[self.kinds[index]]}"
        return f"{name}: {short(value, span(self.values.tolist()))}" + (f" ± {error:.2g}" if np.isfinite(error) else "")


def _kind(trial: Trial) -> str:
    if trial.state is State.FAILED:
        return "failed"
    if trial.state is State.RUNNING:
        return "pending"
    return trial.origin if trial.origin in KINDS else "attached"


@torch.no_grad()
def shown_trials(scene: Scene) -> ShownTrials:
    """All trials but those that were withdrawn, and those in which other outcomes alone were measured."""
    ended = scene.in_state(State.COMPLETE, State.FAILED, State.RUNNING)
    trials = [t for t in ended if t.state is not State.COMPLETE or scene.outcome in t.measurements]
    told = [scene.study.outcomes.modelled(scene.outcome, trial) for trial in trials]
    if grades := scene.study.outcomes.grades(scene.outcome):
        told = [None if one is None else Measurement(float(one.value >= grades[1])) for one in told]
    rows = scene.rows(trials).to(scene.belief.X)
    return ShownTrials(
        numbers=tuple(trial.number for trial in trials),
        ids=tuple(design_id(scene.space, row) for row in rows),
        designs=rows.cpu().numpy(),
        fields=seen(scene.space, rows),
        kinds=tuple(map(_kind, trials)),
        values=_numbers([None if one is None else one.value for one in told]),
        errors=_numbers([None if one is None else one.std_error for one in told]),
        expected=scene.within_bounds(scene.belief.means(rows).mean[0].cpu().numpy()),
    )


def _numbers(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@torch.no_grad()
def near(scene: Scene, view: Slice, designs: np.ndarray) -> np.ndarray:
    """Which designs (n x d) bear on a slice by the model: n; all of them where the model does not say.

    A design whose place on the slice cannot be run does not.
    """
    rows = torch.from_numpy(designs)
    belief = scene.belief
    if not len(rows) or set(view.axes) >= set(varying(scene.space)):
        return np.ones(len(rows), dtype=bool)
    onto = view.onto(rows).to(rows)
    runs = can_run(scene.space, onto).numpy()
    process: Gaussian | None = belief.process if belief.ordinal is None else belief.ordinal.latent
    if process is None:
        return runs
    # each design with its place on the slice, as n pairs of points
    pairs: Tensor = process.frame.transform(torch.stack([rows, onto], 1).to(belief.X))
    covariance, variance = process.kernel(pairs[:, :1], pairs[:, 1:])[..., 0, 0], process.kernel.diagonal(pairs)
    correlation = covariance / variance.prod(-1).sqrt()
    return runs & ((process.weights[:, None] * correlation).sum(0) >= NEAR).cpu().numpy()


def trial_dots(
    trials: ShownTrials, frame: SliceFrame, shown: np.ndarray, heights: np.ndarray, errors: np.ndarray | None = None
) -> tuple[Dots, ...]:
    """Trials (n) of which some are shown (n): where they lie on a map, or along a field at given heights (n)."""
    places = frame.places(trials.fields)
    options = line_places(frame, trials.fields)
    x, y = within(frame, places) if frame.is_plane else (beside(frame.axes[0], places[0]), heights)
    there = np.isfinite(np.stack(places)).all(0)  # not all options may have room
    marks = []
    for kind in KINDS:
        own = trials.of_kind(kind) & shown & there
        if own.any():
            bars = errors[own] if errors is not None and np.isfinite(errors[own]).any() else None
            error = None if bars is None else np.nan_to_num(bars)
            group = None if options is None else options[own]
            marks.append(Dots(x[own], y[own], ROLES[kind], LABELS[kind], error, trials.texts(own), group))
    return tuple(marks)
