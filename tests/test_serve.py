"""`hentropy serve` as a process: where it listens, what it refuses, how it ends."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

import hentropy as he
from hentropy.views.client import RemoteStudy
from support.commands import hentropy
from support.serving import SMALL, TOKEN
from support.waiting import PATIENCE

SOURCE = Path(he.__file__).parents[1]


@contextmanager
def serving(*arguments: str, cwd: Path, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """`hentropy serve`, its address, and what it said."""
    command = [sys.executable, "-m", "hentropy", "serve", "--port", "0", *arguments]
    with serving_by(command, cwd, **environment) as running:
        yield running


@contextmanager
def serving_by(
    command: list[str], cwd: Path | None = None, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A command that serves, its address, and what it said up to "Ctrl-C ends it"."""
    whole = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", **environment}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=cwd, env=whole, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            said = ""
            while "Ctrl-C" not in said:
                line = process.stdout.readline()
                assert line, process.stderr and process.stderr.read()
                said += line
            found = re.search(r"http://\S+", said)
            assert found, said
            yield process, found[0], said
        finally:
            process.kill()


PATIENT = """
import hentropy.views.cli.server_process as serving
from hentropy.__main__ import main

serving.GRACE = serving.LAST = 300
main()
"""
"""The command, with much time to end in good order."""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_it_serves_until_a_signal_even_with_open_pages(number: signal.Signals, code: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PATIENT, "serve", "--port", "0", "--no-token"]
    with serving_by(command, tmp_path) as (process, url, said):
        assert said.startswith("Serving hentropy.db at http://127.0.0.1:")
        assert "no studies yet" in said
        with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) as http:
            study = http.post("/api/studies", json=SMALL).json()["id"]
            with http.stream("GET", f"/studies/{study}/events") as events:
                assert next(events.iter_lines()).startswith("retry")
                process.send_signal(number)
                assert process.wait(PATIENCE) == code
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() == "stopped\n"
        assert process.stderr.read() == ""  # nothing had to be broken off when the time for it was over
    assert he.load_study("lab", f"sqlite:///{tmp_path / 'hentropy.db'}").records == ()


BUSY = """
import sys, threading, time
import hentropy.views.cli.server_process as serving
from hentropy.views.server.settings import Settings

serving.GRACE, serving.LAST = 1, 1
make = serving.make_app

def with_a_thread_that_never_ends(settings):
    def busy():
        print("busy", flush=True)
        while True:
            time.sleep(0.01)
    app = make(settings)
    app.add_api_route("/api/busy", busy)
    return app

serving.make_app = with_a_thread_that_never_ends
serving.run_server(Settings(sys.argv[1], port=0), show_token=False, verbose=False)
"""


def test_a_busy_thread_does_not_keep_the_process(sqlite_url: str) -> None:
    with serving_by([sys.executable, "-c", BUSY, sqlite_url]) as (process, url, _):
        address = urlsplit(url)
        with socket.create_connection((str(address.hostname), int(address.port or 0)), PATIENCE) as connection:
            connection.sendall(b"GET /api/busy HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert process.stdout is not None
            assert process.stdout.readline() == "busy\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert "aborted" in process.stderr.read()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_new_token_is_printed_as_a_link_that_opens(host: str, tmp_path: Path) -> None:
    """On a shared machine every account reaches the port: nothing is had there without the token."""
    with serving("--host", host, "--verbose", cwd=tmp_path) as (process, url, said):
        [link, token] = re.findall(r"Open (\S+\?token=(\S+))", said)[0]
        assert link.startswith(url)
        assert len(token) >= 40
        port = url.rstrip("/").rpartition(":")[2]
        here = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=here, timeout=PATIENCE, trust_env=False) as http:
            assert http.post("/api/studies", json=SMALL).status_code == 401
            assert http.get("/").headers["location"] == "/login?next=/"
            study = http.post("/api/studies", json=SMALL, headers={"Authorization": f"Bearer {token}"})
            assert study.status_code == 201
            entered = http.get(f"/studies/1?token={token}&page=1")
            assert (entered.status_code, entered.headers["location"]) == (303, "/studies/1?page=1")
            assert http.get("/studies/1").status_code == 200
        if host == "127.0.0.1":
            assert RemoteStudy(link, "lab").id == 1
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert "/api/studies" in err
        assert token not in out + err


def test_a_token_that_is_given_is_not_printed(tmp_path: Path) -> None:
    with serving("--host", "0.0.0.0", cwd=tmp_path, HENTROPY_TOKEN=TOKEN) as (process, _, said):
        process.send_signal(signal.SIGINT)
        assert TOKEN not in said + "".join(process.communicate(timeout=PATIENCE))


def test_the_token_can_be_switched_off_on_this_machine_alone(tmp_path: Path) -> None:
    with serving("--no-token", cwd=tmp_path) as (_, url, said), httpx.Client(base_url=url, trust_env=False) as http:
        assert "token" not in said
        assert http.get("/api/studies", timeout=PATIENCE).json() == {"studies": []}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0", "--no-token"], "there is no token"),
        (["--people", "nobody.json"], "there is no file nobody.json of people"),
        (["--person-header", "X-Forwarded-User"], "needs --people"),
        (["--host", "0.0.0.0", "--token", "short"], "at least 16"),
        (["--host", "no.such.host.invalid", "--token", TOKEN], "no address of this machine"),
        (["--host", "192.0.2.7", "--token", TOKEN], "no address of this machine"),
        (["--store", "memory://"], "a store in memory"),
        (["--store", "postgresql://me:password@127.0.0.1:1/lab"], "127.0.0.1"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_sentence(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HENTROPY_TOKEN", raising=False)
    ended = hentropy("serve", "--port", "0", *arguments)
    assert ended.code == 1
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert "password" not in ended.err
    assert not list(tmp_path.iterdir())


def test_a_port_in_use_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = hentropy("serve", "--port", str(taken.getsockname()[1]))
    assert (ended.code, "is in use" in ended.err) == (1, True)
    assert not list(tmp_path.iterdir())


def test_other_commands_do_without_the_server() -> None:
    code = (
        "import sys\nfrom hentropy.views.cli.app import COMMANDS\n[command.load() for command in COMMANDS.values()]\n"
        "print([name for name in sys.modules if name.startswith(('fastapi', 'uvicorn'))])"
    )
    whole = {**os.environ, "PYTHONPATH": str(SOURCE)}
    said = subprocess.run([sys.executable, "-c", code], env=whole, capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"
