"""What `run` and `worker` share: how a run is stopped, and what is said of the versions it goes on with."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from hentropy.errors import InputError, StorageError
from hentropy.studies.definition.objectives import Manual
from hentropy.studies.records import State
from hentropy.studies.study import Study
from hentropy.studies.study.keeping import versions
from hentropy.studies.study.words import Words
from hentropy.views.cli.interrupts import stopped_by_signals
from hentropy.views.cli.objective_check import objective_mistakes
from hentropy.views.cli.opening import shown
from hentropy.views.cli.printing import note, say
from hentropy.views.text.formats import counted
from hentropy.views.text.sentences import to_come


def check_not_manual(words: Words, called: str) -> None:
    """Refuse a study whose experiments a person runs."""
    if isinstance(words.description.objective, Manual):
        raise InputError(
            f"a person runs the experiments of {words.description.name!r}: its objective is manual. Use `hentropy ask"
            f" {called}` and `hentropy tell {called} NUMBER VALUE`, or name a function or a program under [objective]"
        )


def check_objective(words: Words) -> None:
    """Refuse to begin where the function or the program is not there: every experiment would fail."""
    mistakes = objective_mistakes(words)
    if mistakes:
        raise InputError("; ".join(mistakes))


def note_versions(study: Study) -> None:
    """Say if a study goes on with other versions than it began with."""
    begun, here = study.book.study.versions, versions()
    differ = [
        f"{name} {begun[name]} then, {here[name]} now" for name in here if begun.get(name, here[name]) != here[name]
    ]
    if differ:
        note(f"note: this study began with other versions ({'; '.join(differ)}); proposals may differ slightly")


def say_first(study: Study) -> None:
    """How many first designs are still to come and why, as long as there are any."""
    if said := to_come(study.first, len(study.space.names), study.records):
        say(said)


def say_begin(study: Study) -> None:
    """The first line of a run."""
    there = len(study.records)
    goes_on = f"goes on after {counted(there, 'trial')}" if there else "begins"
    say(f"{study.name} {goes_on}; all is recorded in {shown(study.store.place)}", "bold")
    say_first(study)


def _standing(study: Study) -> str:
    """What there is of a study that was interrupted."""
    states = [trial.state for trial in study.records]
    measured, failed = states.count(State.COMPLETE), states.count(State.FAILED)
    back = sum(
        entry.trial.state is State.RUNNING and entry.owner is None and entry.lease_until is not None
        for entry in study.book.entries.values()
    )
    said = "1 trial is measured" if measured == 1 else f"{counted(measured, 'trial')} are measured"
    return said + (f", {failed} failed" if failed else "") + (f", {back} given back" if back else "")


@contextmanager
def going_on_later(study: Study) -> Iterator[None]:
    """An interrupt ends the command cleanly, with exit code 130."""
    try:
        with stopped_by_signals():
            yield
    except KeyboardInterrupt:
        try:
            standing = _standing(study)
        except StorageError as error:
            standing = f"the store does not answer ({error}), and leases end by themselves"
        note(f"stopped; {standing}; the same command goes on")
        raise typer.Exit(130) from None
