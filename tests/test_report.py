"""The report: one file that refers to nothing outside, in which nothing stored is markup."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import hentropy as he
from hentropy.views.plots.pictures import PICTURES
from hentropy.views.report import contents, report_html
from hentropy.views.report.contents import trials_shown
from hentropy.views.text.formats import design_columns
from hentropy.views.web.templating import environment, json_data
from support.studies import LINE, Worst, begun

HOSTILE = "</script><img src=x onerror=alert(1)>"
LARGEST = 6_000_000


class Page(HTMLParser):
    """What an HTML file consists of: elements, the texts outside of scripts and styles, and the scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.data: dict[str, str] = {}
        self._within: list[tuple[str, str | None]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag in ("script", "style"):
            self._within.append((tag, attributes.get("id")))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._within.pop()

    def handle_data(self, data: str) -> None:
        if not self._within:
            self.texts.append(data)
        elif self._within[-1][1]:
            self.data[self._within[-1][1]] = data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def hostile_study() -> he.Study:
    space = he.Space(**{HOSTILE: he.Real(-1.0, 3.0)})
    study = he.Study(space, he.Maximize(), name=HOSTILE, hyperparameters="map", first=3)
    for _ in range(3):
        trial = study.ask()
        study.tell(trial, -((trial.params[HOSTILE] - 1.0) ** 2), note=HOSTILE)
    study.tell(study.ask(), failed=HOSTILE)
    return study


@pytest.fixture(scope="module")
def html() -> str:
    return report_html(hostile_study())


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_nothing_stored_is_markup(page: Page) -> None:
    assert not [tag for tag, _ in page.elements if tag in ("img", "iframe", "object", "embed", "link", "base", "form")]
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")], tag
    assert page.text.count(HOSTILE) >= 6  # the name, the parameter, four notes
    # plotly, pictures.js, report.js, and the data of each picture: no script came with a name
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert [a.get("type") for a in scripts].count(None) == 3
    assert len(scripts) == 3 + len(page.data)


def test_it_refers_to_nothing_outside(html: str, page: Page) -> None:
    for tag, attributes in page.elements:
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith("#"), (tag, name, value)
    styles = "".join(re.findall(r"<style>(.*?)</style>", html, re.DOTALL))
    assert "url(" not in styles
    assert "@import" not in styles
    [policy] = [a["content"] for tag, a in page.elements if tag == "meta" and "http-equiv" in a]
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy
    assert len(html.encode()) < LARGEST


def test_it_has_all_pictures_with_words_for_those_who_do_not_see_them(page: Page) -> None:
    figures = [a for tag, a in page.elements if tag == "div" and "data-picture" in a]
    assert [a["data-picture"] for a in figures] == [f"data-{name}" for name in PICTURES]
    for attributes in figures:
        found = json.loads(page.data[attributes["data-picture"] or ""])
        assert {"data", "layout"} <= set(found)
        assert len(attributes["data-label"] or "") > 20
    assert set(page.data) == {f"data-{name}" for name in PICTURES}


def test_it_says_how_it_was_made(page: Page) -> None:
    for said in (
        "one design with the highest value",
        "After 4 runs, 1 of which failed.",
        "expected loss",
        "Seed 0",
        "torch",
    ):
        assert said in page.text
    assert "4 trials: 3 complete, 1 failed." in page.text
    assert '"hyperparameters": "map"' in page.text


def test_before_anything_was_told() -> None:
    html = report_html(he.Study(LINE, he.Maximize()))
    text = Page(html).text
    assert "No results yet" in text
    assert "There are no trials yet." in text
    assert len(html) < 50_000  # plotly is left out where it draws nothing


def test_the_recommended_design_stands_beside_the_measured_ones() -> None:
    study = begun(LINE, he.Maximize(), count=4)
    verdict, text = study.decide(), Page(report_html(study)).text
    assert verdict.comparison is not None
    assert verdict.comparison.alternative is not None
    assert verdict.beside in text
    assert verdict.alternative in text


def test_a_decision_of_ones_own_has_a_report() -> None:
    study = begun(LINE, Worst(), count=4)
    said = contents(study)
    assert said.verdict is not None
    assert said.verdict == study.decide()
    assert [shown.name for shown in said.pictures] == list(PICTURES)
    assert said.troubles == {}
    assert "Decided by" in said.heading


def test_a_long_action_is_folded() -> None:
    study = begun(LINE, he.LevelSets(1.0), count=4)
    rows = len(study.decide().action)
    html = report_html(study)
    assert f"<summary>{rows - 8} more rows</summary>" in html
    body = html.partition('id="decision"')[2].partition("</section>")[0]
    assert body.count("<tr><td") == rows


def test_trials_are_sorted_by_numbers_not_by_what_is_shown() -> None:
    study = begun(LINE, count=2)
    study.tell(study.ask(), (1.0 / 3.0, 0.25))
    table = trials_shown(tuple(study.log.entries.values()), design_columns(study.space), study.outcomes)
    titles = [column.title for column in table.columns]
    assert titles[:4] == ["trial", "x", "value", "standard error"]
    assert "note" not in titles
    last = dict(zip(titles, table.rows[2], strict=True))
    assert (last["value"].text, last["value"].number) == ("0.33333", 1.0 / 3.0)
    assert last["asked"].number is not None


def test_json_within_a_page_cannot_end_its_script(tmp_path: Path) -> None:
    value = {"a": "</script><!-- & \u2028"}
    text = json_data(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028") & set(text)
    (tmp_path / "t.html").write_text("{{ name }}|{{ data | json_data }}|{{ 3 | twice }}")
    made = environment(tmp_path, {"twice": lambda number: 2 * number}).get_template("t.html")
    assert made.render(name="<b>", data=[1]) == "&lt;b&gt;|[1]|6"


def test_designs_of_a_laboratory_in_a_report() -> None:
    space = he.Space(
        solvent=["THF", "toluene"],
        temperature=he.Real(30, 110, unit="°C"),
        where=["solvent != 'THF' or temperature <= 66"],
        same_in_batch=["temperature"],
    )
    study = he.Study(
        space,
        he.BestObserved(),
        first=2,
        hyperparameters="map",
        cost="1 + 0.01 * temperature",
        stop=[he.Budget(cost=60, unit="hours")],
    )
    for value, trial in enumerate(study.ask_many(2)):
        study.tell(trial, float(value), cost=2.5)
    said = contents(study)
    assert "Spent 5 of 60 hours." in said.standing
    titles = {column.title: column.kind for column in said.trials.columns}
    assert titles["solvent"] == ""
    assert titles["temperature (°C)"] == "number"
    assert [title for title in titles if "cost" in title] == ["expected cost (hours)", "cost (hours)"]
    facts = {fact.name: fact.text for fact in said.facts}
    assert facts["solvent"] == "THF, toluene"
    assert facts["temperature"] == "30 to 110 °C"
    assert "temperature <= 66" in facts["Conditions"]
    assert "same temperature" in facts["Conditions"]
    assert "1 + 0.01 * temperature" in facts["Costs"]
    html = report_html(study)
    assert '<th scope="col" class="number">temperature (°C)</th>' in html
    assert '<th scope="col">solvent</th>' in html
