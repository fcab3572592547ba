"""`hentropy attach`, `export` and `import`: data in and out."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hentropy.errors import InputError
from hentropy.studies.definition import made_outcomes
from hentropy.studies.files import MOST_IN_TABLE, read_text
from hentropy.studies.records import Failed, State
from hentropy.studies.study.rules import violations
from hentropy.views.cli.arguments import Force, Mapped, StoreUrl, StudyName, renamed_columns
from hentropy.views.cli.files import check_new, write_new
from hentropy.views.cli.opening import file_of, found, located, opened, words_of
from hentropy.views.cli.printing import note, say
from hentropy.views.cli.run_progress import say_first
from hentropy.views.text.earlier_data import earlier_data
from hentropy.views.text.formats import counted
from hentropy.views.text.trial_files import csv_text, exported_in, json_lines


def attach(
    study: StudyName,
    file: Annotated[
        Path, typer.Argument(metavar="CSV", help="A file with a header; comma, semicolon or tab.", show_default=False)
    ],
    mapped: Mapped = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out rows that cannot be used.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Attach rows that are in the study already.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report what would be attached.")] = False,
    store: StoreUrl = None,
) -> None:
    """Add earlier measurements to a study.

    All rows of a file are added, or none if one of them cannot be used. Columns with the names of parameters and
    outcomes are recognised; standard errors are in columns named after their outcome, such as value_se.

    Example: hentropy attach lab.toml old.csv --map Temperature=temperature --map Yield=value
    """
    renamed = renamed_columns(mapped or [])
    place = located(study, store)
    outcomes = made_outcomes(words_of(place).description)
    space = outcomes.space
    data = earlier_data(read_text(file, MOST_IN_TABLE), str(file), outcomes, renamed)
    data.check(str(file), skip_bad, "Fix the file, or leave them out with --skip-bad")
    if data.bad:
        note(data.bad_rows(str(file)))
    if data.unused:
        note(f"unused columns: {', '.join(data.unused)}")
    if data.good and (said := violations(space, space.encode_many([params for params, _ in data.good]))):
        note(said)
    failed = sum(isinstance(outcome, Failed) for _, outcome in data.good)
    failures = f", of which {failed} failed" if failed else ""
    if dry_run:
        say(f"{counted(len(data.good), 'row')} would be attached{failures}; nothing was changed")
        return
    with opened(place, begin=True) as it:
        it.log.attach(data.good, again=again, note=data.notes)
        say(f"{counted(len(data.good), 'row')} attached{failures}")
        say_first(it)


class TableFormat(StrEnum):
    """What can be written."""

    CSV = "csv"
    JSONL = "jsonl"


ENDINGS = {".csv": TableFormat.CSV, ".jsonl": TableFormat.JSONL, ".ndjson": TableFormat.JSONL}


def export(
    study: StudyName,
    form: Annotated[
        TableFormat | None,
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

    `hentropy import` reads them back. Times are in UTC. Each outcome has a column of its name, and one for its standard
    errors: yield, yield_se. A parameter that shares its name with another column, such as value, is in the column
    param_value. In CSV, a note that a spreadsheet would take for a formula (it begins with = + - @ or a space) gets a '
    in front; numbers are unchanged.

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
    text = csv_text(entries, it.log.outcomes) if kind is TableFormat.CSV else json_lines(entries)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_new(out, text, force=force)
        note(f"{counted(len(entries), 'trial')} written to {out}")


def _kind(form: TableFormat | None, out: Path | None) -> TableFormat:
    """What is written: as it is said, or as the file is called."""
    called = None if out is None else ENDINGS.get(out.suffix.lower())
    if form is None and called is None and out is not None and out.suffix:
        known = ", ".join(ENDINGS)
        raise typer.BadParameter(f"{out} ends in {out.suffix}; the endings are {known}", param_hint="--out")
    if form is not None and called is not None and form is not called:
        raise typer.BadParameter(f"{out} is named as {called}, but --format is {form}", param_hint="--format")
    return form or called or TableFormat.CSV


def import_(
    study: StudyName,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file that `hentropy export` wrote: CSV or JSON lines.")
    ],
    store: StoreUrl = None,
) -> None:
    """Load exported trials into a study that has none yet.

    Numbers, states, values, notes and times are restored; the history of each trial begins with the import. Use
    `hentropy attach` for other data.

    Example: hentropy import lab.toml lab.csv
    """
    place = located(study, store)
    # before the study is begun: a file that cannot be used leaves nothing behind
    imported = exported_in(read_text(file, MOST_IN_TABLE), str(file), made_outcomes(words_of(place).description))
    with opened(place, begin=True) as it:
        now = it.store.now()
        it.log.load([one.entry(now) for one in imported])
    running = sum(one.trial.state is State.RUNNING for one in imported)
    waiting = f"; {running} of them pending (listed by hentropy show)" if running else ""
    say(f"{counted(len(imported), 'trial')} imported{waiting}")
