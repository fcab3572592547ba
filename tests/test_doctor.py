"""`hentropy doctor`: versions, threads, the store, and which extras are missing."""

import json
from pathlib import Path

import pytest

import hentropy as he
from hentropy.studies.storage import open_store
from hentropy.views.cli.doctor import extras, needed
from support.commands import done, hentropy

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


def test_an_extra_needs_what_the_extras_below_it_need() -> None:
    assert {"optuna", "mcp", "cli"} <= set(extras())
    assert not {"test", "dev"} & set(extras())
    assert {one.name for one in needed("optuna")} == {"optuna"}
    assert {"mcp", "typer", "fastapi", "sqlalchemy", "matplotlib"} <= {one.name for one in needed("mcp")}
    assert "torch" in {one.name for one in needed("")}
    assert not {one.name for one in needed("")} & {one.name for one in needed("mcp")}
