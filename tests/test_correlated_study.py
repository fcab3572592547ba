"""A study whose outcomes are modelled together: asked, told, decided, and said so in its report."""

import math

import pytest

import hentropy as he
from hentropy.core.beliefs import Several
from hentropy.views.report.contents import contents

SPACE = he.Space(t=he.Integer(0, 11), solvent=he.Choice(["water", "ethanol"]))


def made(t: int, solvent: str) -> dict[str, float]:
    """Impurity falls where yield rises, but for a little."""
    base = math.sin(0.7 * t) + (0.5 if solvent == "water" else 0.0)
    return {"yield": 60.0 + 10.0 * base, "impurity": 4.0 - 1.5 * base + 0.1 * math.cos(2.0 * t)}


def study(decision: he.Decision) -> he.Study:
    outcomes: dict[str, he.Outcome | he.Computed] = {name: he.Outcome(unit="%") for name in ("yield", "impurity")}
    outcomes["price"] = he.Computed("price", "0.2 * t")
    begun = he.Study(SPACE, decision, outcomes=outcomes, first=2, hyperparameters="map")
    rows = [(t, ("water", "ethanol")[t % 2]) for t in range(11)]
    begun.attach_many([({"t": t, "solvent": solvent}, made(t, solvent)) for t, solvent in rows])
    return begun


@pytest.mark.smoke
def test_a_study_of_correlated_outcomes_is_asked_and_told() -> None:
    begun = study(he.Maximize("yield", ["impurity <= 3", "price <= 1.5"]))
    belief = begun.belief
    assert isinstance(belief, Several)
    assert belief.outcomes == ("yield", "impurity", "price")
    assert belief.correlations["yield", "impurity"] < -0.8
    pair = begun.ask_many(2)
    assert [trial.state.value for trial in pair] == ["running", "running"]
    begun.tell(pair[0], made(**pair[0].params))
    begun.tell(pair[1], {"impurity": 3.0})  # yield was not measured
    assert "impurity <= 3" in begun.decide().headline


def test_the_report_says_which_outcomes_are_modelled_together() -> None:
    found = contents(study(he.Target({"yield": 65, "impurity": 3})))
    [model] = [fact.text for fact in found.facts if fact.name == "Model"]
    assert model.startswith("yield and impurity are modelled together: correlation -")
    assert found.troubles == {}
