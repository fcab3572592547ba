"""Files that commands read and write: text as people have it; whole or not at all, never over another unasked."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hentropy.errors import InputError

LONGEST = 80


def file_name(name: str) -> str:
    """A name of a study as part of a file name: letters, digits, points and hyphens alone, in this folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:LONGEST] or "study"


def read_text(file: Path) -> str:
    """The text of a file in UTF-8."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {file}") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file} is not a text in UTF-8 (byte {error.start} is {error.object[error.start]:#x}); save it as"
            " CSV UTF-8"
        ) from None


def write_new(path: Path, text: str | bytes, *, force: bool) -> None:
    """Write a file; one that is there is left alone unless `force`."""
    check_new(path, force=force)
    # beside its place first: a full disk leaves what was there
    beside = path.with_name(f".hentropy.{os.getpid()}")
    with naming(path):
        try:
            beside.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
            beside.replace(path)
        finally:
            with suppress(OSError):  # the first error says more
                beside.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Within, what keeps a file from being written is told with its own name."""
    try:
        yield
    except OSError as error:
        read_only = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
        why = "the folder is read-only" if read_only else error.strerror or str(error)
        raise InputError(f"{path} cannot be written: {why}") from None


def check_new(path: Path, *, force: bool) -> None:
    """Raise an `InputError` for a file that must not or cannot be written."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file")
    if path.exists() and not force:
        raise InputError(f"{path} is there already; give --force to write over it, or another name")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} for {path.name}; make it first")
