"""What comes in by files and requests is checked before anything is written: afterwards a study can still be read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hentropy as he
from hentropy.errors import InputError
from hentropy.studies.outcomes import Outcomes
from hentropy.views.server.settings import Settings
from hentropy.views.text.formats import iso, seconds
from hentropy.views.text.trial_files import exported_in
from support.commands import hentropy, lab
from support.serving import Served, emptied, served

SPACE = he.Space(x=he.Real(-1, 3))
OUTCOMES = Outcomes.of(None, SPACE)
HUGE = 10**400
GOOD: dict[str, Any] = {"number": 1, "params": {"x": 0.5}, "state": "complete"}

BAD: list[tuple[dict[str, Any], str]] = [
    ({"asked_at": "0001-01-01T00:00:00+14:00"}, "asked_at"),
    ({"ended_at": "0001-01-01T00:00:00+00:01"}, "ended_at"),
    ({"ended_at": "0001-01-01T00:00:00Z"}, "ended_at"),
    ({"ended_at": "9999-12-31T23:59:59-12:00"}, "ended_at"),
    ({"asked_at": "9999-12-31T23:59:59.999999Z"}, "asked_at"),
    ({"value": HUGE}, "value"),
    ({"std_error": HUGE}, "std_error"),
    ({"gain": -HUGE}, "gain"),
    ({"gain_error": float("nan")}, "gain_error"),
    ({"entropy": float("inf")}, "entropy"),
    ({"params": {"x": HUGE}}, "x"),
    ({"number": HUGE}, "number"),
]
"""Parts of a trial that no study can hold, and the columns that are wrong."""


def lines(*changes: dict[str, Any]) -> str:
    """Trials as JSON lines."""
    rows = [{**GOOD, "number": number, **each} for number, each in enumerate(changes)]
    for row in rows:
        row["measurements"] = {"value": {"value": row.pop("value", 1.0), "std_error": row.pop("std_error", None)}}
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(*changes: dict[str, Any]) -> str:
    """Trials as CSV."""
    rows = [{**GOOD, "number": number, "value": 1.0, **each} for number, each in enumerate(changes)]
    rows = [{("value_se" if name == "std_error" else name): cell for name, cell in row.items()} for row in rows]
    names = ["number", "state", "value", "value_se", "gain", "gain_error", "entropy", "asked_at", "ended_at"]
    cells = [[row["params"]["x"], *(row.get(name, "") for name in names)] for row in rows]
    return "\n".join(",".join(map(str, row)) for row in [["x", *names], *cells]) + "\n"


@pytest.mark.parametrize(
    ("change", "column"), BAD, ids=[f"{column}-{number}" for number, (_, column) in enumerate(BAD)]
)
def test_a_bad_cell_of_an_export_is_named_by_line_and_column(change: dict[str, Any], column: str) -> None:
    for text, line in ((lines({}, change), 2), (table({}, change), 3)):
        with pytest.raises(InputError, match=rf"the file, line {line}: .*\b({column}|value_se)\b") as refused:
            exported_in(text, "the file", OUTCOMES)
        assert len(str(refused.value)) < 250  # 400 digits help nobody


def test_a_design_outside_is_named_by_its_line_too() -> None:
    with pytest.raises(InputError, match=r"the file, line 2: parameter x is 9.0, outside"):
        exported_in(lines({}, {"params": {"x": 9}}), "the file", OUTCOMES)


@pytest.mark.parametrize("text", ["0002-01-02T00:00:00+14:00", "9998-12-30T00:00:00-12:00", "2026-01-31T12:00:00"])
def test_times_that_are_taken_can_be_written_again(text: str) -> None:
    said = iso(seconds(text))
    assert said is not None
    assert seconds(said) == seconds(text)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("incoming")
    with served(Settings(store=f"sqlite:///{folder / 'hentropy.db'}")) as server:
        yield server


@pytest.fixture
def here(running: Served) -> Iterator[Served]:
    yield running
    emptied(running)


def readable(server: Served, study: int) -> list[Any]:
    """The trials of a study, which its page and its export can show too."""
    for page in (f"/studies/{study}", f"/api/studies/{study}/export.csv"):
        assert server.http.get(page).status_code == 200
    answer = server.http.get(f"/api/studies/{study}/export.jsonl")
    assert answer.status_code == 200
    return answer.text.splitlines()


@pytest.mark.parametrize(
    ("change", "column"), BAD, ids=[f"{column}-{number}" for number, (_, column) in enumerate(BAD)]
)
def test_the_api_imports_nothing_of_it(here: Served, change: dict[str, Any], column: str) -> None:
    study = here.create()
    for text, kind in ((lines({}, change), "application/x-ndjson"), (table({}, change), "text/csv")):
        answer = here.http.post(f"/api/studies/{study}/import", content=text, headers={"Content-Type": kind})
        assert answer.status_code == 422
        said = answer.json()["error"]["sentence"]
        assert column in said or (column == "std_error" and "value_se" in said)
    assert readable(here, study) == []


@pytest.mark.parametrize("number", [str(HUGE), "1" * 5000, "1e999", "NaN", "-Infinity"], ids=lambda text: text[:5])
def test_numbers_that_no_study_can_hold_are_neither_attached_nor_told(here: Served, number: str) -> None:
    study = here.create()
    good = '{"rows": [{"params": {"x": 0.5}, "value": 1.0}]}'
    json_type = {"Content-Type": "application/json"}
    assert here.http.post(f"/api/studies/{study}/attach", content=good, headers=json_type).status_code == 201
    rows = [
        f'{{"params": {{"x": {number}}}, "value": 1}}',
        f'{{"params": {{"x": 1}}, "value": {number}}}',
        f'{{"params": {{"x": 1}}, "value": 1, "std_error": {number}}}',
    ]
    bodies = {
        f"/api/studies/{study}/attach": [f'{{"rows": [{row}]}}' for row in rows],
        f"/api/studies/{study}/trials/0/tell": [
            f'{{"value": {number}, "replace": true}}',
            f'{{"value": 1, "std_error": {number}, "replace": true}}',
        ],
    }
    for path, contents in bodies.items():
        for content in contents:
            assert here.http.post(path, content=content, headers=json_type).status_code in (400, 422)
    tables = [f"x,value\n{number},1\n", f"x,value\n1,{number}\n", f"x,value,value_se\n1,1,{number}\n"]
    for content in tables:
        answer = here.http.post(
            f"/api/studies/{study}/attach.csv", content=content, headers={"Content-Type": "text/csv"}
        )
        assert answer.status_code == 422
        assert "line 2" in answer.json()["error"]["sentence"]
    assert [json.loads(line)["measurements"]["value"]["value"] for line in readable(here, study)] == [1.0]


def test_a_command_imports_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lab(tmp_path)
    (tmp_path / "in.jsonl").write_text(lines({}, {"value": HUGE}))
    said = hentropy("import", "lab.toml", "in.jsonl")
    assert said.code == 1
    assert "in.jsonl, line 2: value is 1000" in said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "lab.toml"]


@pytest.mark.parametrize("digits", [400, 5000])
def test_python_refuses_whole_numbers_beyond_double_precision(digits: int) -> None:
    study = he.Study(SPACE, he.Maximize())
    trial = study.ask()
    for told in (10**digits, (1.0, 10**digits)):
        with pytest.raises(InputError, match="double precision"):
            study.tell(trial, told)
    with pytest.raises(InputError, match=r"parameter x .* double precision"):
        study.attach({"x": 10**digits}, 1.0)
