"""Ask, tell, decide, stop; records are small frozen values."""

from hentropy.records import State, Trial, Verdict
from hentropy.stopping import Budget, GainBelow, GainBelowCost, Standing, StoppingRule, TimeLimit
from hentropy.study.loading import load_study
from hentropy.study.search import Found, search
from hentropy.study.study import Study

__all__ = [
    "Budget",
    "Found",
    "GainBelow",
    "GainBelowCost",
    "Standing",
    "State",
    "StoppingRule",
    "Study",
    "TimeLimit",
    "Trial",
    "Verdict",
    "load_study",
    "search",
]
