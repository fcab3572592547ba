"""What is printed while a study runs: a line for each experiment that ended, and what runs now."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any

import typer
from rich.console import Console
from rich.status import Status
from rich.text import Text

from hentropy.errors import StorageError
from hentropy.studies.execution.executor import Outcome
from hentropy.studies.execution.runner import Watch
from hentropy.studies.records import State, Trial, Verdict
from hentropy.studies.study import Study
from hentropy.views.cli.glances import Glances
from hentropy.views.cli.printing import console, note, printable, say
from hentropy.views.text.formats import design, json_text, measured, number, one_line
from hentropy.views.text.trials import in_short

CHOOSING = "choosing the next experiment"
LONGEST = 200
"""The most characters of a line that is not printed on a terminal."""


class Follower:
    """Prints what happens in a run: lines for a person, or JSON lines for a script."""

    def __init__(self, study: Study, workers: int, as_json: bool) -> None:
        self._study = study
        self._glances = Glances(study, rarely=workers > 1)
        self._as_json = as_json
        self._running: dict[int, Trial] = {}
        self._begun: set[int] = set()
        self._console = console()
        self._status: Status | None = None
        self._out = sys.stdout

    @contextmanager
    def watch(self) -> Iterator[Watch]:
        """A watch for the runner; on a terminal, a line below says what runs now.

        What an objective prints must not get between lines of JSON: then it goes to standard error.
        """
        live = self._console.is_terminal and not self._as_json
        self._status = Status(CHOOSING, console=self._console) if live else None
        with self._status or (redirect_stdout(sys.stderr) if self._as_json else nullcontext()):
            yield Watch(self._began, self._ended, self._trouble)

    def _began(self, trial: Trial) -> None:
        if trial.note and trial.number not in self._begun:  # a search cut short; later it says why a try failed
            note(f"{trial.number}: {trial.note}")
        self._begun.add(trial.number)
        self._running[trial.number] = trial
        self._show_running()

    def _ended(self, trial: Trial, outcome: Outcome) -> None:
        self._running.pop(trial.number, None)
        verdict = self._glances.verdict() if trial.state is State.COMPLETE else None
        if self._as_json:
            typer.echo(json_text(_plain(trial, outcome, verdict)), file=self._out)
        else:
            line = one_line(ended_line(trial, outcome, verdict, self._study.first_left), _width(self._console))
            say(line, "red" if outcome.failed is not None else "", to=self._console)
        self._show_running()

    def _trouble(self, error: StorageError) -> None:
        note(f"{error}; the outcome is held, and recorded as soon as the store answers")

    def _show_running(self) -> None:
        if self._status:
            now = "; ".join(f"{t.number}: {design(t.params)}{_gain(t)}" for t in self._running.values())
            text = f"running {now}" if now else CHOOSING
            self._status.update(Text(one_line(printable(text), self._console.width - 4)))


def ended_line(trial: Trial, outcome: Outcome, verdict: Verdict | None, left: int) -> str:
    """What came of an experiment; `left` first designs are still to come."""
    start = f"{trial.number}:"
    if outcome.failed is not None:
        again = "" if trial.state is State.FAILED else ", will be tried again"
        return f"{start} failed{again}: {outcome.failed}"
    so_far = f"; expected loss {number(verdict.expected_loss)}; so far: {in_short(verdict)}" if verdict else ""
    return f"{start} {measured(trial.value, trial.std_error)}{_gain(trial, left)}{so_far}"


def _gain(trial: Trial, left: int = 0) -> str:
    if trial.gain is None:
        return f" (first design{f', {left} to come' if left else ''})"
    return f" (gain {number(trial.gain)})"


def _width(to: Console) -> int:
    return to.width if to.is_terminal else LONGEST


def _plain(trial: Trial, outcome: Outcome, verdict: Verdict | None) -> dict[str, Any]:
    return {
        "number": trial.number,
        "params": trial.params,
        "state": trial.state.value,
        "value": trial.value,
        "std_error": trial.std_error,
        "failed": outcome.failed,
        "seconds": outcome.seconds,
        "gain": trial.gain,
        "expected_loss": verdict.expected_loss if verdict else None,
        "action": verdict.action if verdict else None,
    }
