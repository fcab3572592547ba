"""Connections that keep a server waiting are closed, and nobody can take all of them."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from hentropy.views.cli.serving import configured
from hentropy.views.server.app import make_app
from hentropy.views.server.guard.connections import GuardedConfig
from hentropy.views.server.settings import ServerLimits, Settings
from support.serving import Served, served
from support.waiting import PATIENCE, until

SOON = 0.4
"""Seconds that a connection may wait, in these tests."""

LATER = 2.0
"""The same where something has to be done in time, however busy the machine is."""


@contextmanager
def waiting(url: str, seconds: float = SOON) -> Iterator[Served]:
    """A server that does not wait for long."""
    with served(Settings(url, limits=ServerLimits(head_seconds=seconds))) as server:
        yield server


def connected(server: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), PATIENCE)


def served_to(client: socket.socket) -> bool:
    """Whether the server's end of a connection, which is in this process, is open."""
    ends = (client.getpeername(), client.getsockname())
    return ends in [(each.laddr, each.raddr) for each in psutil.Process().net_connections("tcp")]


def read(connection: socket.socket) -> bytes:
    """All that comes until the other side closes, which it may do with a reset."""
    said = b""
    try:
        while piece := connection.recv(65536):
            said += piece
    except ConnectionResetError:
        pass
    return said


def test_who_never_sends_a_request_is_sent_away(sqlite_url: str) -> None:
    with waiting(sqlite_url) as server, ExitStack() as stack:
        for begun in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "):
            connection = stack.enter_context(connected(server))
            connection.sendall(begun)
            assert read(connection) == b""


def test_single_bytes_do_not_stop_the_time(sqlite_url: str) -> None:
    with waiting(sqlite_url) as server, connected(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
        connection.settimeout(0.05)
        ends = time.monotonic() + PATIENCE
        closed = False
        while not closed and time.monotonic() < ends:
            try:
                connection.sendall(b"x")
                closed = connection.recv(10) == b""
            except TimeoutError:
                continue
            except OSError:
                closed = True
        assert closed


def test_after_an_answer_the_next_request_has_its_time_too(sqlite_url: str) -> None:
    request = b"GET /static/base.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with waiting(sqlite_url, LATER) as server, connected(server) as connection:
        for _ in range(3):
            connection.sendall(request)
            time.sleep(LATER / 2)
        connection.sendall(request[:20])
        assert read(connection).count(b"HTTP/1.1 200") == 3


def test_a_request_that_is_answered_slowly_is_not_cut_off(sqlite_url: str) -> None:
    def slow() -> str:
        time.sleep(3 * SOON)
        return "done"

    with waiting(sqlite_url) as server:
        server.app.add_api_route("/api/slow", slow)
        assert server.http.get("/api/slow").json() == "done"


def test_an_answer_that_is_read_slowly_is_read_whole(sqlite_url: str) -> None:
    length = 20_000_000  # more than the systems' buffers hold
    with waiting(sqlite_url, LATER) as server, connected(server) as connection:
        server.app.add_api_route("/api/long", lambda: "x" * length)
        connection.sendall(b"GET /api/long HTTP/1.1\r\nHost: localhost\r\n\r\n")
        said = b""
        for _ in range(4):
            time.sleep(LATER / 2)
            said += connection.recv(2_000_000)
        said += read(connection)
        assert said.count(b"x") >= length
        with connected(server) as other:  # this one reads nothing
            other.sendall(b"GET /api/long HTTP/1.1\r\nHost: localhost\r\n\r\n")
            other.recv(1, socket.MSG_PEEK)  # the answer has begun: the server has taken the connection
            until(lambda: not served_to(other))
            assert len(read(other)) < length


@pytest.mark.parametrize("limit", ["connections", "connections_of_one"])
def test_too_many_connections_are_told_so(sqlite_url: str, limit: str) -> None:
    with served(Settings(sqlite_url, limits=ServerLimits(**{limit: 5}))) as server, ExitStack() as stack:
        server.http.get("/api/studies")
        idle = [stack.enter_context(connected(server)) for _ in range(5)]
        for path, kind in (("/api/studies", b"application/json"), ("/", b"text/html")):
            with connected(server) as connection:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                said = read(connection)
                assert said.startswith(b"HTTP/1.1 503")
                assert kind in said
                assert b"oo many connections are open" in said
                assert b"retry-after: " in said.lower()
        for connection in idle:
            connection.close()

        def taken() -> bool:
            with connected(server) as connection:
                connection.sendall(b"GET /api/studies HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return read(connection).startswith(b"HTTP/1.1 200")

        until(taken)


def test_far_too_many_are_cut_off_and_leave_nothing_behind(sqlite_url: str) -> None:
    settings = Settings(sqlite_url, limits=ServerLimits(connections_of_one=5))
    with served(settings) as server, ExitStack() as stack:
        many = [stack.enter_context(connected(server)) for _ in range(80)]
        many[-1].settimeout(PATIENCE)
        assert read(many[-1]) == b""


def test_a_trusted_proxy_stands_for_many() -> None:
    settings = Settings("sqlite:///not-opened.db", proxies=("192.0.2.1",), limits=ServerLimits(connections_of_one=2))
    config = configured(make_app(settings), settings)
    assert isinstance(config, GuardedConfig)
    config.clients.update({"192.0.2.1": 9, "192.0.2.2": 9})
    assert config.excess("192.0.2.1", 18) <= 0
    assert config.excess("192.0.2.2", 18) == 7
    assert config.excess("192.0.2.1", settings.limits.connections + 3) == 3
