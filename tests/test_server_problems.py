"""What goes wrong is told by an id and a plain sentence; the details are in the log alone."""

import logging
import re
from collections.abc import Iterator

import pytest

from hentropy.errors import (
    Advice,
    DecisionError,
    Gone,
    HentropyError,
    InputError,
    ModelError,
    Outdated,
    ReadOnly,
    StorageError,
    StudyError,
)
from hentropy.views.server.problems import Busy, Failure, page, problem_of
from hentropy.views.server.settings import Settings
from support.serving import Served, served

SECRET = "/home/somebody/secret.py"


@pytest.fixture
def here(sqlite_url: str) -> Iterator[Served]:
    with served(Settings(sqlite_url)) as server:
        yield server


def test_what_nobody_expected_says_nothing_but_an_id(here: Served, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> None:
        raise RuntimeError(SECRET)

    here.app.add_api_route("/api/broken", broken)
    here.app.add_api_route("/broken", broken)
    for path, kind in (("/api/broken", "application/json"), ("/broken", "text/html")):
        with caplog.at_level(logging.ERROR, "hentropy.views.server"):
            answer = here.http.get(path)
        assert answer.status_code == 500
        assert answer.headers["content-type"].startswith(kind)
        assert SECRET not in answer.text
        assert "Traceback" not in answer.text
        record = caplog.records[-1]
        identity = record.getMessage().partition(":")[0]
        assert identity in answer.text
        assert record.exc_info is not None
        assert SECRET in str(record.exc_info[1])
    assert here.http.get("/api/studies").status_code == 200


def test_broken_code_points_are_told_and_kept_out(here: Served) -> None:
    """JSON can say half of a surrogate pair, which no answer in UTF-8 can carry."""
    kind = {"Content-Type": "application/json"}
    option = '{"version": 1, "name": "a", "space": {"x": {"type": "choice", "options": ["b", "\\udfff"]}}}'
    answer = here.http.post("/api/studies", content=option, headers=kind)
    assert answer.status_code == 422
    assert "space.x.options[1]" in answer.text
    study = here.create()
    trial = '{"number": 0, "params": {"\\ud800": 1}, "state": "running", "asked_at": "2026-01-31T12:00:00Z"}\n'
    lines = {"Content-Type": "application/x-ndjson"}
    answer = here.http.post(f"/api/studies/{study}/import", content=trial, headers=lines)
    assert answer.status_code == 422
    assert "\ud800" in answer.json()["error"]["sentence"]


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (InputError("it is 3"), 422, "input"),
        (StudyError("it is 3"), 409, "study"),
        (DecisionError("it is 3"), 409, "study"),
        (ModelError("it is 3"), 409, "study"),
        (Outdated("it is 3"), 409, "study"),
        (ReadOnly("it is 3"), 403, "access"),
        (Gone("it is 3"), 404, "gone"),
        (StorageError("it is 3"), 503, "store"),
        (Busy("it is 3"), 503, "busy"),
    ],
)
def test_errors_of_ours_are_told_as_they_are(here: Served, error: HentropyError, status: int, kind: str) -> None:
    def failing() -> None:
        raise error

    here.app.add_api_route("/api/failing", failing)
    here.app.add_api_route("/failing", failing)
    answer = here.http.get("/api/failing")
    told = answer.json()["error"]
    assert (answer.status_code, told["kind"], told["sentence"]) == (status, kind, "it is 3")
    assert ("retry-after" in answer.headers) == (status == 503)
    answer = here.http.get("/failing")
    assert answer.status_code == status
    assert "<p>It is 3.</p>" in answer.text


def test_every_mistake_has_its_line(here: Served) -> None:
    answer = here.http.post("/api/check", json={"version": 1, "name": "x", "space": {}, "decision": {"name": "no"}})
    told = answer.json()["error"]
    assert answer.status_code == 422
    assert len(told["details"]) == 2
    assert all(line in told["sentence"] for line in told["details"])
    study = here.create()
    answer = here.http.post(f"/api/studies/{study}/trials/0/tell", json={"value": {}, "nots": 1})
    assert answer.status_code == 422
    assert [line.partition(":")[0] for line in answer.json()["error"]["details"]] == ["value", "nots"]


def test_paths_and_methods_that_are_not_there(here: Served) -> None:
    assert here.http.get("/api/nothing").json()["error"]["kind"] == "gone"
    answer = here.http.put("/api/studies", json={})
    assert (answer.status_code, answer.json()["error"]["sentence"]) == (405, "this cannot be done here")
    assert here.http.get("/studies/77").status_code == 404
    assert "there is no study 77" in here.http.get("/api/studies/77").json()["error"]["sentence"]


def test_every_problem_is_in_the_log_under_its_id(here: Served, caplog: pytest.LogCaptureFixture) -> None:
    def failing() -> None:
        raise InputError("it is 3\nforged: line")

    here.app.add_api_route("/api/failing", failing)
    for method, path, status in (
        ("GET", "/api/failing", 422),
        ("GET", "/api/nothing", 404),
        ("PUT", "/api/studies", 405),
    ):
        with caplog.at_level(logging.INFO, "hentropy.views.server"):
            answer = here.http.request(method, path, json={})
        told = answer.json()["error"]
        assert (answer.status_code, told["kind"]) == (status, "gone" if status == 404 else "input")
        [record] = [record for record in caplog.records if record.getMessage().startswith(told["id"])]
        assert record.levelno == logging.INFO
        assert "\n" not in record.getMessage()


@pytest.mark.parametrize("status", [400, 405, 408, 413, 415, 422])
def test_what_was_sent_wrongly_is_no_fault_of_the_server(status: int) -> None:
    assert Failure("1", status, "so").kind == "input"
    assert Failure("1", 500, "so").kind == "internal"


def test_what_is_told_is_escaped() -> None:
    shown = page(Failure("1", 409, "<script>alert(1)</script>\nsecond & last"))
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "<p>second &amp; last</p>" in shown


def test_nobody_is_told_to_call_a_function() -> None:
    """What to do next is a value: a page has its own words for it, a program gets the value."""
    failure = problem_of(StudyError("trial 1 already has a result: value 2", Advice.CORRECT))
    assert failure.sentence == "trial 1 already has a result: value 2; open that trial to correct it"
    told = failure.plain()["error"]
    assert (told["what"], told["advice"]) == ("trial 1 already has a result: value 2", "correct")
    missing = InputError("there is no column 'x'; the columns of f are a", Advice.MAP_COLUMN, between=": ")
    assert problem_of(missing).sentence == "there is no column 'x'; the columns of f are a: say which column it is"
    for advice in Advice:
        said = problem_of(StudyError("so", advice)).sentence
        assert not re.search(r"[(=`]|--|replace_value", said), said


def test_a_store_that_is_gone_is_told_plainly(here: Served, sqlite_url: str) -> None:
    study = here.create()
    with here.services.store._transaction(writes=True) as connection:  # type: ignore[attr-defined]
        connection.exec_driver_sql("ALTER TABLE hentropy_studies RENAME TO away")
    answer = here.http.get(f"/api/studies/{study}")
    told = answer.json()["error"]
    assert (answer.status_code, told["kind"]) == (503, "store")
    assert "hentropy.db" in told["sentence"]
    assert "Traceback" not in answer.text
