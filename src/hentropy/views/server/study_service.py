"""`StudyService`: the verbs of the command line on the studies of a store, without those that compute.

Telling, failing, withdrawing and attaching need no decision, so no code of a study is ever run. Safe for threads.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from hentropy.errors import Gone, InputError, StudyError
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Entry, Failed, Observation, StudyRecord, ToldCost, Values
from hentropy.studies.records.csv_tables import check_rows
from hentropy.studies.storage import Store
from hentropy.studies.study.stored import StoredStudy
from hentropy.studies.study.trial_log import TrialLog
from hentropy.views.server.new_study import begun
from hentropy.views.server.snapshot import Snapshot, SnapshotCache
from hentropy.views.server.study_list import ListedStudy, StudyListing
from hentropy.views.text.earlier_data import Data, earlier_data
from hentropy.views.text.trial_files import csv_text, exported_in, json_lines

Which = int | StudyRecord
"""A study by its id, or the one whose record was read: if that is deleted, one that has its id is left alone."""

CHUNK = 500
"""The trials of a download that are put into text at a time."""


@dataclass(frozen=True)
class EarlierExperiment:
    """An earlier experiment: its design, and what was measured or why it failed."""

    params: Mapping[str, Any]
    outcome: Values | Failed


@dataclass(frozen=True)
class Attached:
    """What was attached, what was left out and why, and the columns that nothing was taken from."""

    entries: tuple[Entry, ...]
    bad: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


class StudyService:
    """The studies of a store by their ids; at most `rows` data are taken at once."""

    def __init__(self, store: Store, rows: int = 5_000) -> None:
        self.store = store
        self._rows = rows
        self._snapshots = SnapshotCache(store)
        self._standings = StudyListing(store, self._snapshots)
        self._names: dict[int, str] = {}

    def studies(self) -> tuple[ListedStudy, ...]:
        """All studies, the oldest first."""
        return self._standings.all()

    def find(self, name: str) -> StudyRecord | None:
        """The study with this name, if there is one."""
        # no study has a zero character in its name, and not every database lets one ask for it
        return None if "\x00" in name else self.store.find(name)

    def named(self, name: str) -> tuple[ListedStudy, ...]:
        """The study with this name as it stands, if there is one."""
        record = self.find(name)
        return () if record is None else (self._standings.one(record),)

    def record(self, study: Which) -> StudyRecord:
        """A study by its id; `Gone` if there is none."""
        if isinstance(study, StudyRecord):
            return study  # the store sees to it that it is still this one
        # the names are remembered, so that the definitions of all other studies need not be read each time
        name = self._names.get(study)
        found = None if name is None else self.store.find(name)
        if found is None or found.id != study:
            everything = self.store.studies()
            self._names = {each.id: each.name for each in everything}
            found = next((each for each in everything if each.id == study), None)
        if found is None:
            raise Gone(f"there is no study {study}; it may have been deleted")
        return found

    def snapshot(self, study: Which) -> Snapshot:
        """A study with all that is recorded of it."""
        return self._snapshots.snapshot(self.record(study))

    def stored(self, study: Which) -> StoredStudy:
        """A study, its trials as they were last read."""
        return self._snapshots.known(self.record(study))

    def log(self, study: Which) -> TrialLog:
        """The trials of a study as they stand, and the rules of what may become of them."""
        log = self.stored(study).log
        log.sync()
        return log

    def history(self, study: Which, number: int) -> tuple[Entry, tuple[Observation, ...]]:
        """A trial and all that was ever told of it."""
        return self.log(study).find(number), self.store.observations(self.record(study), number)

    def attach(
        self,
        study: Which,
        rows: Sequence[EarlierExperiment],
        *,
        again: bool = False,
        cost: ToldCost = None,
        note: str = "",
    ) -> Attached:
        """Data that were there before: all rows, or none if one of them cannot be used; each with a cost and a note."""
        check_rows(len(rows), self._rows)
        data = _rows_in(rows, self.log(study).outcomes)
        return self._attach(study, data, "the rows", again, cost, note)

    def attach_csv(
        self,
        study: Which,
        text: str,
        *,
        where: str = "the file",
        columns: Mapping[str, str] | None = None,
        skip_bad: bool = False,
        again: bool = False,
    ) -> Attached:
        """Data that were there before, from a CSV text; `columns` are those that are called otherwise."""
        data = earlier_data(text, where, self.log(study).outcomes, columns or {}, self._rows)
        return self._attach(study, data, where, again, skip_bad=skip_bad)

    def _attach(
        self,
        study: Which,
        data: Data,
        where: str,
        again: bool,
        cost: ToldCost = None,
        note: str = "",
        *,
        skip_bad: bool = False,
    ) -> Attached:
        data.check(where, skip_bad and bool(data.good), "Fix the rows, or leave them out")
        entries = self.log(study).attach(data.good, again=again, cost=cost, note=note or data.notes)
        return Attached(tuple(entries), data.shown_bad, data.unused)

    def import_trials(self, study: Which, text: str, where: str = "the file") -> tuple[Entry, ...]:
        """Exported trials, CSV or JSON lines, into a study that has none yet."""
        log = self.log(study)
        imported = exported_in(text, where, log.outcomes, self._rows)
        now = self.store.now()
        entries = tuple(one.entry(now) for one in imported)
        log.load(entries)
        return entries

    def csv(self, study: Which) -> Iterator[str]:
        """All trials as CSV, piece by piece; they are read now, before the first piece is taken."""
        case = self.snapshot(study)
        # the header is one line: names of parameters have no line breaks
        pieces = (csv_text(piece, case.outcomes).partition("\n")[2] for piece in _pieces(case.entries))
        return chain([csv_text((), case.outcomes)], pieces)

    def json_lines(self, study: Which) -> Iterator[str]:
        """All trials as JSON lines, piece by piece."""
        return map(json_lines, _pieces(self.snapshot(study).entries))

    def create(self, words: Any) -> StudyRecord:
        """A new study by its definition, if that needs no code and no file."""
        return begun(self.store, words)

    def delete(self, study: Which, name: str) -> None:
        """Remove a study with all that belongs to it; its name says that it is the right one."""
        record = self.record(study)
        if record.name != name:
            raise StudyError(f"study {record.id} is called {record.name!r}, not {name!r}; nothing was deleted")
        self.store.delete(record)


def _pieces(entries: tuple[Entry, ...]) -> Iterator[tuple[Entry, ...]]:
    return (entries[start : start + CHUNK] for start in range(0, len(entries), CHUNK))


def _rows_in(rows: Sequence[EarlierExperiment], outcomes: Outcomes) -> Data:
    """Rows checked against the space and the outcomes."""
    good, bad = [], []
    for number, row in enumerate(rows):
        try:
            if not isinstance(row.outcome, Failed):
                outcomes.given(row.outcome)
            design = outcomes.space.cleaned(row.params)
        except InputError as mistake:
            bad.append(f"row {number}: {mistake}")
        else:
            good.append((design, row.outcome))
    return Data(tuple(good), ("",) * len(good), tuple(bad), ())
