"""`load_study`: a study from its store alone."""

from collections.abc import Sequence
from pathlib import Path

from hentropy.core.decisions import Decision
from hentropy.core.solvers import Cost, Solver
from hentropy.errors import StudyError
from hentropy.studies.stopping import StoppingRule
from hentropy.studies.storage import Store, open_store
from hentropy.studies.study.study import Study
from hentropy.studies.study.words import LocatedDescription


def load_study(
    name: str,
    storage: str | Path | Store,
    *,
    decision: Decision | None = None,
    solver: Solver | None = None,
    cost: Cost | None = None,
    stop: Sequence[StoppingRule] | None = None,
    trusted: bool = False,
    folder: str | Path = ".",
) -> Study:
    """The study with this name in a store, ready to go on.

    Parts that were made in Python and have no words (a decision of one's own, a solver, a cost, a rule) must be given
    again. A decision that is recorded as `module:Class` is imported only if `trusted`, with modules from `folder`: who
    may write into the store could otherwise have code run here.
    """
    store = open_store(storage)
    found = store.find(name)
    if found is None:
        known = ", ".join(repr(study.name) for study in store.studies()) or "none"
        raise StudyError(f"there is no study {name!r} in {store.place}; there are: {known}")
    words = LocatedDescription.recorded(found, Path(folder))
    own = {"decision": decision, "solver": solver, "cost": cost, "stop": stop}
    return Study(**words.options(trusted=trusted, own=own), storage=store)
