"""Values that are reported at points, each with its intervals."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from hentropy.core.decisions import Estimate, Identify
from hentropy.errors import InputError
from hentropy.studies.records.numbers import short, span
from hentropy.views.plots.fields import design_table, field_axes, seen, varying
from hentropy.views.plots.marks import DEVIATION, Axis, Dots, Line, Mark, Panel, Picture, Role, Table
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.slice_marks import (
    VALUE_AXIS,
    bands,
    intervals_at,
    line_places,
    over_pair,
    panel_over,
    side_by_side,
)
from hentropy.views.plots.slices import (
    LINE_POINTS,
    PLANE_POINTS,
    QUANTILES,
    Terrain,
    intervals,
    mean_and_sd,
    terrains,
)

MAX_BARS = 60
"""Up to this many points each has bars of its own; more are joined to bands."""

MAX_POINTS, MAX_ROWS = 300, 12


@dataclass(frozen=True)
class EstimatesInfo:
    """Points (m x F, by field) with the values reported for them and their standard deviations (m each).

    `grounds` are what they are shown on. `quantiles` (4 x m) bound the 95 % and the 50 % intervals. `given` says that
    the points were named, not filled in.
    """

    parameters: tuple[Axis, ...]
    grounds: tuple[Terrain, ...]
    points: np.ndarray
    estimates: np.ndarray
    sd: np.ndarray
    quantiles: np.ndarray
    given: bool


def estimates_info(scene: Scene, points: int = LINE_POINTS, plane: int = PLANE_POINTS) -> EstimatesInfo:
    """What is reported at the points of an `Estimate`, or of an `Identify` of values."""
    decision, asked = scene.decision, scene.study.decision
    if not isinstance(decision, Estimate | Identify):
        raise InputError(f"{decision!r} does not report values at points")
    at, action = decision.settled_points, scene.action.detach().cpu()
    if isinstance(decision, Identify):  # mean and root of the covariance, side by side
        estimates, sd = action[:, 0].numpy(), action[:, 1:].square().sum(-1).sqrt().numpy()
        quantiles = estimates + sd * ndtri(np.array(QUANTILES))[:, None]
    else:
        estimates, sd = action.numpy(), mean_and_sd(scene.belief, at)[1]
        quantiles = intervals(scene.belief, at)
    return EstimatesInfo(
        parameters=field_axes(scene.space),
        grounds=terrains(scene, points, plane) if len(varying(scene.space)) <= 2 else (),
        points=seen(scene.space, at),
        estimates=scene.within_bounds(estimates),
        sd=sd,
        quantiles=scene.within_bounds(quantiles),
        given=isinstance(asked, Identify) or (isinstance(asked, Estimate) and asked.at is not None),
    )


def estimates_panels(info: EstimatesInfo) -> tuple[Panel | Table, ...]:
    """One panel: the values against the parameter or by rank; over a plane two, the values and what is uncertain."""
    if not info.grounds:
        order = np.argsort(info.estimates, kind="stable")
        marks = _intervals(info, np.arange(1.0, len(order) + 1.0), order)
        return (Panel("the estimates, in order", Axis("rank", whole=True), VALUE_AXIS, marks),)
    [ground] = info.grounds
    if not ground.is_pair:
        [along] = ground.places(info.points)
        order = np.argsort(along, kind="stable")
        return (panel_over(ground, "", VALUE_AXIS, *_intervals(info, along[order], order, ground.has_options)),)
    values = over_pair(ground, ground.mean, "estimate", Role.MEAN)
    spread = over_pair(ground, ground.sd, DEVIATION, Role.MEAN, (0.0, None))
    sds = Axis(DEVIATION, low=0.0)
    return (
        panel_over(ground, "the estimates", VALUE_AXIS, *values, *_named_points(info, ground, info.estimates)),
        panel_over(ground, "their uncertainty", sds, *spread, *_named_points(info, ground, info.sd)),
    )


def _intervals(info: EstimatesInfo, x: np.ndarray, order: np.ndarray, apart: bool = False) -> tuple[Mark, ...]:
    value, quantiles = info.estimates[order], info.quantiles[:, order]
    if apart or len(order) <= MAX_BARS:
        return intervals_at(x, value, quantiles, "estimate", Role.DECIDED)
    return (*bands(x, quantiles), Line(x, value, Role.DECIDED, "estimate"))


def _named_points(info: EstimatesInfo, ground: Terrain, values: np.ndarray) -> tuple[Mark, ...]:
    """The points that were named, with their values where they are few."""
    if not info.given or len(info.points) > MAX_POINTS:
        return ()
    spread = span(values.tolist())
    texts = tuple(short(value, spread, least=3) for value in values.tolist()) if len(values) <= MAX_ROWS else ()
    places, label = side_by_side(ground.axes[0], ground.places(info.points)), "where values are estimated"
    height, group = (places[1], None) if ground.is_plane else (values, line_places(ground, info.points))
    return (Dots(places[0], height, Role.DECIDED, label, texts=texts, options=group),)


def estimates_picture(info: EstimatesInfo) -> Picture:
    """The values with their intervals; few of them as a table too."""
    rows: tuple[tuple[Panel | Table, ...], ...] = (estimates_panels(info),)
    few = len(info.points) <= MAX_ROWS
    return Picture("decided", "Current estimates", _caption(info), (*rows, (_table(info),)) if few else rows)


def _table(info: EstimatesInfo) -> Table:
    low, _, _, high = info.quantiles
    more = {"estimate": info.estimates, "sd": info.sd, "2.5 %": low, "97.5 %": high}
    columns = {name: list(map(short, values.tolist(), info.sd.tolist())) for name, values in more.items()}
    return design_table(
        "the estimates", info.parameters, info.points, columns | {"sd": list(map(short, info.sd.tolist()))}
    )


def _caption(info: EstimatesInfo) -> str:
    count = len(info.points)
    where = f"The estimate at each of {count} points" if count > 1 else "The estimates"
    if not (info.grounds and info.grounds[0].is_pair):
        drawn = ", with the intervals that hold it with 50 and 95 % probability"
    elif count <= MAX_ROWS:
        drawn = ", over the expected value and its standard deviation; the table has the ends of the interval"
        drawn += " that holds it with 95 % probability"
    else:
        drawn = ", and how uncertain it is (its standard deviation)"
    return f"{where}{drawn}. The typical standard deviation is {float(np.median(info.sd)):.3g}."
