"""Fitting several outcomes: each to its own rows, paired at random, logarithms and noise by name."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import hentropy as he
from hentropy.core.beliefs import Gaussian, Several
from hentropy.core.beliefs.kernels import Profile, Stationary

pytestmark = pytest.mark.smoke

SPACE = he.Space(x=he.Real(0.0, 1.0), y=he.Real(0.0, 2.0))
X = SPACE.sample(12, seed=1)
YIELD = 60.0 + 20.0 * torch.sin(4.0 * X[:, 0]) + X[:, 1]
IMPURITY = torch.exp(1.0 - 2.0 * X[:, 0] + 0.3 * torch.cos(3.0 * X[:, 1]))
NAMES = ("yield", "impurity")
POINTS = SPACE.sample(5, seed=9)


def table(missing: tuple[int, ...] = ()) -> Tensor:
    Y = torch.stack([YIELD, IMPURITY], -1)
    Y[list(missing), 1] = torch.nan
    return Y


def several(belief: he.Belief) -> Several:
    assert isinstance(belief, Several)
    return belief


@pytest.mark.parametrize("treatment", ["map", "mixture"])
def test_each_outcome_is_fitted_to_its_own_rows(treatment: str) -> None:
    missing = (2, 7)
    rows = [i for i in range(12) if i not in missing]
    belief = several(he.fit_outcomes(X, table(missing), outcomes=NAMES, space=SPACE, hyperparameters=treatment))  # type: ignore[arg-type]
    alone = [
        he.fit(X, YIELD, space=SPACE, hyperparameters=treatment),  # type: ignore[call-overload]
        he.fit(X[rows], IMPURITY[rows], space=SPACE, hyperparameters=treatment),  # type: ignore[call-overload]
    ]
    assert belief.outcomes == NAMES
    assert belief.X.shape == X.shape
    for i, part in enumerate(alone):
        mean, var = belief.of(NAMES[i]).moments(POINTS, he.Needs.VARIANCE).total()
        assert_close((mean, var), part.moments(POINTS, he.Needs.VARIANCE).total())


def test_components_of_two_outcomes_meet_at_random() -> None:
    belief = several(
        he.fit_outcomes(X, torch.stack([YIELD, YIELD], -1), outcomes=("a", "b"), space=SPACE, correlated=False)
    )
    first, second = belief.parts
    assert isinstance(first, Gaussian)
    assert isinstance(second, Gaussian)
    assert first.components == second.components == 8
    assert not torch.allclose(first.future_noise, second.future_noise)
    assert_close(first.future_noise.sort().values, second.future_noise.sort().values)


def test_an_outcome_may_be_believed_as_its_logarithm() -> None:
    belief = several(he.fit_outcomes(X, table(), outcomes=NAMES, log=["impurity"], space=SPACE, hyperparameters="map"))
    assert belief.logs == {"impurity"}
    assert belief.of("yield").logs == frozenset()
    alone = he.fit(X, IMPURITY.log(), space=SPACE, hyperparameters="map")
    assert_close(belief.of("impurity").moments(POINTS, he.Needs.MEAN).mean, alone.moments(POINTS, he.Needs.MEAN).mean)
    one = he.fit_outcomes(X, IMPURITY, outcomes=["impurity"], log="impurity", space=SPACE, hyperparameters="map")
    assert isinstance(one, Gaussian)
    assert one.outcomes == ("impurity",)
    assert one.logs == {"impurity"}
    assert_close(one.alpha, alone.alpha)


def test_standard_errors_are_given_by_name() -> None:
    errors = 0.1 + 0.02 * torch.arange(12).double()
    noise = {"impurity": errors, "yield": 0.5}
    belief = several(
        he.fit_outcomes(X, table((3,)), outcomes=NAMES, noise=noise, log=["impurity"], hyperparameters="map")
    )
    first, second = belief.parts
    rows = [i for i in range(12) if i != 3]
    assert isinstance(first, Gaussian)
    assert isinstance(second, Gaussian)
    assert_close(first.noise[0] * first.frame.scale**2, torch.full((12,), 0.25).double())
    assert_close(second.noise[0] * second.frame.scale**2, (errors / IMPURITY)[rows].square())
    assert belief.noise_std.tolist() == pytest.approx([0.5, second.noise_std])


def test_more_rows_than_are_integrated_over_take_one_model_for_all() -> None:
    generator = torch.Generator().manual_seed(0)
    many = torch.rand(130, 2, generator=generator, dtype=torch.float64)
    Y = torch.stack([many.sum(-1), torch.where(torch.arange(130) < 9, many[:, 0], math.nan)], -1)
    assert several(he.fit_outcomes(many, Y, outcomes=("a", "b"))).components == 1


def test_what_cannot_be_fitted_is_named() -> None:
    with pytest.raises(he.InputError, match="a column for each of yield, impurity"):
        he.fit_outcomes(X, YIELD, outcomes=NAMES)
    with pytest.raises(he.InputError, match="'impurity' was never measured"):
        he.fit_outcomes(X, table(tuple(range(12))), outcomes=NAMES)
    with pytest.raises(he.InputError, match="row 4 of Y"):
        he.fit_outcomes(X, torch.where(torch.arange(12)[:, None] == 4, torch.inf, table()), outcomes=NAMES)
    with pytest.raises(he.InputError, match="a value of 'yield' is -1, which has no logarithm"):
        he.fit_outcomes([[0.0], [1.0]], [-1.0, 2.0], outcomes=["yield"], log=["yield"])
    with pytest.raises(he.InputError, match="log names outcomes"):
        he.fit_outcomes(X, table(), outcomes=NAMES, log=["purity"])
    with pytest.raises(he.InputError, match="given by name"):
        he.fit_outcomes(X, table(), outcomes=NAMES, noise=0.1)  # type: ignore[arg-type]
    with pytest.raises(he.InputError, match="one standard error, or 12"):
        he.fit_outcomes(X, table(), outcomes=NAMES, noise={"yield": [0.1, 0.2]})
    with pytest.raises(he.InputError, match="'a', 'a'"):
        he.fit_outcomes(X, table(), outcomes=("a", "a"))


@pytest.mark.slow
def test_two_outcomes_from_data_to_proposal() -> None:
    belief = he.fit_outcomes(X, table((1, 5)), outcomes=NAMES, space=SPACE)
    decision = he.decision(
        lambda f, a: -f[..., 0, 0] + 10.0 * (f[..., 0, 1] - 1.0).clamp_min(0.0), he.Points(1), outcomes=NAMES
    )
    proposal = he.propose(decision, belief, SPACE)
    assert proposal.gain > -6.0 * proposal.std_error
    assert he.entropy(decision, belief, SPACE).value == pytest.approx(proposal.entropy, rel=0.02)


def drawn(rho: float, seed: int, n: int = 24) -> tuple[Tensor, Tensor]:
    """Two outcomes with this correlation between the functions, drawn from one kernel, and a little noise."""
    generator = torch.Generator().manual_seed(seed)
    designs = SPACE.sample(n, seed)
    kernel = Stationary(Profile.MATERN52, torch.tensor([[0.2, 0.4]]).double(), torch.ones(1).double())
    root = torch.linalg.cholesky(kernel(designs, designs)[0] + 1e-9 * torch.eye(n).double())
    f = root @ torch.randn(n, 2, generator=generator, dtype=torch.float64)
    values = torch.stack([f[:, 0], rho * f[:, 0] + math.sqrt(1.0 - rho**2) * f[:, 1]], -1)
    return designs, 50.0 + 10.0 * (values + 0.1 * torch.randn(n, 2, generator=generator, dtype=torch.float64))


def test_correlated_outcomes_are_modelled_together_and_others_apart() -> None:
    together = several(he.fit_outcomes(*drawn(-0.9, 1), outcomes=NAMES, space=SPACE, hyperparameters="map"))
    assert together.correlations[NAMES] == pytest.approx(-0.9, abs=0.15)
    assert together.notes == (
        f"yield and impurity are modelled together: correlation {together.correlations[NAMES]:.1f}",
    )
    apart = several(he.fit_outcomes(*drawn(0.0, 2), outcomes=NAMES, space=SPACE, hyperparameters="map"))
    assert apart.correlations == {}
    assert apart.notes == ("yield and impurity are modelled independently",)


def test_of_three_outcomes_two_may_belong_together() -> None:
    designs, two = drawn(0.95, 1)
    Y = torch.stack([two[:, 0], torch.cos(9.0 * designs[:, 1]), two[:, 1]], -1)
    Y[3, 2] = Y[5, 0] = torch.nan
    belief = several(he.fit_outcomes(designs, Y, outcomes=("a", "b", "c"), space=SPACE, draws=3))
    assert [part.outcomes for part in belief.parts] == [("a", "c"), ("b",)]
    assert (belief.outcomes, belief.components) == (("a", "b", "c"), 3)
    assert belief.notes[1] == "b is modelled independently"


def test_what_is_known_of_one_outcome_tells_of_the_other() -> None:
    """A value that was not measured is predicted from the correlated one that was, and better than without it."""
    designs, Y = drawn(-0.995, 3)
    missing = Y.clone()
    missing[16:, 0] = torch.nan
    errors = {}
    for correlated in (True, False):
        belief = he.fit_outcomes(
            designs, missing, outcomes=NAMES, space=SPACE, hyperparameters="map", correlated=correlated
        )
        mean = belief.of("yield").moments(designs[16:], he.Needs.MEAN)
        errors[correlated] = float((mean.expect_vector(mean.mean) - Y[16:, 0]).square().mean().sqrt())
    assert errors[True] < 0.7 * errors[False]
