"""Trials, one experiment each, and what a store keeps of them: entries, all that was ever told, verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from hentropy.core.spaces import Params
from hentropy.studies.records.verdict import Verdict

Value = float | tuple[float, float]
"""A measured value, or a value with its standard error."""


class State(Enum):
    """Where a trial stands."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Trial:
    """One experiment: its number, its design, what was expected of it when it was asked, and what came of it."""

    number: int
    params: Params
    state: State = State.RUNNING
    value: float | None = None
    std_error: float | None = None
    gain: float | None = None
    gain_error: float | None = None
    entropy: float | None = None
    origin: str = "proposed"
    note: str = ""
    expected_cost: float | None = None
    cost: float | None = None
    """What it cost, if that was told."""

    @property
    def spent(self) -> float | None:
        """What it cost, or else what it was expected to."""
        return self.expected_cost if self.cost is None else self.cost

    def plain(self) -> dict[str, Any]:
        """It as plain values: the one description of a trial, for stores, files, the command line and the API."""
        return {**vars(self), "params": dict(self.params), "state": self.state.value}

    @classmethod
    def of(cls, plain: Mapping[Any, Any]) -> "Trial":
        """The trial that plain values describe; others that stand beside them are left alone."""
        return cls(**_own(cls, plain) | {"state": State(plain["state"])})


@dataclass(frozen=True)
class StudyRecord:
    """A study in a store: its definition in words, and the versions of what made it."""

    id: int
    name: str
    definition: Mapping[str, Any]
    versions: Mapping[str, str]
    created_at: float


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
    return {field.name: plain[field.name] for field in fields(kind) if field.name in plain}


@dataclass(frozen=True)
class Observation:
    """One thing that was told of a trial, in the order of telling; corrections leave earlier ones where they are."""

    number: int
    at: float
    by: str
    state: State
    value: float | None
    std_error: float | None
    note: str
    cost: float | None = None


@dataclass(frozen=True)
class StoredVerdict:
    """A verdict and when it was reached; of the action only its rows for a person are kept."""

    at: float
    verdict: Verdict
