"""The report of a study written to a file."""

from pathlib import Path

from hentropy.errors import InputError
from hentropy.views.cli.file_names import file_name
from hentropy.views.cli.opening import file_of, located, opened
from hentropy.views.cli.printing import say
from hentropy.views.cli.wording import in_commands
from hentropy.views.cli.writing import check_new, write_new
from hentropy.views.report import report_html


def write_report(study: str, out: Path | None, *, force: bool, store: str | None) -> None:
    """Write the report of a study, and say where it is."""
    place = located(study, store)
    path = out or Path(f"{file_name(place.name)}-report.html")
    if path.resolve() in {own.resolve() for own in (place.file, file_of(place.url)) if own}:
        raise InputError(f"{path} is the study itself; name another file to write the report to")
    check_new(path, force=force)
    with in_commands(), opened(place) as it:
        text = report_html(it)
    write_new(path, text, force=force)
    say(f"The report is in {path} ({len(text.encode('utf-8')) / 1e6:.1f} MB); open it in a browser.")
