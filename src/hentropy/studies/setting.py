"""The setting of a study: what can be run and measured, what may be decided on, and what experiments cost.

Costs, as they are stated or were told, count when the next experiment is chosen:

a number         every experiment costs the same
an expression    "2 + 0.1 * minutes + price[ligand]", over the parameters and the tables of the space
a function       of designs b x q x d, which returns b costs
"told"           each result comes with its cost; a model of the logarithm predicts that of other designs

An assay costs its own, beside what the design costs.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hentropy.core.given import closest, is_finite
from hentropy.core.models import fit
from hentropy.core.solvers import Assay, Cost, CostFunction, NetOfCost
from hentropy.core.solvers.base import checked_cost
from hentropy.core.spaces import DesignSpace, Params, Pool, Space
from hentropy.core.spaces.evaluation import check, evaluate
from hentropy.core.spaces.expressions import Expression, parse
from hentropy.errors import DocPage, InputError, StudyError, explained_in
from hentropy.lazy import Tensor, torch
from hentropy.studies.records import Trial
from hentropy.studies.records.numbers import value_text
from hentropy.studies.records.outcome import check_text


def setting(space: DesignSpace, decide_on: Any) -> tuple[DesignSpace, DesignSpace]:
    """What can be run, and what may be decided on, in the same coordinates."""
    if decide_on is None:
        return space, space
    if isinstance(decide_on, Mapping):
        return space, space.fixed(**decide_on)
    if not isinstance(decide_on, DesignSpace):
        raise InputError(
            'decide_on must be a space, a pool, or values that are fixed, such as {"fidelity": 1.0};'
            f" got {decide_on!r}"
        )
    if isinstance(space, Pool) and not isinstance(decide_on, Pool):
        return space.within(decide_on), decide_on
    if isinstance(decide_on, Pool):
        return space, decide_on.within(space)
    if [(f.name, f.options) for f in space.fields] != [(f.name, f.options) for f in decide_on.fields]:
        raise InputError(
            f"decide_on has the parameters {', '.join(decide_on.names)}, the space has {', '.join(space.names)};"
            " they must be the same, with the same options"
        )
    return space, decide_on


def fixes_what_varies(space: DesignSpace, decide_on: DesignSpace) -> bool:
    """Whether the decision is about one value of a parameter that experiments vary, such as a fidelity."""
    if decide_on is space:
        return False
    if isinstance(decide_on, Space):
        return bool(decide_on.held.keys() - (space.held.keys() if isinstance(space, Space) else ()))
    rows, others = decide_on.points, space.points
    assert rows is not None
    one = (rows == rows[:1]).all(0)
    return bool((one if others is None else one & (others != others[:1]).any(0)).any())


MOST_ASSAYS = 12
"""The assays of a study."""

BETWEEN = ";"
"""What stands between outcomes in a cell of a table, so that no assay measures one with this in its name."""


class Assays(dict[str, Assay]):
    """Assays by name, in their order; none where every experiment measures all that is `measured`."""

    def __init__(self, by_name: Mapping[str, Assay] | None = None, measured: Sequence[str] = ()) -> None:
        super().__init__(by_name or {})
        self.measured = tuple(measured)

    @classmethod
    def of(cls, given: Any, measured: Sequence[str]) -> "Assays":
        """Checked against the outcomes that are measured."""
        if given is None or (isinstance(given, Mapping) and not given):
            return cls({}, measured)
        if not isinstance(given, Mapping) or not all(isinstance(one, Assay) for one in given.values()):
            raise InputError(
                f'assays must be a table such as {{"titration": Assay(["impurity"], cost=1)}}, got {given!r}'
            )
        if len(given) > MOST_ASSAYS:
            raise InputError(f"a study has at most {MOST_ASSAYS} assays, got {len(given)}")
        seen: dict[frozenset[str], str] = {}
        for name, one in given.items():
            _check_assay(name, one, measured)
            other = seen.setdefault(frozenset(one.measures), name)
            if other != name:
                raise InputError(f"{other} and {name} measure the same; keep the one that you would run")
        return cls(given, measured)

    @cached_property
    def everything(self) -> tuple[str, ...]:
        """What all of them measure, or without any all outcomes, in their order."""
        return self.in_order({name for one in self.values() for name in one.measures} or set(self.measured))

    def in_order(self, names: Collection[str]) -> tuple[str, ...]:
        """Outcomes in the order of the study."""
        return tuple(name for name in self.measured if name in names)

    def asked(self, measures: Sequence[str]) -> tuple[str, ...]:
        """What a trial with this record is to measure: without one, everything."""
        return tuple(measures) or self.measured

    def chosen(self, measures: str | Sequence[str]) -> str:
        """The name of the assay that is meant: its name itself, or the outcomes that it measures."""
        if not self:
            raise InputError("the study has no assays, so every experiment measures all outcomes; leave measures out")
        if isinstance(measures, str) and measures in self:
            return measures
        wanted = {measures} if isinstance(measures, str) else set(measures)
        for name, one in self.items():
            if set(one.measures) == wanted:
                return name
        listed = "; ".join(f"{name} ({', '.join(one.measures)})" for name, one in self.items())
        said = measures if isinstance(measures, str) else ", ".join(map(str, measures)) or "nothing"
        raise InputError(f"no assay measures just {said}; the assays are {listed}")

    def name_of(self, measures: Collection[str]) -> str:
        """The assay that measures these; empty where it takes several, or there are none."""
        return next((name for name, one in self.items() if set(one.measures) == set(measures)), "")

    def cost_of(self, measures: Collection[str]) -> float:
        """The cost of measuring some outcomes of a design: that of the cheapest assays that do."""
        wanted = frozenset(measures)
        if name := self.name_of(wanted):
            return self[name].cost
        least: dict[frozenset[str], float] = {frozenset(): 0.0}
        for one in self.values():
            for known, cost in tuple(least.items()):
                more = known | (wanted & set(one.measures))
                least[more] = min(cost + one.cost, least.get(more, float("inf")))
        return least.get(wanted, sum(one.cost for one in self.values()))

    def widest(self, names: Collection[str]) -> str:
        """The assay that measures most of some outcomes, of several the cheapest."""
        return max(self, key=lambda name: (len(set(names) & set(self[name].measures)), -self[name].cost))

    def check_by_hand(self, what: str) -> None:
        """A `StudyError` if there are assays: who calls `what` with a design does not say which one to run."""
        if self:
            raise StudyError(
                f"{what} is called with a design alone, and not told which assay to run; ask and tell, or leave out"
                " assays"
            )

    def check_decided(self, decided: Collection[str]) -> None:
        """An `InputError` if no assay measures something that the decision is about."""
        missing = [name for name in decided if name in self.measured and name not in self.everything]
        if self and missing:
            raise InputError(f"the decision is about {missing[0]}, which no assay measures; add one that does")


def _check_assay(name: Any, one: Assay, measured: Sequence[str]) -> None:
    check_text("assay", name)
    for outcome in one.measures:
        if outcome not in measured:
            close = closest(str(outcome), measured)
            meant = f"; did you mean {close}?" if close else ""
            raise InputError(f"the assay {name} measures {outcome!r}; measured are {', '.join(measured)}{meant}")
        if BETWEEN in outcome:
            raise InputError(f"the assay {name} measures {outcome!r}, with a {BETWEEN!r} in its name; give it another")
    if len(set(one.measures)) < len(one.measures):
        raise InputError(f"the assay {name} measures {', '.join(one.measures)}: one of them twice")


TOLD = "told"

CHECKED = 256
"""Designs at which an expression must be above zero."""

FEWEST = 4
"""From this many told costs on, a model predicts others; before, all designs are taken to cost the same."""

Stated = float | str | CostFunction


def _in_short(params: Params) -> str:
    return ", ".join(f"{name} {value_text(value)}" for name, value in params.items())


@dataclass(frozen=True)
class Costs:
    """What experiments on a space cost, in some `unit`, and the `price` of one in units of the loss, if it has one."""

    stated: Stated | None
    price: float | None
    space: DesignSpace
    unit: str = ""
    assays: Assays = field(default_factory=Assays)

    @classmethod
    @explained_in(DocPage.COSTS)
    def of(cls, stated: Any, price: Any, space: DesignSpace, unit: str = "", assays: Assays | None = None) -> "Costs":
        """Checked: every design has a cost above zero."""
        assays = Assays() if assays is None else assays
        if price is not None and not (is_finite(price) and price > 0):
            raise InputError(f"the price of a unit of cost must be a finite number above 0, got {price!r}")
        if stated is None and price is not None and not assays:
            raise InputError("a price needs costs; give cost as well")
        if isinstance(stated, str) and stated == TOLD and assays:
            raise InputError(
                f'costs that are "{TOLD}" do not go with assays, which say what they cost; give cost as a number or an'
                " expression, or leave it out"
            )
        if isinstance(stated, str) and stated != TOLD:
            check(parse(stated), space.kinds, space.all_tables, condition=False)
        elif not (stated is None or isinstance(stated, str) or callable(stated) or is_finite(stated)):
            raise InputError(
                f'cost must be a number, an expression such as "1 + 0.1 * minutes", "{TOLD}", or a function from'
                f" designs b x q x d to their b costs; got {stated!r}"
            )
        made = cls(stated, price, space, unit, assays)
        if stated is not None and stated != TOLD and not callable(stated) and not (is_finite(stated) and stated > 0):
            made._check_some()
        return made

    def _check_some(self) -> None:
        rows = self.space.sample(CHECKED, 0)
        each = self._fixed(rows.unsqueeze(-2))
        bad = (~((each > 0) & torch.isfinite(each))).nonzero()
        if len(bad):
            row = int(bad[0])
            raise InputError(
                f"the cost of the design {_in_short(self.space.decode(rows[row]))} is {float(each[row]):g}; all costs"
                " must be finite and above 0"
            )

    @property
    def are_known(self) -> bool:
        """Whether anything is known of what experiments cost."""
        return self.stated is not None or bool(self.assays)

    @property
    def is_told(self) -> bool:
        """Whether results come with their costs."""
        return self.stated == TOLD

    @cached_property
    def _expression(self) -> Expression:
        return parse(str(self.stated))

    def _fixed(self, x: Tensor) -> Tensor:
        """The stated costs of sets of designs b x q x d: b."""
        if callable(self.stated):
            return checked_cost(self.stated, x)
        if isinstance(self.stated, str):
            return evaluate(self._expression, self.space.free_columns(x), self.space.all_tables).to(x).sum(-1)
        return torch.full(x.shape[:1], float(self.stated or 0.0), dtype=x.dtype, device=x.device) * x.shape[-2]

    def function(
        self, trials: Sequence[Trial], row_of: Callable[[Trial], Tensor], measures: Collection[str] = ()
    ) -> CostFunction | None:
        """The costs of designs b x q x d, as far as they are known: None while they say nothing.

        With assays, some outcomes are measured of each design.
        """
        if not self.are_known:
            return None
        if self.assays:
            assay = self.assays.cost_of(measures or self.assays.everything)
            return lambda x: self._fixed(x) + assay * x.shape[-2]
        if not self.is_told:
            return self._fixed
        known = [trial for trial in trials if trial.cost is not None]
        if len(known) < FEWEST:
            return None
        X = torch.stack([row_of(trial) for trial in known])
        logs = torch.tensor([trial.cost for trial in known], dtype=torch.float64).log()
        belief = fit(X, logs, space=self.space, hyperparameters="map")

        def predicted(x: Tensor) -> Tensor:
            return belief.means(x.to(belief.X)).mean[0].exp().sum(-1)

        return predicted

    def outlay(
        self, trials: Sequence[Trial], row_of: Callable[[Trial], Tensor], measures: Collection[str] = ()
    ) -> Cost | None:
        """How costs count when designs are compared: gain per cost, or less cost times price."""
        function = self.function(trials, row_of, measures)
        if function is None or self.price is None:
            return function
        return NetOfCost(function, self.price)

    def expected(
        self,
        rows: Sequence[Tensor],
        trials: Sequence[Trial],
        row_of: Callable[[Trial], Tensor],
        measures: Collection[str] = (),
    ) -> list[float | None]:
        """What each design (d) is expected to cost; None where nothing is known of it."""
        function = self.function(trials, row_of, measures)
        if function is None or not rows:
            return [None] * len(rows)
        with torch.no_grad():
            return [float(cost) for cost in checked_cost(function, torch.stack(list(rows)).unsqueeze(-2))]
