"""The search of the paper (its Section 6): a design and one action per outcome, ascended together by Adam.

R  restarts     N  outcomes     M  inner samples     q  designs chosen together     event  the shape of an action
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from botorch.sampling.base import MCSampler
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch_community.acquisition.hentropy_search import qHEntropySearch
from torch import Tensor
from torch.nn import Module

from hentropy.baselines.belief_model import AverageSampler, BeliefModel, MeanSampler
from hentropy.baselines.checks import require_continuous, require_no_cost, require_one_gp
from hentropy.baselines.pending import expected_belief
from hentropy.beliefs import Needs
from hentropy.decisions import Decision, LevelSets, Points
from hentropy.decisions.base import checked_loss
from hentropy.errors import InputError
from hentropy.gain import Appraisal
from hentropy.solvers import Cost, Finalists, Solver


@dataclass(frozen=True)
class PaperOneShot(Solver):
    """The class `qHEntropySearch` of botorch_community, driven as the authors of the paper do.

    Random designs and actions in the unit cube, Adam on both, clamped after every step; the best restart wins. As in
    the authors' own code, all outcomes of a restart begin with the same action. For decisions about `Points`, and for
    `LevelSets` by difference: there memberships are ascended, and the loss is linear in f, so that means replace the
    inner samples. Needs one GP on a continuous space.
    """

    restarts: int = 128
    steps: int = 200
    outcomes: int = 16
    samples: int = 16
    rate: float = 0.1

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """The designs of the best restart."""
        require_no_cost(cost, "PaperOneShot")
        require_continuous(appraisal.space, "PaperOneShot")
        belief = require_one_gp(expected_belief(appraisal), "PaperOneShot")
        task = self._task(appraisal)
        acquisition = qHEntropySearch(
            model=BeliefModel(belief, task.points, task.needs),
            loss_function_class=task.loss,
            loss_function_hyperparameters={"decision": appraisal.decision},
            n_fantasy_at_design_pts=self.outcomes,
            n_fantasy_at_action_pts=None,
            design_sampler=_sobol(self.outcomes, appraisal.seed + 1),
            action_sampler=task.sampler,
        )
        generator = torch.Generator().manual_seed(appraisal.seed)
        x = torch.rand(self.restarts, q, appraisal.space.dim, generator=generator, dtype=torch.float64)
        a = torch.rand(self.restarts, 1, *task.event, generator=generator, dtype=torch.float64)
        a = a.expand(-1, self.outcomes, *task.event)
        # restarts do not know of each other, so they may as well climb in parts that fit into memory
        rows = appraisal.limits.rows(task.numbers)
        parts = [
            self._climb(acquisition, task, appraisal, *start)
            for start in zip(x.split(rows), a.split(rows), strict=True)
        ]
        designs, actions, values = (torch.cat(each) for each in zip(*parts, strict=True))
        best = values.argmax()
        met = actions[best].unsqueeze(0) if task.needs is Needs.JOINT else None
        return Finalists(appraisal.space.project(designs[best]).unsqueeze(0), not appraisal.clock.expired, met)

    def _task(self, appraisal: Appraisal) -> "_Task":
        decision, space, N, n = appraisal.decision, appraisal.space, self.outcomes, appraisal.belief.X.shape[0]
        if isinstance(decision, LevelSets) and decision.relation == "difference":
            at = decision.settled_points.to(appraisal.belief.X)
            T, m = len(decision.thresholds), at.shape[0]
            numbers = m * (8 * n + N * (4 + 8 * T))
            return _Task((T, m), lambda u: u, lambda a: at, Needs.MEAN, MembershipLoss, MeanSampler(), numbers)
        if isinstance(decision.actions, Points):
            k, seed = decision.actions.k, appraisal.seed + 2
            K = decision.points(space.bounds.mean(0).expand(k, -1)).shape[-2]
            affine = decision.needs is Needs.MEAN
            sampler = AverageSampler(self.samples, seed) if affine else _sobol(self.samples, seed)
            numbers = 8 * N * K * (n + K + (1 if affine else self.samples))
            return _Task((k, space.dim), space.from_unit, decision.points, Needs.JOINT, DecisionLoss, sampler, numbers)
        raise InputError(
            f"PaperOneShot ascends actions that are Points(k), or the memberships of LevelSets by difference; those of"
            f" {decision!r} are neither"
        )

    def _climb(
        self, acquisition: qHEntropySearch, task: "_Task", appraisal: Appraisal, x: Tensor, a: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """From designs R x q x d and actions R x N x event in unit coordinates: both as reached, and their values R."""
        x = x.to(appraisal.belief.X).clone().requires_grad_()
        a = a.to(x.detach()).clone().requires_grad_()
        optimizer = torch.optim.Adam([x, a], lr=self.rate, fused=True)

        def value() -> tuple[Tensor, Tensor, Tensor]:
            designs, actions = appraisal.space.from_unit(x), task.to_action(a)
            return designs, actions, acquisition(designs, A=actions)

        for _ in range(self.steps):
            if appraisal.clock.expired:
                break
            optimizer.zero_grad()
            with torch.enable_grad():
                (-value()[-1].sum()).backward()
            optimizer.step()
            with torch.no_grad():
                x.clamp_(0.0, 1.0)
                a.clamp_(0.0, 1.0)
        with torch.no_grad():
            return value()


def _sobol(count: int, seed: int) -> SobolQMCNormalSampler:
    return SobolQMCNormalSampler(torch.Size([count]), seed=seed)


class DecisionLoss(Module):
    """The loss of a decision as `qHEntropySearch` maximises it."""

    def __init__(self, decision: Decision) -> None:
        super().__init__()
        self._decision = decision

    def forward(self, A: Tensor, Y: Tensor) -> Tensor:
        """Minus the loss of actions N x b x event, averaged over values M x N x b x K: N x b."""
        return -checked_loss(self._decision, Y, A.expand(Y.shape[0], *A.shape)).mean(0)


class MembershipLoss(Module):
    """The same for level sets by difference, with sums taken first: few passes over arrays of the memberships' size."""

    def __init__(self, decision: LevelSets) -> None:
        super().__init__()
        self._thresholds = decision.thresholds

    def forward(self, A: Tensor, Y: Tensor) -> Tensor:
        """Sum of a (f - c) for memberships N x b x T x m and mean values 1 x N x b x m: N x b."""
        a, f = A.transpose(0, 1), Y[0].transpose(0, 1)  # as they lie in memory
        c = torch.tensor(self._thresholds).to(Y)
        return ((a.sum(-2) * f).sum(-1) - a.sum(-1) @ c).transpose(0, 1)


@dataclass(frozen=True)
class _Task:
    """How a decision is put to the class: actions of shape `event`, where they look, what is drawn there, the loss.

    So many `numbers` are held at once for each restart.
    """

    event: tuple[int, int]
    to_action: Callable[[Tensor], Tensor]
    points: Callable[[Tensor], Tensor]
    needs: Needs
    loss: type[DecisionLoss] | type[MembershipLoss]
    sampler: MCSampler
    numbers: int
