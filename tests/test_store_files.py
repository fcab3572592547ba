"""The files of an SQLite store, taken away or replaced under a running program."""

import shutil
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from hentropy.errors import NoStore, StorageError
from hentropy.studies.records import Entry, State, StudyRecord, Trial
from hentropy.studies.storage import Store, open_store, sqlite
from support.studies import measured
from support.waiting import PATIENCE


def filled(path: Path, count: int = 3) -> tuple[Store, StudyRecord]:
    store = open_store(path)
    study = store.create("s", {}, {})
    add(store, study, *range(count))
    return store, study


def add(store: Store, study: StudyRecord, *numbers: int) -> None:
    trials = [Trial(number, {"x": 0.0}, State.COMPLETE, measured(float(number))) for number in numbers]
    store.add(study, lambda now: [Entry(trial, 0.0, 0.0) for trial in trials], "me")


def values(path: Path) -> list[float | None]:
    """What somebody who opens the file now finds in it."""
    store = open_store(path, make=False)
    study = store.find("s")
    found = [] if study is None else [entry.trial.value for entry in store.news(study).entries]
    store.close()
    return found


def delete(path: Path) -> None:
    path.unlink()


def delete_all(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def replace_by_copy(path: Path) -> None:
    """As a restore of a backup does that was made before all this."""
    path.with_name("backup.db").rename(path)


def replace_all(path: Path) -> None:
    delete_all(path)
    replace_by_copy(path)


def replace_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("old"))
    path.parent.mkdir()


def delete_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


def delete_index(path: Path) -> None:
    path.with_name(f"{path.name}-shm").unlink()


def replace_log(path: Path) -> None:
    log = path.with_name(f"{path.name}-wal")
    copy = log.with_name("copy")
    shutil.copy(log, copy)
    copy.rename(log)


LOSSES = {
    delete: "was deleted or moved while it was open; changes are no longer recorded",
    delete_all: "was deleted or moved",
    move: "was deleted or moved",
    replace_by_copy: "was replaced by another file while it was open; changes are no longer recorded",
    replace_all: "was replaced by another file",
    replace_folder: "was deleted or moved",
    delete_log: "-wal or .*-shm was deleted or replaced while",
    delete_index: "-wal or .*-shm was deleted or replaced while",
    replace_log: "-wal or .*-shm was deleted or replaced while",
}
losses = pytest.mark.parametrize(("lose", "said"), LOSSES.items(), ids=[lose.__name__ for lose in LOSSES])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a store will be, beside an older copy of it."""
    folder = tmp_path / "lab"
    folder.mkdir()
    filled(folder / "backup.db", 1)[0].close()
    return folder / "lab.db"


@losses
def test_a_write_to_files_that_are_gone_is_refused(lose: Callable[[Path], None], said: str, path: Path) -> None:
    store, study = filled(path)
    lose(path)
    with pytest.raises(StorageError, match=said):
        add(store, study, 3)
    with pytest.raises(StorageError, match=said):
        store.create("another", {}, {})
    with pytest.raises(StorageError, match=said), store.asking(study):
        pass


@losses
def test_files_that_go_before_the_commit_are_noticed_after_it(
    lose: Callable[[Path], None], said: str, path: Path
) -> None:
    store, study = filled(path)

    def rule(old: Entry, now: float) -> Entry:
        lose(path)  # in the middle of the transaction: the files have been looked at, nothing is written yet
        return replace(old, trial=replace(old.trial, measurements=measured(9.0)))

    with pytest.raises(StorageError, match=said):
        store.change(study, 1, rule, "me")


@losses
def test_a_new_connection_neither_makes_nor_takes_another_file(
    lose: Callable[[Path], None], said: str, path: Path
) -> None:
    store, study = filled(path)
    engine = store._backend.engine  # type: ignore[attr-defined]
    with engine.connect():  # the only one in the pool: the store has to open a second
        lose(path)
        left = sorted(file.name for file in path.parent.iterdir() if file.suffix == ".db")
        with pytest.raises(StorageError, match=said):
            add(store, study, 3)
        assert sorted(file.name for file in path.parent.iterdir() if file.suffix == ".db") == left


def test_a_second_store_of_this_process_does_not_begin_another_log(path: Path) -> None:
    """Connections of one process share the index of the log: it would be taken for that of the new one."""
    store, _ = filled(path)
    delete_log(path)
    with pytest.raises(StorageError, match=r"-wal or .*-shm was deleted or replaced"):
        open_store(path)
    store.close()
    assert values(path) == [0.0, 1.0, 2.0]


def test_a_file_that_is_put_back_is_written_again(path: Path) -> None:
    store, study = filled(path)
    move(path)
    with pytest.raises(StorageError, match="Put the file back in its place"):
        add(store, study, 3)
    path.with_name("elsewhere.db").rename(path)
    add(store, study, 3)
    store.close()
    assert values(path) == [0.0, 1.0, 2.0, 3.0]


def test_a_link_that_leads_elsewhere_is_noticed(path: Path) -> None:
    filled(path)[0].close()
    link = path.with_name("link.db")
    link.symlink_to(path)
    store = open_store(link)
    study = store.find("s")
    assert study is not None
    link.unlink()
    link.symlink_to(path.with_name("backup.db"))
    with pytest.raises(StorageError, match="was replaced by another file"):
        add(store, study, 3)


def test_a_store_goes_on_when_all_its_connections_were_closed(path: Path) -> None:
    """Then SQLite takes the log away itself, and makes a new one for the next connection."""
    store, study = filled(path)
    store.close()
    assert not path.with_name("lab.db-wal").exists()
    path.with_name("lab.db-wal").touch()  # so that the next log is another file than the first
    add(store, study, 3)
    store.close()
    assert values(path) == [0.0, 1.0, 2.0, 3.0]


def test_a_store_of_relative_name_is_found_from_another_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    store, study = filled(Path("lab.db"))
    monkeypatch.chdir("/")
    add(store, study, 3)
    store.close()
    assert values(path) == [0.0, 1.0, 2.0, 3.0]


def test_to_look_for_a_store_makes_no_file(path: Path) -> None:
    with pytest.raises(NoStore):
        open_store(path, make=False)
    assert not path.exists()


def test_many_who_write_and_checkpoint_do_not_alarm_each_other(path: Path) -> None:
    store, study = filled(path)
    for number in range(3, 30):
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        add(store, study, number)
        values(path)
    store.close()
    assert len(values(path)) == 30


def test_threads_that_open_and_close_at_once_do_not_alarm_each_other(path: Path) -> None:
    filled(path)[0].close()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: values(path), range(200)))
    assert found == [[0.0, 1.0, 2.0]] * 200


def test_a_store_may_be_collected_while_another_is_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector closes the connections of a forgotten store in the middle of whatever is going on."""
    forgotten = [filled(path)[0]]
    looked, found = sqlite._identity, []

    def look_and_collect(file: str | Path) -> sqlite.Identity:
        if forgotten and sqlite._lock.locked():
            forgotten.pop().close()
        return looked(file)

    monkeypatch.setattr(sqlite, "_identity", look_and_collect)
    opener = threading.Thread(target=lambda: found.append(values(path)), daemon=True)
    opener.start()
    opener.join(timeout=PATIENCE)
    assert found == [[0.0, 1.0, 2.0]]
