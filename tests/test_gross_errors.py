"""Data that are not as they should be: gross errors, replicates, ties, constants, collinear parameters, two values."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Gaussian, Needs, Transformed
from hentropy.core.beliefs.gaussian import DOUBT
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.beliefs.terms import Basis
from hentropy.core.models.families import Fitted, doubted, doubting, suspects
from hentropy.core.models.gp import ConstantMean
from hentropy.core.models.hyperparameters import LogPosterior

pytestmark = pytest.mark.numerics

SPACE = he.Space(x=he.Real(0.0, 1.0), y=he.Real(0.0, 1.0))
X = SPACE.sample(30, seed=4)


def smooth(x: Tensor) -> Tensor:
    return 3.0 + torch.sin(4.0 * x[:, 0]) + x[:, 1].square()


def error(belief: Gaussian | Transformed) -> float:
    points = SPACE.sample(200, seed=9)
    moments = belief.moments(points, Needs.MEAN)
    away = moments.expect_vector(moments.mean) - smooth(points)
    return float(away.square().mean().sqrt() / smooth(points).std())


def test_a_gross_error_is_found_and_does_no_harm() -> None:
    Y = smooth(X)
    Y[7] += 6.0 * Y.std()
    belief = he.fit(X, Y, space=SPACE)
    chances = doubted(belief)
    assert float(chances[7]) == float(chances.max()) > 0.5
    assert int((chances > 0.0).sum()) <= 2  # a neighbour may be doubted too
    assert error(belief) < 0.1 < error(he.fit(X, Y, space=SPACE, hyperparameters="mixture"))
    assert float(belief.observed[7]) == pytest.approx(float(Y[7]))
    [note] = (note for note in belief.notes if "gross" in note)
    assert f"rows 7 ({100.0 * float(chances[7]):.0f} % probable)" in note
    assert "If you are sure of them, state their standard errors" in note
    sure = he.fit(X, Y, space=SPACE, noise=0.01)
    assert not any("gross" in note for note in sure.notes)


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_coordinates_are_not_stretched_to_explain_gross_errors(seed: int) -> None:
    """A stretch that is chosen while errors are trusted moves them apart from what they contradict."""
    designs = SPACE.sample(50, seed=seed)
    Y = smooth(designs)
    wrong = torch.randperm(50, generator=torch.Generator().manual_seed(seed))[:2]
    Y[wrong] += torch.tensor([6.0, -7.0], dtype=torch.float64) * Y.std()
    belief = he.fit(designs, Y, space=SPACE)
    assert bool((doubted(belief)[wrong] > 0.5).all())
    assert error(belief) < 0.03  # a stretch of what is not doubted does no harm


@pytest.mark.parametrize("noise", [None, 0.01])
def test_nothing_is_doubted_without_reason_or_against_given_errors(noise: float | None) -> None:
    Y = smooth(X)
    if noise is not None:
        Y[7] += 6.0 * Y.std()
    assert float(doubted(he.fit(X, Y, space=SPACE, noise=noise)).sum()) == 0.0
    assert float(doubted(he.fit(X, Y, space=SPACE, hyperparameters="map")).sum()) == 0.0


def test_suspects_are_contradicted_by_their_neighbours() -> None:
    """Far off where others are near; not far off by little, not alone, and not more than a tenth."""

    def found(Y: Tensor, designs: Tensor = X) -> list[int]:
        clean = he.fit(designs, smooth(designs), space=SPACE, noise=0.1, hyperparameters="families")
        frame, model = clean.frame, (clean.noise, clean.future_noise, clean.kernel, clean.prior_mean)
        trusting = Gaussian.from_data(
            designs, (Y - frame.shift) / frame.scale, *model, frame, torch.ones_like(clean.weights)
        )
        return suspects(replace(trusting, stacked=True)).nonzero().flatten().tolist()

    Y = smooth(X)
    assert found(Y) == []
    wrong = Y.index_add(0, torch.tensor([3, 9]), torch.tensor([12.0, -9.0], dtype=torch.float64))
    assert found(wrong) == [3, 9]
    assert len(found(Y.index_add(0, torch.arange(10), torch.full((10,), 9.0, dtype=torch.float64)))) <= 3
    far = torch.cat([0.2 * X, torch.ones(1, 2, dtype=torch.float64)])
    alone = torch.cat([smooth(0.2 * X), smooth(X[:1]) + 2.0])  # the only one in its corner
    assert 30 not in found(alone, far)


def test_the_best_outcome_of_a_search_is_not_doubted() -> None:
    """A narrow peak that a search has climbed: designs crowd around it, the last ones highest."""
    peak, generator = torch.tensor([0.62, 0.41], dtype=torch.float64), torch.Generator().manual_seed(0)
    steps = 0.3 * 0.7 ** torch.arange(14, dtype=torch.float64).unsqueeze(-1)
    near = (peak + steps * torch.randn(14, 2, generator=generator, dtype=torch.float64)).clamp(0.0, 1.0)
    designs = torch.cat([X[:16], near])
    Y = smooth(designs) + 30.0 * torch.exp(-((designs - peak) / 0.05).square().sum(-1))
    belief = he.fit(designs, Y, space=SPACE)
    assert float(doubted(belief)[int(Y.argmax())]) == 0.0


def test_doubt_is_variance_of_the_noise_and_hyperparameters_follow_the_units() -> None:
    outcomes = torch.randn(8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    target = LogPosterior(X[:8], outcomes, None, Profile.MATERN32, None, Basis(2, (0, 1)))
    theta = target.prior_draws(3, torch.Generator().manual_seed(1)).clamp(-1.0, 1.0)
    wrong = torch.arange(8) == 2
    extra = doubting(target, wrong).noise_variance(theta) - target.noise_variance(theta)
    torch.testing.assert_close(extra, (DOUBT * wrong.double()).expand(3, 8))
    torch.testing.assert_close(doubting(target, wrong).future_noise(theta), target.noise_variance(theta)[:, 0])
    shift, scale = torch.tensor(0.7, dtype=torch.float64), torch.tensor(2.5, dtype=torch.float64)
    told = Fitted(target, theta, torch.zeros(3, dtype=torch.bool), 0.0).retold((outcomes - shift) / scale, shift, scale)
    expected = target.log_likelihood(theta) + 8 * math.log(2.5)
    torch.testing.assert_close(told.target.log_likelihood(told.theta), expected, rtol=1e-4, atol=1e-4)
    assert told.summit == pytest.approx(8 * math.log(2.5))


def test_a_wrong_value_among_replicates_is_doubted() -> None:
    again, generator = SPACE.sample(15, seed=0).repeat_interleave(3, 0), torch.Generator().manual_seed(0)
    values = smooth(again) + 0.05 * torch.randn(45, generator=generator, dtype=torch.float64)
    values[7] += 3.0
    chance = doubted(he.fit(again, values, space=SPACE))
    assert int(chance.argmax()) == 7
    assert float(chance[7]) > 0.5


def test_replicates_are_averaged_and_their_spread_is_the_noise() -> None:
    """Four rows of each design are one row with their mean and a quarter of the variance."""
    designs, generator = X[:6], torch.Generator().manual_seed(2)
    again = designs.repeat_interleave(4, 0)
    values = smooth(again) + 0.3 * torch.randn(24, generator=generator, dtype=torch.float64)
    belief = he.fit(again, values, space=SPACE, hyperparameters="families")
    spread = values.reshape(6, 4).var(-1).mean().sqrt()
    future = (belief.frame.scale * (belief.weights @ belief.future_noise).sqrt()).item()
    assert 0.5 * float(spread) < future < 2.5 * float(spread)
    one = torch.ones(1, dtype=torch.float64)
    kernel, v = Stationary(Profile.MATERN52, 0.4 * torch.ones(1, 2, dtype=torch.float64), one), 0.09
    parts = (
        Gaussian.from_data(x, y, torch.full((1, len(y)), noise, dtype=torch.float64), v * one, kernel, mean, frame, one)
        for mean, frame in [(ConstantMean(0.0 * one), replace(belief.frame, shift=0.0 * one[0], scale=one[0]))]
        for x, y, noise in [(again, values, v), (designs, values.reshape(6, 4).mean(-1), v / 4)]
    )
    each, averaged = (part.moments(SPACE.sample(5, seed=3), Needs.JOINT) for part in parts)
    torch.testing.assert_close(each.mean, averaged.mean, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(each.covariance, averaged.covariance, rtol=1e-6, atol=1e-8)


def ties() -> tuple[Tensor, Tensor]:
    return X, (3.0 * X[:, 0]).round()


def collinear() -> tuple[Tensor, Tensor]:
    rows = torch.stack([X[:, 0], X[:, 0]], -1)
    return rows, smooth(rows)


def mostly_one_value() -> tuple[Tensor, Tensor]:
    return X, torch.where(torch.arange(30) == 4, 1.0, 0.0).double()


def zeros() -> tuple[Tensor, Tensor]:
    return X, torch.zeros(30, dtype=torch.float64)


def two() -> tuple[Tensor, Tensor]:
    return X[:2], smooth(X[:2])


@pytest.mark.parametrize("data", [ties, collinear, mostly_one_value, zeros, two], ids=lambda make: make.__name__)
def test_awkward_data_give_sensible_beliefs(data: object) -> None:
    """Without a warning: these are errors here. What is expected lies near what was seen."""
    assert callable(data)
    designs, Y = data()
    belief = he.fit(designs, Y, space=SPACE)
    mean, variance = belief.moments(SPACE.sample(50, seed=5), Needs.VARIANCE).total()
    width = float(Y.max() - Y.min()) + 1.0
    assert float(Y.min()) - width < float(mean.min())
    assert float(mean.max()) < float(Y.max()) + width
    assert bool((variance > 0.0).all())
    assert he.propose(he.Maximize(), belief, SPACE, seed=0).x.shape == (1, 2)


def test_a_study_doubts_nothing_against_a_stated_noise() -> None:
    """Where one component is about transformed outcomes, a noise far above their spread differs by component."""
    near = 5.0 + 1e-6 * torch.rand(300, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values = near[:, 0].sin() + 0.1 * near[:, 1]
    study = he.Study(he.Space(x=he.Real(0, 10), y=he.Real(0, 10)), he.Maximize(), noise=1e-3, first=1)
    study.attach_many(({"x": x, "y": y}, value) for (x, y), value in zip(near.tolist(), values.tolist(), strict=True))
    assert study.doubts == ()
    assert "gross error" not in study.decide().heading
