"""Trials, one experiment each, and what a store keeps of them: entries, all that was ever told, verdicts."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Final, Literal

from hentropy.core.spaces import Params
from hentropy.errors import InputError
from hentropy.studies.records.numbers import brief, number_told
from hentropy.studies.records.prediction import Judged, Prediction, predictions_of
from hentropy.studies.records.verdict import Verdict

Value = float | str | tuple[float | str, float | None]
"""A measured value, or a value with its standard error; of yes and no, and of grades, a word."""

Values = Value | Mapping[str, Value | None]
"""What can be told of a trial: a value where there is one outcome, or values by outcome, None where not measured."""


@dataclass(frozen=True)
class Measurement:
    """A measured value, and its standard error if that is known."""

    value: float
    std_error: float | None = None


class Measured:
    """Something with measurements, by outcome; what was not measured is not among them."""

    measurements: Mapping[str, Measurement]

    @property
    def value(self) -> float | None:
        """The measured value, where there is only one."""
        only = self._only
        return None if only is None else only.value

    @property
    def std_error(self) -> float | None:
        """The standard error of the measured value, where there is only one."""
        only = self._only
        return None if only is None else only.std_error

    @property
    def _only(self) -> Measurement | None:
        return next(iter(self.measurements.values())) if len(self.measurements) == 1 else None


UNKNOWN: Final = "unknown"
"""Told in place of a cost that was wrong and that nobody knows."""

ToldCost = float | Literal["unknown"] | None
"""What an experiment cost, if anything is told about it."""


def checked_told_cost(cost: Any) -> float | None:
    """A cost that was told, or an error that says what is wrong with it; None where none is known."""
    if cost is None or (isinstance(cost, str) and cost == UNKNOWN):
        return None
    number = number_told(cost)
    if number is None or not (math.isfinite(number) and number > 0):
        raise InputError(f"the cost told is {cost!r}; it must be a finite number above 0, or {UNKNOWN!r}")
    return number


@dataclass(frozen=True)
class Failed:
    """An earlier experiment that gave no value, and why."""

    reason: str = ""


class State(Enum):
    """Where a trial stands."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Trial(Measured):
    """One experiment: its number, its design, its expected gain when it was asked for, and its result."""

    number: int
    params: Params
    state: State = State.RUNNING
    measurements: Mapping[str, Measurement] = field(default_factory=dict)
    gain: float | None = None
    gain_error: float | None = None
    entropy: float | None = None
    origin: str = "proposed"
    note: str = ""
    expected_cost: float | None = None
    cost: float | None = None
    """What it cost, if that was told."""
    measures: tuple[str, ...] = ()
    """The outcomes that it is to measure; without any, all of them."""
    predictions: Mapping[str, Prediction] = field(default_factory=dict)
    """What was expected of outcomes when the model chose it."""

    @property
    def spent(self) -> float | None:
        """What it cost, or was expected to cost."""
        return self.expected_cost if self.cost is None else self.cost

    def plain(self) -> dict[str, Any]:
        """The trial as plain values: the one description for stores, files, the command line and the API."""
        measured = {name: vars(one) for name, one in self.measurements.items()}
        own = {"params": dict(self.params), "state": self.state.value, "measures": list(self.measures)}
        predicted = {name: one.plain() for name, one in self.predictions.items()}
        return {**vars(self), **own, "measurements": measured, "predictions": predicted}

    @classmethod
    def of(cls, plain: Mapping[Any, Any]) -> "Trial":
        """The trial that plain values describe; other keys are ignored."""
        read: dict[str, Any] = {"state": State(plain["state"]), "measurements": measurements_of(plain["measurements"])}
        read["measures"] = tuple(plain.get("measures", ()))
        read["predictions"] = predictions_of(plain.get("predictions", {}))
        return cls(**_own(cls, plain) | read)


def measurements_of(plain: Mapping[str, Mapping[str, Any]]) -> dict[str, Measurement]:
    """The measurements that plain values describe."""
    return {name: Measurement(**one) for name, one in plain.items()}


@dataclass(frozen=True)
class StudyKey:
    """Which study: one that was deleted and made again may have the same id and name, but not the same time."""

    id: int
    name: str
    created_at: float


@dataclass(frozen=True)
class StudyRecord:
    """A study in a store: its definition in words, and the versions of what made it."""

    id: int
    name: str
    definition: Mapping[str, Any]
    versions: Mapping[str, str]
    created_at: float

    @property
    def key(self) -> StudyKey:
        """Which study it is, whatever its definition says by now."""
        return StudyKey(self.id, self.name, self.created_at)


@dataclass(frozen=True)
class Entry:
    """A trial, when it was asked and ended, and who works on it.

    A person's trial has no lease and waits for ever. A worker's is its own as long as it renews the lease, by which
    `lease_until` changes. `tries` counts evaluations that ended by a failure, `losses` workers that were lost with it.
    """

    trial: Trial
    asked_at: float
    ended_at: float | None = None
    owner: str | None = None
    lease_until: float | None = None
    tries: int = 0
    losses: int = 0

    def plain(self) -> dict[str, Any]:
        """It and its trial as plain values, with times in seconds."""
        own = {name: value for name, value in vars(self).items() if name != "trial"}
        return own | self.trial.plain()

    @classmethod
    def of(cls, plain: Mapping[Any, Any]) -> "Entry":
        """The entry that plain values describe."""
        return cls(**_own(cls, {**plain, "trial": Trial.of(plain)}))


def _own(kind: type[Trial] | type[Entry], plain: Mapping[Any, Any]) -> dict[str, Any]:
    return {one.name: plain[one.name] for one in fields(kind) if one.name in plain}


@dataclass(frozen=True)
class Observation(Measured):
    """One thing that was told of a trial, in the order of telling; corrections leave earlier ones where they are."""

    number: int
    at: float
    by: str
    state: State
    measurements: Mapping[str, Measurement]
    note: str
    cost: float | None = None

    def plain(self) -> dict[str, Any]:
        """It as plain values, with the time in seconds."""
        measured = {name: vars(one) for name, one in self.measurements.items()}
        return {**vars(self), "state": self.state.value, "measurements": measured}


@dataclass(frozen=True)
class StoredVerdict:
    """A verdict and when it was reached; of the action only its rows for a person are kept."""

    at: float
    verdict: Verdict


def earlier_rows(data: Iterable[Any]) -> Iterator[tuple[Mapping[str, Any], Values | Failed]]:
    """Earlier experiments, each a pair of its design and what came of it; an `InputError` for anything else."""
    for number, row in enumerate(data):
        if not isinstance(row, tuple | list) or len(row) != 2 or not isinstance(row[0], Mapping):
            raise InputError(
                f"row {number} of the data is {brief(row)}; each must be a pair of a design and its value, such as"
                ' ({"x": 0.5}, 2.1)'
            )
        yield row[0], row[1]


def in_state(trials: Iterable[Trial], *states: State) -> tuple[Trial, ...]:
    """Those of the trials that are in one of some states."""
    return tuple(trial for trial in trials if trial.state in states)


def judged(trials: Iterable[Trial], name: str) -> list[Judged]:
    """The predictions of an outcome whose results are there, in the order of the trials."""
    found = []
    for trial in trials:
        prediction, result = trial.predictions.get(name), trial.measurements.get(name)
        if prediction is not None and result is not None and prediction.has_spread:
            found.append(Judged(trial.number, prediction, result.value))
    return found


def first_left(first: int, trials: Iterable[Trial]) -> int:
    """How many of the first designs are still to be asked: what is measured or running counts, attached or asked.

    One that failed or was withdrawn is made up for.
    """
    return max(0, first - len(in_state(trials, State.RUNNING, State.COMPLETE)))
