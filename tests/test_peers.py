"""Comparisons with other programs: small ones from end to end, and what their tables say."""

import os
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import hentropy as he
from experiments.command import main as command
from experiments.executors import Processes
from experiments.figures.peers import draw_peers
from experiments.ledger import Ledger
from experiments.peer_tables import peer_markdown, peer_panels
from experiments.peers import PEER_TASKS, PeerRun, peer_plan
from experiments.plan import Plan, Results
from experiments.run import Step
from hentropy.bench.problems import problem
from support.commands import said_by
from support.tiers import nightly

BAYBE = os.environ.get("HENTROPY_BAYBE", "")
ARYLATION = "base,ligand,solvent,concentration_M,temperature_C,yield_pct"
SUZUKI = "electrophile,nucleophile,base,ligand,solvent,yield"

reproduce = partial(said_by, command)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two small tables, as the real ones are laid out: 36 and 24 rows."""
    folder = tmp_path / "data"
    folder.mkdir()
    rows = [
        f"{b},{p},{s},{c},{t},{10 * len(b + p) + 100 * c + t / 5}"
        for b, p, s, c, t in product(("K", "Cs2"), ("P", "PP", "PPP"), ("DMAc", "BuCN"), (0.1, 0.2), (90, 105, 120))
    ]
    (folder / "direct_arylation.csv").write_text("\n".join([ARYLATION, *rows]) + "\n")
    rows = [
        f"{e},{n},{b},{p},MeCN,{20 * len(e + n) + 3 * len(b + p)}"
        for e, n, b, p in product(("I", "OTf"), ("B", "BF"), ("K", "KOH", "KOtBu"), ("P", "PCy"))
    ]
    (folder / "suzuki_edbo.csv").write_text("\n".join([SUZUKI, *rows]) + "\n")
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


QUICK = ("--quick", "--seeds", "1", "--workers", "1", "--out", "new")


def test_quick_tables_from_end_to_end_and_again(here: Path, data: Path) -> None:
    found = reproduce("tables", "--data", "data", *QUICK)
    assert found.code == 0, found.err
    said = (here / "new" / "tables" / "tables.md").read_text()
    assert "### direct-arylation (yield in per cent)" in said
    assert "### suzuki-edbo, 3 rows (sum of 3 yields)" in said
    assert "BayBE was left out: say with --baybe which Python has it." in said
    assert {path.name for path in (here / "new" / "figures").iterdir()} == {"tables.png", "tables.svg"}
    records = {path: path.read_bytes() for path in (here / "new" / "runs").rglob("*.jsonl")}
    assert len(records) == 2 * 3
    again = reproduce("tables", "--data", "data", *QUICK)
    assert again.code == 0, again.err
    assert {path: path.read_bytes() for path in records} == records


@pytest.mark.parametrize("what", ["mixed", *map(nightly, ("fidelity", "failures", "outcomes"))])
def test_the_first_task_of_other_comparisons(here: Path, what: str) -> None:
    """One query each: BoTorch takes seconds for it."""
    plan = peer_plan(what, range(1), True, None, None)
    plan = replace(plan, tasks=(replace(plan.tasks[0], queries=1),))
    ledger = Ledger.open(here / "new")
    Processes(1).work(plan.jobs(), ledger, lambda _: None)
    results = Results(ledger, plan)
    assert not results.failures()
    panels = peer_panels(results, plan.tasks[0].problem)
    assert {line.method for line in panels[0].lines} == set(plan.tasks[0].methods)
    assert not panels[0].missing
    assert [path.suffix for path in draw_peers(panels, here, what)] == [".png", ".svg"]


def test_tables_need_their_folder(here: Path) -> None:
    assert "say with --data in which folder they are" in reproduce("tables", *QUICK).err
    absent = reproduce("tables", "--data", ".", *QUICK)
    assert "there is no file" in absent.err
    assert "--baybe" in reproduce("mixed", "--baybe", "no-such-python", *QUICK).err
    assert not (here / "new").exists()


def job(data: Path, method: str, seed: int = 0, queries: int = 2) -> PeerRun:
    return PeerRun(replace(PEER_TASKS["direct-arylation"], queries=queries), method, seed, True, str(data), BAYBE)


def test_a_step_says_what_was_seen_and_what_was_decided(data: Path) -> None:
    steps = list(job(data, "hentropy-top-3").steps())
    known = {tuple(line.split(",")[:5]): float(line.split(",")[5]) for line in _lines(data)}

    def value(params: dict[str, object]) -> float:
        texts = [f"{each:g}" if isinstance(each, float) else str(each) for each in params.values()]
        return known[tuple(texts)]

    for step in steps:
        assert step.decided is not None
        assert step.score == pytest.approx(sum(value(params) for params in step.decided))
        assert len(step.decided) == len(step.observed or []) == 3
    first, *asked = steps
    assert first.query is None
    assert [step.value for step in asked] == [value(step.query or {}) for step in asked]
    for before, after in zip(steps, asked, strict=False):
        assert isinstance(after.value, float)
        assert after.observed == sorted([*(before.observed or []), after.value], reverse=True)[:3]


def _lines(data: Path) -> list[str]:
    return (data / "direct_arylation.csv").read_text().splitlines()[1:]


def test_all_methods_of_a_seed_begin_alike_and_random_rows_are_new(data: Path) -> None:
    begun = {
        (method, seed): next(job(data, method, seed).steps()).observed
        for method, seed in product(("hentropy", "random"), (0, 1))
    }
    assert begun["hentropy", 0] == begun["random", 0]
    assert begun["hentropy", 1] == begun["random", 1] != begun["random", 0]
    steps = list(job(data, "random", queries=26).steps())
    assert len({tuple((step.query or {}).values()) for step in steps[1:]}) == 26
    assert steps[-1].observed == sorted((float(line.split(",")[5]) for line in _lines(data)), reverse=True)[:3]


def test_a_run_that_goes_on_equals_one_that_was_never_stopped(data: Path) -> None:
    for method in ("hentropy", "random"):
        whole = list(job(data, method).steps())
        rest = list(job(data, method).steps(whole[:2]))
        assert [step.query for step in rest] == [step.query for step in whole[2:]]
        assert [step.decided for step in rest] == [step.decided for step in whole[2:]]
        assert not list(job(data, method).steps(whole))


def test_runs_of_another_table_are_not_mixed(here: Path, data: Path) -> None:
    ledger = Ledger.open(here / "new")
    ledger.begin(job(data, "random"))
    with (data / "direct_arylation.csv").open("a") as file:
        file.write("K,P,DMAc,0.3,90,1.0\n")
    with pytest.raises(he.InputError, match="other settings"):
        ledger.begin(job(data, "random"))


def spent(number: int, regret: float, cost: float) -> Step:
    query = {"x1": 0.0} if number else None
    return Step(number, query, 1.0, -regret, regret, None, None, None, 0.0, 1.0, [], [1.0], cost)


def test_regrets_are_read_off_at_what_was_spent(here: Path) -> None:
    plan = peer_plan("fidelity", range(2), False, None, None)
    ledger = Ledger.open(here / "new")
    costs = {"hentropy": [0.0, 1.0, 20.0, 20.0], "botorch-mfkg": [0.0, 20.0, 20.0]}
    for method, each in costs.items():
        for seed in range(2):
            run = plan.job(plan.task("branin"), method, seed, False)
            ledger.begin(run)
            for number, cost in enumerate(each[: None if seed == 0 or method == "hentropy" else 2]):
                ledger.add(run, spent(number, 8.0 / 2**number + seed, cost))
    [panel] = peer_panels(Results(ledger, plan), "branin")
    ours, theirs = panel.lines
    assert len(ours.seeds) == 2
    assert list(theirs.seeds) == [0]  # the other run is not complete
    assert np.allclose(ours.seeds[0][[0, 1, 20, 21, 40]], [8.0, 4.0, 4.0, 2.0, 2.0])  # the last query made it 41
    assert np.allclose(theirs.seeds[0][[0, 19, 20, 39, 40]], [8.0, 8.0, 4.0, 4.0, 2.0])
    assert "| hentropy - BoTorch, MF-KG | 1 | -4 |" in peer_markdown(panel)


@pytest.mark.skipif(not BAYBE, reason="HENTROPY_BAYBE is not set")
def test_baybe_takes_part_and_goes_on(data: Path) -> None:
    whole = list(job(data, "baybe").steps())
    assert len(whole) == 3
    assert all((step.acquisition_seconds or 0.0) > 0 for step in whole[1:])
    assert [step.number for step in job(data, "baybe").steps(whole[:2])] == [2]


def test_failures_are_counted_and_told(here: Path) -> None:
    task = replace(PEER_TASKS["crash-12"], first=60, queries=3, methods=("random",))
    run = PeerRun(task, "random", 3)
    on = problem("crash-12")
    assert on.fails is not None
    steps = list(run.steps())
    for step in steps[1:]:
        assert step.query is not None
        assert (step.value is None) == bool(on.fails(on.space.encode(step.query)))
    assert all(step.decided is not None and not bool(on.fails(on.space.encode(step.decided[0]))) for step in steps)
    # a run that was stopped goes on as if it had not been
    assert [step.query for step in run.steps(steps[:2])] == [step.query for step in steps[2:]]
    made_up = [replace(step, value=None if step.number else step.value) for step in steps]
    plan = Plan((task,), range(1), job=lambda task, method, seed, quick: run)
    ledger = Ledger.open(here / "new")
    ledger.begin(run)
    for step in made_up:
        ledger.add(run, step)
    _, failed = peer_panels(Results(ledger, plan), "crash-12")
    assert failed.lines[0].curve.mean.tolist() == [0.0, 100.0, 100.0, 100.0]
    assert "queries that failed, in per cent" in peer_markdown(failed)


def test_steps_with_several_outcomes_are_kept(here: Path) -> None:
    task = replace(PEER_TASKS["gramacy"], queries=1)
    run = PeerRun(task, "hentropy", 100, quick=True)
    first, asked = run.steps()
    on = problem("gramacy")
    assert asked.query is not None
    assert asked.value == on.value(on.space.encode(asked.query))
    assert first.score == -on.loss(on.space.encode_many(first.decided or []))
    assert Step.from_json(asked.to_json()) == asked
    assert not list(run.steps([first, asked]))
    with pytest.raises(ValueError, match="wave is 'high'"):
        Step.from_json(asked.to_json() | {"value": {"value": 1.0, "wave": "high"}})
