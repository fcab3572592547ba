"""BayBE: campaigns over lists of candidates with encodings, over continuous spaces with constraints, and what is not
supported."""

from typing import Literal

import pandas as pd
import pytest

import hentropy as he

pytest.importorskip("baybe", reason="BayBE is in the extra test, which `make test` installs")

from baybe import Campaign
from baybe.constraints import ContinuousLinearConstraint
from baybe.parameters import (
    CategoricalParameter,
    CustomDiscreteParameter,
    NumericalContinuousParameter,
    NumericalDiscreteParameter,
)
from baybe.searchspace import SearchSpace
from baybe.targets import NumericalTarget

from hentropy.adapters.baybe import HentropyRecommender

pytestmark = pytest.mark.filterwarnings("ignore")  # those of BayBE itself

LIGANDS = pd.DataFrame({"size": [1.0, 2.0, 3.0], "charge": [0.5, 0.1, 0.9]}, index=["L1", "L2", "L3"])


def test_a_campaign_over_a_list_of_candidates() -> None:
    space = SearchSpace.from_product(
        [
            CustomDiscreteParameter("ligand", LIGANDS),
            CategoricalParameter("solvent", ["water", "DMF"]),
            NumericalDiscreteParameter("temperature", [20, 40, 60, 80, 100]),
        ]
    )
    target = NumericalTarget("loss", minimize=True)

    def loss(ligand: str, solvent: str, temperature: float) -> float:
        return LIGANDS["size"][ligand] + (solvent == "DMF") + ((temperature - 60) / 20) ** 2

    campaign = Campaign(space, target.to_objective(), HentropyRecommender(hyperparameters="map"))
    chosen = space.discrete.exp_rep.iloc[[0, 8, 19, 27]]  # to begin with
    for _ in range(5):
        assert not chosen.duplicated().any()
        campaign.add_measurements(chosen.assign(loss=[loss(**row) for row in chosen.to_dict("records")]))
        chosen = campaign.recommend(4)
    measured = campaign.measurements
    best = measured.loc[measured["loss"].idxmin()]
    assert (best["ligand"], best["solvent"], best["temperature"]) == ("L1", "water", 60)


def test_executed_values_and_infinite_measurements_are_used() -> None:
    space = SearchSpace.from_product([NumericalDiscreteParameter("t", range(11), tolerance=0.4)])
    campaign = Campaign(
        space, NumericalTarget("loss", minimize=True).to_objective(), HentropyRecommender(hyperparameters="map")
    )
    executed = pd.DataFrame({"t": [-0.2, 0.9, 4.3, 10.2]})
    executed["loss"] = [float("inf"), float("inf"), *((executed["t"][2:] - 6.0) ** 2)]
    campaign.add_measurements(executed)
    chosen = campaign.recommend(2)
    assert set(chosen["t"]) <= set(range(11))
    assert chosen["t"].min() > 1, "designs next to failures are not recommended"
    campaign.add_measurements(chosen.assign(loss=(chosen["t"] - 6.0) ** 2))
    assert not set(campaign.recommend(2)["t"]) & set(chosen["t"])


def test_continuous_spaces_hold_their_constraints_and_know_pending_experiments() -> None:
    space = SearchSpace.from_product(
        [NumericalContinuousParameter("a", (0, 1)), NumericalContinuousParameter("b", (0, 1))],
        [ContinuousLinearConstraint(["a", "b"], "<=", [1.0, 2.0], 1.5)],
    )
    data = pd.DataFrame({"a": [0.1, 0.9, 0.5, 0.3], "b": [0.1, 0.2, 0.4, 0.5], "loss": [3.0, 1.0, 0.5, 1.5]})
    own = HentropyRecommender(hyperparameters="map")
    objective = NumericalTarget("loss", minimize=True).to_objective()
    found = own.recommend(2, space, objective, data)
    assert (found["a"] + 2 * found["b"] <= 1.5 + 1e-9).all()
    other = own.recommend(1, space, objective, data, pending_experiments=found)
    assert ((found - other.iloc[0]).abs().sum(axis=1) > 1e-3).all()


def test_a_stated_noise_is_that_of_the_fit() -> None:
    parameters = SearchSpace.from_product([NumericalContinuousParameter("a", (0, 1))])
    values = {"a": [0.1, 0.4, 0.6, 0.9], "loss": [3.0, 1.1, 0.4, 1.5]}
    objective = NumericalTarget("loss", minimize=True).to_objective()
    space, X = he.Space(a=he.Real(0.0, 1.0)), [[a] for a in values["a"]]
    stated: list[tuple[float, Literal["heavy"] | None]] = [(0, None), (0.5, None), (0.5, "heavy")]
    for noise, tails in stated:
        own = HentropyRecommender(hyperparameters="map", noise=noise, tails=tails)
        found = own.recommend(1, parameters, objective, pd.DataFrame(values))
        belief = he.fit(X, values["loss"], space=space, noise=noise, tails=tails, hyperparameters="map")
        asked = he.propose(he.Minimize(), belief, space, seed=4000)
        assert found["a"].item() == pytest.approx(asked.params[0]["a"])
    with pytest.raises(he.InputError, match="got -1"):
        HentropyRecommender(noise=-1)
    with pytest.raises(he.InputError, match="tails is 'light'"):
        HentropyRecommender(tails="light")  # type: ignore[arg-type]


def test_what_is_not_supported_is_named() -> None:
    listed, real = NumericalDiscreteParameter("n", [1, 2]), NumericalContinuousParameter("x", (0, 1))
    data = pd.DataFrame({"n": [1, 2], "x": [0.1, 0.2], "f": [1.0, 2.0]})
    plain, own = NumericalTarget("f").to_objective(), HentropyRecommender()
    for space, objective, known, said in [
        (SearchSpace.from_product([listed, real]), plain, data, "discrete and continuous"),
        (SearchSpace.from_product([real]), plain, None, "no measurements yet"),
        (SearchSpace.from_product([real]), None, data, "one numerical target"),
        (
            SearchSpace.from_product([real]),
            NumericalTarget.match_bell("f", 1.0, 0.5).to_objective(),
            data,
            "transformed",
        ),
    ]:
        with pytest.raises(he.InputError, match=said):
            own.recommend(1, space, objective, known)
