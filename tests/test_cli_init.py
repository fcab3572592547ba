"""`hentropy init`: what it writes passes `hentropy check`."""

import json
import re
from pathlib import Path

import pytest

import hentropy as he
from hentropy.studies.definition import CHOICES, read
from hentropy.studies.definition.decisions import DECISIONS
from hentropy.views.cli.typed import read_parameters
from hentropy.views.text.sentences import values_text
from support.commands import done, function, hentropy, lab, refused


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_answer_is_a_decision() -> None:
    assert {choice.decision for choice in CHOICES} <= set(DECISIONS)


@pytest.mark.parametrize("decision", [choice.decision for choice in CHOICES])
def test_every_decision_can_be_begun_without_questions(decision: str) -> None:
    done("init", "lab.toml", "--decision", decision)
    assert "lab.toml is valid" in done("check", "lab.toml")


@pytest.mark.parametrize("number", range(3))
def test_what_is_written_for_each_objective_passes_the_check(folder: Path, number: int) -> None:
    objective = [
        ("--objective", "manual"),
        ("--function", f"begun_{folder.name.replace('-', '_')}:growth"),
        ("--command", "./measure --fast"),
    ][number]
    said = done("init", "--parameter", "x=real:0.1:10:log", "--parameter", "n=integer:1:8", "--trials", "9", *objective)
    assert "hentropy check study.toml" in said
    words = read(folder / "study.toml")
    assert words.name == "study"
    assert words.stop.trials == 9
    assert repr(words.designs()) == repr(he.Space(x=he.Real(0.1, 10.0, log=True), n=he.Integer(1, 8)))
    if number == 0:
        assert "study.toml is valid" in done("check", "study.toml")
        return
    for command in ("check", "run", "worker"):
        refused = hentropy(command, "study.toml")
        assert refused.code == 1
        assert "is still the stub; write there how an experiment is run" in refused.err
    assert not list(folder.glob("*.db*"))
    [stub] = [path for path in folder.iterdir() if path.name != "study.toml" and path.is_file()]
    written = {1: ("raise NotImplementedError", "return 1.5  # "), 2: ("print(json", "print(1.5)  # ")}[number]
    stub.write_text(stub.read_text().replace(*written))
    if number == 2:  # a module that is loaded stays as it was
        assert "study.toml is valid" in done("check", "study.toml")


@pytest.mark.parametrize(
    ("body", "stub"),
    [
        ("raise NotImplementedError", True),
        ('"""Doc."""\n    raise NotImplementedError("later")', True),
        ("return x", False),
        ("if x > 1:\n        raise NotImplementedError\n    return x", False),
        ("x = 1\n    raise NotImplementedError", False),
        ("raise ValueError", False),
    ],
)
def test_a_stub_is_known_by_its_text(folder: Path, body: str, stub: bool) -> None:
    module = f"stub_{abs(hash(body))}"
    lab(folder, function(folder, module, body))
    assert ("is still the stub" in hentropy("check", "lab.toml").err) is stub


def test_options_of_a_decision(folder: Path) -> None:
    done("init", "a.toml", "--decision", "top_k", "--option", "k=3", "--option", "largest=no", "--option", "cap=0.5")
    words = read(folder / "a.toml").decision.model_dump()
    assert (words["k"], words["largest"], words["cap"], words["weight"]) == (3, False, 0.5, 5.0)
    done("init", "b.toml", "--decision", "level_sets", "--option", "thresholds=0.5 1")
    assert read(folder / "b.toml").decision.model_dump()["thresholds"] == (0.5, 1.0)


def test_designs_from_a_file(folder: Path) -> None:
    assert "there is no file designs.csv" in hentropy("init", "--pool", "designs.csv").err
    assert not list(folder.iterdir())
    (folder / "designs.csv").write_text("a,b\n0,1\n1,2\n2,0\n")
    done("init", "--pool", "designs.csv")
    assert "a list of 3; their parameters are a, b" in done("check", "study.toml")


TYPED: dict[str, he.Real | he.Integer | he.Choice | he.Levels | he.Fractions] = {
    "20 to 120": he.Real(20.0, 120.0),
    "-1.5..2e3": he.Real(-1.5, 2000.0),
    "20 to 120 °C in steps of 5": he.Real(20.0, 120.0, step=5.0, unit="°C"),
    "20 to 120 in steps of 0.5 deg C": he.Real(20.0, 120.0, step=0.5, unit="deg C"),
    "0.01 to 10 mol/L, log": he.Real(0.01, 10.0, log=True, unit="mol/L"),
    "1 to 8 whole": he.Integer(1, 8),
    "2 to 64 whole log step 2": he.Integer(2, 64, log=True, step=2),
    "PPh3, XPhos,2-MeTHF": he.Choice(["PPh3", "XPhos", "2-MeTHF"]),
    "Na+, K+": he.Choice(["Na+", "K+"]),
    "5 to 10, 10 to 20": he.Choice(["5 to 10", "10 to 20"]),
    "1, 2, more": he.Choice([1, 2, "more"]),
    "0.5, 1, 2 mol%": he.Levels([0.5, 1, 2], unit="mol%"),
    "1, 2, 5": he.Levels([1, 2, 5]),
    "low < middle < high": he.Levels(["low", "middle", "high"]),
    "A + B+C": he.Fractions(["A", "B", "C"]),
    "A + B + C = 100 %, at most 2": he.Fractions(["A", "B", "C"], total=100.0, at_most=2, unit="%"),
    "real:0:10": he.Real(0.0, 10.0),
}


@pytest.mark.parametrize("text", TYPED)
def test_parameters_as_people_type_them(text: str) -> None:
    assert read_parameters([f"x ={text}"]) == {"x": TYPED[text]}


@pytest.mark.parametrize("text", TYPED)
def test_values_are_shown_as_they_can_be_typed(text: str) -> None:
    whole = " whole" * isinstance(TYPED[text], he.Integer)
    shown = values_text(TYPED[text]).replace(", logarithmic", " log").replace(" above zero", "")
    assert read_parameters([f"x={shown}{whole}"]) == {"x": TYPED[text]}


def test_a_chemist_s_study_by_flags() -> None:
    flags = {
        "ligand": "PPh3, XPhos, dppf",
        "solvent": "THF, water",
        "temperature": "20 to 120 °C",
        "loading": "0.5, 1, 2 mol%",
        "time": "5 to 60 min in steps of 5",
    }
    given = [word for name, values in flags.items() for word in ("--parameter", f"{name}={values}")]
    given += ["--where", "temperature <= boils[solvent] - 5", "--where", "time <= 60"]
    done("init", *given, "--table", "boils=THF:66,water:100", "--same-in-batch", "temperature")
    said = " ".join(done("check", "study.toml").split())
    for part in (
        "ligand │ choice │ PPh3, XPhos, dppf",
        "temperature │ real │ 20 to 120 °C",
        "loading │ levels │ 0.5 < 1 < 2 mol%",
        "time │ real │ 5 to 60 min in steps of 5",
        "Every design satisfies temperature <= boils[solvent] - 5.",
        "satisfy both conditions.",
        "Note: the condition time <= 60 excludes nothing",
        "All experiments of a batch have the same temperature.",
    ):
        assert part in said
    share = int(re.findall(r"Of 100 designs spread over the space, (\d+) satisfy", said)[0])
    assert 50 <= share <= 66  # by area (41 + 75) / 200, and the points are spread evenly
    plain = json.loads(done("check", "study.toml", "--json"))
    assert plain["notes"] == ["the condition time <= 60 excludes nothing"]
    assert plain["description"]["tables"] == {"boils": {"THF": 66.0, "water": 100.0}}


def test_costs_limits_plates_and_fidelities_by_flags(folder: Path) -> None:
    space = ("--parameter", "time=5 to 60 min", "--parameter", "fidelity=0.2, 1", "--same-in-batch", "fidelity")
    outcomes = ("--outcome", "yield=%", "--outcome", "impurity=%", "--outcome", "colour")
    limits = ("--subject-to", "impurity <= 3", "--subject-to", "1 <= colour <= 2")
    done("init", *space, *outcomes, *limits, "--cost", "1 + time / 10", "--decide-on", "fidelity=1")
    said = " ".join(done("check", "study.toml").split())
    assert "The cost of an experiment: 1 + time / 10." in said
    assert "The recommendation has fidelity 1" in said
    study = he.Study.from_file("study.toml")
    assert repr(study.decision) == repr(he.Maximize("yield", ["impurity <= 3", "1 <= colour <= 2"]))
    assert {study.decide_on.decode(row)["fidelity"] for row in study.decide_on.sample(9, 0)} == {1}
    one = ("--decision", "minimize", "--option", "outcome=yield", "--option", "subject_to=impurity <= 3")
    done("init", "one.toml", *space, *outcomes, *one, "--cost", "told")
    study = he.Study.from_file("one.toml")
    assert repr(study.decision) == repr(he.Minimize("yield", ["impurity <= 3"]))
    assert read(folder / "one.toml").cost is not None
    done("init", "plain.toml", *space, "--cost", "2.5")
    assert "Every experiment costs 2.5." in " ".join(done("check", "plain.toml").split())
    done("init", "hours.toml", *space, "--cost", "2.5", "--cost-unit", "hours")
    assert "Every experiment costs 2.5 hours." in " ".join(done("check", "hours.toml").split())
    assert "a unit needs --cost" in hentropy("init", "h.toml", *space, "--cost-unit", "hours").err


def test_a_pool_with_ids_is_shown(folder: Path) -> None:
    (folder / "shelf.csv").write_text("sample;alloy;x;price\nA1;AlCu;1;3\nA2;Fe;2;\nA3;AlCu;0.5;4\n")
    done("init", "--pool", "shelf.csv", "--id", "sample", "--ignore", "price")
    said = " ".join(done("check", "study.toml").split())
    assert "a list of 3; their parameters are alloy, x." in said
    assert "They are identified by sample and kept with price, which the model does not use." in said
    assert "alloy │ choice │ AlCu, Fe" in said
    assert "x │ column │ 0.5 to 2" in said
    refused = hentropy("init", "b.toml", "--pool", "shelf.csv", "--id", "smple", "--ignore", "price").err
    assert "shelf.csv has no column 'smple'; did you mean sample?" in refused
    (folder / "gaps.csv").write_text("sample,comment,x\nA1,,1\nA2,new,2\n")  # a gap is allowed where it is ignored
    misspelt = hentropy("init", "b.toml", "--pool", "gaps.csv", "--id", "sample", "--ignore", "coment").err
    assert "gaps.csv has no column 'coment'; did you mean comment?" in misspelt


def test_a_file_that_is_there_is_left_alone(folder: Path) -> None:
    (folder / "study.toml").write_text("mine")
    assert "give --force" in hentropy("init").err
    assert (folder / "study.toml").read_text() == "mine"
    done("init", "--force")
    assert "x1 and x2 from 0 to 1 are examples" in done("init", "--force")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="/proc is a folder in which nobody can write")
def test_a_file_that_cannot_be_written_is_named_itself() -> None:
    said = hentropy("init", "/proc/x.toml")
    assert said.code == 1
    assert said.err.startswith("error: /proc/x.toml cannot be written: ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("study.yaml",), 1, "does not end in .toml"),
        (("no/study.toml",), 1, "there is no folder no"),
        (("--parameter", "x"), 2, 'NAME=VALUES, such as "t=20 to 120'),
        (("--parameter", "x=real:0"), 2, "NAME=real:LOW:HIGH"),
        (("--parameter", "x= ,"), 2, "there are no values; write"),
        (("--parameter", "x=0,5 to 2"), 2, "looks like a decimal comma; write numbers with a point"),
        (("--parameter", "x=20,5-90"), 2, "looks like a decimal comma; write numbers with a point"),
        (("--parameter", "x=64-17-5"), 2, "'64-17-5' is not understood; write"),
        (("--parameter", "x=warm"), 2, "'warm' is not understood; write"),
        (("--parameter", "x=THF, THF"), 2, "the options must differ, got THF twice"),
        (("--parameter", "x=1_5 to 20"), 2, "must be numbers"),
        (("--parameter", "x=1.5 to 20 whole"), 2, "must be whole numbers"),
        (("--parameter", "x=0 to 1 in steps of 0.3"), 2, "not a whole number of steps"),
        (("--parameter", "x=0 to 1", "--where", "y < 1"), 1, "where: in the expression"),
        (("--parameter", "x=0 to 1", "--table", "price=THF"), 2, "NAME=OPTION:NUMBER"),
        (("--parameter", "x=0 to 1", "--table", "price=THF:dear"), 2, "'dear' is not a number"),
        (("--parameter", "x=0 to 1", "--same-in-batch", "y"), 1, "same_in_batch must name parameters"),
        (("--parameter", "x=0 to 1", "--id", "name"), 2, "name columns of a pool"),
        (("--pool", "p.csv", "--where", "x < 1"), 2, "conditions go with parameters"),
        (("--parameter", "x=real:1:0"), 2, "must be below"),
        (("--parameter", "x=real:a:b"), 2, "must be numbers"),
        (("--parameter", "x=integer:0.5:2"), 2, "must be whole numbers"),
        (("--parameter", "x=real:0:1:log"), 2, "lower bound above 0"),
        (("--parameter", "x=real:0:1", "--parameter", "x=real:0:1"), 2, "appears twice"),
        (("--parameter", "x=real:0:1", "--pool", "p.csv"), 2, "not both"),
        (("--decision", "best"), 2, "maximize"),
        (("--option", "k=2"), 2, "--decision"),
        (("--decision", "top_k", "--option", "k"), 2, "KEY=VALUE"),
        (("--parameter", "x=0 to 1", "--decide-on", "x"), 2, "is not of the form NAME=VALUE"),
        (("--parameter", "x=0 to 1", "--decide-on", "x=2"), 1, "decide_on: parameter x is 2.0, outside"),
        (("--parameter", "x=0 to 1", "--cost", "y + 1"), 1, "cost.of: in the expression"),
        (("--decision", "estimate", "--subject-to", "value <= 3"), 1, "decision.subject_to"),
        (
            ("--decision", "maximize", "--option", "subject_to=value <= 3", "--subject-to", "value <= 2"),
            2,
            "limits are given twice",
        ),
        (("--decision", "top_k", "--option", "k=many"), 1, "decision.k"),
        (("--decision", "top_k", "--option", "size=2"), 1, "decision.size"),
        (("--objective", "manual", "--function", "a:b"), 2, "a function goes with python"),
        (("--function", "nonsense"), 1, "package.module:name"),
        (("--trials", "0"), 2, "--trials"),
        (("--noise", "much"), 2, "give a number, such as 0.5, 0 for not at all"),
        (("--noise=-1",), 2, "give a number, such as 0.5"),
        (("--outcome", "a", "--outcome", "b", "--noise", "1"), 2, 'say it of each, such as --outcome "a=% noise 1"'),
        (("--outcome", "a=% noise 2", "--noise", "1"), 2, "the noise of a is stated twice"),
        (("--outcome", "a=% noise"), 2, "noise needs a number"),
        (("--outcome", "a=% noise 0 heavy tails"), 2, "noise=0 means that a repeated experiment gives the same result"),
        (("--outcome", "a=% 3 to 1"), 2, "low must be below high, got 3 and 1"),
        (("--function", "class:def"), 1, "a Python keyword"),
        (("--function", "oven:def"), 1, "has 'def', which is a Python keyword"),
        (("--function", "oven.py:measure"), 1, "write oven:measure, without .py"),
        (("--function", "oven:mea-sure"), 1, "package.module:name"),
        (("--name=-v",), 1, "starts with a dash"),
        (("--name", "n" * 201), 1, "it has 201 letters; at most 200"),
        (("--parameter", "x=real:-1e308:1e308"), 2, "too wide for double precision"),
        (("--parameter", "x=integer:0:1" + "0" * 400), 2, "too wide for double precision"),
    ],
)
def test_wrong_options_write_nothing(folder: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    found = hentropy("init", *arguments)
    assert found.code == code, found
    assert said in " ".join(found.err.replace("│", " ").split())
    assert not list(folder.iterdir())


def test_outcomes_are_given_with_their_units(folder: Path) -> None:
    outcomes = ("--outcome", "yield=%", "--outcome", "impurity=% log", "--outcome", "colour")
    done(
        "init",
        "lab.toml",
        "--parameter",
        "t=20 to 120",
        *outcomes,
        "--option",
        "subject_to=['impurity <= 3']",
        "--yes",
        "--decision",
        "maximize",
    )
    study = he.Study.from_file("lab.toml")
    assert study.outcomes.by_name == {
        "yield": he.Outcome(unit="%"),
        "impurity": he.Outcome(unit="%", log=True),
        "colour": he.Outcome(),
    }
    assert repr(study.decision) == repr(he.Maximize("yield", ["impurity <= 3"]))  # the first is the one that counts
    done("init", "one.toml", "--parameter", "t=20 to 120", "--outcome", "hardness=HV", "--yes")
    assert he.Study.from_file("one.toml").outcomes.titles == {"hardness": "hardness (HV)"}
    for wrong in ("=%", "t=%"):
        assert hentropy("init", "other.toml", "--parameter", "t=20 to 120", "--outcome", wrong, "--yes").code != 0
    twice = ("--outcome", "yield=%", "--outcome", "yield=g")
    assert "yield" in refused("init", "other.toml", "--parameter", "t=20 to 120", *twice, "--yes", code=2)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((), {"value": he.Outcome()}),
        (("--noise", "0.3"), {"value": he.Outcome(noise=0.3)}),
        (("--noise", "not at all"), {"value": he.Outcome(noise=0.0)}),
        (("--noise", "I do not know"), {"value": he.Outcome()}),
        (("--outcome", "yield=%", "--noise", "about 0.5 %"), {"yield": he.Outcome(unit="%", noise=0.5)}),
        (("--outcome", "yield=% 0 to 100"), {"yield": he.Outcome(unit="%", low=0.0, high=100.0)}),
        (("--outcome", "rate=1/s at least 0 noise 2e-3 log"), {"rate": he.Outcome("1/s", True, noise=2e-3, low=0.0)}),
        (("--outcome", "loss=at most -1.5"), {"loss": he.Outcome(high=-1.5)}),
        (("--outcome", "a=% noise 2 heavy tails"), {"a": he.Outcome(unit="%", noise=2.0, tails="heavy")}),
        (
            ("--decision", "pareto", "--outcome", "yield=% noise 0.5", "--outcome", "impurity=%"),
            {"yield": he.Outcome(unit="%", noise=0.5), "impurity": he.Outcome(unit="%")},
        ),
        (("--decision", "minimize", "--option", "outcome=energy", "--noise", "0"), {"energy": he.Outcome(noise=0.0)}),
    ],
)
def test_noise_and_bounds_by_flags(given: tuple[str, ...], found: dict[str, he.Outcome]) -> None:
    done("init", "--parameter", "t=20 to 120", *given)
    assert he.Study.from_file("study.toml").outcomes.by_name == found
    said = " ".join(done("check", "study.toml").split())
    [name, one] = next(iter(found.items()))
    assert (f"The {name} of a repeated experiment" in said) is (one.noise is not None)
    assert (f"The {name} may be grossly wrong now and then" in said) is (one.tails is not None)


@pytest.mark.parametrize("values", ["20 to 90 °C", " 20..90 °C", "20-90 °C", " 20 \u2013 90 °C"])
def test_ways_to_write_a_range(values: str) -> None:
    done("init", "--parameter", f"t={values}", "--parameter", "basis=6-31G, cc-pVDZ", "--parameter", "u=-5--1")
    space = he.Space(t=he.Real(20.0, 90.0, unit="°C"), basis=["6-31G", "cc-pVDZ"], u=he.Real(-5.0, -1.0))
    assert repr(he.Study.from_file("study.toml").space) == repr(space)
