"""What the processes do that tests start and kill. They are forked from a server that has everything imported."""

import json
import math
import os
import resource
import signal
import time
from pathlib import Path
from typing import Any

import torch
from benchmarks.verbs import kept, note_down

from hentropy.errors import HentropyError, StudyError
from hentropy.studies.execution import Local, PythonObjective
from hentropy.studies.execution.leases import Terms
from hentropy.studies.execution.runner import run
from hentropy.studies.storage import upgrade_store
from support.commands import hentropy
from support.waiting import PATIENCE

LEASE = 10 * PATIENCE


def truth(x: float, y: float) -> float:
    return math.sin(3 * x) + y


def open_it(url: str, begin: float, done: Path, old: bool = False) -> None:
    """Open a store, make or upgrade it, at a given moment, and ask in the study."""
    time.sleep(max(0.0, begin - time.time()))
    if old:
        upgrade_store(url, backup=False)
    trial = kept(url).ask()
    note_down(done, str(trial.number))


def tell_all(url: str, numbers: range, value: float, log: Path, begin: float) -> None:
    """Tell one value for each of some trials, from a given moment on; note down which were taken."""
    study = kept(url)
    time.sleep(max(0.0, begin - time.time()))
    for number in numbers:
        try:
            study.tell(number, value)
            note_down(log, f"{number} {value!r}")
        except StudyError:
            pass


def work(url: str, folder: Path, options: dict[str, Any]) -> None:
    """Be a worker until the study has enough."""
    torch.set_num_threads(1)
    run(kept(url, **options), Local(PythonObjective("lab:measure", folder)), Terms(lease=LEASE))


def without_rights(path: Path, report: Path) -> None:
    """Try to write as a user who may not, and report what is said."""
    if os.getuid() == 0:  # who may do anything
        os.setuid(65534)
    _reported(path, report)


def with_little_disk(room: int, path: Path, report: Path) -> None:
    """Write where no file may grow beyond so many bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    _reported(path, report)


def _reported(path: Path, report: Path) -> None:
    told = 0
    try:
        study = kept(f"sqlite:///{path}")
        for _ in range(2000):
            trial = study.ask()
            study.tell(trial, truth(**trial.params), note="x" * 200)
            told = trial.number
        said = "nothing was said"
    except HentropyError as error:
        said = f"{type(error).__name__}: {error}"
    # the report's file was made beforehand: it may be written, and is small
    with report.open("r+") as file:
        file.write(f"{told}\n{said}")


def read_without_rights(commands: list[list[str]], first: Path, folder: Path, report: Path) -> None:
    """Run commands in a folder as a user who may not write to the store, and report how they ended.

    They are run in another folder before: the other user may not even read the modules that they import.
    """
    os.chdir(first)
    for command in commands:
        hentropy(*command)
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    os.chdir(folder)
    ends = [hentropy(*command) for command in commands]
    report.write_text(json.dumps([[end.code, end.out, end.err] for end in ends]), encoding="utf-8")
