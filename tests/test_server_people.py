"""Named people of a server: their tokens and rights, what the history says of them, and the word of a proxy."""

import asyncio
import json
import re
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from hentropy.errors import InputError, StorageError
from hentropy.views.client import RemoteStudy
from hentropy.views.server.guard.door import SAFE, AccessControl, needed
from hentropy.views.server.guard.people import People, Right
from hentropy.views.server.guard.proxies import Proxies, people_in
from hentropy.views.server.guard.sessions import Access
from hentropy.views.server.settings import Settings
from support.commands import done, hentropy
from support.serving import SMALL, TOKEN, Served, served
from support.visiting import JSON, browser, log_in, of_the_api, of_the_pages, sent

HEADER = "X-Forwarded-User"


@pytest.fixture
def people(tmp_path: Path) -> People:
    """A file of people."""
    return People(tmp_path / "people.json")


@pytest.fixture
def tokens(people: People) -> dict[Right, str]:
    """Somebody with each right; the tokens."""
    return {right: str(people.add(f"{right.word} it", right)) for right in Right}


@pytest.fixture
def lab(sqlite_url: str, people: People, tokens: dict[Right, str]) -> Iterator[Served]:
    """A server for these people, with a study that has two trials."""
    with served(Settings(sqlite_url, people=people.file)) as server:
        study = server.create()
        rows = [{"params": {"x": x}, "value": x} for x in (0.0, 1.0)]
        body: dict[str, Any] = {"rows": rows}
        path = f"/api/studies/{study}/attach"
        assert as_(server, tokens[Right.RUN], "POST", path, json=body).status_code == 201
        yield server


def as_(server: Served, token: str, method: str, path: str, **more: Any) -> httpx.Response:
    return server.http.request(
        method, path, headers={"Authorization": f"Bearer {token}", **more.pop("headers", {})}, **more
    )


# what each right adds to those before it
EXPECTED = {
    Right.READ: {("POST", "/api/check"), ("POST", "/logout")},
    Right.RUN: {
        ("POST", "/api/studies/0/ask"),
        ("POST", "/api/studies/0/decide"),
        ("POST", "/api/studies/0/worth"),
        ("POST", "/api/studies/0/what_if"),
        ("POST", "/api/studies/0/predict"),
        ("POST", "/api/studies/0/attach"),
        ("POST", "/api/studies/0/attach.csv"),
        ("POST", "/api/studies/0/import"),
        ("POST", "/api/studies/0/trials/0/tell"),
        ("POST", "/api/studies/0/trials/0/fail"),
        ("POST", "/api/studies/0/trials/0/withdraw"),
        ("DELETE", "/api/jobs/0"),
        ("POST", "/studies/0/trials/0"),
        ("POST", "/studies/0/ask"),
        ("POST", "/studies/0/look"),
        ("POST", "/studies/0/jobs/0/cancel"),
        ("POST", "/studies/0/own"),
        ("POST", "/studies/0/attach"),
    },
    Right.DEFINE: {("POST", "/api/studies"), ("POST", "/new")},
    Right.ADMINISTER: {("DELETE", "/api/studies/0")},
}


def test_every_route_that_changes_something_needs_a_right(lab: Served, tokens: dict[Right, str]) -> None:
    routes = {route for route in of_the_api(lab) + of_the_pages() if route[0] not in SAFE} - {("POST", "/login")}
    assert routes == set().union(*EXPECTED.values())
    assert {right: {route for route in routes if needed(*route) is right} for right in Right} == EXPECTED
    assert needed("POST", "/api/studies/0/something-new") is Right.ADMINISTER
    for right, token in tokens.items():
        for method, path in sorted(routes):
            # of no study, so that nothing is done
            wanted = path.replace("/studies/0", "/studies/999")
            kind = JSON if path.startswith("/api") else {"Content-Type": "application/x-www-form-urlencoded"}
            answer = as_(lab, token, method, wanted, headers={"Origin": lab.url, **kind}, content=b"")
            assert (answer.status_code == 403) == (needed(method, path) > right), (right, method, path, answer.text)


def test_who_may_not_is_told_who_can_change_that(lab: Served, tokens: dict[Right, str]) -> None:
    answer = as_(lab, tokens[Right.RUN], "POST", "/api/studies", json=SMALL)
    assert answer.status_code == 403
    assert "run it may run experiments" in answer.json()["error"]["sentence"]
    assert "hentropy people add run it --rights define" in answer.json()["error"]["sentence"]


def test_the_history_says_who_changed_what(lab: Served, tokens: dict[Right, str]) -> None:
    with browser(lab) as client:
        assert log_in(client, tokens[Right.DEFINE], "/studies/1").status_code == 303
        assert sent(client, "/studies/1/trials/0", "/studies/1/trials/0", what="correct", o0="7").status_code == 303
    told = {"value": 8, "replace": True}
    path = "/api/studies/1/trials/0/tell"
    assert as_(lab, tokens[Right.ADMINISTER], "POST", path, json=told).status_code == 200
    history = as_(lab, tokens[Right.READ], "GET", "/api/studies/1/trials/0").json()["history"]
    assert [one["by"] for one in history] == ["run it", "define it", "administer it"]
    with browser(lab) as client:
        log_in(client, tokens[Right.READ])
        assert "<td>define it</td>" in client.get("/studies/1/trials/0").text


def test_the_page_offers_only_what_one_may_do(lab: Served, tokens: dict[Right, str]) -> None:
    def forms(right: Right) -> list[str]:
        with browser(lab) as client:
            log_in(client, tokens[right])
            pages = [client.get(path).text for path in ("/", "/studies/1", "/studies/1/trials/0")]
            assert all(f"{right.word} it" in page for page in pages)
            assert ('href="/new"' in pages[0]) == (right >= Right.DEFINE)
            return [action for page in pages for action in re.findall(r'<form[^>]* action="([^"]+)"', page)]

    assert set(forms(Right.READ)) == {"/logout"}
    assert {"/studies/1/ask", "/studies/1/own", "/studies/1/attach", "/studies/1/trials/0"} <= set(forms(Right.RUN))


def test_who_is_removed_is_out_at_once(lab: Served, people: People, tokens: dict[Right, str]) -> None:
    with browser(lab) as client:
        log_in(client, tokens[Right.RUN])
        assert client.get("/").status_code == 200
        people.remove("run it")
        assert client.get("/").status_code == 303
        assert as_(lab, tokens[Right.RUN], "GET", "/api/studies").status_code == 401
        new = people.add("run it", Right.READ)
        assert client.get("/").status_code == 303  # the session began with another token
        assert as_(lab, str(new), "GET", "/api/studies").status_code == 200
        assert as_(lab, str(new), "POST", "/api/studies/1/ask", json={}).status_code == 403


def test_a_stream_ends_with_the_token_that_began_it(people: People, sqlite_url: str) -> None:
    people.add("operator", Right.READ)
    control = AccessControl(Settings(sqlite_url, people=people.file))
    access = Access("bearer", "", people.named("operator"))
    assert control.still_in(access)
    people.remove("operator")
    assert not control.still_in(access)
    people.add("operator", Right.READ)
    assert not control.still_in(access)
    assert control.still_in(Access("proxy", "", people.named("operator")))


def test_programs_that_add_people_at_once_lose_nobody(people: People) -> None:
    names = [f"person {number}" for number in range(12)]
    with ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(lambda name: People(people.file).add(name, Right.READ), names))
    assert {person.name for person in people.all()} == set(names)


@pytest.mark.parametrize(
    ("proxy", "client", "trusted"),
    [
        ("2001:db8::1", "2001:db8::1", True),
        ("2001:DB8:0::1", "2001:db8::1", True),
        ("2001:db8::1", "2001:db8::2", False),
        ("fe80::1", "fe80::1%eth0", True),
        ("192.0.2.7", "::ffff:192.0.2.7", True),
        ("192.0.2.7", "192.0.2.8", False),
        ("192.0.2.7", "", False),
    ],
)
def test_a_proxy_is_known_by_its_whole_address(
    sqlite_url: str, people: People, proxy: str, client: str, trusted: bool
) -> None:
    people.add("bo", Right.READ)
    seen: list[tuple[str, ...]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(people_in(scope))

    settings = Settings(sqlite_url, people=people.file, proxies=(proxy,), person_header=HEADER)
    scope = {"type": "http", "client": (client, 1), "headers": [(HEADER.lower().encode(), b"bo")]}
    unused: Any = None
    asyncio.run(Proxies(app, settings)(scope, unused, unused))
    assert seen == [("bo",) if trusted else ()]


def test_programs_use_a_persons_token(lab: Served, tokens: dict[Right, str]) -> None:
    assert RemoteStudy(lab.url, "lab", tokens[Right.READ]).records[0].value == 0.0
    assert RemoteStudy(f"{lab.url}/?token={tokens[Right.READ]}", "lab").id == 1
    with pytest.raises(StorageError, match="read it may read studies"):
        RemoteStudy(lab.url, "lab", tokens[Right.READ]).tell(0, 3.0, replace_value=True)
    with pytest.raises(InputError, match="the address of a server looks like") as caught:
        RemoteStudy(f"{lab.url}/?token=secret&other=1", "lab")
    assert "secret" not in str(caught.value)


def test_the_file_has_no_tokens_and_is_for_its_owner(people: People, tokens: dict[Right, str]) -> None:
    text = people.file.read_text()
    assert not [token for token in tokens.values() if token in text]
    assert stat.S_IMODE(people.file.stat().st_mode) == 0o600
    assert len(tokens) == len({*tokens.values()})


@pytest.mark.parametrize(
    "text", ["{}", "[]", "no json", '{"people": [{"name": "x", "rights": "all"}]}', '{"people": [1]}']
)
def test_a_damaged_file_lets_nobody_in(lab: Served, people: People, tokens: dict[Right, str], text: str) -> None:
    people.file.write_text(text)
    answer = as_(lab, tokens[Right.ADMINISTER], "GET", "/api/studies")
    assert answer.status_code == 503
    assert "damaged" in answer.json()["error"]["sentence"]


@pytest.mark.parametrize("name", ["", " operator", "operator\n", "a" * 101])
def test_names_can_be_shown(people: People, name: str) -> None:
    with pytest.raises(InputError, match="the name is"):
        people.add(name, Right.READ)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert hentropy("people").code == 1
    [token] = re.findall(r"shown only once\): (\S+)", done("people", "add", "Änna", "--rights", "define"))
    assert "No token" in done("people", "add", "bo@lab.org", "--without-token")
    found = People(tmp_path / "people.json").with_token(token)
    assert found is not None
    assert (found.name, found.right) == ("Änna", Right.DEFINE)
    listed = [
        {"name": "bo@lab.org", "rights": "run", "has_token": False},
        {"name": "Änna", "rights": "define", "has_token": True},
    ]
    assert json.loads(done("people", "list", "--json")) == listed
    assert "in people.json already" in hentropy("people", "add", "Änna").err
    assert "there is no Otto" in hentropy("people", "remove", "Otto").err
    done("people", "remove", "Änna")
    assert "Änna" not in done("people")
    assert token not in (tmp_path / "people.json").read_text()
    assert hentropy("people", "add").code == 2


def test_a_trusted_proxy_says_who_it_is(sqlite_url: str, people: People) -> None:
    """As an OIDC proxy does, after people have signed in there."""
    people.add("bö", Right.RUN, with_token=False)
    settings = Settings(sqlite_url, people=people.file, proxies=("127.0.0.1",), person_header=HEADER)
    with served(settings) as server:
        server.create()

        def get(path: str, *names: str, **more: str) -> httpx.Response:
            headers = [(HEADER.encode(), name.encode()) for name in names]
            return server.http.get(path, headers=headers)

        assert get("/", "bö").status_code == 200
        assert "bö" in get("/", "bö").text
        assert get("/api/studies", "bö").status_code == 200
        assert (get("/", "eve").status_code, get("/").status_code) == (403, 303)
        assert get("/", "eve", "bö").status_code == 400  # the proxy passes on what its client sent
        body = {"rows": [{"params": {"x": 0}, "value": 1}]}
        by_proxy = {HEADER.encode(): "bö".encode()}
        path = "/api/studies/1/attach"
        # browsers send what a proxy adds for whatever page wants it: it must be a page of this server
        assert server.http.post(path, json=body, headers=by_proxy).status_code == 403
        by_page = {**by_proxy, b"Origin": server.url.encode()}
        assert server.http.post(path, json=body, headers=by_page).status_code == 201
        assert get("/api/studies/1/trials/0", "bö").json()["history"][0]["by"] == "bö"
        people.remove("bö")
        assert get("/api/studies", "bö").status_code == 403


@pytest.mark.parametrize("proxies", [("192.0.2.7",), ()])
def test_others_cannot_say_who_they_are(sqlite_url: str, people: People, proxies: tuple[str, ...]) -> None:
    people.add("bo", Right.ADMINISTER, with_token=False)
    if not proxies:
        with pytest.raises(InputError, match="--trusted-proxy"):
            Settings(sqlite_url, people=people.file, person_header=HEADER)
    settings = Settings(sqlite_url, people=people.file, proxies=proxies, person_header=HEADER if proxies else None)
    with served(settings) as server:
        for headers in ({HEADER: "bo"}, {HEADER: "bo", "X-Forwarded-For": "192.0.2.7"}):
            assert server.http.get("/api/studies", headers=headers).status_code == 401


def test_the_token_of_the_server_goes_on_beside_people(sqlite_url: str, people: People) -> None:
    people.add("operator", Right.READ)
    with served(Settings(sqlite_url, token=TOKEN, people=people.file)) as server:
        assert as_(server, TOKEN, "POST", "/api/studies", json=SMALL).status_code == 201
