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

USER = "hentropy"


def programs() -> Path | None:
    """The folder of the server's programs: on the path, or where Debian puts them."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), default=None)


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
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
    data, port = folder / "data", _free_port()
    try:
        subprocess.run(
            [found / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync"],
            check=True, capture_output=True, cwd=folder, **who,
        )  # fmt: skip
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": folder,
            "fsync": "off",
            "max_connections": max_connections,
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen([found / "postgres", "-D", data, *options], stderr=log, cwd=folder, **who)
        try:
            _await_answer(port, process, folder / "log")
            yield f"postgresql://{USER}@127.0.0.1:{port}/postgres"
        finally:
            process.send_signal(2)  # fast shutdown: connections are ended
            process.wait(timeout=30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_answer(port: int, process: subprocess.Popen, log: Path, patience: float = 30.0) -> None:
    deadline = time.monotonic() + patience
    while process.poll() is None and time.monotonic() < deadline:
        if "ready to accept connections" in log.read_text():
            return
        time.sleep(0.05)
    raise RuntimeError(f"the PostgreSQL server does not start:\n{log.read_text()}")
