"""`propose_assay`: where an experiment may measure only some outcomes, which assay to run and at which designs.

The gain of an assay is that of observing its outcomes alone. Where outcomes are correlated, one tells about another: a
quick assay of impurity may be worth more for its cost than a slow one of yield, though the decision is about yield.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hentropy.core.beliefs import Belief
from hentropy.core.decisions import Decision
from hentropy.core.given import is_finite
from hentropy.core.solvers.propose import Proposal, propose
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.lazy import Tensor


@dataclass(frozen=True)
class Assay:
    """What an experiment measures, by the names of outcomes, and what it costs."""

    measures: Sequence[str]
    cost: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.measures, str) or not self.measures:
            raise InputError(f'an assay measures a list of outcomes, such as ["impurity"]; got {self.measures!r}')
        object.__setattr__(self, "measures", tuple(self.measures))
        if not (is_finite(self.cost) and self.cost > 0):
            raise InputError(f"the cost of an assay must be a finite number above 0, got {self.cost!r}")


@dataclass(frozen=True)
class AssayProposal:
    """The assay to run next, by name, and the designs to run it at; `per_cost` are the gains per cost of all assays."""

    name: str
    assay: Assay
    proposal: Proposal
    per_cost: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.assay.measures)}; cost {self.assay.cost:g}) {self.proposal}"


def propose_assay(
    decision: Decision,
    belief: Belief,
    space: DesignSpace,
    assays: Mapping[str, Assay],
    *,
    pending: Tensor | None = None,
    pending_measures: Sequence[Collection[str]] | None = None,
    **options: Any,
) -> AssayProposal:
    """The assay with the largest gain per cost, and the designs that attain it; `options` are those of `propose`.

    Pending designs (p x d) are measured by the same assay, unless `pending_measures` gives the outcomes of each. An
    assay that is not informative about the outcomes of the decision has no gain.
    """
    if not isinstance(assays, Mapping) or not all(isinstance(one, Assay) for one in assays.values()) or not assays:
        raise InputError(f'assays are given by name, such as {{"quick": Assay(["impurity"], cost=1)}}; got {assays!r}')
    if options.get("cost") is not None:
        raise InputError("an assay has a cost of its own; leave cost out")
    telling = belief.related(*(decision.outcomes or belief.outcomes))
    found: dict[str, Proposal] = {}
    for name, assay in assays.items():
        if telling & set(assay.measures):
            view, waiting = observing(decision, belief, assay.measures, pending, pending_measures)
            found[name] = propose(decision, view, space, pending=waiting, **options)
    if not found:
        listed = ", ".join(sorted(telling))
        raise InputError(f"no assay measures what the decision depends on: {listed}; add one that does")
    worth = {name: one.gain / (assays[name].cost * len(one.x)) for name, one in found.items()}
    best = max(worth, key=lambda name: worth[name])
    return AssayProposal(best, assays[best], found[best], dict.fromkeys(assays, 0.0) | worth)


def observing(
    decision: Decision,
    belief: Belief,
    measures: Collection[str],
    pending: Tensor | None = None,
    pending_measures: Sequence[Collection[str]] | None = None,
) -> tuple[Belief, Tensor | None]:
    """The belief where observations are of some outcomes, and the pending designs (p x d) that tell something.

    Outcomes that tell nothing about the decision are left out.
    """
    telling = belief.related(*(decision.outcomes or belief.outcomes))
    names = [name for name in measures if name in telling]
    if not names:
        listed = ", ".join(sorted(telling))
        raise InputError(f"what is measured ({', '.join(measures)}) tells nothing of {listed}; measure something else")
    view = belief.measuring(*names)
    if pending is None or pending_measures is None:
        return view, pending
    each = [telling & set(names) for names in pending_measures]
    kept = [j for j, seen in enumerate(each) if seen]
    return view.awaiting(*(each[j] for j in kept)), pending[kept] if kept else None
