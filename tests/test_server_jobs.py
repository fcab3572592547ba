"""Work in the background: real child processes on a real store, killed, cancelled and orphaned."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hentropy as he
from hentropy.errors import InputError
from hentropy.studies.records import StudyKey, Verdict
from hentropy.studies.storage import Store, open_store
from hentropy.views.plots.scene import scene_of
from hentropy.views.server import job_process
from hentropy.views.server.job_process import NICE, JobRunner
from hentropy.views.server.job_queue import KEPT, JobQueue
from hentropy.views.server.jobs import Busy, Job, JobService, LatestLooks, Look, Part, job_json
from hentropy.views.server.looking import TooLong, at_most, drawn_in_time, look
from hentropy.views.server.settings import usual_memory
from support.tiers import nightly
from support.waiting import LATE, PATIENCE, until

KEY = StudyKey(1, "study", 1.0)
SPACE = he.Space(x=he.Real(0, 1), y=he.Real(0, 1))
MANY = 60


class Site:
    """A store with a few studies, and a job service for it."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder / 'lab.db'}"
        self.store = open_store(self.url)
        self.quick = self.study("quick / ünï", told=4)
        self.empty = self.study("empty")
        # proposals of many designs at once take minutes: long enough to be disturbed in it
        self.slow = he.Study(SPACE, he.KGuesses(4), name="slow", storage=self.store)
        self.slow.attach_many([(point(i), value(i)) for i in range(25)])
        words = dict(self.empty.log.record.definition) | {"name": "own", "decision": {"python": "with_effect:Own"}}
        self.store.create("own", words, {})
        self.job_service = JobService(self.url, waiting=3)

    def study(self, name: str, told: int = 0) -> he.Study:
        """A new study, of which so many values are known."""
        made = he.Study(SPACE, he.BestObserved(), name=name, first=3, hyperparameters="map", storage=self.store)
        made.attach_many([(point(i), value(i)) for i in range(told)])
        return made


def point(i: int) -> dict[str, float]:
    return {"x": (0.37 * i) % 1, "y": (0.61 * i) % 1}


def value(i: int) -> float:
    x, y = point(i).values()
    return -((x - 0.3) ** 2) - (y - 0.6) ** 2


@pytest.fixture(scope="module")
def effect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A module that every child could import, and the file that it makes when somebody does."""
    folder = tmp_path_factory.mktemp("modules")
    trace = folder / "imported"
    (folder / "with_effect.py").write_text(f"open({str(trace)!r}, 'w').close()\nclass Own: pass\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")])))
        yield trace


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, effect: Path) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("lab"))
    with contextlib.closing(made.store), contextlib.closing(made.job_service):
        yield made


@contextlib.contextmanager
def heard(job_service: JobService) -> Iterator[list[Job | Part]]:
    """All that a job service says meanwhile."""
    news: list[Job | Part] = []
    leave = job_service.subscribe(news.append)
    yield news
    leave()


def in_phase(job_service: JobService, job: Job, words: str) -> Callable[[], bool]:
    def there() -> bool:
        now = job_service.job(job.id)
        assert now is not None
        assert not now.ended, now
        return words in now.phase

    return there


def is_running(pid: int) -> bool:
    """Whether there is such a process, other than one that only waits to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_asking_goes_through_its_phases(site: Site) -> None:
    asked = site.study("asked", told=4)
    with heard(site.job_service) as news:
        job = site.job_service.ask(asked.log.record, 2)
        assert (job.state, job.kind, job.count, job.result) == ("waiting", "ask", 2, None)
        done = site.job_service.wait(job.id, PATIENCE)
    assert (done.state, done.result, done.error) == ("done", [4, 5], None)
    assert done.began_at is not None
    assert done.ended_at is not None
    assert job.created_at <= done.began_at < done.ended_at
    states = [one.state for one in news if isinstance(one, Job)]
    assert states == sorted(states, key=["waiting", "running", "done"].index)
    phases = list(dict.fromkeys(one.phase for one in news if isinstance(one, Job)))
    assert phases == [
        "waiting",
        "starting",
        "reading the study",
        "fitting the model to 4 values",
        "waiting for another process that is choosing experiments",
        "evaluating candidate experiments",
        "done",
    ]
    assert [trial.number for trial in asked.records if trial.origin == "proposed"] == [4, 5]
    assert job_json(done)["state"] == "done"


def test_the_first_designs_need_no_model(site: Site) -> None:
    with heard(site.job_service) as news:
        done = site.job_service.wait(site.job_service.ask(site.study("begun").log.record, 1).id, PATIENCE)
    assert done.result == [0]
    phases = [one.phase for one in news if isinstance(one, Job)]
    assert "filling the space" in phases
    assert not any("fitting" in phase for phase in phases)


def test_what_runs_is_cancelled_and_nothing_is_lost(site: Site) -> None:
    before = site.slow.records
    job = site.job_service.ask(site.slow.log.record, MANY)
    behind = site.job_service.ask(site.empty.log.record)
    until(in_phase(site.job_service, job, "evaluating"))
    assert site.job_service.cancel(behind.id).state == "cancelled"  # while it waits
    assert site.job_service.cancel(job.id).state == "cancelled"
    assert site.slow.records == before
    assert site.job_service.cancel(job.id).state == "cancelled"
    assert _can_ask(site.store, site.slow.name)
    # a fresh process goes on with what comes
    asked = len(site.empty.records)
    assert site.job_service.wait(site.job_service.ask(site.empty.log.record).id, PATIENCE).result == [asked]


def _can_ask(store: Store, name: str) -> bool:
    """Whether nobody holds the right to propose."""
    record = store.find(name)
    assert record is not None
    got = threading.Event()

    def ask() -> None:
        with store.asking(record):
            got.set()

    threading.Thread(target=ask, daemon=True).start()
    return got.wait(PATIENCE)


def test_a_process_that_dies_fails_its_job_and_is_replaced(site: Site) -> None:
    job = site.job_service.ask(site.slow.log.record, MANY)
    until(in_phase(site.job_service, job, "evaluating"))
    pids = site.job_service.processes
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    failed = site.job_service.wait(job.id, PATIENCE)
    assert failed.state == "failed"
    assert failed.error is not None
    assert "SIGKILL" in failed.error
    assert "out of memory" in failed.error
    done = site.job_service.wait(site.job_service.ask(site.empty.log.record).id, PATIENCE)
    assert done.state == "done"
    assert not set(pids) & set(site.job_service.processes)


def test_only_so_many_may_wait(site: Site) -> None:
    jobs = [site.job_service.ask(site.slow.log.record, MANY)]
    until(lambda: (site.job_service.job(jobs[0].id) or jobs[0]).state == "running")
    jobs += [site.job_service.ask(site.slow.log.record)]
    with pytest.raises(Busy, match="already has 1 job in the queue"):
        site.job_service.ask(site.slow.log.record)
    jobs += [site.job_service.ask(study.log.record) for study in (site.empty, site.quick)]
    with pytest.raises(Busy, match="full: 3 jobs are waiting"):
        site.job_service.ask(site.empty.log.record)
    for job in reversed(jobs):
        assert site.job_service.cancel(job.id).state == "cancelled"


def test_looks_come_in_parts_and_are_not_made_twice(site: Site) -> None:
    seen = site.study("seen", told=4)
    seen.attach(point(9), value(9))
    observations = sum(trial.value is not None for trial in seen.records)
    site.job_service.wait(site.job_service.look(site.empty.log.record).id, PATIENCE)
    looking = site.job_service.processes[-1]
    os.kill(looking, signal.SIGSTOP)  # so that the first look does not end before the others are wanted
    with heard(site.job_service) as news:
        first = site.job_service.look(seen.log.record)
        until(lambda: (site.job_service.job(first.id) or first).state == "running")
        second = site.job_service.look(seen.log.record)
        assert second.id != first.id  # something may have been told since the first one began
        assert site.job_service.look(seen.log.record).id == second.id
        os.kill(looking, signal.SIGCONT)
        assert site.job_service.wait(second.id, PATIENCE).state == "done"
    assert (site.job_service.job(first.id) or first).state == "done"
    parts = [one for one in news if isinstance(one, Part)]
    names = [part.name for part in parts]
    assert names.count("verdict") == 2, "the second look found nothing new"
    assert names[:2] == ["verdict", "verdict"]
    assert names[-1] == "end"
    assert names[2:-1]
    first_said, then_said = (part.look.verdict for part in parts[:2])
    assert first_said is not None
    assert then_said is not None
    assert first_said["worth"] == ""
    assert then_said["worth"].startswith("Another run is ")
    assert parts[0].look.pictures == parts[1].look.pictures == {}
    look = site.job_service.latest(seen.log.record)
    assert look is not None
    assert look.complete
    assert (look.observations, look.earlier) == (observations, None)
    assert set(look.pictures) | set(look.troubles) == set(names[2:-1])
    assert {"specification", "title", "caption"} <= set(next(iter(look.pictures.values())))
    [recorded] = site.store.verdicts(seen.log.record)
    assert look.verdict is not None
    assert look.verdict["expected_loss"] == recorded.verdict.expected_loss
    assert look.verdict["worth"] == recorded.verdict.worth == then_said["worth"]
    # another value makes another verdict; until it is drawn, the pictures of the first one stand
    seen.attach(point(10), value(10))
    with heard(site.job_service) as news:
        site.job_service.wait(site.job_service.look(seen.log.record).id, PATIENCE)
    part = next(one for one in news if isinstance(one, Part))
    assert part.look.earlier == look.verdict
    assert part.look.observations == observations + 1
    assert part.look.pictures == look.pictures


class EnoughError(Exception):
    """The verdict was said: the pictures need not be made."""


def test_the_verdict_of_a_finished_study_is_said_once_with_what_another_run_is_worth() -> None:
    study = he.Study(SPACE, he.Maximize(), first=4, hyperparameters="map", stop=[he.Budget(4)])
    for i in range(4):
        study.tell(study.ask(), value(i))
    said: list[Mapping[str, Any]] = []

    def answer(message: Mapping[str, Any]) -> None:
        said.append(message)
        if "part" in message:
            raise EnoughError

    with pytest.raises(EnoughError):
        look(study, None, PATIENCE, answer)
    worth = said[-1]["seen"]["verdict"]["worth"]
    ending = "but the budget of 4 trials is used up: stop\\."
    assert re.fullmatch(rf"Another run is worth (about|less than) \S+ in value, {ending}", worth)
    assert study.decide().worth == worth


def test_one_change_is_looked_at_once(site: Site) -> None:
    """The form that tells a value and the watcher that sees it both want a look: the second has nothing to wait for."""
    study = he.Study(he.Space(x=he.Real(0, 1)), he.BestObserved(), name="changing", storage=site.store)
    record = study.log.record
    study.attach({"x": 0.2}, 1.0)
    study.log.sync()
    told = study.log.revision
    looks = lambda: [job for job in site.job_service.jobs(record) if job.kind == "look"]  # noqa: E731
    site.job_service.wait(site.job_service.look(site.empty.log.record).id, PATIENCE)
    looking = site.job_service.processes[-1]
    os.kill(looking, signal.SIGSTOP)  # so that the look is under way until the others have asked for it
    site.job_service.renew(record, told, soon=True)
    [job] = looks()
    until(lambda: known_job(site.job_service, job).state == "running")
    site.job_service.renew(record, told, soon=False)
    site.job_service.renew(record, told, soon=False, opened=True)
    os.kill(looking, signal.SIGCONT)
    site.job_service.wait(job.id, PATIENCE)
    site.job_service.renew(record, told, soon=False)
    assert [one.id for one in looks()] == [job.id]
    study.attach({"x": 0.4}, 2.0)
    site.job_service.renew(record, told + 1, soon=False)
    assert len(looks()) == 2
    until(lambda: all(one.ended for one in looks()))
    site.job_service.renew(record, told + 1, soon=False)
    assert len(looks()) == 2
    site.job_service.renew(record, told + 1, soon=False, opened=True)  # its definition may be another one by now
    assert len(looks()) == 3


def known_job(job_service: JobService, job: Job) -> Job:
    found = job_service.job(job.id)
    assert found is not None
    return found


def test_who_looks_gives_way_to_others(site: Site) -> None:
    site.job_service.prepare()
    site.job_service.wait(site.job_service.look(site.empty.log.record).id, PATIENCE)
    asking, looking = (os.getpriority(os.PRIO_PROCESS, pid) for pid in site.job_service.processes)
    assert asking == os.getpriority(os.PRIO_PROCESS, 0)
    assert looking == max(NICE, asking)


def test_a_look_at_nothing(site: Site) -> None:
    site.job_service.forget(site.empty.log.record)
    assert site.job_service.latest(site.empty.log.record) is None
    assert site.job_service.wait(site.job_service.look(site.empty.log.record).id, PATIENCE).state == "done"
    look = site.job_service.latest(site.empty.log.record)
    assert look is not None
    assert look.complete
    assert (look.observations, look.verdict, look.pictures) == (0, None, {})
    assert "No results yet" in look.troubles["verdict"]
    site.job_service.forget(site.empty.log.record)
    assert site.job_service.latest(site.empty.log.record) is None


@pytest.mark.parametrize("verb", ["ask", "look"])
def test_code_of_a_study_is_never_imported(site: Site, effect: Path, verb: str) -> None:
    record = site.store.find("own")
    assert record is not None
    job = site.job_service.ask(record) if verb == "ask" else site.job_service.look(record)
    failed = site.job_service.wait(job.id, PATIENCE)
    assert failed.state == "failed"
    assert failed.error is not None
    assert "with_effect:Own" in failed.error
    assert not effect.exists()


def test_the_children_could_have_imported_it(effect: Path) -> None:
    subprocess.run([sys.executable, "-P", "-c", "import with_effect"], check=True, timeout=PATIENCE)
    assert effect.exists()
    effect.unlink()


def test_a_study_that_is_gone(site: Site) -> None:
    failed = site.job_service.wait(site.job_service.ask(replace(site.quick.log.record, name="never made")).id, PATIENCE)
    assert failed.state == "failed"
    assert failed.error is not None
    assert "never made" in failed.error


def test_the_url_is_nowhere_to_be_read(site: Site) -> None:
    site.job_service.prepare()
    for pid in site.job_service.processes:
        for file in ("cmdline", "environ"):
            assert "lab.db" not in Path(f"/proc/{pid}/{file}").read_bytes().decode()


def test_jobs_of_a_study(site: Site) -> None:
    here, there = site.job_service.ask(site.slow.log.record, MANY), site.job_service.ask(site.empty.log.record)
    assert here.id in [job.id for job in site.job_service.jobs(site.slow.log.record)]
    assert {job.study for job in site.job_service.jobs(site.slow.log.record)} == {site.slow.log.record.key}
    assert {here.id, there.id} <= {job.id for job in site.job_service.jobs()}
    for job in (there, here):
        site.job_service.cancel(job.id)
    with pytest.raises(InputError, match="no job 'none'"):
        site.job_service.wait("none", 0.0)


ORPHANS = """
import os, sys, time
from hentropy.views.server.jobs import JobService
from hentropy.studies.storage import open_store
job_service = JobService(sys.argv[1])
job = job_service.ask(open_store(sys.argv[1]).find("slow"), int(sys.argv[3]))
while "evaluating" not in job_service.job(job.id).phase:
    time.sleep(0.05)
print(*job_service.processes, flush=True)
if sys.argv[2] == "close":
    job_service.close()
    print("closed", flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("end", ["kill", "close"])
def test_no_process_is_left_behind(site: Site, end: str) -> None:
    command = [sys.executable, "-c", ORPHANS, site.url, end, str(MANY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert pids
        assert all(map(is_running, pids)) or end == "close"
        if end == "kill":
            parent.kill()
        else:
            assert parent.stdout.readline() == "closed\n"
        until(lambda: not any(map(is_running, pids)))
        parent.kill()


def test_a_store_in_memory_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be shared"):
        JobService("memory://")


def test_of_jobs_that_ended_the_last_ones_are_remembered() -> None:
    orders = JobQueue(most_waiting=10)
    ids = []
    for _ in range(KEPT + 5):
        ids.append(orders.place(KEY, "ask").id)
        begun = orders.next("ask")
        assert begun is not None
        orders.end(begun.id, "done", "done")
    assert [job.id for job in orders.all()] == ids[5:]
    assert orders.end(ids[-1], "failed", "failed").state == "done", "what has ended stays as it is"


def test_who_looks_rests_unless_a_person_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hentropy.views.server.job_queue.LONGEST_REST", 2 * PATIENCE)
    orders = JobQueue(most_waiting=10)

    def begins_and_ends(soon: bool, lasted: float) -> tuple[float, float]:
        """When a look begins and ends; it is as if it took so many seconds."""
        placed = orders.place(KEY, "look", soon=soon)
        job = orders.next("look")
        assert job is not None
        assert job.id == placed.id
        assert job.began_at is not None
        orders.change(job.id, began_at=job.began_at - lasted)
        ended = orders.end(job.id, "done", "done")
        assert ended.ended_at is not None
        return job.began_at, ended.ended_at

    _, first = begins_and_ends(soon=True, lasted=0.3)
    second, second_end = begins_and_ends(soon=False, lasted=1000.0)
    third, _ = begins_and_ends(soon=True, lasted=1000.0)
    assert second - first > 0.25
    assert third - second_end < PATIENCE


def test_results_of_jobs_are_bounded_and_know_a_study_made_again() -> None:
    shelf = LatestLooks(most=2)
    a, b, c = (StudyKey(number, name, 1.0) for number, name in enumerate("abc"))
    seen = {"mark": "m", "observations": 3, "revision": 7, "verdict": {}, "earlier": None}
    shelf.begin(a, seen)
    assert shelf.add(a, "known", {"title": "t"}, None).pictures == {"known": {"title": "t"}}
    again = shelf.begin(a, seen | {"mark": "n"})
    assert again.pictures == {"known": {"title": "t"}}
    assert not again.complete
    troubled = shelf.add(a, "known", None, "no")
    assert (troubled.pictures, troubled.troubles) == ({}, {"known": "no"})
    assert shelf.latest(replace(a, created_at=2.0)) is None
    shelf.begin(b, seen)
    assert shelf.latest(a) is not None
    shelf.begin(c, seen)
    assert shelf.latest(b) is None
    assert isinstance(shelf.latest(a), Look)


def test_studies_take_turns_and_people_come_first() -> None:
    orders = JobQueue(most_waiting=20)
    busy, other, third = (StudyKey(number, str(number), 1.0) for number in range(3))

    def turns(count: int) -> list[StudyKey]:
        found = []
        for _ in range(count):
            job = orders.next("ask")
            assert job is not None
            found.append(job.study)
            orders.end(job.id, "done", "done")
            time.sleep(0.002)  # they are told apart by the clock
        return found

    for study in (busy, busy, busy, other, third, other):
        orders.place(study, "ask")
    assert turns(6) == [busy, other, third, busy, other, busy]
    watched = orders.place(busy, "look", soon=False)
    wanted = orders.place(other, "look", soon=True)
    assert [job.id for job in (orders.next("look"), orders.next("look")) if job] == [wanted.id, watched.id]


def test_a_study_has_half_of_the_places() -> None:
    orders = JobQueue(most_waiting=4)
    others = [StudyKey(number, str(number), 1.0) for number in range(2, 4)]
    for _ in range(2):
        orders.place(KEY, "ask")
    with pytest.raises(Busy, match="already has 2 jobs in the queue"):
        orders.place(KEY, "ask")
    for study in others:
        orders.place(study, "ask")
    with pytest.raises(Busy, match="full: 4 jobs are waiting"):
        orders.place(StudyKey(9, "9", 1.0), "ask")


def test_a_deadline_counts_what_is_computed() -> None:
    with at_most(0.3):
        time.sleep(0.5)
    with pytest.raises(TooLong), at_most(0.05):  # noqa: PT012
        while True:
            with contextlib.suppress(Exception):
                sum(range(1000))
    begun = time.process_time()
    while time.process_time() < begun + 0.1:
        pass  # the timer is off again


def test_a_deadline_waits_until_the_store_has_written(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    study = store.create("lab", {}, {})
    large = Verdict([{"x": i / 7} for i in range(100_000)], -1.0, 0.5, "maximize", 1, raw=None)
    with pytest.raises(TooLong), at_most(0.001):  # noqa: PT012
        store.keep(study, large)
        while True:
            pass
    assert [stored.verdict.action for stored in store.verdicts(study)] == [large.action]
    store.close()


def test_a_look_that_takes_too_long_makes_room(site: Site) -> None:
    with contextlib.closing(JobService(site.url, look_seconds=0.1)) as job_service:
        failed = job_service.wait(job_service.look(site.slow.log.record).id, PATIENCE)
        assert failed.state == "failed"
        assert failed.error is not None
        assert "took more than 0.1 s of computing" in failed.error
        pids = job_service.processes
        assert job_service.wait(job_service.look(site.empty.log.record).id, PATIENCE).state == "done"
        assert job_service.processes == pids


def test_a_picture_that_takes_too_long_is_left_out(site: Site) -> None:
    scene = scene_of(site.quick, site.quick.decide())
    assert "takes too long" in drawn_in_time(scene, "why", time.process_time() + 0.02)["trouble"]
    assert "takes too long" in drawn_in_time(scene, "known", time.process_time() - 1.0)["trouble"]
    assert "picture" in drawn_in_time(scene, "progress", time.process_time() + 60.0)


def test_processes_have_a_bound_on_their_memory(site: Site) -> None:
    assert 2**30 <= usual_memory() <= 4 * 2**30
    with contextlib.closing(JobService(site.url)) as job_service:
        job_service.wait(job_service.ask(site.empty.log.record).id, PATIENCE)
        [pid] = job_service.processes
        assert re.search(rf"Max data size +{usual_memory()} ", Path(f"/proc/{pid}/limits").read_text())


BOUNDED = """
import torch
from hentropy.views.server.settings import limit_memory
from hentropy.views.server.worker import out_of_memory
limit_memory(2 * 2**30)
for take in (lambda: bytearray(2**32), lambda: torch.ones(2**30, dtype=torch.float64)):
    try:
        take()
    except Exception as error:
        assert out_of_memory(error), error
    else:
        raise AssertionError("there was room")
assert not out_of_memory(RuntimeError("shapes"))
"""


def test_what_needs_too_much_memory_is_known_as_that() -> None:
    subprocess.run([sys.executable, "-c", BOUNDED], check=True, timeout=PATIENCE)


HOARDING = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")
"""With these settings, which make the tests quicker, memory that was freed stays with its process."""


@pytest.fixture(scope="module")
def taken(site: Site) -> int:
    """The bytes that a process takes before it has much to do: how many depends on how torch was built."""
    with pytest.MonkeyPatch.context() as patch, contextlib.closing(JobService(site.url)) as job_service:
        for setting in HOARDING:
            patch.delenv(setting, raising=False)
        job_service.wait(job_service.look(site.empty.log.record).id, PATIENCE)
        [pid] = job_service.processes
        [size] = re.findall(r"VmData:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(size) * 1024


@pytest.fixture(scope="module")
def large(site: Site) -> he.Study:
    """Its covariances with a thousand inducing points have 112 MB, and a fit takes several such matrices."""
    return site.study("large", told=14_000)


@pytest.mark.parametrize("verb", ["look", nightly("ask")])
def test_a_study_that_needs_too_much_memory_fails_and_others_go_on(
    site: Site,
    large: he.Study,
    taken: int,
    verb: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for setting in HOARDING:
        monkeypatch.delenv(setting, raising=False)
    with contextlib.closing(JobService(site.url, memory=taken + 100 * 2**20)) as job_service:
        record = large.log.record
        failed = job_service.wait((job_service.ask(record) if verb == "ask" else job_service.look(record)).id, PATIENCE)
        assert failed.state == "failed"
        assert failed.error is not None
        assert re.search(r"more memory than the [\d.]+ GiB that this server gives to one job", failed.error)
        assert failed.id in caplog.text
        other = site.quick.log.record
        job = job_service.ask(other) if verb == "ask" else job_service.look(other)
        assert job_service.wait(job.id, PATIENCE).state == "done"


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["ask", nightly("look")])
def test_a_study_that_takes_for_ever_is_ended_and_others_go_on(
    site: Site, verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The process itself need not notice: it may be deep in a library that never returns."""
    with contextlib.closing(JobService(site.url, seconds=LATE)) as job_service:
        slow, empty = site.slow.log.record, site.empty.log.record
        before, asked = site.slow.records, len(site.empty.records)
        job = job_service.ask(slow, MANY) if verb == "ask" else job_service.look(slow)
        until(in_phase(job_service, job, "fitting"))
        [stopped] = job_service.processes
        os.kill(stopped, signal.SIGSTOP)  # as if it never came back
        failed = job_service.wait(job.id, PATIENCE)
        assert failed.state == "failed"
        assert failed.error is not None
        assert f"longer than {LATE:g} s, the limit of this server" in failed.error
        assert f"longer than {LATE:g} s" in caplog.text
        assert site.slow.records == before
        next_one = job_service.ask(empty) if verb == "ask" else job_service.look(empty)
        done = job_service.wait(next_one.id, PATIENCE)
        assert (done.state, done.result) == ("done", [asked] if verb == "ask" else None)


def test_a_process_that_never_begins_its_job_is_ended(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(JobService(site.url, seconds=0.5)) as job_service:
        job_service.prepare()
        [pid] = job_service.processes
        os.kill(pid, signal.SIGSTOP)
        monkeypatch.setattr(job_process, "START", 0.5)
        failed = job_service.wait(job_service.ask(site.empty.log.record).id, PATIENCE)
        assert (failed.state, "longer than 0.5 s" in (failed.error or "")) == ("failed", True)
        assert not is_running(pid)


def test_nobody_waits_for_the_start_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started, go_on = threading.Event(), threading.Event()

    def slow_start(*_: object, **__: object) -> None:
        started.set()
        go_on.wait(10 * PATIENCE)
        raise OSError("no room for it")

    monkeypatch.setattr("hentropy.views.server.job_process.Piped", slow_start)
    orders = JobQueue(most_waiting=3)
    bench = JobRunner("ask", {}, PATIENCE, orders, lambda job: {}, lambda job, message: None)
    job = orders.place(KEY, "ask")
    assert started.wait(PATIENCE)
    reading = threading.Thread(target=orders.find, args=[job.id], daemon=True)
    reading.start()
    reading.join(PATIENCE)
    assert not reading.is_alive()
    go_on.set()
    ended = orders.wait(job.id, PATIENCE)
    assert ended is not None
    assert ended.state == "failed"
    orders.close()
    bench.close()
