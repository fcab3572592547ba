"""Stores keep what they are given: one suite for memory, SQLite and PostgreSQL, and what is particular to each."""

import shutil
import sqlite3
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import psycopg
import pytest
from sqlalchemy import inspect

import hentropy as he
from hentropy.errors import InputError, NoStore, StorageError
from hentropy.studies.definition.parts import StorageWords
from hentropy.studies.records import Entry, State, Trial, Verdict
from hentropy.studies.storage import HeldTurn, MemoryStore, Store, open_store
from hentropy.studies.storage.postgres import SESSION
from hentropy.studies.testing import check_store
from support.studies import measured
from support.waiting import PATIENCE, until


@pytest.mark.smoke
def test_memory_conforms() -> None:
    store = MemoryStore()
    check_store(lambda: store)


def test_databases_conform(store_url: str) -> None:
    check_store(lambda: open_store(store_url))


def test_a_study_file_can_name_every_database(store_url: str) -> None:
    assert StorageWords(url=store_url).url == store_url


class Forgetful(MemoryStore):
    """Loses every second change."""

    def change(self, study, number, rule, by, since=None):
        [entry] = super().change(study, number, rule, by).entries
        if entry.tries % 2:
            return super().change(study, number, lambda old, now: old, by)
        return super().change(study, number, lambda old, now: Entry(old.trial, old.asked_at), by)


def test_a_store_that_forgets_is_found_out() -> None:
    store = Forgetful()
    with pytest.raises(AssertionError):
        check_store(lambda: store)


def filled(url: str | Path, count: int = 3) -> Store:
    store = open_store(url)
    study = store.create("s", {}, {})
    trials = [Trial(i, {"x": float(i)}, State.COMPLETE, measured(float(i))) for i in range(count)]
    store.add(study, lambda now: [Entry(trial, 0.0, 0.0) for trial in trials], "me")
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
        (lambda path: path.write_text("x,y\n"), "not an SQLite database"),
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

    def wide(number: int, now: float) -> list[Entry]:
        return [Entry(Trial(number, {"x": 0.0}, note="x" * 500), 0.0)]

    with pytest.raises(StorageError, match="the disk is full; nothing was changed"):
        [store.add(study, partial(wide, i), "me") for i in range(3, 1000)]
    kept = len(values(store))
    store.close()
    again = open_store(tmp_path / "lab.db")
    assert len(values(again)) == kept
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    again.add(study, lambda now: [Entry(Trial(kept, {"x": 0.0}), 0.0)], "me")
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
        # in one transaction PostgreSQL shows the same activity again and again
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.exec_driver_sql(f"SELECT pg_terminate_backend({mine})")
        there = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {mine}"
        until(lambda: connection.exec_driver_sql(there).scalar() == 0)
    assert values(store) == [0.0, 1.0, 2.0]
    store.close()
    killer.close()


def test_postgres_waits_for_nobody_for_ever(postgres_url: str) -> None:
    store = filled(f"{postgres_url}?keepalives_idle=7")
    with store._backend.engine.connect() as connection:  # type: ignore[attr-defined]
        shown = {name: connection.exec_driver_sql(f"SHOW {name}").scalar() for name in SESSION}
        parameters = connection.connection.dbapi_connection.info.get_parameters()
    assert shown == {
        "idle_in_transaction_session_timeout": "30s",
        "lock_timeout": "1min",
        "statement_timeout": "5min",
    }
    assert parameters["keepalives_idle"] == "7"
    assert parameters["tcp_user_timeout"] == "50000"
    store.close()


def test_one_who_stops_in_a_transaction_is_cut_off(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = filled(postgres_url)
    monkeypatch.setitem(SESSION, "idle_in_transaction_session_timeout", "5s")
    stopped = open_store(postgres_url)
    study = other.find("s")
    assert study is not None

    def rule(old: Entry, now: float) -> Entry:
        """In the middle of the one's transaction, another one writes."""
        other.change(study, 0, lambda entry, now: replace(entry, tries=7), "another")
        return replace(old, tries=9)

    with pytest.raises(StorageError, match=r"does not answer.*idle-in-transaction"):
        stopped.change(study, 0, rule, "me")
    assert stopped.news(study).entries[0].tries == 7
    stopped.close()
    other.close()


def test_a_copy_of_the_file_is_a_store(tmp_path: Path) -> None:
    filled(tmp_path / "lab.db").close()
    shutil.copy(tmp_path / "lab.db", tmp_path / "copy.db")
    assert values(open_store(tmp_path / "copy.db")) == [0.0, 1.0, 2.0]


def half_written(path: Path) -> None:
    """A database as a process that was killed while it made it leaves it: with a journal that must be rolled back."""
    made = path.with_name("made.db")
    connection = sqlite3.connect(made, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE hentropy_version (version_num)")
    connection.executemany("INSERT INTO hentropy_version VALUES (?)", [("x" * 500,)] * 500)
    for end in ("", "-journal"):
        shutil.copy(f"{made}{end}", f"{path}{end}")
    connection.close()


def test_a_store_whose_making_was_cut_short_is_made(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    half_written(path)
    assert path.stat().st_size > 0
    assert (tmp_path / "lab.db-journal").stat().st_size > 0
    assert values(filled(path)) == [0.0, 1.0, 2.0]


def test_through_a_link_it_is_the_same_store_with_the_same_lock(tmp_path: Path) -> None:
    store = filled(tmp_path / "lab.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "lab.db")
    other = open_store(tmp_path / "link.db")
    study = store.find("s")
    assert study is not None
    inside: list[HeldTurn] = []
    with store.asking(study):
        thread = threading.Thread(target=lambda: inside.append(other.asking(study).__enter__()), daemon=True)
        thread.start()
        thread.join(timeout=0.3)
        assert inside == []
    thread.join(timeout=PATIENCE)
    assert len(inside) == 1


def test_many_threads_do_not_starve_each_other(store_url: str) -> None:
    count = 40
    store = filled(store_url, count)
    study = store.find("s")
    assert study is not None
    errors = []

    def tell(number: int) -> None:
        try:
            store.change(
                study, number, lambda old, now: replace(old, trial=replace(old.trial, measurements=measured(9.0))), "me"
            )
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=tell, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []  # a pool that is starved gives up after 30 s
    assert values(store) == [9.0] * count
    store.close()


def test_a_server_of_another_isolation_is_asked_for_ours(postgres_url: str) -> None:
    name = postgres_url.rpartition("/")[2]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        setting = f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"
        connection.execute(setting)
    store = filled(postgres_url)
    with store._backend.engine.connect() as connection:  # type: ignore[attr-defined]
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"
    store.close()


def test_to_read_makes_no_store(store_url: str) -> None:
    with pytest.raises(NoStore, match="there is no store in"):
        open_store(store_url, make=False)
    filled(store_url).close()
    store = open_store(store_url, make=False)
    assert values(store) == [0.0, 1.0, 2.0]
    store.close()


@pytest.mark.parametrize("action", [float("nan"), float("-inf"), np.float64(1.5), np.int64(3), {(1, 2): [None, {3}]}])
def test_verdicts_of_any_decision_can_be_kept(action: object, store_url: str) -> None:
    store = filled(store_url)
    study = store.find("s")
    assert study is not None
    store.keep(study, Verdict([{"action": action}], 1.0, 0.0, "own", 1, raw=None))
    kept = store.verdicts(study)[0].verdict.action[0]["action"]
    expected = {float: None, np.float64: 1.5, np.int64: 3, dict: {"(1, 2)": [None, "{3}"]}}
    assert kept == expected[type(action)]
    store.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me@127.0.0.1:1/database?password=secret",
        "POSTGRESQL://me:secret@127.0.0.1:1/database",
        "postgresql://me:secret@host:port/database",
    ],
)
def test_passwords_are_not_shown_wherever_they_stand(url: str) -> None:
    with pytest.raises((StorageError, InputError)) as refused:
        open_store(url)
    assert "secret" not in str(refused.value)


def test_errors_are_hentropys() -> None:
    assert issubclass(StorageError, he.HentropyError)
