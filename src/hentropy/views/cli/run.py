"""`hentropy run` and `worker`: a study to its end, alone or as one of many."""

from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hentropy.core.given import MOST_WORKERS
from hentropy.errors import InputError
from hentropy.studies.definition import Description
from hentropy.studies.execution.chosen import Kind, executor_of, objective_of, terms_of
from hentropy.studies.execution.runner import run as run_to_the_end
from hentropy.studies.records import State
from hentropy.studies.study import Study
from hentropy.views.cli.arguments import StoreUrl, StudyName, whole
from hentropy.views.cli.opening import as_typed, located, opened, shown, words_of
from hentropy.views.cli.printing import say
from hentropy.views.cli.run_progress import (
    Follower,
    check_not_manual,
    check_objective,
    going_on_later,
    note_versions,
    say_begin,
    say_spent,
)
from hentropy.views.cli.trial_tables import print_verdict
from hentropy.views.text.log_lines import event_line
from hentropy.views.text.trials import verdict_json


class Executors(StrEnum):
    """Who evaluates."""

    LOCAL = "local"
    PROCESSES = "processes"
    DASK = "dask"
    SLURM = "slurm"


def run(
    study: StudyName,
    executor: Annotated[
        Executors | None,
        typer.Option(
            help="Who runs experiments. Default: local for one worker, processes for more.", show_default=False
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(parser=whole(1, MOST_WORKERS), metavar="N", help="How many experiments run side by side.")
    ] = 1,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A running Dask scheduler; for the executor dask.")
    ] = None,
    slurm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A parameter of SLURM jobs, such as partition=gpu or timeout_min=60; may be given several times.",
        ),
    ] = None,
    store: StoreUrl = None,
    details: Annotated[
        bool, typer.Option("--details", help="Also print expected losses, in the units of the decision's loss.")
    ] = False,
    json_lines: Annotated[bool, typer.Option("--json-lines", help="Print one JSON object per event.")] = False,
) -> None:
    """Run a study until a stopping rule is met: ask, evaluate, tell.

    Every step is recorded as it happens: after an interruption, the same command resumes. Several processes may run
    the same study at once. The experiments are run by the function or program that the study names.

    Example: hentropy run lab.toml --workers 4
    """
    place = located(study, store)
    words = words_of(place)
    check_not_manual(words, as_typed(study, store))
    kind = _kind(executor, workers, scheduler)
    if slurm and kind != "slurm":
        raise typer.BadParameter("parameters of jobs go with the executor slurm", param_hint="--slurm")
    if kind not in ("dask", "slurm"):  # the workers of a cluster may have what this machine has not
        check_objective(words)
    with opened(place, begin=True, trusted=True) as it:
        note_versions(it)
        if not json_lines:
            say_begin(it)
        with going_on_later(it):
            who = executor_of(kind, objective_of(words), workers, scheduler, slurm or (), words.folder)
            with Follower(it, workers, json_lines, details).watch() as watch:
                why = run_to_the_end(it, who, terms_of(words), watch)
            _say_end(it, why, as_typed(study, store), json_lines, words.description, details)
        if not any(trial.state is State.COMPLETE for trial in it.records):
            raise typer.Exit(1)


def _kind(executor: Executors | None, workers: int, scheduler: str | None) -> Kind:
    if executor is Executors.LOCAL and workers > 1:
        raise typer.BadParameter("local runs one experiment at a time; use processes", param_hint="--executor")
    if executor not in (None, Executors.DASK) and scheduler is not None:
        raise typer.BadParameter("a scheduler goes with the executor dask", param_hint="--scheduler")
    if executor is Executors.DASK or (executor is None and scheduler is not None):
        return "dask"
    if executor is Executors.SLURM:
        return "slurm"
    if executor is Executors.PROCESSES or (executor is None and workers > 1):
        return "processes"
    return "local"


def _say_end(study: Study, why: str, called: str, as_json: bool, description: Description, details: bool) -> None:
    known = any(trial.state is State.COMPLETE for trial in study.records)
    verdict = study.decide(worth=False) if known else None
    if verdict and study.stopped:
        with suppress(KeyboardInterrupt):  # all results are there: who does not wait for its worth has the verdict
            verdict = study.with_worth(verdict)
    if as_json:
        end = {"stopped": why, "trials": len(study.records), "verdict": verdict_json(verdict) if verdict else None}
        typer.echo(event_line("end", **end))
        return
    say(f"Finished: {why}.", "bold")
    if verdict:
        print_verdict(verdict, called, description, details)
    else:
        say("Nothing was measured, so nothing can be decided.")
    say_spent(study)
    waiting = [str(trial.number) for trial in study.records if trial.state is State.RUNNING]
    if waiting:
        say(f"Still waiting for the values of {', '.join(waiting)}: hentropy show {called} lists them.")


def worker(
    study: StudyName,
    store: StoreUrl = None,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the study's function or program is. Default: this folder."),
    ] = None,
    json_lines: Annotated[bool, typer.Option("--json-lines", help="Print one JSON object per event.")] = False,
) -> None:
    """Work on a study together with other workers, on this machine or on several.

    A worker needs only the name of the study, its store, and a folder with the function or program. It runs that code,
    so use only stores that you trust. It ends when a stopping rule is met. Start as many workers as you like.

    Example: hentropy worker lab --store postgresql://me@server/studies --folder ~/lab
    """
    if folder is not None and not folder.is_dir():
        raise InputError(f"there is no folder {folder}; give the one with the study's function or program")
    place = located(study, store)
    words = words_of(place, folder)
    check_not_manual(words, as_typed(study, store))
    check_objective(words)
    with opened(place, begin=True, trusted=True, folder=folder) as it:
        note_versions(it)
        follower = Follower(it, 1, json_lines, verdicts=False)
        if json_lines:
            follower.say("begin", study=it.name, store=shown(it.store.place), trials=len(it.records))
        else:
            say_begin(it)
        with going_on_later(it):
            # apart: an objective may keep the interpreter for longer than a lease, which this process renews
            executor = executor_of("processes", objective_of(words), 1)
            with follower.watch() as watch:
                why = run_to_the_end(it, executor, terms_of(words), watch)
    if json_lines:
        follower.say("end", stopped=why)
    else:
        say(f"Finished: {why}.", "bold")
