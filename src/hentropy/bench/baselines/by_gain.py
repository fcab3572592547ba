"""Well-known rules that are this project's own gain for another decision."""

from dataclasses import replace

import torch

from hentropy.core.beliefs import Belief
from hentropy.core.decisions import Decision
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Auto, Cost, Finalists
from hentropy.core.solvers.base import informed, leader
from hentropy.core.spaces import DesignSpace, Pool


def choose_for(decision: Decision, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
    """What would be proposed if the decision were this one: the best of the finalists by its audited gain."""
    belief = appraisal.belief
    prepared = Appraisal.prepare(
        decision,
        belief,
        _all_designs(appraisal.space, belief),
        seed=appraisal.seed,
        limits=appraisal.limits,
        clock=appraisal.clock,
    )
    own = replace(prepared, space=appraisal.space, pending=appraisal.pending)
    found = Auto().search(own, q, cost)
    if not found.complete:
        return Finalists(found.x[:1], complete=False)
    best, _ = leader(informed(own, found.actions), found.x.detach(), cost)
    return Finalists(found.x[best : best + 1].detach(), not appraisal.clock.expired)


def _all_designs(space: DesignSpace, belief: Belief) -> DesignSpace:
    """Where actions may lie: a study leaves rows of a pool out that it need not ask again, but they can be chosen."""
    if space.points is None:
        return space
    return Pool(torch.unique(torch.cat([space.points.to(belief.X), belief.X]), dim=0), space.names)
