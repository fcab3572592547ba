"""The published runs of De Ath et al. 2021: the functions, the runs from their first designs, and what tables say."""

import math
import os
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hentropy as he
from experiments.command import main as command
from experiments.greed import Against, GreedRow, _tables, greed_results
from experiments.ledger import Ledger
from experiments.peers import (
    CHOOSERS,
    GREED,
    GREED_METHODS,
    Arena,
    PeerRun,
    StudyChooser,
    greed_task,
    peer_plan,
)
from experiments.run import Step
from hentropy.bench.problems.published_minima import (
    CHECKPOINTS,
    DESIGNS,
    MINIMA,
    RESULTS,
    first_designs,
    first_values,
    published_minimum,
    published_results,
)
from hentropy.errors import InputError
from support.commands import said_by

PUBLISHED = os.environ.get("HENTROPY_PUBLISHED", "")
"""The folder of the published designs and results, where somebody has it."""

RULES = ("EI", "PI", "LHS")

reproduce = partial(said_by, command)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Designs and results of two runs, as the published ones are laid out; made up."""
    folder = tmp_path / "published"
    folder.mkdir()
    arrays: dict[str, Any] = {}
    lines = ["problem,d,run,method,first,after_30,after_50,after_100,after_250"]
    for name in MINIMA:
        on = published_minimum(name)
        for run in (1, 2):
            X = on.space.sample(2 * on.space.dim, run)
            arrays |= {f"{name}_{run}_X": X.numpy(), f"{name}_{run}_Y": on(X).numpy()}
            lines += [f"{name},{on.space.dim},{run},{rule},9,3,2,1,{place}" for place, rule in enumerate(RULES)]
    np.savez(folder / DESIGNS, **arrays)
    (folder / RESULTS).write_text("\n".join(lines) + "\n")
    return folder


MINIMA_KNOWN = {
    "WangFreitas": -4.0,
    "Branin": 0.397887,
    "GoldsteinPrice": 3.0,
    "logGoldsteinPrice": 1.098612,
    "SixHumpCamel": -1.031628,
    "Hartmann6": -3.322368,
    "StyblinskiTang": -391.66166,
    "logStyblinskiTang": 2.120865,
    "Rosenbrock": 0.0,
    "logRosenbrock": -0.693147,
    "GSobol": 2.0**-10,
    "logGSobol": -6.931472,
}


def test_the_functions_are_least_where_and_as_published() -> None:
    assert set(MINIMA_KNOWN) == set(MINIMA)
    for name, least in MINIMA_KNOWN.items():
        on = published_minimum(name)
        assert on.best is not None
        assert on.best.action is not None
        assert on.best.loss == pytest.approx(least, rel=1e-6, abs=1e-6), name
        assert torch.equal(on.space.project(on.best.action), on.best.action), name
        near = on.space.project(on.best.action + 1e-3 * (on.space.sample(500, 0) - on.best.action))
        for designs in (on.space.sample(2000, 0), near):
            assert float(on(designs).min()) >= least - 1e-5 * (1.0 + abs(least)), name


def by_hand(name: str, x: list[float]) -> float:
    """The functions again, in plain Python."""
    if name == "WangFreitas":
        return -2 * math.exp(-(((x[0] - 0.1) / 0.1) ** 2) / 2) - 4 * math.exp(-(((x[0] - 0.9) / 0.01) ** 2) / 2)
    if name == "Branin":
        b, c = 5.1 / (4 * math.pi**2), 5 / math.pi
        return (x[1] - b * x[0] ** 2 + c * x[0] - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10
    if name == "SixHumpCamel":
        return (4 - 2.1 * x[0] ** 2 + x[0] ** 4 / 3) * x[0] ** 2 + x[0] * x[1] + 4 * (x[1] ** 2 - 1) * x[1] ** 2
    if name == "StyblinskiTang":
        return sum(v**4 - 16 * v**2 + 5 * v for v in x) / 2
    if name == "Rosenbrock":
        return sum(100 * (b - a**2) ** 2 + (a - 1) ** 2 for a, b in pairwise(x))
    if name == "GSobol":
        return math.prod((abs(4 * v - 2) + 1) / 2 for v in x)
    raise AssertionError(name)


SHIFTS = {"GoldsteinPrice": 0.0, "StyblinskiTang": 400.0, "Rosenbrock": 0.5, "GSobol": 0.0}


def test_the_functions_agree_with_formulas_written_apart() -> None:
    for name in ("WangFreitas", "Branin", "SixHumpCamel", "StyblinskiTang", "Rosenbrock", "GSobol"):
        on = published_minimum(name)
        X = on.space.sample(20, 3)
        assert on(X).tolist() == pytest.approx([by_hand(name, row) for row in X.tolist()], rel=1e-9, abs=1e-9), name
    # published values of Goldstein and Price's function: its local minima
    on = published_minimum("GoldsteinPrice")
    local = torch.tensor([[-0.6, -0.4], [1.8, 0.2], [1.2, 0.8]], dtype=torch.float64)
    assert on(local).tolist() == pytest.approx([30.0, 84.0, 840.0])
    for name, shift in SHIFTS.items():
        X = published_minimum(name).space.sample(20, 4)
        logs = torch.log(published_minimum(name)(X) + shift)
        assert torch.allclose(published_minimum(f"log{name}")(X), logs, rtol=1e-12)


@pytest.mark.skipif(not PUBLISHED, reason="HENTROPY_PUBLISHED names no folder with the published runs")
def test_the_functions_have_the_published_values() -> None:
    for name in MINIMA:
        for run in (1, 17, 51):
            values = published_minimum(name)(first_designs(name, run, PUBLISHED))
            assert torch.allclose(values, first_values(name, run, PUBLISHED), rtol=1e-7, atol=1e-9), name
    assert len(published_results(PUBLISHED)) == 12 * 6 * 51


def job(problem: str, run: int, method: str, evaluations: int, data: Path) -> PeerRun:
    return PeerRun(greed_task(problem, evaluations), method, run - 1, data=str(data))


def test_a_run_begins_with_the_published_designs(data: Path) -> None:
    for method in GREED_METHODS:
        run = job("WangFreitas", 2, method, 4, data)
        row = GreedRow.of(run, list(run.steps()))
        assert (row.first, row.run, row.evaluations) == (2, 2, 4)
        assert row.seen[0] == pytest.approx(float(first_values("WangFreitas", 2, data).min()))
        assert row.seen[0] >= row.seen[1] >= row.seen[2]
        if method == "best-observed":  # which may be any measured design, and is none of its own
            assert min(row.recommended) >= min(row.seen)
        assert min(row.recommended) >= -4.0 - 1e-9


def test_only_the_noiseless_method_states_the_noise(data: Path) -> None:
    for method in GREED_METHODS:
        run = job("Branin", 1, method, 30, data)
        arena = Arena.of(run)
        chooser = CHOOSERS[method](run, arena, arena.first(run), [({"x1": 0.5, "x2": 2.0}, 3.0)])
        assert isinstance(chooser, StudyChooser)
        assert len(chooser.study.records) == 5
        [outcome] = chooser.study.outcomes.by_name.values()
        assert isinstance(outcome, he.Outcome)
        assert outcome.noise == (0.0 if method == "maximize-noiseless" else None)


def test_runs_end_when_time_is_up_resume_and_are_tabled(data: Path, tmp_path: Path) -> None:
    chosen = ("greed", "--tasks", "WangFreitas", "--methods", "best-observed", "--workers", "1", "--seeds", "0-1")
    short = (*chosen, "--data", str(data), "--out", str(tmp_path / "out"), "--evaluations", "3")
    found = reproduce(*short, "--max-seconds", "0")
    assert found.code == 0, found.err
    assert "time is up" in found.out
    assert not list((tmp_path / "out").rglob("*.failed"))
    found = reproduce(*short)
    assert found.code == 0, found.err
    ledger, task = Ledger.existing(tmp_path / "out"), greed_task("WangFreitas", 3)
    runs = [PeerRun(task, "best-observed", seed, data=str(data)) for seed in range(2)]
    assert [len(ledger.steps(run)) for run in runs] == [2, 2]
    # more evaluations go on with the same runs
    for number in range(2, 49):
        ledger.add(runs[0], Step(number, {"x1": 0.5}, 1.5, -1.0, None, None, None, None, 0.0, 0.1, [], [1.5]))
    found = reproduce(*short, "--recorded")
    assert found.code == 0, found.err
    said = (tmp_path / "out" / "tables" / "greed.md").read_text()
    assert "### best-observed, 50 evaluations" in said
    assert "### best-observed, 100 evaluations" not in said
    assert "| WangFreitas | 1 | 1 | 1.5 | 0 | 2 | 1 : 0 |" in said
    assert f"Runs by hentropy {he.__version__}." in said


def test_pairs_are_counted_with_the_digits_that_were_published() -> None:
    # a difference beyond the digits that were published is a tie
    found = Against.of([0.3978873577, *range(9)], [0.397887, *(value + 1.0 for value in range(9))])
    assert (found.wins, found.losses) == (9, 0)
    assert found.better
    assert found.as_good
    same = Against.of([1.0, 2.0], [1.0, 2.0])
    assert (same.wins, same.losses, same.p) == (0, 0, 1.0)
    assert same.as_good
    assert not same.better
    worse = Against.of([float(value) for value in range(1, 9)], [0.0] * 8)
    assert (worse.wins, worse.losses) == (0, 8)
    assert not worse.as_good
    assert not worse.better
    # a lower median over few runs is not clear
    assert not Against.of([0.0, 0.0], [1.0, 1.0]).better


def test_targets_count_problems() -> None:
    runs = range(1, 11)
    table = {
        (name, rule, run): dict.fromkeys(CHECKPOINTS, value + 0.001 * run)
        for name in GREED
        for rule, value in (("EI", 2.0), ("exploit", 1.0), ("LHS", 0.0))
        for run in runs
    }
    ours = dict.fromkeys(GREED[:3], 0.5) | dict.fromkeys(GREED[3:7], 1.5) | dict.fromkeys(GREED[7:], 3.0)
    rows = [
        GreedRow(name, run, "maximize", 2, (value,) * 49, (value - 0.25 if run == 1 else value,) * 49)
        for name, value in ours.items()
        for run in runs
    ]
    results = greed_results(rows, table, 50)
    assert [each.problem for each in results] == list(GREED)
    assert {each.best_rule for each in results} == {"exploit"}, "space filling is not a rule to beat"
    assert {each.worse_than_seen for each in results} == {1}
    said = _tables(results)
    assert "EI's best seen: 7 (target 12; not on " + ", ".join(GREED[7:]) + ")" in said
    assert "Clearly better (p < 0.05): 7 (target 6)" in said
    assert "the best of their rules: 3 (target 9)" in said
    assert greed_results(rows, table, 100) == []


def test_plans_have_the_published_runs(data: Path) -> None:
    plan = peer_plan("greed", None, False, data, None, 100)
    assert (len(plan.tasks), len(plan.seeds)) == (12, 51)
    assert {task.first + task.queries for task in plan.tasks} == {100}
    assert {task.problem: task.first for task in plan.tasks}["GSobol"] == 20
    with pytest.raises(InputError, match="51 runs"):
        peer_plan("greed", range(52), False, data, None)
    with pytest.raises(InputError, match="at least 21 evaluations"):
        greed_task("GSobol", 20)


def test_the_command_says_which_data_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = reproduce("greed", "--quick")
    assert found.code == 1
    assert f"say with --data in which folder {DESIGNS} is" in " ".join(found.err.split())
    found = reproduce("greed", "--quick", "--data", ".")
    assert found.code == 1
    assert f"{DESIGNS} does not exist" in " ".join(found.err.split())
    assert not list(tmp_path.iterdir())
