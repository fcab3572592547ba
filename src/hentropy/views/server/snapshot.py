"""`Snapshot`: all that is recorded of a study, read at once; nothing is computed and no code of the study is run."""

from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from cachetools import LRUCache

from hentropy.core.spaces import DesignSpace
from hentropy.studies.definition import Description, space_of, stopping_of
from hentropy.studies.definition.decisions import OwnClass
from hentropy.studies.records import Entry, StoredVerdict, StudyRecord, Trial
from hentropy.studies.storage import Store
from hentropy.studies.study.asking import NONE_LEFT
from hentropy.studies.study.ending import NOTHING_LEFT, is_exhausted, reason_to_stop
from hentropy.studies.study.keeping import number_of_first
from hentropy.studies.study.open_designs import open_rows
from hentropy.studies.study.words import LocatedDescription
from hentropy.views.text.sentences import to_come

REMEMBERED = 64
"""The studies whose trials are kept in memory, so that only what is new is read."""

Key = tuple[int, str, float]
"""A study: one that was deleted and made anew may have the same id and name, but not the same time."""


def key_of(record: StudyRecord) -> Key:
    """By what a study is remembered."""
    return record.id, record.name, record.created_at


@dataclass(frozen=True)
class Snapshot:
    """A study as its store knows it.

    `stopped` says why it has enough, `enough` the same with running trials counted as if they had ended. `computable`
    is None, or the sentence that says why nothing can be asked or decided here.
    """

    record: StudyRecord
    description: Description
    space: DesignSpace
    revision: int
    entries: tuple[Entry, ...]
    verdicts: tuple[StoredVerdict, ...]
    stopped: str | None
    enough: str | None
    computable: str | None

    @property
    def first(self) -> int:
        """How many first designs there are."""
        return number_of_first(self.description.first, self.space, self.record)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The trials themselves."""
        return tuple(entry.trial for entry in self.entries)

    @property
    def to_come(self) -> str:
        """How many first designs are still to come and why; nothing once they are all out."""
        return to_come(self.first, len(self.space.names), self.trials)


@dataclass(frozen=True)
class Trials:
    """The trials of a study at some revision."""

    revision: int
    entries: dict[int, Entry]


@dataclass(frozen=True)
class RecordedDefinition:
    """What the definition of a study says."""

    record: StudyRecord
    description: Description
    space: DesignSpace


class SnapshotCache:
    """What was read of the studies of a store; a later reading asks only for what is newer. Safe for threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._trials: LRUCache[Key, Trials] = LRUCache(REMEMBERED)
        self._meanings: LRUCache[Key, RecordedDefinition] = LRUCache(REMEMBERED)

    def trials(self, record: StudyRecord) -> Trials:
        """The trials as they stand."""
        key = key_of(record)
        with self._lock:
            known = self._trials.get(key, Trials(0, {}))
        news = self._store.news(record, known.revision)
        if news.revision == known.revision:
            return known
        changed = {entry.trial.number: entry for entry in news.entries}
        # in the order of their numbers: a new one follows those that are known
        now = Trials(news.revision, known.entries | changed)
        with self._lock:
            newest = self._trials.get(key)
            if newest is None or newest.revision < now.revision:
                self._trials[key] = now
        return now

    def meaning(self, record: StudyRecord) -> RecordedDefinition:
        """The description and the space of a study."""
        key = key_of(record)
        with self._lock:
            known = self._meanings.get(key)
        if known is not None and known.record == record:
            return known
        description = LocatedDescription.recorded(record, Path()).description
        meaning = RecordedDefinition(record, description, space_of(description))
        with self._lock:
            self._meanings[key] = meaning
        return meaning

    def case(self, record: StudyRecord) -> Snapshot:
        """A study with all that is recorded of it."""
        meaning, trials = self.meaning(record), self.trials(record)
        entries = tuple(trials.entries.values())
        return Snapshot(
            record,
            meaning.description,
            meaning.space,
            trials.revision,
            entries,
            self._store.verdicts(record),
            why_enough(meaning, entries, running=False),
            why_enough(meaning, entries, running=True),
            why_not_computable(meaning.description),
        )


def why_enough(meaning: RecordedDefinition, entries: tuple[Entry, ...], running: bool) -> str | None:
    """Why the study has enough, by those of its rules that look at trials, or because nothing is left to ask."""
    trials = [entry.trial for entry in entries]
    reason = reason_to_stop(stopping_of(meaning.description), trials, seconds=0.0, running=running)
    if reason is None and meaning.description.stop.when_exhausted and is_exhausted(entries):
        return NOTHING_LEFT
    if reason is not None or meaning.space.points is None:
        return reason
    rows = open_rows(meaning.space, trials, lambda trial: meaning.space.encode(trial.params))
    return NONE_LEFT if rows is not None and not len(rows) else None


def why_not_computable(description: Description) -> str | None:
    """Why a study can only be looked at here, or None if it can be asked and decided."""
    if isinstance(description.decision, OwnClass):
        return (
            f"the decision of this study is the Python class {description.decision.python}, which a server does not"
            " run; ask and decide with the command line, and tell the values here or there"
        )
    if description.own:
        return (
            f"this study was made in Python with parts that have no words ({', '.join(description.own)}); ask and"
            " decide in that program, and tell the values here or there"
        )
    return None
