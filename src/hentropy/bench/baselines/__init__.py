"""Rules that choose the next query, each behind the protocol of a solver.

`he.Study(space, decision, solver=baselines.Straddle())`: belief, audit and verdict stay those of the decision, and only
the choice of the query is the rule's.
"""

from hentropy.bench.baselines.botorch_models import BotorchMixed
from hentropy.bench.baselines.classic import (
    ExpectedImprovement,
    KnowledgeGradient,
    MaxValueEntropySearch,
    ProbabilityOfImprovement,
)
from hentropy.bench.baselines.level_set_rules import ExpectedFeasibility, Misclassification, Straddle
from hentropy.bench.baselines.paper_one_shot import PaperOneShot
from hentropy.bench.baselines.space_filling import RandomSearch, UncertaintySampling
from hentropy.bench.baselines.with_botorch import BotorchKG, BotorchLogEI

__all__ = [
    "BotorchKG",
    "BotorchLogEI",
    "BotorchMixed",
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
