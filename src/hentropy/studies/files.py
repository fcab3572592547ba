"""Files that people name: only regular files of bounded size are read, and a new file appears whole or not at all."""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hentropy.errors import InputError

MOST_IN_STUDY = 10_000_000
MOST_IN_TABLE = 250_000_000
"""Bytes of a study file, and of a table of designs or trials: a file beyond these is there by mistake."""

NEW, PRIVATE, EXECUTABLE = 0o666, 0o600, 0o777
"""The rights of new files, before the user's mask: of an ordinary one, one for its owner alone, a program."""

SPECIAL = (
    ("folder", stat.S_ISDIR),
    ("FIFO", stat.S_ISFIFO),
    ("socket", stat.S_ISSOCK),
    ("device", stat.S_ISCHR),
    ("device", stat.S_ISBLK),
)
"""What can stand where a file is wanted."""


def special_kind(path: Path) -> str | None:
    """What a path leads to that is not a regular file; None for a regular file."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return None
    return next((name for name, is_one in SPECIAL if is_one(mode)), "special file")


def check_regular(path: Path) -> None:
    """Raise an `InputError` for what is not a regular file: a FIFO would be waited for, and a device has no end."""
    kind = special_kind(path)
    if kind is not None:
        raise InputError(f"{path} is a {kind}, not a regular file; name another file")


def read_text(file: Path, most: int) -> str:
    """The text of a file in UTF-8 with at most this many bytes; the pipe of a shell, as in <(...), is read as well."""
    try:
        if not (re.fullmatch(r"/dev/fd/\d+|/dev/stdin", str(file)) and special_kind(file) == "FIFO"):
            check_regular(file)
        with file.open("rb") as stream:
            content = stream.read(most + 1)
        if len(content) > most:
            raise InputError(f"{file} is larger than {most / 1e6:g} MB, the most that is read; is it the right file?")
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {file}") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file} is not text in UTF-8 (byte {error.start} is {error.object[error.start]:#x}); save it as UTF-8,"
            " from a spreadsheet as CSV UTF-8"
        ) from None
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        if isinstance(error, InputError):
            raise
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{file} cannot be read: {why}") from None


@contextmanager
def beside(path: Path, rights: int = NEW) -> Iterator[Path]:
    """An empty file in the folder of `path` under a name that nobody can guess; what is left of it is removed.

    It is closed: for a process that has a file open by SQLite, to close it once more is to lose its locks on it.
    """
    made = path.with_name(f".hentropy.{secrets.token_hex(8)}")
    os.close(
        os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, rights)
    )  # neither writes over a file nor follows links
    try:
        yield made
    finally:
        with suppress(OSError):  # the first error says more
            made.unlink(missing_ok=True)


def take_name(made: Path, path: Path) -> None:
    """Call a file `path`; a `FileExistsError` if there is one of this name."""
    try:
        os.link(made, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: the name is taken by an empty file first
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
        made.replace(path)
    else:
        made.unlink()
