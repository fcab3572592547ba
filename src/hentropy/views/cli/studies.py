"""`hentropy list` and `delete`: the studies of a store."""

import sys
from contextlib import closing
from typing import Annotated, Any

import typer

from hentropy.errors import InputError
from hentropy.studies.definition.building import DATABASE
from hentropy.studies.records import StudyRecord
from hentropy.studies.storage import Store
from hentropy.views.cli.arguments import AsJson, StoreUrl, StudyName
from hentropy.views.cli.opening import found, located, shown, store_at
from hentropy.views.cli.printing import console, print_json, say, table
from hentropy.views.text.formats import ago, counted, iso
from hentropy.views.text.sentences import counts, last_activity


def list_(store: StoreUrl = None, json: AsJson = False) -> None:
    """List the studies of a store; without --store, of hentropy.db in this folder.

    Example: hentropy list --store sqlite:///lab.db
    """
    url = store or f"sqlite:///{DATABASE}"
    hint = "" if store else "; name another with --store URL"
    with closing(store_at(url, f"there is no store {shown(url)}{hint}")) as there:
        rows = [_row(there, study) for study in there.studies()]
        place = shown(there.place)
    if json:
        print_json([{**row, "last_activity": iso(row["last_activity"])} for row in rows])
    elif not rows:
        say(f"{place} has no studies yet.")
    else:
        say(f"The studies in {place}:", "bold")
        columns = ["name", "decision", "trials", "complete", "failed", "running", "last activity"]
        cells = [
            [row["name"], row["decision"], *(str(row[key]) for key in columns[2:6]), ago(row["last_activity"])]
            for row in rows
        ]
        console().print(table(columns, cells, left=["name", "decision"]))


def _row(store: Store, study: StudyRecord) -> dict[str, Any]:
    entries = store.news(study).entries
    decision = study.definition.get("decision", {})
    named = decision.get("name") or decision.get("python") or "made in Python"
    last = last_activity(entries, study.created_at)
    return {"name": study.name, "decision": named, "trials": len(entries), **counts(entries), "last_activity": last}


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
