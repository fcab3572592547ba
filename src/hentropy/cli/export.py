"""`hentropy export`: all trials as a file."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from hentropy.cli.arguments import Force, StoreUrl, StudyName
from hentropy.cli.opening import file_of, found, located
from hentropy.cli.printing import counted, note
from hentropy.cli.trial_files import csv_text, json_lines
from hentropy.cli.writing import check_new, write_new
from hentropy.description import space_of
from hentropy.errors import InputError, MissingExtra

try:
    import typer
except ImportError:
    raise MissingExtra("typer", "cli") from None


class Format(StrEnum):
    """What can be written."""

    CSV = "csv"
    JSONL = "jsonl"


def export(
    study: StudyName,
    form: Annotated[
        Format, typer.Option("--format", help="csv for spreadsheets, jsonl (JSON lines) for programs.")
    ] = Format.CSV,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Default: standard output.")] = None,
    force: Force = False,
    store: StoreUrl = None,
) -> None:
    """Write all trials as CSV or JSON lines.

    `hentropy import` reads them again. Times are in UTC. A parameter that is called as another column, such as value,
    is in the column param_value. In CSV, a note that begins like a formula of a spreadsheet (= + - @) gets a ' in
    front; numbers stay numbers.

    Example: hentropy export lab.toml --format csv --out lab.csv
    """
    if out is not None:
        check_new(out, force=force)
    place = located(study, store)
    if out is not None and out.resolve() in {path.resolve() for path in (place.file, file_of(place.url)) if path}:
        raise InputError(f"{out} is the study itself; name another file to write the trials to")
    with found(place) as it:
        entries = it.entries
    names = space_of(it.words.description).names
    text = csv_text(entries, names) if form is Format.CSV else json_lines(entries)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_new(out, text, force=force)
        note(f"{counted(len(entries), 'trial')} written to {out}")
