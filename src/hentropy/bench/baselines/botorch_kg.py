"""BoTorch's qKnowledgeGradient, as the library ships it."""

from dataclasses import dataclass

import torch
from botorch.acquisition import qKnowledgeGradient
from botorch.acquisition.objective import ScalarizedPosteriorTransform

from hentropy.bench.baselines.checks import require_continuous, require_no_cost, require_one_gp
from hentropy.bench.baselines.with_botorch import contained, model_in_unit_cube, optimised
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver


@dataclass(frozen=True)
class BotorchKG(Solver):
    """`qKnowledgeGradient` by `optimize_acqf`, all designs and one best design per fantasy together. Needs one GP."""

    largest: bool = True
    fantasies: int = 64
    restarts: int = 10
    raw_samples: int = 512

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As BoTorch finds it."""
        require_no_cost(cost, "BotorchKG")
        require_continuous(appraisal.space, "BotorchKG")
        belief, pending = require_one_gp(appraisal.belief, "BotorchKG"), appraisal.pending
        with contained(appraisal.seed):
            acquisition = qKnowledgeGradient(
                model_in_unit_cube(belief, appraisal.space),
                num_fantasies=self.fantasies,
                posterior_transform=None if self.largest else ScalarizedPosteriorTransform(-torch.ones(1).to(belief.X)),
                X_pending=appraisal.space.to_unit(pending) if len(pending) else None,
            )
            designs = optimised(acquisition, appraisal, q, self.restarts, self.raw_samples)
        return Finalists(designs.unsqueeze(0), not appraisal.clock.expired)
