"""What a new study file shall say, as far as it is known from what was typed, and its text."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import typer

from hentropy.core.spaces import Integer, Parameter, Real
from hentropy.errors import InputError
from hentropy.studies.definition import CHOICES, asks_for, template, validated
from hentropy.studies.definition.designs import designs_in
from hentropy.studies.definition.reading import read_toml
from hentropy.studies.records.numbers import plain_number, plain_whole

FORM = "NAME=real:LOW:HIGH or NAME=integer:LOW:HIGH, with :log at the end for a logarithmic one"


def read_parameters(texts: Sequence[str]) -> dict[str, Parameter]:
    """Parameters by name."""
    found: dict[str, Parameter] = {}
    for text in texts:
        name, _, words = text.rpartition("=")
        try:
            if not name.strip():
                raise InputError(f"write it as {FORM}")
            if name.strip() in found:
                raise InputError("this name appears twice")
            found[name.strip()] = parameter(words)
        except InputError as error:
            raise typer.BadParameter(f"{text!r}: {error}", param_hint="--parameter") from None
    return found


def parameter(words: str) -> Parameter:
    """A parameter from real:0:10, integer:1:8, or real:0.01:10:log."""
    kind, *bounds = words.split(":")
    log = bounds[2:] == ["log"]
    if kind not in ("real", "integer") or len(bounds) != 2 + log:
        raise InputError(f"write it as {FORM}")
    try:
        if kind == "integer":
            return Integer(plain_whole(bounds[0]), plain_whole(bounds[1]), log)
        return Real(plain_number(bounds[0]), plain_number(bounds[1]), log)
    except InputError:
        raise
    except OverflowError:
        raise InputError("the range is too wide for double precision") from None
    except ValueError:
        whole = "whole numbers" if kind == "integer" else "numbers"
        raise InputError(f"the bounds {bounds[0]} and {bounds[1]} must be {whole}") from None


def read_options(decision: str | None, texts: Sequence[str]) -> dict[str, Any]:
    """Options of a decision by name."""
    asks = {ask.option: ask for choice in CHOICES if choice.decision == decision for ask in choice.asks}
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter(f"{text!r} is not of the form KEY=VALUE", param_hint="--option")
        name = key.strip()
        try:
            found[name] = asks[name].value(value) if name in asks else _plain(value)
        except InputError:
            found[name] = _plain(value)
    return found


def _plain(text: str) -> Any:
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
    pool: str | None = None
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
        options={**{ask.option: ask.default for ask in asks_for(decision, plan.parameters)}, **plan.options},
        objective=plan.objective or "manual",
        function=plan.function or "objective:measure",
        command=plan.command or ("./measure",),
        trials=plan.trials or 60,
    )


def text_of(plan: FilePlan, file: Path) -> str:
    """The study file of a complete plan; an `InputError` if it could not be read again."""
    kinds: dict[str, Literal["manual", "python", "command"]] = {
        "manual": "manual",
        "python": "python",
        "command": "command",
    }
    names, rows = ((), ()) if plan.pool is None else designs_in(file.parent / plan.pool)
    text = template(
        plan.name,
        plan.parameters,
        plan.decision or "",
        kinds[plan.objective or "manual"],
        options=plan.options,
        function=plan.function or "",
        command=plan.command or (),
        pool_file=plan.pool,
        pool_names=names,
        trials=plan.trials or 1,
    )
    if plan.pool is not None:
        validated({**tomllib.loads(text), "pool": {"names": names, "rows": rows}}, str(file))
    return text
