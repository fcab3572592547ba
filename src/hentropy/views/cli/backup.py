"""`hentropy backup` and `upgrade`: a copy of a whole store, with the history of everything, and its newest format."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from hentropy.errors import NoStore, StudyError
from hentropy.studies.definition.reading import ENDINGS
from hentropy.studies.storage import BackupContents, back_up, upgrade_store
from hentropy.views.cli.arguments import Force, StoreUrl
from hentropy.views.cli.files import check_new
from hentropy.views.cli.opening import file_of, is_there, located, shown
from hentropy.views.cli.printing import say
from hentropy.views.text.formats import counted

StoreName = Annotated[
    str,
    typer.Argument(
        metavar="STORE",
        help="The file of a store, its URL, or a study file that names it.",
        show_default=False,
    ),
]


def backup(
    source: StoreName,
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
    with _existing(source, store) as url:
        check_new(target, force=force)
        _say_written(back_up(url, target, overwrite=force), target)


def upgrade(
    source: StoreName,
    no_backup: Annotated[
        bool, typer.Option("--no-backup", help="Make no backup first; for PostgreSQL, once pg_dump has made one.")
    ] = False,
    store: StoreUrl = None,
) -> None:
    """Bring a store that an earlier version of hentropy has written to the format of this one.

    Stop all programs that use it first. A backup is made next to the file of the store, and the command that restores
    it is printed. Until then such a store can be read, but not changed.

    Example: hentropy upgrade hentropy.db
    """
    with _existing(source, store) as url:
        done = upgrade_store(url, backup=not no_backup)
    if done.before == done.now:
        say(f"{shown(url)} has format {done.now} already")
        return
    kept = shown(str(done.backup))
    if done.contents is not None:
        _say_written(done.contents, kept)
    say(f"{shown(url)} had format {done.before}, and has format {done.now} now")
    if done.contents is not None:
        say(f"To undo this: {shlex.join(['hentropy', 'backup', kept, str(file_of(url)), '--force'])}")


@contextmanager
def _existing(source: str, store: str | None) -> Iterator[str]:
    """The URL of a store that has to be there."""
    by_study = store is not None or Path(source).suffix.lower() in ENDINGS
    url = located(source, store).url if by_study else source
    none = StudyError(f"there is no store {shown(url)}; name the file of a store, its URL, or a study file")
    if not is_there(url):
        raise none
    try:
        yield url
    except NoStore:
        raise none from None


def _say_written(made: BackupContents, target: Path | str) -> None:
    of = "1 study" if made.studies == 1 else f"{made.studies} studies"
    say(f"{counted(made.trials, 'trial')} of {of} written to {target}")
