"""What is known: expected values with their uncertainty, the data, and the experiments that are waited for."""

from dataclasses import dataclass

import numpy as np
import torch

from hentropy.beliefs import Belief, Needs
from hentropy.beliefs.quantiles import mixture_quantiles
from hentropy.plots.marks import Axis, Band, Heat, Line, Mark, Panel, Picture, Role
from hentropy.plots.rows import in_rows
from hentropy.plots.scene import Scene
from hentropy.plots.shown_trials import ShownTrials, line_dots, near, plane_dots, shown_trials
from hentropy.plots.views import LINE_POINTS, PLANE_POINTS, Slice, held, parameter_axis, slices

SHARES = (0.025, 0.25, 0.75, 0.975)
"""The quantiles that bound the 95 % and the 50 % interval."""

PANELS_IN_A_ROW = 3


@dataclass(frozen=True)
class KnownSlice:
    """What is known along one or two parameters: mean and sd (g or h x g), and quantiles by `SHARES` (4 x g or h x g).

    `indices` say which parameters, `grids` their values, `held` what the others are held at, in words. `near` (n) are
    the trials that bear on the slice.
    """

    indices: tuple[int, ...]
    axes: tuple[Axis, ...]
    grids: tuple[np.ndarray, ...]
    held: str
    mean: np.ndarray
    sd: np.ndarray
    quantiles: np.ndarray
    near: np.ndarray


@dataclass(frozen=True)
class KnownInfo:
    """What is known, slice by slice, in the user's units; all trials but withdrawn ones; the reference design (d)."""

    names: tuple[str, ...]
    slices: tuple[KnownSlice, ...]
    trials: ShownTrials
    reference: np.ndarray


def known_info(scene: Scene, points: int = LINE_POINTS, plane: int = PLANE_POINTS) -> KnownInfo:
    """What is known, with so many points along a line and along each axis of a plane."""
    trials = shown_trials(scene)
    views = slices(scene, points=points, plane=plane)
    return KnownInfo(
        names=tuple(scene.space.names),
        slices=tuple(_known(scene, view, trials) for view in views),
        trials=trials,
        reference=views[0].reference.numpy(),
    )


def _known(scene: Scene, view: Slice, trials: ShownTrials) -> KnownSlice:
    mean, sd, quantiles = _at(scene.belief, view)
    return KnownSlice(
        indices=view.axes,
        axes=tuple(parameter_axis(scene.space, index) for index in view.axes),
        grids=view.values_along(),
        held=held(scene.space, view),
        mean=mean,
        sd=sd,
        quantiles=quantiles,
        near=near(scene, view, trials.designs),
    )


@torch.no_grad()
def _at(belief: Belief, view: Slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and sd over all components, and the exact quantiles of their mixture."""
    moments = belief.moments(view.designs.to(belief.X), Needs.VARIANCE)
    mean, var = moments.total()
    weights = moments.weights.unsqueeze(-1).expand_as(moments.mean)
    quantiles = mixture_quantiles(SHARES, weights, moments.mean, moments.variance.clamp_min(0.0).sqrt())
    shaped = [view.shaped(each) for each in (mean, var.clamp_min(0.0).sqrt(), *quantiles)]
    return shaped[0], shaped[1], np.stack(shaped[2:])


def known_picture(info: KnownInfo) -> Picture:
    """Lines with bands; maps of the expected value and of its uncertainty."""
    lines = [view for view in info.slices if len(view.axes) == 1]
    planes = [view for view in info.slices if len(view.axes) == 2]
    values = _value_axis(info, lines)
    mean_range = _range([view.mean for view in planes])
    sd_range = (0.0, _range([view.sd for view in planes])[1])
    line_panels = [_line_panel(info, view, values) for view in lines]
    means = [_map(info, view, view.mean, "expected value", mean_range) for view in planes]
    spreads = [_map(info, view, view.sd, "uncertainty (standard deviation)", sd_range) for view in planes]
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
    values, errors = info.trials.values, np.nan_to_num(info.trials.errors)
    shown = [(values + side * errors)[view.near] for view in lines for side in (-1.0, 1.0)]
    found = [view.quantiles for view in lines] + [each[np.isfinite(each)] for each in shown]
    low, high = _range([each for each in found if each.size])
    margin = 0.05 * (high - low) or 0.5
    return Axis("value", low - margin, high + margin)


def _line_panel(info: KnownInfo, view: KnownSlice, values: Axis) -> Panel:
    [x] = view.grids
    [axis] = view.axes
    low95, low50, high50, high95 = view.quantiles
    floor = values.low if values.low is not None else float(low95.min())
    marks: tuple[Mark, ...] = (
        Band(x, low95, high95, Role.UNCERTAINTY, "95 % interval"),
        Band(x, low50, high50, Role.UNCERTAINTY, "50 % interval"),
        Line(x, view.mean, Role.MEAN, "expected value", dots=axis.whole),
        *line_dots(info.trials, view.indices[0], view.near, floor),
    )
    return Panel(f"along {axis.title}" if view.held else "expected value with its intervals", axis, values, marks)


def _map(info: KnownInfo, view: KnownSlice, z: np.ndarray, label: str, scale: tuple[float, float]) -> Panel:
    x, y = view.grids
    low, high = scale
    heat = Heat(x, y, z, label, low=low, high=high if high > low else low + 1.0)
    dots = plane_dots(info.trials, (view.indices[0], view.indices[1]), view.near)
    return Panel(label, view.axes[0], view.axes[1], (heat, *dots))


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
    if any(view.held for view in info.slices):
        values = ", ".join(
            f"{name} = {value:.4g}" for name, value in zip(info.names, info.reference.tolist(), strict=True)
        )
        hidden = len(trials.kinds) - int(np.any([view.near for view in info.slices], axis=0).sum())
        said.append(
            f"Each panel varies one or two parameters and holds the others at {values}. It shows those experiments that"
            " tell something about it by the model; they were made at other values of the parameters that are held, so"
            " they need not lie on the line."
        )
        if hidden:
            said.append(f"{hidden} of {len(trials.kinds)} experiments lie far from all panels and are not drawn.")
    return " ".join(said)
