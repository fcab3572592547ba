"""Who has something: names of processes, which tell others on the same machine whether they still live."""

import os
import socket
import uuid
from pathlib import Path

UNSEEN = "unseen"
"""The start of a process that is there, but cannot be looked at."""


def new_owner() -> str:
    """A name for one worker of this process: machine, process, its start, and a part that no other worker has."""
    pid = os.getpid()
    return f"{socket.gethostname()[:60]}|{_machine()}|{pid}|{_start(pid)}|{uuid.uuid4().hex[:8]}"


def who(owner: str) -> str:
    """An owner in words for a person."""
    parts = owner.split("|")
    return f"process {parts[2]} on {parts[0]}" if len(parts) == 5 else owner


def is_gone(owner: str | None) -> bool:
    """Whether the process of an owner surely has ended: only for those of this machine can that be known."""
    return _lives(owner) is False


def is_alive(owner: str | None) -> bool:
    """Whether the process of an owner surely lives, on this machine."""
    return _lives(owner) is True


def _lives(owner: str | None) -> bool | None:
    try:
        _, machine, pid, start, _ = (owner or "").split("|")
        number = int(pid)
    except ValueError:
        return None
    if machine != _machine():
        return None
    return _start(number) in (start, UNSEEN)


def _machine() -> str:
    """This machine since it was started, and this name space of processes: within it a process has one number."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}{os.readlink('/proc/self/ns/pid').removeprefix('pid:')}"
    except OSError:
        return f"{uuid.getnode():x}"


def _start(pid: int) -> str:
    """When a process was started, in words of the system; empty where there is none with this number."""
    try:
        # the name of the program, in parentheses, may hold blanks; the start is the 20th word after it
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)  # asks only; some systems show /proc only to the owner of a process, or have none
    except ProcessLookupError:
        return ""
    except OSError:
        pass
    return UNSEEN
