"""`TrialLog`: the trials of a study, in step with their store, and the rules of what may become of them.

It needs the space and the stopping rules of a study, not its decision. So the same rules serve those who compute (a
`Study`) and those who only record (workers, the command line, a server), which run no code of the study.
"""

import getpass
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from itertools import repeat
from typing import Any

from hentropy.core.spaces import DesignSpace, Params, Pool
from hentropy.errors import Advice, InputError, NoSuchTrial, Outdated, StudyError
from hentropy.lazy import Tensor, torch
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import (
    Entry,
    Failed,
    Measurement,
    State,
    StudyRecord,
    ToldCost,
    Trial,
    Values,
    earlier_rows,
    first_left,
    in_state,
)
from hentropy.studies.records.numbers import brief
from hentropy.studies.stopping import StoppingRule
from hentropy.studies.storage import Change, HeldTurn, News, Store
from hentropy.studies.study.left_to_ask import why_none_left
from hentropy.studies.study.rules import (
    NOTHING_LEFT,
    crowded_notes,
    decades_notes,
    ended_before,
    first_result_notes,
    is_exhausted,
    noise_notes,
    reason_to_stop,
    told,
    trials_left,
    violations,
    withdrawn,
)


class TrialLog:
    """All entries by number, as of the last `sync`, which reads what has changed. Safe for threads.

    `first` designs fill the space before the model chooses; `stop` are the rules by which the study has enough.
    `working_since` is since when this process works on it, by its monotonic clock, for rules that limit that.
    """

    def __init__(
        self,
        store: Store,
        record: StudyRecord,
        space: DesignSpace,
        *,
        first: int,
        outcomes: Outcomes | None = None,
        stop: Sequence[StoppingRule] = (),
        stop_when_exhausted: bool = True,
        working_since: float | None = None,
    ) -> None:
        self.store = store
        self.record = record
        self.space = space
        self.first = first
        self.outcomes = Outcomes.of(None, space) if outcomes is None else outcomes
        self.entries: Mapping[int, Entry] = {}
        self.revision = 0
        self._stop = tuple(stop)
        self._stop_when_exhausted = stop_when_exhausted
        self._working_since = working_since
        self._lock = threading.Lock()
        self._rows: dict[int, Tensor] = {}
        self._tried: set[tuple[float, ...]] = set()

    def sync(self) -> None:
        """Read what has changed in the store since the last time."""
        self.take(self.store.news(self.record, self.revision))

    def take(self, news: News) -> None:
        """Know what has changed."""
        with self._lock:
            if news.revision < self.revision:  # of another thread, which has read it earlier
                return
            if news.entries:  # a new dictionary: other threads may be reading the one before
                self.entries = {**self.entries, **{entry.trial.number: entry for entry in news.entries}}
            self.revision = news.revision

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in the order of their numbers."""
        return tuple(entry.trial for entry in self.entries.values())

    def with_id(self, id: str) -> list[int]:
        """The numbers of the trials whose design has an id in the pool; `NoSuchTrial` if none has."""
        self.sync()
        column = self.space.id if isinstance(self.space, Pool) else None
        found = [trial.number for trial in self.trials if column and str(trial.params.get(column)) == id]
        if not found:
            ids = f"no trial has the {column} {brief(id)}; give the number of a trial, or the {column} of its design"
            raise NoSuchTrial(ids if column else self._no_trial(id))
        return found

    def _no_trial(self, number: Any) -> str:
        last = len(self.entries) - 1
        known = f"0 to {last}" if last > 0 else "only 0" if last == 0 else "none yet"
        return f"there is no trial {number!r} in this study (trials: {known})"

    def find(self, trial: Trial | int | str) -> Entry:
        """The entry of a trial of this study: by the trial itself, its number, or the id of its design in a pool.

        Of several trials with one id it is the last.
        """
        named = self.with_id(trial)[-1] if isinstance(trial, str) else trial
        number = named.number if isinstance(named, Trial) else named
        if not isinstance(number, int) or number not in self.entries:
            self.sync()
        if not isinstance(number, int) or number not in self.entries:
            raise NoSuchTrial(self._no_trial(number))
        found = self.entries[number]
        if isinstance(trial, Trial) and trial.params != found.trial.params:
            raise StudyError(
                f"trial {number} of this study has the design {found.trial.params}, not {trial.params};"
                " it seems to come from another study"
            )
        return found

    def add(
        self,
        trials: Sequence[Trial],
        owner: str | None = None,
        lease: float | None = None,
        turn: HeldTurn | None = None,
    ) -> list[Entry]:
        """New trials, asked now in some turn; with an owner, they are its own for `lease` seconds.

        `Outdated` if they are not the next, `Overtaken` if the turn is over.
        """

        def entry(trial: Trial, now: float) -> Entry:
            if trial.state is not State.RUNNING:
                return Entry(trial, now, now)
            return Entry(trial, now, None, owner, None if lease is None else now + lease)

        def new(now: float) -> list[Entry]:
            return [entry(trial, now) for trial in trials]

        self.take(self.store.add(self.record, new, author(), turn, self.revision))
        return [self.entries[trial.number] for trial in trials]

    def change(self, number: int, rule: Change) -> Entry:
        """Apply a rule to one entry, as it stands in the store."""
        self.take(self.store.change(self.record, number, rule, author(), self.revision))
        return self.entries[number]

    def tell(
        self,
        trial: Trial | int | str,
        value: Values | None = None,
        *,
        failed: str | None = None,
        note: str | None = None,
        replace_value: bool = False,
        cost: ToldCost = None,
    ) -> Entry:
        """As `Study.tell`: one rule for all callers."""
        number = self.find(trial).trial.number
        return self.change(number, told(value, failed, note, replace_value, self.outcomes, cost))

    def fail(
        self, trial: Trial | int | str, why: str = "", *, replace_value: bool = False, cost: ToldCost = None
    ) -> Entry:
        """A trial was run and failed."""
        return self.tell(trial, failed=why or "no reason given", replace_value=replace_value, cost=cost)

    def withdraw(self, trial: Trial | int | str, note: str = "") -> Entry:
        """Withdraw a trial that will not be run."""
        return self.change(self.find(trial).trial.number, withdrawn(note))

    def attach(
        self,
        data: Iterable[tuple[Mapping[str, Any], Values | Failed]],
        *,
        again: bool = True,
        cost: ToldCost = None,
        note: str | Sequence[str] = "",
    ) -> list[Entry]:
        """Add data that were there before: all of them, or none if one of them cannot be used.

        `cost` is what each of them cost; `note` is kept with each, or is a note for each.

        Without `again`, data that were attached already are refused: the same file attached twice would count every
        value twice.
        """
        notes = repeat(note) if isinstance(note, str) else note
        ended = [
            ended_before(params, outcome, self.outcomes, cost, kept)
            for (params, outcome), kept in zip(earlier_rows(data), notes, strict=not isinstance(note, str))
        ]
        while True:
            self.sync()
            if not again:
                self._refuse_repeated(ended)
            start = len(self.entries)
            trials = [replace(trial, number=number) for number, trial in enumerate(ended, start=start)]
            try:
                return self.add(trials)
            except Outdated:  # somebody asked meanwhile
                continue

    def _refuse_repeated(self, data: Sequence[Trial]) -> None:
        known = {_identity(trial.params, trial.measurements) for trial in self.trials if trial.origin == "attached"}
        repeats = sum(_identity(trial.params, trial.measurements) in known for trial in data)
        if repeats:
            rows, are = "row" if len(data) == 1 else "rows", "is" if repeats == 1 else "are"
            raise InputError(
                f"of {len(data)} {rows}, {repeats} {are} in the study already, with the same values, so nothing was"
                " attached",
                Advice.ATTACH_AGAIN,
            )

    def load(self, entries: Sequence[Entry]) -> None:
        """Entries that were exported, into a study that has none yet."""
        self.sync()
        try:
            if self.entries:
                raise Outdated("it has trials")
            self.take(self.store.add(self.record, lambda _: entries, author(), since=self.revision))
        except Outdated:
            raise StudyError(f"{self.record.name!r} has trials already; import into a study that has none") from None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the data: attached or single ones, noise contradicted, values over decades."""
        attached = [self.row(trial) for trial in self.trials if trial.origin == "attached"]
        said = violations(self.space, torch.stack(attached)) if attached else ""
        return (
            *((said,) if said else ()),
            *crowded_notes(self.space, [self.row(trial) for trial in in_state(self.trials, State.COMPLETE)]),
            *first_result_notes(self.outcomes, self.trials),
            *noise_notes(self.outcomes, self.trials),
            *decades_notes(self.outcomes, self.trials),
        )

    @property
    def first_left(self) -> int:
        """How many of the first designs are still to be asked."""
        return first_left(self.first, self.trials)

    @property
    def trials_left(self) -> float:
        """How many more trials the rules let begin, with those that run counted as if they had ended."""
        return trials_left(self._stop, self.trials)

    @property
    def exhausted(self) -> bool:
        """Whether the study stops because the last proposal found nothing left to gain, with no results since."""
        return self._stop_when_exhausted and is_exhausted(self.entries.values())

    @property
    def seconds(self) -> float:
        """For how long this process has worked on the study; 0 if it only records."""
        return 0.0 if self._working_since is None else time.monotonic() - self._working_since

    def stopped(self, *, running: bool = False) -> str | None:
        """Why the study should stop, by its rules or because nothing is left to ask; None while it should continue.

        With `running`, trials that run count as if they had ended: why no further one should begin.
        """
        reason = reason_to_stop(self._stop, self.trials, self.seconds, running=running)
        if reason is None and self.exhausted:
            return NOTHING_LEFT
        return reason or self.none_left

    @property
    def none_left(self) -> str | None:
        """Why no design of a pool may be asked any more; None while there are some."""
        return why_none_left(self.outcomes, self.trials, self.row)

    def row(self, trial: Trial) -> Tensor:
        """The design of a trial as a row (d); those of the log are encoded once."""
        if trial.number in self.entries:
            self._encode()
            return self._rows[trial.number]
        return self.space.encode(trial.params)

    @property
    def tried(self) -> set[tuple[float, ...]]:
        """The designs of all trials, as `places` of them."""
        self._encode()
        return self._tried

    def places(self, rows: Tensor) -> list[tuple[float, ...]]:
        """Designs m x d in a form that tells which are the same: those of a box by their place in it, to twelve digits.

        The last digits of a design depend on how many were computed together with it.
        """
        own = rows if self.space.points is not None else self.space.to_unit(rows).mul(1e12).round()
        return [tuple(row) for row in own.tolist()]

    def _encode(self) -> None:
        """The rows of designs that have none yet; not everybody who reads a log needs them."""
        with self._lock:
            new = [entry.trial for number, entry in self.entries.items() if number not in self._rows]
            if new:
                rows = self.space.encode_many([trial.params for trial in new])
                self._rows.update(zip((trial.number for trial in new), rows, strict=True))
                self._tried.update(self.places(rows))


def _identity(params: Params, measured: Mapping[str, Measurement]) -> Any:
    """What tells data apart: the design and the values."""
    return tuple(params.items()), tuple((name, one.value) for name, one in measured.items())


_person: ContextVar[str | None] = ContextVar("person", default=None)


@contextmanager
def written_by(name: str | None) -> Iterator[None]:
    """Within, changes are those of this person; of the account that runs the program if there is no name."""
    token = _person.set(name)
    try:
        yield
    finally:
        _person.reset(token)


def author() -> str:
    """Who writes into a store: the person that is known, else user and machine."""
    return (_person.get() or _account())[:200]


@cache
def _account() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        user = "somebody"
    return f"{user}@{socket.gethostname()}"
