"""The results folder: every step of every run is written down as it happens.

    FOLDER/hentropy-results.json                    says what the folder is
    FOLDER/runs/PROBLEM/METHOD/seed-0007.jsonl      the settings of a run, then one line per step
    FOLDER/runs/PROBLEM/METHOD/seed-0007.failed     the traceback of a run that ended by an error

A line is on the disk before the next step begins. A line that was being written when the process was killed is cut off
when the run goes on; anything else that does not fit is refused, never overwritten.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from experiments.run import RunJob, Step
from hentropy._version import __version__
from hentropy.errors import InputError, StudyError
from hentropy.studies.files import beside

FORMAT = "hentropy results"
VERSION = 1
MANIFEST = "hentropy-results.json"
MOVE_AWAY = "move the file away to restart the run"


@dataclass(frozen=True)
class Ledger:
    """A folder of results; `read_only` takes runs of any version and any settings as they are recorded."""

    folder: Path
    read_only: bool = False

    @classmethod
    def open(cls, folder: Path) -> "Ledger":
        """The results in a folder, which is made if it is not there; a folder of anything else is refused."""
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; results need a folder of their own: choose another with --out")
        manifest = folder / MANIFEST
        if not folder.exists() or all(path.suffix == ".part" for path in folder.iterdir()):
            folder.mkdir(parents=True, exist_ok=True)
            _replace(manifest, json.dumps({"format": FORMAT, "version": VERSION, "hentropy": __version__}) + "\n")
        return cls.existing(folder)

    @classmethod
    def existing(cls, folder: Path, read_only: bool = False) -> "Ledger":
        """The results in a folder that must have some already."""
        manifest = folder / MANIFEST
        if not manifest.is_file():
            raise InputError(
                f"{folder} does not hold results of hentropy (it has no {MANIFEST}); nothing was written there:"
                " choose another folder with --out"
            )
        try:
            found = json.loads(manifest.read_text())
            kind, version = found["format"], found["version"]
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
            raise InputError(f"{manifest} is broken; repair it or choose another folder with --out") from None
        if kind != FORMAT or version != VERSION:
            raise InputError(
                f"{manifest} says {kind!r} version {version!r}; this program reads {FORMAT!r} version {VERSION}"
            )
        return cls(folder, read_only)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Only one process at a time may add to a folder; its end, however it comes, frees the folder."""
        lock = FileLock(self.folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise StudyError(
                f"another process is writing to {self.folder}; wait for it, or use another --out"
            ) from None
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def claimed(self, job: RunJob) -> Iterator[None]:
        """Only one process at a time may add to a run: a worker whose master was killed may still end its step."""
        self.path(job).parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self.path(job).with_suffix(".lock")):
            yield

    def path(self, job: RunJob) -> Path:
        """The file of a run."""
        return self.folder / "runs" / job.task.problem / job.method / f"seed-{job.seed:04d}.jsonl"

    def steps(self, job: RunJob) -> list[Step]:
        """The steps of a run that are on the disk, checked against the settings it would have now."""
        path = self.path(job)
        if not path.exists():
            return []
        lines = [_parsed(path, *each) for each in enumerate(_whole_lines(path), start=1)]
        if not lines:
            return []
        header, *rows = lines
        _check_settings(path, header, None if self.read_only else job.settings())
        return _steps(path, rows)

    def version(self, job: RunJob) -> str | None:
        """By which version of hentropy a run was begun, if it was."""
        path = self.path(job)
        lines = _whole_lines(path) if path.exists() else []
        return str(_parsed(path, 1, lines[0]).get("hentropy")) if lines else None

    def begin(self, job: RunJob) -> list[Step]:
        """Make ready to add to a run: what is there already; a line cut off in the middle is removed."""
        path = self.path(job)
        done = self.steps(job)
        self._failure(job).unlink(missing_ok=True)
        if not path.exists() or not _whole_lines(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, json.dumps({"settings": job.settings(), "hentropy": __version__}) + "\n")
            return []
        whole = b"".join(_whole_lines(path))
        if len(whole) < path.stat().st_size:
            with path.open("r+b") as file:
                file.truncate(len(whole))
        return done

    def add(self, job: RunJob, step: Step) -> None:
        """Write a step down; it is on the disk when this returns."""
        with self.path(job).open("ab") as file:
            file.write(json.dumps(step.to_json()).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def fail(self, job: RunJob, traceback: str) -> None:
        """Write down why a run ended."""
        self._failure(job).parent.mkdir(parents=True, exist_ok=True)
        _replace(self._failure(job), traceback)

    def failure(self, job: RunJob) -> str | None:
        """Why a run ended, if it ended by an error."""
        path = self._failure(job)
        return path.read_text(encoding="utf-8") if path.exists() else None

    def _failure(self, job: RunJob) -> Path:
        return self.path(job).with_suffix(".failed")


def _replace(path: Path, text: str) -> None:
    """Write a small file as a whole or not at all; no other process can know, or be writing, the part of it."""
    with beside(path) as part:
        part.write_text(text, encoding="utf-8")
        part.replace(path)


def _whole_lines(path: Path) -> list[bytes]:
    """The lines that were written to their end."""
    lines = path.read_bytes().splitlines(keepends=True)
    return lines[:-1] if lines and not lines[-1].endswith(b"\n") else lines


def _check_settings(path: Path, header: dict[str, Any], expected: dict[str, Any] | None) -> None:
    """That a run has settings, and those that are expected, of this version; None expects nothing."""
    found = header.get("settings")
    if not isinstance(found, dict):
        raise InputError(
            f"{path} does not begin with the settings of a run; it is not of hentropy's results; {MOVE_AWAY}"
        )
    if expected is None:
        return
    found, expected = {**found, "version": header.get("hentropy")}, {**expected, "version": __version__}
    other = [key for key in expected if found.get(key) != expected[key]]
    if other:
        said = "; ".join(f"{key} is {found.get(key)!r} there and {expected[key]!r} now" for key in other)
        raise InputError(
            f"{path} was made with other settings ({said}); choose another folder with --out,"
            " or make its tables alone with --recorded"
        )


def _steps(path: Path, rows: list[dict[str, Any]]) -> list[Step]:
    steps = []
    for number, row in enumerate(rows):
        where = f"line {number + 2} of {path}"
        try:
            step = Step.from_json(row)
        except (TypeError, ValueError) as error:
            raise InputError(f"{where} is not a step: {error}; {MOVE_AWAY}") from None
        if step.number != number:
            raise InputError(f"{where} is step {step.number} where step {number} was expected; {MOVE_AWAY}")
        steps.append(step)
    return steps


def _parsed(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError):
        row = None
    if not isinstance(row, dict):
        raise InputError(f"line {number} of {path} is broken; {MOVE_AWAY}")
    return row
