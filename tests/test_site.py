"""The documentation site: every page is in the contents, and what the chooser offers can be run."""

import re
import runpy
import sys
from pathlib import Path

import pytest

import hentropy as he
from docs.extensions.built_pages import mistakes
from docs.extensions.choices import PAGES as DESCRIBED
from docs.extensions.choices import QUESTIONS, combinations, files, looked_up
from docs.extensions.repository_links import PAGES, turned
from hentropy.studies.definition import CHOICES, validated
from hentropy.studies.definition.decisions import DECISIONS
from hentropy.studies.study.words import in_words
from hentropy.views.cli.check import checked
from hentropy.views.plots import PICTURES
from support.documents import DOCS, anchors

ROOT = Path(__file__).parents[1]
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def contents(page: Path) -> list[Path]:
    """The pages in the tables of contents of a page."""
    lines = [line for found in TOCTREE.findall(page.read_text()) for line in found.splitlines()]
    names = [re.sub(r"^.*<(.*)>$", r"\1", line.strip()) for line in lines if line and not line.startswith(":")]
    return [(page.parent / f"{name}.md").resolve() for name in names]


def test_every_page_is_in_the_contents_once() -> None:
    reached, waiting = list[Path](), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        reached.append(page)
        waiting += contents(page)
    assert sorted(reached) == sorted(DOCS.rglob("*.md"))


def test_the_gallery_has_every_picture_and_every_example() -> None:
    text = (DOCS / "gallery.md").read_text()
    assert set(re.findall(r'^picture\(.*, "(\w+)"\)$', text, re.MULTILINE)) == set(PICTURES)
    examples = {path.parent.name for path in (ROOT / "examples").glob("*/README.md")}
    assert set(re.findall(r"\.\./examples/(\w+)/README\.md", text)) == examples


def test_every_file_that_pages_show_has_a_page() -> None:
    for path, page in PAGES.items():
        assert (ROOT / path).is_file()
        assert (DOCS / page).is_file()
    text = "[a](../CONTRIBUTING.md#checks) [b](decisions.md) [c](https://example.org)"
    assert turned(text, "docs", "docs/x.md") == "[a](contributing.md#checks) [b](decisions.md) [c](https://example.org)"


def test_links_that_lead_nowhere_are_found_in_built_pages(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<h1 id="here"></h1><a href="b.html#there"></a><a href="#here"></a>')
    (tmp_path / "b.html").write_text('<script src="https://example.org/x.js"></script><a href="c.html"></a>')
    assert mistakes(tmp_path) == [
        "a.html links to b.html#there",
        "b.html links to c.html",
        "b.html loads https://example.org/x.js",
    ]


def test_the_reference_has_every_export() -> None:
    named = re.findall(r"^\.\. auto\w+:: (\w+)$", (DOCS / "reference" / "api.md").read_text(), re.MULTILINE)
    assert set(he.__all__) - {"__version__"} <= set(named)


def test_the_chooser_knows_every_decision() -> None:
    assert set(QUESTIONS["goal"]) == set(DESCRIBED) == {*DECISIONS, "own"}
    assert [goal.answer for goal in CHOICES] == list(QUESTIONS["goal"].values())[:-1]


def test_the_table_beside_the_chooser_has_the_same_answers() -> None:
    rows = re.findall(r"^\| ([^|]+) \| \[`", (DOCS / "which.md").read_text(), re.MULTILINE)
    assert {goal.answer for goal in CHOICES} <= set(rows)


def test_every_decision_is_described_where_the_chooser_says() -> None:
    for address in DESCRIBED.values():
        page, _, anchor = address.partition("#")
        assert anchor in anchors(DOCS / page.replace(".html", ".md")), address


def test_the_chooser_shows_the_files_of_each_combination() -> None:
    data = looked_up()
    for answers in combinations():
        shown = data["files"]["|".join(answers.values())]
        assert {
            name: "\n\n".join(data["paragraphs"][part] for part in parts) for name, parts in shown.items()
        } == files(**answers)


def test_every_study_file_of_the_chooser_passes_the_check_and_every_script_makes_its_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for answers in combinations():
        for name, text in files(**answers).items():
            (tmp_path / name).write_text(text)
        for module in ("experiment", "promise"):
            sys.modules.pop(module, None)
        description = checked(tmp_path / "study.toml").words.description
        script = (tmp_path / "study.py").read_text().replace("while not study.stopped", "while False")
        script = script.replace("print(study.decide())", "").replace("found = he.search(measure, ", "study = he.Study(")
        (tmp_path / "study.py").write_text(re.sub(r", budget=40|print\(found.verdict\)", "", script))
        study = runpy.run_path(str(tmp_path / "study.py"))["study"]
        if answers["goal"] != "own":  # a class of one's own has no words
            words = validated(in_words(study.options), "the script")
            assert (words.decision, words.outcomes) == (description.decision, description.outcomes)
