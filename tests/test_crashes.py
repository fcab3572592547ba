"""Nothing that was told is lost: processes are killed, race each other, and run out of disk and rights."""

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.kills import CELLS, killed_in, postgres_stores, sqlite_stores
from benchmarks.load import measured
from benchmarks.verbs import kept, kill, note_down, sound, started

import hentropy as he
from experiments.executors import one_thread
from hentropy.studies.execution.leases import LeaseObserver, Terms
from hentropy.studies.records import State
from hentropy.studies.storage.database import WRITES
from hentropy.studies.storage.tables import upgrade
from hentropy.studies.storage.turns import is_gone, new_owner
from hentropy.studies.storage.urls import backend_at
from support.crashing import (
    LEASE,
    open_it,
    tell_all,
    with_little_disk,
    without_rights,
    work,
)
from support.waiting import PATIENCE, until

KILLS = 3
WORKERS = 8
TRIALS = 200


def lines(file: Path) -> list[list[str]]:
    return [line.split(" ", 1) for line in file.read_text().splitlines()] if file.exists() else []


def has_told(file: Path, count: int) -> None:
    """Wait for so many lines."""
    until(lambda: len(lines(file)) >= count)


@pytest.mark.parametrize(("verb", "kind"), CELLS)
def test_killed_at_any_moment_nothing_acknowledged_is_lost(
    verb: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Few kills in each verb; `python -m benchmarks.kills --count 1000` does the same with many."""
    stores = (
        sqlite_stores(tmp_path) if kind == "SQLite" else postgres_stores(request.getfixturevalue("postgres_server"))
    )
    tally = killed_in(verb, KILLS, stores, random.Random(f"{verb} {kind}"))
    assert (tally.kills, tally.lost, tally.doubled, tally.unreadable, tally.mistaken) == (KILLS, 0, 0, 0, 0)


@pytest.mark.parametrize("version", [None, "0001"])
def test_four_make_or_upgrade_a_store_at_once(version: str | None, store_url: str, tmp_path: Path) -> None:
    if version is not None:
        backend = backend_at(store_url)
        with backend.engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
            upgrade(connection, version)
        backend.engine.dispose()
    begin = time.time() + 0.6
    processes = [started(open_it, store_url, begin, tmp_path / "done", version is not None) for _ in range(4)]
    for process in processes:
        process.join(timeout=PATIENCE)
        assert process.exitcode == 0
    assert sorted(number for [number] in lines(tmp_path / "done")) == ["0", "1", "2", "3"]
    study = kept(store_url)
    assert len({tuple(trial.params.values()) for trial in study.records}) == 4
    study.close()


def test_a_store_opened_twice_here_stays_in_step_with_other_processes(store_url: str, tmp_path: Path) -> None:
    """To look at an SQLite file past SQLite drops the locks of this process: others then take the log for their own."""
    first = kept(store_url)
    kept(store_url).close()
    for turn in range(3):
        process = started(open_it, store_url, 0.0, tmp_path / "done")
        process.join(timeout=PATIENCE)
        assert process.exitcode == 0
        assert len(first.records) == 2 * turn + 1
        kept(store_url).close()
        first.ask()
    assert [number for [number] in lines(tmp_path / "done")] == ["0", "2", "4"]
    first.close()
    last = kept(store_url)
    assert len(last.records) == 6
    last.close()


def test_two_tell_at_once(store_url: str, tmp_path: Path) -> None:
    """Of two values for one trial exactly one is taken, and its teller knows."""
    study = kept(store_url)
    study.ask_many(60)
    begin, log = time.time() + 0.5, tmp_path / "taken"
    rivals = [started(tell_all, store_url, range(60), value, log, begin) for value in (1.0, 2.0)]
    for rival in rivals:
        rival.join(timeout=PATIENCE)
        assert rival.exitcode == 0
    taken = {int(number): float(value) for number, value in lines(log)}
    assert len(lines(log)) == len(taken) == 60
    assert {trial.number: trial.value for trial in study.records} == taken
    history = [study.store.observations(study.log.record, number) for number in range(60)]
    assert [len(told) for told in history] == [1] * 60
    study.close()


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder with an objective that notes down what it evaluates, and can be made to hang."""
    (tmp_path / "lab.py").write_text(
        "import os, time\nfrom pathlib import Path\n"
        "HERE = Path(__file__).parent\n"
        "def measure(x, y):\n"
        "    log = os.open(HERE / 'evaluated', os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
        "    os.write(log, f'{os.getpid()} {x!r} {y!r}\\n'.encode())\n"
        "    os.close(log)\n"
        "    while (HERE / 'hang').exists():\n"
        "        time.sleep(0.02)\n"
        "    return x + y\n"
    )
    return tmp_path


@pytest.mark.slow
def test_eight_workers_evaluate_every_trial_once(store_url: str, lab: Path) -> None:
    options = {"stop": [he.Budget(TRIALS)]}
    study = kept(store_url, **options)
    (lab / "hang").touch()
    workers = [started(work, store_url, lab, options) for _ in range(WORKERS)]
    # each has a trial before any goes on: all of them work, none of them alone
    until(lambda: len({process for process, _ in lines(lab / "evaluated")}) == WORKERS)
    (lab / "hang").unlink()
    for worker in workers:
        worker.join(timeout=3 * PATIENCE)
        assert worker.exitcode == 0
    evaluated = lines(lab / "evaluated")
    assert len(evaluated) == TRIALS
    assert len({design for _, design in evaluated}) == TRIALS
    trials = study.records
    assert len(trials) == TRIALS
    assert all(trial.state is State.COMPLETE for trial in trials)
    assert all(trial.value == trial.params["x"] + trial.params["y"] for trial in trials)
    assert {f"{t.params['x']!r} {t.params['y']!r}" for t in trials} == {design for _, design in evaluated}
    assert len({process for process, _ in evaluated}) == WORKERS
    study.close()


def test_under_load_every_trial_is_evaluated_once(postgres_url: str) -> None:
    """A small version of `python -m benchmarks.load`, which checks this itself."""
    load = measured(postgres_url, workers=6, trials=40)
    assert len(load.asks) == len(load.tells) == 40


def test_a_killed_worker_gives_its_trial_back_at_once_on_the_same_machine(store_url: str, lab: Path) -> None:
    options = {"stop": [he.Budget(3)]}
    study = kept(store_url, **options)
    (lab / "hang").touch()
    worker = started(work, store_url, lab, options)
    until(lambda: lines(lab / "evaluated"))
    kill(worker)
    (lab / "hang").unlink()
    second = started(work, store_url, lab, options)
    second.join(timeout=PATIENCE)  # less than the lease
    assert second.exitcode == 0
    assert [trial.state for trial in study.records] == [State.COMPLETE] * 3
    assert len(lines(lab / "evaluated")) == 4
    told = study.store.observations(study.log.record, 0)
    assert "its worker was lost" in told[0].note
    study.close()


def test_a_worker_elsewhere_keeps_its_trial_until_its_lease_ends(store_url: str) -> None:
    study = kept(store_url)
    passed = 0.0
    lookout = LeaseObserver(Terms(lease=LEASE, lost_retries=1), lambda: passed)
    for owner in ("far|another-machine|77|123|a", "far|another-machine|78|124|b"):
        if not study.records:
            study.begin(owner, LEASE)
        else:
            assert lookout.claim(study, owner) is not None
        assert lookout.claim(study, new_owner()) is None
        passed += 2 * LEASE
    # lost once, and tried again; lost twice, and that is enough
    assert lookout.claim(study, new_owner()) is None
    [trial] = study.records
    assert trial.state is State.WITHDRAWN
    assert "its worker was lost" in trial.note
    study.close()


def test_a_person_has_a_trial_for_ever(store_url: str) -> None:
    study = kept(store_url)
    study.ask()
    times = iter(range(0, 10**9, 10**6))
    lookout = LeaseObserver(Terms(lease=1.0), lambda: next(times))
    for _ in range(3):
        assert lookout.claim(study, new_owner()) is None
    study.close()


def test_owners_of_this_machine_are_known_to_live_or_not() -> None:
    mine = new_owner()
    assert not is_gone(mine)
    head, pid, start, tail = mine.rsplit("|", 3)
    assert is_gone(f"{head}|{pid}|{int(start) + 1}|{tail}")
    assert is_gone(f"{head}|4194305|{start}|{tail}")
    assert not is_gone(mine.replace("|", "|other", 1))
    assert not is_gone(None)
    assert not is_gone("nonsense")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="a system without /proc")
def test_a_process_that_has_ended_is_gone_before_its_parent_notices() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    head, machine, _, _, tail = new_owner().split("|")
    start = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
    owner = f"{head}|{machine}|{child.pid}|{start}|{tail}"
    assert not is_gone(owner)
    child.kill()  # nobody waits for it yet
    until(lambda: is_gone(owner))
    child.communicate()


def test_killed_and_started_again_a_study_proposes_what_it_would_have(store_url: str, lab: Path) -> None:
    """The run is killed while each of its trials is evaluated, and started again."""
    options = {"stop": [he.Budget(8)], "first": 5, "stop_when_exhausted": False}
    straight = he.Study(kept(store_url, **options).space, he.Maximize(), hyperparameters="map", seed=3, first=5)
    with one_thread():  # as workers do
        for _ in range(8):
            trial = straight.ask()
            straight.tell(trial, trial.params["x"] + trial.params["y"])
    for begun in range(1, 9):
        (lab / "hang").touch()
        process = started(work, store_url, lab, options)
        has_told(lab / "evaluated", 2 * begun - 1)
        kill(process)
        (lab / "hang").unlink()
        note_down(lab / "kills", str(begun))
        study = kept(store_url, **options)
        again = started(work, store_url, lab, {**options, "stop": [he.Budget(begun)]})
        again.join(timeout=PATIENCE)
        assert again.exitcode == 0
        study.close()
    study = kept(store_url, **options)
    assert [(trial.state, trial.note) for trial in study.records] == [(State.COMPLETE, "")] * 8
    assert [trial.params for trial in study.records] == [trial.params for trial in straight.records]
    assert study.decide() == straight.decide()
    study.close()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user can enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("what", ["the file", "the folder"])
def test_a_store_that_may_not_be_written_says_so_and_stays_sound(what: str, open_folder: Path) -> None:
    path, report = open_folder / "lab.db", open_folder / "report"
    if what == "the file":
        study = kept(f"sqlite:///{path}")
        study.tell(study.ask(), 1.0)
        study.close()
    report.touch()
    report.chmod(0o666)
    (path if what == "the file" else open_folder).chmod(0o444 if what == "the file" else 0o555)
    process = started(without_rights, path, report)
    process.join(timeout=PATIENCE)
    told, said = report.read_text().split("\n", 1)
    assert told == "0"
    assert said.startswith("ReadOnly" if what == "the file" else "StorageError")
    assert "read-only" in said or "check the permissions of its folder" in said
    if what == "the file":
        path.chmod(0o644)
        sound(f"sqlite:///{path}")
        assert kept(f"sqlite:///{path}").records[0].value == 1.0


def test_a_disk_without_room_says_so_and_leaves_the_store_sound(open_folder: Path) -> None:
    path, report = open_folder / "lab.db", open_folder / "report"
    study = kept(f"sqlite:///{path}")
    study.tell(study.ask(), 1.0)
    study.close()
    report.touch()
    process = started(with_little_disk, path.stat().st_size + 60_000, path, report)
    process.join(timeout=PATIENCE)
    told, said = report.read_text().split("\n", 1)
    assert said.startswith("StorageError")
    assert "nothing was changed" in said
    sound(f"sqlite:///{path}")
    again = kept(f"sqlite:///{path}")
    values = [trial.value for trial in again.records]
    assert None not in values[: int(told) + 1]
    trial = again.ask()
    assert again.tell(trial, 2.0).value == 2.0
