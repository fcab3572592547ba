"""What is known: Gaussian processes and mixtures of them, weighted samples, any BoTorch posterior; conditioning."""

from hentropy.core.beliefs.base import Belief, Fantasy, LookAhead, Moments, Needs
from hentropy.core.beliefs.gaussian import Frame, Gaussian, GaussianLookAhead
from hentropy.core.beliefs.nodes import Nodes, gauss_hermite, outcome_nodes, value_draws
from hentropy.core.beliefs.posterior import Posterior
from hentropy.core.beliefs.samples import Samples

__all__ = [
    "Belief",
    "Fantasy",
    "Frame",
    "Gaussian",
    "GaussianLookAhead",
    "LookAhead",
    "Moments",
    "Needs",
    "Nodes",
    "Posterior",
    "Samples",
    "gauss_hermite",
    "outcome_nodes",
    "value_draws",
]
