"""Reactions: the functions that are shipped are those that the training gives, and as good as the documents say."""

import re
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pytest
import torch

import hentropy as he
from experiments.problems import reactions as training
from experiments.problems.reactions import Experiments, fitted, held_out, peak, read_experiments
from hentropy.bench.problems import reaction
from hentropy.bench.problems.reactions import REACTIONS, Emulator, emulated

DATA = files("hentropy.bench.problems").joinpath("data")
DOCUMENT = Path(__file__).parents[1] / "docs" / "problems.md"
NAMES = sorted(REACTIONS)


def experiments(name: str) -> Experiments:
    with as_file(DATA.joinpath(REACTIONS[name].table)) as path:
        return read_experiments(path, REACTIONS[name])


def edge(name: str) -> float:
    with DATA.joinpath(f"{name}.npz").open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return float(stored["edge"])


@pytest.mark.parametrize("name", NAMES)
def test_training_gives_what_is_shipped(name: str) -> None:
    known, space = experiments(name), REACTIONS[name].space
    again = fitted(edge(name), space, known.designs, known.yields)
    x = space.sample(200, 0)
    torch.testing.assert_close(again(x), emulated(name).emulator(x), rtol=0, atol=0.2)


@pytest.mark.parametrize("name", NAMES)
def test_the_function_is_the_mean_of_the_fit(name: str) -> None:
    known, space, near = experiments(name), REACTIONS[name].space, edge(name)
    odds = torch.logit(known.yields.clamp(near, 100.0 - near) / 100.0)
    belief = he.fit(known.designs, odds, space=space, hyperparameters="map")
    x = space.sample(50, 1)
    mean = belief.moments(x, he.Needs.MEAN).mean[0]
    again = fitted(near, space, known.designs, known.yields)
    torch.testing.assert_close(again(x), 100.0 * torch.sigmoid(mean), rtol=1e-6, atol=1e-6)


def documented(name: str) -> list[float]:
    """R² and errors of the function, of the mean and of the nearest experiment, as the document has them."""
    (row,) = [line for line in DOCUMENT.read_text().splitlines() if line.startswith(f"| {name} |")]
    return [float(number) for number in re.findall(r"-?\d+\.\d+", row)[:4]]


@pytest.mark.parametrize("name", NAMES)
def test_the_document_says_the_held_out_error_that_was_measured(name: str) -> None:
    own, constant, near = emulated(name).held_out
    assert documented(name) == pytest.approx([own[0], own[1], constant[1], near[1]], abs=0.006)


@pytest.mark.parametrize("name", NAMES)
def test_experiments_that_were_left_out_are_missed_by_as_much(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One way to deal out the folds, in place of several: the error varies by a few per cent."""
    monkeypatch.setattr(training, "REPEATS", 1)
    known, space = experiments(name), REACTIONS[name].space
    r2, rmse = held_out(lambda x, y: fitted(edge(name), space, x, y), known, seed=7)
    own = emulated(name).held_out[0]
    assert r2 == pytest.approx(own[0], abs=0.05)
    assert rmse == pytest.approx(own[1], rel=0.25)
    assert r2 > 0.75


@pytest.mark.parametrize("name", NAMES)
def test_yields_are_between_0_and_100_and_depend_on_every_parameter(name: str) -> None:
    problem = reaction(name)
    x = problem.space.sample(2000, 0)
    values = problem(x)
    assert 0.0 <= float(values.min()) < 5.0
    assert 25.0 < float(values.max()) <= 100.0
    for parameter in problem.space.parameters:
        other = x.clone()
        place = problem.space.places[parameter]
        other[:, place] = x.roll(1, 0)[:, place]
        assert float((problem(other) - values).abs().mean()) > 0.3, parameter


@pytest.mark.parametrize("name", NAMES)
def test_nothing_better_is_found_among_many_designs(name: str) -> None:
    problem = reaction(name)
    assert problem.best is not None
    x = problem.space.sample(2**15, 5)
    assert float(problem(x).max()) <= -problem.best.loss
    near = problem.space.neighbours(problem.best.action)[0]  # type: ignore[arg-type]
    assert float(problem(near).max()) <= -problem.best.loss + 1e-9


def test_the_peak_of_a_function_that_is_known() -> None:
    """One kernel, on one option: its centre."""
    space = he.Space(base=he.Choice(["a", "b", "c"]), heat=he.Real(10.0, 30.0), time=he.Real(1.0, 100.0, log=True))
    centre = space.encode({"base": "b", "heat": 17.0, "time": 30.0})
    ones = torch.ones(space.dim, dtype=torch.float64)
    emulator = Emulator(space, space.to_unit(centre).unsqueeze(0), ones[:1], 0.5 * ones, 0.0 * ones[0])
    found = space.decode(peak(emulator))
    assert found["base"] == "b"
    assert found["heat"] == pytest.approx(17.0, abs=1e-3)
    assert found["time"] == pytest.approx(30.0, rel=1e-3)


def write(path: Path) -> Path:
    """Experiments whose yields depend on the base and the heat; a setting is just out of bounds."""
    space = TOY.space
    lines = ["base,heat,yld"]
    for row in space.sample(30, 0):
        params = space.decode(row)
        good = 0.3 + 0.02 * (params["heat"] - 10.0) + 0.2 * (params["base"] == "b")
        lines.append(f"{params['base']},{params['heat']},{good}")
    path.write_text("\n".join([*lines, "a,9.99,0.3", ""]))
    return path


TOY = training.Reaction(
    he.Space(base=he.Choice(["a", "b"]), heat=he.Real(10.0, 30.0)), "toy.csv", per_cent=100.0, credit="nobody"
)


def test_training_says_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REACTIONS, "toy", TOY)
    monkeypatch.setattr(training, "REPEATS", 1)
    out = tmp_path / "toy.npz"
    training.main([str(write(tmp_path / "toy.csv")), "--reaction", "toy", "--out", str(out)])
    said = capsys.readouterr().out
    with np.load(out, allow_pickle=False) as stored:
        emulator, own = Emulator.from_arrays(TOY.space, stored), stored["held_out"][0]
        best = TOY.space.decode(torch.from_numpy(stored["best"]))
    assert f"held out, function: R2 {own[0]:.3f}, RMSE {own[1]:.2f} percentage points" in said
    assert own[0] > 0.95
    assert best == {"base": "b", "heat": pytest.approx(30.0, abs=0.5)}
    x = TOY.space.encode({"base": "a", "heat": 20.0})
    assert float(emulator(x)) == pytest.approx(50.0, abs=3.0)


def test_training_names_what_is_wrong_with_its_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("base,heat,yld\n,12,0.4\n")
    with pytest.raises(he.InputError, match=r"line 2 of .*t\.csv has nothing in column base"):
        read_experiments(tmp_path / "t.csv", TOY)
    (tmp_path / "t.csv").write_text("base,heat,yld\nc,12,0.4\n")
    with pytest.raises(he.InputError, match="options are a, b"):
        read_experiments(tmp_path / "t.csv", TOY)
    with pytest.raises(SystemExit):
        training.main([str(tmp_path / "t.csv"), "--reaction", "reizman-suzuki-3", "--out", "x.npz"])
    assert "did you mean 'reizman-suzuki-2'" in capsys.readouterr().err
