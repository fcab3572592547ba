"""The assays of a study: which outcomes one experiment may measure, and what that costs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hentropy.core.given import closest
from hentropy.core.solvers import Assay
from hentropy.errors import InputError, StudyError
from hentropy.studies.records.outcome import LONGEST

MOST = 12
"""The assays of a study."""

BETWEEN = ";"
"""What stands between outcomes in a cell of a table, so that no assay measures one with this in its name."""


@dataclass(frozen=True)
class Assays:
    """Assays by name, in their order; none where every experiment measures all that is `measured`."""

    by_name: Mapping[str, Assay] = field(default_factory=dict)
    measured: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Any, measured: Sequence[str]) -> "Assays":
        """Checked against the outcomes that are measured."""
        if given is None or (isinstance(given, Mapping) and not given):
            return cls({}, tuple(measured))
        if not isinstance(given, Mapping) or not all(isinstance(one, Assay) for one in given.values()):
            raise InputError(
                f'assays must be a table such as {{"titration": Assay(["impurity"], cost=1)}}, got {given!r}'
            )
        if len(given) > MOST:
            raise InputError(f"a study has at most {MOST} assays, got {len(given)}")
        seen: dict[frozenset[str], str] = {}
        for name, one in given.items():
            _check(name, one, measured)
            other = seen.setdefault(frozenset(one.measures), name)
            if other != name:
                raise InputError(f"{other} and {name} measure the same; keep the one that you would run")
        return cls(dict(given), tuple(measured))

    def __bool__(self) -> bool:
        """Whether there is anything to choose."""
        return bool(self.by_name)

    @cached_property
    def everything(self) -> tuple[str, ...]:
        """What all of them measure, or without any all outcomes, in their order."""
        return self.in_order({name for one in self.by_name.values() for name in one.measures} or set(self.measured))

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
        if isinstance(measures, str) and measures in self.by_name:
            return measures
        wanted = {measures} if isinstance(measures, str) else set(measures)
        for name, one in self.by_name.items():
            if set(one.measures) == wanted:
                return name
        listed = "; ".join(f"{name} ({', '.join(one.measures)})" for name, one in self.by_name.items())
        said = measures if isinstance(measures, str) else ", ".join(map(str, measures)) or "nothing"
        raise InputError(f"no assay measures just {said}; the assays are {listed}")

    def name_of(self, measures: Collection[str]) -> str:
        """The assay that measures these; empty where it takes several, or there are none."""
        return next((name for name, one in self.by_name.items() if set(one.measures) == set(measures)), "")

    def cost_of(self, measures: Collection[str]) -> float:
        """What it costs to measure some outcomes of a design: by the assays that do for the least."""
        wanted = frozenset(measures)
        if name := self.name_of(wanted):
            return self.by_name[name].cost
        least: dict[frozenset[str], float] = {frozenset(): 0.0}
        for one in self.by_name.values():
            for known, cost in tuple(least.items()):
                more = known | (wanted & set(one.measures))
                least[more] = min(cost + one.cost, least.get(more, float("inf")))
        return least.get(wanted, sum(one.cost for one in self.by_name.values()))

    def widest(self, names: Collection[str]) -> str:
        """The assay that measures most of some outcomes, of several the cheapest."""
        return max(self.by_name, key=lambda name: (len(set(names) & set(self[name].measures)), -self[name].cost))

    def __getitem__(self, name: str) -> Assay:
        """The assay of a name."""
        return self.by_name[name]

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


def _check(name: Any, one: Assay, measured: Sequence[str]) -> None:
    if not isinstance(name, str) or not name.strip() or name != name.strip() or not name.isprintable():
        raise InputError(f"an assay is called {name!r}; its name must be a text without spaces around it")
    if len(name) > LONGEST:
        raise InputError(f"the name of the assay {name[:20]}... has {len(name)} letters; at most {LONGEST} are kept")
    for outcome in one.measures:
        if outcome not in measured:
            close = closest(str(outcome), measured)
            meant = f"; did you mean {close}?" if close else ""
            raise InputError(f"the assay {name} measures {outcome!r}; measured are {', '.join(measured)}{meant}")
        if BETWEEN in outcome:
            raise InputError(f"the assay {name} measures {outcome!r}, with a {BETWEEN!r} in its name; give it another")
    if len(set(one.measures)) < len(one.measures):
        raise InputError(f"the assay {name} measures {', '.join(one.measures)}: one of them twice")
