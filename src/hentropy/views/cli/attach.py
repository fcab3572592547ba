"""`hentropy attach`: data that were there before the study."""

from pathlib import Path
from typing import Annotated

import typer

from hentropy.errors import InputError
from hentropy.studies.definition import space_of
from hentropy.studies.study import Study
from hentropy.views.cli.arguments import StoreUrl, StudyName
from hentropy.views.cli.opening import located, opened, words_of
from hentropy.views.cli.printing import note, say
from hentropy.views.cli.running import say_first
from hentropy.views.cli.text_files import read_text
from hentropy.views.cli.wording import in_commands
from hentropy.views.text.earlier_data import Data, earlier_data, repeated
from hentropy.views.text.formats import counted

SHOWN_BAD = 20


def attach(
    study: StudyName,
    file: Annotated[
        Path, typer.Argument(metavar="CSV", help="A file with a header; comma, semicolon or tab.", show_default=False)
    ],
    mapped: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="COLUMN=PARAMETER", help="A column with another name. May be given many times."),
    ] = None,
    value: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of values. Default: value.")] = None,
    std_error: Annotated[
        str | None,
        typer.Option(
            "--std-error", metavar="COLUMN", help="The column of standard errors. Default: std_error, if there is one."
        ),
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out rows that cannot be used.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Attach rows that are in the study already.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be attached.")] = False,
    store: StoreUrl = None,
) -> None:
    """Add earlier measurements to a study.

    All rows of a file are added, or none if one of them cannot be used. Columns with the names of the parameters are
    found by themselves.

    Example: hentropy attach lab.toml old.csv --map Temperature=temperature --value yield
    """
    place = located(study, store)
    space = space_of(words_of(place).description)
    renamed = _renamed(mapped or [])
    data = earlier_data(read_text(file), str(file), space, renamed, value, std_error)
    _tell_bad(data, file, skip_bad)
    if data.unused:
        note(f"columns that nothing was taken from: {', '.join(data.unused)}")
    if dry_run:
        say(f"{counted(len(data.good), 'row')} would be attached; nothing was changed")
        return
    with in_commands(), opened(place, begin=True) as it:
        _check_repeats(it, data, again)
        it.attach_many(data.good)
        say(f"{counted(len(data.good), 'row')} attached")
        say_first(it)


def _renamed(mapped: list[str]) -> dict[str, str]:
    """Columns by parameter."""
    pairs = [text.rpartition("=") for text in mapped]
    for text, (column, _, parameter) in zip(mapped, pairs, strict=True):
        if not column or not parameter:
            raise typer.BadParameter(f"{text!r} is not of the form COLUMN=PARAMETER", param_hint="--map")
    return {parameter.strip(): column.strip() for column, _, parameter in pairs}


def _tell_bad(data: Data, file: Path, skip_bad: bool) -> None:
    if not data.bad:
        if not data.good:
            raise InputError(f"{file} has no rows below its header; nothing was attached")
        return
    shown = [f"  {line}" for line in data.bad[:SHOWN_BAD]]
    more = [f"  ... and {len(data.bad) - SHOWN_BAD} more"] if len(data.bad) > SHOWN_BAD else []
    said = "\n".join([f"{counted(len(data.bad), 'row')} of {file} cannot be used:", *shown, *more])
    if not skip_bad:
        raise InputError(f"{said}\nNothing was attached. Mend the file, or leave them out with --skip-bad.")
    note(said)


def _check_repeats(study: Study, data: Data, again: bool) -> None:
    """Refuse what was attached already: to run the same command twice would count every value twice."""
    repeats = repeated(data, study.records)
    if repeats and not again:
        are = "is" if repeats == 1 else "are"
        raise InputError(
            f"of {counted(len(data.good), 'row')}, {repeats} {are} in the study already, with the same values; was this"
            " file attached before? Nothing was attached. If they are measurements of their own, give --again"
        )
