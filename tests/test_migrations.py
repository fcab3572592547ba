"""Stores of earlier versions open and become new ones; those of later versions are refused."""

import shutil
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

import hentropy as he
from hentropy.errors import StorageError
from hentropy.studies.records import State, Verdict
from hentropy.studies.storage import open_store
from hentropy.studies.storage.database import WRITES, Database
from hentropy.studies.storage.tables import MIGRATIONS, NEWEST, VERSION_TABLE, metadata, upgrade
from hentropy.studies.storage.urls import backend_at
from support.studies import measured

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


VALUE = {False: ("value", "std_error"), True: ("measurements",)}
VALUES = {
    False: ("0.3, NULL", "0.3, 0.1", "NULL, NULL"),
    True: (
        """'{"value": {"value": 0.3, "std_error": null}}'""",
        """'{"value": {"value": 0.3, "std_error": 0.1}}'""",
        "'{}'",
    ),
}
"""Columns of values, and a value, one with its error, and none, before and since outcomes have names."""


@pytest.mark.parametrize("version", EARLIER)
def test_every_earlier_version_becomes_the_newest(version: str, store_url: str) -> None:
    backend, new = backend_at(store_url), version >= "0005"
    with backend.engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        upgrade(connection, version)
        connection.execute(text("INSERT INTO hentropy_studies VALUES (7, 'old', '{\"seed\": 1}', '{}', 5.0, 2)"))
        connection.execute(
            text(
                "INSERT INTO hentropy_trials (study_id, number, params, state, origin, note, asked_at, tries,"
                f" revision, {', '.join(VALUE[new])}) VALUES"
                f" (7, 0, '{{\"x\": 0.1}}', 'complete', 'first', '', 1.0, 2, 1, {VALUES[new][0]}),"
                f" (7, 1, '{{\"x\": 0.2}}', 'running', 'first', '', 1.0, 0, 1, {VALUES[new][2]})"
            )
        )
        connection.execute(
            text(
                f"INSERT INTO hentropy_observations (study_id, number, at, by, state, note, {', '.join(VALUE[new])})"
                f" VALUES (7, 0, 1.0, 'me', 'complete', '', {VALUES[new][1]}),"
                f" (7, 0, 0.5, 'me', 'failed', '', {VALUES[new][2]})"
            )
        )
    backend.engine.dispose()
    store = opened(store_url)
    assert differences(store) == []
    study = store.find("old")
    assert study is not None
    entry, running = store.news(study).entries
    assert (entry.trial.measurements, entry.tries, entry.losses) == (measured(0.3), 2, 0)
    assert running.trial.measurements == {}
    assert [dict(told.measurements) for told in store.observations(study)] == [measured(0.3, 0.1), {}]
    with store.asking(study) as turn:
        assert turn.number == 1
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


def test_a_file_of_the_version_before_measurements_keeps_all_values(tmp_path: Path) -> None:
    """Made by the code before outcomes had names: values, errors, corrections, failures, costs and a verdict."""
    shutil.copy(DATA / "store-0004.db", tmp_path / "lab.db")
    store = opened(tmp_path / "lab.db")
    assert differences(store) == []
    [study] = store.studies()
    trials = [entry.trial for entry in store.news(study).entries]
    assert [dict(trial.measurements) for trial in trials] == [
        measured(1.5, 0.2),
        {},
        measured(1.0 / 3.0),
        {},
        measured(7.0),
    ]
    assert [trial.state.value for trial in trials] == ["complete", "failed", "complete", "running", "complete"]
    assert (trials[0].cost, trials[2].note, trials[1].note) == (2.0, "warm", "clogged")
    assert [dict(told.measurements) for told in store.observations(study, 0)] == [
        measured(1.25, 0.1),
        measured(1.5, 0.2),
    ]
    store.close()
    again = he.load_study("inks", tmp_path / "lab.db")
    assert again.outcomes.measured == ("value",)
    again.tell(3, 2.0)
    assert again.decide().observations == 4


def test_a_file_of_the_version_before_assays_measures_everything(tmp_path: Path) -> None:
    """Made by the code before trials said what they measure: told in parts, failed, attached, with costs, a verdict."""
    shutil.copy(DATA / "store-0005.db", tmp_path / "lab.db")
    store = opened(tmp_path / "lab.db")
    assert differences(store) == []
    [study] = store.studies()
    trials = [entry.trial for entry in store.news(study).entries]
    assert [trial.measures for trial in trials] == [()] * 4
    assert trials[0].measurements == {"yield": he.Measurement(80.0), "impurity": he.Measurement(2.5, 0.1)}
    assert trials[1].measurements["yield"].value == 1.0 / 3.0
    assert len(store.observations(study, 1)) == 2
    store.close()
    again = he.load_study("mixtures", tmp_path / "lab.db")
    assert not again.outcomes.assays
    assert again.ask().measures == ()


def test_a_newer_version_is_refused(store_url: str) -> None:
    store = opened(store_url)
    with store._backend.engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0999'"))
    store.close()
    with pytest.raises(StorageError, match=r"newer version of hentropy .*0999.*upgrade hentropy"):
        open_store(store_url)


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    shutil.copy(DATA / "store-0001.db", tmp_path / "lab.db")
    backend = backend_at(tmp_path / "lab.db")
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
