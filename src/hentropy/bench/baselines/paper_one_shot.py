"""The search of the paper (its Section 6): a design and one action per outcome, ascended together by Adam.

    R  restarts     N  outcomes     M  inner samples     q  designs chosen together     event  the shape of an action

Where a loss is affine in f, the average draw stands for all M draws, and for memberships the mean does: nothing else
enters the loss.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from botorch.sampling.base import MCSampler
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch_community.acquisition.hentropy_search import qHEntropySearch
from torch import Tensor
from torch.nn import Module

from hentropy.bench.baselines.maximise import expected_belief, require_continuous, require_no_cost, require_one_gp
from hentropy.bench.baselines.with_botorch import AverageSampler, BeliefModel, MeanSampler, contained
from hentropy.core.acquisition import as_botorch
from hentropy.core.beliefs import Needs
from hentropy.core.decisions import Decision, LevelSets, Points
from hentropy.core.decisions.base import checked_loss
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver
from hentropy.errors import InputError


@dataclass(frozen=True)
class PaperOneShot(Solver):
    """The class `qHEntropySearch` of botorch_community, driven as the authors of the paper do.

    Random designs and actions in the unit cube, Adam on both, clamped after every step; the best restart wins. As in
    the authors' own code, all outcomes of a restart begin with the same action. For decisions about `Points`, and for
    `LevelSets` by difference, whose memberships are ascended. Needs one GP on a continuous space.

    With model="botorch" the class gets a BoTorch model, as published: the same values, but slopes in the design that
    are not theirs (see `belief_model`), and several times slower. For `Points` only.
    """

    restarts: int = 128
    steps: int = 200
    outcomes: int = 16
    samples: int = 16
    rate: float = 0.1
    model: Literal["belief", "botorch"] = "belief"

    def __post_init__(self) -> None:
        """Check the name of the model."""
        if self.model not in ("belief", "botorch"):
            raise InputError(f'the model is "belief" or "botorch", got {self.model!r}')

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """The designs of the best restart."""
        require_no_cost(cost, "PaperOneShot")
        require_continuous(appraisal.space, "PaperOneShot")
        belief = require_one_gp(expected_belief(appraisal), "PaperOneShot")
        task = self._task(appraisal)
        acquisition = qHEntropySearch(
            model=as_botorch(belief) if self.model == "botorch" else BeliefModel(belief, task.points, task.needs),
            loss_function_class=task.loss,
            loss_function_hyperparameters={"decision": appraisal.decision},
            n_fantasy_at_design_pts=self.outcomes,
            n_fantasy_at_action_pts=None,
            design_sampler=_sobol(self.outcomes, appraisal.seed + 1),
            action_sampler=task.sampler,
        )
        generator = torch.Generator().manual_seed(appraisal.seed)
        x = torch.rand(self.restarts, q, appraisal.space.cube, generator=generator, dtype=torch.float64)
        a = torch.rand(self.restarts, 1, *task.event, generator=generator, dtype=torch.float64)
        a = a.expand(-1, self.outcomes, *task.event)
        # restarts do not know of each other, so they may as well climb in parts that fit into memory
        rows = appraisal.limits.rows(task.numbers)
        starts = zip(x.split(rows), a.split(rows), strict=True)
        with contained(appraisal.seed):  # points of an action that meet in a corner have a singular covariance
            parts = [self._climb(acquisition, task, appraisal, *start) for start in starts]
        designs, actions, values = (torch.cat(each) for each in zip(*parts, strict=True))
        best = values.nan_to_num(nan=-torch.inf).argmax()
        met = actions[best].unsqueeze(0) if task.needs is Needs.JOINT else None
        return Finalists(appraisal.space.project(designs[best]).unsqueeze(0), not appraisal.clock.expired, met)

    def _task(self, appraisal: Appraisal) -> "_Task":
        decision, published = appraisal.decision, self.model == "botorch"
        if isinstance(decision, LevelSets) and decision.relation == "difference" and not published:
            return self._memberships(decision, appraisal)
        if isinstance(decision.actions, Points):
            middle = appraisal.space.bounds.mean(0).expand(decision.actions.k, -1)
            points = decision.points(middle)
            if not published or decision.looks_at_itself(appraisal.space):
                return self._points(decision, decision.actions.k, points.shape[-2], appraisal)
        can = (
            "Points(k) that the loss looks at" if published else "Points(k), or memberships of LevelSets by difference"
        )
        raise InputError(f"{self!r} ascends actions that are {can}; those of {decision!r} are not")

    def _memberships(self, decision: LevelSets, appraisal: Appraisal) -> "_Task":
        at = decision.settled_points.to(appraisal.belief.X)
        T, m, n = len(decision.thresholds), at.shape[0], appraisal.belief.X.shape[0]
        numbers = m * (8 * n + self.outcomes * (4 + 8 * T))
        return _Task((T, m), lambda u: u, lambda a: at, Needs.MEAN, MembershipLoss, MeanSampler(), numbers)

    def _points(self, decision: Decision, k: int, K: int, appraisal: Appraisal) -> "_Task":
        """For actions of k points whose loss looks at K points."""
        space, n, seed = appraisal.space, appraisal.belief.X.shape[0], appraisal.seed + 2
        one_draw = decision.needs is Needs.MEAN and self.model == "belief"
        sampler = AverageSampler(self.samples, seed) if one_draw else _sobol(self.samples, seed)
        # BoTorch's model of an outcome has a covariance of all data and points
        numbers = (n + K) ** 2 if self.model == "botorch" else K * (n + K + (1 if one_draw else self.samples))
        return _Task(
            (k, space.cube),
            space.from_cube,
            decision.points,
            Needs.JOINT,
            DecisionLoss,
            sampler,
            8 * self.outcomes * numbers,
        )

    def _climb(
        self, acquisition: qHEntropySearch, task: "_Task", appraisal: Appraisal, x: Tensor, a: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """From designs R x q x d and actions R x N x event in unit coordinates: both as reached, and their values R."""
        x = x.to(appraisal.belief.X).clone().requires_grad_()
        a = a.to(x.detach()).clone().requires_grad_()
        optimizer = torch.optim.Adam([x, a], lr=self.rate, fused=True)

        def value() -> tuple[Tensor, Tensor, Tensor]:
            designs, actions = appraisal.space.from_cube(x), task.to_action(a)
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
        self._thresholds, self._weights = decision.thresholds, decision.weights

    def forward(self, A: Tensor, Y: Tensor) -> Tensor:
        """Sum of a (f - c) for memberships N x b x T x m and mean values 1 x N x b x m: N x b."""
        a, f = A.transpose(0, 1), Y[0].transpose(0, 1)  # as they lie in memory
        a = a if self._weights is None else a * self._weights.to(a)
        c = torch.tensor(self._thresholds, dtype=torch.float64).to(Y)
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
