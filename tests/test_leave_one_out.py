"""Leaving one observation out: against beliefs that never saw it, and quantiles of mixtures against their shares."""

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Frame, Gaussian, Needs
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.beliefs.nodes import mixture_quantiles
from hentropy.core.models.families import leave_one_out
from hentropy.core.models.gp import ConstantMean

pytestmark = pytest.mark.numerics

SPACE = he.Space(a=he.Real(-2.0, 5.0), rate=he.Real(1e-3, 1.0, log=True))
SHIFT, SCALE = 40.0, 7.0


def parts(H: int, n: int) -> dict[str, Tensor]:
    """Data and hyperparameters of a mixture; noise differs between observations and components."""
    generator = torch.Generator().manual_seed(H + 10 * n)

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    return {
        "X": SPACE.sample(n, 4),
        "outcomes": 2 * draw(n) - 1,
        "noise": 0.01 + 0.2 * draw(H, n),
        "lengthscale": 0.2 + draw(H, 2),
        "outputscale": 0.5 + draw(H),
        "mean": draw(H) - 0.5,
        "weights": 0.1 + draw(H),
    }


def belief(given: dict[str, Tensor], rows: Tensor, weights: Tensor) -> Gaussian:
    """The belief from some of the observations."""
    kernel = Stationary(Profile.MATERN52, given["lengthscale"], given["outputscale"])
    frame = Frame(SPACE.to_unit, torch.tensor(SHIFT), torch.tensor(SCALE))
    noise = given["noise"][:, rows]
    future = torch.full_like(weights, 0.1)
    mean = ConstantMean(given["mean"])
    return Gaussian.from_data(given["X"][rows], given["outcomes"][rows], noise, future, kernel, mean, frame, weights)


@pytest.mark.parametrize("H", [1, 4])
@pytest.mark.parametrize("n", [2, 9])
def test_it_is_the_prediction_of_a_belief_that_never_saw_the_observation(H: int, n: int) -> None:
    given = parts(H, n)
    everything = torch.arange(n)
    full = belief(given, everything, given["weights"])
    found = leave_one_out(full)
    for i in range(n):
        rest = belief(given, everything[everything != i], given["weights"])
        at = rest.moments(given["X"][i : i + 1], Needs.VARIANCE)
        mean, var = at.mean[:, 0], at.variance[:, 0] + SCALE**2 * given["noise"][:, i]
        value = SHIFT + SCALE * given["outcomes"][i]
        density = torch.distributions.Normal(mean, var.sqrt()).log_prob(value).exp()
        weights = full.weights / density
        weights = weights / weights.sum()
        total = (weights * mean).sum()
        spread = (weights * (var + (mean - total).square())).sum().sqrt()
        assert float(found.observed[i]) == pytest.approx(float(value), abs=1e-10)
        torch.testing.assert_close(found.component_mean[:, i], mean, rtol=0, atol=1e-8)
        torch.testing.assert_close(found.component_sd[:, i], var.sqrt(), rtol=0, atol=1e-8)
        torch.testing.assert_close(found.weights[:, i], weights, rtol=0, atol=1e-8)
        assert float(found.mean[i]) == pytest.approx(float(total), abs=1e-8)
        assert float(found.sd[i]) == pytest.approx(float(spread), abs=1e-8)


def test_the_weights_are_those_from_which_observing_it_leads_back() -> None:
    """Weights without the observation, updated by it as the belief updates them, are the weights that were given."""
    given = parts(3, 6)
    given["noise"] = torch.full_like(given["noise"], 0.1)  # as of an observation to come, which conditioning takes
    full = belief(given, torch.arange(6), given["weights"])
    found = leave_one_out(full)
    rest = belief(given, torch.arange(5), found.weights[:, 5])
    again = rest.condition(given["X"][5:], SHIFT + SCALE * given["outcomes"][5:])
    torch.testing.assert_close(again.weights, full.weights, rtol=0, atol=1e-9)


def test_alone_an_observation_is_predicted_by_the_prior() -> None:
    given = parts(1, 1)
    found = leave_one_out(belief(given, torch.arange(1), given["weights"]))
    assert float(found.mean) == pytest.approx(float(SHIFT + SCALE * given["mean"]))
    assert float(found.sd) == pytest.approx(float(SCALE * (given["outputscale"] + given["noise"][:, 0]).sqrt()))


def test_quantiles_of_a_mixture_leave_their_share_below() -> None:
    weights = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64).view(3, 1).expand(3, 4)
    mean = torch.tensor([-3.0, 0.0, 8.0], dtype=torch.float64).view(3, 1) + torch.arange(4.0, dtype=torch.float64)
    sd = torch.tensor([0.1, 2.0, 1.0], dtype=torch.float64).view(3, 1).expand(3, 4)
    shares = (0.025, 0.25, 0.5, 0.9)
    found = mixture_quantiles(shares, weights, mean, sd)
    below = (weights.unsqueeze(1) * torch.special.ndtr((found - mean.unsqueeze(1)) / sd.unsqueeze(1))).sum(0)
    torch.testing.assert_close(below, torch.tensor(shares, dtype=torch.float64).view(-1, 1).expand(4, 4))


def test_quantiles_of_one_normal_and_of_point_masses() -> None:
    one = torch.ones(1, 1, dtype=torch.float64)
    assert float(mixture_quantiles((0.9,), one, 2 * one, 3 * one)) == pytest.approx(2 + 3 * 1.2815515655446004)
    weights = torch.tensor([[0.3], [0.4], [0.3]], dtype=torch.float64)
    at = torch.tensor([[1.0], [2.0], [5.0]], dtype=torch.float64)
    assert mixture_quantiles((0.1, 0.5, 0.9), weights, at, 0 * at).flatten().tolist() == pytest.approx([1, 2, 5])
