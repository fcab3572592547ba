"""`EHIG`: any decision as a BoTorch acquisition function that plain `optimize_acqf` can drive."""

from dataclasses import replace
from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

from hentropy.beliefs import Nodes
from hentropy.clock import Limits
from hentropy.decisions import Decision, GainFormula
from hentropy.errors import InputError
from hentropy.gain import Appraisal
from hentropy.models import from_botorch
from hentropy.spaces import DesignSpace, Space


class EHIG(AcquisitionFunction):
    """The expected H-information gain of designs X (b x q x d) for a decision, under a fitted BoTorch model.

    Differentiable by the envelope theorem: the best action after each outcome is found (`steps` of descent), then held.
    `bounds` (2 x d) are those of the designs, in the model's own input units; `space` may be given instead for integer
    or listed designs. The base samples are fixed, so that deterministic optimisers work.
    """

    def __init__(
        self,
        model: Model,
        decision: Decision,
        bounds: Tensor | None = None,
        *,
        space: DesignSpace | None = None,
        outcomes: int = 16,
        steps: int = 6,
        X_pending: Tensor | None = None,
        seed: int = 0,
        max_memory: int | None = None,
    ) -> None:
        super().__init__(model=model)
        if (bounds is None) == (space is None):
            raise InputError("EHIG needs either bounds (2 x d) or a space, not both and not neither")
        if space is None:
            space = _box(bounds)
        self.outcomes = outcomes
        self.steps = steps
        limits = Limits(max_memory=max_memory)
        self._appraisal = Appraisal.prepare(decision, from_botorch(model), space, seed=seed, limits=limits)
        self.set_X_pending(X_pending)

    @property
    def best_action(self) -> Any:
        """What would be decided now."""
        return self._appraisal.search.best

    def set_X_pending(self, X_pending: Tensor | None = None) -> None:  # noqa: N802 (the name that BoTorch gave it)
        """Designs (p x d) whose outcomes are still to come: values count what X adds to them."""
        super().set_X_pending(X_pending)
        X = self._appraisal.belief.X
        waiting = X[:0] if self.X_pending is None else self.X_pending.to(X)
        if waiting.shape[-1] != X.shape[-1] or waiting.dim() != 2:
            raise InputError(f"pending designs have shape p x {X.shape[-1]}, got {tuple(waiting.shape)}")
        self._appraisal = replace(self._appraisal, pending=waiting)
        self._of_pending: dict[int, Tensor | float] = {}

    @t_batch_mode_transform()
    def forward(self, X: Tensor) -> Tensor:
        """EHIG of each set of q designs: ... x q x d to ... ."""
        q = X.shape[-2]
        formula = self._appraisal.applicable(q)
        if X.requires_grad and formula is not None and not formula.differentiable:
            raise InputError(
                f"the gain of {self._appraisal.decision!r} has no gradient; use optimize_acqf_discrete, or"
                ' optimize_acqf with options={"with_grad": False}'
            )
        designs = X.to(self._appraisal.belief.X).reshape(-1, *X.shape[-2:])
        nodes = self._appraisal.nodes(self.outcomes, q)
        rows = self._appraisal.rows(nodes.count, q)
        parts = [self._appraisal.with_gradient(part, nodes, self.steps) for part in designs.split(rows)]
        if q not in self._of_pending:
            self._of_pending[q] = self._pending_part(nodes, formula)
        return (torch.cat(parts) - self._of_pending[q]).reshape(X.shape[:-2]).to(X)

    @torch.no_grad()
    def _pending_part(self, nodes: Nodes, formula: GainFormula | None) -> Tensor | float:
        """The gain of the pending designs alone, for the same outcomes of theirs and searched as thoroughly."""
        waiting = self._appraisal.pending
        if formula is not None or not len(waiting):
            return self._appraisal.of_pending(nodes)
        alone = replace(self._appraisal, pending=waiting[:0])
        outcomes = Nodes(nodes.z[:, : len(waiting)], nodes.weights, nodes.component)
        return alone.with_gradient(waiting.unsqueeze(0), outcomes, self.steps)[0]


def _box(bounds: Tensor | None) -> Space:
    limits = torch.as_tensor(bounds, dtype=torch.float64)
    if limits.dim() != 2 or limits.shape[0] != 2:
        raise InputError(f"bounds have shape 2 x d (lower, upper), got {tuple(limits.shape)}")
    return Space.box(limits[0].tolist(), limits[1].tolist())
