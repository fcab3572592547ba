"""The documents hold: examples run, links lead somewhere, every decision is described, the commands exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import hentropy as he
from hentropy.views.cli.app import app
from support.tiers import nightly

ROOT = Path(__file__).parents[1]
README, WHICH = ROOT / "README.md", ROOT / "docs" / "which.md"
DECISIONS, OWN = ROOT / "docs" / "decisions.md", ROOT / "docs" / "own-decisions.md"
DESIGNS, MODELS = ROOT / "docs" / "designs.md", ROOT / "docs" / "models.md"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NAMES = [
    name
    for name in he.__all__
    if name != "Decision" and isinstance(value := getattr(he, name), type) and issubclass(value, he.Decision)
]

FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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


def chosen_in_table(document: Path) -> set[str]:
    """The decisions in the second cells of the table rows of a document, without their arguments."""
    rows = re.findall(r"^\|[^|]*\| *\[([^|]*)\|", prose(document), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"[`,] *([A-Z]\w+)", row)}


@pytest.mark.parametrize("document", [DECISIONS, *map(nightly, (OWN, DESIGNS, MODELS))], ids=lambda path: path.name)
def test_the_examples_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a document in one name space, as a reader would; line numbers in errors are those of the document."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "example"}
    found = blocks(document, "python")
    assert len(found) >= 5
    for before, code in found:
        exec(compile("\n" * before + code, document, "exec"), names)


def words(text: str) -> str:
    """A text without numbers, which may differ a little from machine to machine, and without lines of tables."""
    return " ".join(re.sub(r"[\d.]+|[━┃┏┳┓┡╇┩└┴┘─│]", "", text).split())


def test_the_first_example_is_five_lines_that_print_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    _, code = blocks(README, "python")[0]
    assert len(code.splitlines()) == 5
    exec(code, {})
    shown = blocks(README, "text")[1][1]
    assert words(capsys.readouterr().out) == words(shown)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    assert broken(document) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One two\n[a](#one-two) [b](#three) [c](lost.md) ![d](page.md) [e](https://example.org/x)\n")
    assert broken(page) == ["#three", "lost.md"]


@pytest.mark.parametrize("name", NAMES)
def test_every_decision_is_described(name: str) -> None:
    assert name in chosen_in_table(WHICH)
    headings = re.findall(r"^## +(.*)$", prose(DECISIONS), re.MULTILINE)
    assert any(name in re.split(r"\W+", heading) for heading in headings)


def test_the_tables_name_only_what_exists() -> None:
    assert sorted(chosen_in_table(WHICH)) == sorted(NAMES)
    assert set(chosen_in_table(README)) < set(NAMES)


EXPLAINED = re.compile(r" {2,}|\s#|[|<>&;]")
"""Where a command ends in a line: before what explains it, a comment, or another command."""


def command_lines(text: str) -> Iterator[str]:
    """What is typed after `hentropy` in the blocks of a document."""
    for found in FENCED.finditer(text):
        if found[1] in ("text", "console", "sh"):
            for line in found[2].replace("\\\n", " ").splitlines():
                if command := re.match(r"(?:\$ )?(?:\w+=\S+ )*hentropy (.*)", line.strip()):
                    yield EXPLAINED.split(command[1])[0]


USAGE: type[Exception] = typer.BadParameter.__mro__[1]
"""The UsageError of click, which newer versions of typer contain."""


def taken(command: str) -> bool:
    """Whether the program has the command, with all of its options and arguments."""
    name, *arguments = shlex.split(command)
    group = typer.main.get_group(app)
    made = group.get_command(typer.Context(group), name)
    try:
        return made is not None and made.make_context(name, arguments, typer.Context(group)) is not None
    except USAGE:
        return False


@pytest.mark.parametrize(
    "document",
    [*DOCUMENTS, *sorted(ROOT.glob("examples/*/README.md"))],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_every_command_line_is_one_that_the_program_takes(document: Path) -> None:
    assert [command for command in command_lines(document.read_text()) if not taken(command)] == []


def test_a_command_line_that_is_wrong_is_found() -> None:
    right = "A=1 hentropy ask lab.toml --count 2    two of them\n"
    wrong = "$ hentropy ask --acount 2\nhentropy aks x  # no\nhentropy ask 1 2 3\n"
    assert [taken(command) for command in command_lines(f"```text\n{right}{wrong}```\n")] == [True] + 3 * [False]


MODULES = re.compile(r"python -m ((?:hentropy|benchmarks|experiments)[\w.]*)([^`\n]*)")


USED_TODAY = "".join(page.read_text() for page in DOCUMENTS if page.name != "CHANGELOG.md")


@pytest.mark.parametrize(("module", "rest"), sorted(set(MODULES.findall(USED_TODAY))))
def test_every_module_that_is_run_has_the_options_that_are_named(module: str, rest: str) -> None:
    folder = ROOT / "src" if module.startswith("hentropy") else ROOT
    path = folder.joinpath(*module.split("."))
    places = [path / "command.py", path / "__main__.py", path.with_suffix(".py")]
    code = next(place for place in places if place.exists()).read_text()
    assert [option for option in re.findall(r"--[\w-]+", rest) if f'"{option}"' not in code] == []


def test_the_commands_are_in_the_makefile() -> None:
    commands = set(re.findall(r"^make ([\w-]+)", README.read_text(), re.MULTILINE))
    assert {"demo", "check", "test", "test-all", "docs"} <= commands
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert commands <= set(targets)
