"""Who works on a trial: a name for this process that tells others, on the same machine, whether it still lives."""

import os
import socket
import uuid
from pathlib import Path


def new_owner() -> str:
    """A name for one worker of this process: machine, process, its start, and a part that no other worker has."""
    pid = os.getpid()
    return f"{socket.gethostname()[:60]}|{_machine()}|{pid}|{_start(pid)}|{uuid.uuid4().hex[:8]}"


def is_gone(owner: str | None) -> bool:
    """Whether the process of an owner surely has ended: only for those of this machine can that be known."""
    try:
        _, machine, pid, start, _ = (owner or "").split("|")
        return machine == _machine() and _start(int(pid)) != start
    except ValueError:
        return False


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
    if Path("/proc/self/stat").exists():
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        pass
    return "running"
