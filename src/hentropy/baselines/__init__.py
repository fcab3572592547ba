"""Rules that choose the next query, each behind the protocol of a solver.

`he.Study(space, decision, solver=baselines.Straddle())`: belief, audit and verdict stay those of the decision, and only
the choice of the query is the rule's.
"""

from hentropy.baselines.botorch_kg import BotorchKG
from hentropy.baselines.botorch_log_ei import BotorchLogEI
from hentropy.baselines.expected_feasibility import ExpectedFeasibility
from hentropy.baselines.expected_improvement import ExpectedImprovement
from hentropy.baselines.knowledge_gradient import KnowledgeGradient
from hentropy.baselines.max_value_entropy import MaxValueEntropySearch
from hentropy.baselines.misclassification import Misclassification
from hentropy.baselines.paper_one_shot import PaperOneShot
from hentropy.baselines.probability_of_improvement import ProbabilityOfImprovement
from hentropy.baselines.random_search import RandomSearch
from hentropy.baselines.straddle import Straddle
from hentropy.baselines.uncertainty import UncertaintySampling

__all__ = [
    "BotorchKG",
    "BotorchLogEI",
    "ExpectedFeasibility",
    "ExpectedImprovement",
    "KnowledgeGradient",
    "MaxValueEntropySearch",
    "Misclassification",
    "PaperOneShot",
    "ProbabilityOfImprovement",
    "RandomSearch",
    "Straddle",
    "UncertaintySampling",
]
