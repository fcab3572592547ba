"""Tables of candidates: numbers that are options, numbers by option for costs, and designs that are named by id."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame

import hentropy as he
from hentropy.errors import InputError, NoSuchTrial
from hentropy.studies.definition import describe, space_of
from support.commands import done, refused

TABLE = DataFrame(
    {
        "sample": ["s1", "s2", "s3", "s4", "s5", "s6"],
        "lot": [7, 12, 7, 30, 12, 30],
        "metal": ["Fe", "Fe", "Co", "Co", "Ni", "Ni"],
        "ratio": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
    }
)
FILE = """
version = 1
name = "lots"
first = 3

[pool]
file = "lots.csv"
id = "sample"
choices = ["lot"]

[tables.price]
Fe = 1.0
Co = 2.0
Ni = 4.0

[tables.waiting]
7 = 1.0
12 = 2.0
30 = 3.0

[cost]
of = "price[metal] + waiting[lot] + (0.5 if lot == 7 else 0)"

[decision]
name = "estimate"
at = [{ sample = "s2" }, { sample = "s6" }]

[model]
hyperparameters = "map"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lots.csv").write_text(TABLE.to_csv(index=False))
    (tmp_path / "lots.toml").write_text(FILE)
    return tmp_path


@pytest.mark.parametrize("kind", [int, float, str, object], ids=lambda kind: kind.__name__)
def test_numbers_of_a_table_can_be_options(kind: type) -> None:
    """Any two lots are equally far apart; they come back as whole numbers, or as the texts that they were."""
    pool = he.Pool(TABLE.astype({"lot": kind}), id="sample", choices=["lot"])
    lots = [7, 12, 30] if kind is not str else ["7", "12", "30"]
    assert [field.options for field in pool.fields if field.name == "lot"] == [tuple(lots)]
    unit = pool.to_unit(pool.points)[:, pool.places["lot"]]
    assert np.allclose([(unit[0] - unit[i]).norm() for i in (1, 2, 3)], [2**0.5, 0.0, 2**0.5])
    params = pool.decode(pool.points[3])
    assert params == {"sample": "s4", "lot": lots[2], "metal": "Co", "ratio": 0.4}
    assert type(params["lot"]) is type(lots[2])


def test_words_and_objects_have_the_same_choices_and_tables() -> None:
    prices = {"price": {"Fe": 1.0, "Co": 2.0, "Ni": 4.0}}
    pool = he.Pool(TABLE, id="sample", choices=["lot"], tables=prices)
    words = describe("lots", pool, he.Maximize(), cost="price[metal]")
    again = space_of(words)
    assert isinstance(again, he.Pool)
    assert [again.decode(row) for row in again.points] == [pool.decode(row) for row in pool.points]
    assert again.all_tables == pool.all_tables
    assert again.parameters == pool.parameters


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"choices": ["lots"]}, "no column 'lots'; did you mean lot"),
        ({"choices": ["sample"]}, "sample is in choices, but the model does not look at ids"),
        ({"choices": "lot"}, r"a list of columns, such as \['lot'\]"),
        ({"tables": {"price": {"Fe": 1.0}}}, "Co"),
    ],
)
def test_mistakes_are_named(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        he.Study(he.Pool(TABLE, id="sample", **more), he.Maximize(), cost="price[metal]")


def test_an_empty_cell_is_no_option() -> None:
    with pytest.raises(InputError, match="row 2 of the pool has the value nan in column lot, which is no option"):
        he.Pool(TABLE.assign(lot=[1.0, 2.0, float("nan"), 1.0, 2.0, 2.0]), id="sample", choices=["lot"])


def test_a_study_file_with_lots_prices_and_ids(folder: Path) -> None:
    """Check, ask, tell, attach from CSV, decide, export and import."""
    shown = done("check", "lots.toml")
    assert "lot       │ choice │ 7, 12, 30" in shown
    trial = json.loads(done("ask", "lots.toml", "--json"))[0]
    price = {"Fe": 1.0, "Co": 2.0, "Ni": 4.0}[trial["params"]["metal"]]
    lot = trial["params"]["lot"]
    assert trial["expected_cost"] == pytest.approx(price + {7: 1.5, 12: 2.0, 30: 3.0}[lot])
    done("tell", "lots.toml", "0", "1.5")
    (folder / "known.csv").write_text("lot,metal,ratio,value\n7,Fe,0.1,2\n12,Fe,0.2,3\n30,Ni,0.6,1\n")
    done("attach", "lots.toml", "known.csv")
    assert [t.params["sample"] for t in he.Study.from_file("lots.toml").records[1:]] == ["s1", "s2", "s6"]
    (folder / "wrong.csv").write_text("lot,metal,ratio,value\n8,Fe,0.1,2\n")
    assert "lot is '8'; the options are 7, 12, 30" in refused("attach", "lots.toml", "wrong.csv")
    verdict = json.loads(done("decide", "lots.toml", "--json"))
    assert [row["sample"] for row in verdict["action"]] == ["s2", "s6"]
    (folder / "trials.csv").write_text(done("export", "lots.toml"))
    (folder / "again.toml").write_text(FILE.replace('name = "lots"', 'name = "again"', 1))
    done("import", "again.toml", "trials.csv")
    assert he.Study.from_file("again.toml").records[1].params["lot"] == 7


def test_codes_stay_as_they_are_written(folder: Path) -> None:
    """007 is not 7: such a column has texts."""
    (folder / "lots.csv").write_text("sample,lot,metal,ratio\ns1,007,Fe,0.1\ns2,012,Co,0.2\ns6,100,Ni,0.3\n")
    (folder / "lots.toml").write_text(FILE[: FILE.index("[tables.waiting]")] + FILE[FILE.index("[decision]") :])
    study = he.Study.from_file("lots.toml")
    assert study.space.fields[0].options == ("007", "012", "100")


def test_descriptors_of_a_pool_are_columns(folder: Path) -> None:
    (folder / "lots.toml").write_text(FILE.replace("choices =", "descriptors ="))
    assert "descriptors: what describes the options of a pool are columns of numbers" in refused("check", "lots.toml")


def test_init_declares_choices_of_a_pool(folder: Path) -> None:
    done(
        "init",
        "new.toml",
        "--pool",
        "lots.csv",
        "--id",
        "sample",
        "--choice",
        "lot",
        "--table",
        "price=Fe:1,Co:2,Ni:4",
        "--yes",
    )
    assert "lot       │ choice │ 7, 12, 30" in done("check", "new.toml")
    assert "columns of a pool" in refused("init", "other.toml", "--choice", "lot", "--yes", code=2)


def test_results_are_told_by_id(folder: Path) -> None:
    trial = json.loads(done("ask", "lots.toml", "--json"))[0]
    sample = trial["params"]["sample"]
    assert "1.5 is recorded" in done("tell", "lots.toml", sample, "1.5")
    done("fail", "lots.toml", sample, "broke", "--replace")
    (told,) = he.Study.from_file("lots.toml").records
    assert (told.params["sample"], told.note) == (sample, "broke")
    assert "no trial has the sample 's9'" in refused("tell", "lots.toml", "s9", "1")


def test_an_id_that_is_a_number_is_not_taken_for_another_trial(folder: Path) -> None:
    (folder / "lots.csv").write_text("sample,ratio\n1,0.1\n2,0.2\n0,0.3\n")
    (folder / "lots.toml").write_text(
        'version = 1\nname = "n"\n[pool]\nfile = "lots.csv"\nid = "sample"\n[decision]\nname = "maximize"\n'
    )
    (folder / "known.csv").write_text("sample,value\n1,5\n0,6\n2,7\n")
    done("attach", "lots.toml", "known.csv")
    assert "1 is the number of a trial, and sample 1 is that of trial 0" in refused("tell", "lots.toml", "1", "3")
    done("tell", "lots.toml", "2", "3", "--replace")
    assert [trial.value for trial in he.Study.from_file("lots.toml").records] == [5.0, 6.0, 3.0]


def test_python_tells_by_id_too() -> None:
    study = he.Study(he.Pool(TABLE, id="sample", choices=["lot"]), he.Maximize())
    trial = study.ask()
    told = study.tell(trial.params["sample"], 1.5)
    assert (told.number, told.value) == (trial.number, 1.5)
    assert study.tell(trial.params["sample"], failed="broke", replace_value=True).note == "broke"
    with pytest.raises(NoSuchTrial, match="no trial has the sample 's9'"):
        study.tell("s9", 1.0)
    other = study.ask()
    assert study.withdraw(other.params["sample"]).number == other.number


@pytest.mark.parametrize(
    "rows",
    [
        {"dye": ["red", "blue"], "pH": [4.0, 7.0]},
        [{"dye": "red", "pH": 4.0}, {"pH": 7.0, "dye": "blue"}],
    ],
    ids=["columns", "rows"],
)
def test_a_table_may_be_dicts(rows: Any) -> None:
    pool = he.Pool(rows)
    assert pool.names == ("dye", "pH")
    assert [pool.decode(row) for row in pool.points] == [{"dye": "red", "pH": 4.0}, {"dye": "blue", "pH": 7.0}]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"a": [1.0, 2.0], "b": [1.0]}, "the same length"),
        ({"a": 1.0}, "the same length"),
        ([{"a": 1.0}, {"b": 1.0}], "row 1 of the pool does not have the names of row 0: a"),
        ([{"a": 1.0}, [1.0]], "row 1 of the pool"),
        ({}, "at least one row"),
    ],
)
def test_dicts_that_are_no_table(rows: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        he.Pool(rows)


SHELF: dict[str, list[Any]] = {
    "sample": ["a", "b", "c", "d"],
    "size": ["large", "small", "middle", "small"],
    "dose": [0.1, 1.0, 10.0, 100.0],
    "pressure": [1, 2, 5, 5],
    "metal": ["Fe", "Co", "Fe", "Ni"],
}
COLUMNS: dict[str, Any] = {
    "levels": {"size": ["small", "middle", "large"], "pressure": [1, 2, 5]},
    "log": ["dose", "pressure"],
    "units": {"dose": "mg", "pressure": "bar"},
}


def test_columns_may_have_levels_logarithms_and_units() -> None:
    pool = he.Pool(SHELF, id="sample", **COLUMNS)
    same = he.Space(
        size=he.Levels(["small", "middle", "large"]),
        dose=he.Real(0.1, 100.0, log=True, unit="mg"),
        pressure=he.Levels([1, 2, 5], log=True, unit="bar"),
        metal=["Fe", "Co", "Ni"],
    )
    rows = same.encode_many([{name: SHELF[name][i] for name in same.names} for i in range(4)])
    assert pool.points.tolist() == rows.tolist()
    assert pool.to_unit(pool.points).tolist() == same.to_unit(rows).tolist()
    assert [field.title for field in pool.fields] == [field.title for field in same.fields]
    assert pool.decode(pool.points[2]) == {name: column[2] for name, column in SHELF.items()}
    assert pool.fixed(size="small").to_unit(pool.points).tolist() == same.to_unit(rows).tolist()
    again = space_of(describe("shelf", pool, he.Maximize()))
    assert again.points is not None
    assert again.to_unit(again.points).tolist() == same.to_unit(rows).tolist()
    assert [field.title for field in again.fields] == [field.title for field in same.fields]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"units": {"dosis": "mg"}}, "no column 'dosis'; did you mean dose"),
        ({"units": {"dose": 3}}, "the unit must be a text"),
        ({"units": {"metal": "g"}}, "column metal has the unit 'g', but its values are options without an order"),
        ({"log": "dose"}, "log must be a list of columns"),
        ({"log": ["metal"]}, "column metal is in log, but its values are options"),
        ({"log": ["sample"]}, "column sample is in log, but the model does not look at ids"),
        ({"levels": {"size": ["small", "large"]}}, "parameter size is 'middle'; .*the options are small, large"),
        (
            {"levels": {"pressure": [1, 2, 5]}, "choices": ["pressure"]},
            "in choices, which have no order, and in levels",
        ),
    ],
)
def test_what_is_wrong_with_a_column_is_named(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        he.Pool(SHELF, id="sample", **more)
    with pytest.raises(InputError, match=r"column dose is in log, but row 1 of the pool has the value 0.0 there"):
        he.Pool({"dose": [1.0, 0.0]}, log=["dose"])


def test_a_file_says_levels_logarithms_and_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shelf.csv").write_text(DataFrame(SHELF).to_csv(index=False))
    (tmp_path / "shelf.toml").write_text(
        """
version = 1
name = "shelf"

[pool]
file = "shelf.csv"
id = "sample"
levels = {size = ["small", "middle", "large"], pressure = [1, 2, 5]}
log = ["dose", "pressure"]
units = {dose = "mg", pressure = "bar"}

[decision]
name = "maximize"
"""
    )
    said = " ".join(done("check", "shelf.toml").split())
    for part in (
        "size │ levels │ small < middle < large",
        "dose │ column │ 0.1 to 100 mg, logarithmic",
        "pressure │ levels │ 1 < 2 < 5 bar, logarithmic",
    ):
        assert part in said
    study = he.Study.from_file("shelf.toml")
    pool = he.Pool(SHELF, id="sample", **COLUMNS)
    assert study.space.to_unit(study.space.sample(4, 0)).tolist() == pool.to_unit(pool.sample(4, 0)).tolist()
    study.attach({"sample": "b"}, 1.0)
    assert "dose (mg)" in done("show", "shelf.toml")
