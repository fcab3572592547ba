"""How pages and data are handed over: heads without bodies, data packed, notes as long here as there."""

import gzip
from collections.abc import Iterator

import httpx
import pytest

from hentropy import Real, Space
from hentropy.studies.outcomes import Outcomes
from hentropy.views.server.pages.forms import Mistaken, result_in
from hentropy.views.server.settings import MAX_NOTE_LENGTH, Settings
from hentropy.views.server.study_service import EarlierExperiment
from support.serving import Served, served
from support.visiting import browser


@pytest.fixture
def here(sqlite_url: str) -> Iterator[Served]:
    """A server with a study of 100 trials."""
    with served(Settings(sqlite_url)) as server:
        study = server.create()
        server.services.study_service.attach(
            study, [EarlierExperiment({"x": number / 100}, float(number)) for number in range(100)]
        )
        yield server


@pytest.mark.parametrize("path", ["/", "/studies/1", "/studies/1/trials/0", "/static/base.css", "/api/studies"])
def test_a_head_is_the_answer_without_its_body(here: Served, path: str) -> None:
    whole, head = here.http.get(path), here.http.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]


def test_a_head_of_what_never_ends_ends(here: Served) -> None:
    head = here.http.head("/studies/1/events")
    assert (head.status_code, head.content) == (200, b"")
    assert here.http.head("/studies/77").status_code == 404


def raw(server: Served, path: str) -> httpx.Response:
    """An answer as it comes over the line."""
    with server.http.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as answer:
        answer._content = b"".join(answer.iter_raw())
    return answer


@pytest.mark.parametrize("path", ["/api/studies/1/trials", "/api/studies/1/export.csv", "/studies/1/trials.csv"])
def test_answers_are_packed_for_those_who_can_unpack_them(here: Served, path: str) -> None:
    plain = here.http.get(path, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    packed = raw(here, path)
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content
    assert len(packed.content) < len(plain.content) / 3


def test_events_are_never_packed(here: Served) -> None:
    with here.http.stream("GET", "/studies/1/events", headers={"Accept-Encoding": "gzip"}) as answer:
        assert "content-encoding" not in answer.headers
        assert next(answer.iter_lines()).startswith("retry")


def test_a_note_may_be_as_long_on_the_page_as_in_the_api(here: Served) -> None:
    longest = "é" * MAX_NOTE_LENGTH
    outcomes = Outcomes.of(None, Space(x=Real(0, 1)))
    assert result_in({"o0": "1", "note": longest}, outcomes).note == longest
    with pytest.raises(Mistaken, match=r"10,001 letters; at most 10,000 are kept"):
        result_in({"o0": "1", "note": longest + "x"}, outcomes)
    path = "/api/studies/1/trials/0/tell"
    assert here.http.post(path, json={"value": 1, "note": longest, "replace": True}).is_success
    assert here.http.post(path, json={"value": 1, "note": longest + "x", "replace": True}).status_code == 422


def test_a_note_keeps_its_lines(here: Served) -> None:
    study_service = here.services.study_service
    study_service.log(1).tell(0, 0.0, note="\nfirst\n</textarea><b>second", replace_value=True)
    with browser(here) as client:
        page = client.get("/studies/1/trials/0").text
        assert "first\n&lt;/textarea&gt;&lt;b&gt;second</textarea>" in page
        begun = page.partition('name="begun" value="')[2].partition('"')[0]
        form = {"begun": begun, "what": "correct", "o0": "0"}
        answer = client.post("/studies/1/trials/0", data={**form, "note": "one\r\ntwo"})
        assert answer.status_code == 303
    assert study_service.log(1).find(0).trial.note == "one\ntwo"
