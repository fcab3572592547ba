"""Gains under beliefs that are not made of a kernel: a BoTorch posterior, drawn functions."""

from dataclasses import replace

import pytest
import torch
from botorch.models import SingleTaskGP

from hentropy import (
    Decision,
    Estimate,
    Gaussian,
    Identify,
    KGuesses,
    LevelSets,
    Maximize,
    Pool,
    Posterior,
    Samples,
    TopK,
    from_botorch,
    gain,
)
from hentropy.core.gain import Effort

POOL = Pool(torch.rand(8, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64))
NOISE = 0.3


def both() -> tuple[Gaussian, Posterior]:
    """The same model by its parts and through `posterior`."""
    X = torch.rand(9, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    model = SingleTaskGP(X, torch.sin(6 * X).sum(-1, keepdim=True))
    model.covar_module.lengthscale = torch.full((1, 2), 0.3, dtype=torch.float64)
    model.eval()
    belief = from_botorch(model)
    assert isinstance(belief, Gaussian)
    return belief, Posterior(model, X, belief.noise_std**2, X[:0], torch.zeros(0, dtype=torch.float64))


DECISIONS = {
    "maximize": Maximize(),
    "top_k": TopK(2, weight=0.5),
    "k_guesses": KGuesses(2),
    "estimate": Estimate(POOL.points),
    "level_sets": LevelSets([0.2, 0.8], POOL.points),
    "values": Identify(POOL.points[:2]),
    "max": Identify("max"),
}


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("name", DECISIONS)
def test_gains_through_a_posterior_are_those_of_the_gaussian(name: str, q: int) -> None:
    """Closed forms against nodes: within six Monte Carlo errors and one part in a hundred."""
    belief, through = both()
    x = POOL.points[:4].reshape(-1, q, 2)
    fast, slow = gain(DECISIONS[name], belief, x, POOL), gain(DECISIONS[name], through, x, POOL)
    slack = 6 * (fast.std_error + slow.std_error) + 1e-2 * float(fast.value.abs().max())
    assert bool(((fast.value - slow.value).abs() <= slack).all()), (fast, slow)


@pytest.mark.parametrize("name", ["maximize", "estimate", "level_sets", "values", "max"])
def test_gains_under_many_paths_follow_those_of_the_gaussian(name: str) -> None:
    """Many paths and noise that leaves many of them: the same designs are worth most, by about as much."""
    belief, _ = both()
    decision: Decision = DECISIONS[name]
    count = 3000 if name == "maximize" else 600  # it takes a surprise to change that decision, and few paths hold one
    drawn = Samples(belief.X, belief.paths(count, seed=0), torch.ones(count, dtype=torch.float64), noise_std=NOISE)
    future = torch.full((1,), (NOISE / float(belief.frame.scale)) ** 2, dtype=torch.float64)
    exact = gain(decision, replace(belief, future_noise=future), POOL.points, POOL).value
    sampled = gain(decision, drawn, POOL.points, POOL, effort=Effort(outcomes=64)).value
    assert float(torch.corrcoef(torch.stack([exact, sampled]))[0, 1]) > 0.9, (exact, sampled)
    assert 0.6 < float(sampled.max()) / float(exact.max()) < 1.7, (exact, sampled)
