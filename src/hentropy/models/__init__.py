"""How a belief is fitted: the default Gaussian process, or a fitted BoTorch model."""

from hentropy.models.botorch import from_botorch
from hentropy.models.gp import Hyperparameters, fit, fit_with

__all__ = ["Hyperparameters", "fit", "fit_with", "from_botorch"]
