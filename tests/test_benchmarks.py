"""The tables of `make bench`, and the places of docs/benchmarks.md that they fill."""

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks import __main__ as bench
from benchmarks import calibration, decisions, psychophysics, sweeps

PEAK = {"process": 800.0, "call": 60.0}
TIMED = {"seconds": 0.5, "case": "Alpine-2"}
ASKED = {"asked": 4.0, "cpu_multiple": 2.5, "seconds": [0.2, 0.3, 0.4], "gain": [0.1, 0.3]}
LISTED = {"rows": 5000, "decision": "Maximize", "look_seconds": 0.05, "seconds": 0.25, "peak_mib": 300.0}

RESULTS: dict[str, Any] = {
    "versions": {"hentropy": "0.2.0", "torch": "2.9", "threads": 2},
    "acquisition": [
        {**TIMED, "name": "TopK(5) / LogEI", "peer_seconds": 1.0, "times_faster": 2.0, "gain": 0.1, "peer_gain": 0.2},
        {**TIMED, "map_fit": 0.1, "mixture_fit": 0.2, "map": 0.3, "mixture": 0.6, "mixture_over_map": 2.125},
    ],
    "decisions": [
        {**ASKED, "name": "Maximize", "q": 1, "multiple": 2.25},
        {**ASKED, "name": "LevelSets, 10,000 points", "q": 1, "multiple": 14.5},
        {**ASKED, "name": "Maximize", "q": 4, "multiple": 1.75},
    ],
    "level_sets": [{"points": 144, "seconds": 0.042, "peak_mib": PEAK}],
    "growth": [{"n": 50, "seconds": 0.193, "factorise_seconds": 0.003, "fit_seconds": 0.08, "peak_mib": PEAK}],
    "lists": [{**LISTED, "looks": 5.0, "asked_looks": 20, "asked_gb": 1.5}],
    "lists_single": [{"decision": "TopK(3)", "rows": 250, "columns": 6, "before": 1.3, "seconds": 0.04}],
    "lists_mixed": [{"table": "five numbers", "Pool": 0.05, "Maximize": 3.3, "TopK(5)": 4.1}],
    "beliefs": [
        {"source": "branin", "n": 20, "belief": "map", "loss": 0.1, "error": 0.2, "covered": 0.9, "seconds": 0.3}
    ],
}


def outside(page: str) -> str:
    return re.sub(r"(<!-- bench:(\w+):begin -->).*?(<!-- bench:\2:end -->)", r"\1\3", page, flags=re.DOTALL)


def test_every_table_has_its_place_and_nothing_else_changes() -> None:
    page = bench.PAGE.read_text()
    filled = bench.filled(page, RESULTS)
    for name, text in bench.tables(RESULTS).items():
        assert (text in filled) == (name != "beliefs"), name
    assert "torch 2.9; 2 threads" in filled
    assert outside(filled) == outside(page)
    assert bench.filled(filled, RESULTS) == filled


def test_a_section_that_was_not_measured_stays_as_it_is() -> None:
    page = bench.PAGE.read_text()
    filled = bench.filled(page, {**RESULTS, "decisions": [], "acquisition": []})
    kept, changed = (f"<!-- bench:{name}:begin -->" for name in ("decisions", "growth"))
    assert filled.split(kept)[1].startswith(page.split(kept)[1][:200])
    assert not filled.split(changed)[1].startswith(page.split(changed)[1][:200])


def test_a_page_without_a_place_is_refused() -> None:
    page = bench.PAGE.read_text().replace("<!-- bench:lists:end -->", "")
    with pytest.raises(ValueError, match="no place for the table 'lists'"):
        bench.filled(page, RESULTS)


def test_one_design_and_four_stand_in_a_row() -> None:
    lines = decisions.table(RESULTS["decisions"]).splitlines()
    assert lines[2] == "| Maximize | 4 | 2.2 | 2.5 | 0.30 | 0.2 | 1.8 | 2.5 | 0.30 | 0.2 |"
    assert lines[3].startswith("| LevelSets, 10,000 points | 4 | 14.5 |")
    assert len({line.count("|") for line in lines}) == 1


def test_an_earlier_run_fills_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results, page, known = tmp_path / "benchmarks.json", tmp_path / "page.md", bench.PAGE.read_text()
    results.write_text(json.dumps(RESULTS))
    page.write_text(known)
    monkeypatch.setattr(bench, "PAGE", page)
    words = ["benchmarks", "--results", str(results), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    bench.main()
    assert page.read_text() == known
    monkeypatch.setattr(sys, "argv", [*words, "--write-docs"])
    bench.main()
    assert page.read_text() == bench.filled(known, RESULTS)
    assert "| five numbers | 0.05 | 3.3 | 4.1 |" in (tmp_path / "benchmarks.md").read_text()


def test_looking_ahead_to_answers_is_what_brute_force_finds() -> None:
    case = psychophysics.Case.drawn(answers=10, designs=4, points=12, seed=3)
    own = psychophysics.by_hentropy(case)
    assert own.above.shape == own.yes.shape == (2, 4, 12)
    assert max(psychophysics.differences(own, psychophysics.by_brute_force(case)).values()) < 1e-7
    assert float(own.gain.max()) > 1e-3


def test_a_peer_that_is_not_installed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "aepsych"
    missing.mkdir()
    (missing / "__init__.py").write_text("raise ImportError('it is not here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["psychophysics", "--answers", "8", "--designs", "3", "--points", "6"])
    psychophysics.main()
    said = capsys.readouterr().out
    assert "8 answers, 3 designs, 6 points" in said
    assert "brute force " in said
    assert f"AEPsych: not installed in {sys.executable}; left out" in said


def step(known: int, value: float, mean: float, sd: float, stated: tuple[float, float, float]) -> dict[str, Any]:
    """A step of a study: a prediction with its result, and a verdict with mean, standard deviation and true value."""
    predicted = {"mean": mean, "sd": sd, "low": mean - 1.645 * sd, "high": mean + 1.645 * sd}
    verdict = {"stated": stated[0], "stated_sd": stated[1], "true": stated[2], "best": 1.0, "likely": 2.0}
    return {"known": known, "value": value, "truth": float(known), "predicted": predicted, "verdict": verdict}


def test_calibration_counts_errors_of_the_second_half_and_all_verdicts() -> None:
    steps = [
        step(0, 9.0, 0.0, 1.0, (1.0, 0.5, 1.5)),
        step(1, 9.0, 0.0, 1.0, (1.0, 0.5, 2.0)),
        step(2, 3.0, 1.0, 1.0, (1.0, 0.0, 1.0)),
        step(3, 0.5, 1.0, 0.5, (1.0, 0.0, 1.1)),
    ]
    runs = [{"setting": "noiseless", "function": "Branin", "seed": 1, "version": "abc", "steps": steps}]
    found = calibration.Predictions.of(runs)
    assert found.errors == [2.0, -1.0]
    assert (found.below, found.above, found.inside) == (0, 1, 0.5)
    assert found.error == pytest.approx(2.5**0.5)
    assert calibration.stated_errors(runs) == [1.0, 2.0, 0.0, float("inf")]
    assert calibration.covered(calibration.stated_errors(runs)) == 0.5
    spread = 1.25**0.5  # of 0, 1, 2, 3
    for other, after, counts, gap in (("best", 4, (0, 1, 1), 0.1), ("likely", 1, (1, 0, 1), -0.5)):
        worse, better, mean, count = calibration.compared(runs, other, after)
        assert (worse, better, count) == counts
        assert mean == pytest.approx(gap / spread)


def test_perfect_predictions_hold_both_figures_by_chance_only() -> None:
    # of 40 results 34 to 38 have to be inside, by the binomial distribution; errors miss in one of 20 cases besides
    inside = sum(math.comb(40, k) * 0.9**k * 0.1 ** (40 - k) for k in range(34, 39))
    assert inside - 0.05 < calibration.ideal_share(40) < inside
    assert calibration.ideal_share(2000) > 0.99
    assert calibration.ideal_share(0) == 0.0


def test_tables_of_calibration_fill_their_place_of_the_page() -> None:
    steps = [step(i, 0.9 * (-1) ** i, 0.0, 1.0, (1.0, 0.5, 1.5)) for i in range(60)]
    runs = [
        {"setting": setting, "function": name, "seed": 1, "version": "abc", "steps": steps}
        for setting, made in calibration.SETTINGS.items()
        for name in made.functions
    ]
    text = calibration.summary(runs)
    assert "| Branin | 0.90 | **1.00** | 0.00, 0.00 | 0.90 | **1.00** | 0.00, 0.00 |" in text
    assert "0 of 15 hold both" in text
    assert "| noisy | 60 | best result" not in text
    assert text.endswith("version abc.")
    page = calibration.PAGE.read_text()
    filled = calibration.filled(page, text)
    assert text in filled
    assert filled.split(calibration.END)[1] == page.split(calibration.END)[1]
    assert calibration.filled(filled, text) == filled
    with pytest.raises(ValueError, match="no place"):
        calibration.filled("nothing", text)


def test_calibration_runs_whole_tables_seed_by_seed() -> None:
    order = calibration.jobs(calibration.SETTINGS, calibration.FUNCTIONS, [1, 2])
    assert len(order) == 2 * (15 + 15 + 5 + 5)
    assert [job.seed for job in order] == [1] * 40 + [2] * 40
    few = calibration.jobs(["map"], ["Branin", "Levy-4"], [3])
    assert few == [calibration.Job("map", "Branin", 3)]


def test_calibration_studies_know_the_truth() -> None:
    job = calibration.Job("noisy", "Branin", 5)
    function = calibration.Measured.of(job)
    best = torch.tensor([[torch.pi, 2.275]], dtype=torch.float64)
    assert float(function.true(best)) == pytest.approx(-0.397887, abs=1e-5)
    draws = torch.tensor([function.measure(best[0]) for _ in range(400)]) - float(function.true(best))
    # a standard deviation of 400 normal errors is off by more than 15 % in one of 10,000 cases
    assert float(draws.std()) == pytest.approx(function.noise, rel=0.15)


def as_row(job: object) -> dict[str, Any]:
    assert isinstance(job, list)
    return dict(job)


def test_rows_are_kept_as_they_come_until_time_is_up(tmp_path: Path) -> None:
    file, jobs = tmp_path / "out" / "rows.jsonl", [[("a", 1.5)], [("a", None)]]
    assert sweeps.read_rows(file) == []
    rows = sweeps.recorded(sweeps.results_of(as_row, jobs, workers=2), file)
    first = next(rows)
    assert sweeps.read_rows(file) == [first]
    assert sorted([first, *rows], key=str) == [{"a": 1.5}, {"a": None}]
    assert len(sweeps.read_rows(file)) == 2
    assert list(sweeps.results_of(as_row, jobs, workers=1, seconds=0.0)) == []
