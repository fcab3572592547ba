"""Imports point one way through the house, from floor to floor and inside each; this test reads them."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import experiments
import hentropy
from docs.extensions.layers import DOCS, DRAWING, drawing, layers

pytestmark = pytest.mark.smoke

PACKAGE = Path(hentropy.__file__).parent
EXPERIMENTS = Path(experiments.__file__).parent

FLOORS: dict[str, tuple[tuple[str, ...], ...]] = {
    "core": (
        ("given",),
        ("clock", "spaces"),
        ("beliefs",),
        ("models", "decisions"),
        ("action_search", "predictions"),
        ("failures",),
        ("entropy",),
        ("gain",),
        ("solvers", "acquisition"),
    ),
    "studies": (
        ("files", "records", "stopping"),
        ("setting",),
        ("outcomes",),
        ("storage", "definition"),
        ("study", "testing"),
        ("execution",),
    ),
    "bench": (("problems",), ("baselines",)),
    "views": (("text", "web", "plots"), ("report", "server", "client"), ("cli",)),
    "adapters": (("host",), ("mcp", "optuna", "gest_api", "ax", "baybe"), ("mcp_command",)),
}
"""The floors from the ground up, and the parts of each in order.

A module may import its own part, earlier parts of its floor, and all floors below; parts of one row do not import each
other. `errors`, the version, `lazy` and `loading` belong to the ground that all stand on.
"""

GROUND = ("errors", "_version", "lazy", "loading")
ROOF = ("__init__", "__main__", "public")
"""Modules that may import everything, and that nothing imports."""

OPTIONAL = {
    ("study", "pandas"),
    ("study", "hentropy.studies.definition"),
    ("storage", "hentropy.studies.storage.urls"),
    ("execution", "hentropy.studies.execution.cluster"),
    ("execution", "hentropy.studies.execution.batch_jobs"),
    ("plots", "hentropy.views.plots.with_matplotlib"),
    ("cli", "hentropy.views.cli.picture_files"),
    ("cli", "hentropy.views.cli.server_process"),
    ("mcp_command", "hentropy.adapters.mcp"),
}
"""Imports inside functions that are allowed, for optional dependencies and what needs them: part, package."""


LAZY = {"torch", "gpytorch", "botorch", "linear_operator"}
"""What `lazy` has, and who need not take it from there: no command imports these parts before it computes."""
AT_ONCE = {("core", "acquisition"), ("studies", "testing")}


def violations(package: Path) -> list[str]:
    """Every import in a tree of modules that goes against the order, one line each."""
    found = []
    for file in _modules(package):
        own = _name(package, file)
        if own[-1] in ROOF and len(own) == 1:
            continue
        tree = ast.parse(file.read_text())
        inside = {id(node) for function in _functions(tree) for node in ast.walk(function)}
        part = own[1] if len(own) > 1 else own[0]
        for node, target in _imports(tree):
            where = f"{file.relative_to(package)}:{node.lineno} imports {target}"
            top, *rest = target.split(".")
            if id(node) in inside and not {(part, top), (part, target)} & OPTIONAL:
                found.append(f"{where} inside a function")
            elif top in LAZY and own[0] in ("core", "studies") and own[:2] not in AT_ONCE:
                found.append(f"{where}, which is to be taken from lazy")
            if not top:
                found.append(f"{where}, relative to where it stands")
            if top != package.name:
                continue
            if not rest:
                found.append(f"{where}, the top-level package itself")
            elif tuple(rest[:2]) != own[:2] and _place(rest) >= _place(own):
                found.append(f"{where} against the order")
    return found


def cycles(package: Path) -> list[str]:
    """Rings of modules that need each other to be imported."""
    names = {".".join((package.name, *_name(package, file))): file for file in _modules(package)}
    needs = {}
    for name, file in names.items():
        tree = ast.parse(file.read_text())
        inside = {id(node) for function in _functions(tree) for node in ast.walk(function)}
        targets = {target for node, target in _exact_imports(tree) if id(node) not in inside}
        modules = {t if t in names else t.rpartition(".")[0] for t in targets}
        # a package that collects its own modules is no ring: they do not import it
        needs[name] = {module for module in modules if module in names and module != name}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return [" <- ".join(error.args[1])]
    return []


def _modules(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def _name(package: Path, file: Path) -> tuple[str, ...]:
    """The parts of a module's name below the package; a package's own file has that of the package."""
    parts = file.relative_to(package).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts


def _functions(tree: ast.AST) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


def _imports(tree: ast.AST) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """Import statements with the full names of the modules they name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = f"{'.' * node.level}{node.module or ''}"
            # `from package import part` names a part too, and so does `from package.floor import part`
            parts = len(module.split("."))
            yield from ((node, f"{module}.{alias.name}" if parts < 3 else module) for alias in node.names)


def _exact_imports(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """The same, with the names that are taken from each module: some are modules themselves."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


def _place(name: list[str] | tuple[str, ...]) -> tuple[int, int]:
    """The floor of a module and the row of its part there; what is not listed stands above everything."""
    floors = list(FLOORS)
    if name[0] in GROUND:
        return -1, GROUND.index(name[0])
    if name[0] not in FLOORS or len(name) < 2:
        return len(floors), 0
    rows = FLOORS[name[0]]
    row = next((row for row, parts in enumerate(rows) if name[1] in parts), len(rows))
    return floors.index(name[0]), row


def test_imports_point_one_way() -> None:
    assert violations(PACKAGE) == []


def test_no_module_needs_itself() -> None:
    assert cycles(PACKAGE) == []
    assert cycles(EXPERIMENTS) == []


def test_the_package_does_without_what_stands_beside_it() -> None:
    """Experiments and benchmarks import the package, never the reverse: a wheel has neither."""
    beside = ("experiments", "benchmarks", "docs", "tests", "support", "examples")
    for file in _modules(PACKAGE):
        tops = {target.split(".")[0] for _, target in _imports(ast.parse(file.read_text()))}
        assert not tops & set(beside), file


def test_every_part_has_its_place() -> None:
    def inside(folder: Path) -> set[str]:
        names = {path.name.removesuffix(".py") for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
        return names - {"__init__", "__pycache__"}

    assert inside(PACKAGE) == {*FLOORS, *GROUND, *ROOF} - {"__init__"}
    for floor, rows in FLOORS.items():
        assert inside(PACKAGE / floor) == {part for row in rows for part in row}


@pytest.mark.parametrize(
    ("file", "code", "said"),
    [
        ("core/spaces/box.py", "from toy.core.beliefs import Belief", "against the order"),
        ("core/models/gp.py", "from toy.core.decisions.base import Decision", "against the order"),
        ("core/decisions/own.py", "import toy.core.models", "against the order"),
        ("core/action_search/way.py", "if True:\n    from toy.core.gain import gain", "against the order"),
        ("core/gain.py", "from toy.studies import study", "against the order"),
        ("studies/study/study.py", "from toy.views.text.formats import counted", "against the order"),
        ("bench/problems/lab.py", "import toy.views.plots", "against the order"),
        ("core/unheard.py", "from toy.unlisted import thing", "against the order"),
        ("errors.py", "from toy.core import clock", "against the order"),
        ("studies/study/study.py", "import toy", "the top-level package itself"),
        ("core/spaces/box.py", "from ..beliefs import Belief", "relative to where it stands"),
        ("studies/study/study.py", "def f():\n    import torch", "inside a function"),
        ("core/clock.py", "from torch import Tensor", "which is to be taken from lazy"),
        ("core/acquisition.py", "import torch", None),
        (
            "core/solvers/s.py",
            "class A:\n    def f(self):\n        from toy.core.spaces import Space",
            "inside a function",
        ),
        ("studies/study/study.py", "def f():\n    import pandas", None),
        ("studies/study/study.py", "from toy.core.solvers import propose\nfrom toy.studies.records import Trial", None),
        ("views/plots/known.py", "import numpy\nfrom toy.core.beliefs import Belief", None),
        ("core/clock.py", "from toy.errors import InputError", None),
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


def test_the_checker_sees_rings(tmp_path: Path) -> None:
    package = tmp_path / "toy" / "core"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from toy.core.one import a")
    (package / "one.py").write_text("from toy.core.two import b")
    (package / "two.py").write_text("def b():\n    from toy.core.one import a")
    assert cycles(tmp_path / "toy") == []
    (package / "two.py").write_text("from toy.core import one")
    [ring] = cycles(tmp_path / "toy")
    assert "toy.core.one" in ring
    assert "toy.core.two" in ring


def test_no_class_has_the_name_of_another() -> None:
    found: dict[str, list[str]] = {}
    for file in _modules(PACKAGE):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(file.relative_to(PACKAGE)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_the_design_names_every_part_and_draws_it() -> None:
    page = (DOCS / "design.md").read_text()
    listed = {layer.name: [set(parts) for parts, _ in layer.rows] for layer in layers(page)}
    assert listed == {floor: [set(row) for row in rows] for floor, rows in FLOORS.items()}
    assert DRAWING.read_text() == drawing(page), "run `python -m docs.extensions.layers`"
