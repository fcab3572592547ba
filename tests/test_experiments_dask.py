"""Comparisons on a Dask cluster: the same records as here, whatever becomes of the workers."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import LocalCluster

import hentropy as he
from experiments.dask_executor import DaskExecutor, remaining_steps
from experiments.executors import Executor, RunNews, executor_of, one_thread, run
from experiments.ledger import Ledger
from experiments.methods import Task
from experiments.plan import Plan
from experiments.run import RunJob, RunKey, Step
from hentropy.errors import ExecutionError, InputError
from hentropy.studies.execution.cluster import connect, own_cluster
from support.steps import HeldRun, step_with
from support.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

SMALL = Task("multihills-two-levels", first=4, queries=3, methods=("hentropy", "random"))
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two workers on this machine; the tests join it by its address, and must leave it running."""
    with own_cluster(2) as found:
        yield found


@pytest.fixture
def executor(cluster: LocalCluster) -> Executor:
    return executor_of("dask", address=cluster.scheduler_address)


@pytest.fixture
def two(cluster: LocalCluster) -> LocalCluster:
    """The cluster with both of its workers, when they are back."""
    until(lambda: len(cluster.scheduler.workers) == 2)
    return cluster


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "results")


def timeless(found: list[Step]) -> list[Step]:
    """Steps without what differs from machine to machine."""
    return [replace(each, fit_seconds=0.0, acquisition_seconds=None) for each in found]


def here(job: RunJob) -> list[Step]:
    with one_thread():  # as workers do
        return timeless(list(job.steps()))


def at_work(cluster: LocalCluster) -> list[int]:
    """The processes of the workers that have a run."""
    busy = {each.address for each in list(cluster.scheduler.workers.values()) if each.processing}
    return [nanny.pid for nanny in list(cluster.workers.values()) if nanny.worker_address in busy and nanny.pid]


def test_the_records_are_those_of_runs_here_and_each_step_is_told(
    executor: Executor, ledger: Ledger, tmp_path: Path
) -> None:
    jobs = [RunKey(SMALL, name, 0) for name in SMALL.methods]
    news: list[RunNews] = []
    executor.work(jobs, ledger, news.append)
    other = Ledger.open(tmp_path / "other")
    for job in jobs:
        run(job, other, lambda _: None)
        assert timeless(ledger.steps(job)) == timeless(other.steps(job))
        assert ledger.path(job).read_text().splitlines()[0] == other.path(job).read_text().splitlines()[0]
        told = [(each.steps, each.ended, each.failed) for each in news if each.job == job]
        assert told == [*((count, False, None) for count in range(5)), (4, True, None)]


def test_a_step_is_on_the_disk_when_it_is_told(executor: Executor, ledger: Ledger) -> None:
    job = RunKey(SMALL, "random", 0)
    seen: list[int] = []
    executor.work([job], ledger, lambda _: seen.append(len(ledger.steps(job))))
    assert seen == [0, 1, 2, 3, 4, 4]


def test_a_run_goes_on_after_what_is_recorded(executor: Executor, ledger: Ledger) -> None:
    job = RunKey(SMALL, "hentropy", 1)
    whole = list(job.steps())
    ledger.begin(job)
    for step in whole[:2]:
        ledger.add(job, step)
    ledger.fail(job, "it was stopped")
    news: list[RunNews] = []
    executor.work([job], ledger, news.append)
    assert [each.steps for each in news] == [2, 3, 4, 4]
    assert timeless(ledger.steps(job)) == timeless(whole)
    assert ledger.steps(job)[:2] == whole[:2]  # with their times: they were not run again
    assert ledger.failure(job) is None


def test_runs_that_fail_are_written_down_and_the_others_go_on(executor: Executor, ledger: Ledger) -> None:
    top = Task("alpine-2-top-5", first=4, queries=1, methods=("straddle", "random"))
    broken = RunKey(top, "random", 1)
    ledger.begin(broken)
    ledger.path(broken).write_text("nonsense\n")
    jobs = [RunKey(top, "straddle", 0), broken, RunKey(top, "random", 0)]
    news: list[RunNews] = []
    executor.work(jobs, ledger, news.append)
    ended = {each.job: each.failed for each in news if each.ended}
    assert "LevelSets" in (ended[jobs[0]] or "")
    assert "line 1 of" in (ended[broken] or "")
    assert ended[jobs[2]] is None
    why = ledger.failure(jobs[0]) or ""
    assert "Traceback" in why
    assert "level_set_rules" in why
    assert ledger.path(broken).read_text() == "nonsense\n"
    assert len(ledger.steps(jobs[2])) == 2


def test_a_worker_of_another_version_is_refused(cluster: LocalCluster) -> None:
    with connect(cluster.scheduler_address, PATIENCE) as client:
        found = client.submit(remaining_steps, RunKey(SMALL, "random", 0), [], "0.0.1").result()
    assert found.steps == ()
    assert f"has hentropy {he.__version__}, and the run is of 0.0.1" in found.failed
    assert "Traceback" in found.traceback


ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
    "OMP_NUM_THREADS": "1",
    "COLUMNS": "120",
}
PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": ENVIRONMENT}


def test_an_interrupt_leaves_the_cluster_of_others_and_ends_what_we_began_there(
    cluster: LocalCluster, executor: Executor, ledger: Ledger
) -> None:
    job = RunKey(replace(SMALL, queries=1000), "random", 0)

    def report(news: RunNews) -> None:
        if news.steps == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        executor.work([job], ledger, report)
    assert timeless(ledger.steps(job)) == here(RunKey(SMALL, "random", 0))[:3]
    assert ledger.failure(job) is None
    with ledger.claimed(job):  # nobody holds it any more
        assert cluster.scheduler.workers
    until(lambda: not at_work(cluster))


@pytest.mark.nightly
def test_reproduce_on_our_own_cluster_stopped_and_ended_on_that_of_others(
    cluster: LocalCluster, ledger: Ledger, tmp_path: Path
) -> None:
    jobs = Plan.of(["multihills-sequence"], seeds=range(1), quick=True).jobs()
    todo = [job for job in jobs if job.method in ("one-shot-paper", "hentropy", "random")]
    for job in jobs:
        if job not in todo:
            ledger.begin(job)
            for number in range(job.task.queries + 1):
                ledger.add(job, step_with(number))
    command = [sys.executable, "-m", "experiments", "figure-6", "--quick", "--seeds", "1", "--out", "results"]
    with subprocess.Popen(
        [*command, "--executor", "dask", "--workers", "1"], cwd=tmp_path, start_new_session=True, **PIPES
    ) as process:
        until(lambda: len(ledger.steps(todo[0])) > 0)
        began = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        said, complaints = process.communicate(timeout=PATIENCE)
    assert (process.returncode, complaints) == (130, "")
    assert "all steps so far are recorded" in said
    assert began
    assert not psutil.wait_procs(began, timeout=PATIENCE)[1]
    recorded = ledger.steps(todo[0])
    assert recorded
    again = subprocess.run(
        [*command, "--scheduler", cluster.scheduler_address], cwd=tmp_path, timeout=3 * PATIENCE, check=False, **PIPES
    )
    assert (again.returncode, again.stderr) == (0, "")
    assert ledger.steps(todo[0])[: len(recorded)] == recorded
    for job in todo:
        assert timeless(ledger.steps(job)) == here(job)
    assert list((tmp_path / "results" / "figures").glob("figure-6*.png"))


def test_clusters_that_cannot_work_are_told_in_a_sentence(ledger: Ledger) -> None:
    job = RunKey(SMALL, "random", 0)
    with pytest.raises(ExecutionError, match="no Dask scheduler answers at"):
        DaskExecutor(1, "tcp://127.0.0.1:9", patience=0.5).work([job], ledger, lambda _: None)
    with pytest.raises(InputError, match="but the executor is processes"):
        executor_of("processes", 2, "tcp://127.0.0.1:9")
    with pytest.raises(InputError, match="at least 1 worker"):
        executor_of("dask", 0)
    executor_of("dask", 1).work([], ledger, lambda _: None)  # nothing to do, nothing to start
    assert not list(ledger.folder.rglob("*.jsonl"))


@pytest.mark.nightly
def test_a_run_that_is_begun_anew_by_the_cluster_is_not_mixed_with_what_is_recorded(
    two: LocalCluster, executor: Executor, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that is not ours begins a lost task anew by itself; here we go on instead after the recorded steps."""
    monkeypatch.setattr(two.scheduler, "allowed_failures", 3)
    for number in (0, 2, 3):
        (tmp_path / str(number)).touch()
    jobs = [HeldRun(SMALL, "random", seed, folder=tmp_path) for seed in range(4)]
    news: list[RunNews] = []
    killed: list[int] = []

    def report(each: RunNews) -> None:
        news.append(each)
        if each.steps == 2 and not killed:  # nobody goes on after step 1
            killed.append(at_work(two)[0])
            os.kill(killed[0], signal.SIGKILL)
            (tmp_path / "1").touch()

    executor.work(jobs, ledger, report)
    assert len(killed) == 1
    assert [each.failed for each in news if each.ended] == [None] * 4
    for job in jobs:
        assert timeless(ledger.steps(job)) == here(job)
        assert [each.steps for each in news if each.job == job and not each.ended] == [0, 1, 2, 3, 4]


@pytest.mark.nightly
def test_a_run_goes_on_when_its_worker_is_killed_and_fails_when_the_next_is_too(
    two: LocalCluster, executor: Executor, ledger: Ledger, tmp_path: Path
) -> None:
    job = HeldRun(replace(SMALL, queries=8), "hentropy", 0, folder=tmp_path)
    other = RunKey(SMALL, "random", 1)
    killed: dict[int, int] = {}

    def report(each: RunNews) -> None:
        if each.job == job and each.steps in (1, 3) and len(killed) < 2:  # it waits, and does not go on by itself
            [pid] = [pid for pid in at_work(two) if pid not in killed]
            killed[pid] = each.steps
            os.kill(pid, signal.SIGKILL)
        if each.job == job and each.steps > 0:
            (tmp_path / str(each.steps - 1)).touch()

    DaskExecutor(1, two.scheduler_address).work([job, other], ledger, report)
    first, second = killed.values()
    assert first < second
    assert "ended in the middle of the run; this was try 2 of 2" in (ledger.failure(job) or "")
    recorded = ledger.steps(job)
    assert second <= len(recorded) < 9
    assert timeless(ledger.steps(other)) == here(other)
    executor.work([job], ledger, report)  # the same again mends it
    assert ledger.failure(job) is None
    assert ledger.steps(job)[: len(recorded)] == recorded
    assert timeless(ledger.steps(job)) == here(job)
