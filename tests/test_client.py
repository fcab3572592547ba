"""`RemoteStudy` against a real server: the same loop, the same trials, the same errors as in process."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import hentropy as he
from hentropy.client import RemoteStudy
from hentropy.errors import InputError, StorageError, StudyError
from hentropy.records import State
from hentropy.server.settings import Settings
from support.serving import TOKEN, Served, served
from support.studies import hill

Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Served]:
    with served(Settings(f"sqlite:///{tmp_path / 'lab.db'}", token=TOKEN)) as server:
        yield server


def remote(server: Served, name: str = "lab", **options: Any) -> RemoteStudy:
    return RemoteStudy(server.url, name, TOKEN, **options)


def loop(study: he.Study | RemoteStudy) -> tuple[tuple[he.Trial, ...], he.Verdict]:
    """What somebody writes who does not care where the study is."""
    study.attach({"x": 2.5}, (hill(2.5), 0.01))
    while not study.stopped:
        trial = study.ask()
        study.tell(trial, hill(**trial.params))
    for trial in study.ask_many(2):
        study.withdraw(trial, note="enough")
    return study.records, study.decide()


def test_a_loop_written_for_a_study_runs_unchanged_and_gives_the_same(lab: Served) -> None:
    parts = {"seed": 3, "stop": {"trials": 4}}
    lab.create(name="far away/ü", **parts)
    far = remote(lab, "far away/ü")
    records, verdict = loop(far)
    here = he.Study(
        he.Space(x=he.Real(-1.0, 3.0)), he.Maximize(), seed=3, first=2, hyperparameters="map", stop=[he.Budget(4)]
    )
    assert (records, verdict) == loop(here)
    assert any(trial.gain is not None for trial in records)
    assert far.trials.equals(here.trials)
    assert far.stopped == here.stopped is not None


def test_errors_are_those_of_a_study(lab: Served) -> None:
    study = lab.create()
    far = remote(lab)
    [trial] = far.attach_many([({"x": 1.0}, 2.0)])
    with pytest.raises(StudyError, match="told already: value 2; to correct it"):
        far.tell(trial, 3.0)
    assert far.tell(trial, 3.0, note="misread", replace_value=True).value == 3.0
    with pytest.raises(StudyError, match="there is no trial 7"):
        far.tell(7, 1.0)
    with pytest.raises(StudyError, match="either a value or failed"):
        far.tell(0)
    with pytest.raises(InputError, match="finite"):
        far.tell(0, (1.0, -1.0))
    with pytest.raises(InputError, match="row 1"):
        far.attach_many([({"x": 1.0}, 2.0), ({"x": 9.0}, 2.0)])
    with pytest.raises(StudyError, match="another study"):
        far.tell(he.Trial(0, {"x": 2.0}), 1.0)
    assert far.tell(0, failed="broken", replace_value=True).state is State.FAILED
    assert [trial.note for trial in far.records] == ["broken"]
    with pytest.raises(StudyError, match="nothing has been told yet"):
        far.decide()
    with pytest.raises(InputError, match="count"):
        far.ask_many(0)
    lab.services.desk.delete(study, "lab")
    with pytest.raises(StudyError, match="deleted"):
        far.tell(0, 1.0)


@pytest.mark.parametrize("name", ["another", "lab"])
def test_a_study_that_took_the_place_of_another_is_refused_and_left_alone(lab: Served, name: str) -> None:
    study = lab.create()
    far = remote(lab)
    lab.services.desk.delete(study, "lab")
    assert lab.create(name=name) == study  # SQLite gives the id again
    with pytest.raises(StudyError, match=r"was deleted; another has its place"):
        far.attach({"x": 1.0}, 2.0)
    assert lab.services.desk.case(study).entries == ()


def test_who_cannot_be_reached_and_what_is_not_there(lab: Served) -> None:
    lab.create()
    with pytest.raises(StudyError, match=r"no study 'lob' at .*; there are: 'lab'"):
        remote(lab, "lob")
    with pytest.raises(StorageError, match="the token is not the right one"):
        RemoteStudy(lab.url, "lab", TOKEN + "x")
    with pytest.raises(StorageError, match="needs the token"):
        RemoteStudy(lab.url, "lab")
    with pytest.raises(StorageError, match="cannot be reached"):
        RemoteStudy("http://127.0.0.1:1", "lab")
    with pytest.raises(InputError, match="address of a server"):
        RemoteStudy("file:///etc/passwd", "lab")


def test_a_proposal_that_takes_too_long_is_cancelled(lab: Served) -> None:
    lab.create()
    far = remote(lab)
    with pytest.raises(StudyError, match=r"no proposal after 0\.01 s"):
        far.ask(timeout=0.01)
    assert far.records == ()
    assert [job.state for job in lab.services.workshop.jobs()] == ["cancelled"]


@contextmanager
def odd_server(answer: Callable[[str], Answer]) -> Iterator[tuple[str, list[str]]]:
    """A server that answers as the function says; and the paths and tokens that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers.get('Authorization')}")
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def busy(path: str) -> Answer:
    told = {"error": {"id": "1", "kind": "busy", "sentence": "too many requests"}}
    return 429, {"Retry-After": "0"}, json.dumps(told).encode()


def test_a_busy_server_is_asked_again() -> None:
    found = json.dumps({"studies": [{"id": 1, "name": "lab", "created_at": "2026-01-31T12:00:00.000Z"}]}).encode()
    answers = iter([busy(""), busy(""), (200, {}, found)])
    with odd_server(lambda path: next(answers)) as (url, asked):
        assert RemoteStudy(url, "lab").id == 1
        assert len(asked) == 3
    with odd_server(busy) as (url, asked), pytest.raises(StorageError, match="too many requests"):
        RemoteStudy(url, "lab", patience=0.1)


def test_a_token_is_not_carried_to_where_a_server_points() -> None:
    with (
        odd_server(lambda path: (200, {}, b"{}")) as (other, asked),
        odd_server(lambda path: (302, {"Location": f"{other}/stolen"}, b"")) as (url, _),
        pytest.raises(StorageError, match="not a server of hentropy"),
    ):
        RemoteStudy(url, "lab", TOKEN)
    assert asked == []


def test_what_is_no_server_of_ours_is_said() -> None:
    with (
        odd_server(lambda path: (200, {}, b"<html>")) as (url, _),
        pytest.raises(StorageError, match="not a server of hentropy"),
    ):
        RemoteStudy(url, "lab")
