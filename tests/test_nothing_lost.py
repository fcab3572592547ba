"""No result is ever lost: workers that are stopped, cut off, killed, or have no room to write. See docs/reliability.md.

Workers are processes that take themselves for workers of different machines, so that only leases tell them apart.
"""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import psutil
import pytest
from benchmarks.verbs import kept, kill, note_down, started
from sqlalchemy.engine import make_url

import hentropy as he
from hentropy.errors import HentropyError
from hentropy.studies.execution import Processes, PythonObjective
from hentropy.studies.execution.leases import Terms
from hentropy.studies.execution.runner import RunListener, run
from hentropy.studies.records import State
from hentropy.studies.storage import turns
from support.partition import network
from support.waiting import LATE, PATIENCE, until

LEASE = 1.0
ONE = {"stop": [he.Budget(1)]}

LAB = """
import ctypes, os, time
from pathlib import Path

HERE = Path(__file__).parent

def note(file, line):
    log = os.open(HERE / file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, f"{line}\\n".encode())
    os.close(log)

def measure(x, y):
    "The first that comes waits until it is let go, and has the best value."
    try:
        (HERE / "first").mkdir()
    except FileExistsError:
        return x + y
    note("pids", os.getpid())
    while not (HERE / "go on").exists():
        time.sleep(0.01)
    return x + y + 1000.0

def keep_the_interpreter(x, y):
    "Until somebody opens the other end, in C: no thread of this process runs meanwhile."
    note("pids", os.getpid())
    ctypes.PyDLL(None).open(str(HERE / "gate").encode(), os.O_RDONLY)
    return x + y
"""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "lab.py").write_text(LAB)
    return tmp_path


def work_elsewhere(
    url: str, folder: Path, machine: str, function: str, room_at: int | None = None, timeout: float | None = None
) -> None:
    """Be a worker of another machine until one experiment is done; say trouble in a file.

    With `room_at`, the disk is full when the trial of that number begins, until this worker has said so.
    """
    turns._machine = lambda: machine
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)

    def began(trial: he.Trial) -> None:
        note_down(folder / f"{machine} began", str(trial.number))
        if trial.number == room_at:
            full = Path(f"{url.removeprefix('sqlite:///')}-wal").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (full, unlimited[1]))

    def trouble(error: HentropyError) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        note_down(folder / f"{machine} says", str(error))

    executor = Processes(PythonObjective(f"lab:{function}", folder, timeout), 1)
    run(kept(url, **ONE), executor, Terms(lease=LEASE), RunListener(began=began, trouble=trouble))


def ended(process: ForkServerProcess) -> None:
    process.join(timeout=PATIENCE)
    assert process.exitcode == 0


def results(study: he.Study) -> list[tuple[str, float | None]]:
    own = sum(study.records[0].params.values())
    return [(trial.state.value, None if trial.value is None else trial.value - own) for trial in study.records]


def test_a_worker_that_was_stopped_for_many_leases_brings_its_result(store_url: str, lab: Path) -> None:
    """And that is the best of the campaign."""
    study = kept(store_url, **ONE)
    slow = started(work_elsewhere, store_url, lab, "slow", "measure")
    until((lab / "pids").exists)
    assert slow.pid is not None
    os.kill(slow.pid, signal.SIGSTOP)
    ended(started(work_elsewhere, store_url, lab, "quick", "measure"))
    (lab / "go on").touch()
    os.kill(slow.pid, signal.SIGCONT)
    ended(slow)
    assert results(study) == [("complete", 0.0), ("complete", 1000.0)]
    said = (lab / "slow says").read_text()
    assert "trial 0 is no longer this worker's, but complete" in said
    assert "kept as trial 1, a second measurement" in said
    study.close()


@pytest.mark.slow
def test_time_in_which_a_worker_was_stopped_is_no_timeout(sqlite_url: str, lab: Path) -> None:
    """It and its experiment, as by a machine that is paused."""
    study = kept(sqlite_url, **ONE)
    worker = started(work_elsewhere, sqlite_url, lab, "paused", "measure", None, LATE)
    until(lambda: (lab / "pids").exists() and (lab / "pids").read_text().endswith("\n"))
    assert worker.pid is not None
    both = (worker.pid, int((lab / "pids").read_text()))
    for pid in both:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(LATE + 1.0)
    for pid in both:
        os.kill(pid, signal.SIGCONT)
    time.sleep(1.0)  # the worker looks at the time
    (lab / "go on").touch()
    ended(worker)
    assert results(study) == [("complete", 1000.0)]
    study.close()


@pytest.mark.parametrize("broken", [False, True])
def test_a_worker_that_is_cut_off_from_the_database_brings_its_result(
    broken: bool, postgres_url: str, lab: Path
) -> None:
    """Its connections go on after a while, or are broken."""
    study = kept(postgres_url, **ONE)
    url = make_url(postgres_url)
    assert url.port is not None
    with network(url.port) as between:
        far = url.set(port=between.port).render_as_string(hide_password=False)
        slow = started(work_elsewhere, far, lab, "slow", "measure")
        until((lab / "pids").exists)
        between.cut()
        ended(started(work_elsewhere, postgres_url, lab, "quick", "measure"))
        (lab / "go on").touch()
        between.mend(broken)
        ended(slow)
    assert results(study) == [("complete", 0.0), ("complete", 1000.0)]
    assert "kept as trial 1, a second measurement" in (lab / "slow says").read_text()
    study.close()


def test_a_result_is_held_while_the_disk_is_full(sqlite_url: str, lab: Path) -> None:
    study = kept(sqlite_url, **ONE)
    worker = started(work_elsewhere, sqlite_url, lab, "only", "measure", 0)
    (lab / "go on").touch()
    ended(worker)
    assert results(study) == [("complete", 1000.0)]
    said = (lab / "only says").read_text()
    assert "is it full?" in said
    assert "the outcome of trial 0 is held, and recorded once the store answers" in said
    study.close()


@contextmanager
def gate(folder: Path) -> Iterator[Callable[[], None]]:
    """A pipe at which an experiment waits, and what lets it go."""
    os.mkfifo(folder / "gate")
    holder: list[int] = []

    def let_go() -> None:
        holder.append(os.open(folder / "gate", os.O_RDWR))

    try:
        yield let_go
    finally:
        let_go()
        for one in holder:
            os.close(one)


STUDY = f"""
version = 1
name = "crash"
first = 2
[space]
x = {{ type = "real", low = -1.0, high = 3.0 }}
y = {{ type = "real", low = 0.0, high = 1.0 }}
[decision]
name = "maximize"
[objective]
type = "python"
function = "lab:keep_the_interpreter"
lease = {LEASE}
[stop]
trials = 1
"""


def test_a_worker_renews_its_lease_while_an_objective_keeps_the_interpreter(lab: Path, sqlite_url: str) -> None:
    (lab / "lab.toml").write_text(STUDY)
    study = he.Study.from_file(lab / "lab.toml", storage=sqlite_url)
    command = [sys.executable, "-m", "hentropy", "worker", "lab.toml", "--store", sqlite_url]

    def lease() -> float:
        study.log.sync()
        return study.log.entries[0].lease_until or 0.0

    with gate(lab) as let_go:
        worker = subprocess.Popen(command, cwd=lab)
        try:
            until((lab / "pids").exists)
            first = lease()
            until(lambda: lease() > first + 2 * LEASE, "to renew the lease")
            let_go()
            assert worker.wait(PATIENCE) == 0
        finally:
            worker.kill()
            worker.wait()
    assert [trial.state for trial in study.records] == [State.COMPLETE]
    assert study.log.entries[0].losses == 0
    study.close()


def test_an_objective_that_keeps_the_interpreter_ends_with_its_run(lab: Path, sqlite_url: str) -> None:
    with gate(lab):
        worker = started(work_elsewhere, sqlite_url, lab, "killed", "keep_the_interpreter")
        until(lambda: (lab / "pids").exists() and (lab / "pids").read_text().endswith("\n"))
        evaluator = psutil.Process(int((lab / "pids").read_text()))
        kill(worker)
        until(lambda: not evaluator.is_running() or evaluator.status() == psutil.STATUS_ZOMBIE, "to end the objective")
