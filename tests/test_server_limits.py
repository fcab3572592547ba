"""How much a server takes: bytes, rows, time, requests."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from hentropy.views.server.guard.rates import Rates, client_of
from hentropy.views.server.new_study import MOST_AT_ONCE, READING
from hentropy.views.server.settings import ServerLimits, Settings
from support.serving import PATIENCE, TOKEN, Served, served
from support.visiting import FORM


@pytest.fixture
def here(sqlite_url: str) -> Iterator[Served]:
    """A server for this machine, without a token."""
    with served(Settings(sqlite_url)) as server:
        yield server


def small(url: str, **limits: Any) -> Settings:
    return Settings(url, limits=ServerLimits(**limits))


def test_large_requests_are_refused(sqlite_url: str) -> None:
    with (
        served(small(sqlite_url, body_bytes=2_000, upload_bytes=20_000)) as server,
        served(replace(small(sqlite_url, login_bytes=500), token=TOKEN)) as guarded,
    ):
        study = server.create()
        path = f"/api/studies/{study}/attach"

        def status(
            size: int, announced: bool, kind: str = "application/json", path: str = path, at: Served = server
        ) -> int:
            body = b" " * size
            content: Any = body if announced else iter([body[:500], body[500:]])
            return at.http.post(path, content=content, headers={"Content-Type": kind, "Origin": at.url}).status_code

        for announced in (True, False):  # with a Content-Length, and in chunks
            assert status(1_999, announced) == 422
            assert status(2_001, announced) == 413
            assert status(19_000, announced, "text/csv", f"{path}.csv") == 422
            assert status(20_001, announced, "text/csv", f"{path}.csv") == 413
            assert status(2_001, announced, FORM["Content-Type"], f"/studies/{study}/ask") == 413
            assert status(501, announced, FORM["Content-Type"], "/login", guarded) == 413
        assert status(501, True, "multipart/form-data; boundary=b", "/login", guarded) == 413
        assert server.http.get("/api/studies").status_code == 200


def test_a_request_that_says_it_is_too_large_is_not_waited_for(here: Served) -> None:
    head = f"POST /api/check HTTP/1.1\r\nHost: {here.url[7:]}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", int(here.url.rpartition(":")[2])), PATIENCE) as connection:
        connection.sendall(f"{head}Content-Length: 99999999\r\n\r\n".encode())  # and none of it comes
        assert connection.recv(100).startswith(b"HTTP/1.1 413")


def test_a_long_number_in_an_address_is_refused(here: Served) -> None:
    for path in ("/studies/{}", "/studies/{}/trials/0", "/studies/1/trials/{}", "/api/studies/{}"):
        assert here.http.get(path.format("9" * 5_000)).status_code == 414


@pytest.mark.parametrize(("charset", "status"), [("UTF-8", 422), ("unicode_escape", 415), ("undefined", 415)])
def test_a_form_is_in_utf_8(here: Served, charset: str, status: int) -> None:
    parts = '--b\r\nContent-Disposition: form-data; name="name"\r\n\r\n\\ud800\r\n--b--\r\n'
    kind = f"multipart/form-data; boundary=b; charset={charset}"
    headers = {"Content-Type": kind, "Origin": here.url}
    assert here.http.post("/new", content=parts, headers=headers).status_code == status


def test_definitions_that_take_long_leave_threads_for_others(here: Served) -> None:
    words: dict[str, Any] = {"version": 1, "name": "a", "space": {"x": {"type": "real", "low": 0, "high": 1}}}
    words["decision"] = {"name": "maximize"}
    with ExitStack() as stack:
        for _ in range(MOST_AT_ONCE):  # as if so many were being looked at
            assert READING.acquire(timeout=PATIENCE)
            stack.callback(READING.release)
        assert here.http.post("/api/check", json=words).status_code == 503
        assert here.http.get("/api/studies").status_code == 200
    assert here.http.post("/api/check", json=words).status_code == 200


def test_more_rows_than_allowed_are_refused(sqlite_url: str) -> None:
    with served(small(sqlite_url, upload_rows=3)) as server:
        study = server.create()
        rows = [{"params": {"x": i / 9}, "value": 1.0} for i in range(5)]
        path = f"/api/studies/{study}/attach"
        answers = [server.http.post(path, json={"rows": rows})]
        for end in ("\n", "\r"):
            earlier = f"x,value{end}" + "".join(f"{i / 9},1{end}" for i in range(4))
            exported = f"number,state,value,x{end}" + "".join(f"{i},complete,1,{i / 9}{end}" for i in range(4))
            for where, text in ((f"{path}.csv", earlier), (f"/api/studies/{study}/import", exported)):
                answers.append(server.http.post(where, content=text, headers={"Content-Type": "text/csv"}))
        for answer in answers:
            assert answer.status_code == 422
            assert "at most 3 are accepted at once" in answer.json()["error"]["sentence"]
        assert server.http.post(path, json={"rows": rows[:3]}).status_code == 201


def test_a_request_that_never_ends_is_ended(sqlite_url: str) -> None:
    with served(small(sqlite_url, body_seconds=0.3)) as server:
        head = f"POST /api/check HTTP/1.1\r\nHost: {server.url[7:]}\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), PATIENCE) as connection:
            connection.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 408")


def test_too_many_requests_have_to_wait(sqlite_url: str) -> None:
    with served(small(sqlite_url, per_second=0.01, burst=5)) as server:
        statuses = [server.http.get("/api/studies").status_code for _ in range(6)]
        assert statuses == [200] * 4 + [429] * 2  # one request was there before
        answer = server.http.get("/")
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 100


def test_rates_recover_and_are_remembered_in_bounded_memory() -> None:
    now = 0.0
    rates = Rates(2.0, 3, 100, clock=lambda: now)
    assert [rates.take("a") for _ in range(5)] == [0.0, 0.0, 0.0, 0.5, 0.5]
    assert rates.take("b") == 0.0
    now = 0.5
    assert [rates.take("a"), rates.take("a")] == [0.0, 0.5]
    now = 100.0
    assert [rates.take("a") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    for number in range(1_000):
        rates.take(str(number))
    assert len(rates) == 100


def test_a_network_is_one_client() -> None:
    assert client_of("2001:db8::1") == client_of("2001:db8::ffff:1") != client_of("2001:db8:0:1::1")
    assert client_of("192.0.2.1") != client_of("192.0.2.2")
    assert client_of("::1") == "::1"
    assert client_of("::ffff:192.0.2.1") == client_of("192.0.2.1") != client_of("::ffff:192.0.2.2")
