"""The page in a real browser: what a person in the lab does, sees and is told."""

import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from hentropy.studies.definition import validated
from hentropy.studies.records import State
from hentropy.studies.storage import Store, open_store
from hentropy.studies.study import Study
from hentropy.studies.study.words import LocatedDescription
from hentropy.views.server.settings import Settings
from support.browser import Browser, browser, programs
from support.missing import missing
from support.serving import served
from support.tiers import nightly
from support.waiting import PATIENCE

pytestmark = pytest.mark.slow

BREAD: dict[str, Any] = {
    "version": 1,
    "space": {
        "temperature": {"type": "real", "low": 20.0, "high": 90.0},
        "minutes": {"type": "integer", "low": 5, "high": 60},
    },
    "decision": {"name": "best_observed"},  # verdict and pictures cost a tenth of those of other decisions
    "model": {"hyperparameters": "map"},
    "first": 4,
}
THREE: dict[str, Any] = {"decision": {"name": "top_k", "k": 3, "weight": 2.0, "cap": 15.0}}


def measured(temperature: float, minutes: float) -> float:
    return round(10 - ((temperature - 62) / 20) ** 2 - ((minutes - 33) / 15) ** 2, 4)


def values(study: Study) -> list[float | None]:
    return [trial.value for trial in study.records]


@dataclass(frozen=True)
class Lab:
    """A server on a store, and the browser in front of it."""

    address: str
    url: str
    store: Store
    browser: Browser

    def study(self, told: int = 0, name: str | None = None, **parts: Any) -> Study:
        """A new study of its own, of which so many experiments are done."""
        words = {**BREAD, **parts, "name": name or f"bread {uuid.uuid4().hex[:8]}"}
        study = Study(**LocatedDescription(validated(words, "here"), Path()).options(trusted=False), storage=self.store)
        for _ in range(told):
            trial = study.ask()
            study.tell(trial, measured(**trial.params))
        return study

    def open(self, study: Study, path: str = "") -> Browser:
        """The page of a study, once it is live."""
        self.browser.open(f"{self.address}/studies/{study.log.record.id}{path}")
        if not path:
            self.browser.find("#live[data-state=live]")
        return self.browser


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser; where there is none the tests are skipped, in CI they fail."""
    if programs() is None:
        missing("chromium is not installed (Debian: apt-get install chromium chromium-driver)")
    with browser(tmp_path_factory.mktemp("profile")) as it:
        yield it


@pytest.fixture(scope="module")
def lab(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    url = f"sqlite:///{tmp_path_factory.mktemp('store') / 'lab.db'}"
    store = open_store(url)
    with served(Settings(url)) as server:
        yield Lab(server.url, url, store, chromium)
    store.close()


def test_from_asking_to_a_verdict_that_changes(lab: Lab) -> None:
    study = lab.study(told=4, **THREE)
    page = lab.open(study)
    page.shows("#verdict", "after 4 runs")
    page.shows("#verdict", "This is the first verdict")
    page.fill("#count", "2")
    page.click("#ask")
    page.find("#pending-4")
    page.find("#pending-5")
    trial = study.records[4]
    page.shows("#pending-4 .design", str(trial.params["minutes"]))
    page.shows("#pending-4", "Expected to improve the decision by")
    page.fill("#o0-4", str(measured(**trial.params)))
    page.fill("#o0_se-4", "0.1")
    page.fill("#note-4", "by hand")
    page.click("#tell-4")
    page.shows("#said", "The result of trial 4 is entered.")
    page.until(lambda: page.count("#pending-4") == 0)
    page.shows("#verdict", "after 5 runs")
    page.shows("#verdict .change", "The decision is expected to be")
    page.shows("#verdict .change", "(after 4, now 5 runs)")
    page.shows("#trials", "by hand")
    told = study.records[4]
    assert (told.value, told.std_error, told.note) == (measured(**trial.params), 0.1, "by hand")
    assert page.not_reloaded
    assert page.errors() == []


def test_pictures_are_drawn_and_renewed(lab: Lab) -> None:
    study = lab.study(told=4, decision={"name": "maximize"})
    page = lab.open(study)
    page.find("[data-part=picture-known] .plot svg")
    page.until(lambda: page.count("figure.drawn") == 8, "eight pictures")
    source = page.attribute("[data-part=picture-known]", "data-source")
    trial = study.ask()
    study.tell(trial, measured(**trial.params))
    page.until(lambda: page.attribute("[data-part=picture-known]", "data-source") != source, "a new picture")
    label = page.attribute("[data-part=picture-known] .plot [role=img]", "aria-label")
    assert label is not None
    assert "known" in label
    page.find("[data-part=picture-known] .plot svg")
    assert page.errors() == []


def test_nonsense_is_said_at_its_field_and_stays(lab: Lab) -> None:
    study = lab.study()
    study.ask()
    page = lab.open(study)
    for typed, said in (
        ("abc", "The value is 'abc': not a number"),
        ("3,5", "a decimal comma; write numbers with a point"),
        ("", "The value is empty"),
        ("inf", "not a finite number"),
    ):
        page.fill("#o0-0", typed)
        page.fill("#note-0", "kept")
        page.click("#tell-0")
        page.shows("#o0-0-mistake", said)
        assert page.attribute("#o0-0", "value") == typed
        assert page.attribute("#o0-0", "aria-invalid") == "true"
        assert "o0-0-mistake" in str(page.attribute("#o0-0", "aria-describedby"))
        page.holds("return document.activeElement.id", "o0-0")
        assert page.attribute("#note-0", "value") == "kept"
    page.fill("#count", "many")
    page.click("#ask")
    page.shows("#count-mistake", "'many' is not a whole number from 1 to")
    assert page.attribute("#o0-0", "value") == "inf"  # another form was sent: what is wrong here stays
    page.shows("#o0-0-mistake", "not a finite number")
    page.fill("#note-0", "")
    page.click("#fail-0")
    page.shows("#note-0-mistake", "State in the note why it failed.")
    page.fill("#note-0", "the oven broke")
    page.click("#fail-0")
    page.shows("#said", "Trial 0 is marked as failed.")
    assert (study.records[0].state, study.records[0].note) == (State.FAILED, "the oven broke")
    assert page.not_reloaded


def test_a_bad_file_is_refused_line_by_line_and_a_mended_one_is_attached(lab: Lab, tmp_path: Path) -> None:
    study = lab.study()
    page = lab.open(study)
    bad, good = tmp_path / "bad.csv", tmp_path / "good.csv"
    bad.write_text("temperature,minutes,value\n40,20,7.9\n400,20,1\n50,20,\n")
    good.write_text("Temp;minutes;value;value_se\n40;20;7.9;0.1\n50;30;9.1;0.2\n")
    page.click("#attach-button")
    page.shows("#file-mistake", "Choose a file first.")
    page.find("#file").send_keys(str(bad))
    page.click("#attach-button")
    page.shows("#file-mistake", "2 rows of bad.csv cannot be used, 1 row can. Nothing was attached.")
    page.shows("#attach .lines", "line 3: ")
    page.shows("#attach .lines", "line 4: value is empty")
    assert values(study) == []
    page.find("#file").send_keys(str(good))
    page.click("#try")
    page.shows("#file-mistake", "there is no column 'temperature'".capitalize())
    page.fill("#map", "Temp=temperature")
    page.find("#file").send_keys(str(good))
    page.click("#try")
    page.shows("#attach", "2 rows of good.csv would be attached.")
    assert values(study) == []
    page.find("#file").send_keys(str(good))
    page.click("#attach-button")
    page.shows("#said", "2 rows attached.")
    page.shows("#trials", "9.1 ± 0.2")
    page.shows("#verdict", "after 2 runs")
    assert values(study) == [7.9, 9.1]
    assert page.not_reloaded


def test_a_correction_keeps_the_history(lab: Lab) -> None:
    study = lab.study(told=3)
    page = lab.open(study, "/trials/1")
    first = study.records[1].value
    page.fill("#o0", "12.5")
    page.fill("#note", "read wrongly")
    page.click("#tell")
    page.shows("#said", "Trial 1 is corrected.")
    page.shows("[data-part=now]", "12.5")
    page.until(lambda: page.count(".history tbody tr") == 2)
    page.shows(".history", "read wrongly")
    page.shows(".history", f"{first:.5g}")
    assert study.records[1].value == 12.5
    assert page.not_reloaded
    page.open(f"{lab.address}/studies/{study.log.record.id}")
    page.shows("#trials", "12.5")
    page.shows("#trials", "read wrongly")


def test_a_page_does_not_become_that_of_another_study(lab: Lab) -> None:
    study = lab.study(told=1)
    study.ask()
    page = lab.open(study)
    page.fill("#o0-1", "4.5")
    lab.store.delete(study.log.record)
    other = lab.study(told=1)
    other.ask()
    assert other.log.record.id == study.log.record.id  # SQLite gives the id again
    page.click("#tell-1")
    page.shows("#said", "was deleted, and another one took its place")
    page.shows("#live", "This study was deleted")
    page.click("#trials thead th:nth-child(2) a")  # the page is fetched anew
    page.shows("#said", "This study was deleted, and another one took its place. Nothing was changed.")
    page.shows("h1", study.name)
    assert page.attribute("#o0-1", "value") == "4.5"
    assert other.records[1].state is State.RUNNING


def test_work_can_be_cancelled(lab: Lab) -> None:
    study = lab.study(told=4)
    page = lab.open(study)
    with lab.store.asking(study.log.record):  # nobody else may propose meanwhile, so the work goes on until cancelled
        page.click("#ask")
        page.shows("[data-part=jobs]", "Asking for 1 experiment")
        page.until(
            lambda: "waiting for another process that is choosing experiments" in page.text("[data-part=jobs]"),
            "the phase",
        )
        began = page.text("[data-since]")
        page.until(lambda: page.text("[data-since]") != began, "the seconds pass")
        page.click("[data-part=jobs] button")
        page.shows("#said", "Cancelled.")
        page.shows("[data-part=jobs]", "Cancelled: asking for 1 experiment")
    assert len(study.records) == 4
    assert page.not_reloaded
    page.click("#ask")
    page.find("#pending-4")


def test_a_phone_is_wide_enough(lab: Lab) -> None:
    study = lab.study(told=5, name="A-study-with-a-name-that-is-long-" * 5)
    study.ask_many(2)
    study.tell(0, study.records[0].value or 0.0, note="x" * 300)
    page = lab.open(study)
    page.until(lambda: page.count("figure.drawn .plot") == 8, "all pictures")
    place = f"/studies/{study.log.record.id}"
    for path in ("/", place, f"{place}/trials/0", "/studies/999999"):
        page.open(f"{lab.address}{path}")
        page.resize(360, 740)
        if path == place:
            page.find("[data-part=picture-known] .plot svg")
        page.holds("return window.innerWidth", 360)
        fits = "return document.documentElement.scrollWidth <= window.innerWidth"
        page.until(lambda: page.script(fits), f"{path} is no wider")  # noqa: B023


def test_the_keyboard_alone_is_enough(lab: Lab) -> None:
    study = lab.study(told=4)
    trial = study.ask()
    page = lab.open(study)
    page.shows("#verdict", "after 4 runs")
    page.script("document.activeElement.blur(); window.scrollTo(0, 0)")

    def press(*keys: str) -> None:
        ActionChains(page.driver).send_keys(*keys).perform()

    def focused() -> str:
        return str(page.script("return document.activeElement.id || document.activeElement.className"))

    press(Keys.TAB)
    assert focused() == "skip"
    assert page.script("return getComputedStyle(document.activeElement).outlineStyle") != "none"
    passed: list[str] = []
    while focused() != f"o0-{trial.number}":
        press(Keys.TAB)
        passed.append(focused())
        assert len(passed) < 30, passed
    press(str(measured(**trial.params)), Keys.TAB)
    assert focused() == f"o0_se-{trial.number}"
    press("0.1", Keys.ENTER)
    page.shows("#said", f"The result of trial {trial.number} is entered.")
    page.until(lambda: focused() == "said", "what was done has the focus")
    page.shows("#verdict", "after 5 runs")
    # from there on through the rest of the page, to its end and out of it: nothing holds the keyboard
    seen: list[str] = []
    while "download" not in seen and len(seen) < 80:
        press(Keys.TAB)
        seen.append(focused())
    assert {"ask", "count", "download"} <= set(seen), seen
    assert page.not_reloaded


def test_names_and_notes_are_only_text(lab: Lab) -> None:
    name = """<script>window.hit = 1</script> "' & <b>bold</b>"""
    note = """<img src=x onerror="window.hit = 2">'"</td>"""
    study = lab.study(told=3, name=name)
    study.tell(0, study.records[0].value or 0.0, note=note)
    page = lab.open(study)
    page.shows("h1", name)
    page.shows("#trials", note)
    page.fill("#count", '"><script>window.hit = 3</script>')
    page.click("#ask")
    page.shows("#count-mistake", "<script>")
    page.open(f"{lab.address}/studies/{study.log.record.id}/trials/0")
    page.shows(".history", note)
    assert page.attribute("#note", "value") == note
    page.open(f"{lab.address}/")
    page.shows(".studies", name)
    assert page.script("return window.hit ?? null") is None
    assert page.errors() == []


def test_what_is_typed_survives_news(lab: Lab) -> None:
    study = lab.study(told=4)
    study.ask_many(2)
    page = lab.open(study)
    page.fill("#o0-4", "9.87")
    page.fill("#note-4", "half a sent")
    other = study.records[5]
    study.tell(other, measured(**other.params))
    page.until(lambda: page.count("#pending-5") == 0, "the other one is done")
    page.shows("#verdict", "after 5 runs")
    assert page.attribute("#o0-4", "value") == "9.87"
    assert page.attribute("#note-4", "value") == "half a sent"
    page.holds("return document.activeElement.id", "note-4")
    study.tell(4, 1.0)  # somebody else was faster
    page.shows("#verdict", "after 6 runs")
    page.shows("#pending-4 .overtaken", "Trial 4 has finished in the meantime")
    assert str(page.attribute("#pending-4 .overtaken a", "href")).endswith("/trials/4")
    assert page.attribute("#o0-4", "value") == "9.87"
    page.click("#tell-4")
    page.shows("#said", "Trial 4 already has a result: value 1")
    page.shows("#said", "You typed: 9.87, half a sent.")
    assert study.records[4].value == 1.0
    assert page.not_reloaded


def test_the_table_is_sorted_in_place(lab: Lab) -> None:
    study = lab.study(told=4)
    page = lab.open(study)
    page.click("#trials thead th:nth-child(2) a")
    page.find("#trials thead th:nth-child(2)[aria-sort=ascending]")
    cells = "return [...document.querySelectorAll('#trials tbody td:nth-child(2)')].map(cell => cell.textContent)"
    shown = [float(cell) for cell in page.script(cells)]
    assert shown == sorted(shown)
    assert len(shown) == 4
    study.ask()
    page.until(lambda: page.count("#trials tbody tr") == 5)
    page.find("#trials thead th:nth-child(2)[aria-sort=ascending]")
    assert page.not_reloaded


OBJECTIVE = """\
import time

def measure(*, temperature, minutes):
    time.sleep(0.3)
    return 10 - ((temperature - 62) / 20) ** 2 - ((minutes - 33) / 15) ** 2
"""


def test_the_page_follows_a_run_in_another_process(lab: Lab, tmp_path: Path) -> None:
    study = lab.study(told=2)
    words = {**BREAD, "name": study.name, "objective": {"type": "python", "function": "oven:measure"}}
    (tmp_path / "oven.py").write_text(OBJECTIVE)
    (tmp_path / "study.json").write_text(json.dumps(words | {"stop": {"trials": 5}, "storage": {"url": lab.url}}))
    page = lab.open(study)
    page.shows("#verdict", "after 2 runs")
    rows = page.count("#trials tbody tr")
    command = [sys.executable, "-m", "hentropy", "run", "study.json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as running:
        page.until(lambda: page.count("#trials tbody tr") > rows, "new trials")
        page.until(lambda: "after 2 runs" not in page.text("#verdict"), "a new verdict")
        assert running.wait(PATIENCE) == 0
    page.shows("#verdict", "after 5 runs")
    page.shows("#verdict", "Finished: the budget of 5 trials is used up.")
    assert page.count("#trials tbody tr") == 5
    assert page.not_reloaded
    assert page.errors() == []


def test_a_server_that_is_away_is_said_and_waited_for(lab: Lab, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'own.db'}"
    page = lab.browser
    with served(Settings(url)) as server:
        store = open_store(url)
        own = Lab(server.url, url, store, page)
        study = own.study()
        study.ask()
        own.open(study)
        page.fill("#o0-0", "4.5")
    port = server.url.rpartition(":")[2]
    with socket.socket() as held:  # nobody else gets the port: it is taken, but nobody listens
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", int(port)))
        page.shows("#live", "The server is unreachable; reconnecting")
        page.click("#tell-0")
        page.shows("#said", "The server is unreachable. What you typed is still here.")
        assert page.attribute("#o0-0", "value") == "4.5"
        command = [sys.executable, "-m", "hentropy", "serve", "--store", url, "--port", port, "--no-token"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as anew:
            try:
                page.find("#live[data-state=live]")
                page.click("#tell-0")
                page.shows("#said", "The result of trial 0 is entered.")
                assert study.records[0].value == 4.5
                assert page.not_reloaded
            finally:
                anew.terminate()
    store.close()


def test_without_scripts_forms_go_on_to_pages(lab: Lab) -> None:
    study = lab.study(told=3)
    study.ask()
    page = lab.browser
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.driver.get(f"{lab.address}/studies/{study.log.record.id}")
        page.fill("#o0-3", "3,5")
        page.click("#tell-3")
        page.shows("#o0-3-mistake", "a decimal comma")
        page.fill("#o0-3", "3.5")
        page.click("#tell-3")
        page.shows("#said", "The result of trial 3 is entered.")
        assert study.records[3].value == 3.5
        page.click("#ask")
        page.shows("#said", "The next experiments are being chosen")
    finally:
        page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_the_download_has_all_trials(lab: Lab) -> None:
    study = lab.study(told=3)
    page = lab.open(study)
    link = page.attribute("#download", "href")
    assert link is not None
    with urllib.request.urlopen(link) as answer:
        lines = answer.read().decode().splitlines()
    assert lines[0].startswith("number,temperature,minutes,state,value")
    assert len(lines) == 4


DOC = Path(__file__).parents[1] / "docs" / "page.md"


@pytest.mark.nightly
def test_a_newcomer_follows_the_documentation_to_a_verdict(chromium: Browser, tmp_path: Path) -> None:
    text = DOC.read_text().replace("\\\n", "")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    blocks = re.findall(r"^```console\n\$ (.*)\n(.*)\n```", text, re.MULTILINE)
    assert len(blocks) == 3
    for command, first_line in blocks[:2]:
        assert first_line in subprocess.check_output(command.split(), cwd=tmp_path, env=environment, text=True)
    assert "$ hentropy serve\n" in text
    serve = ["hentropy", "serve", "--port", "0"]
    with subprocess.Popen(serve, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            said = server.stdout.readline()
            assert said.startswith("Serving hentropy.db at http://127.0.0.1:")
            page = chromium
            link = server.stdout.readline()
            assert link.startswith("Open http://127.0.0.1:")
            page.open(link.split()[-1])
            page.driver.find_element("link text", "bread").click()
            page.find("#live[data-state=live]")
            for number in (0, 1):
                page.fill(f"#o0-{number}", str(7.5 + number))
                page.click(f"#tell-{number}")
                page.shows("#said", f"The result of trial {number} is entered.")
            page.shows("#verdict", "after 2 runs")
            page.click("#ask")
            page.find("#pending-2")
            for words in ("Next experiments", "Ask for more", "How the decision changed"):
                assert words in text
                assert words in page.text("main")
        finally:
            server.terminate()
    command, first_line = blocks[2]
    assert first_line in subprocess.check_output(command.split(), cwd=tmp_path, env=environment, text=True)


def test_an_experiment_of_ones_own_is_chosen_and_entered(lab: Lab) -> None:
    space = {
        "ligand": {"type": "choice", "options": ["PPh3", "XPhos", "dppf"]},
        "loading": {"type": "levels", "values": [0.5, 1.0, 2.0], "unit": "mol%"},
        "temperature": {"type": "real", "low": 30.0, "high": 110.0, "unit": "°C"},
    }
    study = lab.study(space=space, where=["ligand != 'PPh3' or temperature <= 66"])
    page = lab.open(study)
    page.find('label[for="own-p0"]')
    page.click("#own-p0 option[value=PPh3]")
    page.click("#own-p1 option[value='0.5']")
    page.fill("#own-p2", "500")
    page.fill("#o0-own", "0.7")
    page.click("#own-button")
    page.shows("#own-p2-mistake", "500 is not from 30 to 110 °C.")
    page.holds("return document.activeElement.id", "own-p2")
    assert page.attribute("#own-p0", "value") == "PPh3"
    page.fill("#own-p2", "85")
    page.click("#own-button")
    page.shows("#said", "Your experiment is trial 0. Its design violates a condition")
    page.shows("#trials", "PPh3")
    page.until(lambda: page.attribute("#own-p0", "value") == "", "an empty form")
    [trial] = study.records
    assert trial.params == {"ligand": "PPh3", "loading": 0.5, "temperature": 85.0}
    assert (trial.value, trial.origin) == (0.7, "attached")
    # a choice that somebody has made stays while news come in
    page.click("#own-p0 option[value=dppf]")
    study.attach({"ligand": "XPhos", "loading": 1.0, "temperature": 50.0}, 0.4)
    page.shows("#trials", "XPhos")
    assert page.attribute("#own-p0", "value") == "dppf"
    assert page.not_reloaded
    assert [error for error in page.errors() if "422" not in error] == []


def test_a_laboratory_needs_no_terminal(chromium: Browser, tmp_path: Path) -> None:
    """From an empty store to a verdict, on pages alone."""
    page = chromium
    with served(Settings(f"sqlite:///{tmp_path / 'empty.db'}")) as server:
        page.open(server.url)
        page.click("#new")
        page.holds("return document.activeElement.id", "name")
        page.fill("#name", "bread")
        page.fill("#p0_name", "temperature")
        page.fill("#p0_low", "20")
        page.fill("#p0_high", "9o")
        page.fill("#p0_unit", "°C")
        page.click("#add-p-choice")
        page.holds("return document.activeElement.id", "p1_name")
        page.fill("#p1_name", "flour")
        page.fill("#p1_options", "rye, wheat")
        page.fill("#o0_name", "rise")
        page.fill("#o0_unit", "cm")
        page.click("#goal-best_observed")
        page.click("#show-settings")
        page.find("#d_largest")
        page.fill("#trials", "5")
        page.click("#make")
        page.shows("#p0_high-mistake", "Highest value is '9o': not a number.")
        page.holds("return document.activeElement.id", "p0_high")
        assert page.attribute("#p1_options", "value") == "rye, wheat"
        page.fill("#p0_high", "90")
        page.script("document.activeElement.form.requestSubmit()")  # as the key Enter does
        page.shows("#said", "The study is made.")
        page.shows("h1", "bread")
        page.find("#live[data-state=live]")
        page.fill("#count", "2")
        page.click("#ask")
        for number, rise in ((0, "7.5"), (1, "9")):
            page.fill(f"#o0-{number}", rise)
            page.click(f"#tell-{number}")
            page.shows("#said", f"The result of trial {number} is entered.")
        page.shows("#verdict", "after 2 runs")
        page.shows("#verdict", "9")
        page.shows("#made", "rye, wheat")
        [study] = server.services.store.studies()
        assert study.definition["objective"]["type"] == "manual"
        assert [error for error in page.errors() if "422" not in error] == []  # the mistake above


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark"), nightly(400, "dark")])
def test_the_form_of_a_new_study_fits_the_window(lab: Lab, width: int, scheme: str) -> None:
    page = lab.browser
    page.open(f"{lab.address}/new")
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        page.resize(width, 900)
        for kind in ("choice", "levels", "fractions"):
            page.click(f"#add-p-{kind}")
            page.find(f"#p1_kind, [value={kind}]")
        assert page.script("return document.documentElement.scrollWidth") <= width
        small = page.script(
            "return [...document.querySelectorAll('button:not(.unseen), input:not([type=hidden]):not([type=radio])"
            ":not([type=checkbox]), select, textarea')].filter(one => one.checkVisibility()"
            " && one.getBoundingClientRect().height < 36).map(one => one.id)"
        )
        assert small == []
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert page.errors() == []
