"""The page of one trial: what it is, all that was told of it, and the form to correct it."""

from collections.abc import Sequence
from dataclasses import dataclass

from hentropy.studies.records import Entry, Observation, State
from hentropy.views.server.pages.forms import Form
from hentropy.views.server.pages.moments import Moment, moment
from hentropy.views.server.pages.trial_rows import WORDS, design, reason
from hentropy.views.text.formats import measured


@dataclass(frozen=True)
class Told:
    """One thing that was told of a trial."""

    when: Moment
    state: str
    words: str
    value: str
    note: str
    by: str


@dataclass(frozen=True)
class TrialView:
    """A trial with its history and its form; `what` and `what_failed` are what the buttons say to the server."""

    number: int
    state: str
    words: str
    design: tuple[tuple[str, str], ...]
    value: str
    note: str
    why: str
    asked: Moment
    history: tuple[Told, ...]
    heading: str
    explained: str
    button: str
    what: str
    what_failed: str
    form: Form


def trial_view(entry: Entry, told: Sequence[Observation], form: Form | None) -> TrialView:
    """A trial for its page; without a form that was typed into, that of what is recorded."""
    trial = entry.trial
    known = trial.state in (State.COMPLETE, State.FAILED)
    return TrialView(
        number=trial.number,
        state=trial.state.value,
        words=WORDS[trial.state],
        design=design(trial),
        value=measured(trial.value, trial.std_error),
        note=trial.note,
        why=reason(trial),
        asked=moment(entry.asked_at),
        history=tuple(_told(one) for one in told),
        heading="Correct it" if known else "Enter the result",
        explained="What was told before stays in the history." if known else "What comes of it is added to the study.",
        button="Correct" if known else "Enter result",
        what="correct" if known else "tell",
        what_failed="correct_failed" if known else "fail",
        form=form or _recorded(entry),
    )


def _told(one: Observation) -> Told:
    value = measured(one.value, one.std_error)
    return Told(moment(one.at), one.state.value, WORDS[one.state], value, one.note, one.by)


def _recorded(entry: Entry) -> Form:
    trial = entry.trial
    value = "" if trial.value is None else repr(trial.value)
    error = "" if trial.std_error is None else repr(trial.std_error)
    return Form({"value": value, "std_error": error, "note": trial.note})
