"""Every kind of parameter: into the unit cube and back, what can be run, and the words of a study file."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from hentropy import Maximize, Study, load_study
from hentropy.core import spaces
from hentropy.core.spaces import Choice, Fractions, Integer, Levels, Parameter, Pool, Real, Space
from hentropy.core.spaces.parameters import Number
from hentropy.errors import InputError, StorageError, StudyError
from hentropy.studies.definition import read, space_of, template
from hentropy.studies.definition.designs import PARAMETERS
from support.words import written

KINDS: dict[str, Parameter] = {
    "real": Real(-3.0, -1.0),
    "real, logarithmic": Real(1e-4, 10.0, log=True),
    "real, in steps": Real(20.0, 80.0, step=2.5, unit="°C"),
    "integer": Integer(2, 7),
    "integer, logarithmic": Integer(1, 64, log=True),
    "integer, in steps": Integer(10, 60, step=10, unit="min"),
}

OTHERS: dict[str, Parameter] = {
    "choice": Choice(["PPh3", "XPhos", "it's 1\"", "ü"]),
    "choice of numbers": Choice([1, 2.0, 3.5]),
    "choice of truth values": Choice([True, False]),
    "choice, described": Choice(["THF", "water"], descriptors={"boils at": [66.0, 100.0], "polarity": [4.0, 10.2]}),
    "levels": Levels([0.5, 1, 2], unit="mol%"),
    "levels, logarithmic": Levels([0.01, 0.1, 1.0], log=True),
    "levels with names": Levels(["low", "middle", "high"]),
    "fractions": Fractions(["A", "B", "C"], at_most=2),
    "fractions, bounded": Fractions(["A", "B"], total=100.0, low={"A": 10.0}, high=[70.0, 80.0], unit="%"),
}
"""Kinds whose coordinates are not one number in a range; test_mixed_spaces.py has more on them."""


def test_every_kind_that_a_file_can_name_has_a_row() -> None:
    rows = [*KINDS.values(), *OTHERS.values()]
    assert {parameter.kind for parameter in rows} == set(PARAMETERS)
    assert {type(parameter).__name__ for parameter in rows} <= set(spaces.__all__)


@pytest.mark.parametrize("kind", KINDS)
def test_designs_go_into_the_unit_cube_and_back(kind: str) -> None:
    space = Space(x=KINDS[kind])
    u = torch.linspace(0.0, 1.0, 41, dtype=torch.float64).unsqueeze(-1)
    torch.testing.assert_close(space.to_unit(space.from_cube(u)), u, rtol=1e-9, atol=1e-9)
    run = space.project(space.from_cube(u))
    space.check(run)
    assert torch.equal(space.project(run), run)
    for row in run:
        assert torch.equal(space.encode(space.decode(row)), row)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_can_be_run_and_reach_both_ends(kind: str) -> None:
    parameter = KINDS[kind]
    space = Space(x=parameter)
    sample = space.sample(256, seed=3)
    space.check(sample)
    if isinstance(parameter, Number) and parameter.grid:
        assert (float(sample.min()), float(sample.max())) == (parameter.low, parameter.high)
        with pytest.raises(InputError, match=f"must be {parameter.must_be}"):
            space.check(torch.tensor([[parameter.low + 0.4 * parameter.grid]], dtype=torch.float64))


@pytest.mark.parametrize("kind", [*KINDS, *OTHERS])
def test_files_and_stores_have_words_for_it(kind: str, tmp_path: Path) -> None:
    parameter = {**KINDS, **OTHERS}[kind]
    text = template("lab", {"x": parameter}, "maximize")
    assert repr(space_of(read(written(tmp_path, text)))) == repr(Space(x=parameter))
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    with closing(Study(Space(x=parameter), Maximize(), storage=url, name="lab")) as study:
        asked = study.ask()
    with closing(load_study("lab", url)) as loaded:
        assert repr(loaded.space) == repr(Space(x=parameter))
        assert loaded.records == (asked,)
        assert list(map(type, loaded.records[0].params.values())) == list(map(type, asked.params.values()))
        assert {**asked.params}.keys() == set(loaded.space.names)
    Study.from_file(tmp_path / "study.toml", storage=url).close()  # the file and the store say the same


BOILING = {"THF": 66.0, "water": 100.0, "toluene": 111.0}
WHERE = ["t <= boiling[solvent] - 5", "n < 5 or t <= most[n]"]
PLATE = Space(
    solvent=list(BOILING),
    t=Real(20.0, 150.0),
    n=Levels([2.0, 5.0]),
    where=WHERE,
    tables={"boiling": BOILING, "most": {2.0: 40.0, 5.0: 90.0}},
    same_in_batch=["t", "n"],
)


def test_conditions_tables_and_plates_are_kept(tmp_path: Path) -> None:
    text = template(
        "lab", PLATE.parameters, "maximize", where=WHERE, tables=PLATE.tables, same_in_batch=PLATE.same_in_batch
    )
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    Study(PLATE, Maximize(), storage=url, name="lab").close()
    with closing(load_study("lab", url)) as loaded:
        for found in (loaded.space, space_of(read(written(tmp_path, text)))):
            assert isinstance(found, Space)
            assert repr(found) == repr(PLATE)
            assert found.all_tables == PLATE.all_tables
            assert torch.equal(found.sample(20, seed=1), PLATE.sample(20, seed=1))
    Study.from_file(tmp_path / "study.toml", storage=url).close()
    for other in (
        Space(**PLATE.parameters, where=WHERE[:1], tables=PLATE.tables, same_in_batch=["t", "n"]),
        Space(**PLATE.parameters, where=WHERE, tables={**PLATE.tables, "boiling": {**BOILING, "THF": 60.0}}),
    ):
        with pytest.raises(StorageError, match="already exists with a different definition"):
            Study(other, Maximize(), storage=url, name="lab")


def cold(columns: Mapping[str, Any]) -> Any:
    return columns["t"] <= 50.0


def test_conditions_that_are_functions_must_be_given_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    space = Space(solvent=list(BOILING), t=Real(20.0, 150.0), where=["t >= 30", cold])
    Study(space, Maximize(), storage=url, name="lab").close()
    with pytest.raises(StudyError, match=r"parts that have no stored form; give where=\.\.\."):
        load_study("lab", url)
    with closing(load_study("lab", url, where=["t >= 30", cold])) as loaded:
        assert isinstance(loaded.space, Space)
        assert loaded.space.where == space.where
        assert all(30.0 <= trial.params["t"] <= 50.0 for trial in loaded.ask_many(4))


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_pool_has_ids_texts_and_columns_that_are_kept(separator: str, tmp_path: Path) -> None:
    table = "sample,alloy,x,price,remark\n007,AlCu,1.5,3,\n008,Fe,2,,old\n11b,AlCu,0.25,4,\n12,Ti,1,5,\n"
    (tmp_path / "shelf.csv").write_text(table.replace(",", separator))
    named = {"pool_id": "sample", "pool_ignore": ["price", "remark"], "same_in_batch": ["alloy"]}
    text = template("lab", {}, "maximize", pool_file="shelf.csv", **named)  # type: ignore[arg-type]
    pool = space_of(read(written(tmp_path, text)))
    assert isinstance(pool, Pool)
    assert list(pool.parameters) == ["alloy", "x"]
    assert pool.cleaned({"sample": "007"}) == {"sample": "007", "alloy": "AlCu", "x": 1.5, "price": 3.0, "remark": None}
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    Study.from_file(tmp_path / "study.toml", storage=url).close()
    with closing(load_study("lab", url)) as loaded:
        again = loaded.space
        assert isinstance(again, Pool)
        assert (again.id, again.ignored, again.shown) == (pool.id, pool.ignored, pool.shown)
        assert again.same_in_batch == pool.same_in_batch == ("alloy",)
        assert torch.equal(again.points, pool.points)
        trial = loaded.attach({"sample": 12}, 3.5)
        assert trial.params == {"sample": "12", "alloy": "Ti", "x": 1.0, "price": 5.0, "remark": None}
        assert {loaded.ask().params["sample"] for _ in range(3)} == {"007", "008", "11b"}
    Study.from_file(tmp_path / "study.toml", storage=url).close()
