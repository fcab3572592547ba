"""What is known: Gaussian processes and mixtures of them, weighted samples, any BoTorch posterior; conditioning.

`Transformed` has components about a transformed outcome; `Graded` is about one that is yes or no, or a grade; `Several`
are beliefs about several outcomes, side by side, some of which may be `Correlated`.
"""

from hentropy.core.beliefs.base import Belief, Fantasy, LookAhead, Moments, Needs
from hentropy.core.beliefs.correlated import Correlated
from hentropy.core.beliefs.gaussian import Frame, Gaussian, GaussianLookAhead
from hentropy.core.beliefs.graded import Graded
from hentropy.core.beliefs.known import Known
from hentropy.core.beliefs.nodes import Nodes, gauss_hermite, outcome_nodes, value_draws
from hentropy.core.beliefs.posterior import Posterior
from hentropy.core.beliefs.samples import Samples
from hentropy.core.beliefs.several import Several
from hentropy.core.beliefs.transformed import Transformed

__all__ = [
    "Belief",
    "Correlated",
    "Fantasy",
    "Frame",
    "Gaussian",
    "GaussianLookAhead",
    "Graded",
    "Known",
    "LookAhead",
    "Moments",
    "Needs",
    "Nodes",
    "Posterior",
    "Samples",
    "Several",
    "Transformed",
    "gauss_hermite",
    "outcome_nodes",
    "value_draws",
]
