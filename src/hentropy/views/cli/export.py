"""`hentropy export`: all trials as a file."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hentropy.errors import InputError
from hentropy.studies.definition import space_of
from hentropy.views.cli.arguments import Force, StoreUrl, StudyName
from hentropy.views.cli.opening import file_of, found, located
from hentropy.views.cli.printing import note
from hentropy.views.cli.writing import check_new, write_new
from hentropy.views.text.formats import counted
from hentropy.views.text.trial_files import csv_text, json_lines


class Format(StrEnum):
    """What can be written."""

    CSV = "csv"
    JSONL = "jsonl"


ENDINGS = {".csv": Format.CSV, ".jsonl": Format.JSONL, ".ndjson": Format.JSONL}


def export(
    study: StudyName,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="csv for spreadsheets, jsonl (JSON lines) for programs. Default: by the ending of FILE, else csv.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Default: standard output.")] = None,
    force: Force = False,
    store: StoreUrl = None,
) -> None:
    """Write all trials as CSV or JSON lines.

    `hentropy import` reads them again. Times are in UTC. A parameter that is called as another column, such as value,
    is in the column param_value. In CSV, a note that begins like a formula of a spreadsheet (= + - @) gets a ' in
    front; numbers stay numbers.

    Example: hentropy export lab.toml --out lab.csv
    """
    kind = _kind(form, out)
    if out is not None:
        check_new(out, force=force)
    place = located(study, store)
    if out is not None and out.resolve() in {path.resolve() for path in (place.file, file_of(place.url)) if path}:
        raise InputError(f"{out} is the study itself; name another file to write the trials to")
    with found(place) as it:
        entries = it.entries
    names = space_of(it.words.description).names
    text = csv_text(entries, names) if kind is Format.CSV else json_lines(entries)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_new(out, text, force=force)
        note(f"{counted(len(entries), 'trial')} written to {out}")


def _kind(form: Format | None, out: Path | None) -> Format:
    """What is written: as it is said, or as the file is called."""
    called = None if out is None else ENDINGS.get(out.suffix.lower())
    if form is not None and called is not None and form is not called:
        raise typer.BadParameter(f"{out} is called as {called}, but the format is {form}", param_hint="--format")
    return form or called or Format.CSV
