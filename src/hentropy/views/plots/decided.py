"""Current recommendation: each kind of decision has its own picture.

A decision that chooses designs shows them (`chosen`); any other that has no picture of its own, the table of its
action, and for a choice between options what each is expected to cost. So a new decision needs no edit here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from hentropy.core.action_search import expected_loss
from hentropy.core.decisions import Estimate, Identify, LevelSets, base_samples
from hentropy.studies.records.numbers import short
from hentropy.views.plots.chosen import (
    ChosenInfo,
    FrontInfo,
    chosen_info,
    chosen_panels,
    chosen_picture,
    front_info,
    front_panels,
    front_picture,
    is_front,
)
from hentropy.views.plots.estimates import EstimatesInfo, estimates_info, estimates_panels, estimates_picture
from hentropy.views.plots.identified import (
    MaximumInfo,
    PlacesInfo,
    maximum_info,
    maximum_panels,
    maximum_picture,
    places_info,
    places_panels,
    places_picture,
)
from hentropy.views.plots.levels import LevelsInfo, levels_info, levels_panels, levels_picture
from hentropy.views.plots.marks import Axis, Bars, Panel, Picture, Role, Rule, Table
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.slices import LINE_POINTS, PLANE_POINTS
from hentropy.views.plots.spread import CANDIDATES

VALUE_DRAWS, MAX_ROWS, MAX_OPTIONS = 256, 50, 40


@dataclass(frozen=True)
class OwnInfo:
    """The rows of the action under their columns; `options` with their expected losses where they are listed.

    `left_out` says how many rows of a long action are not in `rows`.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    left_out: int
    options: tuple[str, ...]
    losses: np.ndarray
    value: float


def own_info(scene: Scene) -> OwnInfo:
    """The action as the decision describes it."""
    rows = scene.decision.describe(scene.action, scene.space)
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    options, losses = _options(scene)
    return OwnInfo(
        columns=columns,
        rows=tuple(tuple(row.get(name) for name in columns) for row in rows[:MAX_ROWS]),
        left_out=max(0, len(rows) - MAX_ROWS),
        options=options,
        losses=losses,
        value=scene.found.value,
    )


@torch.no_grad()
def _options(scene: Scene) -> tuple[tuple[str, ...], np.ndarray]:
    """The options with their expected losses, on draws that did not choose between them."""
    decision, belief = scene.decision, scene.whole
    items, losses = decision.actions.items[:MAX_OPTIONS], []
    for item in items:
        points = torch.as_tensor(decision.points(item)).to(belief.X)
        values = points.shape[-2] * len(belief.outcomes)
        draws = base_samples(decision, VALUE_DRAWS, values, scene.seed + 1).to(belief.X)
        losses.append(float(expected_loss(decision, belief.moments(points, decision.needs), item, draws)))
    return tuple(str(item) for item in items), np.array(losses)


def own_panels(info: OwnInfo) -> tuple[Panel | Table, ...]:
    """The table, after the options where there are some."""
    more = f" (and {info.left_out} more rows)" if info.left_out else ""
    table = Table(
        f"the decision{more}", info.columns, tuple(tuple(_short(value) for value in row) for row in info.rows)
    )
    if not info.options:
        return (table,)
    bars = Bars(np.arange(len(info.options) + 1) - 0.5, info.losses, Role.LOSS, "expected loss")
    rule = Rule(float(info.losses.min()), "y", Role.DECIDED, "the smallest")
    axis = Axis("option", names=info.options)
    return (Panel("what each option is expected to cost", axis, Axis("expected loss"), (bars, rule)), table)


def own_picture(info: OwnInfo) -> Picture:
    """The table of the action, with the options beside it."""
    said = f"The current recommendation, at an expected loss of {short(info.value)}."
    options = " The bars are what each option is expected to cost: the lowest is chosen." if info.options else ""
    return Picture("decided", "Current recommendation", said + options, (own_panels(info),))


def _short(value: Any) -> str:
    return short(value) if isinstance(value, float) else str(value)


DecidedInfo = ChosenInfo | FrontInfo | LevelsInfo | MaximumInfo | PlacesInfo | EstimatesInfo | OwnInfo

Panels = Callable[[Any], tuple[Panel | Table, ...]]

SHOWN: Mapping[type[DecidedInfo], tuple[Panels, Callable[[Any], Picture]]] = {
    ChosenInfo: (chosen_panels, chosen_picture),
    FrontInfo: (front_panels, front_picture),
    LevelsInfo: (levels_panels, levels_picture),
    MaximumInfo: (maximum_panels, maximum_picture),
    PlacesInfo: (places_panels, places_picture),
    EstimatesInfo: (estimates_panels, estimates_picture),
    OwnInfo: (own_panels, own_picture),
}
"""How each kind of information is shown: in a panel or two, and as a whole picture."""


def decided_info(
    scene: Scene,
    draws: int = 64,
    candidates: int = CANDIDATES,
    points: int = LINE_POINTS,
    plane: int = PLANE_POINTS,
    order: tuple[int, ...] | None = None,
) -> DecidedInfo:
    """What would be decided, as its kind of decision shows it.

    The space that is looked at is the one in which the decision may lie.
    `draws` functions among `candidates` designs show how open a choice of designs is; `points` and `plane` are the
    grids of lines and planes. `order` are the parameters from the most to the least relevant, by the belief unless it
    is given: pictures to be compared need the same.
    """
    decision = scene.decision
    scene = replace(scene, space=scene.study.decide_on)
    if isinstance(decision, LevelSets):
        return levels_info(scene, points, plane, order)
    if isinstance(decision, Identify) and decision.what == "max":
        return maximum_info(scene)
    if isinstance(decision, Identify) and decision.what == "argmax":
        return places_info(scene, order=order)
    if isinstance(decision, Estimate | Identify):
        return estimates_info(scene, points, plane)
    if decision.actions.of_designs:
        chosen = chosen_info(scene, draws, candidates, points, plane, order)
        return front_info(scene, chosen) if is_front(scene) else chosen
    return own_info(scene)


def decided_panels(info: DecidedInfo) -> tuple[Panel | Table, ...]:
    """The decision in one panel or two, to stand beside others."""
    return SHOWN[type(info)][0](info)


def decided_picture(info: DecidedInfo) -> Picture:
    """The whole picture."""
    return SHOWN[type(info)][1](info)
