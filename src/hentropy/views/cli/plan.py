"""What a new study file shall say, as far as it is known from what was typed, and its text."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import typer

from hentropy.core.spaces import Parameter, Real
from hentropy.errors import InputError
from hentropy.studies.definition import asks_for, goal_of, takes, template, validated
from hentropy.studies.definition.reading import designs_in, read_toml
from hentropy.studies.outcomes import Outcome


def read_options(decision: str | None, texts: Sequence[str]) -> dict[str, Any]:
    """Options of a decision by name."""
    goal = goal_of(decision or "")
    asks = {ask.option: ask for ask in goal.asks} if goal else {}
    found: dict[str, Any] = {}
    for name, value in _pairs(texts, "--option"):
        try:
            found[name] = asks[name].value(value) if name in asks else plain(value)
        except InputError:
            found[name] = plain(value)
        if name == "subject_to" and isinstance(found[name], str):  # one limit, as people type it
            found[name] = [found[name].strip()]
    return found


def read_values(texts: Sequence[str], flag: str) -> dict[str, Any]:
    """Values of parameters by name."""
    return {name: plain(value.strip()) for name, value in _pairs(texts, flag)}


def _pairs(texts: Sequence[str], flag: str) -> Iterator[tuple[str, str]]:
    """What stands before and after the first equals sign."""
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            form = "KEY=VALUE" if flag == "--option" else "NAME=VALUE"
            raise typer.BadParameter(f"{text!r} is not of the form {form}", param_hint=flag)
        yield key.strip(), value


def plain(text: str) -> Any:
    """A value as TOML has it; what is none is taken for a text."""
    try:
        return read_toml(f"value = {text}")["value"]
    except (ValueError, KeyError):
        return text


@dataclass(frozen=True)
class FilePlan:
    """The parts of a study file; None, or no parameters, where nothing is decided yet."""

    name: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    where: Sequence[str] | None = None
    tables: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    same_in_batch: Sequence[str] = ()
    pool: str | None = None
    id: str | None = None
    ignore: Sequence[str] = ()
    choices: Sequence[str] = ()
    decide_on: Mapping[str, Any] = field(default_factory=dict)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    cost: float | str | None = None
    cost_unit: str = ""
    decision: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    objective: str | None = None
    function: str | None = None
    command: Sequence[str] | None = None
    trials: int | None = None
    examples: bool = False

    @property
    def has_designs(self) -> bool:
        """Whether it is known what can be run."""
        return bool(self.parameters) or self.pool is not None

    @property
    def is_open(self) -> bool:
        """Whether there is something to ask."""
        return not (self.decision and self.has_designs and self.objective and self.trials)


def completed(plan: FilePlan) -> FilePlan:
    """The plan with a default for all that is open."""
    if not plan.has_designs:
        plan = replace(plan, parameters={"x1": Real(0.0, 1.0), "x2": Real(0.0, 1.0)}, examples=True)
    decision = plan.decision or "maximize"
    return replace(
        plan,
        decision=decision,
        options={**_defaults(plan, decision), **plan.options},
        objective=plan.objective or "manual",
        function=plan.function or "objective:measure",
        command=plan.command or ("./measure",),
        trials=plan.trials or 60,
    )


def _defaults(plan: FilePlan, decision: str) -> dict[str, Any]:
    """The options of a decision that were not given; of several outcomes, the first one counts."""
    asks = asks_for(decision, plan.parameters, scaled=plan.options.get("scaled"))
    found = {ask.option: ask.default for ask in asks}
    several = takes(decision, "outcome") and len(plan.outcomes) > 1
    return {**found, "outcome": next(iter(plan.outcomes))} if several else found


def text_of(plan: FilePlan, file: Path) -> str:
    """The study file of a complete plan; an `InputError` if it could not be read again."""
    kinds: dict[str, Literal["manual", "python", "command"]] = {
        "manual": "manual",
        "python": "python",
        "command": "command",
    }
    read = None if plan.pool is None else designs_in(file.parent / plan.pool, plan.id, plan.ignore, plan.choices)
    text = template(
        plan.name,
        plan.parameters,
        plan.decision or "",
        kinds[plan.objective or "manual"],
        options=plan.options,
        function=plan.function or "",
        command=plan.command or (),
        where=plan.where or (),
        tables=plan.tables,
        same_in_batch=plan.same_in_batch,
        pool_file=plan.pool,
        pool_names=() if read is None else [name for name in read[0] if name not in (plan.id, *plan.ignore)],
        pool_id=plan.id,
        pool_ignore=plan.ignore,
        pool_choices=plan.choices,
        outcomes=plan.outcomes,
        decide_on=plan.decide_on,
        cost=plan.cost,
        cost_unit=plan.cost_unit,
        trials=plan.trials or 1,
    )
    if read is not None:
        words = tomllib.loads(text)
        kept = {key: value for key, value in words["pool"].items() if key != "file"}
        validated({**words, "pool": {**kept, "names": read[0], "rows": read[1]}}, str(file))
    return text
