"""What will be decided: one file each; `base` says what a decision is, `actions` the action spaces."""

from hentropy.core.decisions.actions import ActionSpace, Box, Listed, Options, Points, Report
from hentropy.core.decisions.base import (
    Decision,
    GainFormula,
    Solved,
    Sums,
    base_samples,
    checked_loss,
    monte_carlo_loss,
)
from hentropy.core.decisions.custom import decision
from hentropy.core.decisions.estimate import Estimate
from hentropy.core.decisions.identify import Identify
from hentropy.core.decisions.level_sets import LevelSets
from hentropy.core.decisions.one_design import BestObserved, Improve, Maximize, Minimize
from hentropy.core.decisions.several_designs import KGuesses, MinMax, Sequence, TopK

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
    "Points",
    "Report",
    "Sequence",
    "Solved",
    "Sums",
    "TopK",
    "base_samples",
    "checked_loss",
    "decision",
    "monte_carlo_loss",
]
