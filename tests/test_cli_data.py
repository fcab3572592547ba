"""Data in and out on the command line: attach, export, import."""

import json
from pathlib import Path

import pytest

import hentropy as he
from support.commands import STUDY, done, hentropy, lab

ODD = """
version = 1
name = "odd"
[space.value]
type = "real"
low = 0.0
high = 1.0
[space.param_value]
type = "integer"
low = 1
high = 9
[space."=risky"]
type = "real"
low = 0.0
high = 1.0
[decision]
name = "maximize"
"""
NOTES = ["=1+1", "+x", "'quoted", 'two\nlines, "and" a comma', "\r lone", "plain", "über \u2028 ok", "- dash", "[red]"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(folder: Path) -> list[tuple[float, float | None, float | None]]:
    study = he.Study.from_file(folder / "lab.toml")
    return [(trial.params["x"], trial.value, trial.std_error) for trial in study.records]


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"x,value,value_se\n0.5,1,0.1\n-1,2.5e0,\n", ()),
        (b"\xef\xbb\xbfx;value;value_se\r\n0.5;1;0.1\r\n-1;2.5;\r\n", ()),
        (b"value\tx\tvalue_se\n1\t0.5\t0.1\n\n2.5\t-1\t\n", ()),
        (
            b'"the x","y",e,day\n0.5,1,0.1,mon\n-1,2.5,,tue\n',
            ("--map", "the x=x", "--map", "y=value", "--map", "e=value_se"),
        ),
    ],
)
def test_earlier_data_in_their_many_forms(folder: Path, content: bytes, options: tuple[str, ...]) -> None:
    lab(folder)
    (folder / "old.csv").write_bytes(content)
    assert "2 rows would be attached" in done("attach", "lab.toml", "old.csv", "--dry-run", *options)
    assert not (folder / "hentropy.db").exists()
    assert "2 rows attached" in done("attach", "lab.toml", "old.csv", *options)
    assert values(folder) == [(0.5, 1.0, 0.1), (-1.0, 2.5, None)]
    twice = hentropy("attach", "lab.toml", "old.csv", *options)
    assert twice.code == 1
    assert "in the study already" in twice.err
    done("attach", "lab.toml", "old.csv", "--again", *options)
    assert len(values(folder)) == 4


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "x,value\n0,1\n7,1\n0,\nq,1\n0,nan\n",
            ["4 rows", "line 3: parameter x is 7.0, outside", "line 4: value is empty"],
        ),
        ("x,value\n0,1\nq,1\n0,nan\n", ["line 3: x is 'q': not a number", "line 4: value is nan: not a finite number"]),
        ("x;value\n0,5;1\n", ["line 2: x is '0,5': a decimal comma"]),
        ("x,value\n0,5,1\n", ["line 2: 3 cells for 2 columns; does it use decimal commas?"]),
        ("x,value,value_se\n0,1,-2\n", ["line 2: the standard error told is -2.0"]),
        ("y,value\n0,1\n", ["no column 'x'", "the columns of old.csv are y, value", "--map COLUMN=NAME"]),
        ("x,y\n0,1\n", ["no column 'value'", "--map COLUMN=NAME"]),
        ("x,x,value\n0,1,2\n", ["two columns named 'x'"]),
        ("x,value\n", ["no rows"]),
        ("", ["is empty"]),
    ],
)
def test_bad_rows_are_named_and_nothing_is_attached(folder: Path, content: str, said: list[str]) -> None:
    lab(folder)
    (folder / "old.csv").write_text(content)
    found = hentropy("attach", "lab.toml", "old.csv")
    assert found.code == 1
    for part in said:
        assert part in found.err
    assert not (folder / "hentropy.db").exists()


def test_it_is_said_how_many_rows_failed(folder: Path) -> None:
    lab(folder)
    (folder / "old.csv").write_text("x,value,status\n0.5,1,\n-1,,failed\n2,,failed\n")
    for more, said in (
        (["--dry-run"], "3 rows would be attached, of which 2 failed"),
        ([], "3 rows attached, of which 2"),
    ):
        assert said in done("attach", "lab.toml", "old.csv", *more)


def test_bad_rows_can_be_left_out(folder: Path) -> None:
    lab(folder)
    (folder / "old.csv").write_text("x,value\n0,1\n7,1\n")
    said = hentropy("attach", "lab.toml", "old.csv", "--skip-bad")
    assert "line 3: parameter x is 7.0" in said.err
    assert "1 row attached" in said.out
    assert values(folder) == [(0.0, 1.0, None)]


def test_a_file_that_is_not_utf_8_is_refused(folder: Path) -> None:
    lab(folder)
    (folder / "old.csv").write_bytes("x,value\n0,1\n".encode("utf-16"))
    assert "as CSV UTF-8" in hentropy("attach", "lab.toml", "old.csv").err
    assert "COLUMN=NAME" in hentropy("attach", "lab.toml", "old.csv", "--map", "x").err


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_export_and_import_are_inverse(folder: Path, form: str) -> None:
    odd = folder / "odd.toml"
    odd.write_text(ODD)
    study = he.Study.from_file(odd)
    study.attach({"value": 0.1, "param_value": 3, "=risky": 1 / 3}, (-0.5, 0.25))
    for number, note in enumerate(NOTES, start=1):
        study.ask()
        study.tell(number, 0.1 * number, note=note)
    for _ in range(3):
        study.ask()
    study.tell(len(NOTES) + 1, failed="@home")
    study.withdraw(len(NOTES) + 2, note="late")
    exported = done("export", "odd.toml", "--format", form)
    if form == "csv":
        assert exported.startswith("number,param_value,param_param_value,'=risky,state,value,value_se,gain,")
        assert ",'=1+1," in exported
        assert ",-0.5,0.25," in exported
    done("export", "odd.toml", "--out", f"odd.{form}")
    assert (folder / f"odd.{form}").read_bytes().decode() == exported
    said = done("import", "odd.toml", f"odd.{form}", "--store", "sqlite:///other.db")
    assert said == f"{len(NOTES) + 4} trials imported; 1 of them pending (listed by hentropy show)\n"
    again = done("export", "odd.toml", "--format", form, "--store", "sqlite:///other.db")
    assert again == exported
    assert he.Study.from_file(odd, storage="sqlite:///other.db").records == study.records


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("number,x,state,value\n0,0.5,complete,1\n2,0.5,complete,1\n", "record 1 has the number 2"),
        ("number,x,state,value\n0,0.5,complete,\n", "line 2: the state is complete and the value None"),
        ("number,x,state,value\n0,0.5,done,1\n", "line 2: state is 'done'"),
        ("number,x,state,value\n0,9,complete,1\n", "outside [-1, 3]"),
        ("number,y,state,value\n0,9,complete,1\n", "misses x and has unknown y"),
        (
            '{"number": 0, "params": {"x": 0.5}, "state": "complete", "measurements": {"value": {"value": "1"}}}\n',
            "line 1: value is '1'",
        ),
        ('{"number": 0}\n', "line 1: not a trial"),
        ("number,x,state,value,ended_at\n0,0.5,complete,1,noon\n", "line 2: ended_at is 'noon'"),
        ("{nonsense\n", "line 1: not JSON"),
    ],
)
def test_what_is_not_an_export_is_refused(folder: Path, content: str, said: str) -> None:
    lab(folder, text=STUDY)
    (folder / "in.txt").write_text(content)
    found = hentropy("import", "lab.toml", "in.txt")
    assert found.code == 1
    assert said in found.err
    assert sorted(path.name for path in folder.iterdir()) == ["in.txt", "lab.toml"]


def test_a_file_that_is_not_there_begins_no_study(folder: Path) -> None:
    lab(folder)
    assert "there is no file absent.csv" in hentropy("import", "lab.toml", "absent.csv").err
    assert [path.name for path in folder.iterdir()] == ["lab.toml"]


def test_times_may_be_left_out_of_an_import(folder: Path) -> None:
    lab(folder)
    (folder / "in.csv").write_text(
        "number,x,state,value,asked_at\n0,0.5,complete,1,2020-01-31T12:00:00\n1,0,running,,\n"
    )
    done("import", "lab.toml", "in.csv")
    first, second = json.loads(done("show", "lab.toml", "--json"))["trials"]
    assert first["asked_at"] == "2020-01-31T12:00:00.000Z"
    assert first["ended_at"] == second["asked_at"]
    assert second["ended_at"] is None


CHEMIST = """
version = 1
name = "lab"
first = 2
where = ["temperature <= boils[solvent] - 5"]
[space.solvent]
type = "choice"
options = ["THF", "water", "-CF3 oil"]
[space.dry]
type = "choice"
options = [true, false]
[space.loading]
type = "levels"
values = [0.5, 1.0, 2.0]
unit = "mol%"
[space.temperature]
type = "real"
low = 20.0
high = 120.0
unit = "°C"
[space.mix]
type = "fractions"
names = ["A", "B"]
total = 100.0
[tables.boils]
THF = 66
water = 100
"-CF3 oil" = 150
[decision]
name = "maximize"
[model]
hyperparameters = "map"
"""


def test_options_come_from_tables_by_their_names(folder: Path) -> None:
    lab(folder, text=CHEMIST)
    head = "solvent,dry,loading (mol%),temperature (°C),A,B,value\n"
    rows = "THF,TRUE,1,30,40,60,1.5\n water ,false,0.5,99,0,100,2\n'-CF3 oil,True,2.0,120,100,0,3\n"
    (folder / "old.csv").write_text(head + rows, encoding="utf-8")
    said = hentropy("attach", "lab.toml", "old.csv")
    assert (said.code, said.err) == (
        0,
        "1 of 3 earlier measurements violates the conditions of the space; the model uses them anyway\n",
    )
    records = he.Study.from_file(folder / "lab.toml").records
    assert [tuple(trial.params.values()) for trial in records] == [
        ("THF", True, 1.0, 30.0, 40.0, 60.0),
        ("water", False, 0.5, 99.0, 0.0, 100.0),
        ("-CF3 oil", True, 2.0, 120.0, 100.0, 0.0),
    ]
    assert "Note: 1 of 3 earlier measurements violates the conditions" in done("show", "lab.toml")
    assert he.Study.from_file(folder / "lab.toml").notes[-1].startswith("1 of 3 earlier measurements violates")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            "Water,true,1,30,40,60,1",
            "line 2: solvent is 'Water'; did you mean water? The options are THF, water, -CF3 oil",
        ),
        (",true,1,30,40,60,1", "line 2: solvent is empty"),
        ("THF,maybe,1,30,40,60,1", "line 2: dry is 'maybe'; the options are True, False"),
        ("THF,true,1.5,30,40,60,1", "line 2: loading is '1.5'; the options are 0.5, 1, 2"),
        ("THF,true,1,30,40,50,1", "line 2: A, B add up to 90 instead of 100; correct one of them"),
    ],
)
def test_unknown_options_are_answered_with_the_closest(folder: Path, row: str, said: str) -> None:
    lab(folder, text=CHEMIST)
    (folder / "old.csv").write_text(f"solvent,dry,loading,temperature,A,B,value\n{row}\n")
    found = hentropy("attach", "lab.toml", "old.csv")
    assert found.code == 1
    assert "1 row of old.csv cannot be used" in found.err
    assert said in found.err


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_mixed_designs_come_back_from_an_export(folder: Path, form: str) -> None:
    lab(folder, text=CHEMIST)
    study = he.Study.from_file(folder / "lab.toml")
    for trial in study.ask_many(2):
        study.tell(trial, 1.5)
    study.attach({"solvent": "-CF3 oil", "dry": False, "loading": 2, "temperature": 50, "A": 100, "B": 0}, 2.5)
    done("export", "lab.toml", "--out", f"out.{form}")
    done("import", "lab.toml", f"out.{form}", "--store", "sqlite:///other.db")
    again = he.Study.from_file(folder / "lab.toml", storage="sqlite:///other.db").records
    assert again == study.records
    kinds = [list(map(type, trial.params.values())) for trial in again]
    assert kinds == [[str, bool, float, float, float, float]] * 3
    text = (folder / f"out.{form}").read_text().replace("-CF3 oil", "CF3-oil")
    (folder / f"bad.{form}").write_text(text)
    refused = hentropy("import", "lab.toml", f"bad.{form}", "--store", "sqlite:///third.db").err
    assert f"bad.{form}, line " in refused
    assert "did you mean -CF3 oil?" in refused


def test_a_pool_with_ids_is_told_by_ids(folder: Path) -> None:
    pool = "[pool]\nfile = 'shelf.csv'\nid = 'sample'\nignore = ['price']\n"
    (folder / "shelf.csv").write_text("sample,alloy,x,price\n=A1,AlCu,1,3\n007,Fe,2,\nA3,AlCu,0.5,4\n9,Ti,1,1\n")
    lab(folder, text=STUDY.replace('[space.x]\ntype = "real"\nlow = -1.0\nhigh = 3.0\n', pool))
    (folder / "old.csv").write_text("sample,value,day\n007,1.5,mon\n'=A1,2.5,tue\n")
    said = hentropy("attach", "lab.toml", "old.csv")
    assert (said.code, said.err) == (0, "unused columns: day\n")
    study = he.Study.from_file(folder / "lab.toml")
    assert [(trial.params["sample"], trial.params["alloy"]) for trial in study.records] == [
        ("007", "Fe"),
        ("=A1", "AlCu"),
    ]
    assert study.records[0].params == {"sample": "007", "alloy": "Fe", "x": 2.0, "price": None}
    done("export", "lab.toml", "--out", "out.csv")
    done("import", "lab.toml", "out.csv", "--store", "sqlite:///other.db")
    assert he.Study.from_file(folder / "lab.toml", storage="sqlite:///other.db").records == study.records
    for row, told in [
        ("sample,value\nA2,1\n", "line 2: no design has sample 'A2'; did you mean A3?"),
        ("sample,alloy,value\nA3,Fe,1\n", "line 2: sample 'A3' has alloy = AlCu in the pool, not 'Fe'"),
        ("alloy,value\nFe,1\n", "neither a column 'x' for the parameter x, nor a column 'sample' for the ids"),
        ("sample,vlue,status\nA3,1,\n", "the column 'vlue' is neither a parameter nor an outcome; did you mean value?"),
        ("sample,status\nA3,failed\n007,\n", "line 3: there is no column value for its value, and status says no"),
    ]:
        (folder / "bad.csv").write_text(row)
        assert told in hentropy("attach", "lab.toml", "bad.csv").err
    (folder / "bad.csv").write_text("x,value\n1,1\n")
    lacks = (
        "there is neither a column 'alloy' for the parameter alloy, nor a column number for the trials, nor a column"
    )
    assert lacks in hentropy("tell", "lab.toml", "bad.csv").err
    (folder / "bad.csv").write_text("sample,value\nA2,1\nA3,1\n")
    told = hentropy("tell", "lab.toml", "bad.csv").err
    assert "line 2: no design has sample 'A2'; did you mean A3?" in told
    assert "line 3: no trial has this design; results that were not asked for are added by `hentropy attach`" in told
    (folder / "good.csv").write_text("alloy,x,value\nTi,1,1\n")
    done("attach", "lab.toml", "good.csv")
    assert study.records[-1].params["sample"] == "9"
