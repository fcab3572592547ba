"""A store in a database: every call is one transaction. What differs between databases is in a `Backend`."""

import json
import math
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine, RowMapping, delete, func, insert, select, update
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from hentropy.errors import Advice, Gone, InputError, NoStore, Outdated, ReadOnly, StorageError
from hentropy.studies.records import (
    Comparison,
    Entry,
    Observation,
    State,
    StoredVerdict,
    StudyKey,
    StudyRecord,
    Verdict,
)
from hentropy.studies.records.trial import measurements_of
from hentropy.studies.storage.base import (
    Addition,
    BackupContents,
    Change,
    FormatChange,
    News,
    Redefinition,
    Store,
    observation,
    told_anew,
)
from hentropy.studies.storage.tables import (
    NEWEST,
    RECORDED_VERSION,
    is_newer,
    observations,
    other_format,
    studies,
    trials,
    turns,
    upgrade,
    verdicts,
    version,
)
from hentropy.studies.storage.turns import HeldTurn, Turn, TurnRule

WRITES = "hentropy_writes"
"""The execution option of a connection that is going to write."""


class Backend(ABC):
    """One kind of database."""

    engine: Engine
    place: str
    read_only = ""
    """Why nothing can be written; nothing if it can."""

    @contextmanager
    def transaction(self, writes: bool = False) -> Iterator[Connection]:
        """One transaction; what it wrote is recorded when this ends without an error."""
        with self.engine.connect().execution_options(**{WRITES: writes}) as connection:
            with connection.begin():
                yield connection
            if writes:
                self.check_recorded(connection)

    @abstractmethod
    def check_recorded(self, connection: Connection) -> None:
        """A `StorageError` if what the connection has just committed is not where others will look for it."""

    @abstractmethod
    def lock_for_migration(self, connection: Connection, alone: bool = True) -> None:
        """Let nobody else migrate until this transaction ends; if it is to be `alone`, let nobody write either."""

    def lacks_rights(self, connection: Connection) -> str:
        """Why this user may not write to the store that is there; nothing if that is allowed."""
        return ""

    def read_copy(self) -> None:
        """From now on, read a copy in the newest format; an error where that is not possible."""
        raise ReadOnly(self.read_only)

    @abstractmethod
    def now(self, connection: Connection) -> float:
        """Seconds since 1970 by a clock that all users of the database share."""

    @abstractmethod
    def back_up(self, target: Path, overwrite: bool) -> BackupContents:
        """Write a copy of everything to a file; one that is there is written over only if `overwrite` says so."""

    @abstractmethod
    def explain(self, error: DBAPIError) -> str:
        """What an error of the driver means, and what to do."""

    def explained(self, error: SQLAlchemyError) -> str:
        """What an error means; those that do not come from the driver speak for themselves."""
        return self.explain(error) if isinstance(error, DBAPIError) else f"{self.place}: {' '.join(str(error).split())}"

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Errors of the driver, from within, become a `StorageError`."""
        try:
            yield
        except SQLAlchemyError as error:
            raise StorageError(self.explained(error)) from error

    def prepare(self, make: bool) -> None:
        """Make the tables where there are none; those that are there stay as they are, of whatever format."""
        with self.explaining():
            with self.engine.connect() as connection:
                found = version(connection)
                if found is not None and not self.read_only:
                    self.read_only = self.lacks_rights(connection)
            if found is None:
                self._make_tables(make)
            elif found != NEWEST:
                self.read_only = other_format(found, self.place)
                if is_newer(found):
                    raise ReadOnly(self.read_only)
                self.read_copy()

    def _make_tables(self, make: bool) -> None:
        if not make:
            raise NoStore(f"there is no store in {self.place} yet")
        if self.read_only:
            raise ReadOnly(self.read_only)
        with self.transaction(writes=True) as connection:
            self.lock_for_migration(connection)
            if version(connection) is None:  # else somebody was faster
                upgrade(connection)

    def upgrade(self, backup: bool) -> FormatChange:
        """Bring the tables to the newest format, in one transaction in which nobody else writes, after a backup."""
        if self.read_only:
            raise ReadOnly(self.read_only)
        with self.explaining(), self.transaction(writes=True) as connection:
            self.lock_for_migration(connection)
            found = version(connection)
            if found is None:
                raise NoStore(f"there is no store in {self.place} yet")
            if is_newer(found):
                raise ReadOnly(other_format(found, self.place))
            file, contents = self._backup_file(found), None
            if backup and found != NEWEST:
                contents = self._back_up_first(file)
            upgrade(connection)
        return FormatChange(int(found), int(NEWEST), file, contents)

    def _backup_file(self, found: str) -> Path:
        there = Path(str(self.engine.url.database))
        return there.with_name(f"{there.stem}-format-{int(found)}{there.suffix}")

    def _back_up_first(self, file: Path) -> BackupContents:
        try:
            return self.back_up(file, overwrite=False)
        except (StorageError, InputError) as error:
            raise StorageError(f"{error}. Nothing was upgraded", Advice.OWN_BACKUP) from error


class Database(Store):
    """Studies in tables; what differs between databases is in the backend."""

    def __init__(self, backend: Backend, make: bool = True) -> None:
        self._backend = backend
        # a store that nobody closes lets go of its connections when it is forgotten
        weakref.finalize(self, backend.engine.dispose)
        backend.prepare(make)
        self.read_only = backend.read_only

    @property
    def place(self) -> str:
        """The file or the server."""
        return self._backend.place

    @contextmanager
    def _transaction(self, writes: bool = False) -> Iterator[Connection]:
        if writes and self.read_only:
            raise ReadOnly(self.read_only)
        with self._backend.explaining(), self._backend.transaction(writes) as connection:
            if writes:
                self._backend.lock_for_migration(connection, alone=False)
            # a newer program may have upgraded it since it was opened
            if (found := connection.scalar(RECORDED_VERSION)) != NEWEST:
                raise ReadOnly(other_format(str(found), self.place))
            yield connection

    def create(self, name: str, definition: Mapping[str, Any], versions: Mapping[str, str]) -> StudyRecord:
        """A new study."""
        row = {"name": name, "definition": dict(definition), "versions": dict(versions), "revision": 0}
        try:
            with self._transaction(writes=True) as connection:
                row["created_at"] = self._backend.now(connection)
                made = connection.execute(insert(studies).values(row).returning(studies)).mappings().one()
        except StorageError as error:
            if isinstance(error.__cause__, IntegrityError):
                raise StorageError(f"there is already a study {name!r} in {self.place}") from None
            raise
        return _study(made)

    def redefine(self, study: StudyRecord, rule: Redefinition) -> StudyRecord:
        """The study with another definition."""
        this = studies.c.id == study.id
        with self._transaction(writes=True) as connection:
            self._revision(connection, study, lock=True)
            stands = connection.execute(select(studies.c.definition).where(this)).scalar_one()
            new = dict(rule(stands))
            if new != stands:
                connection.execute(update(studies).where(this).values(definition=new))
        return replace(study, definition=new)

    def find(self, name: str) -> StudyRecord | None:
        """The study with this name."""
        with self._transaction() as connection:
            row = _named(connection, name)
        return None if row is None else _study(row)

    def read(self, name: str) -> tuple[StudyRecord, News] | None:
        """It with its entries, in one transaction."""
        with self._transaction() as connection:
            row = _named(connection, name)
            return None if row is None else (_study(row), _news(connection, row["id"], row["revision"], 0))

    def studies(self) -> tuple[StudyRecord, ...]:
        """All studies."""
        with self._transaction() as connection:
            return tuple(map(_study, connection.execute(select(studies).order_by(studies.c.id)).mappings()))

    def revisions(self) -> dict[int, int]:
        """All revisions, with one query."""
        with self._transaction() as connection:
            return {row.id: row.revision for row in connection.execute(select(studies.c.id, studies.c.revision))}

    def delete(self, study: StudyRecord) -> None:
        """Remove a study; what belongs to it goes with it."""
        with self._transaction(writes=True) as connection:
            self._revision(connection, study, lock=True)
            connection.execute(delete(studies).where(studies.c.id == study.id))

    def news(self, study: StudyRecord, since: int = 0) -> News:
        """What changed. The revision is read first: what is newer than it is told again, never left out."""
        with self._transaction() as connection:
            return _news(connection, study.id, self._revision(connection, study), since)

    def add(
        self, study: StudyRecord, new: Addition, by: str, turn: HeldTurn | None = None, since: int | None = None
    ) -> News:
        """New trials."""
        with self._transaction(writes=True) as connection:
            revision = self._revision(connection, study, lock=True)
            if turn is not None:
                _turn(connection, study).check(turn.number)
                connection.execute(update(turns).where(turns.c.study_id == study.id).values(holder=None))
            entries = tuple(new(self._backend.now(connection)))
            last = connection.scalar(select(func.max(trials.c.number)).where(trials.c.study_id == study.id))
            following = 0 if last is None else last + 1
            for position, entry in enumerate(entries, start=following):
                if entry.trial.number != position:
                    raise Outdated(f"trial {entry.trial.number} is not the next one, which is {position}")
            if entries:
                revision += 1
                rows = [entry.plain() | {"study_id": study.id, "revision": revision} for entry in entries]
                connection.execute(insert(trials), rows)
                self._advance(connection, study, revision, [entry for entry in entries if told_anew(None, entry)], by)
            news = News(revision, entries) if since is None else _news(connection, study.id, revision, since)
        if turn is not None:
            turn.ended = True
        return news

    def change(self, study: StudyRecord, number: int, rule: Change, by: str, since: int | None = None) -> News:
        """Apply a rule."""
        this = (trials.c.study_id == study.id) & (trials.c.number == number)
        with self._transaction(writes=True) as connection:
            revision = self._revision(connection, study, lock=True)
            row = connection.execute(select(trials).where(this)).mappings().one_or_none()
            if row is None:
                raise Gone(f"the study {study.name!r} has no trial {number}")
            old = Entry.of(row)
            new = rule(old, self._backend.now(connection))
            if new != old:
                revision += 1
                connection.execute(update(trials).where(this).values(new.plain() | {"revision": revision}))
                self._advance(connection, study, revision, [new] if told_anew(old, new) else [], by)
            return News(revision, (new,)) if since is None else _news(connection, study.id, revision, since)

    def _revision(self, connection: Connection, study: StudyRecord, lock: bool = False) -> int:
        """The revision of this very study, or `Gone`; with a lock on its row, writers come one after the other."""
        # a study that was deleted and made again may have the same name, even the same id, but not the same time
        same = (studies.c.id == study.id) & (studies.c.name == study.name) & (studies.c.created_at == study.created_at)
        query = select(studies.c.revision).where(same)
        revision = connection.scalar(query.with_for_update() if lock else query)
        if revision is None:
            raise Gone(f"the study {study.name!r} is no longer in {self.place}")
        return revision

    def _advance(
        self, connection: Connection, study: StudyRecord, revision: int, told: Sequence[Entry], by: str
    ) -> None:
        """A new revision, with an observation of each trial of which something was told."""
        connection.execute(update(studies).where(studies.c.id == study.id).values(revision=revision))
        if told:
            at = self._backend.now(connection)
            rows = [observation(entry, at, by).plain() | {"study_id": study.id} for entry in told]
            connection.execute(insert(observations), rows)

    def observations(self, study: StudyRecord, number: int | None = None) -> tuple[Observation, ...]:
        """Everything told."""
        query = select(observations).where(observations.c.study_id == study.id).order_by(observations.c.id)
        if number is not None:
            query = query.where(observations.c.number == number)
        with self._transaction() as connection:
            self._revision(connection, study)
            return tuple(map(_observation, connection.execute(query).mappings()))

    def keep(self, study: StudyRecord, verdict: Verdict) -> None:
        """Record a verdict, in place of the last one if that is the same but for what another experiment is worth."""
        row = {
            "study_id": study.id,
            "decision": verdict.decision,
            "observations": verdict.observations,
            "expected_loss": verdict.expected_loss,
            "std_error": verdict.std_error,
            "action": plain(verdict.action),
            "headline": verdict.headline,
            "worth": verdict.worth,
            "failed": verdict.failed,
            "comparison": None if verdict.comparison is None else plain(verdict.comparison.plain()),
        }
        newest = select(verdicts).where(verdicts.c.study_id == study.id).order_by(verdicts.c.id.desc()).limit(1)
        with self._transaction(writes=True) as connection:
            self._revision(connection, study, lock=True)
            row["at"] = self._backend.now(connection)
            last = connection.execute(newest).mappings().one_or_none()
            if last is not None and _verdict(last).verdict == replace(verdict, action=plain(verdict.action)):
                connection.execute(update(verdicts).where(verdicts.c.id == last["id"]).values(row))
            else:
                connection.execute(insert(verdicts).values(row))

    def verdicts(self, study: StudyRecord) -> tuple[StoredVerdict, ...]:
        """All verdicts."""
        query = select(verdicts).where(verdicts.c.study_id == study.id).order_by(verdicts.c.id)
        with self._transaction() as connection:
            self._revision(connection, study)
            return tuple(map(_verdict, connection.execute(query).mappings()))

    def latest_verdicts(self) -> dict[StudyKey, StoredVerdict]:
        """The last verdicts, with one query."""
        last = select(func.max(verdicts.c.id)).group_by(verdicts.c.study_id)
        query = select(verdicts, studies.c.name, studies.c.created_at).join(studies).where(verdicts.c.id.in_(last))
        with self._transaction() as connection:
            rows = connection.execute(query).mappings()
            return {StudyKey(row["study_id"], row["name"], row["created_at"]): _verdict(row) for row in rows}

    def turn(self, study: StudyRecord) -> Turn:
        """Whose turn it is."""
        with self._transaction() as connection:
            self._revision(connection, study)
            return _turn(connection, study)

    def change_turn(self, study: StudyRecord, rule: TurnRule) -> Turn:
        """Apply a rule to the turn; as all writers, one after the other."""
        with self._transaction(writes=True) as connection:
            self._revision(connection, study, lock=True)
            old = _turn(connection, study)
            new = rule(old, self._backend.now(connection))
            if new != old:
                first = old == Turn()
                query = insert(turns) if first else update(turns).where(turns.c.study_id == study.id)
                connection.execute(query.values({"study_id": study.id, **vars(new)}))
        return new

    def now(self) -> float:
        """The database's clock."""
        with self._transaction() as connection:
            return self._backend.now(connection)

    def close(self) -> None:
        """Close the connections."""
        self._backend.engine.dispose()


def _named(connection: Connection, name: str) -> RowMapping | None:
    return connection.execute(select(studies).where(studies.c.name == name)).mappings().one_or_none()


def _news(connection: Connection, study: int, revision: int, since: int) -> News:
    if revision == since:
        return News(since, ())
    newer = (trials.c.study_id == study) & (trials.c.revision > since)
    rows = connection.execute(select(trials).where(newer).order_by(trials.c.number)).mappings()
    return News(revision, tuple(map(Entry.of, rows)))


def _turn(connection: Connection, study: StudyRecord) -> Turn:
    columns = (turns.c.number, turns.c.holder, turns.c.since, turns.c.renewals, turns.c.drawn)
    row = connection.execute(select(*columns).where(turns.c.study_id == study.id)).one_or_none()
    return Turn() if row is None else Turn(*row)


def _study(row: RowMapping) -> StudyRecord:
    return StudyRecord(row["id"], row["name"], row["definition"], row["versions"], row["created_at"])


def _observation(row: RowMapping) -> Observation:
    told = {name: row[name] for name in ("number", "at", "by", "note", "cost")}
    return Observation(state=State(row["state"]), measurements=measurements_of(row["measurements"]), **told)


def _verdict(row: RowMapping) -> StoredVerdict:
    names = ("action", "expected_loss", "std_error", "decision", "observations", "headline", "worth", "failed")
    compared = Comparison.of(row["comparison"])
    return StoredVerdict(row["at"], Verdict(**{name: row[name] for name in names}, raw=None, comparison=compared))


def shown(url: URL) -> str:
    """A URL for a person: without the password, wherever it stands in it."""
    return url.set(query={}).render_as_string(hide_password=True)


def plain(value: Any) -> Any:
    """A value as every database keeps it: numbers that are finite, text, lists, and mappings with keys of text."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def as_json(value: Any) -> str:
    """JSON of plain values."""
    return json.dumps(value, allow_nan=False)
