"""Many observations through inducing points: against the exact process, brute force, and a study of its records."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.acquisition import as_botorch
from hentropy.core.beliefs import Frame, Gaussian, Needs
from hentropy.core.beliefs.inducing import summarised
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.models import many
from hentropy.core.models.families import leave_one_out
from hentropy.core.models.gp import ConstantMean
from hentropy.core.models.many import whole_fit
from hentropy.studies.testing import check_belief

pytestmark = [pytest.mark.smoke, pytest.mark.numerics]

SPACE = he.Space(x=he.Real(-1, 3), y=he.Real(0, 2))
N, M = 40, 12


def halved(x: Tensor) -> Tensor:
    return 0.5 * x


def value(x: Tensor) -> Tensor:
    return torch.sin(2.0 * x).sum(-1) + 5.0


def given(rows: int, kernel: Any = None) -> Gaussian:
    """The exact belief of two components after the first rows of the data, noise 0.02 and 0.1 in the model's units."""
    X = SPACE.sample(N, 0)[:rows]
    scale = torch.tensor([[0.6, 0.4], [1.2, 0.9]], dtype=torch.float64)
    kernel = Stationary(Profile.MATERN52, scale, torch.tensor([1.0, 2.0], dtype=torch.float64))
    frame = Frame(halved, torch.tensor(4.8, dtype=torch.float64), torch.tensor(1.3, dtype=torch.float64))
    noise = torch.tensor([0.02, 0.1], dtype=torch.float64)
    mean = ConstantMean(torch.tensor([0.1, -0.2], dtype=torch.float64))
    weights = torch.tensor([0.3, 0.7], dtype=torch.float64)
    Y = (value(X) - frame.shift) / frame.scale
    return Gaussian.from_data(X, Y, noise.unsqueeze(-1).expand(2, rows), noise, kernel, mean, frame, weights)


def in_all(part: Gaussian) -> Gaussian:
    X = SPACE.sample(N, 0)
    return summarised(part, X, value(X), part.noise[:, :1].expand(2, N))


def assert_same(one: Gaussian, other: Gaussian, points: Tensor, atol: float = 1e-7) -> None:
    ours, theirs = one.moments(points, Needs.JOINT), other.moments(points, Needs.JOINT)
    torch.testing.assert_close(ours.mean, theirs.mean, rtol=1e-6, atol=atol)
    torch.testing.assert_close(ours.covariance, theirs.covariance, rtol=1e-6, atol=atol)


def test_with_all_designs_as_inducing_points_it_is_the_exact_process() -> None:
    exact = given(N)
    points = SPACE.sample(7, 5)
    assert_same(in_all(exact), exact, points)
    x, y = SPACE.sample(2, 9), torch.tensor([4.0, 6.5], dtype=torch.float64)
    after, exactly = in_all(exact).condition(x, y), exact.condition(x, y)
    torch.testing.assert_close(after.weights, exactly.weights)
    assert_same(after, exactly, points)


def test_moments_and_conditioning_are_those_of_brute_force() -> None:
    """The values at Z have a normal prior; observations are k(X, Z) K^-1 f(Z) with noise; f(a) follows from f(Z)."""
    part = given(M)
    belief = in_all(part)
    points, x = SPACE.sample(5, 5), SPACE.sample(2, 9)
    Z, X, a = (halved(each) for each in (part.X, belief.X, torch.cat([points, x])))
    r = belief.residual
    for h in range(2):
        k, v = part.kernel.some([h]), float(part.noise[h, 0])
        K = k(Z, Z)[0]
        A, B = (torch.linalg.solve(K, k(Z, each)[0]).mT for each in (X, a))  # n x M and m x M
        posterior = torch.linalg.inv(torch.linalg.inv(K) + A.mT @ A / v)
        mean = B @ posterior @ A.mT @ r[h] / v + part.prior_mean(a)[h]
        cov = k(a, a)[0] - B @ K @ B.mT + B @ posterior @ B.mT
        scale, shift = belief.frame.scale, belief.frame.shift
        moments = belief.moments(torch.cat([points, x]), Needs.JOINT)
        torch.testing.assert_close(moments.mean[h], shift + scale * mean)
        torch.testing.assert_close(moments.covariance[h], scale**2 * cov, rtol=1e-6, atol=1e-9)

        y = torch.tensor([4.0, 6.5], dtype=torch.float64)
        S = cov[5:, 5:] + v * torch.eye(2, dtype=torch.float64)
        gain = torch.linalg.solve(S, cov[5:, :5]).mT
        after = belief.condition(x, y).moments(points, Needs.JOINT)
        torch.testing.assert_close(after.mean[h], shift + scale * (mean[:5] + gain @ ((y - shift) / scale - mean[5:])))
        torch.testing.assert_close(
            after.covariance[h], scale**2 * (cov[:5, :5] - gain @ cov[5:, :5]), rtol=1e-6, atol=1e-9
        )


def test_it_does_not_contradict_itself() -> None:
    check_belief(in_all(given(M)), SPACE)


def conditioned(belief: Gaussian) -> Gaussian:
    return belief.condition(SPACE.sample(3, 9), torch.tensor([4.0, 6.5, 5.0], dtype=torch.float64))


@pytest.mark.parametrize("belief", [given(M), in_all(given(M)), conditioned(in_all(given(M)))], ids=["n", "M", "M + 3"])
def test_the_noise_is_what_the_root_leaves(belief: Gaussian) -> None:
    """K + N = (R^T R)^-1, so that R N R^T = I - R K R^T."""
    R, white = belief.root_inverse, belief.white_noise
    rest = torch.eye(R.shape[-1], dtype=torch.float64) - R @ belief.kernel(belief.inputs, belief.inputs) @ R.mT
    torch.testing.assert_close(white @ white.mT, rest, rtol=1e-6, atol=1e-8)


def test_paths_have_its_moments() -> None:
    """With 4,000 draws, six standard errors, and 2 % of the prior variance, which Fourier features may leave."""
    belief = conditioned(in_all(given(M))).component(0)
    points, count = SPACE.sample(6, 5), 4000
    drawn = belief.paths(count, seed=1)(points)
    moments = belief.moments(points, Needs.VARIANCE)
    var, left = moments.variance[0], 0.02 * float(belief.frame.scale.square())
    assert bool(((drawn.mean(0) - moments.mean[0]).abs() <= 6 * (var / count).sqrt() + left).all())
    assert bool(((drawn.var(0) - var).abs() <= 6 * math.sqrt(2 / count) * var + left).all())


def test_what_needs_the_exact_process_says_so_or_takes_the_part_that_has_it() -> None:
    part = given(M)
    belief = in_all(part)
    torch.testing.assert_close(leave_one_out(belief).mean, leave_one_out(part).mean)
    torch.testing.assert_close(belief.observed, value(SPACE.sample(N, 0)))
    with pytest.raises(he.ModelError, match="40 observations through 12 inducing points"):
        as_botorch(belief.component(0))


def test_full_fits_follow_a_schedule() -> None:
    assert [whole_fit(n) for n in (1001, 1249, 1250, 1561, 1562)] == [1000, 1000, 1250, 1250, 1562]
    assert all(whole_fit(n) <= n < 1.26 * whole_fit(n) for n in range(1000, 20000, 37))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens from 1,000 and 1,500 observations on, from 10 and 14 on."""
    monkeypatch.setattr(many, "FITTED", 10)
    monkeypatch.setattr(many, "EXACT", 14)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("treatment", ["map", "families"])
def test_a_fit_that_knows_the_last_one_is_the_same(treatment: Any) -> None:
    X = SPACE.sample(19, 2)
    errors = torch.full((19,), 0.1, dtype=torch.float64)

    def fitted(n: int, **more: Any) -> Gaussian:
        options: dict[str, Any] = {"space": SPACE, "noise": errors[:n], "hyperparameters": treatment}
        return he.fit(X[:n], value(X[:n]), **options, **more)

    last, alone = fitted(18), fitted(19)
    kept = fitted(19, earlier=last)
    assert last.summary is not None
    assert kept.summary is not None
    assert kept.summary.part is last.summary.part  # 18 and 19 have the hyperparameters of the first 18
    assert_same(kept, alone, SPACE.sample(4, 1))
    changed = he.fit(X, value(X) + 1.0, space=SPACE, noise=errors, hyperparameters=treatment, earlier=last)
    assert changed.summary is not None
    assert changed.summary.part is not last.summary.part
    within = fitted(13)  # more than are fitted, few enough for the exact process
    assert within.summary is None
    assert within.sites == 13


@pytest.mark.usefixtures("small")
def test_a_study_with_many_values_continues_from_its_records() -> None:
    study = he.Study(SPACE, he.Maximize(), seed=1, first=4, hyperparameters="map")
    for row in SPACE.sample(16, 7):
        study.attach(SPACE.decode(row), float(value(row)))
    for _ in range(3):
        trial = study.ask()
        study.tell(trial, float(value(SPACE.encode(trial.params))))
    again = he.Study(SPACE, he.Maximize(), seed=1, first=4, hyperparameters="map", records=study.records)
    one, other = study.propose(), again.propose()
    assert isinstance(study.belief, Gaussian)
    assert study.belief.sites == 10
    torch.testing.assert_close(one.x, other.x)
    assert study.decide().expected_loss == pytest.approx(again.decide().expected_loss)


def test_given_errors_weigh_the_observations() -> None:
    """An observation with a hundred times the error counts for nothing."""
    part = given(M)
    X = SPACE.sample(N, 0)
    noise = part.noise[:, :1].expand(2, N).clone()
    noise[:, M:] *= 1e8
    assert_same(
        summarised(part, X, value(X) + 3.0 * (torch.arange(N) >= M), noise), replace(part), SPACE.sample(4, 1), 1e-4
    )
