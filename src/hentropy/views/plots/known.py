"""What is known: expected values with their uncertainty, the data, and the experiments that are waited for."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from hentropy.views.plots.marks import Axis, Band, Dots, Heat, Line, Mark, Panel, Picture, Role, in_rows
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.shown_trials import ROLES, ShownTrials, line_dots, near, plane_dots, shown_trials
from hentropy.views.plots.terrain import Terrain, mean_and_sd, terrain_of
from hentropy.views.plots.views import LINE_POINTS, PLANE_POINTS, Slice, in_words, slices

PANELS_IN_A_ROW = 3


@dataclass(frozen=True)
class KnownSlice:
    """What is known over one slice, and which of n trials bear on it (`near`, n).

    `heights` (n) is where their values stand: each is moved by what the model expects between its design and its place
    on the slice, so that it lies as far from the line as it did from what was expected of it. NaN where there is no
    value. `expected` (n) is what is expected at these places.
    """

    ground: Terrain
    near: np.ndarray
    heights: np.ndarray
    expected: np.ndarray


@dataclass(frozen=True)
class KnownInfo:
    """What is known, slice by slice, in the user's units; all trials but withdrawn ones; the reference in words."""

    slices: tuple[KnownSlice, ...]
    trials: ShownTrials
    reference: str


def known_info(scene: Scene, points: int = LINE_POINTS, plane: int = PLANE_POINTS) -> KnownInfo:
    """What is known, with so many points along a line and along each axis of a plane."""
    trials = shown_trials(scene)
    views = slices(scene, points=points, plane=plane)
    return KnownInfo(
        slices=tuple(_known(scene, view, trials) for view in views),
        trials=trials,
        reference=in_words(scene.space, views[0].reference),
    )


def _known(scene: Scene, view: Slice, trials: ShownTrials) -> KnownSlice:
    onto = view.reference.repeat(len(trials.kinds), 1)
    onto[:, list(view.axes)] = torch.from_numpy(view.seen(torch.from_numpy(trials.designs))).to(onto)
    expected = mean_and_sd(scene.belief, onto)[0] if len(onto) else trials.expected
    return KnownSlice(
        ground=terrain_of(scene, view),
        near=near(scene, view, trials.designs),
        heights=trials.values + expected - trials.expected,
        expected=expected,
    )


def known_picture(info: KnownInfo) -> Picture:
    """Lines with bands; maps of the expected value and of its uncertainty."""
    lines = [view for view in info.slices if not view.ground.is_plane]
    planes = [view for view in info.slices if view.ground.is_plane]
    values = _value_axis(info, lines)
    mean_range = _range([view.ground.mean for view in planes])
    sd_range = (0.0, _range([view.ground.sd for view in planes])[1])
    line_panels = [_line_panel(info, view, values) for view in lines]
    means = [_map(info, view, view.ground.mean, "expected value", mean_range) for view in planes]
    spreads = [_map(info, view, view.ground.sd, "uncertainty (standard deviation)", sd_range) for view in planes]
    maps = [(means[0], spreads[0])] if len(planes) == 1 else [tuple(row) for row in (means, spreads) if row]
    rows = in_rows(line_panels, PANELS_IN_A_ROW)
    return Picture("known", "What is known", _caption(info, bool(lines), bool(planes)), (*rows, *maps))


def _range(values: list[np.ndarray]) -> tuple[float, float]:
    """The least and the greatest of all values."""
    if not values:
        return 0.0, 1.0
    return min(float(each.min()) for each in values), max(float(each.max()) for each in values)


def _value_axis(info: KnownInfo, lines: list[KnownSlice]) -> Axis:
    """One range for the values of all lines, with the data that are drawn on them."""
    errors = np.nan_to_num(info.trials.errors)
    shown = [(view.heights + side * errors)[view.near] for view in lines for side in (-1.0, 1.0)]
    found = [view.ground.quantiles for view in lines] + [each[np.isfinite(each)] for each in shown]
    low, high = _range([each for each in found if each.size])
    margin = 0.05 * (high - low) or 0.5
    return Axis("value", low - margin, high + margin)


def _line_panel(info: KnownInfo, view: KnownSlice, values: Axis) -> Panel:
    [x] = view.ground.grids
    [axis] = view.ground.axes
    low95, low50, high50, high95 = view.ground.quantiles
    floor = values.low if values.low is not None else float(low95.min())
    marks: tuple[Mark, ...] = (
        Band(x, low95, high95, Role.UNCERTAINTY, "95 % interval"),
        Band(x, low50, high50, Role.UNCERTAINTY, "50 % interval"),
        Line(x, view.ground.mean, Role.MEAN, "expected value", dots=axis.whole),
        *_line_dots(info.trials, view, floor),
    )
    return Panel(f"along {axis.title}" if view.ground.held else "", axis, values, marks)


def _line_dots(trials: ShownTrials, view: KnownSlice, floor: float) -> tuple[Dots, ...]:
    """Trials where the slice has them; what is said of each is what was measured."""
    moved = replace(trials, values=view.heights, expected=view.expected)
    said = {role: trials.texts(trials.of_kind(kind) & view.near) for kind, role in ROLES.items()}
    marks = line_dots(moved, view.ground.indices[0], view.near, floor)
    return tuple(replace(dots, texts=said[dots.role]) for dots in marks)


def _map(info: KnownInfo, view: KnownSlice, z: np.ndarray, label: str, scale: tuple[float, float]) -> Panel:
    x, y = view.ground.grids
    first, second = view.ground.indices
    low, high = scale
    heat = Heat(x, y, z, label, low=low, high=high if high > low else low + 1.0)
    dots = plane_dots(info.trials, (first, second), view.near)
    return Panel(label, view.ground.across, view.ground.up, (heat, *dots))


def _caption(info: KnownInfo, lines: bool, planes: bool) -> str:
    trials = info.trials
    measured = sum(kind in ("first", "proposed", "attached") for kind in trials.kinds)
    said = []
    if lines:
        said.append(
            "The line is the expected value; the true one lies within the inner band with a probability of 50 %,"
            " and within the outer one with 95 %, if the model is right."
        )
    if planes:
        said.append(
            "Maps show the expected value and how uncertain it still is (its standard deviation): small near what was"
            " measured, large where nothing is known."
        )
    said.append(f"{measured} measured value{'' if measured == 1 else 's'}.")
    if "pending" in trials.kinds and lines:
        said.append("Experiments still waited for stand at the value that is expected of them.")
    if "failed" in trials.kinds and lines:
        said.append("Experiments that failed stand at the foot: they have no value.")
    if any(view.ground.held for view in info.slices):
        hidden = len(trials.kinds) - int(np.any([view.near for view in info.slices], axis=0).sum())
        said.append(
            f"Each panel varies one or two parameters and holds the others at {info.reference}. It shows those"
            " experiments that tell something about it by the model. They were made at other values of the parameters"
            " that are held: along a line each is moved by what the model expects of that difference, so its distance"
            " from the line is what the model does not explain."
        )
        if hidden:
            said.append(f"{hidden} of {len(trials.kinds)} experiments lie far from all panels and are not drawn.")
    return " ".join(said)
