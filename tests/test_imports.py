"""Imports point one way through the house; this test reads them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hentropy

pytestmark = pytest.mark.core

PACKAGE = Path(hentropy.__file__).parent

LAYERS = (
    ("errors", "_version", "clock"),
    ("spaces",),
    ("records",),
    ("beliefs",),
    ("models", "decisions"),
    ("inner",),
    ("entropy",),
    ("gain",),
    ("solvers",),
    ("stopping",),
    ("storage", "description"),
    ("study",),
    ("execution", "problems", "plots", "integrations", "testing"),
    ("baselines",),
    ("experiments",),
    ("plain", "web"),
    ("report", "server", "client"),
    ("cli",),
    ("__main__",),
)
"""Each part may import itself and parts of earlier layers; parts of one layer may not import each other."""

WITHIN = {("clock", "errors")}
"""Imports within one layer that are allowed: from, to."""

OPTIONAL = {
    ("study", "pandas"),
    ("study", "hentropy.description"),
    ("storage", "hentropy.storage.database"),
    ("execution", "hentropy.execution.cluster"),
    ("plots", "hentropy.plots.with_matplotlib"),
    ("experiments", "hentropy.experiments.dask_crew"),
    ("cli", "hentropy.cli.plotting"),
    ("cli", "hentropy.cli.reporting"),
    ("cli", "hentropy.cli.reproducing"),
    ("cli", "hentropy.cli.serving"),
}
"""Imports inside functions that are allowed, for optional dependencies and what needs them: part, package."""


def violations(package: Path) -> list[str]:
    """Every import in a tree of modules that goes against the order, one line each."""
    found = []
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(package)
        part = path.parts[0].removesuffix(".py")
        if str(path) == "__init__.py":
            continue  # the public face collects everything
        tree = ast.parse(file.read_text())
        inner = {id(node) for function in _functions(tree) for node in ast.walk(function)}
        for node, target in _imports(tree):
            where = f"{path}:{node.lineno} imports {target}"
            top, *rest = target.split(".")
            if id(node) in inner and not {(part, top), (part, target)} & OPTIONAL:
                found.append(f"{where} inside a function")
            if not top:
                found.append(f"{where}, relative to where it stands")
            if top != package.name:
                continue
            if not rest:
                found.append(f"{where}, the top-level package itself")
            elif rest[0] != part and (part, rest[0]) not in WITHIN and _rank(rest[0]) >= _rank(part):
                found.append(f"{where} against the order")
    return found


def _functions(tree: ast.AST) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


def _imports(tree: ast.AST) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """Import statements with the full names of the modules they name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = f"{'.' * node.level}{node.module or ''}"
            # `from package import part` names a part too
            yield from ((node, f"{module}.{alias.name}" if "." not in module else module) for alias in node.names)


def _rank(part: str) -> int:
    """The layer of a part; one that is not listed may import everything, and nothing may import it."""
    return next((rank for rank, parts in enumerate(LAYERS) if part in parts), len(LAYERS))


def test_imports_point_one_way() -> None:
    assert violations(PACKAGE) == []


def test_every_part_has_its_place() -> None:
    parts = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert parts - {"__init__", "__pycache__", "py.typed"} <= {part for layer in LAYERS for part in layer}


@pytest.mark.parametrize(
    ("file", "code", "said"),
    [
        ("spaces/box.py", "from toy.beliefs import Belief", "against the order"),
        ("models/gp.py", "from toy.decisions.base import Decision", "against the order"),
        ("decisions/own.py", "import toy.models", "against the order"),
        ("inner/way.py", "if True:\n    from toy.gain import gain", "against the order"),
        ("gain.py", "from toy import study", "against the order"),
        ("unheard.py", "from toy.unlisted import thing", "against the order"),
        ("study/study.py", "import toy", "the top-level package itself"),
        ("spaces/box.py", "from ..beliefs import Belief", "relative to where it stands"),
        ("study/study.py", "def f():\n    import torch", "inside a function"),
        ("solvers/s.py", "class A:\n    def f(self):\n        from toy.spaces import Space", "inside a function"),
        ("study/study.py", "def f():\n    import pandas", None),
        ("study/study.py", "from toy.solvers import propose\nfrom toy.records import Trial", None),
        ("plots/known.py", "import numpy\nfrom toy.beliefs import Belief", None),
        ("clock.py", "from toy.errors import InputError", None),
    ],
)
def test_the_checker_sees_what_it_should(file: str, code: str, said: str | None, tmp_path: Path) -> None:
    target = tmp_path / "toy" / file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(code)
    found = violations(tmp_path / "toy")
    if said is None:
        assert found == []
    else:
        assert len(found) == 1
        assert found[0].endswith(said)
