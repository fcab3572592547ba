"""Why this experiment: what each would be expected to gain, and what would be decided after a low or a high outcome."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from hentropy.core.action_search import ContinuousSearch, expected_loss, prepare_search
from hentropy.core.action_search.finite import FiniteSearch
from hentropy.core.action_search.tuples import TupleSearch
from hentropy.core.beliefs import Belief
from hentropy.core.decisions.headlines import known, probable
from hentropy.core.entropy import Entropy, entropy_of
from hentropy.core.predictions import predict
from hentropy.studies.records import State
from hentropy.studies.records.numbers import short, span
from hentropy.views.plots.decided import DecidedInfo, decided_info, decided_panels
from hentropy.views.plots.fields import by_relevance
from hentropy.views.plots.gain_map import NUMBERS, GainSlice, gain_map
from hentropy.views.plots.marks import (
    VALUE,
    Axis,
    Bars,
    Dots,
    Heat,
    Line,
    Mark,
    Panel,
    Picture,
    Role,
    Table,
    extent,
    finite_range,
    in_rows,
)
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.slice_marks import ShownTrials, over_pair, panel_over, shown_trials, trial_dots
from hentropy.views.plots.slices import reference_design
from hentropy.views.plots.target import NextExperiment, filling_words, gain_words

PANELS_IN_A_ROW = 3

MIN_CHANGE = 1e-3
"""A change of a loss by a smaller share is not written."""

SHARES = {"low": 0.1, "middle": 0.5, "high": 0.9}
"""The outcomes shown: with these probabilities an outcome is below them."""

DRAWS, POINTS, PLANE = 32, 61, 31
"""Three panels side by side are small: fewer drawn functions and coarser grids do."""


@dataclass(frozen=True)
class OutcomeInfo:
    """One outcome of the experiment: its name, its value, and what would be decided then, at which expected loss.

    With `is_grade`, the name is a grade and the value how likely it is.
    """

    name: str
    value: float
    expected_loss: float
    decided: DecidedInfo
    is_grade: bool = False


@dataclass(frozen=True)
class WhyInfo:
    """The gain over the space, the experiment it speaks for, and what would be decided after three of its outcomes.

    `relative` says that the gains of the slices, and `at_target`, that of the target in the same way, are shares of the
    largest one shown. `target` is None, and `outcomes` are none, where nothing is left to ask. `expected_loss` is that
    of today. `filling` are the numbers of trials that are waited for and were chosen to fill the space.
    """

    slices: tuple[GainSlice, ...]
    relative: bool
    at_target: float | None
    trials: ShownTrials
    expected_loss: float
    target: NextExperiment | None
    outcomes: tuple[OutcomeInfo, ...]
    filling: tuple[int, ...]


def why_info(scene: Scene, numbers: float = NUMBERS) -> WhyInfo:
    """Why the newest proposed experiment that is waited for, or the next one; `numbers` bound the work of the map.

    Gains are what an experiment adds to the pending ones.
    """
    target = scene.explained.target
    trials = shown_trials(scene)
    reference = reference_design(scene) if target is None else torch.from_numpy(target.design)
    gains = gain_map(scene, scene.explained, reference, trials.designs, numbers)
    return WhyInfo(
        slices=gains.slices,
        relative=gains.relative,
        at_target=gains.at_target,
        trials=trials,
        expected_loss=scene.found.value,
        target=target,
        outcomes=() if target is None else outcomes(scene, torch.from_numpy(target.design)),
        filling=tuple(trial.number for trial in scene.in_state(State.RUNNING) if trial.origin == "first"),
    )


def outcomes(scene: Scene, row: Tensor) -> tuple[OutcomeInfo, ...]:
    """What would be decided after a low, a middle and a high outcome at a design (d), or after each grade."""
    words, row = scene.study.outcomes.words(scene.outcome), row.to(scene.belief.X)
    if words and scene.belief.ordinal is not None:
        chances = scene.belief.ordinal.look_ahead(row.view(1, 1, -1)).chances[0].tolist()
        after = [_after(scene, row, word, float(grade)) for grade, word in enumerate(words)]
        return tuple(replace(one, value=chance, is_grade=True) for one, chance in zip(after, chances, strict=True))
    values = predict(scene.whole, scene.outcome, row[None], tuple(SHARES.values())).quantiles[:, 0]
    values = values.log() if scene.outcome in scene.whole.logs else values
    return tuple(_after(scene, row, name, value) for name, value in zip(SHARES, values.tolist(), strict=True))


@torch.no_grad()
def _after(scene: Scene, row: Tensor, name: str, value: float) -> OutcomeInfo:
    """What would be decided after a value at a design (d); other outcomes come as they are expected."""
    observed = row.new_tensor([value])
    if len(scene.whole.outcomes) > 1:
        observed = scene.whole.expected(row[None]).clone()
        observed[0, scene.whole.measured.index(scene.outcome)] = value
    belief = scene.whole.condition(row[None], observed)
    found = decided_after(scene, belief)
    order = by_relevance(scene.belief, scene.space)  # that of today: the panels need the same axes
    after = replace(scene, belief=belief.of(scene.outcome).alone(), whole=belief, found=found)
    decided = decided_info(after, DRAWS, points=POINTS, plane=PLANE, order=order)
    return OutcomeInfo(name, float(scene.within_bounds(np.array(value))), found.value, decided)


def decided_after(scene: Scene, belief: Belief) -> Entropy:
    """The best action once more is known, searched from today's too: never a worse one than staying with today's.

    Where valuing the experiment met a better action of today, that one is tried as well. What failures cost, and which
    designs may be decided on, is as today.
    """
    appraisal = scene.explained.appraisal
    belief = belief.scores if scene.decision.by_sides else belief
    search = prepare_search(appraisal.decision, belief, appraisal.decide_on)
    if not isinstance(search, ContinuousSearch | FiniteSearch | TupleSearch):  # all were tried, or the best follows
        return entropy_of(search, belief, scene.seed)
    today = scene.action.to(belief.X)
    other = torch.as_tensor(appraisal.search.best).to(today)
    best = entropy_of(search.improved_by(torch.stack([today, other])[None]), belief, scene.seed)
    if isinstance(search, FiniteSearch):  # exact: today's is no better
        return best
    with torch.no_grad():
        moments = belief.moments(search.decision.points(today), search.decision.needs)
        value = expected_loss(search.decision, moments, today, search.draws)
    return min(best, entropy_of(replace(search, best=today, value=value), belief, scene.seed), key=lambda h: h.value)


def why_picture(info: WhyInfo) -> Picture:
    """The gain with the experiment marked; below, what would be decided after its outcomes, side by side."""
    lines = [_panel(info, view, 0.0) for view in info.slices if not view.is_pair]
    pairs = [view for view in info.slices if view.is_pair]
    _, top = finite_range([view.gains for view in pairs])
    maps = [_panel(info, view, top) for view in pairs]
    apart, _ = _apart(info)
    after = [_titled(outcome, _drawn(decided_panels(outcome.decided)), apart) for outcome in info.outcomes]
    sides = tuple(_on_one_scale(panels) for panels in zip(*after, strict=False))
    table = (_outcome_table(info),) if info.outcomes else ()
    gains = [*in_rows(lines, PANELS_IN_A_ROW), *in_rows(maps, PANELS_IN_A_ROW)]
    # one panel leaves room for the table beside it
    rows = ((*gains[0], *table), *sides) if len(info.slices) == 1 else (*gains, table, *sides)
    return Picture("why", _title(info), _caption(info), rows)


def _title(info: WhyInfo) -> str:
    """What the picture is about; where nothing is asked any more, there is no experiment to explain."""
    asked = info.target is not None and not info.target.ended
    return "Why this experiment" if asked else "Where another experiment would help"


def _drawn(panels: tuple[Panel | Table, ...]) -> tuple[Panel | Table, ...]:
    """The panels; their tables only where there is nothing else."""
    return tuple(panel for panel in panels if isinstance(panel, Panel)) or panels


def _titled(outcome: OutcomeInfo, panels: tuple[Panel | Table, ...], apart: float | None) -> list[Panel | Table]:
    """Panels with the outcome they stand for in their titles; the values of the outcomes lie so far apart."""
    heading = f"{outcome.name}: {short(outcome.value, apart, least=4)}"
    if outcome.is_grade:
        heading = f"{outcome.name}, with {probable(outcome.value)} probability"
    return [replace(panel, title=heading if place == 0 else panel.title) for place, panel in enumerate(panels)]


def _on_one_scale(panels: tuple[Panel | Table, ...]) -> tuple[Panel | Table, ...]:
    """Panels side by side, to be compared: one scale for their maps of numbers, or for the height of bands and bars."""
    drawn = [panel for panel in panels if isinstance(panel, Panel)]
    maps = [mark.z for panel in drawn for mark in panel.marks if isinstance(mark, Heat) and not mark.names]
    # the height of a panel without an upper end is that of its marks
    heights = [np.array(extent(panel, replace(panel.y, low=None), "y")) for panel in drawn if panel.y.high is None]
    low, high = finite_range(maps)
    bottom, top = finite_range(heights)
    margin = 0.05 * (top - bottom)
    # bars stand on zero, which needs no room beyond it
    below = bottom if bottom == 0.0 else bottom - margin
    above = top if top == 0.0 else top + margin

    def scaled(mark: Mark) -> Mark:
        return replace(mark, low=low, high=high) if isinstance(mark, Heat) and not mark.names else mark

    def aligned(panel: Panel | Table) -> Panel | Table:
        if isinstance(panel, Table):
            return panel
        y = replace(panel.y, low=below, high=above) if heights else panel.y
        return replace(panel, y=y, marks=tuple(map(scaled, panel.marks)))

    return tuple(map(aligned, panels))


def _marked(target: NextExperiment) -> tuple[str, str]:
    """The label and the text of the experiment that is explained."""
    label = "next experiment" if target.is_next else "another experiment" if target.ended else "best by gain"
    if target.number is not None:
        label = f"trial {target.number}"
    return label, f"{label}: {target.words}"


def _measure(info: WhyInfo) -> str:
    return "gain, relative to the largest" if info.relative else "expected reduction of the loss"


def _panel(info: WhyInfo, view: GainSlice, top: float) -> Panel:
    """Gains over a slice with the experiment marked: a line, options as bars, a line for each option, or a map."""
    marks: list[Mark] = []
    if view.is_pair:
        marks += over_pair(view, view.gains, _measure(info), Role.GAIN, (min(0.0, top), max(0.0, top)))
    elif view.has_options:
        marks.append(Bars(np.arange(len(view.gains) + 1) - 0.5, view.gains, Role.GAIN, "gain"))
    else:
        marks.append(Line(view.grids[0], view.gains, Role.GAIN, "gain", dots=view.listed[0]))
    marks += trial_dots(info.trials, view, view.near & ~_explained(info), np.zeros(len(info.trials.kinds)))
    target = info.target
    if target is not None:
        label, text = _marked(target)
        places = view.places(target.fields[None])
        error = None if view.is_plane or target.exact or info.relative else np.array([target.error])
        height = np.array([info.at_target if info.relative else target.gain])
        marks.append(Dots(places[0], places[1] if view.is_plane else height, Role.PROPOSED, label, error, (text,)))
    along = f"gain {'by' if view.axes[0].names else 'along'} {view.axes[0].title}"
    return panel_over(view, "gain" if view.is_pair or not view.held else along, Axis(_measure(info)), *marks)


def _explained(info: WhyInfo) -> np.ndarray:
    """Which of the trials is the one that is explained: n."""
    number = None if info.target is None else info.target.number
    return np.array([each == number for each in info.trials.numbers], dtype=bool)


def _outcome_table(info: WhyInfo) -> Table:
    values, losses = _apart(info)
    rows = tuple((each.name, short(each.value, values), short(each.expected_loss, losses)) for each in info.outcomes)
    value = "probability" if _graded(info) else VALUE
    return Table("possible outcome", ("outcome", value, "expected loss afterwards"), rows)


def _graded(info: WhyInfo) -> bool:
    return any(each.is_grade for each in info.outcomes)


def _apart(info: WhyInfo) -> tuple[float | None, float | None]:
    """How far the values of the outcomes lie apart, and what is then expected to be lost."""
    return span([each.value for each in info.outcomes]), span([each.expected_loss for each in info.outcomes])


def _caption(info: WhyInfo) -> str:
    said = [
        f"The gain of an experiment is the expected reduction of the expected loss, which is now {_loss_now(info)}.",
        *_about_target(info),
    ]
    if "pending" in [kind for kind, out in zip(info.trials.kinds, _explained(info), strict=True) if not out]:
        said.append("Gains are what an experiment adds to the pending ones.")
    if info.relative:
        said.append(
            "Elsewhere only a rough estimate of the gain is available: colours and curves are relative to the largest"
            " gain."
        )
    if any(view.held for view in info.slices):
        said.append("Each panel varies one or two parameters and fixes the others at their values in this experiment.")
    if any(np.isnan(view.gains).any() for view in info.slices):
        said.append("Infeasible regions are left blank.")
    if _graded(info):
        said.append(
            "Side by side: what would be decided after each outcome. Where the decisions differ, the experiment"
            " matters."
        )
    elif info.outcomes:
        said.append(
            "Side by side: what would be decided if it gave a low, a middle or a high value (one outcome in ten is"
            " lower than the low one, one in ten higher than the high one). Where the decisions differ, the experiment"
            " matters."
        )
    return " ".join(said)


def _loss_now(info: WhyInfo) -> str:
    """The expected loss with the digits that the gain can change, and no more than a person reads."""
    gain = 0.0 if info.target is None else abs(info.target.gain)
    return known(info.expected_loss, max(gain, MIN_CHANGE * abs(info.expected_loss)))


def _about_target(info: WhyInfo) -> list[str]:
    """What is said of the experiment that is explained."""
    target = info.target
    if target is None:
        return ["No experiments left."]
    said = []
    amount = gain_words(target)
    if target.number is not None:
        said.append(f"Trial {target.number} ({target.words}) has a gain of {amount}.")
    elif target.ended:
        said.append(f"The study has ended; another experiment ({target.words}) would have a gain of {amount}.")
    elif target.is_next:
        said.append(f"The next experiment ({target.words}) has a gain of {amount}.")
    else:
        said.append(f"{filling_words(target)}; by gain it would be {target.words}, with a gain of {amount}.")
    if info.filling:
        numbers = ", ".join(map(str, info.filling))
        many = len(info.filling) > 1
        said.append(
            f"Pending {'trials' if many else 'trial'} {numbers} {'were' if many else 'was'} chosen to fill the space,"
            " not by gain."
        )
    if target.weighed:
        said.append(f"It was weighed against {target.weighed} as well, so it need not have the largest gain.")
    return said
