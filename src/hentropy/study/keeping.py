"""How a study enters a store and comes out of it: by a definition in words.

What proposals depend on (space, decision, seed, first designs, model) must be the same when a study goes on; what they
do not depend on (stopping rules, bounds, objective) may change, and the store then has the newest.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hentropy._version import __version__
from hentropy.clock import Limits
from hentropy.decisions import Decision
from hentropy.errors import StorageError
from hentropy.records import StudyRecord
from hentropy.solvers import Cost, Solver
from hentropy.spaces import DesignSpace
from hentropy.stopping import StoppingRule
from hentropy.storage import MemoryStore, Store, open_store

MATERIAL = ("space", "pool", "decision", "seed", "first", "model", "own")
"""The parts of a definition that proposals depend on."""

COMPUTED_WITH = ("torch", "gpytorch", "botorch", "numpy", "scipy")
"""The packages whose versions are recorded with a study."""


@dataclass(frozen=True)
class Options:
    """What a study is made of."""

    name: str
    space: DesignSpace
    decision: Decision
    seed: int
    first: int
    hyperparameters: str
    stop: Sequence[StoppingRule]
    limits: Limits
    solver: Solver | None
    cost: Cost | None


def enrolled(options: Options, storage: str | Path | Store | None) -> tuple[Store, StudyRecord, bool]:
    """The store, the study's record in it, and whether it is new; without storage, a store of its own in memory."""
    if storage is None:
        store = MemoryStore()
        return store, store.create(options.name, {}, {}), True
    store = open_store(storage)
    definition = _in_words(options)
    found = store.find(options.name)
    if found is None:
        try:
            return store, store.create(options.name, definition, versions()), True
        except StorageError:  # somebody made it just now
            found = store.find(options.name)
            if found is None:
                raise
    return store, _continued(store, found, definition), False


def _continued(store: Store, found: StudyRecord, definition: Mapping[str, Any]) -> StudyRecord:
    """The record of a study that goes on, if it is the same study."""
    differ = [part for part in MATERIAL if found.definition.get(part) != definition.get(part)]
    if differ:
        lines = [f"  {part}: {found.definition.get(part)!r} there, {definition.get(part)!r} here" for part in differ]
        raise StorageError(
            f"the study {found.name!r} in {store.place} is another one; these parts differ:\n"
            + "\n".join(lines)
            + "\nGive this study another name, or the earlier one its definition back."
        )
    newest = {**{part: found.definition[part] for part in ("objective",) if part in found.definition}, **definition}
    return found if newest == found.definition else store.redefine(found, newest)


def versions() -> dict[str, str]:
    """The versions of what proposals are computed with."""
    packages = {name: version(name) for name in COMPUTED_WITH}
    return {"hentropy": __version__, "python": platform.python_version(), **packages}


def _in_words(options: Options) -> dict[str, Any]:
    # pydantic is not needed while everything stays in memory
    from hentropy.description import describe  # noqa: PLC0415

    description = describe(
        options.name,
        options.space,
        options.decision,
        seed=options.seed,
        first=options.first,
        hyperparameters=options.hyperparameters,
        stop=options.stop,
        max_seconds=options.limits.max_seconds,
        max_memory=options.limits.max_memory,
        solver_is_own=options.solver is not None,
        cost_is_own=options.cost is not None,
    )
    return without_objective(description.model_dump(mode="json"))


def without_objective(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A definition less what only a file or a store can say: who evaluates, and where it is kept."""
    return {part: value for part, value in definition.items() if part not in ("objective", "storage")}
