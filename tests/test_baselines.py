"""Baselines: each chooses what its definition says, compared with slow and obvious formulas; BoTorch's own models."""

import math

import pytest
import torch
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch_community.acquisition.hentropy_search import qHEntropySearch, qLossFunctionTopK
from torch import Tensor

import hentropy as he
from hentropy import baselines
from hentropy.baselines.belief_model import BeliefModel, MeanSampler
from hentropy.baselines.paper_one_shot import DecisionLoss
from hentropy.beliefs import Gaussian, Needs, Nodes
from hentropy.integrations.botorch import as_botorch

BOX = he.Space.box([-3.0, 100.0], [-2.0, 180.0])
MIXED = he.Space(rate=he.Real(1e-4, 1e2, log=True), count=he.Integer(3, 12))


def truth(u: Tensor) -> Tensor:
    return 4.0 + 3.0 * torch.sin(5.0 * u[..., 0]) * torch.cos(3.0 * u[..., 1])


def fitted(space: he.Space = BOX, n: int = 9, noise: object = None, kind: str = "map", **options: object) -> Gaussian:
    X = space.sample(n, seed=3)
    return he.fit(X, truth(space.to_unit(X)), space=space, noise=noise, hyperparameters=kind, **options)  # type: ignore[arg-type]


LEVELS = he.LevelSets([3.0, 5.0], at=BOX.sample(40, seed=8))


class TestAsBotorch:
    """The BoTorch model of a belief is the belief."""

    NOISES = (None, 0.0, 0.3, torch.linspace(0.05, 0.4, 9, dtype=torch.float64))

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
        (slope,) = torch.autograd.grad(ours(BOX.from_unit(unit), A=a).sum(), unit)
        with torch.no_grad():
            for j in range(2):
                step = torch.zeros(2, dtype=torch.float64)
                step[j] = 1e-5
                sides = [ours(BOX.from_unit(unit + side * step), A=a) for side in (-1.0, 1.0)]
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

    @pytest.mark.parametrize("decision", [he.TopK(2, weight=1.0, cap=9.0), LEVELS], ids=["top k", "levels"])
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

    def test_time_is_kept(self) -> None:
        solver = baselines.PaperOneShot(steps=10**6)
        found = he.propose(LEVELS, fitted(), BOX, solver=solver, max_seconds=0.2)
        assert not found.complete
        assert found.seconds < 5.0
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
