"""`TrialLog`: the trials of a study, in step with their store, and the rules of what may become of them.

It needs the space and the stopping rules of a study, not its decision. So the same rules serve those who compute (a
`Study`) and those who only record (workers, the command line, a server), which run no code of the study.
"""

import getpass
import socket
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hentropy.core.spaces import DesignSpace, Params
from hentropy.errors import Advice, InputError, NoSuchTrial, Outdated, StudyError
from hentropy.studies.records import Entry, State, StudyRecord, Trial, Value
from hentropy.studies.stopping import StoppingRule
from hentropy.studies.storage import Change, Store
from hentropy.studies.study.keeping import number_of_first
from hentropy.studies.study.left_to_ask import NONE_LEFT, open_rows
from hentropy.studies.study.rules import (
    NOTHING_LEFT,
    checked_value,
    first_left,
    is_exhausted,
    reason_to_stop,
    told,
    trials_left,
    violations,
    withdrawn,
)

if TYPE_CHECKING:
    from hentropy.studies.definition import Description


class TrialLog:
    """All entries by number, as of the last `sync`, which reads what has changed. Safe for threads.

    `first` designs fill the space before the model chooses; `stop` are the rules by which the study has enough.
    """

    def __init__(
        self,
        store: Store,
        record: StudyRecord,
        space: DesignSpace,
        *,
        first: int,
        stop: Sequence[StoppingRule] = (),
        stop_when_exhausted: bool = True,
    ) -> None:
        self.store = store
        self.record = record
        self.space = space
        self.first = first
        self.by = author()
        self.entries: Mapping[int, Entry] = {}
        self.revision = 0
        self._stop = tuple(stop)
        self._stop_when_exhausted = stop_when_exhausted
        self._lock = threading.Lock()
        self._rows: dict[int, Tensor] = {}
        self._tried: set[tuple[float, ...]] = set()

    @classmethod
    def recorded(cls, store: Store, record: StudyRecord, description: "Description") -> "TrialLog":
        """That of a study in a store, by the description in its record."""
        from hentropy.studies.definition import space_of, stopping_of  # noqa: PLC0415 (needs pydantic)

        space = space_of(description)
        first = number_of_first(description.first, space, record)
        stop, when_exhausted = stopping_of(description), description.stop.when_exhausted
        return cls(store, record, space, first=first, stop=stop, stop_when_exhausted=when_exhausted)

    def sync(self) -> None:
        """Read what has changed in the store since the last time."""
        with self._lock:
            news = self.store.news(self.record, self.revision)
            if news.entries:  # a new dictionary: other threads may be reading the one before
                self.entries = {**self.entries, **{entry.trial.number: entry for entry in news.entries}}
            self.revision = news.revision

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in the order of their numbers."""
        return tuple(entry.trial for entry in self.entries.values())

    def find(self, trial: Trial | int) -> Entry:
        """The entry of a trial of this study, by the trial itself or its number."""
        number = trial.number if isinstance(trial, Trial) else trial
        if not isinstance(number, int) or number not in self.entries:
            self.sync()
        if not isinstance(number, int) or number not in self.entries:
            last = len(self.entries) - 1
            known = f"0 to {last}" if last > 0 else "only 0" if last == 0 else "none yet"
            raise NoSuchTrial(f"there is no trial {number!r} in this study (trials: {known})")
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
        turn: int | None = None,
    ) -> list[Entry]:
        """New trials, asked now in some turn; with an owner, they are its own for `lease` seconds.

        `Outdated` if they are not the next, `Overtaken` if the turn is over.
        """
        now = self.store.now()
        until = None if lease is None else now + lease
        ends = [None if trial.state is State.RUNNING else now for trial in trials]
        made = [
            Entry(trial, now, end, *((owner, until) if end is None else (None, None)))
            for trial, end in zip(trials, ends, strict=True)
        ]
        self.store.add(self.record, made, self.by, turn)
        self.sync()
        return made

    def change(self, number: int, rule: Change) -> Entry:
        """Apply a rule to one entry, as it stands in the store."""
        entry = self.store.change(self.record, number, rule, self.by)
        self.sync()
        return entry

    def tell(
        self,
        trial: Trial | int,
        value: Value | None = None,
        *,
        failed: str | None = None,
        note: str | None = None,
        replace_value: bool = False,
        cost: float | None = None,
    ) -> Entry:
        """As `Study.tell`: one rule, whoever tells."""
        number = self.find(trial).trial.number
        return self.change(number, told(value, failed, note, replace_value, self.store.now(), cost))

    def withdraw(self, trial: Trial | int, note: str = "") -> Entry:
        """Take back a trial that will not be run after all."""
        return self.change(self.find(trial).trial.number, withdrawn(note, self.store.now()))

    def attach(self, data: Iterable[tuple[Mapping[str, Any], Value]], *, again: bool = True) -> list[Entry]:
        """Add data that were there before: all of them, or none if one of them cannot be used.

        Without `again`, data that were attached already are refused: the same file attached twice would count every
        value twice.
        """
        checked = [(self.space.cleaned(params), *checked_value(value)) for params, value in data]
        while True:
            self.sync()
            if not again:
                self._refuse_repeated([(params, value) for params, value, _ in checked])
            start = len(self.entries)
            trials = [
                Trial(number, design, State.COMPLETE, value, error, origin="attached")
                for number, (design, value, error) in enumerate(checked, start=start)
            ]
            try:
                return self.add(trials)
            except Outdated:  # somebody asked meanwhile
                continue

    def _refuse_repeated(self, data: Sequence[tuple[Params, float]]) -> None:
        known = {(tuple(trial.params.items()), trial.value) for trial in self.trials if trial.origin == "attached"}
        repeats = sum((tuple(params.items()), value) in known for params, value in data)
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
            self.store.add(self.record, entries, self.by)
        except Outdated:
            raise StudyError(f"{self.record.name!r} has trials already; import into a study that has none") from None
        self.sync()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the data that were attached."""
        attached = [self.row(trial) for trial in self.trials if trial.origin == "attached"]
        said = violations(self.space, torch.stack(attached)) if attached else ""
        return (said,) if said else ()

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
        """Whether the study stops because the last proposal found nothing left to gain, and nothing was told since."""
        return self._stop_when_exhausted and is_exhausted(self.entries.values())

    def stopped(self, *, running: bool = False, seconds: float = 0.0) -> str | None:
        """Why the study should stop, by its rules or because nothing is left to ask; None while it should go on.

        With `running`, trials that run count as if they had ended: why no further one should begin. `seconds` is for
        how long a process has worked on it, for rules that limit that.
        """
        trials = self.trials
        reason = reason_to_stop(self._stop, trials, seconds, running=running)
        if reason is None and self.exhausted:
            return NOTHING_LEFT
        rows = None if reason else open_rows(self.space, trials, self.row)
        return NONE_LEFT if rows is not None and not len(rows) else reason

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


def author() -> str:
    """Who writes into a store: user and machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        user = "somebody"
    return f"{user}@{socket.gethostname()}"[:200]
