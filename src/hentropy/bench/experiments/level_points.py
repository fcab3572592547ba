"""Queries only at the points that level sets are about."""

from dataclasses import dataclass, replace

from hentropy.bench.baselines.checks import require_level_sets
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Finite, Solver
from hentropy.core.spaces import Pool


@dataclass(frozen=True)
class OnLevelPoints(Solver):
    """The greatest gain among the points of `LevelSets`: each query then settles a label, however wrong the model."""

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """The points with the greatest gain."""
        points = require_level_sets(appraisal.decision, "OnLevelPoints").settled_points
        pool = Pool(points, names=appraisal.space.names)
        return Finite().search(replace(appraisal, space=pool), q, cost)
