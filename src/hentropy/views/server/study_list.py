"""`StudyListing`: every study of a store in a few words, read again only where something has changed."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock

from cachetools import LRUCache

from hentropy.errors import Gone
from hentropy.studies.records import StoredVerdict, StudyKey, StudyRecord
from hentropy.studies.storage import Store
from hentropy.views.server.snapshot import SnapshotCache
from hentropy.views.text.sentences import counts, decided_sentence, last_activity

REMEMBERED = 10_000
"""The studies whose standing is kept; each is a few words, not its trials."""


@dataclass(frozen=True)
class ListedStudy:
    """A study in a list of studies: `decision` as programs call it, `decided` in words, `stopped` if it has enough.

    `leases` are the workers of running trials, and until when they have them.
    """

    record: StudyRecord
    revision: int
    decision: str
    decided: str
    counts: Mapping[str, int]
    last_activity: float
    stopped: str | None
    leases: tuple[tuple[str, float], ...]
    verdict: StoredVerdict | None = None

    @property
    def trials(self) -> int:
        """How many trials it has."""
        return sum(self.counts.values())


class StudyListing:
    """The standings of the studies of a store. A list takes three queries, and more for what changed. For threads."""

    def __init__(self, store: Store, memory: SnapshotCache) -> None:
        self._store = store
        self._memory = memory
        self._lock = Lock()
        self._kept: LRUCache[StudyKey, ListedStudy] = LRUCache(REMEMBERED)

    def all(self) -> tuple[ListedStudy, ...]:
        """All studies, the oldest first."""
        revisions, verdicts = self._store.revisions(), self._store.latest_verdicts()
        found = []
        for record in self._store.studies():
            with suppress(Gone):  # deleted just now
                found.append(replace(self._of(record, revisions.get(record.id)), verdict=verdicts.get(record.key)))
        return tuple(found)

    def one(self, record: StudyRecord) -> ListedStudy:
        """One study."""
        verdicts = self._store.verdicts(record)
        return replace(self._of(record, None), verdict=verdicts[-1] if verdicts else None)

    def _of(self, record: StudyRecord, revision: int | None) -> ListedStudy:
        """A study as it stands, its verdict aside; what is kept serves if it is of this revision."""
        key = record.key
        with self._lock:
            known = self._kept.get(key)
        if known is not None and known.revision == revision and known.record == record:
            return known
        study = self._memory.known(record)
        study.log.sync()
        entries = tuple(study.log.entries.values())
        words = record.definition.get("decision", {})
        now = ListedStudy(
            record,
            study.log.revision,
            words.get("name") or words.get("python") or "made in Python",
            decided_sentence(study.words.description),
            counts(entries),
            last_activity(entries, record.created_at),
            study.log.stopped(),
            tuple(
                (one.owner, one.lease_until) for one in entries if one.owner is not None and one.lease_until is not None
            ),
        )
        with self._lock:
            self._kept[key] = now
        return now
