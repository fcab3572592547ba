"""Is another experiment worth it: what each was expected to save when it was chosen, against the stopping rules."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hentropy.plots.marks import Axis, Dots, Line, Mark, Panel, Picture, Role, Rule
from hentropy.plots.scene import Scene
from hentropy.records import State, Trial
from hentropy.stopping import Budget, GainBelow, GainBelowCost

DECADES = 100.0
"""Gains whose ratio is greater than this are drawn on a logarithmic scale."""


@dataclass(frozen=True)
class WorthInfo:
    """The gains (n) of the queries in the order they were chosen, with their errors (n).

    `places` (n) count experiments, those before it and the query itself, earlier data and withdrawn ones left out;
    `waiting` (n) are the queries whose outcome is still to come. `ended` is how many experiments the budget counts.
    A rule that the study does not have is None.
    """

    places: np.ndarray
    gains: np.ndarray
    errors: np.ndarray
    waiting: np.ndarray
    ended: int
    threshold: float | None
    patience: int
    cost: float | None
    budget: int | None

    @property
    def left(self) -> int | None:
        """How many experiments of the budget are left."""
        return None if self.budget is None else max(0, self.budget - self.ended)


def worth_info(scene: Scene) -> WorthInfo:
    """The gains of the queries and the rules of the study; of several rules of a kind the first to stop it."""
    asked = [trial for trial in scene.trials if trial.gain is not None]
    below = [rule for rule in scene.stop if isinstance(rule, GainBelow)]
    first = max(below, key=lambda rule: rule.threshold, default=None)
    costs = [rule.cost for rule in scene.stop if isinstance(rule, GainBelowCost)]
    budgets = [rule.trials for rule in scene.stop if isinstance(rule, Budget)]
    return WorthInfo(
        places=np.array([_place(scene, trial) for trial in asked], dtype=float),
        gains=np.array([trial.gain for trial in asked], dtype=float),
        errors=np.array([trial.gain_error or 0.0 for trial in asked], dtype=float),
        waiting=np.array([trial.state is State.RUNNING for trial in asked], dtype=bool),
        ended=sum(trial.origin != "attached" for trial in scene.in_state(State.COMPLETE, State.FAILED)),
        threshold=None if first is None else first.threshold,
        patience=1 if first is None else first.patience,
        cost=max(costs, default=None),
        budget=min(budgets, default=None),
    )


def _place(scene: Scene, trial: Trial) -> int:
    """Which experiment it is, or would have been."""
    before = [other for other in scene.trials if other.number < trial.number]
    return 1 + sum(other.origin != "attached" and other.state is not State.WITHDRAWN for other in before)


def worth_picture(info: WorthInfo) -> Picture:
    """Gains with their errors, and the rules."""
    marks: list[Mark] = []
    if len(info.gains):
        marks.append(Line(info.places, info.gains, Role.GAIN))
        for role, own, label in (
            (Role.GAIN, ~info.waiting, "expected to save, when chosen"),
            (Role.PENDING, info.waiting, "not told yet"),
        ):
            if own.any():
                marks.append(Dots(info.places[own], info.gains[own], role, label, error=info.errors[own]))
    if info.threshold is not None:
        marks.append(Rule(info.threshold, "y", Role.LIMIT, f"stop below {info.threshold:.4g}"))
    if info.cost is not None:
        marks.append(Rule(info.cost, "y", Role.LIMIT, f"what an experiment costs: {info.cost:.4g}"))
    if info.budget is not None:
        marks.append(Rule(float(info.budget), "x", Role.LIMIT, f"the budget of {info.budget} ({info.left} left)"))
    levels = [level for level in (info.threshold, info.cost) if level is not None]
    log = spans_decades(info.gains, levels)
    vertical = Axis("expected to save (gain)", low=None if log else 0.0, log=log)
    across = Axis("experiment", low=0.0, whole=True)
    panel = Panel("what each experiment was worth when it was chosen", across, vertical, tuple(marks))
    return Picture("worth", "Is another experiment worth it?", sentence(info), ((panel,),))


def spans_decades(gains: np.ndarray, levels: Sequence[float] = ()) -> bool:
    """Whether gains, and levels they are compared with, span so much that a logarithmic scale shows them better."""
    values = np.concatenate([gains, levels])
    return bool(len(gains) and values.min() > 0 and values.max() > DECADES * values.min())


def sentence(info: WorthInfo) -> str:
    """Whether another experiment is worth it, in plain words."""
    if not len(info.gains):
        first = "No experiment has been chosen by what it is expected to save yet: the first ones fill the space."
        return first + _budget(info)
    gain = float(info.gains[-1])
    last = f"The last experiment was expected to save {gain:.3g}"
    said = []
    if info.cost is not None:
        than, so = ("more", "") if gain >= info.cost else ("less", "not ")
        said.append(f"{last}, {than} than it costs ({info.cost:.4g}): another one is {so}worth it.")
    if info.threshold is not None:
        said.append(_against_threshold(info, "That is" if said else f"{last},", info.threshold))
    if not said:
        said.append(f"{last}. No rule says how much is enough: another one is worth it if it costs you less than that.")
    return " ".join(said) + _budget(info)


def _against_threshold(info: WorthInfo, last: str, threshold: float) -> str:
    if info.gains[-1] >= threshold:
        return f"{last} not below the threshold of {threshold:.4g}: another one is worth it."
    enough = np.flatnonzero(info.gains >= threshold)
    times = len(info.gains) - (int(enough[-1]) + 1 if len(enough) else 0)
    if times >= info.patience:
        again = f" {times} times in a row" if info.patience > 1 else ""
        return f"{last} below the threshold of {threshold:.4g}{again}: another one is not worth it."
    return (
        f"{last} below the threshold of {threshold:.4g}, which has to happen {info.patience} times in a row and has"
        f" {times}: go on."
    )


def _budget(info: WorthInfo) -> str:
    if info.budget is None:
        return ""
    if not info.left:
        return f" The budget of {info.budget} experiments is used up."
    return f" Of the budget of {info.budget} experiments {info.left} {'is' if info.left == 1 else 'are'} left."
