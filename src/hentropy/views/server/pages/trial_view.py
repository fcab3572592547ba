"""Trials on a page: those to do, the table of all, and the page of one with the form to correct it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Entry, Observation, State, Trial
from hentropy.studies.records.numbers import short
from hentropy.views.server.pages.forms import Form, OutcomeField, outcome_fields
from hentropy.views.server.pages.rendering import Moment, moment
from hentropy.views.server.snapshot import Snapshot
from hentropy.views.text.formats import DesignColumn, counted, number, result, titled, value_text
from hentropy.views.text.sentences import holder, worth_of
from hentropy.views.text.trials import to_measure, why

SHOWN = 200
"""The trials on one page of the table."""

WORDS = {State.RUNNING: "pending", State.COMPLETE: "done", State.FAILED: "failed", State.WITHDRAWN: "withdrawn"}
ORDER = list(State)


@dataclass(frozen=True)
class Pending:
    """An experiment to do; `by_hand` if a person, not a worker, has it."""

    number: int
    design: tuple[tuple[str, str], ...]
    why: str
    note: str
    holder: str
    asked: Moment
    by_hand: bool
    form: Form
    measure: str
    fields: tuple[OutcomeField, ...]


def pending(entry: Entry, case: Snapshot, now: float, form: Form) -> Pending:
    """A running trial for a page."""
    trial, by_hand = entry.trial, entry.lease_until is None
    held = "" if by_hand else f"{holder(entry, now)}."
    shown, why = design(trial, case.columns), reason(trial, case)
    asked = tuple(outcome_fields(case.outcomes, case.outcomes.assays.asked(trial.measures)).values())
    measure = to_measure(trial, case.outcomes)
    return Pending(trial.number, shown, why, trial.note, held, moment(entry.asked_at), by_hand, form, measure, asked)


def design(trial: Trial, columns: Sequence[DesignColumn]) -> tuple[tuple[str, str], ...]:
    """The design of a trial as text, with units."""
    return tuple((column.name, column.text(trial.params[column.name])) for column in columns)


def reason(trial: Trial, case: Snapshot) -> str:
    """Why a trial was asked, in a sentence."""
    if trial.gain is not None:
        cost = (
            ""
            if trial.expected_cost is None
            else f", and to cost {short(trial.expected_cost, least=3)} {case.cost_unit}".rstrip()
        )
        return f"Expected to improve the decision by {worth_of(trial, case.description)}{cost}."
    return {
        "first": "One of the first designs, which fill the space.",
        "attached": "Attached: a measurement that the study did not ask for.",
    }.get(trial.origin, "Proposed.")


@dataclass(frozen=True)
class Heading:
    """A column that the table can be sorted by, with the link that does it; `way` if it is sorted by it."""

    title: str
    numeric: bool
    link: str
    way: str


@dataclass(frozen=True)
class TableCell:
    """A value of a design in the table; numbers stand to the right."""

    text: str
    numeric: bool


@dataclass(frozen=True)
class TrialTableRow:
    """A trial in the table."""

    number: int
    design: tuple[TableCell, ...]
    state: str
    words: str
    values: tuple[str, ...]
    costs: tuple[str, ...]
    why: str
    note: str
    when: Moment
    act: str


@dataclass(frozen=True)
class PageLink:
    """A link to another page of the table; without an address if that is the page shown."""

    title: str
    link: str


@dataclass(frozen=True)
class TrialTablePage:
    """A page of the table of trials; `shown` says which, and `links` lead to others, if not all are on it."""

    columns: tuple[Heading, ...]
    rows: tuple[TrialTableRow, ...]
    shown: str = ""
    links: tuple[PageLink, ...] = ()


Key = Callable[[Entry], Any]


@dataclass(frozen=True)
class TableQuery:
    """How the table is wanted: by which column, downwards or not, and which page of it, from 1."""

    sort: str = "number"
    down: bool = True
    page: int = 1


def wanted(query: Mapping[str, str]) -> TableQuery:
    """How the address of a page wants the table."""
    page = query.get("page", "")
    number = int(page) if page.isascii() and page.isdecimal() and len(page) < 9 else 1
    return TableQuery(query.get("sort", "number"), query.get("way", "down") != "up", number)


COSTS = {"expected_cost": "cost expected", "cost": "cost"}
"""Columns that are there if a trial has something in them."""


Worths = Callable[[Sequence[Trial]], Mapping[int, str]]
"""What trials were worth when they were chosen, in words, by number."""


def trial_table(
    entries: Sequence[Entry],
    columns: Sequence[DesignColumn],
    outcomes: Outcomes,
    how: TableQuery,
    cost_unit: str = "",
    worths: Worths | None = None,
) -> TrialTablePage:
    """The page that is wanted of all trials, in the order that is wanted; the last one if there are not so many.

    Without `worths`, nothing is said of gains.
    """
    keys = _keys(columns, outcomes)
    costs = {
        name: titled(title, cost_unit)
        for name, title in COSTS.items()
        if any(keys[name](entry) is not None for entry in entries)
    }
    key = keys.get(how.sort, keys["number"])
    # what has no value stands at the end either way
    known = [entry for entry in entries if key(entry) is not None]
    empty = [entry for entry in entries if key(entry) is None]
    ordered = [*sorted(known, key=key, reverse=how.down), *empty]
    pages = max(1, -(-len(ordered) // SHOWN))
    page = min(max(1, how.page), pages)
    begin = (page - 1) * SHOWN
    shown = ordered[begin : begin + SHOWN]
    said_of = {} if worths is None else worths([entry.trial for entry in shown])
    rows = tuple(_row(entry, columns, outcomes, list(costs), said_of) for entry in shown)
    titles = {f"p{i}": column.title for i, column in enumerate(columns)}
    titles = {"number": "trial", **titles, "state": "state", **_outcome_titles(outcomes), **costs}
    titles |= {"gain": "gain expected", "note": "note", "when": "when"}
    texts = {"state", "note", "when", *(f"p{i}" for i, column in enumerate(columns) if not column.is_number)}
    headings = tuple(_heading(name, title, name not in texts, how) for name, title in titles.items())
    if pages == 1:
        return TrialTablePage(headings, rows)
    said = f"Page {page} of {pages}: {begin + 1} to {begin + len(rows)} of {counted(len(ordered), 'trial')}"
    others = {"First": 1, "Previous": max(1, page - 1), "Next": min(pages, page + 1), "Last": pages}
    links = tuple(
        PageLink(title, "" if other == page else _link(how.sort, how.down, other)) for title, other in others.items()
    )
    return TrialTablePage(headings, rows, said, links)


def _outcome_titles(outcomes: Outcomes) -> dict[str, str]:
    """The columns of outcomes, by the keys that they are sorted by."""
    return {f"o{i}": title for i, title in enumerate(outcomes.titles.values())}


def _keys(columns: Sequence[DesignColumn], outcomes: Outcomes) -> dict[str, Key]:
    by_outcome = {f"o{i}": _outcome_key(name, outcomes) for i, name in enumerate(outcomes.by_name)}
    by_parameter = {f"p{i}": _key(column) for i, column in enumerate(columns)}
    return {
        "number": lambda entry: entry.trial.number,
        **by_parameter,
        "state": lambda entry: ORDER.index(entry.trial.state),
        **by_outcome,
        "expected_cost": lambda entry: entry.trial.expected_cost,
        "cost": lambda entry: entry.trial.cost,
        "gain": lambda entry: entry.trial.gain,
        "note": lambda entry: entry.trial.note or None,
        "when": lambda entry: entry.ended_at or entry.asked_at,
    }


def _outcome_key(name: str, outcomes: Outcomes) -> Key:
    def key(entry: Entry) -> float | None:
        known = outcomes.shown(entry.trial)[name]
        return None if known is None else known.value

    return key


def _key(column: DesignColumn) -> Key:
    """Numbers in their order, texts in that of the alphabet."""

    def key(entry: Entry) -> Any:
        value = entry.trial.params[column.name]
        return value if column.is_number or value is None else str(value)

    return key


def _heading(name: str, title: str, numeric: bool, how: TableQuery) -> Heading:
    sorted_by = name == how.sort
    way = ("descending" if how.down else "ascending") if sorted_by else ""
    down = not how.down if sorted_by else name in ("number", "o0", "gain", "when")
    return Heading(title, numeric, _link(name, down), way)


def _link(sort: str, down: bool, page: int = 1) -> str:
    """The address of a page of the table; another order begins with its first page."""
    return "?" + urlencode({"sort": sort, "way": "down" if down else "up", **({"page": page} if page > 1 else {})})


def _row(
    entry: Entry, columns: Sequence[DesignColumn], outcomes: Outcomes, costs: Sequence[str], worths: Mapping[int, str]
) -> TrialTableRow:
    trial = entry.trial
    expected = None if trial.expected_cost is None else short(trial.expected_cost, least=3)
    known = {"expected_cost": expected or "", "cost": number(trial.cost)}
    return TrialTableRow(
        trial.number,
        tuple(TableCell(value_text(trial.params[column.name]), column.is_number) for column in columns),
        trial.state.value,
        WORDS[trial.state],
        tuple(result(one, words=outcomes.words(name)) for name, one in outcomes.shown(trial).items()),
        tuple(known[name] for name in costs),
        why(trial, worths),
        trial.note,
        moment(entry.ended_at or entry.asked_at),
        "Enter" if trial.state is State.RUNNING else "Correct",
    )


@dataclass(frozen=True)
class Told:
    """One thing that was told of a trial."""

    when: Moment
    state: str
    words: str
    values: tuple[str, ...]
    cost: str
    note: str
    by: str


@dataclass(frozen=True)
class TrialView:
    """A trial with its history and its form; `what` and `what_failed` are what the buttons say to the server."""

    number: int
    state: str
    words: str
    design: tuple[tuple[str, str], ...]
    values: tuple[tuple[str, str], ...]
    cost: str
    note: str
    why: str
    measure: str
    violates: str
    asked: Moment
    history: tuple[Told, ...]
    cost_title: str
    heading: str
    explained: str
    button: str
    what: str
    what_failed: str
    form: Form
    fields: tuple[OutcomeField, ...]
    titles: tuple[str, ...]
    """The columns of outcomes in the history."""


def trial_view(case: Snapshot, entry: Entry, told: Sequence[Observation], form: Form | None) -> TrialView:
    """A trial for its page; without a form that was typed into, that of what is recorded."""
    trial = entry.trial
    violated = case.space.violated(case.space.encode(trial.params))
    known = trial.state in (State.COMPLETE, State.FAILED)
    return TrialView(
        number=trial.number,
        state=trial.state.value,
        words=WORDS[trial.state],
        design=design(trial, case.columns),
        values=tuple(
            (name, result(one, case.outcomes.units.get(name, ""), case.outcomes.words(name)))
            for name, one in case.outcomes.shown(trial).items()
            if one is not None
        ),
        cost="" if trial.cost is None else f"{number(trial.cost)} {case.cost_unit}".rstrip(),
        note=trial.note,
        why=reason(trial, case),
        measure=to_measure(trial, case.outcomes),
        violates=f"Its design violates {' and '.join(violated)}." if violated else "",
        asked=moment(entry.asked_at),
        history=tuple(_told(one, case.outcomes) for one in told),
        cost_title=titled("Cost", case.cost_unit) if case.tells_cost else "",
        heading="Correct it" if known else "Enter the result",
        explained="Earlier results stay in the history." if known else "The result is added to the study.",
        button="Correct" if known else "Enter result",
        what="correct" if known else "tell",
        what_failed="correct_failed" if known else "fail",
        form=form or _recorded(entry, case.outcomes),
        # what was told and is not shown would be deleted by a correction
        fields=tuple(
            outcome_fields(case.outcomes, None if known else case.outcomes.assays.asked(trial.measures)).values()
        ),
        titles=tuple(case.outcomes.titles[name] for name in case.outcomes.measured),
    )


def _told(one: Observation, outcomes: Outcomes) -> Told:
    values = tuple(result(one.measurements.get(name), words=outcomes.words(name)) for name in outcomes.measured)
    return Told(moment(one.at), one.state.value, WORDS[one.state], values, number(one.cost), one.note, one.by)


def _recorded(entry: Entry, outcomes: Outcomes) -> Form:
    trial = entry.trial
    typed = {"cost": "" if trial.cost is None else repr(trial.cost), "note": trial.note}
    for name, field in outcome_fields(outcomes).items():
        one = trial.measurements.get(name)
        typed[field.key] = "" if one is None else field.written(one.value)
        typed[field.error_key] = "" if one is None or one.std_error is None else repr(one.std_error)
    return Form(typed)
