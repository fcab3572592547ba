"""Modules in the folder of a study: found while they are used, and never in the way of others."""

import sys
import threading
from pathlib import Path

import pytest

import hentropy as he
from hentropy.loading import Shadowed, import_in, modules_of
from hentropy.studies.definition import imported
from hentropy.studies.execution import PythonObjective
from support.waiting import PATIENCE

pytestmark = pytest.mark.smoke

LAB = """
def measure(x):
    import profile  # the library's, although there is a file of this name beside this one
    from beside import FACTOR
    return FACTOR * x + hasattr(profile, "Profile")

def in_a_pool(x):
    from multiprocessing import get_context
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(twice, (x,))

def twice(x):
    return 2 * x
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lab_with_library_names.py").write_text(LAB)
    (tmp_path / "beside.py").write_text("FACTOR = 3")
    for name in ("profile", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('the file beside the study was taken')")
    return tmp_path


def test_opening_a_study_leaves_nothing_behind(folder: Path) -> None:
    path, modules = list(sys.path), set(sys.modules)
    function = imported("lab_with_library_names:twice", folder)
    assert function(2) == 4
    assert (sys.path, set(sys.modules)) == (path, modules)
    assert str(folder) not in sys.path_importer_cache


@pytest.mark.parametrize("timeout", [None, PATIENCE])
def test_files_with_names_of_libraries_take_nothing_away(folder: Path, timeout: float | None) -> None:
    sys.modules.pop("profile", None)
    with PythonObjective("lab_with_library_names:measure", folder, timeout).here() as evaluator:
        assert [evaluator.evaluate({"x": x}).value for x in (1, 2)] == [4.0, 7.0]


@pytest.mark.parametrize("timeout", [None, PATIENCE])
def test_a_file_that_hides_behind_a_library_is_named(folder: Path, timeout: float | None) -> None:
    with pytest.raises(he.InputError, match=r"another module profile is loaded already, from .*not .*rename the file"):
        imported("profile:run", folder)
    failed = PythonObjective("profile:run", folder, timeout).evaluate({"x": 1}).failed
    assert failed is not None
    assert "rename the file" in failed


@pytest.mark.parametrize("timeout", [None, PATIENCE])
def test_functions_go_to_child_processes(folder: Path, timeout: float | None) -> None:
    """Pickle names the module: where processes are started, the folder is on the path that they get."""
    assert PythonObjective("lab_with_library_names:in_a_pool", folder, timeout).evaluate({"x": 4}).value == 8.0


def test_modules_are_imported_once(folder: Path) -> None:
    (folder / "counting.py").write_text(
        "from pathlib import Path\nwith open(Path(__file__).parent / 'n', 'a') as f:\n"
        "    f.write('x')\ndef f(x):\n    return x\n"
    )
    first = imported("counting:f", folder)
    assert imported("counting:f", folder) is first
    assert PythonObjective("counting:f", folder).evaluate({"x": 1}).value == 1.0
    assert (folder / "n").read_text() == "x"


def test_packages_come_and_go_whole(folder: Path) -> None:
    (folder / "whole" / "inner").mkdir(parents=True)
    (folder / "whole" / "__init__.py").write_text("")
    (folder / "whole" / "inner" / "__init__.py").write_text("from whole import deep\nVALUE = deep.VALUE")
    (folder / "whole" / "deep.py").write_text("VALUE = 5")
    (folder / "spread").mkdir()  # a package without a file of its own
    (folder / "spread" / "part.py").write_text("VALUE = 6")
    before = set(sys.modules)
    assert imported("whole.inner:VALUE", folder) == 5
    assert imported("spread.part:VALUE", folder) == 6
    assert set(sys.modules) == before


def test_two_threads_use_one_folder(folder: Path) -> None:
    """Who is done first does not take the modules away from who is not."""
    inside, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with modules_of(folder):
            inside.set()
            leave.wait(PATIENCE)

    thread = threading.Thread(target=stay)
    thread.start()
    assert inside.wait(PATIENCE)
    with modules_of(folder):
        pass
    assert sys.path[-1] == str(folder)
    leave.set()
    thread.join(PATIENCE)
    assert str(folder) not in sys.path


def test_a_folder_where_python_looks_anyway_stays_as_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of a script or a notebook: its modules are the user's, and stay."""
    monkeypatch.syspath_prepend(str(folder))
    with modules_of(folder):
        module = import_in("beside", folder)
    assert sys.path[0] == str(folder)
    assert sys.modules.pop("beside") is module
    with pytest.raises(Shadowed, match="another module numpy"), modules_of(folder):
        import_in("numpy", folder)
