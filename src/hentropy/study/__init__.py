"""Ask, tell, decide, stop; records are small frozen values."""

from hentropy.study.records import State, Trial, Verdict
from hentropy.study.search import Found, search
from hentropy.study.stopping import Budget, GainBelow, GainBelowCost, Standing, StoppingRule, TimeLimit
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
    "search",
]
