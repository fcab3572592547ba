"""From a description to the objects of a study, and back; what has no words is named in `own`."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hentropy.core.decisions import Decision
from hentropy.core.given import is_number
from hentropy.core.models.own import Model, NamedModel
from hentropy.core.solvers import Assay
from hentropy.core.spaces import DesignSpace, Pool, Space
from hentropy.core.spaces.constraints import Condition
from hentropy.core.spaces.parameters import written
from hentropy.errors import Advice, DocPage, HentropyError, InputError, last_line
from hentropy.loading import loaded
from hentropy.studies.definition.base import plain
from hentropy.studies.definition.decisions import DECISIONS, Named, OwnClass, option_words, options_of_class
from hentropy.studies.definition.designs import parameter_words
from hentropy.studies.definition.importing import imported, split
from hentropy.studies.definition.mistakes import mistakes, told, validated
from hentropy.studies.definition.parts import rule_words
from hentropy.studies.definition.schema import VERSION, Description
from hentropy.studies.outcomes import Computed, Outcomes
from hentropy.studies.records.outcome import Outcome
from hentropy.studies.stopping import Budget, StoppingRule

DATABASE = "hentropy.db"
"""The file in which a study is kept that does not say where."""


def space_of(description: Description, where: Sequence[Condition] | None = None) -> DesignSpace:
    """The space or the pool; with `where`, which has functions among its conditions, in place of those in words."""
    return description.designs() if where is None else description.with_conditions(where)


def decision_of(description: Description, trusted: bool, folder: Path | None = None) -> Decision:
    """The decision. One that is `python = "module:Class"` runs code: only if trusted, with modules from `folder`."""
    words = description.decision
    if isinstance(words, Named):
        return words.instance
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
    return {name: words.build(name) for name, words in description.outcomes.items()}


def assays_of(description: Description) -> dict[str, Assay]:
    """What one experiment may measure, by the name of the assay."""
    return {name: words.build() for name, words in description.assays.items()}


def made_outcomes(description: Description) -> Outcomes:
    """The outcomes on their space, checked."""
    return Outcomes.of(outcomes_of(description), space_of(description), assays_of(description))


def verdict_units_of(description: Description) -> dict[str, str]:
    """The units of the columns of a verdict, as far as words say what is decided."""
    outcomes = made_outcomes(description)
    if isinstance(description.decision, Named):
        return outcomes.verdict_units(outcomes.decided(description.decision.instance))
    return outcomes.verdict_units(outcomes.measured)


def stopping_of(description: Description) -> tuple[StoppingRule, ...]:
    """The stopping rules."""
    return description.stop.build(description.cost)


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
        "decide_on": None if description.decide_on is None else description.decide_on.build(),
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


def describe(
    name: str,
    space: DesignSpace,
    decision: Decision,
    *,
    outcomes: Mapping[str, Outcome | Computed] | None = None,
    assays: Mapping[str, Assay] | None = None,
    seed: int = 0,
    first: int | None = None,
    hyperparameters: str = "auto",
    stop: Sequence[StoppingRule] = (),
    max_seconds: float | None = None,
    max_memory: int | None = None,
    solver_is_own: bool = False,
    cost: Any = None,
    price: float | None = None,
    cost_unit: str = "",
    decide_on: DesignSpace | None = None,
    stop_when_exhausted: bool = True,
    failures: str = "learn",
    at_least: float = 0.5,
    model: Model | None = None,
) -> Description:
    """A study made in Python, in words; parts that have none are named in `own` and have to be handed over again."""
    in_words = _decision(decision)
    rules, all_rules = _stop(stop)
    unit = cost_unit or next((rule.unit for rule in stop if isinstance(rule, Budget) and rule.unit), "")
    own = {
        "decision": in_words is None,
        "model": model is not None and not isinstance(model, NamedModel),
        "solver": solver_is_own,
        "cost": callable(cost),
        "stop": not all_rules,
        "where": isinstance(space, Space) and any(callable(condition) for condition in space.where),
    }
    in_cost_words = not callable(cost) and (cost is not None or (bool(assays) and bool(unit or price)))
    words = {
        "version": VERSION,
        "name": name,
        "seed": seed,
        "first": first,
        **_designs(space),
        "decide_on": None if decide_on is None else _decide_on(decide_on),
        "outcomes": {key: outcome_words(one) for key, one in (outcomes or {}).items()},
        "assays": {key: {"measures": one.measures, "cost": plain(one.cost)} for key, one in (assays or {}).items()},
        "decision": {"own": repr(decision)} if in_words is None else in_words,
        "cost": {"of": plain(cost), "unit": unit, "price": price} if in_cost_words else None,
        "model": {
            "hyperparameters": hyperparameters,
            "python": model.reference if isinstance(model, NamedModel) else None,
            "failures": failures,
            "at_least": plain(at_least),
        },
        "solver": {
            "max_seconds": None if max_seconds == math.inf else plain(max_seconds),
            "max_memory": plain(max_memory),
        },
        "stop": {**rules, "when_exhausted": stop_when_exhausted},
        "own": tuple(part for part, is_own in own.items() if is_own),
    }
    return validated(words, f"the study {name!r}")


def outcome_words(one: Outcome | Computed) -> dict[str, Any]:
    """An outcome in words."""
    if isinstance(one, Computed):
        return {"computed": one.expression, "unit": one.unit}
    return {key: plain(value) for key, value in vars(one).items()}


def _decide_on(space: DesignSpace) -> dict[str, Any]:
    if isinstance(space, Space) and space.held:
        return {"values": {name: plain(value) for name, value in space.held_values.items()}}
    words = _designs(space)
    return {part: words[part] for part in ("space", "where", "tables", "pool") if part in words}


def _designs(space: DesignSpace) -> dict[str, Any]:
    # a class that derives from these may mean something else by its designs
    if type(space) is Pool:
        return {"pool": _pool(space), "tables": _tables(space), "same_in_batch": list(space.same_in_batch)}
    if type(space) is not Space:
        raise InputError(f"a study on {space!r} cannot be described in a study file; use a Space or a Pool")
    return {
        "space": {name: parameter_words(parameter) for name, parameter in space.parameters.items()},
        "where": [condition for condition in space.where if isinstance(condition, str)],
        "tables": _tables(space),
        "same_in_batch": list(space.same_in_batch),
    }


def _tables(space: Space | Pool) -> dict[str, dict[str, float]]:
    return {
        name: {written(option): float(number) for option, number in table.items()}
        for name, table in space.tables.items()
    }


def _pool(pool: Pool) -> dict[str, Any]:
    """A pool as the table that it was made from."""
    columns: dict[str, Sequence[Any]] = dict(pool.shown)
    for name, column in pool.free_columns(pool.points).items():
        values = column.values.tolist()
        columns[name] = values if column.levels is None else [column.levels.options[i] for i in values]
    rows = list(zip(*(columns[name] for name in pool.names), strict=True))
    return {
        "id": pool.id,
        "ignore": list(pool.ignored),
        "choices": [f.name for f in pool.fields if not f.ordered and any(map(is_number, f.options))],
        "levels": {f.name: list(f.options) for f in pool.fields if f.ordered},
        "log": [f.name for f in pool.fields if f.log],
        "units": {f.name: f.unit for f in pool.fields if f.unit},
        "names": list(pool.names),
        "rows": rows,
    }


def _decision(decision: Decision) -> dict[str, Any] | None:
    """A decision in words: by its name, or by the place of its class; None where it has none."""
    cls = type(decision)
    name = next((name for name, words in DECISIONS.items() if words.kind is cls), None)
    options = _options(decision)
    if options is None:
        return None
    if name is None:
        return {"python": f"{cls.__module__}:{cls.__name__}", **options} if _importable(cls) else None
    try:
        DECISIONS[name].model_validate({"name": name, **options})
    except ValidationError:  # such as an infinite cap
        return None
    return {"name": name, **options}


def _options(decision: Decision) -> dict[str, Any] | None:
    """What its constructor was given, if all of it is kept in attributes of the same names and is plain."""
    kept, options = vars(decision) | decision.given, {}
    for option in options_of_class(type(decision)):
        if option.name not in kept:
            return None
        value = kept[option.name]
        if option.kind is None and value is option.default:
            continue
        try:
            options[option.name] = plain(value)
        except TypeError:
            return None
    return None if {"python", "own"} & set(options) else options


def _importable(cls: type) -> bool:
    """Whether another process finds the class by its module and name."""
    found = any(vars(module).get(cls.__name__) is cls for module in loaded(cls.__module__))
    if not found or cls.__module__ == "__main__":
        return False
    try:
        split(f"{cls.__module__}:{cls.__name__}")
    except InputError:
        return False
    return True


def _stop(rules: Sequence[StoppingRule]) -> tuple[dict[str, Any], bool]:
    """Stopping rules in words, and whether these are all of them: of two that have the same words, the first."""
    words: dict[str, Any] = {}
    taken = 0
    for rule in rules:
        own = rule_words(rule)
        if own is not None and not own.keys() & words.keys():
            words |= own
            taken += 1
    return words, taken == len(rules)
