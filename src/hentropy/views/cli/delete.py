"""`hentropy delete`: a study with all that belongs to it."""

import sys
from typing import Annotated

import typer

from hentropy.errors import InputError
from hentropy.views.cli.arguments import StoreUrl, StudyName
from hentropy.views.cli.opening import found, located, shown
from hentropy.views.cli.printing import console, say
from hentropy.views.text.formats import counted
from hentropy.views.text.sentences import counts


def delete(
    study: StudyName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: StoreUrl = None,
) -> None:
    """Delete a study from its store.

    All trials, values, history and decisions go. The study file stays.

    Example: hentropy export lab.toml --out lab.csv && hentropy delete lab.toml
    """
    with found(located(study, store)) as it:
        has = counts(it.entries)
        what = f"{it.record.name!r} in {shown(it.store.place)} has {counted(sum(has.values()), 'trial')}"
        running = f"; {has['running']} of them running or waiting" if has["running"] else ""
        lost = f"{what}, {counted(has['complete'], 'value')}{running}. All of it would be lost."
        if not yes:
            if not sys.stdin.isatty():
                raise InputError(f"{lost} There is no terminal to ask on; give --yes to delete it")
            say(lost)
            if console().input("Delete it? Type yes: ", markup=False).strip().lower() != "yes":
                say("Nothing was deleted.")
                raise typer.Exit(1)
        it.store.delete(it.record)
        say(f"deleted: {it.record.name!r} from {shown(it.store.place)}")
