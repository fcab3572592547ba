"""MCP: agents read verdicts, gains and pictures, and write only if they may; the package's own client talks to it."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ImageContent, TextContent

import hentropy as he
from hentropy.adapters.mcp import make_server
from hentropy.studies.storage import Store, open_store
from support.commands import refused

READING = {"list_studies", "state", "trial", "verdict", "worth", "why", "what_if", "predict", "picture"}
WRITING = {"ask", "tell", "fail", "withdraw", "attach"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with the study "lab": four values of a parabola, and one experiment that runs."""
    kept = open_store(f"sqlite:///{tmp_path / 'lab.db'}")
    space = he.Space(x=he.Real(0.0, 1.0, unit="g"))
    study = he.Study(space, he.Maximize(), noise=0, first=4, hyperparameters="map", storage=kept, name="lab")
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, -((trial.params["x"] - 0.6) ** 2))
    study.ask()
    return kept


def calls(server: Any, *wanted: tuple[str, dict[str, Any]]) -> list[Any]:
    """What tools answered: plain values, or the text of an error."""

    async def run() -> list[Any]:
        found = []
        async with Client(server) as client:
            for name, arguments in wanted:
                answer = await client.call_tool(name, arguments)
                texts = [part.text for part in answer.content if isinstance(part, TextContent)]
                if answer.is_error:
                    found.append(" ".join(texts))
                elif answer.structured_content is None:
                    found.append(answer.content)
                else:
                    found.append(answer.structured_content.get("result", answer.structured_content))
        return found

    return anyio.run(run)


def names(server: Any) -> set[str]:
    async def run() -> set[str]:
        async with Client(server) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    return anyio.run(run)


def test_agents_read_and_the_store_stays_as_it_is(store: Store) -> None:
    server = make_server(store)
    assert names(server) == READING
    record = store.find("lab")
    assert record is not None
    before = (store.news(record), store.verdicts(record))
    listed, state, verdict, worth, why, if_so, trial = calls(
        server,
        ("list_studies", {}),
        ("state", {"study": "lab", "last": 1}),
        ("verdict", {"study": "lab"}),
        ("worth", {"study": "lab", "price": 1e6}),
        ("why", {"study": "lab"}),
        ("what_if", {"study": "lab", "params": {"x": 0.1}, "measurements": 5.0}),
        ("trial", {"study": "lab", "number": 0}),
    )
    assert (store.news(record), store.verdicts(record)) == before
    assert [(one["name"], one["trials"]["complete"]) for one in listed] == [("lab", 4)]
    assert [(one["name"], one["kind"], one["noise"]) for one in state["outcomes"]] == [("value", "number", 0)]
    assert state["measured"] == ["Experiments measure value.", "The value of a repeated experiment is the same."]
    assert (len(state["last_trials"]), len(state["running"]), state["parameters"][0]["unit"]) == (1, 1, "g")
    expected = he.load_study("lab", store).decide()
    assert verdict["expected_loss"] == pytest.approx(expected.expected_loss, rel=1e-6)
    assert verdict["action"][0]["x"] == pytest.approx(expected.action[0]["x"], rel=1e-6)
    assert expected.comparison is not None
    assert verdict["comparison"]["trials"] == list(expected.comparison.trials)
    assert verdict["comparison"]["sentence"].split(" ")[0] in ("Measured", "Never")
    assert (worth["worth_it"], worth["running_as_trial"], worth["gain"] >= 0) == (False, 4, True)
    assert "trial 4" in why["sentence"].lower()
    assert len(why["after_outcomes"]) == 3
    assert why["now"]["action"] == verdict["action"]
    assert if_so["then"]["action"][0]["x"] == pytest.approx(0.1, abs=0.05)
    assert if_so["change_of_expected_loss"] < -4
    assert len(trial["history"]) == 1


def test_a_picture_is_an_image_with_its_caption(store: Store) -> None:
    [content] = calls(make_server(store), ("picture", {"study": "lab", "what": "progress"}))
    text, image = content
    assert isinstance(text, TextContent)
    assert isinstance(image, ImageContent)
    assert (image.mime_type, image.data[:8]) == ("image/png", "iVBORw0K")


def test_agents_that_may_write_ask_tell_and_attach(store: Store) -> None:
    server = make_server(store, write=True)
    assert names(server) == READING | WRITING
    asked, told, again, attached, failed, taken = calls(
        server,
        ("ask", {"study": "lab", "count": 2}),
        ("tell", {"study": "lab", "number": 4, "measurements": [0.5, 0.1], "note": "by an agent"}),
        ("tell", {"study": "lab", "number": 4, "measurements": 0.7}),
        ("attach", {"study": "lab", "params": {"x": 0.3}, "measurements": {"value": 0.2}}),
        ("fail", {"study": "lab", "number": 5, "why": "spilt"}),
        ("withdraw", {"study": "lab", "number": 6}),
    )
    assert [one["number"] for one in asked["trials"]] == [5, 6]
    assert told["measurements"] == {"value": {"value": 0.5, "std_error": 0.1}}
    assert "call tell with replace=true" in again
    assert (attached["origin"], failed["state"], taken["state"]) == ("attached", "failed", "withdrawn")


def test_what_an_answer_says_can_be_sent_back(store: Store) -> None:
    server = make_server(store, write=True)
    [asked] = calls(server, ("ask", {"study": "lab"}))
    number, params = asked["trials"][0]["number"], asked["trials"][0]["params"]
    [told] = calls(
        server, ("tell", {"study": "lab", "number": number, "measurements": {"value": 0.5, "std_error": 0.1}})
    )
    again, added, if_so = calls(
        server,
        ("tell", {"study": "lab", "number": 4, "measurements": told["measurements"]}),
        ("attach", {"study": "lab", "params": params, "measurements": told["measurements"]}),
        ("what_if", {"study": "lab", "params": params, "measurements": told["measurements"]}),
    )
    assert told["measurements"] == again["measurements"] == added["measurements"]
    assert added["params"] == params
    assert if_so["then"]["observations"] == if_so["now"]["observations"] + 1


def test_state_says_all_that_a_design_needs(tmp_path: Path) -> None:
    kept = open_store(f"sqlite:///{tmp_path / 'kinds.db'}")
    space = he.Space(
        rate=he.Real(1e-3, 1.0, log=True), n=he.Integer(1, 9, step=2), size=he.Levels([1, 4]), kind=["a", "b"]
    )
    outcomes = {"yield": he.Outcome(unit="%", low=0, high=100), "clear": he.Outcome(kind="yes/no")}
    he.Study(space, he.Maximize("yield"), outcomes=outcomes, stop=[he.Budget(12)], storage=kept, name="lab")
    [state] = calls(make_server(kept), ("state", {"study": "lab"}))
    assert [(one["name"], one["kind"]) for one in state["parameters"]] == [
        *(("rate", "real"), ("n", "integer"), ("size", "levels"), ("kind", "choice"))
    ]
    rate, n, size, kind = state["parameters"]
    assert (rate["low"], rate["high"], rate["log"], n["step"]) == (1e-3, 1.0, True, 2)
    assert (size["options"], kind["options"]) == ([1, 4], ["a", "b"])
    assert [(one["kind"], one["high"], one["grades"]) for one in state["outcomes"]] == [
        *(("number", 100, []), ("yes/no", None, ["no", "yes"]))
    ]
    assert state["budget"]["trials_left"] == 12
    assert "12" in state["budget"]["rules"]


def test_designs_are_predicted(store: Store) -> None:
    [found] = calls(make_server(store), ("predict", {"study": "lab", "designs": [{"x": 0.6}, {"x": 0.1}]}))
    table = he.load_study("lab", store).predict([{"x": 0.6}, {"x": 0.1}])
    for row, expected in zip(found["predictions"], table.to_dict("records"), strict=True):
        assert row == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_tools_describe_their_arguments_and_say_which_of_them_overwrite(store: Store) -> None:
    async def run() -> list[Any]:
        async with Client(make_server(store, write=True)) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in anyio.run(run)}
    for tool in tools.values():
        assert all(one.get("description") for one in tool.input_schema["properties"].values()), tool.name
    assert {name for name, tool in tools.items() if tool.annotations.read_only_hint} == READING
    overwriting = {name for name, tool in tools.items() if tool.annotations.destructive_hint}
    assert overwriting == {"tell", "fail", "withdraw"}


def test_wrong_arguments_are_named_in_one_sentence(store: Store) -> None:
    missing, unknown, wrong, price, measured = calls(
        make_server(store, write=True),
        ("tell", {"study": "lab", "number": 4}),
        ("tell", {"study": "lab", "number": 4, "values": 0.5}),
        ("trial", {"study": "lab", "number": "first"}),
        ("worth", {"study": "lab", "price": -1.0}),
        ("tell", {"study": "lab", "number": 4, "measurements": {"value": {"val": 0.5}}}),
    )
    assert missing.startswith("tell: measurements is missing. What was measured: ")
    assert unknown == (
        "tell has no argument 'values'; its arguments are study, number, measurements, note, replace, cost"
    )
    assert wrong == "trial: number cannot be 'first'. The number of the trial, as in the answers of ask and state."
    assert "the price of an experiment is -1; it must be a finite number of at least 0" in price
    assert "a measurement is {'val': 0.5}" in measured


def test_mistakes_are_told_and_no_code_of_a_study_is_run(store: Store) -> None:
    record = store.find("lab")
    assert record is not None
    store.redefine(record, lambda words: {**words, "decision": {"python": "os:abort"}})
    missing, own, nonsense = calls(
        make_server(store),
        ("verdict", {"study": "shop"}),
        ("verdict", {"study": "lab"}),
        ("picture", {"study": "lab", "what": "everything"}),
    )
    assert "there are: 'lab'" in missing
    assert "os:abort" in own
    assert "there is no picture 'everything'" in nonsense


@pytest.mark.slow
def test_the_command_serves_over_standard_input_and_output(store: Store, tmp_path: Path) -> None:
    line = ["-m", "hentropy", "mcp", "--store", f"sqlite:///{tmp_path / 'lab.db'}"]
    [listed] = calls(StdioServerParameters(command=sys.executable, args=line), ("list_studies", {}))
    assert json.loads(json.dumps(listed))[0]["name"] == "lab"


def test_a_store_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    assert "there is no store" in refused("mcp", "--store", f"sqlite:///{tmp_path / 'none.db'}")
    assert not list(tmp_path.iterdir())
