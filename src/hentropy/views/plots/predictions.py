"""What was predicted before each result came, against the result, in the order of the trials.

n  trials with a result        p  those of them that the model had chosen and predicted
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from hentropy.studies.records import judged
from hentropy.studies.records.numbers import counted, short, span
from hentropy.studies.study.rules import record_sentence
from hentropy.views.plots.marks import VALUE, Axis, Dots, Line, OutcomeTitle, Panel, Picture, Role
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.slice_marks import LABELS, ROLES, bars_to, shown_trials

UNPREDICTED = ("first", "attached")
"""Trials that the model did not choose."""

LABELS_BY_INTERVAL = "result inside its 90 % interval", "result outside"


@dataclass(frozen=True)
class RecordInfo:
    """Results that nobody predicted (kinds and values by number), and p predictions, as the outcome is modelled.

    `expected` (p) and the 90 % interval (`low` and `high`, p each) were stated before `observed` (p) came. `errors` (p)
    are in stated standard deviations, `quantiles` (p) the stated probabilities of smaller results, `inside` (p) says
    whether the interval holds the result.
    """

    other_numbers: tuple[int, ...]
    other_kinds: tuple[str, ...]
    other_values: np.ndarray
    numbers: tuple[int, ...]
    expected: np.ndarray
    low: np.ndarray
    high: np.ndarray
    observed: np.ndarray
    errors: np.ndarray
    quantiles: np.ndarray
    inside: np.ndarray
    said: str


def record_info(scene: Scene) -> RecordInfo:
    """The record of the outcome that pictures show."""
    name = scene.outcome
    found = judged(scene.trials, name)
    own = np.log if scene.study.outcomes.is_log(name) else np.asarray
    predicted = {one.number for one in found}
    shown = shown_trials(scene)
    others = [
        (number, kind if kind in UNPREDICTED else "proposed", value)
        for number, kind, value in zip(shown.numbers, shown.kinds, shown.values, strict=True)
        if np.isfinite(value) and number not in predicted
    ]
    stated = [(one.prediction.centre, *one.prediction.interval) for one in found]
    expected, low, high = scene.within_bounds(own(np.array(stated, dtype=float).reshape(-1, 3))).T
    return RecordInfo(
        other_numbers=tuple(number for number, _, _ in others),
        other_kinds=tuple(kind for _, kind, _ in others),
        other_values=np.array([value for _, _, value in others], dtype=float),
        numbers=tuple(one.number for one in found),
        expected=expected,
        low=low,
        high=high,
        observed=own(np.array([one.value for one in found], dtype=float)),
        errors=np.array([one.error for one in found], dtype=float),
        quantiles=np.array([one.quantile for one in found], dtype=float),
        inside=np.array([one.inside for one in found], dtype=bool),
        said=record_sentence(found),
    )


def record_picture(info: RecordInfo) -> Picture:
    """Intervals and results over the trials; once there are some, predicted against observed."""
    panels = [_over_time(info)] + ([_against(info)] if len(info.numbers) else [])
    return Picture("predictions", "Predictions and results", _caption(info), (tuple(panels),))


def dots_by_interval(
    x: np.ndarray,
    y: np.ndarray,
    inside: np.ndarray,
    labels: tuple[str, str],
    error: np.ndarray | None = None,
    texts: Sequence[str] = (),
) -> list[Dots]:
    """Points (n) whose result lies inside its interval, and those outside; the bars of all are 2 x n."""
    return [
        Dots(x[own], y[own], role, label, None if error is None else error[:, own], tuple(compress(texts, own)))
        for own, role, label in zip((inside, ~inside), (Role.DATA, Role.FAILED), labels, strict=True)
        if own.any()
    ]


def predicted_against_observed(
    title: str, ends: np.ndarray, dots: Sequence[Dots], predicted: tuple[float | None, float | None] = (None, None)
) -> Panel:
    """Predictions over what was observed, between two ends; on the diagonal a prediction was right."""
    return Panel(
        title,
        Axis(OutcomeTitle("observed", "observed {}"), *ends.tolist()),
        Axis(OutcomeTitle("predicted", "predicted {}"), *predicted),
        (Line(ends, ends, Role.LIMIT, "predicted = observed", dashed=True), *dots),
    )


def _texts(info: RecordInfo) -> tuple[str, ...]:
    spread = span([*info.observed.tolist(), *info.low.tolist(), *info.high.tolist()])
    columns = (
        [short(x, spread) for x in each.tolist()] for each in (info.observed, info.expected, info.low, info.high)
    )
    return tuple(
        f"trial {number}: {value}, predicted {mean} ({low} to {high})"
        for number, value, mean, low, high in zip(info.numbers, *columns, strict=True)
    )


def _over_time(info: RecordInfo) -> Panel:
    at, texts = np.array(info.numbers, dtype=float), _texts(info)
    marks: list[Line | Dots] = []
    for kind in dict.fromkeys(info.other_kinds):
        own = np.array([each == kind for each in info.other_kinds], dtype=bool)
        places = np.array(info.other_numbers, dtype=float)[own]
        marks.append(Dots(places, info.other_values[own], ROLES[kind], LABELS[kind]))
    if len(at):
        bars = bars_to(info.expected, info.low, info.high)
        marks.append(Dots(at, info.expected, Role.MEAN, "predicted, with its 90 % interval", error=bars))
    marks += dots_by_interval(at, info.observed, info.inside, LABELS_BY_INTERVAL, texts=texts)
    return Panel("what was predicted before each result came", Axis("trial", whole=True), Axis(VALUE), tuple(marks))


def _against(info: RecordInfo) -> Panel:
    middle = np.concatenate([info.observed, info.expected])
    margin = 0.05 * float(np.ptp(middle)) or 0.5
    ends = np.array([middle.min() - margin, middle.max() + margin])
    bars = bars_to(info.expected, info.low, info.high)
    dots = dots_by_interval(info.observed, info.expected, info.inside, LABELS_BY_INTERVAL, bars, _texts(info))
    return predicted_against_observed("predicted against observed", ends, dots)


def _caption(info: RecordInfo) -> str:
    count = len(info.numbers)
    if not count:
        return (
            "No result of an experiment that the model chose is there yet, so its predictions cannot be judged. First"
            " designs and earlier measurements are shown without predictions."
        )
    said = (
        "For each experiment that the model chose, what it predicted before the result came (the bar is the 90 %"
        f" interval, the noise of a measurement included), and the result: {int(info.inside.sum())} of"
        f" {counted(count, 'result')} inside."
    )
    return f"{said} {info.said or 'With so few the model cannot be judged yet.'}"
