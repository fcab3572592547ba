"""Requests that another page makes a browser send change nothing, and read nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from hentropy.views.server.settings import Settings
from hentropy.views.text.formats import iso
from support.serving import TOKEN, Served, served
from support.visiting import JSON, browser, log_in, of_the_pages


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


FOREIGN = (
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},  # typed into the address bar: that sends no form
    {"Sec-Fetch-Site": "cross-site", "Origin": "OWN"},
)
"""What browsers say of requests that other pages make; OWN stands for the server's own address."""

ROWS = {"rows": [{"params": {"x": 1.0}, "value": 1.0}]}


def said(headers: dict[str, str], server: Served) -> dict[str, str]:
    return {name: server.url if value == "OWN" else value for name, value in headers.items()}


@contextmanager
def stranger(server: Served, *, signed_in: bool) -> Iterator[httpx.Client]:
    """A browser that says nothing of where its requests come from."""
    with browser(server) as client:
        if signed_in:
            log_in(client)
        del client.headers["Origin"]
        yield client


@pytest.mark.parametrize("token", [None, TOKEN])
def test_no_form_is_taken_of_which_no_page_of_ours_is_the_source(token: str | None, sqlite_url: str) -> None:
    with (
        served(Settings(sqlite_url, token=token)) as server,
        stranger(server, signed_in=token is not None) as client,
    ):
        study = server.create()
        server.services.study_service.attach_csv(study, "x,value\n1,2\n")
        begun = iso(server.services.study_service.record(study).created_at) or ""
        changing = [(method, path) for method, path in of_the_pages() if method != "GET"]
        assert len(changing) > 5
        form = {"begun": begun, "o0": "7", "count": "1", "what": "correct", "token": TOKEN}
        for method, path in changing:
            path = path.replace("/studies/0", f"/studies/{study}")
            for headers in ({}, *FOREIGN):
                answer = client.request(method, path, data=form, headers=said(headers, server))
                assert answer.status_code == 403, (path, headers)
            files = {"file": ("a.csv", b"x,value\n2,3\n", "text/csv")}
            assert client.request(method, path, data={"begun": begun}, files=files).status_code == 403, path
            assert client.request(method, path, content=b"{}", headers=JSON).status_code == 403, path
        assert len(server.services.study_service.snapshot(study).entries) == 1
        assert server.services.study_service.log(study).find(0).trial.value == 2.0
        assert server.services.job_service.jobs() == ()
        assert client.get("/").status_code == 200  # nobody was signed out


@pytest.mark.parametrize("headers", [{"Origin": "OWN"}, {"Sec-Fetch-Site": "same-origin"}])
def test_forms_of_ours_are_taken(guarded: Served, headers: dict[str, str]) -> None:
    with stranger(guarded, signed_in=False) as client:
        client.headers.update(said(headers, guarded))
        assert client.post("/login", data={"token": TOKEN}).is_redirect
        assert client.get("/").status_code == 200
        assert client.post("/logout").is_redirect
        assert client.get("/").is_redirect


def test_a_proxy_may_have_taken_the_https_and_the_name(guarded: Served) -> None:
    with stranger(guarded, signed_in=False) as client:
        form = {"token": TOKEN}
        named = {"Host": "localhost", "Origin": "https://localhost"}
        assert client.post("/login", data=form, headers=named).is_redirect
        assert client.post("/login", data=form, headers={**named, "Origin": "https://localhost:8443"}).is_client_error
        browsers_word = {"Origin": "https://lab.example", "Sec-Fetch-Site": "same-origin"}
        assert client.post("/login", data=form, headers=browsers_word).is_redirect


@pytest.mark.parametrize("header", ["Origin", "Sec-Fetch-Site"])
def test_who_says_it_twice_is_not_believed(guarded: Served, header: str) -> None:
    own = guarded.url if header == "Origin" else "same-origin"
    with stranger(guarded, signed_in=False) as client:
        twice = [(header, own), (header, own)]
        assert client.post("/login", data={"token": TOKEN}, headers=twice).status_code == 403
        assert client.post("/login", data={"token": TOKEN}, headers=twice[:1]).is_redirect


def test_links_of_others_lead_here(guarded: Served) -> None:
    with stranger(guarded, signed_in=True) as client:
        assert client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("token", [None, TOKEN])
def test_nothing_is_changed_for_the_pages_of_others(
    headers: dict[str, str], token: str | None, sqlite_url: str
) -> None:
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    with served(Settings(sqlite_url, token=token)) as server:
        study = server.create()
        path = f"/api/studies/{study}/attach"
        answer = server.http.post(path, json=ROWS, headers={**said(headers, server), **bearer})
        assert answer.status_code == 403
        assert "another page" in answer.json()["error"]["sentence"]
        assert server.services.study_service.snapshot(study).entries == ()
        own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
        assert server.http.post(path, json=ROWS, headers={**own, **bearer}).is_success
        assert server.http.post(path, json={**ROWS, "again": True}, headers=bearer).is_success  # a program


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_programs_say_that_they_are_programs(here: Served, kind: str) -> None:
    study = here.create()
    body = b'{"rows": [{"params": {"x": 1.0}, "value": 1.0}]}'
    headers = {"Content-Type": kind} if kind else {}
    answer = here.http.post(f"/api/studies/{study}/attach", content=body, headers=headers)
    assert answer.status_code == 415
    assert here.http.post(f"/api/studies/{study}/ask", headers=headers).status_code == 415
    assert here.services.study_service.snapshot(study).entries == ()
    assert here.http.post(f"/api/studies/{study}/attach", content=body, headers=JSON).is_success


def test_a_cookie_alone_changes_nothing_through_the_api(guarded: Served) -> None:
    study = guarded.create()
    with stranger(guarded, signed_in=True) as client:
        assert client.get(f"/api/studies/{study}").status_code == 200
        path = f"/api/studies/{study}/attach"
        for headers in ({}, *FOREIGN):
            assert client.post(path, json=ROWS, headers=said(headers, guarded)).status_code == 403, headers
            deleting = client.delete(f"/api/studies/{study}", params={"name": "lab"}, headers=said(headers, guarded))
            assert deleting.status_code == 403, headers
        assert guarded.services.study_service.snapshot(study).entries == ()
        assert client.post(path, json=ROWS, headers={"Origin": guarded.url}).is_success


def test_no_answer_can_be_read_by_the_pages_of_others(here: Served) -> None:
    answer = here.http.get("/api/studies", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in answer.headers
    wants = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert "access-control-allow-origin" not in here.http.options("/api/studies", headers=wants).headers
