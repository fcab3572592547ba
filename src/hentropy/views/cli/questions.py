"""The questions that `hentropy init` asks on a terminal, for what is still open."""

import math
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from hentropy.core.decisions.limits import parse_limits
from hentropy.core.spaces import Integer, Parameter, Real, Space
from hentropy.core.spaces.parameters import nearest, written
from hentropy.errors import InputError
from hentropy.studies.definition import ASKED, CHOICES, REPEATED, WHO, Description, Question, asks_for, takes
from hentropy.studies.definition.importing import split
from hentropy.studies.definition.template import named_in
from hentropy.studies.outcomes import Outcome
from hentropy.studies.records.numbers import plain_number
from hentropy.studies.setting import Costs
from hentropy.views.cli.plan import FilePlan, plain
from hentropy.views.cli.printing import console, say
from hentropy.views.cli.typed import outcomes, parameter
from hentropy.views.text.formats import listed, number
from hentropy.views.text.sentences import (
    cost_sentences,
    decide_on_sentences,
    decision_sentence,
    objective_sentence,
    outcome_sentences,
    stop_sentence,
    values_text,
)

T = TypeVar("T")


def questioned(plan: FilePlan, file: Path) -> FilePlan:
    """The plan with what a person answers."""
    say(f"A few questions for {file}; an empty answer takes what is in [brackets].")
    open_options = plan.decision is None
    if plan.decision is None:
        plan = replace(plan, decision=_decision())
    if not plan.has_designs:
        plan = replace(plan, parameters=_parameters())
        plan = _conditions(plan) if plan.where is None else plan
    if open_options:
        plan = _options(plan)
    if answered("Several outcomes, limits, plates, costs, or a decision about some designs only?", "no", _yes):
        plan = _more(plan)
    plan = _noise(plan)
    if plan.objective is None:
        plan = _objective(plan)
    if plan.trials is None:
        plan = replace(plan, trials=answered("How many experiments at most?", "60", _count))
    return plan


def answered(question: str, default: str, read: Callable[[str], T]) -> T:
    """An answer that can be read; one that cannot is asked for again."""
    hint = f" [{default}]" if default else ""
    while True:
        text = console().input(f"{question}{hint} ", markup=False).strip()
        try:
            return read(text or default)
        except InputError as error:
            say(f"  {error}", "yellow")


def chosen(question: str, answers: tuple[str, ...]) -> int:
    """The position of one of some answers."""
    say(question, "bold")
    for position, answer in enumerate(answers, start=1):
        say(f"  {position:2}  {answer}")

    def read(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= len(answers):
            raise InputError(f"{text!r} is not a number from 1 to {len(answers)}")
        return int(text) - 1

    return answered("Number?", "1", read)


def _decision() -> str:
    return CHOICES[chosen(ASKED["goal"], tuple(choice.answer for choice in CHOICES))].decision


def _options(plan: FilePlan) -> FilePlan:
    """The options of the decision; their defaults go with the parameters, which are known by now."""
    asks = asks_for(plan.decision or "", plan.parameters)
    if asks:
        say("More on what you will decide.", "bold")
    found: dict[str, Any] = {}
    for position in range(len(asks)):
        # whether distances are scaled is asked before the distance itself
        ask = asks_for(plan.decision or "", plan.parameters, found.get("scaled"))[position]
        found[ask.option] = _option(ask)
    return replace(plan, options={**found, **plan.options})


def _option(ask: Question) -> Any:
    if ask.words:
        return ask.words[chosen(ask.question, ask.words)]
    return answered(ask.question, _default(ask), ask.value)


def _default(ask: Question) -> str:
    if ask.default is None:
        return ""
    if isinstance(ask.default, list):
        return " ".join(number(value) for value in ask.default)
    return {True: "yes", False: "no"}[ask.default] if isinstance(ask.default, bool) else str(ask.default)


def _parameters() -> dict[str, Parameter]:
    say(f"{ASKED['vary']} One parameter after the other.", "bold")
    found: dict[str, Parameter] = {}

    def named(text: str) -> tuple[str, Parameter | None]:
        name, sign, values = (part.strip() for part in text.partition("="))
        if name in found:
            raise InputError(f"there is a parameter {name} already")
        if sign and not name:
            raise InputError(f"{text!r} begins without a name; write it such as t = 20 to 90 °C, or the name alone")
        return name, parameter(values) if sign else None

    while True:
        question = "Another parameter (its name, or nothing if that is all)?" if found else "Its name?"
        name, said = answered(question, "" if found else "x1", named)
        if not name:
            return found
        found[name] = _parameter(said or answered(f"  Its values ({EXAMPLES})?", "0 to 1", parameter))


def _parameter(said: Parameter) -> Parameter:
    """What its values alone do not say: whether they are whole, or go by factors."""
    if not isinstance(said, Real) or said.step is not None or said.log:
        return said
    low, high = said.low, said.high
    whole = low == int(low) and high == int(high) and answered("  Only whole numbers?", "no", _yes)
    log = low > 0 and high / low >= 100 and answered("  Does it go by factors rather than steps?", "yes", _yes)
    return Integer(int(low), int(high), log, unit=said.unit) if whole else Real(low, high, log, unit=said.unit)


EXAMPLES = "such as 20 to 120 °C, or options: THF, water, or levels: 0.5, 1, 2 mol%, or parts: A + B"

_LOOKED_UP = re.compile(r"([^\W\d]\w*)\s*\[\s*([^\W\d]\w*)\s*\]")


def _conditions(plan: FilePlan) -> FilePlan:
    """Conditions on designs, one after the other, and the numbers of the tables that they look up."""
    while True:
        said = answered("A condition on them, such as a + b <= 1 (nothing if that is all)?", "", str.strip)
        if not said:
            return plan
        tables = _tables(plan, said)
        where = [*(plan.where or ()), said]
        try:
            Space(**plan.parameters, where=where, tables=tables)
        except InputError as error:
            say(f"  {error}", "yellow")
        else:
            plan = replace(plan, where=where, tables=tables)


def _tables(plan: FilePlan, said: str) -> dict[str, Mapping[str, float]]:
    """The tables that are known, and the numbers of those that an expression looks up."""
    tables = dict(plan.tables)
    for name, looked_up in _LOOKED_UP.findall(said):
        known = plan.parameters.get(looked_up)
        if name not in tables and known is not None:
            options = [written(option) for field in known.fields(looked_up) for option in field.options]
            tables[name] = {each: answered(f"  {name} of {each}?", "", _number) for each in options}
    return tables


def _more(plan: FilePlan) -> FilePlan:
    """What many studies do without; what flags have said is not asked for."""
    if not plan.outcomes:
        said = answered("What is measured, such as yield %, impurity % log (nothing: one value)?", "", outcomes)
        plan = replace(plan, outcomes=said)
    if takes(plan.decision or "", "subject_to") and "subject_to" not in plan.options:
        limits = answered(f"{ASKED['limits']} Such as impurity <= 3, colour <= 2 (nothing: none).", "", _limits(plan))
        plan = replace(plan, options={**plan.options, **({"subject_to": limits} if limits else {})})
    if not plan.same_in_batch:
        question = "What is the same in all experiments of a batch, as on one plate (nothing: all may differ)?"
        plan = replace(plan, same_in_batch=answered(question, "", _shared(plan)))
    if plan.cost is None:
        plan = _cost(plan)
    if not plan.decide_on:
        question = "Values that the recommended design must have, such as fidelity = 1 (nothing: any)?"
        plan = replace(plan, decide_on=answered(question, "", _held(plan)))
    return plan


def _noise(plan: FilePlan) -> FilePlan:
    """By how much results differ, for each outcome of which it is not said."""
    names = list(dict.fromkeys([*plan.outcomes, *named_in(plan.options)])) or ["value"]
    known = {name: plan.outcomes.get(name, Outcome()) for name in names}
    for name, one in known.items():
        if one.noise is None:
            what = REPEATED.question if len(known) == 1 else REPEATED.question.replace("the result", name)
            unit = f" in {one.unit}" if one.unit else ""
            answers = f"0: not at all; or about how much{unit}, a standard deviation; nothing if you do not know"
            known[name] = replace(one, noise=answered(f"{what} ({answers})", "", REPEATED.value))
    stated = any(one.noise is not None for one in known.values())
    return replace(plan, outcomes=known) if stated else plan


def _limits(plan: FilePlan) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        found = _parts(text)
        known = [*plan.outcomes] or ["value"]
        for limit in parse_limits(found):
            if limit.outcome not in known:
                raise InputError(f"nothing called {limit.outcome} is measured; {nearest(limit.outcome, known)}")
        return found

    return read


def _shared(plan: FilePlan) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        found = _parts(text)
        if plan.parameters:
            Space(**plan.parameters, same_in_batch=found)
        return found

    return read


def _cost(plan: FilePlan) -> FilePlan:
    question = "What does an experiment cost: a number, an expression, or told (nothing: all the same)?"
    while True:
        said = answered(question, "", lambda text: plain(text) if text else None)
        tables = _tables(plan, said) if isinstance(said, str) else plan.tables
        try:
            if plan.parameters and said is not None:
                Costs.of(said, None, Space(**plan.parameters, where=plan.where or (), tables=tables))
        except InputError as error:
            say(f"  {error}", "yellow")
        else:
            return replace(plan, cost=said, tables=tables)


def _held(plan: FilePlan) -> Callable[[str], dict[str, Any]]:
    def read(text: str) -> dict[str, Any]:
        pairs = [part.partition("=") for part in _parts(text)]
        if not all(equals and name.strip() for name, equals, _ in pairs):
            raise InputError(f"{text!r} is not understood; write it as fidelity = 1, or nothing")
        found = {name.strip(): plain(value.strip()) for name, _, value in pairs}
        if plan.parameters:
            Space(**plan.parameters, where=plan.where or (), tables=plan.tables).fixed(**found)
        return found

    return read


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _objective(plan: FilePlan) -> FilePlan:
    kind = tuple(WHO)[chosen(ASKED["who"], tuple(WHO.values()))]
    if kind == "python":
        plan = replace(plan, function=answered("  Which function, as module:function?", "objective:measure", _function))
    if kind == "command":
        plan = replace(plan, command=answered("  Which program, with its arguments?", "./measure", shlex.split))
    return replace(plan, objective=kind)


def _number(text: str) -> float:
    try:
        value = plain_number(text)
    except ValueError:
        raise InputError(f"{text!r} is not a number") from None
    if not math.isfinite(value):
        raise InputError(f"{text!r} is not a finite number")
    return value


def _function(text: str) -> str:
    split(text)
    return text


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _yes(text: str) -> bool:
    answer: Any = Question("", "", False, "yes or no").value(text)
    return bool(answer)


def confirmed(description: Description) -> bool:
    """Whether what will be written is what was meant."""
    say("This is what the file will say:", "bold")
    for name, words in (description.space or {}).items():
        say(f"  {name}: {words.type}, {values_text(words.build())}.")
    if description.pool is not None:
        say(f"  Designs come from {description.pool.file}.")
    for condition in description.where:
        say(f"  Every design satisfies {condition}.")
    if description.same_in_batch:
        say(f"  All experiments of a batch have the same {listed(description.same_in_batch)}.")
    for more in (outcome_sentences, cost_sentences, decide_on_sentences):
        for line in more(description):
            say(f"  {line}")
    for sentence in (decision_sentence, objective_sentence, stop_sentence):
        say(f"  {sentence(description)}")
    return answered("Write it?", "yes", _yes)
