"""`hentropy plot` and `report`: a study as pictures, and as one HTML file to send."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hentropy.views.cli.arguments import Force, StoreUrl, StudyName


class PictureFormat(StrEnum):
    """What can be written."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def plot(
    study: StudyName,
    what: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PICTURE",
            help="known, decided, why, progress, worth, loss, predictions or trust; can be repeated. Default: all.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The folder, made if it is not there. Default: NAME-pictures.", show_default=False
        ),
    ] = None,
    form: Annotated[PictureFormat, typer.Option("--format", help="The format of the files.")] = PictureFormat.PNG,
    force: Force = False,
    store: StoreUrl = None,
) -> None:
    """Draw pictures of a study: what is known, the recommendation and why, progress.

    Each picture is a file with its caption in it. `hentropy report` has all of them on one page.

    Example: hentropy plot lab.toml --what known --what why --out pictures
    """
    # matplotlib takes as long to import as all the rest: other commands do without it
    from hentropy.views.cli.picture_files import plot_all  # noqa: PLC0415

    plot_all(study, what or [], out, form.value, force=force, store=store)


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
    from hentropy.views.cli.picture_files import write_report  # noqa: PLC0415

    write_report(study, out, force=force, store=store)
