"""The belief about success: against brute force, and what it does to gains and decisions."""

import itertools
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.action_search import prepare_search
from hentropy.core.action_search.finite import FiniteSearch
from hentropy.core.action_search.incumbent import SEED
from hentropy.core.action_search.tuples import TupleSearch
from hentropy.core.beliefs import Frame, Gaussian
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.beliefs.nodes import gauss_hermite
from hentropy.core.beliefs.success import Sightings, Success, Watched, seen_between, yes_or_no
from hentropy.core.clock import Clock
from hentropy.core.failures import MayFail, SuccessNews, restricted
from hentropy.core.gain import Effort
from hentropy.core.models.gp import ConstantMean
from hentropy.core.models.success import Mode, fit_success, sites

pytestmark = pytest.mark.smoke

MEAN = 0.7
UNIT = Frame(lambda x: x, torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64))


def kernel(scale: float) -> Stationary:
    return Stationary(Profile.MATERN52, torch.full((1, 2), 0.4).double(), torch.tensor([scale]).double())


def outcomes(n: int) -> tuple[Tensor, Tensor]:
    X = torch.quasirandom.SobolEngine(2, scramble=True, seed=3).draw(n).double()
    return X, torch.where(X.sum(-1) > 1.2, -1.0, 1.0).double()


def believed(X: Tensor, y: Tensor, scale: float) -> Success:
    mean = torch.tensor([MEAN]).double()
    data, noise = sites(kernel(scale)(X, X), mean, Sightings.yes_or_no(y))
    one = torch.ones(1).double()
    return Success(Gaussian.from_data(X, data, noise, one, kernel(scale), ConstantMean(mean), UNIT, one))


def by_quadrature(X: Tensor, y: Tensor, at: Tensor, scale: float) -> Tensor:
    """The chance at each point, by a product rule over the latent values of three observations and the point."""
    rule = gauss_hermite(24)
    z = torch.tensor(list(itertools.product(rule.z[:, 0].tolist(), repeat=4))).double()
    w = torch.tensor([list(each) for each in itertools.product(rule.weights.tolist(), repeat=4)]).double().prod(-1)
    found = []
    for point in at:
        both = torch.cat([X, point.unsqueeze(0)])
        K = kernel(scale)(both, both)[0]
        phi = torch.special.ndtr((MEAN + z @ torch.linalg.cholesky(K).mT) * torch.cat([y, torch.ones(1).double()]))
        seen = w * phi[:, :3].prod(-1)
        found.append((seen * phi[:, 3]).sum() / seen.sum())
    return torch.stack(found)


def by_weighting(X: Tensor, y: Tensor, at: Tensor, scale: float, draws: int = 2**17) -> Tensor:
    """The same for any number of observations: draws of a wide normal distribution, weighted to the true posterior."""
    K = kernel(scale)(X, X)[0]
    about = believed(X, y, scale).latent.moments(X, he.Needs.JOINT)
    root = torch.linalg.cholesky(1.3 * about.covariance[0] + 1e-9 * torch.eye(len(X)).double())
    z = torch.randn(draws, len(X), generator=torch.Generator().manual_seed(5)).double()
    g = about.mean[0] + z @ root.mT
    L = torch.linalg.cholesky(K + 1e-9 * torch.eye(len(X)).double())
    prior = -0.5 * torch.linalg.solve_triangular(L, (g - MEAN).mT, upper=False).square().sum(0)
    log_weight = torch.special.log_ndtr(y * g).sum(-1) + prior + 0.5 * z.square().sum(-1)
    weight = torch.softmax(log_weight, 0)
    assert float(1.0 / weight.square().sum()) > 2_000
    k = kernel(scale)(at, X)[0]
    W = torch.cholesky_solve(k.mT, L)
    mean = MEAN + (g - MEAN) @ W
    var = (scale - (k * W.mT).sum(-1)).clamp_min(0.0)
    return (weight.unsqueeze(-1) * torch.special.ndtr(mean / (1.0 + var).sqrt())).sum(0)


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_chances_are_those_of_quadrature(scale: float) -> None:
    X, y = outcomes(3)
    y = torch.tensor([1.0, -1.0, 1.0]).double()
    at = torch.rand(5, 2, generator=torch.Generator().manual_seed(1)).double()
    assert believed(X, y, scale).chance(at) == pytest.approx(by_quadrature(X, y, at, scale), abs=0.004)


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_chances_are_those_of_weighted_draws(scale: float) -> None:
    X, y = outcomes(20)
    at = torch.rand(40, 2, generator=torch.Generator().manual_seed(2)).double()
    truth = by_weighting(X, y, at, scale)
    assert (believed(X, y, scale).chance(at) - truth).abs().max() < 0.02


def test_sites_settle_where_many_outcomes_share_few_failures() -> None:
    """Each site explains what its outcome says of g, given all others: whole steps overshoot for ever."""
    X = torch.rand(300, 12, generator=torch.Generator().manual_seed(0)).double()
    y = torch.where(X[:, :3].sum(-1) > 2.2, -1.0, 1.0).double()
    scales = torch.tensor([[0.6] * 3 + [4.0] * 9]).double()
    K = Stationary(Profile.MATERN52, scales, torch.tensor([16.0]).double())(X, X)
    data, noise = sites(K, torch.tensor([3.0]).double(), Sightings.yes_or_no(y))
    W = torch.linalg.inv(K[0] + torch.diag(noise[0]))
    mean, var = 3.0 + K[0] @ W @ (data[0] - 3.0), (K[0] - K[0] @ W @ K[0]).diagonal()
    v = 1.0 / (1.0 / var - 1.0 / noise[0])
    c = v * (mean / var - data[0] / noise[0])
    _, A, *_ = seen_between(c, v, *yes_or_no(y))
    assert ((c + v * A - mean) / var.sqrt()).abs().max() < 5e-3


SQUARE = he.Space(x=he.Real(0, 1), y=he.Real(0, 1))
RUN = SQUARE.sample(40, 4)
SUCCEEDED = RUN[:, 0] < 0.7
"""The experiments on the right fail."""


def rising(x: Tensor) -> Tensor:
    """The further to the right, the better: what can be decided ends where experiments begin to fail."""
    return x[..., 0] - 0.3 * (x[..., 1] - 0.4).square()


@pytest.fixture(scope="module")
def success() -> Success:
    return fit_success(RUN, SUCCEEDED, space=SQUARE)


@pytest.fixture(scope="module")
def belief() -> he.Belief:
    return he.fit(RUN[SUCCEEDED], rising(RUN[SUCCEEDED]), space=SQUARE, hyperparameters="map")


def priced(belief: he.Belief, success: Success, x: Tensor) -> Tensor:
    """The expected loss of deciding for a design (n x d): -mean if it succeeds, else the worst value that was seen."""
    worst = belief.moments(torch.cat([belief.X, SQUARE.sample(64, SEED)]), he.Needs.MEAN).mean.min()
    chance = success.chance(x)
    return -(chance * belief.moments(x, he.Needs.MEAN).mean[0] + (1.0 - chance) * worst)


def test_an_action_pays_for_its_designs_that_fail(belief: he.Belief, success: Success) -> None:
    """Against draws of which designs succeed, dependent as they are: each pays for itself, or the share of them."""
    pairs = torch.tensor([[[0.5, 0.4], [0.68, 0.4]], [[0.66, 0.1], [0.67, 0.1]]]).double()
    latent = success.latent.moments(pairs, he.Needs.JOINT)  # H x 2 x 2
    root = torch.linalg.cholesky(latent.covariance + 1e-9 * torch.eye(2).double())
    z, u = torch.randn(2, 2**15, 2, generator=torch.Generator().manual_seed(0)).double()
    succeed = latent.mean[:, :, None] + z @ root.mT + u > 0  # H x 2 x draws x 2

    def average(each: Tensor) -> Tensor:
        return (success.latent.weights[:, None] * each.mean(-1)).sum(0)

    alone = restricted(he.TopK(2).within(SQUARE), belief, SQUARE, success)[0]
    assert isinstance(alone, MayFail)
    moments = belief.moments(pairs, he.Needs.MEAN)
    worth = torch.where(succeed, moments.mean[0].unsqueeze(-2), -alone.fallback)
    counted = average(alone.decision.loss(worth, pairs.unsqueeze(-3)))
    none = pairs.new_zeros(1, 2)
    assert alone.expected_loss(moments, pairs, none)[0] == pytest.approx(counted, abs=0.01)

    together = restricted(he.KGuesses(2).within(SQUARE), belief, SQUARE, success)[0]
    assert isinstance(together, MayFail)
    joint = belief.moments(pairs, he.Needs.JOINT)
    whole, share = together.decision.expected_loss(joint, pairs, none)[0], average(succeed.double().mean(-1))
    counted = share * whole + (1.0 - share) * together.fallback
    assert together.expected_loss(joint, pairs, none)[0] == pytest.approx(counted, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("decision", [he.Maximize(), he.TopK(3, weight=0.3)], ids=["maximize", "top_k"])
def test_a_long_list_is_searched_as_whole_actions_are(
    belief: he.Belief, success: Success, decision: he.Decision
) -> None:
    """The quick search of sums against exchange of whole actions, and against all actions for one design."""
    pool = he.Pool(SQUARE.sample(700, 3), names=SQUARE.names)
    priced, rows = restricted(decision.within(pool), belief, pool, success)
    assert isinstance(priced, MayFail)
    assert rows.points is not None
    sums = priced.sums()
    assert sums is not None
    quick = FiniteSearch.prepare(priced, belief, rows.points, sums, Clock())
    slow = TupleSearch.prepare(priced, belief, rows.points, priced.actions, torch.zeros(1, 3).double(), Clock())  # type: ignore[arg-type]
    assert float(quick.value) <= float(slow.value) + 1e-9
    if isinstance(decision, he.Maximize):
        best = priced_loss(belief, success, priced, rows.points).min()
        assert float(quick.value) == pytest.approx(float(best), abs=1e-9)
    x = rows.points[[5, 50, 300]].unsqueeze(-2)
    nodes = belief.nodes(16, 1)
    fantasy = belief.look_ahead(x).fantasy(nodes)
    after, other = (search.best_after(fantasy, x, steps=1) for search in (quick, slow))
    assert bool((after.loss <= other.loss + 1e-6).all())
    again = priced.expected_loss(fantasy.moments(after.actions, he.Needs.MEAN), after.actions, nodes.z)
    assert after.loss == pytest.approx(again[0], rel=1e-7)  # the same chances, from products of other shapes


SURE = 30.0
"""A latent value so far above zero that every experiment succeeds."""


@pytest.mark.covering
@pytest.mark.slow
@pytest.mark.parametrize(
    "decision",
    [he.Maximize(), he.TopK(2, weight=0.3), he.KGuesses(3), he.MinMax()],
    ids=["maximize", "top_k", "k_guesses", "min_max"],
)
@pytest.mark.parametrize("listed", [False, True], ids=["box", "list"])
def test_where_nothing_can_fail_gains_are_those_without_failures(
    belief: he.Belief, success: Success, decision: he.Decision, listed: bool
) -> None:
    """Designs that cannot be decided for are among those that are run."""
    latent = success.latent
    sure = replace(success, latent=replace(latent, frame=replace(latent.frame, shift=latent.frame.shift + SURE)))
    assert float(sure.chance(SQUARE.sample(64, 2)).min()) == 1.0
    decide_on = he.Pool(SQUARE.sample(12, 3), names=SQUARE.names) if listed else SQUARE.fixed(x=0.5)
    x = SQUARE.sample(3, 8).unsqueeze(1)
    without = he.gain(decision, belief, x, SQUARE, decide_on=decide_on)
    with_it = he.gain(decision, belief, x, SQUARE, decide_on=decide_on, success=sure)
    assert with_it.value == pytest.approx(without.value, abs=1e-6 + 4.0 * float(without.std_error.max()))


def priced_loss(belief: he.Belief, success: Success, decision: MayFail, x: Tensor) -> Tensor:
    """The expected loss of each design (n x d) by the formula for one: n."""
    chance = success.chance(x)
    return -chance * belief.moments(x, he.Needs.MEAN).mean[0] + (1.0 - chance) * decision.fallback


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_the_mode_is_the_same_wherever_its_search_begins(scale: float) -> None:
    X, y = outcomes(30)
    mean, seen = torch.tensor([MEAN, -1.0]).double(), Sightings.yes_or_no(y)
    K = kernel(scale)(X, X).expand(2, -1, -1)
    mode = Mode.of(K, mean, seen)
    _, slope, _, _ = seen.says(mode.g, mode.g.new_zeros(()))
    assert torch.allclose(mode.g, mean.unsqueeze(-1) + (K @ mode.a.unsqueeze(-1)).squeeze(-1))
    assert torch.allclose(mode.a, slope, atol=5e-3)
    for near in (Mode.of(0.5 * K, mean + 1.0, seen).g, torch.full((1, 30), 40.0).double(), -40.0 * y.unsqueeze(0)):
        found = Mode.of(K, mean, seen, near)
        assert torch.allclose(found.g, mode.g, atol=0.02)


@pytest.mark.parametrize("at_least", [0.3, 0.5, 0.8])
def test_designs_pass_by_their_chance(success: Success, at_least: float) -> None:
    points = torch.rand(200, 2, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    for latent in (success.latent, success.latent.component(0)):
        own = Success(latent, at_least)
        chance = own.chance(points)
        assert 0 < int((chance < at_least).sum()) < 200
        assert torch.equal(own.passes(points), chance >= at_least)


def test_chances_know_where_experiments_fail(success: Success) -> None:
    fresh = SQUARE.sample(256, 9)
    chance = success.chance(fresh)
    far = (fresh[:, 0] - 0.7).abs() > 0.1
    assert bool(((chance > 0.5) == (fresh[:, 0] < 0.7))[far].all())
    assert bool(((chance > 0.0) & (chance < 1.0)).all())


def test_far_from_all_data_the_chance_is_near_the_base_rate() -> None:
    corner = 0.1 * SQUARE.sample(40, 4)
    succeeded = torch.arange(40) % 10 != 0  # one in ten fails, wherever it is
    chance = float(fit_success(corner, succeeded, space=SQUARE).chance(torch.tensor([1.0, 1.0]).double()))
    assert 0.6 < chance < 0.98


def test_what_an_experiment_would_change_is_as_of_a_joint_normal_distribution(success: Success) -> None:
    """Prepared points against moments of all points and designs together, of one GP and of a mixture."""
    generator = torch.Generator().manual_seed(6)
    points, x = (torch.rand(count, 2, generator=generator).double() for count in (7, 3))
    few = fit_success(RUN[:20], SUCCEEDED[:20], space=SQUARE)
    assert few.latent.components > 1
    for each in (few, Success(success.latent.component(0))):
        chance, there, here = each.watching(points).after(x)
        assert chance == pytest.approx(each.chance(x))
        for i, design in enumerate(x):
            both = each.latent.moments(torch.cat([points, design.unsqueeze(0)]), he.Needs.JOINT)
            mean, cov = both.mean, both.covariance
            for j, y in enumerate((1.0, -1.0)):
                Z = torch.special.ndtr(y * mean[:, -1:] / (1.0 + cov[:, -1:, -1]).sqrt())  # H x 1
                _, A, B, _ = seen_between(mean[:, -1:], cov[:, -1:, -1], *yes_or_no(torch.full_like(Z, y)))
                c = cov[:, :, -1]
                moved = torch.special.ndtr(
                    (mean + c * A) / (1.0 + cov.diagonal(dim1=-2, dim2=-1) - c.square() * B).sqrt()
                )
                weights = each.latent.weights.unsqueeze(-1) * Z
                exact = (weights * moved).sum(0) / weights.sum()
                assert torch.allclose(here[j, i], exact[:-1], atol=1e-6)
                assert float(there[j, i]) == pytest.approx(float(exact[-1]), abs=1e-6)


def test_points_that_could_be_decided_are_prepared_once(
    belief: he.Belief, success: Success, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the news saves is asked for at each step of an ascent, and for many designs."""
    asked, plain = [], Success.watching

    def counted(self: Success, points: Tensor) -> Watched:
        asked.append(len(points))
        return plain(self, points)

    monkeypatch.setattr(Success, "watching", counted)
    news = news_of(belief, success)
    for seed in range(4):
        news.saves(SQUARE.sample(200, seed).unsqueeze(1))
    assert len(asked) == 1


def test_after_a_failure_the_chance_falls_nearby() -> None:
    before = fit_success(RUN[:20], SUCCEEDED[:20], space=SQUARE)
    x = torch.tensor([[0.2, 0.2]]).double()
    near, far = torch.tensor([[0.22, 0.2]]).double(), torch.tensor([[0.2, 1.0]]).double()
    chance, _, after = before.watching(torch.cat([near, far])).after(x)
    now = before.chance(torch.cat([near, far]))
    assert float(chance) == pytest.approx(float(before.chance(x)))
    assert float(after[1, 0, 0]) < float(now[0]) - 0.01
    assert float(now[0]) < float(after[0, 0, 0])
    assert float(now[0] - after[1, 0, 0]) > float(now[1] - after[1, 0, 1])
    # on average the news changes nothing
    assert chance * after[0, 0] + (1.0 - chance) * after[1, 0] == pytest.approx(now, abs=0.01)
    refitted = fit_success(torch.cat([RUN[:20], x]), torch.cat([SUCCEEDED[:20], torch.tensor([False])]), space=SQUARE)
    assert float(refitted.chance(near)) < float(now[0]) - 0.1


def test_options_share_their_failures() -> None:
    space = he.Space(x=he.Real(0, 1), solvent=["water", "ethanol", "toluene"])
    rows = space.sample(36, 2)
    failed = torch.tensor([space.decode(row)["solvent"] == "toluene" for row in rows])
    success = fit_success(rows, ~failed, space=space)
    chance = {o: float(success.chance(space.encode({"x": 0.5, "solvent": o}))) for o in ("water", "ethanol", "toluene")}
    assert chance["toluene"] < 0.2
    assert min(chance["water"], chance["ethanol"]) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("decision", [he.Maximize(), he.TopK(3), he.KGuesses(2)], ids=repr)
def test_an_action_that_would_fail_is_not_decided(decision: he.Decision, belief: he.Belief, success: Success) -> None:
    free = he.entropy(decision, belief, SQUARE)
    kept = he.entropy(decision, belief, SQUARE, success=success)
    assert float(success.chance(free.action).min()) < 0.5  # without failures, the right edge
    assert bool((success.chance(kept.action) >= success.at_least).all())
    assert kept.value > free.value
    if isinstance(decision, he.Maximize):  # no design has a lower expected loss, what a failure costs included
        fresh = SQUARE.sample(4096, 1)
        assert kept.value <= float(priced(belief, success, fresh).min()) + 1e-6
        assert kept.value == pytest.approx(float(priced(belief, success, kept.action)), rel=1e-6)
    cautious = fit_success(RUN, SUCCEEDED, space=SQUARE, at_least=0.9)
    assert bool((cautious.chance(he.entropy(decision, belief, SQUARE, success=cautious).action) >= 0.9).all())


def test_listed_actions_and_pools_are_filtered(belief: he.Belief, success: Success) -> None:
    rows = SQUARE.sample(60, 11)
    pool = he.Pool(rows, names=["x", "y"])
    on_pool = he.fit(RUN[SUCCEEDED], rising(RUN[SUCCEEDED]), space=SQUARE, hyperparameters="map")
    passing = rows[success.passes(rows)]
    value = he.entropy(he.Maximize(), on_pool, pool, success=success)
    assert bool(success.passes(value.action))
    chance, mean = success.chance(passing), on_pool.moments(passing, he.Needs.MEAN).mean[0]
    fallback = -restricted(he.Maximize().within(pool), on_pool, pool, success)[0].fallback  # type: ignore[attr-defined]
    best = (chance * mean + (1.0 - chance) * fallback).argmax()
    assert value.action[0].tolist() == passing[best].tolist()
    pairs = rows.reshape(30, 2, 2)
    either = he.decision(lambda f, a: -f.sum(-1), actions=he.Listed(pairs))
    chosen = he.entropy(either, belief, SQUARE, success=success).action
    assert bool((success.chance(chosen) >= 0.5).all())
    assert float(success.chance(he.entropy(either, belief, SQUARE).action).min()) < 0.5


def test_where_all_would_fail_the_likeliest_is_decided(belief: he.Belief) -> None:
    success = fit_success(RUN, RUN[:, 0] < 0.05, space=SQUARE, at_least=0.9)
    for decision in (he.Maximize(), he.TopK(2)):
        action = he.entropy(decision, belief, SQUARE, success=success).action
        spread = success.chance(SQUARE.sample(512, 0))
        assert float(success.chance(action).min()) >= float(spread.quantile(0.99))


def news_of(belief: he.Belief, success: Success) -> SuccessNews:
    may_fail, decide_on = restricted(he.Maximize(), belief, SQUARE, success)
    found = SuccessNews.prepare(may_fail, belief, SQUARE, prepare_search(may_fail, belief, decide_on), RUN[:0])
    assert found is not None
    return found


def test_gains_count_by_the_chance_of_success(belief: he.Belief, success: Success) -> None:
    x = torch.tensor([[0.1, 0.9], [0.6, 0.1], [0.95, 0.5]]).double()
    effort = Effort(replicates=2, outcomes=8)
    may_fail, decide_on = restricted(he.Maximize(), belief, SQUARE, success)
    given = he.gain(may_fail, belief, x, SQUARE, decide_on=decide_on, effort=effort)
    whole = he.gain(he.Maximize(), belief, x, SQUARE, success=success, effort=effort)
    counted = success.chance(x) * given.value + news_of(belief, success).saves(x.unsqueeze(1))
    assert whole.value == pytest.approx(counted, rel=1e-6, abs=1e-9)


def test_news_saves_no_more_than_the_best_of_all_actions(belief: he.Belief, success: Success) -> None:
    """By brute force: after the news, the best of a grid of actions with the chances that they then have."""
    found = news_of(belief, success)
    grid = torch.cartesian_prod(torch.linspace(0.4, 0.8, 41).double(), torch.linspace(0.1, 0.8, 15).double())
    x = torch.tensor([[0.6, 0.45], [0.66, 0.2], [0.2, 0.2], [0.9, 0.5]]).double()
    today = found.known[0]
    actions = torch.cat([today, grid])
    chance, _, then = success.watching(actions).after(x)
    mean, fallback = belief.moments(actions, he.Needs.MEAN).mean[0], found.decision.fallback
    value = fallback + then * (-mean - fallback)  # 2 x 4 x actions
    least = torch.where(then >= success.at_least, value, torch.inf).amin(-1).minimum(value[..., 0])
    saved = value[..., 0] - least
    truth = chance * saved[0] + (1.0 - chance) * saved[1]
    each = found.saves(x.unsqueeze(1))
    assert bool((each >= 0.0).all())
    assert bool((each <= truth + 0.1 * truth.max()).all())
    assert float(each[0]) > 0.5 * float(truth.max())
    pairs = found.saves(x.view(2, 2, 2))
    assert pairs == pytest.approx(
        each[::2] + torch.cat([found.once_ended(x[i : i + 1]).saves(x[i + 1].view(1, 1, 2)) for i in (0, 2)])
    )
    assert float(found.saves(x[:1].expand(1, 2, 2))) < 1.7 * float(each[0])  # the same news twice is less


def test_what_failures_teach_lies_where_experiments_begin_to_fail(belief: he.Belief, success: Success) -> None:
    places = torch.cartesian_prod(torch.linspace(0, 1, 11).double(), torch.linspace(0, 1, 5).double())
    each = news_of(belief, success).saves(places.unsqueeze(1))
    assert 0.5 <= float(places[each.argmax(), 0]) <= 0.8
    assert float(each.max()) > 10.0 * float(each[places[:, 0] < 0.25].max())


@pytest.mark.slow
def test_proposals_avoid_what_would_fail(belief: he.Belief, success: Success) -> None:
    """What a failure would teach is worth most where it is not likely."""
    proposal = he.propose(he.Maximize(), belief, SQUARE, success=success)
    heedless = he.propose(he.Maximize(), belief, SQUARE)
    assert float(success.chance(proposal.x)) > 0.3 > float(success.chance(heedless.x))
    assert float(success.chance(proposal.action)) >= 0.5
    batch = he.propose(he.Maximize(), belief, SQUARE, q=2, success=success)
    assert float(success.chance(batch.x).min()) > 0.3
