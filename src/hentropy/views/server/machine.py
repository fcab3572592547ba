"""How much memory this machine has, and how much of it a process that computes may take."""

import os
import resource
from pathlib import Path

SHARE = 0.75
LEAST = 8 * 2**30
"""Libraries of numerics take gigabytes of addresses that they never fill."""

CONTAINER = Path("/sys/fs/cgroup/memory.max")
"""Where Linux says how much a container may take."""


def usual_memory() -> int:
    """The bytes of addresses that a process may take if nothing else is said: most of the memory."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(LEAST, int(SHARE * min(physical, _contained(physical))))


def limit_memory(most: int) -> None:
    """Let this process take so many bytes of addresses and no more: it then fails, in place of the machine."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))


def _contained(otherwise: int) -> int:
    try:
        text = CONTAINER.read_text().strip()
    except OSError:
        return otherwise
    return int(text) if text.isdecimal() else otherwise
