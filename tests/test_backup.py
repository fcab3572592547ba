"""Backups: all that is in a store, as it was at one moment, and back again."""

import os
import re
import shlex
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from benchmarks.postgres import environment, programs

from hentropy.errors import InputError, NoStore, StorageError
from hentropy.studies.records import Entry, State, StudyRecord, Trial
from hentropy.studies.storage import BackupContents, Store, back_up, open_store
from support.commands import done, hentropy, lab
from support.studies import measured


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def filled(path: Path | str, count: int = 3) -> tuple[Store, StudyRecord]:
    store = open_store(path)
    study = store.create("s", {}, {})
    for number in range(count):
        add(store, study, number)
    return store, study


def add(store: Store, study: StudyRecord, number: int) -> None:
    trial = Trial(number, {"x": 0.0}, State.COMPLETE, measured(float(number)))
    store.add(study, lambda now: [Entry(trial, 0.0, 0.0)], "me")


def numbers(path: Path | str) -> list[int]:
    store = open_store(path, make=False)
    study = store.find("s")
    assert study is not None
    found = [entry.trial.number for entry in store.news(study).entries]
    assert [told.number for told in store.observations(study)] == found
    store.close()
    return found


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_is_only_in_the_log_is_in_the_backup(folder: Path) -> None:
    store, _ = filled(folder / "lab.db", 71)
    assert (folder / "lab.db-wal").stat().st_size > 0
    assert done("backup", "lab.db", "backup.db") == "71 trials of 1 study written to backup.db\n"
    assert numbers(folder / "backup.db") == list(range(71))
    store.close()


def test_a_backup_is_one_file_of_its_own(folder: Path) -> None:
    store, _ = filled(folder / "lab.db")
    assert back_up(folder / "lab.db", folder / "backup.db") == BackupContents(studies=1, trials=3)
    assert {name for name in names(folder) if not name.startswith("lab.db")} == {"backup.db"}
    with sqlite3.connect(f"{(folder / 'backup.db').as_uri()}?mode=ro", uri=True) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    copy.close()
    store.close()


def test_backups_are_consistent_while_others_write(folder: Path) -> None:
    store, study = filled(folder / "lab.db", 1)
    stop = threading.Event()
    acknowledged = [0]

    def write() -> None:
        while not stop.is_set():
            add(store, study, acknowledged[-1] + 1)
            acknowledged.append(acknowledged[-1] + 1)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(10):
            before = acknowledged[-1]
            back_up(folder / "lab.db", folder / f"{number}.db")
            found = numbers(folder / f"{number}.db")
            assert found == list(range(len(found)))
            assert len(found) > before
    finally:
        stop.set()
        writer.join()
    store.close()


@pytest.mark.parametrize(
    "named",
    [
        ("lab.toml",),
        ("hentropy.db",),
        ("sqlite:///hentropy.db",),
        ("lab", "--store", "sqlite:///hentropy.db"),
        ("lab.toml", "--store", "sqlite:///hentropy.db"),
    ],
)
def test_a_store_is_named_as_elsewhere(named: tuple[str, ...], folder: Path) -> None:
    lab(folder)
    done("ask", "lab.toml")
    assert done("backup", named[0], "backup.db", *named[1:]) == "1 trial of 1 study written to backup.db\n"
    assert "1 trial" in done("show", "lab", "--store", "sqlite:///backup.db")


def test_nothing_is_written_over_unasked(folder: Path) -> None:
    filled(folder / "lab.db")[0].close()
    (folder / "notes.txt").write_text("mine")
    said = hentropy("backup", "lab.db", "notes.txt")
    assert said.code == 1
    assert "notes.txt already exists; give --force to overwrite it" in said.err
    with pytest.raises(InputError, match="already exists"):
        back_up(folder / "lab.db", folder / "notes.txt")
    assert (folder / "notes.txt").read_text() == "mine"
    done("backup", "lab.db", "notes.txt", "--force")
    assert numbers(folder / "notes.txt") == [0, 1, 2]


@pytest.mark.parametrize("target", ["lab.db", "same.db", "link.db"])
def test_a_store_is_not_written_over_itself(target: str, folder: Path) -> None:
    filled(folder / "lab.db")[0].close()
    (folder / "same.db").hardlink_to(folder / "lab.db")
    (folder / "link.db").symlink_to(folder / "lab.db")
    said = hentropy("backup", "lab.db", target, "--force")
    assert said.code == 1
    assert "is the store itself" in said.err
    assert numbers(folder / "lab.db") == [0, 1, 2]


@pytest.mark.parametrize("target", ["lab.db-wal", "lab.db-journal", "other.db-shm"])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_backup_is_not_called_as_what_sqlite_keeps_beside_a_store(
    target: str, force: tuple[str, ...], folder: Path
) -> None:
    store, _ = filled(folder / "lab.db")
    said = hentropy("backup", "lab.db", target, *force)
    assert said.code == 1
    assert "SQLite keeps beside a store" in said.err or (not force and "already exists" in said.err)
    store.close()
    assert numbers(folder / "lab.db") == [0, 1, 2]


def test_a_backup_is_restored_the_other_way_round(folder: Path) -> None:
    store, study = filled(folder / "lab.db")
    done("backup", "lab.db", "backup.db")
    add(store, study, 3)
    said = hentropy("backup", "backup.db", "lab.db", "--force")
    assert said.code == 1
    assert "lab.db is in use; stop the programs that use it" in said.err
    assert numbers(folder / "lab.db") == [0, 1, 2, 3]
    store.close()
    done("backup", "backup.db", "lab.db", "--force")
    assert numbers(folder / "lab.db") == [0, 1, 2]
    assert numbers(folder / "backup.db") == [0, 1, 2]


def test_a_damaged_store_is_replaced(folder: Path) -> None:
    filled(folder / "backup.db")[0].close()
    (folder / "lab.db").write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    (folder / "lab.db-wal").write_bytes(b"what a killed process has left")
    done("backup", "backup.db", "lab.db", "--force")
    assert numbers(folder / "lab.db") == [0, 1, 2]


def test_a_log_without_its_file_does_not_spoil_what_is_restored(folder: Path) -> None:
    """SQLite would apply it to the new file."""
    store, study = filled(folder / "lab.db")
    back_up(folder / "lab.db", folder / "backup.db")
    add(store, study, 3)
    log = (folder / "lab.db-wal").read_bytes()
    store.close()
    (folder / "lab.db").unlink()
    (folder / "lab.db-wal").write_bytes(log)
    assert "lab.db-wal already exists" in hentropy("backup", "backup.db", "lab.db").err
    done("backup", "backup.db", "lab.db", "--force")
    assert numbers(folder / "lab.db") == [0, 1, 2]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("none.db", "there is no store none.db; name the file of a store, its URL, or a study file"),
        ("empty.db", "there is no store empty.db"),
        ("none.toml", "there is no file none.toml"),
        ("memory://", "a store in memory cannot be backed up"),
        ("text.txt", "not an SQLite database"),
    ],
)
def test_what_is_no_store_is_told(named: str, said: str, folder: Path) -> None:
    (folder / "empty.db").touch()
    (folder / "text.txt").write_text("text\n")
    before = names(folder)
    told = hentropy("backup", named, "backup.db")
    assert told.code == 1
    assert said in told.err
    assert names(folder) == before


def test_no_store_in_python(folder: Path) -> None:
    with pytest.raises(NoStore):
        back_up(folder / "none.db", folder / "backup.db")
    assert names(folder) == set()


def test_a_disk_that_cannot_be_written_leaves_nothing_behind(folder: Path) -> None:
    filled(folder / "lab.db")[0].close()
    said = hentropy("backup", "lab.db", "nowhere/backup.db")
    assert "there is no folder nowhere" in said.err
    before = names(folder)
    with pytest.raises(StorageError, match="was not written"):
        back_up(folder / "lab.db", folder / "nowhere" / "backup.db")
    assert names(folder) == before


def test_a_damaged_store_is_not_backed_up(folder: Path) -> None:
    filled(folder / "lab.db", 200)[0].close()
    data = bytearray((folder / "lab.db").read_bytes())
    data[-4096 * 3 :] = b"\xff" * (4096 * 3)
    (folder / "lab.db").write_bytes(data)
    said = hentropy("backup", "lab.db", "backup.db")
    assert said.code == 1
    assert "damaged" in said.err
    assert not (folder / "backup.db").exists()


def test_for_postgresql_the_command_is_told_and_does_it(postgres_url: str, folder: Path) -> None:
    filled(postgres_url)[0].close()
    secret = postgres_url.replace("hentropy@", "hentropy:secret@")
    said = hentropy("backup", secret, "lab.dump")
    assert said.code == 1
    assert "secret" not in said.err
    assert "***" not in said.err.partition("pg_dump")[2]
    found = re.search(r"(pg_dump .*?) \(the password", said.err)
    assert found is not None
    command = shlex.split(found[1])
    assert command[-1] == postgres_url
    server = programs()
    assert server is not None
    env = environment(server)
    subprocess.run([server / command[0], *command[1:]], check=True, cwd=folder, env=env)
    listed = subprocess.run(
        [server / "pg_restore", "--list", folder / "lab.dump"], check=True, capture_output=True, text=True, env=env
    )
    assert "hentropy_trials" in listed.stdout


BACKUP_PAGE = Path(__file__).parents[1] / "docs" / "howto" / "backup.md"


def scheduled(text: str) -> list[str]:
    """The commands of the documentation for cron and for systemd, as these hand them to a shell."""
    [cron] = re.findall(r"^\d+ \d+ \* \* \* (.+)$", text, re.MULTILINE)
    [service] = re.findall(r"^ExecStart=/bin/sh -c '(.+)'$", text, re.MULTILINE)
    return [cron.replace("\\%", "%"), 'cd "$HOME/lab" && ' + service.replace("$$", "$").replace("%%", "%")]


@pytest.mark.parametrize("number", [0, 1])
def test_the_documented_schedule_makes_backups_that_restore(number: int, folder: Path) -> None:
    command = scheduled(BACKUP_PAGE.read_text())[number]
    lab = folder / "lab"
    lab.mkdir()
    store, study = filled(lab / "hentropy.db")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {**os.environ, "HOME": str(folder), "PATH": path, "LC_ALL": "C"}
    for count in (3, 4):  # a week later, in place of the first; while the store is open
        subprocess.run(["sh", "-c", command], env=own, cwd="/", check=True, capture_output=True)
        [backup] = (lab / "backups").iterdir()
        assert re.fullmatch(r"[A-Z][a-z]{2}\.db", backup.name)
        assert numbers(backup) == list(range(count))
        add(store, study, count)
    store.close()
    (lab / "hentropy.db").write_text("damaged")
    said = subprocess.run(["sh", "-c", command], env=own, cwd="/", check=False, capture_output=True, text=True)
    assert said.returncode == 1
    assert "hentropy.db" in said.stderr
    assert numbers(backup) == list(range(4))  # what was there stays
    done("backup", str(backup), str(lab / "hentropy.db"), "--force")
    assert numbers(lab / "hentropy.db") == list(range(4))
