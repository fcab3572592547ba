"""The API of a real server: every verb of the command line, with the same objects underneath."""

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import hentropy as he
from hentropy.server.settings import Limits, Settings
from support.serving import SMALL, Served, served
from support.studies import Worst, hill

CSV = {"Content-Type": "text/csv"}


@pytest.fixture
def here(sqlite_url: str) -> Iterator[Served]:
    with served(Settings(sqlite_url)) as server:
        yield server


def post(server: Served, path: str, body: Any = None, **options: Any) -> dict[str, Any]:
    answer = server.http.post(f"/api{path}", json={} if body is None else body, **options)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


def get(server: Served, path: str, **query: Any) -> dict[str, Any]:
    answer = server.http.get(f"/api{path}", params=query)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


def refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["sentence"]


def test_from_a_definition_to_a_verdict(here: Served, sqlite_url: str) -> None:
    assert get(here, "/studies") == {"studies": []}
    checked = post(here, "/check", SMALL)
    assert (checked["name"], checked["first"]) == ("lab", 2)
    assert get(here, "/studies") == {"studies": []}
    made = here.http.post("/api/studies", json={**SMALL, "name": "a/b ü"})
    assert made.status_code == 201
    study = made.json()["id"]
    assert [each["id"] for each in get(here, "/studies", name="a/b ü")["studies"]] == [study]
    assert get(here, "/studies", name="other")["studies"] == []
    path = f"/studies/{study}"

    asked = here.http.post(f"/api{path}/ask", json={"count": 2}, params={"wait": 30})
    assert asked.status_code == 200
    assert [trial["number"] for trial in asked.json()["trials"]] == [0, 1]
    told = post(here, f"{path}/trials/0/tell", {"value": 1.0, "std_error": 0.1, "note": "<b>warm</b>"})
    assert (told["name"], told["trial"]["value"], told["trial"]["note"]) == ("a/b ü", 1.0, "<b>warm</b>")
    assert post(here, f"{path}/trials/1/fail", {"why": "broke"})["trial"]["state"] == "failed"
    post(here, f"{path}/attach", {"rows": [{"params": {"x": 2.0}, "value": hill(2.0)}]})
    post(here, f"{path}/trials/0/tell", {"value": 1.5, "replace": True})
    history = get(here, f"{path}/trials/0")["history"]
    assert [one["value"] for one in history] == [1.0, 1.5]

    decided = post(here, f"{path}/decide", params={"wait": 30})
    study_here = he.load_study("a/b ü", sqlite_url)
    assert decided["verdict"]["action"] == study_here.decide().action
    assert get(here, f"{path}/verdicts")["verdicts"][-1]["action"] == decided["verdict"]["action"]
    assert get(here, path)["verdict"]["observations"] == 2
    assert [trial["number"] for trial in get(here, f"{path}/trials", first=1)["trials"]] == [1, 2]

    look = wait_for(lambda: get(here, f"{path}/look"), "complete")
    assert look["verdict"] == decided["verdict"]
    for name, picture in look["pictures"].items():
        alone = get(here, f"{path}/pictures/{name}")["picture"]
        assert alone.pop("information")
        assert alone == picture
    assert here.http.get(f"/api{path}/pictures/nothing").status_code == 404
    assert here.http.delete(f"/api{path}", params={"name": "wrong"}).status_code == 409
    assert here.http.delete(f"/api{path}", params={"name": "a/b ü"}).status_code == 204
    assert here.http.get(f"/api{path}").status_code == 404
    study_here.close()


def wait_for(question: Any, key: str) -> dict[str, Any]:
    until = time.monotonic() + 60
    while not (said := question())[key]:
        assert time.monotonic() < until, said
        time.sleep(0.1)
    found: dict[str, Any] = said
    return found


def test_jobs_can_be_watched_and_cancelled(here: Served) -> None:
    study = here.create()
    answer = here.http.post(f"/api/studies/{study}/ask", json={})
    assert answer.status_code == 202
    job = answer.json()["job"]["id"]
    assert answer.json()["trials"] is None
    assert [each["id"] for each in get(here, f"/studies/{study}/jobs")["jobs"]] == [job]
    cancelled = here.http.delete(f"/api/jobs/{job}").json()
    assert (cancelled["id"], cancelled["job"]["state"]) == (study, "cancelled")
    assert get(here, f"/jobs/{job}")["job"]["state"] == "cancelled"
    assert get(here, f"/studies/{study}/trials")["trials"] == []
    assert here.http.get("/api/jobs/nothing").status_code == 404
    assert here.http.delete("/api/jobs/nothing").status_code == 404


def test_too_much_work_is_sent_away(sqlite_url: str) -> None:
    with served(Settings(sqlite_url, limits=Limits(jobs=1, count=3))) as server:
        study = server.create()
        answers = [server.http.post(f"/api/studies/{study}/ask", json={}) for _ in range(4)]
        assert answers[-1].status_code == 503
        assert int(answers[-1].headers["retry-after"]) > 0
        status, said = refused(server.http.post(f"/api/studies/{study}/ask", json={"count": 4}))
        assert (status, "at most 3" in said) == (422, True)


def test_a_study_that_has_enough_is_asked_only_on_purpose(here: Served) -> None:
    study = here.create(stop={"trials": 1})
    asked = post(here, f"/studies/{study}/ask", params={"wait": 30})
    assert len(asked["trials"]) == 1
    status, said = refused(here.http.post(f"/api/studies/{study}/ask", json={}))
    assert (status, "no new experiment" in said) == (409, True)
    assert len(post(here, f"/studies/{study}/ask", {"anyway": True}, params={"wait": 30})["trials"]) == 1
    status, said = refused(here.http.post(f"/api/studies/{study}/decide", json={}))
    assert (status, "nothing has been told yet" in said) == (409, True)


def test_a_study_with_code_of_its_own_is_never_computed(here: Served, sqlite_url: str) -> None:
    own = he.Study(he.Space(x=he.Real(0, 1)), Worst(), storage=sqlite_url, name="own")
    own.attach({"x": 0.5}, 1.0)
    study = own.book.study.id
    for verb in ("ask", "decide"):
        status, said = refused(here.http.post(f"/api/studies/{study}/{verb}", json={}))
        assert (status, "which a server does not run" in said) == (409, True)
    assert here.services.workshop.jobs() == ()
    assert "does not run" in get(here, f"/studies/{study}")["computable"]
    assert post(here, f"/studies/{study}/trials/0/tell", {"value": 2.0, "replace": True})["trial"]["value"] == 2.0


@pytest.mark.parametrize(
    "part",
    [
        {"decision": {"python": "os:system"}},
        {"objective": {"type": "command", "command": ["true"]}},
        {"objective": {"type": "python", "function": "os:getcwd"}},
        {"pool": {"file": "/etc/passwd"}},
        {"storage": {"url": "sqlite:///other.db"}},
    ],
)
def test_what_runs_code_is_not_made(here: Served, part: dict[str, Any]) -> None:
    for path in ("studies", "check"):
        status, said = refused(here.http.post(f"/api/{path}", json={**SMALL, **part}))
        assert (status, f"{next(iter(part))}" in said) == (422, True)
    assert get(here, "/studies") == {"studies": []}


def test_files_in_and_out(here: Served) -> None:
    study = here.create()
    path = f"/api/studies/{study}"
    text = "Temp;yield;note\n0.5;1;a\nbad;2;b\n"
    options: dict[str, Any] = {"column": ["Temp=x"], "value": "yield"}
    status, said = refused(here.http.post(f"{path}/attach.csv", content=text, headers=CSV, params=options))
    assert (status, "line 3: Temp is 'bad'" in said) == (422, True)
    status, said = refused(here.http.post(f"{path}/attach.csv", content=text, headers=CSV))
    assert said.endswith("say which column it is")
    answer = here.http.post(f"{path}/attach.csv", content=text, headers=CSV, params={**options, "skip_bad": True})
    assert answer.status_code == 201
    attached = answer.json()
    assert (len(attached["trials"]), len(attached["left_out"]), attached["unused"]) == (1, 1, ["note"])
    again = here.http.post(f"{path}/attach.csv", content=text, headers=CSV, params={**options, "skip_bad": True})
    assert again.status_code == 422
    assert here.http.post(f"{path}/attach.csv", content=b"\xff\xfe", headers=CSV).status_code == 422
    csv, lines = here.http.get(f"{path}/export.csv"), here.http.get(f"{path}/export.jsonl")
    assert csv.headers["content-type"].startswith("text/csv")
    assert csv.headers["content-disposition"] == f'attachment; filename="study-{study}.csv"'
    assert [json.loads(line)["value"] for line in lines.text.splitlines()] == [1.0]
    for number, (body, kind) in enumerate(((csv.text, "text/csv"), (lines.text, "application/x-ndjson"))):
        copy = here.create(name=f"copy {number}")
        answer = here.http.post(f"/api/studies/{copy}/import", content=body, headers={"Content-Type": kind})
        assert answer.json()["trials"] == attached["trials"]


def test_the_schema_is_that_of_study_files(here: Served) -> None:
    assert get(here, "/schema")["title"] == "hentropy study file"
