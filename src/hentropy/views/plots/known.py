"""What is known: expected values with their uncertainty, the data, and the experiments that are waited for."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from hentropy.core.beliefs import Needs
from hentropy.core.decisions.headlines import percent
from hentropy.core.decisions.limits import parse_limits
from hentropy.studies.records.numbers import counted
from hentropy.views.plots.fields import in_words
from hentropy.views.plots.marks import (
    DEVIATION,
    Axis,
    Contour,
    Dots,
    Line,
    Mark,
    Panel,
    Picture,
    Role,
    Rule,
    finite_range,
    in_rows,
)
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.slice_marks import (
    ShownTrials,
    near,
    over_pair,
    panel_over,
    posterior_marks,
    shown_trials,
    trial_dots,
)
from hentropy.views.plots.slices import LINE_POINTS, PLANE_POINTS, Slice, Terrain, mean_and_sd, slices, terrain_of

PANELS_IN_A_ROW = 3

SUCCESS = "probability of success"


@dataclass(frozen=True)
class KnownSlice:
    """What is known over one slice, and which of n trials bear on it (`near`, n).

    `heights` (n) is where their values stand: each is moved by what the model expects between its design and its place
    on the slice, so that it lies as far from the line as it did from what was expected of it (a yes or no stays where
    it is). NaN where there is no value. `expected` (n) is what is expected at these places. `chance` is the probability
    of success over the slice (g or h x g); None while no experiment has failed. `holds` is the probability that all
    limits hold (g or h x g); None where there are none.
    """

    ground: Terrain
    near: np.ndarray
    heights: np.ndarray
    expected: np.ndarray
    chance: np.ndarray | None
    holds: np.ndarray | None = None


@dataclass(frozen=True)
class KnownInfo:
    """What is known, slice by slice, in the user's units; all trials but withdrawn ones; the reference in words.

    `at_least` is the least probability of success with which a design is decided on.
    """

    slices: tuple[KnownSlice, ...]
    trials: ShownTrials
    reference: str
    at_least: float
    title: str = "value"
    """What the values are called."""
    limits: tuple[float, ...] = ()
    """The limits on them, on the scale that is shown."""
    others: tuple["KnownInfo", ...] = ()
    """The other outcomes that the decision looks at, over the same slices."""
    all_limits: str = ""
    """All limits of the decision, in words."""


def known_info(scene: Scene, points: int = LINE_POINTS, plane: int = PLANE_POINTS) -> KnownInfo:
    """What is known, with this many points along a line and along each axis of a plane."""
    views = slices(scene, points=points, plane=plane)
    others = [name for name in scene.study.fitting.measured if name != scene.outcome]
    return replace(
        _known_over(scene, views),
        title=scene.title,
        others=tuple(_known_over(scene.about(name), views) for name in others),
        all_limits=" and ".join(scene.decision.subject_to),
    )


def _known_over(scene: Scene, views: tuple[Slice, ...]) -> KnownInfo:
    """What is known of one outcome over some slices."""
    trials, outcomes, name = shown_trials(scene), scene.study.outcomes, scene.outcome
    limits = [limit.believed(scene.whole) for limit in parse_limits(scene.decision.subject_to) if limit.outcome == name]
    return KnownInfo(
        slices=tuple(_known(scene, view, trials) for view in views),
        trials=trials,
        reference=in_words(scene.space, views[0].reference),
        at_least=0.0 if scene.study.success is None else scene.study.success.at_least,
        title=f"ln {name}" if outcomes.is_log(name) else outcomes.titles[name],
        limits=tuple(bound for limit in limits for bound in limit.sides() if np.isfinite(bound)),
    )


def _known(scene: Scene, view: Slice, trials: ShownTrials) -> KnownSlice:
    onto = view.onto(torch.from_numpy(trials.designs))
    expected = scene.within_bounds(mean_and_sd(scene.belief, onto)[0]) if len(onto) else trials.expected
    return KnownSlice(
        ground=terrain_of(scene, view),
        near=near(scene, view, trials.designs),
        heights=scene.within_bounds(trials.values + (0.0 if scene.belief.graded else expected - trials.expected)),
        expected=expected,
        chance=_chance(scene, view),
        holds=_holds(scene, view),
    )


@torch.no_grad()
def _holds(scene: Scene, view: Slice) -> np.ndarray | None:
    if not scene.decision.subject_to:
        return None
    chance = scene.decision.limits_hold(scene.whole.moments(view.runnable.to(scene.whole.X), Needs.VARIANCE))
    return None if chance is None else view.filled(chance.cpu().numpy())


@torch.no_grad()
def _chance(scene: Scene, view: Slice) -> np.ndarray | None:
    success = scene.study.success
    if success is None:
        return None
    return view.filled(success.chance(view.runnable.to(success.latent.X)).cpu().numpy())


def known_picture(info: KnownInfo) -> Picture:
    """Lines with bands, options with intervals; of pairs the expected value and its uncertainty."""
    lines, means = _posterior_panels(info)
    pairs = [view for view in info.slices if view.ground.is_pair]
    top = finite_range([view.ground.sd for view in pairs], widened=False)[1]
    axis, what = Axis(DEVIATION, 0.0, 1.05 * top or 1.0), "uncertainty (standard deviation)"
    spreads = [_pair(info, view, view.ground.sd, what, (0.0, top or 1.0), axis) for view in pairs]
    maps = [(means[0], spreads[0])] if len(pairs) == 1 else [tuple(row) for row in (means, spreads) if row]
    others = [panels for other in info.others for panels in _posterior_panels(other)]
    below = [row for panels in (*others, _chances(info)) for row in in_rows(panels, PANELS_IN_A_ROW)]
    return Picture("known", "What is known", _caption(info), (*in_rows(lines, PANELS_IN_A_ROW), *maps, *below))


def _posterior_panels(info: KnownInfo) -> tuple[list[Panel], list[Panel]]:
    """What is expected of an outcome over the slices: along lines, and over pairs."""
    pairs = [view for view in info.slices if view.ground.is_pair]
    values, what = _value_axis(info), f"expected {info.title}"
    scale = finite_range([view.ground.mean for view in pairs])
    return (
        [_line_panel(info, view, values) for view in info.slices if not view.ground.is_pair],
        [_pair(info, view, view.ground.mean, what, scale, values) for view in pairs],
    )


def _chances(info: KnownInfo) -> list[Panel]:
    """The probabilities that limits hold and that experiments succeed, over each slice."""
    holds, least = f"probability of {info.all_limits}", f"{percent(info.at_least)}: least to be decided on"
    return [
        *(_chance_panel(info, view, view.holds, holds, ()) for view in info.slices if view.holds is not None),
        *(
            _chance_panel(info, view, view.chance, SUCCESS, (Rule(info.at_least, "y", Role.LIMIT, least),))
            for view in info.slices
            if view.chance is not None
        ),
    ]


def _chance_panel(info: KnownInfo, view: KnownSlice, chance: np.ndarray, what: str, rules: tuple[Rule, ...]) -> Panel:
    """A probability over a slice; of success with the least with which a design is decided on."""
    ground, axis_of = view.ground, Axis(what, 0.0, 1.0)
    if ground.is_pair:
        marks = (*over_pair(ground, chance, what, Role.MEAN, (0.0, 1.0)), *(_edge(info, view) if rules else ()))
        dots = _dots(info, view, 0.0) if ground.is_plane else ()
        return panel_over(ground, what, axis_of, *marks, *dots)
    [x], [axis] = ground.grids, ground.axes
    curve: Mark = Dots(x, chance, Role.MEAN, what) if ground.has_options else Line(x, chance, Role.MEAN, what)
    return Panel(f"{what} {'by' if axis.names else 'along'} {axis.title}", axis, axis_of, (curve, *rules))


def _limits(info: KnownInfo, ground: Terrain, values: Axis) -> tuple[Rule | Contour, ...]:
    """The limits that lie in the range of the values; on a map, where the expected value passes them."""
    if not ground.is_plane:
        low, high = values.low or 0.0, values.high or 0.0
        return tuple(Rule(bound, "y", Role.LIMIT, "limit") for bound in info.limits if low <= bound <= high)
    return tuple(line for bound in info.limits for line in _level_line(ground, ground.mean, bound, "limit"))


def _edge(info: KnownInfo, view: KnownSlice) -> tuple[Contour, ...]:
    """The edge of what may be decided on, on a map."""
    if view.chance is None:
        return ()
    label = f"{percent(info.at_least)} succeed"
    return _level_line(view.ground, view.chance, info.at_least, label, dashed=True)


def _level_line(ground: Terrain, z: np.ndarray, level: float, label: str, dashed: bool = False) -> tuple[Contour, ...]:
    """Where values over a map pass a level; none where they do not, or between options."""
    low, high = finite_range([z], widened=False)
    if not ground.is_plane or ground.is_matrix or not low < level < high:
        return ()
    x, y = ground.grids
    return (Contour(x, y, z, level, Role.LIMIT, label, dashed),)


def _value_axis(info: KnownInfo) -> Axis:
    """One range for the values of all lines, with the data that are drawn on them."""
    lines = [view for view in info.slices if not view.ground.is_plane]
    errors = np.nan_to_num(info.trials.errors)
    shown = [(view.heights + side * errors)[view.near] for view in lines for side in (-1.0, 1.0)]
    known = [view.ground.mean if view.ground.is_pair else view.ground.quantiles for view in lines]
    low, high = finite_range(known + shown, widened=False)
    near = [bound for bound in info.limits if low - (high - low) <= bound <= high + (high - low)]
    low, high = min([low, *near]), max([high, *near])
    margin = 0.05 * (high - low) or 0.5
    return Axis(info.title, low - margin, high + margin)


def _line_panel(info: KnownInfo, view: KnownSlice, values: Axis) -> Panel:
    [axis] = view.ground.axes
    marks = (*posterior_marks(view.ground, f"expected {info.title}"), *_limits(info, view.ground, values))
    title = f"{'by' if axis.names else 'along'} {axis.title}" if view.ground.held else ""
    return Panel(title, axis, values, (*marks, *_dots(info, view, values.low or 0.0)))


def _dots(info: KnownInfo, view: KnownSlice, floor: float, places_only: bool = False) -> tuple[Dots, ...]:
    """Trials where the slice has them: values with their errors, failed ones at the floor, pending ones as expected.

    Of places alone on a map, or along a field.
    """
    trials = info.trials
    if places_only or view.ground.is_plane:
        return trial_dots(trials, view.ground, view.near, np.zeros(len(trials.kinds)))
    heights = np.where(trials.of_kind("pending"), view.expected, view.heights)
    heights = np.where(trials.of_kind("failed"), floor, heights)
    return trial_dots(trials, view.ground, view.near, heights, trials.errors)


def _pair(
    info: KnownInfo, view: KnownSlice, z: np.ndarray, label: str, scale: tuple[float, float], values: Axis
) -> Panel:
    """A map or matrix with the trials on it; or a line for each option, with the trials about their expected values."""
    marks = over_pair(view.ground, z, label, Role.MEAN, scale)
    if z is not view.ground.sd:
        marks = (*marks, *_limits(info, view.ground, values))
    dots = _dots(info, view, values.low or 0.0, places_only=z is view.ground.sd)
    return panel_over(view.ground, label, values, *marks, *_edge(info, view), *dots)


def _caption(info: KnownInfo) -> str:
    trials = info.trials
    grounds = [view.ground for view in info.slices]
    lines = any(not ground.is_plane for ground in grounds)
    options = any(ground.has_options for ground in grounds)
    measured = sum(kind in ("first", "proposed", "attached") for kind in trials.kinds)
    said = []
    if any(not ground.is_pair and not ground.has_options for ground in grounds):
        said.append(
            "The line is the posterior mean; the bands are 50 % and 95 % intervals of the true value, if the model is"
            " right."
        )
    if options:
        said.append(
            "For each option, the point is the posterior mean and the bars are 50 % and 95 % intervals; measured values"
            " are beside it."
        )
    if any(ground.is_plane for ground in grounds):
        said.append(
            "Maps show the posterior mean and standard deviation: small near measured designs, large where nothing is"
            " known."
        )
    if any(ground.has_lines for ground in grounds):
        said.append("Each option has a line: the posterior mean, with its uncertainty.")
    if any(np.isnan(ground.mean).any() for ground in grounds):
        said.append("Infeasible regions are left blank.")
    said.append(f"{counted(measured, 'measured value')}.")
    if "pending" in trials.kinds and lines:
        said.append("Pending experiments are drawn at their expected value.")
    if "failed" in trials.kinds and lines:
        said.append("Failed experiments have no value and are drawn at the bottom.")
    if info.others:
        said.append(f"The other outcomes follow: {' and '.join(other.title for other in info.others)}.")
    if info.all_limits:
        said.append(
            f"Limits are drawn where they are: on maps, where the expected value passes them. The probability of"
            f" {info.all_limits} counts how uncertain the outcomes still are."
        )
    if info.slices[0].chance is not None:
        said.append(
            "The probability of success is learned from failed and successful experiments; values are those of"
            f" experiments that succeed. Designs below {percent(info.at_least)} are not recommended; on maps a dashed"
            " line bounds them."
        )
    if any(view.ground.held for view in info.slices):
        hidden = len(trials.kinds) - int(np.any([view.near for view in info.slices], axis=0).sum())
        said.append(
            f"Each panel varies one or two parameters and fixes the others at {info.reference}. It shows the"
            " experiments that are informative about it. They were made at other values of the fixed parameters: along"
            " a line, each is shifted by what the model expects of that difference, so its distance from the line is"
            " the residual."
        )
        if hidden:
            said.append(f"{hidden} of {len(trials.kinds)} experiments lie far from all panels and are not drawn.")
    return " ".join(said)
