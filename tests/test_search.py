"""`search`: Algorithm 1 in one call."""

import io
import math
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

import hentropy as he
from hentropy.studies.study import State
from support.studies import LINE, hill

QUICK: dict[str, Any] = {"hyperparameters": "map", "first": 4, "progress": False}


@pytest.mark.smoke
def test_one_call_finds_the_top() -> None:
    found = he.search(hill, LINE, he.Maximize(), 9, **QUICK)
    assert found.verdict.action[0]["x"] == pytest.approx(1.3, abs=0.05)
    assert len(found.study.records) == 9
    verdict, study = found
    assert verdict is found.verdict
    assert study is found.study


def test_it_is_the_loop_of_ask_and_tell() -> None:
    found = he.search(hill, LINE, he.Maximize(), 7, seed=3, **QUICK)
    study = he.Study(LINE, he.Maximize(), seed=3, first=4, hyperparameters="map")
    for _ in range(7):
        trial = study.ask()
        study.tell(trial, hill(**trial.params))
    assert found.study.records == study.records
    assert found.verdict == study.decide()


def test_the_bar_shows_the_query_and_what_it_is_worth_within_80_columns() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, color_system=None)
    he.search(hill, LINE, he.Maximize(), 6, console=console, **{**QUICK, "progress": True})
    last = out.getvalue().replace("\x1b[2K", "\n").replace("\r", "\n").split("\n")
    line = [text for text in last if "6/6" in text][-1]
    assert re.search(r"worth (nothing|(about|less than) \S+ in value)  at x=", line)
    assert len(line) <= 80


def test_nothing_is_printed_without_progress(capsys: pytest.CaptureFixture[str]) -> None:
    he.search(hill, LINE, he.Maximize(), 4, **QUICK)
    assert capsys.readouterr().out.strip() == ""


def test_standard_errors_are_taken() -> None:
    found = he.search(lambda x: (hill(x), 0.1), LINE, he.Maximize(), 5, **QUICK)
    assert [trial.std_error for trial in found.study.records] == [0.1] * 5


@pytest.mark.parametrize("bad", [float("nan"), math.inf, "text", None])
def test_a_value_that_is_none_is_a_failed_trial(bad: Any) -> None:
    found = he.search(lambda x: bad if x < 0 else hill(x), LINE, he.Maximize(), 5, **QUICK)
    failed = [trial for trial in found.study.records if trial.state is State.FAILED]
    assert failed
    assert all("InputError" in trial.note for trial in failed)


def test_an_experiment_that_raises_is_failed_and_the_search_goes_on() -> None:
    def f(x: float) -> float:
        if x > 2.0:
            raise RuntimeError("too hot")
        return hill(x)

    found = he.search(f, LINE, he.Maximize(), 7, **QUICK)
    notes = [trial.note for trial in found.study.records if trial.state is State.FAILED]
    assert notes
    assert set(notes) == {"RuntimeError: too hot"}


def test_a_broken_function_is_noticed_and_the_study_comes_with_the_error() -> None:
    def f(x: float) -> float:
        raise OSError("no oven")

    with pytest.raises(he.StudyError, match=r"3 experiments in a row failed.*trial 0.*no oven") as raised:
        he.search(f, LINE, he.Maximize(), 9, **QUICK)
    assert len(raised.value.study.records) == 3


def test_a_function_that_breaks_later_is_noticed_by_its_first_error() -> None:
    calls: list[float] = []

    def f(x: float) -> float:
        calls.append(x)
        if len(calls) > 6:
            raise OSError(f"the lamp broke in call {len(calls)}")
        return hill(x)

    with pytest.raises(he.StudyError, match=r"5 experiments in a row failed.*trial 6.*broke in call 7") as raised:
        he.search(f, LINE, he.Maximize(), 40, **QUICK)
    assert "broke in call 7" in str(raised.value.__cause__)
    assert [trial.state for trial in raised.value.study.records] == [State.COMPLETE] * 6 + [State.FAILED] * 5


def test_nothing_told_is_lost_when_the_decision_is_broken() -> None:
    broken = he.decision(lambda f, a: f, actions=he.Points(1))
    with pytest.raises(he.DecisionError) as raised:
        he.search(hill, LINE, broken, 6, **QUICK)
    study = raised.value.study
    assert [trial.value for trial in study.records] == [hill(**trial.params) for trial in study.records]
    rescued = he.Study(LINE, he.Maximize(), hyperparameters="map", records=study.records)
    assert rescued.decide().observations == 4


def test_errors_of_others_come_with_the_study_too() -> None:
    def loss(f: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        raise ArithmeticError("loss of one's own")

    with pytest.raises(he.DecisionError, match="raised ArithmeticError: loss of one's own") as raised:
        he.search(hill, LINE, he.decision(loss, actions=he.Points(1)), 6, **QUICK)
    assert len(raised.value.study.records) == 4


def test_ctrl_c_decides_on_what_was_measured() -> None:
    calls = []

    def f(x: float) -> float:
        calls.append(x)
        if len(calls) == 6:
            os.kill(os.getpid(), signal.SIGINT)
        return hill(x)

    found = he.search(f, LINE, he.Maximize(), 20, **QUICK)
    assert found.verdict.observations == 5
    assert found.study.records[-1].state is State.RUNNING


def test_an_experiment_that_is_not_worth_its_cost_is_not_run() -> None:
    found = he.search(hill, LINE, he.Maximize(), 20, stop=[he.GainBelowCost(1e6)], **QUICK)
    assert [trial.state for trial in found.study.records] == [State.COMPLETE] * 4 + [State.WITHDRAWN]
    assert "costs 1e+06" in found.study.records[-1].note
    assert "costs 1e+06" in str(found.study.stopped)


def test_a_pool_that_is_used_up_ends_the_search() -> None:
    pool = he.Pool([0.0, 1.0, 2.0, 3.0], names=["x"])
    found = he.search(lambda x: (hill(x), 0.0), pool, he.Maximize(), 50, **QUICK)
    assert len(found.study.records) == 4
    assert found.verdict.action[0]["x"] == 1.0


def test_a_deterministic_function_has_no_noise_and_is_called_once_at_each_design() -> None:
    pool = he.Pool([0.0, 1.0, 2.0, 3.0], names=["x"])
    found = he.search(hill, pool, he.Maximize(), 50, deterministic=True, **QUICK)
    assert sorted(trial.params["x"] for trial in found.study.records) == [0.0, 1.0, 2.0, 3.0]
    assert found.verdict.action[0]["x"] == 1.0
    assert found.study.outcomes.by_name == {"value": he.Outcome(noise=0.0)}
    same = he.search(hill, pool, he.Maximize(), 50, noise=0, **QUICK)
    assert same.study.records == found.study.records
    assert same.verdict == found.verdict


@pytest.mark.parametrize("options", [{"noise": 0.3}, {"outcomes": {"y": he.Outcome(noise=0.3)}}])
def test_a_deterministic_function_with_a_noise_is_a_contradiction(options: dict[str, Any]) -> None:
    with pytest.raises(he.InputError, match=r"noise is 0\.3; leave one of them out|noise of y is stated twice"):
        he.search(hill, LINE, he.Maximize(), 5, deterministic=True, **options, **QUICK)


@pytest.mark.parametrize("given", ["no", 1, None])
def test_whether_a_function_is_deterministic_is_yes_or_no(given: Any) -> None:
    with pytest.raises(he.InputError, match=rf"deterministic must be True or False, got {given!r}"):
        he.search(hill, LINE, he.Maximize(), 5, deterministic=given, **QUICK)


@pytest.mark.parametrize("budget", [0, -3, 2.5, "ten", None, True])
def test_a_budget_must_be_a_number_of_experiments(budget: Any) -> None:
    with pytest.raises(he.InputError, match=rf"budget.*got {budget!r}"):
        he.search(hill, LINE, he.Maximize(), budget, **QUICK)


def test_a_study_runs_a_function_from_where_it_stands() -> None:
    study = he.Study(LINE, he.Maximize(), seed=3, first=4, hyperparameters="map")
    study.attach({"x": 0.2}, hill(0.2))
    verdict = study.run(hill, 3, progress=False)
    assert len(study.records) == 4
    assert verdict.observations == 4
    study.run(hill, 3, progress=False)
    found = he.search(hill, LINE, he.Maximize(), 6, seed=3, data=[({"x": 0.2}, hill(0.2))], **QUICK)
    assert study.records == found.study.records
    assert study.decide() == found.verdict


def test_a_run_of_a_deterministic_function_states_it_for_the_study(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    study = he.Study(LINE, he.Maximize(), seed=3, first=4, hyperparameters="map", storage=url)
    study.run(hill, 4, progress=False)
    assert study.belief.noise_std > 0
    study.run(hill, 3, progress=False, deterministic=True)
    stated = he.Study(LINE, he.Maximize(), seed=3, first=4, hyperparameters="map", noise=0, records=study.records)
    assert study.outcomes.by_name == {"value": he.Outcome(noise=0.0)}
    assert study.decide() == stated.decide()
    again = he.load_study("study", url)
    assert again.outcomes.by_name == study.outcomes.by_name
    assert again.propose().x.tolist() == study.propose().x.tolist() == stated.propose().x.tolist()


def test_a_run_of_a_deterministic_function_contradicts_a_stated_noise() -> None:
    study = he.Study(LINE, he.Maximize(), noise=0.3)
    with pytest.raises(he.InputError, match=r"deterministic=True means noise=0, but the noise of value .* 0\.3"):
        study.run(hill, 3, progress=False, deterministic=True)
    assert study.records == ()


@pytest.mark.parametrize(
    ("f", "options", "said"),
    [
        (hill, {"budget": 0}, "budget.*got 0"),
        (hill, {"budget": 2, "deterministic": "no"}, "deterministic must be True or False, got 'no'"),
        (None, {"budget": 2}, "must be a function of the parameters, got None"),
        (3.0, {"budget": 2}, "must be a function of the parameters, got 3.0"),
    ],
)
def test_options_of_a_run_are_checked(f: Any, options: dict[str, Any], said: str) -> None:
    study = he.Study(LINE, he.Maximize())
    with pytest.raises(he.InputError, match=said):
        study.run(f, progress=False, **options)
    assert study.records == ()
    with pytest.raises(he.InputError, match=said):
        he.search(f, LINE, he.Maximize(), progress=False, **options)
    if options["budget"]:  # that of `minimize` counts x0 as well
        with pytest.raises(he.InputError, match=said):
            he.minimize(f, [(0.0, 1.0)], x0=[0.5], **options)
