"""How beliefs about success and grades are fitted: against slow references that make no use of earlier results."""

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs.kernels import Stationary
from hentropy.core.beliefs.success import Sightings, seen_between, yes_or_no
from hentropy.core.models.hyperparameters import ascend
from hentropy.core.models.success import ARRIVED, Factor, GradesPosterior, Mode, fit_success

pytestmark = pytest.mark.smoke


def cube(d: int) -> he.Space:
    return he.Space(**{f"x{i}": he.Real(0, 1) for i in range(d)})


def target(n: int, d: int, count: int, seed: int) -> GradesPosterior:
    """Grades that rise with the first two coordinates, some of them wrong."""
    space = cube(d)
    X = space.sample(n, seed)
    noise = 0.1 * torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    grades = ((X[:, :2].mean(-1) + noise).clamp(0.0, 0.999) * count).floor()
    return GradesPosterior.of(X, grades, count, 1, space)


def slow_mode(K: Tensor, m: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """K^-1 (g - m) of the most probable g (n) for one prior, by damped steps that each solve anew, until none moves."""
    zero, a = K.new_zeros(()), K.new_zeros(len(K))

    def height(a: Tensor) -> float:
        return float(seen_between(m + K @ a, zero, low, high)[0].sum() - 0.5 * a @ K @ a)

    for _ in range(200):
        _, A, W, _ = seen_between(m + K @ a, zero, low, high)
        step = torch.linalg.solve(torch.eye(len(K)).double() + W.unsqueeze(-1) * K, A - a)
        length = 1.0
        while height(a + length * step) < height(a) - 1e-10 and length > 1e-9:
            length *= 0.5
        a = a + length * step
        if float(step.abs().max()) < 1e-9:
            return a
    raise AssertionError("the reference found no mode")


def slow_evidence(target: GradesPosterior, theta: Tensor) -> float:
    """log Z by Laplace's method at one row of hyperparameters (p)."""
    row, seen = theta.unsqueeze(0), target.seen(theta.unsqueeze(0))
    K, m = target.covariance(row)[0], row[0, target.groups + 1]
    low, high = seen.low[0], seen.high[0]
    a = slow_mode(K, m, low, high)
    log_each, _, W, _ = seen_between(m + K @ a, K.new_zeros(()), low, high)
    determinant = torch.linalg.slogdet(torch.eye(len(K)).double() + W.unsqueeze(-1) * K).logabsdet
    return float(log_each.sum() - 0.5 * a @ K @ a - 0.5 * determinant)


CASES = [(12, 2, 2, 0), (40, 3, 2, 1), (40, 2, 4, 2), (90, 6, 2, 3), (90, 4, 3, 4)]


@pytest.mark.parametrize("case", CASES)
def test_evidence_and_slope_are_those_of_a_slow_search(case: tuple[int, int, int, int]) -> None:
    """Wherever the search for the mode begins: one row after the other, and all together."""
    posterior = target(*case)
    theta = posterior.priors[0] + posterior.priors[1] * torch.tensor([[0.0], [0.7], [-0.6]]).double()
    values, slopes = zip(*(posterior.value_and_slope(row.unsqueeze(0)) for row in theta), strict=True)
    together = posterior.value_and_slope(theta)
    step = 1e-3
    for i, row in enumerate(theta):
        prior = float(posterior.log_prior(row.unsqueeze(0)))
        exact = slow_evidence(posterior, row) + prior
        ways = row + step * torch.cat([torch.eye(len(row)), -torch.eye(len(row))]).double()
        around = torch.tensor([slow_evidence(posterior, way) for way in ways]).double() + posterior.log_prior(ways)
        rise = ((around[: len(row)] - around[len(row) :]) / (2.0 * step)).tolist()
        for value, slope in ((values[i][0], slopes[i][0]), (together[0][i], together[1][i])):
            assert float(value) == pytest.approx(exact, abs=2e-3)
            assert slope.tolist() == pytest.approx(rise, abs=5e-3)
        assert float(posterior(row.unsqueeze(0))) == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize("case", CASES)
def test_covariance_and_information_are_those_of_plain_sums(case: tuple[int, int, int, int]) -> None:
    posterior = target(*case)
    row = (posterior.priors[0] + 0.4).unsqueeze(0)
    x, g, r = posterior.inputs, posterior.groups, row.clone().requires_grad_()
    apart = ((x[:, None] - x[None]) / r[0, :g].exp()).square().sum(-1).clamp_min(1e-30)
    s = (5.0 * apart).sqrt()
    K = r[0, g].exp() * (1.0 + s + s.square() / 3.0) * torch.exp(-s)
    assert torch.allclose(posterior.covariance(row)[0], K.detach(), atol=1e-12)
    mode = Mode.of(K.detach().unsqueeze(0), row[:, g + 1], posterior.seen(row))
    pull, V = K @ mode.a[0], torch.zeros(len(x), row.shape[-1]).double()
    for i, each in enumerate(pull):
        V[i] = torch.autograd.grad(each, r, retain_graph=True)[0][0] * 0.5**0.5
    V[:, g + 1] = 1.0
    information = V.mT @ torch.linalg.inv(K.detach() + torch.diag(1.0 / mode.factor.W[0])) @ V
    exact = information + torch.diag(posterior.priors[1] ** -2)
    value, slope, spread = posterior.begun(row)
    assert torch.allclose(spread[0] @ exact, torch.eye(len(exact)).double(), atol=1e-3)
    plain = posterior.value_and_slope(row)
    assert torch.allclose(value, plain[0], atol=1e-3)
    assert torch.allclose(slope, plain[1], atol=5e-3)


def test_a_fit_takes_few_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of matrices n x n, beside which all else is quick: about 30, for 12 length scales; one for each step took 78."""
    made, of = [], Factor.of

    def counted(K: Tensor, W: Tensor) -> Factor:
        made.append(len(K))
        return of(K, W)

    monkeypatch.setattr(Factor, "of", counted)
    X = cube(12).sample(200, 5)
    fit_success(X, X[:, :3].sum(-1) < 2.2, space=cube(12))
    assert len(made) <= 40


def slow_chances(K: Tensor, m: Tensor, y: Tensor, across: Tensor, scale: float) -> Tensor:
    """The chances at points with covariances `across` (points x n), by EP one site after the other until none moves."""
    n, (low, high) = len(y), yes_or_no(y)
    t, u = torch.full((n,), 1e-8).double(), torch.zeros(n).double()
    S, mean = K.clone(), m.expand(n).clone()
    for _ in range(60):
        before = t.clone()
        for i in range(n):
            v = 1.0 / (1.0 / S[i, i] - t[i])
            c = v * (mean[i] / S[i, i] - u[i])
            _, A, B, _ = seen_between(c, v, low[i], high[i])
            new_t = B / (1.0 - v * B)
            change, shift = new_t - t[i], (c + v * A) * new_t + A - u[i]
            t[i], u[i] = new_t, u[i] + shift
            column = S[:, i].clone()
            mean = mean + column * (shift - change * mean[i]) / (1.0 + change * column[i])
            S = S - torch.outer(column, column) * (change / (1.0 + change * column[i]))
        if float((t - before).abs().max()) < 1e-8:
            W = torch.linalg.solve(K + torch.diag(1.0 / t), torch.cat([(u / t - m).unsqueeze(-1), across.mT], -1))
            var = scale - (across.mT * W[:, 1:]).sum(0)
            return torch.special.ndtr((m + across @ W[:, 0]) / (1.0 + var).sqrt())
    raise AssertionError("the reference did not settle")


@pytest.mark.parametrize(("d", "seed"), [(2, 0), (6, 1)])
def test_chances_of_a_fit_are_those_of_a_slow_fit(d: int, seed: int) -> None:
    """No hyperparameters nearby have a higher posterior; given these, EP ends where it does one site at a time."""
    posterior = target(140, d, 2, seed)
    space, X = cube(d), cube(d).sample(140, seed)
    success = fit_success(X, posterior.outcomes > 0.5, space=space)
    latent = success.latent
    assert isinstance(latent.kernel, Stationary)
    scale = latent.kernel.outputscale
    m = latent.prior_mean(X[:1])[0, 0]
    theta = torch.cat([latent.kernel.lengthscale[0].log(), scale.log(), m.unsqueeze(0)])
    top = slow_evidence(posterior, theta) + float(posterior.log_prior(theta.unsqueeze(0)))
    width = posterior.priors[1]
    for way in torch.cat([torch.diag(width), -torch.diag(width)]):
        there = theta + 0.01 * way
        height = slow_evidence(posterior, there) + float(posterior.log_prior(there.unsqueeze(0)))
        assert height < top + 0.01 * 1.5 * ARRIVED
    fresh = space.sample(50, 9)
    y = torch.where(posterior.outcomes > 0.5, 1.0, -1.0).double()
    exact = slow_chances(latent.kernel(X, X)[0], m, y, latent.kernel(fresh, X)[0], float(scale))
    assert success.chance(fresh).tolist() == pytest.approx(exact.tolist(), abs=2e-3)


@pytest.mark.parametrize("case", CASES)
def test_a_climb_by_what_is_known_of_the_curvature_leads_to_the_same_summit(case: tuple[int, int, int, int]) -> None:
    start = target(*case).priors[0].unsqueeze(0)
    plain, learning = (ascend(target(*case), start, 1e-3, unseen=unseen) for unseen in (0.0, 1e-6))
    assert float(plain.value) == pytest.approx(float(learning.value), abs=1e-3)
    assert torch.allclose(plain.theta, learning.theta, atol=0.02)


@pytest.mark.parametrize("var", [0.0, 0.4, 30.0])
def test_one_bound_says_what_two_say_of_which_one_is_infinite(var: float) -> None:
    mean = torch.linspace(-12.0, 12.0, 49).double().expand(2, 49)
    y = torch.tensor([[1.0], [-1.0]]).double().expand(2, 49)
    low, high = (bound + 0.3 for bound in yes_or_no(y))
    spread = torch.tensor(var).double()
    for found, exact in zip(
        Sightings(low, high).says(mean, spread), seen_between(mean, spread, low, high), strict=True
    ):
        assert torch.allclose(found, exact, rtol=1e-7, atol=1e-9)
