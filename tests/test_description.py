"""Study files: what they say, and what is said about the wrong ones."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import hentropy as he
from hentropy.studies.definition import (
    Description,
    decision_of,
    options_of,
    read,
    space_of,
    stopping_of,
    store_url_of,
    validated,
)
from support.words import SMALL, with_changes, written

pytestmark = pytest.mark.smoke

FULL = """
version = 1
name = "alloys"
seed = 7
first = 5
[space.x1]
type = "real"
low = 0
high = 10.5
[space.rate]
type = "real"
low = 1e-4
high = 1.0
log = true
[space.steps]
type = "integer"
low = 1
high = 8
[decision]
name = "top_k"
k = 3
cap = 2.5
distance = "l2"
[model]
hyperparameters = "map"
failures = "ignore"
at_least = 0.8
[solver]
max_seconds = 5
max_memory = "1.5 MiB"
[objective]
type = "command"
command = ["./measure", "--fast"]
timeout = 600
retries = 2
[stop]
trials = 60
seconds = 3600
gain_below = 0.01
patience = 3
cost = 0.5
[storage]
url = "sqlite:///lab.db"
"""


def test_all_words_of_a_file_mean_something(tmp_path: Path) -> None:
    d = read(written(tmp_path, FULL))
    assert repr(space_of(d)) == repr(
        he.Space(x1=he.Real(0.0, 10.5), rate=he.Real(1e-4, 1.0, log=True), steps=he.Integer(1, 8))
    )
    assert repr(decision_of(d, trusted=False)) == repr(he.TopK(3, cap=2.5, distance="l2"))
    assert stopping_of(d) == (he.Budget(60), he.TimeLimit(3600), he.GainBelow(0.01, 3), he.GainBelowCost(0.5))
    assert options_of(d) == {
        "outcomes": {},
        "assays": {},
        "seed": 7,
        "first": 5,
        "hyperparameters": "map",
        "failures": "ignore",
        "at_least": 0.8,
        "max_seconds": 5.0,
        "max_memory": 3 * 2**19,
        "stop_when_exhausted": True,
        "decide_on": None,
        "cost": None,
        "price": None,
        "cost_unit": "",
    }
    assert d.objective.model_dump() == {
        "type": "command",
        "command": ("./measure", "--fast"),
        "timeout": 600.0,
        "retries": 2,
        "lost_retries": 3,
        "lease": 60.0,
    }
    study = he.Study(space_of(d), decision_of(d, trusted=False), stop=stopping_of(d), **options_of(d))
    assert study.first == 5


def test_what_is_left_out_is_as_in_a_study_without_options(tmp_path: Path) -> None:
    d = read(written(tmp_path, SMALL))
    made = he.Study(space_of(d), decision_of(d, trusted=False), stop=stopping_of(d), **options_of(d))
    bare = he.Study(he.Space(x=he.Real(-1, 3)), he.Maximize())
    assert (made.seed, made.first, made.stop) == (bare.seed, bare.first, bare.stop)
    assert options_of(d)["hyperparameters"] == "auto"
    assert d.objective.type == "manual"


def test_all_formats_say_the_same(tmp_path: Path) -> None:
    words = tomllib.loads(FULL)
    first = read(written(tmp_path, FULL))
    assert read(written(tmp_path, "\ufeff" + FULL, "marked.toml")) == first
    assert read(written(tmp_path, json.dumps(words), "study.json")) == first
    assert read(written(tmp_path, yaml.safe_dump(words, sort_keys=False), "study.yaml")) == first
    assert read(written(tmp_path, "\ufeff" + yaml.safe_dump(words, sort_keys=False), "study.YML")) == first


def test_yaml_reads_numbers_as_people_write_them(tmp_path: Path) -> None:
    text = SMALL_YAML.replace("LOW", "1e-3").replace("HIGH", "2E+1")
    space = space_of(read(written(tmp_path, text, "study.yaml")))
    assert space.bounds.tolist() == [[1e-3], [20.0]]


def test_yaml_tables_can_be_shared(tmp_path: Path) -> None:
    text = SMALL_YAML.replace("space: {x: {type: real, low: LOW, high: HIGH}}", SHARED)
    assert space_of(read(written(tmp_path, text, "study.yaml"))).bounds.tolist() == [[0.0, 0.0], [1.0, 2.0]]


SHARED = """
space:
  x: &unit {type: real, low: 0, high: 1}
  y: {<<: *unit, high: 2}
"""

SMALL_YAML = """
version: 1
name: small
space: {x: {type: real, low: LOW, high: HIGH}}
decision: {name: maximize}
"""


def test_a_description_is_a_plain_value(tmp_path: Path) -> None:
    for text in (FULL, SMALL):
        d = read(written(tmp_path, text))
        for dump in (d.model_dump(mode="json"), d.model_dump(mode="json", exclude_defaults=True)):
            assert Description.model_validate(json.loads(json.dumps(dump))) == d


def test_the_order_of_parameters_counts() -> None:
    x, y = {"type": "real", "low": 0, "high": 1}, {"type": "real", "low": 0, "high": 1}
    one = validated(with_changes(space={"x": x, "y": y}), "one")
    assert one == validated(with_changes(space={"x": x, "y": y}), "same")
    assert one != validated(with_changes(space={"y": y, "x": x}), "other")


def test_pools(tmp_path: Path) -> None:
    (tmp_path / "designs.csv").write_text("\ufefftemp, time\n1,2.5\n\n3,4e-1\n", encoding="utf-8")
    in_file = SMALL.replace('[space.x]\ntype = "real"\nlow = -1.0\nhigh = 3.0', '[pool]\nfile = "designs.csv"')
    beside = in_file.replace('file = "designs.csv"', 'names = ["temp", "time"]\nrows = [[1, 2.5], [3, 0.4]]')
    d = read(written(tmp_path, in_file))
    assert d == read(written(tmp_path, beside))
    assert space_of(d).names == ("temp", "time")
    points = space_of(d).points
    assert points is not None
    assert points.tolist() == [[1.0, 2.5], [3.0, 0.4]]
    unread = validated(tomllib.loads(in_file), "words alone")
    with pytest.raises(he.InputError, match=r"the designs in designs.csv have not been read"):
        space_of(unread)


SOLVENTS = SMALL.replace(
    'type = "real"\nlow = -1.0\nhigh = 3.0',
    'type = "choice"\noptions = ["THF", "water", 3]\ndescriptors = "solvents.csv"',
).replace('name = "small"', 'name = "small"\nwhere = ["boils[x] > 70"]')


DECIDED = """
[decide_on.space.x]
type = "choice"
options = ["THF", "water", 3]
descriptors = "solvents.csv"
"""


def test_what_may_be_decided_is_read_from_files_too(tmp_path: Path) -> None:
    (tmp_path / "solvents.csv").write_text("solvent,boils\nwater,100\n3,78\nTHF,66\n")
    d = read(written(tmp_path, f"{SOLVENTS}{DECIDED}"))
    assert d.decide_on is not None
    assert d.decide_on.space == d.space
    rows = 'names = ["x"]\nrows = [[0], [1], [2]]'
    listed = SMALL.replace('[space.x]\ntype = "real"\nlow = -1.0\nhigh = 3.0', f"[pool]\n{rows}")
    (tmp_path / "some.csv").write_text("x\n1\n2\n")
    d = read(written(tmp_path, f'{listed}[decide_on.pool]\nfile = "some.csv"\n'))
    assert d.decide_on is not None
    assert d.decide_on.build().points.tolist() == [[1.0], [2.0]]  # type: ignore[union-attr]


def test_descriptors_in_a_file(tmp_path: Path) -> None:
    file = written(tmp_path, SOLVENTS)
    (tmp_path / "solvents.csv").write_text("solvent;boils;polarity\nwater;100;10.2\nheptane;98;0.1\n3;78;4\nTHF;66;4\n")
    space = space_of(read(file))
    assert isinstance(space, he.Space)
    assert space.parameters["x"] == he.Choice(
        ["THF", "water", 3], descriptors={"boils": [66.0, 100.0, 78.0], "polarity": [4.0, 10.2, 4.0]}
    )
    assert {space.decode(row)["x"] for row in space.sample(9, 0)} == {"water", 3}
    for table, said in [
        ("solvent,boils\nTHF,66\n3,78\nwatr,100\n", r"has no row for the option water; did you mean watr\?"),
        ("solvent,boils\nTHF,66\n3,78\n", "has no row for the option water"),
        (
            "solvent,boils\nwater,100\nheptane,98\n",
            "has no row for the options THF, 3; the other rows are heptane",
        ),
        ("solvent,boils\nTHF,66\n3,78\nwater,hot\n", "solvents.csv, line 4: boils is 'hot': not a number"),
        ("solvent\nTHF\n3\nwater\n", "needs a column of options and at least one column of numbers"),
        ("solvent,boils\n", "needs a line with the names of its columns and a row for each option"),
    ]:
        (tmp_path / "solvents.csv").write_text(table)
        with pytest.raises(he.InputError, match=rf"(?s)space\.x\.descriptors: .*{said}"):
            read(file)
    with pytest.raises(he.InputError, match=r"(?s)decide_on\.space\.x\.descriptors: .*needs a line with the names"):
        read(written(tmp_path, f"{SOLVENTS}{DECIDED}".replace("descriptors", "#", 1)))
    with pytest.raises(he.InputError, match=r"the descriptors in solvents\.csv have not been read"):
        space_of(validated(tomllib.loads(SOLVENTS), "words alone"))


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (None, "sqlite:///FOLDER/hentropy.db"),
        ("sqlite:///lab.db", "sqlite:///FOLDER/lab.db"),
        ("sqlite:///../lab.db?timeout=5", "sqlite:///FOLDER/../lab.db?timeout=5"),
        ("sqlite:////data/lab.db", "sqlite:////data/lab.db"),
        ("postgresql+psycopg://me@host/lab", "postgresql+psycopg://me@host/lab"),
    ],
)
def test_where_a_study_is_kept(url: str | None, found: str, tmp_path: Path) -> None:
    d = validated(with_changes(storage={"url": url}), "words")
    assert store_url_of(d, tmp_path) == found.replace("FOLDER", tmp_path.resolve().as_posix())


@pytest.mark.parametrize(
    ("amount", "found"),
    [(2**21, 2**21), ("2097152 B", 2**21), ("3MB", 3_000_000), ("1.5 gib", 3 * 2**29), (" 2 TB ", 2 * 10**12)],
)
def test_amounts_of_memory(amount: int | str, found: int) -> None:
    assert options_of(validated(with_changes(solver={"max_memory": amount}), "words"))["max_memory"] == found


def test_a_folder_that_no_url_can_name(tmp_path: Path) -> None:
    with pytest.raises(he.InputError, match="has a question mark"):
        store_url_of(validated(with_changes(), "words"), tmp_path / "why?")


@pytest.mark.parametrize("package", ["pydantic", "yaml"])
def test_without_the_extra_it_says_what_to_install(package: str) -> None:
    script = f"import sys\nsys.modules[{package!r}] = None\nimport hentropy\nimport hentropy.studies.definition"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    *_, error, page = run.stderr.strip().split("\n")
    assert error.startswith("hentropy.errors.MissingExtra")
    assert page == "see docs: install (docs/studies.md#install)"
    assert "hentropy[storage]" in run.stderr
