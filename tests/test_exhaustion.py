"""A study stops when nothing is left to gain, says so, and goes on where gains are small but real."""

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import hentropy as he
from hentropy.core.beliefs import Gaussian, Nodes
from hentropy.core.clock import Limits
from hentropy.core.gain import Appraisal
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Entry, State, Trial
from hentropy.studies.study.left_to_ask import best_without_noise, is_negligible, loss_scale, spread_of
from hentropy.studies.study.rules import NOTHING_LEFT, is_exhausted
from support.commands import STUDY, done, function, hentropy, lab
from support.studies import DECISIONS, LINE, PLANE, begun, measured, study

QUICK: dict[str, Any] = {"hyperparameters": "map", "progress": False}
NARROW = he.Pool([0.0, 1.0], names=["x"])


def bowl(x: float) -> float:
    return 10.0 - 5.0 * (x - 1.2) ** 2


# whole studies


def test_a_noiseless_search_ends_when_nothing_is_left_and_not_before() -> None:
    found = he.search(bowl, LINE, he.Maximize(), 60, **QUICK)
    records = found.study.records
    assert len(records) < 40
    assert found.study.stopped == NOTHING_LEFT
    assert records[-1].state is State.WITHDRAWN
    assert records[-1].gain == 0
    assert all(trial.gain != 0 for trial in records[:-1])
    assert found.verdict.action[0]["x"] == pytest.approx(1.2, abs=0.02)


def test_a_loop_of_ask_and_tell_ends_too() -> None:
    made = study(LINE)
    while made.stopped is None and len(made.records) < 60:
        trial = made.ask()
        made.tell(trial, bowl(**trial.params))
    assert made.stopped == NOTHING_LEFT
    assert [trial.gain for trial in made.records[-2:]] == [0.0, 0.0]


def test_it_goes_on_where_it_is_told_to() -> None:
    made = study(LINE, stop_when_exhausted=False)
    for x in torch.linspace(-1.0, 3.0, 25).tolist():
        made.attach({"x": x}, bowl(x))
    for _ in range(3):
        trial = made.ask()
        made.tell(trial, bowl(**trial.params))
        assert made.stopped is None


def test_a_pool_that_is_known_well_enough() -> None:
    pool = he.Pool([i / 9 for i in range(10)], names=["x"])
    found = he.search(lambda x: -5.0 * (x - 0.37) ** 2, pool, he.Maximize(), 60, **QUICK)
    assert found.study.stopped == NOTHING_LEFT
    assert len(found.study.records) < 30
    assert found.verdict.action[0]["x"] == pytest.approx(1 / 3)


def test_noise_that_hides_the_gain_of_one_measurement_is_no_reason_to_stop() -> None:
    """Two options, 8 apart under noise of 10: one more measurement changes nothing, some dozens could."""
    made = he.Study(NARROW, he.Maximize(), hyperparameters="map", first=4)
    for i in range(40):
        made.attach({"x": float(i % 2)}, (8.0 * (i % 2) + (10.0 if i % 4 < 2 else -10.0), 10.0))
    assert made.propose().gain < 1e-9
    for _ in range(3):
        trial = made.ask()
        assert trial.gain is not None
        assert 0 < trial.gain < 1e-9
        assert "one measurement is expected to gain almost nothing; an exact one would gain" in trial.note
        made.tell(trial, (8.0 * trial.params["x"], 10.0))
        assert made.stopped is None


def test_a_noisy_objective_is_not_stopped() -> None:
    noise = random.Random(2)
    found = he.search(lambda x: bowl(x) + noise.gauss(0.0, 5.0), LINE, he.Maximize(), 30, **QUICK)
    assert len(found.study.records) == 30
    assert found.study.stopped is None


# what was found out is news only until something is told


WELL_KNOWN = 49
"""So many values that even a pair of further ones gains far less than what counts."""


def exhausted() -> he.Study:
    made = study(LINE)
    for x in torch.linspace(-1.0, 3.0, WELL_KNOWN).tolist():
        made.attach({"x": x}, bowl(x))
    return made


def test_asked_for_something_worthwhile_it_asks_nothing() -> None:
    made = exhausted()
    assert made.stopped is None
    assert made.ask_within_rules(2) == []
    assert [trial.state for trial in made.records[WELL_KNOWN:]] == [State.WITHDRAWN] * 2
    assert made.stopped == made.enough == NOTHING_LEFT
    assert made.begin("worker", 60.0) is None
    assert len(made.records) == WELL_KNOWN + 2


def test_new_or_corrected_values_begin_it_again() -> None:
    made = exhausted()
    made.ask_within_rules(1)
    assert made.exhausted
    made.attach({"x": 2.9}, 30.0)
    assert not made.exhausted
    assert made.ask_within_rules(1)
    other = exhausted()
    other.ask_within_rules(1)
    other.tell(24, 30.0, replace_value=True)
    assert not other.exhausted


def entry(number: int, gain: float | None, state: State, asked: float, ended: float | None = None) -> Entry:
    return Entry(Trial(number, {}, state, gain=gain), asked, ended)


R, C, W = State.RUNNING, State.COMPLETE, State.WITHDRAWN


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], False),
        ([entry(0, None, C, 1.0, 2.0)], False),
        ([entry(0, 0.1, C, 1.0, 2.0)], False),
        ([entry(0, None, C, 1.0, 2.0), entry(1, 0.0, W, 3.0, 3.1)], True),
        ([entry(0, None, C, 1.0, 2.0), entry(1, 0.0, R, 3.0)], True),
        ([entry(0, None, R, 1.0), entry(1, 0.0, W, 3.0, 3.1)], True),
        ([entry(0, None, C, 1.0, 4.0), entry(1, 0.0, W, 3.0, 3.1)], False),
        ([entry(0, 0.0, W, 1.0, 1.1), entry(1, None, C, 2.0, 2.0)], False),
        ([entry(0, 0.1, C, 1.0, 2.0), entry(1, 0.0, C, 3.0, 4.0)], False),
        ([entry(0, 0.0, C, 1.0, 2.0), entry(1, 0.0, C, 3.0, 4.0)], True),
        ([entry(0, 0.1, C, 1.0, 2.0), entry(1, 0.0, C, 3.0, 4.0), entry(2, 0.0, C, 3.0, 5.0)], False),
        ([entry(0, 0.0, C, 1.0, 2.0), entry(1, 0.3, R, 3.0)], False),
    ],
)
def test_when_the_records_say_so(entries: list[Entry], expected: bool) -> None:
    assert is_exhausted(entries) is expected


# the mathematics


def test_a_gain_is_negligible_beside_its_scale_and_only_with_its_error() -> None:
    assert is_negligible(1e-6, 0.0, 1.0, 0.0)
    assert not is_negligible(1e-6, 1e-3, 1.0, 0.0)
    assert not is_negligible(1e-3, 0.0, 1.0, 0.0)
    assert is_negligible(1e-3, 0.0, 1e3, 0.0)
    assert is_negligible(1e-9, 0.0, 0.0, 1e6)
    assert not is_negligible(1e-9, 0.0, 0.0, 1.0)


ONE = Outcomes.of(None, LINE)


def outcomes(values: list[float], origin: str = "first") -> list[Trial]:
    return [Trial(i, {}, State.COMPLETE, measured(value), origin=origin) for i, value in enumerate(values)]


def test_the_spread_is_that_of_designs_nobody_chose_and_resists_outliers() -> None:
    assert spread_of(outcomes([0.0, 1.0, 2.0, 3.0, 4.0]), "value", ONE) == 1.0
    assert spread_of(outcomes([0.0, 1.0, 2.0, 3.0, 1e9]), "value", ONE) == 1.0
    assert spread_of([*outcomes([0.0, 1.0, 2.0, 3.0, 4.0]), *outcomes([2.0] * 50, "proposed")], "value", ONE) == 1.0
    assert spread_of(outcomes([0.0, 0.0, 0.0, 4.0]), "value", ONE) == pytest.approx(2.0)


@pytest.mark.parametrize("name", DECISIONS)
def test_the_scale_of_a_loss_has_its_unit(name: str) -> None:
    """Outcomes and thresholds in units a thousand times as small: the loss of f has its own power of that."""
    made = begun(PLANE, DECISIONS[name], 8)
    proposal = made.propose()
    scale = loss_scale(
        made.decision, made.belief, PLANE, proposal.action, [spread_of(made.records, "value", made.outcomes)]
    )
    assert math.isfinite(scale)
    assert scale > 0
    if name in ("maximize", "minimize", "best observed", "min max", "top k"):
        points = {"min max": 2, "top k": 3}.get(name, 1)
        assert scale == pytest.approx(math.sqrt(points) * spread_of(made.records, "value", made.outcomes), rel=0.25)


@pytest.mark.parametrize("treatment", ["map", "mixture"])
def test_the_gain_without_noise_against_dense_quadrature(treatment: str) -> None:
    """Every row of a list, every component, and every outcome from -8 to 8 standard deviations."""
    pool = he.Pool([i / 9 for i in range(10)], names=["x"])
    made = he.Study(pool, he.Maximize(), hyperparameters=treatment)
    for i in (0, 3, 4, 5, 9):
        made.attach({"x": i / 9}, -5.0 * (i / 9 - 0.37) ** 2)
    belief = made.belief
    assert isinstance(belief, Gaussian)
    exact = replace(belief, future_noise=torch.zeros_like(belief.future_noise))
    z = torch.linspace(-8.0, 8.0, 2001, dtype=torch.float64)
    share = torch.exp(-0.5 * z.square()) / torch.exp(-0.5 * z.square()).sum()
    middle = exact.weights.cumsum(0) - 0.5 * exact.weights
    dense = Nodes(
        z.repeat(exact.components).unsqueeze(-1),
        (exact.weights.unsqueeze(-1) * share).flatten(),
        middle.repeat_interleave(len(z)),
    )
    brute = Appraisal.prepare(he.Maximize(), exact, pool).screen(pool.points.unsqueeze(-2), dense)
    found = best_without_noise(he.Maximize(), belief, pool, pool.points, pool.points[:0], None, 0, Limits())
    assert found.complete
    assert found.gain == pytest.approx(float(brute.max()), rel=0.1)
    assert float(found.x) == float(pool.points[brute.argmax()])


# what people see


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


LONG = STUDY.replace("trials = 4", "trials = 60")


def test_a_run_ends_and_says_why(folder: Path) -> None:
    lab(folder, function(folder, "calm_lab", "return 10 - 5 * (x - 1.2) ** 2"), LONG)
    assert f"or when {NOTHING_LEFT}." in done("check", "lab.toml")
    said = done("run", "lab.toml")
    assert f"Finished: {NOTHING_LEFT}." in said
    assert f"The study is finished: {NOTHING_LEFT}." in done("show", "lab.toml")
    assert json.loads(done("show", "lab.toml", "--json"))["enough"] == NOTHING_LEFT
    again = done("run", "lab.toml")
    assert f"Finished: {NOTHING_LEFT}." in again


def test_ask_tells_a_person_and_asks_anyway_where_told_to(folder: Path) -> None:
    lab(folder, text=LONG)
    rows = "\n".join(f"{x},{bowl(x)}" for x in torch.linspace(-1.0, 3.0, 33).tolist())
    (folder / "old.csv").write_text(f"x,value\n{rows}\n", encoding="utf-8")
    done("attach", "lab.toml", "old.csv")
    for _ in range(2):
        said = hentropy("ask", "lab.toml")
        assert said.code == 0
        assert f"no new experiment: {NOTHING_LEFT}. Use --anyway to ask for one regardless." in said.err
        assert "Run this" not in said.out
    assert len(json.loads(done("show", "lab.toml", "--json"))["trials"]) == 10
    anyway = done("ask", "lab.toml", "--anyway")
    assert "Run this experiment" in anyway
    assert f"N{NOTHING_LEFT[1:]}." in anyway


def test_a_file_can_go_on(folder: Path) -> None:
    lab(folder, text=LONG + "when_exhausted = false\n")
    assert "It stops after 60 experiments." in done("check", "lab.toml")
    made = he.Study.from_file(folder / "lab.toml")
    assert not made.options["stop_when_exhausted"]
    assert not he.load_study("lab", "sqlite:///hentropy.db").options["stop_when_exhausted"]
