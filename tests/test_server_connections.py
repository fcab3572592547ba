"""Nobody keeps a connection by sending slowly what the server does not want, and there are only so many of them."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from starlette.types import Message

from hentropy.views.client import RemoteStudy
from hentropy.views.server.guard.bodies import UnreadBodies
from hentropy.views.server.settings import ServerLimits, Settings
from support.serving import TOKEN, Served, served
from support.waiting import PATIENCE, until

SOON = 0.4
"""Seconds for a body of somebody who is not let in, in these tests."""


@pytest.fixture
def guarded(sqlite_url: str) -> Iterator[Served]:
    """A server with a token and few connections, which waits for strangers only for a moment."""
    limits = ServerLimits(login_seconds=SOON, body_seconds=10 * PATIENCE, connections=6)
    with served(Settings(sqlite_url, token=TOKEN, limits=limits)) as server:
        yield server


def connected(server: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), PATIENCE)


def read(connection: socket.socket) -> bytes:
    """All that comes until the other side closes, which it may do with a reset."""
    said = b""
    try:
        while piece := connection.recv(65536):
            said += piece
    except ConnectionResetError:
        pass
    return said


def begun(server: Served, path: str, announced: int = 4_000) -> bytes:
    """The head of a form of a page of ours, of which nothing comes."""
    head = f"POST {path} HTTP/1.1\r\nHost: {server.url[7:]}\r\nOrigin: {server.url}\r\n"
    form = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {announced}\r\n\r\n"
    return (head + form).encode()


def ask(server: Served) -> bytes:
    with connected(server) as connection:
        head = f"GET /api/studies HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
        return read(connection)


@pytest.mark.parametrize(
    ("path", "announced", "status"),
    [
        ("/login", 4_000, b"408"),
        ("/login", 4_000_000, b"413"),
        ("/studies/1/attach", 4_000, b"401"),
        ("/api/studies", 4_000_000, b"401"),
        ("/logout", 4_000, b"401"),
    ],
)
def test_single_bytes_of_a_stranger_do_not_keep_a_connection(
    guarded: Served, path: str, announced: int, status: bytes
) -> None:
    with connected(guarded) as connection:
        connection.sendall(begun(guarded, path, announced))
        connection.settimeout(SOON / 10)
        ends, said, closed = time.monotonic() + PATIENCE, b"", False
        while not closed and time.monotonic() < ends:
            with suppress(OSError):  # the other side has closed; what it said is still to be read
                connection.sendall(b"x")
            try:
                piece = connection.recv(65536)
                said, closed = said + piece, piece == b""
            except TimeoutError:
                continue
            except OSError:
                closed = True
        assert closed
        assert said.startswith(b"HTTP/1.1 " + status)


def test_slow_strangers_do_not_take_all_connections(guarded: Served) -> None:
    guarded.http.close()
    with ExitStack() as stack:
        strangers = [stack.enter_context(connected(guarded)) for _ in range(6)]
        assert ask(guarded).startswith(b"HTTP/1.1 503")
        for stranger, path in zip(strangers, ("/login", "/studies/1/attach") * 3, strict=True):
            stranger.sendall(begun(guarded, path))
        until(lambda: ask(guarded).startswith(b"HTTP/1.1 200"))


def test_who_sends_no_request_does_not_keep_a_connection(sqlite_url: str) -> None:
    limits = ServerLimits(head_seconds=SOON, connections=6)
    head = f"GET /api/studies HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n".encode()
    with served(Settings(sqlite_url, token=TOKEN, limits=limits)) as server, ExitStack() as stack:
        server.http.close()
        silent, slow, second = (stack.enter_context(connected(server)) for _ in range(3))
        slow.sendall(head)
        second.sendall(head + b"\r\n")
        assert second.recv(65536).startswith(b"HTTP/1.1 200")
        second.sendall(head)  # of another request, and no more of it
        for connection in (silent, slow, second):
            assert read(connection).find(b"HTTP/1.1 200") == -1  # it ends
        with connected(server) as connection:  # what has a head may take longer
            connection.sendall(begun(server, "/login") + b"x")
            connection.settimeout(2 * SOON)
            with pytest.raises(TimeoutError):
                connection.recv(1)


def test_too_many_connections_are_told_so_and_a_client_comes_again(guarded: Served) -> None:
    guarded.create()
    guarded.http.close()
    with ExitStack() as stack:
        idle = [stack.enter_context(connected(guarded)) for _ in range(6)]
        said = ask(guarded)
        assert said.startswith(b"HTTP/1.1 503")
        with pytest.raises(Exception, match="is busy: status 503"):
            RemoteStudy(guarded.url, "lab", token=TOKEN, patience=0.0)
        for connection in idle:
            connection.close()
        assert RemoteStudy(guarded.url, "lab", token=TOKEN).name == "lab"


def test_an_answer_before_the_end_of_a_request_ends_the_connection() -> None:
    """The rest is read, so that a client that sends all of it before it reads sees the answer; but not for ever."""
    pieces = [b"1", b"2", b"3"]

    async def answered(pieces: list[bytes], endless: bool) -> tuple[list[Message], list[bytes]]:
        sent: list[Message] = []

        async def refuse(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})

        async def receive() -> Message:
            if not pieces and endless:
                await asyncio.sleep(PATIENCE)
            body = pieces.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(pieces) or endless}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "headers": [(b"content-length", b"3")]}
        await UnreadBodies(refuse, ServerLimits(login_seconds=0.05))(scope, receive, send)
        return sent, pieces

    for endless in (False, True):
        sent, left = asyncio.run(answered(pieces.copy(), endless))
        assert left == []
        assert (b"connection", b"close") in sent[0]["headers"]
        assert sent[1]["body"] == b"no"
