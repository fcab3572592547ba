"""What would be decided now: each kind of decision has its own picture.

A decision that chooses designs shows them (`chosen`); any other that has no picture of its own, the table of its action
(`own`). So a new decision has a picture without an edit here.
"""

from hentropy.decisions import Estimate, Identify, LevelSets, Listed, Points
from hentropy.plots.chosen import ChosenInfo, chosen_info, chosen_panels, chosen_picture
from hentropy.plots.density import (
    MaximumInfo,
    PlacesInfo,
    maximum_info,
    maximum_panels,
    maximum_picture,
    places_info,
    places_panels,
    places_picture,
)
from hentropy.plots.estimates import EstimatesInfo, estimates_info, estimates_panels, estimates_picture
from hentropy.plots.levels import LevelsInfo, levels_info, levels_panels, levels_picture
from hentropy.plots.marks import Panel, Picture, Table
from hentropy.plots.own import OwnInfo, own_info, own_panels, own_picture
from hentropy.plots.scene import Scene
from hentropy.plots.spread import CANDIDATES
from hentropy.plots.views import LINE_POINTS, PLANE_POINTS

DecidedInfo = ChosenInfo | LevelsInfo | MaximumInfo | PlacesInfo | EstimatesInfo | OwnInfo


def decided_info(
    scene: Scene,
    draws: int = 64,
    candidates: int = CANDIDATES,
    points: int = LINE_POINTS,
    plane: int = PLANE_POINTS,
) -> DecidedInfo:
    """What would be decided, as its kind of decision shows it.

    `draws` functions among `candidates` designs show how open a choice of designs is; `points` and `plane` are the
    grids of lines and planes.
    """
    decision = scene.decision
    if isinstance(decision, LevelSets):
        return levels_info(scene, points, plane)
    if isinstance(decision, Identify) and decision.what == "max":
        return maximum_info(scene)
    if isinstance(decision, Identify) and decision.what == "argmax":
        return places_info(scene)
    if isinstance(decision, Estimate | Identify):
        return estimates_info(scene, points, plane)
    if isinstance(decision.actions, Points | Listed):
        return chosen_info(scene, draws, candidates, points, plane)
    return own_info(scene)


def decided_panels(info: DecidedInfo) -> tuple[Panel | Table, ...]:
    """The decision in one panel or two, to stand beside others."""
    if isinstance(info, ChosenInfo):
        return chosen_panels(info)
    if isinstance(info, LevelsInfo):
        return levels_panels(info)
    if isinstance(info, MaximumInfo):
        return maximum_panels(info)
    if isinstance(info, PlacesInfo):
        return places_panels(info)
    if isinstance(info, EstimatesInfo):
        return estimates_panels(info)
    return own_panels(info)


def decided_picture(info: DecidedInfo) -> Picture:
    """The whole picture."""
    if isinstance(info, ChosenInfo):
        return chosen_picture(info)
    if isinstance(info, LevelsInfo):
        return levels_picture(info)
    if isinstance(info, MaximumInfo):
        return maximum_picture(info)
    if isinstance(info, PlacesInfo):
        return places_picture(info)
    if isinstance(info, EstimatesInfo):
        return estimates_picture(info)
    return own_picture(info)
