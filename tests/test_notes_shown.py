"""A proposal that a time limit cut short says so wherever a person reads of it."""

from pathlib import Path

import httpx
import pytest

import hentropy as he
from hentropy.views.report import report_html
from hentropy.views.server.settings import Settings
from support.commands import STUDY, done, function, hentropy, lab
from support.serving import served
from support.waiting import PATIENCE

NO_TIME = "[solver]\nmax_seconds = 1e-9\n"
NOTE = "max_seconds = 1e-09"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_ask_shows_it(folder: Path) -> None:
    lab(folder, text=STUDY + NO_TIME)
    assert "Note" not in done("ask", "lab.toml")  # a first design needs no search
    done("ask", "lab.toml")
    done("tell", "lab.toml", "0", "1.5")
    done("tell", "lab.toml", "1", "0.5")
    assert NOTE in " ".join(done("ask", "lab.toml").split())
    assert "stopped after" in done("show", "lab.toml")


def test_run_shows_it_once_for_each_experiment(folder: Path) -> None:
    lab(folder, objective=function(folder, "measured_in_no_time"), text=STUDY + NO_TIME)
    said = hentropy("run", "lab.toml")
    assert said.code == 0, said
    text = " ".join((said.out + said.err).split())
    assert [text.count(f"{number}: stopped after") for number in range(4)] == [0, 0, 1, 1]


def test_the_page_shows_it(tmp_path: Path) -> None:
    with served(Settings(f"sqlite:///{tmp_path / 'lab.db'}")) as server:
        study = server.create(name="hurried", solver={"max_seconds": 1e-9})
        server.services.study_service.attach_csv(study, "x,value\n0.1,1\n0.4,2\n0.7,1\n0.9,3\n")
        job_service, record = server.services.job_service, server.services.study_service.record(study)
        for _ in range(8):  # first designs come before proposals
            assert job_service.wait(job_service.ask(record).id, PATIENCE).state == "done"
        with httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE) as visit:
            page = visit.get(f"/studies/{study}").text
    waiting = page[page.index('id="next"') : page.index('id="more"')]
    assert NOTE in waiting


def test_a_report_shows_it() -> None:
    pool = he.Pool([[0.1 * i] for i in range(40)], names=["x"])
    study = he.Study(pool, he.TopK(3), hyperparameters="map", first=4, max_seconds=1e-9)
    for _ in range(5):
        trial = study.ask()
        study.tell(trial, -((trial.params["x"] - 1.0) ** 2))
    assert NOTE in study.records[-1].note
    assert "designs were looked at" in study.records[-1].note
    assert "designs were looked at" in report_html(study)
