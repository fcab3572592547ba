"""Who gets in: the token, and the sessions that it begins. Each test fails if its protection is taken out."""

import hmac
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from hentropy.errors import InputError
from hentropy.views.server.guard.people import hashed, new_token
from hentropy.views.server.guard.sessions import Sessions
from hentropy.views.server.settings import ServerLimits, Settings
from support.serving import TOKEN, Served, served
from support.visiting import JSON, browser, fields, log_in, of_the_api, of_the_pages
from support.waiting import PATIENCE


@pytest.fixture
def guarded(sqlite_url: str) -> Iterator[Served]:
    """A server with a token."""
    with served(Settings(sqlite_url, token=TOKEN)) as server:
        yield server


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "lab.example"])
def test_other_machines_need_a_token(host: str) -> None:
    with pytest.raises(InputError, match="there is no token; leave out --no-token"):
        Settings("sqlite:///x.db", host)
    Settings("sqlite:///x.db", host, token=TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1"])
def test_this_machine_needs_none(host: str) -> None:
    assert Settings("sqlite:///x.db", host).token is None


def test_a_token_that_can_be_guessed_is_refused() -> None:
    with pytest.raises(InputError, match="at least 16"):
        Settings("sqlite:///x.db", token="short")
    with pytest.raises(InputError, match="header cannot carry"):
        Settings("sqlite:///x.db", token="with spaces and ümlauts")


def test_settings_show_no_secrets() -> None:
    shown = repr(Settings("postgresql://me:password@host/lab", token=TOKEN))
    assert TOKEN not in shown
    assert "password" not in shown


def test_nothing_is_had_without_the_token(guarded: Served) -> None:
    guarded.create()
    every = of_the_api(guarded)
    assert len(every) > 20
    for method, path in every:
        answer = guarded.http.request(method, path, headers=JSON)
        assert answer.status_code == 401, (method, path)
        assert "Bearer" in answer.headers["www-authenticate"]
    assert guarded.http.get("/api/openapi.json").status_code == 401


def test_no_page_is_shown_without_the_token(guarded: Served) -> None:
    guarded.create()
    every = of_the_pages()
    assert len(every) > 10
    for method, path in every:
        if path in ("/login", "/health", "/ready"):
            continue
        answer = guarded.http.request(method, path)
        if path == "/metrics":  # programs read it
            assert answer.status_code == 401
        elif method == "GET":
            assert (answer.status_code, answer.headers["location"]) == (303, f"/login?next={path}"), path
        else:
            assert answer.status_code in (401, 403), path


def test_a_bearer_token_lets_in_and_a_wrong_one_does_not(guarded: Served) -> None:
    def status(token: str) -> int:
        return guarded.http.get("/api/studies", headers={"Authorization": token}).status_code

    assert status(f"Bearer {TOKEN}") == 200
    assert status(f"bearer {TOKEN}") == 200
    assert [status(wrong) for wrong in (f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", TOKEN)] == [401] * 4


def test_tokens_are_compared_in_constant_time(guarded: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(a: bytes, b: bytes, real: Any = hmac.compare_digest) -> bool:
        compared.append((a, b))
        return bool(real(a, b))

    monkeypatch.setattr(hmac, "compare_digest", compare)
    guarded.http.get("/api/studies", headers={"Authorization": "Bearer wrong"})
    assert compared == [(hashed("wrong").encode(), hashed(TOKEN).encode())]


def test_who_guesses_has_to_wait_and_the_right_token_behind_the_same_address_does_not(sqlite_url: str) -> None:
    def bearer(token: str) -> httpx.Response:
        return server.http.get("/api/studies", headers={"Authorization": f"Bearer {token}"})

    limits = ServerLimits(wrong_tokens=3, wrong_pause=60.0)
    with served(Settings(sqlite_url, token=TOKEN, limits=limits)) as server, browser(server) as client:
        assert [log_in(client, "wrong").status_code for _ in range(4)] == [401, 401, 401, 429]
        assert 1 <= int(log_in(client, "wrong").headers["retry-after"]) <= 60
        assert log_in(client).status_code == 303
        assert [bearer(token).status_code for token in ("w", "w", "w", "w", TOKEN)] == [401, 401, 401, 429, 200]


def test_a_link_with_the_token_opens_and_leaves_no_trace_of_it(guarded: Served) -> None:
    study = guarded.create()
    with browser(guarded) as client:
        wrong = client.get("/?token=wrong")
        assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
        answer = client.get(f"/studies/{study}?sort=value&token={TOKEN}")
        assert (answer.status_code, answer.headers["location"]) == (303, f"/studies/{study}?sort=value")
        assert TOKEN not in answer.headers["set-cookie"]
        assert client.get(f"/studies/{study}").status_code == 200
        session = dict(client.cookies)
        assert client.get("/?token=wrong").headers["location"] == "/"  # who is in already stays so
        assert dict(client.cookies) == session
        for path in ("//evil.example", "///evil.example"):
            assert client.get(f"{guarded.url}{path}?token={TOKEN}").headers["location"] == "/evil.example"
    assert guarded.http.get(f"/api/studies?token={TOKEN}").status_code == 401  # programs send a header


def test_who_is_in_stays_in_while_others_guess(sqlite_url: str) -> None:
    limits = ServerLimits(wrong_tokens=1, wrong_pause=60.0)
    with served(Settings(sqlite_url, token=TOKEN, limits=limits)) as server, browser(server) as client:
        assert log_in(client).status_code == 303
        with browser(server) as other:
            assert [log_in(other, "wrong").status_code for _ in range(2)] == [401, 429]
        assert client.get("/").status_code == 200


def test_a_slow_login_is_not_waited_for(sqlite_url: str) -> None:
    """Before anybody has shown a token, a request must not hold a connection for as long as others may."""
    settings = Settings(sqlite_url, token=TOKEN, limits=ServerLimits(login_seconds=0.3))
    with served(settings) as server:
        head = f"POST /login HTTP/1.1\r\nHost: {server.url[7:]}\r\nOrigin: {server.url}\r\n"
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), PATIENCE) as connection:
            form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 40\r\n\r\ntoken="
            connection.sendall(f"{head}{form}".encode())  # and no more of it comes
            assert connection.recv(100).startswith(b"HTTP/1.1 408")
    assert ServerLimits().login_seconds < ServerLimits().body_seconds / 10


def test_logging_out_ends_open_streams(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hentropy.views.server.events.HEARTBEAT", 0.05)
    with served(Settings(sqlite_url, token=TOKEN)) as server, browser(server) as client, browser(server) as same:
        study = server.create()
        log_in(client)
        same.cookies = client.cookies
        with client.stream("GET", f"/studies/{study}/events") as events:
            lines = events.iter_lines()
            assert next(lines) == "retry: 2000"
            assert same.post("/logout").status_code == 303
            deadline = time.monotonic() + PATIENCE
            for _ in lines:  # it ends, and is not kept alive by comments for ever
                assert time.monotonic() < deadline


def test_nothing_is_read_of_those_who_are_not_let_in(guarded: Served) -> None:
    for path, kind in (
        ("/api/studies/1/attach.csv", "text/csv"),
        ("/studies/1/attach", "multipart/form-data; boundary=b"),
    ):
        head = f"POST {path} HTTP/1.1\r\nHost: {guarded.url[7:]}\r\nContent-Type: {kind}\r\n"
        with socket.create_connection(("127.0.0.1", int(guarded.url.rpartition(":")[2])), PATIENCE) as connection:
            connection.sendall(f"{head}Content-Length: 4000000\r\n\r\n".encode())  # and none of it comes
            assert connection.recv(100).startswith(b"HTTP/1.1 401"), path


def test_a_proxy_says_who_its_clients_are_if_it_is_trusted(sqlite_url: str) -> None:
    def wrong(server: Served, client: str) -> int:
        headers = {"Authorization": "Bearer wrong", "X-Forwarded-For": client}
        return server.http.get("/api/studies", headers=headers).status_code

    settings = Settings(sqlite_url, token=TOKEN, limits=ServerLimits(wrong_tokens=1, wrong_pause=60.0))
    with served(settings) as server:
        assert [wrong(server, "192.0.2.1"), wrong(server, "192.0.2.2")] == [401, 429]
    with served(replace(settings, proxies=("127.0.0.1",))) as server:
        assert [wrong(server, "192.0.2.1"), wrong(server, "192.0.2.2"), wrong(server, "192.0.2.1")] == [401, 401, 429]
    with pytest.raises(InputError, match="--trusted-proxy is '\\*'"):
        Settings(sqlite_url, proxies=("*",))


def test_logging_in_leads_back_with_the_query(guarded: Served) -> None:
    wanted = "/studies/1?sort=value&page=2"
    with browser(guarded) as client:
        sent = client.get(wanted).headers["location"]
        assert sent == "/login?next=/studies/1%3Fsort%3Dvalue%26page%3D2"
        form = fields(client.get(sent))
        assert client.post("/login", data={**form, "token": TOKEN}).headers["location"] == wanted


def test_an_icon_needs_no_token(guarded: Served) -> None:
    assert guarded.http.get("/favicon.ico").headers["content-type"] == "image/svg+xml"


def test_logging_in_and_out(guarded: Served) -> None:
    with browser(guarded) as client:
        assert client.get("/studies/1").headers["location"] == "/login?next=/studies/1"
        assert log_in(client, "wrong").status_code == 401
        assert client.get("/").status_code == 303
        assert not client.cookies
        planted = new_token()
        client.cookies.set(guarded.services.access_control.cookie, planted, domain="127.0.0.1")
        answer = log_in(client, after="/studies/1")
        assert (answer.status_code, answer.headers["location"]) == (303, "/studies/1")
        cookie = answer.headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=Lax", "Path=/", "Max-Age="):
            assert part in cookie
        assert "Secure" not in cookie  # over http it would not come back
        assert TOKEN not in cookie
        assert planted not in cookie  # an id that somebody else may know is not kept
        assert client.get("/").status_code == 200
        page = client.get("/")
        assert TOKEN not in page.text
        assert client.post("/logout").status_code == 303
        client.cookies.update(dict(client.cookies))
        assert client.get("/").status_code == 303


def test_cookies_need_https_where_there_is_https(sqlite_url: str) -> None:
    with served(Settings(sqlite_url, token=TOKEN, secure=True)) as server, browser(server) as client:
        assert "; Secure" in log_in(client).headers["set-cookie"]


def test_sessions_end_and_are_bounded() -> None:
    now = 0.0
    sessions = Sessions(2, 10.0, clock=lambda: now)
    first, second = sessions.begin(), sessions.begin()
    assert sessions.is_open(first)
    third = sessions.begin()  # in place of the one that was not used
    assert [sessions.is_open(each) for each in (first, second, third)] == [True, False, True]
    assert len(sessions) == 2
    now = 9.9
    assert sessions.is_open(first)
    now = 10.0
    assert not sessions.is_open(first)
    sessions.end(third)
    assert len(sessions) == 0


@pytest.mark.parametrize("after", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/\nx"])
def test_logging_in_leads_nowhere_else(guarded: Served, after: str) -> None:
    with browser(guarded) as client:
        assert log_in(client, after=after).headers["location"] == "/"


def test_a_session_of_one_server_is_not_that_of_another(sqlite_url: str, tmp_path: Path) -> None:
    with served(Settings(sqlite_url, token=TOKEN)) as one, served(Settings(sqlite_url, token=TOKEN + "2")) as other:
        with browser(one) as client:
            log_in(client)
            [(name, session)] = client.cookies.items()
        assert name != other.services.access_control.cookie
        forged = {"Cookie": f"{other.services.access_control.cookie}={session}"}
        assert other.http.get("/", headers=forged).status_code == 303
