"""`Snapshot`: all that is recorded of a study, read at once; nothing is computed and no code of the study is run."""

from dataclasses import dataclass
from threading import Lock

from cachetools import LRUCache

from hentropy.core.spaces import DesignSpace
from hentropy.studies.definition import Description
from hentropy.studies.definition.decisions import OwnClass
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Entry, StoredVerdict, StudyKey, StudyRecord, Trial
from hentropy.studies.setting import TOLD
from hentropy.studies.storage import Store
from hentropy.studies.study.rules import record_sentences
from hentropy.studies.study.stored import StoredStudy
from hentropy.views.text.formats import DesignColumn, design_columns
from hentropy.views.text.sentences import spent, to_come

REMEMBERED = 64
"""The studies whose trials are kept in memory, so that only what is new is read."""


@dataclass(frozen=True)
class Snapshot:
    """A study as its store knows it.

    `stopped` says why it has enough, `enough` the same with running trials counted as if they had ended. `computable`
    is None, or the sentence that says why nothing can be asked or decided here.
    """

    record: StudyRecord
    description: Description
    space: DesignSpace
    outcomes: Outcomes
    columns: tuple[DesignColumn, ...]
    first: int
    revision: int
    entries: tuple[Entry, ...]
    verdicts: tuple[StoredVerdict, ...]
    stopped: str | None
    enough: str | None
    trials_left: float
    notes: tuple[str, ...]
    computable: str | None

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The trials themselves."""
        return tuple(entry.trial for entry in self.entries)

    @property
    def tells_cost(self) -> bool:
        """Whether results come with their costs."""
        cost = self.description.cost
        return (cost is not None and cost.of == TOLD) or any(trial.cost is not None for trial in self.trials)

    @property
    def cost_unit(self) -> str:
        """What costs are measured in, if that is known."""
        return "" if self.description.cost is None else self.description.cost.unit

    @property
    def spent(self) -> str:
        """What was spent, in a sentence; nothing while nobody knows of costs."""
        return spent(self.description, self.trials)

    @property
    def predictions(self) -> list[str]:
        """How good the last predictions were, in sentences; none while too few results are there."""
        return record_sentences(self.trials, self.outcomes)

    @property
    def to_come(self) -> str:
        """How many first designs are still to come and why; nothing once they are all out."""
        return to_come(self.first, len(self.space.fields), self.trials)


class SnapshotCache:
    """What was read of the studies of a store; a later reading asks only for what is newer. Safe for threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._known: LRUCache[StudyKey, StoredStudy] = LRUCache(REMEMBERED)

    def known(self, record: StudyRecord) -> StoredStudy:
        """A study as it was last read, or read now if it is new or has another definition by now."""
        with self._lock:
            known = self._known.get(record.key)
        if known is None or known.record != record:
            known = StoredStudy.of(self._store, record)
        with self._lock:
            self._known[record.key] = known
        return known

    def snapshot(self, record: StudyRecord) -> Snapshot:
        """A study with all that is recorded of it."""
        known = self.known(record)
        log = known.log
        log.sync()
        return Snapshot(
            record,
            known.words.description,
            log.space,
            log.outcomes,
            design_columns(log.space),
            log.first,
            log.revision,
            tuple(log.entries.values()),
            self._store.verdicts(record),
            log.stopped(),
            log.stopped(running=True),
            log.trials_left,
            log.notes,
            why_not_computable(known.words.description),
        )


def why_not_computable(description: Description) -> str | None:
    """Why a study can only be looked at here, or None if it can be asked and decided."""
    if isinstance(description.decision, OwnClass):
        return (
            f"the decision of this study is the Python class {description.decision.python}, which a server does not"
            " run; ask and decide with the command line, and tell the values here or there"
        )
    if description.model.python is not None:
        return (
            f"the model of this study is the Python function {description.model.python}, which a server does not run;"
            " ask and decide with the command line, and tell the values here or there"
        )
    if description.own:
        return (
            f"this study was made in Python with parts that have no stored form ({', '.join(description.own)}); ask and"
            " decide in that program, and tell the values here or there"
        )
    return None
