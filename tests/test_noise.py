"""Noise that is stated, learned, or absent: what a belief says at designs that were measured."""

import math
import re

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Gaussian, Needs, Transformed
from hentropy.core.beliefs.gaussian import NO_NOISE
from hentropy.core.beliefs.nodes import mixture_quantiles

SPACE = he.Space(x=he.Real(0.0, 1.0), y=he.Real(0.0, 1.0))


def designs(n: int, seed: int) -> Tensor:
    return torch.rand(n, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def smooth(x: Tensor) -> Tensor:
    return torch.sin(6.0 * x[:, 0]) + x[:, 1].square()


def rough(x: Tensor) -> Tensor:
    return torch.sin(6.0 * x[:, 0]) + torch.cos(57.0 * x[:, 0] + 41.0 * x[:, 1])


def normal(n: int, seed: int) -> Tensor:
    return torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def no_noise(belief: Gaussian | Transformed) -> float:
    """How probable it is that there is none."""
    own = belief.process
    return float(own.weights[own.future_noise < NO_NOISE].sum())


def test_a_smooth_function_without_noise_is_recognised() -> None:
    X = designs(30, 0)
    belief = he.fit(X, smooth(X), space=SPACE)
    assert no_noise(belief) > 0.9
    assert not any("do not tell" in note for note in belief.notes)


def test_replicates_that_differ_leave_no_component_without_noise() -> None:
    X = designs(8, 1).repeat_interleave(3, 0)
    belief = he.fit(X, smooth(X) + 0.2 * normal(24, 2), space=SPACE)
    assert no_noise(belief) == 0.0
    assert not any("do not tell" in note for note in belief.notes)


def test_running_the_best_design_again_is_worth_something_where_noise_and_roughness_compete() -> None:
    """With no noise, it is worth nothing. The belief says in words that running it again would tell."""
    X = designs(25, 3)
    Y = rough(X)
    unsure, sure = he.fit(X, Y, space=SPACE), he.fit(X, Y, space=SPACE, noise=0.0)
    assert 0.1 < no_noise(unsure) < 0.9
    assert any("running a good design again would tell" in note for note in unsure.notes)
    best = X[Y.argmax()].view(1, 1, 2)
    again, known = (float(he.gain(he.Maximize(), belief, best, SPACE).value) for belief in (unsure, sure))
    assert again > 0.01 * float(Y.std())
    assert known < 1e-3 * float(Y.std())


def test_a_verdict_says_that_a_repeated_run_would_tell() -> None:
    X = designs(25, 3)
    for noise, asked in ((None, True), (0, False)):
        study = he.Study(SPACE, he.Maximize(), noise=noise)
        study.attach_many([(design, float(y)) for design, y in zip(map(SPACE.decode, X), rough(X), strict=True)])
        said = study.decide().beside
        assert ("running a good design again would tell, or state the noise." in said) == asked
        assert bool(re.search(r"whether value is noisy \((by about \S+, )?\d+ % probable\)", said)) == asked


def test_the_mean_at_a_measured_design_leans_to_what_was_measured() -> None:
    """As far as there may be no noise: a model that holds all roughness for noise would expect the average."""
    X = designs(25, 3)
    Y = rough(X)
    belief = he.fit(X, Y, space=SPACE)
    best = int(Y.argmax())
    noisy = he.fit(X, Y, space=SPACE, noise=float(Y.std()))
    assert float(belief.means(X).mean[0, best]) > float(noisy.means(X).mean[0, best]) + 0.2 * float(Y.std())


def test_intervals_at_measured_designs_cover_the_truth() -> None:
    """Noise of a tenth of the spread, not stated: at 12 designs of 8 data sets of 90 % intervals at least 0.75 cover.

    Were they right at each of the 96 designs, and half as many independent, fewer would in 1 of 2,000 cases. A belief
    with the most probable noise alone covers 0.2 to 0.4.
    """
    covered = []
    for seed in range(8):
        X = designs(12, 10 + seed)
        truth = smooth(X)
        belief = he.fit(X, truth + 0.1 * truth.std() * normal(12, 30 + seed), space=SPACE)
        latent = belief.process
        moments = latent.moments(X, Needs.VARIANCE)
        parts = latent.weights.unsqueeze(-1).expand_as(moments.mean), moments.mean, moments.variance.sqrt()
        ends = (0.05, 0.95)
        low, high = (
            belief.quantiles(ends, *parts) if isinstance(belief, Transformed) else mixture_quantiles(ends, *parts)
        )
        covered.append(((low <= truth) & (truth <= high)).double().mean())
    assert float(torch.stack(covered).mean()) > 0.75


@pytest.mark.parametrize("share", [1e-4, 1e-5])
def test_a_stated_error_is_respected_far_below_a_thousandth_of_the_spread(share: float) -> None:
    X = designs(25, 3)
    Y = rough(X)
    error = share * float(Y.std())
    belief = he.fit(X, Y, space=SPACE, noise=error, hyperparameters="families")
    assert belief.noise_std == pytest.approx(error, rel=1e-6)
    torch.testing.assert_close(belief.means(X).mean[0], Y, rtol=0.0, atol=5.0 * error)


def crowded() -> tuple[Tensor, Tensor]:
    """Around an optimum, on scales down to a millionth of the range."""
    steps = 0.3 * 0.7 ** torch.arange(40, dtype=torch.float64).unsqueeze(-1)
    X = (torch.tensor([0.3, 0.4], dtype=torch.float64) + steps * normal(80, 0).view(40, 2)).clamp(0.0, 1.0)
    return X, torch.log((X - 0.35).square().sum(-1) + 1e-6)


def awkward() -> dict[str, tuple[Tensor, Tensor]]:
    X, twice = designs(30, 0), designs(15, 0).repeat(2, 1)
    near = 0.5 + 1e-6 * designs(300, 1)
    return {
        "repeated": (twice, smooth(twice)),
        "repeated, other outcomes": (twice, smooth(twice) + 0.1 * normal(30, 1)),
        "nearly repeated": (
            torch.cat([twice[:15], (twice[:15] + 1e-9).clamp(0.0, 1.0)]),
            smooth(twice) + 1e-3 * normal(30, 1),
        ),
        "1e-12": (X, 1e-12 * smooth(X)),
        "1e12": (X, 1e12 * smooth(X)),
        "constant": (X, torch.full((30,), 3.0, dtype=torch.float64)),
        "one outlier": (X, smooth(X).index_fill(0, torch.tensor([4]), 1e6)),
        "300 within 1e-6": (near, smooth(near)),
        "300 within 1e-6, wild": (near, normal(300, 2)),
        "crowded": crowded(),
    }


@pytest.mark.covering
@pytest.mark.parametrize("noise", [None, 0.0, 1e-4])
@pytest.mark.parametrize("name", awkward())
def test_no_data_end_in_a_linear_algebra_error(name: str, noise: float | None) -> None:
    X, Y = awkward()[name]
    belief = he.fit(X, Y, space=SPACE, noise=noise)
    mean, variance = belief.moments(SPACE.sample(20, seed=5), Needs.VARIANCE).total()
    assert bool((torch.isfinite(mean) & torch.isfinite(variance)).all())
    if len(X) < 100:
        for decision in (he.Maximize(), he.BestObserved()):
            assert he.propose(decision, belief, SPACE, seed=0).x.shape == (1, 2)


EVERY = (
    he.Maximize(),
    he.Minimize(among="measured"),
    he.BestObserved(),
    he.Improve(1.0),
    he.Identify("max"),
    he.KGuesses(2),
    he.TopK(2, weight=1.0, cap=0.3),
    he.LevelSets(1.0),
    he.Sequence([0.5, 1.0]),
    he.MinMax(),
    he.Estimate(),
    he.Target({"value": 1.0}),
)


@pytest.mark.parametrize(
    "place",
    [pytest.param(i, marks=[pytest.mark.nightly] * (i % 5 > 0)) for i in range(2 * len(EVERY))],
)
def test_no_study_of_awkward_data_ends_in_an_error(place: int) -> None:
    """Every decision with two kinds of data and two statements of the noise."""
    data = list(awkward().values())
    (X, Y), noise = data[(place + place // len(EVERY)) % len(data)], (None, 0.0, 1e-4)[place % 3]
    study = he.Study(SPACE, EVERY[place % len(EVERY)], noise=noise, first=1)
    study.attach_many((SPACE.decode(row), value) for row, value in zip(X, Y.tolist(), strict=True))
    verdict, trial = study.decide(), study.ask()
    numbers = [value for row in verdict.action for value in row.values() if isinstance(value, float)]
    assert all(map(math.isfinite, [*numbers, verdict.expected_loss, trial.gain or 0.0]))
    assert len(verdict.heading) < 2000


def test_jitter_is_reported() -> None:
    """A kernel matrix with equal rows has no root without it."""
    X = designs(15, 0).repeat(2, 1)
    own = he.fit(X, smooth(X), space=SPACE, noise=0.1, hyperparameters="map")
    assert own.notes == ()
    parts = own.future_noise, own.kernel, own.prior_mean, own.frame, own.weights
    exact = Gaussian.from_data(X, (smooth(X) - own.frame.shift) / own.frame.scale, torch.zeros_like(own.noise), *parts)
    assert exact.jitter > 0.0
    assert ["numbers cannot hold it" in note for note in exact.notes] == [True]
