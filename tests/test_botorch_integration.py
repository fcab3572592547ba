"""`EHIG` as any other acquisition function of BoTorch."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf, optimize_acqf_discrete
from torch import Tensor

import hentropy as he
from hentropy.core.acquisition import EHIG

BOUNDS = torch.tensor([[-3.0, 100.0], [-2.0, 180.0]], dtype=torch.float64)
LOW, WIDTH = BOUNDS[0], BOUNDS[1] - BOUNDS[0]
SPACE = he.Space.box(*BOUNDS.tolist())
AT = LOW + WIDTH * torch.rand(6, 2, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


def draw(*shape: int, seed: int = 0) -> Tensor:
    return LOW + WIDTH * torch.rand(*shape, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(scope="module")
def model() -> SingleTaskGP:
    """Known hyperparameters, not fitted: the posterior is exact, and the test fast."""
    X = draw(7, seed=1)
    U = (X - LOW) / WIDTH
    Y = 50.0 + 20.0 * (torch.sin(5.0 * U[:, :1]) + torch.cos(4.0 * U[:, 1:]))
    made = SingleTaskGP(X, Y, input_transform=Normalize(2, bounds=BOUNDS), outcome_transform=Standardize(1))
    made.covar_module.lengthscale = torch.tensor([[0.4, 0.6]], dtype=torch.float64)
    made.likelihood.noise = torch.tensor([1e-3], dtype=torch.float64)
    made.eval()
    return made


DECISIONS = {
    "maximize": he.Maximize(),
    "best observed": he.BestObserved(),
    "top k": he.TopK(2, weight=1.0, cap=0.2, distance=lambda a, b: ((a - b) / WIDTH).abs().sum(-1)),
    "level sets": he.LevelSets([50.0], at=AT),
    "estimate": he.Estimate(AT),
    "max value": he.Identify("max", candidates=64),
    "own": he.decision(lambda f, a: -f.min(-1).values, actions=he.Points(2)),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_values_agree_with_the_audited_gain(name: str, model: SingleTaskGP) -> None:
    acquisition = EHIG(model, DECISIONS[name], BOUNDS, outcomes=64, steps=12)
    X = draw(4)
    value = acquisition(X.unsqueeze(-2)).detach()
    audited = he.gain(DECISIONS[name], he.from_botorch(model), X, SPACE)
    assert value.shape == (4,)
    # an optimiser needs the order, quickly: searches after an outcome stop early, small gains come out low
    allowed = 5 * audited.std_error + 0.05 * audited.value + 0.05 * audited.value.max()
    assert bool(((value - audited.value).abs() <= allowed + 1e-9).all())


@pytest.mark.parametrize("name", ["maximize", "top k", "level sets"])
def test_pending_designs_are_not_counted_again(name: str, model: SingleTaskGP) -> None:
    acquisition = EHIG(model, DECISIONS[name], BOUNDS, outcomes=128, steps=12)
    candidates = draw(64, 1, seed=4)
    best = acquisition(candidates).argsort(descending=True)
    X, waiting = candidates[best[[5, 20, 40]]], candidates[best[:2], 0]
    joint = acquisition(torch.cat([waiting.expand(3, 2, 2), X], -2))
    alone = acquisition(waiting.unsqueeze(0))
    acquisition.set_X_pending(waiting)
    added = acquisition(X)
    assert torch.allclose(added, joint - alone, rtol=0.05, atol=0.02 * float(joint.max()))
    # one of them once more adds next to nothing: the noise is small
    assert float(acquisition(waiting[:1].unsqueeze(0))) < 0.05 * float(alone)
    acquisition.set_X_pending(None)
    assert torch.equal(acquisition(waiting.unsqueeze(0)), alone)


@pytest.mark.parametrize(
    ("name", "length", "tolerance"),
    [("maximize", 1e-3, 0.15), ("best observed", 1e-4, 0.03), ("level sets", 1e-4, 0.03), ("estimate", 1e-4, 0.03)],
)
@pytest.mark.parametrize("q", [1, 2])
def test_gradient_is_the_finite_difference(
    name: str, length: float, tolerance: float, q: int, model: SingleTaskGP
) -> None:
    """Where the slope is the largest: the minimum inside is searched to some accuracy, so that values have small jumps.

    With further rounds, outcomes may take over another minimum between the two ends of a difference.
    """
    acquisition = EHIG(model, DECISIONS[name], BOUNDS, outcomes=16 // q, steps=40, rounds=0)
    candidates = draw(32, q, seed=8).requires_grad_()
    (slopes,) = torch.autograd.grad(acquisition(candidates).sum(), candidates)
    best = (slopes * WIDTH).flatten(1).norm(dim=-1).argmax()
    X, slope = candidates[best : best + 1].detach(), slopes[best : best + 1]
    step = length * WIDTH
    differences = torch.zeros_like(slope)
    with torch.no_grad():
        for i in range(q):
            for j in range(2):
                moved = torch.zeros_like(X)
                moved[0, i, j] = step[j]
                differences[0, i, j] = (acquisition(X + moved) - acquisition(X - moved)).item() / (2 * step[j])
    scale = (slope * WIDTH).abs().max()
    assert torch.allclose(slope * WIDTH, differences * WIDTH, atol=tolerance * float(scale), rtol=0.0)


def test_same_seed_same_values(model: SingleTaskGP) -> None:
    X = draw(3, 2)
    first, second = (EHIG(model, he.KGuesses(2), BOUNDS, seed=3)(X) for _ in range(2))
    assert torch.equal(first, second)


def test_any_batch_shape(model: SingleTaskGP) -> None:
    acquisition = EHIG(model, he.Maximize(), BOUNDS)
    X = draw(2, 3, 1)
    assert torch.allclose(acquisition(X).reshape(6), acquisition(X.reshape(6, 1, 2)))


# gains have kinks, at which a line search may end early, depending on the last digits: BoTorch then tries again
@pytest.mark.filterwarnings("ignore:Optimization failed:RuntimeWarning")
@pytest.mark.parametrize(("q", "sequential"), [(1, False), (2, True), (2, False)])
def test_plain_optimize_acqf(q: int, sequential: bool, model: SingleTaskGP) -> None:
    acquisition = EHIG(model, he.Maximize(), BOUNDS, outcomes=8, steps=3)
    X, value = optimize_acqf(
        acquisition,
        BOUNDS,
        q=q,
        num_restarts=2,
        raw_samples=16,
        sequential=sequential,
        options={"maxiter": 12, "seed": 0},
    )
    assert X.shape == (q, 2)
    assert torch.equal(X, X.clamp(*BOUNDS))
    acquisition.set_X_pending(None)
    typical = acquisition(draw(64, q, seed=2)).detach()
    assert float(acquisition(X.unsqueeze(0))) > float(typical.quantile(0.9))
    assert bool(torch.isfinite(value).all())


def test_optimize_acqf_discrete(model: SingleTaskGP) -> None:
    choices = draw(12, seed=6)
    acquisition = EHIG(model, he.Maximize(), space=he.Pool(choices))
    X, value = optimize_acqf_discrete(acquisition, q=1, choices=choices)
    exact = he.gain(he.Maximize(), he.from_botorch(model), choices, he.Pool(choices))
    assert exact.exact
    assert torch.equal(X[0], choices[int(exact.value.argmax())])
    assert float(value) == pytest.approx(float(exact.value.max()), rel=1e-6)
    assert optimize_acqf_discrete(acquisition, q=2, choices=choices)[0].unique(dim=0).shape == (2, 2)


def test_argmax_has_no_gradient_and_says_so(model: SingleTaskGP) -> None:
    acquisition = EHIG(model, he.Identify("argmax", candidates=32), BOUNDS)
    assert bool((acquisition(draw(2, 1)) > -0.2).all())
    with pytest.raises(he.InputError, match=r"no gradient; use optimize_acqf_discrete"):
        acquisition(draw(2, 1).requires_grad_())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either bounds"),
        ({"bounds": BOUNDS, "space": SPACE}, "either bounds"),
        ({"bounds": BOUNDS[0]}, r"2 x d .* got \(2,\)"),
        ({"bounds": BOUNDS, "X_pending": torch.zeros(1, 3, dtype=torch.float64)}, r"p x 2, got \(1, 3\)"),
    ],
)
def test_wrong_options_are_named(options: dict, message: str, model: SingleTaskGP) -> None:
    with pytest.raises(he.InputError, match=message):
        EHIG(model, he.Maximize(), **options)


def test_the_community_package_is_not_touched() -> None:
    code = "import hentropy.core.acquisition, sys; sys.exit('botorch_community' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(he.__file__).parents[1], check=False).returncode == 0
