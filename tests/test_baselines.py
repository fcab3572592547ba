"""Baselines: each chooses what its definition says, compared with slow and obvious formulas; BoTorch's own models."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
import torch
from botorch.acquisition import LogExpectedImprovement, qKnowledgeGradient
from botorch.models import SingleTaskGP
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch_community.acquisition.hentropy_search import qHEntropySearch, qLossFunctionTopK
from gpytorch.kernels import MaternKernel, ScaleKernel
from scipy import integrate, stats
from torch import Tensor

import hentropy as he
from hentropy.bench import baselines
from hentropy.bench.baselines.classic import incumbent, mirrored, passing
from hentropy.bench.baselines.level_set_rules import feasibility, misclassification, straddle
from hentropy.bench.baselines.maximise import believed
from hentropy.bench.baselines.paper_one_shot import DecisionLoss, MembershipLoss
from hentropy.bench.baselines.space_filling import variance
from hentropy.bench.baselines.with_botorch import AverageSampler, BeliefModel, MeanSampler, model_in_unit_cube
from hentropy.core.acquisition import as_botorch
from hentropy.core.beliefs import Belief, Gaussian, Needs, Nodes
from hentropy.core.beliefs.kernels import Stationary
from hentropy.core.gain import Appraisal, Effort
from hentropy.core.solvers import Solver
from hentropy.studies.testing import check_belief
from support.tiers import nightly
from support.waiting import PATIENCE

BOX = he.Space.box([-3.0, 100.0], [-2.0, 180.0])
MIXED = he.Space(rate=he.Real(1e-4, 1e2, log=True), count=he.Integer(3, 12))


def truth(u: Tensor) -> Tensor:
    return 4.0 + 3.0 * torch.sin(5.0 * u[..., 0]) * torch.cos(3.0 * u[..., 1])


@cache
def fitted_once(space: he.Space, n: int, noise: object, kind: str, **options: object) -> Gaussian:
    X = space.sample(n, seed=3)
    return he.fit(X, truth(space.to_unit(X)), space=space, noise=noise, hyperparameters=kind, **options)  # type: ignore[call-overload]


def fitted(space: he.Space = BOX, n: int = 9, noise: object = None, kind: str = "map", **options: object) -> Gaussian:
    """A belief of which nothing is found yet."""
    return replace(fitted_once(space, n, noise, kind, **options))


LEVELS = he.LevelSets([3.0, 5.0], at=BOX.sample(40, seed=8))


class TestAsBotorch:
    """The BoTorch model of a belief is the belief."""

    NOISES = (None, 0.0, 0.3, torch.linspace(0.05, 0.4, 9, dtype=torch.float64))

    @pytest.mark.covering
    @pytest.mark.parametrize("space", [BOX, MIXED, None], ids=["box", "log and integer", "no space"])
    @pytest.mark.parametrize("noise", NOISES, ids=["fitted", "none", "one", "each"])
    @pytest.mark.parametrize("profile", ["matern52", "squared_exponential"])
    def test_posteriors_agree(self, space: he.Space | None, noise: object, profile: str) -> None:
        X = (space or BOX).sample(9, seed=3)
        Y = truth((space or BOX).to_unit(X))
        belief = he.fit(X, Y, space=space, noise=noise, profile=profile, hyperparameters="map")
        model = as_botorch(belief)
        points = (space or BOX).sample(30, seed=1)
        known, posterior = belief.moments(points, Needs.JOINT), model.posterior(points)
        scale = float(known.variance.max())
        assert torch.allclose(posterior.mean.squeeze(-1), known.mean[0], rtol=0, atol=1e-7 * math.sqrt(scale))
        assert torch.allclose(posterior.distribution.covariance_matrix, known.covariance[0], rtol=0, atol=1e-7 * scale)
        noisy = model.posterior(points, observation_noise=True).variance - posterior.variance
        assert torch.allclose(noisy, torch.full_like(noisy, belief.noise_std**2), rtol=1e-5)
        _, spread = model.outcome_transform.untransform(noisy, torch.ones_like(noisy))
        assert torch.allclose(spread, belief.frame.scale.square())

    @pytest.mark.parametrize("noise", NOISES, ids=["fitted", "none", "one", "each"])
    def test_fantasies_agree(self, noise: object) -> None:
        """Also the noise of an observation to come: it decides how far an outcome moves the means."""
        belief = fitted(noise=noise)
        x, points = BOX.sample(5, seed=1).unsqueeze(1), BOX.sample(8 * 5 * 3, seed=2).reshape(8, 5, 3, 2)
        sampler = SobolQMCNormalSampler(torch.Size([8]), seed=1)
        posterior = as_botorch(belief).fantasize(x, sampler).posterior(points)
        weights = torch.full((8,), 1 / 8, dtype=torch.float64)
        nodes = Nodes(sampler.base_samples.reshape(8, 1), weights, weights)
        known = belief.look_ahead(x).fantasy(nodes).moments(points.transpose(0, 1), Needs.JOINT)
        assert torch.allclose(posterior.mean.squeeze(-1), known.mean[0].transpose(0, 1), rtol=0, atol=1e-6)
        cov = known.covariance[0].transpose(0, 1)
        assert torch.allclose(posterior.distribution.covariance_matrix, cov, rtol=0, atol=1e-6)

    def test_the_way_back(self) -> None:
        belief = fitted()
        again = he.from_botorch(as_botorch(belief))
        assert isinstance(again, Gaussian)
        points = BOX.sample(30, seed=1)
        assert torch.allclose(again.moments(points, Needs.MEAN).mean, belief.moments(points, Needs.MEAN).mean)
        assert again.noise_std == pytest.approx(belief.noise_std)

    def test_a_component_and_a_conditioned_belief_have_one(self) -> None:
        belief = fitted(kind="mixture").component(2).condition(BOX.sample(2, seed=5), torch.tensor([4.0, 5.0]).double())
        points = BOX.sample(30, seed=1)
        known = belief.moments(points, Needs.VARIANCE)
        posterior = as_botorch(belief).posterior(points)
        assert torch.allclose(posterior.mean.squeeze(-1), known.mean[0], atol=1e-6)
        assert torch.allclose(posterior.variance.squeeze(-1), known.variance[0], atol=1e-6)

    def test_what_has_none_is_refused(self) -> None:
        mixture = fitted(kind="mixture")
        with pytest.raises(he.ModelError, match='hyperparameters="map"'):
            as_botorch(mixture)
        belief = fitted()
        with pytest.raises(he.ModelError, match="noise"):
            as_botorch(he.from_botorch(as_botorch(belief), noise_std=1.0))  # type: ignore[arg-type]
        drawn = he.Samples(belief.X, belief.paths(8, 0), torch.full((8,), 1 / 8).double(), 0.1, seed=0)
        with pytest.raises(he.ModelError, match="Samples"):
            as_botorch(drawn)  # type: ignore[arg-type]


class TestPaperOneShot:
    """The published class, with a belief in place of a model, and driven to the end."""

    def acquisitions(self, belief: Gaussian) -> tuple[qHEntropySearch, qHEntropySearch]:
        """As published with a BoTorch model, and with the belief: TopK(3)."""
        common = {"n_fantasy_at_design_pts": 4, "n_fantasy_at_action_pts": 8}

        def samplers() -> dict[str, SobolQMCNormalSampler]:
            return {
                "design_sampler": SobolQMCNormalSampler(torch.Size([4]), seed=1),
                "action_sampler": SobolQMCNormalSampler(torch.Size([8]), seed=2),
            }

        published = qHEntropySearch(
            as_botorch(belief), qLossFunctionTopK, {"dist_weight": 2.0, "dist_threshold": 9.0}, **common, **samplers()
        )
        decision = he.TopK(3, weight=2.0, cap=9.0)
        model = BeliefModel(belief, decision.points, Needs.JOINT)
        return published, qHEntropySearch(model, DecisionLoss, {"decision": decision}, **common, **samplers())

    @pytest.mark.parametrize("q", [1, 2])
    def test_values_are_those_of_the_published_class(self, q: int) -> None:
        published, ours = self.acquisitions(fitted())
        x, a = BOX.sample(6 * q, seed=1).reshape(6, q, 2), BOX.sample(6 * 4 * 3, seed=2).reshape(6, 4, 3, 2)
        assert torch.allclose(ours(x, A=a), published(x, A=a), rtol=1e-7)

    def test_slopes_are_those_of_the_values(self) -> None:
        _, ours = self.acquisitions(fitted())
        unit = torch.rand(5, 1, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
        a = BOX.sample(5 * 4 * 3, seed=2).reshape(5, 4, 3, 2)
        (slope,) = torch.autograd.grad(ours(BOX.from_cube(unit), A=a).sum(), unit)
        with torch.no_grad():
            for j in range(2):
                step = torch.zeros(2, dtype=torch.float64)
                step[j] = 1e-5
                sides = [ours(BOX.from_cube(unit + side * step), A=a) for side in (-1.0, 1.0)]
                assert torch.allclose(slope[:, 0, j], (sides[1] - sides[0]) / 2e-5, rtol=1e-4, atol=1e-5)

    def test_level_sets_see_the_means_after_each_outcome(self) -> None:
        """The best memberships give the entropy after each outcome: their value is the exact gain, up to outcomes."""
        belief, decision = fitted(), LEVELS
        x = BOX.sample(6, seed=1).unsqueeze(1)
        at = decision.settled_points
        acquisition = qHEntropySearch(
            BeliefModel(belief, lambda a: at, Needs.MEAN),
            DecisionLoss,
            {"decision": decision},
            n_fantasy_at_action_pts=None,
            n_fantasy_at_design_pts=512,
            design_sampler=SobolQMCNormalSampler(torch.Size([512]), seed=1),
            action_sampler=MeanSampler(),
        )
        z = acquisition.design_sampler
        with torch.no_grad():
            posterior = acquisition.model.fantasize(x, z).posterior(x)
            levels = torch.tensor(decision.thresholds, dtype=torch.float64)[:, None]
            best = (posterior.mean.squeeze(-1).unsqueeze(-2) > levels).double()  # N x b x T x m
            value = acquisition(x, A=best.transpose(0, 1))
        exact = he.gain(decision, belief, x, BOX)
        gained = value + he.entropy(decision, belief, BOX).value
        assert exact.exact
        assert torch.allclose(gained, exact.value, atol=0.02 * float(exact.value.max()))

    def test_quick_forms_are_the_slow_ones(self) -> None:
        """One average draw for all draws where the loss is affine; sums first for memberships."""
        belief, decision = fitted(), he.TopK(3, weight=2.0, cap=9.0)
        posterior = as_botorch(belief).posterior(MANY[:24].reshape(4, 2, 3, 2))
        all_draws = SobolQMCNormalSampler(torch.Size([8]), seed=2)(posterior).squeeze(-1)
        average = AverageSampler(8, seed=2)(posterior).squeeze(-1)
        loss, A = DecisionLoss(decision), MANY[:24].reshape(4, 2, 3, 2)
        assert torch.allclose(loss(A, average), loss(A, all_draws))
        memberships = torch.rand(4, 2, 2, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        values = torch.rand(1, 4, 2, 40, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        levels = he.LevelSets([0.1, 0.7], at=MANY[:40])
        quick, slow = (loss(levels)(memberships, values) for loss in (MembershipLoss, DecisionLoss))
        assert torch.allclose(quick, slow, rtol=1e-12)

    @pytest.mark.covering
    @pytest.mark.parametrize(
        "decision",
        [he.TopK(2, weight=1.0, cap=9.0), he.Sequence([3.0, 5.0], link=0.01), he.MinMax(), LEVELS],
        ids=["top k", "sequence", "min max", "levels"],
    )
    @pytest.mark.parametrize("space", [BOX, MIXED], ids=["box", "mixed"])
    def test_designs_lie_in_the_space(self, decision: he.Decision, space: he.Space) -> None:
        decision = he.LevelSets([3.0, 5.0]) if space is MIXED and decision is LEVELS else decision
        solver = baselines.PaperOneShot(restarts=3, steps=4, outcomes=3, samples=2)
        for q in (1, 2):
            found = he.propose(decision, fitted(space), space, q=q, solver=solver, pending=space.sample(1, seed=1))
            assert found.x.shape == (q, 2)
            space.check(found.x)

    def test_it_stays_in_the_space_on_the_way(self) -> None:
        """Outside, a Gaussian process knows nothing, and there would seem to be much to learn."""
        reached = [torch.tensor(0.5)]

        class Watched(he.Space):
            def from_cube(self, u: Tensor) -> Tensor:
                reached.extend([u.detach().min(), u.detach().max()])
                return super().from_cube(u)

        space = Watched(**BOX.parameters)
        solver = baselines.PaperOneShot(restarts=8, steps=15, outcomes=4, samples=2)
        solver.search(Appraisal.prepare(he.TopK(2), fitted(), space), 1, None)
        assert float(min(reached)) == 0.0  # it has come to the edge
        assert float(max(reached)) == 1.0

    @pytest.mark.parametrize("decision", [he.TopK(2, weight=1.0, cap=9.0), nightly(LEVELS)], ids=["top k", "levels"])
    def test_it_finds_much_of_the_gain(self, decision: he.Decision) -> None:
        belief = fitted()
        solver = baselines.PaperOneShot(restarts=24, steps=60, outcomes=8, samples=4)
        found = he.propose(decision, belief, BOX, solver=solver)
        best = he.propose(decision, belief, BOX)
        average = he.gain(decision, belief, BOX.sample(64, seed=5), BOX).value.mean()
        assert found.gain > 0.6 * best.gain > 1.2 * float(average)

    def test_restarts_in_parts_change_nothing(self) -> None:
        solver = baselines.PaperOneShot(restarts=40, steps=5, outcomes=16, samples=2)
        decision = he.LevelSets([3.0, 5.0])  # 512 points: a part of the restarts at a time under 16 MiB
        whole, parts = (he.propose(decision, fitted(), BOX, solver=solver, max_memory=m) for m in (2**33, 2**24))
        assert torch.allclose(whole.x, parts.x, rtol=0, atol=1e-6)

    def test_actions_may_meet_in_a_corner(self) -> None:
        """Their values are then one value three times, of which no plain Cholesky factor exists."""
        X = BOX.sample(9, seed=3)
        belief = he.fit(X, BOX.to_unit(X).sum(-1), space=BOX, hyperparameters="map")
        solver = baselines.PaperOneShot(restarts=2, steps=40, outcomes=2, samples=2)
        prepared = Appraisal.prepare(he.TopK(3, weight=0.0), belief, BOX)
        found = solver.search(prepared, 1, None)
        assert found.actions is not None
        assert torch.equal(found.actions, BOX.bounds[1].expand(1, 2, 3, 2))
        assert bool(torch.isfinite(found.x).all())

    def test_the_published_model_is_an_option(self) -> None:
        """Without a step the two models choose the same restart; with steps they go different ways."""
        decision, belief = he.TopK(2, weight=1.0, cap=9.0), fitted()
        for steps, same in ((0, True), (5, False)):
            ours = baselines.PaperOneShot(restarts=6, steps=steps, outcomes=4, samples=4)
            theirs = replace(ours, model="botorch")
            both = [he.propose(decision, belief, BOX, solver=solver).x for solver in (ours, theirs)]
            assert torch.equal(*both) == same
        with pytest.raises(he.InputError, match="LevelSets"):
            he.propose(LEVELS, belief, BOX, solver=theirs)
        with pytest.raises(he.InputError, match="gpflow"):
            baselines.PaperOneShot(model="gpflow")  # type: ignore[arg-type]

    def test_time_is_kept(self) -> None:
        solver = baselines.PaperOneShot(steps=10**6)
        found = he.propose(LEVELS, fitted(), BOX, solver=solver, max_seconds=0.2)
        assert not found.complete
        assert found.seconds < PATIENCE
        BOX.check(found.x)

    def test_what_it_cannot_do_is_refused(self) -> None:
        solver = baselines.PaperOneShot(restarts=2, steps=1)
        with pytest.raises(he.ModelError, match="hyperparameters='map'"):
            he.propose(he.TopK(2), fitted(kind="mixture"), BOX, solver=solver)
        with pytest.raises(he.InputError, match="Points"):
            he.propose(he.LevelSets([4.0], relation="misclassification"), fitted(), BOX, solver=solver)
        with pytest.raises(he.InputError, match="Points"):
            he.propose(he.Estimate(BOX.sample(3, 0)), fitted(), BOX, solver=solver)
        with pytest.raises(he.InputError, match="is a list"):
            he.propose(he.TopK(2), fitted(), he.Pool(BOX.sample(8, 0)), solver=solver)
        with pytest.raises(he.InputError, match="costs"):
            he.propose(he.TopK(2), fitted(), BOX, solver=solver, cost=lambda x: torch.ones(x.shape[0]))


THRESHOLDS = (3.0, 5.0)
MANY = BOX.sample(4000, seed=77)
RULES: dict[str, tuple[Solver, Callable[[Belief, Tensor], Tensor]]] = {
    "uncertainty": (baselines.UncertaintySampling(), variance),
    "straddle": (baselines.Straddle(), lambda belief, x: straddle(belief, x, THRESHOLDS, 1.96)),
    "feasibility": (baselines.ExpectedFeasibility(), lambda belief, x: feasibility(belief, x, THRESHOLDS, 2.0)),
    "improvement": (baselines.ProbabilityOfImprovement(), lambda belief, x: passing(belief, x, True)),
    "improvement below": (baselines.ProbabilityOfImprovement(False), lambda belief, x: passing(belief, x, False)),
}


class TestPointwise:
    """Rules that judge one design at a time."""

    @pytest.mark.covering
    @pytest.mark.parametrize("kind", ["map", "mixture"])
    @pytest.mark.parametrize("name", RULES)
    def test_no_random_design_is_better(self, name: str, kind: str) -> None:
        solver, rule = RULES[name]
        belief = fitted(kind=kind, noise=0.1)
        chosen = he.propose(LEVELS, belief, BOX, solver=solver).x
        values = rule(belief, MANY)
        assert float(rule(belief, chosen)) >= float(values.max()) - 1e-6 * float(values.std())

    @pytest.mark.parametrize("kind", ["map", "mixture"])
    def test_rules_are_what_they_are_called(self, kind: str) -> None:
        """By hand: mixtures of normal distributions, tails by scipy, the band by numerical integration."""
        belief, x = fitted(kind=kind, noise=0.3), MANY[:6]
        moments = belief.moments(x, Needs.VARIANCE)
        weights = belief.weights.numpy()
        feasible, wrong = feasibility(belief, x, THRESHOLDS, 2.0), misclassification(belief, x, THRESHOLDS)
        near, spread = straddle(belief, x, THRESHOLDS, 1.96), variance(belief, x)
        above, below = (passing(belief, x, largest) for largest in (True, False))
        so_far = [weights @ row for row in belief.moments(belief.X, Needs.MEAN).mean.T.numpy()]
        for i in range(len(x)):
            mu, sd = moments.mean[:, i].numpy(), moments.variance[:, i].sqrt().numpy()
            mean = weights @ mu
            total = weights @ (sd**2 + mu**2) - mean**2
            assert float(spread[i]) == pytest.approx(total)
            gap = min(abs(mean - c) for c in THRESHOLDS)
            assert float(near[i]) == pytest.approx(1.96 * total**0.5 - gap)
            over = [weights @ stats.norm.sf(c, mu, sd) for c in THRESHOLDS]
            assert float(wrong[i]) == pytest.approx(sum(min(p, 1 - p) for p in over))
            assert float(above[i]) == pytest.approx(weights @ stats.norm.sf(max(so_far), mu, sd))
            assert float(below[i]) == pytest.approx(weights @ stats.norm.cdf(min(so_far), mu, sd))
            e = 2.0 * total**0.5

            def banded(f: float, c: float, e: float = e, mu: object = mu, sd: object = sd) -> float:
                return (e - abs(f - c)) * float(weights @ stats.norm.pdf(f, mu, sd))

            expected = sum(
                integrate.quad(banded, c - e, c + e, (c,), points=[c], epsabs=1e-12, limit=200)[0] for c in THRESHOLDS
            )
            assert float(feasible[i]) == pytest.approx(expected, rel=1e-6, abs=1e-9)

    @pytest.mark.parametrize("kind", ["map", "mixture"])
    def test_misclassification_asks_the_least_certain_point(self, kind: str) -> None:
        belief = fitted(kind=kind)
        chosen = he.propose(LEVELS, belief, BOX, solver=baselines.Misclassification()).x
        values = misclassification(belief, LEVELS.settled_points, THRESHOLDS)
        assert torch.equal(chosen[0], LEVELS.settled_points[values.argmax()])

    def test_a_far_threshold_does_not_drown_in_rounding(self) -> None:
        """Not even where a label is as good as sure; 12 standard deviations away the tail is 1.8e-33."""
        belief, x = fitted(noise=0.3), MANY[:1]
        known = belief.moments(x, Needs.VARIANCE)
        mean, sd = float(known.mean), float(known.variance.sqrt())
        nearness = []
        for threshold in (mean - 12.0 * sd, mean + 12.0 * sd):
            wrong = float(misclassification(belief, x, (threshold,)))
            assert wrong == pytest.approx(stats.norm.sf(12.0), rel=1e-6, abs=0.0)
            nearness.append(float(feasibility(belief, x, (threshold,), 2.0)))
        assert 0.0 < nearness[0] == pytest.approx(nearness[1], rel=1e-6, abs=0.0)

    def test_on_a_list_all_rows_are_tried_and_known_ones_left_out(self) -> None:
        belief = fitted(noise=0.0)
        pool = he.Pool(torch.cat([belief.X, MANY[:30]]))
        for name, (solver, rule) in RULES.items():
            chosen = he.propose(LEVELS, belief, pool, solver=solver).x
            assert float(rule(belief, chosen)) == pytest.approx(float(rule(belief, MANY[:30]).max())), name
        one_left = he.Pool(torch.cat([belief.X, MANY[:1]]))
        for solver, _ in RULES.values():
            assert torch.equal(he.propose(LEVELS, belief, one_left, solver=solver).x, MANY[:1])

    def test_pending_designs_are_not_asked_again(self) -> None:
        space = he.Space(i=he.Integer(0, 2), j=he.Integer(0, 1))
        rows = torch.cartesian_prod(torch.arange(3.0), torch.arange(2.0)).double()
        belief = he.fit(rows[:2], torch.tensor([3.0, 5.0]).double(), space=space, noise=0.0, hyperparameters="map")
        for solver, _ in RULES.values():
            found = he.propose(he.LevelSets([4.0]), belief, space, q=3, pending=rows[2:3], solver=solver).x
            assert {tuple(row) for row in found.tolist()} == {tuple(row) for row in rows[3:].tolist()}, solver

    def test_pending_designs_count_as_observed(self) -> None:
        """The second of two is where the variance is greatest once the first is known, whatever its value."""
        belief = fitted()
        x = he.propose(LEVELS, belief, BOX, q=2, solver=baselines.UncertaintySampling()).x
        after = belief.condition(x[:1], torch.tensor([17.0]).double())
        values = variance(after, MANY)
        assert float(variance(after, x[1:])) >= float(values.max()) - 1e-6 * float(values.std())
        again = he.propose(LEVELS, belief, BOX, pending=x[:1], solver=baselines.UncertaintySampling()).x
        assert torch.allclose(again, x[1:], atol=1e-3)

    def test_what_costs_more_is_worth_less(self) -> None:
        """Also where values are negative: the threshold is far from everything."""
        belief, middle = fitted(), float(BOX.bounds[:, 1].mean())

        def cost(x: Tensor) -> Tensor:
            return 1.0 + 99.0 * (x[..., 1] > middle).to(x).sum(-1)

        for solver in (baselines.UncertaintySampling(), baselines.Straddle()):
            found = he.propose(he.LevelSets([20.0]), belief, BOX, solver=solver, cost=cost)
            assert float(found.x[0, 1]) <= middle

    def test_level_sets_are_asked_for(self) -> None:
        for solver in (baselines.Straddle(), baselines.ExpectedFeasibility(), baselines.Misclassification()):
            with pytest.raises(he.InputError, match=f"{type(solver).__name__} .*LevelSets"):
                he.propose(he.Maximize(), fitted(), BOX, solver=solver)

    def test_believing_moves_no_mean(self) -> None:
        belief = fitted()
        after = believed(belief, MANY[:3])
        known, then = (b.moments(MANY[:50], Needs.VARIANCE) for b in (belief, after))
        assert torch.allclose(then.mean, known.mean, atol=1e-8)
        assert bool((then.variance <= known.variance + 1e-12).all())
        assert believed(belief, MANY[:0]) is belief


class TestRandomSearch:
    def test_designs_are_uniform(self) -> None:
        """400 seeds; Kolmogorov-Smirnov on each axis and a chi square of the integers, false alarms once in 1e6."""
        belief = fitted(MIXED)
        prepared = Appraisal.prepare(he.Maximize(), belief, MIXED)
        solver = baselines.RandomSearch()
        rows = torch.cat([solver.search(replace(prepared, seed=1000 * s), 1, None).x[0] for s in range(400)])
        MIXED.check(rows)
        assert stats.kstest(MIXED.to_unit(rows)[:, 0].numpy(), "uniform").pvalue > 3e-7
        counts = torch.bincount(rows[:, 1].long() - 3, minlength=10).numpy()
        assert stats.chisquare(counts).pvalue > 3e-7
        assert abs(stats.spearmanr(rows[:-1, 0], rows[1:, 0]).statistic) < 0.26  # five standard errors

    def test_rows_not_seen_come_first_and_pending_ones_last(self) -> None:
        belief = fitted()
        rows = torch.cat([belief.X, MANY[:6]])
        pool, solver = he.Pool(rows), baselines.RandomSearch()
        found = [
            he.propose(LEVELS, belief, pool, q=5, pending=MANY[5:6], solver=solver, seed=seed).x for seed in range(8)
        ]
        assert all({tuple(r) for r in x.tolist()} == {tuple(r) for r in MANY[:5].tolist()} for x in found)
        assert len({tuple(x[0].tolist()) for x in found}) > 1
        last = he.propose(LEVELS, belief, he.Pool(belief.X), pending=belief.X[1:], solver=solver).x
        assert torch.equal(last, belief.X[:1])


class TestByGain:
    """This project's gains for other decisions than the user's."""

    def best_of_many(self, decision: he.Decision, belief: Belief, chosen: Tensor, effort: Effort) -> tuple[float, ...]:
        """The gain of the chosen design, the best of many random ones (screened, then audited alike), and an error."""
        prepared = Appraisal.prepare(decision, belief, BOX)
        many = MANY if prepared.formula is None or prepared.formula.exact else MANY[:250]  # drawn maxima take long
        screened = prepared.screen(many.unsqueeze(1), prepared.nodes(32, 1))
        rivals = many[screened.argsort(descending=True)[:8]]
        found = he.gain(decision, belief, torch.cat([chosen, rivals]), BOX, effort=effort, seed=3)
        return float(found.value[0]), float(found.value[1:].max()), float(found.std_error.max())

    @pytest.mark.covering
    @pytest.mark.parametrize("largest", [True, False])
    @pytest.mark.parametrize(
        ("rule", "kind"),
        [("kg", "map"), ("kg", "mixture"), ("ei", "map"), ("ei", "mixture"), ("mes", "map"), ("mes", "mixture")],
    )
    def test_no_random_design_is_better(self, rule: str, kind: str, largest: bool) -> None:
        solver, decision = {
            "kg": (baselines.KnowledgeGradient(largest), he.Maximize() if largest else he.Minimize()),
            "ei": (baselines.ExpectedImprovement(largest), he.BestObserved(largest)),
            "mes": (baselines.MaxValueEntropySearch(largest), he.Identify("max")),
        }[rule]
        belief = fitted(kind=kind, noise=0.1)
        chosen = he.propose(LEVELS, belief, BOX, solver=solver).x
        judged = mirrored(belief) if rule == "mes" and not largest else belief
        mine, best, error = self.best_of_many(decision, judged, chosen, Effort(replicates=4, outcomes=32, steps=10))
        # a search with few outcomes mistakes designs that are nearly as good
        assert mine >= (0.95 if kind == "map" else 0.9) * best - 3.0 * error
        assert mine > 0

    def test_a_mirrored_belief_is_about_minus_f(self) -> None:
        belief = fitted(kind="mixture", noise=0.2)
        other = mirrored(belief)
        known, turned = (b.moments(MANY[:20], Needs.JOINT) for b in (belief, other))
        assert torch.allclose(turned.mean, -known.mean)
        assert torch.equal(turned.covariance, known.covariance)
        assert other.noise_std == belief.noise_std
        check_belief(other, BOX)
        with pytest.raises(he.ModelError, match="upside down"):
            mirrored(he.Samples(belief.X, belief.paths(8, 0), torch.full((8,), 1 / 8).double(), 0.1, seed=0))

    def test_on_a_list_observed_designs_can_still_be_chosen_in_the_end(self) -> None:
        """A study leaves known rows out of the queries; the knowledge gradient must count them as actions.

        The best row is known, and so good that only an uncertain one can pass it.
        """
        rows = torch.linspace(0.0, 1.0, 21, dtype=torch.float64)[:, None]
        values = 3.0 * torch.exp(-60.0 * (rows[:, 0] - 0.2).square()) + torch.sin(9.0 * rows[:, 0])
        asked = []
        for decision, solver in ((he.Maximize(), None), (he.TopK(2), baselines.KnowledgeGradient())):
            study = he.Study(he.Pool(rows), decision, solver=solver, hyperparameters="map", first=1)
            for i in (0, 1, 2, 3, 4, 5, 6, 7, 17, 20):
                study.attach(study.space.decode(rows[i]), (float(values[i]), 0.0))
            asked.append(study.ask().params)
        assert asked[0] == asked[1]


class TestBotorch:
    """BoTorch's own acquisition functions on the model of a belief."""

    def by_hand(self, belief: Gaussian) -> SingleTaskGP:
        """An equivalent model in the belief's frame, without transforms."""
        model = SingleTaskGP(
            belief.inputs,
            (belief.residual + belief.prior_mean(belief.inputs)).mT,
            belief.noise.mT,
            covar_module=ScaleKernel(MaternKernel(2.5, ard_num_dims=2)),
            outcome_transform=None,
        )
        assert isinstance(belief.kernel, Stationary)
        model.covar_module.base_kernel.lengthscale = belief.kernel.lengthscale
        model.covar_module.outputscale = belief.kernel.outputscale[0]
        model.mean_module.constant = float(belief.prior_mean(belief.inputs)[0, 0])
        return model.eval()

    @pytest.mark.parametrize("space", [BOX, MIXED], ids=["box", "log and integer"])
    @pytest.mark.parametrize("own", [True, False], ids=["its frame", "another frame"])
    def test_acquisitions_are_those_of_an_equivalent_model(self, space: he.Space, own: bool) -> None:
        X = space.sample(9, seed=3)
        belief = he.fit(X, truth(space.to_unit(X)), space=space if own else None, noise=0.3, hyperparameters="map")
        plain, frame = self.by_hand(belief), belief.frame
        x = space.sample(20, seed=1).unsqueeze(1)
        u, inputs = space.to_unit(x), frame.transform(x)
        models = (as_botorch(belief), x), (model_in_unit_cube(belief, space), u)
        best = incumbent(belief, True)
        by_frame = LogExpectedImprovement(plain, (best - frame.shift) / frame.scale)(inputs) + frame.scale.log()
        for model, points in models:
            assert torch.allclose(LogExpectedImprovement(model, best)(points), by_frame, atol=1e-6)

        def gradient(model: SingleTaskGP, points: Tensor) -> Tensor:
            sampler = SobolQMCNormalSampler(torch.Size([4]), seed=1)
            return qKnowledgeGradient(model, num_fantasies=4, sampler=sampler)(points.reshape(4, 5, 2))

        by_frame = frame.shift + frame.scale * gradient(plain, inputs)
        for model, points in models:
            assert torch.allclose(gradient(model, points), by_frame, atol=1e-6)

    @pytest.mark.parametrize("largest", [True, False])
    @pytest.mark.parametrize("noise", [0.0, 0.3])
    def test_log_ei_is_expected_improvement(self, noise: float, largest: bool) -> None:
        """Its value at the choices of both: without noise the two rules are one, with it they differ a little."""
        belief = fitted(noise=noise)
        both = [
            he.propose(LEVELS, belief, BOX, solver=solver).x
            for solver in (baselines.BotorchLogEI(largest), baselines.ExpectedImprovement(largest))
        ]
        model = as_botorch(belief)
        rule = LogExpectedImprovement(model, incumbent(belief, largest), maximize=largest)
        theirs, ours = (float(rule(x.unsqueeze(0)).exp()) for x in both)
        assert theirs >= float(rule(MANY.unsqueeze(1)).max().exp()) * (1 - 1e-6)
        if noise == 0.0:
            assert ours >= 0.99 * theirs
        gains = he.gain(he.BestObserved(largest), belief, torch.cat(both), BOX).value
        assert float(gains[0]) >= (0.99 if noise == 0.0 else 0.9) * float(gains[1])

    def test_log_ei_on_a_list(self) -> None:
        belief = fitted()
        rows = MANY[:50]
        found = he.propose(LEVELS, belief, he.Pool(rows), solver=baselines.BotorchLogEI()).x
        values = LogExpectedImprovement(as_botorch(belief), incumbent(belief, True))(rows.unsqueeze(1))
        assert torch.equal(found[0], rows[values.argmax()])
        noisy = fitted(noise=2.0)  # one more observation changes little: the same row would be the best again
        first, second = he.propose(LEVELS, noisy, he.Pool(rows), q=2, solver=baselines.BotorchLogEI()).x
        assert not torch.equal(first, second)

    LINE = he.Space(x=he.Real(-1.0, 3.0))

    def line(self) -> Gaussian:
        """A rough function of one parameter: small enough for a search with few fantasies and restarts."""
        X = self.LINE.sample(6, seed=1)
        return he.fit(X, torch.sin(4.0 * X[:, 0]) + X[:, 0], space=self.LINE, hyperparameters="map")

    @pytest.mark.parametrize("largest", [True, False])
    def test_kg_finds_the_gain_that_we_find(self, largest: bool) -> None:
        belief, decision = self.line(), he.Maximize() if largest else he.Minimize()
        solver = baselines.BotorchKG(largest, fantasies=16, restarts=4, raw_samples=64)
        theirs = he.propose(decision, belief, self.LINE, solver=solver).x
        ours = he.propose(decision, belief, self.LINE, solver=baselines.KnowledgeGradient(largest)).x
        gains = he.gain(decision, belief, torch.cat([theirs, ours]), self.LINE)
        assert 0.9 < float(gains.value[0] / gains.value[1]) < 1.1

    def test_kg_knows_what_is_pending(self) -> None:
        belief, solver = self.line(), baselines.BotorchKG(fantasies=8, restarts=2, raw_samples=32)
        first = he.propose(he.Maximize(), belief, self.LINE, solver=solver)
        second = he.propose(he.Maximize(), belief, self.LINE, solver=solver, pending=first.x)
        again = he.gain(he.Maximize(), belief, first.x, self.LINE, pending=first.x)
        assert second.gain > 2.0 * float(again.value) + 4.0 * float(again.std_error)
        assert he.propose(he.Maximize(), belief, self.LINE, q=2, solver=solver).x.shape == (2, 1)

    @pytest.mark.parametrize("solver", [baselines.BotorchLogEI(), baselines.BotorchKG()], ids=["log ei", "kg"])
    def test_what_they_cannot_do_is_refused(self, solver: Solver) -> None:
        name = type(solver).__name__
        with pytest.raises(he.ModelError, match=f"{name} .*hyperparameters='map'"):
            he.propose(LEVELS, fitted(kind="mixture"), BOX, solver=solver)
        with pytest.raises(he.InputError, match=f"{name} does not support costs"):
            he.propose(LEVELS, fitted(), BOX, solver=solver, cost=lambda x: torch.ones(x.shape[0]))
        if isinstance(solver, baselines.BotorchKG):
            with pytest.raises(he.InputError, match="is a list"):
                he.propose(LEVELS, fitted(), he.Pool(MANY[:9]), solver=solver)


@dataclass(frozen=True)
class Row:
    """A baseline as small as it goes, and whether it also chooses from a list."""

    solver: Solver
    lists: bool = True


ROWS = {
    "BotorchKG": Row(baselines.BotorchKG(fantasies=2, restarts=1, raw_samples=4), lists=False),
    "BotorchLogEI": Row(baselines.BotorchLogEI(restarts=2, raw_samples=16)),
    "BotorchMixed": Row(baselines.BotorchMixed(restarts=2, raw_samples=16)),
    "ExpectedFeasibility": Row(baselines.ExpectedFeasibility()),
    "ExpectedImprovement": Row(baselines.ExpectedImprovement()),
    "KnowledgeGradient": Row(baselines.KnowledgeGradient()),
    "MaxValueEntropySearch": Row(baselines.MaxValueEntropySearch()),
    "Misclassification": Row(baselines.Misclassification()),
    "PaperOneShot": Row(baselines.PaperOneShot(restarts=3, steps=3, outcomes=2, samples=2), lists=False),
    "ProbabilityOfImprovement": Row(baselines.ProbabilityOfImprovement()),
    "RandomSearch": Row(baselines.RandomSearch()),
    "Straddle": Row(baselines.Straddle()),
    "UncertaintySampling": Row(baselines.UncertaintySampling()),
}


class TestAll:
    """What every baseline does."""

    def test_the_table_is_complete(self) -> None:
        assert sorted(ROWS) == baselines.__all__

    @pytest.mark.parametrize("name", ROWS)
    def test_a_choice_is_a_function_of_its_arguments(self, name: str) -> None:
        solver = ROWS[name].solver
        belief = fitted(MIXED)
        prepared = Appraisal.prepare(he.LevelSets([4.0]), belief, MIXED, seed=5)
        before = torch.get_rng_state()
        first = solver.search(prepared, 1, None)
        assert torch.equal(before, torch.get_rng_state())
        torch.rand(3)
        again = solver.search(prepared, 1, None)
        assert torch.equal(first.x, again.x)
        assert first.x.shape == (1, 1, 2)
        assert first.complete
        MIXED.check(first.x)

    @pytest.mark.covering
    @pytest.mark.parametrize("space", [BOX, MIXED, he.Pool(BOX.sample(14, seed=2))], ids=["box", "mixed", "list"])
    @pytest.mark.parametrize("name", ROWS)
    def test_in_a_study(self, name: str, space: he.Space | he.Pool) -> None:
        row = ROWS[name]
        if isinstance(space, he.Pool) and not row.lists:
            return
        study = he.Study(space, he.LevelSets([3.5]), solver=row.solver, hyperparameters="map", first=5)
        asked = []
        for _ in range(8):
            trial = study.ask()
            study.tell(trial, float(truth(space.to_unit(space.encode(trial.params)))))
            asked.append(trial)
        assert [trial.gain is None for trial in asked] == [True] * 5 + [False] * 3
        if isinstance(space, he.Pool):
            assert len({tuple(trial.params.values()) for trial in asked}) == 8

    @pytest.mark.parametrize("name", ROWS)
    def test_time_is_kept(self, name: str) -> None:
        found = he.propose(LEVELS, fitted(), BOX, solver=ROWS[name].solver, max_seconds=1e-9)
        BOX.check(found.x)
        assert not found.complete
        assert found.seconds < PATIENCE


def test_the_example_of_the_document_runs() -> None:
    text = (Path(__file__).parents[1] / "docs" / "baselines.md").read_text()
    [code] = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    exec(code, {"he": he, "space": BOX, "decision": LEVELS, "belief": fitted()})


def test_the_document_lists_every_baseline() -> None:
    text = (Path(__file__).parents[1] / "docs" / "baselines.md").read_text()
    section = text.split("## List of baselines")[1].split("\n## ")[0]
    solvers = {name for name in baselines.__all__ if issubclass(getattr(baselines, name), Solver)}
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == solvers
