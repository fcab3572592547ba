"""`Settings`: what a server is told when it starts, checked at once; no part of it ever comes from a request."""

import ipaddress
import os
import resource
from dataclasses import dataclass, field, fields
from pathlib import Path

from hentropy.errors import InputError

MAX_MEMORY = 4 * 2**30
MIN_MEMORY = 2**30
"""The libraries alone take a quarter of this."""

CONTAINER = Path("/sys/fs/cgroup/memory.max")
"""Where Linux says how much a container may take."""


def usual_memory() -> int:
    """The bytes that a process may take if nothing else is said: half of the memory, but no more than 4 GiB."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(MIN_MEMORY, min(MAX_MEMORY, min(physical, _contained(physical)) // 2))


def limit_memory(most: int) -> None:
    """Let this process take so many bytes for its data and no more: it then fails, in place of the machine.

    What it only reserves, or maps from files, does not count; libraries of numerics do that by the gigabyte. Systems
    other than Linux do not keep to this limit.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, hard))


def _contained(otherwise: int) -> int:
    try:
        text = CONTAINER.read_text().strip()
    except OSError:
        return otherwise
    return int(text) if text.isdecimal() else otherwise


JOB_SECONDS = 600.0

SHORTEST_TOKEN = 16
"""Letters; a token that can be guessed protects nothing."""

PORT = 8470

MAX_NOTE_LENGTH = 10_000
"""Letters of a note, on the page and in the API."""


@dataclass(frozen=True)
class ServerLimits:
    """How much a server takes from its clients; all of it bounded."""

    body_bytes: int = 1_000_000
    """The most bytes of a request."""
    upload_bytes: int = 5_000_000
    """The most bytes of a request that carries a file."""
    upload_rows: int = 5_000
    """The most rows of data in a request."""
    login_bytes: int = 8_000
    """The most bytes of a request by somebody who has not given the token: the form to log in."""
    body_seconds: float = 60.0
    """The most time that a client may take to send a request."""
    login_seconds: float = 5.0
    """The same for somebody who has not given the token, and for the rest of a request that was answered already."""
    head_seconds: float = 10.0
    """The most time from a new connection, or the first byte of a later request, to the whole head of the request."""
    per_second: float = 100.0
    """The requests of one client that are answered in a second, in the long run."""
    burst: int = 400
    """The requests of one client that are answered at once."""
    clients: int = 10_000
    """The clients whose rates are remembered."""
    wrong_tokens: int = 10
    """The wrong tokens of one client that are answered at once; then one in `wrong_pause` seconds."""
    wrong_pause: float = 10.0
    sessions: int = 1_000
    """The people who may be logged in at once."""
    session_seconds: float = 12 * 3600.0
    """The time after which they have to log in again."""
    jobs: int = 50
    """The computations that may wait."""
    count: int = 50
    """The most experiments that are asked for at once."""
    connections: int = 800
    """The connections at once, open pages included: fewer than the files that a process may usually open."""
    listeners: int = 500
    """The open pages that are told what changes."""
    listeners_each: int = 50
    """Those of one client."""
    look_seconds: float = 120.0
    """The processor time for a verdict, and again for its pictures."""
    job_seconds: float = JOB_SECONDS
    """The time that a proposal, or a verdict with its pictures, may take; then it is ended."""
    job_bytes: int = field(default_factory=usual_memory)
    """The memory that each of the two processes that compute may take."""
    threads: int = 15
    """The requests that use the store at once: as many as it has connections."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            if not getattr(self, limit.name) > 0:
                raise InputError(f"the limit {limit.name} is {getattr(self, limit.name)!r}; it must be above 0")


@dataclass(frozen=True)
class Settings:
    """Where a server listens, what store it shows, and what it asks of its clients.

    Without a token and people everybody who reaches the address may do everything: that is allowed on this machine
    alone. `hosts` are further names under which browsers may call it; `secure` says that a proxy in front of it speaks
    https. `proxies` are the addresses of proxies whose word is taken for who the clients are; in `person_header` they
    name the person, who is one of the file `people`. One that is `read_only` shows and
    computes, and changes nothing in the store.
    """

    store: str = field(repr=False)  # the URL may hold a password
    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    secure: bool = False
    proxies: tuple[str, ...] = ()
    people: Path | None = None
    person_header: str | None = None
    limits: ServerLimits = ServerLimits()
    read_only: bool = False

    def __post_init__(self) -> None:
        if self.store == "memory://":
            raise InputError("a store in memory has nothing to show; give sqlite:///FILE or postgresql://HOST/DATABASE")
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise InputError(
                f"the token has {len(self.token)} characters; it must have at least {SHORTEST_TOKEN}, or others could"
                " guess it"
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise InputError("the token has letters that a header cannot carry; use letters, digits and signs")
        if self.token is None and self.people is None and not is_loopback(self.host):
            raise InputError(
                f"{self.host} can be reached from other machines, and there is no token; leave out --no-token, give one"
                " in HENTROPY_TOKEN, or name the people who may come in with --people"
            )
        if self.people is not None and not self.people.is_file():
            raise InputError(f"there is no file {self.people} of people; hentropy people add NAME makes it")
        if self.person_header is not None and (self.people is None or not self.proxies):
            raise InputError(
                f"--person-header {self.person_header} needs --people, the file that says what each person may do, and"
                " --trusted-proxy, the address of the proxy that names them"
            )
        for proxy in self.proxies:
            if not _is_address(proxy):
                raise InputError(f"--trusted-proxy is {proxy!r}; it must be an address in numbers, such as 127.0.0.1")


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    if host == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
