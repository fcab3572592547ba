"""Values that are reported at points, each with its intervals."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from hentropy.core.decisions import Estimate, Identify
from hentropy.errors import InputError
from hentropy.studies.records.numbers import short, span
from hentropy.views.plots.by_option import intervals_at, option_places, over_pair, panel_axes, side_by_side, titled
from hentropy.views.plots.marks import DEVIATION, Axis, Band, Dots, Line, Mark, Panel, Picture, Role, Table
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.shown_fields import cell, parameter_axis, seen, varying
from hentropy.views.plots.terrain import SHARES, Terrain, intervals, mean_and_sd, terrains, value_axis
from hentropy.views.plots.views import LINE_POINTS, PLANE_POINTS

FEW = 60
"""Up to this many points each has bars of its own; more are joined to bands."""

SHOWN_POINTS = 300
TABLE_ROWS = 12


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
        quantiles = estimates + sd * ndtri(np.array(SHARES))[:, None]
    else:
        estimates, sd = action.numpy(), mean_and_sd(scene.belief, at)[1]
        quantiles = intervals(scene.belief, at)
    return EstimatesInfo(
        parameters=tuple(parameter_axis(scene.space, index) for index in range(len(scene.space.fields))),
        grounds=terrains(scene, points, plane) if len(varying(scene.space)) <= 2 else (),
        points=seen(scene.space, at),
        estimates=scene.within_bounds(estimates),
        sd=sd,
        quantiles=scene.within_bounds(quantiles),
        given=isinstance(asked, Identify) or (isinstance(asked, Estimate) and asked.at is not None),
    )


def estimates_panels(info: EstimatesInfo) -> tuple[Panel | Table, ...]:
    """One panel: the values against the parameter or by rank; over a plane two, the values and what is uncertain."""
    if info.grounds:
        [ground] = info.grounds
        if ground.is_pair:
            return _pair(info, ground)
        [along] = ground.places(info.points)
        order = np.argsort(along, kind="stable")
        return (
            Panel("", *panel_axes(ground, value_axis()), _intervals(info, along[order], order, ground.has_options)),
        )
    order = np.argsort(info.estimates, kind="stable")
    rank = np.arange(1.0, len(order) + 1.0)
    return (Panel("the estimates, in order", Axis("rank", whole=True), value_axis(), _intervals(info, rank, order)),)


def _intervals(info: EstimatesInfo, x: np.ndarray, order: np.ndarray, apart: bool = False) -> tuple[Mark, ...]:
    value, (low, lower, upper, high) = info.estimates[order], info.quantiles[:, order]
    if apart or len(order) <= FEW:
        return intervals_at(x, value, info.quantiles[:, order], "estimate", Role.DECIDED)
    return (
        Band(x, low, high, Role.UNCERTAINTY, "95 % interval"),
        Band(x, lower, upper, Role.UNCERTAINTY, "50 % interval"),
        Line(x, value, Role.DECIDED, "estimate"),
    )


def _pair(info: EstimatesInfo, ground: Terrain) -> tuple[Panel, ...]:
    values = over_pair(ground, ground.mean, "estimate", Role.MEAN)
    spread = over_pair(ground, ground.sd, DEVIATION, Role.MEAN, (0.0, None))
    axes, sds = panel_axes(ground, value_axis()), panel_axes(ground, Axis(DEVIATION, low=0.0))
    return (
        Panel(titled(ground, "the estimates"), *axes, (*values, *_named(info, ground, info.estimates))),
        Panel(titled(ground, "their uncertainty"), *sds, (*spread, *_named(info, ground, info.sd))),
    )


def _named(info: EstimatesInfo, ground: Terrain, values: np.ndarray) -> tuple[Mark, ...]:
    """The points that were named, with their values where they are few."""
    if not info.given or len(info.points) > SHOWN_POINTS:
        return ()
    spread = span(values.tolist())
    texts = tuple(short(value, spread, least=3) for value in values.tolist()) if len(values) <= TABLE_ROWS else ()
    places, label = side_by_side(ground.axes[0], ground.places(info.points)), "where values are estimated"
    height, group = (places[1], None) if ground.is_plane else (values, option_places(ground, info.points))
    return (Dots(places[0], height, Role.DECIDED, label, texts=texts, options=group),)


def estimates_picture(info: EstimatesInfo) -> Picture:
    """The values with their intervals; few of them as a table too."""
    rows: tuple[tuple[Panel | Table, ...], ...] = (estimates_panels(info),)
    few = len(info.points) <= TABLE_ROWS
    return Picture("decided", "Current estimates", _caption(info), (*rows, (_table(info),)) if few else rows)


def _table(info: EstimatesInfo) -> Table:
    columns = (*(axis.title for axis in info.parameters), "estimate", "sd", "2.5 %", "97.5 %")
    rows = []
    for place, point in enumerate(info.points.tolist()):
        sd = float(info.sd[place])
        design = (cell(axis, value) for axis, value in zip(info.parameters, point, strict=True))
        low, _, _, high = (short(float(quantile), sd) for quantile in info.quantiles[:, place])
        rows.append((*design, short(float(info.estimates[place]), sd), short(sd), low, high))
    return Table("the estimates", columns, tuple(rows))


def _caption(info: EstimatesInfo) -> str:
    count = len(info.points)
    where = f"The estimate at each of {count} points" if count > 1 else "The estimates"
    if not (info.grounds and info.grounds[0].is_pair):
        drawn = ", with the intervals that hold it with 50 and 95 % probability"
    elif count <= TABLE_ROWS:
        drawn = ", over the expected value and its standard deviation; the table has the ends of the interval"
        drawn += " that holds it with 95 % probability"
    else:
        drawn = ", and how uncertain it is (its standard deviation)"
    return f"{where}{drawn}. The typical standard deviation is {float(np.median(info.sd)):.3g}."
