"""Ask, tell, decide, stop; records are small frozen values."""

from hentropy.studies.records import Failed, State, Trial, Verdict
from hentropy.studies.stopping import Budget, GainBelow, GainBelowCost, Standing, StoppingRule, TimeLimit
from hentropy.studies.study.minimize import Minimum, minimize
from hentropy.studies.study.search import SearchResult, search
from hentropy.studies.study.study import Study, load_study

__all__ = [
    "Budget",
    "Failed",
    "GainBelow",
    "GainBelowCost",
    "Minimum",
    "SearchResult",
    "Standing",
    "State",
    "StoppingRule",
    "Study",
    "TimeLimit",
    "Trial",
    "Verdict",
    "load_study",
    "minimize",
    "search",
]
