"""`hentropy plot` and `hentropy report`: what they write, what they say, what they refuse."""

from pathlib import Path

import pytest

from hentropy.views.cli.files import file_name
from hentropy.views.plots.pictures import PICTURES
from support.commands import STUDY, done, hentropy, lab

OWN = """
import hentropy as he


class Lowest(he.Decision):
    actions = he.Points(1)

    def loss(self, f, a):
        return f[..., 0]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(folder: Path, text: str = STUDY) -> None:
    """A study of which two values are known."""
    lab(folder, text=text)
    for number, value in enumerate(("0.5", "1.5")):
        done("ask", "lab.toml")
        done("tell", "lab.toml", str(number), value)


def test_pictures_are_written_with_what_they_say(folder: Path) -> None:
    told(folder)
    out = done("plot", "lab.toml", "--what", "known", "--what", "progress", "--format", "svg")
    files = sorted(path.name for path in (folder / "lab-pictures").iterdir())
    assert files == ["known.svg", "progress.svg"]
    assert "lab-pictures/known.svg\n  What is known. " in out
    again = hentropy("plot", "lab.toml", "--what", "known", "--format", "svg")
    assert again.code == 1
    assert "lab-pictures/known.svg already exists; give --force" in again.err
    done("plot", "lab.toml", "--what", "known", "--format", "svg", "--force")
    done("plot", "lab", "--store", "sqlite:///hentropy.db", "--what", "known", "--out", "a/b")
    assert (folder / "a" / "b" / "known.png").read_bytes().startswith(b"\x89PNG")


def test_what_there_is_no_picture_of(folder: Path) -> None:
    lab(folder)
    said = hentropy("plot", "lab.toml", "--what", "nonsense")
    assert said.code == 2
    told_all = " ".join(said.err.replace("│", " ").split())
    assert f"available: {', '.join(PICTURES)}" in told_all
    done("ask", "lab.toml")
    said = hentropy("plot", "lab.toml")
    assert said.code == 1
    assert "nothing has been told yet" in said.err
    assert not (folder / "lab-pictures").exists()
    (folder / "file").write_text("")
    said = hentropy("plot", "lab.toml", "--out", "file")
    assert said.code == 1
    assert "file is a file; name a folder" in said.err


def test_a_report_is_one_file(folder: Path) -> None:
    told(folder)
    before = set(folder.iterdir())
    assert "Wrote the report to lab-report.html (1." in done("report", "lab.toml")
    assert set(folder.iterdir()) - before == {folder / "lab-report.html"}
    assert "After 2 runs" in (folder / "lab-report.html").read_text(encoding="utf-8")
    assert "give --force" in hentropy("report", "lab.toml").err
    for own in ("lab.toml", "hentropy.db"):
        said = hentropy("report", "lab.toml", "--out", own, "--force")
        assert said.code == 1
        assert "is the study itself" in said.err


def test_a_report_before_anything_was_told(folder: Path) -> None:
    lab(folder)
    assert "has not started" in hentropy("report", "lab.toml").err
    done("ask", "lab.toml")
    done("report", "lab.toml", "--out", "early.html")
    assert "No results yet" in (folder / "early.html").read_text(encoding="utf-8")


def test_a_decision_that_the_file_names_is_trusted_by_its_file_alone(folder: Path) -> None:
    (folder / "own_lowest.py").write_text(OWN)
    told(folder, STUDY.replace('name = "maximize"', 'python = "own_lowest:Lowest"'))
    done("report", "lab.toml")
    assert "a class of your own" in (folder / "lab-report.html").read_text(encoding="utf-8")
    said = hentropy("report", "lab", "--store", "sqlite:///hentropy.db", "--out", "other.html")
    assert said.code == 1
    assert "name its study file" in said.err
    assert not (folder / "other.html").exists()


def test_names_of_studies_as_file_names() -> None:
    assert file_name("../../etc/passwd") == "etc-passwd"
    assert file_name("Ofen 3 <b>") == "Ofen-3-b"
    assert file_name("///") == "study"
    assert len(file_name("x" * 300)) == 80
