"""Limited and Pareto decisions against enumeration: all actions, all designs, outcomes on a grid, dense formulas."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Normal

import hentropy as he
from hentropy.core.action_search import prepare_search
from hentropy.core.action_search.base import expected_loss, listed_moments, take
from hentropy.core.beliefs import Gaussian, Several, value_draws
from hentropy.core.decisions.limits import Limited
from support.beliefs import dense, tensor
from support.outcomes import lines

pytestmark = pytest.mark.smoke

LINE = he.Space(x=he.Real(0.0, 1.0))
LIMIT, FALLBACK = -0.8, 1.0
PURE = he.Maximize("yield", [f"impurity <= {LIMIT}"], FALLBACK)
WAYS = {"yield": "max", "impurity": "min"}
REFERENCE = {"yield": 1.0, "impurity": 0.5}


def row_list(count: int) -> Tensor:
    return torch.linspace(0.0, 1.0, count, dtype=torch.float64).unsqueeze(-1)


@dataclass(frozen=True)
class Enumerated:
    """Two outcomes of one Gaussian process each at rows m x 1: means (2 x m) and covariances (2 x m x m)."""

    belief: Several
    rows: Tensor

    @property
    def now(self) -> tuple[Tensor, Tensor]:
        each = [dense(part, self.rows) for part in self.belief.parts if isinstance(part, Gaussian)]
        return torch.stack([mean[0] for mean, _ in each]), torch.stack([cov[0] for _, cov in each])

    def after(self, row: int, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Means after outcomes at a row (2 x count x m), covariances (2 x m x m) and weights (count)."""
        mean, cov = self.now
        z, w = np.polynomial.hermite_e.hermegauss(count)
        noise = tensor([float(part.noise_std) ** 2 for part in self.belief.parts])
        move = cov[:, :, row] / (cov[:, row, row] + noise).sqrt().unsqueeze(-1)  # 2 x m
        moved = mean.unsqueeze(1) + torch.from_numpy(z).view(1, -1, 1) * move.unsqueeze(1)
        return moved, cov - move.unsqueeze(-1) * move.unsqueeze(-2), torch.from_numpy(w / w.sum())


def limited(mean: Tensor, cov: Tensor) -> Tensor:
    """The least expected loss of a row: means of yield (... x 1 x m) and impurity (1 x ... x m)."""
    sd = cov[1].diagonal().clamp_min(1e-18).sqrt()
    worth = FALLBACK + Normal(0.0, 1.0).cdf((LIMIT - mean[1]).unsqueeze(0) / sd) * (mean[0].unsqueeze(1) - FALLBACK)
    return -worth.amax(-1)


def pairs(mean: Tensor, cov: Tensor, draws: int = 512) -> Tensor:
    """The least expected loss of a pair of rows, by inclusion and exclusion of two boxes, means as in `limited`."""
    generator = torch.Generator().manual_seed(5)
    half = torch.randn(2, draws // 2, cov.shape[-1], generator=generator, dtype=torch.float64)
    noise = torch.cat([half, -half], 1)
    eye = 1e-10 * torch.eye(cov.shape[-1], dtype=torch.float64)
    moves = noise @ torch.linalg.cholesky(cov + eye).mT  # 2 x D x m
    y = (mean[0].unsqueeze(1) + moves[0] - REFERENCE["yield"]).clamp_min(0.0)  # Z x D x m
    x = (REFERENCE["impurity"] - mean[1].unsqueeze(1) - moves[1]).clamp_min(0.0)
    best = torch.full((len(y), len(x)), torch.inf, dtype=torch.float64)
    for i, j in combinations(range(cov.shape[-1]), 2):
        own = torch.einsum("adk,bdk->ab", y[..., [i, j]], x[..., [i, j]])
        common = torch.minimum(y[..., i], y[..., j]) @ torch.minimum(x[..., i], x[..., j]).mT
        best = torch.minimum(best, (common - own) / draws)
    return best


def gains(belief: Several, rows: Tensor, kind: str, count: int) -> Tensor:
    """The gain of each row: m."""
    table, least = Enumerated(belief, rows), {"limited": limited, "pareto": pairs}[kind]
    mean, cov = table.now
    found = []
    for row in range(len(rows)):
        moved, after, w = table.after(row, count)
        # the same draws with the covariance of after, so that their error cancels in part
        found.append(float(least(mean.unsqueeze(1), cov)) - float(w @ least(moved, after) @ w))
    return tensor(found)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_entropy_under_a_limit_is_the_least_of_all(seed: int) -> None:
    belief, rows = lines(1, seed), row_list(9)
    mean, cov = Enumerated(belief, rows).now
    least = float(limited(mean.unsqueeze(1), cov))
    assert he.entropy(PURE, belief, he.Pool(rows)).value == pytest.approx(least, abs=1e-9)
    fine = row_list(401)
    mean, cov = Enumerated(belief, fine).now
    anywhere = he.entropy(PURE, belief, LINE)
    assert anywhere.value == pytest.approx(float(limited(mean.unsqueeze(1), cov)), abs=2e-3)


def test_the_chance_to_hold_the_limits_is_that_of_the_action() -> None:
    belief = lines(1, 1)
    best = he.entropy(PURE, belief, LINE)
    mean, cov = Enumerated(belief, best.action).now
    chance = float(Normal(mean[1, 0], cov[1, 0, 0].sqrt()).cdf(tensor(LIMIT)))
    found = best.decision.limits_hold(belief.moments(best.action, he.Needs.VARIANCE))
    assert found is not None
    assert found.tolist() == pytest.approx([chance], abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_entropy_of_a_front_is_the_least_of_all_pairs(seed: int) -> None:
    belief, rows = lines(1, seed), row_list(9)
    mean, cov = Enumerated(belief, rows).now
    least = float(pairs(mean.unsqueeze(1), cov, 2**16))
    found = he.entropy(he.Pareto(2, WAYS, REFERENCE), belief, he.Pool(rows))  # type: ignore[arg-type]
    assert found.value == pytest.approx(least, abs=6 * found.std_error + 0.01 * abs(least))


@pytest.mark.slow
@pytest.mark.parametrize("where", ["list", "line"])
@pytest.mark.parametrize("kind", ["limited", "pareto"])
def test_proposals_have_nearly_the_greatest_gain(kind: str, where: str) -> None:
    belief, decision = lines(1, 1), PURE if kind == "limited" else he.Pareto(2, WAYS, REFERENCE)  # type: ignore[arg-type]
    rows = row_list(9 if where == "list" else 13)
    found = he.propose(decision, belief, he.Pool(rows) if where == "list" else LINE)
    count = 32 if kind == "limited" else 12
    every = gains(belief, torch.cat([rows, found.x]), kind, count)
    assert float(every[-1]) >= 0.95 * float(every.max()), (found, every)
    # a list of places knows fewer actions than a line
    share = 0.05 if where == "list" else 0.2
    assert found.gain == pytest.approx(float(every[-1]), abs=6 * found.std_error + share * float(every.max()))


def test_long_lists_of_fronts_are_exchanged() -> None:
    belief, rows = lines(1, 2), row_list(20)
    decision = he.Pareto(4, WAYS, REFERENCE)  # type: ignore[arg-type]
    found = he.entropy(decision, belief, he.Pool(rows))
    mean, cov = Enumerated(belief, rows).now
    noise = torch.randn(2, 400, 20, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    eye = 1e-10 * torch.eye(20, dtype=torch.float64)
    values = (mean.unsqueeze(1) + noise @ torch.linalg.cholesky(cov + eye).mT).permute(1, 2, 0)  # D x m x 2
    index = torch.tensor(list(combinations(range(20), 4)))
    losses = torch.cat([decision.loss(values[:, part], rows[part]).mean(0) for part in index.split(500)])
    chosen = torch.cdist(found.action, rows).argmin(-1).sort().values
    own = losses[(index == chosen).all(-1)]
    assert float(own) <= 0.98 * float(losses.min()), (own, losses.min())


def test_a_front_of_many_designs_is_no_worse_than_a_greedy_one() -> None:
    belief, rows = lines(1, 1), row_list(41)
    decision = he.Pareto(6, WAYS, REFERENCE)  # type: ignore[arg-type]
    found = he.entropy(decision, belief, LINE)
    mean, cov = Enumerated(belief, rows).now
    noise = torch.randn(2, 4096, 41, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    eye = 1e-10 * torch.eye(41, dtype=torch.float64)
    values = (mean.unsqueeze(1) + noise @ torch.linalg.cholesky(cov + eye).mT).permute(1, 2, 0)  # D x m x 2
    greedy: list[int] = []
    for _ in range(6):
        losses = [float(decision.loss(values[:, [*greedy, row]], rows[[*greedy, row]]).mean()) for row in range(41)]
        greedy.append(int(np.argmin(losses)))
    assert found.value <= 0.99 * min(losses) + 6 * found.std_error


def test_what_is_not_known_of_the_outcomes_is_named() -> None:
    belief = lines(1, 1)
    with pytest.raises(he.InputError, match="did you mean impurity"):
        he.entropy(he.Maximize("yield", ["impurty <= 3"]), belief, LINE)
    with pytest.raises(he.InputError, match="yield, impurity"):
        he.entropy(he.Maximize(), belief, LINE)


def test_the_fallback_and_the_reference_come_from_the_data() -> None:
    belief = lines(1, 1)
    gaussians = [part for part in belief.parts if isinstance(part, Gaussian)]
    seen = [part.observed for part in gaussians]
    limited = he.entropy(he.Maximize("yield", ["impurity <= 0"]), belief, LINE).decision
    assert isinstance(limited, Limited)
    assert torch.allclose(limited.instead, seen[0].min())
    front = he.entropy(he.Pareto(1, WAYS), belief, LINE).decision  # type: ignore[arg-type]
    assert isinstance(front, he.Pareto)
    assert torch.allclose(front.origin, torch.stack([seen[0].min(), seen[1].max()]))


@pytest.mark.parametrize("H", [1, 3])
def test_functions_drawn_at_a_list_have_the_expected_losses_of_its_tuples(H: int) -> None:
    belief, rows = lines(H, 1), row_list(15)
    moments = belief.moments(rows, he.Needs.JOINT)
    small, many = (he.Pareto(k, WAYS, REFERENCE) for k in (1, 6))  # type: ignore[arg-type]
    assert listed_moments(small, moments, 1) is moments
    drawn = listed_moments(many, moments, 6)
    assert drawn.point_mass
    assert float(drawn.weights.sum()) == pytest.approx(1.0)
    index = torch.stack([torch.randperm(15, generator=torch.Generator().manual_seed(i))[:6] for i in range(8)])
    draws = value_draws(2**13, 12, seed=3)
    exact = expected_loss(many, take(moments, index), rows[index], draws)
    found = expected_loss(many, take(drawn, index), rows[index], draws)
    assert torch.allclose(found, exact, rtol=0.1)
    assert float((found / exact).mean()) == pytest.approx(1.0, abs=0.05)


def test_what_chooses_a_front_does_not_judge_it() -> None:
    belief, rows = lines(1, 2), row_list(24)
    search = prepare_search(he.Pareto(6, WAYS, REFERENCE), belief, he.Pool(rows))  # type: ignore[arg-type]
    x = rows[[5, 15]].unsqueeze(1)
    fantasy = belief.look_ahead(x).fantasy(belief.nodes(6, 1))
    today = expected_loss(
        search.decision, belief.moments(search.best, he.Needs.JOINT), search.best, value_draws(64, 12, 0)
    )
    assert float(search.value) == pytest.approx(float(today), rel=1e-9)
    found = search.best_after(fantasy, x, steps=0)
    assert bool((found.saved >= 0).all())
    # what is saved on fresh draws is about the same: nothing of it is the luck of the draws that chose
    fresh = search.best_after(fantasy, x, 0, value_draws(2**11, 12, seed=9))
    assert float(found.saved.mean()) == pytest.approx(float(fresh.saved.mean()), abs=0.02 * abs(float(search.value)))
