"""A lock on a file beside the store, which the system lets go of when its process ends, however that ends.

The file may belong to anybody: who can read it can lock it. It is never removed, so that all lock the same one.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hentropy.errors import StorageError
from hentropy.studies.storage.file_rights import denied, follow, shared_by

OPENING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not by a link to some other file, and without waiting for whatever else may have this name."""


@contextmanager
def locked(path: Path, like: Path) -> Iterator[None]:
    """Have the lock; the file is made with the rights of another one."""
    try:
        handle = _acquired(path, like)
    except OSError as error:
        raise StorageError(_meaning(error, path, like)) from None
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # a process that was forked meanwhile may have it open too
        os.close(handle)


def _acquired(path: Path, like: Path) -> int:
    while True:
        handle = _opened(path, like.stat())
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except FileNotFoundError:
            pass  # removed while we waited: nobody else would lock this one
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _opened(path: Path, like: os.stat_result) -> int:
    while True:
        try:
            # not made at once: in some folders, to open a file of others is refused if it might be made
            handle = os.open(path, OPENING)
        except FileNotFoundError:
            try:
                handle = os.open(path, OPENING | os.O_CREAT | os.O_EXCL, like.st_mode & 0o666)
            except FileExistsError:
                continue  # somebody was faster
        follow(handle, like)
        return handle


def _meaning(error: OSError, path: Path, like: Path) -> str:
    why = denied(path) if isinstance(error, PermissionError) else None
    if why is not None:
        return (
            f"{why}: it is the lock of those who ask. Its owner can share it by `{shared_by(like)} {path}`, or anybody"
            " who may can delete it while nobody asks"
        )
    if path.is_symlink() or path.exists():
        return f"the lock file {path} cannot be locked: {error.strerror}; delete it while nobody asks"
    return f"the lock file {path} cannot be made: {error.strerror}; is the folder read-only, or full?"
