"""Stores of earlier formats can be read and upgraded; those of later formats are refused."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

import hentropy as he
from hentropy.errors import ReadOnly, StorageError
from hentropy.studies.records import State, Verdict
from hentropy.studies.storage import back_up, open_store, upgrade_store
from hentropy.studies.storage.database import WRITES, Database
from hentropy.studies.storage.tables import MIGRATIONS, NEWEST, VERSION_TABLE, metadata, upgrade
from hentropy.studies.storage.urls import backend_at
from support.old_stores import FORMATS, old_store, set_format
from support.studies import measured

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
    assert upgrade_store(store_url, backup=False).before == int(version)
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
    upgrade_store(old_store(1, tmp_path / "lab.db"))
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
    upgrade_store(old_store(4, tmp_path / "lab.db"))
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
    upgrade_store(old_store(5, tmp_path / "lab.db"))
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
    newer = rf"has format 999, this program writes {int(NEWEST)}: a newer version .*; upgrade hentropy"
    with pytest.raises(ReadOnly, match=newer):
        open_store(store_url)
    with pytest.raises(ReadOnly, match=newer):
        upgrade_store(store_url)


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    path = old_store(1, tmp_path / "lab.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE hentropy_verdicts (in_the_way INTEGER)")
    before = dump(path)
    with pytest.raises(StorageError, match="already exists"):
        upgrade_store(path)
    assert dump(path) == before
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE hentropy_verdicts")
    with pytest.raises(StorageError, match=r"lab-format-1.db already exists.* Nothing was upgraded.*backup=False"):
        upgrade_store(path)
    assert upgrade_store(path, backup=False).now == int(NEWEST)
    assert [study.name for study in open_store(path).studies()] == ["alloys"]


def dump(path: Path) -> list[str]:
    """All that is in a file, without changing it."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


def content(path: Path) -> list[object]:
    """All that a store says, whatever its format."""
    store = opened(path)
    found: list[object] = []
    for study in store.studies():
        found += [study, store.news(study), store.observations(study), store.verdicts(study), store.turn(study)]
    store.close()
    return found


def test_there_is_a_store_of_every_earlier_format() -> None:
    assert {int(version) for version in EARLIER} <= set(FORMATS)


@pytest.mark.parametrize("number", FORMATS)
def test_a_store_of_any_format_is_read_unchanged_and_upgraded_only_when_asked(number: int, tmp_path: Path) -> None:
    path = old_store(number, tmp_path / "lab.db")
    before, there = dump(path), path.read_bytes()
    read = content(path)
    assert len(read) == 5
    assert path.read_bytes() == there
    assert {file.name for file in tmp_path.iterdir()} == {"lab.db"}
    if number == int(NEWEST):
        return
    store = opened(path)
    said = f"{path} has format {number}, this program writes {int(NEWEST)}; stop .* `hentropy upgrade {path}`"
    with pytest.raises(ReadOnly, match=said):
        store.create("another", {}, {})
    store.close()
    done = upgrade_store(path)
    assert (done.before, done.now, done.backup) == (number, int(NEWEST), tmp_path / f"lab-format-{number}.db")
    assert content(path) == read
    assert dump(done.backup) == before
    assert upgrade_store(path).before == int(NEWEST)
    back_up(done.backup, path, overwrite=True)
    assert dump(path) == before
    assert content(path) == read


@pytest.mark.parametrize("number", FORMATS)
def test_an_upgraded_study_goes_on(number: int, tmp_path: Path) -> None:
    upgrade_store(old_store(number, tmp_path / "lab.db"))
    [record] = open_store(tmp_path / "lab.db").studies()
    with closing(he.load_study(record.name, tmp_path / "lab.db")) as study:
        last = study.records[-1]
        told = study.attach(last.params, dict.fromkeys(study.outcomes.measured, 1.5))
        assert (told.number, study.records[-1]) == (last.number + 1, told)


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_an_old_store_that_its_own_programs_change_is_read_as_it_is_now(journal: str, tmp_path: Path) -> None:
    store = opened(old_store(7, tmp_path / "lab.db"))
    [study] = store.studies()
    with closing(sqlite3.connect(tmp_path / "lab.db")) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        for note in ("one", "two"):
            connection.execute("UPDATE hentropy_trials SET note = ?, revision = revision + 1 WHERE number = 3", (note,))
            connection.commit()
            assert store.news(study).entries[3].trial.note == note
    upgrade_store(tmp_path / "lab.db")
    assert store.news(study).entries[3].trial.note == "two"
    with pytest.raises(ReadOnly):
        store.delete(study)
    set_format(tmp_path / "lab.db", 999)
    with pytest.raises(ReadOnly, match="has format 999"):
        store.news(study)
    store.close()


def test_an_old_store_on_a_server_says_how_to_upgrade(postgres_url: str) -> None:
    backend = backend_at(postgres_url)
    with backend.engine.connect() as connection, connection.begin():
        upgrade(connection, "0007")
    backend.engine.dispose()
    with pytest.raises(
        ReadOnly, match=rf"has format 7, this program writes {int(NEWEST)}; .*`hentropy upgrade postgres"
    ):
        open_store(postgres_url)
    with pytest.raises(StorageError, match=r"pg_dump .*-format-7.* Nothing was upgraded.*backup=False"):
        upgrade_store(postgres_url)
    assert upgrade_store(postgres_url, backup=False).before == 7
    assert open_store(postgres_url).studies() == ()


def test_a_program_notices_that_a_newer_one_has_upgraded_its_store(store_url: str) -> None:
    store = opened(store_url)
    study = store.create("s", {}, {})
    with store._backend.transaction(writes=True) as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0999'"))
    said = f"has format 999, this program writes {int(NEWEST)}: a newer version of hentropy has upgraded it"
    with pytest.raises(ReadOnly, match=said):
        store.create("t", {}, {})
    with pytest.raises(ReadOnly, match=said):
        store.news(study)
    store.close()
