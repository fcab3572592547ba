"""The trials of a study as this process knows them, in step with the store that keeps them."""

import getpass
import socket
from collections.abc import Iterable, Sequence

from torch import Tensor

from hentropy.core.spaces import DesignSpace
from hentropy.errors import StudyError
from hentropy.studies.records import Entry, State, StudyRecord, Trial
from hentropy.studies.storage import Change, Store


class Book:
    """All entries by number, and the rows of their designs; `sync` fetches what others have changed."""

    def __init__(self, store: Store, study: StudyRecord, space: DesignSpace) -> None:
        self.store = store
        self.study = study
        self.by = author()
        self.entries: dict[int, Entry] = {}
        self.tried: set[tuple[float, ...]] = set()
        self._space = space
        self._rows: dict[int, Tensor] = {}
        self._revision = 0
        self.sync()

    def sync(self) -> None:
        """Read what has changed in the store since the last time."""
        news = self.store.news(self.study, self._revision)
        new = [entry.trial for entry in news.entries if entry.trial.number not in self._rows]
        if new:
            rows = self._space.encode_many([trial.params for trial in new])
            self._rows.update(zip((trial.number for trial in new), rows, strict=True))
            self.tried.update(self.places(rows))
        self.entries.update((entry.trial.number, entry) for entry in news.entries)
        self._revision = news.revision

    def places(self, rows: Tensor) -> list[tuple[float, ...]]:
        """Designs m x d in a form that tells which are the same: those of a box by their place in it, to twelve digits.

        The last digits of a design depend on how many were computed together with it.
        """
        own = rows if self._space.points is not None else self._space.to_unit(rows).mul(1e12).round()
        return [tuple(row) for row in own.tolist()]

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in the order of their numbers."""
        return tuple(entry.trial for entry in self.entries.values())

    def row(self, trial: Trial) -> Tensor:
        """The design of a trial as a row (d); those of the book were encoded once."""
        row = self._rows.get(trial.number)
        return self._space.encode(trial.params) if row is None else row

    def add(
        self,
        trials: Sequence[Trial],
        owner: str | None = None,
        lease: float | None = None,
        turn: int | None = None,
    ) -> list[Trial]:
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
        self.store.add(self.study, made, self.by, turn)
        self.sync()
        return list(trials)

    def change(self, number: int, rule: Change) -> Entry:
        """Apply a rule to one entry, as it stands in the store."""
        entry = self.store.change(self.study, number, rule, self.by)
        self.sync()
        return entry

    def find(self, trial: Trial | int) -> Trial:
        """A trial of this study, by itself or its number."""
        number = trial.number if isinstance(trial, Trial) else trial
        if not isinstance(number, int) or number not in self.entries:
            self.sync()
        if not isinstance(number, int) or number not in self.entries:
            last = len(self.entries) - 1
            known = f"0 to {last}" if last > 0 else "only 0" if last == 0 else "none yet"
            raise StudyError(f"trial {number!r} was never asked in this study (trials: {known})")
        found = self.entries[number].trial
        if isinstance(trial, Trial) and trial.params != found.params:
            raise StudyError(
                f"trial {number} of this study has the design {found.params}, not {trial.params};"
                " it seems to come from another study"
            )
        return found


def in_state(trials: Iterable[Trial], *states: State) -> tuple[Trial, ...]:
    """Those of the trials that are in one of some states."""
    return tuple(trial for trial in trials if trial.state in states)


def author() -> str:
    """Who writes into a store: user and machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        user = "somebody"
    return f"{user}@{socket.gethostname()}"[:200]
