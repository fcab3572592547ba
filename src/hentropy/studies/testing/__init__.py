"""Conformance suites: what every decision, belief, solver and store must do, for your own classes as well.

    from hentropy.studies.testing import check_belief, check_decision, check_solver

    def test_my_decision():
        check_decision(MyDecision(), belief, space)

Each function runs a list of relations that hold for any correct object, none of which needs to know the right answer
beforehand, and raises an `AssertionError` that says which relation failed and with which numbers. Statistical relations
allow for `SIGMAS` standard errors of a few replicates: at a new seed, a suite of some thirty such comparisons raises a
false alarm about once in sixty runs; with the same seed it always says the same.
"""

from hentropy.studies.testing.beliefs import check_belief
from hentropy.studies.testing.decisions import check_decision
from hentropy.studies.testing.relations import SIGMAS
from hentropy.studies.testing.solvers import check_solver
from hentropy.studies.testing.stores import check_store

__all__ = ["SIGMAS", "check_belief", "check_decision", "check_solver", "check_store"]
