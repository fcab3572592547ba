"""Noise that depends on the design: beliefs that know it by brute force, and when replicates show it."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

import hentropy as he
from hentropy.core.acquisition import as_botorch
from hentropy.core.action_search.finite import FiniteSearch
from hentropy.core.action_search.listed import ListedSearch
from hentropy.core.beliefs import Gaussian, GaussianLookAhead, Needs, Several, Transformed
from hentropy.core.beliefs.gaussian import NoiseTrend
from hentropy.core.clock import Clock
from hentropy.core.models import many
from hentropy.core.models.families import doubted
from hentropy.core.models.replicates import WIDTH, Spreads
from hentropy.studies.testing import check_belief
from hentropy.views.plots.outcomes import outcome_quantiles
from support.beliefs import bayes_weights, dense, designs, gaussian, rebuilt, tensor, transformed
from support.elsewhere import ELSEWHERE, Elsewhere

pytestmark = pytest.mark.numerics

BOX = he.Space(x=he.Real(-3.0, -2.5), y=he.Real(100.0, 140.0))
SQUARE = he.Space(x=he.Real(0.0, 1.0), y=he.Real(0.0, 1.0))
GRID = SQUARE.sample(200, seed=77)


def trended(belief: Gaussian) -> Gaussian:
    """A belief of `gaussian` whose noise depends on the design, for each component in its own way."""
    slope = tensor([[3.0, -0.5], [0.0, 0.0], [-2.0, 1.0]])[: belief.components]
    along = belief.inputs @ slope.mT  # n x H
    trend = NoiseTrend(belief.frame.transform, slope, along.amin(0), along.amax(0), along.mean(0))
    noise = belief.future_noise.unsqueeze(-1) * trend(belief.X)
    outcomes = (belief.residual + belief.prior_mean(belief.inputs))[0]
    own = (belief.future_noise, belief.kernel, belief.prior_mean, belief.frame, belief.weights)
    return replace(Gaussian.from_data(belief.X, outcomes, noise, *own), noise_trend=trend)


def test_a_trend_is_a_factor_of_the_usual_noise_within_what_was_seen() -> None:
    belief = trended(gaussian(3))
    assert belief.noise_trend is not None
    torch.testing.assert_close(belief.noise, belief.noise_at(belief.X))
    torch.testing.assert_close(belief.noise_trend(belief.X).log().mean(-1), torch.zeros(3, dtype=torch.float64))
    low, high = belief.noise.amin(-1), belief.noise.amax(-1)
    far = belief.noise_at(tensor([[-10.0, 0.0], [10.0, 0.0]]))
    torch.testing.assert_close(far[0], torch.stack([low[0], high[0]]))  # the first rises along the first coordinate
    torch.testing.assert_close(far[2], torch.stack([high[2], low[2]]))
    torch.testing.assert_close(belief.some([2, 0]).noise_at(belief.X), belief.noise_at(belief.X)[[2, 0]])
    assert not bool(belief.exact().noise_at(belief.X).any())


@pytest.mark.parametrize("H", [1, 3])
def test_the_posterior_and_conditioning_are_exact(H: int) -> None:
    belief, points = trended(gaussian(H)), designs(5, seed=11)
    mean, cov = dense(belief, points)
    at = belief.moments(points, Needs.JOINT)
    torch.testing.assert_close(at.mean, mean)
    torch.testing.assert_close(at.covariance, cov)
    x, y = designs(3, seed=12), tensor([4.0, 5.5, 2.0])
    after, slow = belief.condition(x, y), rebuilt(belief, x, y)
    torch.testing.assert_close(after.noise[:, -3:], belief.noise_at(x))
    for one, other in zip(dense(slow, points), dense(after, points), strict=True):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(after.weights, bayes_weights(belief, x, y))
    check_belief(belief, BOX)


def test_a_transformed_belief_with_a_trend_keeps_its_promises() -> None:
    plain = transformed()
    belief = replace(plain, latent=replace(plain.latent, noise_trend=trended(gaussian(3)).noise_trend))
    check_belief(belief, BOX)
    assert belief.noise_std_at(belief.X).square().mean().sqrt() == pytest.approx(belief.noise_std)  # type: ignore[union-attr]


def test_what_an_experiment_could_give_has_the_noise_of_its_design() -> None:
    belief, row = trended(gaussian(1)), designs(1, seed=5)[0]
    mean, cov = dense(belief, row.unsqueeze(0))
    sd = float(cov[0, 0, 0] + belief.frame.scale**2 * belief.noise_at(row.unsqueeze(0))[0, 0]) ** 0.5
    low, high = outcome_quantiles(belief, row, (0.1, 0.9)).tolist()
    assert [low, high] == pytest.approx(stats.norm(float(mean), sd).ppf([0.1, 0.9]).tolist(), rel=1e-6)


@pytest.mark.parametrize("q", [1, 2])
def test_the_gain_of_an_estimate_has_the_noise_of_the_design(q: int) -> None:
    """sum C S^-1 C^T, with the variances of noise at x in S."""
    belief, points, x = trended(gaussian(1)), designs(6, seed=1), designs(4, q, seed=2)
    for row, found in zip(x, he.gain(he.Estimate(points), belief, x, BOX).value, strict=True):
        _, cov = dense(belief, torch.cat([points, row]))
        S = cov[0, 6:, 6:] + belief.frame.scale**2 * torch.diag(belief.noise_at(row)[0])
        C = cov[0, :6, 6:]
        assert float(found) == pytest.approx(float((C @ torch.linalg.inv(S) @ C.mT).diagonal().sum()), rel=1e-6)


DECISIONS: dict[str, he.Decision] = {
    "estimate": he.Estimate(designs(6, seed=1)),
    "level sets": he.LevelSets([4.0], designs(6, seed=1)),
    "best observed": he.BestObserved(),
    "maximum": he.Identify("max"),
    "argmax": he.Identify("argmax"),
    "top": he.TopK(2),
}


@pytest.mark.parametrize("H", [1, 3])
@pytest.mark.parametrize("name", DECISIONS)
def test_a_design_has_the_gain_that_its_noise_everywhere_would_give_it(name: str, H: int) -> None:
    """One observation at x: nothing else of the noise to come matters."""
    belief, pool = trended(gaussian(H)), he.Pool(designs(12, seed=8))
    noisy, quiet = belief.noise_at(pool.points).sum(0).argmax(), belief.noise_at(pool.points).sum(0).argmin()
    for row in (pool.points[noisy], pool.points[quiet]):
        x = row.unsqueeze(0)
        alike = replace(belief, noise_trend=None, future_noise=belief.noise_at(x)[:, 0])
        one, other = (he.gain(DECISIONS[name], each, x, pool) for each in (belief, alike))
        assert float(one.value) == pytest.approx(float(other.value), rel=1e-6, abs=1e-9)


def test_the_slope_of_a_gain_knows_the_slope_of_the_noise() -> None:
    belief, points = trended(gaussian(3)), designs(4, seed=1)

    def moved(x: Tensor) -> Tensor:
        return belief.look_ahead(x).whitened_cross(points).square().sum((0, 2, 3))

    assert torch.autograd.gradcheck(moved, [designs(2, 1, seed=9).requires_grad_()], eps=1e-6, atol=1e-5, rtol=1e-4)


def chi_squared(seed: int, designs: int = 12, replicates: int = 3, slope: float = 3.0) -> Spreads:
    generator = torch.Generator().manual_seed(seed)
    u = torch.rand(designs, 1, generator=generator, dtype=torch.float64)
    noise = (0.5 * slope * u).exp() * torch.randn(designs, replicates, generator=generator, dtype=torch.float64)
    return Spreads(u, noise.var(-1), torch.full((designs,), replicates - 1.0, dtype=torch.float64))


@pytest.mark.parametrize("slope", [0.0, 3.0])
def test_slopes_and_evidence_by_brute_force(slope: float) -> None:
    """On a grid of levels and slopes, with the density of chi squared."""
    spreads = chi_squared(3, slope=slope)
    a, b = np.linspace(-6.0, 8.0, 701), np.linspace(-12.0, 12.0, 601)
    log_v = a[:, None, None] + b[:, None] * spreads.u[:, 0].numpy()
    s, nu = spreads.variance.numpy(), spreads.freedom.numpy()
    likelihood = (stats.chi2(nu).logpdf(s * nu * np.exp(-log_v)) - log_v).sum(-1)
    prior = stats.norm(0.0, WIDTH).logpdf(b)
    joint = likelihood + prior
    # a constant noise has the same prior of its level, in the middle of the designs
    alone = likelihood[:, 300]
    step = b[1] - b[0]
    [found], [odds], [price] = spreads.most_probable(torch.ones(1, 12, dtype=torch.float64))
    assert float(found) == pytest.approx(b[np.unravel_index(joint.argmax(), joint.shape)[1]], abs=step)
    exact = np.log(np.exp(joint - alone.max()).sum() * step) - np.log(np.exp(alone - alone.max()).sum())
    assert float(odds) == pytest.approx(exact, abs=0.1)
    best = likelihood[np.unravel_index(joint.argmax(), joint.shape)]
    assert float(odds + price) == pytest.approx(best - alone.max(), abs=0.02)


def test_sample_variances_of_groups() -> None:
    group = torch.tensor([2, 0, 2, 1, 2, 0])
    u = tensor([[0.1], [0.2], [0.3]])[group]
    values = tensor([1.0, 5.0, 2.0, 9.0, 6.0, 5.5])
    found = Spreads.of(u, values, group)
    torch.testing.assert_close(found.u, tensor([[0.1], [0.3]]))
    torch.testing.assert_close(found.variance, tensor([0.125, 7.0]))
    torch.testing.assert_close(found.freedom, tensor([1.0, 2.0]))


def surface(x: Tensor) -> Tensor:
    return 3.0 + torch.sin(5.0 * x[:, 0]) + x[:, 1].square()


def noise_sd(x: Tensor, slope: float) -> Tensor:
    return 0.05 * (0.5 * slope * x[:, 0]).exp()


def measured(x: Tensor, slope: float, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return surface(x) + noise_sd(x, slope) * torch.randn(len(x), generator=generator, dtype=torch.float64)


def replicated(slope: float, seed: int = 0, count: int = 15, times: int = 3) -> tuple[Tensor, Tensor]:
    X = SQUARE.sample(count, seed=seed).repeat_interleave(times, 0)
    return X, measured(X, slope, seed)


def trend_of(belief: object) -> NoiseTrend | None:
    latent = belief.latent if isinstance(belief, Transformed) else belief
    assert isinstance(latent, Gaussian)
    return latent.noise_trend


TREATMENTS: tuple[Any, ...] = ("map", "mixture", "families", "auto")


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_held_out_values_are_predicted_better(treatment: Any) -> None:
    """The noise standard deviation grows tenfold."""
    losses = []
    for seed in range(4):
        X, Y = replicated(4.6, seed)
        found = []
        for noise in (None, "constant"):
            belief = he.fit(X, Y, space=SQUARE, noise=noise, hyperparameters=treatment)
            assert (trend_of(belief) is None) == (noise == "constant")
            held_out = measured(GRID, 4.6, 100 + seed)
            found.append(density(belief, GRID, held_out))
        losses.append(found[0] - found[1])
    assert sum(losses) / 4 > 0.1


def density(belief: Gaussian | Transformed, X: Tensor, Y: Tensor) -> float:
    """The mean log density of new observations."""
    latent = belief.latent if isinstance(belief, Transformed) else belief
    at = latent.moments(X, Needs.VARIANCE)
    sd = (at.variance + latent.frame.scale**2 * latent.noise_at(X)).sqrt()
    if isinstance(belief, Transformed):
        each = belief.predicted(at.mean, sd, Y)
    else:
        each = torch.distributions.Normal(at.mean, sd).log_prob(Y)
    return float(torch.logsumexp(belief.weights.log().unsqueeze(-1) + each, 0).mean())


def test_the_fitted_noise_is_near_the_true_one() -> None:
    X, Y = replicated(4.6, seed=5, count=30, times=4)
    belief = he.fit(X, Y, space=SQUARE, hyperparameters="map")
    ratio = torch.as_tensor(belief.noise_std_at(GRID)) / noise_sd(GRID, 4.6)
    assert float(ratio.min()) > 0.5
    assert float(ratio.max()) < 2.0
    assert belief.noise_std == pytest.approx(float(noise_sd(X, 4.6).square().mean().sqrt()), rel=0.3)


def is_used(slope: float, seed: int, wrong: float = 0.0, count: int = 15, times: int = 3, d: int = 2) -> bool:
    """Whether a trend is found in replicates of a function that does not matter here."""
    generator = torch.Generator().manual_seed(seed)
    u = torch.rand(count, d, generator=generator, dtype=torch.float64)
    noise = (0.5 * slope * u[:, :1]).exp() * torch.randn(count, times, generator=generator, dtype=torch.float64)
    noise[0, 0] += wrong * float((0.5 * slope * u[0, 0]).exp())
    return Spreads(u, noise.var(-1), torch.full((count,), times - 1.0, dtype=torch.float64)).slopes() is not None


@pytest.mark.parametrize(
    ("slope", "wrong", "least", "most"),
    [(0.0, 0.0, 0, 6), (0.0, 8.0, 0, 12), (4.6, 0.0, 100, 200)],
    ids=["the same everywhere", "one wrong value", "it grows tenfold"],
)
@pytest.mark.parametrize("d", [2, 6])
def test_how_often_replicates_show_a_trend(slope: float, wrong: float, least: int, most: int, d: int) -> None:
    used = sum(is_used(slope, seed, wrong, d=d) for seed in range(200))
    assert least <= used <= most


def test_nothing_changes_without_replicates_or_with_given_errors() -> None:
    X, Y = replicated(4.6, count=15, times=1)
    assert trend_of(he.fit(X, Y, space=SQUARE)) is None
    X, Y = replicated(4.6)
    belief = he.fit(X, Y, space=SQUARE, noise=0.2, hyperparameters="map")
    assert trend_of(belief) is None
    assert belief.noise_std == pytest.approx(0.2)


def test_a_wrong_value_among_replicates_is_still_doubted() -> None:
    X, Y = replicated(0.0)
    Y[7] += 3.0
    belief = he.fit(X, Y, space=SQUARE)
    assert trend_of(belief) is None
    assert int(doubted(belief).argmax()) == 7
    assert float(doubted(belief)[7]) > 0.5
    X, Y = replicated(4.6)
    assert float(doubted(he.fit(X, Y, space=SQUARE)).sum()) == 0.0  # large errors belong to where the noise is large


def test_stretched_coordinates_leave_the_noise_alone() -> None:
    X = SQUARE.sample(30, seed=1).repeat_interleave(3, 0)
    generator = torch.Generator().manual_seed(1)
    Y = torch.sin(30.0 * torch.expm1(3.0 * X[:, 0]) / math.expm1(3.0)) + X[:, 1]
    Y = Y + 0.2 * noise_sd(X, 4.6) * torch.randn(len(X), generator=generator, dtype=torch.float64)
    belief = he.fit(X, Y, space=SQUARE, hyperparameters="families")
    trend = trend_of(belief)
    assert trend is not None
    assert not torch.allclose(belief.frame.transform(GRID), SQUARE.to_unit(GRID))
    torch.testing.assert_close(trend.to_unit(GRID), SQUARE.to_unit(GRID))
    torch.testing.assert_close(belief.noise, belief.noise_at(belief.X))


def test_noise_in_proportion_to_the_outcome_may_be_a_matter_of_its_scale() -> None:
    """Errors of 20 %: a transformed component has a weaker trend of its own."""
    X = SQUARE.sample(20, seed=2).repeat_interleave(3, 0)
    generator = torch.Generator().manual_seed(2)
    Y = (4.0 * X[:, 0] + X[:, 1] + 0.2 * torch.randn(60, generator=generator, dtype=torch.float64)).exp()
    belief = he.fit(X, Y, space=SQUARE)
    assert isinstance(belief, Transformed)
    trend = trend_of(belief)
    assert trend is not None
    assert trend.slope.shape == (belief.components, 2)
    assert float(trend.slope[belief.bent].abs().max()) < float(trend.slope[~belief.bent].abs().max())
    check_belief(belief, SQUARE)


def test_each_outcome_has_its_own_noise() -> None:
    X, Y = replicated(4.6)
    both = torch.stack([Y, measured(X, 0.0, seed=50)], -1)
    belief = he.fit_outcomes(X, both, ("a", "b"), space=SQUARE, correlated=False)
    assert isinstance(belief, Several)
    one, other = belief.parts
    assert trend_of(one) is not None
    assert trend_of(other) is None
    assert one.components == 8
    points = SQUARE.sample(3, seed=1)
    assert isinstance(one, Gaussian)
    look = belief.look_ahead(points.unsqueeze(1)).looks[0]
    assert isinstance(look, GaussianLookAhead)
    torch.testing.assert_close(look.L, one.look_ahead(points.unsqueeze(1)).L)


def test_choices_differ_in_noise() -> None:
    space = he.Space(x=he.Real(0.0, 1.0), lab=he.Choice(["careful", "quick", "third"]))
    X = space.sample(18, seed=3).repeat_interleave(3, 0)
    generator = torch.Generator().manual_seed(3)
    quick = X[:, 2] > 0.5
    assert 0 < int(quick.sum()) < len(X)
    Y = X[:, 0] + torch.where(quick, 1.0, 0.03) * torch.randn(len(X), generator=generator, dtype=torch.float64)
    belief = he.fit(X, Y, space=space, hyperparameters="families")
    noise = torch.as_tensor(belief.noise_std_at(X))
    assert float(noise[quick].min()) > 4.0 * float(noise[~quick].max())


def test_many_observations_have_the_noise_of_their_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "FITTED", 60)
    X, Y = replicated(4.6, count=30, times=4)
    for exact in (200, 100):
        monkeypatch.setattr(many, "EXACT", exact)
        belief = he.fit(X, Y, space=SQUARE, hyperparameters="map")
        assert belief.noise_trend is not None
        assert (belief.summary is not None) == (exact == 100)
        torch.testing.assert_close(belief.noise, belief.noise_at(X))
        again = he.fit(X, Y, space=SQUARE, hyperparameters="map", earlier=belief)
        torch.testing.assert_close(again.noise, belief.noise)


def test_noisy_designs_promise_less() -> None:
    X, Y = replicated(4.6)
    belief = he.fit(X, Y, space=SQUARE, hyperparameters="map")
    x = tensor([[0.05, 0.5], [0.95, 0.5]])
    quiet, noisy = he.gain(he.Estimate(GRID), belief, x, SQUARE).value.tolist()
    before = he.gain(he.Estimate(GRID), replace(belief, noise_trend=None), x, SQUARE).value.tolist()
    assert quiet > 2.0 * before[0]
    assert noisy < 0.5 * before[1]


@pytest.mark.parametrize("decision", [he.TopK(2), he.BestObserved()], ids=repr)
def test_a_first_look_at_a_list_knows_the_noise_of_its_rows(decision: he.Decision) -> None:
    belief, rows = trended(gaussian(3)), designs(12, seed=8)

    def promise(of: Gaussian) -> Tensor | None:
        sums = decision.sums()
        if decision.follows_data:
            return ListedSearch.prepare(decision, of, of.X.unsqueeze(-2), tensor([[0.0]])).promise(rows, rows[:0])
        assert sums is not None
        return FiniteSearch.prepare(decision, of, rows, sums, Clock()).promise(rows, rows[:0])

    found = promise(belief)
    assert found is not None
    for i, row in enumerate(rows):
        future = belief.weights @ belief.noise_at(row.unsqueeze(0))
        alike = promise(replace(belief, noise_trend=None, future_noise=future.expand(3)))
        assert alike is not None
        assert float(found[i]) == pytest.approx(float(alike[i]), rel=1e-9)


def test_a_study_that_is_rebuilt_proposes_the_same(tmp_path: Path) -> None:
    studies = []
    X, Y = replicated(4.6)
    for name in ("one.db", "other.db"):
        study = he.Study(SQUARE, he.Maximize(), storage=tmp_path / name)
        for row, value in zip(X, Y.tolist(), strict=True):
            study.attach(SQUARE.decode(row), value)
        studies.append(study)
    again = he.Study(SQUARE, he.Maximize(), storage=tmp_path / "one.db")
    assert trend_of(again.belief) is not None
    assert again.ask().params == pytest.approx(studies[1].ask().params)


def test_on_another_device() -> None:
    X, Y = replicated(4.6)
    with ELSEWHERE:
        belief = he.fit(X, Y, space=SQUARE, device="cuda", hyperparameters="families")
        assert belief.noise_trend is not None
        assert isinstance(belief.noise_trend.slope, Elsewhere)
        assert isinstance(he.propose(he.Maximize(), belief, SQUARE).x, Elsewhere)


def test_a_botorch_model_cannot_say_it() -> None:
    X, Y = replicated(4.6)
    with pytest.raises(he.ModelError, match="noise depends on the design"):
        as_botorch(he.fit(X, Y, space=SQUARE, hyperparameters="map"))


def ties() -> tuple[Tensor, Tensor]:
    X, Y = replicated(0.0)
    return X, Y.round()


def without_spread() -> tuple[Tensor, Tensor]:
    X, _ = replicated(0.0)
    return X, surface(X)


def spread_at_one_design() -> tuple[Tensor, Tensor]:
    X, Y = without_spread()
    Y[0] += 1.0
    return X, Y


def constant() -> tuple[Tensor, Tensor]:
    X, Y = replicated(0.0)
    return X, torch.full_like(Y, 2.0)


def collinear() -> tuple[Tensor, Tensor]:
    X, _ = replicated(0.0)
    X = torch.stack([X[:, 0], X[:, 0]], -1)
    return X, measured(X, 4.6, seed=1)


def one_design() -> tuple[Tensor, Tensor]:
    return SQUARE.sample(1, seed=0).expand(5, -1), tensor([1.0, 2.0, 1.5, 0.5, 1.0])


def one() -> tuple[Tensor, Tensor]:
    return SQUARE.sample(1, seed=0), tensor([1.0])


def pairs() -> tuple[Tensor, Tensor]:
    return replicated(4.6, count=4, times=2)


AWKWARD = (ties, without_spread, spread_at_one_design, constant, collinear, one_design, one, pairs)


@pytest.mark.parametrize("data", AWKWARD, ids=lambda make: make.__name__)
def test_awkward_replicates_give_sensible_beliefs(data: Callable[[], tuple[Tensor, Tensor]]) -> None:
    """Without a warning: these are errors here."""
    X, Y = data()
    for space in (SQUARE, None):
        belief = he.fit(X, Y, space=space)
        mean, variance = belief.moments(SQUARE.sample(50, seed=5), Needs.VARIANCE).total()
        width = float(Y.max() - Y.min()) + 1.0
        assert float(Y.min()) - width < float(mean.min())
        assert float(mean.max()) < float(Y.max()) + width
        assert bool((variance > 0.0).all())
        if data is not collinear:
            assert trend_of(belief) is None
