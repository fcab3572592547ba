"""Values that are reported at points, each with its intervals."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from torch import Tensor

from hentropy.decisions import Estimate, Identify
from hentropy.errors import InputError
from hentropy.plots.marks import Axis, Band, Dots, Heat, Line, Mark, Panel, Picture, Role, Table
from hentropy.plots.scene import Scene
from hentropy.plots.terrain import SHARES, Terrain, intervals, mean_and_sd, terrains, value_axis
from hentropy.plots.views import LINE_POINTS, PLANE_POINTS, parameter_axis

FEW = 60
"""Up to so many points each has bars of its own; more are joined to bands."""

SHOWN_POINTS = 300
TABLE_ROWS = 12


@dataclass(frozen=True)
class EstimatesInfo:
    """Points (m x d) with the values reported for them and their standard deviations (m each), on their ground.

    `quantiles` (4 x m) bound the 95 % and the 50 % intervals. `given` says that the points were named, not filled in.
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
        parameters=tuple(parameter_axis(scene.space, index) for index in range(scene.space.dim)),
        grounds=terrains(scene, points, plane) if scene.space.dim <= 2 else (),
        points=at.detach().cpu().numpy(),
        estimates=estimates,
        sd=sd,
        quantiles=quantiles,
        given=isinstance(asked, Identify) or (isinstance(asked, Estimate) and isinstance(asked.at, Tensor)),
    )


def estimates_panels(info: EstimatesInfo) -> tuple[Panel | Table, ...]:
    """One panel: the values against the parameter or by rank; over a plane two, the values and what is uncertain."""
    if info.grounds:
        [ground] = info.grounds
        if ground.is_plane:
            return _maps(info, ground)
        along = info.points[:, ground.axes[0]]
        order = np.argsort(along, kind="stable")
        return (Panel("the estimates", ground.across, value_axis(), _intervals(info, along[order], order)),)
    order = np.argsort(info.estimates, kind="stable")
    rank = np.arange(1.0, len(order) + 1.0)
    return (Panel("the estimates, in order", Axis("rank", whole=True), value_axis(), _intervals(info, rank, order)),)


def _intervals(info: EstimatesInfo, x: np.ndarray, order: np.ndarray) -> tuple[Mark, ...]:
    value, (low, lower, upper, high) = info.estimates[order], info.quantiles[:, order]
    if len(order) <= FEW:
        return (
            Dots(x, value, Role.UNCERTAINTY, "95 % interval", error=0.5 * (high - low)),
            Dots(x, value, Role.DECIDED, "estimate, 50 % interval", error=0.5 * (upper - lower)),
        )
    return (
        Band(x, low, high, Role.UNCERTAINTY, "95 % interval"),
        Band(x, lower, upper, Role.UNCERTAINTY, "50 % interval"),
        Line(x, value, Role.DECIDED, "estimate"),
    )


def _maps(info: EstimatesInfo, ground: Terrain) -> tuple[Panel, ...]:
    up = ground.up or value_axis()
    values = Heat(ground.grids[0], ground.grids[1], ground.mean, "estimate")
    spread = Heat(ground.grids[0], ground.grids[1], ground.sd, "standard deviation", low=0.0)
    return (
        Panel("the estimates", ground.across, up, (values, *_named(info, info.estimates))),
        Panel("how uncertain they are", ground.across, up, (spread, *_named(info, info.sd))),
    )


def _named(info: EstimatesInfo, values: np.ndarray) -> tuple[Mark, ...]:
    """The points that were named, with their values where they are few."""
    if not info.given or len(info.points) > SHOWN_POINTS:
        return ()
    texts = tuple(f"{value + 0.0:.3g}" for value in values) if len(values) <= TABLE_ROWS else ()
    return (Dots(info.points[:, 0], info.points[:, 1], Role.DECIDED, "where a value is reported", texts=texts),)


def estimates_picture(info: EstimatesInfo) -> Picture:
    """The values with their intervals; few of them as a table too."""
    rows: tuple[tuple[Panel | Table, ...], ...] = (estimates_panels(info),)
    if len(info.points) <= TABLE_ROWS:
        columns = (*(axis.title for axis in info.parameters), "estimate", "sd")
        cells = zip(info.points, info.estimates, info.sd, strict=True)
        table = tuple(tuple(f"{v + 0.0:.4g}" for v in (*point, value, sd)) for point, value, sd in cells)
        rows = (*rows, (Table("the estimates", columns, table),))
    caption = (
        f"The value that would be reported at each of {len(info.points)} points, with the intervals that hold it with"
        f" 50 and 95 % probability. The typical standard deviation is {float(np.median(info.sd)):.3g}."
    )
    return Picture("decided", "What would be reported now", caption, rows)
