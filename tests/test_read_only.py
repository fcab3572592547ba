"""Reading does not write: stores that may not be changed can be read, and reading changes no store."""

import json
import shlex
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

import psycopg
import pytest
from benchmarks.verbs import started
from sqlalchemy import make_url, text

import hentropy as he
from hentropy.adapters.mcp import StudyTools
from hentropy.errors import HentropyError, ReadOnly
from hentropy.studies.execution.executor import Evaluation, Executor
from hentropy.studies.execution.runner import RunListener, run
from hentropy.studies.storage import back_up, open_store
from hentropy.studies.storage.database import Database
from hentropy.studies.storage.tables import NEWEST, VERSION_TABLE
from hentropy.views.server.settings import Settings
from hentropy.views.text.formats import iso
from support.commands import STUDY, done, refused
from support.crashing import read_without_rights
from support.old_stores import old_store
from support.serving import served
from support.visiting import browser
from support.waiting import PATIENCE

READING = [
    ["list", "--store", "lab.db"],
    ["show", "lab", "--store", "lab.db"],
    ["decide", "lab", "--store", "lab.db"],
    ["export", "lab", "--store", "lab.db", "--out", "out/lab.csv"],
    ["plot", "lab", "--store", "lab.db", "--what", "progress", "--out", "out/pictures"],
    ["report", "lab", "--store", "lab.db", "--out", "out/lab.html"],
    ["backup", "lab.db", "out/copy.db"],
]


def keep(url: str | Path) -> he.Study:
    """A small study with two results and a verdict."""
    study = he.Study(
        he.Space(x=he.Real(0, 1)), he.BestObserved(), first=2, hyperparameters="map", storage=url, name="lab"
    )
    for value in (1.0, 2.0):
        study.tell(study.ask(), value)
    return study


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def frozen(path: Path) -> AbstractContextManager[object]:
    """Nobody has it open: a file that was last written with a log, in a folder where none can be made."""
    keep(path).close()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    return nullcontext()


def backup_of_mine(path: Path) -> AbstractContextManager[object]:
    """A backup that was made read-only, in a folder where files can be made."""
    with closing(keep(path.with_name("first.db"))):
        back_up(path.with_name("first.db"), path)
    path.chmod(0o444)
    path.parent.chmod(0o777)
    return nullcontext()


def with_a_log(path: Path) -> AbstractContextManager[object]:
    """The same of a file that was last written with a log: SQLite would make another log, and leave it there."""
    keep(path).close()
    path.chmod(0o444)
    path.parent.chmod(0o777)
    return nullcontext()


def in_use(path: Path) -> AbstractContextManager[object]:
    """Somebody else has it open and writes; the newest results are in the log."""
    study = keep(path)
    for file in path.parent.glob("lab.db*"):
        file.chmod(0o444)
    path.parent.chmod(0o555)
    return closing(study)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that any user can enter, with one for results that any user can write."""
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        (here / "out").mkdir()
        for each in (here, here / "out"):
            each.chmod(0o777)
        yield here
        here.chmod(0o777)


def read_all(folder: Path, commands: list[list[str]]) -> list[tuple[int, str, str]]:
    report, first = folder / "out" / "report", folder / "out" / "first"
    (first / "out").mkdir(parents=True)
    keep(first / "lab.db").close()
    process = started(read_without_rights, commands, first, folder, report)
    process.join(timeout=PATIENCE)
    assert process.exitcode == 0
    return [(code, out, err) for code, out, err in json.loads(report.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("state", [frozen, backup_of_mine, with_a_log, in_use])
def test_a_store_that_may_not_be_written_is_read(
    state: Callable[[Path], AbstractContextManager[object]], folder: Path
) -> None:
    with state(folder / "lab.db"):
        before = listing(folder)
        ends = read_all(folder, [*READING, ["tell", "lab", "0", "3", "--replace", "--store", "lab.db"]])
        assert listing(folder) == before
        for command, (code, said, error) in zip(READING, ends, strict=False):
            assert code == 0, (command, said, error)
        assert "lab.db is read-only" in ends[2][2]
        assert "recorded" in ends[2][2]
        code, _, error = ends[-1]
        assert (code, "lab.db is read-only" in error) == (1, True)
    with closing(he.load_study("lab", folder / "out" / "copy.db")) as copy:
        assert [trial.value for trial in copy.records] == [1.0, 2.0]


def test_reading_a_backup_leaves_it_as_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write changes nothing either: no journal mode, no log that stays."""
    with closing(keep(folder / "first.db")):
        back_up(folder / "first.db", folder / "lab.db")
    (folder / "first.db").unlink()
    before = listing(folder)
    monkeypatch.chdir(folder)
    for command in (*READING[:2], READING[3]):
        done(*command)
    with closing(he.load_study("lab", folder / "lab.db")) as study:
        assert len(study.records) == 2
        assert listing(folder) == before
        study.tell(study.ask(), 3.0)
        assert (folder / "lab.db-wal").exists()


def test_a_reader_goes_on_when_another_process_begins_to_write(folder: Path) -> None:
    with closing(keep(folder / "first.db")):
        back_up(folder / "first.db", folder / "lab.db")
    with closing(open_store(folder / "lab.db")) as reader:
        [study] = reader.studies()
        process = started(tell_another, folder / "lab.db")
        process.join(timeout=PATIENCE)
        assert process.exitcode == 0
        assert len(reader.news(study).entries) == 3
        reader.delete(study)
        assert reader.studies() == ()


def tell_another(path: Path) -> None:
    with closing(he.load_study("lab", path)) as study:
        study.tell(study.ask(), 3.0)


def test_changes_that_only_sqlite_could_finish_are_not_read_around(folder: Path) -> None:
    """The log that a killed program has left holds results: without it the file would be read as it was before."""
    keep(folder / "lab.db").close()
    (folder / "lab.db-wal").write_bytes(b"results")
    (folder / "lab.db").chmod(0o444)
    folder.chmod(0o555)
    [[code, _, error]] = read_all(folder, [READING[0]])
    assert code == 1
    assert "lab.db-wal" in error
    assert "copy these files" in error


@pytest.fixture
def read_only_url(postgres_url: str) -> Iterator[str]:
    """A store on a server, for a user who may only read it."""
    keep(postgres_url).close()
    url = make_url(postgres_url)
    reader = f"reader_{url.database}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {reader} LOGIN")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {reader}")
        yield url.set(username=reader).render_as_string(hide_password=False)
        connection.execute(f"DROP OWNED BY {reader}; DROP ROLE {reader}")


@pytest.mark.parametrize("how", ["rights", "setting"])
def test_a_server_that_lets_one_only_read_is_read(
    how: str, read_only_url: str, postgres_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "setting":
        database = make_url(postgres_url).database
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    url = read_only_url if how == "rights" else postgres_url
    monkeypatch.chdir(folder)
    for command in READING[:-1]:
        done(*(url if word == "lab.db" else word for word in command))
    said = refused("tell", "lab", "0", "3", "--replace", "--store", url)
    assert "is read-only" in said
    if how == "setting":  # also for whoever cleans up
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER DATABASE {database} RESET default_transaction_read_only")


WRITING = [
    ["ask", "inks", "--store", "lab.db"],
    ["tell", "inks", "3", "1.0", "--cost", "1", "--store", "lab.db"],
    ["fail", "inks", "3", "broken", "--store", "lab.db"],
    ["withdraw", "inks", "3", "--store", "lab.db"],
    ["delete", "inks", "--yes", "--store", "lab.db"],
    ["ask", "lab.toml", "--store", "lab.db"],
    ["serve", "--port", "0", "--store", "lab.db"],
    ["mcp", "--write", "--store", "lab.db"],
]


@pytest.mark.parametrize("command", WRITING, ids=lambda command: " ".join(command[:2]))
def test_commands_that_write_refuse_an_old_store(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    old_store(7, tmp_path / "lab.db")
    (tmp_path / "lab.toml").write_text(STUDY, encoding="utf-8")
    before = (tmp_path / "lab.db").read_bytes()
    said = refused(*command)
    assert "lab.db has format 7, this program writes" in said
    assert "`hentropy upgrade lab.db` makes a backup" in said
    assert (tmp_path / "lab.db").read_bytes() == before


def test_upgrade_says_what_it_did_and_how_to_undo_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = listing_of(old_store(7, tmp_path / "lab.db"))
    written, upgraded, undo = done("upgrade", "lab.db").splitlines()
    assert written == "7 trials of 1 study written to lab-format-7.db"
    assert upgraded == f"lab.db had format 7, and has format {int(NEWEST)} now"
    done("tell", "inks", "3", "1.0", "--cost", "1", "--store", "lab.db")
    done(*shlex.split(undo.removeprefix("To undo this: hentropy ")))
    assert listing_of(tmp_path / "lab.db") == before
    assert "Nothing was upgraded; once there is a backup, give --no-backup" in refused("upgrade", "lab.db")
    assert done("upgrade", "lab.db", "--no-backup") == f"{upgraded}\n"
    assert done("upgrade", "lab.db") == f"lab.db has format {int(NEWEST)} already\n"
    assert "there is no store none.db" in refused("upgrade", "none.db")


def listing_of(path: Path) -> list[str]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


def test_a_read_only_server_shows_and_computes_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    keep(path).close()
    before = listing_of(path)
    with served(Settings(f"sqlite:///{path}", read_only=True)) as server:
        page = server.http.get("/studies/1").text
        assert ("lab" in page, "(read only)" in page, 'method="post"' in page) == (True, True, False)
        answer = server.http.post("/api/studies/1/decide?wait=1", json={})
        assert answer.status_code in (200, 202), answer.text
        for url, body in (
            ("/api/studies/1/trials/0/tell", {"value": 3.0, "replace": True}),
            ("/api/studies/1/ask", {"count": 1}),
        ):
            answer = server.http.post(url, json=body)
            assert answer.status_code == 403, answer.text
            assert "lab.db was opened for reading only" in answer.json()["error"]["sentence"]
        job = server.services.job_service.look(server.services.study_service.record(1))
        assert server.services.job_service.wait(job.id, PATIENCE).state == "done"
    assert listing_of(path) == before


def test_a_read_only_server_shows_an_old_store(tmp_path: Path) -> None:
    with served(Settings(f"sqlite:///{old_store(7, tmp_path / 'lab.db')}", read_only=True)) as server:
        assert "inks" in server.http.get("/").text
        answer = server.http.post("/api/studies/1/trials/3/withdraw", json={})
        assert answer.status_code == 403
        assert "lab.db` makes a backup and brings it up to date" in answer.json()["error"]["sentence"]
        with browser(server) as visit:
            begun = iso(server.services.study_service.record(1).created_at) or ""
            page = visit.post("/studies/1/trials/3", data={"begun": begun, "what": "withdraw", "note": "no time"})
        assert page.status_code == 403
        assert "lab.db` makes a backup and brings it up to date" in page.text


def test_agents_read_an_old_store_and_are_told_why_it_cannot_be_changed(tmp_path: Path) -> None:
    tools = StudyTools(open_store(old_store(7, tmp_path / "lab.db")))
    assert tools.state("inks")["trials"] == 7
    with pytest.raises(ReadOnly, match=r"has format 7, this program writes .* brings it up to date"):
        tools.withdraw("inks", 3)


class Upgraded(Executor):
    """Experiments during which a newer program upgrades the store."""

    workers = 1

    def __init__(self, store: Database) -> None:
        self._store = store
        self._numbers: set[int] = set()

    def submit(self, number: int, params: Mapping[str, Any]) -> None:
        self._numbers.add(number)

    @property
    def pending(self) -> frozenset[int]:
        return frozenset(self._numbers)

    def wait(self, timeout: float | None = None) -> list[tuple[int, Evaluation]]:
        with self._store._backend.transaction(writes=True) as connection:
            connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0999'"))
        ended, self._numbers = self._numbers, set()
        return [(number, Evaluation({"": he.Measurement(7.25)})) for number in ended]

    def close(self) -> None:
        self._numbers.clear()


def test_a_worker_whose_store_is_upgraded_says_so_at_once(store_url: str) -> None:
    study = keep(store_url)
    assert isinstance(study.store, Database)
    troubles: list[HentropyError] = []
    with pytest.raises(ReadOnly, match=r"has format 999, this program writes .* upgrade hentropy, then start again"):
        run(study, Upgraded(study.store), watch=RunListener(trouble=troubles.append))
    assert [str(trouble) for trouble in troubles] == ["the outcome of trial 2 is not recorded, tell it by hand: 7.25"]
    study.close()
