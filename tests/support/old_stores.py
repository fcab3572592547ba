"""Stores of earlier formats, as the code of that time has written them: see tests/data/README.md."""

import sqlite3
from contextlib import closing
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
FORMATS = tuple(sorted(int(path.stem.removeprefix("store-")) for path in DATA.glob("store-*.sql")))


def old_store(number: int, path: Path) -> Path:
    """A store of this format in a new file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((DATA / f"store-{number:04}.sql").read_text(encoding="utf-8"))
    return path


def set_format(url_path: Path, number: int) -> None:
    """Let a file say that it has another format, as an upgrade by another version would."""
    with closing(sqlite3.connect(url_path)) as connection:
        connection.execute("UPDATE hentropy_version SET version_num = ?", (f"{number:04}",))
        connection.commit()
