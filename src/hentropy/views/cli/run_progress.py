"""What `run` and `worker` share: how a run is stopped, and what is printed meanwhile."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from types import FrameType
from typing import Any

import typer
from rich.console import Console
from rich.status import Status
from rich.text import Text

from hentropy.errors import HentropyError, InputError, StorageError
from hentropy.studies.definition.parts import Manual
from hentropy.studies.execution.executor import Evaluation
from hentropy.studies.execution.runner import RunListener
from hentropy.studies.records import State, Trial, Verdict
from hentropy.studies.study import Study
from hentropy.studies.study.keeping import versions
from hentropy.studies.study.rules import spent_sentence
from hentropy.studies.study.words import LocatedDescription
from hentropy.views.cli.objective_check import objective_mistakes
from hentropy.views.cli.opening import shown
from hentropy.views.cli.printing import console, note, printable, say
from hentropy.views.text.formats import counted, design, number, one_line, results, units_of
from hentropy.views.text.log_lines import event_line
from hentropy.views.text.sentences import to_come
from hentropy.views.text.trials import in_short


class Terminated(KeyboardInterrupt):
    """The run was ended by SIGTERM, as services are, not by somebody's Ctrl-C."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Terminated


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Within, SIGTERM raises a `KeyboardInterrupt` (`Terminated`), so that what is in hand is given back."""
    earlier = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)


SHARE = 0.1
"""The most of the time that goes into decisions which are only looked at, while workers wait."""


class LiveVerdicts:
    """Verdicts to look at while a study runs; `rarely` skips those for which there is no time."""

    def __init__(self, study: Study, rarely: bool) -> None:
        self._study = study
        self._rarely = rarely
        self._next = 0.0

    def verdict(self) -> Verdict | None:
        """Current recommendation, if there is time and there are values."""
        began = time.monotonic()
        if self._rarely and began < self._next:
            return None
        try:
            return self._study.decide(worth=False)
        except HentropyError:  # nothing can be decided yet; a line of progress is no place to end a run
            return None
        finally:
            ended = time.monotonic()
            self._next = ended + (ended - began) / SHARE


CHOOSING = "choosing the next experiment"
MAX_LINE_LENGTH = 200
"""The most characters of a line that is not printed on a terminal."""


class Follower:
    """Prints what happens in a run: lines for a person, or JSON lines for a script.

    A worker among others prints no verdicts: each would have to compute them.
    """

    def __init__(self, study: Study, workers: int, as_json: bool, details: bool = False, verdicts: bool = True) -> None:
        self._study = study
        self._details = details
        self._glances = LiveVerdicts(study, rarely=workers > 1) if verdicts else None
        self._as_json = as_json
        self._running: dict[int, Trial] = {}
        self._begun: set[int] = set()
        self._console = console()
        self._status: Status | None = None
        self._out = sys.stdout

    @contextmanager
    def watch(self) -> Iterator[RunListener]:
        """A watch for the runner; on a terminal, a line below says what runs now.

        What an objective prints must not get between lines of JSON: then it goes to standard error.
        """
        live = self._console.is_terminal and not self._as_json
        self._status = Status(CHOOSING, console=self._console) if live else None
        with self._status or (redirect_stdout(sys.stderr) if self._as_json else nullcontext()):
            yield RunListener(self._began, self._ended, self._say_trouble if self._as_json else say_trouble)

    def say(self, event: str, **fields: Any) -> None:
        """A JSON line for something that happened just now."""
        typer.echo(event_line(event, **fields), file=self._out)

    def _say_trouble(self, error: HentropyError) -> None:
        self.say("trouble", message=str(error))

    def _began(self, trial: Trial) -> None:
        if (
            trial.note and trial.number not in self._begun and not self._as_json
        ):  # a search cut short; later it says why a try failed
            note(f"{trial.number}: {trial.note}")
        self._begun.add(trial.number)
        self._running[trial.number] = trial
        self._show_running()

    def _ended(self, trial: Trial, outcome: Evaluation) -> None:
        self._running.pop(trial.number, None)
        if outcome.log and self._glances is None:  # of a worker, whose experiments run in another process
            typer.echo(printable(outcome.log.rstrip("\n")), err=True)
        verdict = self._glances.verdict() if self._glances and trial.state is State.COMPLETE else None
        if self._as_json:
            self.say("trial", **_plain(trial, outcome, verdict))
        else:
            line = ended_line(trial, outcome, verdict, self._study, self._details)
            line = one_line(line, _width(self._console))
            say(line, "" if trial.state is State.COMPLETE else "red", to=self._console)
        self._show_running()

    def _show_running(self) -> None:
        if self._status:
            units = units_of(self._study.space)
            now = "; ".join(
                f"{t.number}: {design(t.params, units=units)}{_worth(t, self._study)}" for t in self._running.values()
            )
            text = f"running {now}" if now else CHOOSING
            self._status.update(Text(one_line(printable(text), self._console.width - 4)))


def say_trouble(error: HentropyError) -> None:
    """A store that does not answer, or a result that is dropped."""
    note(str(error))


def ended_line(trial: Trial, outcome: Evaluation, verdict: Verdict | None, study: Study, details: bool = False) -> str:
    """What came of an experiment, and what would be decided now; with `details`, also its expected loss."""
    start = f"{trial.number}:"
    if trial.state is not State.COMPLETE:
        again = "" if trial.state is State.FAILED else ", will be retried"
        return f"{start} failed{again}: {outcome.failed or trial.note}"
    so_far = f"; so far: {in_short(verdict)}" if verdict else ""
    loss = f"; expected loss {number(verdict.expected_loss)}" if verdict and details else ""
    return f"{start} {results(trial.measurements, study.outcomes)}{_worth(trial, study)}{loss}{so_far}"


def _worth(trial: Trial, study: Study) -> str:
    if trial.gain is None:
        left = study.first_left
        return f" (first design{f', {left} to come' if left else ''})"
    return f" (worth {study.worth_of(trial)})"


def _width(to: Console) -> int:
    return to.width if to.is_terminal else MAX_LINE_LENGTH


def _plain(trial: Trial, outcome: Evaluation, verdict: Verdict | None) -> dict[str, Any]:
    return {
        **trial.plain(),
        "failed": outcome.failed,
        "seconds": outcome.seconds,
        "expected_loss": verdict.expected_loss if verdict else None,
        "action": verdict.action if verdict else None,
    }


def check_not_manual(words: LocatedDescription, called: str) -> None:
    """Refuse a study whose experiments a person runs."""
    if isinstance(words.description.objective, Manual):
        raise InputError(
            f"a person runs the experiments of {words.description.name!r}: its objective is manual. Use `hentropy ask"
            f" {called}` and `hentropy tell {called} NUMBER VALUE`, or name a function or a program under [objective]"
        )


def check_objective(words: LocatedDescription) -> None:
    """Refuse to begin where the function or the program is not there: every experiment would fail."""
    mistakes = objective_mistakes(words)
    if mistakes:
        raise InputError("; ".join(mistakes))


def note_versions(study: Study) -> None:
    """Say if a study resumes with other versions than it began with."""
    begun, here = study.log.record.versions, versions()
    differ = [
        f"{name} {begun[name]} then, {here[name]} now" for name in here if begun.get(name, here[name]) != here[name]
    ]
    if differ:
        note(f"note: this study began with other versions ({'; '.join(differ)}); proposals may differ slightly")


def say_first(study: Study) -> None:
    """How many first designs are still to come and why, as long as there are any."""
    if said := to_come(study.first, len(study.space.fields), study.log.trials):
        say(said)


def say_spent(study: Study) -> None:
    """What was spent, if that is known."""
    if said := spent_sentence(study.stop, study.log.trials, study.costs.unit):
        say(said)


def say_begin(study: Study) -> None:
    """The first line of a run."""
    there = len(study.records)
    goes_on = f"resumes after {counted(there, 'trial')}" if there else "starts"
    say(f"{study.name} {goes_on}; everything is recorded in {shown(study.store.place)}", "bold")
    say_first(study)


def _standing(study: Study) -> str:
    """What there is of a study that was interrupted."""
    states = [trial.state for trial in study.records]
    measured, failed = states.count(State.COMPLETE), states.count(State.FAILED)
    back = sum(
        entry.trial.state is State.RUNNING and entry.owner is None and entry.lease_until is not None
        for entry in study.log.entries.values()
    )
    said = "1 trial is complete" if measured == 1 else f"{counted(measured, 'trial')} are complete"
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
        note(f"stopped; {standing}; run the same command to resume")
        raise typer.Exit(130) from None
