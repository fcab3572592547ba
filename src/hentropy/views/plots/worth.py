"""Is another experiment worth it: what each was expected to save when it was chosen, the next one, and the rules."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hentropy.studies.records import State, Trial
from hentropy.studies.records.numbers import counted, short
from hentropy.studies.stopping import Budget, GainBelow, GainBelowCost, StoppingRule
from hentropy.studies.study.rules import reason_to_stop
from hentropy.views.plots.marks import Axis, Dots, Line, Mark, Panel, Picture, Role, Rule
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.target import NextExperiment, filling_words, gain_words

DECADES = 100.0
"""Gains whose ratio is greater than this are drawn on a logarithmic scale."""

COUNTED = (State.COMPLETE, State.FAILED, State.RUNNING)
"""An experiment that was withdrawn counts for nothing."""


@dataclass(frozen=True)
class DrawnRule:
    """A stopping rule as a line: at which number of experiments ("x") or which gain ("y"), and its words."""

    axis: str
    at: float
    words: str


@dataclass(frozen=True)
class WorthInfo:
    """The gains (n) of the queries in the order they were chosen, with their errors (n).

    `places` (n) count experiments, those before it and the query itself, earlier data and withdrawn ones left out;
    `waiting` (n) are the queries whose outcome is still to come. `target` is the experiment waited for, or the next
    one, with its gain as of now, and `target_place` which experiment it is. `stopped` is why the study
    should stop now, and `stops` why it should once the gain of the target counts. `left` are the experiments of the
    budget that are left, None where there is none.
    """

    places: np.ndarray
    gains: np.ndarray
    errors: np.ndarray
    waiting: np.ndarray
    target: NextExperiment | None
    target_place: int
    rules: tuple[DrawnRule, ...]
    judged: bool
    stopped: str | None
    stops: str | None
    left: int | None


def worth_info(scene: Scene) -> WorthInfo:
    """The gains of the queries and of the next one, the rules of the study, and what they say."""
    asked = [trial for trial in scene.in_state(*COUNTED) if trial.gain is not None]
    target = scene.explained.target
    ended = sum(trial.origin != "attached" for trial in scene.in_state(State.COMPLETE, State.FAILED))
    budgets = [rule.trials for rule in scene.stop if isinstance(rule, Budget) and rule.trials is not None]
    number = len(scene.trials) if target is None or target.number is None else target.number
    return WorthInfo(
        places=np.array([_place(scene, trial.number) for trial in asked], dtype=float),
        gains=np.array([trial.gain for trial in asked], dtype=float),
        errors=np.array([trial.gain_error or 0.0 for trial in asked], dtype=float),
        waiting=np.array([trial.state is State.RUNNING for trial in asked], dtype=bool),
        target=target,
        target_place=_place(scene, number),
        rules=tuple(drawn for rule in scene.stop if (drawn := _drawn(rule)) is not None),
        judged=any(isinstance(rule, GainBelow | GainBelowCost) for rule in scene.stop),
        stopped=scene.study.stopped,
        stops=_stops(scene, target),
        left=max(0, min(budgets) - ended) if budgets else None,
    )


def _place(scene: Scene, number: int) -> int:
    """Which experiment the trial of a number is."""
    before = [other for other in scene.in_state(*COUNTED) if other.number < number]
    return 1 + sum(other.origin != "attached" for other in before)


def _drawn(rule: StoppingRule) -> DrawnRule | None:
    if isinstance(rule, GainBelow):
        times = f" {rule.patience} times in a row" if rule.patience > 1 else ""
        return DrawnRule("y", rule.threshold, f"stop below {short(rule.threshold)}{times}")
    if isinstance(rule, GainBelowCost) and rule.cost is not None:
        return DrawnRule("y", rule.cost, f"what an experiment costs: {short(rule.cost)}")
    if isinstance(rule, Budget) and rule.trials is not None:
        return DrawnRule("x", float(rule.trials), f"the budget of {rule.trials}")
    return None


def _stops(scene: Scene, target: NextExperiment | None) -> str | None:
    """Why the study would stop if the target had been chosen today; designs that fill the space have no gain."""
    if target is None or (target.number is None and not target.is_next):
        return None
    if target.number is None:
        trials = [*scene.trials, Trial(len(scene.trials), {}, gain=target.gain)]
    else:
        trials = [
            replace(trial, gain=target.gain) if trial.number == target.number else trial for trial in scene.trials
        ]
    # the time that has passed is judged where the study itself is
    return reason_to_stop(scene.stop, trials, seconds=0.0)


def worth_picture(info: WorthInfo) -> Picture:
    """Gains with their errors, that of the next one, and the rules."""
    marks: list[Mark] = []
    if len(info.gains):
        marks.append(Line(info.places, info.gains, Role.GAIN))
        for role, own, label in (
            (Role.GAIN, ~info.waiting, "expected to save, when chosen"),
            (Role.PENDING, info.waiting, "expected to save, when chosen; not told yet"),
        ):
            if own.any():
                marks.append(Dots(info.places[own], info.gains[own], role, label, error=info.errors[own]))
    if info.target is not None:
        place, gain, error = (np.array([each]) for each in (info.target_place, info.target.gain, info.target.error))
        marks.append(Dots(place.astype(float), gain, Role.PROPOSED, _label(info.target), error=error))
    for rule in info.rules:
        left = f" ({info.left} left)" if rule.axis == "x" else ""
        marks.append(Rule(rule.at, rule.axis, Role.LIMIT, rule.words + left))
    gains = np.append(info.gains, [] if info.target is None else [info.target.gain])
    levels = [rule.at for rule in info.rules if rule.axis == "y"]
    axes = Axis("experiment", low=0.0, whole=True), gain_axis("expected to save (gain)", gains, levels)
    panel = Panel("what each experiment was worth when it was chosen", *axes, tuple(marks))
    return Picture("worth", "Is another experiment worth it?", sentence(info), ((panel,),))


def _label(target: NextExperiment) -> str:
    if target.number is not None:
        return f"trial {target.number}, as of now"
    return "another one" if target.ended else "the next one" if target.is_next else "best by gain, not asked yet"


def gain_axis(title: str, gains: np.ndarray, levels: Sequence[float] = ()) -> Axis:
    """The axis of gains and of levels they are compared with: logarithmic where they span much, else from zero.

    An estimate may be a little below zero: it is shown there.
    """
    values = np.concatenate([gains, levels])
    if len(gains) and values.min() > 0 and values.max() > DECADES * values.min():
        return Axis(title, log=True)
    return Axis(title, low=float(np.nanmin(values, initial=0.0)))


def sentence(info: WorthInfo) -> str:
    """Whether another experiment is worth it, in plain words."""
    said = [_of_target(info)] if info.target is not None else []
    if info.stopped is not None:
        said.append(f"A stopping rule is met: {info.stopped}.")
    elif info.target is None:
        said.append("No experiments left.")
    elif info.stops is not None:
        said.append(f"By the stopping rules, another experiment is not worth it: {info.stops}.")
    elif info.judged and (info.target.number is not None or info.target.is_next):
        low = any(rule.axis == "y" and info.target.gain < rule.at for rule in info.rules)
        said.append(
            "That is low, but not yet for as many experiments in a row as the stopping rule asks for: continue."
            if low
            else "By the stopping rules, another experiment is worth it."
        )
    elif not info.judged:
        said.append(
            "No stopping rule on the gain is set: another experiment is worth it if it costs you less than that."
        )
    if info.left and info.stopped is None:
        is_left = "is" if info.left == 1 else "are"
        said.append(f"{counted(info.left, 'experiment')} of the budget {is_left} left.")
    return " ".join(said)


def _of_target(info: WorthInfo) -> str:
    """What the experiment waited for, or the next one, is expected to save as of now."""
    target = info.target
    assert target is not None
    saves = f"expected to save {gain_words(target)}"
    if target.number is not None:
        return f"Pending trial {target.number} is {saves}, as of now."
    if target.ended:
        return f"Another experiment would be {saves}."
    if target.is_next:
        return f"The next experiment is {saves}."
    return f"{filling_words(target)}; the best by gain would be {saves}."
