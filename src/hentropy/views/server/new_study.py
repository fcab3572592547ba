"""A study that somebody describes to the server: only what needs no code and no file of this machine."""

from collections.abc import Mapping
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from hentropy.errors import InputError, StorageError, StudyError
from hentropy.studies.definition import Description, validated
from hentropy.studies.definition.parts import Manual
from hentropy.studies.records import StudyRecord
from hentropy.studies.storage import Store
from hentropy.studies.study import Study
from hentropy.studies.study.keeping import versions
from hentropy.studies.study.words import LocatedDescription
from hentropy.views.server.problems import Busy

WHERE = "this study"
"""How messages call the description."""

MOST_AT_ONCE = 5
"""Definitions that are looked at side by side: a third of the threads, so that the others answer meanwhile."""

READING = BoundedSemaphore(MOST_AT_ONCE)

MOST_FIRST = 1_000
MOST_MEMORY = 2 * 2**30
MOST_PARAMETERS = 50
MOST_POINTS = 50
"""The points of an action: their search takes time with the square of their number."""
MOST_IN_DECISION = {"candidates": 4_096}
MOST_LISTED = 5_000
"""Designs, targets or thresholds that a decision lists."""


def described(words: Any) -> Study:
    """The study with this definition, in memory; an `InputError` names what is wrong with it, or not allowed here.

    What would import, start or read something is refused before anything else is looked at. `Busy` if too many others
    are looked at: to find a design that satisfies many conditions may take minutes.
    """
    if not READING.acquire(blocking=False):
        raise Busy(f"{MOST_AT_ONCE} definitions are being checked, and no more are at once; try again later")
    try:
        return _read(words)
    finally:
        READING.release()


def _read(words: Any) -> Study:
    refused = _refused(words) if isinstance(words, Mapping) else []
    if refused:
        raise InputError("\n".join([f"{WHERE} cannot be created here:", *(f"  {line}" for line in refused)]))
    description = validated(words, WHERE)
    if not isinstance(description.objective, Manual):
        raise InputError(f"{WHERE} cannot be created here: objective.type must be manual")
    large = _too_large(description)
    if large:
        raise InputError("\n".join([f"{WHERE} is too large to be created here; use the command line:", *large]))
    return Study(**LocatedDescription(description, Path()).options(trusted=False))


def _refused(words: Mapping[str, Any]) -> list[str]:
    """Why a definition may not be used, a line for each part of it."""
    decision, model, objective, pool = (_table(words, part) for part in ("decision", "model", "objective", "pool"))
    reasons = {
        "decision.python: a class of one's own runs code; begin such a study with the command line": "python"
        in decision,
        "decision.own: it stands for a decision made in Python; name one of the library's": "own" in decision,
        "model.python: a model of one's own runs code; begin such a study with the command line": model.get("python")
        is not None,
        "own: it stands for parts made in Python; leave it out": "own" in words,
        "objective: a server runs no functions and no programs; leave it out, and tell the values": objective.get(
            "type", "manual"
        )
        != "manual",
        "pool.file: a server reads no files; give names and rows": "file" in pool,
        "storage: a server keeps studies in its own store; leave it out": "storage" in words,
    }
    return [reason for reason, holds in reasons.items() if holds]


def _too_large(description: Description) -> list[str]:
    """What would take more time or memory than a server has for one of many, a line for each."""
    amounts = {
        "first": (description.first, MOST_FIRST),
        "solver.max_memory": (description.solver.memory, MOST_MEMORY),
        "the number of parameters": (description.designs().dim, MOST_PARAMETERS),
    }
    for name, value in description.decision:
        if isinstance(value, tuple):
            amounts[f"the length of decision.{name}"] = (len(value), MOST_LISTED)
        elif isinstance(value, int) and not isinstance(value, bool):
            amounts[f"decision.{name}"] = (value, MOST_IN_DECISION.get(name, MOST_POINTS))
    return [
        f"  {name} is {amount}; at most {most} is allowed"
        for name, (amount, most) in amounts.items()
        if amount is not None and amount > most
    ]


def _table(words: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    found = words.get(part)
    return found if isinstance(found, Mapping) else {}


def begun(store: Store, words: Any) -> StudyRecord:
    """A new study in a store; a `StudyError` if the name is taken."""
    study = described(words)
    name = study.name
    try:
        return store.create(name, study.description.model_dump(mode="json", exclude={"storage"}), versions())
    except StorageError:
        if store.find(name) is None:
            raise
        raise StudyError(f"there is already a study {name!r}; give this one another name") from None
