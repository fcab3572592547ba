"""Level sets: the label map, how probable it is to be above each threshold, and where the boundaries are."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.beliefs.normal import distribution
from hentropy.core.decisions import LevelSets
from hentropy.core.decisions.base import in_belief
from hentropy.errors import InputError
from hentropy.studies.records.numbers import short, span
from hentropy.views.plots.fields import in_words, seen
from hentropy.views.plots.marks import (
    Axis,
    Bars,
    Contour,
    Dots,
    Heat,
    Line,
    Mark,
    Panel,
    Picture,
    Role,
    Rule,
    Table,
    in_rows,
)
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.slice_marks import VALUE_AXIS, ground_marks, over_pair, panel_over, within
from hentropy.views.plots.slices import LINE_POINTS, PLANE_POINTS, Slice, Terrain, slices, terrain_of

ROLES = (Role.LOW, Role.MIDDLE, Role.HIGH)
MAX_POINTS = 300


@dataclass(frozen=True)
class LevelView:
    """One slice: the ground, the labels (shape of the slice), the probability of being above each threshold (T x it).

    NaN where nothing can be run. `evidence` (T x it) is above 0 where the label says "above": mean less threshold, or
    probability less the one that is needed. `boundaries` are, along a number, for each threshold the places where the
    label changes.
    """

    ground: Terrain
    labels: np.ndarray
    above: np.ndarray
    evidence: np.ndarray
    boundaries: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class LevelsInfo:
    """Views of the space, and the decision's own points (m x F, by field) with their labels (m).

    A label is the number of thresholds that the point is above; `counts` says how many points have each (T + 1), by
    weight where they do not count the same. `needed` is the probability from which on a label says "above", None where
    the mean decides. `given` says that the points were named, not filled in. `reference` is the design that slices pass
    through, `unit` that of the thresholds.
    """

    thresholds: tuple[float, ...]
    needed: float | None
    views: tuple[LevelView, ...]
    points: np.ndarray
    labels: np.ndarray
    counts: np.ndarray
    given: bool
    reference: str
    unit: str = ""

    @property
    def levels(self) -> list[str]:
        """The thresholds as text, with their unit."""
        return [f"{number} {self.unit}".rstrip() for number in self._numbers]

    @property
    def _numbers(self) -> list[str]:
        return [short(threshold, span(list(self.thresholds))) for threshold in self.thresholds]

    @property
    def names(self) -> tuple[str, ...]:
        """What each label means."""
        edges = self.levels
        between = [f"{low} to {high}" for low, high in zip(self._numbers, edges[1:], strict=False)]
        return (f"below {edges[0]}", *between, f"above {edges[-1]}")


def levels_info(
    scene: Scene, points: int = LINE_POINTS, plane: int = PLANE_POINTS, order: tuple[int, ...] | None = None
) -> LevelsInfo:
    """Labels over the slices by the rule of the decision, and the labels that it gives its own points."""
    decision = scene.decision
    if not isinstance(decision, LevelSets):
        raise InputError(f"{decision!r} does not decide on level sets")
    asked = scene.study.decision
    views = slices(scene, order=order, points=points, plane=plane)
    labels = (scene.action > 0.5).sum(-2).cpu().numpy()
    return LevelsInfo(
        thresholds=decision.thresholds,
        needed=decision.needed if decision.by_sides else None,
        views=tuple(_view(scene, decision, view) for view in views),
        points=seen(scene.space, decision.settled_points),
        labels=labels,
        counts=np.bincount(labels, _counted(decision), minlength=len(decision.thresholds) + 1),
        given=isinstance(asked, LevelSets) and asked.at is not None,
        reference=in_words(scene.space, views[0].reference),
        unit=_unit(scene),
    )


def _unit(scene: Scene) -> str:
    """The unit of the values that are shown; logarithms and probabilities have none."""
    about = scene.study.outcomes.quantities[scene.outcome]
    return "" if about.log or about.event else about.unit


def _counted(decision: LevelSets) -> np.ndarray | None:
    """For how many points each one stands, where these do not count the same: m."""
    if decision.weights is None:
        return None
    return (decision.weights / decision.weights.mean()).cpu().numpy()


@torch.no_grad()
def _view(scene: Scene, decision: LevelSets, view: Slice) -> LevelView:
    ground = terrain_of(scene, view)
    designs = view.runnable.to(scene.belief.X)
    levels = np.array(decision.thresholds).reshape(-1, *[1] * len(view.shape))
    if len(designs):
        # the same rule at other points
        judged = scene.belief.scores if decision.by_sides else scene.belief
        rule = LevelSets(decision.thresholds, designs, decision.relation, confidence=decision.confidence)
        elsewhere = rule.informed(judged)
        labels = view.filled(elsewhere.bayes_action(judged.moments(designs, decision.needs)).sum(0))
        chances = view.filled(chances_above(scene.belief, designs, decision.thresholds))
    else:
        labels, chances = ground.mean, ground.mean + 0.0 * levels
    evidence = chances - decision.needed if decision.by_sides else ground.mean - levels
    nowhere: tuple[tuple[float, ...], ...] = tuple(() for _ in decision.thresholds)
    along = not ground.is_pair and not _is_stepped(ground)
    return LevelView(ground, labels, chances, evidence, boundaries(ground.grids[0], evidence) if along else nowhere)


def chances_above(belief: Belief, designs: Tensor, thresholds: tuple[float, ...]) -> Tensor:
    """The probability that f is above each of T thresholds at designs m x d, all components together: T x m."""
    moments = belief.scores.moments(designs, Needs.VARIANCE)
    levels = torch.tensor([in_belief(belief.scores, None, level) for level in thresholds]).to(designs).view(-1, 1, 1)
    gap = moments.mean - levels  # T x H x m
    sd = moments.variance.clamp_min(1e-300).sqrt()
    return (moments.weights.reshape(1, -1, 1) * distribution((gap / sd).clamp(-40.0, 40.0))).sum(1)


def boundaries(x: np.ndarray, evidence: np.ndarray) -> tuple[tuple[float, ...], ...]:
    """On a line (g), for each threshold, where the evidence (T x g) changes its sign, by straight lines in between."""
    found = []
    for values in evidence:
        there = np.isfinite(values[:-1]) & np.isfinite(values[1:])
        change = np.flatnonzero(there & ((values[:-1] > 0) != (values[1:] > 0)))
        part = values[change] / (values[change] - values[change + 1])
        found.append(tuple((x[change] + part * (x[change + 1] - x[change])).tolist()))
    return tuple(found)


def levels_panels(info: LevelsInfo) -> tuple[Panel | Table, ...]:
    """One panel: the labels along a line, or the map of labels of the leading pair."""
    planes = [view for view in info.views if view.ground.is_pair]
    return (_map(info, planes[0]) if planes else _line(info, info.views[0]),)


def levels_picture(info: LevelsInfo) -> Picture:
    """The labels, and how probable they are."""
    planes = [view for view in info.views if view.ground.is_pair]
    rows: tuple[tuple[Panel | Table, ...], ...]
    if not planes:
        view = info.views[0]
        rows = ((_line(info, view), _chances_on_line(info, view), _steps(info, view)),)
    elif len(info.views) == 1:
        maps = tuple(_chance_map(info, planes[0], level) for level in range(len(info.thresholds)))
        rows = in_rows((_map(info, planes[0]), *maps), 3)
    else:
        chances = tuple(_chances_on_line(info, view) for view in info.views if not view.ground.is_pair)
        maps = tuple(_map(info, view) for view in planes)
        own = tuple(_own_points(info, view) for view in planes)
        rows = (maps, own, *in_rows((_counts(info), *chances), 3))
    return Picture("decided", "Current recommendation: level sets", _caption(info), rows)


def _line(info: LevelsInfo, view: LevelView) -> Panel:
    marks: list[Mark] = list(ground_marks(view.ground))
    marks += [Rule(threshold, "y", Role.LIMIT, "threshold") for threshold in info.thresholds]
    marks += _boundary_rules(info, view)
    return panel_over(view.ground, "the levels", VALUE_AXIS, *marks)


def _is_stepped(ground: Terrain) -> bool:
    """Whether an axis has options or levels: there is nothing between two of them, and no boundary."""
    return any(axis.names or axis.ticks for axis in ground.axes)


def _boundary_rules(info: LevelsInfo, view: LevelView) -> list[Mark]:
    named = zip(info.levels, view.boundaries, strict=True)
    return [Rule(at, "x", Role.DECIDED, f"boundary at {level}") for level, where in named for at in where]


def _chances_on_line(info: LevelsInfo, view: LevelView) -> Panel:
    [x] = view.ground.grids
    marks: list[Mark] = []
    for place, (level, chance) in enumerate(zip(info.levels, view.above, strict=True)):
        role, label = _role(place, len(info.thresholds)), f"above {level}"
        if view.ground.has_options:
            marks.append(Dots(x, chance, role, label))
        else:
            marks.append(Line(x, chance, role, label, dashed=place % 2 == 1, dots=view.ground.listed[0]))
    title, axis = "how probable it is to be above", Axis("probability", 0.0, 1.0)
    return panel_over(view.ground, title, axis, *marks, *_boundary_rules(info, view))


def _steps(info: LevelsInfo, view: LevelView) -> Panel:
    """The label along a line, each step upright; of options, a mark for each."""
    [x] = view.ground.grids
    label: Mark = Line(np.repeat(x, 2)[1:], np.repeat(view.labels, 2)[:-1], Role.DECIDED)
    if view.ground.has_options:
        label = Dots(x, view.labels, Role.DECIDED)
    names = Axis("level", -0.5, len(info.thresholds) + 0.5, names=info.names)
    return Panel("the label", view.ground.axes[0], names, (label,))


def _map(info: LevelsInfo, view: LevelView) -> Panel:
    """Labels over a pair; of a choice and a number each option has a row, as labels have no height."""
    ground = view.ground
    x, y = ground.grids
    marks: list[Mark] = [Heat(x, y, view.labels, "level", names=info.names)]
    marks += _contours(info, view)
    if info.given and len(info.views) == 1 and len(info.points) <= MAX_POINTS:
        marks += _labelled(info, ground)
    return Panel("the levels", ground.axes[0], ground.axes[1], tuple(marks))


def _contours(info: LevelsInfo, view: LevelView) -> list[Mark]:
    """The boundaries between two numbers; between options there are none."""
    if _is_stepped(view.ground):
        return []
    x, y = view.ground.grids
    named = zip(info.levels, view.evidence, strict=True)
    return [Contour(x, y, evidence, 0.0, Role.DECIDED, f"boundary at {level}") for level, evidence in named]


def _chance_map(info: LevelsInfo, view: LevelView, level: int) -> Panel:
    marks = over_pair(view.ground, view.above[level], "probability", Role.MEAN, (0.0, 1.0))
    title = f"how probable it is to be above {info.levels[level]}"
    contour = _contours(info, view)[level : level + 1]
    return panel_over(view.ground, title, Axis("probability", 0.0, 1.0), *marks, *contour)


def _own_points(info: LevelsInfo, view: LevelView) -> Panel:
    ground = view.ground
    title = "the labelled points, projected onto two parameters"
    return Panel(title, ground.axes[0], ground.axes[1], tuple(_labelled(info, ground)))


def _labelled(info: LevelsInfo, ground: Terrain) -> list[Mark]:
    """The decision's own points, a mark for each label that occurs."""
    places = ground.places(info.points)
    there = np.isfinite(np.stack(places)).all(0)  # not all options may have room
    x, y = within(ground, places)
    top = len(info.thresholds)
    marks: list[Mark] = []
    for label in range(top + 1):
        own = (info.labels == label) & there
        if own.any():
            marks.append(Dots(x[own], y[own], _role(label, top + 1), f"points {info.names[label]}"))
    return marks


def _counts(info: LevelsInfo) -> Panel:
    count = len(info.names)
    bars = Bars(np.arange(count + 1) - 0.5, info.counts.astype(float), Role.DECIDED, "points")
    return Panel("how many points have each label", Axis("level", names=info.names), Axis("points", low=0.0), (bars,))


def _role(place: int, count: int) -> Role:
    """The first is low, the last high, all between them in the middle; of one alone, high."""
    return ROLES[2] if place == count - 1 else ROLES[0] if place == 0 else ROLES[1]


def _caption(info: LevelsInfo) -> str:
    near = "1/2" if info.needed in (None, 0.5) else f"{100.0 * info.needed:g} %"
    rule = "its mean is above the threshold"
    if info.needed is not None:
        likely = "it is more likely than not to be above the threshold"
        rule = likely if info.needed == 0.5 else f"it is above the threshold with at least {near} probability"
    held = (
        f" Each panel varies one or two parameters and holds the others at {info.reference}; the points are labelled"
        " where they are."
        if len(info.views) > 1
        else ""
    )
    return (
        f"A point counts as above a threshold where {rule}. Where the probability is near {near}, the label is"
        f" open.{held}"
    )
