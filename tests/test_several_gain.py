"""Decisions about two outcomes against brute force: entropies, gains and proposals, on a list and on a line."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Gaussian, Moments, Needs
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Finite, Nested, OneShot
from support.beliefs import designs, tensor, three_outcomes, two_outcomes
from support.decisions import POOL, ROWS, SPACE
from support.outcomes import LIMIT, Brute, Sold, lines, sold
from support.tiers import nightly

NAMES = ("yield", "impurity")
OWN = he.decision(sold, he.Points(1), outcomes=NAMES)
ROWS_1D = torch.linspace(0.0, 1.0, 9, dtype=torch.float64).unsqueeze(-1)
LIST = he.Pool(ROWS_1D)
LINE = he.Space(x=he.Real(0.0, 1.0))
FINE = torch.linspace(0.0, 1.0, 201, dtype=torch.float64).unsqueeze(-1)
KINDS = pytest.mark.parametrize("H", [1, 3], ids=["gp", "mixture"])
BOTH = pytest.mark.parametrize("decision", [Sold(), OWN], ids=["closed form", "drawn"])


@KINDS
@BOTH
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_entropy_is_the_least_of_all_expected_losses(decision: he.Decision, H: int, seed: int) -> None:
    belief = lines(H, seed)
    value, row = Brute(belief, ROWS_1D, 8).now
    found = he.entropy(decision, belief, LIST)
    rare = 1e-9 if decision.needs is Needs.VARIANCE else 1e-3  # draws may miss what hardly ever costs anything
    assert found.value == pytest.approx(value, abs=rare + 6 * found.std_error)
    assert torch.equal(found.action, ROWS_1D[row : row + 1])
    anywhere = he.entropy(decision, belief, LINE)
    assert anywhere.value == pytest.approx(Brute(belief, FINE, 8).now[0], abs=2e-3 + 6 * anywhere.std_error)


@KINDS
@BOTH
def test_gain_of_one_design_is_that_of_brute_force(decision: he.Decision, H: int) -> None:
    """At 6 standard errors of 8 replicates, and 1 % of the greatest gain for rare outcomes that no replicate met."""
    for seed in (1, 2):
        belief = lines(H, seed)
        brute = Brute(belief, ROWS_1D, 32)
        x = ROWS_1D[[1, 4, 7]]
        expected = tensor([brute.gain(row.unsqueeze(0)) for row in x])
        found = he.gain(decision, belief, x, LIST)
        slack = 6 * found.std_error + 0.01 * expected.max()
        assert bool(((found.value - expected).abs() <= slack).all()), (found, expected)


@KINDS
def test_gain_on_a_line_is_that_of_a_fine_list(H: int) -> None:
    belief = lines(H, seed=2)
    x = tensor([[0.1], [0.45], [0.9]])
    brute = Brute(belief, FINE, 32)
    expected = tensor([brute.gain(row.unsqueeze(0)) for row in x])
    found = he.gain(Sold(), belief, x, LINE)
    slack = 6 * found.std_error + 0.015 * expected.max()
    assert bool(((found.value - expected).abs() <= slack).all()), (found, expected)


@KINDS
def test_gain_of_two_designs_and_of_one_beside_a_pending_one(H: int) -> None:
    belief = lines(H, seed=2)
    x, pending = tensor([[0.125], [0.75]]), tensor([[0.75]])
    brute = Brute(belief, ROWS_1D, 11)
    both, one = brute.gain(x), brute.gain(pending)
    found = he.gain(Sold(), belief, x.unsqueeze(0), LIST)
    assert float(found.value) == pytest.approx(both, abs=6 * float(found.std_error) + 0.02 * both)
    more = he.gain(Sold(), belief, x[:1], LIST, pending=pending)
    assert float(more.value) == pytest.approx(both - one, abs=6 * float(more.std_error) + 0.02 * both)


@pytest.mark.parametrize(
    ("H", "seed", "pending"),
    [(1, 7, None), (3, 1, None), (3, 7, None), (1, 2, tensor([[0.25]])), (3, 2, tensor([[0.25]]))],
)
def test_proposals_are_as_good_as_the_best_of_all(H: int, seed: int, pending: Tensor | None) -> None:
    """A proposal on the list has 0.95 of the gain of the best row; on the line, of the best of 41 places."""
    belief = lines(H, seed, n=4 + seed)
    before = tensor([]).reshape(0, 1) if pending is None else pending
    for space, places in ((LIST, ROWS_1D), (LINE, FINE[::5])):
        brute = Brute(belief, places, 24 if pending is None else 9)
        gains = [brute.gain(torch.cat([before, row.unsqueeze(0)])) for row in places]
        already = brute.gain(before) if len(before) else 0.0
        proposal = he.propose(Sold(), belief, space, pending=pending)
        assert proposal.complete
        assert brute.gain(torch.cat([before, proposal.x])) - already >= 0.95 * (max(gains) - already), (space, proposal)


def test_two_designs_are_proposed_together() -> None:
    belief = lines(1, seed=2)
    brute = Brute(belief, ROWS_1D, 9)
    best = max(brute.gain(ROWS_1D[[i, j]]) for i in range(9) for j in range(i))
    for space in (LIST, LINE):
        proposal = he.propose(Sold(), belief, space, q=2)
        assert proposal.x.shape == (2, 1)
        assert brute.gain(proposal.x) >= 0.9 * best, (space, proposal)


def test_what_would_be_done_after_bad_and_good_outcomes() -> None:
    proposal = he.propose(Sold(), lines(3, seed=2), LINE, q=1)
    bad, middle, good = proposal.outlook
    assert bad.values.shape == (1, 2)
    assert bad.expected_loss >= middle.expected_loss >= good.expected_loss


@pytest.mark.parametrize("solver", [Nested(restarts=2, steps=4, screened=32), OneShot(restarts=4, steps=4), None])
def test_every_solver_looks_ahead_to_two_outcomes(solver: Any) -> None:
    proposal = he.propose(OWN, lines(3), LINE, solver=solver)
    assert proposal.gain >= -6 * proposal.std_error


def test_a_decision_about_one_outcome_is_that_of_its_own_belief() -> None:
    belief = two_outcomes(3)
    about = he.decision(lambda f, a: f[..., 0], he.Points(1), outcomes=["impurity"])
    alone = he.decision(lambda f, a: f[..., 0], he.Points(1))
    part = belief.of("impurity")
    assert he.entropy(about, belief, POOL).value == he.entropy(alone, part, POOL).value
    x = designs(3, seed=41)
    assert torch.equal(he.gain(about, belief, x, SPACE).value, he.gain(alone, part, x, SPACE).value)
    assert torch.equal(he.propose(about, belief, POOL).x, he.propose(alone, part, POOL).x)


@pytest.mark.parametrize("name", ["maximize", "top_k", "best_observed", "level_sets", "estimate", "identify_max"])
def test_built_in_decisions_are_told_which_outcome_they_are_about(name: str) -> None:
    belief, made = two_outcomes(1), ROWS[name].make(0.0)
    with pytest.raises(he.InputError, match="yield, impurity; name it"):
        he.entropy(made, belief, POOL)
    made.outcomes = ("yield",)
    x = designs(2, seed=41)
    found = he.gain(made, belief, x, POOL)
    part = two_outcomes(1).of("yield")
    assert isinstance(part, Gaussian)
    alone = he.gain(ROWS[name].make(0.0), replace(part, outcomes=("value",)), x, POOL)
    assert torch.equal(found.value, alone.value)
    assert found.exact == alone.exact


def test_an_outcome_that_is_not_there_is_named() -> None:
    with pytest.raises(he.InputError, match="'value'; asked for 'yield', 'impurity'"):
        he.entropy(OWN, he.fit([[0.0], [1.0]], [1.0, 2.0], hyperparameters="map"), LINE)
    with pytest.raises(he.InputError, match="each given once"):
        he.decision(sold, he.Points(1), outcomes=["yield", "yield"])


def test_a_loss_that_reduces_too_little_is_told_the_right_shape() -> None:
    short = he.decision(lambda f, a: -f[..., 0], he.Points(1), outcomes=NAMES)
    with pytest.raises(he.DecisionError, match=r"the last two dimensions \(points, then yield, impurity\)"):
        he.entropy(short, lines(), LINE)


class Pair(he.Decision):
    """Two recipes, the better of which is sold: values of both outcomes at two designs count together."""

    actions = he.Points(2, as_set=True)
    outcomes = NAMES

    def loss(self, f: Tensor, a: Any) -> Tensor:
        worth = f[..., 0] - 4.0 * (f[..., 1] - LIMIT).clamp_min(0.0)
        return -worth.max(-1).values


class Mixed(he.Decision):
    """An affine loss of two outcomes at two designs."""

    actions = he.Points(2)
    needs = Needs.MEAN
    outcomes = NAMES

    def loss(self, f: Tensor, a: Any) -> Tensor:
        return -f[..., 0, 0] + 2.0 * f[..., 1, 1] + 0.5 * f[..., 0, 1]


LONG = he.Pool(designs(700, seed=1))


@pytest.mark.parametrize(("decision", "H"), [nightly(Pair(), 1), (Mixed(), 3)], ids=["drawn", "affine, mixture"])
def test_tuples_of_a_long_list_are_searched(decision: he.Decision, H: int) -> None:
    """What exchange finds is no worse than any of many random tuples, now and after each outcome."""
    belief = two_outcomes(H)
    found = he.entropy(decision, belief, LONG)
    generator = torch.Generator().manual_seed(5)
    tuples = LONG.points[torch.randint(700, (3000, 2), generator=generator)]
    others = he.entropy(he.decision(decision.loss, he.Listed(tuples), outcomes=NAMES), belief, LONG)
    assert found.value <= others.value + 6 * (found.std_error + others.std_error) + 0.01
    proposal = he.propose(decision, belief, LONG)
    assert proposal.gain > -6 * proposal.std_error


def test_an_affine_loss_of_two_outcomes_is_that_of_the_means() -> None:
    belief = two_outcomes(3)
    moments = belief.moments(POOL.points, Needs.MEAN)
    mean = moments.expect_vector(moments.mean).unflatten(-1, (10, 2))
    table = -mean[:, None, 0] + 2.0 * mean[None, :, 1] + 0.5 * mean[:, None, 1]
    found = he.entropy(Mixed(), belief, POOL)
    assert found.value == pytest.approx(float(table.min()))
    assert he.entropy(Mixed(), belief, SPACE).value <= found.value + 1e-9


def test_other_kinds_of_actions_see_both_outcomes() -> None:
    belief, at = two_outcomes(3), designs(3, seed=2)
    for decision in (
        he.decision(
            lambda f, a: a * (f[..., 0].mean(-1) + f[..., 1].mean(-1)),
            he.Options([-1.0, 0.0, 1.0], at=at),
            outcomes=NAMES,
        ),
        he.decision(
            lambda f, a: (f.flatten(-2) - a).abs().sum(-1), he.Box([0.0] * 6, [8.0] * 6, at=at), outcomes=NAMES
        ),
        he.decision(
            lambda f, a: -f[..., 0].max(-1).values + f[..., 1].sum(-1), he.Listed(designs(4, 2, seed=6)), outcomes=NAMES
        ),
    ):
        found = he.gain(decision, belief, designs(2, seed=4), SPACE)
        assert bool((found.value >= -6 * found.std_error).all())
        assert he.propose(decision, belief, SPACE).gain >= 0.0


def test_a_price_that_is_known_counts_without_an_experiment() -> None:
    belief = three_outcomes(1)

    class Profit(he.Decision):
        actions = he.Points(1)
        outcomes = ("yield", "price")
        needs = Needs.MEAN

        def loss(self, f: Tensor, a: Any) -> Tensor:
            return -f[..., 0, 0] + 3.0 * f[..., 0, 1]

    appraisal = Appraisal.prepare(Profit(), belief, POOL)
    x = POOL.points[:4].unsqueeze(1)
    found = appraisal.audit(x, 3).gain
    part = belief.of("yield")
    assert isinstance(part, Gaussian)
    # one uncertain outcome and an affine loss: the losses after observing are lines in its outcome
    mean = (
        part.moments(POOL.points, Needs.MEAN).mean[0]
        - 3.0 * belief.of("price").moments(POOL.points, Needs.MEAN).mean[0]
    )
    slope = part.look_ahead(x).whitened_cross(POOL.points)[0, ..., 0]
    z = torch.linspace(-8.0, 8.0, 20001, dtype=torch.float64)
    density = torch.exp(-0.5 * z.square()) / (2.0 * torch.pi) ** 0.5 * (z[1] - z[0])
    for b in range(4):
        expected = float(((mean + slope[b] * z[:, None]).max(-1).values - mean.max()) @ density)
        assert float(found.value[b]) == pytest.approx(expected, abs=6 * float(found.std_error[b]) + 1e-4)


def test_the_time_limit_is_kept_on_a_list_of_two_outcomes() -> None:
    proposal = he.propose(Pair(), two_outcomes(1), LONG, max_seconds=1e-3)
    assert not proposal.complete
    assert proposal.x.shape == (1, 2)


def test_finite_searches_value_rows_of_two_outcomes() -> None:
    found = he.propose(Sold(), lines(1), LIST, solver=Finite())
    assert found.gain >= 0.0
    flat = Moments(torch.ones(1), torch.zeros(1, 4), outcomes=2)
    assert flat.averaged().outcomes == 2
