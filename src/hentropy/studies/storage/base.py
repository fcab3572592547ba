"""What a store is: studies with their trials, changed only by whole transactions.

Every change of a study's trials increments its revision; a reader at one revision asks for what is newer.
Rules (may this trial be told?) are not the store's: `change` applies a function to the current entry, within the
transaction, and writes what it returns. So there is one implementation of each rule, whatever the store.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hentropy.studies.records import Entry, Observation, StoredVerdict, StudyKey, StudyRecord, Verdict
from hentropy.studies.storage.turns import HeldTurn, Turn, TurnRule, TurnTerms, taken

Change = Callable[[Entry, float], Entry]
"""A rule: from the current entry and the time by the store's clock to the new one; if it raises, nothing is changed."""

Addition = Callable[[float], Sequence[Entry]]
"""New entries, given the time by the store's clock."""

Definition = Mapping[str, Any]
Redefinition = Callable[[Definition], Definition]
"""A rule for the definition of a study."""


@dataclass(frozen=True)
class News:
    """The entries that changed since some revision, in the order of their numbers, and the revision now."""

    revision: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class BackupContents:
    """How much is in a backup."""

    studies: int
    trials: int


@dataclass(frozen=True)
class FormatChange:
    """What an upgrade did: the format before and now; what was written to `backup`, if one was made."""

    before: int
    now: int
    backup: Path
    contents: BackupContents | None


class Store(ABC):
    """Keeps studies. Safe for several threads and, on disk, for several processes."""

    read_only = ""
    """Why nothing can be written here; nothing if it can."""

    turn_terms = TurnTerms()
    """How this user of the store takes turns in asking."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, in words for a person; without passwords."""

    @abstractmethod
    def create(self, name: str, definition: Definition, versions: Mapping[str, str]) -> StudyRecord:
        """A new study; a `StorageError` if the name is taken."""

    @abstractmethod
    def redefine(self, study: StudyRecord, rule: Redefinition) -> StudyRecord:
        """The study with another definition, which the rule makes of the one that stands."""

    def redefined(self, study: StudyRecord, rule: Redefinition) -> StudyRecord:
        """The same; where nothing can be written, the study is only read with the other definition."""
        if self.read_only:
            return replace(study, definition=dict(rule(study.definition)))
        return self.redefine(study, rule)

    @abstractmethod
    def find(self, name: str) -> StudyRecord | None:
        """The study with this name."""

    def read(self, name: str) -> tuple[StudyRecord, News] | None:
        """The study with this name and all its entries, as of one moment."""
        record = self.find(name)
        return None if record is None else (record, self.news(record))

    @abstractmethod
    def studies(self) -> tuple[StudyRecord, ...]:
        """All studies, the oldest first."""

    def revisions(self) -> dict[int, int]:
        """The revisions of all studies, by their ids."""
        return {study.id: self.news(study).revision for study in self.studies()}

    @abstractmethod
    def delete(self, study: StudyRecord) -> None:
        """Remove a study with all that belongs to it."""

    @abstractmethod
    def news(self, study: StudyRecord, since: int = 0) -> News:
        """The entries that changed after revision `since`; all of them for 0."""

    @abstractmethod
    def add(
        self, study: StudyRecord, new: Addition, by: str, turn: HeldTurn | None = None, since: int | None = None
    ) -> News:
        """New trials, whose numbers go on from the last one; `Outdated` if somebody else has added some meanwhile.

        Those that were asked come with the asker's turn, which ends with it; `Overtaken` if it is over already. Gives
        all that changed after revision `since`, or the new entries alone.
        """

    @abstractmethod
    def change(self, study: StudyRecord, number: int, rule: Change, by: str, since: int | None = None) -> News:
        """Apply a rule to one entry. What it changes in state, value or note is kept as an observation.

        Gives all that changed after revision `since`, or that entry alone, changed or not.
        """

    @abstractmethod
    def observations(self, study: StudyRecord, number: int | None = None) -> tuple[Observation, ...]:
        """Everything that was told of one trial or of all, in the order of telling."""

    @abstractmethod
    def keep(self, study: StudyRecord, verdict: Verdict) -> None:
        """Record a verdict, in place of the last one if that is the same but for what another experiment is worth."""

    @abstractmethod
    def verdicts(self, study: StudyRecord) -> tuple[StoredVerdict, ...]:
        """All verdicts recorded, the oldest first."""

    def latest_verdicts(self) -> dict[StudyKey, StoredVerdict]:
        """The verdict that was recorded last of each study that has one."""
        everything = {study.key: self.verdicts(study) for study in self.studies()}
        return {study: found[-1] for study, found in everything.items() if found}

    @abstractmethod
    def turn(self, study: StudyRecord) -> Turn:
        """Whose turn it is to ask."""

    @abstractmethod
    def change_turn(self, study: StudyRecord, rule: TurnRule) -> Turn:
        """Apply a rule to the turn."""

    def asking(self, study: StudyRecord) -> AbstractContextManager[HeldTurn]:
        """The right to ask, which one asker has at a time: the next one shall know what this one asked.

        Telling goes on meanwhile. Who is not heard of loses the right to who waits.
        """
        return taken(lambda: self.turn(study), lambda rule: self.change_turn(study, rule), self.turn_terms)

    @abstractmethod
    def now(self) -> float:
        """The store's clock: leases are measured by it, not by those of the workers' machines."""

    def close(self) -> None:  # noqa: B027 (not every store holds something)
        """Let go of files and connections."""


def told_anew(old: Entry | None, new: Entry) -> bool:
    """Whether a change of an entry is worth an observation: a new state, value or note, not a lease."""
    if old is None:
        return bool(new.trial.measurements) or new.ended_at is not None
    before, after = old.trial, new.trial
    return (before.state, before.measurements, before.note, before.cost) != (
        after.state,
        after.measurements,
        after.note,
        after.cost,
    )


def observation(entry: Entry, at: float, by: str) -> Observation:
    """What an entry says of its trial now."""
    trial = entry.trial
    return Observation(trial.number, at, by, trial.state, trial.measurements, trial.note, trial.cost)
