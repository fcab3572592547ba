"""`hentropy doctor`: versions, threads, the store, and which extras are missing."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import hentropy as he
from hentropy.studies.storage import open_store
from hentropy.views.cli.doctor import extras, needed
from hentropy.views.server.settings import Settings
from support.commands import done, hentropy
from support.serving import TOKEN, served

pytestmark = pytest.mark.smoke


def test_what_is_here_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert he.__version__ in done("doctor")
    assert not list(tmp_path.iterdir()), "it makes no store"
    open_store("sqlite:///hentropy.db").close()
    found = json.loads(done("doctor", "--json"))
    assert found["packages"]["torch"]
    assert (found["extras"]["cli"], found["problems"]) == ([], [])
    assert found["store"]["said"] == "hentropy.db, 0 studies"


def test_a_store_that_cannot_be_opened_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_text("no database")
    for name in ("broken.db", "none.db"):
        said = hentropy("doctor", "--store", f"sqlite:///{tmp_path / name}", "--json")
        assert said.code == 1
        assert name in json.loads(said.out)["problems"][0]


def problems(*arguments: str) -> list[str]:
    ended = hentropy("doctor", "--json", *arguments)
    found: list[str] = json.loads(ended.out)["problems"]
    assert ended.code == bool(found)
    return found


def test_files_that_others_may_change_are_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_store("sqlite:///lab.db").close()
    done("people", "add", "operator")
    given = ("--store", "sqlite:///lab.db", "--people", "people.json")
    assert problems(*given) == []
    assert "people.json, 1 person" in done("doctor", *given)
    (tmp_path / "lab.db").chmod(0o666)
    (tmp_path / "people.json").chmod(0o640)
    found = problems(*given)
    assert ["chmod o-w lab.db" in found[0], "chmod go= people.json" in found[1]] == [True, True]
    (tmp_path / "people.json").write_text("{")
    assert "damaged" in problems("--people", "people.json")[0]
    assert "there is no file nobody.json" in problems("--people", "nobody.json")[0]


def test_a_server_that_runs_is_asked(sqlite_url: str) -> None:
    with served(Settings(sqlite_url, token=TOKEN)) as server:
        assert problems("--url", server.url) == []
        assert f"{server.url} is ready" in done("doctor", "--url", f"{server.url}/")
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as other:
            other.execute("ALTER TABLE hentropy_studies RENAME TO elsewhere")
        assert problems("--url", server.url) == [f"{server.url}: the store does not answer; the server's log says why"]
    assert "is unreachable" in problems("--url", server.url)[0]
    assert "is unreachable" in problems("--url", "no address")[0]


def test_an_extra_needs_what_the_extras_below_it_need() -> None:
    assert {"optuna", "mcp", "cli"} <= set(extras())
    assert not {"test", "dev"} & set(extras())
    assert {one.name for one in needed("optuna")} == {"optuna"}
    assert {"mcp", "typer", "fastapi", "sqlalchemy", "matplotlib"} <= {one.name for one in needed("mcp")}
    assert "torch" in {one.name for one in needed("")}
    assert not {one.name for one in needed("")} & {one.name for one in needed("mcp")}
