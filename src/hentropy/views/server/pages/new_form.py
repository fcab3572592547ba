"""The form *New study*: from what was typed to a definition, with every mistake at the field it belongs to.

A study that is made here is run by people: there is no field for code, programs or files.
"""

import secrets
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import ValidationError

from hentropy.core.decisions.limits import parse_limits
from hentropy.core.spaces import Parameter
from hentropy.errors import InputError
from hentropy.studies.definition import CHOICES, Goal, Question, asks_for, goal_of, takes
from hentropy.studies.definition.designs import PARAMETERS
from hentropy.studies.definition.importing import Place
from hentropy.studies.definition.mistakes import misplaced
from hentropy.studies.definition.parts import OutcomeWords
from hentropy.studies.definition.reading import designs_from
from hentropy.studies.definition.schema import TAKEN
from hentropy.studies.records.csv_tables import number_in
from hentropy.views.server.pages.forms import WHOLE, Form
from hentropy.views.server.pages.new_rows import BEGIN, GROUPS, Row, RowKind, all_rows, rows_in, text_in, whole_in
from hentropy.views.server.problems import sentence
from hentropy.views.text.formats import number
from hentropy.views.text.typed_values import typed_items, typed_table

SIZED = ("cap", "weight")
"""Settings whose defaults follow from the sizes of the parameters."""


@dataclass(frozen=True)
class SettingField:
    """A field for an option of the decision: `words` to choose from, or what may be typed."""

    key: str
    label: str
    hint: str
    required: bool
    words: tuple[str, ...] = ()


@dataclass
class Draft:
    """What a form says so far: a definition, the field of each of its keys, and mistakes by field, in their order."""

    typed: Mapping[str, str]
    words: dict[str, Any] = field(default_factory=dict)
    fields: dict[Place, str] = field(default_factory=dict)
    mistakes: dict[str, str] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    @property
    def goal(self) -> Goal:
        """What will be decided."""
        return goal_of(self.typed.get("goal", "")) or CHOICES[0]

    def text(self, key: str) -> str:
        """What was typed into a field."""
        return self.typed.get(key, "").strip()

    def read(self, key: str, place: Place, read: Callable[[str], Any], required: bool = False) -> Any:
        """The value of a field for a place of the definition; None where nothing is typed, or a mistake."""
        self.seen.append(key)
        self.fields[place] = key
        text = self.text(key)
        if not text and not required:
            return None
        try:
            return read(text)
        except InputError as error:
            self.mistakes.setdefault(key, sentence(str(error)))
            return None

    def put(self, place: Place, value: Any) -> None:
        """A value in its place of the definition, unless there is none."""
        if value is None:
            return
        here: dict[Any, Any] = self.words
        for key in place[:-1]:
            here = here.setdefault(key, {})
        here[place[-1]] = value

    def take(self, key: str, place: Place, read: Callable[[str], Any], required: bool = False) -> None:
        """The value of a field in its place of the definition."""
        self.put(place, self.read(key, place, read, required))

    def form(self) -> Form:
        """The form as it is shown again; the keyboard goes on at the first mistake."""
        focus = next((key for key in self.seen if key in self.mistakes), "")
        return Form(self.typed, self.mistakes, focus=focus)


def drafted(typed: Mapping[str, str]) -> Draft:
    """What a form says, with every mistake that shows."""
    draft = Draft(typed, {"version": 1}, {("stop",): "spend"})
    draft.take("name", ("name",), partial(text_in, "the name"), required=True)
    for letter, what in (("p", "parameters"), ("o", "outcomes")):
        count, most = len(all_rows(typed, letter)), GROUPS[letter][1]
        if count > most:
            draft.mistakes[WHOLE] = f"There are {count} {what}; a form takes {most}, a study file more."
    _designs(draft)
    _lines(draft, "where", ("where",), list)
    _lines(draft, "tables", ("tables",), lambda lines: dict(typed_table(line) for line in lines))
    draft.take("same", ("same_in_batch",), typed_items)
    _outcomes(draft)
    _decision(draft)
    draft.take("trials", ("stop", "trials"), partial(whole_in, "the number of experiments"))
    draft.take("cost_of", ("cost", "of"), _cost)
    draft.take("cost_unit", ("cost", "unit"), str)
    draft.take("spend", ("stop", "spend"), partial(number_in, "the budget"))
    if not draft.mistakes:
        _fits_together(draft)
    return draft


def _cost(text: str) -> float | str:
    with suppress(InputError):
        return number_in("it", text)
    return text


def _lines(draft: Draft, key: str, place: Place, read: Callable[[list[str]], Any]) -> None:
    """A field with one thing on each line."""
    draft.take(key, place, lambda text: read([line.strip() for line in text.splitlines() if line.strip()]))


def _designs(draft: Draft) -> None:
    """Parameters, or a table of candidates."""
    rows = rows_in(draft.typed, "p")
    filled = [row for row in rows if not row.is_empty(draft.typed)]
    draft.fields |= {("space",): "space", ("pool",): "table"}
    if draft.text("table"):
        if filled:
            draft.mistakes["table"] = "Give parameters, or a table of candidates, and not both."
        draft.read("table", ("pool",), lambda text: _pool(draft, text))
        draft.read("id", ("pool", "id"), str)
    elif not rows:
        draft.mistakes["space"] = "Add at least one parameter, or give a table of candidates."
    _rows(draft, filled if draft.text("table") else rows, "space")


def _pool(draft: Draft, text: str) -> None:
    named = draft.text("id") or None
    names, rows = designs_from(text, "the table", named)
    draft.put(
        ("pool",), {"names": list(names), "rows": [list(row) for row in rows], **({"id": named} if named else {})}
    )


def _outcomes(draft: Draft) -> None:
    """What is measured; the only outcome needs no name."""
    rows = rows_in(draft.typed, "o")
    draft.fields[("outcomes",)] = "outcomes"
    only = len(rows) == 1 and rows[0].kind.key == "number"
    _rows(draft, rows, "outcomes", "value" if only else "")
    for name, words in draft.words.get("outcomes", {}).items() if not draft.mistakes else ():
        try:
            OutcomeWords.model_validate(words).build(name)
        except ValidationError:
            continue  # said of the whole definition, with its place
        except InputError as error:
            near = draft.fields.get(("outcomes", name, _blamed(name, words)), draft.fields["outcomes", name])
            draft.mistakes[near] = sentence(str(error))


def _blamed(name: str, words: Mapping[str, Any]) -> str:
    """The first word of an outcome without which nothing is wrong with it."""
    for word in words:
        with suppress(ValueError):  # what is wrong is still there
            OutcomeWords.model_validate({key: said for key, said in words.items() if key != word}).build(name)
            return word
    return ""


def _rows(draft: Draft, rows: tuple[Row, ...] | list[Row], table: str, unnamed: str = "") -> None:
    """A table of the definition for each row, by its name."""
    names: list[str] = []
    for row in rows:
        key = row.key("name")
        draft.seen.append(key)
        name = draft.text(key) or unnamed
        if not name:
            draft.mistakes[key] = "Give it a name."
        elif name in names:
            draft.mistakes[key] = f"There is another one with the name {name}; names must differ."
        elif table == "space" and name in TAKEN:
            draft.mistakes[key] = f"A parameter cannot be called {name}; give it another name."
        names.append(name)
        first = next((one.key for one in row.kind.fields if one.look != "check"), "name")
        draft.fields[(table, name)] = row.key(first)
        draft.put((table, name), dict(row.kind.words))
        for one in row.kind.fields:
            key, place = row.key(one.key), (table, name, one.key)
            if one.look == "check":
                draft.put(place, one.checked if draft.text(key) else None)
            else:
                draft.take(key, place, partial(one.read, one.label), one.required)


def parameters_in(words: Mapping[str, Any]) -> dict[str, Parameter]:
    """The parameters of a definition, as far as they can be made."""
    found: dict[str, Parameter] = {}
    for name, said in words.get("space", {}).items():
        with suppress(ValueError):  # what is wrong with it is said elsewhere
            found[name] = PARAMETERS[said["type"]].model_validate(said).build()  # type: ignore[attr-defined]
    return found


def _decision(draft: Draft) -> None:
    """The decision with its settings and limits."""
    goal = draft.goal
    draft.fields[("decision",)] = "goal"
    draft.put(("decision", "name"), goal.decision)
    if goal.asks and draft.typed.get("shown") != goal.decision:
        draft.mistakes["goal"] = "Look at the settings of this goal below, then go on."
        return
    for ask in _asks(draft):
        draft.take(f"d_{ask.option}", ("decision", ask.option), partial(_answer, ask), required=True)
    measured = [name for name, one in draft.words.get("outcomes", {}).items() if "computed" not in one]
    if takes(goal.decision, "outcome"):
        named = draft.read("d_outcome", ("decision", "outcome"), str)
        first = measured[0] if len(measured) > 1 or (measured and draft.text("d_subject_to")) else None
        draft.put(("decision", "outcome"), named or first)
    if takes(goal.decision, "subject_to"):
        known = draft.words.get("outcomes", {})
        _lines(draft, "d_subject_to", ("decision", "subject_to"), lambda lines: _limits(lines, known))
        draft.take("d_fallback", ("decision", "fallback"), partial(number_in, "it"))


def _asks(draft: Draft) -> tuple[Question, ...]:
    """The settings to ask for, with defaults that go with the parameters as far as they are known."""
    said = {"yes": True, "no": False}.get(draft.text("d_scaled"))
    return asks_for(draft.goal.decision, parameters_in(draft.words), said)


def _answer(ask: Question, text: str) -> Any:
    if not text and ask.needed:
        raise InputError(ask.wanted)
    return ask.value(text)


def _limits(lines: list[str], known: Collection[str]) -> list[str]:
    strange = next((limit.outcome for limit in parse_limits(lines) if limit.outcome not in known), None)
    if strange is not None:
        raise InputError(f"there is no outcome {strange}; add it to what the experiments measure")
    return lines


def _fits_together(draft: Draft) -> None:
    """What only shows once all parts are there, at the field it is about, or at the nearest."""
    for place, line in misplaced(draft.words):
        near = next((draft.fields[place[:n]] for n in range(len(place), 0, -1) if place[:n] in draft.fields), WHOLE)
        said = draft.mistakes.get(near)
        draft.mistakes[near] = f"{said} {sentence(line)}" if said else sentence(line)


def settings_of(draft: Draft) -> tuple[SettingField, ...]:
    """The fields for the settings of a decision, with what follows if they are left empty."""
    return tuple(_setting(ask, bool(parameters_in(draft.words))) for ask in _asks(draft))


def _setting(ask: Question, sized: bool) -> SettingField:
    words = ("yes", "no") if ask.kind == "yes or no" else ask.words
    if words or ask.needed:
        return SettingField(f"d_{ask.option}", ask.question, "" if words else sentence(ask.wanted), ask.needed, words)
    follows = number(ask.default) if ask.option not in SIZED or sized else "what suits the sizes of the parameters"
    return SettingField(f"d_{ask.option}", ask.question, f"If left empty: {follows}.", required=False)


def shown_again(typed: Mapping[str, str]) -> dict[str, str]:
    """What was typed, with the settings of the goal that is chosen now: those of another one are no answers to it."""
    goal = goal_of(typed.get("goal", "")) or CHOICES[0]
    again = {
        key: text for key, text in typed.items() if not key.startswith("d_") or typed.get("shown") == goal.decision
    }
    chosen = {f"d_{ask.option}": _chosen(ask) for ask in goal.asks if ask.words or ask.kind == "yes or no"}
    return {**chosen, **again, "goal": goal.decision, "shown": goal.decision}


def _chosen(ask: Question) -> str:
    return {True: "yes", False: "no"}[ask.default] if ask.kind == "yes or no" else str(ask.default)


@dataclass(frozen=True)
class NewStudyView:
    """All that the form shows; `says` is what the study would do."""

    form: Form
    parameters: tuple[Row, ...]
    outcomes: tuple[Row, ...]
    kinds: Mapping[str, tuple[RowKind, ...]]
    goals: tuple[Goal, ...]
    settings: tuple[SettingField, ...]
    about: bool
    limits: bool
    measured: tuple[str, ...]
    says: tuple[str, ...] = ()

    def is_used(self, *keys: str) -> bool:
        """Whether something was typed into one of these fields, or is wrong there."""
        return any(self.form.typed.get(key, "").strip() or key in self.form.mistakes for key in keys)


def new_study_view(form: Form, says: tuple[str, ...] = ()) -> NewStudyView:
    """The form with what was typed and what is wrong with it."""
    typed = shown_again(form.typed)
    draft = drafted(typed)
    goal = draft.goal.decision
    rows = {letter: rows_in(typed, letter) for letter in GROUPS}
    return NewStudyView(
        Form(typed, form.mistakes, focus=form.focus),
        rows["p"],
        rows["o"],
        {letter: tuple(kinds.values()) if len(rows[letter]) < most else () for letter, (kinds, most) in GROUPS.items()},
        CHOICES,
        settings_of(draft),
        takes(goal, "outcome") and len(rows["o"]) > 1,
        takes(goal, "subject_to"),
        tuple(filter(None, (typed.get(row.key("name"), "").strip() for row in rows["o"]))),
        says,
    )


def begun_form() -> Form:
    """A form that nobody has touched."""
    return Form({**BEGIN, "key": secrets.token_hex(8)}, focus="name")
