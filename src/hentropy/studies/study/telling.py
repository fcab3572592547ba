"""The rules of telling: what may become of an entry, whoever tells and wherever it is kept."""

from collections.abc import Callable
from dataclasses import replace

from hentropy.errors import StudyError
from hentropy.studies.records import Entry, State, Trial, Value
from hentropy.studies.study.checks import checked_value


def told(
    value: Value | None, failed: str | None, note: str | None, again: bool, now: float
) -> Callable[[Entry], Entry]:
    """A value or a failure is told. The same twice is harmless; another is refused unless `again`."""

    def rule(old: Entry) -> Entry:
        was = old.trial
        if (value is None) == (failed is None):
            raise StudyError(f"tell trial {was.number} either a value or failed='why', not both and not neither")
        if failed is not None:
            new = replace(was, state=State.FAILED, note=clean(failed), value=None, std_error=None)
        else:
            number, error = checked_value(value)
            kept = was.note if note is None else clean(note)
            new = replace(was, state=State.COMPLETE, value=number, std_error=error, note=kept)
        if was.state in (State.COMPLETE, State.FAILED) and not again:
            if (was.state, was.value, was.std_error) == (new.state, new.value, new.std_error):
                return replace(old, trial=new)  # only the note may be another one
            raise StudyError(
                f"trial {was.number} was told already: {_outcome(was)}; pass replace_value=True to correct it"
            )
        return replace(old, trial=new, ended_at=now, owner=None, lease_until=None)

    return rule


def withdrawn(note: str, now: float) -> Callable[[Entry], Entry]:
    """A trial will not be run after all."""

    def rule(old: Entry) -> Entry:
        if old.trial.state is not State.RUNNING:
            raise StudyError(
                f"trial {old.trial.number} is {old.trial.state.value}; only a running one can be withdrawn"
            )
        trial = replace(old.trial, state=State.WITHDRAWN, note=clean(note))
        return replace(old, trial=trial, ended_at=now, owner=None, lease_until=None)

    return rule


def _outcome(trial: Trial) -> str:
    return f"value {trial.value:g}" if trial.state is State.COMPLETE else f"failed ({trial.note})"


def clean(text: str) -> str:
    """Text that every database takes: without zero characters and broken code points."""
    return str(text).replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
