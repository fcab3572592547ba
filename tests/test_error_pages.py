"""Errors name pages of the documentation: every page is there, and each surface says it in its own words."""

import io
import json
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import hentropy as he
from hentropy.adapters.host import usual_decision
from hentropy.core.decisions.limits import parse_limits
from hentropy.errors import Advice, DocPage, MissingExtra, explained_in, last_line
from hentropy.studies.definition import read, validated
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.setting import Costs
from hentropy.studies.storage import back_up, open_store
from hentropy.views.cli.app import LISTED
from hentropy.views.client import RemoteStudy
from hentropy.views.text.earlier_data import earlier_data
from support.commands import done, hentropy, lab
from support.documents import DOCS, anchors
from support.serving import SMALL, Served

SPACE = he.Space(x=he.Real(0.0, 1.0))
WORDS: dict[str, Any] = {
    "version": 1,
    "name": "lab",
    "space": {"x": {"type": "real", "low": 0.0, "high": 1.0}},
    "decision": {"name": "maximize"},
}


@pytest.mark.parametrize("page", DocPage)
def test_every_page_that_errors_may_name_is_there(page: DocPage) -> None:
    path, _, section = page.file.removeprefix("docs/").partition("#")
    assert (DOCS / path).is_file()
    assert not section or section in anchors(DOCS / path)
    assert page.html == f"{path.removesuffix('.md')}.html" + (f"#{section}" if section else "")


def test_names_of_pages_differ_and_are_plain() -> None:
    assert len({page.label for page in DocPage}) == len(list(DocPage))
    assert all(page.label.replace("-", "").isalpha() for page in DocPage)


RAISES: dict[str, tuple[Callable[[Path], object], DocPage]] = {
    "a condition": (lambda _: he.Space(x=he.Real(0, 1), where=["y < 1"]), DocPage.CONSTRAINTS),
    "conditions": (lambda _: he.Space(x=he.Real(0, 1), where=["x < 0.3", "x > 0.5"]), DocPage.CONSTRAINTS),
    "a cost": (lambda _: Costs.of("2 * y", None, SPACE), DocPage.COSTS),
    "a limit": (lambda _: parse_limits(["impurity = 3"]), DocPage.LIMITS),
    "a column": (lambda _: earlier_data("y,value\n1,2\n", "a.csv", Outcomes.of({}, SPACE), {}), DocPage.CSV),
    "a URL": (lambda _: open_store("mysql://lab"), DocPage.STORES),
    "no store": (lambda folder: open_store(folder / "none.db", make=False), DocPage.STORES),
    "a server": (lambda _: open_store("postgresql://nobody@127.0.0.1:1/none"), DocPage.POSTGRESQL),
    "a backup": (lambda folder: back_up(folder / "none.db", folder / "copy.db"), DocPage.STORES),
    "an adapter": (lambda _: usual_decision({"a": True, "b": True}, ("a <= 1",)), DocPage.ADAPTERS),
    "a failed value": (lambda _: he.Study(SPACE, he.Maximize()).attach({"x": 0.5}, float("nan")), DocPage.FAILURES),
    "a name": (
        lambda _: he.Study(SPACE, he.Maximize("a"), outcomes={"a": he.Outcome(), "b": he.Outcome()}).attach(
            {"x": 0.5}, 1.0
        ),
        DocPage.OUTCOMES,
    ),
}


@pytest.mark.parametrize("what", RAISES)
def test_an_error_names_the_page_that_helps(what: str, tmp_path: Path) -> None:
    raises, page = RAISES[what]
    with pytest.raises(he.HentropyError) as caught:
        raises(tmp_path)
    assert caught.value.page is page
    assert "see docs" not in str(caught.value)
    assert "".join(traceback.format_exception_only(caught.value)).endswith(f"\n{page.seen}\n")


@pytest.mark.parametrize(
    ("extra", "page"), [("optuna", DocPage.ADAPTERS), ("slurm", DocPage.ADAPTERS), ("server", DocPage.INSTALL)]
)
def test_an_extra_that_is_missing_is_explained(extra: str, page: DocPage) -> None:
    assert MissingExtra("it", extra).page is page


@pytest.mark.parametrize(
    ("parts", "page"),
    [
        ({"where": ["y < 1"]}, DocPage.CONSTRAINTS),
        ({"where": "x < 1"}, DocPage.CONSTRAINTS),
        ({"space": {"x": {"type": "real", "low": 1.0}}}, DocPage.DESIGNS),
        ({"decision": {"name": "maximise"}}, DocPage.DECISIONS),
        ({"decision": {"name": "maximize", "outcome": "y", "subject_to": ["z < 1"]}}, DocPage.DECISIONS),
        ({"outcomes": {"y": {"grades": ["a"]}}}, DocPage.OUTCOMES),
        ({"cost": {"of": "y"}}, DocPage.COSTS),
        ({"storage": {"url": "mysql://x"}}, DocPage.STORES),
        ({"model": {"hyperparameters": "best"}}, DocPage.MODELS),
        ({"name": ""}, DocPage.STUDY_FILE),
        ({"decision": {"name": "maximise"}, "cost": {"price": -1.0}}, DocPage.STUDY_FILE),
    ],
)
def test_a_mistake_in_a_study_file_leads_to_the_page_on_its_table(parts: dict[str, Any], page: DocPage) -> None:
    with pytest.raises(he.InputError) as caught:
        validated({**WORDS, **parts}, "lab.toml")
    assert caught.value.page is page


def test_the_first_page_named_stays() -> None:
    with pytest.raises(he.InputError) as caught, explained_in(DocPage.STORES), explained_in(DocPage.CSV):
        raise he.InputError("it", Advice.NAME_OUTCOMES)
    assert caught.value.page is DocPage.OUTCOMES
    assert caught.value.__notes__ == [DocPage.OUTCOMES.seen]


def test_the_page_is_kept_from_process_to_process() -> None:
    error = he.InputError("it", page=DocPage.CSV)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.page, again.__notes__) == ("it", DocPage.CSV, [DocPage.CSV.seen])


def test_what_an_exception_says_in_a_line_is_no_note() -> None:
    error = he.InputError("it", page=DocPage.CSV)
    assert last_line(error) == "hentropy.errors.InputError: it"
    assert last_line(ValueError("a\nb")) == "ValueError: a\nb"


def test_commands_say_it_on_a_line_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lab(tmp_path)
    (tmp_path / "old.csv").write_text("temperature,value\n1,2\n")
    said = hentropy("attach", "lab.toml", "old.csv").err.splitlines()
    assert said[0].startswith("error: there is no column")
    assert said[-1] == "see docs: csv (docs/howto/csv.md)"
    no_page = hentropy("tell", "lab.toml", "7", "1").err
    assert no_page.startswith("error: ")
    assert "see docs" not in no_page


def test_the_help_names_pages_to_begin_with() -> None:
    said = " ".join(done("--help").split())
    for page in LISTED:
        assert f"{page.label} ({page.file})" in said


def test_the_api_its_client_and_the_pages_say_it(server: Served, visit: httpx.Client) -> None:
    wrong = {**SMALL, "where": ["y < 1"]}
    told = server.http.post("/api/studies", json=wrong).json()["error"]
    assert told["docs"] == {"name": "constraints", "path": "howto/constraints.html"}
    study = server.create()
    remote = RemoteStudy(server.url, "lab")
    with pytest.raises(he.InputError) as caught:
        remote.attach({"x": 1.0}, float("nan"))
    assert caught.value.page is DocPage.FAILURES
    page = visit.get(f"/studies/{study}")
    begun = page.text.partition('name="begun" value="')[2].partition('"')[0]
    file = {"file": ("a.csv", io.BytesIO(b"y,value\n1,2\n"), "text/csv")}
    answer = visit.post(f"/studies/{study}/attach", data={"begun": begun}, files=file)
    assert "See the documentation: csv (howto/csv.html)." in answer.text


def test_a_file_that_is_read_says_it_too(tmp_path: Path) -> None:
    file = tmp_path / "lab.json"
    file.write_text(json.dumps({**WORDS, "where": ["y < 1"]}))
    with pytest.raises(he.InputError) as caught:
        read(file)
    assert caught.value.page is DocPage.CONSTRAINTS
