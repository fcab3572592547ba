"""BoTorch's models for choices and fidelities: the rows that are chosen are those their definitions ask for."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from botorch.acquisition.multi_objective import logei
from scipy import stats
from torch import Tensor

import hentropy as he
from hentropy.bench.baselines.botorch_models import BotorchMixed, MultiFidelityKG, mixed_model, observed
from hentropy.bench.baselines.botorch_outcomes import BotorchConstrained, BotorchFront
from hentropy.bench.baselines.with_botorch import contained
from hentropy.core.solvers import Solver


def yields(X: Tensor) -> Tensor:
    """Two columns of positions (3 and 2 options) and a number: each option has a summit of its own."""
    return torch.sin(4.0 * X[:, 2] + X[:, 0]) + 0.5 * X[:, 1] * (X[:, 0] - 1.0)


def some_rows(count: int = 9) -> Tensor:
    generator = torch.Generator().manual_seed(4)
    options = [torch.randint(m, (count,), generator=generator).double() for m in (3, 2)]
    return torch.stack([*options, torch.rand(count, generator=generator, dtype=torch.float64)], -1)


OPTIONS = {0: 3, 1: 2}
SMALL = BotorchMixed(restarts=3, raw_samples=32)


def test_the_row_has_the_greatest_expected_improvement_of_all_options() -> None:
    X = some_rows()
    chosen = SMALL.next_row(X, yields(X), OPTIONS, seed=1)
    assert chosen.shape == (3,)
    assert chosen[0] in (0.0, 1.0, 2.0)
    assert chosen[1] in (0.0, 1.0)
    with contained(1):
        model = mixed_model(X, yields(X), OPTIONS)
    best = float(model.posterior(X).mean.detach().max())

    def improvement(rows: Tensor) -> Tensor:
        posterior = model.posterior(rows)
        mean, sd = posterior.mean.detach().squeeze(-1), posterior.variance.detach().sqrt().squeeze(-1)
        z = ((mean - best) / sd).numpy()
        return sd * torch.from_numpy(z * stats.norm.cdf(z) + stats.norm.pdf(z))

    everywhere = torch.tensor(list(product(range(3), range(2), torch.linspace(0, 1, 201).tolist())))
    assert float(improvement(chosen.unsqueeze(0))) >= 0.99 * float(improvement(everywhere.double()).max())


def test_all_columns_may_be_options() -> None:
    X = some_rows()[:, :2]
    chosen = SMALL.next_row(X, X.sum(-1), OPTIONS, seed=1)
    assert chosen.tolist() == chosen.round().tolist()


def test_the_same_seed_gives_the_same_row_and_leaves_the_generator_alone() -> None:
    X = some_rows()
    torch.manual_seed(7)
    state = torch.random.get_rng_state()
    first, again = (SMALL.next_row(X, yields(X), OPTIONS, seed=3) for _ in range(2))
    assert first.tolist() == again.tolist()
    assert torch.equal(torch.random.get_rng_state(), state)


SPACE = he.Space(time=he.Real(1.0, 100.0, log=True), base=he.Choice(["a", "b", "c"]), only=he.Choice(["one"]))


def gain(params: dict[str, Any]) -> float:
    return 2.0 * (params["base"] == "b") - (math.log10(params["time"]) - 1.5) ** 2


def studied(space: he.Space | he.Pool, value: Callable[[dict[str, Any]], float], solver: Solver) -> he.Study:
    study = he.Study(space, he.Maximize(), solver=solver, seed=0, first=6)
    for row in space.sample(6, 0):
        params = space.decode(row)
        study.attach(params, value(params))
    return study


def test_a_study_asks_designs_of_its_own_space() -> None:
    study = studied(SPACE, gain, SMALL)
    for _ in range(3):
        trial = study.ask()
        study.tell(trial, gain(trial.params))
    assert trial.origin == "proposed"
    assert gain(trial.params) > 1.9  # the best is 2


def test_the_least_value_is_looked_for_where_it_is_wanted() -> None:
    study = studied(SPACE, lambda params: -gain(params), BotorchMixed(largest=False, restarts=3, raw_samples=32))
    found, other = study.ask().params, studied(SPACE, gain, SMALL).ask().params
    assert found["base"] == other["base"]
    assert found["time"] == pytest.approx(other["time"], rel=0.01)


def test_several_designs_differ() -> None:
    first, second = (trial.params for trial in studied(SPACE, gain, SMALL).ask_many(2))
    assert first["base"] != second["base"] or first["time"] != pytest.approx(second["time"], rel=0.01)


TABLE = he.Pool([[acid, heat] for acid in ("x", "y", "z") for heat in (1.0, 2.0, 4.0)], names=["acid", "heat"])


def test_rows_of_a_table_are_asked_once() -> None:
    def value(params: dict[str, Any]) -> float:
        return float(params["heat"]) + 3.0 * (params["acid"] == "y")

    study = studied(TABLE, value, SMALL)
    for _ in range(3):
        trial = study.ask()
        study.tell(trial, value(trial.params))
    seen = [tuple(trial.params.values()) for trial in study.records]
    assert len(set(seen)) == 9


def test_beliefs_without_data_of_their_own_are_refused() -> None:
    X = some_rows()
    belief = he.fit(X, yields(X))
    drawn = he.Samples(belief.X, belief.paths(8, 0), torch.full((8,), 1 / 8).double(), 0.1, seed=0)
    with pytest.raises(he.ModelError, match="the belief is a Samples"):
        observed(drawn, "BotorchMixed")


def test_what_was_observed_is_found_again_in_a_belief() -> None:
    X = some_rows()
    for belief in (he.fit(X, yields(X)), he.fit(X, yields(X), hyperparameters="map")):
        torch.testing.assert_close(observed(belief, "me"), yields(X))


def curve(X: Tensor) -> Tensor:
    """A number and a fidelity: cheap values are a little too high on the right."""
    return torch.sin(6.0 * X[:, 0]) + 0.2 * (1.0 - X[:, 1]) * X[:, 0]


def two_fidelities() -> Tensor:
    number = torch.linspace(0.0, 1.0, 8, dtype=torch.float64)
    return torch.stack([number, torch.tensor([0.2, 0.2, 0.2, 1.0] * 2, dtype=torch.float64)], -1)


def quick(cheap: float, dear: float) -> MultiFidelityKG:
    return MultiFidelityKG({0.2: cheap, 1.0: dear}, fantasies=4, restarts=2, raw_samples=16)


@pytest.mark.parametrize(("cheap", "dear", "chosen"), [(1.0, 1000.0, 0.2), (1000.0, 1.0, 1.0)])
def test_the_fidelity_that_is_cheap_for_what_it_tells_is_asked(cheap: float, dear: float, chosen: float) -> None:
    X = two_fidelities()
    row = quick(cheap, dear).next_row(X, curve(X), seed=0)
    assert row.shape == (2,)
    assert float(row[1]) == pytest.approx(chosen)
    assert 0.0 <= float(row[0]) <= 1.0


def test_what_is_recommended_is_best_at_the_fidelity_that_counts() -> None:
    X = two_fidelities()
    found = quick(1.0, 20.0).recommended(X, curve(X), seed=0)
    assert float(found[1]) == 1.0
    assert float(found[0]) == pytest.approx(math.pi / 12.0, abs=0.06)


def test_what_botorch_decides_on_has_the_least_expected_loss_of_its_model() -> None:
    """A limit that leaves the upper half, of which the lower end is best: its models know both after 12 designs."""
    space = he.Space(x1=he.Real(0.0, 1.0), x2=he.Real(0.0, 1.0))
    X = space.sample(12, 1)
    Y = torch.stack([X.sum(-1), 0.5 - X[:, 0]], -1)
    rule = BotorchConstrained(he.Minimize("sum", ["miss <= 0"], fallback=2.0), restarts=2, raw_samples=16)
    (decided,) = rule.recommended(space, X, Y, seed=0)
    assert decided.tolist() == pytest.approx([0.5, 0.0], abs=0.05)
    assert decided[0] >= 0.499
    assert rule.next_design(space, X, Y, seed=0).tolist() == pytest.approx([0.5, 0.0], abs=0.1)
    outside = X[:, 0] < 0.5
    assert rule.next_design(space, X[outside], Y[outside], seed=0)[0] >= 0.5  # nothing holds the limit yet


def test_botorch_spreads_a_front_by_its_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes a and 1 - a of one option, less of the other: k designs at equal distances are best.

    BoTorch's own Python computes them. In every new environment it would compile C++ for that, half a minute long, and
    warn where there is no compiler.
    """
    monkeypatch.setattr(logei, "_load_attempted", True)
    space = he.Space(a=he.Real(0.0, 1.0), option=he.Choice(["good", "bad"]))
    X = space.sample(16, 1)
    share = X[:, 0] - 0.5 * X[:, 2]
    decision = he.Pareto(3, {"up": "max", "down": "min"}, {"up": 0.0, "down": 1.0})
    rule = BotorchFront(decision, restarts=2, raw_samples=16)
    decided = rule.recommended(space, X, torch.stack([share, X[:, 0] + 0.5 * X[:, 2]], -1), seed=0)
    assert sorted(decided[:, 0].tolist()) == pytest.approx([0.25, 0.5, 0.75], abs=0.05)
    assert bool((decided[:, 2] == 0.0).all())
    row = rule.next_design(space, X, torch.stack([share, X[:, 0] + 0.5 * X[:, 2]], -1), seed=0)
    assert space.decode(row)["option"] == "good"
