"""Trials as pictures show them: where they lie, what came of them, and the dots that stand for them."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hentropy.core.beliefs import Gaussian, Graded, Transformed
from hentropy.studies.records import Measurement, State, Trial
from hentropy.studies.records.numbers import short, span
from hentropy.views.plots.by_option import beside, option_places, within
from hentropy.views.plots.marks import Dots, Role
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.shown_fields import can_run, design_id, seen, varying
from hentropy.views.plots.views import Slice, SliceFrame

KINDS = ("first", "proposed", "attached", "failed", "pending")
"""What a trial is to a picture; one that was withdrawn is not shown."""

ROLES = {
    "first": Role.FIRST,
    "proposed": Role.DATA,
    "attached": Role.ATTACHED,
    "failed": Role.FAILED,
    "pending": Role.PENDING,
}

LABELS = {
    "first": "measured: first designs",
    "proposed": "measured: proposed",
    "attached": "earlier measurements",
    "failed": "failed",
    "pending": "pending",
}

NEAR = 0.9
"""A trial is near a slice where the model correlates the values at the trial and at its place on the slice so much."""


@dataclass(frozen=True)
class ShownTrials:
    """n trials: numbers, designs (n x d), kinds, values and standard errors (n; NaN where there are none).

    `ids` are those of a pool's designs, or empty; `fields` (n x F) are the designs as they stand along axes, `expected`
    (n) is what is expected of the function there now.
    """

    numbers: tuple[int, ...]
    ids: tuple[str, ...]
    designs: np.ndarray
    fields: np.ndarray
    kinds: tuple[str, ...]
    values: np.ndarray
    errors: np.ndarray
    expected: np.ndarray

    def of_kind(self, kind: str) -> np.ndarray:
        """Which trials are of a kind: n."""
        return np.array([each == kind for each in self.kinds], dtype=bool)

    def texts(self, which: np.ndarray) -> tuple[str, ...]:
        """What is said of some of the trials (n, true for these)."""
        return tuple(self._text(int(index)) for index in np.flatnonzero(which))

    def _text(self, index: int) -> str:
        value, error = self.values[index], self.errors[index]
        name = f"trial {self.numbers[index]}" + (f" ({self.ids[index]})" if self.ids[index] else "")
        if not np.isfinite(value):
            return f"{name}, {LABELS[self.kinds[index]]}"
        return f"{name}: {short(value, span(self.values.tolist()))}" + (f" ± {error:.2g}" if np.isfinite(error) else "")


def _kind(trial: Trial) -> str:
    if trial.state is State.FAILED:
        return "failed"
    if trial.state is State.RUNNING:
        return "pending"
    return trial.origin if trial.origin in KINDS else "attached"


@torch.no_grad()
def shown_trials(scene: Scene) -> ShownTrials:
    """All trials but those that were withdrawn, and those in which other outcomes alone were measured."""
    ended = scene.in_state(State.COMPLETE, State.FAILED, State.RUNNING)
    trials = [t for t in ended if t.state is not State.COMPLETE or scene.outcome in t.measurements]
    told = [scene.study.outcomes.modelled(scene.outcome, trial) for trial in trials]
    if grades := scene.study.outcomes.grades(scene.outcome):
        told = [None if one is None else Measurement(float(one.value >= grades[1])) for one in told]
    rows = scene.rows(trials).to(scene.belief.X)
    return ShownTrials(
        numbers=tuple(trial.number for trial in trials),
        ids=tuple(design_id(scene.space, row) for row in rows),
        designs=rows.cpu().numpy(),
        fields=seen(scene.space, rows),
        kinds=tuple(map(_kind, trials)),
        values=_numbers([None if one is None else one.value for one in told]),
        errors=_numbers([None if one is None else one.std_error for one in told]),
        expected=scene.within_bounds(scene.belief.means(rows).mean[0].cpu().numpy()),
    )


def _numbers(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@torch.no_grad()
def near(scene: Scene, view: Slice, designs: np.ndarray) -> np.ndarray:
    """Which designs (n x d) bear on a slice by the model: n; all of them where the model does not say.

    A design whose place on the slice cannot be run does not.
    """
    rows = torch.from_numpy(designs)
    belief = scene.belief
    if not len(rows) or set(view.axes) >= set(varying(scene.space)):
        return np.ones(len(rows), dtype=bool)
    onto = view.onto(rows).to(rows)
    runs = can_run(scene.space, onto).numpy()
    belief = belief.latent if isinstance(belief, Graded | Transformed) else belief
    if not isinstance(belief, Gaussian):
        return runs
    # each design with its place on the slice, as n pairs of points
    pairs: Tensor = belief.frame.transform(torch.stack([rows, onto], 1).to(belief.X))
    covariance, variance = belief.kernel(pairs[:, :1], pairs[:, 1:])[..., 0, 0], belief.kernel.diagonal(pairs)
    correlation = covariance / variance.prod(-1).sqrt()
    return runs & ((belief.weights[:, None] * correlation).sum(0) >= NEAR).cpu().numpy()


def value_dots(trials: ShownTrials, frame: SliceFrame, shown: np.ndarray, floor: float) -> tuple[Dots, ...]:
    """Trials over a field: values with their errors, failed ones at the floor, pending ones where expected."""
    heights = trials.values.copy()
    for kind, other in (("failed", np.full(len(heights), floor)), ("pending", trials.expected)):
        heights = np.where(trials.of_kind(kind), other, heights)
    return _dots(trials, frame, heights, shown, trials.errors)


def place_dots(trials: ShownTrials, frame: SliceFrame, shown: np.ndarray, foot: float) -> tuple[Dots, ...]:
    """Where trials lie on a map, or along a field, all at one height."""
    return _dots(trials, frame, np.full(len(trials.kinds), foot), shown)


def _dots(
    trials: ShownTrials, frame: SliceFrame, heights: np.ndarray, shown: np.ndarray, errors: np.ndarray | None = None
) -> tuple[Dots, ...]:
    places = frame.places(trials.fields)
    options = option_places(frame, trials.fields)
    x, y = within(frame, places) if frame.is_plane else (beside(frame.axes[0], places[0]), heights)
    there = np.isfinite(np.stack(places)).all(0)  # not all options may have room
    marks = []
    for kind in KINDS:
        own = trials.of_kind(kind) & shown & there
        if own.any():
            bars = errors[own] if errors is not None and np.isfinite(errors[own]).any() else None
            error = None if bars is None else np.nan_to_num(bars)
            group = None if options is None else options[own]
            marks.append(Dots(x[own], y[own], ROLES[kind], LABELS[kind], error, trials.texts(own), group))
    return tuple(marks)
