"""The examples and the page on studies do what they say: their commands are run, in folders of their own."""

import json
import multiprocessing
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import hentropy as he
from hentropy.cli.app import main
from hentropy.description import json_schema
from hentropy.storage import open_store

ROOT = Path(__file__).parents[1]
EXAMPLES, PAGE, README = ROOT / "examples", ROOT / "docs" / "studies.md", ROOT / "README.md"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = [sys.executable, "-m", "hentropy"]
PATIENCE = 120.0

CLIENT = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    asked = json.dumps({{"arguments": sys.argv[1:], "folder": os.getcwd()}}).encode()
    socket.send_fds(server, [asked], [0, 1, 2])
    sys.exit(int(server.recv(16) or b"70"))
"""
"""A command `hentropy` for scripts: each call is a process of its own, forked from one that has everything imported."""


def serve(path: str) -> None:
    """Run commands for ever, each in a fork of this process."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            client, _ = listener.accept()
            with client:
                if os.fork() == 0:
                    _answer(client)


def _answer(client: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    asked, files, *_ = socket.recv_fds(client, 65_536, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
    words = json.loads(asked)
    os.chdir(words["folder"])
    code: Any = 0
    try:
        main(words["arguments"])
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        code = 70
        sys.excepthook(*sys.exc_info())
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    client.send(str(code).encode())
    os._exit(0)


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """A folder with a command `hentropy` that starts at once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hentropy.cli.app", "hentropy.storage.database"])
    # the path of a socket has to be short
    with tempfile.TemporaryDirectory(prefix="hentropy-") as folder:
        path = Path(folder, "commands")
        process = context.Process(target=serve, args=(str(path),), daemon=True)
        process.start()
        try:
            command = Path(folder, "hentropy")
            command.write_text(CLIENT.format(python=sys.executable, path=str(path)))
            command.chmod(0o755)
            _await(path.exists)
            yield command.parent
        finally:
            process.kill()
            process.join()


def _await(ready: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def environment(*folders: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join([*map(str, folders), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", **more}


def copied(name: str, folder: Path) -> Path:
    """A copy of an example, without what somebody who tried it has left there."""
    target = folder / name
    shutil.copytree(EXAMPLES / name, target, ignore=shutil.ignore_patterns("*.db*", "*.log", "__pycache__"))
    return target


def run(folder: Path, command: str, *programs: Path, code: int = 0) -> str:
    """What a line of shell printed, errors included."""
    given: dict[str, Any] = {"cwd": folder, "env": environment(*programs), "text": True, "timeout": PATIENCE}
    ended = subprocess.run(
        ["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **given
    )
    assert ended.returncode == code, f"{command}: {ended.stdout}"
    return str(ended.stdout)


def exported(folder: Path, programs: Path) -> list[dict[str, Any]]:
    text = run(folder, "hentropy export study.toml --format jsonl", programs)
    return [json.loads(line) for line in text.splitlines()]


def decided(folder: Path, programs: Path) -> list[dict[str, Any]]:
    verdict = json.loads(run(folder, "hentropy decide study.toml --json", programs))
    return list(verdict["action"])


def states(trials: list[dict[str, Any]]) -> dict[str, int]:
    found = [trial["state"] for trial in trials]
    return {state: found.count(state) for state in dict.fromkeys(found)}


def test_wet_lab_goes_through_its_week(tmp_path: Path, programs: Path) -> None:
    folder = copied("wet_lab", tmp_path)
    said = run(folder, "sh session.sh", programs)
    assert "4 rows attached" in said
    assert "precipitate in the cuvette" in said
    trials = exported(folder, programs)
    assert states(trials) == {"complete": 10, "failed": 1, "withdrawn": 1}
    assert [trial["origin"] for trial in trials] == ["attached"] * 4 + ["first"] * 5 + ["proposed"] * 3
    told = [trial["ended_at"] for trial in trials]
    assert told[5] < told[4]
    one = json.loads(run(folder, "hentropy show study.toml --number 4 --json", programs))
    assert [then["value"] for then in one["history"]] == [92.4, 29.4]
    assert (one["value"], one["std_error"]) == (29.4, 1.5)
    (best,) = decided(folder, programs)
    assert abs(best["temperature"] - 48.0) < 7.0
    assert abs(best["ph"] - 6.5) < 0.6


def test_command_measures_again_what_did_not_work(tmp_path: Path, programs: Path) -> None:
    folder = copied("command", tmp_path)
    said = run(folder, shell("run study.toml"))
    assert said.count("will be tried again: the command ended with exit code 75") == 3
    trials = exported(folder, programs)
    assert states(trials) == {"complete": 14}
    assert len((folder / "measurements.log").read_text().splitlines()) == 17
    assert {trial["std_error"] for trial in trials} == {0.025}
    (best,) = decided(folder, programs)
    assert 0.01 < best["rate"] < 0.04
    assert abs(best["length"] - 12) <= 2


def test_own_decision_prefers_the_broad_peak(tmp_path: Path, programs: Path) -> None:
    folder = copied("own_decision", tmp_path)
    said = run(folder, shell("run study.toml"))
    assert "Robust(spread=[4.0]), after 12 observations" in said
    assert states(exported(folder, programs)) == {"complete": 12}
    (best,) = decided(folder, programs)
    assert abs(best["temperature"] - 40.0) < 2.0
    assert "which runs code" in run(folder, "hentropy decide robust --store sqlite:///hentropy.db", programs, code=1)


def shell(arguments: str) -> str:
    """A line of shell that starts the command from nothing."""
    return f"{sys.executable} -m hentropy {arguments}"


@contextmanager
def started(folder: Path, *arguments: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is ended in any case, and all that it has started with it."""
    given: dict[str, Any] = {"cwd": folder, "env": environment(**more), "text": True, "start_new_session": True}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(arguments, **given, **pipes) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_team_shares_a_study_by_dask_and_plain_workers(tmp_path: Path, postgres_url: str, programs: Path) -> None:
    folder = copied("team", tmp_path)
    file = folder / "study.toml"
    file.write_text(re.sub(r'url = "[^"]*"', f'url = "{postgres_url}"', file.read_text()))
    address = f"tcp://127.0.0.1:{free_port()}"
    slow = {"GROWTH_SECONDS": "2"}
    with ExitStack() as stack:
        listening = ["--host", address, "--no-dashboard"]
        stack.enter_context(started(tmp_path, *dask_command("scheduler"), *listening))
        own = ["--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1", "--local-directory", str(tmp_path)]
        stack.enter_context(started(tmp_path, *dask_command("worker"), address, *own, **slow))
        runner = [*COMMAND, "run", "study.toml", "--executor", "dask", "--scheduler", address]
        workers = [
            stack.enter_context(started(folder, *runner, **slow)),
            stack.enter_context(started(folder, *COMMAND, "worker", "study.toml", **slow)),
            stack.enter_context(started(folder, *COMMAND, "worker", "study.toml", **slow)),
        ]
        said = [worker.communicate(timeout=PATIENCE)[0] for worker in workers]
        assert [worker.returncode for worker in workers] == [0, 0, 0], said
    measured = [re.findall(r"^(\d+): -?[\d.]+ \(", text, re.MULTILINE) for text in said]
    assert sorted(int(number) for numbers in measured for number in numbers) == list(range(12)), said
    assert all(measured), said
    assert states(exported(folder, programs)) == {"complete": 12}
    assert max(guess["mean"] for guess in decided(folder, programs)) > 4.0


def dask_command(name: str) -> list[str]:
    return [sys.executable, "-m", "dask", name]
