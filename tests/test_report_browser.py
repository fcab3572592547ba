"""The report in a real browser: drawn, sorted by keyboard, on a phone, in the dark, on paper."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

import hentropy as he
from hentropy.views.plots.pictures import PICTURES
from hentropy.views.report import report_html
from support.browser import Browser, browser, programs
from support.missing import missing

HOSTILE = "</script><img src=x onerror=document.title='taken'>"
WIDTHS = "return [...document.querySelectorAll('.picture-plot .main-svg')].map(e => e.getBoundingClientRect().width)"
VALUES = "return [...document.querySelectorAll('.sortable tbody tr')].map(row => row.cells[2].textContent)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser with a report open; where there is none the tests are skipped, in CI they fail."""
    if programs() is None:
        missing("chromium is not installed (Debian: apt-get install chromium chromium-driver)")
    space = he.Space(**{HOSTILE: he.Real(0.0, 10.0)})
    study = he.Study(space, he.Maximize(), name=HOSTILE, first=3, hyperparameters="map")
    for value in (9.5, 10.25, -3.0):
        study.attach({HOSTILE: abs(value) / 2.0}, value)
    study.tell(study.ask(), failed=HOSTILE)
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(report_html(study), encoding="utf-8")
    with browser(tmp_path_factory.mktemp("profile")) as it:
        it.open(file.as_uri())
        yield it


@pytest.fixture(autouse=True)
def at_a_desk(page: Browser) -> None:
    page.resize(1280, 900)
    page.until(lambda: min(page.script(WIDTHS), default=0) > 400, "wide pictures")


def test_every_picture_is_drawn_and_nothing_goes_wrong(page: Browser) -> None:
    labels = page.script("return [...document.querySelectorAll('[role=img]')].map(e => e.getAttribute('aria-label'))")
    assert len(labels) == len(PICTURES)
    assert all(len(label) > 20 for label in labels)
    assert page.count(".picture-plot .main-svg") >= len(PICTURES)
    assert HOSTILE in page.text("h1")
    assert page.script("return document.title") != "taken"
    assert page.count("img") == 0
    assert page.errors() == []


def test_the_trials_are_sorted_by_keyboard(page: Browser) -> None:
    assert page.script(VALUES) == ["9.5", "10.25", "-3", ""]
    heading = page.find(".sortable th:nth-child(3) button")
    heading.send_keys(Keys.ENTER)
    page.holds(VALUES, ["-3", "9.5", "10.25", ""])
    heading.send_keys(Keys.SPACE)
    page.holds(VALUES, ["10.25", "9.5", "-3", ""])
    assert page.attribute(".sortable th:nth-child(3)", "aria-sort") == "descending"
    assert page.count("[aria-sort]") == 1


def test_a_phone_has_room_for_it(page: Browser) -> None:
    page.resize(360, 800)
    page.until(lambda: max(page.script(WIDTHS)) < 360, "narrow pictures")
    beyond = "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
    page.holds(beyond, 0)


def test_it_follows_the_colours_of_the_system(page: Browser) -> None:
    ink = "return getComputedStyle(document.querySelector('.picture-plot .xtitle')).fill"
    light = page.script(ink)
    scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    dark = page.until(lambda: (found := page.script(ink)) != light and found, "another colour")
    assert sum(map(int, dark[4:-1].split(","))) > 600
    # paper is white
    page.script("dispatchEvent(new Event('beforeprint'))")
    page.until(lambda: page.script(ink) == light, "ink on paper")
    page.until(lambda: max(page.script(WIDTHS)) <= 680, "pictures as wide as paper")
    assert page.count("details:not([open])") == 0
    page.script("dispatchEvent(new Event('afterprint'))")
    page.until(lambda: page.script(ink) == dark, "the colours of before")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.until(lambda: page.script(ink) == light, "light again")


def test_a_picture_can_be_kept(page: Browser) -> None:
    script = "return Plotly.toImage(document.querySelector('.picture-plot'), {format: 'png'})"
    assert str(page.script(script)).startswith("data:image/png;base64,")


def test_no_column_of_a_usual_study_is_cut(page: Browser, tmp_path: Path) -> None:
    """Four parameters, four outcomes and two limits, 1,200 pixels wide."""
    space = he.Space(
        temperature=he.Real(20, 90, unit="°C"),
        minutes=he.Real(1, 60, unit="min"),
        loading=he.Real(0.1, 5, unit="mol%"),
        solvent=he.Choice(["THF", "2-methyltetrahydrofuran"]),
    )
    units = {"yield": "%", "impurity": "%", "material_cost": "EUR/kg", "residual_solvent": "ppm"}
    decision = he.Maximize("yield", ["impurity <= 8", "residual_solvent <= 340"], fallback=0.0)
    study = he.Study(
        space,
        decision,
        first=3,
        hyperparameters="map",
        outcomes={name: he.Outcome(unit) for name, unit in units.items()},
    )
    for value in (1.2345, 2.3456, 3.4567):
        trial = study.ask()
        study.tell(trial, dict(zip(units, (70 + value, value, 10 * value, 100 * value), strict=True)))
    study.ask()
    file = tmp_path / "report.html"
    file.write_text(report_html(study), encoding="utf-8")
    before = page.script("return location.href")
    try:
        page.open(file.as_uri())
        page.resize(1200, 900)
        assert page.count(".sortable th") == 14
        wide = "return [...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)"
        assert max(page.script(wide)) <= 0
    finally:
        page.open(before)
