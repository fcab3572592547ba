"""What a store keeps: studies, trials with who works on them, everything that was ever told, verdicts.

Times are seconds since 1970 by the clock of the store.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hentropy.studies.records.trial import State, Trial
from hentropy.studies.records.verdict import Verdict


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

    A person's trial has no lease and waits for ever. A worker's is its own until `lease_until`; then anybody may take
    it. `tries` counts evaluations that ended by a failure, `losses` workers that disappeared with it.
    """

    trial: Trial
    asked_at: float
    ended_at: float | None = None
    owner: str | None = None
    lease_until: float | None = None
    tries: int = 0
    losses: int = 0


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


@dataclass(frozen=True)
class StoredVerdict:
    """A verdict and when it was reached; of the action only its rows for a person are kept."""

    at: float
    verdict: Verdict
