"""Comparisons on a Dask cluster: the same records as here, whatever becomes of the workers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from distributed import LocalCluster

import hentropy as he
from hentropy.errors import ExecutionError, InputError
from hentropy.execution.cluster import connect, end_cluster, start_cluster
from hentropy.experiments import Crew, Job, Ledger, News, Step, Task, crew_of, run, steps, sweep
from hentropy.experiments.dask_crew import DaskCrew
from hentropy.experiments.dask_task import labour

SMALL = Task("multihills-two-levels", first=4, queries=3, methods=("hentropy", "random"))
SOURCE = Path(he.__file__).parents[1]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two workers on this machine; the tests join it by its address, and must leave it running."""
    found = start_cluster(2)
    yield found
    end_cluster(found)


@pytest.fixture
def crew(cluster: LocalCluster) -> Crew:
    return crew_of("dask", address=cluster.scheduler_address)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "results")


def timeless(found: list[Step]) -> list[Step]:
    """Steps without what differs from machine to machine."""
    return [replace(each, fit_seconds=0.0, acquisition_seconds=None) for each in found]


def here(job: Job) -> list[Step]:
    return timeless(list(steps(job)))


def at_work(cluster: LocalCluster) -> list[int]:
    """The processes of the workers that have a run."""
    busy = {each.address for each in cluster.scheduler.workers.values() if each.processing}
    return [nanny.pid for nanny in cluster.workers.values() if nanny.worker_address in busy]


def test_the_records_are_those_of_runs_here_and_each_step_is_told(crew: Crew, ledger: Ledger, tmp_path: Path) -> None:
    jobs = [Job(SMALL, name, 0) for name in SMALL.methods]
    news: list[News] = []
    crew.work(jobs, ledger, news.append)
    other = Ledger.open(tmp_path / "other")
    for job in jobs:
        run(job, other, lambda _: None)
        assert timeless(ledger.steps(job)) == timeless(other.steps(job))
        assert ledger.path(job).read_text().splitlines()[0] == other.path(job).read_text().splitlines()[0]
        told = [(each.steps, each.ended, each.failed) for each in news if each.job == job]
        assert told == [*((count, False, None) for count in range(5)), (4, True, None)]


def test_a_step_is_on_the_disk_when_it_is_told(crew: Crew, ledger: Ledger) -> None:
    job = Job(SMALL, "random", 0)
    seen: list[int] = []
    crew.work([job], ledger, lambda _: seen.append(len(ledger.steps(job))))
    assert seen == [0, 1, 2, 3, 4, 4]


def test_a_run_goes_on_after_what_is_recorded(crew: Crew, ledger: Ledger) -> None:
    job = Job(SMALL, "hentropy", 1)
    whole = list(steps(job))
    ledger.begin(job)
    for step in whole[:2]:
        ledger.add(job, step)
    ledger.fail(job, "it was stopped")
    news: list[News] = []
    crew.work([job], ledger, news.append)
    assert [each.steps for each in news] == [2, 3, 4, 4]
    assert timeless(ledger.steps(job)) == timeless(whole)
    assert ledger.steps(job)[:2] == whole[:2]  # with their times: they were not run again
    assert ledger.failure(job) is None


def test_runs_that_fail_are_written_down_and_the_others_go_on(crew: Crew, ledger: Ledger) -> None:
    top = Task("alpine-2-top-5", first=4, queries=1, methods=("straddle", "random"))
    broken = Job(top, "random", 1)
    ledger.begin(broken)
    ledger.path(broken).write_text("nonsense\n")
    jobs = [Job(top, "straddle", 0), broken, Job(top, "random", 0)]
    news: list[News] = []
    crew.work(jobs, ledger, news.append)
    ended = {each.job: each.failed for each in news if each.ended}
    assert "LevelSets" in (ended[jobs[0]] or "")
    assert "line 1 of" in (ended[broken] or "")
    assert ended[jobs[2]] is None
    why = ledger.failure(jobs[0]) or ""
    assert "Traceback" in why
    assert "straddle" in why
    assert ledger.path(broken).read_text() == "nonsense\n"
    assert len(ledger.steps(jobs[2])) == 2


@pytest.mark.parametrize("allowed", [0, 3])
def test_a_run_whose_worker_is_killed_goes_on_elsewhere(
    allowed: int, crew: Crew, ledger: Ledger, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that is not ours begins a lost task anew by itself, as often as it allows."""
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", allowed)
    jobs = [Job(SMALL, "random", seed) for seed in range(4)]
    news: list[News] = []
    killed: list[int] = []

    def report(each: News) -> None:
        news.append(each)
        if each.steps == 2 and not killed:
            killed.append(at_work(cluster)[0])
            os.kill(killed[0], signal.SIGKILL)

    crew.work(jobs, ledger, report)
    assert len(killed) == 1
    assert [each.failed for each in news if each.ended] == [None] * 4
    for job in jobs:
        assert timeless(ledger.steps(job)) == here(job)
        assert [each.steps for each in news if each.job == job and not each.ended] == [0, 1, 2, 3, 4]


def test_a_run_that_loses_every_worker_fails(crew: Crew, ledger: Ledger, cluster: LocalCluster) -> None:
    job = Job(replace(SMALL, queries=8), "hentropy", 0)
    killed: list[int] = []

    def report(each: News) -> None:
        for pid in at_work(cluster):
            if 0 < each.steps < 8 and pid not in killed:
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)

    crew.work([job], ledger, report)
    assert len(killed) == 2
    assert "ended in the middle of the run; this was try 2 of 2" in (ledger.failure(job) or "")
    recorded = ledger.steps(job)
    assert 2 <= len(recorded) < 9
    crew.work([job], ledger, lambda _: None)  # the same again mends it
    assert ledger.failure(job) is None
    assert ledger.steps(job)[: len(recorded)] == recorded
    assert timeless(ledger.steps(job)) == here(job)


def test_a_worker_of_another_version_is_refused(cluster: LocalCluster) -> None:
    with connect(cluster.scheduler_address, 10.0) as client:
        found = client.submit(labour, Job(SMALL, "random", 0), [], "0.0.1").result()
    assert found.steps == ()
    assert f"has hentropy {he.__version__}, and the run is of 0.0.1" in found.failed
    assert "Traceback" in found.traceback


INTERRUPTED = """
import sys
from pathlib import Path
from hentropy.experiments import Job, Ledger, Task, sweep

if __name__ == "__main__":
    task = Task("multihills-two-levels", first=4, queries=1000, methods=("random",))
    ledger = Ledger.open(Path(sys.argv[1]))
    try:
        told = lambda news: print(news.steps, flush=True)
        sweep([Job(task, "random", 0)], ledger, 1, told, "dask", sys.argv[2] or None)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("whose", ["ours", "not ours"])
def test_an_interrupt_leaves_what_is_recorded_and_ends_our_own_cluster(
    whose: str, cluster: LocalCluster, tmp_path: Path
) -> None:
    (tmp_path / "script.py").write_text(INTERRUPTED)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    address = "" if whose == "ours" else cluster.scheduler_address
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "results"), address]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline() not in ("3\n", ""):
            pass
        children = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        said, complaints = process.communicate(timeout=30)
    assert (process.returncode, complaints) == (0, "")
    assert said.endswith("interrupted\n")
    assert bool(children) == (whose == "ours")
    assert not psutil.wait_procs(children, timeout=5)[1]
    job = Job(replace(SMALL, methods=("random",)), "random", 0)
    recorded = Ledger.existing(tmp_path / "results").steps(job)
    assert len(recorded) >= 3
    assert timeless(recorded[:3]) == here(job)[:3]
    assert Ledger.existing(tmp_path / "results").failure(job) is None
    until = time.monotonic() + 10
    while any(each.processing for each in cluster.scheduler.workers.values()):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_clusters_that_cannot_work_are_told_in_a_sentence(ledger: Ledger) -> None:
    job = Job(SMALL, "random", 0)
    with pytest.raises(ExecutionError, match="no Dask scheduler answers at"):
        DaskCrew(1, "tcp://127.0.0.1:9", patience=0.5).work([job], ledger, lambda _: None)
    with pytest.raises(InputError, match="but the executor is processes"):
        sweep([job], ledger, 2, lambda _: None, address="tcp://127.0.0.1:9")
    with pytest.raises(InputError, match="at least 1 worker"):
        crew_of("dask", 0)
    crew_of("dask", 1).work([], ledger, lambda _: None)  # nothing to do, nothing to start
    assert not list(ledger.folder.rglob("*.jsonl"))
