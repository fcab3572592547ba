"""Pages, API and client for designs of laboratories: choices, units, conditions, plates, lists with ids, costs."""

import re
from typing import Any

import httpx
import numpy as np
import pytest

from hentropy.core.spaces import Choice, Integer, Levels, Pool, Real, Space
from hentropy.errors import InputError
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Entry, State, Trial
from hentropy.views.client import RemoteStudy
from hentropy.views.server.pages.own_form import design_fields, design_in
from hentropy.views.server.pages.trial_view import TableQuery, trial_table
from hentropy.views.server.pages.verdict_view import counterparts, moved, verdict_view
from hentropy.views.server.study_service import EarlierExperiment
from hentropy.views.text.formats import design_columns
from support import visiting
from support.serving import Served
from support.studies import measured

CHEMIST: dict[str, Any] = {
    "space": {
        "ligand": {"type": "choice", "options": ["PPh3", "XPhos", "dppf"]},
        "solvent": {"type": "choice", "options": ["THF", "toluene"]},
        "temperature": {"type": "real", "low": 30.0, "high": 110.0, "step": 5.0, "unit": "°C"},
        "loading": {"type": "levels", "values": [0.5, 1.0, 2.0], "unit": "mol%"},
    },
    "tables": {"boils": {"THF": 66.0, "toluene": 111.0}},
    "where": ["temperature <= boils[solvent]"],
    "same_in_batch": ["temperature"],
}
SHELF: dict[str, Any] = {
    "space": None,
    "pool": {
        "names": ["sample", "metal", "ratio", "price"],
        "id": "sample",
        "ignore": ["price"],
        "rows": [["A-1", "Fe", 0.1, 3.0], ["A-2", "Co", 0.2, None], ["B-1", "Fe", 0.4, 5.0], ["B-2", "Ni", 0.3, 6.0]],
    },
}
DESIGN = {"ligand": "XPhos", "solvent": "toluene", "temperature": 85.0, "loading": 1.0}
TYPED = {"p0": "XPhos", "p1": "toluene", "p2": "85", "p3": "1", "o0": "0.7", "o0_se": ""}


def begun(server: Served, name: str, words: dict[str, Any] = CHEMIST, **parts: Any) -> int:
    return server.create(name=name, **{"space": None, **words, **parts})


def attached(server: Served, study: int, *values: float, **design: Any) -> None:
    rows = [EarlierExperiment({**DESIGN, **design}, value) for value in values]
    server.services.study_service.attach(study, rows, again=True)


def running(server: Served, study: int, **expected: Any) -> int:
    """The number of a new trial that waits for its value."""
    log = server.services.study_service.log(study)
    return log.add([Trial(len(log.entries), dict(DESIGN), **expected)])[0].trial.number


def sent(visit: httpx.Client, study: int, action: str, files: Any = None, **fields: str) -> httpx.Response:
    return visiting.sent(visit, f"/studies/{study}", f"/studies/{study}/{action}", files, **fields)


def section(html: str, name: str) -> str:
    return html.partition(f'id="{name}"')[2].partition("</section>")[0]


def test_a_design_is_shown_with_options_and_units(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "shown")
    number = running(server, study)
    page = visit.get(f"/studies/{study}").text
    todo = section(page, "next")
    for said in ("<dt>ligand</dt><dd>XPhos</dd>", "<dd>85 °C</dd>", "<dd>1 mol%</dd>"):
        assert said in todo.replace(' class="number"', "")
    table = section(page, "trials")
    assert "temperature (°C)</a>" in re.sub(r"\s*<span.*?</span>", "", table)
    assert '<td class="">XPhos</td>' in table  # texts stand to the left
    assert '<td class="number">85</td>' in table
    made = section(page, "made")
    for said in ("PPh3, XPhos, dppf", "30 to 110 °C in steps of 5", "0.5 &lt; 1 &lt; 2 mol%", "&lt;= boils[solvent]"):
        assert said in made
    assert "85 °C" in visit.get(f"/studies/{study}/trials/{number}").text


def test_a_plate_says_what_all_of_it_share(server: Served, visit: httpx.Client) -> None:
    said = "All experiments of a batch have the same temperature."
    assert said in section(visit.get(f"/studies/{begun(server, 'plates')}").text, "next")
    single = begun(server, "no plates", same_in_batch=[])
    assert "All experiments of a batch" not in visit.get(f"/studies/{single}").text


def test_an_experiment_of_ones_own_is_entered_by_its_design(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "own")
    form = section(visit.get(f"/studies/{study}").text, "own")
    assert '<label for="own-p0">ligand</label>' in form
    assert '<option value="XPhos" >XPhos</option>' in form
    assert '<label for="own-p2">temperature (°C)</label>' in form
    assert "30 to 110 °C in steps of 5" in form
    page = sent(visit, study, "own", **{**TYPED, "o0_se": "0.1"})
    assert page.status_code == 200
    assert "Your experiment is trial 0." in page.text
    assert "violates" not in page.text
    [trial] = server.services.study_service.log(study).trials
    assert (trial.params, trial.value, trial.std_error, trial.origin) == (DESIGN, 0.7, 0.1, "attached")


def test_an_experiment_of_ones_own_may_have_failed(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "own failed")
    typed = {**TYPED, "o0": "", "what": "fail"}
    assert "State in the note why it failed." in sent(visit, study, "own", **typed).text
    assert sent(visit, study, "own", **typed, note="it boiled over").status_code == 200
    trial = server.services.study_service.log(study).trials[-1]
    assert (trial.state, trial.note, trial.origin) == (State.FAILED, "it boiled over", "attached")


def test_mistakes_of_an_own_experiment_are_said_at_their_fields(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "mistakes")
    typed = {"p0": "XPhoz", "p1": "toluene", "p2": "86", "p3": "", "o0": "1,5", "o0_se": "-1"}
    page = sent(visit, study, "own", **typed)
    assert page.status_code == 422
    form = section(page.text, "own")
    said = {key: form.partition(f'id="own-{key}-mistake">')[2].partition("</p>")[0] for key in ("p0", "p1", "p2", "p3")}
    assert "did you mean XPhos?" in said["p0"]
    assert said["p1"] == ""
    assert "30 and whole steps of 5 above it" in said["p2"]
    assert said["p3"] == "Choose one."
    assert "decimal comma" in form
    assert "cannot be below 0" in form
    assert '<option value="toluene" selected>toluene</option>' in form  # what was typed stays
    assert 'value="86"' in form
    assert 'value="1,5"' in form
    assert server.services.study_service.log(study).trials == ()


def test_an_own_experiment_may_violate_a_condition(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "hot")
    page = sent(visit, study, "own", **{**TYPED, "p1": "THF"}).text
    assert "Its design violates a condition of this study" in page
    assert "1 of 1 earlier measurements violates the conditions" in section(page, "made")
    assert "violates temperature &lt;= boils[solvent]." in visit.get(f"/studies/{study}/trials/0").text
    sent(visit, study, "own", **TYPED)
    assert "violates" not in visit.get(f"/studies/{study}/trials/1").text


def test_the_same_experiment_is_added_twice_only_with_a_word(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "twice")
    assert 'name="again" value="yes" id="own-again"' not in sent(visit, study, "own", **TYPED).text
    page = sent(visit, study, "own", **TYPED)
    assert page.status_code == 409
    assert "in the study already" in section(page.text, "own")
    assert 'id="own-again"' in page.text
    assert sent(visit, study, "own", **TYPED, again="yes").status_code == 200
    assert len(server.services.study_service.log(study).trials) == 2


def test_a_design_of_a_list_is_entered_by_its_id(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "shelf", SHELF)
    form = section(visit.get(f"/studies/{study}").text, "own")
    assert '<label for="own-p0">sample</label>' in form
    assert '<option value="B-1"></option>' in form
    assert "metal" not in form
    page = sent(visit, study, "own", p0="B-11", o0="1")
    assert page.status_code == 422
    assert "did you mean B-1?" in section(page.text, "own")
    page = sent(visit, study, "own", p0="B-1", o0="1")
    [trial] = server.services.study_service.log(study).trials
    assert trial.params == {"sample": "B-1", "metal": "Fe", "ratio": 0.4, "price": 5.0}
    table = section(page.text, "trials")
    assert '<td class="">B-1</td>' in table
    assert '<td class="number">5</td>' in table


def test_files_have_options_by_name_and_ids(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "file")
    rows = b"ligand,solvent,temperature (\xc2\xb0C),loading,value\nXPhos,toluene,85,1,0.7\nXPhoz,toluene,85,1,0.7\n"
    page = sent(visit, study, "attach", files={"file": ("a.csv", rows)})
    assert page.status_code == 422
    assert "line 3: ligand is &#39;XPhoz&#39;; did you mean XPhos?" in section(page.text, "attach")
    page = sent(visit, study, "attach", files={"file": ("a.csv", rows)}, skip_bad="yes")
    assert "1 row attached." in page.text
    assert server.services.study_service.log(study).trials[0].params == DESIGN
    shelf = begun(server, "shelf file", SHELF)
    assert "sample, value, and value_se" in section(visit.get(f"/studies/{shelf}").text, "attach")
    assert sent(visit, shelf, "attach", files={"file": ("b.csv", b"sample,value\nB-1,3\n")}).status_code == 200
    assert server.services.study_service.log(shelf).trials[0].params["ratio"] == 0.4


def test_the_fields_of_a_design() -> None:
    space = Space(value=Real(0, 1), n=Integer(1, 3), stirred=Choice([True, False]), only=Choice(["a"]))
    assert [(field.key, field.title, field.options) for field in design_fields(space)] == [
        ("p0", "value", ()),
        ("p1", "n", ()),
        ("p2", "stirred", ("True", "False")),
        ("p3", "only", ("a",)),
    ]
    mistakes: dict[str, str] = {}
    typed = {"p0": "0.5", "p1": "2", "p2": "False", "p3": "a"}
    assert design_in(typed, space, mistakes) == {"value": 0.5, "n": 2, "stirred": False, "only": "a"}
    assert mistakes == {}
    assert design_in({**typed, "p0": "7", "p1": "1.5"}, space, mistakes) is None
    assert mistakes["p0"] == "7 is not from 0 to 1."
    assert "a whole number" in mistakes["p1"]


def test_a_list_without_ids_is_entered_by_its_values() -> None:
    pool = Pool([[1.0, 2.0], [2.0, 4.0]], ["a", "b"])
    mistakes: dict[str, str] = {}
    assert design_in({"p0": "2", "p1": "4"}, pool, mistakes) == {"a": 2.0, "b": 4.0}
    assert design_in({"p0": "2", "p1": "2"}, pool, mistakes) is None
    assert "not in the pool" in mistakes[""]


def test_costs_are_told_and_shown(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "costs")
    first = running(server, study, gain=0.5, expected_cost=3.0)
    page = visit.get(f"/studies/{study}").text
    assert "and to cost 3" in section(page, "next")
    assert "cost expected</a>" in section(page, "trials")
    server.services.study_service.log(study).tell(first, 1.0, cost=4.5)
    second = running(server, study)
    page = sent(visit, study, f"trials/{second}", what="tell", o0="2", cost="none").text
    assert f'id="cost-{second}"' in page
    assert "The cost is &#39;none&#39;: not a number." in page
    page = sent(visit, study, f"trials/{second}", what="fail", note="broke", cost="1.5").text
    assert "spent 6" in section(page, "trials")
    assert [trial.cost for trial in server.services.study_service.log(study).trials] == [4.5, 1.5]
    own = visit.get(f"/studies/{study}/trials/{second}").text
    assert 'name="cost" value="1.5"' in own
    assert '<td class="number">1.5</td>' in section(own, "history-title")
    answer = server.http.get(f"/api/studies/{study}").json()
    assert (answer["spent"], answer["spending"]) == (6.0, "Spent 6.")


def test_an_own_experiment_has_a_cost_and_a_note(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "own costs", cost={"of": "told", "unit": "hours"}, stop={"spend": 60.0})
    form = section(visit.get(f"/studies/{study}").text, "own")
    assert '<label for="own-cost">Cost (hours)' in form
    assert 'id="own-note"' in form
    page = sent(visit, study, "own", **TYPED, cost="-1", note="by hand").text
    assert "The cost is -1; it must be above 0." in page
    assert "by hand" in section(page, "own")
    sent(visit, study, "own", **TYPED, cost="2.5", note=" by hand ")
    (trial,) = server.services.study_service.log(study).trials
    assert (trial.value, trial.cost, trial.note, trial.origin) == (0.7, 2.5, "by hand", "attached")


def test_a_correction_on_the_page_can_delete_a_cost(server: Served, visit: httpx.Client) -> None:
    """An empty field deletes it; a form without that field leaves it alone."""
    study = begun(server, "deleted costs", cost={"of": "told"})
    number = running(server, study)
    sent(visit, study, f"trials/{number}", what="tell", o0="2", cost="4.5")
    log = server.services.study_service.log(study)
    for fields, cost in (({}, 4.5), ({"cost": ""}, None)):
        sent(visit, study, f"trials/{number}", what="correct", page="trial", o0="3", **fields)
        log.sync()
        assert log.trials[number].cost == cost


def test_no_field_for_costs_where_there_are_none(server: Served, visit: httpx.Client) -> None:
    study = begun(server, "no costs")
    running(server, study)
    page = visit.get(f"/studies/{study}").text
    assert 'name="cost"' not in page
    assert "spent" not in page
    assert server.http.get(f"/api/studies/{study}").json()["spending"] is None


def test_texts_are_sorted_as_texts_and_numbers_as_numbers() -> None:
    space = Space(solvent=["b", "a", "c"], loading=Levels([10.0, 2.0]))
    done = [
        Entry(Trial(i, {"solvent": solvent, "loading": loading}, State.COMPLETE, measured(0.0)), float(i), float(i))
        for i, (solvent, loading) in enumerate([("b", 10.0), ("a", 2.0), ("c", 10.0)])
    ]
    shown = trial_table(done, design_columns(space), Outcomes.of(None, space), TableQuery("p0", down=False))
    assert [row.number for row in shown.rows] == [1, 0, 2]
    assert (
        trial_table(done, design_columns(space), Outcomes.of(None, space), TableQuery("p1", down=False)).rows[0].number
        == 1
    )
    assert [(heading.title, heading.numeric) for heading in shown.columns[1:3]] == [
        ("solvent", False),
        ("loading", True),
    ]


def test_verdicts_with_options_are_compared() -> None:
    space = Space(
        ligand=["PPh3", "XPhos"],
        temperature=Real(0, 100, unit="°C"),
        size=Levels(["small", "large"]),
        pack=Choice([1, 2]),
    )
    here = {"ligand": "PPh3", "temperature": 50.0, "size": "small", "pack": 1, "mean": 1.0}
    there = {"ligand": "XPhos", "temperature": 50.1, "size": "small", "pack": 2, "mean": 2.0}
    assert [name for name in here if moved(name, there, here, space)] == ["ligand", "pack"]
    assert counterparts([there, here], [here, there], space) == [there, here]

    def said(rows: list[dict[str, Any]]) -> dict[str, Any]:
        known = {
            "expected_loss": 0.0,
            "std_error": 0.0,
            "decision": "",
            "observations": 3,
            "headline": "",
            "worth": "",
            "failed": 0,
        }
        return {"action": rows, **known}

    view = verdict_view(said([there]), said([here]), space, 3, {"temperature": "°C"}, str)
    assert [(column.title, column.numeric) for column in view.columns][:2] == [
        ("ligand", False),
        ("temperature (°C)", True),
    ]
    assert (view.rows[0][0].text, view.rows[0][0].was) == ("XPhos", "PPh3")
    assert view.rows[0][2].was == ""


def test_the_api_takes_and_gives_options(server: Served) -> None:
    study = begun(server, "api")
    answer = server.http.get(f"/api/studies/{study}").json()
    assert [value["name"] for value in answer["design"]] == list(DESIGN)
    assert answer["design"][0]["options"] == ["PPh3", "XPhos", "dppf"]
    number = {"kind": "real", "low": 30.0, "high": 110.0, "step": 5.0, "log": False, "options": None}
    assert answer["design"][2] == {"name": "temperature", "unit": "°C", **number}
    assert any("boils[solvent]" in line for line in answer["says"])
    rows = [{"params": DESIGN, "value": 1.0}]
    done = server.http.post(f"/api/studies/{study}/attach", json={"rows": rows})
    assert done.status_code == 201
    assert done.json()["trials"][0]["params"] == DESIGN
    wrong = server.http.post(
        f"/api/studies/{study}/attach", json={"rows": [{"params": {**DESIGN, "ligand": "XPhoz"}, "value": 1.0}]}
    )
    assert wrong.status_code == 422
    assert "did you mean XPhos?" in wrong.text


def test_the_client_takes_options_as_they_are(server: Served) -> None:
    begun(server, "remote")
    remote = RemoteStudy(server.url, "remote")
    trial = remote.attach({**DESIGN, "ligand": np.str_("XPhos"), "temperature": np.float32(85.0)}, 1.0)
    assert trial.params == DESIGN
    assert list(remote.trials.columns[:6]) == ["number", *DESIGN, "state"]
    assert remote.spent == 0.0
    with pytest.raises(InputError, match="did you mean XPhos"):
        remote.attach({**DESIGN, "ligand": "XPhoz"}, 1.0)
    with pytest.raises(InputError, match="ligand is b'XPhos'"):
        remote.attach({**DESIGN, "ligand": b"XPhos"}, 1.0)


def test_the_client_knows_the_parts_of_a_whole_by_their_names(server: Served) -> None:
    begun(server, "mixture", {"space": {"mix": {"type": "fractions", "names": ["A", "B"], "total": 100.0}}})
    remote = RemoteStudy(server.url, "mixture")
    remote.attach({"A": 30.0, "B": 70.0}, 1.0)
    assert list(remote.trials.columns[:3]) == ["number", "A", "B"]


def test_parts_that_do_not_add_up_are_said_of_the_whole_form(server: Served, visit: httpx.Client) -> None:
    study = begun(
        server, "parts", {"space": {"mix": {"type": "fractions", "names": ["A", "B"], "unit": "%", "total": 100.0}}}
    )
    page = sent(visit, study, "own", p0="30", p1="30", o0="1")
    assert page.status_code == 422
    assert 'role="alert"' in section(page.text, "own")
    assert sent(visit, study, "own", p0="30", p1="70", o0="1").status_code == 200


def test_a_study_whose_costs_are_told_asks_for_them(server: Served, visit: httpx.Client) -> None:
    told: dict[str, Any] = {"cost": {"of": "told", "unit": "hours"}, "stop": {"spend": 60.0}}
    study = begun(server, "hours", **told)
    first = running(server, study, gain=0.5, expected_cost=3.0)
    page = visit.get(f"/studies/{study}").text
    assert f'<label for="cost-{first}">Cost (hours)' in page
    assert "and to cost 3 hours." in section(page, "next")
    page = sent(visit, study, f"trials/{first}", what="tell", o0="2", cost="4.5").text
    assert "spent 4.5 of 60 hours" in section(page, "trials")
    assert "Spent 4.5 of 60 hours." in section(page, "verdict")
    assert "once 60 hours are spent" in section(page, "made")
    assert "Each result comes with its cost in hours" in section(page, "made")
    assert ">cost (hours)</th>" in visit.get(f"/studies/{study}/trials/{first}").text
    assert server.http.get(f"/api/studies/{study}").json()["spending"] == "Spent 4.5 of 60 hours."


def test_what_may_be_decided_is_said(server: Served, visit: httpx.Client) -> None:
    words: dict[str, Any] = {
        "space": {
            "x": {"type": "real", "low": 0.0, "high": 1.0},
            "fidelity": {"type": "levels", "values": [0.2, 1.0]},
        },
        "decide_on": {"values": {"fidelity": 1.0}},
        "cost": {"of": "1 if fidelity < 1 else 20", "price": 0.5},
    }
    made = section(visit.get(f"/studies/{begun(server, 'fidelity', words)}").text, "made")
    assert "The recommendation has fidelity 1." in made
    assert "The cost of an experiment: 1 if fidelity &lt; 1 else 20." in made
    assert "gain minus 0.5 times cost" in made
