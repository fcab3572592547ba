"""Studies of options, levels and parts: what people see of them, and how experiments get them."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import hentropy as he
from support.commands import done, lab, refused
from test_cli_data import CHEMIST

SPACE = he.Space(
    solvent=["THF", "water"],
    dry=[True, False],
    size=he.Levels(["small", "large"]),
    temperature=he.Real(20.0, 120.0, unit="°C"),
    minutes=he.Integer(5, 60, unit="min"),
)


def measured(solvent: str, dry: bool, size: str, temperature: float, minutes: int) -> float:
    assert (type(dry), type(minutes)) == (bool, int)
    return (solvent == "water") + dry - 0.01 * abs(temperature - 70.0) + (size == "large") * minutes / 60.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def told() -> he.Study:
    study = he.Study(SPACE, he.Maximize(), hyperparameters="map", first=4)
    for trial in study.ask_many(4):
        study.tell(trial, measured(**trial.params))
    return study


def test_a_verdict_has_options_as_they_are_and_units_in_its_titles(told: he.Study) -> None:
    verdict = told.decide()
    assert isinstance(verdict.action[0]["dry"], bool)
    for text in (str(verdict), verdict._repr_html_()):
        for part in ("temperature (°C)", "minutes (min)", "solvent", str(verdict.action[0]["dry"])):
            assert part in text
    assert verdict.columns[:5] == list(SPACE.names)


def test_a_proposal_and_a_notebook_show_options(told: he.Study) -> None:
    proposal = told.propose()
    assert f"solvent = {proposal.params[0]['solvent']}, dry = {proposal.params[0]['dry']}, size = " in str(proposal)
    shown = told._repr_html_()
    assert "<th>temperature (°C)</th><th>minutes (min)</th>" in shown
    assert f"<td>{told.records[-1].params['size']}</td>" in shown
    assert told.trials["solvent"].tolist() == [trial.params["solvent"] for trial in told.records]


def test_a_search_says_what_it_runs() -> None:
    said = io.StringIO()
    console = Console(file=said, width=200, force_terminal=True)
    found = he.search(measured, SPACE, he.Maximize(), budget=5, first=4, hyperparameters="map", console=console)
    assert len(found.study.records) == 5
    assert all(trial.value is not None for trial in found.study.records)
    last = found.study.records[-1].params
    assert f"solvent={last['solvent']}, dry={last['dry']}, size={last['size']}, temperature=" in said.getvalue()
    assert f" °C, minutes={last['minutes']} min" in said.getvalue()


def test_notes_of_descriptors_and_of_data_that_violate_conditions() -> None:
    solvent = he.Choice(["THF", "water"], descriptors={"boils": [66.0, 100.0], "liquid": [1.0, 1.0]})
    space = he.Space(solvent=solvent, t=he.Real(20.0, 120.0), where=["t <= boils[solvent]"])
    study = he.Study(space, he.Maximize())
    assert list(study.notes) == ["descriptor liquid of solvent left out: the same for all options"]
    study.attach_many([({"solvent": "THF", "t": t}, t) for t in (30.0, 70.0, 90.0)])
    violate = "2 of 3 earlier measurements violate the conditions of the space; the model uses them anyway"
    assert list(study.notes[1:]) == [violate]
    assert len(study.decide().action) == 1


def test_a_study_by_hand(folder: Path) -> None:
    lab(folder, text=CHEMIST)
    asked = done("ask", "lab.toml", "--count", "2")
    assert "loading (mol%)" in asked
    assert "temperature (°C)" in asked
    for trial in json.loads(done("show", "lab.toml", "--json"))["trials"]:
        assert trial["params"]["solvent"] in asked
        done("tell", "lab.toml", str(trial["number"]), str(trial["params"]["temperature"] / 100.0))
    decided = done("decide", "lab.toml")
    assert "loading (mol%)" in decided
    shown = done("show", "lab.toml")
    params = he.Study.from_file(folder / "lab.toml").records[1].params
    for part in (f"{params['solvent']}", f"{params['dry']}", "temperature (°C)"):
        assert part in shown
    one = done("show", "lab.toml", "--number", "1")
    assert f"solvent {params['solvent']}, dry {params['dry']}, loading {params['loading']:g} mol%, temperature " in one
    assert " °C, A " in one


PLACES = """
version = 1
name = "lab"
[space.solvent]
type = "choice"
options = ["THF", "water"]
[space.hours]
type = "real"
low = 1.0
high = 24.0
[decision]
{decision}
[model]
hyperparameters = "map"
"""
AT = '[{ solvent = "THF", hours = 2.0 }, { hours = 20.0, solvent = "water" }]'
NAMED = {
    "estimate": 'name = "estimate"\nat = AT',
    "level_sets": 'name = "level_sets"\nthresholds = [0.5]\nat = AT',
    "identify": 'name = "identify"\nwhat = AT',
}


@pytest.mark.parametrize("decision", NAMED.values(), ids=NAMED)
def test_places_are_named_as_designs_are(decision: str, folder: Path) -> None:
    """In a file and in a store, by the names of parameters and options in any order."""
    lab(folder, text=PLACES.format(decision=decision.replace("AT", AT)))
    study = he.Study.from_file(folder / "lab.toml")
    for hours in (1.0, 9.0, 24.0):
        study.attach({"solvent": "THF", "hours": hours}, hours / 24.0)
    places = [{"solvent": "THF", "hours": 2.0}, {"solvent": "water", "hours": 20.0}]
    stored = he.load_study("lab", f"sqlite:///{folder / 'hentropy.db'}")
    for each in (study, stored):
        rows = each.decide().action
        assert [{key: row[key] for key in ("solvent", "hours")} for row in rows] == places
        each.close()
    wrong = AT.replace("water", "watr")
    lab(folder, text=PLACES.format(decision=decision.replace("AT", wrong)))
    assert "decision: parameter solvent is 'watr'; did you mean water" in refused("check", "lab.toml")


FUNCTION = """
def measure(solvent, dry, loading, temperature, A, B):
    assert [type(each) for each in (solvent, dry, loading, temperature)] == [str, bool, float, float]
    return (solvent == "water") + dry + loading - abs(temperature - 60.0) / 100.0 + A / 100.0
"""
PROGRAM = f"""#!/usr/bin/env python3
import json, sys
{FUNCTION}
print(json.dumps({{"value": measure(**json.load(sys.stdin))}}))
"""


@pytest.mark.covering
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("kind", ["function", "program"])
def test_experiments_get_options_as_they_are(kind: str, workers: str, folder: Path) -> None:
    if kind == "program":
        (folder / "measure").write_text(PROGRAM)
        (folder / "measure").chmod(0o755)
        objective = 'type = "command"\ncommand = ["./measure"]'
    else:
        (folder / f"mixed_{workers}.py").write_text(FUNCTION)
        objective = f'type = "python"\nfunction = "mixed_{workers}:measure"'
    lab(folder, f"{objective}\n[stop]\ntrials = 4", CHEMIST)
    assert "lab.toml is valid" in done("check", "lab.toml")
    said = done("run", "lab.toml", "--workers", workers)
    assert re.search(r"so far: solvent [-\w ]+, dry (True|False), loading [\d.]+ mol%, temperature [\d.]+ °C, A ", said)
    names: dict[str, Any] = {}
    exec(FUNCTION, names)
    records = he.Study.from_file(folder / "lab.toml").records
    assert [trial.state.value for trial in records] == ["complete"] * 4, records
    for trial in records:
        assert trial.value == pytest.approx(names["measure"](**trial.params))
