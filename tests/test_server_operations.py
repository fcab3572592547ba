"""For those who look after a server: health, readiness, metrics, and logs that are collected."""

import json
import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hentropy.studies.records import Trial
from hentropy.views.server.metrics import Histogram, sample
from hentropy.views.server.settings import Settings
from hentropy.views.text.log_lines import FIELDS, JsonLines, event_line
from support.serving import TOKEN, Served, served
from support.waiting import PATIENCE

WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def guarded(sqlite_url: str) -> Iterator[Served]:
    """A server with a token, and a study with a measured trial, a failed one, and one that a worker has."""
    with served(Settings(sqlite_url, token=TOKEN)) as server:
        study = server.create()
        body = {"rows": [{"params": {"x": 1.0}, "failed": "it broke"}, {"params": {"x": 0.0}, "value": 1.0}]}
        assert server.http.post(f"/api/studies/{study}/attach", json=body, headers=WITH_TOKEN).status_code == 201
        log = server.services.study_service.log(study)
        log.add([Trial(2, {"x": 2.0})], owner="a worker", lease=3600.0)
        yield server


def samples(text: str) -> dict[str, float]:
    """The text format, read as Prometheus does: every line is a comment or a sample of a type that was said before."""
    found: dict[str, float] = {}
    types: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split(" ")
            assert name not in types
            types[name] = kind
        elif not line.startswith("# HELP"):
            match = re.fullmatch(r'([a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*\})? (\S+)', line)
            assert match, line
            name = match[1]
            assert name in types or types[re.sub(r"_(bucket|sum|count)$", "", name)] == "histogram", line
            assert line.rpartition(" ")[0] not in found
            found[line.rpartition(" ")[0]] = float(match[3])
    return found


def test_health_and_readiness_need_no_token_and_say_nothing(guarded: Served) -> None:
    for path, said in (("/health", "ok\n"), ("/ready", "ready\n")):
        answer = guarded.http.get(path)
        assert (answer.status_code, answer.text) == (200, said)
        assert guarded.http.head(path).status_code == 200


def test_a_server_whose_store_is_away_is_alive_but_not_ready(sqlite_url: str) -> None:
    with served(Settings(sqlite_url, token=TOKEN)) as server:
        assert server.http.get("/ready").status_code == 200
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as other:
            other.execute("ALTER TABLE hentropy_studies RENAME TO elsewhere")
        assert server.http.get("/health").status_code == 200
        answer = server.http.get("/ready")
        assert answer.status_code == 503
        assert sqlite_url.removeprefix("sqlite:///") not in answer.text


def test_metrics_need_the_token_and_count(guarded: Served) -> None:
    assert guarded.http.get("/metrics").status_code == 401
    guarded.http.get("/no/such/path", headers=WITH_TOKEN)
    for made_up in ("BREW", "SHAKE"):
        guarded.http.request(made_up, "/")
    answer = guarded.http.get("/metrics", headers=WITH_TOKEN)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = samples(answer.text)
    assert found["hentropy_studies"] == 1
    trials = {state: found[f'hentropy_trials{{state="{state}"}}'] for state in ("complete", "failed", "running")}
    assert trials == {"complete": 1, "failed": 1, "running": 1}
    assert found["hentropy_workers"] == 1
    attach = '{method="POST",route="/api/studies/{study}/attach",status="201"}'
    assert found[f"hentropy_requests_total{attach}"] == 1
    assert found['hentropy_requests_total{method="GET",route="other",status="404"}'] == 1
    assert found['hentropy_requests_total{method="GET",route="other",status="401"}'] == 1
    assert found['hentropy_requests_total{method="other",route="other",status="401"}'] == 2
    assert found['hentropy_request_seconds_count{route="/api/studies/{study}/attach"}'] == 1
    assert found['hentropy_queue{kind="ask",state="waiting"}'] == 0


def test_jobs_are_counted(guarded: Served) -> None:
    job = guarded.http.post("/api/studies/1/ask", json={"count": 1}, headers=WITH_TOKEN).json()["job"]["id"]
    assert guarded.services.job_service.wait(job, PATIENCE).state == "done"
    found = samples(guarded.http.get("/metrics", headers=WITH_TOKEN).text)
    assert found['hentropy_job_seconds_count{kind="ask",state="done"}'] == 1
    assert found['hentropy_job_wait_seconds_count{kind="ask"}'] == 1
    assert found['hentropy_trials{state="running"}'] == 2


def test_the_bars_of_a_histogram_grow() -> None:
    histogram = Histogram((1.0, 10.0))
    for seconds in (0.5, 1.0, 5.0, 50.0):
        histogram.add((("kind", "ask"),), seconds)
    assert list(histogram.samples("h")) == [
        'h_bucket{kind="ask",le="1"} 2',
        'h_bucket{kind="ask",le="10"} 3',
        'h_bucket{kind="ask",le="+Inf"} 4',
        'h_sum{kind="ask"} 56.5',
        'h_count{kind="ask"} 4',
    ]
    assert sample("a", (("b", 'x"y\\z\n'),), 1) == 'a{b="x\\"y\\\\z\\n"} 1'


def test_requests_are_logged_without_what_they_carry(guarded: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hentropy.requests")
    guarded.http.get(f"/?token={TOKEN}")
    guarded.http.get("/studies/%0Aforged%20line")
    lines = [record.getMessage() for record in caplog.records if record.name == "hentropy.requests"]
    assert lines == ["127.0.0.1 GET / 303", "127.0.0.1 GET /studies/ forged line 404"]
    record = next(record for record in caplog.records if record.name == "hentropy.requests")
    line = json.loads(JsonLines().format(record))
    assert (line["method"], line["path"], line["status"], line["person"]) == ("GET", "/", 303, None)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["at"])


def test_lines_of_the_log_are_json() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        record = logging.LogRecord(
            "x", logging.ERROR, "", 0, "said %s", ("this\nand that",), (type(error), error, None)
        )
    vars(record)[FIELDS] = {"number": 3}
    text = JsonLines().format(record)
    assert "\n" not in text
    line = json.loads(text)
    assert (line["level"], line["message"], line["number"]) == ("error", "said this\nand that", 3)
    assert "two\nlines" in line["traceback"]
    assert json.loads(event_line("begin", trials=2))["event"] == "begin"


PAGE = Path(__file__).parents[1] / "docs" / "howto" / "operations.md"


def test_the_documentation_names_every_metric(guarded: Served) -> None:
    known = {*re.findall(r"^# TYPE (\w+)", guarded.http.get("/metrics", headers=WITH_TOKEN).text, re.MULTILINE)}
    assert {*re.findall(r"`(hentropy_\w+)", PAGE.read_text())} == known - {"hentropy_info"}
