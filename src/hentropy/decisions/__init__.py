"""What will be decided: one file each; `base` says what a decision is, `actions` the action spaces."""

from hentropy.decisions.actions import ActionSpace, Box, Listed, Options, Points, Report
from hentropy.decisions.base import Decision, GainFormula, Solved, Sums, base_samples, checked_loss, monte_carlo_loss
from hentropy.decisions.best_observed import BestObserved
from hentropy.decisions.custom import decision
from hentropy.decisions.estimate import Estimate
from hentropy.decisions.identify import Identify
from hentropy.decisions.improve import Improve
from hentropy.decisions.k_guesses import KGuesses
from hentropy.decisions.level_sets import LevelSets
from hentropy.decisions.maximize import Maximize, Minimize
from hentropy.decisions.min_max import MinMax
from hentropy.decisions.sequence import Sequence
from hentropy.decisions.top_k import TopK

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
