"""Functions that can be had cheaply and a little wrong: what counts is the design at the highest fidelity.

BoTorch's augmented Hartmann-6 and Branin (Wu, Toscano-Palmerin, Frazier and Wilson, UAI 2019) at two of their
fidelities. Hartmann at 0.2 differs from Hartmann at 1 by at most 0.08, of a range of 3.3: a cheap value tells almost
all. Branin differs by up to 256, of a range of 308; the correlation is 0.81.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from botorch.test_functions.multi_fidelity import AugmentedBranin, AugmentedHartmann
from torch import Tensor

from hentropy.bench.problems.base import Function, Problem, named
from hentropy.bench.problems.standard import standard
from hentropy.core.spaces import Levels, Space

FIDELITY = "fidelity"

AUGMENTED: dict[str, Callable[[], Function]] = {"branin": AugmentedBranin, "hartmann-6": AugmentedHartmann}

COSTS: Mapping[float, float] = {0.2: 1.0, 1.0: 20.0}
"""What a value costs at each fidelity."""


@dataclass(frozen=True)
class FidelityProblem:
    """A function of designs and their fidelity, the last parameter; `decided` is the problem at the highest one."""

    name: str
    function: Function
    space: Space
    costs: Mapping[float, float]
    decided: Problem

    def __call__(self, x: Tensor) -> Tensor:
        """Values at rows ... x (d + 1): ... ."""
        return self.function(x)

    @property
    def target(self) -> float:
        """The fidelity that counts."""
        return max(self.costs)

    def cost(self, x: Tensor) -> Tensor:
        """What rows ... x (d + 1) cost: ... ."""
        levels = torch.tensor(list(self.costs)).to(x)
        nearest = (x[..., -1:] - levels).abs().argmin(-1)
        return torch.tensor(list(self.costs.values())).to(x)[nearest]


def two_fidelities(name: str, costs: Mapping[float, float] = COSTS) -> FidelityProblem:
    """The least value of "hartmann-6" or "branin", with a cheap fidelity beside the one that counts."""
    decided = standard(name)
    augmented = named(name, AUGMENTED, "function with fidelities")()
    parameters = decided.space.parameters if isinstance(decided.space, Space) else {}
    space = Space(**parameters, **{FIDELITY: Levels(list(costs))})
    return FidelityProblem(f"{name}-two-fidelities", augmented, space, costs, decided)
