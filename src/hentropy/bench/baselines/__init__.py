"""Rules that choose the next query, each behind the protocol of a solver.

`he.Study(space, decision, solver=baselines.Straddle())`: belief, audit and verdict stay those of the decision, and only
the choice of the query is the rule's.
"""

from hentropy.bench.baselines.botorch_kg import BotorchKG
from hentropy.bench.baselines.botorch_log_ei import BotorchLogEI
from hentropy.bench.baselines.expected_feasibility import ExpectedFeasibility
from hentropy.bench.baselines.expected_improvement import ExpectedImprovement
from hentropy.bench.baselines.knowledge_gradient import KnowledgeGradient
from hentropy.bench.baselines.max_value_entropy import MaxValueEntropySearch
from hentropy.bench.baselines.misclassification import Misclassification
from hentropy.bench.baselines.paper_one_shot import PaperOneShot
from hentropy.bench.baselines.probability_of_improvement import ProbabilityOfImprovement
from hentropy.bench.baselines.random_search import RandomSearch
from hentropy.bench.baselines.straddle import Straddle
from hentropy.bench.baselines.uncertainty import UncertaintySampling

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
