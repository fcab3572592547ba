"""The walks through the code that docs/design.md describes: the files named there are all that are run."""

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import hentropy as he
from hentropy.views.server.settings import Settings
from support.serving import served
from support.visiting import browser, fields
from support.waiting import until

SOURCE = Path(he.__file__).parent
DESIGN = (Path(__file__).parents[1] / "docs" / "design.md").read_text()
GROUND = {SOURCE / "errors.py", SOURCE / "lazy.py"}
SPACE = he.Space(x=he.Real(0.0, 1.0), y=he.Real(0.0, 1.0))
TOP = he.TopK(3, weight=1.0, cap=1.0)


class Walk:
    """Collects the files of functions that run while it is `on`, in this thread and in those that it starts.

    What is computed in the background meanwhile is no part of a walk, nor is the ground on which every file stands.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.on = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if self.on and event == "call" and code.co_name != "<module>" and not _in_background():
            file = Path(code.co_filename)
            if file.is_relative_to(SOURCE) and file not in GROUND:
                self.files.add(file.relative_to(SOURCE).as_posix())


def _in_background() -> bool:
    return threading.current_thread().name.startswith("hentropy-")


@contextmanager
def walked() -> Iterator[Walk]:
    walk = Walk()
    before = sys.getprofile(), threading.getprofile()
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        yield walk
    finally:
        walk.on = False
        sys.setprofile(before[0])
        threading.setprofile(before[1])


def named(walk: str) -> set[str]:
    """The files that the page lists."""
    [block] = re.findall(rf"<!-- walk:{walk} -->\n```text\n(.*?)```", DESIGN, re.DOTALL)
    files, folder = set(), ""
    for line in block.splitlines():
        words = line.split()
        if not line.startswith(" "):
            folder, *words = words
        files |= {f"{folder}/{word}" for word in words}
    return files


def propose(walk: Walk, folder: Path) -> None:
    X = SPACE.sample(12, 0)
    belief = he.fit(X, (3.0 * X).sin().sum(-1), space=SPACE)
    walk.on = True
    he.propose(TOP, belief, SPACE)


def ask(walk: Walk, folder: Path) -> None:
    study = he.Study(SPACE, TOP, storage=folder / "lab.db", first=4)
    for _ in range(5):
        trial = study.ask()
        study.tell(trial, sum(trial.params.values()))
    walk.on = True
    study.ask()


def form(walk: Walk, folder: Path) -> None:
    url = f"sqlite:///{folder}/lab.db"
    with served(Settings(url)) as server, browser(server) as client:
        number = server.create()
        server.services.study_service.attach_csv(number, "x,value\n1,2\n")
        trial = he.load_study(server.services.study_service.record(number).name, url).ask()
        # with a verdict on the page, which the walk then shows again
        until(lambda: 'id="stands-on"' in client.get(f"/studies/{number}").text, "the verdict")
        page = client.get(f"/studies/{number}")
        walk.on = True
        told = client.post(f"/studies/{number}/trials/{trial.number}", data={**fields(page), "what": "tell", "o0": "3"})
        assert told.is_redirect
        assert client.get(told.headers["location"]).status_code == 200
        walk.on = False


@pytest.mark.parametrize(("step", "fewer_than"), [(propose, 29), (ask, 43), (form, 69)])
def test_the_files_of_a_walk(step: Callable[[Walk, Path], None], fewer_than: int, tmp_path: Path) -> None:
    listed = named(step.__name__)
    with walked() as walk:
        step(walk, tmp_path)
    there = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    assert listed <= there
    assert walk.files - listed == set()
    # what depends on the moment, such as who else looks at the study, may be left out of a walk
    assert len(listed - walk.files) <= 3
    assert len(listed) < fewer_than
    assert re.search(rf"\b{len(listed)} files\b[^<]*<!-- walk:{step.__name__} -->", DESIGN)
