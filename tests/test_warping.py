"""Input warping: the stretches, how they are judged, and what they do to a fit."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Gaussian, Needs
from hentropy.core.beliefs.kernels import Profile
from hentropy.core.models.families import fit_families
from hentropy.core.models.hyperparameters import LogPosterior
from hentropy.core.models.warping import STRETCHES, Stretch, Warped, _likelihood, best_stretches, stretched
from hentropy.studies.testing import check_belief

pytestmark = pytest.mark.numerics

BOX = he.Space(x=he.Real(0.0, 10.0), y=he.Real(-1.0, 1.0))


def steep(x: Tensor) -> Tensor:
    """Waves along x that become ever shorter, and a slope along y."""
    u = BOX.to_unit(x)
    return torch.sin(30.0 * Stretch("end", 3.0)(u[..., 0])) + u[..., 1]


def stretches_of(belief: Gaussian) -> tuple[Stretch | None, ...]:
    transform = belief.frame.transform
    return transform.stretches if isinstance(transform, Warped) else ()


@pytest.mark.parametrize("stretch", STRETCHES, ids=lambda one: f"{one.part}{one.k:g}")
def test_a_stretch_maps_the_unit_interval_onto_itself_with_bounded_slopes(stretch: Stretch) -> None:
    u = torch.linspace(0.0, 1.0, 201, dtype=torch.float64, requires_grad=True)
    w = stretch(u)
    (slope,) = torch.autograd.grad(w.sum(), u)
    torch.testing.assert_close(w[[0, -1]], w.new_tensor([0.0, 1.0]), rtol=0.0, atol=1e-12)
    assert bool((slope > 0.05).all())
    assert bool((slope < 6.0).all())
    where = {"end": 200 if stretch.k > 0 else 0, "ends": 0, "middle": 100}[stretch.part]
    assert float(slope[where]) >= float(slope.max()) - 1e-9


def test_candidates_are_judged_with_their_best_mean_and_variance() -> None:
    """Against a search over mean and variance, the profile likelihood by brute force."""
    generator = torch.Generator().manual_seed(3)
    X = torch.rand(12, 2, generator=generator, dtype=torch.float64)
    target = LogPosterior(X, torch.sin(7.0 * X[:, 0]), None, Profile.MATERN52, None)
    theta = torch.tensor([[-1.0, 0.5, 0.3, 0.1, -6.0]], dtype=torch.float64)
    K = target.covariance(theta)[0] + torch.diag(target.noise_variance(theta)[0])
    free = torch.zeros(2, dtype=torch.float64, requires_grad=True)  # the mean, and the log of the variance
    search = torch.optim.LBFGS([free], max_iter=200, line_search_fn="strong_wolfe", tolerance_grad=1e-10)

    def density() -> Tensor:
        normal = torch.distributions.MultivariateNormal(free[0].expand(12), free[1].exp() * K)
        return -normal.log_prob(target.outcomes)

    def closure() -> Tensor:
        search.zero_grad()
        value = density()
        value.backward()
        return value

    search.step(closure)
    constant = -6.0 * torch.log(torch.tensor(2.0 * torch.pi / 12.0, dtype=torch.float64)) - 6.0
    assert -density().item() == pytest.approx(_likelihood(target, theta) + float(constant), abs=1e-6)


def test_a_function_that_varies_faster_at_one_end_is_stretched_there() -> None:
    X, others = BOX.sample(40, seed=1), BOX.sample(200, seed=2)
    belief = he.fit(X, steep(X), space=BOX)
    assert isinstance(belief, Gaussian)
    along_x, along_y = stretches_of(belief)
    assert along_x is not None
    assert str(along_x) == "upper end"
    assert along_y is None
    error = (belief.means(others).mean[0] - steep(others)).square().mean().sqrt()
    # 0.026; with both coordinates as they are, 0.12
    assert float(error) < 0.06


def test_a_function_that_varies_evenly_is_left_as_it_is() -> None:
    X = BOX.sample(40, seed=1)
    u = BOX.to_unit(X)
    belief = he.fit(X, torch.sin(9.0 * u[:, 0]) + torch.cos(7.0 * u[:, 1]), space=BOX)
    assert isinstance(belief, Gaussian)
    assert stretches_of(belief) == ()


def test_a_warped_belief_is_that_of_stretched_designs() -> None:
    X, others = BOX.sample(40, seed=1), BOX.sample(7, seed=2)
    belief = he.fit(X, steep(X), space=BOX)
    assert isinstance(belief, Gaussian)
    inputs, points = (stretched(BOX.to_unit(each), stretches_of(belief)) for each in (X, others))
    K = belief.kernel(inputs, inputs) + torch.diag_embed(belief.noise)
    cross = belief.kernel(points, inputs)
    shift, scale = belief.frame.shift, belief.frame.scale
    residual = (steep(X) - shift) / scale - belief.prior_mean(inputs)
    mean = belief.prior_mean(points) + (cross @ torch.linalg.solve(K, residual.unsqueeze(-1))).squeeze(-1)
    found = belief.moments(others, Needs.MEAN).mean
    torch.testing.assert_close(found, shift + scale * mean, rtol=1e-6, atol=1e-6 * float(scale))


def test_a_warped_belief_keeps_the_rules_of_beliefs() -> None:
    X = BOX.sample(8, seed=4)
    own = he.fit(X, steep(X), space=BOX, noise=0.5, hyperparameters="map")
    frame = replace(own.frame, transform=Warped(own.frame.transform, (Stretch("ends", 1.5), Stretch("end", -2.0))))
    outcomes = (steep(X) - frame.shift) / frame.scale
    model = (own.noise, own.future_noise, own.kernel, own.prior_mean, frame, own.weights)
    check_belief(Gaussian.from_data(X, outcomes, *model), BOX)


def test_options_are_not_stretched() -> None:
    space = he.Space(x=he.Real(0.0, 10.0), solvent=["water", "DMF", "toluene"])
    X = space.sample(40, seed=1)
    u = space.to_unit(X)
    Y = torch.sin(12.0 * Stretch("end", 3.5)(u[:, 0])) + u[:, 1:] @ u.new_tensor([0.0, 0.5, 1.0])[: u.shape[1] - 1]
    target = LogPosterior(u, (Y - Y.mean()) / Y.std(), None, Profile.MATERN52, space.scales)
    found = best_stretches(fit_families(target, 1, torch.Generator().manual_seed(0)))
    assert found is not None
    assert found[0] is not None
    assert not any(found[1:])
