"""Who gets in, and how much: each test fails if its protection is taken out."""

import hmac
import re
import socket
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from hentropy.errors import InputError
from hentropy.server import events, login
from hentropy.server.guard.hosts import Hosts
from hentropy.server.guard.rates import Rates, client_of
from hentropy.server.guard.sessions import Sessions
from hentropy.server.pages import asking, attaching, entering, reading
from hentropy.server.settings import Limits, Settings
from support.serving import PATIENCE, TOKEN, Served, served

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def here(sqlite_url: str) -> Iterator[Served]:
    """A server for this machine, without a token."""
    with served(Settings(sqlite_url)) as server:
        yield server


@pytest.fixture
def guarded(sqlite_url: str) -> Iterator[Served]:
    """A server with a token."""
    with served(Settings(sqlite_url, token=TOKEN)) as server:
        yield server


def browser(server: Served) -> httpx.Client:
    """A client that keeps its cookies for itself and follows no redirects."""
    return httpx.Client(base_url=server.url, timeout=PATIENCE, trust_env=False)


class _Inputs(HTMLParser):
    """The values of the fields of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "input" and given.get("name"):
            self.values[str(given["name"])] = given.get("value") or ""


def fields(page: httpx.Response) -> dict[str, str]:
    parser = _Inputs()
    parser.feed(page.text)
    return parser.values


def log_in(client: httpx.Client, token: str = TOKEN, after: str = "/") -> httpx.Response:
    form = fields(client.get("/login", params={"next": after}))
    return client.post("/login", data={**form, "token": token})


PAGES = (login, events, asking, attaching, entering, reading)
"""The modules with routes of pages."""


def paths(path: str, methods: Iterable[str]) -> list[tuple[str, str]]:
    """The methods of a route, each with its path; what varies in it is 0."""
    plain = re.sub(r"{[^}]*}", "0", path)
    return [(method.upper(), plain) for method in methods]


def of_the_api(server: Served) -> list[tuple[str, str]]:
    """All routes for programs."""
    described = server.app.openapi()["paths"]
    return [route for path, methods in described.items() for route in paths(path, methods)]


def of_the_pages() -> list[tuple[str, str]]:
    """All routes for people."""
    found = [route for module in PAGES for route in module.router.routes if isinstance(route, APIRoute)]
    return [each for route in found for each in paths(route.path, route.methods or ())]


# who starts it


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "lab.example"])
def test_other_machines_need_a_token(host: str) -> None:
    with pytest.raises(InputError, match="there is no token; give one with --token"):
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


# the token


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
        if path == "/login":
            continue
        answer = guarded.http.request(method, path)
        if method == "GET":
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
    assert compared == [(b"wrong", TOKEN.encode())]


def test_who_guesses_has_to_wait(sqlite_url: str) -> None:
    limits = Limits(wrong_tokens=3, wrong_pause=60.0)
    with served(Settings(sqlite_url, token=TOKEN, limits=limits)) as server, browser(server) as client:
        assert [log_in(client, "wrong").status_code for _ in range(4)] == [401, 401, 401, 429]
        answer = log_in(client)  # even the right one: else the answer would tell
        assert answer.status_code == 429
        assert 0 < int(answer.headers["retry-after"]) <= 60
        assert client.get("/api/studies", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 429


# sessions


def test_logging_in_and_out(guarded: Served) -> None:
    with browser(guarded) as client:
        assert client.get("/studies/1").headers["location"] == "/login?next=/studies/1"
        assert log_in(client, "wrong").status_code == 401
        assert client.get("/").status_code == 303
        before = dict(client.cookies)
        answer = log_in(client, after="/studies/1")
        assert (answer.status_code, answer.headers["location"]) == (303, "/studies/1")
        cookie = answer.headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=Lax", "Path=/", "Max-Age="):
            assert part in cookie
        assert "Secure" not in cookie  # over http it would not come back
        assert TOKEN not in cookie
        assert dict(client.cookies) != before  # an id that somebody else may have planted is not kept
        assert client.get("/").status_code == 200
        page = client.get("/")
        assert TOKEN not in page.text
        token = csrf(guarded, client)
        assert client.post("/logout", data={"csrf_token": token}).status_code == 303
        client.cookies.update(dict(client.cookies))
        assert client.get("/").status_code == 303


def csrf(server: Served, client: httpx.Client) -> str:
    """The token of the forms in the session of a client."""
    doorman = server.services.doorman
    headers = httpx.Headers({"cookie": f"{doorman.cookie}={client.cookies[doorman.cookie]}"})
    access, _ = doorman.recognise(headers, "test")  # type: ignore[arg-type]
    return access.csrf_token


def test_cookies_need_https_where_there_is_https(sqlite_url: str) -> None:
    with served(Settings(sqlite_url, secure=True)) as server:
        assert "; Secure" in server.http.get("/").headers["set-cookie"]


def test_sessions_end_and_are_bounded() -> None:
    now = 0.0
    sessions = Sessions(2, 10.0, clock=lambda: now)
    first, second = sessions.begin(), sessions.begin()
    assert sessions.is_open(first)
    third = sessions.begin()
    assert [sessions.is_open(each) for each in (first, second, third)] == [False, True, True]
    assert len(sessions) == 2
    now = 9.9
    assert sessions.is_open(second)
    now = 10.0
    assert not sessions.is_open(second)
    sessions.end(third)
    assert len(sessions) == 0


@pytest.mark.parametrize("after", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/\nx"])
def test_logging_in_leads_nowhere_else(guarded: Served, after: str) -> None:
    with browser(guarded) as client:
        assert log_in(client, after=after).headers["location"] == "/"


# forms and scripts of others


def test_no_form_is_taken_that_no_page_of_ours_has_made(here: Served) -> None:
    study = here.create()
    here.services.desk.attach_csv(study, "x,value\n1,2\n")
    with browser(here) as client, browser(here) as other:
        client.get("/")
        other.get("/")
        changing = [(method, path) for method, path in of_the_pages() if method != "GET"]
        assert len(changing) > 5
        for method, path in changing:
            path = path.replace("/studies/0", f"/studies/{study}")
            for form in ({}, {"csrf_token": "0" * 64}, {"csrf_token": csrf(here, other)}):
                answer = client.request(method, path, data={**form, "value": "7", "count": "1", "replace": "1"})
                assert answer.status_code == 403, (path, form)
            answer = client.request(method, path, files={"file": ("a.csv", b"x,value\n2,3\n", "text/csv")})
            assert answer.status_code == 403, path
            assert client.request(method, path, content=b"{}", headers=JSON).status_code == 403, path
    assert len(here.services.desk.case(study).entries) == 1
    assert here.services.desk.entry(study, 0).trial.value == 2.0
    assert here.services.workshop.jobs() == ()


def test_a_form_of_ours_is_taken_whole(guarded: Served) -> None:
    with browser(guarded) as client:
        log_in(client)
        token = csrf(guarded, client)
        assert client.post("/logout", files={"a": ("a.csv", b"1" * 3_000_000)}, data={"csrf_token": token}).is_redirect
        log_in(client)
        assert client.post("/logout", headers={"X-CSRF-Token": csrf(guarded, client)}).is_redirect


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("token", [None, TOKEN])
def test_nothing_is_changed_for_the_pages_of_others(
    headers: dict[str, str], token: str | None, sqlite_url: str
) -> None:
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    with served(Settings(sqlite_url, token=token)) as server:
        study = server.create()
        answer = server.http.post(
            f"/api/studies/{study}/attach",
            json={"rows": [{"params": {"x": 1.0}, "value": 1.0}]},
            headers={**headers, **bearer},
        )
        assert answer.status_code == 403
        assert "another page" in answer.json()["error"]["sentence"]
        assert server.services.desk.case(study).entries == ()
        own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
        body = {"rows": [{"params": {"x": 1.0}, "value": 1.0}]}
        assert server.http.post(f"/api/studies/{study}/attach", json=body, headers={**own, **bearer}).is_success


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_programs_say_that_they_are_programs(here: Served, kind: str) -> None:
    study = here.create()
    body = b'{"rows": [{"params": {"x": 1.0}, "value": 1.0}]}'
    headers = {"Content-Type": kind} if kind else {}
    answer = here.http.post(f"/api/studies/{study}/attach", content=body, headers=headers)
    assert answer.status_code == 415
    assert here.http.post(f"/api/studies/{study}/ask", headers=headers).status_code == 415
    assert here.services.desk.case(study).entries == ()
    assert here.http.post(f"/api/studies/{study}/attach", content=body, headers=JSON).is_success


def test_a_cookie_alone_changes_nothing_through_the_api(guarded: Served) -> None:
    study = guarded.create()
    with browser(guarded) as client:
        log_in(client)
        assert client.get(f"/api/studies/{study}").status_code == 200
        path, body = f"/api/studies/{study}/attach", {"rows": [{"params": {"x": 1.0}, "value": 1.0}]}
        assert client.post(path, json=body).status_code == 403
        assert client.delete(f"/api/studies/{study}", params={"name": "lab"}).status_code == 403
        assert client.post(path, json=body, headers={"X-CSRF-Token": csrf(guarded, client)}).is_success


def test_no_answer_can_be_read_by_the_pages_of_others(here: Served) -> None:
    answer = here.http.get("/api/studies", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in answer.headers
    wants = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert "access-control-allow-origin" not in here.http.options("/api/studies", headers=wants).headers


# names of the server


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 400),
        ("evil.example:80", 400),
        ("127.0.0.1.evil.example", 400),
        ("10.0.0.1", 400),
        ("localhost:x", 400),
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
    wide = Hosts(_nothing, Settings("sqlite:///x.db", "0.0.0.0", token=TOKEN, hosts=("Lab.example",)))
    machine = socket.gethostname()
    assert all(
        wide.allows(host) for host in ("192.0.2.7:8470", "lab.example", machine, f"{machine}:1", "[2001:db8::1]")
    )
    assert not any(wide.allows(host) for host in ("evil.example", "", "192.0.2.7.evil.example"))
    assert Hosts(_nothing, Settings("sqlite:///x.db", hosts=("*",))).allows("any.example")


async def _nothing(*_: Any) -> None:
    pass


# headers


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


# how much


def small(url: str, **limits: Any) -> Settings:
    return Settings(url, limits=Limits(**limits))


def test_large_requests_are_refused(sqlite_url: str) -> None:
    with served(small(sqlite_url, body_bytes=2_000, upload_bytes=20_000)) as server:
        study = server.create()
        path = f"/api/studies/{study}/attach"

        def status(size: int, announced: bool, kind: str = "application/json", path: str = path) -> int:
            body = b" " * size
            content: Any = body if announced else iter([body[:500], body[500:]])
            return server.http.post(path, content=content, headers={"Content-Type": kind}).status_code

        for announced in (True, False):  # with a Content-Length, and in chunks
            assert status(1_999, announced) == 422
            assert status(2_001, announced) == 413
            assert status(19_000, announced, "text/csv", f"{path}.csv") == 422
            assert status(20_001, announced, "text/csv", f"{path}.csv") == 413
            assert status(2_001, announced, FORM["Content-Type"], "/logout") == 413
        assert server.http.get("/api/studies").status_code == 200


def test_a_request_that_says_it_is_too_large_is_not_waited_for(here: Served) -> None:
    head = f"POST /api/check HTTP/1.1\r\nHost: {here.url[7:]}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", int(here.url.rpartition(":")[2])), 5.0) as connection:
        connection.sendall(f"{head}Content-Length: 99999999\r\n\r\n".encode())  # and none of it comes
        assert connection.recv(100).startswith(b"HTTP/1.1 413")


def test_more_rows_than_allowed_are_refused(sqlite_url: str) -> None:
    with served(small(sqlite_url, upload_rows=3)) as server:
        study = server.create()
        rows = [{"params": {"x": i / 9}, "value": 1.0} for i in range(5)]
        text = "x,value\n" + "".join(f"{i / 9},1\n" for i in range(4))
        path = f"/api/studies/{study}/attach"
        for answer in (
            server.http.post(path, json={"rows": rows}),
            server.http.post(f"{path}.csv", content=text, headers={"Content-Type": "text/csv"}),
        ):
            assert answer.status_code == 422
            assert "at most 3 are taken at once" in answer.json()["error"]["sentence"]
        assert server.http.post(path, json={"rows": rows[:3]}).status_code == 201


def test_a_request_that_never_ends_is_ended(sqlite_url: str) -> None:
    with served(small(sqlite_url, body_seconds=0.3)) as server:
        head = f"POST /api/check HTTP/1.1\r\nHost: {server.url[7:]}\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), PATIENCE) as connection:
            connection.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 408")


def test_too_many_requests_have_to_wait(sqlite_url: str) -> None:
    with served(small(sqlite_url, per_second=0.5, burst=5)) as server:
        statuses = [server.http.get("/api/studies").status_code for _ in range(6)]
        assert statuses == [200] * 4 + [429] * 2  # one request was there before
        answer = server.http.get("/")
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 2


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


def test_a_session_of_one_server_is_not_that_of_another(sqlite_url: str, tmp_path: Path) -> None:
    with served(Settings(sqlite_url, token=TOKEN)) as one, served(Settings(sqlite_url, token=TOKEN + "2")) as other:
        with browser(one) as client:
            log_in(client)
            [(name, session)] = client.cookies.items()
        assert name != other.services.doorman.cookie
        forged = {"Cookie": f"{other.services.doorman.cookie}={session}"}
        assert other.http.get("/", headers=forged).status_code == 303
