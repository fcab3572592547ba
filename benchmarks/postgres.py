"""A PostgreSQL server of our own, run by an ordinary user, for tests and benchmarks."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

USER = "hentropy"
PATIENCE = 300.0
"""Seconds after which a server that neither starts nor ends never will."""

UNPACKED = Path(__file__).parents[1] / ".postgres"
"""Where `make test` unpacks Debian's packages if they are not installed."""


def programs() -> Path | None:
    """The folder of the server's programs: on the path, where Debian puts them, or where they were unpacked."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    places = [place for root in (Path("/"), UNPACKED) for place in root.glob("usr/lib/postgresql/*/bin")]
    return max(places, key=lambda path: (path.is_relative_to("/usr"), int(path.parent.name)), default=None)


def environment(found: Path) -> dict[str, str]:
    """What programs that were unpacked need to find their libraries."""
    if not found.is_relative_to(UNPACKED):
        return dict(os.environ)
    own = [str(path) for lib in ("usr/lib", "lib") for path in (UNPACKED / lib).glob("*-linux-gnu*")]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join([*own, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])}


@contextmanager
def server(max_connections: int = 100) -> Iterator[str]:
    """A server with an empty cluster; yields the URL of its first database."""
    found = programs()
    if found is None:
        raise FileNotFoundError("the programs of a PostgreSQL server (initdb, postgres) are not installed")
    folder = Path(tempfile.mkdtemp(prefix="hentropy-postgres-"))
    # the server refuses to run as root: then it runs as a user without rights
    account = pwd.getpwnam("nobody") if os.getuid() == 0 else None
    who: dict = {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    who["env"] = environment(found)
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
    data = folder / "data"
    try:
        subprocess.run(
            [found / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync"],
            check=True, capture_output=True, cwd=folder, **who,
        )  # fmt: skip
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": folder,
            "fsync": "off",
            "max_connections": max_connections,
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with _listening([found / "postgres", "-D", data, *options], folder, who) as port:
            yield f"postgresql://{USER}@127.0.0.1:{port}/postgres"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _listening(command: list[Any], folder: Path, who: dict) -> Iterator[int]:
    """The port at which a server answers; one that another program takes first is given up for another."""
    while True:
        port = _free_port()
        with (folder / "log").open("w") as log:
            process = subprocess.Popen([*command, "-c", f"port={port}"], stderr=log, cwd=folder, **who)
        try:
            if _answers(process, folder / "log"):
                yield port
                return
        finally:
            if process.poll() is None:
                process.send_signal(2)  # fast shutdown: connections are ended
            process.wait(timeout=PATIENCE)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(process: subprocess.Popen, log: Path) -> bool:
    """Whether it has its port; it may end because it has not."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        if "ready to accept connections" in log.read_text():
            return True
        time.sleep(0.05)
    if "could not bind" in log.read_text():
        return False
    raise RuntimeError(f"the PostgreSQL server does not start:\n{log.read_text()}")
