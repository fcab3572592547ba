"""`run`: a study to its end by one process, many, or a cluster, whatever happens to those who evaluate."""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

import hentropy as he
from hentropy.errors import Gone, StorageError, StudyError
from hentropy.studies.execution import Evaluation, Executor, Local, Processes, PythonObjective
from hentropy.studies.execution.cluster import Dask
from hentropy.studies.execution.leases import LeaseObserver, Taken, Terms, finish, give_back, renew, take
from hentropy.studies.execution.runner import RunListener, _Run, run
from hentropy.studies.records import State
from hentropy.studies.storage import MemoryStore, Store, open_store
from hentropy.studies.storage.turns import new_owner
from support.waiting import LATE, PATIENCE, until

SPACE = he.Space(x=he.Real(0.0, 1.0))


def study(budget: int = 6, first: int = 1000, storage: str | Store | None = None, **options: object) -> he.Study:
    stop = [he.Budget(budget)]
    given = {"hyperparameters": "map", "first": first, "stop": stop, **options}
    return he.Study(SPACE, he.Maximize(), storage=storage, **given)  # type: ignore[arg-type]


@pytest.fixture
def lab(tmp_path: Path) -> Callable[[str], PythonObjective]:
    """Makes an objective out of the body of `def measure(x)`, which may call note(text)."""

    def made(body: str, timeout: float | None = None) -> PythonObjective:
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        (tmp_path / "bench.py").write_text(
            "import math, os, time\nfrom pathlib import Path\n"
            "def note(text):\n"
            f"    log = os.open({str(tmp_path / 'notes')!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
            "    os.write(log, f'{text}\\n'.encode())\n"
            "    os.close(log)\n"
            f"def notes():\n    path = Path({str(tmp_path / 'notes')!r})\n"
            "    return path.read_text().splitlines() if path.exists() else []\n"
            f"def measure(x):\n{lines}"
        )
        return PythonObjective("bench:measure", tmp_path, timeout)

    return made


def notes(folder: Path) -> list[str]:
    return (folder / "notes").read_text().splitlines() if (folder / "notes").exists() else []


def states(made: he.Study) -> list[str]:
    return [trial.state.value for trial in made.records]


@pytest.mark.smoke
def test_a_run_is_the_same_as_asking_and_telling(lab: Callable[..., PythonObjective]) -> None:
    made, plain = (study(7, first=4, stop_when_exhausted=False) for _ in range(2))
    reason = run(made, Local(lab("return -(x - 0.3) ** 2")))
    for _ in range(7):
        trial = plain.ask()
        plain.tell(trial, -((trial.params["x"] - 0.3) ** 2))
    assert reason == "the budget of 7 trials is used up"
    assert made.records == plain.records


def test_a_run_of_a_finished_study_does_nothing(lab: Callable[..., PythonObjective]) -> None:
    made = study(3)
    for _ in range(2):
        run(made, Local(lab("return x")))
        assert states(made) == ["complete"] * 3


def test_what_is_not_worth_its_while_is_not_run(lab: Callable[..., PythonObjective], tmp_path: Path) -> None:
    made = study(50, first=4, stop=[he.GainBelow(1e3)])
    reason = run(made, Local(lab("note(x)\nreturn x")))
    assert "below 1000" in reason
    assert states(made) == ["complete"] * 4 + ["withdrawn"]
    assert len(notes(tmp_path)) == 4


FAILURES = {
    "raises": ("raise ValueError('the lamp is dark')", None, "ValueError: the lamp is dark"),
    "not a number": ("return float('nan')", None, "nan"),
    "nothing": ("return None", None, "None"),
    "hangs": ("time.sleep(1000)", LATE, "15 s"),
    "dies": ("os._exit(3)", PATIENCE, "3"),
}


@pytest.mark.covering
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "hangs")) for n in FAILURES])
@pytest.mark.parametrize("many", [False, True])
def test_failures_are_recorded_with_the_reason_and_the_study_goes_on(
    name: str, many: bool, lab: Callable[..., PythonObjective]
) -> None:
    body, timeout, why = FAILURES[name]
    objective = lab(f"note(x)\nif len(notes()) == 2:\n    {body}\nreturn x", timeout)
    made = study(5)
    run(made, Processes(objective, 1) if many or name == "dies" else Local(objective))
    assert states(made) == ["complete", "failed", "complete", "complete", "complete"]
    assert why in made.records[1].note


def test_a_failure_is_tried_again_as_often_as_told(lab: Callable[..., PythonObjective], tmp_path: Path) -> None:
    made = study(3)
    body = "note(x)\nif len(notes()) in (2, 3, 5, 6, 7):\n    raise OSError(len(notes()))\nreturn x"
    run(made, Local(lab(body)), Terms(retries=2))
    assert states(made) == ["complete", "complete", "failed"]
    tried = notes(tmp_path)
    assert len(tried) == 7
    assert len(set(tried)) == 3
    told = made.store.observations(made.log.record, 1)
    assert [(t.state, t.note.partition("\n")[0]) for t in told[:2]] == [
        (State.RUNNING, "OSError: 2"),
        (State.RUNNING, "OSError: 3"),
    ]
    assert told[2].value is not None


@pytest.mark.parametrize("attached", [0, 6])
def test_a_broken_objective_ends_the_run_early(attached: int, lab: Callable[..., PythonObjective]) -> None:
    made = study(50)
    made.attach_many([({"x": i / 10}, float(i)) for i in range(attached)])
    first = rf"3 experiments in a row failed.*trial {attached}\).*no such lamp 1\b"
    with pytest.raises(StudyError, match=first):
        run(made, Local(lab("note(x)\nraise KeyError(f'no such lamp {len(notes())}')")))
    assert states(made) == ["complete"] * attached + ["failed"] * 3


@pytest.mark.parametrize("kind", ["local", "processes", "dask"])
def test_an_objective_that_breaks_later_ends_the_run(kind: str, lab: Callable[..., PythonObjective]) -> None:
    made = study(50)
    objective = lab("note(x)\nif len(notes()) > 2:\n    raise OSError(f'the lamp broke in {len(notes())}')\nreturn x")
    with pytest.raises(StudyError, match=r"5 experiments in a row failed.*trial 2\).*the lamp broke in 3\b"):
        run(made, {"local": Local, "processes": one_process, "dask": one_on_dask}[kind](objective))
    assert states(made) == ["complete"] * 2 + ["failed"] * 5


def one_process(objective: PythonObjective) -> Executor:
    return Processes(objective, 1)


def one_on_dask(objective: PythonObjective) -> Executor:
    return Dask(objective, 1)


def test_leaving_the_interpreter_is_a_failure(lab: Callable[..., PythonObjective]) -> None:
    made = study(3)
    run(made, Local(lab("note(x)\nif len(notes()) == 2:\n    raise SystemExit(0)\nreturn x")))
    assert states(made) == ["complete", "failed", "complete"]
    assert "SystemExit" in made.records[1].note


@contextmanager
def ours(kind: str, objective: PythonObjective, workers: int) -> Iterator[Executor]:
    with Processes(objective, workers) if kind == "processes" else Dask(objective, workers) as executor:
        yield executor


@pytest.mark.covering
@pytest.mark.parametrize("kind", ["processes", "dask"])
def test_workers_killed_while_they_work(
    kind: str, lab: Callable[..., PythonObjective], tmp_path: Path, store_url: str
) -> None:
    """Twice one of the processes is killed in mid-evaluation: its trial is run again, and none is lost."""
    made = study(10, storage=store_url)
    # the first and the fifth that is evaluated hang until their process is killed
    line = "line = f'{os.getpid()} {x!r}'\nnote(line)\n"
    objective = lab(f"{line}if notes().index(line) in (0, 4):\n    time.sleep(1000)\nreturn x")
    hanging = {2: 0, 5: 4}

    def kill_two(trial: he.Trial) -> None:
        """When the third and the sixth trial first begin, whoever hangs is killed; it may be the one that begins."""
        if trial.number in hanging:
            place = hanging.pop(trial.number)
            until(lambda: len(notes(tmp_path)) > place)
            calling = psutil.Process(int(notes(tmp_path)[place].split()[0]))
            victim = calling if kind == "processes" else calling.parent()
            assert victim is not None
            victim.kill()

    with ours(kind, objective, 3) as executor:
        run(made, executor, Terms(lost_retries=10), RunListener(began=kill_two))
    assert not hanging
    assert states(made) == ["complete"] * 10
    assert all(trial.value == trial.params["x"] for trial in made.records)
    lost = [t for t in made.store.observations(made.log.record) if t.state is State.RUNNING]
    assert len(lost) >= 2
    assert all("lost" in t.note or "SIGKILL" in t.note for t in lost)
    evaluated = [float(line.split()[1]) for line in notes(tmp_path)]
    assert set(evaluated) == {trial.params["x"] for trial in made.records}
    made.close()


def test_side_by_side_proposals_know_those_that_run(lab: Callable[..., PythonObjective]) -> None:
    """Four run at the same time, each time; of a function this rough twelve values leave much to find out."""
    begun = "note(repr(x))\nlast = 4 * (notes().index(repr(x)) // 4) + 4\n"
    together = "while len(notes()) < last:\n    time.sleep(0.01)\n"
    made = study(12, first=4)
    run(made, Processes(lab(f"{begun}{together}return math.sin(40 * x) + x"), 4))
    designs = sorted(trial.params["x"] for trial in made.records)
    assert min(b - a for a, b in pairwise(designs)) > 1e-6
    assert states(made) == ["complete"] * 12


def test_a_run_that_is_interrupted_gives_back_what_it_has(lab: Callable[..., PythonObjective]) -> None:
    made = study(10)

    def interrupt(trial: he.Trial) -> None:
        if trial.number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(made, Local(lab("return x")), watch=RunListener(began=interrupt))
    entry = made.log.entries[3]
    assert entry.owner is None
    assert entry.lease_until is not None
    assert entry.losses == 0
    run(made, Local(lab("return x")))
    assert states(made) == ["complete"] * 10


class Away(MemoryStore):
    """A store that does not answer for a while: so many calls of each kind fail."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals = {"change": 0, "add": 0, "news": 0}

    def _answer(self, kind: str) -> None:
        if self.refusals[kind]:
            self.refusals[kind] -= 1
            raise StorageError("the server does not answer")

    def change(self, study, number, rule, by, since=None):
        self._answer("change")
        return super().change(study, number, rule, by, since)

    def add(self, study, new, by, turn=None, since=None):
        self._answer("add")
        return super().add(study, new, by, turn, since)

    def news(self, study, since=0):
        self._answer("news")
        return super().news(study, since)


def test_trouble_with_a_store_is_no_failure_of_a_function_that_a_study_calls() -> None:
    store = Away()
    made = study(3, storage=store)

    def measure(x: float) -> float:
        store.refusals["change"] = 1
        return x

    made.run(measure, 3, progress=False)
    assert states(made) == ["complete"] * 3


def test_a_function_whose_trial_was_told_meanwhile_gives_a_second_measurement() -> None:
    made = study(3)

    def measure(x: float) -> float:
        made.tell(made.records[-1], 7.0)
        return x

    made.run(measure, 1, progress=False)
    assert told(made) == [("complete", 7.0), ("complete", made.records[0].params["x"])]


@pytest.mark.parametrize("kind", ["change", "add", "news"])
def test_a_store_that_is_away_is_waited_for(kind: str, lab: Callable[..., PythonObjective], tmp_path: Path) -> None:
    """Nothing that runs is given up, nothing measured is lost, nothing is measured twice."""
    store = Away()
    made = study(4, storage=store)
    troubles: list[str] = []

    def leave(trial: he.Trial) -> None:
        store.refusals[kind] = 2 if trial.number == 1 else 0

    watch = RunListener(began=leave, trouble=lambda error: troubles.append(str(error)))
    # nobody renews a lease meanwhile, which would ask the store as well
    run(made, Processes(lab("note(x)\ntime.sleep(0.2)\nreturn x"), 2), Terms(lease=10 * PATIENCE), watch)
    assert states(made) == ["complete"] * 4
    assert len(notes(tmp_path)) == 4
    assert troubles
    held = "; the outcome of trial {} is held, and recorded once the store answers"
    assert set(troubles) <= {"the server does not answer" + end for end in ("", held.format(0), held.format(1))}


def test_a_study_that_was_deleted_ends_the_run(lab: Callable[..., PythonObjective]) -> None:
    made = study(5)

    def delete(trial: he.Trial) -> None:
        made.store.delete(made.log.record)

    with pytest.raises(Gone, match="no longer in memory"):
        run(made, Local(lab("return x")), watch=RunListener(began=delete))


def test_a_trial_is_given_back_even_if_the_executor_does_not_close(lab: Callable[..., PythonObjective]) -> None:
    class Stuck(Local):
        def close(self) -> None:
            super().close()
            raise OSError("stuck")

    def interrupt(trial: he.Trial) -> None:
        raise KeyboardInterrupt

    made = study(2)
    with pytest.raises(OSError, match="stuck"):
        run(made, Stuck(lab("return x")), watch=RunListener(began=interrupt))
    assert made.log.entries[0].owner is None


def test_of_two_who_want_a_lost_trial_one_gets_it() -> None:
    made = study()
    made.begin("far|elsewhere|1|1|a", lease=60.0)
    seen = made.log.entries[0]
    both = [take(seen, owner, Terms()) for owner in ("first", "second")]
    assert made.log.change(0, both[0]).owner == "first"
    with pytest.raises(Taken, match="another worker"):
        made.log.change(0, both[1])


def test_a_worker_that_is_seen_to_live_has_more_time() -> None:
    """An objective may let nothing else run, not even the renewal of the lease."""
    made = study()
    made.begin(new_owner(), lease=1.0)
    passed = 0.0
    lookout = LeaseObserver(Terms(lease=1.0), lambda: passed)
    assert lookout.claim(made, "another") is None
    passed = 61.0
    assert lookout.claim(made, "another") is None
    passed = 61.5
    assert lookout.claim(made, "another") is not None


def test_what_was_given_back_is_free_whatever_the_clock_says() -> None:
    made = study()
    mine = new_owner()
    made.begin(mine, lease=60.0)
    give_back(made, 0, mine)
    made.log.change(0, lambda old, now: replace(old, lease_until=(old.lease_until or 0.0) + 3600.0))
    assert LeaseObserver(Terms()).claim(made, "another") is not None


@pytest.mark.parametrize(
    ("workers", "proposing", "evaluating", "places"),
    [(1, 1.0, 2.0, 1), (8, 1.0, 2.0, 10), (8, 0.03, 2.0, 8), (8, 1.0, 0.0, 8), (2, 0.1, 0.1, 3)],
)
def test_proposals_are_made_ahead_where_workers_would_wait(
    workers: int, proposing: float, evaluating: float, places: int, lab: Callable[..., PythonObjective]
) -> None:
    with Processes(lab("return x"), workers) as executor:
        going = _Run(study(), executor, Terms(), RunListener())
        going.proposing.add(proposing)
        if evaluating:
            going.evaluating.add(evaluating)
        assert going._places() == places


FAR = "far|elsewhere|9|1|a"


def measured(value: float) -> Evaluation:
    return Evaluation({"": he.Measurement(value)})


def told(made: he.Study) -> list[tuple[str, float | None]]:
    return [(trial.state.value, trial.value) for trial in made.records]


@pytest.mark.parametrize("now", ["another's", "given back", "withdrawn"])
def test_the_first_result_is_that_of_the_trial_whoever_has_it_now(now: str) -> None:
    made, mine = study(), new_owner()
    made.begin(mine, lease=1.0)
    give_back(made, 0, mine)
    if now == "another's":
        made.log.change(0, lambda old, now: replace(old, owner=FAR))
    elif now == "withdrawn":
        made.withdraw(0)
    finished = finish(made, 0, mine, measured(2.5), Terms())
    assert told(made) == [("complete", 2.5)]
    assert "trial 0 is no longer this worker's" in finished.late
    assert "is kept as that of the trial: 2.5" in finished.late
    assert f"process {mine.split('|')[2]}" in made.records[0].note
    assert finish(made, 0, mine, measured(2.5), Terms()).late == ""  # the answer of the store was lost
    assert told(made) == [("complete", 2.5)]


def test_a_late_result_is_a_second_measurement_where_another_one_was_told() -> None:
    made, slow = study(), new_owner()
    begun = made.begin(slow, lease=1.0)
    assert begun is not None
    made.log.change(0, lambda old, now: replace(old, owner=FAR))
    finish(made, 0, FAR, measured(1.0), Terms())
    for _ in range(2):  # as if the first answer of the store had been lost
        finished = finish(made, 0, slow, measured(2.5), Terms())
        assert "trial 0 is no longer this worker's, but complete" in finished.late
        assert "is kept as trial 1, a second measurement: 2.5" in finished.late
    assert told(made) == [("complete", 1.0), ("complete", 2.5)]
    assert made.records[1].params == begun.params
    assert made.records[1].note.startswith("second measurement of trial 0, by process ")
    assert made.log.trials_left == 5  # it takes nothing of the budget


def test_a_late_success_counts_beside_a_failure_that_was_told() -> None:
    made, slow = study(), new_owner()
    made.begin(slow, lease=1.0)
    made.tell(0, failed="the lamp was dark")
    finish(made, 0, slow, measured(2.5), Terms())
    assert told(made) == [("failed", None), ("complete", 2.5)]


@pytest.mark.parametrize("now", ["another's", "withdrawn", "complete"])
def test_a_late_failure_says_nothing_of_the_design(now: str) -> None:
    """Whatever stopped the worker may have made it fail: it is kept in the history."""
    made, slow = study(), new_owner()
    made.begin(slow, lease=1.0)
    made.log.change(0, lambda old, now: replace(old, owner=FAR))
    if now == "withdrawn":
        made.withdraw(0)
    elif now == "complete":
        finish(made, 0, FAR, measured(1.0), Terms())
    before = made.records[0]
    for _ in range(2):
        finish(made, 0, slow, Evaluation({}, "did not end within 10 s"), Terms())
    after = made.records[0]
    assert (after.state, after.measurements) == (before.state, before.measurements)
    history = [each.note for each in made.store.observations(made.log.record, 0)]
    assert sum("did not end within 10 s" in note for note in history) == (now != "complete")
    assert made.success is None


def test_a_lost_worker_is_no_failure_of_the_design_and_its_result_is_still_taken() -> None:
    """Four workers on other machines are not heard of, one after the other; then all of them come back with a value."""
    made = study()
    passed, owners = 0.0, [f"far|elsewhere|{number}|1|a" for number in range(4)]
    lookout = LeaseObserver(Terms(lease=60.0), lambda: passed)
    made.begin(owners[0], lease=60.0)
    for owner in (*owners[1:], FAR):
        assert lookout.claim(made, owner) is None
        passed += 61.0
        assert (lookout.claim(made, owner) is None) == (owner == FAR)
    [trial] = made.records
    assert trial.state is State.WITHDRAWN
    assert trial.note.startswith("its worker was lost (time 4); withdrawn")
    assert (made.log.entries[0].owner, made.log.entries[0].lease_until) == (None, None)
    made.attach({"x": 0.5}, 1.0)
    assert made.success is None  # nothing was learned of it
    for value, owner in enumerate(owners):
        finish(made, 0, owner, measured(float(value)), Terms())
    assert told(made) == [("complete", value) for value in (0.0, 1.0, 1.0, 2.0, 3.0)]
    assert [trial.number for trial in made.records if trial.note.startswith("second measurement of trial 0")] == [
        2,
        3,
        4,
    ]


def test_one_whose_evaluators_are_lost_each_time_is_withdrawn(lab: Callable[..., PythonObjective]) -> None:
    """And a run that loses them all ends."""
    made = study(50)
    objective = lab("import signal\nos.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(StudyError, match=r"3 experiments in a row failed.*SIGKILL"):
        run(made, Processes(objective, 1), Terms(lost_retries=1))
    assert states(made) == ["withdrawn"] * 3


def test_a_run_keeps_what_comes_late_and_says_so(lab: Callable[..., PythonObjective]) -> None:
    """The trial is told while it is evaluated."""
    made = study(1)
    said: list[str] = []

    def lose(trial: he.Trial) -> None:
        made.store.change(made.log.record, 0, lambda old, now: replace(old, owner=FAR), "me")
        made.tell(0, 7.0)

    watch = RunListener(began=lose, trouble=lambda error: said.append(str(error)))
    run(made, Local(lab("return 0.1234567890123")), watch=watch)
    [sentence] = said
    assert "kept as trial 1, a second measurement: 0.1234567890123" in sentence
    assert told(made) == [("complete", 7.0), ("complete", 0.1234567890123)]


def test_a_run_does_not_claim_what_it_still_evaluates(lab: Callable[..., PythonObjective]) -> None:
    """Its lease was lost, and whoever took the trial over has left it; another place is free."""
    made = study(2)

    def lose(trial: he.Trial) -> None:
        if trial.number == 0:
            made.store.change(made.log.record, 0, lambda old, now: replace(old, owner=None), "me")

    objective = lab("note(x)\nwhile len(notes()) < 2:\n    time.sleep(0.01)\nreturn x")
    run(made, Processes(objective, 2), watch=RunListener(began=lose, trouble=lambda error: None))
    assert told(made) == [("complete", trial.params["x"]) for trial in made.records]


def test_what_has_ended_when_a_run_is_interrupted_is_recorded(lab: Callable[..., PythonObjective]) -> None:
    """Two have ended while the third begins; then somebody presses Ctrl-C."""
    made = study(10)
    executor = Processes(lab("note(x)\nreturn x"), 3)

    def interrupt(trial: he.Trial) -> None:
        if trial.number == 2:
            until(lambda: all(future.done() for future in executor._futures))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(made, executor, watch=RunListener(began=interrupt))
    assert states(made) == ["complete"] * 3


def test_what_cannot_be_recorded_at_the_end_is_said_with_its_value(lab: Callable[..., PythonObjective]) -> None:
    made = study(3)
    said: list[str] = []

    def delete(trial: he.Trial) -> None:
        made.store.delete(made.log.record)

    with pytest.raises(Gone):
        run(
            made,
            Local(lab("return 0.1234567890123")),
            watch=RunListener(began=delete, trouble=lambda error: said.append(str(error))),
        )
    assert any("outcome of trial 0 is not recorded, tell it by hand: 0.1234567890123" in each for each in said)


class Jumping(MemoryStore):
    """A store whose clock is set by somebody."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


@pytest.mark.parametrize("hours", [5.0, -5.0, 24.0, -24.0])
def test_clocks_that_jump_end_no_lease_and_prolong_none(hours: float) -> None:
    store = Jumping()
    made = study(storage=store)
    worker = "far|elsewhere|1|1|a"
    made.begin(worker, lease=60.0)
    passed = 0.0
    lookout = LeaseObserver(Terms(lease=60.0), lambda: passed)
    for step in range(60):
        passed = 10.0 * step
        store.ahead = 3600.0 * hours if step % 7 > 3 else 0.0
        if step % 2 == 0:
            renew(store, made.log.record, 0, worker, 60.0)
        assert lookout.claim(made, "another") is None
    store.ahead = 3600.0 * hours
    silent = 0.0
    while lookout.claim(made, "another") is None:
        passed, silent = passed + 10.0, silent + 10.0
    assert 60.0 <= silent <= 80.0


@pytest.mark.parametrize("hours", [24.0, -24.0])
def test_a_clock_that_jumps_by_a_day_in_the_middle_of_a_run(hours: float, lab: Callable[..., PythonObjective]) -> None:
    store = Jumping()
    made = study(8, first=4, storage=store, stop_when_exhausted=False)

    def jump(trial: he.Trial) -> None:
        store.ahead = 3600.0 * hours * (trial.number % 2)

    run(made, Processes(lab("return math.sin(9 * x)"), 2), watch=RunListener(began=jump))
    assert states(made) == ["complete"] * 8
    assert all(trial.value == math.sin(9 * trial.params["x"]) for trial in made.records)
    assert {entry.losses for entry in made.log.entries.values()} == {0}


def test_leases_are_renewed_while_an_experiment_lasts(
    store_url: str, lab: Callable[..., PythonObjective], tmp_path: Path
) -> None:
    """An experiment that takes longer than a lease; another worker looks for lost trials all the time, finds none."""
    made = study(1, storage=store_url)
    other = study(1, storage=store_url)
    watching = study(1, storage=store_url)
    objective = lab("while 'end' not in notes():\n    time.sleep(0.02)\nreturn x")
    results: list[str] = []
    thread = threading.Thread(target=lambda: results.append(run(other, Local(objective), Terms(lease=2.0))))
    began = threading.Event()

    def lease_until() -> float:
        watching.log.sync()
        return watching.log.entries[0].lease_until or 0.0

    def start(trial: he.Trial) -> None:
        began.set()
        thread.start()
        first = lease_until()
        until(lambda: lease_until() > first + 2.0, "to renew the lease for its whole length")
        (tmp_path / "notes").write_text("end\n")

    run(made, Processes(objective, 1), Terms(lease=2.0), RunListener(began=start))
    thread.join(timeout=PATIENCE)
    assert began.is_set()
    assert results == ["the budget of 1 trial is used up"]
    assert made.log.entries[0].losses == 0
    assert states(made) == ["complete"]
    for each in (made, other, watching):
        each.close()


def test_renewing_needs_the_owner(sqlite_url: str) -> None:
    made = study(storage=open_store(sqlite_url))
    owner = new_owner()
    made.begin(owner, lease=10.0)
    before = made.log.entries[0].lease_until
    renew(made.store, made.log.record, 0, "somebody else", 1000.0)
    made.log.sync()
    assert made.log.entries[0].lease_until == before
    renew(made.store, made.log.record, 0, owner, 1000.0)
    made.log.sync()
    assert before is not None
    assert made.log.entries[0].lease_until == pytest.approx(before + 990.0, abs=100.0)
