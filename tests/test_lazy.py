"""What stands in for PyTorch until it is used, and that it is PyTorch afterwards."""

import subprocess
import sys

import pytest
import torch

from hentropy import lazy

pytestmark = pytest.mark.smoke

BEFORE = """
import sys
from hentropy.lazy import Tensor, once_imported, torch

done = []
once_imported(lambda: done.append(torch.get_num_threads()))


@torch.no_grad()
def doubled(x: Tensor, generator: torch.Generator | None = None, times: int = 0) -> Tensor | torch.Size:
    return doubled(x, generator, times - 1) if times else 2 * x


assert not hasattr(torch, "__wrapped__")
assert not isinstance(1.0, Tensor)
assert not done
assert "torch" not in sys.modules

x = torch.ones(2, requires_grad=True)
assert len(done) == 1
import torch as real
assert isinstance(x, real.Tensor) and isinstance(x, Tensor) and not isinstance([1.0], Tensor)
assert torch.tensor is real.tensor and torch.nn is real.nn and torch.no_grad is real.no_grad
assert not doubled(x, times=2).requires_grad and (2 * x).requires_grad
assert isinstance(torch.Generator(), real.Generator)
once_imported(lambda: done.append(0))
assert len(done) == 2
try:
    torch.no_such_name
except AttributeError:
    print("all of it")
"""


def test_pytorch_is_imported_when_one_of_its_names_is_used() -> None:
    ended = subprocess.run([sys.executable, "-c", BEFORE], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("all of it\n", "")


class Cube(lazy.AutogradFunction):
    """x cubed; its derivative is that of its negative, to see which one is used."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)  # type: ignore[attr-defined]
        return x**3

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
        [x] = ctx.saved_tensors  # type: ignore[attr-defined]
        return -3.0 * x**2 * grad


def test_a_derivative_by_hand_is_used_and_is_not_differentiated_again() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    value = Cube.apply(x)
    [slope] = torch.autograd.grad(value, x, torch.ones((), requires_grad=True), create_graph=True)
    assert (value.detach().item(), slope.detach().item()) == (8.0, -12.0)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.backward()
