"""Decisions that need no search: the fast paths under a mixture against slow and obvious ones."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from gpytorch.kernels import PeriodicKernel, ScaleKernel
from torch import Tensor

from hentropy import BestObserved, Estimate, Gaussian, Identify, LevelSets, Needs, Space, fit, gain, propose
from hentropy.core.action_search import prepare_search, solved
from hentropy.core.beliefs import Moments, outcome_nodes
from hentropy.core.beliefs.fixed import FixedPoints
from hentropy.core.beliefs.gaussian import GaussianFantasy
from hentropy.core.beliefs.kernels import from_gpytorch
from hentropy.core.decisions import Solved
from hentropy.core.decisions.argmax import _given_candidates, _invertible, _wins_of_moved, argmax_gain
from support.beliefs import designs, gaussian
from support.decisions import PLACES, SPACE

POINTS = designs(30, seed=21)

REPORTS: dict[str, Solved] = {
    "difference": LevelSets([2.5, 4.0, 5.5], at=POINTS),
    "misclassification": LevelSets([2.5, 4.0, 5.5], at=POINTS, relation="misclassification"),
    "conservative": LevelSets([2.5, 4.0, 5.5], at=POINTS, confidence=0.9),
    "weighted": LevelSets([2.5, 4.0, 5.5], at=POINTS, weights=[0.1 + 0.03 * i for i in range(30)]),
    "estimate": Estimate(POINTS),
}


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-10)


def looked(belief: Gaussian, x: Tensor, outcomes: int = 9) -> GaussianFantasy:
    nodes = outcome_nodes(outcomes, x.shape[-2], belief.components, seed=1)
    return belief.look_ahead(x).fantasy(nodes)


def saved_slowly(decision: Solved, fantasy: GaussianFantasy, action: Tensor) -> Tensor:
    """Today's expected loss less the least one after each outcome, from the moments of all components: b x N."""
    moments = fantasy.shared_moments(POINTS.unsqueeze(0), Needs.VARIANCE)
    stay = moments.expect(decision.expected_loss(moments, action, moments.mean))
    return (stay - decision.solve(moments)).squeeze(-1)


@pytest.fixture(params=[2**18, 64])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """All designs at once, and one design at a time."""
    monkeypatch.setattr("hentropy.core.beliefs.gaussian.CACHED_NUMBERS", request.param)
    monkeypatch.setattr(solved, "POINTS_PER_BLOCK", 256 if request.param > 64 else 7)
    return int(request.param)


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("name", REPORTS)
def test_what_is_saved_is_the_difference_of_expected_losses(name: str, q: int, chunk: int) -> None:
    belief, x = gaussian(3), designs(5, q, seed=4)
    search, fantasy = prepare_search(REPORTS[name], belief, SPACE), looked(belief, x)
    expected = saved_slowly(REPORTS[name], fantasy, search.best)
    assert float(expected.max()) > 1e-3
    close(search.best_after(fantasy, x, steps=0).saved, expected)
    audited = search.best_after(fantasy, x, steps=1)
    close(audited.saved, expected)
    moments = fantasy.shared_moments(POINTS.unsqueeze(0), Needs.VARIANCE)
    close(audited.loss, REPORTS[name].solve(moments).squeeze(-1))
    close(audited.actions, REPORTS[name].bayes_action(moments).squeeze(2))


@pytest.mark.parametrize("name", REPORTS)
def test_gradients_of_what_is_saved(name: str, chunk: int) -> None:
    belief = gaussian(3)
    search = prepare_search(REPORTS[name], belief, SPACE)

    def slope(saved: Callable[[GaussianFantasy, Tensor], Tensor]) -> Tensor:
        x = designs(4, 2, seed=6).requires_grad_(True)
        (gradient,) = torch.autograd.grad(saved(looked(belief, x), x).sum(), x)
        return gradient

    fast = slope(lambda fantasy, x: search.best_after(fantasy, x, steps=0).saved)
    slow = slope(lambda fantasy, x: saved_slowly(REPORTS[name], fantasy, search.best))
    torch.testing.assert_close(fast, slow, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", REPORTS)
def test_one_look_gives_loss_stay_and_action(name: str) -> None:
    decision, moments = REPORTS[name], gaussian(3).moments(POINTS, Needs.VARIANCE)
    action = decision.bayes_action(gaussian(3, n=4).moments(POINTS, Needs.VARIANCE))
    loss, stay, best = decision.judged(moments, action)
    close(loss, decision.solve(moments))
    close(stay, moments.expect(decision.expected_loss(moments, action, moments.mean)))
    assert torch.equal(best, decision.bayes_action(moments))
    close(decision.saved_at(moments, action).sum(), stay - loss)


@pytest.mark.parametrize("name", REPORTS)
def test_no_experiment_saves_more_at_a_point_than_is_at_stake_there(name: str) -> None:
    belief, decision = gaussian(3), REPORTS[name]
    nodes = outcome_nodes(512, 1, 3, seed=0)
    moments = (
        belief.look_ahead(designs(20, 1, seed=8)).fantasy(nodes).shared_moments(POINTS.unsqueeze(0), Needs.VARIANCE)
    )
    now = belief.moments(POINTS, Needs.VARIANCE)
    after = Moments(moments.weights.squeeze(-1), moments.mean.squeeze(-2), moments.variance.squeeze(-2))
    saved = (decision.saved_at(after, decision.bayes_action(now)) * nodes.weights.view(-1, 1)).sum(1)  # b x m
    assert bool((saved <= 1.05 * decision.at_stake(now) + 1e-9).all())
    # and not much less than a good experiment saves: an experiment at the very point, without noise, saves most of it
    sharp = gaussian(3, future_noise=1e-6)
    own = torch.diagonal(_saved_at(decision, sharp, POINTS.unsqueeze(1), nodes), dim1=0, dim2=1)
    some = decision.at_stake(sharp.moments(POINTS, Needs.VARIANCE)) > 1e-3
    assert bool((own[some] >= 0.8 * decision.at_stake(sharp.moments(POINTS, Needs.VARIANCE))[some]).all())


def _saved_at(decision: Solved, belief: Gaussian, x: Tensor, nodes: Any) -> Tensor:
    """What designs b x 1 x d are expected to save at each point: b x m."""
    moments = belief.look_ahead(x).fantasy(nodes).shared_moments(POINTS.unsqueeze(0), Needs.VARIANCE)
    after = Moments(moments.weights.squeeze(-1), moments.mean.squeeze(-2), moments.variance.squeeze(-2))
    now = belief.moments(POINTS, Needs.VARIANCE)
    return (decision.saved_at(after, decision.bayes_action(now)) * nodes.weights.view(-1, 1)).sum(1)


@pytest.mark.parametrize("name", REPORTS)
def test_some_of_many_points_stand_for_all(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weighted sample has the whole's sum of what is at stake and nearly its gains; the audit counts all points."""
    belief, many = gaussian(3), SPACE.sample(3000, 0)
    decision = REPORTS[name]
    made: Solved = Estimate(many)
    if isinstance(decision, LevelSets):
        weights = None if decision.weights is None else decision.weights.repeat(100)
        made = LevelSets(decision.thresholds, many, decision.relation, None, decision.confidence, weights)  # type: ignore[arg-type]
    whole = prepare_search(made, belief, SPACE)
    monkeypatch.setattr(solved, "POINTS_PER_BLOCK", 60)
    monkeypatch.setattr(solved, "SEARCHED_POINTS", 500)
    monkeypatch.setattr(solved, "SEARCHED_COMPONENTS", 500)
    some = prepare_search(made, belief, SPACE)
    assert isinstance(some, solved.SolvedSearch)
    assert 100 < sum(len(block.counts) for block in some.searched) <= 500
    stake = made.at_stake(belief.moments(many, Needs.VARIANCE))

    def now(block: solved.Block) -> Moments:
        return Moments(belief.weights, block.points.mean, block.points.var)

    at = torch.cat([block.decision.at_stake(now(block)) * block.counts for block in some.searched])
    assert float(at.sum()) == pytest.approx(float(stake.sum()), rel=1e-5)
    x = designs(8, 1, seed=9)
    fantasy = looked(belief, x, outcomes=16)
    monkeypatch.setattr(solved, "MANY_BLOCKS", 1000)
    full = whole.best_after(fantasy, x, steps=0).saved @ fantasy.weights
    # all blocks of the sample, and half of them; what is at stake tells less of gains where costs or weights differ
    more = 2.0 if name in ("conservative", "weighted") else 1.0
    for many_blocks, tolerance in ((1000, 0.1 * more), (2, 0.2 * more)):
        monkeypatch.setattr(solved, "MANY_BLOCKS", many_blocks)
        part = some.best_after(fantasy, x, steps=0).saved @ fantasy.weights
        torch.testing.assert_close(part, full, rtol=tolerance, atol=0.02 * float(full.max()))
    close(some.best_after(fantasy, x, steps=1).saved, whole.best_after(fantasy, x, steps=1).saved)


def test_points_with_nothing_at_stake_are_left_out_of_the_search() -> None:
    certain = gaussian(3, noise=1e-8).X
    search = prepare_search(Estimate(torch.cat([POINTS, certain])), gaussian(3, noise=1e-8), SPACE)
    assert isinstance(search, solved.SolvedSearch)
    assert sum(len(block.counts) for block in search.searched) == len(POINTS)


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("wrapped", [False, True])
def test_moments_at_fixed_points_are_those_of_a_pool(q: int, wrapped: bool) -> None:
    kernel = from_gpytorch(
        ScaleKernel(PeriodicKernel(batch_shape=torch.Size([3])), batch_shape=torch.Size([3])).double()
    )
    belief = gaussian(3, covariance=kernel if wrapped else None)
    fixed = FixedPoints.prepare(belief, POINTS, Needs.VARIANCE)
    x = designs(4, q, seed=5)
    x[1] = belief.X[0]  # observed before
    if q > 1:
        x[2, 1] = x[2, 0]  # the same design twice
    fantasy = looked(belief, x)
    pool = fantasy.shared_moments(POINTS.unsqueeze(0), Needs.VARIANCE)
    found = fixed.moments(fantasy)
    close(found.mean, pool.mean.squeeze(-2))
    close(found.variance, pool.variance.squeeze(-2))
    close(fixed.means(fantasy), pool.expect_vector(pool.mean).squeeze(-2))
    own = fantasy.moments(x.unsqueeze(1), Needs.MEAN)
    torch.testing.assert_close(fantasy.own_means(x), own.expect_vector(own.mean), rtol=1e-7, atol=1e-8)


class AnyLoss(BestObserved):
    """The same decision, whose loss is not known to be a sum of means."""

    def sums(self) -> None:
        """Nothing is known."""


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("H", [1, 3])
def test_the_best_observed_design_is_that_of_any_loss_that_follows_the_data(H: int, q: int, largest: bool) -> None:
    belief, x = gaussian(H, noise=0.2), designs(6, q, seed=14)
    search, general = (prepare_search(kind(largest), belief, SPACE) for kind in (BestObserved, AnyLoss))
    fantasy = looked(belief, x)
    assert float(search.value) == pytest.approx(float(general.value), rel=1e-9)
    assert torch.equal(search.best, general.best)
    found, expected = (each.best_after(fantasy, x, steps=1) for each in (search, general))
    assert len(torch.unique(expected.actions.flatten(0, 2), dim=0)) > 2
    close(found.loss, expected.loss)
    close(found.stay, expected.stay)
    assert torch.equal(found.actions, expected.actions)


def test_wins_of_moved_paths_are_counted_one_by_one() -> None:
    generator = torch.Generator().manual_seed(2)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    H, S, m, b, N, q = 2, 5, 6, 3, 4, 2
    values, R, t_y, t_f = draw(H, S, m), draw(H, b, m, q), draw(H, b, N, q), draw(H, S, b, q)
    weights = torch.softmax(draw(H, b, N), 0)
    found = _wins_of_moved(list(values), R, t_y, list(t_f), weights)
    expected = torch.zeros(b, N, m, dtype=torch.float64)
    for h in range(H):
        for s in range(S):
            for i in range(b):
                for j in range(N):
                    moved = values[h, s] + R[h, i] @ (t_y[h, i, j] - t_f[h, s, i])
                    expected[i, j, moved.argmax()] += float(weights[h, i, j]) / S
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("q", [1, 2])
def test_outcomes_given_the_candidates_have_the_joint_distribution(q: int) -> None:
    """They are linear in what is drawn: unit vectors show the coefficients, and these the covariances."""
    belief, at, x = gaussian(2), designs(5, seed=3), designs(3, q, seed=4)
    root, R = _invertible(belief.moments(at, Needs.JOINT).root), belief.look_ahead(x).whitened_cross(at)
    units, none = torch.eye(5).double(), torch.zeros(5, q).double()
    by_candidates = _given_candidates(root, R, [units] * 2, [none] * 2)  # 5 x b x q each
    by_rest = _given_candidates(root, R, [torch.zeros(q, 5).double()] * 2, [torch.eye(q).double()] * 2)
    for h in range(2):
        cross = torch.einsum("mk,kbq->bmq", root[h], by_candidates[h].double())
        torch.testing.assert_close(cross, R[h], rtol=1e-4, atol=1e-5)  # of values at candidates and outcomes
        both = torch.cat([by_candidates[h], by_rest[h]]).double()
        own = torch.einsum("kbq,kbr->bqr", both, both)  # of the outcomes, which are white
        torch.testing.assert_close(own, torch.eye(q).double().expand(3, q, q), rtol=1e-4, atol=1e-5)


def test_candidates_that_are_known_or_twice_there_do_no_harm() -> None:
    belief = gaussian(2, noise=0.0, future_noise=0.0)
    at = torch.cat([belief.X[:3], designs(4, seed=3), designs(4, seed=3)])
    whole, quick = argmax_gain(belief, at, seed=0)
    assert quick is not None
    x = torch.cat([designs(3, 1, seed=4), belief.X[:1].unsqueeze(0)])
    for gains in (whole(x), quick(x)):
        assert torch.isfinite(gains).all()
        assert abs(float(gains[-1])) < 1e-6  # what is known tells nothing


def test_equal_candidates_share_a_win() -> None:
    none = torch.zeros(1, 1, 3, 1), torch.zeros(1, 1, 1, 1), [torch.zeros(2, 1, 1)]
    values = [torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 2.0]])]
    found = _wins_of_moved(values, *none, torch.ones(1, 1, 1))
    torch.testing.assert_close(found.squeeze(), torch.tensor([0.25, 0.25, 0.5]).double())


@pytest.mark.parametrize("q", [1, 2])
def test_information_about_values_under_a_mixture(q: int) -> None:
    """Against the entropy now less the average of the entropies after many outcomes, each solved by itself."""
    belief, decision = gaussian(3), Identify(PLACES)
    x = designs(3, q, seed=17)
    nodes = outcome_nodes(4096, q, 3, seed=5)
    moments = belief.look_ahead(x).fantasy(nodes).shared_moments(PLACES.unsqueeze(0), Needs.JOINT)
    falls = decision.solve(belief.moments(PLACES, Needs.JOINT)) - decision.solve(moments).squeeze(-1) @ nodes.weights
    found = gain(decision, belief, x, SPACE)
    assert not found.exact
    torch.testing.assert_close(found.value, falls, rtol=0.02, atol=0.01)
    alone = gain(decision, replace(belief, weights=torch.tensor([1.0, 0.0, 0.0]).double()), x, SPACE)
    exact = gain(decision, gaussian(1), x, SPACE)
    torch.testing.assert_close(alone.value, exact.value, rtol=1e-9, atol=1e-9)


def test_a_space_of_one_parameter() -> None:
    """Shapes with d = 1 and a single point."""
    X = torch.linspace(0.0, 1.0, 5, dtype=torch.float64).unsqueeze(-1)
    belief = fit(X, torch.sin(6.0 * X), hyperparameters="mixture", draws=2)
    line = Space.box([0.0], [1.0])
    for decision in (LevelSets(0.2, at=[[0.35]]), Estimate([[0.35]]), BestObserved()):
        proposal = propose(decision, belief, line, q=2)
        assert proposal.gain >= 0.0
        assert proposal.x.shape == (2, 1)


@pytest.mark.parametrize(("what", "tolerance"), [("max", 1e-9), ("argmax", 0.005)])
def test_designs_that_come_first_tell_the_same_whatever_follows(what: Any, tolerance: float) -> None:
    """Sets that share their first designs, as with pending ones, have the gains that each has alone.

    Rounding may decide which of two candidates a path has its maximum at: hence the tolerance of "argmax".
    """
    belief, decision = gaussian(3), Identify(what, candidates=32).within(SPACE)
    formula = decision.gain_formula(belief, SPACE, seed=3)
    assert formula is not None
    x = torch.cat([designs(2, seed=31).expand(5, 2, 2), designs(5, 1, seed=32)], 1)
    alone = torch.cat([formula(each.unsqueeze(0)) for each in x])
    assert float(alone.max() - alone.min()) > 2 * tolerance
    torch.testing.assert_close(formula(x), alone, rtol=0, atol=tolerance)
