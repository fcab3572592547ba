"""The study file that `hentropy init` writes: every table, with comments, and what may be left out commented out."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hentropy.core.decisions.limits import parse_limits
from hentropy.core.spaces import Parameter, Space, usual_first
from hentropy.core.spaces.parameters import Field as ParameterField
from hentropy.core.spaces.parameters import written
from hentropy.errors import InputError
from hentropy.studies.definition.decisions import DECISIONS
from hentropy.studies.definition.designs import described
from hentropy.studies.definition.importing import nearest
from hentropy.studies.definition.kinds import Option, options_of_class
from hentropy.studies.definition.mistakes import validated
from hentropy.studies.definition.questions import goal_of
from hentropy.studies.outcomes import Outcome


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
    fields = [field for key, parameter in parameters.items() for field in parameter.fields(key)]
    sections = [
        _head(name, usual_first(len(pool_names if pool_file else fields))),
        *([] if pool_file else [_where(fields, where)]),
        _same(same_in_batch, list(parameters) or pool_names),
        _pool(pool_file, pool_id, pool_ignore, pool_choices) if pool_file else _space(parameters),
        *_tables(tables or {}),
        *_decide_on(decide_on or {}),
        _decision(decision, given, parameters),
        _outcomes({**(outcomes or {}), **{each: None for each in named_in(given) if each not in (outcomes or {})}}),
        _cost(cost, cost_unit),
        _MODEL,
        _SOLVER,
        _objective(objective, function, command),
        _STOP.format(trials=toml_value(trials)),
        _STORAGE,
    ]
    text = "\n".join(sections)
    validated(tomllib.loads(text), "the study file")
    return text


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


def _head(name: str, first: int) -> str:
    return f"""\
# A study: what can be run, what will be decided in the end, and when to stop.
version = 1
name = {toml_value(name)}
# seed = 0   # the same seed gives the same proposals
# first = {first}   # how many first designs fill the space before the model chooses; data that are attached count
"""


def _where(fields: Sequence[ParameterField], where: Sequence[str]) -> str:
    """The conditions, or an example commented out."""
    plain = [field for field in fields if re.fullmatch(r"[^\W\d]\w*", field.name)]
    return f"""\
# Conditions that every design satisfies: + - * / **, comparisons, and, or, not, in, tables by option.
{"" if where else "# "}where = {toml_value(where or [_condition(field) for field in plain[:1]])}
"""


def _same(given: Sequence[str], names: Sequence[str]) -> str:
    return f"""\
# What is the same in all experiments that are asked for together, as on one plate or in one oven.
{"" if given else "# "}same_in_batch = {toml_value(given or names[:1])}
"""


def _condition(field: ParameterField) -> str:
    """A condition on a value, as an example."""
    if not field.options:
        return f"{field.name} <= {field.value(field.high)}"
    last = field.options[-1]
    return f"{field.name} != {toml_value(last) if isinstance(last, str) else last}"


def _space(parameters: Mapping[str, Parameter]) -> str:
    lines = [
        "# The parameters of a design. type is real, integer, choice (options without an order), levels (values with",
        "# an order) or fractions (parts of a whole). Numbers may have a step and a unit; log = true: equal ratios",
        "# count as equal steps. A choice may have descriptors: a CSV file with the options first, then numbers.",
    ]
    for name, parameter in parameters.items():
        words = described(parameter)
        lines += [
            f"[space.{_key(name)}]",
            *(f"{key} = {toml_value(value)}" for key, value in words.items() if value is not False),
            "",
        ]
    return "\n".join(lines)


def _tables(tables: Mapping[str, Mapping[Any, float]]) -> list[str]:
    """Numbers by option, a table each."""
    return [
        "\n".join(
            [
                "# Numbers by option that conditions and costs look up.",
                f"[tables.{_key(name)}]",
                *(f"{_key(written(option))} = {toml_value(number)}" for option, number in table.items()),
                "",
            ]
        )
        for name, table in tables.items()
    ]


def _decide_on(values: Mapping[str, Any]) -> list[str]:
    """The values that what is decided has."""
    if not values:
        return []
    lines = [f"{_key(name)} = {toml_value(value)}" for name, value in values.items()]
    return [
        "\n".join(["# Where the decision may lie: among designs with these values.", "[decide_on.values]", *lines, ""])
    ]


def _pool(file: str, id: str | None, ignore: Sequence[str], choices: Sequence[str]) -> str:
    return f"""\
# The designs that can be run: a CSV file with a header, next to this file. Columns of texts are choices.
# id: the column by which you know the designs; ignore: columns that are kept and shown, but not modelled;
# choices: columns whose numbers are options without an order, such as the number of a lot.
[pool]
file = {toml_value(file)}
{"# " if id is None else ""}id = {toml_value(id or "name")}
{"" if ignore else "# "}ignore = {toml_value(list(ignore))}
{"" if choices else "# "}choices = {toml_value(list(choices))}
# levels = {{size = ["small", "large"]}}   # columns whose values have an order, from the least on
# log = []   # columns of numbers of which equal ratios count as equal steps
# units = {{temperature = "°C"}}
"""


def _decision(name: str, given: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> str:
    cls = DECISIONS[name].kind
    goal = goal_of(name)
    lines = [
        "# What will be decided in the end.",
        f"# {name}: {goal.answer if goal else (cls.__doc__ or '').strip().splitlines()[0]}",
        "[decision]",
        f"name = {toml_value(name)}",
    ]
    options = options_of_class(cls)
    unknown = [key for key in given if key not in [option.name for option in options]]
    lines += [f"{_key(key)} = {toml_value(given[key])}" for key in unknown]
    lines += [_option(option, given, parameters) for option in options if option.kind is not None]
    return "\n".join([*lines, ""])


def _option(option: Option, given: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> str:
    """An option as it was given, or commented out with its default or an example."""
    if option.name in given:
        return f"{option.name} = {toml_value(given[option.name])}"
    if option.kind is not None and isinstance(option.kind.example, Mapping):
        example: Any = dict.fromkeys(next(iter(v for v in given.values() if isinstance(v, Mapping)), {}), 1.0)
        return f"# {option.name} = {toml_value(example)}   # a number for each outcome"
    if option.name in EXAMPLES:
        name = str(given.get("outcome", "value"))
        values = {
            "outcome": name,
            "subject_to": [f"{name} >= 0"],
            "fallback": 0.0,
            "among": "measured",
            "confidence": 0.95,
        }
        example = values[option.name]
        return f"# {option.name} = {toml_value(example)}   # {EXAMPLES[option.name]}"
    open_ended = option.required or option.default is None
    example = option.kind.example if open_ended and option.kind is not None else option.default
    if example is None:  # designs
        example = [_first_design(parameters)] if parameters else [{"id": "A-001"}]
    return f"# {option.name} = {toml_value(example)}   # {option.description}"


def _first_design(parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    space = Space(**parameters)
    return space.decode(space.project(space.bounds[0]))


def named_in(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The outcomes that options of a decision name."""
    tables = [name for value in given.values() if isinstance(value, Mapping) for name in value]
    limits = [limit.outcome for limit in parse_limits(given.get("subject_to", ()))]
    return tuple(dict.fromkeys([*([given["outcome"]] if "outcome" in given else []), *tables, *limits]))


def _outcomes(named: Mapping[str, Outcome | None]) -> str:
    """A table for each outcome that was given or that the decision names."""
    lines = [
        "# What experiments measure: a table for each outcome, called as you like. An outcome that follows from the",
        '# design has an expression: computed = "2 * loading".',
    ]
    for name, one in (named or {"value": None}).items():
        lines += [
            f"[outcomes.{_key(name)}]",
            f"unit = {toml_value(one.unit)}" if one and one.unit else '# unit = "%"',
            f"{'' if one and one.log else '# '}log = true   # it is always above 0, and models are of its logarithm",
            *(_stated(word, said, *STATED[word]) for word, said in _said(one or Outcome()).items()),
            "",
        ]
    return "\n".join(lines)


STATED: Mapping[str, tuple[float | str, str]] = {
    "noise": (0.5, "by how much a repeated experiment differs, a standard deviation; 0: not at all; left out: learned"),
    "low": (0, "the least value that it can have"),
    "high": (100, "the greatest"),
    "tails": ("heavy", "a result may be grossly wrong now and then"),
}
"""What may be stated of an outcome, with an example and what it is."""


def _said(one: Outcome) -> dict[str, float | str | None]:
    return {"noise": one.noise, "low": one.low, "high": one.high, "tails": one.tails}


def _stated(word: str, said: float | str | None, example: float | str, what: str) -> str:
    """What was given, or an example commented out."""
    return f"{'# ' * (said is None)}{word} = {toml_value(example if said is None else said)}   # {what}"


EXAMPLES: Mapping[str, str] = {
    "outcome": "the outcome that counts, where there are several",
    "subject_to": "limits on outcomes that every design has to hold",
    "fallback": "what a design is worth that violates a limit; if left out, as little as the worst one measured",
    "among": "recommend only designs that were measured; if left out, any design",
    "confidence": "the probability that the label above needs: the conservative set",
}
"""What options are for whose kind does not tell."""


def _objective(kind: str, function: str, command: Sequence[str]) -> str:
    lines = [
        "# How experiments are run. manual: you run them and tell their values; python: a function; command: a program."
    ]
    lines += ["[objective]", f"type = {toml_value(kind)}"]
    if kind == "python":
        lines.append(f"function = {toml_value(function)}   # module:function, next to this file")
    if kind == "command":
        lines.append(f"command = {toml_value(list(command))}")
    if kind != "manual":
        lines.append("# timeout = 600   # seconds after which an experiment is ended and counts as failed")
    lines += [
        "# retries = 0   # how often a failed experiment is tried again",
        "# lost_retries = 3   # how often an experiment whose worker was lost is tried again",
        "# lease = 60   # seconds after which the experiment of a silent worker is given to another",
        "",
    ]
    return "\n".join(lines)


def _cost(of: float | str | None, unit: str) -> str:
    off = "# " if of is None else ""
    off_unit = "" if unit else "# "
    return f"""\
# What experiments cost: a number, an expression over the parameters, or "told" if each result comes with its cost.
# Experiments are then chosen by gain per cost; with a price, by gain less price times cost.
{off}[cost]
{off}of = {toml_value("told" if of is None else of)}
{off_unit}unit = {toml_value(unit or "hours")}
# price = 0.1   # what a unit of cost is worth, in the units of the loss
"""


_MODEL = """\
# How the model of the outcomes is fitted: map (one model, fast), mixture (several, averaged), families (several kinds,
# averaged by how well they predict) or transformed (also one about transformed outcomes, if skewed), which auto takes.
[model]
# hyperparameters = "auto"
# failures = "learn"   # from failed experiments, where others would fail; "ignore": only keep a little away from them
# at_least = 0.5   # the least probability of success with which a design is decided on
"""

_SOLVER = """\
# Bounds on the search for the next experiment. With max_seconds, proposals depend on the speed of the machine.
[solver]
# max_seconds = 5.0
# max_memory = "32 MiB"
"""

_STOP = """\
# When the study ends: as soon as one of these holds.
[stop]
trials = {trials}
# seconds = 3600   # since the start
# gain_below = 0.01   # the gain of the best experiment is below this number ...
# patience = 1   # ... this many times in a row
# cost = 0.1   # the best experiment is expected to save less than this, in the units of the loss
# spend = 60   # experiments that cost so much in all; needs [cost]
# worth_its_cost = true   # the best experiment is expected to save less than it costs; needs [cost]
# when_exhausted = true   # no experiment is expected to improve the decision any more; false: continue
"""

_STORAGE = """\
# Where the study is kept. Paths of SQLite files are taken from the folder of this file; postgresql://... works too.
[storage]
# url = "sqlite:///hentropy.db"
"""
