"""Current recommendation: each kind of decision has its own picture.

A decision that chooses designs shows them (`chosen`); any other that has no picture of its own, the table of its action
(`own`). So a new decision has a picture without an edit here.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hentropy.core.decisions import Estimate, Identify, LevelSets
from hentropy.views.plots.chosen import ChosenInfo, chosen_info, chosen_panels, chosen_picture
from hentropy.views.plots.density import (
    MaximumInfo,
    PlacesInfo,
    maximum_info,
    maximum_panels,
    maximum_picture,
    places_info,
    places_panels,
    places_picture,
)
from hentropy.views.plots.estimates import EstimatesInfo, estimates_info, estimates_panels, estimates_picture
from hentropy.views.plots.front import FrontInfo, front_info, front_panels, front_picture, is_front
from hentropy.views.plots.levels import LevelsInfo, levels_info, levels_panels, levels_picture
from hentropy.views.plots.marks import Panel, Picture, Table
from hentropy.views.plots.own import OwnInfo, own_info, own_panels, own_picture
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.spread import CANDIDATES
from hentropy.views.plots.views import LINE_POINTS, PLANE_POINTS

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
