"""How a belief is fitted: the default Gaussian process, a BoTorch model, or a custom model."""

from hentropy.core.models.botorch import from_botorch
from hentropy.core.models.botorch_model import botorch_model
from hentropy.core.models.gp import Hyperparameters, fit, fit_with
from hentropy.core.models.last_layer import last_layer
from hentropy.core.models.members import ensemble, forest
from hentropy.core.models.outcomes import fit_outcomes
from hentropy.core.models.own import Model, ModelData
from hentropy.core.models.simulator import simulator
from hentropy.core.models.success import fit_success

__all__ = [
    "Hyperparameters",
    "Model",
    "ModelData",
    "botorch_model",
    "ensemble",
    "fit",
    "fit_outcomes",
    "fit_success",
    "fit_with",
    "forest",
    "from_botorch",
    "last_layer",
    "simulator",
]
