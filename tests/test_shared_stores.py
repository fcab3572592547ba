"""SQLite stores in folders that several users share: private at first, and shared as the file of the store is."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.verbs import started

from hentropy.errors import StorageError
from hentropy.studies.records import StudyRecord
from hentropy.studies.storage import Store, back_up, open_store
from support.waiting import PATIENCE

NOBODY = 65534
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can be several users")


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder in which everybody may write, and in which everybody may remove only what is his own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(params=[0o002, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def begun(path: Path) -> tuple[Store, StudyRecord]:
    store = open_store(path)
    return store, store.find("s") or store.create("s", {}, {})


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}


def test_a_new_store_is_private(tmp_path: Path, umask: int) -> None:
    store, study = begun(tmp_path / "lab.db")
    with store.asking(study):
        assert modes(tmp_path) == dict.fromkeys(["lab.db", "lab.db-wal", "lab.db-shm"], "0o600")
    store.close()
    back_up(tmp_path / "lab.db", tmp_path / "backup.db")
    assert modes(tmp_path)["backup.db"] == "0o600"


def test_what_is_made_later_follows_the_file(tmp_path: Path, umask: int) -> None:
    begun(tmp_path / "lab.db")[0].close()
    (tmp_path / "lab.db").chmod(0o660)
    store, study = begun(tmp_path / "lab.db")
    with store.asking(study):
        assert modes(tmp_path) == dict.fromkeys(["lab.db", "lab.db-wal", "lab.db-shm"], "0o660")
    store.close()
    back_up(tmp_path / "lab.db", tmp_path / "backup.db")
    assert modes(tmp_path)["backup.db"] == "0o660"


def ask_as_nobody(path: Path, report: Path) -> None:
    """Enter as a user without rights, and report what came of it."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    try:
        store, study = begun(path)
        with store.asking(study):
            said = "asked"
    except StorageError as error:
        said = f"StorageError: {error}"
    except BaseException as error:
        said = repr(error)
    report.write_text(said)


def writable(report: Path) -> Path:
    report.touch()
    report.chmod(0o666)
    return report


def asked_by_nobody(path: Path) -> str:
    report = writable(path.with_name("report"))
    process = started(ask_as_nobody, path, report)
    process.join(timeout=PATIENCE)
    return report.read_text()


@needs_root
def test_users_who_share_a_store_take_turns(shared: Path) -> None:
    """In a folder in which everybody may remove only what is his own, and whoever made the store."""
    store, study = begun(shared / "lab.db")
    for file in shared.glob("lab.db*"):
        file.chmod(0o666)
    report = writable(shared / "report")
    with store.asking(study):
        waiting = started(ask_as_nobody, shared / "lab.db", report)
        waiting.join(timeout=3.0)
        assert report.read_text() == ""
    waiting.join(timeout=PATIENCE)
    assert report.read_text() == "asked"
    store.close()


@needs_root
def test_a_private_store_of_somebody_else_is_told(shared: Path) -> None:
    begun(shared / "lab.db")[0].close()
    said = asked_by_nobody(shared / "lab.db")
    assert said.startswith("StorageError")
    assert "cannot be opened" in said
    assert "belongs to root" in said
