"""`RemoteStudy` against a real server: the same loop, the same trials, the same errors as in process."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import hentropy as he
from experiments.executors import one_thread
from hentropy.errors import InputError, StorageError, StudyError
from hentropy.studies.records import State
from hentropy.views.client import RemoteStudy
from hentropy.views.server.settings import Settings
from support.serving import LONGER, TOKEN, Served, emptied, served
from support.studies import hill
from support.waiting import PATIENCE, until

Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    url = f"sqlite:///{tmp_path_factory.mktemp('store') / 'lab.db'}"
    with served(Settings(url, token=TOKEN)) as it:
        yield it


@pytest.fixture
def lab(server: Served) -> Iterator[Served]:
    """The server of all tests, without studies."""
    yield server
    emptied(server)


def remote(server: Served, name: str = "lab", **options: Any) -> RemoteStudy:
    return RemoteStudy(server.url, name, TOKEN, **options)


def loop(study: he.Study | RemoteStudy) -> tuple[tuple[he.Trial, ...], he.Verdict]:
    """What somebody writes who does not care where the study is."""
    study.attach({"x": 2.5}, (hill(2.5), 0.01))
    study.attach({"x": -0.9}, he.Failed("broke"))
    while not study.stopped:
        trial = study.ask()
        study.tell(trial, hill(**trial.params))
    for trial in study.ask_many(2):
        study.withdraw(trial, note="enough")
    return study.records, study.decide()


def test_a_loop_written_for_a_study_runs_unchanged_and_gives_the_same(lab: Served) -> None:
    lab.create(name="far away/ü", decision={"name": "maximize"}, seed=3, stop={"trials": 4})
    far = remote(lab, "far away/ü")
    records, verdict = loop(far)
    here = he.Study(
        he.Space(x=he.Real(-1.0, 3.0)), he.Maximize(), seed=3, first=2, hyperparameters="map", stop=[he.Budget(4)]
    )
    with one_thread():  # as the server computes: sums by several threads differ in their last digits
        assert (records, verdict) == loop(here)
        assert verdict.comparison == here.decide().comparison is not None
    assert any(trial.gain is not None for trial in records)
    assert far.trials.equals(here.trials)
    assert far.stopped == here.stopped is not None


def test_errors_are_those_of_a_study(lab: Served) -> None:
    study = lab.create()
    far = remote(lab)
    [trial] = far.attach_many([({"x": 1.0}, 2.0)])
    with pytest.raises(StudyError, match="already has a result: value 2; pass replace_value=True to correct it"):
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
    with pytest.raises(StudyError, match="no results yet"):
        far.decide()
    with pytest.raises(InputError, match="count"):
        far.ask_many(0)
    lab.services.study_service.delete(study, "lab")
    with pytest.raises(StudyError, match="deleted"):
        far.tell(0, 1.0)


@pytest.mark.parametrize("name", ["another", "lab"])
def test_a_study_that_took_the_place_of_another_is_refused_and_left_alone(lab: Served, name: str) -> None:
    study = lab.create()
    far = remote(lab)
    lab.services.study_service.delete(study, "lab")
    assert lab.create(name=name) == study  # SQLite gives the id again
    with pytest.raises(StudyError, match=r"was deleted, and another one took its place"):
        far.attach({"x": 1.0}, 2.0)
    assert lab.services.study_service.snapshot(study).entries == ()


def test_who_cannot_be_reached_and_what_is_not_there(lab: Served) -> None:
    lab.create()
    with pytest.raises(StudyError, match=r"no study 'lob' at .*; available: 'lab'"):
        remote(lab, "lob")
    with pytest.raises(StorageError, match="the token is wrong"):
        RemoteStudy(lab.url, "lab", TOKEN + "x")
    with pytest.raises(StorageError, match="needs the server's token"):
        RemoteStudy(lab.url, "lab")
    with pytest.raises(StorageError, match="is unreachable"):
        RemoteStudy("http://127.0.0.1:1", "lab")
    with pytest.raises(InputError, match="address of a server"):
        RemoteStudy("file:///etc/passwd", "lab")


def test_a_proposal_that_takes_too_long_is_cancelled(lab: Served) -> None:
    record = lab.services.study_service.record(lab.create())
    far = remote(lab)
    with (
        lab.services.store.asking(record),  # so that it is not ready before
        pytest.raises(StudyError, match=r"no proposal after 0\.01 s"),
    ):
        far.ask(timeout=0.01)
    assert far.records == ()
    assert lab.services.job_service.jobs()[-1].state == "cancelled"


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], Answer | None]) -> Iterator[str]:
    """A server that answers as the function says, or hangs up."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = answer(self)
            if found is None:
                self.close_connection = True
                return
            status, headers, body = found
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def do_DELETE(self) -> None:
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def odd_server(answer: Callable[[str], Answer]) -> Iterator[tuple[str, list[str]]]:
    """A server that answers as the function says; and the paths and tokens that it was asked for."""
    asked: list[str] = []

    def heard(handler: BaseHTTPRequestHandler) -> Answer:
        asked.append(f"{handler.path} {handler.headers.get('Authorization')}")
        return answer(handler.path)

    with answering(heard) as url:
        yield url, asked


class Front:
    """Stands before a server and hands everything on; the answers whose turn it is are lost after the work."""

    def __init__(self, server: Served) -> None:
        self._server = server
        self.lost: list[Answer | None] = []
        """What is said in place of the next answers; None hangs up."""
        self.passed: list[str] = []

    def __call__(self, handler: BaseHTTPRequestHandler) -> Answer | None:
        self.passed.append(f"{handler.command} {handler.path.partition('?')[0]}")
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        names = ("Authorization", "Content-Type", "Study-Created-At", "Idempotency-Key")
        headers = {name: handler.headers[name] for name in names if name in handler.headers}
        answer = self._server.http.request(handler.command, handler.path, content=body, headers=headers)
        return self.lost.pop(0) if self.lost else (answer.status_code, {}, answer.content)


def problem(status: int, kind: str, sentence: str) -> Answer:
    told = {"error": {"id": "1", "kind": kind, "sentence": sentence}}
    return status, {"Retry-After": "0"}, json.dumps(told).encode()


AWAY = problem(503, "store", "the database does not answer")


def test_answers_that_are_lost_do_not_double_what_was_done(lab: Served) -> None:
    study, front = lab.create(), Front(lab)
    with answering(front) as url:
        far = RemoteStudy(url, "lab", TOKEN)
        front.lost = [AWAY, None]
        assert far.attach({"x": 1.0}, 2.0).number == 0
        front.lost = [AWAY, None]
        assert far.ask().number == 1
        assert len(lab.services.study_service.snapshot(study).entries) == 2
        front.lost = [AWAY]
        assert far.tell(1, 3.0).value == 3.0
        front.lost = [None, AWAY]
        assert len(far.records) == 2
        # what cannot be told apart from a second time is not sent again
        trial = far.ask()
        front.passed.clear()
        front.lost = [AWAY]
        with pytest.raises(StorageError, match="does not answer"):
            far.withdraw(trial)
        assert front.passed == [f"POST /api/studies/{study}/trials/2/withdraw"]
        assert [trial.state for trial in far.records][2] is State.WITHDRAWN
    assert len(lab.services.store.observations(lab.services.study_service.record(study))) == 3


def test_a_proposal_that_the_server_forgot_may_have_been_asked(lab: Served) -> None:
    lab.create()

    def front(handler: BaseHTTPRequestHandler) -> Answer | None:
        if "/jobs/" in handler.path:
            return problem(404, "gone", "there is no job")
        return Front(lab)(handler)

    with answering(front) as url:
        far = RemoteStudy(url, "lab", TOKEN)
        record = lab.services.study_service.record(far.id)
        said = r"may have been asked anyway: see `records`"
        # nobody else may ask meanwhile: it is not ready before the client asks how it goes
        with lab.services.store.asking(record), pytest.raises(StudyError, match=said):
            far.ask()
        lab.services.store.delete(record)
        with pytest.raises(StudyError, match="no study"):
            far.ask()


# the interrupt may come while a connection is being made, before anybody could close it
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_who_is_interrupted_wants_the_proposal_no_more(lab: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    study = lab.create()
    far, record = remote(lab), lab.services.study_service.record(study)
    main, call, waits = threading.get_ident(), far._connection.call, threading.Event()

    def noticed(method: Any, *arguments: Any, **options: Any) -> Any:
        if method == "GET":  # it has its job, and asks how that goes
            waits.set()
        return call(method, *arguments, **options)

    def interrupt() -> None:
        assert waits.wait(PATIENCE)
        signal.pthread_kill(main, signal.SIGINT)

    monkeypatch.setattr(far._connection, "call", noticed)
    with lab.services.store.asking(record):  # so that it is not ready before
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            far.ask()
        [job] = lab.services.job_service.jobs(record)
        assert job.state == "cancelled"
    assert far.records == ()


def test_a_decision_that_was_cancelled_is_not_the_one_before(lab: Served) -> None:
    study, job_service = lab.create(**LONGER), lab.services.job_service
    far, record = remote(lab), lab.services.study_service.record(study)
    far.attach_many([({"x": x}, hill(x)) for x in (0.0, 1.0, 2.0)])
    assert far.decide().observations == 3
    job_service.wait(job_service.jobs(record)[-1].id, PATIENCE)
    os.kill(job_service.processes[-1], signal.SIGSTOP)  # so that the next look does not end before it is cancelled
    seen = len(job_service.jobs(record))
    far.attach({"x": 2.5}, hill(2.5))
    with ThreadPoolExecutor(1) as threads:
        decided = threads.submit(far.decide)
        until(lambda: [job.state for job in job_service.jobs(record)[seen:]] == ["running"])
        job_service.cancel(job_service.jobs(record)[-1].id)
        with pytest.raises(StudyError, match="cancelled on the server"):
            decided.result()
    assert far.decide().observations == 4


def busy(path: str) -> Answer:
    return problem(429, "busy", "too many requests")


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
        pytest.raises(StorageError, match="not a hentropy server"),
    ):
        RemoteStudy(url, "lab", TOKEN)
    assert asked == []


def test_what_is_no_server_of_ours_is_said() -> None:
    with (
        odd_server(lambda path: (200, {}, b"<html>")) as (url, _),
        pytest.raises(StorageError, match="not a hentropy server"),
    ):
        RemoteStudy(url, "lab")
