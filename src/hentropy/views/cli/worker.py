"""`hentropy worker`: one of many that run a study together."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hentropy.errors import InputError
from hentropy.studies.execution.chosen import executor_of, objective_of, terms_of
from hentropy.studies.execution.executor import Outcome
from hentropy.studies.execution.runner import Watch
from hentropy.studies.execution.runner import run as run_to_the_end
from hentropy.studies.records import Trial
from hentropy.studies.study import Study
from hentropy.views.cli.arguments import StoreUrl, StudyName
from hentropy.views.cli.following import ended_line
from hentropy.views.cli.opening import as_typed, located, opened, words_of
from hentropy.views.cli.printing import say
from hentropy.views.cli.running import check_not_manual, check_objective, going_on_later, note_versions, say_begin
from hentropy.views.cli.wording import in_commands
from hentropy.views.text.formats import one_line

LONGEST = 160


def worker(
    study: StudyName,
    store: StoreUrl = None,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the study's function or program is. Default: this folder."),
    ] = None,
) -> None:
    """Work on a study together with others, on this machine or on many.

    It needs only the name of the study, its store, and a folder with the function or program, which it runs: work only
    for stores that you trust. It ends when the study has enough. Start as many as you like.

    Example: hentropy worker lab --store postgresql://me@server/studies --folder ~/lab
    """
    if folder is not None and not folder.is_dir():
        raise InputError(f"there is no folder {folder}; give the one with the study's function or program")
    place = located(study, store)
    words = words_of(place, folder)
    check_not_manual(words, as_typed(study, store))
    check_objective(words)
    with in_commands(), opened(place, begin=True, trusted=True, folder=folder) as it:
        note_versions(it)
        say_begin(it)
        with going_on_later(it):
            executor = executor_of("local", objective_of(words), 1)
            why = run_to_the_end(it, executor, terms_of(words), Watch(ended=partial(_ended, it)))
    say(f"The end: {why}.", "bold")


def _ended(study: Study, trial: Trial, outcome: Outcome) -> None:
    say(one_line(ended_line(trial, outcome, None, study.first_left), LONGEST))
