"""The form *New study*: a study from nothing, without a terminal and without scripts; mistakes at their fields."""

import re
from typing import Any

import httpx
import pytest

from hentropy.studies.definition import CHOICES, validated
from hentropy.studies.definition.decisions import DECISIONS
from hentropy.studies.definition.designs import PARAMETERS
from hentropy.views.server.pages.new_rows import GROUPS, PARAMETER_KINDS
from support.serving import Served, emptied
from support.visiting import entries, unlabelled

NUMBER = {"p0_name": "x", "p0_low": "0", "p0_high": "4"}
"""The parameter that an untouched form has room for, filled in."""


@pytest.fixture(autouse=True)
def _empty(server: Served) -> None:
    emptied(server)


def pressed(visit: httpx.Client, page: str, what: str, **typed: str) -> httpx.Response:
    """The page after somebody typed into the form of a page and pressed a button of it."""
    assert f'value="{what}"' in page, what
    return visit.post("/new", data={**entries(page), **typed, "what": what})


def filled(visit: httpx.Client, *buttons: str, **typed: str) -> httpx.Response:
    """The page after some rows were added to an untouched form, all was typed, and the study is to be made."""
    page = visit.get("/new").text
    for button in buttons:
        page = pressed(visit, page, button).text
    return pressed(visit, page, "make", **{"name": "bread", **typed})


def definition(server: Served, answer: httpx.Response) -> dict[str, Any]:
    """The definition of the study whose page an answer shows."""
    assert answer.status_code == 200, mistakes(answer)
    assert "The study is made." in answer.text
    [study] = server.services.store.studies()
    assert answer.url.path == f"/studies/{study.id}"
    assert study.definition["objective"]["type"] == "manual"
    return dict(study.definition)


def mistakes(answer: httpx.Response) -> dict[str, str]:
    """What is said to be wrong, by field; of a whole part by nothing."""
    found = re.findall(r'<p class="mistake" (?:id="([^"]*)-mistake"|role="alert")>([^<]*)</p>', answer.text)
    return {key: text.replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">") for key, text in found}


def test_an_empty_store_leads_to_the_form(server: Served, visit: httpx.Client) -> None:
    assert 'href="/new"' in visit.get("/").text
    server.create()
    assert 'href="/new"' in visit.get("/").text


@pytest.mark.parametrize(
    ("typed", "noise"),
    [("", None), ("I do not know", None), ("not at all", 0.0), ("0", 0.0), ("about 0.5 %", 0.5), ("0.5", 0.5)],
)
def test_everybody_is_asked_by_how_much_results_differ(
    server: Served, visit: httpx.Client, typed: str, noise: float | None
) -> None:
    assert "If you repeat an experiment, by how much does the result differ?" in visit.get("/new").text
    answer = filled(visit, **NUMBER, o0_noise=typed, o0_low="0", o0_high="100")
    [one] = definition(server, answer)["outcomes"].values()
    assert (one["noise"], one["low"], one["high"]) == (noise, 0.0, 100.0)
    assert ("The value of a repeated experiment" in answer.text) is (noise is not None)


@pytest.mark.parametrize(("checked", "tails"), [({}, None), ({"o0_tails": "on"}, "heavy")])
def test_heavy_tails_are_a_box(server: Served, visit: httpx.Client, checked: dict[str, str], tails: str | None) -> None:
    answer = filled(visit, **NUMBER, **checked)
    known = definition(server, answer)["outcomes"]
    assert [one["tails"] for one in known.values()] == ([] if tails is None else [tails])
    assert ("The value may be grossly wrong" in answer.text) is bool(checked)


def test_every_kind_of_parameter_that_a_file_knows_has_a_button() -> None:
    assert set(PARAMETER_KINDS) == set(PARAMETERS)


KINDS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "real": (
        {"low": "0.01", "high": "10", "unit": "mol/L", "log": "yes"},
        {"type": "real", "low": 0.01, "high": 10.0, "unit": "mol/L", "log": True},
    ),
    "integer": (
        {"low": "5", "high": "60", "step": "5", "unit": "min"},
        {"type": "integer", "low": 5, "high": 60, "step": 5, "unit": "min"},
    ),
    "choice": (
        {"options": "1,4-dioxane\r\nTHF\r\n2"},
        {"type": "choice", "options": ["1,4-dioxane", "THF", 2]},
    ),
    "levels": (
        {"values": "0.5, 1, 2", "unit": "mol%", "log": "yes"},
        {"type": "levels", "values": [0.5, 1, 2], "unit": "mol%", "log": True},
    ),
    "fractions": (
        {"names": "A, B, C", "total": "100", "unit": "%", "at_most": "2"},
        {"type": "fractions", "names": ["A", "B", "C"], "total": 100.0, "unit": "%", "at_most": 2},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_parameter_of_each_kind(server: Served, visit: httpx.Client, kind: str) -> None:
    typed, words = KINDS[kind]
    second = {f"p1_{key}": text for key, text in {"name": "y", **typed}.items()}
    made = definition(server, filled(visit, f"add:p:{kind}", **NUMBER, **second))
    wanted = {"version": 1, "name": "w", "space": {"y": words}, "decision": {"name": "maximize"}}
    assert list(made["space"]) == ["x", "y"]
    found = validated({**wanted, "space": {"y": made["space"]["y"]}}, "made")
    assert repr(found.designs()) == repr(validated(wanted, "wanted").designs())


def test_conditions_tables_plates_outcomes_limits_and_costs(server: Served, visit: httpx.Client) -> None:
    answer = filled(
        visit,
        "add:p:choice",
        "add:o:number",
        "add:o:grades",
        "add:o:yes-no",
        "add:o:computed",
        p0_name="temperature",
        p0_low="20",
        p0_high="120",
        p0_unit="°C",
        p1_name="solvent",
        p1_options="THF, water",
        where="temperature <= boils[solvent]\r\ntemperature >= 25\r\n",
        tables="boils=THF:66,water:100",
        same="temperature",
        o0_name="yield",
        o0_unit="%",
        o1_name="impurity",
        o1_unit="%",
        o1_log="yes",
        o2_name="colour",
        o2_grades="brown, yellow, white",
        o2_at_least="yellow",
        o3_name="crystal",
        o4_name="price",
        o4_computed="2 * temperature",
        o4_unit="EUR",
        d_subject_to="impurity <= 3\r\ncrystal >= 0.8",
        d_fallback="10",
        trials="12",
        cost_of="told",
        cost_unit="hours",
        spend="60",
    )
    made = definition(server, answer)
    assert made["where"] == ["temperature <= boils[solvent]", "temperature >= 25"]
    assert made["tables"] == {"boils": {"THF": 66.0, "water": 100.0}}
    assert made["same_in_batch"] == ["temperature"]
    assert list(made["outcomes"]) == ["yield", "impurity", "colour", "crystal", "price"]
    assert (made["outcomes"]["impurity"]["log"], made["outcomes"]["colour"]["at_least"]) == (True, "yellow")
    assert made["decision"] == {
        "name": "maximize",
        "outcome": "yield",
        "subject_to": ["impurity <= 3", "crystal >= 0.8"],
        "fallback": 10.0,
        "among": None,
    }
    assert (made["stop"]["trials"], made["stop"]["spend"]) == (12, 60.0)
    assert (made["cost"]["of"], made["cost"]["unit"]) == ("told", "hours")


def test_candidates_are_pasted_from_a_spreadsheet(server: Served, visit: httpx.Client) -> None:
    table = "sample\tmetal\tdoping\r\nA-1\tAl\t0.01\r\nA-2\tCo\t0.05\r\n"
    made = definition(server, filled(visit, table=table, id="sample"))
    assert made["pool"]["id"] == "sample"
    assert made["pool"]["rows"] == [["A-1", "Al", 0.01], ["A-2", "Co", 0.05]]
    emptied(server)
    both = filled(visit, table=table, **NUMBER)
    assert mistakes(both) == {"table": "Give parameters, or a table of candidates, and not both."}
    wrong = filled(visit, table="a,b\r\n1,2\r\n3\r\n")
    assert mistakes(wrong) == {"table": "The table, line 3: 1 values for 2 columns (a, b)."}


SETTINGS: dict[str, dict[str, str]] = {
    "top_k": {"d_k": "3", "d_cap": "0.5", "d_largest": "no"},
    "level_sets": {"d_thresholds": "1 2", "d_relation": "misclassification"},
    "sequence": {"d_targets": "1, 2"},
    "pareto": {"d_outcomes": "yield max, impurity min"},
    "target": {"d_targets": "yield 70 to 80, impurity <= 3"},
    "improve": {"d_threshold": "5", "d_above": "no"},
}
WANTED: dict[str, dict[str, Any]] = {
    "top_k": {"k": 3, "cap": 0.5, "weight": 2.5, "largest": False},
    "level_sets": {"thresholds": [1.0, 2.0], "relation": "misclassification"},
    "sequence": {"targets": [1.0, 2.0]},
    "pareto": {"k": 5, "outcomes": {"yield": "max", "impurity": "min"}},
    "target": {"targets": {"yield": [70.0, 80.0], "impurity": "<= 3"}},
    "improve": {"threshold": 5.0, "above": False},
}


@pytest.mark.parametrize("decision", [goal.decision for goal in CHOICES])
def test_every_goal_has_its_settings(server: Served, visit: httpx.Client, decision: str) -> None:
    several = decision in ("pareto", "target")
    page = visit.get("/new").text
    page = pressed(visit, page, "add:o:number").text if several else page
    page = pressed(visit, page, "goal", name="bread", goal=decision, **NUMBER).text
    goal = next(goal for goal in CHOICES if goal.decision == decision)
    assert {f"d_{ask.option}" for ask in goal.asks} <= set(entries(page))
    assert entries(page)["p0_high"] == "4"
    needed = {f"d_{ask.option}": ask.wanted for ask in goal.asks if ask.needed}
    names = {"o0_name": "yield", "o1_name": "impurity"} if several else {}
    if needed:
        missing = pressed(visit, page, "make", **names)
        assert {key: text.rstrip(".").lower() for key, text in mistakes(missing).items()} == needed
    made = definition(server, pressed(visit, page, "make", **names, **SETTINGS.get(decision, {})))["decision"]
    made_words = DECISIONS[decision].model_validate(made).model_dump(mode="json")
    assert made_words.items() >= {"name": decision, **WANTED.get(decision, {})}.items()


def test_the_settings_of_another_goal_are_seen_before_a_study_is_made(server: Served, visit: httpx.Client) -> None:
    first = filled(visit, goal="top_k", **NUMBER)
    assert first.status_code == 422
    assert "Look at the settings of this goal below" in first.text
    assert {"d_k", "d_cap", "d_weight", "d_largest"} <= set(entries(first.text))
    assert "If left empty: 0.4." in first.text  # a tenth of the range
    scaled = pressed(visit, first.text, "goal", d_scaled="yes")
    assert "If left empty: 0.1." in scaled.text
    made = definition(server, pressed(visit, first.text, "make", d_k="2"))["decision"]
    assert (made["k"], made["cap"], made["weight"], made.get("scaled", False)) == (2, 0.4, 2.5, False)


TWO = ("add:p:real",)
WRONG: tuple[tuple[tuple[str, ...], dict[str, str], str, str], ...] = (
    ((), {"name": ""}, "name", "The name is empty."),
    ((), {"name": "-v"}, "name", "starts with a dash"),
    ((), {"p0_name": ""}, "p0_name", "Give it a name."),
    ((), {"p0_name": "where"}, "p0_name", "A parameter cannot be called where"),
    ((), {"p0_low": ""}, "p0_low", "Lowest value is empty."),
    ((), {"p0_low": "0,5"}, "p0_low", "a decimal comma; write numbers with a point."),
    ((), {"p0_high": "much"}, "p0_high", "Highest value is 'much': not a number."),
    ((), {"p0_high": "-1"}, "p0_low", "The lower bound 0.0 must be below the upper bound -1.0; swap"),
    ((), {"p0_log": "yes"}, "p0_low", "lower bound above 0"),
    ((), {"p0_step": "3"}, "p0_low", "not a whole number of steps"),
    (TWO, {"p1_name": "x", "p1_low": "0", "p1_high": "1"}, "p1_name", "There is another one with the name x"),
    (("add:p:integer",), {"p1_name": "n", "p1_low": "1.5", "p1_high": "8"}, "p1_low", "not a whole number."),
    (("add:p:choice",), {"p1_name": "c", "p1_options": ""}, "p1_options", "Options: give at least one."),
    (("add:p:choice",), {"p1_name": "c", "p1_options": "THF, THF"}, "p1_options", "got THF twice"),
    (("add:p:levels",), {"p1_name": "l", "p1_values": "3, 1, 3"}, "p1_values", "The levels"),
    (("add:p:fractions",), {"p1_name": "m", "p1_names": "A, B", "p1_total": "-1"}, "p1_total", "it must be above 0."),
    (("add:p:fractions",), {"p1_name": "m", "p1_names": "x, B"}, "", "x"),
    ((), {"where": "y < 1"}, "where", "there is no parameter y"),
    ((), {"where": "x > 9"}, "where", "x > 9"),
    ((), {"tables": "boils=THF"}, "tables", "Write it as NAME=OPTION:NUMBER"),
    ((), {"same": "y"}, "same", "y"),
    (("add:o:number",), {"o0_name": "yield"}, "o1_name", "Give it a name."),
    (("add:o:number",), {"o0_name": "yield", "o1_name": "yield"}, "o1_name", "There is another one"),
    (("add:o:grades",), {"o0_name": "a", "o1_name": "g", "o1_grades": "one"}, "o1_grades", "2 to 20 different grades"),
    (("add:o:computed",), {"o0_name": "a", "o1_name": "c", "o1_computed": "2 * y"}, "", "y"),
    ((), {"o0_noise": "a lot"}, "o0_noise", "'a lot' is not an answer; give a number, such as 0.5, 0 for not at all"),
    ((), {"o0_low": "5", "o0_high": "1"}, "o0_low", "Low must be below high, got 5 and 1."),
    ((), {"o0_unit": "%", "o0_high": "0", "o0_log": "yes"}, "o0_high", "An outcome with log is above 0"),
    ((), {"d_subject_to": "impurity = 3"}, "d_subject_to", "impurity = 3"),
    ((), {"d_subject_to": "impurity <= 3"}, "d_subject_to", "There is no outcome impurity; add it"),
    ((), {"trials": "0"}, "trials", "it must be at least 1."),
    ((), {"trials": "many"}, "trials", "The number of experiments is 'many': not a whole number."),
    ((), {"cost_of": "2 * y"}, "cost_of", "y"),
    ((), {"spend": "60"}, "spend", "need to know what experiments cost"),
)


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_mistake_stands_at_its_field_and_what_was_typed_stays(
    server: Served, visit: httpx.Client, number: int
) -> None:
    buttons, typed, key, said = WRONG[number]
    sent = {"name": "bread", **NUMBER, **typed}
    answer = filled(visit, *buttons, **sent)
    assert answer.status_code == 422
    assert said in mistakes(answer)[key], mistakes(answer)
    assert len(mistakes(answer)) == 1
    shown = entries(answer.text)
    assert {name: shown.get(name) for name in sent} == sent
    assert unlabelled(answer.text) == []
    if key:
        assert re.search(rf'id="{key}"[^>]* autofocus[^>]* aria-invalid="true"', answer.text)
    assert server.services.store.studies() == ()


def test_all_mistakes_are_said_at_once(visit: httpx.Client) -> None:
    answer = filled(visit, "add:p:integer", name="", p0_low="a", p1_name="n", p1_low="1", trials="x")
    assert set(mistakes(answer)) == {"name", "p0_name", "p0_low", "p0_high", "p1_high", "trials"}


def test_rows_come_and_go_and_keep_what_was_typed(visit: httpx.Client) -> None:
    page = pressed(visit, visit.get("/new").text, "add:p:choice", p0_name="a", p0_low="1", where="a > 2").text
    page = pressed(visit, page, "add:p:fractions", p1_name="b", p1_options="u, v").text
    assert 'id="p2_name" name="p2_name" value="" autocomplete="off" autofocus' in page
    page = pressed(visit, page, "remove:p0", p2_name="c").text
    shown = entries(page)
    assert [(shown[f"p{i}_kind"], shown[f"p{i}_name"]) for i in range(2)] == [("choice", "b"), ("fractions", "c")]
    assert (shown["p0_options"], shown["where"]) == ("u, v", "a > 2")
    assert "p2_kind" not in shown
    for _ in range(2):
        page = pressed(visit, page, "remove:p0").text
    assert mistakes(pressed(visit, page, "make", name="n")) == {
        "": "Add at least one parameter, or give a table of candidates."
    }


def test_there_is_an_end_to_rows(visit: httpx.Client) -> None:
    most = GROUPS["p"][1]
    many = {f"p{i}_kind": "real" for i in range(most + 7)}
    answer = visit.post("/new", data={**many, "what": "add:p:real"})
    assert len([key for key in entries(answer.text) if re.fullmatch(r"p\d+_kind", key)]) == most
    assert 'value="add:p:real"' not in answer.text


def test_what_the_study_would_do_is_said_first(server: Served, visit: httpx.Client) -> None:
    page = pressed(visit, visit.get("/new").text, "check", name="bread", **NUMBER)
    assert page.status_code == 200
    assert "In the end you will have one design with the highest value." in page.text
    assert "hentropy tell" not in page.text
    assert server.services.store.studies() == ()
    definition(server, pressed(visit, page.text, "make"))


def test_a_name_that_is_taken_is_said_at_the_name(server: Served, visit: httpx.Client) -> None:
    server.create(name="bread")
    answer = filled(visit, **NUMBER)
    assert answer.status_code == 409
    assert "There is already a study 'bread'; give this one another name." in mistakes(answer)["name"]
    assert entries(answer.text)["p0_high"] == "4"


def test_a_form_that_is_sent_twice_makes_one_study(server: Served, visit: httpx.Client) -> None:
    form = {**entries(visit.get("/new").text), "name": "bread", **NUMBER, "what": "make"}
    assert visit.post("/new", data=form).url == visit.post("/new", data=form).url
    assert len(server.services.store.studies()) == 1


def test_a_form_that_is_changed_after_going_back_makes_another_study(server: Served, visit: httpx.Client) -> None:
    form = {**entries(visit.get("/new").text), "name": "bread", **NUMBER, "what": "make"}
    first = visit.post("/new", data=form)
    second = visit.post("/new", data={**form, "name": "cake", "p0_high": "9"})
    assert first.url.path != second.url.path
    assert {study.name for study in server.services.store.studies()} == {"bread", "cake"}


@pytest.mark.parametrize("key", ["p007_kind", "p\u0663_kind", "o00_kind"])
def test_rows_with_odd_numbers_are_no_rows(server: Served, visit: httpx.Client, key: str) -> None:
    made = definition(server, filled(visit, **NUMBER, **{key: "real"}))
    assert set(made["space"]) == {"x"}


def test_more_rows_than_a_form_takes_are_said(server: Served, visit: httpx.Client) -> None:
    many = {f"p{i}_{key}": text for i in range(60) for key, text in (("kind", "real"), ("name", f"x{i}"))}
    answer = filled(visit, **{**NUMBER, **many})
    assert answer.status_code == 422
    assert "There are 60 parameters; a form takes 50, a study file more." in answer.text
    assert server.services.store.studies() == ()


@pytest.mark.parametrize(
    "forged",
    [
        {"objective": "command", "command": "rm"},
        {"p0_kind": "python", "p1_kind": "real", "p1_name": "x", "p1_low": "0", "p1_high": "1"},
        {"goal": "own", "python": "os:system"},
        {"storage": "sqlite:///other.db", "model": "os:system"},
    ],
)
def test_nothing_in_the_form_runs_code(server: Served, visit: httpx.Client, forged: dict[str, str]) -> None:
    made = definition(server, filled(visit, **NUMBER, **forged))
    assert set(made["space"]) == {"x"}
    assert made["decision"]["name"] == "maximize"
    assert made["model"]["python"] is None
    assert "storage" not in made or made["storage"]["url"] is None


def test_texts_are_texts(visit: httpx.Client) -> None:
    answer = filled(visit, name="<b>", p0_name='"><script>', p0_low="<i>")
    assert "<script>" not in answer.text
    assert "<i>" not in answer.text
    assert entries(answer.text)["p0_name"] == '"><script>'
