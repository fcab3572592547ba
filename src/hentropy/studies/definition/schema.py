"""`Description`: a study in words, as it stands in a study file and in a store; and its JSON Schema for editors."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from hentropy.core.given import MOST_FIRST, SEEDS
from hentropy.core.spaces import DesignSpace, Space
from hentropy.core.spaces.constraints import Condition
from hentropy.errors import InputError, StudyError
from hentropy.studies.definition.base import Label, Number, StudyName, Text, Whole, Words
from hentropy.studies.definition.decisions import AnyDecision, Named, Own
from hentropy.studies.definition.designs import DecideOnWords, ParameterWords, PoolWords
from hentropy.studies.definition.parts import (
    AnyObjective,
    AssayWords,
    CostWords,
    Manual,
    ModelWords,
    OutcomeWords,
    SolverWords,
    StopWords,
    StorageWords,
)
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.setting import Assays, Costs, setting

VERSION = 1

TAKEN = ("self", "where", "tables", "same_in_batch")
"""What `Space` calls its other arguments."""

Part = Literal["decision", "model", "solver", "cost", "stop", "where"]
"""A part of a study that may be made in Python and have no words."""


def _without_default(outcomes: dict[str, OutcomeWords]) -> dict[str, OutcomeWords]:
    """The one outcome "value" goes without saying."""
    return {} if outcomes == {"value": OutcomeWords()} else outcomes


@contextmanager
def _part(name: str) -> Iterator[None]:
    """An error within says which part it is about."""
    try:
        yield
    except (InputError, StudyError) as error:
        raise InputError(f"{name}: {error}") from None


class Description(Words):
    """A study of hentropy: what can be run, what will be decided, and when to stop."""

    model_config = ConfigDict(title="hentropy study file")

    version: Annotated[Literal[1], Field(description="The file-format version: 1.")]
    name: Annotated[StudyName, Field(description="The name of the study.")]
    seed: Annotated[
        Whole, Field(ge=0, lt=SEEDS, description="The random seed: the same seed gives the same proposals.")
    ] = 0
    first: Annotated[
        Whole | None,
        Field(
            ge=1,
            le=MOST_FIRST,
            description="How many first designs fill the space; attached data count. If left out: 2 (d + 1)"
            " for d parameters, at least 4 and at most 12.",
        ),
    ] = None
    space: Annotated[
        dict[Label, ParameterWords] | None,
        Field(
            min_length=1,
            description="The parameters of a design, by name: numbers (real, integer), one of several options (choice)"
            " or of ordered values (levels), or parts of a whole (fractions). Numbers may have a step and a unit; log ="
            " true: equal ratios count as equal steps. Give either this or a pool.",
        ),
    ] = None
    where: Annotated[
        tuple[Label, ...],
        Field(
            description="Conditions that every design satisfies, such as \"solvent != 'THF' or temperature <= 66\"."
            " They know + - * / **, comparisons, and, or, not, in, abs, min, max, exp, log, sqrt, and tables by option."
        ),
    ] = ()
    tables: Annotated[
        dict[Label, dict[Text, Number]],
        Field(
            default_factory=dict,
            description="Numbers by option that conditions and costs look up, as boiling_point[solvent].",
        ),
    ]
    same_in_batch: Annotated[
        tuple[Label, ...],
        Field(
            description="Parameters that are the same in all experiments of a batch, as on one plate or in one oven."
        ),
    ] = ()
    pool: Annotated[
        PoolWords | None,
        Field(
            description="A list of candidate designs. Columns of texts are choices. Give either this or a space.",
        ),
    ] = None
    decide_on: Annotated[
        DecideOnWords | None, Field(description="Where the decision may lie. If left out: anywhere in the space.")
    ] = None
    outcomes: Annotated[
        dict[Label, OutcomeWords],
        AfterValidator(_without_default),
        Field(
            default_factory=dict,
            description="What experiments measure: a table for each outcome, called as you like. If left out: one"
            ' outcome, "value".',
        ),
    ]
    assays: Annotated[
        dict[Label, AssayWords],
        Field(
            default_factory=dict,
            description="Which outcomes one experiment may measure, by the name of the assay; the gain per cost decides"
            " which one to run. If left out: every experiment measures all outcomes.",
        ),
    ]
    decision: Annotated[AnyDecision, Field(description="What will be decided in the end, with its options.")]
    cost: Annotated[
        CostWords | None,
        Field(description="What experiments cost; they are then chosen by gain per cost. If left out: all the same."),
    ] = None
    model: Annotated[ModelWords, Field(description="How the model is fitted to the outcomes.")] = ModelWords()
    solver: Annotated[
        SolverWords,
        Field(
            description="Bounds on each search for a next experiment. With max_seconds, proposals depend on the speed"
            " of the machine."
        ),
    ] = SolverWords()
    objective: Annotated[
        AnyObjective, Field(description="How experiments are run. If left out: you run them and tell their values.")
    ] = Manual(type="manual")
    stop: Annotated[
        StopWords, Field(description="When the study ends. If left out: when you end it, or nothing is left to gain.")
    ] = StopWords()
    storage: Annotated[StorageWords, Field(description="The database in which the study is stored.")] = StorageWords()
    own: Annotated[
        tuple[Part, ...], Field(description="The parts that were made in Python and have no words. Not for files.")
    ] = ()

    def designs(self) -> DesignSpace:
        """The space or the pool itself."""
        return self._designs

    @cached_property
    def _designs(self) -> DesignSpace:
        if self.pool is None:
            return self.with_conditions(self.where)
        return _built(self.pool.build, "pool", same_in_batch=self.same_in_batch, tables=self.tables)

    def with_conditions(self, where: Sequence[Condition]) -> Space:
        """The space with other conditions than those in words, which functions are not."""
        parameters = {name: parameter.build() for name, parameter in (self.space or {}).items()}
        parts: dict[str, Any] = {"same_in_batch": self.same_in_batch, "tables": self.tables, "where": where}
        return _built(partial(Space, **parameters), "space", **parts)

    def as_stored(self, first: int) -> "Description":
        """It with the number of first designs, and without the place of its store, which may hold a password."""
        return self.model_copy(update={"first": first, "storage": StorageWords()})

    @property
    def is_read(self) -> bool:
        """Whether all that the designs need is here, and not in files still to be read."""
        parts = [*(self.space or {}).values(), self.pool, self.decide_on]
        return all(part.is_read for part in parts if part is not None)

    @model_validator(mode="after")
    def _fits_together(self) -> "Description":
        if (self.space is None) == (self.pool is None):
            raise InputError("space: give the parameters as [space.NAME] tables, or a [pool], and not both")
        for name in TAKEN:
            if name in (self.space or {}):
                raise InputError(f"space.{name}: a parameter cannot be called {name}; give it another name")
        if self.pool is not None and self.where:
            raise InputError("where: conditions go with a space; of a pool, leave out the rows that cannot be run")
        if isinstance(self.decision, Own) != ("decision" in self.own):
            raise InputError('own: it has to name "decision" where the decision has no words, and only there')
        if not self.is_read:
            return self
        designs = actions_on = self.designs()
        if self.decide_on is not None:
            with _part("decide_on"):
                designs, actions_on = setting(designs, self.decide_on.build())
        with _part("outcomes"):
            outcomes = Outcomes.of({name: one.build(name) for name, one in self.outcomes.items()}, designs)
        with _part("assays"):
            assays = Assays.of({name: one.build() for name, one in self.assays.items()}, outcomes.measured)
            if not isinstance(self.objective, Manual):
                assays.check_by_hand("an objective")
        if isinstance(self.decision, Named):
            with _part("decision"):
                self.decision.instance.within(actions_on)
                replace(outcomes, assays=assays).decided(self.decision.instance)
        if self.cost is not None:
            if self.cost.of is None and not assays:
                raise InputError("cost.of: it is missing; say what an experiment costs, or leave out [cost]")
            with _part("cost.of"):
                Costs.of(self.cost.of, self.cost.price, designs, assays=assays)
        elif not assays and (self.stop.worth_its_cost or self.stop.spend is not None):
            raise InputError("stop: spend and worth_its_cost need to know what experiments cost; give [cost]")
        return self

    def __eq__(self, other: Any) -> bool:
        """Equal values, and parameters, outcomes and assays in the same order: designs are rows in that order."""
        if not isinstance(other, Description):
            return NotImplemented
        ordered = [(list(one.space or {}), list(one.outcomes), list(one.assays)) for one in (self, other)]
        return super().__eq__(other) and ordered[0] == ordered[1]


Designs = TypeVar("Designs", bound=DesignSpace)


def _built(build: Callable[..., Designs], whole: str, **parts: Any) -> Designs:
    """What is built with these parts; an error says which of them is wrong, or the `whole`."""
    try:
        return build(**parts)
    except InputError:
        tried: dict[str, Any] = {}
        for part in (whole, *parts):
            tried |= {part: parts[part]} if part in parts else {}
            try:
                build(**tried)
            except InputError as error:
                raise InputError(f"{part}: {error}") from None
        raise


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a study file; what only a store may hold (`own`) is left out."""
    schema = Description.model_json_schema()
    del schema["properties"]["own"]
    del schema["$defs"]["Own"]
    decision = schema["properties"]["decision"]
    decision["oneOf"] = [form for form in decision["oneOf"] if form != {"$ref": "#/$defs/Own"}]
    one_of = [{"required": ["space"]}, {"required": ["pool"]}]
    return {"$schema": DIALECT, **schema, "oneOf": one_of}
