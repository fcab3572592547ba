"""What is known: expected values with their uncertainty, the data, and the experiments that are waited for."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from hentropy.views.plots.by_option import over_number, over_pair, panel_axes, titled
from hentropy.views.plots.marks import Axis, Dots, Panel, Picture, Role, in_rows
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.shown_fields import in_words
from hentropy.views.plots.shown_trials import ROLES, ShownTrials, near, place_dots, shown_trials, value_dots
from hentropy.views.plots.terrain import Terrain, mean_and_sd, terrain_of
from hentropy.views.plots.views import LINE_POINTS, PLANE_POINTS, Slice, slices

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
    onto = view.onto(torch.from_numpy(trials.designs))
    expected = mean_and_sd(scene.belief, onto)[0] if len(onto) else trials.expected
    return KnownSlice(
        ground=terrain_of(scene, view),
        near=near(scene, view, trials.designs),
        heights=trials.values + expected - trials.expected,
        expected=expected,
    )


def known_picture(info: KnownInfo) -> Picture:
    """Lines with bands, options with intervals; of pairs the expected value and its uncertainty."""
    lines = [view for view in info.slices if not view.ground.is_pair]
    pairs = [view for view in info.slices if view.ground.is_pair]
    values = _value_axis(info, [view for view in info.slices if not view.ground.is_plane])
    line_panels = [_line_panel(info, view, values) for view in lines]
    mean_range = _range([view.ground.mean for view in pairs])
    sd_range = (0.0, _range([view.ground.sd for view in pairs])[1])
    means = [_pair(info, view, view.ground.mean, "expected value", mean_range, values) for view in pairs]
    sds = Axis("standard deviation", 0.0, 1.05 * sd_range[1] or 1.0)
    what = "uncertainty (standard deviation)"
    spreads = [_pair(info, view, view.ground.sd, what, sd_range, sds) for view in pairs]
    maps = [(means[0], spreads[0])] if len(pairs) == 1 else [tuple(row) for row in (means, spreads) if row]
    rows = in_rows(line_panels, PANELS_IN_A_ROW)
    return Picture("known", "What is known", _caption(info), (*rows, *maps))


def _range(values: list[np.ndarray]) -> tuple[float, float]:
    """The least and the greatest of all values that are there."""
    there = np.concatenate([np.zeros(0), *(each[np.isfinite(each)] for each in values)])
    return (float(there.min()), float(there.max())) if there.size else (0.0, 1.0)


def _value_axis(info: KnownInfo, lines: list[KnownSlice]) -> Axis:
    """One range for the values of all lines, with the data that are drawn on them."""
    errors = np.nan_to_num(info.trials.errors)
    shown = [(view.heights + side * errors)[view.near] for view in lines for side in (-1.0, 1.0)]
    known = [view.ground.mean if view.ground.is_pair else view.ground.quantiles for view in lines]
    low, high = _range(known + shown)
    margin = 0.05 * (high - low) or 0.5
    return Axis("value", low - margin, high + margin)


def _line_panel(info: KnownInfo, view: KnownSlice, values: Axis) -> Panel:
    ground = view.ground
    [axis] = ground.axes
    marks = over_number(ground, ground.mean, ground.quantiles, "expected value")
    title = f"{'by' if axis.names else 'along'} {axis.title}" if ground.held else ""
    return Panel(title, axis, values, (*marks, *_value_dots(info.trials, view, values.low or 0.0)))


def _value_dots(trials: ShownTrials, view: KnownSlice, floor: float) -> tuple[Dots, ...]:
    """Trials where the slice has them; what is said of each is what was measured."""
    moved = replace(trials, values=view.heights, expected=view.expected)
    marks = value_dots(moved, view.ground, view.near, floor)
    there = np.isfinite(np.stack(view.ground.places(trials.fields))).all(0)
    said = {role: trials.texts(trials.of_kind(kind) & view.near & there) for kind, role in ROLES.items()}
    return tuple(replace(dots, texts=said[dots.role]) for dots in marks)


def _pair(
    info: KnownInfo, view: KnownSlice, z: np.ndarray, label: str, scale: tuple[float, float], values: Axis
) -> Panel:
    """A map or matrix with the trials on it; or a line for each option, with the trials about their expected values."""
    ground = view.ground
    low, high = scale
    marks = over_pair(ground, z, label, Role.MEAN, (low, high if high > low else low + 1.0))
    if ground.is_plane or z is ground.sd:
        dots = place_dots(info.trials, ground, view.near, 0.0)
    else:
        dots = _value_dots(info.trials, view, values.low or 0.0)
    return Panel(titled(ground, label), *panel_axes(ground, values), (*marks, *dots))


def _caption(info: KnownInfo) -> str:
    trials = info.trials
    grounds = [view.ground for view in info.slices]
    lines = any(not ground.is_plane for ground in grounds)
    options = any(ground.has_options for ground in grounds)
    measured = sum(kind in ("first", "proposed", "attached") for kind in trials.kinds)
    said = []
    if any(not ground.is_pair and not ground.has_options for ground in grounds):
        said.append(
            "The line is the expected value; the true one lies within the inner band with a probability of 50 %,"
            " and within the outer one with 95 %, if the model is right."
        )
    if options:
        said.append(
            "Of each option the point is the expected value, and the bars hold the true one with a probability of 50"
            " and 95 %; what was measured stands beside it."
        )
    if any(ground.is_plane for ground in grounds):
        said.append(
            "Maps show the expected value and how uncertain it still is (its standard deviation): small near what was"
            " measured, large where nothing is known."
        )
    if any(ground.has_lines for ground in grounds):
        said.append("Of a choice and a number, each option has a line: the expected value, and how uncertain it is.")
    if any(np.isnan(ground.mean).any() for ground in grounds):
        said.append("What the conditions of the space exclude is left blank.")
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
