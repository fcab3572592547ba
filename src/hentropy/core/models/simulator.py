"""`simulator`: a simulator with unknown parameters is a belief; each draw of the parameters is a function.

With draws t_1 ... t_S of the parameters from their prior, and observations y_i at x_i with noise sd_i:

    f_s(x) = function(x, t_s)        w_s in proportion to prod_i N(y_i; f_s(x_i), sd_i^2)

Looking ahead, the weights follow each outcome in the same way: for these draws all of it is exact.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hentropy.core.beliefs import Samples
from hentropy.core.given import as_table
from hentropy.core.models.own import ModelData
from hentropy.errors import InputError, ModelError
from hentropy.lazy import Tensor, torch

Simulation = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class SimulatorModel:
    """The model of a simulator: parameters S x p, noise of an observation whose standard error is not told."""

    function: Simulation
    draws: Tensor
    noise_std: float

    def __call__(self, data: ModelData) -> Samples:
        """The draws, weighted by the likelihood of what was observed."""
        draws = self.draws.to(data.X)
        errors = data.Y.new_full(data.Y.shape, self.noise_std)
        if data.noise is not None:
            errors = torch.where(data.noise > 0, data.noise, errors)
        gap = (data.Y - self.at(data.X, draws)) / errors
        weights = torch.softmax(-0.5 * gap.square().sum(-1), 0)
        # never moved: what lies between draws need not be something that the simulator can do
        return Samples(
            data.X, lambda points: self.at(points, draws), weights, self.noise_std, least_effective=0.0, seed=data.seed
        )

    def at(self, points: Tensor, draws: Tensor) -> Tensor:
        """Points ... x d: S x ... ."""
        flat = points.reshape(-1, points.shape[-1])
        values = self.function(flat, draws)
        expected = (draws.shape[0], flat.shape[0])
        if not isinstance(values, Tensor) or tuple(values.shape) != expected:
            got = f"shape {tuple(values.shape)}" if isinstance(values, Tensor) else f"a {type(values).__name__}"
            raise ModelError(
                f"the simulator gave {got} for designs of shape {tuple(flat.shape)} and draws of shape"
                f" {tuple(draws.shape)}; it must give a tensor of shape {expected}, a row per draw"
            )
        return values.reshape(draws.shape[0], *points.shape[:-1])


def simulator(function: Simulation, prior_draws: Any, *, noise_std: float) -> SimulatorModel:
    """A simulator with uncertain parameters, for `Study(model=...)`.

    `function(x, t)` takes designs x (m x d, coordinates of the space) and parameters t (S x p) and returns S x m, in
    torch operations. `prior_draws` (S x p) are draws of the parameters from their prior: thousands, because few of them
    will fit the data. `noise_std` is the standard error of an observation for which none is told.
    """
    draws = as_table("prior_draws", prior_draws)
    if draws.dim() != 2 or draws.shape[0] < 2:
        raise InputError(f"prior_draws must be S x p, one row per draw, at least 2; got shape {tuple(draws.shape)}")
    if not (math.isfinite(noise_std) and noise_std > 0):
        raise InputError(f"noise_std must be a finite number above 0, got {noise_std}")
    return SimulatorModel(function, draws, float(noise_std))
