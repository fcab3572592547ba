"""How a belief is fitted: the default Gaussian process, or a fitted BoTorch model."""

from hentropy.core.models.botorch import from_botorch
from hentropy.core.models.gp import Hyperparameters, fit, fit_with

__all__ = ["Hyperparameters", "fit", "fit_with", "from_botorch"]
