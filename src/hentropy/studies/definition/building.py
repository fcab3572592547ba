"""From a description to the objects of a study."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hentropy.core.decisions import Decision
from hentropy.core.models.own import NamedModel
from hentropy.core.solvers import Assay
from hentropy.core.spaces import DesignSpace
from hentropy.core.spaces.constraints import Condition
from hentropy.errors import Advice, DocPage, HentropyError, InputError, last_line
from hentropy.studies.definition.decisions import Named, OwnClass, option_words
from hentropy.studies.definition.importing import imported
from hentropy.studies.definition.mistakes import mistakes, told
from hentropy.studies.definition.schema import Description
from hentropy.studies.outcomes import Computed, Outcomes
from hentropy.studies.records.outcome import Outcome
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
        return words.made
    if not isinstance(words, OwnClass):
        raise InputError(
            f"the decision of {description.name} was made in Python and has no stored form; pass the decision itself"
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
        raise InputError(told(f"the decision {words.python}", lines), page=DocPage.OWN_DECISION) from None
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
        why = last_line(error)
        raise InputError(f"the decision {words.python} cannot be made: {why}") from error


def model_of(description: Description, trusted: bool, folder: Path | None = None) -> NamedModel | None:
    """The model of one's own that a file names, which runs code: only if trusted, with modules from `folder`."""
    reference = description.model.python
    if reference is None:
        return None
    if not trusted:
        raise InputError(f"the model of {description.name} is {reference}, which runs code", Advice.TRUST)
    function = imported(reference, folder)
    if not callable(function):
        raise InputError(
            f"model.python: {reference} is {function!r}; it must be a function from he.ModelData to a belief"
        )
    return NamedModel(reference, function)


def outcomes_of(description: Description) -> dict[str, Outcome | Computed]:
    """What is measured or computed, by name; nothing where there is the one outcome "value"."""
    return {name: words.made(name) for name, words in description.outcomes.items()}


def assays_of(description: Description) -> dict[str, Assay]:
    """What one experiment may measure, by the name of the assay."""
    return {name: words.made() for name, words in description.assays.items()}


def made_outcomes(description: Description) -> Outcomes:
    """The outcomes on their space, checked."""
    return Outcomes.of(outcomes_of(description), space_of(description), assays_of(description))


def verdict_units_of(description: Description) -> dict[str, str]:
    """The units of the columns of a verdict, as far as words say what is decided."""
    outcomes = made_outcomes(description)
    if isinstance(description.decision, Named):
        return outcomes.verdict_units(outcomes.decided(description.decision.made))
    return outcomes.verdict_units(outcomes.measured)


def stopping_of(description: Description) -> tuple[StoppingRule, ...]:
    """The stopping rules."""
    return description.stop.made(description.cost)


def options_of(description: Description) -> dict[str, Any]:
    """The other options of a study, by the names that `Study` has for them."""
    return {
        "outcomes": outcomes_of(description),
        "assays": assays_of(description),
        "seed": description.seed,
        "first": description.first,
        "hyperparameters": description.model.hyperparameters,
        "failures": description.model.failures,
        "at_least": description.model.at_least,
        "max_seconds": description.solver.max_seconds,
        "max_memory": description.solver.memory,
        "stop_when_exhausted": description.stop.when_exhausted,
        "decide_on": None if description.decide_on is None else description.decide_on.made(),
        "cost": None if description.cost is None else description.cost.of,
        "price": None if description.cost is None else description.cost.price,
        "cost_unit": "" if description.cost is None else description.cost.unit,
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
