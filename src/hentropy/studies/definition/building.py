"""From a description to the objects of a study."""

import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hentropy.core.decisions import Decision
from hentropy.core.spaces import DesignSpace
from hentropy.core.spaces.constraints import Condition
from hentropy.errors import Advice, HentropyError, InputError
from hentropy.studies.definition.decisions import Named, OwnClass, option_words
from hentropy.studies.definition.importing import imported
from hentropy.studies.definition.mistakes import mistakes, told
from hentropy.studies.definition.schema import Description
from hentropy.studies.stopping import StoppingRule

DATABASE = "hentropy.db"
"""The file in which a study is kept that does not say where."""


def space_of(description: Description, where: Sequence[Condition] | None = None) -> DesignSpace:
    """The space or the pool; with `where`, which has functions among its conditions, in place of those in words."""
    return description.designs() if where is None else description.with_conditions(where)


def decision_of(description: Description, trusted: bool, folder: Path | None = None) -> Decision:
    """The decision. One that is `python = "module:Class"` runs code: only if trusted, with modules from `folder`."""
    words = description.decision
    if isinstance(words, Named):
        return words.made()
    if not isinstance(words, OwnClass):
        raise InputError(
            f"the decision of {description.name} was made in Python and has no words; hand over the decision itself"
        )
    if not trusted:
        raise InputError(f"the decision of {description.name} is {words.python}, which runs code", Advice.TRUST)
    return _own(words, folder, description.designs())


def _own(words: OwnClass, folder: Path | None, space: DesignSpace) -> Decision:
    """An object of a class of the user's own, its options checked against the constructor."""
    cls = imported(words.python, folder)
    if not (isinstance(cls, type) and issubclass(cls, Decision)):
        raise InputError(f"decision.python: {words.python} is {cls!r}; it must be a class that derives from Decision")
    options = option_words(cls)
    try:
        checked = options.model_validate(words.options)
    except ValidationError as error:
        lines = mistakes(error, words.options, options, under=("decision",))
        raise InputError(told(f"the decision {words.python}", lines)) from None
    try:
        made = cls(**dict(checked))
        if not isinstance(made, Decision):
            raise InputError(f"it made {made!r}, not a Decision")
        made.within(space)
        repr(made)  # verdicts show it
        return made
    except HentropyError as error:
        raise InputError(f"the decision {words.python} cannot be made: {error}") from error
    except (Exception, SystemExit) as error:
        why = traceback.format_exception_only(error)[-1].strip()
        raise InputError(f"the decision {words.python} cannot be made: {why}") from error


def stopping_of(description: Description) -> tuple[StoppingRule, ...]:
    """The stopping rules."""
    return description.stop.made(description.cost)


def options_of(description: Description) -> dict[str, Any]:
    """The other options of a study, by the names that `Study` has for them."""
    return {
        "seed": description.seed,
        "first": description.first,
        "hyperparameters": description.model.hyperparameters,
        "max_seconds": description.solver.max_seconds,
        "max_memory": description.solver.memory,
        "stop_when_exhausted": description.stop.when_exhausted,
        "decide_on": None if description.decide_on is None else description.decide_on.made(),
        "cost": None if description.cost is None else description.cost.of,
        "price": None if description.cost is None else description.cost.price,
    }


def store_url_of(description: Description, folder: Path) -> str:
    """Where the study is kept; paths of SQLite files are taken from the folder."""
    url = description.storage.url or f"sqlite:///{DATABASE}"
    scheme, slashes, rest = url.partition("sqlite:///")
    if not slashes or scheme:
        return url
    path, mark, query = rest.partition("?")
    whole = (folder.resolve() / path).as_posix()
    if "?" in whole:
        raise InputError(
            f"the path {whole} has a question mark, which the url of a database cannot have; move the study"
        )
    return f"sqlite:///{whole}{mark}{query}"
