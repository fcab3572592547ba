"""Files that commands read and write: text as people have it; whole or not at all, never over another unasked."""

import errno
import os
import re
import secrets
import stat
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
    """Write a file; one that is there is left alone unless `force`, and only a regular file is ever replaced.

    The text goes to a file beside its place first, under a name that nobody can guess: a full disk leaves what was
    there. Of a link the file that it points to is replaced, with `force`; the link stays. A link that points to nothing
    is refused: whoever made it could have the text end up anywhere.
    """
    check_new(path, force=force)
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".hentropy.{secrets.token_hex(8)}")
    with naming(path):
        file = beside.open("xb")  # "x" neither writes over a file nor follows a link
        try:
            with file:
                if target.exists():
                    beside.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777)  # a private file stays private
                file.write(text.encode("utf-8") if isinstance(text, str) else text)
            if not force:
                _claim(target, path)
            beside.replace(target)
        finally:
            with suppress(OSError):  # the first error says more
                beside.unlink(missing_ok=True)


def _claim(target: Path, path: Path) -> None:
    """Take a name that was free when it was looked at: a file that came meanwhile is not replaced."""
    try:
        target.open("xb").close()
    except FileExistsError:
        raise InputError(_there_already(path)) from None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Within, what keeps a file from being written is told with its own name."""
    try:
        yield
    except OSError as error:
        read_only = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
        why = "the folder is read-only" if read_only else error.strerror or str(error)
        raise InputError(f"{path} cannot be written: {why}") from None


SPECIAL = (
    ("folder", stat.S_ISDIR),
    ("FIFO", stat.S_ISFIFO),
    ("socket", stat.S_ISSOCK),
    ("device", stat.S_ISCHR),
    ("device", stat.S_ISBLK),
)
"""What can stand where a file is wanted."""


def check_new(path: Path, *, force: bool) -> None:
    """Raise an `InputError` for a file that must not or cannot be written."""
    if path.exists():
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = next((name for name, is_one in SPECIAL if is_one(mode)), "special file")
            raise InputError(f"{path} is a {kind}, not a regular file; name another file")
        if not force:
            raise InputError(_there_already(path))
    elif path.is_symlink():
        raise InputError(f"{path} is a link to {path.readlink()}, which is not there; name the file itself")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} for {path.name}; make it first")


def _there_already(path: Path) -> str:
    return f"{path} is there already; give --force to write over it, or another name"
