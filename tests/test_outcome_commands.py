"""Outcomes by name on the command line: study files, values told by name, tables of results, exports that come back."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

import hentropy as he
from hentropy.studies.definition import json_schema
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Measurement, State
from hentropy.views.cli.trial_tables import trials_table
from support.commands import done, hentropy, refused

FILE = """\
version = 1
name = "reaction"
first = 4
[space.loading]
type = "real"
low = 0.5
high = 5.0
[space.minutes]
type = "real"
low = 5.0
high = 60.0
unit = "min"
[outcomes.yield]
unit = "%"
[outcomes.impurity]
unit = "%"
[outcomes.price]
computed = "2 * loading + 0.3 * minutes"
unit = "€"
[decision]
name = "maximize"
outcome = "yield"
subject_to = ["impurity <= 3"]
[model]
hyperparameters = "map"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.toml").write_text(FILE)
    return tmp_path


def records() -> tuple[he.Trial, ...]:
    return he.Study.from_file("lab.toml").records


def measurements() -> list[dict[str, tuple[float, float | None]]]:
    return [{name: (one.value, one.std_error) for name, one in t.measurements.items()} for t in records()]


def test_a_file_says_what_is_measured() -> None:
    said = done("check", "lab.toml")
    assert "Experiments measure yield in % and impurity in %." in said
    assert "Computed, price in €: 2 * loading + 0.3 * minutes." in said
    assert "In the end you will have one design with the highest yield, with impurity <= 3 %." in said
    assert he.Study.from_file("lab.toml").outcomes.by_name == {
        "yield": he.Outcome("%"),
        "impurity": he.Outcome("%"),
        "price": he.Computed("price", "2 * loading + 0.3 * minutes", "€"),
    }
    words = json_schema()["$defs"]["OutcomeWords"]["properties"]
    assert set(words) == {"unit", "log", "kind", "grades", "at_least", "noise", "low", "high", "tails", "computed"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[outcomes.impurity]", "[outcomes.loading]", "'loading' is a parameter and an outcome"),
        ("[outcomes.impurity]", "[outcomes.note]", "cannot be called 'note'"),
        ('outcome = "yield"', 'outcome = "yeild"', "did you mean yield"),
        ('outcome = "yield"\nsubject_to = ["impurity <= 3"]', "", "say which of them the decision is about"),
        ('subject_to = ["impurity <= 3"]', 'subject_to = ["impurities <= 3"]', "did you mean impurity"),
        ('computed = "2 * loading', 'computed = "2 * lading', "the outcome price"),
        ('computed = "2', 'log = true\ncomputed = "2', "computed, so it has no log"),
        ('unit = "€"', 'units = "€"', "did you mean unit"),
        ('unit = "€"', "unit = 3", "outcomes.price.unit"),
    ],
)
def test_mistakes_in_a_file_are_named(folder: Path, old: str, new: str, said: str) -> None:
    assert old in FILE
    (folder / "lab.toml").write_text(FILE.replace(old, new))
    found = hentropy("check", "lab.toml")
    assert found.code == 1
    assert said in found.err


def test_the_noise_may_be_stated_later_and_values_beyond_the_bounds_are_refused(folder: Path) -> None:
    bounded = FILE.replace("[outcomes.yield]", "[outcomes.yield]\nlow = 0\nhigh = 100")
    (folder / "lab.toml").write_text(bounded)
    done("ask", "lab.toml")
    assert "yield is 800.1, which is above 100" in refused("tell", "lab.toml", "0", "yield=800.1")
    done("tell", "lab.toml", "0", "yield=80.1")
    (folder / "lab.toml").write_text(bounded.replace("high = 100", "high = 100\nnoise = 0.5"))
    assert "has changed in outcomes; the next run, ask or worker takes that over" in hentropy("show", "lab.toml").err
    done("ask", "lab.toml")
    shown = hentropy("show", "lab.toml")
    assert shown.err == ""
    assert "The yield of a repeated experiment differs by about 0.5 % (standard deviation)." in shown.out
    (folder / "lab.toml").write_text(bounded.replace("high = 100", "high = 90"))
    assert "outcomes.yield.high: 100.0 there, 90.0 here" in refused("ask", "lab.toml")


def test_values_are_told_by_name_and_shown_with_units() -> None:
    done("ask", "lab.toml", "--count", "2")
    first = done("tell", "lab.toml", "0", "yield=80.1", "impurity=2.3±0.2")
    assert "0: yield 80.1 %, impurity 2.3 ± 0.2 % are recorded. 1 result so far" in first
    partly = done("tell", "lab.toml", "1", "impurity=-0.5+-0.1")
    assert "1: impurity -0.5 ± 0.1 % is recorded; yield may be told later" in partly
    done("tell", "lab.toml", "1", "yield=70", "--std-error", "2")
    assert measurements() == [
        {"yield": (80.1, None), "impurity": (2.3, 0.2)},
        {"yield": (70.0, 2.0), "impurity": (-0.5, 0.1)},
    ]
    shown = done("show", "lab.toml")
    # in 80 columns a unit stands below the name
    assert re.search(r"yield\s.*\n.*\(%\)", shown)
    assert "(€)" in shown
    assert "Yield from 70 (trial 1) to 80.1 % (trial 0). Impurity from -0.5 (trial 1) to 2.3 % (trial 0)." in shown
    history = done("show", "lab.toml", "--number", "1")
    assert "impurity (%)" in history
    assert "70 ± 2" in history


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("0", "80"), 1, "does not say which outcome it is"),
        (("0", "yeild=80"), 1, "did you mean yield"),
        (("0", "price=80"), 1, "price is computed"),
        (("0", "yield=80", "70"), 1, "write NAME=VALUE"),
        (("0", "yield=80", "yield=70"), 1, "yield is given twice"),
        (("0", "yield=much"), 1, "the value of yield is 'much', which is not a number"),
        (("0", "yield=3,5"), 1, "with a decimal comma; write 3.5"),
        (("0", "yield=3±x"), 1, "the standard error is 'x'"),
        (("0", "yield=3±1", "--std-error", "1"), 1, "given twice"),
        (("0", "yield=3", "impurity=1", "--std-error", "1"), 1, "does not say of which outcome"),
        (("0",), 2, "Give a value"),
        (("0", "yield=3", "--dry-run"), 2, "only for a file of results"),
        (("9", "yield=3"), 1, "there is no trial 9"),
        (("nothing.csv",), 1, "there is no file nothing.csv"),
        (("x", "yield=3"), 2, "must be the number of a trial"),
    ],
)
def test_what_cannot_be_told_is_refused(arguments: tuple[str, ...], code: int, said: str) -> None:
    done("ask", "lab.toml")
    found = hentropy("tell", "lab.toml", *arguments)
    assert found.code == code
    assert said in " ".join(found.err.replace("│", " ").split())
    assert measurements() == [{}]


def test_many_results_are_told_from_a_table(folder: Path) -> None:
    asked = json.loads(done("ask", "lab.toml", "--count", "4", "--json"))
    done("tell", "lab.toml", "3", "yield=10")
    rows = [
        "number,yield,yield_se,impurity,note,operator",
        "0,80.1,0.5,2.3,'=warm,me",
        "1,70,,,,me",
        "2,,,,,me",
        "3,11,,1,,me",
        "9,1,,1,,me",
        "0,1,,1,,me",
        "one,1,,1,,me",
    ]
    (folder / "results.csv").write_text("\n".join(rows) + "\n")
    dry = hentropy("tell", "lab.toml", "results.csv", "--dry-run")
    assert "2 trials would be told, 5 rows left out; nothing was changed." in dry.out
    assert measurements() == [{}, {}, {}, {"yield": (10.0, None)}]
    told = hentropy("tell", "lab.toml", "results.csv")
    assert "0: yield 80.1 ± 0.5 %, impurity 2.3 %" in told.out
    assert "2 trials were told, 5 rows left out. 3 results so far, 1 pending (2)." in told.out
    for line in (
        "line 4: nothing is entered for yield and impurity",
        "line 5: trial 3 already has a result: yield 10",
        "line 6: there is no trial 9",
        "line 7: trial 0 is told in an earlier row of the table",
        "line 8: number is 'one'",
        "unused columns: operator",
    ):
        assert line in told.err
    assert records()[0].note == "=warm"
    assert (dry.code, told.code) == (1, 1)  # some rows were refused
    (folder / "waiting.csv").write_text("number,yield,impurity\n1,70,\n2,,\n")
    assert hentropy("tell", "lab.toml", "waiting.csv").code == 0  # a row without a result is no mistake
    again = json.loads(hentropy("tell", "lab.toml", "results.csv", "--json").out)
    assert (again["told"], again["same"], len(again["left_out"])) == ([], [0, 1], 5)
    corrected = json.loads(hentropy("tell", "lab.toml", "results.csv", "--replace", "--json").out)
    assert [trial["number"] for trial in corrected["told"]] == [3]
    assert measurements()[3] == {"yield": (11.0, None), "impurity": (1.0, None)}
    assert len(asked) == 4


def test_a_table_tells_failures_too(folder: Path) -> None:
    done("ask", "lab.toml", "--count", "4")
    rows = ("0,52.5,1.9,,", "1,,,failed,vial broke", "2,31.0,,failed,", "3,,,lost,")
    (folder / "results.csv").write_text("\n".join(["number,yield,impurity,status,note", *rows]) + "\n")
    told = hentropy("tell", "lab.toml", "results.csv")
    assert "1: failed (vial broke)" in told.out
    assert "2 trials were told, 2 rows left out. 1 result so far, 2 pending (2, 3)." in told.out
    assert "line 4: status says that it failed, but yield was measured; which is it?" in told.err
    assert "line 5: status is 'lost'; it must be one of failed," in told.err
    assert [(t.state.value, t.note) for t in records()][:2] == [("complete", ""), ("failed", "vial broke")]
    # a plate that is lost as a whole has no columns of values
    (folder / "plate.csv").write_text("number,status,reason\n2,failed,leak\n3,crashed,leak\n")
    done("tell", "lab.toml", "plate.csv")
    assert [(t.state.value, t.note) for t in records()][2:] == [("failed", "leak"), ("failed", "leak")]
    (folder / "plate.csv").write_text("number,note\n2,leak\n")
    assert "there is no column 'yield' or 'impurity' for the values" in hentropy("tell", "lab.toml", "plate.csv").err


@pytest.mark.parametrize(
    ("column", "meant"),
    [("yeild", "yield"), ("Yield", "yield"), ("impurty_se", "impurity_se"), ("Impurity_SE", "impurity_se")],
)
def test_a_misspelt_column_of_an_outcome_is_refused(folder: Path, column: str, meant: str) -> None:
    done("ask", "lab.toml")
    said = f"the column '{column}' is neither a parameter nor an outcome; did you mean {meant}?"
    (folder / "results.csv").write_text(f"number,impurity,{column}\n0,1.5,44\n")
    (folder / "old.csv").write_text(f"loading,minutes,impurity,{column}\n1,10,1.5,44\n")
    for arguments in (("tell", "lab.toml", "results.csv"), ("attach", "lab.toml", "old.csv")):
        told = hentropy(*arguments)
        assert told.code == 1
        assert f"{said} Rename it, or use --map COLUMN=NAME" in " ".join(told.err.split())
        assert measurements() == [{}]
    (folder / "other.csv").write_text("number,impurity,operator,rate_se,shield\n0,1.5,me,1,2\n")
    assert "unused columns: operator, rate_se, shield" in hentropy("tell", "lab.toml", "other.csv").err


def test_results_are_known_by_their_designs(folder: Path) -> None:
    asked = json.loads(done("ask", "lab.toml", "--count", "3", "--json"))
    full, short = (asked[i]["params"] for i in (0, 1))
    rows = [
        "loading,minutes (min),Y,impurity",
        f"{full['loading']!r},{full['minutes']!r},50,1",
        f"{short['loading']:.5g},{short['minutes']:.5g},60,2",  # as it stands in the table that ask prints
        "1,10,70,3",
        "99,10,70,3",
        f"{full['loading']!r},{full['minutes']!r},51,1",
    ]
    (folder / "results.csv").write_text("\n".join(rows) + "\n")
    missing = hentropy("tell", "lab.toml", "results.csv", "--map", "y=yield")
    assert missing.code == 1
    assert "no column y for the values" in missing.err
    told = hentropy("tell", "lab.toml", "results.csv", "--map", "Y=yield")
    assert [one.get("yield") for one in measurements()] == [(50.0, None), (60.0, None), None]
    assert (
        "line 4: no trial has this design; results that were not asked for are added by `hentropy attach`" in told.err
    )
    assert "line 5: parameter loading is 99.0, outside" in told.err
    assert "line 6: no trial waits with this design; trial 0, which has it, is complete" in told.err
    wrong = f"number,loading,yield\n2,{full['loading']!r},1\n"
    (folder / "wrong.csv").write_text(wrong)
    refused = hentropy("tell", "lab.toml", "wrong.csv")
    assert refused.code == 1
    assert "is it another trial?" in refused.err


def test_earlier_data_have_a_column_for_each_outcome(folder: Path) -> None:
    (folder / "old.csv").write_text(
        "loading,minutes,yield (%),Imp,Imp error\n1,10,50,1.5,0.1\n2,20,60,,\n3,30,,2,\n4,40,,,\n"
    )
    mapped = ("--map", "Imp=impurity", "--map", "Imp error=impurity_se")
    bad = hentropy("attach", "lab.toml", "old.csv", *mapped)
    assert "line 5: nothing was measured; tell at least one of yield, impurity" in bad.err
    done("attach", "lab.toml", "old.csv", *mapped, "--skip-bad")
    assert measurements() == [
        {"yield": (50.0, None), "impurity": (1.5, 0.1)},
        {"yield": (60.0, None)},
        {"impurity": (2.0, None)},
    ]
    wrong = hentropy("attach", "lab.toml", "old.csv", "--map", "Imp=impurty")
    assert "neither a parameter nor an outcome" in wrong.err
    assert "did you mean impurity?" in wrong.err


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_an_export_comes_back(folder: Path, form: str) -> None:
    (folder / "old.csv").write_text("loading,minutes,yield,impurity,impurity_se\n1,10,50,1.5,0.1\n2,20,60,,\n")
    done("attach", "lab.toml", "old.csv")
    done("ask", "lab.toml")
    done("export", "lab.toml", "--out", f"all.{form}")
    if form == "csv":
        head = (folder / "all.csv").read_text().splitlines()
        assert head[0].startswith("number,loading,minutes,state,yield,yield_se,impurity,impurity_se,price,gain,")
        assert ",complete,50.0,,1.5,0.1,5.0," in head[1]
    before = records()
    (folder / "lab.toml").write_text(FILE.replace('"reaction"', '"copy"'))
    done("import", "lab.toml", f"all.{form}")
    assert records() == before


def test_a_study_from_a_file_is_decided_with_its_limit(folder: Path) -> None:
    (folder / "old.csv").write_text(
        "loading,minutes,yield,impurity\n" + "".join(f"{i},{12 * i},{60 - (i - 3) ** 2},{i}\n" for i in range(1, 6))
    )
    done("attach", "lab.toml", "old.csv")
    [asked] = json.loads(done("ask", "lab.toml", "--json"))
    assert asked["origin"] == "proposed"
    said = done("decide", "lab.toml", "--details")
    assert said.startswith("The best design: yield ")
    assert ", impurity <= 3 % with " in said
    assert "One design with the highest yield, with impurity <= 3 %: expected loss" in said
    assert "yield (%)" in said
    assert "limits hold" in said
    shown = done("show", "lab.toml")
    assert "impurity sd (%)" in shown


def test_a_function_and_a_program_measure_several_outcomes(folder: Path) -> None:
    (folder / "objective.py").write_text(
        "def measure(loading, minutes):\n    return {'yield': 50 - minutes, 'impurity': (loading, 0.1)}\n"
        "def wrong(loading, minutes):\n    return {'yeild': 50}\n"
    )
    python = '[objective]\ntype = "python"\nfunction = "objective:measure"\n[stop]\ntrials = 2\n'
    (folder / "lab.toml").write_text(FILE + python)
    assert "0: yield " in done("run", "lab.toml")
    assert [sorted(one) for one in measurements()] == [["impurity", "yield"]] * 2
    command = '[objective]\ntype = "command"\ncommand = ["sh", "-c", %s]\n[stop]\ntrials = 1\n'
    printed = json.dumps("""echo '{"yield": 3, "impurity": [2, 0.5]}'""")
    (folder / "lab.toml").write_text(FILE.replace('"reaction"', '"program"') + command % printed)
    done("run", "lab.toml")
    assert measurements() == [{"yield": (3.0, None), "impurity": (2.0, 0.5)}]
    (folder / "lab.toml").write_text(FILE.replace('"reaction"', '"wrong"') + python.replace("measure", "wrong"))
    failed = hentropy("run", "lab.toml")
    assert "there is no outcome 'yeild'" in failed.out
    assert {trial.state.value for trial in records()} == {"failed"}


def test_what_to_type_names_the_outcomes(folder: Path) -> None:
    plan = ["--parameter", "x=0 to 1", "--outcome", "yield=%", "--outcome", "impurity=% log", "--decision", "maximize"]
    said = done("init", "new.toml", "--yes", *plan, "--option", "outcome=yield")
    assert "hentropy tell new.toml 0 yield=VALUE impurity=VALUE" in said
    text = (folder / "new.toml").read_text()
    assert re.search(r"^# What a design is worth that violates a limit.*\n# fallback = 0\.0$", text, re.MULTILINE)
    assert "impurity in % (on a logarithmic scale)" in " ".join(done("check", "new.toml").split())


def test_ask_says_with_what_probability_an_experiment_succeeds(folder: Path) -> None:
    for trial in json.loads(done("ask", "lab.toml", "--count", "4", "--json")):
        assert trial["chance_of_success"] is None  # none has failed
        number = str(trial["number"])
        done("fail", "lab.toml", number, "burnt") if number == "1" else done(
            "tell", "lab.toml", number, "yield=1", "impurity=2"
        )
    assert "chance of success" in done("ask", "lab.toml")
    [next_one] = json.loads(done("ask", "lab.toml", "--json"))
    assert 0.0 < next_one["chance_of_success"] < 1.0


def test_two_parameters_and_two_outcomes_fit_a_terminal(folder: Path) -> None:
    space = he.Space(temperature=he.Real(20, 90, unit="C"), minutes=he.Integer(5, 60))
    outcomes = Outcomes.of({"yield": he.Outcome(unit="%"), "impurity": he.Outcome(unit="%")}, space)
    told = {"yield": Measurement(87.321), "impurity": Measurement(0.51078)}
    trials = [
        he.Trial(0, {"temperature": 53.258, "minutes": 38}, State.COMPLETE, told, origin="first"),
        he.Trial(1, {"temperature": 60.513, "minutes": 7}, State.FAILED, gain=0.44075, note="burnt"),
    ]
    console = Console(width=80, file=io.StringIO())
    console.print(trials_table(trials, outcomes, {1: "about 0.44 % yield"}))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert any("0" in line and "53.258" in line and "0.51078" in line and "first" in line for line in lines)
    assert not any("trial 0:" in line for line in lines)
    assert any("failed" in line and "about 0.44 %" in line for line in lines)


def test_gains_are_said_in_the_units_of_the_outcome(folder: Path) -> None:
    """In tables as in verdicts; values for programs stay as they are."""
    for trial in json.loads(done("ask", "lab.toml", "--count", "4", "--json")):
        done("tell", "lab.toml", str(trial["number"]), f"yield={50 + trial['number'] % 3}", "impurity=2")
    said = " ".join(re.sub("[│┃]", " ", done("ask", "lab.toml")).split())
    [trial] = [each for each in json.loads(done("show", "lab.toml", "--json"))["trials"] if each["gain"]]
    words = re.search(r"(about|less than) (\S+) % yield", said)
    assert words is not None
    known = trial["gain"] if words[1] == "about" else trial["gain"] + 2.0 * trial["gain_error"]
    assert float(words[2]) == pytest.approx(known, rel=0.05)
    assert words[0] in " ".join(re.sub("[│┃]", " ", done("show", "lab.toml", "--trials", "1")).split())
    assert f"gain: {words[0]}" in done("show", "lab.toml", "--number", str(trial["number"]))
