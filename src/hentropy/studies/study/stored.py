"""`StoredStudy`: a study in its store, opened once: its record, what that says, and its trials."""

from dataclasses import dataclass
from pathlib import Path

from hentropy.errors import StudyError
from hentropy.studies.records import Entry, StudyRecord
from hentropy.studies.storage import News, Store
from hentropy.studies.study.keeping import number_of_first
from hentropy.studies.study.trial_log import TrialLog
from hentropy.studies.study.words import LocatedDescription


@dataclass(frozen=True)
class StoredStudy:
    """What a store knows of a study; no code that the study names is run. What it says is read no second time."""

    store: Store
    record: StudyRecord
    words: LocatedDescription
    log: TrialLog

    @classmethod
    def of(
        cls, store: Store, record: StudyRecord, file: LocatedDescription | None = None, folder: Path | None = None
    ) -> "StoredStudy":
        """The study of a record, without its trials yet. The words of its `file` serve if the record says the same."""
        from hentropy.studies.definition import made_outcomes, stopping_of  # noqa: PLC0415 (needs pydantic)

        same = file is not None and file.says(record)
        words = file if file is not None and same else LocatedDescription.recorded(record, folder)
        outcomes, description = made_outcomes(words.description), words.description
        log = TrialLog(
            store,
            record,
            outcomes.space,
            first=number_of_first(description.first, outcomes.space, record),
            outcomes=outcomes,
            stop=stopping_of(description),
            stop_when_exhausted=description.stop.when_exhausted,
        )
        return cls(store, record, words, log)

    @classmethod
    def find(
        cls, store: Store, name: str, file: LocatedDescription | None = None, folder: Path | None = None
    ) -> "StoredStudy | None":
        """The study with this name and its trials; None if there is none."""
        found: tuple[StudyRecord, News] | None = store.read(name)
        if found is None:
            return None
        study = cls.of(store, found[0], file, folder)
        study.log.take(found[1])
        return study

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All its trials, in the order of their numbers."""
        return tuple(self.log.entries.values())


def no_study(name: str, store: Store, place: str | None = None) -> StudyError:
    """The error that there is no study with this name in a store, or in the `place` as a person knows it."""
    known = ", ".join(repr(study.name) for study in store.studies()) or "none"
    return StudyError(f"there is no study {name!r} in {place or store.place}; available: {known}")
