"""Files that commands write: whole or not at all, and never over another unasked."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hentropy.errors import InputError
from hentropy.studies.files import NEW, beside, check_regular, take_name

MAX_NAME_LENGTH = 80


def file_name(name: str) -> str:
    """A name of a study as part of a file name: letters, digits, points and hyphens alone, in this folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:MAX_NAME_LENGTH] or "study"


def write_new(path: Path, text: str | bytes, *, force: bool, rights: int = NEW) -> None:
    """Write a file; one that is there is left alone unless `force`, and only a regular file is ever replaced.

    The text goes to a temporary file next to it first: a full disk leaves what was there. Of a link the file that it
    points to is replaced, with `force`; the link stays. A link that points to nothing is refused: whoever made it could
    have the text end up anywhere. A file that is replaced keeps its rights.
    """
    check_new(path, force=force)
    target = Path(os.path.realpath(path))
    with naming(path), beside(target, rights) as made:
        if force and target.exists():
            made.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777)  # a private file stays private
        made.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
        if force:
            made.replace(target)
        else:
            try:
                take_name(made, target)
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


def check_new(path: Path, *, force: bool) -> None:
    """Raise an `InputError` for a file that must not or cannot be written."""
    if path.exists():
        check_regular(path)
        if not force:
            raise InputError(_there_already(path))
    elif path.is_symlink():
        raise InputError(f"{path} is a link to {path.readlink()}, which is not there; name the file itself")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} for {path.name}; make it first")


def _there_already(path: Path) -> str:
    return f"{path} already exists; give --force to overwrite it, or choose another name"
