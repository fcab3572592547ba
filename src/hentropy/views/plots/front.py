"""A front of designs that trade off two outcomes: what each is expected to reach, what was measured, the reference.

k  designs of the front        n  trials in which both outcomes are known
"""

from dataclasses import dataclass

import numpy as np

from hentropy.core.decisions import Pareto
from hentropy.core.decisions.headlines import Quantity
from hentropy.studies.records import State
from hentropy.studies.records.numbers import short
from hentropy.views.plots.chosen import ChosenInfo, chosen_picture
from hentropy.views.plots.marks import Axis, Dots, Line, Panel, Picture, Role, Rule, Table
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.shown_fields import cell
from hentropy.views.plots.terrain import bars_to, intervals, mean_and_sd

WIDTH = 2.0 * 1.96
"""A 95 % interval has this many standard deviations."""


@dataclass(frozen=True)
class FrontInfo:
    """The designs of the front by both outcomes, in units (k x 2), between `low` and `high` (k x 2) with 95 %.

    `measured` (n x 2) are trials with their `numbers`, `reference` (2) is where the volume is counted from. `ways` says
    which way each outcome counts. `designs` is where the front lies in the space.
    """

    titles: tuple[str, str]
    ways: tuple[str, str]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    labels: tuple[str, ...]
    measured: np.ndarray
    numbers: tuple[int, ...]
    reference: np.ndarray
    designs: ChosenInfo


def is_front(scene: Scene) -> bool:
    """Whether the decision is a front that can be drawn on paper."""
    return isinstance(scene.decision, Pareto) and len(scene.decision.outcomes) == 2


def front_info(scene: Scene, designs: ChosenInfo) -> FrontInfo:
    """The front of a decision about two outcomes; `designs` are the chosen ones."""
    decision, outcomes = scene.decision, scene.study.outcomes
    assert isinstance(decision, Pareto)
    names = decision.outcomes
    chosen, columns = scene.action.to(scene.belief.X), []
    for name in names:
        belief = scene.whole.of(name).alone()
        quantiles = intervals(belief, chosen)
        rows = scene.within_bounds(np.stack([mean_and_sd(belief, chosen)[0], quantiles[0], quantiles[-1]]), name)
        columns.append(np.exp(rows) if outcomes.is_log(name) else rows)
    values, low, high = np.stack(columns, -1)  # k x 2 each
    origin = decision.origin.tolist()
    shown = {trial.number: outcomes.shown(trial) for trial in scene.in_state(State.COMPLETE)}
    both = {n: [one.value for name in names if (one := told[name]) is not None] for n, told in shown.items()}
    numbers = tuple(n for n, told in both.items() if len(told) == 2)
    return FrontInfo(
        titles=(outcomes.titles[names[0]], outcomes.titles[names[1]]),
        ways=(decision.ways[names[0]], decision.ways[names[1]]),
        values=values,
        low=low,
        high=high,
        labels=designs.labels,
        measured=np.array([both[n] for n in numbers], dtype=float).reshape(-1, 2),
        numbers=numbers,
        reference=np.array([np.exp(x) if outcomes.is_log(n) else x for n, x in zip(names, origin, strict=True)]),
        designs=designs,
    )


def front_panels(info: FrontInfo) -> tuple[Panel | Table, ...]:
    """One panel: the front in the plane of both outcomes."""
    x, y = info.values.T
    across, up = _whiskers(info)
    step = _steps(info)
    marks = (
        Line(step[:, 0], step[:, 1], Role.DECIDED, "the front that is expected"),
        Line(across, up, Role.UNCERTAINTY, "95 % interval"),
        Dots(info.measured[:, 0], info.measured[:, 1], Role.DATA, "measured", texts=_texts(info)),
        Dots(x, y, Role.DECIDED, "decision", error=bars_to(y, info.low[:, 1], info.high[:, 1]), texts=info.labels),
        Rule(float(info.reference[0]), "x", Role.LIMIT, "reference"),
        Rule(float(info.reference[1]), "y", Role.LIMIT, "reference"),
    )
    return (Panel("the front", Axis(info.titles[0]), Axis(info.titles[1]), marks),)


def _texts(info: FrontInfo) -> tuple[str, ...]:
    rows = zip(info.numbers, info.measured.tolist(), strict=True)
    return tuple(f"trial {number}: {' and '.join(short(value) for value in values)}" for number, values in rows)


def _whiskers(info: FrontInfo) -> tuple[np.ndarray, np.ndarray]:
    """The intervals of the first outcome as one broken line: 3 k each."""
    ends = np.stack([info.low[:, 0], info.high[:, 0], np.full(len(info.low), np.nan)], -1)
    return ends.ravel(), np.repeat(info.values[:, 1], 3)


def _steps(info: FrontInfo) -> np.ndarray:
    """The border of what the front dominates, from the reference to the reference: m x 2."""
    signs = np.array([1.0 if way == "max" else -1.0 for way in info.ways])
    better = signs * (info.values - info.reference)
    better = better[(better > 0).all(-1)]
    better = better[np.lexsort((-better[:, 1], -better[:, 0]))]  # the first outcome falls, and the second has to rise
    border, height = [], 0.0
    for first, second in better:
        if second > height:
            border += [(first, height), (first, second)]
            height = second
    border += [(0.0, height)] if border else []
    return signs * np.array(border, dtype=float).reshape(-1, 2) + info.reference


def front_picture(info: FrontInfo) -> Picture:
    """The front, and below it where its designs lie in the space."""
    below = chosen_picture(info.designs)
    ways = " and ".join(
        f"{'high' if way == 'max' else 'low'} {title}" for way, title in zip(info.ways, info.titles, strict=True)
    )
    said = (
        f"Stars are the {len(info.values)} designs that would be chosen now to trade off {ways}: at what is expected of"
        " them, with bars that hold 95 % of what their outcomes may be. The line bounds what they dominate; the volume"
        " between it and the reference (dashed) is what counts. Below, where they lie."
    )
    rows = (front_panels(info), *below.rows[:-1], (_table(info),))
    return Picture("decided", below.title, f"{said} {below.caption}", rows)


def _table(info: FrontInfo) -> Table:
    """The designs with what is expected of both outcomes, and how sure that is."""
    axes = info.designs.parameters
    known = zip(info.values, (info.high - info.low) / WIDTH, strict=True)
    rows = [
        (label, *(cell(axis, value) for axis, value in zip(axes, design, strict=True)), *map(_with_error, mean, sd))
        for label, design, (mean, sd) in zip(info.labels, info.designs.chosen.tolist(), known, strict=True)
    ]
    return Table("the front", ("", *(axis.title for axis in axes), *info.titles), tuple(rows))


def _with_error(mean: float, sd: float) -> str:
    return Quantity().amount(float(mean), float(sd))
