"""Files that commands write: nothing but a regular file is replaced, and nobody can guess where a text goes first."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments import ledger
from hentropy.errors import InputError
from hentropy.studies import files as study_files
from hentropy.views.cli import files
from hentropy.views.cli.files import check_new, write_new
from hentropy.views.cli.objective_check import starter
from hentropy.views.cli.plan import FilePlan
from support.commands import done, hentropy, lab

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and special files as POSIX has them")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


SPECIAL: dict[str, Callable[[Path], None]] = {"FIFO": os.mkfifo, "folder": Path.mkdir, "socket": _socket}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # the path of a socket may not be long
    return tmp_path


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_not_a_regular_file_is_never_replaced(kind: str, force: bool, linked: bool) -> None:
    SPECIAL[kind](Path("there"))
    before = Path("there").lstat()
    if linked:
        Path("link").symlink_to("there")
    with pytest.raises(InputError, match=f"is a {kind}"):
        write_new(Path("link" if linked else "there"), "text", force=force)
    after = Path("there").lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert len(list(Path().iterdir())) == 1 + linked


def test_devices_are_refused() -> None:
    with pytest.raises(InputError, match="/dev/null is a device, not a regular file; name another file"):
        check_new(Path("/dev/null"), force=True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("init", "there.toml"),
        ("export", "lab.toml", "--out", "there.toml", "--format", "csv"),
        ("report", "lab.toml", "--out", "there.toml"),
        ("schema", "--out", "there.toml"),
    ],
)
def test_every_command_that_writes_refuses_them(folder: Path, arguments: tuple[str, ...]) -> None:
    lab(folder)
    os.mkfifo("there.toml")
    said = hentropy(*arguments, "--force")
    assert said.code == 1
    assert "there.toml is a FIFO, not a regular file" in said.err
    assert stat.S_ISFIFO(Path("there.toml").lstat().st_mode)


def test_a_link_to_a_file_stays_and_the_file_gets_the_text() -> None:
    Path("inner").mkdir()
    Path("inner/file").write_text("old")
    Path("link").symlink_to("inner/file")
    with pytest.raises(InputError, match="link already exists; give --force"):
        write_new(Path("link"), "new", force=False)
    write_new(Path("link"), "new", force=True)
    assert Path("link").is_symlink()
    assert Path("inner/file").read_text() == "new"
    assert [path.name for path in Path("inner").iterdir()] == ["file"]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("target", ["absent", "link"])
def test_a_link_to_nothing_is_refused(target: str, force: bool) -> None:
    Path("link").symlink_to(target)
    with pytest.raises(InputError, match=r"link is a link to .*, which is not there"):
        write_new(Path("link"), "text", force=force)
    assert [path.name for path in Path().iterdir()] == ["link"]


def test_what_lies_in_wait_for_the_temporary_file_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("victim").write_text("mine")
    for name in (f".hentropy.{os.getpid()}", ".hentropy.guessed"):
        Path(name).symlink_to("victim")
    write_new(Path("file"), "text", force=False)
    assert (Path("victim").read_text(), Path("file").read_text()) == ("mine", "text")
    monkeypatch.setattr(study_files.secrets, "token_hex", lambda *_: "guessed")
    with pytest.raises(InputError, match="cannot be written: File exists"):
        write_new(Path("other"), "text", force=False)
    assert Path("victim").read_text() == "mine"
    assert Path(".hentropy.guessed").is_symlink()  # what is not ours is not removed either
    assert not Path("other").exists()


def test_a_file_that_came_meanwhile_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(path: Path, *, force: bool) -> None:
        check_new(path, force=force)
        path.write_text("mine")

    monkeypatch.setattr(files, "check_new", late)
    with pytest.raises(InputError, match="already exists"):
        write_new(Path("file"), "text", force=False)
    assert [(path.name, path.read_text()) for path in Path().iterdir()] == [("file", "mine")]


def test_permissions_are_those_of_the_file_or_the_usual_ones() -> None:
    Path("usual").touch()
    write_new(Path("new"), "text", force=False)
    assert Path("new").stat().st_mode == Path("usual").stat().st_mode
    Path("new").chmod(0o600)
    write_new(Path("new"), "more", force=True)
    assert stat.S_IMODE(Path("new").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "plan",
    [
        FilePlan("lab", objective="python", function="oven_of_this_test:measure"),
        FilePlan("lab", objective="command", command=("./oven_of_this_test.py",)),
    ],
)
def test_a_starter_is_not_written_through_a_link(folder: Path, plan: FilePlan) -> None:
    Path("oven_of_this_test.py").symlink_to(folder / "elsewhere")
    with pytest.raises(InputError, match="is a link to"):
        starter(plan, Path("."))
    assert not Path("elsewhere").exists()


def test_results_of_experiments_use_no_name_that_can_be_guessed() -> None:
    Path("victim").write_text("mine")
    Path("run.json.part").symlink_to("victim")
    ledger._replace(Path("run.json"), "text")
    assert (Path("victim").read_text(), Path("run.json").read_text()) == ("mine", "text")
    assert len(list(Path().iterdir())) == 3


def test_init_still_writes_what_it_did(folder: Path) -> None:
    done("init", "--command", "./measure.py", "--yes")
    assert os.access("measure.py", os.X_OK)
    assert sorted(path.name for path in folder.iterdir()) == ["measure.py", "study.toml"]
