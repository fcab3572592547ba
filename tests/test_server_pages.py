"""The pages over HTTP: what they say, what forms do without scripts, and what no address can make them do."""

import os
import re
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

import hentropy as he
from hentropy.core.spaces import Integer, Real, Space
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import State, Verdict
from hentropy.studies.records.verdict import KEPT_ROWS
from hentropy.views.server.pages.forms import Mistaken, columns_in, count_in, failure_in, result_in
from hentropy.views.server.pages.picture_view import PictureTexts
from hentropy.views.server.pages.rendering import assets
from hentropy.views.server.pages.verdict_view import change_sentences, counterparts, loss_sentence, moved, verdict_view
from hentropy.views.server.settings import ServerLimits, Settings
from hentropy.views.text.trials import verdict_json
from support.serving import LONGER, TOKEN, Served, served
from support.visiting import begun_in, browser, fields, sent
from support.waiting import PATIENCE, until

SPACE = Space(temperature=Real(20, 90), minutes=Integer(5, 60))


def begun(server: Served, name: str, trials: int = 1, **parts: Any) -> int:
    """A new study with trials that wait for their values."""
    study = server.create(name=name, **parts)
    study_service = server.services.study_service
    if trials:
        rows = "".join(f"{i / 100},{i}\n" for i in range(trials))
        study_service.attach_csv(study, f"x,value\n{rows}")
    return study


def asked(server: Served, study: int) -> int:
    """The number of a new trial that waits for its value."""
    services = server.services
    job = services.job_service.wait(services.job_service.ask(services.study_service.record(study)).id, PATIENCE)
    assert job.state == "done", job.error
    assert isinstance(job.result, list)
    return job.result[0]


def test_an_empty_store_says_how_to_begin(tmp_path: Path) -> None:
    with served(Settings(f"sqlite:///{tmp_path / 'empty.db'}")) as empty:
        text = empty.http.get("/").text
    assert "No study yet" in text
    assert 'href="/new"' in text
    assert "hentropy init" in text


def test_the_list_says_where_each_study_stands(server: Served, visit: httpx.Client) -> None:
    begun(server, "not begun", trials=0)
    begun(server, "ready", trials=3)
    begun(server, "<i>odd</i>", trials=0)
    text = visit.get("/").text
    assert "Not started" in text
    assert "Ready for the next experiment" in text
    assert "3 done" in text
    assert "The design with the highest value among those measured." in text
    assert "&lt;i&gt;odd&lt;/i&gt;" in text
    assert "<i>odd" not in text


@pytest.mark.smoke
def test_a_result_is_told_through_the_form(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "told", trials=0)
    number, page = asked(server, study), f"/studies/{study}"
    assert f'id="pending-{number}"' in visit.get(page).text
    wrong = sent(visit, page, f"{page}/trials/{number}", what="tell", o0="3,5", note="<b>")
    assert wrong.status_code == 422
    assert "write numbers with a point" in wrong.text
    assert 'value="3,5"' in wrong.text
    assert "&lt;b&gt;</textarea>" in wrong.text
    right = sent(visit, page, f"{page}/trials/{number}", what="tell", o0="3.5", o0_se="0.1", note="n")
    assert right.status_code == 200
    assert f"The result of trial {number} is entered." in right.text
    trial = server.services.study_service.log(study).find(number).trial
    assert (trial.value, trial.std_error, trial.note) == (3.5, 0.1, "n")
    again = sent(visit, page, f"{page}/trials/{number}", what="tell", o0="4")
    assert again.status_code == 409
    assert "already has a result: value 3.5" in again.text
    assert "You typed: 4." in again.text


def test_a_trial_fails_is_withdrawn_and_corrected(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "ends", trials=0)
    first, second = asked(server, study), asked(server, study)
    page = f"/studies/{study}"
    assert sent(visit, page, f"{page}/trials/{first}", what="fail").status_code == 422
    sent(visit, page, f"{page}/trials/{first}", what="fail", note="it broke")
    sent(visit, page, f"{page}/trials/{second}", what="withdraw", note="no time")
    study_service = server.services.study_service
    assert [study_service.log(study).find(number).trial.state for number in (first, second)] == [
        State.FAILED,
        State.WITHDRAWN,
    ]
    own = f"{page}/trials/{first}"
    done = sent(visit, own, own, what="correct", o0="2", page="trial", note="it was whole")
    assert "Earlier results stay in its history." in done.text
    assert "it broke" in done.text
    assert "it was whole" in done.text
    late = sent(visit, own, f"{page}/trials/{second}", what="tell", o0="1", page="trial")
    assert late.status_code == 200
    assert study_service.log(study).find(second).trial.value == 1.0


def replaced(server: Served, study: int) -> int:
    """Another study with the same name, which SQLite gives the same id; nobody tells the job service."""
    study_service = server.services.study_service
    name = study_service.record(study).name
    study_service.delete(study, name)
    other = begun(server, name, trials=0)
    assert other == study
    return other


def test_a_form_of_a_deleted_study_leaves_its_successor_alone(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "replaced", trials=0)
    asked(server, study)
    page = f"/studies/{study}"
    old = visit.get(page).text
    replaced(server, study)
    number = asked(server, study)
    forms = (f"trials/{number}", "ask", "look", "attach", "jobs/x/cancel")
    for form in forms:
        for said in ({"begun": begun_in(old)}, {}):
            data = {"o0": "1", "count": "1", **said}
            files = {"file": ("data.csv", b"x,value\n0.5,1\n")} if form == "attach" else None
            answer = visit.post(f"{page}/{form}", data=data, files=files)
            assert answer.status_code == 404, form
            assert "was deleted, and another one took its place" in answer.text, form
    [entry] = server.services.study_service.snapshot(study).entries
    assert entry.trial.state is State.RUNNING
    assert visit.get(f"{page}/events", params={"begun": begun_in(old)}).status_code == 404


def test_every_form_says_which_study_it_is_about(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "said which", trials=2)
    number = asked(server, study)
    for path in (f"/studies/{study}", f"/studies/{study}/trials/{number}"):
        text = visit.get(path).text
        forms = re.findall(r'<form method="post" action="/studies/.*?</form>', text, re.DOTALL)
        assert forms
        assert all(f'name="begun" value="{begun_in(text)}"' in form for form in forms)
        assert f'data-study="{study} {begun_in(text)}"' in text


def test_pictures_of_a_deleted_study_are_not_those_of_its_successor(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "pictured", trials=3)
    job_service, record = server.services.job_service, server.services.study_service.record(study)
    assert job_service.wait(job_service.look(record).id, PATIENCE).state == "done"
    sources = re.findall(r'data-source="([^"]+)"', visit.get(f"/studies/{study}").text)
    assert sources
    path = sources[0].replace("&amp;", "&")
    assert visit.get(path).status_code == 200
    replaced(server, study)
    assert visit.get(path).status_code == 404
    assert visit.get(path.partition("?")[0]).status_code == 404
    assert "data-source" not in visit.get(f"/studies/{study}").text


def test_no_more_are_asked_than_the_budget_leaves(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "few", trials=0, stop={"trials": 3})
    asked(server, study)
    page = f"/studies/{study}"
    refused = sent(visit, page, f"{page}/ask", count="3")
    assert refused.status_code == 409
    assert "3 experiments are more than the budget leaves; ask for at most 2" in refused.text
    assert "are being chosen" in sent(visit, page, f"{page}/ask", count="2").text


def test_a_form_that_is_sent_twice_asks_once(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "twice", trials=0)
    page, job_service = f"/studies/{study}", server.services.job_service
    form = {**fields(visit.get(page)), "count": "1"}
    for _ in range(2):
        assert visit.post(f"{page}/ask", data=form).status_code in (200, 303)
    assert len(job_service.jobs(server.services.study_service.record(study))) == 1
    pages = [visit.get(page) for _ in range(2)]  # of two people who both want one
    for shown in pages:
        assert visit.post(f"{page}/ask", data={**fields(shown), "count": "1"}).status_code in (200, 303)
    assert len(job_service.jobs(server.services.study_service.record(study))) == 3


def test_a_study_that_has_enough_is_asked_only_with_a_word(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "enough", trials=0, stop={"trials": 1})
    asked(server, study)
    page, job_service = f"/studies/{study}", server.services.job_service
    record = server.services.study_service.record(study)
    assert "Ask anyway: The budget of 1 trial" in visit.get(page).text
    refused = sent(visit, page, f"{page}/ask", count="1")
    assert refused.status_code == 409
    assert "No new experiment: the budget of 1 trial" in refused.text
    assert len(job_service.jobs(record)) == 1
    assert "are being chosen" in sent(visit, page, f"{page}/ask", count="1", anyway="yes").text
    assert len(job_service.jobs(record)) == 2
    assert job_service.wait(job_service.jobs(record)[-1].id, PATIENCE).result == [1]
    assert "Ask anyway" not in visit.get(f"/studies/{begun(server, 'not enough', trials=1)}").text


def test_a_verdict_that_cannot_be_renewed_is_said(tmp_path: Path) -> None:
    settings = Settings(f"sqlite:///{tmp_path / 'lab.db'}", limits=ServerLimits(look_seconds=0.001))
    with served(settings) as server:
        study = begun(server, "slow", trials=5)
        services = server.services
        record, job_service = services.study_service.record(study), services.job_service
        assert job_service.wait(job_service.look(record).id, PATIENCE).state == "failed"
        why = "it took more than 0.001 s of computing, and others wait; decide with the command line."
        assert f"There is no verdict: {why}" in server.http.get(f"/studies/{study}").text
        services.store.keep(record, Verdict([{"x": 0.5, "mean": 1.25}], -1.25, 0.0, "Maximize()", 4, None))
        text = server.http.get(f"/studies/{study}").text
        assert f"The verdict could not be updated: {why}" in text
        assert 'id="look"' in text


def test_a_job_beyond_its_time_is_said_on_the_page_and_in_the_api(tmp_path: Path) -> None:
    settings = Settings(f"sqlite:///{tmp_path / 'lab.db'}", limits=ServerLimits(job_seconds=1e-6))
    with served(settings) as server:
        study = begun(server, "endless", trials=0)
        with server.services.store.asking(server.services.study_service.record(study)):  # it does not end by itself
            job = server.http.post(f"/api/studies/{study}/ask", json={"count": 1}).json()["job"]["id"]
            assert server.services.job_service.wait(job, PATIENCE).state == "failed"
        why = "it took longer than 1e-06 s, the limit of this server for one job (--job-seconds), and was ended"
        assert why in server.http.get(f"/api/jobs/{job}").json()["job"]["error"]
        assert why in server.http.get(f"/studies/{study}").text


def test_a_look_can_be_cancelled(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "long look", trials=5, **LONGER)
    page, record = f"/studies/{study}", server.services.study_service.record(study)
    job_service, quick = server.services.job_service, begun(server, "quick look", trials=0)
    job_service.wait(job_service.look(server.services.study_service.record(quick)).id, PATIENCE)
    os.kill(job_service.processes[-1], signal.SIGSTOP)  # so that the look does not end before it is cancelled
    job = job_service.look(record)
    until(lambda: [each.state for each in job_service.jobs(record)] == ["running"])
    text = visit.get(page).text
    assert 'id="cancel-look"' in text
    assert f'action="{page}/jobs/{job.id}/cancel"' in text
    said = sent(visit, page, f"{page}/jobs/{job.id}/cancel")
    assert "Cancelled." in said.text
    assert 'id="cancel-look"' not in said.text
    # unless the verdict was there already when the rest of the look was cancelled
    assert ('id="look"' in said.text) != ("after 5 runs" in said.text)
    assert [job.state for job in job_service.jobs(record)] == ["cancelled"]


def test_a_file_is_tried_refused_and_attached(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "data", trials=0)
    page = f"/studies/{study}"
    good, bad = b"x,value,by\n0.1,1,me\n0.2,2,me\n", b"x,value\n0.5,1\n9,1\n0.3,<b>\n"

    def upload(content: bytes, name: str = "old.csv", **fields: str) -> httpx.Response:
        return sent(visit, page, f"{page}/attach", files={"file": (name, content)}, **fields)

    study_service = server.services.study_service
    tried = upload(good, dry_run="yes")
    assert "2 rows of old.csv would be attached. Nothing is taken from the columns by." in tried.text
    refused = upload(bad)
    assert refused.status_code == 422
    assert "2 rows of old.csv cannot be used, 1 row can. Nothing was attached." in refused.text
    assert "line 3: " in refused.text
    assert "line 4: value is &#39;&lt;b&gt;&#39;: not a number" in refused.text
    assert "line 2: " not in refused.text
    assert study_service.snapshot(study).entries == ()
    assert "1 row attached." in upload(bad, skip_bad="yes").text
    assert "2 rows attached." in upload(good).text
    repeated = upload(good)
    assert repeated.status_code == 422
    assert "2 are in the study already" in repeated.text
    assert "2 rows attached." in upload(good, again="yes").text
    assert "This is not text in UTF-8" in upload(b"x,value\n\xff\xfe,1\n").text
    assert "&lt;img&gt;.csv" in upload(bad, name="<img>.csv").text
    assert len(study_service.snapshot(study).entries) == 5


def test_too_many_rows_are_refused(tmp_path: Path) -> None:
    content = "x,value\n" + "0.1,1\n" * 6_000
    with (
        served(Settings(f"sqlite:///{tmp_path / 'lab.db'}")) as server,
        browser(server) as visit,
    ):
        page = f"/studies/{server.create()}"
        answer = sent(visit, page, f"{page}/attach", files={"file": ("long.csv", content)})
    assert answer.status_code == 422
    assert "at most 5000 are accepted at once" in answer.text


def test_a_study_that_cannot_be_computed_is_shown_and_told(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "a class of one's own", trials=2)
    store = server.services.store
    record = server.services.study_service.record(study)
    number = asked(server, study)
    store.redefine(record, lambda words: {**words, "decision": {"python": "robust:Robust"}})
    store.keep(record, Verdict([{"x": 0.5, "mean": 1.25}], -1.25, 0.0, "Robust()", 2, None))
    page = f"/studies/{study}"
    text = visit.get(page).text
    assert "the Python class robust:Robust, which a server does not run".lower() in text.lower()
    assert re.search(r'<button[^>]*id="ask"[^>]*disabled', text)
    assert "1.25" in text
    assert 'id="look"' not in text
    assert "is entered" in sent(visit, page, f"{page}/trials/{number}", what="tell", o0="1").text
    assert sent(visit, page, f"{page}/ask", count="1").status_code == 409
    assert not [job for job in server.services.job_service.jobs(record) if job.kind == "look" and not job.ended]


def test_no_address_makes_a_page_say_something_else(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "said", trials=0)
    for query in ("said=<script>alert(1)</script>", "said=told&number=<b>", "said=told&number=" + "9" * 5000):
        text = visit.get(f"/studies/{study}?{query}").text
        assert 'class="message done' not in text
    for query in ("sort=<b>&way=<b>", "sort=p99", "trials=<b>"):
        assert visit.get(f"/studies/{study}?{query}").status_code == 200


def test_a_study_is_found_by_its_name(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "by name", trials=0)
    found = visit.get("/studies/by%20name", follow_redirects=False)
    assert (found.status_code, found.headers["location"]) == (307, f"/studies/{study}")
    assert visit.get("/studies", follow_redirects=False).headers["location"] == "/"


def test_what_is_not_there_is_said_plainly(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "gaps", trials=0)
    for path in (
        "/studies/99999",
        "/studies/nobody",
        f"/studies/{study}/trials/7",
        f"/studies/{study}/pictures/known.json",
        f"/studies/{study}/pictures/..%2F..%2Fpage.json",
        "/static/nothing.js",
        "/static/..%2Fassets.py",
        "/static/%2Fetc%2Fpasswd",
    ):
        assert visit.get(path).status_code == 404, path


def test_scripts_and_styles_are_kept_until_they_change(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "kept", trials=0)
    text = visit.get(f"/studies/{study}").text
    addresses = re.findall(r'(?:src|href)="(/static/[^"]+)"', text)
    assert {address.partition("?")[0] for address in addresses} >= {"/static/page.js", "/static/base.css"}
    for address in addresses:
        answer = visit.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.content == assets()[address.partition("?")[0].removeprefix("/static/")].content
        plain = visit.get(address.partition("?")[0], headers={"accept-encoding": "identity"})
        assert plain.headers["cache-control"] == "no-cache"
        assert plain.content == answer.content
        known = visit.get(address, headers={"if-none-match": plain.headers["etag"]})
        assert known.status_code == 304


def test_pages_have_no_script_or_style_of_their_own(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "strict", trials=2)
    number = asked(server, study)
    for path in ("/", f"/studies/{study}", f"/studies/{study}/trials/{number}"):
        text = visit.get(path).text
        assert not re.search(r"\s(style|on\w+)=", text), path
        assert not re.search(r"<script(?![^>]*\ssrc=)", text), path
        assert "<style" not in text
        assert "http://" not in text.replace("http://www.w3.org", "")
        ids = re.findall(r'\sid="([^"]+)"', text)
        assert len(ids) == len(set(ids)), path
        labelled = set(re.findall(r'<label for="([^"]+)"', text))
        fields = set(re.findall(r'<input(?![^>]*type="(?:hidden|checkbox)")[^>]*\sid="([^"]+)"', text))
        assert fields <= labelled, path
        for named in re.findall(r'aria-(?:labelledby|describedby)="([^"]+)"', text):
            assert set(named.split()) <= set(ids), path


def test_whoever_has_logged_in_may_log_out(tmp_path: Path) -> None:
    with (
        served(Settings(f"sqlite:///{tmp_path / 'lab.db'}", token=TOKEN)) as server,
        browser(server) as visit,
    ):
        visit.follow_redirects = True
        inside = visit.post("/login", data={"token": TOKEN, "next": "/"})
        assert "No study yet" in inside.text
        assert "Sign out" in inside.text
        outside = visit.post("/logout")
        assert "No study yet" not in outside.text
        assert "No study yet" not in visit.get("/").text


OUTCOMES = Outcomes.of(None, Space(x=Real(0, 1)))


@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"o0": "abc"}, "o0", "not a number"),
        ({"o0": "nan"}, "o0", "not a finite number"),
        ({"o0": "1", "o0_se": "x"}, "o0_se", "not a number"),
        ({"o0": "1", "o0_se": "-1"}, "o0_se", "cannot be below 0"),
        ({"o0": "1", "cost": "0"}, "cost", "must be above 0"),
        ({"o0": "1", "note": "x" * 10_001}, "note", "at most 10,000"),
    ],
)
def test_mistakes_are_said_at_their_fields(typed: dict[str, str], field: str, said: str) -> None:
    with pytest.raises(Mistaken) as caught:
        result_in(typed, OUTCOMES)
    assert list(caught.value.form.mistakes) == [field]
    assert said in caught.value.form.mistakes[field]
    assert caught.value.form.typed == typed


def test_all_mistakes_are_said_at_once() -> None:
    with pytest.raises(Mistaken) as caught:
        result_in({"o0": "", "o0_se": "1,5"}, OUTCOMES)
    assert set(caught.value.form.mistakes) == {"o0", "o0_se"}


def test_forms_are_read() -> None:
    assert result_in({"o0": " 1e3 ", "o0_se": " ", "note": " n "}, OUTCOMES).values == {"value": 1000.0}
    assert failure_in({"note": " broke ", "cost": " 3 "}) == ("broke", 3.0)
    assert count_in({"count": " 7 "}, 50) == 7
    for text in ("0", "51", "-1", "1.5", "²", "9" * 40):
        with pytest.raises(Mistaken):
            count_in({"count": text}, 50)
    assert columns_in({"map": "Temp=temperature, a=b=minutes"}) == {"temperature": "Temp", "minutes": "a=b"}
    for text in ("x", "=x", "x="):
        with pytest.raises(Mistaken):
            columns_in({"map": text})


def row(temperature: float, minutes: int, mean: float = 0.0) -> dict[str, Any]:
    return {"temperature": temperature, "minutes": minutes, "mean": mean}


def test_rows_are_compared_with_the_nearest_ones_before() -> None:
    before = [row(60, 30), row(40, 20), row(80, 50)]
    now = [row(79, 50), row(60.1, 30), row(41, 26)]
    assert counterparts(now, before, SPACE) == [before[2], before[0], before[1]]
    assert moved("temperature", now[0], before[2], SPACE)
    assert not moved("temperature", now[1], before[0], SPACE)
    assert not moved("mean", {"mean": 1.0}, {"mean": 2.0}, SPACE)
    assert moved("label", {"label": "above"}, {"label": "below"}, SPACE)
    assert counterparts(now, before[:1], SPACE) == [None, before[0], None]


def verdict(rows: list[dict[str, Any]], loss: float, observations: int) -> dict[str, Any]:
    return {
        "action": rows,
        "expected_loss": loss,
        "std_error": 0.0,
        "observations": observations,
        "decision": "TopK",
        "headline": "",
        "worth": "",
        "failed": 0,
    }


def in_words(amount: float) -> str:
    return f"about {amount:g} in value"


def test_a_change_is_said_in_words() -> None:
    old, new = verdict([row(60, 30)], -2.0, 4), verdict([row(70, 30)], -2.5, 5)
    assert change_sentences(new, old, 1, in_words) == [
        "The decision is expected to be better, by about 0.5 in value (after 4, now 5 runs).",
        "The decision moved.",
    ]
    worse = change_sentences(old, new, 0, in_words)
    assert "worse, by about 0.5 in value; the results were worse than expected (after 5, now 4 runs)." in worse[0]
    assert worse[1] == "The decision stayed where it was."
    [corrected, _] = change_sentences(verdict([row(70, 30)], -2.0, 5), new, 0, in_words)
    assert corrected == "The decision is expected to be worse, by about 0.5 in value (both after 5 runs)."
    [first] = change_sentences(new, None, 0, in_words)
    assert first == "This is the first verdict; there is nothing to compare it with yet."
    assert loss_sentence(new, {**old, "failed": 2}) == "It was -2 after 6 runs, 2 of which failed."
    assert loss_sentence(new, None) == ""


def test_a_verdict_shows_what_was_before_and_what_it_misses() -> None:
    old = verdict([row(60, 30), row(40, 20)], -2.0, 4)
    new = verdict([row(40, 20), row(70, 30)], -2.5, 5)
    view = verdict_view(new, old, SPACE, observations=7, units={"temperature": "°C"}, in_words=in_words)
    assert view.columns[0].title == "temperature (°C)"
    assert [[cell.was for cell in cells] for cells in view.rows] == [["", "", ""], ["60", "", ""]]
    assert view.behind == "2 newer results not in it yet"
    assert view.changes[1] == "1 of 2 rows moved."
    assert verdict_view(new, old, SPACE, observations=5, units={}, in_words=in_words).behind == ""
    long = verdict([{"x": i / 40, "label": "above" if i > 9 else "below"} for i in range(40)], 0.1, 5)
    assert len(verdict_view(long, None, SPACE, 5, {}, in_words).rows) == 12
    more = verdict_view(long, None, SPACE, 5, {}, in_words).more
    assert more.startswith("These are the first 12 rows of 40. The sentence above is about all of them")
    # of a longer list only the first rows are recorded: nobody knows how many there are
    part = verdict([{"x": i / 512, "label": "above"} for i in range(KEPT_ROWS)], 0.1, 5)
    assert verdict_view(part, None, SPACE, 5, {}, in_words).more.startswith("These are the first 12 rows. The sentence")
    assert verdict_view(part, part, SPACE, 5, {}, in_words).changes[1] == "None of the first 200 rows changed."
    assert (
        verdict_view({**long, "headline": "Above at 30 points."}, None, SPACE, 5, {}, in_words).headline
        == "Above at 30 points."
    )


def test_a_verdict_stands_beside_the_measured_designs() -> None:
    study = he.Study(he.Space(x=he.Real(0, 1, unit="g")), he.Maximize(), hyperparameters="map")
    study.attach_many([({"x": x}, -((x - 0.6) ** 2)) for x in (0.1, 0.4, 0.9)])
    now = study.decide()
    assert now.comparison is not None
    assert now.comparison.alternative is not None
    view = verdict_view(verdict_json(now), None, study.space, 3, {"x": "g"}, in_words)
    assert view.beside == now.beside
    assert view.say.endswith(now.beside)
    assert view.alternative.startswith("Never run, perhaps better: x ")
    assert " g, mean " in view.alternative
    assert float(view.loss) == pytest.approx(now.expected_loss + now.forgone, rel=1e-3)
    earlier = {**verdict_json(now), "comparison": None}
    assert verdict_view(earlier, None, study.space, 3, {}, in_words).beside == ""


def test_a_picture_is_written_once_and_a_new_one_has_another_mark() -> None:
    prints = PictureTexts(most=2)
    pictures = [{"specification": {"data": [i], "layout": {}}} for i in range(4)]
    first = prints.of(pictures[0])
    assert prints.of(pictures[0]) is first
    assert len({prints.of(picture).mark for picture in pictures}) == 4
    assert prints.of(pictures[0]) is not first  # it had to go
    assert prints.of(pictures[0]) == first
