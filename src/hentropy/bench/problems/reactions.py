"""Three published reactions with options to choose from, as functions that were fitted to the measurements.

reizman-suzuki-1, -2   yield of a Suzuki-Miyaura coupling: 8 catalysts, residence time, temperature, loading
baumgartner-aniline    yield of a C-N coupling with aniline: 3 catalysts, 4 bases, base equivalents, temperature, time

Each has 96 measurements, too few for a list to choose from. `experiments.problems.reactions` fits a Gaussian process to
the log-odds of the yields; the function is its mean, brought back to per cent, so that it lies between 0 and 100.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hentropy.bench.problems.base import Best, Problem, named
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.decisions import Maximize
from hentropy.core.spaces import Choice, Real, Space

REIZMAN = "Reizman, Wang, Buchwald and Jensen, React. Chem. Eng. 2016, 1, 658; by way of summit 0.8.4 (MIT)"
BAUMGARTNER = "Baumgartner et al., Org. Process Res. Dev. 2019, 23, 1594; by way of summit 0.8.4 (MIT)"

_SUZUKI = {
    "catalyst": Choice(["P1-L1", "P2-L1", "P1-L2", "P1-L3", "P1-L4", "P1-L5", "P1-L6", "P1-L7"]),
    "t_res": Real(60.0, 600.0, log=True, unit="s"),
    "temperature": Real(30.0, 110.0, unit="°C"),
    "catalyst_loading": Real(0.5, 2.5, log=True, unit="mol%"),
}
_ANILINE = {
    "catalyst": Choice(["tBuXPhos", "tBuBrettPhos", "AlPhos"]),
    "base": Choice(["DBU", "BTMG", "TMG", "TEA"]),
    "base_equivalents": Real(1.1, 2.2),
    "temperature": Real(30.0, 100.0, unit="°C"),
    "t_res": Real(60.0, 1400.0, log=True, unit="s"),
}


@dataclass(frozen=True)
class Reaction:
    """What can be varied, the file of measurements, and by what its yields are multiplied to be per cent."""

    space: Space
    table: str
    per_cent: float
    credit: str


REACTIONS = {
    "baumgartner-aniline": Reaction(Space(**_ANILINE), "baumgartner_aniline.csv", 100.0, BAUMGARTNER),
    "reizman-suzuki-1": Reaction(Space(**_SUZUKI), "reizman_suzuki_1.csv", 1.0, REIZMAN),
    "reizman-suzuki-2": Reaction(Space(**_SUZUKI), "reizman_suzuki_2.csv", 1.0, REIZMAN),
}


@dataclass(frozen=True, eq=False)
class Emulator:
    """Yields in per cent: 100 sigmoid(level + sum of weights x kernel(x, centres)), in the unit cube of a space.

    Centres are n x d, weights n, length scales d; the outputscale is part of the weights.
    """

    space: Space
    centres: Tensor
    weights: Tensor
    lengthscale: Tensor
    level: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Yields at designs ... x d: ... ."""
        u = self.space.to_unit(x).reshape(-1, x.shape[-1])
        kernel = Stationary(Profile.MATERN52, self.lengthscale.to(x).unsqueeze(0), torch.ones(1).to(x))
        odds = self.level.to(x) + kernel(u, self.centres.to(x))[0] @ self.weights.to(x)
        return (100.0 * torch.sigmoid(odds)).reshape(x.shape[:-1])

    def arrays(self) -> dict[str, np.ndarray]:
        """What `from_arrays` needs, to be stored."""
        return {
            "centres": self.centres.numpy(),
            "weights": self.weights.numpy(),
            "lengthscale": self.lengthscale.numpy(),
            "level": self.level.numpy(),
        }

    @classmethod
    def from_arrays(cls, space: Space, stored: Any) -> "Emulator":
        """The function in a mapping of arrays, such as an npz file."""
        return cls(space, *(torch.from_numpy(stored[n]) for n in ("centres", "weights", "lengthscale", "level")))

    def __repr__(self) -> str:
        return f"Emulator({len(self.weights)} measurements)"


@dataclass(frozen=True)
class StoredReaction:
    """A fitted function, the design with its greatest yield, and its held-out error.

    `held_out` are R² and root mean square errors in percentage points: the function's, the mean's, and those of the
    nearest experiment.
    """

    emulator: Emulator
    best: Tensor
    held_out: tuple[tuple[float, float], ...]


@cache
def emulated(name: str) -> StoredReaction:
    """What the training stored for a reaction."""
    space = named(name, REACTIONS, "reaction").space
    file = files("hentropy.bench.problems").joinpath("data", f"{name}.npz")
    with file.open("rb") as handle, np.load(handle, allow_pickle=False) as stored:
        errors = tuple((r2, rmse) for r2, rmse in stored["held_out"].tolist())
        return StoredReaction(Emulator.from_arrays(space, stored), torch.from_numpy(stored["best"]), errors)


def reaction(name: str) -> Problem:
    """The design with the greatest yield of a reaction."""
    stored, reaction = emulated(name), named(name, REACTIONS, "reaction")
    how = "searched: descents from thousands of starts for each combination of options"
    best = Best(-float(stored.emulator(stored.best)), how, stored.best.unsqueeze(0))
    return Problem(name, stored.emulator, reaction.space, Maximize(), best, reaction.credit)
