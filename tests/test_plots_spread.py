"""The best actions of drawn functions: searched well in many dimensions, and possible ones."""

import pytest
import torch

import hentropy as he
from hentropy.core.decisions import checked_loss
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.spread import action_spread, drawn_functions
from support.decisions import BothSides
from support.studies import DECISIONS, MIXED, PLANE, begun

SIX = he.Space(**{f"p{i}": he.Real(0.0, 1.0 + i) for i in range(6)})


def six(decision: he.Decision, treatment: str = "map", count: int = 24) -> Scene:
    study = he.Study(SIX, decision, hyperparameters=treatment)
    for row in SIX.sample(count, seed=1):
        params = SIX.decode(row)
        study.attach(params, -sum((i + 1) * (value / (1 + i) - 0.4) ** 2 for i, value in enumerate(params.values())))
    return scene_of(study)


def losses_of_random_actions(scene: Scene, count: int, among: int) -> torch.Tensor:
    """The least loss of each drawn function among random actions: count."""
    k = scene.action.shape[0]
    actions = SIX.sample(among * k, seed=99).reshape(among, k, -1)
    least = []
    for functions, own in drawn_functions(scene.belief, count, scene.seed):
        with torch.no_grad():
            values = functions(actions)
        least.append(checked_loss(scene.decision, values, actions.expand(own, *actions.shape)).min(-1).values)
    return torch.cat(least)


@pytest.mark.parametrize(
    ("decision", "treatment"),
    [
        (he.Maximize(), "map"),
        (he.Maximize(), "mixture"),
        (he.Minimize(), "map"),
        (he.MinMax(), "map"),
        (he.TopK(2, weight=1.0), "map"),
    ],
    ids=repr,
)
def test_each_function_has_an_action_as_good_as_a_long_random_search(decision: he.Decision, treatment: str) -> None:
    scene = six(decision, treatment)
    spread = action_spread(scene, 16)
    own = checked_loss(scene.decision, spread.values, spread.designs)
    assert bool((own <= losses_of_random_actions(scene, 16, 20_000) + 1e-9).all())


def test_hardly_any_function_is_best_just_where_the_decision_is() -> None:
    scene = six(he.Maximize())
    spread = action_spread(scene, 64)
    same = (spread.designs - scene.action).abs().amax((-1, -2)) < 1e-6
    assert float(same.double().mean()) < 0.1


def test_values_are_those_of_the_functions_there() -> None:
    scene = six(he.Maximize(), "mixture")
    spread = action_spread(scene, 12)
    at = 0
    for functions, own in drawn_functions(scene.belief, 12, scene.seed):
        with torch.no_grad():
            there = functions(spread.designs[at : at + own]).diagonal()[0]
        torch.testing.assert_close(spread.values[at : at + own, 0], there)
        at += own
    assert at == 12


def test_actions_are_possible_ones() -> None:
    scene = scene_of(begun(MIXED, he.TopK(2), count=8))
    designs = action_spread(scene, 20).designs.reshape(-1, 3)
    assert torch.equal(MIXED.project(designs), designs)


def test_a_loss_that_looks_elsewhere_is_descended_there() -> None:
    scene = scene_of(begun(PLANE, BothSides(), count=6))
    spread = action_spread(scene, 10)
    assert bool(torch.isnan(spread.values).all())
    actions = PLANE.sample(2000, seed=8).unsqueeze(1)
    [(functions, _)] = drawn_functions(scene.belief, 10, scene.seed)
    with torch.no_grad():
        brute = scene.decision.loss(functions(scene.decision.points(actions)), actions).min(-1).values
        values = functions(scene.decision.points(spread.designs))[torch.arange(10), torch.arange(10)]
        own = scene.decision.loss(values, spread.designs)
    assert bool((own <= brute + 1e-9).all())


@pytest.mark.parametrize("name", ["k guesses", "sequence", "best observed", "own function, listed"])
def test_the_same_scene_has_the_same_spread(name: str) -> None:
    first, second = (action_spread(scene_of(begun(PLANE, DECISIONS[name], count=6)), 8) for _ in range(2))
    assert torch.equal(torch.nan_to_num(first.designs), torch.nan_to_num(second.designs))
