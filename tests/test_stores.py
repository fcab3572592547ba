"""Stores keep what they are given: one suite for memory, SQLite and PostgreSQL, and what is particular to each."""

import shutil
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import inspect

import hentropy as he
from hentropy.errors import InputError, StorageError
from hentropy.records import Entry, State, Trial
from hentropy.storage import MemoryStore, Store, open_store
from hentropy.testing import check_store


def test_memory_conforms() -> None:
    store = MemoryStore()
    check_store(lambda: store)


def test_databases_conform(store_url: str) -> None:
    check_store(lambda: open_store(store_url))


class Forgetful(MemoryStore):
    """Loses every second change."""

    def change(self, study, number, rule, by):
        entry = super().change(study, number, rule, by)
        if entry.tries % 2:
            return super().change(study, number, lambda old: old, by)
        return super().change(study, number, lambda old: Entry(old.trial, old.asked_at), by)


def test_a_store_that_forgets_is_found_out() -> None:
    store = Forgetful()
    with pytest.raises(AssertionError):
        check_store(lambda: store)


def filled(url: str | Path, count: int = 3) -> Store:
    store = open_store(url)
    study = store.create("s", {}, {})
    trials = [Trial(i, {"x": float(i)}, State.COMPLETE, float(i)) for i in range(count)]
    store.add(study, [Entry(trial, 0.0, 0.0) for trial in trials], "me")
    return store


def values(store: Store) -> list[float | None]:
    study = store.find("s")
    assert study is not None
    return [entry.trial.value for entry in store.news(study).entries]


def test_a_plain_path_is_an_sqlite_store(tmp_path: Path) -> None:
    filled(tmp_path / "lab.db").close()
    for same in (tmp_path / "lab.db", str(tmp_path / "lab.db"), f"sqlite:///{tmp_path / 'lab.db'}"):
        assert values(open_store(same)) == [0.0, 1.0, 2.0]


def test_sqlite_writes_ahead_and_to_the_disk(tmp_path: Path) -> None:
    store = filled(tmp_path / "lab.db")
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    engine = store._backend.engine  # type: ignore[attr-defined]
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


@pytest.mark.parametrize(
    "url", ["mysql://host/database", "sqlite://", "sqlite:///:memory:", "sqlite:/x", "://", "nonsense://x"]
)
def test_urls_that_are_no_stores(url: str) -> None:
    with pytest.raises(InputError, match=r"sqlite:///FILE|cannot be read"):
        open_store(url)


def test_passwords_are_not_shown() -> None:
    with pytest.raises(InputError) as error:
        open_store("mysql://me:secret@host/database")
    assert "secret" not in str(error.value)
    with pytest.raises(StorageError) as refused:
        open_store("postgresql://me:secret@127.0.0.1:1/database")
    assert "does not answer" in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.write_text("x,y\n1,2\n" * 100), "not an SQLite database"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: sqlite3.connect(path).execute("CREATE TABLE dogs (name)").connection.close(), "tables dogs"),
        (lambda path: path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000), "not an SQLite|damaged|not a store"),
    ],
)
def test_what_is_not_a_store_is_refused_and_left_alone(make, said: str, tmp_path: Path) -> None:
    path = tmp_path / "thing.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StorageError, match=said):
        open_store(path)
    assert before == (path.read_bytes() if path.is_file() else None)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"there is no folder .*nowhere"):
        open_store(tmp_path / "nowhere" / "lab.db")


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "lab.db").touch()
    assert values(filled(tmp_path / "lab.db")) == [0.0, 1.0, 2.0]


def test_a_full_disk_is_told_and_leaves_the_store_sound(tmp_path: Path) -> None:
    store = filled(tmp_path / "lab.db")
    engine = store._backend.engine  # type: ignore[attr-defined]
    with engine.connect() as connection:  # the pool hands out this connection again
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    study = store.find("s")
    assert study is not None
    many = (Entry(Trial(i, {"x": 0.0}, note="x" * 500), 0.0) for i in range(3, 1000))
    with pytest.raises(StorageError, match="the disk is full; nothing was changed"):
        [store.add(study, [entry], "me") for entry in many]
    kept = len(values(store))
    store.close()
    again = open_store(tmp_path / "lab.db")
    assert len(values(again)) == kept
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    again.add(study, [Entry(Trial(kept, {"x": 0.0}), 0.0)], "me")
    assert len(values(again)) == kept + 1


def test_postgres_tables_stand_beside_others(postgres_url: str) -> None:
    store = filled(postgres_url)
    names = inspect(store._backend.engine).get_table_names()  # type: ignore[attr-defined]
    assert all(name.startswith("hentropy_") for name in names)
    assert values(store) == [0.0, 1.0, 2.0]
    store.close()


def test_a_server_that_goes_away_and_comes_back(postgres_url: str) -> None:
    """A connection that died in the pool is replaced; nothing that was told is lost."""
    store = filled(postgres_url)
    engine = store._backend.engine  # type: ignore[attr-defined]
    with engine.connect() as connection:
        mine = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
    killer = open_store(postgres_url)
    with killer._backend.engine.connect() as connection:  # type: ignore[attr-defined]
        connection.exec_driver_sql(f"SELECT pg_terminate_backend({mine})")
    assert values(store) == [0.0, 1.0, 2.0]
    store.close()
    killer.close()


def test_a_copy_of_the_file_is_a_store(tmp_path: Path) -> None:
    filled(tmp_path / "lab.db").close()
    shutil.copy(tmp_path / "lab.db", tmp_path / "copy.db")
    assert values(open_store(tmp_path / "copy.db")) == [0.0, 1.0, 2.0]


def test_errors_are_hentropys() -> None:
    assert issubclass(StorageError, he.HentropyError)
