"""The command `python -m experiments`, as it is typed."""

import tarfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from experiments import command, plan
from experiments.figures import FIGURES, page
from experiments.methods import BELIEF_TASKS, LEVEL_TASKS, METHODS, TASKS
from experiments.timing import CONTENDERS
from support.commands import said_by

RUNS = Path(command.__file__).parent / "runs"

reproduce = partial(said_by, command.main)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for commands in this process, which start at once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def test_help_shows_an_example(here: Path) -> None:
    found = reproduce("--help")
    assert found.code == 0
    assert "python -m experiments figure-2 --quick" in found.out
    for option in ("--seeds", "--quick", "--workers", "--executor", "--scheduler", "--out"):
        assert option in found.out


def test_unknown_names_list_the_known_ones(here: Path) -> None:
    found = reproduce("figure-9")
    assert found.code == 2
    said = found.err
    assert "figure-9" in said
    for name in ("figure-1", "figure-7", "timing", "all"):
        assert name in said


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--seeds", "0"), 1, "at least 1 seed is needed"),
        (("--seeds", "10000000"), 1, "no more than 10000"),
        (("--workers", "0"), 1, "at least 1 worker is needed"),
        (("--seeds", "many"), 2, "neither a number nor a range such as 5-19"),
        (("--methods", "luck"), 2, "--methods"),
        (("--executor", "elves"), 2, "--executor"),
    ],
)
def test_nonsense_options_are_refused(options: tuple[str, str], code: int, said: str, here: Path) -> None:
    found = reproduce("figure-1", *options)
    assert found.code == code
    assert said in found.err
    assert "Traceback" not in found.err
    assert not list(here.iterdir())


def test_a_scheduler_is_of_no_use_to_processes(here: Path) -> None:
    options = ("--executor", "processes", "--scheduler", "tcp://127.0.0.1:9")
    found = reproduce("figure-1", *options)
    assert found.code == 1
    assert "is that of a Dask scheduler, but the executor is processes" in " ".join(found.err.split())
    assert not list(here.iterdir())


def test_a_foreign_folder_is_refused_in_one_sentence(here: Path) -> None:
    (here / "precious.txt").write_text("mine")
    found = reproduce("figure-1", "--out", ".")
    assert found.code == 1
    assert "does not hold results of hentropy" in found.err
    assert "Traceback" not in found.err
    assert [path.name for path in here.iterdir()] == ["precious.txt"]


def test_every_task_is_in_a_figure() -> None:
    assert {task for figure in FIGURES.values() for task in figure.tasks} == set(TASKS)


@pytest.mark.filterwarnings("default")  # what others' methods warn of is not ours
@pytest.mark.parametrize(
    ("what", "methods"),
    [("figure-6", ("hentropy", "random")), pytest.param("all", None, marks=[pytest.mark.slow, pytest.mark.nightly])],
)
def test_the_quick_reproduction_from_end_to_end_and_again(
    what: str, methods: tuple[str, ...] | None, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "QUICK_QUERIES", 1)
    monkeypatch.setattr(page, "DPI", 40)
    names = TASKS if what == "all" else FIGURES[what].tasks
    tasks = {name: methods or TASKS[name].methods for name in names}
    options = ("--quick", "--seeds", "1", "--out", "new", *(("--methods", *methods) if methods else ()))
    first = reproduce(what, "--workers", "1", *options)
    assert first.code == 0, first.err
    folder = here / "new"
    figures = {path.name for path in (folder / "figures").iterdir()}
    for name, its in tasks.items():
        assert f"{name} (" in first.out
        assert f"| {METHODS['hentropy'].label} | 1 |" in (folder / "tables" / f"{name}.md").read_text()
        assert {path.name for path in (folder / "runs" / name).iterdir()} == set(its)
    for name in FIGURES if what == "all" else [what]:
        drawn = {path for path in figures if path.startswith(name)}
        assert drawn
        assert {path.removesuffix(".png") for path in drawn if path.endswith(".png")} == {
            path.removesuffix(".svg") for path in drawn if path.endswith(".svg")
        }
    if what == "all":
        timing = (folder / "tables" / "timing.md").read_text()
        assert all(METHODS[name].label in timing for name in CONTENDERS)
    records = {path: path.read_bytes() for path in (folder / "runs").rglob("*.jsonl")}
    assert len(records) == sum(map(len, tasks.values()))
    for path in (folder / "figures").iterdir():
        path.unlink()
    # nothing is run again; tables and figures are made of the records
    again = reproduce("figure-6", *options)
    assert again.code == 0, again.err
    assert {path: path.read_bytes() for path in records} == records
    assert {path.suffix for path in (folder / "figures").iterdir()} == {".png", ".svg"}


def test_quick_beliefs_from_end_to_end(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = {"branin-3-guesses": replace(BELIEF_TASKS["branin-3-guesses"], first=4)}
    monkeypatch.setattr(command, "BELIEF_TASKS", one)
    found = reproduce("beliefs", "--quick", "--seeds", "1", "--workers", "1", "--out", "new")
    assert found.code == 0, found.err
    table = (here / "new" / "tables" / "beliefs.md").read_text()
    assert "| branin-3-guesses | negative true loss after 2 |" in table


@pytest.mark.nightly
@pytest.mark.slow
def test_quick_level_sets_from_end_to_end(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the two quickest methods; the third one, on ten parameters, is of this project."""
    quick = {
        "exp-sin-level": ("pom", "straddle"),
        "levy-10-level": ("hentropy", "straddle"),
    }
    tasks = {name: replace(LEVEL_TASKS[name], methods=methods) for name, methods in quick.items()}
    monkeypatch.setattr(command, "LEVEL_TASKS", tasks)
    monkeypatch.setattr(plan, "QUICK_QUERIES", 1)
    found = reproduce("levels", "--quick", "--seeds", "1", "--workers", "1", "--out", "new")
    assert found.code == 0, found.err
    for name, methods in quick.items():
        said = (here / "new" / "tables" / f"{name}.md").read_text()
        assert f"### {name} (F1)" in said
        assert "conservative after 1" in said
        assert {path.name for path in (here / "new" / "runs" / name).iterdir()} == set(methods)
    assert not (here / "new" / "figures").exists()


def test_archived_runs_still_make_the_tables_that_were_published(here: Path) -> None:
    """They are of an earlier version, whose runs no new ones may be added to."""
    with tarfile.open(RUNS / "outcomes.tar.xz") as archive:
        archive.extractall(here / "old", filter="data")
    refused = reproduce("outcomes", "--tasks", "gardner", "--out", "old")
    assert (refused.code, "version is '0.2.0' there" in refused.err) == (1, True)
    found = reproduce("outcomes", "--tasks", "gardner", "dtlz2-4", "--recorded", "--out", "old")
    assert found.code == 0, found.err
    said = (here / "old" / "tables" / "outcomes.md").read_text()
    assert "| hentropy - BoTorch, qLogNEI | 20 | -0.0176 [-0.0375, -0.0005] |" in said
    assert "+0.0285 [+0.0174, +0.039] |" in said
    assert said.endswith("Runs by hentropy 0.2.0.\n")


@pytest.mark.nightly
def test_figure_1_needs_no_runs(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "DPI", 40)
    found = reproduce("figure-1", "--out", "new")
    assert found.code == 0, found.err
    assert (here / "new" / "figures" / "figure-1.png").is_file()
    assert not (here / "new" / "runs").exists()
