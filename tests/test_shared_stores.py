"""SQLite stores in folders that several users share: private at first, and shared as the file of the store is."""

import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hentropy.errors import StorageError
from hentropy.studies.records import StudyRecord
from hentropy.studies.storage import Store, back_up, open_store
from support.crashing import started
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
        assert modes(tmp_path) == dict.fromkeys(["lab.db", "lab.db-wal", "lab.db-shm", "lab.db-asking-1"], "0o600")
    store.close()
    back_up(tmp_path / "lab.db", tmp_path / "backup.db")
    assert modes(tmp_path)["backup.db"] == "0o600"


def test_what_is_made_later_follows_the_file(tmp_path: Path, umask: int) -> None:
    begun(tmp_path / "lab.db")[0].close()
    (tmp_path / "lab.db").chmod(0o660)
    store, study = begun(tmp_path / "lab.db")
    with store.asking(study):
        assert modes(tmp_path) == dict.fromkeys(["lab.db", "lab.db-wal", "lab.db-shm", "lab.db-asking-1"], "0o660")
    store.close()
    back_up(tmp_path / "lab.db", tmp_path / "backup.db")
    assert modes(tmp_path)["backup.db"] == "0o660"


def test_a_lock_file_of_ones_own_follows_the_file(tmp_path: Path) -> None:
    store, study = begun(tmp_path / "lab.db")
    with store.asking(study):
        pass
    (tmp_path / "lab.db").chmod(0o640)
    with store.asking(study):
        assert modes(tmp_path)["lab.db-asking-1"] == "0o640"
    store.close()


def test_another_file_that_stands_for_the_lock_keeps_its_rights(tmp_path: Path) -> None:
    """Whoever can write to the folder must not be able to open a file of ours to others."""
    store, study = begun(tmp_path / "lab.db")
    (tmp_path / "lab.db").chmod(0o666)
    secret = tmp_path / "secret"
    secret.touch(0o600)
    (tmp_path / "lab.db-asking-1").hardlink_to(secret)
    with store.asking(study):
        assert modes(tmp_path)["secret"] == "0o600"
    (tmp_path / "lab.db-asking-1").unlink()
    (tmp_path / "lab.db-asking-1").symlink_to(tmp_path / "made")
    with pytest.raises(StorageError, match=r"lab\.db-asking-1 cannot be locked"), store.asking(study):
        pass
    assert not (tmp_path / "made").exists()
    store.close()


def test_a_lock_file_that_was_removed_is_made_again(tmp_path: Path) -> None:
    """Who waited for the lock on a file that is gone waits for that on the new one."""
    path = tmp_path / "lab.db"
    store, study = begun(path)
    entered: list[str] = []

    def enter() -> None:
        with store.asking(study):
            entered.append("waiter")

    with store.asking(study):
        waiter = threading.Thread(target=enter, daemon=True)
        waiter.start()
        waiter.join(timeout=0.3)
        assert entered == []
        (tmp_path / "lab.db-asking-1").unlink()
    waiter.join(timeout=PATIENCE)
    assert entered == ["waiter"]
    assert (tmp_path / "lab.db-asking-1").exists()
    store.close()


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
def test_a_lock_file_of_somebody_else_is_a_lock(shared: Path) -> None:
    """One that can be read can be locked, as those of earlier versions whose store was opened to others later."""
    store, study = begun(shared / "lab.db")
    (shared / "lab.db").chmod(0o666)
    for file in shared.glob("lab.db-*"):
        file.chmod(0o666)
    (shared / "lab.db-asking-1").touch()
    (shared / "kept").hardlink_to(shared / "lab.db-asking-1")  # so that its rights stay as they are
    (shared / "lab.db-asking-1").chmod(0o644)
    report = writable(shared / "report")
    with store.asking(study):
        waiting = started(ask_as_nobody, shared / "lab.db", report)
        waiting.join(timeout=3.0)
        assert report.read_text() == ""
    waiting.join(timeout=PATIENCE)
    assert report.read_text() == "asked"
    store.close()


@needs_root
def test_a_lock_file_that_cannot_be_opened_is_told(shared: Path) -> None:
    begun(shared / "lab.db")[0].close()
    (shared / "lab.db").chmod(0o666)
    (shared / "lab.db-asking-1").touch(0o600)
    said = asked_by_nobody(shared / "lab.db")
    assert said.startswith("StorageError")
    assert "lab.db-asking-1 belongs to root" in said
    assert "chmod 666" in said


@needs_root
def test_what_root_makes_belongs_to_the_owner_of_the_store(shared: Path) -> None:
    path = shared / "lab.db"
    assert asked_by_nobody(path) == "asked"
    for lock in shared.glob("lab.db-*"):
        lock.unlink()
    store, study = begun(path)
    with store.asking(study):
        pass
    store.close()
    assert (shared / "lab.db-asking-1").stat().st_uid == NOBODY
    assert asked_by_nobody(path) == "asked"


@needs_root
def test_a_private_store_of_somebody_else_is_told(shared: Path) -> None:
    begun(shared / "lab.db")[0].close()
    said = asked_by_nobody(shared / "lab.db")
    assert said.startswith("StorageError")
    assert "cannot be opened" in said
    assert "belongs to root" in said
