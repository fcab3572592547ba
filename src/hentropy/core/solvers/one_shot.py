"""One-shot (Section 6 of the paper): a design and one action per outcome, ascended together."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.core.action_search import ContinuousSearch, descend
from hentropy.core.beliefs import Needs, Nodes
from hentropy.core.gain import Appraisal
from hentropy.core.solvers.base import Cost, Finalists, Solver, per_cost
from hentropy.errors import InputError


def ascend_together(
    appraisal: Appraisal, x: Tensor, actions: Tensor, nodes: Nodes, steps: int, cost: Cost | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Ascend designs R x q x d and their actions R x N x event together: both as reached, and the one-shot gains R."""
    search, space = appraisal.search, appraisal.space
    if not isinstance(search, ContinuousSearch):
        raise InputError(f"the one-shot search needs continuous actions; {search.decision!r} on this space has a list")
    R, q, d = x.shape
    domain, head = search.domain, q * d
    # the expected loss of today's action is a constant for an affine loss under one GP, a control variate otherwise
    known = 0.0 if cost is None else appraisal.of_pending(nodes)
    varies = appraisal.belief.components > 1 or search.decision.needs is not Needs.MEAN
    today = search.best.expand(R, 1, *search.best.shape)

    def unpack(u: Tensor) -> tuple[Tensor, Tensor]:
        return space.from_unit(u[:, :head].reshape(R, q, d)), domain.to_action(u[:, head:].reshape(R, nodes.count, -1))

    def minus_gain(u: Tensor) -> Tensor:
        designs, acts = unpack(u)
        fantasy = appraisal.belief.look_ahead(appraisal.together(designs)).fantasy(nodes)
        stay = search.loss_after(fantasy, today) @ nodes.weights if varies else search.value
        return -per_cost(stay - search.loss_after(fantasy, acts) @ nodes.weights - known, designs, cost)

    start = torch.cat([space.to_unit(x).reshape(R, head), domain.to_unit(actions).reshape(R, -1)], -1)
    u, losses = descend(minus_gain, start, steps, appraisal.clock)
    return *unpack(u), -losses


@dataclass(frozen=True)
class OneShot(Solver):
    """The search as the paper did it: random restarts, joint ascent, the best restart wins."""

    restarts: int = 64
    outcomes: int = 16
    steps: int = 100

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """Joint ascent from random designs and random actions."""
        search = appraisal.search
        if not isinstance(search, ContinuousSearch):
            raise InputError(
                f"the one-shot search needs continuous actions; {search.decision!r} here has a list: use Auto()"
            )
        nodes = appraisal.nodes(self.outcomes, q)
        x = (
            appraisal.space.sample(self.restarts * q, appraisal.seed + 1)
            .to(appraisal.belief.X)
            .reshape(self.restarts, q, -1)
        )
        actions = search.domain.sample(self.restarts * self.outcomes, appraisal.seed + 2).to(x)
        actions = actions.reshape(self.restarts, self.outcomes, *search.domain.event)
        designs, met, gains = ascend_together(appraisal, x, actions, nodes, self.steps, cost)
        best = gains.argsort(descending=True)[:1]
        return Finalists(appraisal.space.project(designs[best]), not appraisal.clock.expired, met[best])
