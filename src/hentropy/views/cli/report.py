"""`hentropy report`: a study as one HTML file to send."""

from pathlib import Path
from typing import Annotated

import typer

from hentropy.views.cli.arguments import Force, StoreUrl, StudyName


def report(
    study: StudyName,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Default: NAME-report.html.", show_default=False)
    ] = None,
    force: Force = False,
    store: StoreUrl = None,
) -> None:
    """Write a report: the decision, the pictures, all trials, and how it was made, in one HTML file.

    It opens in any browser from disk, with no network, and can be sent as it is.

    Example: hentropy report lab.toml --out lab.html
    """
    # pictures take as long to import as all the rest: other commands do without them
    from hentropy.views.cli.reporting import write_report  # noqa: PLC0415

    write_report(study, out, force=force, store=store)
