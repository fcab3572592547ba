"""Beliefs about yes and no and about grades: against quadrature, weighted draws and differences."""

import itertools

import pytest
import torch
from scipy.stats import multivariate_normal
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Frame, Gaussian, Graded
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.beliefs.nodes import gauss_hermite, outcome_nodes
from hentropy.core.beliefs.normal import bivariate_excess
from hentropy.core.beliefs.success import Sightings
from hentropy.core.models.gp import ConstantMean
from hentropy.core.models.success import fit_grades, sites

pytestmark = pytest.mark.smoke

SQUARE = he.Space(x=he.Real(0, 1), y=he.Real(0, 1))
UNIT = Frame(lambda x: x, torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64))
RUN = SQUARE.sample(12, 4)
AT = SQUARE.sample(5, 11)
X = SQUARE.sample(3, 12).unsqueeze(1)


def graded(cuts: list[list[float]], codes: Tensor | None = None, scale: float = 4.0) -> Graded:
    """A belief of len(cuts) components whose length scales and means differ."""
    cut = torch.tensor(cuts).double()
    H = len(cut)
    kernel = Stationary(
        Profile.MATERN52, torch.linspace(0.3, 0.6, H).double()[:, None].expand(H, 2), torch.full((H,), scale).double()
    )
    mean = torch.linspace(0.2, -0.4, H).double()
    codes = (RUN.sum(-1) * 0.5 * (cut.shape[-1] + 1)).long() if codes is None else codes
    edges = torch.cat([torch.full((H, 1), -torch.inf), cut, torch.full((H, 1), torch.inf)], -1).double()
    data, noise = sites(kernel(RUN, RUN), mean, Sightings(edges[:, codes], edges[:, codes + 1]))
    one = torch.ones(H).double()
    weights = torch.linspace(1.0, 2.0, H).double()
    return Graded(Gaussian.from_data(RUN, data, noise, one, kernel, ConstantMean(mean), UNIT, weights), cut)


RULE = gauss_hermite(64)
Z = torch.cartesian_prod(RULE.z[:, 0], RULE.z[:, 0])
W = torch.cartesian_prod(RULE.weights, RULE.weights).prod(-1)

KINDS = {
    "yes/no": [[0.0]],
    "mixture": [[0.0], [0.0]],
    "grades": [[-1.3, 0.0, 0.9]],
    "mixture of grades": [[-1.0, 0.0], [-0.4, 0.0]],
}


def by_quadrature(belief: Graded, a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The probability of each grade at x (d), and of yes at a (d) given it: by the product rule over g at both."""
    moments = belief.latent.moments(torch.stack([x, a]), he.Needs.JOINT)
    chances, both = [], []
    for h, weight in enumerate(belief.latent.weights):
        cov = moments.covariance[h] + 1e-9 * torch.eye(2).double()  # x may be a
        g = moments.mean[h] + Z @ torch.linalg.cholesky(cov).mT
        seen = torch.special.ndtr(belief.edges[h] - g[:, :1]).diff(dim=-1)  # S x G
        chances.append(weight * (W.unsqueeze(-1) * seen).sum(0))
        both.append(weight * ((W * torch.special.ndtr(g[:, 1])).unsqueeze(-1) * seen).sum(0))
    chance = torch.stack(chances).sum(0)
    return chance, torch.stack(both).sum(0) / chance


def test_the_bivariate_normal_distribution_is_that_of_scipy() -> None:
    h = torch.tensor([-2.0, -0.3, 0.4, 1.7, 0.4]).double()
    k = torch.tensor([0.5, -0.3, 2.2, -1.1, 0.39]).double()
    for rho in (-0.97, -0.5, 0.0, 0.3, 0.9, 0.97):
        exact = [multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([a, b]) for a, b in zip(h, k, strict=True)]
        found = bivariate_excess(h, k, torch.tensor(rho).double()) + torch.special.ndtr(h) * torch.special.ndtr(k)
        assert found.tolist() == pytest.approx(exact, abs=2e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_moments_of_the_probability_are_those_of_draws(kind: str) -> None:
    belief = graded(KINDS[kind])
    moments = belief.moments(AT, he.Needs.JOINT)
    draws = belief.sample(AT, 2**15, seed=1)
    mean, var = moments.total()
    assert mean.tolist() == pytest.approx(draws.mean(0).tolist(), abs=0.008)
    assert var.sqrt().tolist() == pytest.approx(draws.std(0).tolist(), abs=0.008)
    one = moments.weights[:, None, None] * (
        moments.covariance + (moments.mean - mean).unsqueeze(-1) * (moments.mean - mean).unsqueeze(-2)
    )
    assert torch.allclose(one.sum(0), draws.mT.cov(), atol=0.004)


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_after_a_grade_are_exact(kind: str) -> None:
    belief = graded(KINDS[kind])
    fantasy = belief.look_ahead(X).fantasy(belief.nodes(8, 1))
    shared = fantasy.shared_moments(AT.unsqueeze(1), he.Needs.MEAN)
    own = fantasy.moments(AT.expand(3, 1, *AT.shape), he.Needs.MEAN)
    for moments in (shared.expect_vector(shared.mean).squeeze(-1), own.expect_vector(own.mean)):
        for i, j in itertools.product(range(3), range(5)):
            chance, yes = by_quadrature(belief, AT[j], X[i, 0])
            assert fantasy.weights[i].tolist() == pytest.approx(chance.tolist(), abs=1e-6)
            assert moments[i, :, j].tolist() == pytest.approx(yes.tolist(), abs=2e-6)
    now = belief.moments(AT, he.Needs.MEAN)
    average = (fantasy.weights.unsqueeze(-1) * shared.expect_vector(shared.mean).squeeze(-1)).sum(1)
    assert torch.allclose(average, now.expect_vector(now.mean).expand(3, -1), atol=1e-9)


@pytest.mark.parametrize("kind", ["yes/no", "grades"])
def test_the_latent_value_after_a_grade_has_the_exact_mean_and_variance(kind: str) -> None:
    belief = graded(KINDS[kind])
    after = belief.scores.look_ahead(X).fantasy(belief.nodes(8, 1)).shared_moments(AT.unsqueeze(1), he.Needs.VARIANCE)
    moments = belief.latent.moments(torch.stack([X[0, 0], AT[0]]), he.Needs.JOINT)
    g = moments.mean[0] + Z @ torch.linalg.cholesky(moments.covariance[0]).mT
    seen = W.unsqueeze(-1) * torch.special.ndtr(belief.edges[0] - g[:, :1]).diff(dim=-1)
    mean = (seen * g[:, 1:]).sum(0) / seen.sum(0)
    var = (seen * g[:, 1:].square()).sum(0) / seen.sum(0) - mean.square()
    assert after.mean[0, 0, :, 0, 0].tolist() == pytest.approx(mean.tolist(), abs=1e-6)
    assert after.variance[0, 0, :, 0, 0].tolist() == pytest.approx(var.tolist(), abs=1e-6)


@pytest.mark.parametrize("kind", ["yes/no", "mixture of grades"])
def test_two_experiments_together_are_close_to_draws(kind: str) -> None:
    belief = graded(KINDS[kind])
    x = SQUARE.sample(2, 12).unsqueeze(0)
    fantasy = belief.look_ahead(x).fantasy(belief.nodes(8, 2))
    moments = fantasy.shared_moments(AT.unsqueeze(1), he.Needs.MEAN)
    found = moments.expect_vector(moments.mean).squeeze(-1)[0]  # N x 5
    generator = torch.Generator().manual_seed(0)
    joint = belief.latent.moments(torch.cat([x[0], AT]), he.Needs.JOINT)
    total, yes = torch.zeros(len(found)).double(), torch.zeros_like(found)
    for h, weight in enumerate(belief.latent.weights):
        noise = torch.randn(2**16, 7, generator=generator, dtype=torch.float64)
        g = joint.mean[h] + noise @ torch.linalg.cholesky(joint.covariance[h]).mT
        each = torch.special.ndtr(belief.edges[h] - g[:, :2, None]).diff(dim=-1)  # S x 2 x G
        seen = (each[:, 0, :, None] * each[:, 1, None]).flatten(1)  # S x N
        total += weight * seen.mean(0)
        yes += weight * seen.mT @ torch.special.ndtr(g[:, 2:]) / len(g)
    assert fantasy.weights[0].tolist() == pytest.approx(total.tolist(), abs=0.01)
    assert ((found - yes / total.unsqueeze(-1)).abs() * total.unsqueeze(-1)).sum(0).max() < 0.01


def test_many_experiments_together_are_drawn() -> None:
    belief = graded(KINDS["mixture of grades"])
    x = SQUARE.sample(6, 12).unsqueeze(0)  # 729 combinations of grades
    fantasy = belief.look_ahead(x).fantasy(belief.nodes(512, 6, seed=1))
    moments = fantasy.shared_moments(AT.unsqueeze(1), he.Needs.MEAN)
    average = fantasy.weights @ moments.expect_vector(moments.mean).squeeze(-1)[0]
    now = belief.moments(AT, he.Needs.MEAN)
    assert set(fantasy.values.unique().tolist()) == {0.0, 1.0, 2.0}
    assert average.tolist() == pytest.approx(now.expect_vector(now.mean).tolist(), abs=0.02)


def test_a_grade_that_is_told_is_a_grade_that_was_looked_ahead_to() -> None:
    belief = graded(KINDS["mixture of grades"])
    fantasy = belief.scores.look_ahead(X[:1]).fantasy(belief.nodes(8, 1))
    ahead = fantasy.shared_moments(AT.unsqueeze(0), he.Needs.VARIANCE)
    for grade in range(3):
        after = belief.scores.condition(X[0], torch.tensor([grade])).moments(AT, he.Needs.VARIANCE)
        assert torch.allclose(after.mean, ahead.mean[:, 0, grade, 0], atol=1e-8)
        assert torch.allclose(after.variance, ahead.variance[:, 0, grade, 0], atol=1e-8)
        assert torch.allclose(after.weights[:, None], ahead.weights[:, 0, grade], atol=1e-8)


def test_what_is_expected_leaves_the_mean_and_lowers_the_spread() -> None:
    belief = graded(KINDS["grades"]).scores
    now, then = belief.moments(AT, he.Needs.VARIANCE), belief.expecting(AT).moments(AT, he.Needs.VARIANCE)
    assert torch.allclose(now.mean, then.mean, atol=1e-9)
    assert bool((then.variance < 0.9 * now.variance).all())


def test_chances_of_grades_are_those_of_weighted_draws() -> None:
    """Expectation propagation of the ordered probit against draws of the prior, weighted by the likelihood."""
    belief = graded([[-1.3, 0.0, 0.9]], scale=2.0)
    codes = (RUN.sum(-1) * 2.0).long()
    both = torch.cat([RUN, AT])
    root = torch.linalg.cholesky(belief.latent.kernel(both, both)[0] + 1e-9 * torch.eye(17).double())
    noise = torch.randn(2**17, 17, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    g = 0.2 + noise @ root.mT
    edge = belief.edges[0]
    log_weight = torch.log(
        torch.special.ndtr(edge[codes + 1] - g[:, :12]) - torch.special.ndtr(edge[codes] - g[:, :12])
    )
    weight = torch.softmax(log_weight.sum(-1), 0)
    assert float(1.0 / weight.square().sum()) > 250
    exact = weight @ torch.special.ndtr(g[:, 12:])
    assert belief.moments(AT, he.Needs.MEAN).mean[0].tolist() == pytest.approx(exact.tolist(), abs=0.02)


def test_nodes_of_numbers_are_as_they_were() -> None:
    assert not outcome_nodes(8, 1, 1).every


def evidence(belief: Graded, x: Tensor, level: float, sides: bool) -> tuple[Tensor, Tensor]:
    """The chance of each grade at x (d), and the evidence at AT given it: by draws, G and G x m."""
    generator = torch.Generator().manual_seed(3)
    joint = belief.latent.moments(torch.cat([x.unsqueeze(0), AT]), he.Needs.JOINT)
    chance, total = torch.zeros(belief.grades).double(), torch.zeros(belief.grades, len(AT)).double()
    for h, weight in enumerate(belief.latent.weights):
        half = torch.randn(2**15, len(AT) + 1, generator=generator, dtype=torch.float64)
        g = joint.mean[h] + torch.cat([half, -half]) @ torch.linalg.cholesky(joint.covariance[h]).mT
        seen = torch.special.ndtr(belief.edges[h] - g[:, :1]).diff(dim=-1)
        p = torch.special.ndtr(g[:, 1:])
        chance += weight * seen.mean(0)
        total += weight * seen.mT @ ((p > level).double() - 0.5 if sides else p - level) / len(g)
    return chance, total / chance.unsqueeze(-1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", ["difference", "misclassification"])
def test_the_gain_of_level_sets_of_a_probability_is_that_of_draws(kind: str, relation: str) -> None:
    belief, sides = graded(KINDS[kind]), relation == "misclassification"
    decision = he.LevelSets([0.3, 0.75], at=AT, relation="misclassification" if sides else "difference")
    found = he.gain(decision, belief, X[:, 0], SQUARE)
    assert found.exact
    assert bool((found.std_error == 0).all())
    for i, x in enumerate(X[:, 0]):
        worth = 0.0
        for level in (0.3, 0.75):
            chance, each = evidence(belief, x, level, sides)
            now = chance @ each
            if sides:
                worth += float((chance @ each.abs() - now.abs()).sum())
            else:
                worth += float((chance @ each.clamp_min(0.0) - now.clamp_min(0.0)).sum())
        assert float(found.value[i]) == pytest.approx(worth, abs=0.006)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gain_of_conservative_level_sets_of_a_probability_is_that_of_draws(kind: str) -> None:
    belief, confidence = graded(KINDS[kind]), 0.8
    found = he.gain(he.LevelSets(0.6, at=AT, confidence=confidence), belief, X[:, 0], SQUARE)
    assert found.exact
    for i, x in enumerate(X[:, 0]):
        chance, each = evidence(belief, x, 0.6, sides=True)  # P(above) - 1/2 after each grade
        each = (each + 0.5 - confidence) / (1.0 - confidence)
        worth = float((chance @ each.clamp_min(0.0) - (chance @ each).clamp_min(0.0)).sum())
        assert float(found.value[i]) == pytest.approx(worth, abs=0.03)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gain_of_the_best_of_a_list_is_a_sum_over_the_grades(kind: str) -> None:
    belief = graded(KINDS[kind])
    pool = he.Pool(torch.cat([AT, X[:, 0]]), names=["x", "y"])
    found = he.gain(he.Maximize(), belief, X[:, 0], pool)
    now = belief.moments(pool.points, he.Needs.MEAN)
    for i, x in enumerate(X[:, 0]):
        chances, then = zip(*(by_quadrature(belief, a, x) for a in pool.points), strict=True)
        best = torch.stack(then).amax(0)  # after each grade
        rise = float(chances[0] @ best - now.expect_vector(now.mean).max())
        assert float(found.value[i]) == pytest.approx(rise, abs=5e-5)


def test_a_continuous_space_has_at_least_the_gain_of_a_grid() -> None:
    belief = graded(KINDS["yes/no"])
    found = he.gain(he.Maximize(), belief, X[:, 0], SQUARE)
    line = torch.linspace(0, 1, 41).double()
    grid = torch.cartesian_prod(line, line)
    fantasy = belief.look_ahead(X).fantasy(belief.nodes(2, 1))
    then = fantasy.shared_moments(grid.unsqueeze(1), he.Needs.MEAN).mean[0, ..., 0].amax(-1)
    rise = (fantasy.weights * then).sum(-1) - belief.moments(grid, he.Needs.MEAN).mean.max()
    assert found.value.tolist() == pytest.approx(rise.tolist(), abs=0.002)


def test_what_needs_more_than_the_expected_probability_is_refused() -> None:
    belief = graded(KINDS["yes/no"])
    with pytest.raises(he.InputError, match="believed as a probability"):
        he.entropy(he.KGuesses(2), belief, SQUARE)
    with pytest.raises(he.InputError, match="not between 0 and 1"):
        he.entropy(he.LevelSets(3.0), belief, SQUARE)


def test_fitted_grades_know_where_they_change() -> None:
    rows = SQUARE.sample(60, 1)
    codes = torch.bucketize(rows[:, 0].contiguous(), torch.tensor([0.3, 0.7]).double()).double()
    belief = fit_grades(rows, codes, space=SQUARE, count=3, wanted=2)
    fresh = SQUARE.sample(128, 5)
    moments = belief.moments(fresh, he.Needs.MEAN)
    good = moments.expect_vector(moments.mean)
    far = (fresh[:, 0] - 0.7).abs() > 0.1
    assert bool(((good > 0.5) == (fresh[:, 0] > 0.7))[far].all())
    assert bool((belief.cuts[:, 0] < 0).all())
    assert bool((belief.cuts[:, 1] == 0).all())


@pytest.mark.slow
@pytest.mark.parametrize("decision", [he.Maximize(), he.TopK(2), he.BestObserved(), he.Minimize(), he.LevelSets(0.5)])
def test_designs_are_proposed(decision: he.Decision) -> None:
    belief = graded(KINDS["mixture"])
    found = he.propose(decision, belief, SQUARE, q=1, seed=1)
    assert found.gain >= 0.0
    assert found.std_error < 0.05
