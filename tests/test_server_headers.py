"""The names by which a server may be called, and what its answers let a browser do."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from hentropy.views.server.guard.hosts import TrustedHosts
from hentropy.views.server.settings import Settings
from support.serving import PATIENCE, TOKEN, Served, served


@pytest.fixture
def here(sqlite_url: str) -> Iterator[Served]:
    """A server for this machine, without a token."""
    with served(Settings(sqlite_url)) as server:
        yield server


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 400),
        ("evil.example:80", 400),
        ("127.0.0.1.evil.example", 400),
        ("10.0.0.1", 400),
        ("localhost:x", 400),
        ("[::1]x5", 400),
        ("localhost", 200),
        ("LOCALHOST:99", 200),
        ("127.0.0.1", 200),
        ("[::1]:5", 200),
    ],
)
def test_a_foreign_name_that_leads_here_is_refused(here: Served, host: str, status: int) -> None:
    assert here.http.get("/api/studies", headers={"Host": host}).status_code == status
    assert here.http.get("/", headers={"Host": host}).status_code == status


def test_names_of_a_server_for_others() -> None:
    wide = TrustedHosts(_nothing, Settings("sqlite:///x.db", "0.0.0.0", token=TOKEN, hosts=("Lab.example",)))
    machine = socket.gethostname()
    assert all(
        wide.allows(host) for host in ("192.0.2.7:8470", "lab.example", machine, f"{machine}:1", "[2001:db8::1]")
    )
    assert not any(wide.allows(host) for host in ("evil.example", "", "192.0.2.7.evil.example"))
    assert TrustedHosts(_nothing, Settings("sqlite:///x.db", hosts=("*",))).allows("any.example")


async def _nothing(*_: Any) -> None:
    pass


@pytest.mark.parametrize(
    "path", ["/", "/api/studies", "/api/nothing", "/nothing", "/static/base.css", "/login", "/api/broken"]
)
def test_every_answer_says_what_a_browser_may_do(here: Served, path: str) -> None:
    here.app.add_api_route("/api/broken", _broken)
    headers = here.http.get(path).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["form-action"] == policy["connect-src"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert ("no-store" in headers["cache-control"]) == (not path.startswith("/static/base.css"))


def _broken() -> None:
    raise RuntimeError


def test_there_are_no_pages_that_load_scripts_from_elsewhere(here: Served) -> None:
    assert [here.http.get(path).status_code for path in ("/docs", "/redoc", "/openapi.json")] == [404] * 3
    assert here.http.get("/api/openapi.json").json()["info"]["title"] == "hentropy"


@pytest.mark.parametrize(
    "path",
    ["/static/../settings.py", "/static/..%2fsettings.py", "/static/%2e%2e/%2e%2e/app.py", "/static//etc/passwd"],
)
def test_no_path_reaches_the_file_system(here: Served, path: str) -> None:
    with socket.create_connection(("127.0.0.1", int(here.url.rpartition(":")[2])), PATIENCE) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        said = b"".join(iter(lambda: connection.recv(65536), b""))
    assert said.startswith(b"HTTP/1.1 404")
