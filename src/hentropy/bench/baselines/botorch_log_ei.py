"""BoTorch's LogExpectedImprovement, as the library ships it."""

from dataclasses import dataclass, replace

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.optim import optimize_acqf_discrete
from torch import Tensor

from hentropy.bench.baselines.checks import require_no_cost, require_one_gp
from hentropy.bench.baselines.incumbent import incumbent
from hentropy.bench.baselines.pending import believed, occurs
from hentropy.bench.baselines.with_botorch import contained, model_in_unit_cube, optimised
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver


@dataclass(frozen=True)
class BotorchLogEI(Solver):
    """`LogExpectedImprovement` by `optimize_acqf`; on a `Pool` all rows are tried. Needs one GP.

    Improvement is counted from the best mean at an observed design. Several designs are chosen one after the other,
    those before and those pending believed to have the values expected there.
    """

    largest: bool = True
    restarts: int = 10
    raw_samples: int = 512

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As BoTorch finds it."""
        require_no_cost(cost, "BotorchLogEI")
        chosen = appraisal.pending[:0]
        with contained(appraisal.seed):
            for _ in range(q):
                waiting = torch.cat([appraisal.pending, chosen])
                turn = replace(appraisal, belief=believed(appraisal.belief, waiting), pending=waiting)
                chosen = torch.cat([chosen, self._one(turn)])
        return Finalists(chosen.unsqueeze(0), not appraisal.clock.expired)

    def _one(self, appraisal: Appraisal) -> Tensor:
        """The next design: 1 x d."""
        belief, space = require_one_gp(appraisal.belief, "BotorchLogEI"), appraisal.space
        model = model_in_unit_cube(belief, space)
        best = belief.X.new_tensor(incumbent(belief, self.largest))  # BoTorch would keep a float in single precision
        acquisition = LogExpectedImprovement(model, best, maximize=self.largest)
        if space.points is None:
            return optimised(acquisition, appraisal, 1, self.restarts, self.raw_samples)
        rows = space.points.to(belief.X)
        free = ~occurs(rows, appraisal.pending)
        rows = rows[free] if bool(free.any()) else rows
        u, _ = optimize_acqf_discrete(acquisition, q=1, choices=space.to_unit(rows))
        return space.project(space.from_unit(u))
