"""The study file that `hentropy init` writes: what was given, and what else it may say, commented out.

Its comments are the descriptions of the schema, and its examples those of the schema's fields.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from textwrap import wrap
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel

from hentropy.core.decisions.limits import parse_limits
from hentropy.core.spaces import Parameter, Space, usual_first
from hentropy.core.spaces.parameters import Field as ParameterField
from hentropy.core.spaces.parameters import written
from hentropy.errors import InputError
from hentropy.studies.definition.building import outcome_words
from hentropy.studies.definition.decisions import DECISIONS, options_of_class
from hentropy.studies.definition.designs import PoolWords, parameter_words
from hentropy.studies.definition.importing import nearest
from hentropy.studies.definition.mistakes import validated
from hentropy.studies.definition.parts import (
    OBJECTIVES,
    CostWords,
    ModelWords,
    OutcomeWords,
    SolverWords,
    StopWords,
    StorageWords,
)
from hentropy.studies.definition.questions import goal_of
from hentropy.studies.definition.schema import VERSION, Description
from hentropy.studies.outcomes import Outcome

LINE_LENGTH = 118

KEYS_AT_TOP = ("version", "name", "seed", "first", "where", "same_in_batch")
"""Keys of a study file that belong to no table: TOML wants them first."""


def template(
    name: str,
    parameters: Mapping[str, Parameter],
    decision: str,
    objective: Literal["manual", "python", "command"] = "manual",
    *,
    options: Mapping[str, Any] | None = None,
    function: str = "objective:measure",
    command: Sequence[str] = ("./measure",),
    where: Sequence[str] = (),
    tables: Mapping[str, Mapping[Any, float]] | None = None,
    same_in_batch: Sequence[str] = (),
    pool_file: str | None = None,
    pool_names: Sequence[str] = (),
    pool_id: str | None = None,
    pool_ignore: Sequence[str] = (),
    pool_choices: Sequence[str] = (),
    outcomes: Mapping[str, Outcome] | None = None,
    decide_on: Mapping[str, Any] | None = None,
    cost: float | str | None = None,
    cost_unit: str = "",
    trials: int = 60,
) -> str:
    """The text of a study file in TOML.

    `options` are those of the decision, `outcomes` what experiments measure, `decide_on` values that what is decided
    has. With `pool_file`, designs come from that CSV file with columns `pool_names`, and `parameters` are not written.
    """
    if decision not in DECISIONS:
        raise InputError(f"there is no decision {decision!r}{nearest(decision, DECISIONS)}")
    given = {key: value for key, value in (options or {}).items() if value is not None}
    measured: dict[str, Outcome | None] = {**dict.fromkeys(named_in(given)), **(outcomes or {})}
    pool = {"file": pool_file, "id": pool_id, "ignore": pool_ignore, "choices": pool_choices}
    calls: dict[str, dict[str, Any]] = {"python": {"function": function}, "command": {"command": list(command)}}
    runs = calls.get(objective, {})
    goal = goal_of(decision)
    lines = [
        "# A study: what can be run, what will be decided in the end, and when to stop.",
        *_top(name, parameters, where, same_in_batch, pool_names if pool_file else None),
        *([] if pool_file else _tables("space", {key: parameter_words(one) for key, one in parameters.items()})),
        *(_table("pool", PoolWords, pool) if pool_file else []),
        *_tables("tables", {key: {written(o): n for o, n in one.items()} for key, one in (tables or {}).items()}),
        *_tables("decide_on", {"values": decide_on} if decide_on else {}),
        *_about("decision", f"{decision}: {goal.answer}" if goal else ""),
        *_keys("[decision]", DECISIONS[decision], {"name": decision, **given}, _examples(decision, given, parameters)),
        *_about("outcomes"),
        *_outcomes(measured or {"value": None}),
        *_table("cost", CostWords, {"of": cost, "unit": cost_unit or None}, left_out=cost is None),
        *_table("model", ModelWords),
        *_table("solver", SolverWords),
        *_table("objective", OBJECTIVES[objective], {"type": objective, **runs}),
        *_table("stop", StopWords, {"trials": trials}),
        *_table("storage", StorageWords),
    ]
    text = "\n".join(lines)
    validated(tomllib.loads(text), "the study file")
    return text


def _top(
    name: str,
    parameters: Mapping[str, Parameter],
    where: Sequence[str],
    same_in_batch: Sequence[str],
    columns: Sequence[str] | None,
) -> list[str]:
    """The keys that belong to no table; of a pool with these columns, conditions are not among them."""
    fields = [field for key, parameter in parameters.items() for field in parameter.fields(key)]
    plain = [field for field in fields if re.fullmatch(r"[^\W\d]\w*", field.name)]
    examples = {
        "first": usual_first(len(fields if columns is None else columns)),
        "where": [_condition(field) for field in plain[:1]] if columns is None else None,
        "same_in_batch": [*parameters, *(columns or ())][:1],
    }
    given = {"version": VERSION, "name": name, "where": where, "same_in_batch": same_in_batch}
    return _keys("", Description, given, examples, KEYS_AT_TOP)


def _condition(field: ParameterField) -> str:
    """A condition on a value, as an example."""
    if not field.options:
        return f"{field.name} <= {field.value(field.high)}"
    last = field.options[-1]
    return f"{field.name} != {toml_value(last) if isinstance(last, str) else last}"


def _table(
    part: str, words: type[BaseModel], given: Mapping[str, Any] = MappingProxyType({}), left_out: bool = False
) -> list[str]:
    """A table of the file with its description; all of it commented out where it is `left_out`."""
    lines = _keys(f"[{part}]", words, given)
    return [*_about(part), *(f"# {line}" if left_out and line[:1] not in ("#", "") else line for line in lines)]


def _tables(part: str, given: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The tables of a part that has one for each name."""
    lines = _about(part) if given else []
    for name, words in given.items():
        lines += [f"[{part}.{_key(name)}]"]
        lines += [f"{_key(key)} = {toml_value(value)}" for key, value in words.items() if value is not False]
        lines += [""]
    return lines


def _outcomes(outcomes: Mapping[str, Outcome | None]) -> list[str]:
    """A table for each outcome; what else it may say is explained for the first."""
    lines: list[str] = []
    usual = outcome_words(Outcome())
    for name, one in outcomes.items():
        given = {key: value for key, value in outcome_words(one or Outcome()).items() if value != usual[key]}
        lines += _keys(f"[outcomes.{_key(name)}]", OutcomeWords, given, explained=not lines)
    return lines


def _about(part: str, more: str = "") -> list[str]:
    """What a part of a study is, as comments."""
    return [f"# {line}" for text in (Description.model_fields[part].description, more) for line in _wrapped(text)]


def _keys(
    header: str,
    words: type[BaseModel],
    given: Mapping[str, Any],
    examples: Mapping[str, Any] = MappingProxyType({}),
    only: Sequence[str] = (),
    explained: bool = True,
) -> list[str]:
    """The lines of a table: what is given, then what else it may say, with an example and what it means."""
    given = {key: value for key, value in given.items() if value not in (None, (), [])}
    lines = [header] * bool(header) + [f"{_key(key)} = {toml_value(value)}" for key, value in given.items()]
    for key, field in words.model_fields.items():
        example = examples.get(key, (field.examples or [field.default])[0])
        if key in given or (only and key not in only) or field.is_required() or example in (None, "", (), {}):
            continue
        line = f"# {key} = {toml_value(example)}"
        beside = f"{line}   # {field.description}"
        if not explained or len(beside) <= LINE_LENGTH:
            lines.append(beside if explained else line)
        else:
            lines += [*(f"# {each}" for each in _wrapped(field.description)), line]
    return [*lines, ""]


def _wrapped(text: str | None) -> list[str]:
    return wrap(text or "", LINE_LENGTH - 2)


def _examples(decision: str, given: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Examples for the options of a decision that have no default that tells anything."""
    outcome = str(given.get("outcome", "value"))
    found: dict[str, Any] = {
        "outcome": outcome,
        "subject_to": [f"{outcome} >= 0"],
        "fallback": 0.0,
        "among": "measured",
        "confidence": 0.95,
    }
    for option in options_of_class(DECISIONS[decision].kind):
        if option.name in found or option.kind is None or option.default is not None:
            continue
        if isinstance(option.kind.example, Mapping):
            found[option.name] = dict.fromkeys(next(iter(v for v in given.values() if isinstance(v, Mapping)), {}), 1.0)
        elif option.kind.example is None:
            found[option.name] = [_first_design(parameters)] if parameters else [{"id": "A-001"}]
        else:
            found[option.name] = option.kind.example
    return found


def _first_design(parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    space = Space(**parameters)
    return space.decode(space.project(space.bounds[0]))


def toml_value(value: Any) -> str:
    """A plain value as TOML writes it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(part) for part in value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)} = {toml_value(part)}' for key, part in value.items())}}}"
    # numbers, true, false and texts are written as in JSON, but for one letter that TOML wants escaped
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def named_in(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The outcomes that options of a decision name."""
    tables = [name for value in given.values() if isinstance(value, Mapping) for name in value]
    limits = [limit.outcome for limit in parse_limits(given.get("subject_to", ()))]
    return tuple(dict.fromkeys([*([given["outcome"]] if "outcome" in given else []), *tables, *limits]))
