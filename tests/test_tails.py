"""Noise with heavy tails: weights against the exact posterior of Student's t noise, fits with gross errors, studies."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Gaussian, Needs, Transformed
from hentropy.core.beliefs.gaussian import Frame
from hentropy.core.beliefs.kernels import Profile
from hentropy.core.beliefs.tails import FREEDOM, FUTURE, price
from hentropy.core.models.families import doubted
from hentropy.core.models.gp import ConstantMean, Treatment
from hentropy.core.models.hyperparameters import LogPosterior
from hentropy.core.models.tails import expected_weights

pytestmark = pytest.mark.numerics

LINE = torch.linspace(0.0, 1.0, 7, dtype=torch.float64).unsqueeze(-1)
WRONG = 3
THETA = torch.tensor([[math.log(0.4), 0.0, 0.0, math.log(0.01)]], dtype=torch.float64)
"""Length scale 0.4, variance 1, mean 0, squared scale 0.01."""


def line(error: float) -> Tensor:
    y = torch.sin(4.0 * LINE[:, 0]) + 0.05 * torch.tensor([1.0, -1.0, 0.5, 0.0, -1.5, 1.0, 0.0], dtype=torch.float64)
    y[WRONG] += error
    return y


def target(y: Tensor) -> LogPosterior:
    return LogPosterior(LINE, y, None, Profile.MATERN52, tails=torch.ones_like(y))


def settled(own: LogPosterior, left_out: bool) -> LogPosterior:
    """The weights for given hyperparameters, from equal ones or from predictions of each from the others."""
    own = replace(own, tails=expected_weights(own, THETA, left_out)[0])
    for _ in range(200):
        own = replace(own, tails=expected_weights(own, THETA)[0])
    return own


def bound(own: LogPosterior) -> float:
    """On the log evidence of the observations, with its constant."""
    constant = 0.5 * len(own.outcomes) * math.log(2.0 * math.pi)
    assert own.tails is not None
    return float(own.log_likelihood(THETA)) - constant - float(price(own.tails).sum())


def belief_of(own: LogPosterior) -> Gaussian:
    zero, one = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
    future, weights = own.future_noise(THETA), torch.ones(1, dtype=torch.float64)
    frame, mean = Frame(lambda x: x, zero, one), ConstantMean(torch.zeros(1, dtype=torch.float64))
    noise, kernel = own.believed_variance(THETA), own.kernel(THETA)
    return Gaussian.from_data(LINE, own.outcomes, noise, future, kernel, mean, frame, weights)


def exact(own: LogPosterior, points: Tensor) -> tuple[float, Tensor, Tensor, Tensor]:
    """Log evidence, expected weights (n), means and standard deviations at points (m), by importance sampling.

    Weights are drawn from their prior, with those of the wrong observation spread over all sizes.
    """
    draws, generator = 100_000, torch.Generator().manual_seed(0)
    shape = torch.full((draws, 7), 0.5 * FREEDOM, dtype=torch.float64)
    w = torch._standard_gamma(shape, generator=generator) / (0.5 * FREEDOM)
    level = torch.rand(draws, generator=generator, dtype=torch.float64) * 12.0 - 9.0  # log w
    prior = torch.distributions.Gamma(0.5 * FREEDOM, 0.5 * FREEDOM)
    w[:, WRONG] = level.exp()
    correction = prior.log_prob(level.exp()) + level + math.log(12.0)
    y, G, v = own.outcomes, own.covariance(THETA), own.usual_variance(THETA)
    K = G + torch.diag_embed(v / w)
    chol = torch.linalg.cholesky(K)
    white = torch.linalg.solve_triangular(chol, y.expand(draws, -1).unsqueeze(-1), upper=False).squeeze(-1)
    log_density = -0.5 * white.square().sum(-1) - chol.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    log_weight = log_density - 3.5 * math.log(2.0 * math.pi) + correction
    share = torch.softmax(log_weight, 0)
    kernel = own.kernel(THETA)
    k = kernel(points, LINE)[0]
    solved = torch.cholesky_solve(k.mT.expand(draws, -1, -1), chol)
    means = (solved * y.unsqueeze(-1)).sum(-2)
    variances = kernel.diagonal(points)[0] - (k.mT * solved).sum(-2)
    mean = share @ means
    sd = (share @ (variances + (means - mean).square())).sqrt()
    return float(log_weight.logsumexp(0)) - math.log(draws), share @ w, mean, sd


@pytest.mark.parametrize("error", [0.0, 0.3, 2.0, -6.0])
def test_the_belief_is_close_to_the_exact_posterior_of_student_noise(error: float) -> None:
    points = torch.tensor([[0.1], [0.45], [0.5], [0.8]], dtype=torch.float64)
    own = max((settled(target(line(error)), left_out) for left_out in (False, True)), key=bound)
    evidence, weights, mean, sd = exact(own, points)
    assert own.tails is not None
    assert evidence - 0.9 < bound(own) < evidence + 0.02  # a lower bound, up to the error of sampling
    torch.testing.assert_close(own.tails, weights, rtol=0.2, atol=0.05)
    moments = belief_of(own).moments(points, Needs.VARIANCE)
    assert bool(((moments.mean[0] - mean).abs() < 0.25 * sd).all())
    ratio = moments.variance[0].sqrt() / sd
    assert bool(((ratio > 0.85) & (ratio < 1.05)).all())
    if abs(error) >= 2.0:
        plain = belief_of(replace(own, tails=torch.ones_like(own.tails))).moments(points, Needs.MEAN)
        assert float((plain.mean[0] - mean).abs().max()) > 5.0 * float(sd.max())


SPACE = he.Space(x=he.Real(0.0, 1.0), y=he.Real(0.0, 1.0))
X = SPACE.sample(40, seed=4)
POINTS = SPACE.sample(200, seed=9)
GROSS = (7, 21)


def smooth(x: Tensor) -> Tensor:
    return 3.0 + torch.sin(4.0 * x[:, 0]) + x[:, 1].square()


def measured(x: Tensor, noise: float = 0.05, error: float = 3.0, seed: int = 0) -> Tensor:
    """Results with normal errors, two of them with gross ones."""
    y = smooth(x) + noise * torch.randn(len(x), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    y[list(GROSS)] += torch.tensor([error, -error], dtype=torch.float64)
    return y


def error_of(belief: Gaussian | Transformed, points: Tensor = POINTS) -> float:
    mean = belief.moments(points, Needs.VARIANCE).total()[0]
    return float((mean - smooth(points)).square().mean().sqrt())


@pytest.mark.covering
@pytest.mark.parametrize("treatment", ["auto", "families", "mixture", "map"])
@pytest.mark.parametrize("noise", [None, 0.05])
def test_gross_errors_do_no_harm_and_are_named(treatment: Treatment, noise: float | None) -> None:
    belief = he.fit(X, measured(X), space=SPACE, noise=noise, hyperparameters=treatment, tails="heavy")
    clean = he.fit(X, measured(X, error=0.0), space=SPACE, noise=noise, hyperparameters=treatment)
    assert error_of(belief) < 1.5 * error_of(clean) < 0.1
    if noise is not None:
        assert error_of(he.fit(X, measured(X), space=SPACE, noise=noise, hyperparameters=treatment)) > 0.1
        assert belief.noise_std == pytest.approx(math.sqrt(FUTURE) * noise)  # with its tails
    assert set((doubted(belief) > 0.5).nonzero().flatten().tolist()) == set(GROSS)
    [note] = (note for note in belief.notes if "gross" in note)
    assert note.endswith("If you are sure of them, leave tails out")


def test_intervals_cover_what_student_noise_shows() -> None:
    """t with 3 degrees of freedom, a sixth of the spread: true values and results at new designs."""
    inside, seen, count = 0, 0, 0
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        z = torch.randn(240, 4, generator=generator, dtype=torch.float64)
        errors = 0.1 * z[:, 0] / z[:, 1:].square().mean(-1).sqrt()
        belief = he.fit(X, smooth(X) + errors[:40], space=SPACE, tails="heavy", seed=seed)
        mean, variance = belief.moments(POINTS, Needs.VARIANCE).total()
        inside += int(((smooth(POINTS) - mean).abs() < 1.645 * variance.sqrt()).sum())
        spread = (variance + belief.noise_std**2).sqrt()
        seen += int(((smooth(POINTS) + errors[40:] - mean).abs() < 1.645 * spread).sum())
        count += len(POINTS)
    assert inside > 0.85 * count
    assert 0.85 * count < seen < 0.98 * count


def test_an_observation_without_neighbours_is_no_gross_error() -> None:
    """Far from all others it may as well be the first sign of a peak."""
    designs = torch.cat([X[(X < 0.6).all(-1)], torch.ones(1, 2, dtype=torch.float64)])
    y = smooth(designs)
    y[-1] += 3.0
    belief = he.fit(designs, y, space=SPACE, tails="heavy")
    assert float(doubted(belief)[-1]) < 0.5


def test_many_observations_with_heavy_tails() -> None:
    designs = SPACE.sample(1600, seed=2)
    y = measured(designs)
    for n in (1200, 1600):  # all of them as data, and inducing points
        belief = he.fit(designs[:n], y[:n], space=SPACE, hyperparameters="map", tails="heavy")
        assert error_of(belief) < 0.02
        assert doubted(belief)[list(GROSS)].tolist() == [1.0, 1.0]
        assert float(doubted(belief).mean()) < 0.01
        assert belief.noise_std == pytest.approx(math.sqrt(FUTURE) * 0.05, rel=0.4)


def test_weights_stay_with_their_components_and_observations() -> None:
    belief = he.fit(X, measured(X), space=SPACE, hyperparameters="families", tails="heavy")
    assert belief.tails is not None
    one = belief.component(3)
    assert one.tails is not None
    torch.testing.assert_close(one.tails[0], belief.tails[3])
    after = belief.condition(POINTS[:2], smooth(POINTS[:2]))
    assert after.tails is not None
    torch.testing.assert_close(after.tails[:, :40], belief.tails)
    assert float((after.tails[:, 40:] - 1.0).abs().max()) == 0.0
    assert float(belief.tails[:, list(GROSS)].max()) < 0.05
    others = [i for i in range(40) if i not in GROSS]
    assert float(belief.tails[:, others].mean()) == pytest.approx(1.0, abs=0.15)


def test_outcomes_beside_each_other() -> None:
    Y = torch.stack([measured(X), 2.0 * smooth(X), smooth(X) - 1.0], -1)
    names = ("a", "b", "c")
    belief = he.fit_outcomes(X, Y, names, space=SPACE, tails={"a": "heavy"}, hyperparameters="map")
    mean = belief.of("a").moments(POINTS, Needs.VARIANCE).total()[0]
    assert float((mean - smooth(POINTS)).square().mean().sqrt()) < 0.1
    with pytest.raises(he.InputError, match="tails are given by the names of outcomes"):
        he.fit_outcomes(X, Y, names, space=SPACE, tails={"d": "heavy"})
    with pytest.raises(he.InputError, match="tails is 'light'"):
        he.fit(X, Y[:, 0], space=SPACE, tails="light")  # type: ignore[call-overload]


def test_a_study_says_which_trials_it_doubts() -> None:
    study = he.Study(SPACE, he.Maximize(), outcomes={"yield": he.Outcome(unit="%", tails="heavy")})
    study.attach_many((SPACE.decode(row), float(y)) for row, y in zip(X, measured(X), strict=True))
    assert {one.number for one in study.doubts} == set(GROSS)
    said = " ".join(str(study.decide()).split())
    assert "Trials 7 (6.398, more than 99 %) and 21 (1.626, more than 99 %)" in said
    assert "are probably gross errors: the other results contradict them, and they count for little." in said
    assert "Measure them again." in said
    trial = study.ask()
    low, high = trial.predictions["yield"].interval
    assert low < high


def test_tails_may_be_stated_later(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    options: dict[str, Any] = {"name": "lab", "storage": url, "first": 2}
    he.Study(SPACE, he.Maximize(), **options).attach({"x": 0.5, "y": 0.5}, 3.0)
    again = he.Study(SPACE, he.Maximize(), outcomes={"value": he.Outcome(tails="heavy")}, **options)
    assert len(again.records) == 1
    assert again.outcomes.tails("value") == "heavy"


def test_replicates_with_heavy_tails_do_not_contradict_a_stated_noise() -> None:
    study = he.Study(SPACE, he.Maximize(), outcomes={"value": he.Outcome(noise=0.1, tails="heavy")})
    study.attach_many([({"x": 0.5, "y": 0.5}, value) for value in (3.0, 9.0)])
    assert not any("repeated experiments differ" in note for note in study.notes)
