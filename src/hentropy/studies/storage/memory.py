"""A store in memory: for studies that end with their process."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hentropy.errors import Gone, Outdated, StorageError
from hentropy.studies.records import Entry, Observation, StoredVerdict, StudyRecord, Verdict
from hentropy.studies.storage.base import Addition, Change, News, Redefinition, Store, observation, told_anew
from hentropy.studies.storage.turns import HeldTurn, Turn, TurnRule


@dataclass
class _Kept:
    """What belongs to one study."""

    record: StudyRecord
    entries: dict[int, Entry] = field(default_factory=dict)
    changed: dict[int, int] = field(default_factory=dict)
    revision: int = 0
    observations: list[Observation] = field(default_factory=list)
    verdicts: list[StoredVerdict] = field(default_factory=list)
    turn: Turn = field(default_factory=Turn)

    def news(self, since: int) -> News:
        """What changed after a revision."""
        numbers = sorted(number for number, revision in self.changed.items() if revision > since)
        return News(self.revision, tuple(self.entries[number] for number in numbers))


class MemoryStore(Store):
    """Studies in dictionaries, behind one lock."""

    def __init__(self) -> None:
        self._studies: dict[str, _Kept] = {}
        self._made = 0
        self._lock = threading.RLock()

    @property
    def place(self) -> str:
        """Memory."""
        return "memory"

    def create(self, name: str, definition: Mapping[str, Any], versions: Mapping[str, str]) -> StudyRecord:
        """A new study."""
        with self._lock:
            if name in self._studies:
                raise StorageError(f"there is already a study {name!r} in {self.place}")
            self._made += 1
            record = StudyRecord(self._made, name, dict(definition), dict(versions), self.now())
            self._studies[name] = _Kept(record)
            return record

    def redefine(self, study: StudyRecord, rule: Redefinition) -> StudyRecord:
        """The study with another definition."""
        with self._lock:
            kept = self._kept(study)
            kept.record = replace(kept.record, definition=dict(rule(kept.record.definition)))
            return kept.record

    def find(self, name: str) -> StudyRecord | None:
        """The study with this name."""
        with self._lock:
            return self._studies[name].record if name in self._studies else None

    def studies(self) -> tuple[StudyRecord, ...]:
        """All studies."""
        with self._lock:
            return tuple(kept.record for kept in self._studies.values())

    def delete(self, study: StudyRecord) -> None:
        """Remove a study."""
        with self._lock:
            del self._studies[self._kept(study).record.name]

    def news(self, study: StudyRecord, since: int = 0) -> News:
        """What changed."""
        with self._lock:
            return self._kept(study).news(since)

    def add(
        self, study: StudyRecord, new: Addition, by: str, turn: HeldTurn | None = None, since: int | None = None
    ) -> News:
        """New trials."""
        with self._lock:
            kept, entries = self._kept(study), tuple(new(self.now()))
            if turn is not None:
                kept.turn.check(turn.number)
            for position, entry in enumerate(entries, start=len(kept.entries)):
                if entry.trial.number != position:
                    raise Outdated(f"trial {entry.trial.number} is not the next one, which is {position}")
            for entry in entries:
                self._write(kept, None, entry, by)
            if turn is not None:
                kept.turn, turn.ended = replace(kept.turn, holder=None), True
            return News(kept.revision, entries) if since is None else kept.news(since)

    def change(self, study: StudyRecord, number: int, rule: Change, by: str, since: int | None = None) -> News:
        """Apply a rule."""
        with self._lock:
            kept = self._kept(study)
            if number not in kept.entries:
                raise Gone(f"the study {study.name!r} has no trial {number}")
            old = kept.entries[number]
            new = rule(old, self.now())
            if new != old:
                self._write(kept, old, new, by)
            return News(kept.revision, (new,)) if since is None else kept.news(since)

    def _write(self, kept: _Kept, old: Entry | None, new: Entry, by: str) -> None:
        kept.revision += 1
        kept.entries[new.trial.number] = new
        kept.changed[new.trial.number] = kept.revision
        if told_anew(old, new):
            kept.observations.append(observation(new, self.now(), by))

    def observations(self, study: StudyRecord, number: int | None = None) -> tuple[Observation, ...]:
        """Everything told."""
        with self._lock:
            return tuple(o for o in self._kept(study).observations if number is None or o.number == number)

    def keep(self, study: StudyRecord, verdict: Verdict) -> None:
        """Record a verdict, in place of the last one if that is the same but for what another experiment is worth."""
        with self._lock:
            kept = self._kept(study).verdicts
            if kept and kept[-1].verdict == verdict:
                kept.pop()
            kept.append(StoredVerdict(self.now(), verdict))

    def verdicts(self, study: StudyRecord) -> tuple[StoredVerdict, ...]:
        """All verdicts."""
        with self._lock:
            return tuple(self._kept(study).verdicts)

    def turn(self, study: StudyRecord) -> Turn:
        """Whose turn it is."""
        with self._lock:
            return self._kept(study).turn

    def change_turn(self, study: StudyRecord, rule: TurnRule) -> Turn:
        """Apply a rule to the turn."""
        with self._lock:
            kept = self._kept(study)
            kept.turn = rule(kept.turn, self.now())
            return kept.turn

    def now(self) -> float:
        """The clock of this machine."""
        return time.time()

    def _kept(self, study: StudyRecord) -> _Kept:
        kept = self._studies.get(study.name)
        if kept is None or kept.record.id != study.id:
            raise Gone(f"the study {study.name!r} is no longer in {self.place}")
        return kept
