"""`predict`: what is known of designs, as columns, from beliefs of every kind and from studies."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Belief, Gaussian, Needs, Samples
from hentropy.core.beliefs.known import Known
from hentropy.core.beliefs.several import Several

SHARES = (0.1, 0.5, 0.975)


def data(n: int = 14) -> tuple[Tensor, Tensor]:
    X = torch.rand(n, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return X, torch.sin(4.0 * X[:, 0]) + X[:, 1].square()


def belief(kind: str) -> Belief:
    X, y = data()
    if kind == "skewed":
        return he.fit(X, (3.0 * y).exp(), hyperparameters="transformed", seed=0)
    fitted = he.fit(X, y, hyperparameters="map" if kind == "one" else "mixture", noise=0.1, seed=0)
    if kind == "samples":
        weights = torch.full((400,), 1.0 / 400.0, dtype=torch.float64)
        return Samples(X, fitted.paths(400, 0), weights, 0.1)
    return fitted


@pytest.mark.parametrize("kind", ["one", "mixture", "skewed", "samples"])
@pytest.mark.parametrize("noise", [False, True], ids=["values", "observations"])
def test_predictions_are_those_of_draws(kind: str, noise: bool) -> None:
    own = belief(kind)
    points = torch.tensor([[0.2, 0.3], [0.9, 0.9], [2.0, -1.0]], dtype=torch.float64)
    table = own.predict(points, SHARES, noise=noise)
    assert list(table) == ["value_mean", "value_sd", "value_q10", "value_q50", "value_q97.5"]
    draws = own.sample(points, 40_000, seed=1)
    if noise and kind != "skewed":
        draws = draws + own.noise_std * torch.randn(draws.shape, generator=torch.Generator().manual_seed(2))
    if noise and kind == "skewed":  # noise comes before the bend: only the order of the spreads is known here
        quiet = own.predict(points, SHARES)
        assert all(wide >= narrow for wide, narrow in zip(table["value_sd"], quiet["value_sd"], strict=True))
        return
    scale = draws.std(0)
    for found, expected in (
        ("value_mean", draws.mean(0)),
        ("value_sd", scale),
        *((f"value_q{100 * share:g}", draws.quantile(share, 0)) for share in SHARES),
    ):
        assert ((torch.tensor(table[found]) - expected).abs() < 0.1 * scale + 1e-9).all(), found


def test_logarithms_probabilities_and_computed_outcomes_are_in_their_units() -> None:
    X, y = data()
    points = X[:2] + 0.05
    log = he.fit(X, y, hyperparameters="map", noise=0.1)
    assert isinstance(log, Gaussian)
    one = log.predict(points)
    logged = replace(log, logs=frozenset({"value"}))
    table = logged.predict(points)
    assert table["value_q50"] == pytest.approx([math.exp(value) for value in one["value_q50"]])
    sd = torch.tensor(one["value_sd"])
    assert table["value_mean"] == pytest.approx((torch.tensor(one["value_mean"]) + 0.5 * sd.square()).exp().tolist())
    both = Several((log, Known(X[:0], lambda x: x.sum(-1), ("price",))), ("value", "price"))
    columns = both.predict(points)
    assert columns["price_q95"] == columns["price_mean"] == points.sum(-1).tolist()
    assert columns["price_sd"] == [0.0, 0.0]
    assert columns["value_q95"] == one["value_q95"]


def test_designs_and_probabilities_are_checked() -> None:
    own = belief("one")
    with pytest.raises(he.InputError, match="designs must be m x 2"):
        own.predict([0.1, 0.2])
    with pytest.raises(he.InputError, match="between 0 and 1"):
        own.predict([[0.1, 0.2]], quantiles=[5])


def test_a_study_predicts_its_outcomes_within_bounds() -> None:
    space = he.Space(value=he.Real(0.0, 1.0), kind=["a", "b"])
    outcomes = {"yield": he.Outcome(unit="%", noise=1.0, low=0.0, high=100.0), "price": he.Outcome()}
    study = he.Study(
        space, he.Maximize("yield", ["price <= 3"]), outcomes=outcomes, hyperparameters="map", storage=None
    )
    for i in range(8):
        params = {"value": i / 8.0, "kind": "ab"[i % 2]}
        study.attach(params, {"yield": 100.0 - 60.0 * (i / 8.0) ** 2, "price": 1.0 + i / 8.0})
    study.attach({"value": 0.97, "kind": "a"}, failed="burnt")
    designs = [{"kind": "a", "value": 0.0}, {"kind": "b", "value": 0.6}]
    table = study.predict(designs)
    assert list(table.columns) == [
        *("value", "kind"),
        *("yield_mean", "yield_sd", "yield_q5", "yield_q50", "yield_q95"),
        *("price_mean", "price_sd", "price_q5", "price_q50", "price_q95"),
        "chance of success",
    ]
    assert (table["yield_q95"] <= 100.0).all()
    moments = study.belief.of("yield").moments(space.encode_many(designs), Needs.VARIANCE)
    assert table["yield_sd"].tolist() == pytest.approx(moments.total()[1].sqrt().tolist())
    assert (study.predict(designs, noise=True)["yield_sd"] > table["yield_sd"] + 0.05).all()
    again = study.predict(table)
    assert again.equals(table), "a table of designs is read, whatever its other columns are"
    assert len(study.predict(designs[0], quantiles=[0.25])) == 1
    with pytest.raises(he.InputError, match="there are no designs"):
        study.predict([])


def test_yes_or_no_is_predicted_by_its_probability() -> None:
    space = he.Space(x=he.Real(0.0, 1.0))
    study = he.Study(space, he.Maximize("crystal"), outcomes={"crystal": he.Outcome(kind="yes/no")})
    for i in range(10):
        study.attach({"x": i / 9.0}, "yes" if i > 4 else "no")
    table = study.predict([{"x": 0.05}, {"x": 0.95}])
    for name in ("mean", "q5", "q50", "q95"):
        assert table[f"crystal_{name}"].between(0.0, 1.0).all()
    assert table["crystal_mean"][0] < 0.3 < 0.7 < table["crystal_mean"][1]
    assert (table["crystal_q5"] < table["crystal_q95"]).all()
