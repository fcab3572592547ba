"""What will be decided: one file each; `base` says what a decision is, `actions` the action spaces."""

from hentropy.core.decisions.actions import ActionSpace, Box, Listed, Options, Points, Report
from hentropy.core.decisions.base import (
    Decision,
    GainFormula,
    Solved,
    Sums,
    base_samples,
    by_outcome,
    checked_loss,
    monte_carlo_loss,
)
from hentropy.core.decisions.custom import decision
from hentropy.core.decisions.estimate import Estimate
from hentropy.core.decisions.identify import Identify
from hentropy.core.decisions.level_sets import LevelSets
from hentropy.core.decisions.one_design import BestObserved, Improve, Maximize, Minimize
from hentropy.core.decisions.pareto import Pareto
from hentropy.core.decisions.several_designs import KGuesses, MinMax, Sequence, TopK
from hentropy.core.decisions.target import Target

__all__ = [
    "ActionSpace",
    "BestObserved",
    "Box",
    "Decision",
    "Estimate",
    "GainFormula",
    "Identify",
    "Improve",
    "KGuesses",
    "LevelSets",
    "Listed",
    "Maximize",
    "MinMax",
    "Minimize",
    "Options",
    "Pareto",
    "Points",
    "Report",
    "Sequence",
    "Solved",
    "Sums",
    "Target",
    "TopK",
    "base_samples",
    "by_outcome",
    "checked_loss",
    "decision",
    "monte_carlo_loss",
]
