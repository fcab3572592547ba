"""`hentropy check` and `schema`: whether a study file can be run, what it will do, and what such files may say."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hentropy.core.spaces import Pool, Space
from hentropy.errors import HentropyError, InputError
from hentropy.studies.definition import Description, json_schema
from hentropy.studies.records import Trial, first_left
from hentropy.studies.study import Study
from hentropy.studies.study.words import LocatedDescription
from hentropy.views.cli.arguments import AsJson, Force, StoreUrl
from hentropy.views.cli.files import write_new
from hentropy.views.cli.objective_check import objective_mistakes
from hentropy.views.cli.opening import is_there, shown
from hentropy.views.cli.printing import console, note, print_json, say, table
from hentropy.views.cli.store_check import is_another, kept_in, no_folder
from hentropy.views.text.formats import counted
from hentropy.views.text.sentences import (
    conditions_sentences,
    cost_sentences,
    decide_on_sentences,
    decision_sentence,
    first_sentence,
    notes_of,
    objective_sentence,
    outcome_sentences,
    stop_sentence,
    values_text,
)


@dataclass(frozen=True)
class Checked:
    """A study file that can be used, as it would start or resume."""

    words: LocatedDescription
    first: int
    place: str
    trials: tuple[Trial, ...] | None
    """Those that the store has; None if it does not know the study."""


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A study file.", show_default=False)],
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Check a study file and say in plain words what it will do.

    No experiment is run, and no store is made. The module of a Python objective is imported, so that mistakes in it
    are found now.

    Example: hentropy check lab.toml
    """
    try:
        it = checked(file, store)
    except HentropyError as error:
        if not json:
            raise
        print_json({"file": str(file), "ok": False, "mistakes": [line.strip() for line in str(error).splitlines()]})
        raise typer.Exit(1) from None
    if json:
        print_json(_plain(file, it))
    else:
        _print(file, it)


def checked(file: Path, url: str | None = None) -> Checked:
    """A study file with all that it needs, or an error that names every mistake."""
    words = LocatedDescription.read(file)
    mistakes = objective_mistakes(words)
    try:
        study = Study(**words.options(trusted=True))
    except HentropyError as error:
        raise InputError("\n".join([str(error), *mistakes])) from None
    place = url or words.place
    kept = kept_in(place, words) if is_there(place) else None
    mistakes += is_another(place, kept, words, study) if kept else no_folder(place)
    if mistakes:
        raise InputError("\n".join([f"{file} cannot be run:", *(f"  {line}" for line in mistakes)]))
    first = words.description.first or (study.first if kept is None else kept.log.first)
    return Checked(words, first, place, None if kept is None else kept.log.trials)


def _print(file: Path, it: Checked) -> None:
    description = it.words.description
    say(f"{file} is valid: the study {description.name}.", "bold")
    space = description.designs()
    if isinstance(space, Pool):
        say(f"Designs come from a list of {len(space.points)}; their parameters are {', '.join(space.parameters)}.")
        if space.shown:
            say(_shown_sentence(space))
    rows = [[name, p.kind, values_text(p)] for name, p in space.parameters.items()]
    console().print(table(["parameter", "type", "values"], rows, left=["parameter", "type", "values"]))
    for line in (*conditions_sentences(space), *outcome_sentences(description), *cost_sentences(description)):
        say(line)
    for line in (decision_sentence(description), *decide_on_sentences(description)):
        say(line)
    for line in _notes(it):
        say(f"Note: {line}", "yellow")
    say(first_sentence(it.first, description, it.trials or ()))
    say(objective_sentence(description))
    say(stop_sentence(description))
    say(_kept_sentence(it))


def _shown_sentence(pool: Pool) -> str:
    """The columns of a pool that the model does not use."""
    known = [f"identified by {pool.id}"] * (pool.id is not None)
    kept = [f"kept with {', '.join(pool.ignored)}, which the model does not use"] * bool(pool.ignored)
    return f"They are {' and '.join([*known, *kept])}."


def _notes(it: Checked) -> tuple[str, ...]:
    """What a person should know, also of conditions that exclude nothing."""
    description = it.words.description
    space, trials = description.designs(), it.trials or ()
    idle = space.idle_conditions() if isinstance(space, Space) else []
    return (
        *notes_of(description, it.first, trials),
        *(f"the condition {condition} excludes nothing" for condition in idle),
    )


def _kept_sentence(it: Checked) -> str:
    if it.trials is None:
        return f"It will be stored in {shown(it.place)}; it has not started yet."
    return f"It is stored in {shown(it.place)} with {counted(len(it.trials), 'trial')}, and resumes from there."


def _plain(file: Path, it: Checked) -> dict[str, Any]:
    description: Description = it.words.description
    return {
        "file": str(file),
        "ok": True,
        "mistakes": [],
        "notes": list(_notes(it)),
        "conditions": conditions_sentences(description.designs()),
        "name": description.name,
        "first": it.first,
        "store": shown(it.place),
        "first_left": first_left(it.first, it.trials or ()),
        "trials": None if it.trials is None else len(it.trials),
        "description": description.model_dump(mode="json", exclude={"own", "storage"}),
    }


def schema(
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Default: standard output.")] = None,
    force: Force = False,
) -> None:
    """Print the JSON Schema of study files.

    Editors complete and check files with it.

    Example: hentropy schema --out hentropy.schema.json
    """
    text = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_new(out, text, force=force)
        note(f"written to {out}")
