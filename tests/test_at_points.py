"""Moments at the points of actions with hand-written derivatives, against autograd through the kernels themselves."""

import pytest
import torch
from torch import Tensor

from hentropy.core.beliefs import Gaussian, Moments, Needs
from hentropy.core.beliefs.terms import Basis
from support.beliefs import composed, designs, gaussian

pytestmark = pytest.mark.numerics

H = 3
EACH_OWN, SHARED = (2, 4, 2, 3), (2, 1, 5, 3)


def draw(*shape: int, seed: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def parts(*moments: Moments) -> list[Tensor]:
    return [part for each in moments for part in (each.mean, each.var, each.cov) if part is not None]


def close(found: list[Tensor], expected: list[Tensor]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8 * float(other.abs().max()))


def values_and_slopes(belief: Gaussian, x: Tensor, a: Tensor, needs: Needs, moving: bool) -> list[Tensor]:
    """Moments now and after four outcomes, and the derivatives of a weighted sum of them in the points and in x."""
    points, designs = a.clone().requires_grad_(), x.clone().requires_grad_(moving)
    fantasy = belief.look_ahead(designs).fantasy(belief.nodes(4, x.shape[-2]))
    found = parts(fantasy.moments(points, needs), belief.moments(points, needs))
    total = sum((part * draw(*part.shape, seed=7)).sum() for part in found)
    assert isinstance(total, Tensor)
    slopes = torch.autograd.grad(total, (points, designs) if moving else (points,))
    return [*(part.detach() for part in found), *slopes]


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("needs", list(Needs))
@pytest.mark.parametrize("shape", [EACH_OWN, SHARED])
@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("belief", [gaussian(H), gaussian(H, covariance=composed(H, 2)), gaussian(1)], ids=str)
def test_they_are_those_of_autograd(
    monkeypatch: pytest.MonkeyPatch, q: int, needs: Needs, shape: tuple[int, ...], moving: bool, belief: Gaussian
) -> None:
    x, a = designs(2, q, seed=1), designs(*shape, seed=2)
    assert belief.at_points is not None
    fast = values_and_slopes(belief, x, a, needs, moving)
    monkeypatch.setattr(Gaussian, "at_points", None)
    close(fast, values_and_slopes(belief, x, a, needs, moving))


@pytest.mark.parametrize("needs", list(Needs))
def test_outcomes_that_are_known_move_nothing(monkeypatch: pytest.MonkeyPatch, needs: Needs) -> None:
    belief, a = gaussian(H, noise=0.0, future_noise=0.0), designs(*EACH_OWN, seed=2)
    x = torch.stack([belief.X[:2], designs(2, seed=5)])
    assert belief.look_ahead(x).blind[:, 0].all()
    fast = values_and_slopes(belief, x, a, needs, moving=False)
    monkeypatch.setattr(Gaussian, "at_points", None)
    close(fast, values_and_slopes(belief, x, a, needs, moving=False))


def test_features_of_a_point_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    belief, a = gaussian(H, covariance=composed(H, 2)), designs(4, 3, seed=3).requires_grad_()
    fantasy = belief.look_ahead(designs(1, 1, seed=4)).fantasy(belief.nodes(4, 1))
    belief.moments(a, Needs.JOINT)  # what is prepared once
    counted: list[int] = []
    features = Basis.features

    def count(self: Basis, x: Tensor) -> Tensor:
        counted.append(x.numel() // self.d)
        return features(self, x)

    monkeypatch.setattr(Basis, "features", count)
    for needs in (Needs.VARIANCE, Needs.JOINT):
        belief.moments(a, needs).mean.sum().backward()
        assert counted == [12]
        counted.clear()
        fantasy.moments(a.unsqueeze(0), needs).mean.sum().backward()
        assert sorted(counted) == [1, 12]  # those of the design, and of the points
        counted.clear()
