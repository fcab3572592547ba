"""`Transformed`: a mixture in which some components are about a bent outcome, against brute force."""

import pickle
from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor

from hentropy import Minimize, Outcome, Space, Study, Target, fit, fit_outcomes
from hentropy.core.action_search.base import loss_now
from hentropy.core.beliefs import Gaussian, Needs, Several, Transformed
from hentropy.core.beliefs.fixed import FixedPoints
from hentropy.core.beliefs.links import Bend, Latent
from hentropy.core.decisions.normal import truncated_outcomes
from hentropy.core.entropy import check_fit
from hentropy.core.models.families import carried, doubted, leave_one_out
from hentropy.core.models.hyperparameters import NOISE_FLOOR
from hentropy.studies.outcomes import Computed
from hentropy.studies.testing import check_belief, check_decision
from hentropy.views.plots import PICTURES, picture
from support.beliefs import composed, designs, gaussian, tensor, transformed
from support.decisions import POOL, ROWS, SPACE, each_way
from support.tiers import nightly

BENDS = {"up": (0.2, 3.0, 0.5), "down": (8.0, 0.25, -1.0), "none": (1.3, 1.3, 0.2), "decades": (1e-5, 2.0, 0.4)}


def bend(name: str) -> Bend:
    left, right, corner = map(tensor, BENDS[name])
    return Bend(tensor(0.7), left, right, corner, tensor(0.8))


def grid(mean: Tensor, var: Tensor) -> tuple[Tensor, Tensor]:
    """Values of a normal variable on a fine grid, and their probabilities (trapezoids)."""
    z = torch.linspace(-9.0, 9.0, 20_001, dtype=torch.float64)
    p = torch.exp(-0.5 * z.square())
    return mean.unsqueeze(-1) + var.sqrt().unsqueeze(-1) * z, p / p.sum()


@pytest.mark.parametrize("name", BENDS)
def test_a_bend_has_an_inverse_and_a_slope(name: str) -> None:
    one = bend(name)
    y = torch.cat([torch.linspace(-40.0, 60.0, 101, dtype=torch.float64), tensor([-1e6, 1e6])])
    v = one.behind(y)
    assert torch.allclose(one(v), y, rtol=1e-12, atol=1e-11)
    low, high = one.about(y, y)
    assert bool((low <= v + 1e-9).all())
    assert bool((v - 1e-9 <= high).all())
    at = tensor([-3.0, 0.0, 0.4, 2.0]).requires_grad_()
    (slope,) = torch.autograd.grad(one(at).sum(), at)
    assert torch.allclose(slope, one.slope(at))
    y = one(at).detach().requires_grad_()
    (inverse,) = torch.autograd.grad(one.behind(y).sum(), y)
    assert torch.allclose(inverse, 1.0 / slope)


@pytest.mark.parametrize("name", BENDS)
def test_means_and_variances_of_a_bent_normal_value(name: str) -> None:
    one = bend(name)
    mean, var = torch.meshgrid(tensor([-4.0, -0.3, 0.5, 5.0]), tensor([1e-8, 0.1, 1.0, 6.0]), indexing="ij")
    v, p = grid(mean, var)
    y = one(v)
    expected = y @ p
    assert torch.allclose(one.mean(mean, var), expected, rtol=1e-9, atol=1e-9)
    spread = (y - expected.unsqueeze(-1)).square() @ p
    assert torch.allclose(one.covariance(mean, mean, var, var, var), spread, rtol=1e-6, atol=1e-12)
    assert torch.allclose(one.variance(mean, var), spread, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", BENDS)
def test_moments_of_a_bent_normal_value_have_slopes(name: str) -> None:
    """Those of the fused functions are written by hand; variances broadcast against means."""
    one = bend(name)
    mean = tensor([[-2.0, 0.3, 0.6], [0.5, 4.0, 0.1]]).requires_grad_()
    var = tensor([[0.2, 1.0, 5.0]]).requires_grad_()
    assert torch.autograd.gradcheck(one.mean, (mean, var))
    assert torch.autograd.gradcheck(one.variance, (mean, var))
    assert torch.autograd.gradcheck(one, (mean,))


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("name", BENDS)
def test_average_means_at_fixed_points(name: str, q: int) -> None:
    """Against the means of each component, and their slopes against differences."""
    one, (H, b, N, m) = bend(name), (2, 3, 4, 5)
    generator = torch.Generator().manual_seed(0)
    shapes = {"before": (H, 1, m), "C": (H, b, q, m), "V": (H, b, N, q), "var": (H, b, m), "weights": (H, b, N)}
    given = {key: torch.randn(*shape, generator=generator, dtype=torch.float64) for key, shape in shapes.items()}
    given["var"], given["weights"] = given["var"].exp(), torch.softmax(given["weights"], 0)
    mean = given["before"].unsqueeze(2) + given["V"] @ given["C"]
    expected = (given["weights"].unsqueeze(-1) * one.mean(mean, given["var"].unsqueeze(2))).sum(0)
    assert torch.allclose(one.average_mean(**given), expected)
    rest = [given[key].requires_grad_() for key in ("C", "V", "var", "weights")]
    assert torch.autograd.gradcheck(lambda *moved: one.average_mean(given["before"], *moved), rest)


@pytest.mark.parametrize("name", BENDS)
@pytest.mark.parametrize("r", [-0.9, -0.3, 0.0, 0.6, 0.99])
def test_the_covariance_of_two_bent_normal_values(name: str, r: float) -> None:
    one, (m, k), (s, t) = bend(name), tensor([0.2, -0.6]), tensor([1.4, 0.7])
    z = torch.linspace(-8.0, 8.0, 1_601, dtype=torch.float64)
    p = torch.exp(-0.5 * z.square())
    p = p / p.sum()
    a, b = one(m + s * z), one(k + t * (r * z.unsqueeze(-1) + (1.0 - r * r) ** 0.5 * z))
    expected = torch.einsum("i,j,i,ij->", p, p, a, b) - (p @ a) * torch.einsum("i,j,ij->", p, p, b)
    found = one.covariance(m, k, s.square(), t.square(), r * s * t)
    assert torch.allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_a_standardised_bend_has_mean_zero_and_variance_one() -> None:
    one = Bend.shaped(tensor(1.0), tensor(16.0), tensor(0.5))
    v, p = grid(tensor(0.0), tensor(1.0))
    assert float(one(v) @ p) == pytest.approx(0.0, abs=1e-9)
    assert float(one(v).square() @ p) == pytest.approx(1.0, abs=1e-7)
    shift, scale = tensor(5.0), tensor(3.0)
    assert torch.allclose(one.of(shift, scale)(v), one(shift + scale * v))
    assert torch.allclose(one.within(shift, scale)(v), shift + scale * one((v - shift) / scale))


def test_what_lies_between_two_levels() -> None:
    bent = torch.tensor([True, False])
    mean, var = tensor([[4.0, 6.0, 1.0], [4.0, 6.0, 1.0]]), tensor([[2.0, 9.0, 0.5], [2.0, 9.0, 0.5]])
    latent = Latent(bend("up"), bent, mean, var)
    v, p = grid(mean, var)
    y = latent.outcomes(v)
    for low, high, about in ((3.0, 7.0, 4.5), (-torch.inf, 2.0, 2.0), (2.5, torch.inf, 0.0)):
        inside = ((y >= low) & (y <= high)).to(y)
        found = truncated_outcomes(latent, *map(tensor, (about, low, high)))
        for power, value in enumerate(found):  # the grid resolves a step to 1e-3 of a standard deviation
            assert torch.allclose(value, ((y - about) ** power * inside) @ p, rtol=2e-3, atol=2e-3)
    above = torch.special.ndtr(latent.standard(tensor([2.5, 6.0])))
    for t, level in enumerate((2.5, 6.0)):
        assert torch.allclose(above[:, t], (y > level).to(y) @ p, atol=1e-3)
    slopes = torch.where(bent[:, None], bend("up").slope(v).log() @ p, 0.0)
    assert torch.allclose(latent.mean_log_slope(), slopes, atol=1e-5)


@pytest.mark.parametrize("bent", [(0, 2), (1,), (0, 1, 2)])
def test_it_is_a_belief(bent: tuple[int, ...]) -> None:
    check_belief(transformed(3, bent=bent), SPACE)


def test_one_component_and_families_are_beliefs() -> None:
    check_belief(transformed(1), SPACE)
    check_belief(transformed(3, covariance=composed(3, 2)), SPACE)
    check_belief(transformed(3).typical(2), SPACE)


def test_without_a_bent_component_it_says_what_the_mixture_says() -> None:
    plain, same = gaussian(3), transformed(3, bent=())
    points, x = designs(5, seed=6), designs(4, 2, seed=7)
    for needs in Needs:
        one, other = plain.moments(points, needs), same.moments(points, needs)
        assert torch.allclose(one.mean, other.mean)
        if needs is Needs.JOINT:
            assert torch.allclose(one.covariance, other.covariance)
    for q in (1, 2):
        nodes = plain.nodes(6, q)
        before, after = (belief.look_ahead(x[:, :q]).fantasy(nodes) for belief in (plain, same))
        assert torch.allclose(before.values, after.values)
        now, then = (each.shared_moments(points[None], Needs.VARIANCE) for each in (before, after))
        assert torch.allclose(now.total()[0], then.total()[0])
        assert torch.allclose(now.total()[1], then.total()[1])


def test_outcomes_are_quantiles_of_the_mixture() -> None:
    """Against draws: noise is added to the normal value, and bent with it."""
    belief = transformed(3)
    x = designs(1, seed=8)
    at = belief.latent.moments(x, Needs.VARIANCE)
    sd = (at.variance + belief.latent.noise_variance.unsqueeze(-1)).sqrt()
    generator = torch.Generator().manual_seed(0)
    which = torch.multinomial(belief.weights, 200_000, replacement=True, generator=generator)
    v = at.mean[which, 0] + sd[which, 0] * torch.randn(len(which), generator=generator, dtype=torch.float64)
    y = torch.where(belief.bent[which], belief.bend(v), v)
    nodes = belief.nodes(9, 1)
    found = belief.look_ahead(x[None]).fantasy(nodes).values[0, :, 0]
    below = (y <= found[:, None]).double().mean(-1)
    error = 5.0 * (0.25 / len(y)) ** 0.5  # five standard errors at most: a false alarm in 1e6
    assert torch.allclose(below, torch.special.ndtr(nodes.z[:, 0]), atol=error)
    quantiles = belief.quantiles((0.1, 0.5, 0.9), belief.weights[:, None], at.mean, sd)
    assert torch.allclose((y <= quantiles).double().mean(-1), tensor([0.1, 0.5, 0.9]), atol=error)


def test_the_noise_of_a_design_is_half_the_square_of_what_replicates_differ_by() -> None:
    """Against draws of two observations of one design: in units of y it is greater where the bend is steeper."""
    belief = transformed(3, future_noise=0.2)
    x = designs(6, seed=8)
    at = belief.latent.moments(x, Needs.VARIANCE)
    found, generator = belief.noise_std_given(belief.moments(x, Needs.VARIANCE)), torch.Generator().manual_seed(0)
    which = torch.multinomial(belief.weights, 200_000, replacement=True, generator=generator)
    z = torch.randn(3, len(which), 6, generator=generator, dtype=torch.float64)
    v = at.mean[which] + at.variance.sqrt()[which] * z[0]
    v = v + belief.latent.noise_variance.sqrt()[which].unsqueeze(-1) * z[1:]
    one, other = torch.where(belief.bent[which].unsqueeze(-1), belief.bend(v), v)
    each = 0.5 * (one - other).square()
    error = 5.0 * each.std(0) / len(which) ** 0.5  # five standard errors: a false alarm in 3e5 runs of six points
    assert bool(((found.square() - each.mean(0)).abs() < error).all())
    assert float(found.max()) > 1.3 * float(found.min())
    assert belief.noise_std == pytest.approx(
        float(belief.noise_std_given(belief.moments(belief.X, Needs.VARIANCE)).square().mean().sqrt())
    )


def test_a_small_noise_is_multiplied_by_the_slope_at_the_design() -> None:
    """At designs that were measured exactly, with a noise to come that is far below the spread of the outcomes."""
    belief = transformed(1, bent=(0,), noise=1e-9, future_noise=1e-8)
    at = belief.moments(belief.X, Needs.VARIANCE)
    slope = belief.bend.slope(belief.bend.behind(belief.observed))
    expected = slope * belief.latent.noise_variance.sqrt()
    torch.testing.assert_close(belief.noise_std_given(at), expected, rtol=1e-3, atol=0.0)
    assert float(slope.max()) > 1.5 * float(slope.min())
    exact = belief.exact()
    assert not bool(exact.noise_std_given(exact.moments(designs(4, seed=1), Needs.VARIANCE)).any())


def test_weights_follow_densities_with_the_slope_of_the_transform() -> None:
    belief, x, y = transformed(3), designs(2, seed=9), tensor([5.5, 2.0])
    after = belief.condition(x, y)
    latent = belief.latent
    each = []
    for h in range(3):
        one = latent.component(h)
        v = belief.bend.behind(y) if bool(belief.bent[h]) else y
        joint = one.moments(x, Needs.JOINT)
        noise = one.frame.scale.square() * one.future_noise * torch.eye(2, dtype=torch.float64)
        normal = torch.distributions.MultivariateNormal(joint.mean[0], joint.covariance[0] + noise)
        step = 1e-5
        slope = ((belief.bend.behind(y + step) - belief.bend.behind(y - step)) / (2.0 * step)).log().sum()
        each.append(normal.log_prob(v) + (slope if bool(belief.bent[h]) else 0.0))
    expected = torch.softmax(belief.weights.log() + torch.stack(each), 0)
    assert torch.allclose(after.weights, expected, atol=1e-7)
    assert torch.allclose(after.observed[-2:], y)


def test_outcomes_to_come_have_slopes_in_the_design() -> None:
    belief, at = transformed(3), designs(3, seed=11)
    nodes = belief.nodes(4, 1)

    def value(x: Tensor) -> Tensor:
        found = belief.look_ahead(x).fantasy(nodes).shared_moments(at[None], Needs.VARIANCE)
        return (found.total()[0].square() + found.total()[1]).sum()

    x = designs(1, 1, seed=10)
    assert torch.autograd.gradcheck(value, (x.requires_grad_(),), eps=1e-5, atol=1e-4)


@pytest.mark.parametrize("q", [1, 2])
def test_means_at_the_designs_themselves_and_at_fixed_points(q: int) -> None:
    """The quick ways against the general one."""
    belief, x, at = transformed(3), designs(4, q, seed=12), designs(6, seed=13)
    fantasy = belief.look_ahead(x).fantasy(belief.nodes(6, q))
    assert torch.allclose(fantasy.own_means(x), fantasy.moments(x.unsqueeze(1), Needs.MEAN).mean[0], atol=1e-7)
    [found] = FixedPoints.prepare(belief, at, Needs.MEAN).after(fantasy, Needs.MEAN)
    assert torch.allclose(found.mean[0], fantasy.shared_moments(at[None], Needs.MEAN).mean[0, :, :, 0], atol=1e-7)


def test_some_of_its_components() -> None:
    belief = transformed(3, covariance=composed(3, 2))
    assert belief.some([2, 0]).bent.tolist() == [True, True]
    assert belief.component(1).bent.tolist() == [False]
    assert torch.allclose(belief.component(0).observed, belief.component(1).observed)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "where"), each_way(ROWS, "box", "list"))
def test_every_decision(name: str, where: str) -> None:
    """On a box, and with a mixture on a list."""
    row = ROWS[name]
    families = None if row.make(0.0).needs is Needs.JOINT else composed(3, 2)
    belief, space = (transformed(1), SPACE) if where == "box" else (transformed(3, covariance=families), POOL)
    check_decision(row.make(0.0), belief, space, moved=row.make, scales=row.linear, designs=row.designs)


def skewed(n: int, d: int = 2, seed: int = 0) -> tuple[Tensor, Tensor]:
    """A few deep wells in a plain."""
    X = torch.rand(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return X, -torch.exp(4.0 - 12.0 * (X - 0.4).square().sum(-1))


BOX = Space.box([0.0, 0.0], [1.0, 1.0])


def test_skewed_outcomes_are_also_modelled_transformed() -> None:
    X, Y = skewed(20)
    belief = fit(X, Y, space=BOX, hyperparameters="transformed")
    assert isinstance(belief, Transformed)
    assert belief.components == 5
    assert belief.own == slice(0, 1)
    assert float(belief.weights.sum()) == pytest.approx(1.0)
    assert torch.allclose(belief.observed, Y, atol=1e-9)
    assert float(belief.bend.left) > float(belief.bend.right)  # they vary more below
    assert "skewed" in belief.notes[0]
    families = carried(belief)
    assert set(families) == {"rough", "smooth", "rough, transformed"}
    assert sum(families.values()) == pytest.approx(1.0)
    check_belief(belief, BOX, seed=1)  # paths have random features, and their variances depend on the seed
    again = pickle.loads(pickle.dumps(belief))
    assert torch.equal(again.means(X).mean, belief.means(X).mean)


def over_decades(X: Tensor) -> Tensor:
    """Goldstein and Price's function of the unit square: from 3 to a million."""
    x, y = (4.0 * X - 2.0).unbind(-1)
    near = 19.0 - 14.0 * x + 3.0 * x**2 - 14.0 * y + 6.0 * x * y + 3.0 * y**2
    far = 18.0 - 32.0 * x + 12.0 * x**2 + 48.0 * y - 36.0 * x * y + 27.0 * y**2
    return (1.0 + (x + y + 1.0) ** 2 * near) * (30.0 + (2.0 * x - 3.0 * y) ** 2 * far)


@pytest.mark.parametrize("best", ["low", "high"])
@pytest.mark.parametrize("noise", [None, 0.0])
def test_outcomes_over_decades_are_all_modelled_transformed(best: Literal["low", "high"], noise: float | None) -> None:
    """Where the best lie, errors are of their size: not of that of values of a hundred thousand."""
    sign = 1.0 if best == "low" else -1.0
    around = tensor([0.5, 0.25]) + 0.1 * torch.randn(12, 2, generator=torch.Generator().manual_seed(1)).double()
    X = torch.cat([torch.rand(24, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64), around])
    Y = sign * over_decades(X)
    belief, plain = fit(X, Y, noise=noise, best=best), fit(X, Y, noise=noise, hyperparameters="families")
    assert isinstance(belief, Transformed)
    assert bool(belief.bent.all())
    assert "over decades" in belief.notes[0]
    new = tensor([0.5, 0.25]) + 0.05 * torch.randn(30, 2, generator=torch.Generator().manual_seed(2)).double()
    true = sign * over_decades(new)
    (mean, sd), (_, usual) = (mean_and_sd(each, new) for each in (belief, plain))
    size = float(true.abs().median())
    assert float((mean - true).abs().median()) < 2.0 * size
    assert float(sd.median()) < 3.0 * size
    assert float(((true - mean).abs() < 3.0 * sd).double().mean()) > 0.6
    assert float(usual.median()) > 10.0 * size  # what the transform is for


def mean_and_sd(belief: Gaussian | Transformed, points: Tensor) -> tuple[Tensor, Tensor]:
    """Over all components: m each."""
    found = belief.moments(points, Needs.VARIANCE)
    mean = belief.weights @ found.mean
    return mean, (belief.weights @ (found.variance + (found.mean - mean).square())).sqrt()


def test_peaks_above_a_plain_are_not_lost_in_decades() -> None:
    """Most outcomes are close to 0, by tiny amounts that are easily modelled; what matters are the others."""
    X = torch.rand(40, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    new = torch.rand(200, 2, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    peaks = [(torch.sin(3.0 * x).square() * torch.sin(9.0 * x.square()).square() ** 5).sum(-1) for x in (X, new)]
    for best in ("high", None):
        belief = fit(X, peaks[0], best=best)
        mean, _ = mean_and_sd(belief, new)
        assert float((mean - peaks[1]).square().mean().sqrt()) < 0.5 * float(peaks[1].std())


def test_a_parabola_that_is_crowded_around_its_summit_is_not_over_decades() -> None:
    """Distances from the best outcome span decades as well, but what was measured is no logarithm."""
    scales = torch.logspace(-3.0, 0.0, 40, dtype=torch.float64).unsqueeze(-1)
    X = 0.5 + 0.5 * scales * (2.0 * torch.rand(40, 2, generator=torch.Generator().manual_seed(0)).double() - 1.0)
    belief = fit(X, -(X - 0.5).square().sum(-1))
    assert not (isinstance(belief, Transformed) and bool(belief.bent.all()))


@pytest.mark.parametrize("noise", [None, 0.0])
@pytest.mark.parametrize(("best", "sign"), [("high", 1.0), ("low", -1.0), (None, 1.0)])
def test_results_at_a_limit_are_not_over_decades(
    best: Literal["low", "high"] | None, sign: float, noise: float | None
) -> None:
    """Yields of 100 % are equal, which is no sign of a logarithm however small their distances."""
    around = tensor([0.6, 0.4]) + 0.15 * (torch.rand(6, 2, generator=torch.Generator().manual_seed(1)).double() - 0.5)
    X = torch.cat([torch.rand(14, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64), around])
    new = torch.rand(200, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    Y, true = (
        sign * (40.0 + 90.0 * torch.exp(-10.0 * (x - tensor([0.6, 0.4])).square().sum(-1))).clamp_max(100.0)
        for x in (X, new)
    )
    assert int(torch.isclose(Y, torch.full_like(Y, sign * 100.0), rtol=0.0, atol=0.0).sum()) >= 6
    belief = fit(X, Y, noise=noise, best=best)
    mean, _ = mean_and_sd(belief, new)
    assert float((mean - true).square().mean().sqrt()) < 12.0
    assert float((mean_and_sd(belief, X)[0] - Y).abs().max()) < 2.0


@pytest.mark.parametrize("scale", [2.0**-10, 2.0**6])
def test_units_do_not_matter(scale: float) -> None:
    """Powers of two, so that rounding is the same: where an ascent ends hangs on it."""
    X, Y = skewed(20)
    one = fit(X, Y, space=BOX, hyperparameters="transformed")
    other = fit(X, scale * Y, space=BOX, hyperparameters="transformed")
    assert isinstance(other, Transformed)
    points = skewed(30, seed=1)[0]
    mean, var = one.moments(points, Needs.VARIANCE).total()
    again, spread = other.moments(points, Needs.VARIANCE).total()
    assert torch.allclose(scale * mean, again, rtol=1e-6)
    assert torch.allclose(scale * scale * var, spread, rtol=1e-6)


def test_symmetrical_outcomes_have_the_belief_of_families() -> None:
    X = skewed(20)[0]
    Y = torch.sin(5.0 * X[:, 0]) + X[:, 1]
    one, other = (fit(X, Y, space=BOX, hyperparameters=how) for how in ("families", "transformed"))
    assert isinstance(one, Gaussian)
    assert isinstance(other, Gaussian)
    assert torch.equal(one.weights, other.weights)
    assert torch.equal(one.alpha, other.alpha)


@pytest.mark.parametrize("n", [8, 510])
def test_few_or_many_outcomes_have_the_belief_of_families(n: int) -> None:
    X, Y = skewed(n)
    assert isinstance(fit(X, Y, space=BOX, hyperparameters="transformed"), Gaussian)


def test_with_more_observations_each_family_and_the_transform_have_one_component() -> None:
    """Corners of a plain: skewed, and rough enough that neither family explains it all."""
    X = torch.rand(400, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    Y = torch.exp(-6.0 * (X - 0.7).abs().sum(-1))
    box = Space.box([0.0] * 4, [1.0] * 4)
    # the highest count: that the lowest lie over decades does not matter
    belief = fit(X[:140], Y[:140], space=box, hyperparameters="transformed", best="high")
    plain = fit(X[:140], Y[:140], space=box, hyperparameters="families")
    assert isinstance(belief, Transformed)
    assert isinstance(plain, Gaussian)
    assert belief.components == plain.components + 1
    assert belief.own == slice(0, 1)
    check_belief(belief, box, seed=1)

    def loss(one: Gaussian | Transformed) -> float:
        """Minus the mean log density of the outcomes held out."""
        latent = one.latent if isinstance(one, Transformed) else one
        moments = latent.moments(X[140:], Needs.VARIANCE)
        sd = (moments.variance + latent.frame.scale.square() * latent.future_noise.unsqueeze(-1)).sqrt()
        if isinstance(one, Transformed):
            each = one.predicted(moments.mean, sd, Y[140:])
        else:
            each = torch.distributions.Normal(moments.mean, sd).log_prob(Y[140:])
        return -float(torch.logsumexp(latent.weights.log().unsqueeze(-1) + each, 0).mean())

    assert loss(belief) < loss(plain) - 0.3


def test_a_gross_error_is_doubted_and_not_transformed() -> None:
    X = skewed(40)[0]
    Y = torch.sin(5.0 * X[:, 0]) + X[:, 1]
    Y[7] += 12.0
    belief = fit(X, Y, space=BOX, hyperparameters="transformed")
    assert isinstance(belief, Gaussian)
    assert float(doubted(belief)[7]) > 0.5


def test_standard_errors_are_those_of_the_outcomes() -> None:
    """Small ones, by the slope of the transform: the same as a tiny change of the outcomes."""
    X, Y = skewed(20)
    belief = fit(X, Y, space=BOX, noise=1e-2 * float(Y.std()), hyperparameters="transformed")
    assert isinstance(belief, Transformed)
    _, log_slope = belief.behind(Y)
    expected = (1e-2 * Y.std() * log_slope.exp()).square() / belief.latent.frame.scale.square()
    assert torch.allclose(belief.latent.noise[belief.bent], expected[belief.bent].clamp_min(NOISE_FLOOR))


def test_leaving_out_is_conditioning_on_the_others() -> None:
    belief = transformed(3)
    left_out = leave_one_out(replace(belief, latent=replace(belief.latent, stacked=True)))
    latent, y = belief.latent, belief.observed
    at = latent.residual + latent.prior_mean(latent.inputs)
    given = (latent.kernel, latent.prior_mean, latent.frame, latent.weights)
    for i in range(len(y)):
        rest = [j for j in range(len(y)) if j != i]
        without = Gaussian.from_data(latent.X[rest], at[:, rest], latent.noise[:, rest], latent.noise[:, i], *given)
        said = without.moments(latent.X[i : i + 1], Needs.VARIANCE)
        sd = (said.variance[:, 0] + latent.frame.scale.square() * latent.noise[:, i]).sqrt()
        log_density = belief.predicted(said.mean[:, 0], sd, y[i])
        assert torch.allclose(left_out.log_density[:, i], log_density, atol=1e-6)
    grid_of_y = torch.linspace(-200.0, 300.0, 400_001, dtype=torch.float64)
    each = belief.predicted(left_out.component_mean[:, :1], left_out.component_sd[:, :1], grid_of_y).exp()
    density = (left_out.weights[:, :1] * each).sum(0) * (grid_of_y[1] - grid_of_y[0])
    assert float(density.sum()) == pytest.approx(1.0, abs=1e-6)
    mean = float(density @ grid_of_y)
    assert float(left_out.mean[0]) == pytest.approx(mean, rel=1e-6)
    assert float(left_out.sd[0]) == pytest.approx(float(density @ (grid_of_y - mean).square()) ** 0.5, rel=1e-5)
    low = float(left_out.quantiles([0.2])[0, 0])
    assert float(density[grid_of_y <= low].sum()) == pytest.approx(0.2, abs=1e-3)


def test_of_several_outcomes_none_is_transformed() -> None:
    X, Y = skewed(20)
    belief = fit_outcomes(X, torch.stack([Y, X[:, 0]], -1), ["a", "b"], space=BOX, hyperparameters="transformed")
    assert isinstance(belief, Several)
    alone = fit_outcomes(X, Y, ["a"], space=BOX, hyperparameters="transformed")
    assert isinstance(alone, Transformed)
    assert alone.outcomes == ("a",)


@pytest.mark.slow
@pytest.mark.parametrize("log", [nightly(False), True])
def test_a_study_with_transformed_outcomes(log: bool) -> None:
    """Asked, told, decided and shown in pictures; outcomes modelled as logarithms may be transformed as well."""
    outcomes = {"depth": Outcome(unit="m", log=log)}
    study = Study(BOX, Minimize("depth"), outcomes=outcomes, hyperparameters="transformed", seed=1)
    X, Y = skewed(20)
    values = torch.exp(0.1 * Y) if log else Y
    names = BOX.names
    study.attach_many(
        (dict(zip(names, row, strict=True)), float(value)) for row, value in zip(X.tolist(), values, strict=True)
    )
    assert isinstance(study.belief, Transformed)
    assert study.belief.outcomes == ("depth",)
    assert bool(study.belief.logs) is log
    assert "skewed" in study.belief.notes[0]
    trial = study.ask()
    study.tell(trial, float(values.min()))
    verdict = study.decide()
    assert verdict.heading
    for what in PICTURES if not log else ("known", "trust"):
        assert picture(study, what)
    assert "transformed values" in picture(study, "trust").caption


def test_a_computed_outcome_beside_it_leaves_it_untransformed() -> None:
    outcomes: dict[str, Outcome | Computed] = {"depth": Outcome(), "price": Computed("price", "x1 + 2 * x2")}
    study = Study(BOX, Target({"depth": -40.0, "price": 1.0}), outcomes=outcomes, hyperparameters="transformed")
    X, Y = skewed(20)
    for row, value in zip(X.tolist(), Y.tolist(), strict=True):
        study.attach(dict(zip(BOX.names, row, strict=True)), value)
    assert isinstance(study.belief, Several)


@pytest.mark.parametrize("name", ["maximize_limited", "target", "sequence_absolute"])
def test_losses_with_an_open_side_have_gradients(name: str) -> None:
    """A limit on one side only has an infinite bound; its gradient was not a number, and no descent moved."""
    settled, belief = check_fit(ROWS[name].make(0.0), transformed(1), SPACE)
    k = settled.actions.k  # type: ignore[attr-defined]
    unit = torch.linspace(0.15, 0.85, 6 * k, dtype=torch.float64).unsqueeze(-1).expand(-1, 2).clone().requires_grad_()
    none = torch.zeros(1, k, dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda u: loss_now(settled, belief, SPACE.from_cube(u).reshape(6, k, 2), none), (unit,), rtol=1e-3, atol=1e-5
    )
