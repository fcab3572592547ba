"""Outcomes by name on a server: the API, the client and the forms of the page."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import hentropy as he
from hentropy.errors import InputError, StudyError
from hentropy.views.client import RemoteStudy
from hentropy.views.server.pages.forms import Mistaken, outcome_fields, result_in
from hentropy.views.server.settings import Settings
from support.serving import Served, emptied, served
from support.waiting import PATIENCE

PARTS: dict[str, Any] = {
    "outcomes": {
        "yield": {"unit": "%", "noise": 0.5, "low": 0, "high": 100},
        "impurity": {"unit": "%", "tails": "heavy"},
        "price": {"computed": "2 * x + 3", "unit": "€"},
    },
    "decision": {"name": "best_observed", "outcome": "yield", "subject_to": ["impurity <= 3"]},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(Settings(f"sqlite:///{tmp_path_factory.mktemp('store') / 'lab.db'}")) as it:
        yield it


@pytest.fixture
def lab(server: Served) -> Iterator[Served]:
    server.create(**PARTS)
    yield server
    emptied(server)


def study_id(lab: Served) -> int:
    [found] = lab.http.get("/api/studies").json()["studies"]
    return int(found["id"])


def test_the_client_tells_outcomes_by_name_as_a_study_does(lab: Served) -> None:
    far = RemoteStudy(lab.url, "lab")
    trial = far.ask()
    told = far.tell(trial, {"impurity": (2.3, 0.2)})
    assert told.measurements == {"impurity": he.Measurement(2.3, 0.2)}
    assert far.tell(trial, {"yield": 80.1, "impurity": None}).measurements["yield"] == he.Measurement(80.1)
    with pytest.raises(StudyError, match=r"already has a result: yield 80\.1"):
        far.tell(trial, {"yield": 81})
    with pytest.raises(InputError, match="did you mean yield"):
        far.tell(trial, {"yeild": 81})
    with pytest.raises(InputError, match="does not say which outcome"):
        far.tell(trial, 81.0)
    with pytest.raises(InputError, match="the value told for yield is 'x'"):
        far.tell(trial, {"yield": "x"})
    far.attach({"x": 1.0}, {"yield": 50.0, "impurity": 1.0})
    with pytest.raises(InputError, match="price is computed"):
        far.attach({"x": 2.0}, {"price": 7.0})
    assert list(far.trials.columns[:6]) == ["number", "x", "state", "yield", "yield_se", "impurity"]
    verdict = far.decide()
    assert {"yield", "yield sd", "impurity", "limits hold"} <= set(verdict.action[0])
    same = he.load_study("lab", lab.services.store)
    assert same.records == far.records
    assert same.decide().action == verdict.action


def test_the_api_says_what_is_measured(lab: Served) -> None:
    path = f"/api/studies/{study_id(lab)}"
    known = lab.http.get(path).json()
    plain = {"unit": "%", "kind": "number", "log": False, "grades": []}
    unstated = dict.fromkeys(("noise", "low", "high", "tails"))
    assert known["outcomes"] == [
        {"name": "yield", **plain, "computed": None, "noise": 0.5, "low": 0.0, "high": 100.0, "tails": None},
        {"name": "impurity", **plain, "computed": None, **unstated, "tails": "heavy"},
        {"name": "price", **plain, "unit": "€", "kind": "computed", "computed": "2 * x + 3", **unstated},
    ]
    assert "Experiments measure yield in % (from 0 to 100) and impurity in %." in known["says"]
    assert "The yield of a repeated experiment differs by about 0.5 % (standard deviation)." in known["says"]
    heavy = "The impurity may be grossly wrong now and then: what other results contradict counts for little."
    assert heavy in known["says"]
    refused = lab.http.post(f"{path}/attach", json={"rows": [{"params": {"x": 0.5}, "measurements": {"yield": 101}}]})
    assert refused.status_code == 422
    assert "above 100, the greatest that it can be" in refused.text
    rows = [{"params": {"x": 0.5}, "measurements": {"yield": 50, "impurity": {"value": 2.0, "std_error": 0.1}}}]
    attached = lab.http.post(f"{path}/attach", json={"rows": rows})
    assert attached.status_code == 201
    assert attached.json()["trials"][0]["measurements"] == {
        "yield": {"value": 50.0, "std_error": None},
        "impurity": {"value": 2.0, "std_error": 0.1},
    }
    text = "x,yield,impurity,impurity_se\n1,51,,\n2,,3,0.5\n"
    csv = lab.http.post(f"{path}/attach.csv", content=text, headers={"Content-Type": "text/csv"})
    assert [sorted(trial["measurements"]) for trial in csv.json()["trials"]] == [["yield"], ["impurity"]]
    export = lab.http.get(f"{path}/export.csv").text.splitlines()
    assert export[0].startswith("number,x,state,yield,yield_se,impurity,impurity_se,price,gain")
    assert export[1].startswith("0,0.5,complete,50.0,,2.0,0.1,4.0,")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"value": 1.0},
        {"measurements": {}},
        {"measurements": {"yeild": 1.0}},
        {"measurements": {"price": 1.0}},
        {"measurements": {"yield": "1"}},
        {"measurements": {"yield": [1.0, 2.0]}},
        {"measurements": {"yield": {"value": 1.0, "std_error": -1.0}}},
        {"measurements": {"yield": {"std_error": 1.0}}},
        {"measurements": {"yield": 1.0}, "value": 1.0},
        {"measurements": {"yield": 1.0}, "std_error": 1.0},
        {"measurements": {"yield": None}},
        {"measurements": [1.0]},
    ],
)
def test_the_api_refuses_what_makes_no_sense(lab: Served, body: dict[str, Any]) -> None:
    path = f"/api/studies/{study_id(lab)}"
    lab.services.study_service.log(study_id(lab)).attach([({"x": 0.5}, {"impurity": 1.0})])
    answer = lab.http.post(f"{path}/trials/0/tell", json={**body, "replace": True})
    if body == {"measurements": {"yield": None}}:  # nothing changes
        assert answer.status_code == 200
    else:
        assert answer.status_code == 422, answer.text
    assert lab.http.get(f"{path}/trials/0").json()["trial"]["measurements"] == {
        "impurity": {"value": 1.0, "std_error": None}
    }


def sent(visit: httpx.Client, at: str, form: str, **typed: str) -> httpx.Response:
    begun = re.search(r'name="begun" value="([^"]+)"', visit.get(at).text)
    assert begun is not None
    return visit.post(f"{at}/{form}", data={"begun": begun[1], **typed}, headers={"Origin": str(visit.base_url)})


def test_forms_have_a_field_for_each_outcome(lab: Served) -> None:
    study = study_id(lab)
    page = f"/studies/{study}"
    RemoteStudy(lab.url, "lab").ask_many(2)
    with httpx.Client(base_url=lab.url, trust_env=False, follow_redirects=True, timeout=PATIENCE) as visit:
        shown = visit.get(page).text
        for label in ("Yield (%)", "Standard error of yield", "Impurity (%)"):
            assert f">{label}" in shown
        assert "Price (€)" not in shown
        assert "x, yield, impurity, and yield_se and impurity_se for standard errors" in shown
        nothing = sent(visit, page, "trials/0", what="tell")
        assert nothing.status_code == 422
        assert "Enter at least one result." in nothing.text
        wrong = sent(visit, page, "trials/0", what="tell", o0="80,1", o1="2.3")
        assert wrong.status_code == 422
        assert 'value="80,1"' in wrong.text
        assert "a decimal comma" in wrong.text
        assert sent(visit, page, "trials/0", what="tell", o1="2.3", o1_se="0.2").status_code == 200
        corrected = sent(visit, page, "trials/0", what="correct", page="trial", o0="80.1", o1="2.4")
        assert corrected.status_code == 200
        assert "80.1 %" in corrected.text
        assert "price" in corrected.text
        own = sent(visit, page, "own", p0="1.5", o0="40", o0_se="1")
        assert own.status_code == 200
        table = visit.get(f"{page}?sort=o1&way=up").text
        for title in ("yield (%)", "impurity (%)", "price (€)"):
            assert title in table
    records = he.load_study("lab", lab.services.store).records
    assert records[0].measurements == {"yield": he.Measurement(80.1), "impurity": he.Measurement(2.4)}
    assert records[2].measurements == {"yield": he.Measurement(40.0, 1.0)}


def test_a_form_says_all_mistakes_at_once(lab: Served) -> None:
    outcomes = he.load_study("lab", lab.services.store).outcomes
    assert [field.key for field in outcome_fields(outcomes).values()] == ["o0", "o1"]
    with pytest.raises(Mistaken) as caught:
        result_in({"o0_se": "1", "o1": "x"}, outcomes)
    assert caught.value.form.mistakes == {
        "o0": "Enter the value of yield as well.",
        "o1": "The value of impurity is 'x': not a number.",
    }
    assert result_in({"o1": "2"}, outcomes).values == {"yield": None, "impurity": 2.0}


ASSAYED: dict[str, Any] = {
    **PARTS,
    "assays": {
        "titration": {"measures": ["impurity"], "cost": 1},
        "full": {"measures": ["yield", "impurity"], "cost": 5},
    },
}


@pytest.fixture
def assayed(server: Served) -> Iterator[Served]:
    server.create(**ASSAYED)
    yield server
    emptied(server)


def test_the_client_asks_for_an_assay(assayed: Served) -> None:
    far = RemoteStudy(assayed.url, "lab")
    first, quick = far.ask(), far.ask(measures=["impurity"])
    assert (first.measures, quick.measures) == (("yield", "impurity"), ("impurity",))
    assert (first.expected_cost, quick.expected_cost) == (5.0, 1.0)
    assert far.records == (first, quick)
    assert set(far.tell(quick, {"impurity": 2.0, "yield": 60.0}).measurements) == {"impurity", "yield"}
    with pytest.raises(InputError, match="no assay measures just yield"):
        far.ask(measures="yield")
    said = assayed.http.get(f"/api/studies/{study_id(assayed)}").json()
    assert said["definition"]["assays"]["full"] == {"measures": ["yield", "impurity"], "cost": 5.0}
    assert any("An experiment runs one assay: titration (impurity) for 1 or full" in line for line in said["says"])


def test_a_form_has_the_fields_that_are_to_be_measured(assayed: Served) -> None:
    trial = RemoteStudy(assayed.url, "lab").ask(measures="titration")
    page = assayed.http.get(f"/studies/{study_id(assayed)}").text
    assert "Measure impurity (titration)." in page
    assert f'id="o1-{trial.number}"' in page
    assert f'id="o0-{trial.number}"' not in page
    assert re.search(r'<select id="measures".*?<option value="titration"', page, re.DOTALL)
    own = assayed.http.get(f"/studies/{study_id(assayed)}/trials/{trial.number}").text
    assert 'id="o1"' in own
    assert 'id="o0"' not in own
    RemoteStudy(assayed.url, "lab").tell(trial, {"impurity": 2.0})
    correct = assayed.http.get(f"/studies/{study_id(assayed)}/trials/{trial.number}").text
    assert 'id="o0"' in correct  # what was not asked for may be told as well
