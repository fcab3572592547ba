"""The verbs of a study, each repeated by a process of its own that notes down what has returned; see `kills`."""

import contextlib
import itertools
import multiprocessing
import os
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

import torch

import hentropy as he
from hentropy.studies.execution import Local, PythonObjective
from hentropy.studies.execution.runner import RunListener, run
from hentropy.studies.records import State
from hentropy.studies.storage import back_up, open_store
from hentropy.views.cli.data import import_

SPACE = he.Space(x=he.Real(-1.0, 3.0), y=he.Real(0.0, 1.0))
NAME = "crash"


def kept(url: str, **options: Any) -> he.Study:
    """The study that the processes share; its first designs need no model, so that many trials take little time."""
    given = {"hyperparameters": "map", "first": 100_000, "seed": 3, **options}
    return he.Study(SPACE, he.Maximize(), storage=url, name=NAME, **given)


def context() -> ForkServerContext:
    """Processes are forked from a server that has everything imported."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["benchmarks.verbs", "hentropy.studies.definition", "hentropy.studies.storage.urls"])
    return made


def started(task: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    process = context().Process(target=task, args=arguments, daemon=True)
    process.start()
    return process


def kill(process: ForkServerProcess) -> None:
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def note_down(file: Path, line: str) -> None:
    """Append a line in one write: whoever reads it knows that all before it has happened."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


Act = Callable[[he.Study, Path, int], str]


@dataclass(frozen=True)
class Verb:
    """What a process does again and again, by numbers that nobody else has; what of it is in the store; what it needs.

    The kill falls into so many seconds after something was acknowledged.
    """

    act: Act
    found: Callable[[he.Study, Path], list[str]]
    prepare: Callable[[he.Study, int], object] = lambda study, number: None
    seconds: float = 0.02
    options: dict[str, Any] = field(default_factory=dict)
    new_store: bool = False
    only: str = ""
    fails: bool = False
    """Whether it tells of failures."""
    most: int = 5
    """How often one process does it before it is killed."""


def value(number: int) -> float:
    return number + 0.125


def design(number: int) -> dict[str, float]:
    return {"x": 0.5 + number % 7 / 10, "y": 0.5}


def told(study: he.Study, folder: Path) -> list[str]:
    """All that was told; the last of it is what the trials say now."""
    history = study.store.observations(study.log.record)
    for last in {told.number: told for told in history}.values():
        trial = study.records[last.number]
        assert (trial.state, trial.value, trial.note) == (last.state, last.value, last.note)
    return [f"{told.number} {told.state.value} {told.value} {told.note}" for told in history]


def state_of(trial: he.Trial) -> str:
    return f"{trial.number} {trial.state.value} {trial.value} {trial.note}"


def next_running(study: he.Study) -> he.Trial:
    return next(trial for trial in study.records if trial.state is State.RUNNING)


def asked(study: he.Study, number: int) -> None:
    """Enough trials to be told for one process."""
    if sum(trial.state is State.RUNNING for trial in study.records) < 60:
        study.ask_many(120)


def create(study: he.Study, folder: Path, number: int) -> str:
    return he.Study(SPACE, he.Maximize(), storage=study.store, name=f"made {number}").name


def propose(study: he.Study, folder: Path, number: int) -> str:
    trial = study.ask()
    study.withdraw(trial)
    return f"{trial.number} {trial.params}"


def attach_many(study: he.Study, folder: Path, number: int) -> str:
    study.attach_many([(design(number), 10.0 * number + i) for i in range(5)])
    return str(number)


def attached_whole(study: he.Study, folder: Path) -> list[str]:
    """Each set as often as it is there; none may be there in part."""
    sets = Counter(int((trial.value or 0.0) // 10) for trial in study.records)
    assert all(rows % 5 == 0 for rows in sets.values()), "a part of a set is missing"
    return [str(number) for number, rows in sets.items() for _ in range(rows // 5)]


def import_trials(study: he.Study, folder: Path, number: int) -> str:
    name, (words, table) = f"imported {number}", (folder / f"{number}.{end}" for end in ("toml", "csv"))
    words.write_text(
        f'version = 1\nname = "{name}"\n[space]\nx = {{ type = "real", low = -1.0, high = 3.0 }}\n'
        'y = { type = "real", low = 0.0, high = 1.0 }\n[decision]\nname = "maximize"\n'
    )
    table.write_text("number,x,y,state,value\n" + "".join(f"{i},0.5,0.{i},complete,{i}.5\n" for i in range(5)))
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        import_(
            str(words),
            table,
            study.store.place if study.store.place.startswith("postgres") else f"sqlite:///{study.store.place}",
        )
    return name


def imported(study: he.Study, folder: Path) -> list[str]:
    """All trials or none: a study may have begun, and be imported into later."""
    counts = {s.name: len(study.store.news(s).entries) for s in study.store.studies() if s.name.startswith("imported")}
    assert set(counts.values()) <= {0, 5}, "a part of what was imported is missing"
    return [name for name, rows in counts.items() if rows]


def to_delete(study: he.Study, number: int) -> None:
    for i in range(40):
        study.store.create(f"old {number} {i}", {}, {})


def delete(study: he.Study, folder: Path, number: int) -> str:
    name = next(s for s in study.store.studies() if s.name.startswith("old"))
    study.store.delete(name)
    return name.name


def deleted(study: he.Study, folder: Path) -> list[str]:
    """Those that are not there any more, of all rounds of which one is or was acknowledged."""
    there = {s.name for s in study.store.studies()}
    rounds = {name.split()[1] for name in (*there, *noted(folder)) if name.startswith("old")}
    return [name for r in rounds for i in range(40) if (name := f"old {r} {i}") not in there]


def decide(study: he.Study, folder: Path, number: int) -> str:
    study.attach(design(number), value(number % 10))
    return str(study.decide().observations)


def backup(study: he.Study, folder: Path, number: int) -> str:
    back_up(study.store.place, folder / f"{number}.copy")
    return str(number)


def backups(study: he.Study, folder: Path) -> list[str]:
    copies = list(folder.glob("*.copy"))
    for copy in copies:
        store = open_store(copy, make=False)
        assert store.find(NAME) is not None
        store.close()
    return [copy.stem for copy in copies]


def work(study: he.Study, folder: Path, number: int) -> str:
    """A worker until its end, which never comes: it acknowledges by itself."""
    (folder / "lab.py").write_text("def measure(x, y):\n    return x + y\n")
    listener = RunListener(ended=lambda trial, outcome: note_down(folder / "acknowledged", state_of(trial)))
    return run(study, Local(PythonObjective("lab:measure", folder)), watch=listener)


def work_for_long(study: he.Study, folder: Path, number: int) -> str:
    """A worker that is killed in the middle of its experiment: it acknowledges that it has begun."""
    (folder / "slow_lab.py").write_text("import time\ndef measure(x, y):\n    time.sleep(3600)\n")

    def began(trial: he.Trial) -> None:
        note_down(folder / "acknowledged", f"{trial.number} after {study.log.entries[trial.number].losses} losses")

    return run(study, Local(PythonObjective("slow_lab:measure", folder)), watch=RunListener(began=began))


def begun(study: he.Study, folder: Path) -> list[str]:
    entries = study.log.entries.values()
    return [f"{entry.trial.number} after {losses} losses" for entry in entries for losses in range(entry.losses + 1)]


VERBS: dict[str, Verb] = {
    "create": Verb(create, lambda study, folder: [s.name for s in study.store.studies()], new_store=True),
    "ask": Verb(lambda s, f, n: str(s.ask().params), lambda s, f: [str(trial.params) for trial in s.records]),
    "ask by the model": Verb(
        propose,
        lambda study, folder: [f"{trial.number} {trial.params}" for trial in study.records],
        lambda study, n: None if study.records else study.attach_many([(design(i), value(i)) for i in range(4)]),
        seconds=0.3,
        options={"first": 4},
    ),
    "tell": Verb(lambda s, f, n: state_of(s.tell(next_running(s), value(n))), told, asked),
    "correct": Verb(
        lambda s, f, n: state_of(s.tell(0, value(n), replace_value=True)),
        told,
        lambda study, n: None if study.records else study.tell(study.ask(), 0.0),
    ),
    "fail": Verb(lambda s, f, n: state_of(s.tell(next_running(s), failed=f"lamp {n}")), told, asked, fails=True),
    "withdraw": Verb(lambda s, f, n: state_of(s.withdraw(next_running(s), f"no {n}")), told, asked),
    "attach": Verb(
        lambda s, f, n: str(s.attach(design(n), value(n)).value), lambda s, f: [str(trial.value) for trial in s.records]
    ),
    "attach many": Verb(attach_many, attached_whole),
    "import": Verb(import_trials, imported),
    "decide": Verb(
        decide,
        lambda s, f: [str(kept.verdict.observations) for kept in s.store.verdicts(s.log.record)],
        seconds=0.2,
    ),
    "delete": Verb(delete, deleted, to_delete),
    "work": Verb(work, told, options={"stop": [he.Budget(10**6)]}),
    "work for long": Verb(work_for_long, begun, options={"stop": [he.Budget(10**6)]}, most=1),
    "back up": Verb(backup, backups, only="SQLite"),
}


def repeat(name: str, url: str, folder: Path, start: int) -> None:
    """What the process does that is killed."""
    torch.set_num_threads(1)
    verb = VERBS[name]
    study = kept(url, **verb.options)
    with contextlib.suppress(StopIteration):  # nothing is left to do: on a busy machine the kill comes late
        for number in itertools.count(start):
            note_down(folder / "acknowledged", verb.act(study, folder, number))
    signal.pause()


def noted(folder: Path) -> list[str]:
    file = folder / "acknowledged"
    return file.read_text().splitlines() if file.exists() else []


def sound(url: str) -> None:
    """An SQLite file must also pass its own check."""
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
