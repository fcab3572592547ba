"""Lists too long to try all tuples: gains against an oracle that exchanges over every row, and limits."""

import pytest
import torch

import hentropy as he
from hentropy.core.action_search.base import expected_loss, take
from hentropy.core.action_search.exchange import exchange
from hentropy.core.beliefs import Moments
from hentropy.core.gain import gain
from hentropy.core.spaces import DesignSpace

ROWS = torch.rand(500, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
OUTCOMES = 11


def test_gains_of_two_guesses_are_those_of_all_rows() -> None:
    """Within a fifth: the oracle has few outcomes. With the promising rows alone, half of the gains are halved."""
    pool, decision, x = he.Pool(ROWS), he.KGuesses(2), ROWS[60:500:40]
    X = ROWS[:6]
    belief = he.fit(X, torch.sin(7.0 * X[:, 0]) * torch.cos(6.0 * X[:, 1]), space=pool, hyperparameters="map")
    fantasy = belief.look_ahead(x.unsqueeze(1)).fantasy(belief.nodes(OUTCOMES, 1))
    none = torch.zeros(1, 2, dtype=torch.float64)  # the maximum of two has a closed form

    def best(moments: Moments, *starts: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        index, losses = exchange(decision, moments, ROWS, torch.tensor(starts), none, sweeps=8, distinct=True)
        return index[losses.argmin()], losses.min()

    today, _ = best(belief.moments(ROWS, decision.needs), [0, 1], [100, 200], [300, 400])
    expected = []
    for design, outcomes in zip(x, fantasy.values, strict=True):
        saved = []
        for y in outcomes:
            moments = belief.condition(design[None], y).moments(ROWS, decision.needs)
            _, least = best(moments, today.tolist(), [0, 1])
            saved.append(expected_loss(decision, take(moments, today), ROWS[today], none) - least)
        expected.append(torch.stack(saved) @ fantasy.weights)
    wanted, found = torch.stack(expected), gain(decision, belief, x, pool)
    torch.testing.assert_close(found.value, wanted, rtol=0.2, atol=0.002 * float(wanted.max()))


@pytest.mark.parametrize("space", [he.Space(a=he.Real(0, 100), b=he.Real(0, 1)), he.Pool(100.0 * ROWS)])
def test_distance_does_not_pay_for_a_violated_limit(space: DesignSpace) -> None:
    """In the units of a, distances are a hundred times the yields: without more, a member lies beyond the limit."""
    X = space.sample(16, 1)
    u = space.to_unit(X)
    Y = torch.stack([torch.sin(3.0 * u[:, 0]) + u[:, 1], 4.0 * u[:, 0]], -1)
    names, noise = ["yield", "impurity"], {"yield": 0.02, "impurity": 0.02}
    belief = he.fit_outcomes(X, Y, names, space=space, hyperparameters="map", noise=noise)
    found = he.entropy(he.TopK(3, outcome="yield", subject_to=["impurity <= 2"]), belief, space)
    assert belief.of("impurity").means(found.action).mean.max() <= 2.0
