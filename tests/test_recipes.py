"""The recipes of CONTRIBUTING.md are complete: followed to the letter in a copy, the tests that they name pass."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.waiting import PATIENCE

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "experiments", "benchmarks", "docs", "README.md", "pyproject.toml", "Makefile")

RECIPE = re.compile(r"^### Adding an? ([\w ]+)\n(.*?)(?=^### Adding|^## Other)", re.MULTILINE | re.DOTALL)
STEP = re.compile(
    r"(?:New file `(?P<new>[^`]+)`"
    r"|In `(?P<file>[^`]+)`, (?:(?P<where>below|above) (?P<t1>`+)(?P<line>.+?)(?P=t1)"
    r"|(?P<t2>`+)(?P<old>.+?)(?P=t2) becomes|at the (?P<end>end)))"
    r":\n\n```(?:python|markdown)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMMANDS = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """One change of one file, as a recipe says it."""

    said: re.Match[str]

    @property
    def path(self) -> str:
        return self.said["new"] or self.said["file"]

    def apply(self, root: Path) -> None:
        """Do what is said; where there is not exactly one such place, the recipe is out of date."""
        file, text = root / self.path, self.said["text"]
        if self.said["new"]:
            assert not file.exists(), f"{self.path} is there already"
            file.write_text(text)
            return
        before = file.read_text()
        if self.said["end"]:
            file.write_text(before + text)
        elif self.said["old"]:
            assert before.count(self.said["old"]) == 1, f"{self.path} has not one {self.said['old']}"
            file.write_text(before.replace(self.said["old"], text.removesuffix("\n")))
        else:
            line = f"{self.said['line']}\n"
            assert before.splitlines(keepends=True).count(line) == 1, f"{self.path} has not one line {line}"
            head, tail = re.split(rf"^{re.escape(line)}", before, maxsplit=1, flags=re.MULTILINE)
            file.write_text(head + (line + text if self.said["where"] == "below" else text + line) + tail)


@dataclass(frozen=True)
class Recipe:
    """The steps of a recipe, and the tests that it names."""

    steps: tuple[Step, ...]
    tests: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, text: str) -> "Recipe":
        steps = tuple(Step(found) for found in STEP.finditer(text))
        lines = [line for block in COMMANDS.findall(text) for line in block.splitlines()]
        commands = [shlex.split(line.removeprefix("$ python")) for line in lines]
        # every block of code is a step, and none is passed over because its sentence is of another form
        assert len(steps) + len(COMMANDS.findall(text)) == len(re.findall(r"^```\w", text, re.MULTILINE))
        return cls(steps, tuple(tuple(command) for command in commands))

    def followed(self, root: Path, without: int | None = None) -> bool:
        """Whether the tests pass in a copy, after all steps but one."""
        for number, step in enumerate(self.steps):
            if number != without:
                step.apply(root)
        return all(_passes(command, root) for command in self.tests)


def _passes(command: tuple[str, ...], root: Path) -> bool:
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1", "PYTEST_ADDOPTS": ""}
    quiet = ("-q", "-x", "-p", "no:cacheprovider")
    ended = subprocess.run(
        [sys.executable, *command, *quiet],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE,
        check=False,
    )
    print(ended.stdout[-4000:], ended.stderr[-1000:])
    return ended.returncode == 0


RECIPES = {
    name: Recipe.read(text) for name, text in RECIPE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project once more, to be changed."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, tmp_path / name)
    return tmp_path


def test_the_recipes_are_those_promised() -> None:
    assert set(RECIPES) == {"decision", "kind of parameter", "picture", "store"}
    assert all(len(recipe.steps) >= 4 and recipe.tests for recipe in RECIPES.values())


@pytest.mark.parametrize("name", RECIPES)
def test_each_step_has_its_place(name: str, copy: Path) -> None:
    for step in RECIPES[name].steps:
        step.apply(copy)
        if step.path.endswith(".py"):
            ast.parse((copy / step.path).read_text(), step.path)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_complete(name: str, copy: Path) -> None:
    assert RECIPES[name].followed(copy)


def test_a_forgotten_step_is_found(copy: Path) -> None:
    assert not RECIPES["store"].followed(copy, without=2)
