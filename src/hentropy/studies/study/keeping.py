"""How a study enters a store and comes out of it: by a definition in words.

What proposals depend on (space, decision, outcomes, assays, seed, first designs, model) must be the same when a study
resumes; what they do not depend on (stopping rules, bounds, objective) may change, and the store then has the newest.
So may the stated noise of outcomes: how well results repeat is often learned only while a study runs.
"""

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from hentropy._version import __version__
from hentropy.core.spaces import DesignSpace, usual_first
from hentropy.errors import StorageError
from hentropy.studies.records import StudyRecord
from hentropy.studies.storage import Store
from hentropy.studies.study.words import LocatedDescription, in_words

MATERIAL = (
    *("space", "where", "tables", "same_in_batch", "pool", "decide_on"),
    *("decision", "outcomes", "assays", "cost", "seed", "first", "model", "own"),
)
"""The parts of a definition that proposals depend on."""

MAX_VALUE_LENGTH = 60
"""The most characters of a value in a message."""

COMPUTED_WITH = ("torch", "gpytorch", "botorch", "numpy", "scipy")
"""The packages whose versions are recorded with a study."""


def enrolled(options: Mapping[str, Any], store: Store, found: StudyRecord | None) -> tuple[StudyRecord, bool]:
    """The study's record in its store, where it was `found` or is made, and whether it is new."""
    definition = in_words(options)
    if found is None:
        try:
            return store.create(options["name"], definition, versions()), True
        except StorageError:  # somebody made it just now
            found = store.find(options["name"])
            if found is None:
                raise
    return _continued(store, found, definition), False


def number_of_first(given: int | None, space: DesignSpace, found: StudyRecord | None) -> int:
    """How many first designs there are: as given, as the study `found` in a store began, or by default."""
    if given is not None:
        return int(given)
    begun = None if found is None else found.definition.get("first")
    return usual_first(len(space.fields)) if begun is None else int(begun)


def _continued(store: Store, found: StudyRecord, definition: Mapping[str, Any]) -> StudyRecord:
    """The record of a study that resumes, if it is the same study."""
    there = LocatedDescription.recorded(found).description.model_dump(mode="json")
    differ = differences(there, definition)
    if differ:
        lines = [line for part in differ for line in _lines(part, there[part], definition[part])]
        raise StorageError(
            f"the study {found.name!r} in {store.place} already exists with a different definition. These parts"
            " differ:\n" + "\n".join(lines) + "\nGive this study another name, or restore the earlier definition."
        )
    if {**found.definition, **definition} == found.definition:
        return found
    # what only a file says, the objective, stays
    return store.redefined(found, lambda stands: {**stands, **definition})


def _lines(path: str, there: Any, here: Any) -> list[str]:
    """Where two definitions differ, one line for each value that does."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        if list(there) != list(here) and there == here:
            return [f"  {path}: the order was {', '.join(there)}, now it is {', '.join(here)}"]
        keys = [*there, *(key for key in here if key not in there)]
        nested = (_lines(f"{path}.{key}", there.get(key), here.get(key)) for key in keys)
        return [line for lines in nested for line in lines]
    return [] if there == here else [f"  {path}: {_brief(there)} there, {_brief(here)} here"]


def _brief(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 3]}..."


def differences(there: Mapping[str, Any], definition: Mapping[str, Any]) -> list[str]:
    """The parts on which proposals depend in which the definition of a study in a store differs from another one."""
    here = {part: _without_noise(definition[part]) if part == "outcomes" else definition[part] for part in MATERIAL}
    there = {**there, "outcomes": _without_noise(there["outcomes"])}
    # as text: the order of the parameters is part of a space
    return [part for part in MATERIAL if json.dumps(there[part]) != json.dumps(here[part])]


def _without_noise(outcomes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Outcomes without their noise and its tails; the default outcome "value" goes without saying."""
    later = ("noise", "tails")
    rest = {
        name: {word: said for word, said in one.items() if word not in later and said not in (None, "", [])}
        for name, one in outcomes.items()
    }
    return {} if rest == {"value": {"log": False, "kind": "number"}} else rest


def versions() -> dict[str, str]:
    """The versions of what proposals are computed with."""
    packages = {name: version(name) for name in COMPUTED_WITH}
    return {"hentropy": __version__, "python": platform.python_version(), **packages}
