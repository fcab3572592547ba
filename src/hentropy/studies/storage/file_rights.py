"""Who may use the files of a store: what is made beside its file has the rights and the owner of that."""

import os
import stat
from contextlib import suppress
from pathlib import Path


def follow(handle: int, like: os.stat_result) -> None:
    """Give an open file the rights of another, and its owner and group as far as this user may.

    Only a file of this user with a single name: by a second one, it could be any other file of this user.
    """
    own = os.fstat(handle)
    if own.st_uid != os.geteuid() or own.st_nlink != 1 or not stat.S_ISREG(own.st_mode):
        return
    if stat.S_IMODE(own.st_mode) != _rights(like):
        os.fchmod(handle, _rights(like))
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        with suppress(PermissionError):
            os.fchown(handle, like.st_uid if os.geteuid() == 0 else -1, like.st_gid)


def denied(path: Path) -> str | None:
    """Why this user may not write to a file that is there, and who can change that; None if nothing is known."""
    try:
        found = path.stat()
    except OSError:
        return None
    if os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        return None
    return f"{path} belongs to {_name(path, found)}, with the rights {_rights(found):o}, and you may not write to it"


def _rights(found: os.stat_result) -> int:
    return stat.S_IMODE(found.st_mode) & 0o666


def _name(path: Path, found: os.stat_result) -> str:
    try:
        return path.owner()
    except KeyError:  # a user whom this machine does not know
        return f"the user {found.st_uid}"


def shared_by(like: Path) -> str:
    """The command that gives a file the rights of another, without its name."""
    return f"chmod {_rights(like.stat()):o}"
