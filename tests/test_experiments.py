"""Comparisons: runs are recorded step by step, go on where they stopped, and fail alone."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from multiprocessing import Pipe, active_children
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks.verbs import kill, started

import hentropy as he
from experiments.executors import Processes, RunNews, executor_of, one_thread, run
from experiments.ledger import Ledger
from experiments.methods import BELIEF_TASKS, LEVEL_TASKS, METHODS, TASKS, Task, method
from experiments.plan import Plan, Results
from experiments.run import RunJob, RunKey, Step, replayed
from experiments.scores import best_score, f1, score, scored_labels
from experiments.summary import curve, difference, final, paired, seconds
from experiments.tables import belief_markdown, belief_rows, task_markdown, task_table
from hentropy.bench.problems import problem
from support.steps import HeldRun, step_with, swept

SMALL = Task("multihills-two-levels", first=4, queries=3, methods=("hentropy", "random", "uncertainty"))
ROOT = Path(__file__).parents[1]


def timeless(found: list[Step]) -> list[Step]:
    """Steps without what differs from machine to machine."""
    return [replace(each, fit_seconds=0.0, acquisition_seconds=None) for each in found]


def run_through(job: RunJob) -> list[Step]:
    with one_thread():  # as workers do
        return list(job.steps())


def test_a_run_begins_with_the_first_designs_and_ends_after_its_queries() -> None:
    found = run_through(RunKey(SMALL, "random", 0))
    assert [each.number for each in found] == [0, 1, 2, 3]
    assert found[0].query is None
    assert all(each.query is not None and each.gain is not None and each.gain >= 0 for each in found[1:])
    on = problem(SMALL.problem)
    assert [each.value for each in found[1:]] == [on.at(**(each.query or {})) for each in found[1:]]
    assert all(0 <= each.score <= 1 for each in found)
    assert all(each.regret is not None and each.regret >= 0 for each in found)


def test_first_designs_are_shared_by_all_methods_of_a_seed() -> None:
    on = problem(SMALL.problem)
    first = [[t.params for t in replayed(RunKey(SMALL, name, 3), on, ()).records] for name in SMALL.methods]
    assert first[0] == first[1] == first[2]
    other = [t.params for t in replayed(RunKey(SMALL, "random", 4), on, ()).records]
    assert other != first[0]


@pytest.mark.parametrize("name", ["hentropy", "random", "uncertainty", "straddle"])
def test_a_run_that_goes_on_equals_one_that_was_never_stopped(name: str) -> None:
    job = RunKey(SMALL, name, 1)
    whole = run_through(job)
    for stopped_after in (1, 3):
        with one_thread():
            rest = list(job.steps(whole[:stopped_after]))
        assert timeless(whole[:stopped_after] + rest) == timeless(whole)


@pytest.mark.parametrize(("done", "rest"), [(4, 0), (5, 0)])
def test_a_run_that_is_done_has_no_more_steps(done: int, rest: int) -> None:
    job = RunKey(SMALL, "random", 1)
    assert len(list(job.steps([step_with(i) for i in range(done)]))) == rest


def test_killed_at_any_step_and_started_again_it_equals_one_that_was_never_stopped(tmp_path: Path) -> None:
    jobs: list[RunJob] = [RunKey(SMALL, name, 0) for name in ("hentropy", "random")]
    # three pieces of news, and a kill, once in the middle of what follows; and so on to the end
    for pause in (0.0, 0.15, 0.0, None):
        here, there = Pipe()
        process = started(swept, tmp_path / "results", jobs, there)
        there.close()
        if pause is None:
            with suppress(EOFError):
                while True:
                    here.recv()
                    here.send(None)
            process.join()
            assert process.exitcode == 0
        else:
            for _ in range(3):
                here.recv()
                here.send(None)
            time.sleep(pause)
            kill(process)
        here.close()
    ledger = Ledger.existing(tmp_path / "results")
    for job in jobs:
        assert timeless(ledger.steps(job)) == timeless(run_through(job))


MASTER = """
import sys
from pathlib import Path
from experiments.executors import Processes
from experiments.ledger import Ledger
from experiments.methods import Task
from experiments.run import RunKey
if __name__ == "__main__":
    task = Task("multihills-two-levels", first=4, queries=3, methods=("hentropy", "random"))
    ledger = Ledger.open(Path(sys.argv[1]))
    jobs = [RunKey(task, name, 0) for name in task.methods]
    with ledger.writing():
        Processes(2).work(jobs, ledger, lambda news: print(news.steps, flush=True))
"""


def test_workers_whose_master_is_killed_end_and_blame_no_run(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(MASTER)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "results")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.kill()
        process.stdout.read()  # ends when the last of them has ended
    assert list((tmp_path / "results").rglob("*.jsonl"))
    assert not list((tmp_path / "results").rglob("*.failed"))


def test_one_run_that_fails_is_written_down_and_the_others_go_on(tmp_path: Path) -> None:
    top = Task("alpine-2-top-5", first=4, queries=1, methods=("straddle", "random"))
    ledger = Ledger.open(tmp_path / "results")
    news: list[RunNews] = []
    Processes(1).work([RunKey(top, name, 0) for name in top.methods], ledger, news.append)
    ended = {each.job.method: each.failed for each in news if each.ended}
    assert ended["random"] is None
    assert "LevelSets" in (ended["straddle"] or "")
    assert "Traceback" in (ledger.failure(RunKey(top, "straddle", 0)) or "")
    assert len(ledger.steps(RunKey(top, "random", 0))) == 2
    plan = Plan((top,), range(1))
    assert [job.method for job in Results(ledger, plan).failures()] == ["straddle"]
    assert task_table(Results(ledger, plan), top.problem).missing == ("straddle",)


def test_a_worker_that_dies_fails_its_run_alone(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "results")
    for number in (1, 2, 3):
        (tmp_path / str(number)).touch()
    jobs = [HeldRun(SMALL, "random", seed, folder=tmp_path) for seed in range(3)]
    news: list[RunNews] = []
    others = active_children()

    def report(each: RunNews) -> None:
        if not news:  # both workers are in the middle of a run: they cannot go on after its first step
            victims = [child for child in active_children() if child not in others]
            assert len(victims) == 2
            os.kill(min(child.pid for child in victims if child.pid), signal.SIGKILL)
            (tmp_path / "0").touch()
        news.append(each)

    Processes(2).work(jobs, ledger, report)
    failed = [each.job for each in news if each.failed]
    assert len(failed) == 1
    assert "exit code -9" in (ledger.failure(failed[0]) or "")
    assert all(len(ledger.steps(job)) == 4 for job in jobs if job not in failed)
    # the same again mends it, with what two workers found equal to what one does here
    Processes(2).work(failed, ledger, news.append)
    assert ledger.failure(failed[0]) is None
    assert timeless(ledger.steps(failed[0])) == timeless(run_through(failed[0]))


def test_a_line_cut_off_by_a_kill_is_removed_when_the_run_goes_on(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    job = RunKey(SMALL, "random", 0)
    ledger.begin(job)
    for number in range(2):
        ledger.add(job, step_with(number))
    with ledger.path(job).open("ab") as file:
        file.write(b'{"number": 2, "que')
    assert len(ledger.steps(job)) == 2
    assert len(ledger.begin(job)) == 2
    ledger.add(job, step_with(2))
    assert ledger.steps(job) == [step_with(number) for number in range(3)]


def test_foreign_and_broken_folders_are_refused_and_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.tex").write_text("dear")
    with pytest.raises(he.InputError, match="does not hold results"):
        Ledger.open(foreign)
    assert [path.name for path in foreign.iterdir()] == ["chapter.tex"]
    with pytest.raises(he.InputError, match="is a file"):
        Ledger.open(foreign / "chapter.tex")
    own = tmp_path / "own"
    Ledger.open(own)
    for text, said in [
        ("{", "is broken"),
        ('{"format": "hentropy results", "version": 7}', "version 7"),
        ('{"format": "a song", "version": 1}', "'a song'"),
    ]:
        (own / "hentropy-results.json").write_text(text)
        with pytest.raises(he.InputError, match=said):
            Ledger.open(own)


def test_broken_and_other_runs_are_refused(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    job = RunKey(SMALL, "random", 0)
    ledger.begin(job)
    ledger.add(job, step_with(0))
    good = ledger.path(job).read_text()
    for text, said in [
        (good + "{nonsense\n", "line 3 .* is broken"),
        (good + '{"number": 1}\n', "line 3 .* is not a step"),
        (good.replace('"score": 0.5', '"score": null'), "line 2 .* is not a step: score is None"),
        (good.replace('"gain": null', '"gain": "much"'), "line 2 .* is not a step: gain is 'much'"),
        (good.replace('"query": null', '"query": {"x1": 1.0}'), "line 2 .* is not a step: step 0 has the query"),
        (good.replace(f'"hentropy": "{he.__version__}"', '"hentropy": "0.0.1"'), "version is '0.0.1' there"),
        (good + good.splitlines()[1] + "\n", "step 0 where step 1"),
        ("[]\n", "line 1 .* is broken"),
        ('{"hello": 1}\n', "does not begin with the settings"),
        (good.replace('"first": 4', '"first": 9'), "first is 9 there and 4 now"),
    ]:
        ledger.path(job).write_text(text)
        with pytest.raises(he.InputError, match=said):
            ledger.begin(job)
        assert ledger.path(job).read_text() == text


def test_quick_and_whole_runs_of_a_slow_method_are_not_mixed(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    ledger.begin(RunKey(SMALL, "one-shot-paper", 0, quick=True))
    with pytest.raises(he.InputError, match="solver is"):
        ledger.begin(RunKey(SMALL, "one-shot-paper", 0))


def test_a_run_waits_for_a_worker_that_still_ends_its_step(tmp_path: Path) -> None:
    """A worker whose master was killed in the middle of a long step: the same command must not run beside it."""
    ledger, job = Ledger.open(tmp_path), RunKey(SMALL, "random", 0)
    whole = run_through(job)
    with ledger.claimed(job):
        ledger.begin(job)
        ledger.add(job, whole[0])
        news: list[RunNews] = []
        again = threading.Thread(target=run, args=(job, Ledger(tmp_path), news.append))
        again.start()
        time.sleep(0.3)
        assert not news
        ledger.add(job, whole[1])
    again.join()
    assert timeless(ledger.steps(job)) == timeless(whole)
    assert news[0].steps == 2


def test_results_are_of_the_seeds_of_the_plan(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    for seed in (0, 7):
        ledger.begin(RunKey(SMALL, "random", seed))
        ledger.add(RunKey(SMALL, "random", seed), step_with(0))
    found = Results(ledger, Plan((SMALL,), range(2))).runs(SMALL.problem, "random")
    assert {seed: len(each) for seed, each in found.items()} == {0: 1, 1: 0}


def test_two_processes_do_not_write_to_one_folder(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    with ledger.writing(), pytest.raises(he.StudyError, match="another process"), Ledger.open(tmp_path).writing():
        pass
    with Ledger.open(tmp_path).writing():
        pass


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(he.InputError, match=r"did you mean 'alpine-3-top-3'\?.*multihills-sequence"):
        Plan.of(["alpine-3-top-4"])
    with pytest.raises(he.InputError, match="uncertainty"):
        method("uncertain")
    for seeds in (range(0), range(10**9)):
        with pytest.raises(he.InputError, match="at least 1 seed"):
            Plan.of(["alpine-2-top-5"], seeds=seeds)
    with pytest.raises(he.InputError, match="at least 1 worker"):
        executor_of("processes", 0)


def test_every_task_has_its_problem_and_its_methods() -> None:
    for name, each in (*TASKS.items(), *BELIEF_TASKS.items(), *LEVEL_TASKS.items()):
        on = problem(name)
        assert on.name == name
        assert best_score(on) is not None
        assert set(each.methods) <= set(METHODS)
        for contender in each.methods:
            assert METHODS[contender].make(on, quick=False) is not None


# first designs, queries, bounds, what the decision is made of: k, weight and cap, or levels and points, or targets
DIVERSE, BOX_5 = {"weight": 10.0, "cap": 1.25}, (0.0, 5.0)
PAPER: dict[str, tuple[int, int, tuple[float, float], dict[str, object]]] = {
    "alpine-2-top-5": (10, 40, BOX_5, {"k": 5, **DIVERSE}),
    "alpine-3-top-3": (10, 40, BOX_5, {"k": 3, **DIVERSE}),
    "alpine-5-top-5": (10, 50, BOX_5, {"k": 5, **DIVERSE}),
    "vaccination-pennsylvania-top-5": (5, 40, (-80.52, -74.7), {"k": 5, "weight": 20.0, "cap": 0.3}),
    "multihills-two-levels": (5, 30, (0.0, 1.0), {"thresholds": (1.4, 2.8), "at": 144}),
    "multihills-one-level": (5, 30, (0.0, 1.0), {"thresholds": (2.1,), "at": 100}),
    "alpine-2-one-level": (10, 40, BOX_5, {"thresholds": (0.45,), "at": 225}),
    "alpine-2-two-levels": (10, 40, BOX_5, {"thresholds": (0.35, 0.6), "at": 225}),
    "night-light-one-level": (10, 40, (-80.52, -74.7), {"thresholds": (0.5,), "at": 225}),
    "vaccination-pennsylvania-sequence": (5, 40, (-80.52, -74.7), {"targets": (0.3, 0.4, 0.5, 0.6, 0.7), "power": 2}),
    "multihills-sequence": (5, 40, (0.0, 1.0), {"targets": (4.0, 3.0, 2.0, 1.0, 0.05), "power": 2}),
}


def test_settings_are_those_of_the_paper() -> None:
    def pinned(name: str, task: Task) -> tuple[object, ...]:
        on, parts = problem(name), PAPER[name][3]
        told = {key: getattr(on.decision, key) for key in parts}
        made_of = {key: len(value) if key == "at" else value for key, value in told.items()}
        return task.first, task.queries, tuple(on.space.bounds[:, 0].tolist()), made_of

    assert {name: pinned(name, task) for name, task in TASKS.items()} == PAPER


def test_scores_are_those_of_the_paper() -> None:
    level = problem("multihills-two-levels")
    assert level.best is not None
    assert level.best.action is not None
    labels = level.best.action.clone()
    assert score(level, labels) == 1.0
    labels[0, :36] = 1.0 - labels[0, :36]  # 36 of 2 x 144 labels are wrong
    assert score(level, labels) == pytest.approx(1 - 36 / 288)
    top = problem("alpine-2-top-5")
    assert top.best is not None
    assert score(top, top.best.action) == pytest.approx(-top.best.loss)


def test_f1_counts_what_is_found_and_what_is_wrong() -> None:
    true = torch.tensor([True, True, True, False, False, False])
    assert f1(true, true) == 1.0
    assert f1(~true, true) == 0.0
    said = torch.tensor([True, True, False, True, False, False])  # precision and recall 2/3
    assert f1(said, true) == pytest.approx(2 / 3)
    assert f1(torch.zeros_like(true), true) == 0.0
    assert f1(torch.ones_like(true), true) == pytest.approx(2 * 3 / 9)


def test_labels_of_published_tasks_are_scored_at_points_of_their_own() -> None:
    """By what the belief says there: the sign of the mean less the threshold, and of mean - 1.96 sd."""
    on = problem("exp-sin-level")
    X = on.space.sample(40, 2)
    belief = he.fit(X, on(X), hyperparameters="map")
    found = scored_labels(on, belief)
    assert found is not None
    assert on.scored is not None
    mean, var = belief.moments(on.scored.settled_points, he.Needs.VARIANCE).total()
    lower = mean + float(torch.special.ndtri(torch.tensor(0.025).double())) * var.sqrt()
    for labels, values in zip(found, (mean, lower), strict=True):
        clear = (values - 2.0).abs() > 1e-9
        assert torch.equal(labels[0, clear] > 0.5, values[clear] > 2.0)
    assert 0.0 < score(on, found[1]) < score(on, found[0]) < 1.0
    assert on.regret(found[0]) == float(((mean > 2.0) != (on(on.scored.settled_points) > 2.0)).sum())


def test_runs_of_published_tasks_record_both_scores(tmp_path: Path) -> None:
    task = replace(LEVEL_TASKS["exp-sin-level"], queries=1, methods=("hentropy", "straddle"))
    ledger = Ledger.open(tmp_path)
    for name in task.methods:
        Processes(1).work([RunKey(task, name, 0)], ledger, lambda news: None)
        steps = ledger.steps(RunKey(task, name, 0))
        assert [step.conservative is not None for step in steps] == [True, True]
    table = task_table(Results(ledger, Plan((task,), range(1))), task.problem)
    assert table.score == "F1"
    text = task_markdown(table)
    assert "| conservative after 1 |" in text
    assert "at least 0.975" in text


def made_up(scores_by_seed: dict[int, list[float]]) -> dict[int, list[Step]]:
    return {seed: [step_with(i, value) for i, value in enumerate(each)] for seed, each in scores_by_seed.items()}


def test_curves_are_means_with_standard_errors_over_whole_runs() -> None:
    found = curve(made_up({0: [1.0, 2.0], 1: [3.0, 6.0], 2: [9.0]}), queries=1)
    assert found is not None
    assert found.mean.tolist() == [2.0, 4.0]
    assert found.error.tolist() == pytest.approx([1.0, 2.0])  # sd sqrt(2) and 2 sqrt(2), over sqrt(2)
    assert found.seeds == 2
    assert curve(made_up({0: [1.0]}), queries=1) is None


def test_differences_are_paired_by_seed() -> None:
    first = made_up({seed: [0.0, seed + 1.0] for seed in range(10)})
    second = made_up({seed: [0.0, float(seed)] for seed in range(3, 12)})
    gap = difference(first, second, queries=1)
    assert gap is not None
    assert (gap.mean, gap.low, gap.high, gap.seeds) == (1.0, 1.0, 1.0, 7)
    assert difference(first, made_up({99: [0.0, 1.0]}), queries=1) is None
    assert final(second, 1)[5] == 5.0


def test_the_bootstrap_interval_covers_as_often_as_it_says() -> None:
    """40 normal differences of mean 0: an interval of 95 % misses zero in about 6 % of 300 samples; 12 % is 4.4 sd."""
    generator = np.random.default_rng(0)
    missed = 0
    for _ in range(300):
        gaps = dict(enumerate(generator.normal(size=40)))
        found = paired(gaps, dict.fromkeys(gaps, 0.0))
        assert found is not None
        missed += found.low > 0 or found.high < 0
    assert 3 <= missed <= 36


def test_seconds_are_medians() -> None:
    runs = {0: [replace(step_with(i), fit_seconds=f, acquisition_seconds=a) for i, (f, a) in enumerate(TIMES)]}
    assert seconds(runs) == (2.0, 0.3)


TIMES = [(0.1, None), (0.3, 1.0), (0.5, 2.0), (0.2, 9.0), (0.4, 3.0), (0.3, 1.5)]


def test_tables_name_the_best_baseline_and_the_difference_to_it(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    plan = Plan((SMALL,), range(2))
    told = {"hentropy": [0.5, 0.7, 0.9, 1.0], "uncertainty": [0.5, 0.6, 0.6, 0.8], "random": [0.5, 0.5, 0.6, 0.7]}
    for name, values in told.items():
        for seed in range(2):
            job = RunKey(SMALL, name, seed)
            ledger.begin(job)
            for number, value in enumerate(values):
                ledger.add(job, step_with(number, value + 0.01 * seed))
    table = task_table(Results(ledger, plan), SMALL.problem)
    assert table.baseline == "uncertainty"
    assert [row.method for row in table.rows] == ["hentropy", "uncertainty", "random"]
    assert table.rows[0].against is not None
    assert table.rows[0].against.mean == pytest.approx(0.2)
    assert table.rows[1].against is None
    text = task_markdown(table)
    assert "| hentropy (EHIG) | 2 | 0.705 ± 0.005 | 1.005 ± 0.005 |" in text
    assert "| +0.200 |" in text  # two seeds are too few for an interval
    assert "a different model" not in text
    assert "the best baseline |" in text


def test_beliefs_are_compared_seed_by_seed_and_with_the_best_rule(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    task = replace(SMALL, methods=("hentropy-mixture", "hentropy-default", "pom", "random"))
    told = {"hentropy-mixture": 0.8, "hentropy-default": 0.9, "pom": 0.85, "random": 0.7}
    for name, value in told.items():
        for seed in range(6):
            job = RunKey(task, name, seed)
            ledger.begin(job)
            for number in range(task.queries + 1):
                ledger.add(job, step_with(number, value + 0.01 * seed))
    rows = belief_rows(Results(ledger, Plan((task,), range(6))))
    (row,) = rows
    assert row.gap.mean == pytest.approx(0.1)
    assert row.rule == METHODS["pom"].label
    assert row.against is not None
    assert row.against.mean == pytest.approx(0.05)
    text = belief_markdown(rows)
    assert "| accuracy after 3 | 0.825 ± 0.008 | 0.925 ± 0.008 | +0.100 [+0.100, +0.100] | 6 |" in text
    assert "| probability of misclassification | +0.050 [+0.050, +0.050] | 6 |" in text


def test_a_lucky_seed_is_not_the_best_baseline(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    for name, seeds, value in (("hentropy", 6, 0.9), ("uncertainty", 6, 0.7), ("random", 1, 0.8)):
        for seed in range(seeds):
            job = RunKey(SMALL, name, seed)
            ledger.begin(job)
            for number in range(SMALL.queries + 1):
                ledger.add(job, step_with(number, value))
    table = task_table(Results(ledger, Plan((SMALL,), range(6))), SMALL.problem)
    assert [row.method for row in table.rows] == ["hentropy", "random", "uncertainty"]
    assert table.baseline == "uncertainty"
    assert "| -0.200 |" not in task_markdown(table)
    assert "+0.200 [+0.200, +0.200]" in task_markdown(table)


def test_steps_are_json_and_back() -> None:
    step = run_through(RunKey(replace(SMALL, queries=1), "uncertainty", 0))[1]
    assert Step.from_json(json.loads(json.dumps(step.to_json()))) == step
