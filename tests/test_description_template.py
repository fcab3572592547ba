"""What `hentropy init` asks and writes, and the published schema."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hentropy as he
from hentropy.studies.definition import (
    CHOICES,
    decision_of,
    describe,
    json_schema,
    read,
    space_of,
    stopping_of,
    template,
    validated,
)
from hentropy.studies.definition.decisions import DECISIONS
from hentropy.views.text.sentences import decision_sentence, outcome_sentences
from support.words import written

BOX: dict[str, he.Real | he.Integer] = {
    "x": he.Real(-1.5, 2),
    "a rate": he.Real(1e-05, 1.0, log=True),
    "n": he.Integer(1, 6),
}


def test_the_questions_cover_every_decision() -> None:
    assert sorted(choice.decision for choice in CHOICES) == sorted(DECISIONS)


@pytest.mark.parametrize("objective", ["manual", "python", "command"])
@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.decision)
def test_templates_can_be_read(choice: Any, objective: Any, tmp_path: Path) -> None:
    options = {ask.option: ask.default for ask in choice.asks}
    text = template("the study", BOX, choice.decision, objective, options=options, trials=12)
    d = read(written(tmp_path, text))
    assert d.model_dump()["decision"].items() >= {"name": choice.decision}.items()
    assert repr(decision_of(d, False)) == repr(DECISIONS[choice.decision].kind(**options))
    assert repr(space_of(d)) == repr(he.Space(**{**BOX, "x": he.Real(-1.5, 2.0)}))
    assert (d.objective.type, stopping_of(d)) == (objective, (he.Budget(12),))
    # what is commented out is right as it stands, too; a logarithm has no level of 0
    out = [(line.startswith("# [") or " = " in line[:20]) and "log =" not in line for line in text.split("\n")]
    bare = "\n".join(
        line.removeprefix("# ") if is_out else line for is_out, line in zip(out, text.split("\n"), strict=True)
    )
    whole = validated(tomllib.loads(bare), "with everything")
    assert whole.first == 8
    assert whole.cost is not None
    assert (whole.cost.of, whole.stop.spend, whole.same_in_batch) == ("told", 60, ("x",))
    assert whole.storage.url == "sqlite:///hentropy.db"
    said = {key for key in whole.decision.model_fields_set if key != "name"}
    assert said == set(DECISIONS[choice.decision].model_fields) - {"name"}


def test_templates_of_pools_and_of_wrong_answers(tmp_path: Path) -> None:
    (tmp_path / "designs.csv").write_text("x\n1\n2\n")
    d = read(written(tmp_path, template("a", {}, "maximize", pool_file="designs.csv")))
    assert space_of(d).names == ("x",)
    for arguments, said in [
        (("", BOX, "maximize"), "name: it is empty"),
        (("a", BOX, "maximise"), "did you mean maximize"),
        (("a", BOX, "top_k"), r"decision\.k: it is missing"),
        (("a", {}, "maximize"), "space"),
    ]:
        with pytest.raises(he.InputError, match=said):
            template(*arguments)
    assert "# cap = " in template("a", BOX, "top_k", options={"k": 2, "cap": None})
    with pytest.raises(he.InputError, match=r"decision\.kk: unknown key"):
        template("a", BOX, "top_k", options={"k": 2, "kk": 3})


def test_answers_to_questions() -> None:
    asks = {ask.option: ask for choice in CHOICES for ask in choice.asks}
    assert asks["thresholds"].value("1, 2.5 3") == [1.0, 2.5, 3.0]
    assert (asks["k"].value("4"), asks["largest"].value("No"), asks["what"].value(" max ")) == (4, False, "max")
    assert asks["what"].value("  ") == "argmax"
    for option, text in [("k", "4.5"), ("largest", "perhaps"), ("what", "min"), ("targets", "1;2"), ("weight", "a")]:
        with pytest.raises(he.InputError, match=f"'{text}' is not an answer; "):
            asks[option].value(text)


def properties(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property in a schema, by name."""
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from properties(part)
    if isinstance(schema, dict):
        yield from schema.get("properties", {}).items()


def test_the_published_schema() -> None:
    schema = json_schema()
    assert schema["title"] == "hentropy study file"
    found = list(properties(schema))
    assert len(found) > 50
    assert [name for name, entry in found if not entry.get("description")] == []
    assert [name for name, _ in found if name == "own"] == []
    refs = {form["$ref"].removeprefix("#/$defs/") for form in schema["properties"]["decision"]["oneOf"]}
    named = {schema["$defs"][ref]["properties"].get("name", {}).get("const") for ref in refs}
    assert named == {*DECISIONS, None}
    own = {"k", "weight", "cap", "distance", "largest", "scaled"}
    assert set(schema["$defs"]["TopK"]["properties"]) == {"name", *own, "outcome", "subject_to", "fallback"}
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (he.Maximize(), "one design with the highest value"),
        (he.Maximize("yield", ["impurity <= 3"]), "one design with the highest yield, with impurity <= 3"),
        (he.BestObserved(largest=False), "the design with the lowest value among those measured"),
        (he.Maximize(among="measured"), "one design with the highest value among those measured"),
        (
            he.Minimize("yield", ["impurity <= 3"], among="measured"),
            "one design with the lowest yield among those measured, with impurity <= 3",
        ),
        (he.Improve(4.5, outcome="yield"), "one design whose yield is above 4.5, soon"),
        (
            he.TopK(3, outcome="yield", subject_to=["impurity <= 3"]),
            "3 diverse designs with the highest values of yield, with impurity <= 3",
        ),
        (he.KGuesses(1), "1 candidate, of which only the one with the highest value counts"),
        (he.LevelSets([0.5, 2.0], outcome="yield"), "a map of where the yield is above 0.5 and 2"),
        (he.LevelSets(0.5, confidence=0.9), "a map of where the value is above 0.5. Settings: confidence 0.9"),
        (he.Sequence([1.0, 2.0, 5.0]), "designs whose values match 1, 2 and 5"),
        (
            he.Pareto(4, {"yield": "max", "impurity": "min"}),
            "a front of 4 designs that trade off high yield and low impurity",
        ),
        (
            he.Target({"yield": (70.0, 80.0), "impurity": "<= 3"}),
            "one design that comes near to yield 70 to 80 and impurity <= 3",
        ),
        (he.Identify("argmax"), "knowledge of where the maximum is"),
    ],
)
def test_what_is_decided_is_said_in_plain_words(decision: he.Decision, said: str) -> None:
    outcomes: dict[str, he.Outcome | he.Computed] = {name: he.Outcome() for name in decision.outcomes}
    description = describe("lab", he.Space(x=he.Real(0.0, 1.0)), decision, outcomes=outcomes)
    assert decision_sentence(description) == f"In the end you will have {said}."


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (he.Outcome(), []),
        (he.Outcome(noise=0), ["Experiments measure value.", "The value of a repeated experiment is the same."]),
        (
            he.Outcome(unit="%", noise=0.25, low=0, high=100),
            [
                "Experiments measure value in % (from 0 to 100).",
                "The value of a repeated experiment differs by about 0.25 % (standard deviation).",
            ],
        ),
        (he.Outcome(low=0), ["Experiments measure value (at least 0)."]),
        (he.Outcome(high=-1.5), ["Experiments measure value (at most -1.5)."]),
        (
            he.Outcome(tails="heavy"),
            [
                "Experiments measure value.",
                "The value may be grossly wrong now and then: what other results contradict counts for little.",
            ],
        ),
    ],
)
def test_noise_and_bounds_are_said_and_written_to_a_file(outcome: he.Outcome, said: list[str]) -> None:
    space = he.Space(x=he.Real(0.0, 1.0))
    description = describe("lab", space, he.Maximize(), outcomes={"value": outcome})
    assert outcome_sentences(description) == said
    text = template("lab", space.parameters, "maximize", outcomes={"value": outcome})
    assert validated(tomllib.loads(text), "the file").outcomes == description.outcomes


def test_thresholds_are_said_with_their_unit() -> None:
    outcomes: dict[str, he.Outcome | he.Computed] = {"yield": he.Outcome(unit="%")}
    for decision, said in ((he.LevelSets([40.0, 50.0]), "above 40 and 50 %."), (he.Improve(4.5), "above 4.5 %, soon.")):
        description = describe("lab", he.Space(x=he.Real(0.0, 1.0)), decision, outcomes=outcomes)
        assert decision_sentence(description).endswith(said)
