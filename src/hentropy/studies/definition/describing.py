"""From the objects of a study to its description, for keeping it; what has no words is named in `own`."""

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import ValidationError

from hentropy.core.decisions import Decision
from hentropy.core.given import is_number
from hentropy.core.models.own import Model, NamedModel
from hentropy.core.solvers import Assay
from hentropy.core.spaces import DesignSpace, Pool, Space
from hentropy.core.spaces.parameters import written
from hentropy.errors import InputError
from hentropy.lazy import Tensor
from hentropy.studies.definition.decisions import DECISIONS
from hentropy.studies.definition.designs import described
from hentropy.studies.definition.importing import split
from hentropy.studies.definition.kinds import options_of_class
from hentropy.studies.definition.mistakes import validated
from hentropy.studies.definition.parts import StopWords
from hentropy.studies.definition.schema import VERSION, Description
from hentropy.studies.outcomes import Computed
from hentropy.studies.records.outcome import Outcome
from hentropy.studies.stopping import Budget, GainBelow, GainBelowCost, StoppingRule, TimeLimit


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
    solver = {"max_seconds": None if max_seconds == math.inf else max_seconds, "max_memory": max_memory}
    words = {
        "version": VERSION,
        "name": name,
        "seed": seed,
        "first": first,
        **_designs(space),
        "decide_on": None if decide_on is None else _decide_on(decide_on),
        "outcomes": _outcomes(outcomes or {}),
        "assays": {name: {"measures": one.measures, "cost": _plain(one.cost)} for name, one in (assays or {}).items()},
        "decision": {"own": repr(decision)} if in_words is None else in_words,
        "cost": {"of": _plain(cost), "unit": unit, "price": price} if in_cost_words else None,
        "model": {
            "hyperparameters": hyperparameters,
            "python": model.reference if isinstance(model, NamedModel) else None,
            "failures": failures,
            "at_least": _plain(at_least),
        },
        "solver": {key: None if value is None else _plain(value) for key, value in solver.items()},
        "stop": {**rules, "when_exhausted": stop_when_exhausted},
        "own": tuple(part for part, is_own in own.items() if is_own),
    }
    return validated(words, f"the study {name!r}")


def _outcomes(outcomes: Mapping[str, Outcome | Computed]) -> dict[str, Any]:
    return {
        name: {"computed": one.expression, "unit": one.unit}
        if isinstance(one, Computed)
        else {
            "unit": one.unit,
            "log": one.log,
            "kind": one.kind,
            "grades": list(one.grades),
            "at_least": one.at_least,
            "noise": _plain(one.noise),
            "low": _plain(one.low),
            "high": _plain(one.high),
            "tails": one.tails,
        }
        for name, one in outcomes.items()
    }


def _decide_on(space: DesignSpace) -> dict[str, Any]:
    if isinstance(space, Space) and space.held:
        return {"values": {name: _plain(value) for name, value in space.held_values.items()}}
    words = _designs(space)
    return {part: words[part] for part in ("space", "where", "tables", "pool") if part in words}


def _designs(space: DesignSpace) -> dict[str, Any]:
    # a class that derives from these may mean something else by its designs
    if type(space) is Pool:
        return {"pool": _pool(space), "tables": _tables(space), "same_in_batch": list(space.same_in_batch)}
    if type(space) is not Space:
        raise InputError(f"a study on {space!r} cannot be described in a study file; use a Space or a Pool")
    return {
        "space": {name: described(parameter) for name, parameter in space.parameters.items()},
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
            options[option.name] = _plain(value)
        except TypeError:
            return None
    return None if {"python", "own"} & set(options) else options


def _importable(cls: type) -> bool:
    """Whether another process finds the class by its module and name."""
    module = sys.modules.get(cls.__module__)
    if module is None or cls.__module__ == "__main__" or vars(module).get(cls.__name__) is not cls:
        return False
    try:
        split(f"{cls.__module__}:{cls.__name__}")
    except InputError:
        return False
    return True


def _plain(value: Any) -> Any:
    """Numbers, texts, lists and tables, as JSON has them; a TypeError for anything else."""
    if isinstance(value, Tensor | np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(part) for key, part in value.items()}
    raise TypeError(f"{value!r} is not a plain value")


def _stop(rules: Sequence[StoppingRule]) -> tuple[dict[str, Any], bool]:
    """Stopping rules in words, and whether these are all of them."""
    words: dict[str, Any] = {}
    taken = 0
    for rule in rules:
        said = _rule(rule)
        if said is None or said.keys() & words.keys():
            continue
        words.update(said)
        taken += 1
    return words, taken == len(rules)


def _rule(rule: StoppingRule) -> dict[str, Any] | None:
    if type(rule) is Budget:
        spend = {} if rule.cost is None else {"spend": rule.cost}
        said: dict[str, Any] = {**({} if rule.trials is None else {"trials": rule.trials}), **spend}
    elif type(rule) is TimeLimit:
        said = {"seconds": rule.seconds}
    elif type(rule) is GainBelow:
        said = {"gain_below": rule.threshold, "patience": rule.patience}
    elif type(rule) is GainBelowCost:
        said = {"worth_its_cost": True} if rule.cost is None else {"cost": rule.cost}
    else:
        return None
    try:
        said = {key: _plain(value) for key, value in said.items()}
        StopWords.model_validate(said)
    except (TypeError, ValidationError):
        return None
    return said
