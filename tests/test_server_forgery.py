"""Requests that another page makes a browser send change nothing, and read nothing."""

from collections.abc import Iterator

import pytest

from hentropy.views.server.settings import Settings
from support.serving import TOKEN, Served, served
from support.visiting import JSON, browser, csrf, log_in, of_the_pages


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


def test_no_form_is_taken_that_no_page_of_ours_has_made(here: Served) -> None:
    study = here.create()
    here.services.study_service.attach_csv(study, "x,value\n1,2\n")
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
    assert len(here.services.study_service.case(study).entries) == 1
    assert here.services.study_service.entry(study, 0).trial.value == 2.0
    assert here.services.job_service.jobs() == ()


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
        assert server.services.study_service.case(study).entries == ()
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
    assert here.services.study_service.case(study).entries == ()
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
