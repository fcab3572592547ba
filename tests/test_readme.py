"""The documents hold: examples run, links lead somewhere, every decision is described, the commands exist."""

import re
from pathlib import Path
from typing import Any

import pytest

import hentropy as he

ROOT = Path(__file__).parents[1]
README, DECISIONS, DESIGNS = ROOT / "README.md", ROOT / "docs" / "decisions.md", ROOT / "docs" / "designs.md"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NAMES = [
    name
    for name in he.__all__
    if name != "Decision" and isinstance(value := getattr(he, name), type) and issubclass(value, he.Decision)
]

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def blocks(document: Path, language: str) -> list[tuple[int, str]]:
    """The code blocks of a language, each with the number of its first line less one."""
    text = document.read_text()
    return [(text[: found.start(2)].count("\n"), found[2]) for found in FENCED.finditer(text) if found[1] == language]


def prose(document: Path) -> str:
    """The text without its code blocks."""
    return FENCED.sub("", document.read_text())


def anchors(document: Path) -> set[str]:
    """The names that headings get: lower case, punctuation dropped, blanks as hyphens."""
    headings = re.findall(r"^#+ +(.*)$", prose(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(document: Path) -> list[str]:
    """The relative links of a document that lead nowhere."""
    lost = []
    for link in LINK.findall(prose(document)):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.is_file() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    return lost


def described_in_table(document: Path) -> set[str]:
    """The names in the first cells of the table rows of a document."""
    rows = re.findall(r"^\| *([^|]*)\|", prose(document), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


@pytest.mark.parametrize("document", [README, DECISIONS, DESIGNS], ids=lambda path: path.name)
def test_the_examples_run(document: Path) -> None:
    """All of a document in one name space, as a reader would; line numbers in errors are those of the document."""
    names: dict[str, Any] = {"__name__": "example"}
    found = blocks(document, "python")
    assert len(found) > 5
    for before, code in found:
        exec(compile("\n" * before + code, document, "exec"), names)


def test_the_first_example_is_five_lines_that_decide(capsys: pytest.CaptureFixture[str]) -> None:
    _, code = blocks(README, "python")[0]
    assert len(code.splitlines()) == 5
    exec(code, {})
    assert "expected loss" in capsys.readouterr().out


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    assert broken(document) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One two\n[a](#one-two) [b](#three) [c](lost.md) ![d](page.md) [e](https://example.org/x)\n")
    assert broken(page) == ["#three", "lost.md"]


@pytest.mark.parametrize("name", NAMES)
def test_every_decision_is_described(name: str) -> None:
    assert name in described_in_table(README)
    headings = re.findall(r"^## +(.*)$", prose(DECISIONS), re.MULTILINE)
    assert any(name in re.split(r"\W+", heading) for heading in headings)


def test_the_table_names_only_what_exists() -> None:
    section = README.read_text().split("## The decisions")[1].split("\n## ")[0]
    rows = [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| *(`[^|]*)\|", section, re.MULTILINE)]
    assert sorted(name for row in rows for name in row) == sorted(NAMES)


def test_the_commands_are_in_the_makefile() -> None:
    commands = set(re.findall(r"\bmake (demo|test|bench|format)\b", README.read_text()))
    assert {"demo", "test", "bench"} <= commands
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert commands <= set(targets)


def test_the_places_to_fill_in_are_marked() -> None:
    for document, name in ((README, "benchmark"), (ROOT / "docs" / "design.md", "mixture")):
        text = document.read_text()
        assert 0 <= text.find(f"<!-- {name}:begin -->") < text.find(f"<!-- {name}:end -->")
