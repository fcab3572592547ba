"""BoTorch's models for choices and fidelities: the rows that are chosen are those their definitions ask for."""

import math
from itertools import product

import pytest
import torch
from scipy import stats
from torch import Tensor

from hentropy.bench.baselines.botorch_models import MixedLogEI, MultiFidelityKG, mixed_model
from hentropy.bench.baselines.with_botorch import contained


def yields(X: Tensor) -> Tensor:
    """Two columns of positions (3 and 2 options) and a number: each option has a summit of its own."""
    return torch.sin(4.0 * X[:, 2] + X[:, 0]) + 0.5 * X[:, 1] * (X[:, 0] - 1.0)


def some_rows(count: int = 9) -> Tensor:
    generator = torch.Generator().manual_seed(4)
    options = [torch.randint(m, (count,), generator=generator).double() for m in (3, 2)]
    return torch.stack([*options, torch.rand(count, generator=generator, dtype=torch.float64)], -1)


OPTIONS = {0: 3, 1: 2}
SMALL = MixedLogEI(restarts=3, raw_samples=32)


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
