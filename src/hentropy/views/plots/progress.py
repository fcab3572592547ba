"""Progress: the expected loss against the number of observations, and what each query was expected to gain.

The expected loss is that of verdicts as they were recorded, and of proposals as they were made. How many observations a
proposal stood on is counted by the clock of the store: those first told before it was asked. (What was told by others
while it was being computed is counted too. Where a study was rebuilt from its records alone the times are gone, and all
trials with smaller numbers count as told before it.) Where several were found on as many observations, the lowest is
shown: the others are of less good actions. After all observations, it is what would be decided now.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hentropy.core.decisions.headlines import known
from hentropy.studies.records import State
from hentropy.studies.records.numbers import counted, span
from hentropy.studies.study.rules import in_words_of
from hentropy.views.plots.loss import loss_draws
from hentropy.views.plots.marks import IN_WORDS, Axis, Band, Dots, Line, Mark, Panel, Picture, Role, Table
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.worth import gain_axis

FUNCTION_DRAWS = 500

NINETY = 3.29
"""How many standard deviations of a normal distribution lie between its 5 and 95 % quantiles."""


@dataclass(frozen=True)
class ProgressInfo:
    """Expected losses (n) at counts of observations (n, rising), with their Monte Carlo errors (n; 0 if not known).

    `now` is the last count, `low` and `high` are the 5 and 95 % quantiles of the loss of the current recommendation.
    `gains` (q) with `gain_errors` (q) are those of the queries, at the counts they stood on (`gain_counts`, q).
    """

    counts: np.ndarray
    expected: np.ndarray
    errors: np.ndarray
    now: int
    low: float
    high: float
    gain_counts: np.ndarray
    gains: np.ndarray
    gain_errors: np.ndarray
    better: str = field(default="", metadata=IN_WORDS)
    """By how much the decision is expected to be better now than at first, in its words; nothing if it is not."""


def progress_info(scene: Scene, draws: int = FUNCTION_DRAWS) -> ProgressInfo:
    """The course of the study up to now."""
    told = known_when_asked(scene)
    found: dict[int, list[tuple[float, float]]] = {}
    for trial in scene.trials:
        if trial.entropy is not None:
            found.setdefault(told[trial.number], []).append((trial.entropy, 0.0))
    for stored in scene.verdicts:  # these know their error
        verdict = stored.verdict
        found.setdefault(verdict.observations, []).append((verdict.expected_loss, verdict.std_error))
    points = {count: min(each) for count, each in found.items()}
    now = len(scene.in_state(State.COMPLETE))
    points[now] = (scene.found.value, scene.found.std_error)
    counts = sorted(points)
    losses = np.sort(loss_draws(scene, draws))
    asked = [trial for trial in scene.trials if trial.gain is not None]
    study, fallen = scene.study, points[counts[0]][0] - points[now][0]
    return ProgressInfo(
        counts=np.array(counts, dtype=float),
        expected=np.array([points[count][0] for count in counts]),
        errors=np.array([points[count][1] for count in counts]),
        now=now,
        low=float(losses[int(0.05 * (len(losses) - 1))]),
        high=float(losses[int(0.95 * (len(losses) - 1))]),
        gain_counts=np.array([told[trial.number] for trial in asked], dtype=float),
        gains=np.array([trial.gain for trial in asked], dtype=float),
        gain_errors=np.array([trial.gain_error or 0.0 for trial in asked], dtype=float),
        better=in_words_of(study.decision, study.outcomes.about(study.decided), fallen, 0.0) if fallen > 0 else "",
    )


def known_when_asked(scene: Scene) -> Mapping[int, int]:
    """How many observations each trial's proposal stood on, by its number."""
    log = scene.study.log
    # when each trial was first told a value; corrections come later and change nothing here
    told: dict[int, float] = {}
    for seen in scene.study.store.observations(log.record):
        # a trial that somebody else asked and told just now is not in the log yet
        if seen.state is State.COMPLETE and seen.number in log.entries:
            ended = log.entries[seen.number].ended_at  # of data that came with their values, when they came
            told.setdefault(seen.number, seen.at if ended is None else min(seen.at, ended))
    return {
        trial.number: sum(n < trial.number and at <= log.entries[trial.number].asked_at for n, at in told.items())
        for trial in scene.trials
    }


def progress_picture(info: ProgressInfo) -> Picture:
    """The expected loss above, the gains below."""
    observations = Axis("observations", low=0.0, whole=True)
    marks: list[Mark] = []
    if np.isfinite(info.low) and np.isfinite(info.high):
        ends = np.array([info.now - 0.3, info.now + 0.3])
        label = "5 to 95 % of the loss, now"
        marks.append(Band(ends, np.full(2, info.low), np.full(2, info.high), Role.UNCERTAINTY, label))
    marks.append(Line(info.counts, info.expected, Role.LOSS, "expected loss"))
    marks.append(Dots(info.counts, info.expected, Role.LOSS, "", error=info.errors))
    panels: list[Panel | Table] = [Panel("expected loss of the decision", observations, Axis("loss"), tuple(marks))]
    if len(info.gains):
        gains = Dots(info.gain_counts, info.gains, Role.GAIN, "gain of a query", error=info.gain_errors)
        panels.append(Panel("expected gain of each query", observations, gain_axis("gain", info.gains), (gains,)))
    return Picture("progress", "Progress", _caption(info), (tuple(panels),))


def _caption(info: ProgressInfo) -> str:
    first, last = float(info.expected[0]), float(info.expected[-1])
    # what changed matters; of a single loss, how far it may be off
    spread = max(span(info.expected.tolist()) or 0.0, float(info.errors.max()))
    if spread == 0.0 and np.isfinite(info.low) and np.isfinite(info.high):
        spread = (info.high - info.low) / NINETY
    said = f"After {counted(info.now, 'observation')} the expected loss of the decision is {known(last, spread)}"
    if len(info.counts) > 1:
        said += f"; after {int(info.counts[0])} it was {known(first, spread)}"
        said += f", so that it is better by {info.better}" if info.better else ""
    more = ["A lower loss is better."]
    if np.isfinite(info.low) and np.isfinite(info.high):
        more.append("The interval of the loss is known only for the current decision.")
    if info.errors.any() or info.gain_errors.any():
        more.append("Bars are the Monte Carlo error of the computation, where it is known.")
    return f"{said}. {' '.join(more)}"
