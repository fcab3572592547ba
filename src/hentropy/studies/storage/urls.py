"""From a path or a URL to a database: the one place that knows all kinds of them."""

import re
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from hentropy.errors import DocPage, InputError, explained_in
from hentropy.studies.storage.base import BackupContents, FormatChange
from hentropy.studies.storage.database import Backend, Database, shown
from hentropy.studies.storage.postgres import Postgres
from hentropy.studies.storage.sqlite import Sqlite

SCHEME = re.compile(r"[a-z+]*://|(sqlite|postgres\w*):", re.IGNORECASE)
"""How a URL begins, also a mistyped one; anything else is taken for a path."""


def open_database(where: str | Path, make: bool, read_only: bool = False) -> Database:
    """The store at a path or URL, made if it is not there and `make` says so."""
    backend = backend_at(where, make and not read_only)
    if read_only:
        backend.read_only = backend.read_only or f"{backend.place} was opened for reading only; nothing was changed"
    with explained_in(DocPage.POSTGRESQL if isinstance(backend, Postgres) else DocPage.STORES):
        return Database(backend, make and not read_only)


def back_up_database(where: str | Path, target: Path, overwrite: bool) -> BackupContents:
    """Write a copy of the store at a path or URL to a file; one of an earlier version is copied as it is."""
    backend = backend_at(where, make=False)
    try:
        return backend.back_up(target, overwrite)
    finally:
        backend.engine.dispose()


def upgrade_database(where: str | Path, backup: bool) -> FormatChange:
    """Bring the store at a path or URL to the newest format."""
    backend = backend_at(where, make=False)
    try:
        return backend.upgrade(backup)
    finally:
        backend.engine.dispose()


def backend_at(where: str | Path, make: bool = True) -> Backend:
    """The database at a path or URL; an `InputError` where it names none that is known."""
    if isinstance(where, Path) or not SCHEME.match(where):
        return Sqlite(Path(where), make)
    try:
        scheme, colon, rest = where.partition(":")
        url = make_url(f"{scheme.lower()}{colon}{rest}")
    except (ArgumentError, ValueError):  # what they say may hold a password
        raise InputError(
            "the store's URL cannot be read; it looks like sqlite:///FILE or postgresql://USER@HOST:PORT/DATABASE"
        ) from None
    kind = url.get_backend_name()
    if kind == "sqlite" and url.database and url.database != ":memory:":
        return Sqlite(Path(url.database), make)
    if kind in ("postgresql", "postgres"):
        return Postgres(url)
    raise InputError(
        f"there is no store at {shown(url)!r}; give sqlite:///FILE, postgresql://USER@HOST/DATABASE, or memory://"
    )
