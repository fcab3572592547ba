"""A study in words and back: the only part of a study that knows of study files.

`hentropy.studies.definition` needs pydantic, which a study that stays in memory does not: it is imported where used.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hentropy.core.decisions import Decision
from hentropy.core.given import MOST_FIRST, SEEDS, check_at_once, check_seed
from hentropy.core.models.gp import TREATMENTS
from hentropy.core.models.success import check_at_least
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError, StudyError
from hentropy.studies.records import StudyRecord
from hentropy.studies.stopping import StoppingRule
from hentropy.studies.storage import Store

if TYPE_CHECKING:
    from hentropy.studies.definition import Description


FAILURES = ("learn", "ignore")


def check_options(space: Any, decision: Any, seed: Any, first: Any, hyperparameters: Any, stop: Any) -> None:
    """Raise an `InputError` for the first option of a study that cannot be used."""
    if not isinstance(space, DesignSpace):
        raise InputError(f"the space is {space!r}; it must be a Space(x=Real(0, 1), ...) or a Pool(rows)")
    if not isinstance(decision, Decision):
        raise InputError(f"{decision!r} is not a decision; make one with he.decision(loss, actions=...)")
    check_seed(seed, below=SEEDS)
    if first is not None:
        check_at_once("first, the number of first designs,", first, MOST_FIRST)
    if hyperparameters not in TREATMENTS:
        raise InputError(f"hyperparameters must be one of {', '.join(TREATMENTS)}, got {hyperparameters!r}")
    if not isinstance(stop, Sequence) or not all(isinstance(rule, StoppingRule) for rule in stop):
        raise InputError(f"stop must be a list of stopping rules, such as [he.Budget(30)], got {stop!r}")


def check_failures(failures: Any, at_least: Any) -> None:
    """Refuse what cannot be done about failures."""
    if failures not in FAILURES:
        raise InputError(f"failures must be one of {', '.join(FAILURES)}, got {failures!r}")
    check_at_least(at_least)


def described(options: Mapping[str, Any]) -> "Description":
    """A study made in Python, in words, by the options of `describe`."""
    from hentropy.studies.definition import describe  # noqa: PLC0415

    return describe(**options)


def in_words(options: Mapping[str, Any]) -> dict[str, Any]:
    """A definition for a store; who evaluates and where it is kept are not part of a study made in Python."""
    return described(options).model_dump(mode="json", exclude={"objective", "storage"})


@dataclass(frozen=True)
class LocatedDescription:
    """A description, and the folder from which its paths and modules are taken."""

    description: "Description"
    folder: Path

    @classmethod
    def read(cls, path: Path) -> "LocatedDescription":
        """Those of a study file."""
        from hentropy.studies.definition import read  # noqa: PLC0415

        return cls(read(path), path.absolute().parent)

    @classmethod
    def recorded(cls, study: StudyRecord, folder: Path | None = None) -> "LocatedDescription":
        """Those of a study in a store, with modules from a folder: by default, the one that this process is in."""
        from hentropy.studies.definition import validated  # noqa: PLC0415

        description = validated(dict(study.definition), f"the study {study.name!r} in its store")
        return cls(description, (folder or Path()).absolute())

    def says(self, study: StudyRecord) -> bool:
        """Whether the record of a study has these words, in this order; it may add the number of first designs."""
        there, here = dict(study.definition), self.description.model_dump(mode="json", exclude={"storage"})
        if here["first"] is None:
            here["first"] = there.get("first")
        return there.keys() == here.keys() and all(json.dumps(there[part]) == json.dumps(here[part]) for part in here)

    @property
    def place(self) -> str:
        """The URL of the store."""
        from hentropy.studies.definition import store_url_of  # noqa: PLC0415

        return store_url_of(self.description, self.folder)

    def options(self, *, trusted: bool, own: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The options of `Study`. What has no words (a decision, a model, ...) must be among `own`."""
        from hentropy.studies.definition import decision_of, model_of, options_of, space_of, stopping_of  # noqa: PLC0415

        given = {part: value for part, value in (own or {}).items() if value is not None}
        missing = [part for part in self.description.own if part not in given]
        if missing:
            wanted = ", ".join(f"{part}=..." for part in missing)
            raise StudyError(
                f"the study {self.description.name!r} was made in Python with parts that have no stored form;"
                f" give {wanted}"
            )
        made: dict[str, Any] = {
            **options_of(self.description),
            "name": self.description.name,
            "space": space_of(self.description, given.pop("where", None)),
            "stop": stopping_of(self.description),
        }
        if "decision" not in given:
            made["decision"] = decision_of(self.description, trusted=trusted, folder=self.folder)
        if "model" not in given:
            made["model"] = model_of(self.description, trusted=trusted, folder=self.folder)
        return made | given

    def with_objective(self, store: Store, study: StudyRecord) -> StudyRecord:
        """The study's record, which also says who evaluates: workers that know only the store need it."""
        objective = self.description.objective.model_dump(mode="json")
        if study.definition.get("objective") == objective:
            return study
        return store.redefined(study, lambda stands: {**stands, "objective": objective})
