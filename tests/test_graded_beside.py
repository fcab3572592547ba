"""Yes and no, and grades, beside numbers: limits on a probability against quadrature, and in studies."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Frame, Gaussian, Graded, Needs, Several
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.beliefs.success import Sightings
from hentropy.core.models.gp import ConstantMean
from hentropy.core.models.success import fit_grades, sites
from support.beliefs import tensor
from support.commands import done

pytestmark = pytest.mark.smoke

ROWS = torch.linspace(0.0, 1.0, 7, dtype=torch.float64).unsqueeze(-1)
POOL = he.Pool(ROWS)
SEEN = torch.tensor([[0.05], [0.3], [0.6], [0.95]], dtype=torch.float64)
UNIT = Frame(lambda x: x, tensor(0.0), tensor(1.0))
LEVEL, FALLBACK = 0.7, 0.5
LIKELY = he.Maximize("yield", [f"crystal >= {LEVEL}"], FALLBACK)
CUTS = {"yes/no": [[0.0]], "mixture": [[0.0]] * 3, "grades": [[-0.8, 0.0]]}
KINDS = pytest.mark.parametrize("kind", CUTS)


def belief(kind: str) -> Several:
    """Yield grows with x, and crystals are seen at small x alone."""
    cuts = torch.tensor(CUTS[kind]).double()
    H, top = len(cuts), cuts.shape[-1]
    scales, weights = torch.linspace(0.3, 0.5, H).double().unsqueeze(-1), torch.full((H,), 1.0 / H).double()
    kernel = Stationary(Profile.MATERN52, scales, torch.full((H,), 2.0).double())
    edges = torch.cat([torch.full((H, 1), -torch.inf), cuts, torch.full((H, 1), torch.inf)], -1).double()
    codes = torch.tensor([top, top, 0, 0])
    mean = torch.linspace(0.0, 0.4, H).double()
    data, noise = sites(kernel(SEEN, SEEN), mean, Sightings(edges[:, codes], edges[:, codes + 1]))
    one = torch.ones(H).double()
    latent = Gaussian.from_data(SEEN, data, noise, one, kernel, ConstantMean(mean), UNIT, weights)
    values = (0.6 + SEEN[:, 0]).expand(H, -1)
    noises = 0.02 * torch.ones(H, 4).double()
    smooth = Stationary(Profile.MATERN52, scales + 0.3, torch.full((H,), 0.3).double())
    number = Gaussian.from_data(SEEN, values, noises, 0.02 * one, smooth, ConstantMean(one), UNIT, weights)
    return Several((replace(number, outcomes=("yield",)), Graded(latent, cuts, ("crystal",))))


class Brute:
    """Gains by quadrature over y and over g at the design, all rows as actions."""

    def __init__(self, kind: str) -> None:
        whole = belief(kind)
        self.number, self.graded = whole.parts
        self.weights, self.H = whole.weights, whole.components
        nodes, node_weights = np.polynomial.hermite_e.hermegauss(60)
        self.z, self.w = tensor(nodes), tensor(node_weights / node_weights.sum())
        self.c = float(torch.special.ndtri(tensor(LEVEL)))

    def moments(self, part: Gaussian, x: Tensor) -> tuple[Tensor, Tensor]:
        """Means H x (m + 1) and covariances of the rows and x."""
        found = part.moments(torch.cat([ROWS, x]), Needs.JOINT)
        return found.mean, found.covariance

    def after_grade(self, x: Tensor) -> Tensor:
        """The chance that each grade comes at x and g is above its level at each row: H x G x m."""
        assert isinstance(self.graded, Graded)
        mean, cov = self.moments(self.graded.latent, x)
        sd = cov[:, -1, -1].sqrt()
        g = mean[:, -1:] + sd.unsqueeze(-1) * self.z  # H x S
        slope = cov[:, :-1, -1] / cov[:, -1, -1].unsqueeze(-1)
        left = (cov.diagonal(dim1=-2, dim2=-1)[:, :-1] - slope * cov[:, :-1, -1]).clamp_min(1e-14).sqrt()
        at = mean[:, None, :-1] + slope.unsqueeze(1) * (g - mean[:, -1:]).unsqueeze(-1)  # H x S x m
        above = torch.special.ndtr((at - self.c) / left.unsqueeze(1))
        seen = torch.special.ndtr(self.graded.edges.unsqueeze(1) - g.unsqueeze(-1)).diff(dim=-1)  # H x S x G
        return torch.einsum("s,hsg,hsm->hgm", self.w, seen, above)

    def gain(self, x: Tensor, numbers: bool, grades: bool) -> float:
        assert isinstance(self.number, Gaussian)
        mean, cov = self.moments(self.number, x)
        joint = self.after_grade(x)
        now = joint.sum(1)  # H x m
        if not grades:
            joint = now.unsqueeze(1)
        S = (cov[:, -1, -1] + float(self.number.noise_std) ** 2).sqrt()
        today = self.weights @ (now * (mean[:, :-1] - FALLBACK))
        total = 0.0
        for h in range(self.H):
            y = mean[h, -1] + S[h] * self.z if numbers else mean[h, -1:]
            w = self.w if numbers else torch.ones(1).double()
            density = torch.distributions.Normal(mean[:, -1:], S.unsqueeze(-1)).log_prob(y.unsqueeze(0))
            likely = self.weights.log().unsqueeze(-1) + (density if numbers else 0.0 * density)
            own = torch.softmax(likely, 0)  # H x S
            moved = mean[:, None, :-1] + (cov[:, :-1, -1] / S.square().unsqueeze(-1)).unsqueeze(1) * (
                (y - mean[:, -1:]).unsqueeze(-1) if numbers else 0.0
            )  # H x S x m
            # by grade: sum over components of their weight, the chance of the grade with the limit, and the gap
            worth = torch.einsum("hs,hgm,hsm->sgm", own, joint, moved - FALLBACK)
            stay = worth[..., today.argmax()]
            total += float(self.weights[h] * (w @ (worth.amax(-1) - stay).sum(-1)))
        return total


@KINDS
def test_a_limit_on_a_probability_holds_as_its_probit_does(kind: str) -> None:
    found, brute = he.entropy(LIKELY, belief(kind), POOL), Brute(kind)
    assert isinstance(brute.graded, Graded)
    latent = brute.graded.latent.moments(ROWS, Needs.VARIANCE)
    holds = torch.special.ndtr((latent.mean - brute.c) / latent.variance.sqrt())
    gap = brute.number.moments(ROWS, Needs.MEAN).mean - FALLBACK
    worth = FALLBACK + brute.weights @ (holds * gap)
    assert found.value == pytest.approx(-float(worth.max()), abs=1e-9)
    assert torch.equal(found.action[0], ROWS[worth.argmax()])


@KINDS
@pytest.mark.parametrize("seen", [("crystal",), ("yield", "crystal"), ("yield",)])
def test_gains_are_those_of_quadrature(kind: str, seen: tuple[str, ...]) -> None:
    """A grade alone is a sum, exactly; beside a number at the errors of its nodes."""
    whole, x = belief(kind), tensor([[0.4], [0.5]])
    found = he.gain(LIKELY, whole.measuring(*seen), x, POOL)
    brute = Brute(kind)
    expected = tensor([brute.gain(row.unsqueeze(0), "yield" in seen, "crystal" in seen) for row in x])
    if seen == ("crystal",):
        assert found.value.tolist() == pytest.approx(expected.tolist(), abs=2e-5)
        assert found.std_error.tolist() == [0.0, 0.0]
        assert float(expected.max()) > 1e-2
    else:
        slack = 6 * found.std_error + 0.02 * expected.max()
        assert bool(((found.value - expected).abs() <= slack).all()), (found, expected)


def test_the_belief_after_a_grade_and_a_number_is_that_of_each() -> None:
    whole, x = belief("mixture"), tensor([[0.4], [0.5]])
    after = whole.condition(x, tensor([[1.1, 1.0], [torch.nan, 0.0]]))
    number, graded = whole.parts
    assert isinstance(number, Gaussian)
    assert isinstance(graded, Graded)
    moved, by_number = number.extended(x[:1], tensor([1.1]))
    seen, by_grades = graded.extended(x, tensor([1.0, 0.0]))
    assert after.weights.tolist() == pytest.approx(
        torch.softmax(whole.weights.log() + by_number + by_grades, 0).tolist()
    )
    means = after.moments(ROWS, Needs.MEAN).mean.unflatten(-1, (-1, 2))
    assert torch.allclose(means[..., 0], moved.moments(ROWS, Needs.MEAN).mean)
    assert torch.allclose(means[..., 1], seen.moments(ROWS, Needs.MEAN).mean)
    expecting = whole.awaiting(frozenset({"yield"}), frozenset({"crystal"})).expecting(x).parts
    assert torch.equal(expecting[0].X, torch.cat([SEEN, x[:1]]))
    assert torch.equal(expecting[1].X, torch.cat([SEEN, x[1:]]))


def test_two_grades_of_designs_together_have_an_error() -> None:
    """All but the last are replaced by normal observations, in an order that should not matter."""
    graded = belief("yes/no").parts[1]
    assert isinstance(graded, Graded)
    alone = replace(graded, outcomes=("value",))
    single = he.gain(he.Maximize(), alone, tensor([[0.4]]), POOL)
    pair = he.gain(he.Maximize(), alone, tensor([[[0.4], [0.55]]]), POOL)
    assert float(single.std_error) == 0.0
    assert 0.0 < float(pair.std_error) < 0.2 * float(pair.value)


OUTCOMES = {"yield": he.Outcome(unit="%"), "crystal": he.Outcome(kind="yes/no")}
LIST = he.Pool(ROWS, names=["x"])


def study(**options: Any) -> he.Study:
    given: dict[str, Any] = {"outcomes": OUTCOMES, "first": 4, "hyperparameters": "map"}
    decision = he.Maximize("yield", ["crystal >= 0.8"], 0.0)
    made = he.Study(LIST, decision, **(given | options))
    for row in ROWS[::2, 0].tolist():
        made.attach({"x": row}, {"yield": 60.0 + 20.0 * row, "crystal": "yes" if row < 0.6 else "no"})
    return made


def test_a_study_limits_a_probability() -> None:
    made = study()
    trial = made.ask()
    assert trial.gain is not None
    assert trial.gain > 0
    [row] = made.decide().action
    assert set(row) == {"x", "yield", "yield sd", "crystal", "crystal sd", "limits hold"}
    assert 0.0 < row["crystal"] < 1.0
    assert "probability of crystal >= 80 % with" in made.decide().headline
    looks = {"look": he.Assay(["crystal"], cost=0.1), "full": he.Assay(["yield", "crystal"], cost=5.0)}
    assert study(assays=looks).ask().measures == ("crystal",)


def test_a_probability_counts_where_a_price_is_limited() -> None:
    outcomes: dict[str, Any] = {"crystal": he.Outcome(kind="yes/no"), "price": he.Computed("price", "2 * x")}
    made = he.Study(LIST, he.Maximize("crystal", ["price <= 0.7"], 0.0), outcomes=outcomes, hyperparameters="map")
    for row in ROWS[::2, 0].tolist():
        made.attach({"x": row}, {"crystal": row > 0.2})
    [row] = made.decide().action
    assert row["price"] <= 0.7
    assert row["limits hold"] == 1.0
    assert made.propose().gain >= 0.0


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (he.Pareto(2, {"yield": "max", "crystal": "max"}), "looks at yield, crystal together"),
        (he.KGuesses(2, outcome="crystal", subject_to=["yield >= 70"]), "more than the expected value of crystal"),
        (he.Maximize("crystal", ["crystal >= 0.5", "yield >= 70"]), "more than the expected value of crystal"),
    ],
)
def test_what_cannot_look_at_a_probability_beside_numbers_says_so(decision: he.Decision, said: str) -> None:
    with pytest.raises(he.InputError, match=said):
        he.Study(LIST, decision, outcomes=OUTCOMES)


def test_a_limit_on_a_probability_is_one() -> None:
    made = he.Study(LIST, he.Maximize("yield", ["crystal >= 80"], 0.0), outcomes=OUTCOMES, hyperparameters="map")
    made.attach({"x": 0.0}, {"yield": 60.0, "crystal": "yes"})
    with pytest.raises(he.InputError, match="crystal is a probability; 80 is not between 0 and 1"):
        made.decide()


def test_a_file_limits_a_probability(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lab.toml").write_text(
        'version = 1\nname = "lab"\n[space.x]\ntype = "real"\nlow = 0\nhigh = 1\n[outcomes.yield]\n[outcomes.crystal]\n'
        'kind = "yes/no"\n[decision]\nname = "maximize"\noutcome = "yield"\nsubject_to = ["crystal >= 0.8"]\n'
    )
    assert "one design with the highest yield, with probability of crystal >= 80 %." in done("check", "lab.toml")


def test_no_grades_are_refused_in_words() -> None:
    with pytest.raises(he.InputError, match="grades need at least one experiment"):
        fit_grades(ROWS[:0], ROWS[:0, 0], space=he.Space(x=he.Real(0, 1)))
