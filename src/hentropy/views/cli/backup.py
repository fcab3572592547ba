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
            help="The file of a store or its URL; or a study file, whose store is meant.",
            show_default=False,
        ),
    ],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The file to write.", show_default=False)],
    force: Force = False,
    store: StoreUrl = None,
) -> None:
    """Copy a whole store to a file, while others may go on writing.

    All its studies are in the copy, with the history of every trial. The copy is a store itself: to restore it, stop
    all programs that use the store, and back it up the other way round, with --force. Copying the file of a store that
    is in use by other means loses results. For PostgreSQL, it prints the command to use.

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
