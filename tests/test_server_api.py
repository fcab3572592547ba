"""The API of a real server: every verb of the command line, with the same objects underneath."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

import hentropy as he
from hentropy.errors import Gone
from hentropy.studies.records import StudyKey, StudyRecord
from hentropy.views.server.api import data, studies
from hentropy.views.server.api.requests import Attach, EarlierRow, Tell
from hentropy.views.server.api.router import meant
from hentropy.views.server.recent_results import Recent
from hentropy.views.server.settings import ServerLimits, Settings
from support.serving import LONGER, SMALL, Served, emptied, served
from support.studies import Worst, hill
from support.waiting import PATIENCE

CSV = {"Content-Type": "text/csv"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('store') / 'lab.db'}"


@pytest.fixture(scope="module")
def server(url: str) -> Iterator[Served]:
    with served(Settings(url)) as it:
        yield it


@pytest.fixture
def here(server: Served) -> Iterator[Served]:
    """The server of all tests, without studies."""
    yield server
    emptied(server)


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


def test_a_body_that_is_no_json_is_said_to_be_that(here: Served) -> None:
    answer = here.http.post("/api/check", content=b'{"a": }', headers={"Content-Type": "application/json"})
    status, sentence = refused(answer)
    assert status == 422
    assert "the body is not valid JSON, at character 6: " in sentence


@pytest.mark.smoke
def test_from_a_definition_to_a_verdict(here: Served, url: str) -> None:
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
    assert (told["name"], told["trial"]["measurements"]["value"]["value"], told["trial"]["note"]) == (
        "a/b ü",
        1.0,
        "<b>warm</b>",
    )
    assert post(here, f"{path}/trials/1/fail", {"why": "broke"})["trial"]["state"] == "failed"
    rows = [{"params": {"x": 2.0}, "value": hill(2.0)}, {"params": {"x": -0.9}, "failed": "too cold"}]
    attached = post(here, f"{path}/attach", {"rows": rows})["trials"]
    assert [(trial["state"], trial["note"]) for trial in attached] == [("complete", ""), ("failed", "too cold")]
    both = {"rows": [{"params": {"x": 2.0}, "value": 1.0, "failed": "or not"}]}
    assert here.http.post(f"/api{path}/attach", json=both).status_code == 422
    post(here, f"{path}/trials/0/tell", {"value": 1.5, "replace": True})
    history = get(here, f"{path}/trials/0")["history"]
    assert [one["measurements"]["value"]["value"] for one in history] == [1.0, 1.5]

    decided = post(here, f"{path}/decide", params={"wait": 30})
    study_here = he.load_study("a/b ü", url)
    assert decided["verdict"]["action"] == study_here.decide().action
    compared = study_here.decide().comparison
    assert (None if compared is None else compared.plain()) == decided["verdict"]["comparison"]
    assert get(here, f"{path}/verdicts")["verdicts"][-1]["action"] == decided["verdict"]["action"]
    assert get(here, path)["verdict"]["observations"] == 2
    assert [trial["number"] for trial in get(here, f"{path}/trials", first=1)["trials"]] == [1, 2, 3]

    look = wait_for(lambda: get(here, f"{path}/look"), "complete")
    # what another run is worth is said a little later than the verdict
    assert look["verdict"] in (decided["verdict"], {**decided["verdict"], "worth": look["verdict"]["worth"]})
    assert look["verdict"]["worth"] == "" or look["verdict"]["worth"].startswith("Another run is worth ")
    for name, picture in look["pictures"].items():
        alone = get(here, f"{path}/pictures/{name}")["picture"]
        assert alone.pop("information")
        assert alone == picture
    assert here.http.get(f"/api{path}/pictures/nothing").status_code == 404
    assert here.http.delete(f"/api{path}", params={"name": "wrong"}).status_code == 409
    assert here.http.delete(f"/api{path}", params={"name": "a/b ü"}).status_code == 204
    assert here.http.get(f"/api{path}").status_code == 404
    study_here.close()


def test_questions_are_answered_and_record_nothing(here: Served, url: str) -> None:
    study = here.http.post("/api/studies", json={**SMALL, "name": "asked"}).json()["id"]
    early = here.http.post(f"/api/studies/{study}/worth", json={})
    assert refused(early)[0] == 409
    rows = [{"params": {"x": x}, "value": hill(x)} for x in (0.1, 0.4, 0.7, 0.9)]
    post(here, f"/studies/{study}/attach", {"rows": rows})
    before = get(here, f"/studies/{study}")
    asked: dict[str, Any] = {
        "worth": {"price": 1e6},
        "what_if": {"params": {"x": 0.5}, "value": 9.0, "std_error": 0.01},
        "predict": {"designs": [{"x": 0.4}, {"x": 0.5}]},
    }
    found = {}
    for what, body in asked.items():
        job = post(here, f"/studies/{study}/{what}?wait=30", body)["job"]["id"]
        found[what] = wait_for(lambda job=job: get(here, f"/jobs/{job}"), what)[what]
    assert get(here, f"/studies/{study}") == before
    assert found["worth"]["worth_it"] is False
    assert found["worth"]["gain"] >= 0
    assert found["what_if"]["then"]["action"][0]["x"] == pytest.approx(0.5, abs=0.05)
    assert found["what_if"]["change_of_expected_loss"] < -1
    expected = he.load_study("asked", url).predict(asked["predict"]["designs"]).to_dict("records")
    for row, own in zip(found["predict"]["predictions"], expected, strict=True):
        assert row == pytest.approx(own, rel=1e-6, abs=1e-9)
    assert refused(here.http.post(f"/api/studies/{study}/worth", json={"price": -1.0}))[0] == 422
    wrong = post(here, f"/studies/{study}/predict?wait=30", {"designs": [{"y": 0.4}]})["job"]["id"]
    ended = wait_for(lambda: get(here, f"/jobs/{wrong}")["job"], "error")
    assert (ended["state"], "misses x" in ended["error"]) == ("failed", True)


def wait_for(question: Any, key: str, pause: float = 0.1) -> dict[str, Any]:
    until = time.monotonic() + PATIENCE
    while not (said := question())[key]:
        assert time.monotonic() < until, said
        time.sleep(pause)
    found: dict[str, Any] = said
    return found


def test_jobs_can_be_watched_and_cancelled(here: Served) -> None:
    study = here.create()
    with here.services.store.asking(here.services.study_service.record(study)):  # so that it does not end by itself
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
    with served(Settings(sqlite_url, limits=ServerLimits(jobs=1, count=3))) as server:
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
    assert (status, "no results yet" in said) == (409, True)


def test_a_count_beyond_the_budget_is_refused_or_cut(here: Served) -> None:
    study = here.create(stop={"trials": 3})
    ask = f"/api/studies/{study}/ask"
    status, said = refused(here.http.post(ask, json={"count": 4}))
    assert (status, said) == (409, "4 experiments are more than the budget leaves; ask for at most 3")
    record = here.services.study_service.record(study)
    with here.services.store.asking(record):  # so that both jobs are placed while the budget leaves three
        jobs = [post(here, f"/studies/{study}/ask", {"count": 2})["job"]["id"] for _ in range(2)]
    first, second = (wait_for(lambda job=job: get(here, f"/jobs/{job}"), "trials")["trials"] for job in jobs)
    assert (len(first), len(second)) == (2, 1)
    assert get(here, f"/studies/{study}")["counts"]["running"] == 3
    status, said = refused(here.http.post(ask, json={}))
    assert (status, "no new experiment: " in said) == (409, True)
    assert len(post(here, f"/studies/{study}/ask", {"anyway": True}, params={"wait": 30})["trials"]) == 1


def test_a_study_with_code_of_its_own_is_never_computed(here: Served, url: str) -> None:
    own = he.Study(he.Space(x=he.Real(0, 1)), Worst(), storage=url, name="own")
    own.attach({"x": 0.5}, 1.0)
    study = own.log.record.id
    for verb in ("ask", "decide"):
        status, said = refused(here.http.post(f"/api/studies/{study}/{verb}", json={}))
        assert (status, "which a server does not run" in said) == (409, True)
    assert here.services.job_service.jobs(own.log.record) == ()
    assert "does not run" in get(here, f"/studies/{study}")["computable"]
    assert post(here, f"/studies/{study}/trials/0/tell", {"value": 2.0, "replace": True})["trial"]["measurements"] == {
        "value": {"value": 2.0, "std_error": None}
    }


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
    options: dict[str, Any] = {"column": ["Temp=x", "yield=value"]}
    status, said = refused(here.http.post(f"{path}/attach.csv", content=text, headers=CSV, params=options))
    assert (status, "line 3: Temp is 'bad'" in said) == (422, True)
    status, said = refused(here.http.post(f"{path}/attach.csv", content=text, headers=CSV))
    assert said.endswith("say which column it is")
    answer = here.http.post(f"{path}/attach.csv", content=text, headers=CSV, params={**options, "skip_bad": True})
    assert answer.status_code == 201
    attached = answer.json()
    assert (len(attached["trials"]), len(attached["left_out"]), attached["unused"]) == (1, 1, [])
    assert attached["trials"][0]["note"] == "a"
    again = here.http.post(f"{path}/attach.csv", content=text, headers=CSV, params={**options, "skip_bad": True})
    assert again.status_code == 422
    assert here.http.post(f"{path}/attach.csv", content=b"\xff\xfe", headers=CSV).status_code == 422
    csv, lines = here.http.get(f"{path}/export.csv"), here.http.get(f"{path}/export.jsonl")
    assert csv.headers["content-type"].startswith("text/csv")
    assert csv.headers["content-disposition"] == f'attachment; filename="study-{study}.csv"'
    assert [json.loads(line)["measurements"]["value"]["value"] for line in lines.text.splitlines()] == [1.0]
    for number, (body, kind) in enumerate(((csv.text, "text/csv"), (lines.text, "application/x-ndjson"))):
        copy = here.create(name=f"copy {number}")
        answer = here.http.post(f"/api/studies/{copy}/import", content=body, headers={"Content-Type": kind})
        assert answer.json()["trials"] == attached["trials"]


def test_the_schema_is_that_of_study_files(here: Served) -> None:
    assert get(here, "/schema")["title"] == "hentropy study file"


def replaced(server: Served, study: int) -> StudyRecord:
    """The record of a study that is deleted; another gets its name and, by SQLite, its id."""
    study_service = server.services.study_service
    old = study_service.record(study)
    study_service.delete(study, old.name)
    assert server.create(name=old.name) == study
    return old


def test_what_was_checked_is_what_is_changed(here: Served) -> None:
    study = here.create()
    began = get(here, f"/studies/{study}")["created_at"]
    record = meant(here.services, study, began)
    # between the check of a request and its work another study takes the place
    replaced(here, study)
    row = {"params": {"x": 1.0}, "value": 2.0}
    post(here, f"/studies/{study}/attach", {"rows": [row]})
    with pytest.raises(Gone):
        studies.tell(here.services, record, 0, Tell(value=9.0, replace=True))
    with pytest.raises(Gone):
        data.attach(here.services, record, Attach(rows=[EarlierRow(params={"x": 2.0}, value=2.0)]))
    with pytest.raises(Gone):
        studies.delete_study(here.services, record, "lab")
    assert [trial["measurements"]["value"]["value"] for trial in get(here, f"/studies/{study}/trials")["trials"]] == [
        2.0
    ]
    status, said = refused(here.http.get(f"/api/studies/{study}", headers={"Study-Created-At": began}))
    assert (status, "another one took its place" in said) == (404, True)


def test_a_job_is_about_its_study_alone(here: Served) -> None:
    study = here.create()
    job = post(here, f"/studies/{study}/ask", params={"wait": 30})["job"]["id"]
    old = replaced(here, study)
    for answer in (here.http.get(f"/api/jobs/{job}"), here.http.delete(f"/api/jobs/{job}")):
        status, said = refused(answer)
        assert (status, "of this job was deleted" in said) == (404, True)
    assert get(here, f"/studies/{study}/jobs")["jobs"] == []
    late = here.services.job_service.wait(here.services.job_service.ask(old).id, PATIENCE)
    assert late.state == "failed"
    assert get(here, f"/studies/{study}/trials")["trials"] == []


def test_a_decision_that_failed_is_not_answered_with_the_one_before(here: Served) -> None:
    study, job_service = here.create(**LONGER), here.services.job_service
    path, record = f"/studies/{study}", here.services.study_service.record(study)
    post(here, f"{path}/attach", {"rows": [{"params": {"x": x}, "value": hill(x)} for x in (0.0, 1.0, 2.0)]})
    first = post(here, f"{path}/decide", params={"wait": 30})["job"]["id"]
    assert job_service.wait(first, PATIENCE).state == "done"
    assert get(here, f"/jobs/{first}")["verdict"]["observations"] == 3
    post(here, f"{path}/attach", {"rows": [{"params": {"x": 2.5}, "value": hill(2.5)}]})
    os.kill(job_service.processes[-1], signal.SIGSTOP)  # so that the next look does not end before it is cancelled
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(post, here, f"{path}/decide", params={"wait": 30})
        new = lambda: [job for job in job_service.jobs(record) if job.id != first and job.state == "running"]  # noqa: E731
        jobs = wait_for(lambda: {"new": new()}, "new", 0.002)["new"]
        assert job_service.cancel(jobs[0].id).state == "cancelled"
    assert answer.result()["job"]["state"] == "cancelled"
    assert answer.result()["verdict"] is None
    assert get(here, f"/jobs/{jobs[0].id}")["verdict"] is None


def test_what_has_a_key_is_done_once(here: Served) -> None:
    study = here.create()
    path, key = f"/studies/{study}", {"Idempotency-Key": "made up"}
    body = {"rows": [{"params": {"x": 1.0}, "value": 2.0}], "again": True}
    first, second = (post(here, f"{path}/attach", body, headers=key) for _ in range(2))
    assert first == second
    assert len(post(here, f"{path}/attach", body, headers={"Idempotency-Key": "another"})["trials"]) == 1
    text: dict[str, Any] = {"content": "x,value\n0.5,1\n", "headers": {**CSV, **key}, "params": {"again": True}}
    first, second = (here.http.post(f"/api{path}/attach.csv", **text).json() for _ in range(2))
    assert first["trials"] == second["trials"] != []
    assert len(get(here, f"{path}/trials")["trials"]) == 3
    asked = [post(here, f"{path}/ask", {"count": 1}, headers=key)["job"]["id"] for _ in range(3)]
    assert len(set(asked)) == 1
    assert len(get(here, f"{path}/jobs")["jobs"]) == 1
    other = here.create(name="other")
    assert post(here, f"/studies/{other}/ask", {"count": 1}, headers=key)["job"]["id"] not in asked
    # another request with this key would be lost if it got the answer of the first one
    more = {"rows": [{"params": {"x": 1.0}, "value": 3.0}], "again": True}
    others: tuple[tuple[str, dict[str, Any]], ...] = (
        ("attach", {"json": more}),
        ("attach.csv", {"content": "x,value\n0.5,2\n", "headers": CSV}),
        ("ask", {"json": {"count": 2}}),
    )
    for path_to, sent in others:
        sent["headers"] = {**sent.get("headers", {}), **key}
        refusal = here.http.post(f"/api{path}/{path_to}", **sent)
        assert refusal.status_code == 422
        assert "used for another request" in refusal.json()["error"]["sentence"]
    # what was refused was not done: the same key may try again
    bad = {"rows": [{"params": {"x": 99.0}, "value": 2.0}]}
    assert here.http.post(f"/api{path}/attach", json=bad, headers={"Idempotency-Key": "third"}).status_code == 422
    assert post(here, f"{path}/attach", body, headers={"Idempotency-Key": "third"})["trials"]


def test_who_comes_while_it_is_done_waits_for_it_and_few_keys_are_kept() -> None:
    recent, key = Recent(most=2), StudyKey(1, "study", 1.0)
    done: list[int] = []
    gate = threading.Event()

    def slowly() -> int:
        gate.wait(10)
        done.append(1)
        return len(done)

    with ThreadPoolExecutor(2) as threads:
        answers = [threads.submit(recent.once, key, "ask", "a", slowly) for _ in range(2)]
        gate.set()
        assert [answer.result() for answer in answers] == [1, 1]
    for name in ("b", "c"):
        recent.once(key, "ask", name, slowly)
    assert recent.once(key, "ask", "b", slowly) == 2
    assert recent.once(key, "ask", "a", slowly) == 4
    assert recent.once(key, "ask", None, slowly) == 5


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"decision": {"name": "top_k", "k": 51}}, "decision.k is 51; at most 50 is allowed"),
        ({"first": 10**6}, "first is 1000000; at most 1000"),
        ({"solver": {"max_memory": "1 TB"}}, "solver.max_memory is 1000000000000"),
        ({"decision": {"name": "identify", "what": "max", "candidates": 10**6}}, "decision.candidates is 1000000"),
    ],
)
def test_what_is_too_large_for_a_server_is_not_made(here: Served, part: dict[str, Any], said: str) -> None:
    status, sentence = refused(here.http.post("/api/studies", json={**SMALL, **part}))
    assert (status, said in sentence) == (422, True), sentence
    assert get(here, "/studies") == {"studies": []}


def test_a_study_takes_half_of_the_places_at_most(sqlite_url: str) -> None:
    with served(Settings(sqlite_url, limits=ServerLimits(jobs=4))) as server:
        study, other = server.create(), server.create(name="other")
        with server.services.store.asking(server.services.study_service.record(study)):
            # one begins and does not end, two wait
            answers = [server.http.post(f"/api/studies/{study}/ask", json={}) for _ in range(4)]
        assert answers[-1].status_code == 503
        assert answers[-1].json()["error"]["kind"] == "busy"
        assert "in the queue, the most it may have" in answers[-1].text
        assert server.http.post(f"/api/studies/{other}/ask", json={}).status_code == 202
