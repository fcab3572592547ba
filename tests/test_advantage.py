"""By how much a design is better than another: closed forms against draws from the same belief."""

import math
from typing import Literal

import pytest
import torch

import hentropy as he
from hentropy.core.beliefs import Belief, Needs
from hentropy.core.decisions.advantage import Advantage, advantage
from hentropy.core.entropy import check_fit

pytestmark = pytest.mark.smoke

SPACE = he.Space(x=he.Real(0, 1), y=he.Real(0, 1))
A, B = torch.tensor([[0.30, 0.55]]).double(), torch.tensor([[0.62, 0.41]]).double()
DRAWS = 200_000


def data(n: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    X = SPACE.sample(n, seed=3)
    return X, torch.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * torch.randn(n, generator=torch.Generator().manual_seed(1))


def skewed(n: int = 14) -> tuple[torch.Tensor, torch.Tensor]:
    X, Y = data(n)
    return X, torch.exp(2.0 * Y)


def stated(decision: he.Maximize | he.Minimize | he.Target | he.BestObserved, belief: Belief) -> Advantage:
    settled, own = check_fit(decision, belief, SPACE)
    return advantage(settled, own, A, B)


def agrees(found: Advantage, saved: torch.Tensor) -> None:
    """Within five standard errors of the draws (n): a false alarm in fewer than one of a million."""
    n, sd = len(saved), float(saved.std())
    share = float((saved > 0).double().mean())
    kurtosis = float(((saved - saved.mean()) / sd).pow(4).mean())
    assert found.mean == pytest.approx(float(saved.mean()), abs=5 * sd / n**0.5)
    assert found.sd == pytest.approx(sd, rel=5 * math.sqrt(kurtosis / n) / 2)
    assert found.chance == pytest.approx(share, abs=5 * math.sqrt(0.25 / n))


@pytest.mark.parametrize("decision", [he.Maximize(), he.Minimize(), he.BestObserved(), he.Minimize(among="measured")])
@pytest.mark.parametrize("treatment", ["map", "mixture", "families"])
def test_of_a_mixture_of_gaussians(decision: he.Maximize, treatment: Literal["map", "mixture", "families"]) -> None:
    belief = he.fit(*data(), space=SPACE, hyperparameters=treatment)
    f = belief.sample(torch.cat([A, B]), DRAWS, seed=5)
    agrees(stated(decision, belief), decision.sign * (f[:, 1] - f[:, 0]))


def test_of_bent_outcomes() -> None:
    belief = he.fit(*skewed(), space=SPACE, hyperparameters="transformed")
    assert belief.moments(A, Needs.VARIANCE).latent is not None
    f = belief.sample(torch.cat([A, B]), DRAWS, seed=6)
    agrees(stated(he.Maximize(), belief), f[:, 0] - f[:, 1])


@pytest.mark.parametrize(
    "decision",
    [
        he.Maximize("value", ["value <= 0.9"], fallback=-1.0),
        he.Minimize("value", ["0.2 <= value <= 1.5"], fallback=2.0),
        he.Target({"value": 0.6}),
        he.Target({"value": (0.5, 0.8)}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("treatment", ["map", "mixture"])
def test_of_losses_that_are_drawn(decision: he.Maximize | he.Target, treatment: Literal["map", "mixture"]) -> None:
    belief = he.fit(*data(), space=SPACE, hyperparameters=treatment)
    f = belief.sample(torch.cat([A, B]), DRAWS, seed=7)
    settled, _ = check_fit(decision, belief, SPACE)
    saved = settled.loss(f[:, 1:], B.expand(DRAWS, 1, 2)) - settled.loss(f[:, :1], A.expand(DRAWS, 1, 2))
    found = stated(decision, belief)
    # these are draws themselves, quasi-random ones: their error is a few thousandths
    assert found.mean == pytest.approx(float(saved.mean()), abs=0.02 * float(saved.std()))
    assert found.sd == pytest.approx(float(saved.std()), rel=0.03)
    assert found.chance == pytest.approx(float((saved > 0).double().mean()), abs=0.015)


def test_of_a_probability_it_is_that_of_the_probits() -> None:
    X = SPACE.sample(14, seed=3)
    study = he.Study(SPACE, he.Maximize(), outcomes={"crystal": he.Outcome(kind="yes/no")}, hyperparameters="map")
    for row in X:
        params = SPACE.decode(row)
        study.attach(params, "yes" if params["x"] + 0.5 * params["y"] > 0.8 else "no")
    belief = study.belief
    g = belief.scores.sample(torch.cat([B, A]), DRAWS, seed=8)
    settled, own = check_fit(he.Maximize(), belief, SPACE)
    found = advantage(settled, own, B, A)
    assert found.chance == pytest.approx(float((g[:, 0] > g[:, 1]).double().mean()), abs=5 * math.sqrt(0.25 / DRAWS))
    p = own.moments(torch.cat([B, A]), Needs.MEAN)
    assert found.mean == pytest.approx(float(p.expect(p.mean[:, 0] - p.mean[:, 1])), rel=1e-9)


def test_of_sampled_functions_it_is_their_share() -> None:
    k = torch.arange(1.0, 6.0).double()

    def paths(x: torch.Tensor) -> torch.Tensor:
        return torch.cos(k.view(-1, *[1] * (x.dim() - 1)) * x[..., 0])

    belief = he.Samples(torch.empty(0, 2).double(), paths, torch.ones(5).double(), 0.1)
    gaps = (paths(A) - paths(B)).squeeze(-1)
    found = stated(he.Maximize(), belief)
    assert found.chance == pytest.approx(float((gaps > 0).double().mean()), abs=1e-12)
    assert found.mean == pytest.approx(float(gaps.mean()), abs=1e-12)
    assert found.sd == pytest.approx(float(gaps.std(correction=0)), rel=1e-9)


def test_a_design_has_no_advantage_over_itself() -> None:
    belief = he.fit(*data(), space=SPACE, hyperparameters="mixture")
    settled, own = check_fit(he.Maximize(), belief, SPACE)
    found = advantage(settled, own, A, A)
    assert (found.mean, found.sd, found.chance) == (0.0, 0.0, 0.0)


def test_the_two_directions_are_opposite() -> None:
    belief = he.fit(*data(), space=SPACE, hyperparameters="mixture")
    settled, own = check_fit(he.Maximize(), belief, SPACE)
    one, other = advantage(settled, own, A, B), advantage(settled, own, B, A)
    assert one.mean == pytest.approx(-other.mean)
    assert one.sd == pytest.approx(other.sd)
    assert one.chance + other.chance == pytest.approx(1.0)
