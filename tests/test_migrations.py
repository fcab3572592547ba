"""Stores of earlier versions open and become new ones; those of later versions are refused."""

import shutil
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from hentropy.errors import StorageError
from hentropy.studies.records import State, Verdict
from hentropy.studies.storage import open_store
from hentropy.studies.storage.backend import WRITES
from hentropy.studies.storage.database import Database, _backend
from hentropy.studies.storage.tables import MIGRATIONS, NEWEST, VERSION_TABLE, metadata, upgrade

DATA = Path(__file__).parent / "data"
EARLIER = sorted(path.stem[1:5] for path in (MIGRATIONS / "versions").glob("v*.py"))[:-1]


def opened(url: str | Path) -> Database:
    store = open_store(url)
    assert isinstance(store, Database)
    return store


def differences(store: Database) -> list:
    with store._backend.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        return list(compare_metadata(context, metadata))


def test_the_migrations_make_the_tables(store_url: str) -> None:
    store = opened(store_url)
    assert differences(store) == []
    assert EARLIER[-1] < NEWEST
    store.close()


@pytest.mark.parametrize("version", EARLIER)
def test_every_earlier_version_becomes_the_newest(version: str, store_url: str) -> None:
    backend = _backend(store_url)
    with backend.engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        upgrade(connection, version)
        connection.execute(text("INSERT INTO hentropy_studies VALUES (7, 'old', '{\"seed\": 1}', '{}', 5.0, 2)"))
        connection.execute(
            text(
                "INSERT INTO hentropy_trials (study_id, number, params, state, value, origin, note, asked_at, tries,"
                " revision) VALUES (7, 0, '{\"x\": 0.1}', 'complete', 0.3, 'first', '', 1.0, 2, 1)"
            )
        )
    backend.engine.dispose()
    store = opened(store_url)
    assert differences(store) == []
    study = store.find("old")
    assert study is not None
    [entry] = store.news(study).entries
    assert (entry.trial.value, entry.tries, entry.losses) == (0.3, 2, 0)
    with store.asking(study) as turn:
        assert turn == 1
    store.close()


def test_a_file_of_the_first_version_opens_with_all_that_was_told(tmp_path: Path) -> None:
    shutil.copy(DATA / "store-0001.db", tmp_path / "lab.db")
    store = opened(tmp_path / "lab.db")
    [study] = store.studies()
    assert study.name == "alloys"
    entries = store.news(study).entries
    assert [entry.trial.value for entry in entries] == [1.5, None, 2.75, None]
    assert [entry.trial.state for entry in entries] == [State.COMPLETE, State.FAILED, State.COMPLETE, State.RUNNING]
    assert entries[3].owner == "old-worker"
    assert [(told.number, told.value) for told in store.observations(study, 0)] == [(0, 1.25), (0, 1.5)]
    store.keep(study, Verdict([], 0.0, 0.0, "Maximize()", 2, raw=None))
    assert len(store.verdicts(study)) == 1


def test_a_newer_version_is_refused(store_url: str) -> None:
    store = opened(store_url)
    with store._backend.engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0999'"))
    store.close()
    with pytest.raises(StorageError, match=r"newer version of hentropy .*0999.*upgrade hentropy"):
        open_store(store_url)


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    shutil.copy(DATA / "store-0001.db", tmp_path / "lab.db")
    backend = _backend(tmp_path / "lab.db")
    with backend.engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        connection.execute(text("CREATE TABLE hentropy_verdicts (in_the_way INTEGER)"))
    with pytest.raises(StorageError):
        open_store(tmp_path / "lab.db")
    with backend.engine.connect() as connection:
        columns = [column["name"] for column in inspect(connection).get_columns("hentropy_trials")]
        assert "losses" not in columns
        assert connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}")) == "0001"
        connection.execute(text("DROP TABLE hentropy_verdicts"))
        connection.commit()
    backend.engine.dispose()
    assert [study.name for study in open_store(tmp_path / "lab.db").studies()] == ["alloys"]
