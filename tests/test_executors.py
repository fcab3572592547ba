"""Executors: the same promises for all of them, with workers that are killed and experiments that hang."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from hentropy.errors import ExecutionError, InputError
from hentropy.studies.execution import (
    CommandObjective,
    Evaluation,
    Executor,
    Local,
    Objective,
    Processes,
    PythonObjective,
)
from hentropy.studies.execution.cluster import Dask
from support.tiers import nightly
from support.waiting import LATE, PATIENCE, until

LAB = """
import os, time
from pathlib import Path

HERE = Path(__file__).parent

def measure(x):
    if x == 13:
        raise ValueError("unlucky")
    return 2 * x, 0.5

def slow(x):
    (HERE / "pids").write_text(f"{os.getpid()} {os.getppid()}")
    (HERE / f"at work {os.getpid()}").touch()
    time.sleep(1000 if x > 0 else 0)
    return x

def meet(x):
    "Wait until 8 have come, and write down from when to when we were here."
    began = time.monotonic()  # the same clock in all processes
    (HERE / f"here{x}").touch()
    until = time.monotonic() + 300
    while len(list(HERE.glob("here*"))) < 8:
        if time.monotonic() > until:
            raise TimeoutError("alone")
        time.sleep(0.01)
    (HERE / f"times{x}").write_text(f"{began} {time.monotonic()}")
    return x

def note(x):
    with open(HERE / "order", "a") as file:
        file.write(f"{x} ")
    return x
"""

Make = Callable[[Objective], Executor]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Dask]:
    """A cluster of our own; the tests join it by its address, and must leave it running."""
    with Dask(PythonObjective("math:sqrt"), 2) as executor:
        yield executor


@pytest.fixture(params=["local", "processes", "dask"])
def make(request: pytest.FixtureRequest) -> Make:
    if request.param == "local":
        return Local
    if request.param == "processes":
        return lambda objective: Processes(objective, 2)
    address = request.getfixturevalue("cluster").address
    return lambda objective: Dask(objective, 2, address)


@pytest.fixture
def lab(tmp_path: Path) -> Callable[..., PythonObjective]:
    (tmp_path / "bench.py").write_text(LAB)
    return lambda function, timeout=None: PythonObjective(f"bench:{function}", tmp_path, timeout)


Lab = Callable[..., PythonObjective]


def gather(executor: Executor) -> dict[int, Evaluation]:
    """All outcomes, each of which is handed out once."""
    outcomes: dict[int, Evaluation] = {}
    while executor.pending:
        before = executor.pending
        ended = executor.wait(PATIENCE)
        assert ended, f"nothing has ended of {before}"
        assert executor.pending == before - {number for number, _ in ended}
        assert not outcomes.keys() & dict(ended).keys()
        outcomes.update(ended)
    return outcomes


def appears(file: Path) -> str:
    for _ in range(round(100 * PATIENCE)):
        if file.exists() and (text := file.read_text()):
            return text
        time.sleep(0.01)
    raise AssertionError(f"{file} does not appear")


def nothing_is_left(folder: Path, seconds: float = PATIENCE) -> bool:
    """Whether no process works in a folder or names it, now or soon."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(str(folder) in text for text in _processes()):
            return True
        time.sleep(0.05)
    return False


def _processes() -> Iterator[str]:
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                yield f"{process.cwd()} {' '.join(process.cmdline())}"
        except psutil.Error:
            continue


def test_with_a_timeout_of_zero_nothing_begins(lab: Lab, tmp_path: Path) -> None:
    with Local(lab("note")) as executor:
        executor.submit(0, {"x": 1.0})
        assert executor.wait(0) == []
        assert executor.pending == {0}
        assert not (tmp_path / "order").exists()
        assert [number for number, _ in executor.wait(1)] == [0]


def test_values_and_failures(make: Make, lab: Lab, tmp_path: Path) -> None:
    with make(lab("measure")) as executor:
        assert executor.wait() == []
        assert executor.pending == frozenset()
        for number, x in enumerate((1.5, 13, -2)):
            executor.submit(number, {"x": x})
            assert number in executor.pending
        outcomes = gather(executor)
        assert executor.wait(0.1) == []
    assert (outcomes[0].value, outcomes[0].std_error, outcomes[0].failed) == (3.0, 0.5, None)
    assert (outcomes[1].value, outcomes[1].failed, outcomes[1].lost) == (None, "ValueError: unlucky", False)
    assert "bench.py" in outcomes[1].log
    assert outcomes[2].value == -4.0
    assert nothing_is_left(tmp_path)


def test_commands(make: Make, tmp_path: Path) -> None:
    command = CommandObjective(("sh", "-c", "sed 's/.*: \\(.*\\)}/\\1/'"), tmp_path, 20.0)
    with make(command) as executor:
        for number in range(5):
            executor.submit(number, {"x": number**2})
        assert {number: outcome.value for number, outcome in gather(executor).items()} == {n: n**2 for n in range(5)}


def test_a_number_may_come_again_once_it_has_ended(make: Make, lab: Lab) -> None:
    with make(lab("measure")) as executor:
        for x in (1, 2, 3):
            executor.submit(7, {"x": x})
            with pytest.raises(InputError, match="7 is pending already"):
                executor.submit(7, {"x": x})
            assert gather(executor)[7].value == 2 * x


def test_first_come_first_served(lab: Lab, tmp_path: Path) -> None:
    for executor in (Local(lab("note")), Processes(lab("note"), 1)):
        with executor:
            for number in range(6):
                executor.submit(number, {"x": number})
            assert list(gather(executor)) == list(range(6))
        assert (tmp_path / "order").read_text() == "0 1 2 3 4 5 "
        (tmp_path / "order").unlink()


def test_what_hangs_is_ended_at_its_timeout(make: Make, lab: Lab, tmp_path: Path) -> None:
    with make(lab("slow", LATE)) as executor:
        executor.submit(0, {"x": 1})
        executor.submit(1, {"x": -1})
        executor.submit(2, {"x": -2})
        outcomes = gather(executor)
        assert outcomes[0].failed == "did not end within 15 s"
        assert not outcomes[0].lost
        assert (outcomes[1].value, outcomes[2].value) == (-1.0, -2.0)
    assert nothing_is_left(tmp_path)


@pytest.mark.parametrize("kind", ["function", "command"])
def test_closing_while_one_hangs(kind: str, make: Make, lab: Lab, tmp_path: Path) -> None:
    command = CommandObjective(("sh", "-c", "echo 1 > pids; sleep 1000"), tmp_path)
    executor = make(lab("slow") if kind == "function" else command)
    for number in range(4):
        executor.submit(number, {"x": 1})
    if not isinstance(executor, Local):  # that one evaluates only while it is waited for
        assert executor.wait(0.2) == []
        appears(tmp_path / "pids")
        assert not nothing_is_left(tmp_path, 0.1)
    began = time.monotonic()
    executor.close()
    assert time.monotonic() - began < PATIENCE
    assert executor.pending == frozenset()
    assert executor.closed
    executor.close()
    with pytest.raises(ExecutionError, match="after the executor was closed"):
        executor.submit(9, {"x": 1})
    assert nothing_is_left(tmp_path)


def test_a_killed_worker_process(lab: Lab, tmp_path: Path) -> None:
    with Processes(lab("slow"), 2) as executor:
        executor.submit(0, {"x": 1})
        os.kill(int(appears(tmp_path / "pids").split()[0]), signal.SIGKILL)
        lost = gather(executor)[0]
        assert lost.lost
        assert lost.failed is not None
        assert "SIGKILL" in lost.failed
        for number in range(1, 5):
            executor.submit(number, {"x": -number})
        assert [outcome.value for _, outcome in sorted(gather(executor).items())] == [-1.0, -2.0, -3.0, -4.0]
    assert nothing_is_left(tmp_path)


@pytest.mark.parametrize("who", ["the one that evaluates", "the Dask worker"])
def test_a_killed_dask_worker(who: str, cluster: Dask, lab: Lab, tmp_path: Path) -> None:
    with Dask(lab("slow"), 2, cluster.address) as executor:
        executor.submit(0, {"x": 1})
        child, worker = (int(pid) for pid in appears(tmp_path / "pids").split())
        os.kill(worker if who == "the Dask worker" else child, signal.SIGKILL)
        lost = gather(executor)[0]
        assert lost.lost
        assert lost.failed is not None
        assert ("the Dask worker ended" if who == "the Dask worker" else "SIGKILL") in lost.failed
        assert nothing_is_left(tmp_path)  # what the killed worker had started ended with it
        for number in range(1, 5):
            executor.submit(number, {"x": -number})
        assert [outcome.value for _, outcome in sorted(gather(executor).items())] == [-1.0, -2.0, -3.0, -4.0]


def test_eight_at_the_same_time(lab: Lab, tmp_path: Path) -> None:
    with Processes(lab("meet"), 8) as executor:
        for number in range(8):
            executor.submit(number, {"x": number})
        assert {outcome.failed for outcome in gather(executor).values()} == {None}
    times = [[float(time) for time in (tmp_path / f"times{x}").read_text().split()] for x in range(8)]
    assert max(began for began, _ in times) < min(ended for _, ended in times)
    assert nothing_is_left(tmp_path)


def test_waiting_no_longer_than_told(lab: Lab) -> None:
    with Processes(lab("slow"), 1) as executor:
        executor.submit(0, {"x": 1})
        began = time.monotonic()
        assert executor.wait(0.3) == []
        assert 0.2 < time.monotonic() - began < PATIENCE
        assert executor.pending == {0}


def test_a_cancelled_task_is_lost(cluster: Dask, lab: Lab, tmp_path: Path) -> None:
    """As when somebody else restarts the cluster."""
    with Dask(lab("slow"), 2, cluster.address) as executor:
        executor.submit(0, {"x": 1})
        appears(tmp_path / "pids")
        executor._futures[0].cancel()
        outcome = gather(executor)[0]
        assert outcome.lost
        assert outcome.failed is not None
        assert "cancelled" in outcome.failed
        assert nothing_is_left(tmp_path)


def test_the_cluster_of_somebody_else_goes_on(cluster: Dask, lab: Lab) -> None:
    for _ in range(2):
        with Dask(lab("measure"), 2, cluster.address) as executor:
            executor.submit(0, {"x": 1})
            assert gather(executor)[0].value == 2.0
    assert not cluster.closed


def test_our_own_cluster_listens_to_this_machine_only(cluster: Dask) -> None:
    ours = psutil.Process()
    listening = set()
    for process in (ours, *ours.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # what other tests have begun may just end
            sockets = process.net_connections("tcp")
            listening |= {socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}
    assert cluster.address.startswith("tcp://127.0.0.1:")


def test_no_scheduler() -> None:
    for address in ("tcp://127.0.0.1:9", "nonsense"):
        with pytest.raises(ExecutionError, match="no Dask scheduler answers at") as raised:
            Dask(PythonObjective("math:sqrt"), 1, address, patience=1.0)
        assert "after 30 s" not in str(raised.value)  # Dask's own patience; ours is less


@pytest.mark.slow
def test_a_scheduler_that_dies_is_noticed(tmp_path: Path) -> None:
    """What waits on it would wait for ever, and hold its trials."""
    file = tmp_path / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", *options]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as scheduler:  # type: ignore[call-overload]
        try:
            until(lambda: file.exists() and file.read_text().endswith("}"))
            executor = Dask(PythonObjective("math:sqrt"), 1, json.loads(file.read_text())["address"], patience=LATE)
            executor.submit(0, {"x": 1.0})
            assert executor.wait(0.2) == []
        finally:
            scheduler.kill()
    [(_, outcome)] = executor.wait(PATIENCE)
    assert outcome.lost

    def insist() -> None:
        for number in range(1, 20):
            executor.submit(number, {"x": 1.0})
            executor.wait(PATIENCE)

    with pytest.raises(ExecutionError, match=r"scheduler at tcp://.* is gone"):  # once it is clear that it stays away
        insist()
    executor.close()
    assert executor.closed


def test_numbers_of_workers() -> None:
    for workers in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="the number of workers must be"):
            Processes(PythonObjective("math:sqrt"), workers)  # type: ignore[arg-type]


PROGRAM = """
import sys, time
from pathlib import Path
from hentropy.studies.execution import CommandObjective, Local, Processes, PythonObjective
from hentropy.studies.execution.cluster import Dask

def main():
    folder = Path(sys.argv[2])
    objective = PythonObjective("bench:slow", folder)
    make = {"local": Local, "processes": lambda o: Processes(o, 2), "dask": lambda o: Dask(o, 1)}[sys.argv[1]]
    try:
        with make(objective) as executor:
            executor.submit(0, {"x": 1})
            executor.submit(1, {"x": 1})
            executor.wait()
    except KeyboardInterrupt:
        (folder / "interrupted").write_text("yes")

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("kind", ["local", nightly("processes"), "dask"])
def test_an_interrupt_ends_all(kind: str, lab: Lab, tmp_path: Path) -> None:
    """Ctrl-C in a terminal reaches all processes in the foreground; the program ends, and leaves none behind."""
    lab("slow")
    (tmp_path / "program.py").write_text(PROGRAM)
    arguments = [sys.executable, str(tmp_path / "program.py"), kind, str(tmp_path)]
    with subprocess.Popen(arguments, start_new_session=True, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: len(list(tmp_path.glob("at work *"))) == (2 if kind == "processes" else 1))
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)  # what it evaluates sleeps for longer
    assert (process.returncode, said) == (0, "")
    assert (tmp_path / "interrupted").exists()
    assert nothing_is_left(tmp_path)
