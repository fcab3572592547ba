"""`hentropy backup`: a copy of a whole store, with the history of everything."""

from pathlib import Path
from typing import Annotated

import typer

from hentropy.errors import NoStore, StudyError
from hentropy.studies.definition.reading import ENDINGS
from hentropy.studies.storage import back_up
from hentropy.views.cli.arguments import Force, StoreUrl
from hentropy.views.cli.files import check_new
from hentropy.views.cli.opening import is_there, located, shown
from hentropy.views.cli.printing import say
from hentropy.views.text.formats import counted


def backup(
    source: Annotated[
        str,
        typer.Argument(
            metavar="STORE",
            help="The file of a store, its URL, or a study file that names it.",
            show_default=False,
        ),
    ],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The file to write.", show_default=False)],
    force: Force = False,
    store: StoreUrl = None,
) -> None:
    """Copy a whole store to a file, even while other programs write to it.

    The copy has all studies, with the history of every trial, and is itself a store. To restore it, stop all programs
    that use the store, then swap STORE and TARGET and give --force. Do not copy the file of a store that is in use by
    other means: results may be lost. For PostgreSQL, the command to use is printed.

    Example: hentropy backup hentropy.db backup.db
    """
    by_study = store is not None or Path(source).suffix.lower() in ENDINGS
    url = located(source, store).url if by_study else source
    none = StudyError(f"there is no store {shown(url)}; name the file of a store, its URL, or a study file")
    if not is_there(url):
        raise none
    check_new(target, force=force)
    try:
        made = back_up(url, target, overwrite=force)
    except NoStore:
        raise none from None
    of = "1 study" if made.studies == 1 else f"{made.studies} studies"
    say(f"{counted(made.trials, 'trial')} of {of} written to {target}")
