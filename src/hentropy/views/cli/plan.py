"""What a new study file shall say, as far as it is known, and its text."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from hentropy.core.spaces import Parameter, Real
from hentropy.studies.definition import asks_for, template, validated
from hentropy.studies.definition.designs import designs_in


@dataclass(frozen=True)
class Plan:
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


def completed(plan: Plan) -> Plan:
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


def text_of(plan: Plan, file: Path) -> str:
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
