"""The table of trials: sorted by any column, and page by page."""

import re

import pytest

from hentropy import Real, Space
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Entry, State, Trial
from hentropy.views.server.pages.trial_view import SHOWN, TableQuery, trial_table, wanted
from hentropy.views.server.settings import Settings
from hentropy.views.server.study_service import EarlierExperiment
from hentropy.views.text.formats import DesignColumn
from support.serving import served
from support.studies import measured

OUTCOMES = Outcomes.of(None, Space(x=Real(0, 1)))


def entries(done: int) -> list[Entry]:
    """Trials with the values 0, 1, ... and one that has none yet."""
    trials = [Trial(number, {"x": number / done}, State.COMPLETE, measured(float(number))) for number in range(done)]
    return [Entry(trial, 1.0, 2.0) for trial in [*trials, Trial(done, {"x": 0.5})]]


def numbers(how: TableQuery, done: int = 450) -> list[int]:
    return [row.number for row in trial_table(entries(done), [DesignColumn("x")], OUTCOMES, how).rows]


def test_the_table_is_sorted_by_any_column() -> None:
    assert numbers(TableQuery("o0"))[:3] == [449, 448, 447]
    assert numbers(TableQuery("o0", down=False))[:3] == [0, 1, 2]
    assert numbers(TableQuery("p0", down=False))[:2] == [0, 1]
    assert numbers(TableQuery("nothing"))[0] == 450
    # what has no value stands at the end either way
    assert numbers(TableQuery("o0", page=3))[-1] == numbers(TableQuery("o0", down=False, page=3))[-1] == 450


def test_every_trial_is_on_one_page() -> None:
    pages = [numbers(TableQuery("o0", page=page)) for page in (1, 2, 3)]
    assert [len(page) for page in pages] == [SHOWN, SHOWN, 51]
    assert [number for page in pages for number in page] == [*range(449, -1, -1), 450]
    assert numbers(TableQuery("o0", page=99)) == pages[2]
    assert numbers(TableQuery("o0", page=0)) == pages[0]


def test_links_lead_to_the_other_pages_in_the_same_order() -> None:
    table = trial_table(entries(450), [DesignColumn("x")], OUTCOMES, TableQuery("o0", down=False, page=2))
    assert table.shown == "Page 2 of 3: 201 to 400 of 451 trials"
    first = "?sort=o0&way=up"
    assert [(each.title, each.link) for each in table.links] == [
        ("First", first),
        ("Previous", first),
        ("Next", f"{first}&page=3"),
        ("Last", f"{first}&page=3"),
    ]
    assert [
        each.link for each in trial_table(entries(450), [DesignColumn("x")], OUTCOMES, TableQuery("o0")).links[:2]
    ] == [
        "",
        "",
    ]
    assert trial_table(entries(SHOWN - 1), [DesignColumn("x")], OUTCOMES, TableQuery()).links == ()


@pytest.mark.parametrize(("page", "number"), [("2", 2), ("", 1), ("-1", 1), ("x", 1), ("²", 1), ("9" * 99, 1)])
def test_the_address_says_which_page(page: str, number: int) -> None:
    assert wanted({"page": page, "sort": "o0", "way": "up"}) == TableQuery("o0", False, number)


def test_a_long_study_is_shown_page_by_page(sqlite_url: str) -> None:
    with served(Settings(sqlite_url)) as server:
        study = server.create()
        server.services.study_service.attach(
            study, [EarlierExperiment({"x": number / 500}, float(number)) for number in range(450)]
        )
        page = server.http.get(f"/studies/{study}?sort=number&way=up&page=2&trials=all").text
        assert len(re.findall(r'<tr class="complete">', page)) == SHOWN
        assert 'href="?sort=number&amp;way=up&amp;page=3#trials" id="page-next"' in page
