"""Correlated outcomes against dense inverses: moments, looking ahead, conditioning, what one tells of the others."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import hentropy as he
from hentropy.core.beliefs import Correlated, Known, Needs, Several
from hentropy.core.spaces import Space
from hentropy.studies.testing import check_belief
from support.beliefs import LOW, NAMES, RHO, WIDTH, correlated, dense_outcomes, designs, price, tensor, two_outcomes

SPACE = Space.box(LOW.tolist(), (LOW + WIDTH).tolist())
POINTS = designs(3, seed=21)
KINDS = pytest.mark.parametrize("H", [1, 3], ids=["gp", "mixture"])


def after(belief: Correlated, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Weights, means H x 3 x 2 and covariances at the points by conditioning a joint normal on y (n x 2, maybe NaN)."""
    m, told = 2 * len(POINTS), ~torch.isnan(y).flatten()
    mean, cov = dense_outcomes(belief, torch.cat([POINTS, x]))
    mean, rows = mean.flatten(1), m + told.nonzero().squeeze(-1)
    noise = (belief.scale**2 * belief.stacked.future_noise).repeat(1, len(x))[:, told]
    S = cov[:, rows][..., rows] + torch.diag_embed(noise)
    K = cov[:, :m][..., rows] @ torch.linalg.inv(S)
    gap = y.flatten()[told] - mean[:, rows]
    density = torch.distributions.MultivariateNormal(mean[:, rows], S).log_prob(y.flatten()[told])
    moved = mean[:, :m] + (K @ gap.unsqueeze(-1)).squeeze(-1)
    weights = torch.softmax(belief.weights.log() + density, 0)
    return weights, moved.unflatten(-1, (-1, 2)), cov[:, :m, :m] - K @ cov[:, rows][..., :m]


@KINDS
def test_moments_are_those_of_dense_inverses(H: int) -> None:
    belief = correlated(H)
    mean, cov = dense_outcomes(belief, POINTS)
    joint, var = belief.moments(POINTS, Needs.JOINT), belief.moments(POINTS, Needs.VARIANCE)
    assert_close(joint.mean.unflatten(-1, (3, 2)), mean)
    assert_close(joint.covariance, cov)
    assert_close(var.variance, cov.diagonal(dim1=-2, dim2=-1))
    for found in (joint.between, var.between):
        assert found is not None
        assert_close(found, torch.stack([cov[:, 2 * k : 2 * k + 2, 2 * k : 2 * k + 2] for k in range(3)], 1))


@KINDS
@pytest.mark.parametrize("seen", [NAMES, ("yield",), ("impurity",)])
@pytest.mark.parametrize("q", [1, 2])
def test_looking_ahead_is_conditioning_the_joint_normal(H: int, seen: tuple[str, ...], q: int) -> None:
    belief = correlated(H)
    view, x = Several((belief,)).measuring(*seen), designs(2, q, seed=13)
    fantasy = view.look_ahead(x).fantasy(view.nodes(4, q))
    own = fantasy.moments(POINTS.expand(2, 1, *POINTS.shape), Needs.JOINT)
    shared = fantasy.shared_moments(POINTS.unsqueeze(0), Needs.VARIANCE)
    values = fantasy.values.unflatten(-1, (q, len(seen)))
    for b in range(2):
        for n in range(4):
            y = torch.full((q, 2), torch.nan, dtype=torch.float64)
            y[:, [NAMES.index(name) for name in seen]] = values[b, n]
            weights, mean, cov = after(belief, x[b], y)
            if H > 1:
                assert_close(own.weights[:, b, n], weights)
            assert_close(own.mean[:, b, n].unflatten(-1, (3, 2)), mean)
            assert_close(shared.mean[:, b, n, 0].unflatten(-1, (3, 2)), mean)
            assert_close(own.covariance.expand(H, 2, 4, 6, 6)[:, b, n], cov)
            assert shared.between is not None
            each = shared.between.expand(H, 2, 4, 1, 3, 2, 2)[:, b, n, 0]
            assert_close(each, torch.stack([cov[:, 2 * k : 2 * k + 2, 2 * k : 2 * k + 2] for k in range(3)], 1))


@KINDS
def test_conditioning_takes_what_was_measured(H: int) -> None:
    belief, x = correlated(H), designs(3, seed=5)
    y = tensor([[4.0, -1.2], [torch.nan, -2.0], [torch.nan, torch.nan]])
    found = Several((belief,)).condition(x, y)
    weights, mean, cov = after(belief, x, y)
    moments = found.moments(POINTS, Needs.JOINT)
    assert_close(found.weights, weights)
    assert_close(moments.mean.unflatten(-1, (3, 2)), mean)
    assert_close(moments.covariance, cov)
    assert len(found.X) == len(belief.X) + 2


@KINDS
def test_the_belief_does_not_contradict_itself(H: int) -> None:
    whole = Several((correlated(H),))
    known = Known(whole.X[:0], price, ("price",))
    beside = Several((correlated(H), known)).of("yield", "price", "impurity")
    for belief in (beside, whole.of("yield").measuring("impurity")):
        check_belief(belief, SPACE)


@KINDS
def test_of_one_outcome_the_others_still_tell(H: int) -> None:
    whole = Several((correlated(H),))
    own = whole.of("yield")
    assert (own.outcomes, own.measured) == (("yield",), NAMES)
    x = designs(1, 1, seed=30)

    def left(belief: Several) -> float:
        fantasy = belief.look_ahead(x).fantasy(belief.nodes(64, 1))
        var = fantasy.moments(x.unsqueeze(1), Needs.VARIANCE).total()[1]
        return float(var.expand(1, 64, 1)[0, :, 0] @ fantasy.weights)

    now = float(own.moments(x[0], Needs.VARIANCE).total()[1])
    both, alone, other = (left(view) for view in (own, own.measuring("yield"), own.measuring("impurity")))  # type: ignore[arg-type]
    assert both < alone < other < now


@KINDS
def test_outcomes_without_correlation_are_independent(H: int) -> None:
    belief = Several((correlated(H, rho=0.0 * RHO),))
    cov = belief.moments(POINTS, Needs.JOINT).covariance
    assert_close(cov[:, ::2, 1::2], torch.zeros(H, 3, 3, dtype=torch.float64), atol=1e-12, rtol=0.0)
    assert belief.correlations == {NAMES: pytest.approx(0.0)}


def test_the_correlation_is_that_of_the_components() -> None:
    three = Several((correlated(3),))
    expected = -0.7 * 1.1 / 1.3**0.5 * 0.5 - 0.9 / 1.3**0.5 * 0.3 + 0.4 * 0.9 / 1.3**0.5 * 0.2
    assert three.correlations == {NAMES: pytest.approx(expected)}


ROWS = designs(6, seed=40)
LIMIT, FALLBACK = -1.6, 2.0
PURE = he.Maximize("yield", [f"impurity <= {LIMIT}"], FALLBACK)


def brute_gain(belief: Correlated, x: Tensor, seen: tuple[int, ...], count: int = 24) -> float:
    """The gain of observing some outcomes of designs q x d, over all rows: products of Gauss-Hermite nodes, draws."""
    return brute_gain_of(belief, x, [(j, i) for j in range(len(x)) for i in seen], count)


def brute_gain_of(belief: Correlated, x: Tensor, shown: list[tuple[int, int]], count: int = 24) -> float:
    """That of pairs of a design and an outcome."""
    m, seen = 2 * len(ROWS), [i for _, i in shown]
    mean, cov = dense_outcomes(belief, torch.cat([ROWS, x]))
    mean, cov = mean[0].flatten(), cov[0]
    rows = torch.tensor([m + 2 * j + i for j, i in shown])
    noise = (belief.scale**2 * belief.stacked.future_noise[0])[seen]
    L = torch.linalg.cholesky(cov[rows][:, rows] + torch.diag(noise))
    move = torch.linalg.solve_triangular(L, cov[rows][:, :m], upper=False)  # by so much each coordinate moves the means
    z, w = np.polynomial.hermite_e.hermegauss(count)
    grid = torch.cartesian_prod(*[tensor(z)] * len(rows)).reshape(-1, len(rows))
    weights = torch.cartesian_prod(*[tensor(w / w.sum())] * len(rows)).reshape(-1, len(rows)).prod(-1)
    after, left = mean[:m] + grid @ move, cov[:m, :m] - move.mT @ move
    now, then = _worth(mean[:m].unsqueeze(0), cov[:m, :m])[0], _worth(after, left)
    return float(weights @ (then.amax(-1) - then[:, now.argmax()]))


def _worth(mean: Tensor, cov: Tensor) -> Tensor:
    """E of yield where impurity holds its limit, else the fallback, by its density: means N x (rows 2) to N x rows."""
    y, i = mean[:, ::2], mean[:, 1::2]
    sd, slope = cov.diagonal()[1::2].sqrt(), cov[::2, 1::2].diagonal() / cov.diagonal()[1::2]
    t, w = np.polynomial.legendre.leggauss(200)
    low, high = i - 8.0 * sd, torch.minimum(i + 8.0 * sd, tensor(LIMIT)).clamp_min(i - 8.0 * sd)
    at = low.unsqueeze(-1) + 0.5 * (high - low).unsqueeze(-1) * tensor(t + 1.0)  # impurities that hold the limit
    density = torch.distributions.Normal(i.unsqueeze(-1), sd.view(-1, 1)).log_prob(at).exp()
    worth = y.unsqueeze(-1) + slope.view(-1, 1) * (at - i.unsqueeze(-1)) - FALLBACK
    return FALLBACK + 0.5 * (high - low) * ((density * worth) @ tensor(w))


@pytest.mark.parametrize("seen", [NAMES, ("yield",), ("impurity",)])
def test_gains_are_those_of_brute_force_whatever_is_measured(seen: tuple[str, ...]) -> None:
    belief, x = correlated(1), designs(2, seed=41)
    view = Several((belief,)).measuring(*seen)
    found = he.gain(PURE, view, x, he.Pool(ROWS))
    numbers = tuple(NAMES.index(name) for name in seen)
    expected = tensor([brute_gain(belief, row.unsqueeze(0), numbers) for row in x])
    assert float(expected.max()) > 1e-2
    assert bool(((found.value - expected).abs() <= 6 * found.std_error + 0.02 * expected.max()).all()), (
        found,
        expected,
    )
    pair = he.gain(PURE, view, x.unsqueeze(0), he.Pool(ROWS))
    both = brute_gain(belief, x, numbers, 10)
    assert float(pair.value) == pytest.approx(both, abs=6 * float(pair.std_error) + 0.03 * both)
    more = he.gain(PURE, view, x[1:], he.Pool(ROWS), pending=x[:1])
    assert float(more.value) == pytest.approx(
        both - brute_gain(belief, x[:1], numbers, 10), abs=6 * float(more.std_error) + 0.03 * both
    )


@pytest.mark.parametrize(("pending", "new"), [((0,), (1,)), ((1,), (0, 1)), ((0, 1), (1,))])
def test_a_pending_design_counts_by_what_is_measured_of_it(pending: tuple[int, ...], new: tuple[int, ...]) -> None:
    belief, x = correlated(1), designs(2, seed=41)
    awaited = [(0, i) for i in pending]
    both = brute_gain_of(belief, x, awaited + [(1, i) for i in new], 10)
    expected = both - brute_gain_of(belief, x, awaited, 10)
    view = Several((belief,)).measuring(*(NAMES[i] for i in new)).awaiting(frozenset(NAMES[i] for i in pending))
    found = he.gain(PURE, view, x[1:], he.Pool(ROWS), pending=x[:1])
    assert float(found.value) == pytest.approx(expected, abs=6 * float(found.std_error) + 0.03 * both)
    with pytest.raises(he.InputError, match="of 1 pending designs; there are 2"):
        he.gain(PURE, view, x[1:], he.Pool(ROWS), pending=x)


def test_what_is_expected_of_pending_designs_is_what_is_measured_of_them() -> None:
    """Side by side with a computed outcome: the same as conditioning on the expected values alone."""
    known = Known(POINTS[:0], price, ("price",))
    belief, x = Several((two_outcomes(1).parts[0], two_outcomes(1).parts[1], known)), designs(2, seed=43)
    found = belief.awaiting(frozenset({"yield"}), frozenset({"impurity"})).expecting(x)
    y = belief.measuring(*NAMES).expected(x)
    y[0, 1] = y[1, 0] = torch.nan
    expected = belief.measuring(*NAMES).condition(x, y)
    assert found.measured == belief.measured
    assert_close(found.moments(POINTS, Needs.JOINT).covariance, expected.moments(POINTS, Needs.JOINT).covariance)


def test_a_computed_outcome_needs_no_column_where_some_outcomes_are_measured() -> None:
    known = Known(POINTS[:0], price, ("price",))
    belief, x = Several((correlated(1), known)), designs(2, seed=43)
    view = belief.measuring("impurity")
    assert view.measured == ("impurity",)
    told = tensor([[-1.5], [-1.7]])
    expected = Several((correlated(1),)).measuring("impurity").condition(x, told)
    found = view.condition(x, told).moments(POINTS, Needs.MEAN).mean.unflatten(-1, (-1, 3))[..., :2].flatten(-2)
    assert_close(found, expected.moments(POINTS, Needs.MEAN).mean)


def test_the_assay_with_the_greatest_gain_per_cost_is_proposed() -> None:
    belief, pool = correlated(1), he.Pool(ROWS)
    whole, gains = Several((belief,)), {}
    for name, numbers in (("full", (0, 1)), ("impurity", (1,))):
        gains[name] = max(brute_gain(belief, row.unsqueeze(0), numbers) for row in ROWS)
    assert gains["full"] > gains["impurity"] > 1e-2
    even = gains["full"] / gains["impurity"]  # at this cost, both are worth the same
    for cost, best in ((0.7 * even, "full"), (1.5 * even, "impurity")):
        assays = {"full": he.Assay(NAMES, cost), "impurity": he.Assay(["impurity"])}
        found = he.propose_assay(PURE, whole, pool, assays)
        assert (found.name, found.assay) == (best, assays[best])
        expected = max(brute_gain(belief, row.unsqueeze(0), (0, 1) if best == "full" else (1,)) for row in ROWS)
        assert found.proposal.gain == pytest.approx(expected, abs=6 * found.proposal.std_error + 0.02 * expected)
        assert found.per_cost[best] == max(found.per_cost.values())
        assert str(found).startswith(f"{best} (")


def test_assays_of_what_tells_nothing_gain_nothing() -> None:
    belief, yields = two_outcomes(1), he.Maximize("yield")
    assays = {"both": he.Assay(NAMES, 3.0), "impurity": he.Assay(("impurity",), 0.01)}
    found = he.propose_assay(yields, belief, he.Pool(ROWS), assays)
    assert found.name == "both"
    assert found.per_cost["impurity"] == 0.0
    with pytest.raises(he.InputError, match="no assay measures what the decision depends on: yield"):
        he.propose_assay(yields, belief, he.Pool(ROWS), {"impurity": assays["impurity"]})
    with pytest.raises(he.InputError, match="impurity\\) tells nothing of yield"):
        he.gain(yields, belief.measuring("impurity"), ROWS, he.Pool(ROWS))
    # one that is correlated tells: the decision is about yield alone
    other = he.propose_assay(yields, Several((correlated(1),)), he.Pool(ROWS), {"impurity": assays["impurity"]})
    assert other.proposal.gain > 0


def test_assays_that_make_no_sense_are_refused() -> None:
    with pytest.raises(he.InputError, match="a list of outcomes"):
        he.Assay("impurity")
    with pytest.raises(he.InputError, match="above 0"):
        he.Assay(("impurity",), cost=0.0)
    with pytest.raises(he.InputError, match="given by name"):
        he.propose_assay(PURE, Several((correlated(1),)), SPACE, {})


def test_independent_outcomes_may_be_measured_apart() -> None:
    """What is not measured stays as it is; the limit on what is measured is learned."""
    belief = two_outcomes(3)
    view, x = belief.measuring("impurity"), designs(1, 1, seed=3)
    mean = view.look_ahead(x).fantasy(view.nodes(8, 1)).moments(POINTS.expand(1, 1, 3, 2), Needs.VARIANCE)
    assert (mean.mean[:, 0, 0, ::2] - mean.mean[:, 0, 7, ::2]).abs().max() < 1e-12
    assert (mean.mean[:, 0, 0, 1::2] - mean.mean[:, 0, 7, 1::2]).abs().max() > 1e-3
    assert float(he.gain(PURE, view, x[0], he.Pool(ROWS)).value) >= 0.0


@pytest.mark.parametrize("limit", ["price <= 2", "price <= 2.001", "2 <= price <= 3"])
def test_a_computed_outcome_at_its_limit_holds_it(limit: str) -> None:
    known = Known(POINTS[:0], lambda x: torch.full_like(x[..., 0], 2.0), ("price",))
    belief = Several((correlated(1), known))
    pool = he.Pool(designs(8, seed=40))
    free = he.entropy(he.Maximize("yield", ["impurity <= -1.0"], 0.0), belief, pool)
    held = he.entropy(he.Maximize("yield", ["impurity <= -1.0", limit], 0.0), belief, pool)
    assert float(held.value) == pytest.approx(float(free.value), abs=1e-3)
