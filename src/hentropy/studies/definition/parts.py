"""The smaller tables of a study file: outcomes, assays, model, solver, stop, storage, objective; amounts of memory."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, model_validator

from hentropy.core.clock import Limits
from hentropy.core.given import Tails
from hentropy.core.models.gp import Treatment
from hentropy.core.solvers import Assay
from hentropy.errors import InputError
from hentropy.studies.definition.base import Label, Number, Reference, Text, Unit, Whole, Words, YesNo, plain
from hentropy.studies.outcomes import Computed
from hentropy.studies.records.outcome import Kind, Outcome
from hentropy.studies.stopping import Budget, GainBelow, GainBelowCost, StoppingRule, TimeLimit

UNITS = {
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", start=1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", start=1)},
}


def bytes_of(amount: int | str) -> int:
    """The number of bytes."""
    if isinstance(amount, int):
        return amount
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", amount)
    if parts is None or parts[2].lower() not in UNITS:
        raise InputError(f'{amount!r} is not an amount of memory; write it like "512 MiB" or "2 GB", or give bytes')
    return int(float(parts[1]) * UNITS[parts[2].lower()])


class ModelWords(Words):
    """How the model of the outcomes is fitted."""

    model_config = ConfigDict(title="Model")

    hyperparameters: Annotated[
        Treatment,
        Field(
            description='"map" fits one model, "mixture" averages over several of one kind, "families" over several'
            ' kinds, by how well they predict, "transformed" also over models of transformed outcomes where these are'
            ' skewed; "auto" is "transformed".'
        ),
    ] = "auto"
    python: Annotated[
        Reference | None,
        Field(
            description="A model of your own in place of it: a function from he.ModelData to a belief, as"
            ' "module:function"; modules next to the study file are found.'
        ),
    ] = None
    failures: Annotated[
        Literal["learn", "ignore"],
        Field(
            description='"learn" learns from failed experiments where others would fail, "ignore" only keeps a little'
            " away from them."
        ),
    ] = "learn"
    at_least: Annotated[
        Number,
        Field(ge=0, lt=1, description="A design is decided on only if it succeeds with at least this probability."),
    ] = 0.5

    @model_validator(mode="after")
    def _fits_together(self) -> "ModelWords":
        if self.python is not None and self.hyperparameters != "auto":
            raise InputError("hyperparameters are those of the model that a study fits itself; leave them out")
        return self


def _enough_memory(amount: int | str | None) -> int | str | None:
    if amount is not None:
        Limits(max_memory=bytes_of(amount))
    return amount


class SolverWords(Words):
    """Bounds on the search for the next experiment."""

    model_config = ConfigDict(title="Solver")

    max_seconds: Annotated[
        Number | None, Field(gt=0, description="The time limit of one proposal, in seconds.", examples=[5.0])
    ] = None
    max_memory: Annotated[
        Whole | Text | None,
        AfterValidator(_enough_memory),
        Field(
            description="The memory limit of the largest arrays: bytes, or a text such as '32 MiB'. Without it, and at"
            " most, 64 MiB.",
            examples=["32 MiB"],
        ),
    ] = None

    @property
    def memory(self) -> int | None:
        """The bound on memory in bytes."""
        return None if self.max_memory is None else bytes_of(self.max_memory)


class OutcomeWords(Words):
    """Something that experiments measure, or that is computed from the design."""

    model_config = ConfigDict(title="Outcome")

    unit: Annotated[Unit, Field(description="What it is measured in.", examples=["%"])] = ""
    log: Annotated[
        YesNo,
        Field(
            description="Whether it is always above 0 and known by its ratios: models are of its logarithm.",
            examples=[True],
        ),
    ] = False
    kind: Annotated[
        Kind,
        Field(
            description="What is seen: a number, yes or no, or a grade. Models and decisions are then about the"
            " probability of yes, or of a grade."
        ),
    ] = "number"
    grades: Annotated[tuple[Label, ...], Field(description="The grades, from the worst to the best.")] = ()
    at_least: Annotated[
        Label | None,
        Field(description="The grade whose probability counts, with that of better ones. If left out: the best one."),
    ] = None
    noise: Annotated[
        Number | None,
        Field(
            ge=0,
            description="By how much a result differs when the experiment is repeated: the standard deviation of one"
            " measurement, in the unit of the outcome. 0: not at all. If left out: it is learned from the data.",
            examples=[0.5],
        ),
    ] = None
    low: Annotated[
        Number | None,
        Field(description="The least value that it can have, such as 0. If left out: there is none.", examples=[0]),
    ] = None
    high: Annotated[
        Number | None,
        Field(
            description="The greatest value that it can have, such as 100. If left out: there is none.", examples=[100]
        ),
    ] = None
    tails: Annotated[
        Tails | None,
        Field(
            description='"heavy": a result may be grossly wrong now and then; those that others contradict count for'
            " little, and the noise is that of usual results. If left out: errors are normal.",
            examples=["heavy"],
        ),
    ] = None
    computed: Annotated[
        Label | None,
        Field(
            description='How it follows from the design, such as "2 * loading + 0.3 * minutes". If left out: it is'
            " measured."
        ),
    ] = None

    def build(self, name: str) -> Outcome | Computed:
        """The outcome itself."""
        if self.computed is None:
            return Outcome(**{key: value for key, value in self if key != "computed"})
        if self.log:
            raise InputError(f"{name} is computed, so it has no log")
        if not self.noise is self.low is self.high is None or self.tails:
            raise InputError(
                f"{name} is computed, so it has no noise and no bounds; leave noise, tails, low and high out"
            )
        if self.kind != "number" or self.grades or self.at_least is not None:
            raise InputError(f"{name} is computed, so it is a number")
        return Computed(name, self.computed, self.unit)


class AssayWords(Words):
    """What one experiment may measure."""

    model_config = ConfigDict(title="Assay")

    measures: Annotated[tuple[Label, ...], Field(min_length=1, description="The outcomes that it measures.")]
    cost: Annotated[
        Number,
        Field(gt=0, description="What it costs at one design, in the unit of [cost], added to that of the design."),
    ] = 1.0

    def build(self) -> Assay:
        """The assay itself."""
        return Assay(self.measures, self.cost)


class CostWords(Words):
    """What experiments cost."""

    model_config = ConfigDict(title="Cost")

    of: Annotated[
        Number | Label | None,
        Field(
            description='A number, an expression such as "2 + 0.1 * minutes + price[ligand]", or "told" if each result'
            " comes with its cost. With assays it may be left out: then only these cost.",
            examples=["told"],
        ),
    ] = None
    unit: Annotated[Text, Field(description="The unit of the cost.", examples=["hours"])] = ""
    price: Annotated[
        Number | None,
        Field(
            gt=0,
            description="What a unit of cost is worth, in the units of the loss: experiments are then chosen by gain"
            " less price times cost. If left out: by gain per cost.",
            examples=[0.1],
        ),
    ] = None


class StopWords(Words):
    """When the study ends: as soon as one of these holds."""

    model_config = ConfigDict(title="Stop")

    trials: Annotated[Whole | None, Field(ge=1, description="After this many experiments, failed ones included.")] = (
        None
    )
    seconds: Annotated[Number | None, Field(gt=0, description="After this many seconds.", examples=[3600])] = None
    gain_below: Annotated[
        Number | None,
        Field(gt=0, description="When the gain of the best experiment is below this number.", examples=[0.01]),
    ] = None
    patience: Annotated[
        Whole, Field(ge=1, description="How many times in a row the gain has to be below gain_below.")
    ] = 1
    cost: Annotated[
        Number | None,
        Field(
            gt=0,
            description="When the best experiment is expected to save less than this, in the units of the loss.",
            examples=[0.1],
        ),
    ] = None

    spend: Annotated[
        Number | None,
        Field(gt=0, description="Once experiments have cost this much in total; needs [cost].", examples=[60]),
    ] = None
    worth_its_cost: Annotated[
        YesNo,
        Field(
            description="When the best experiment is expected to save less than it costs, at the price of [cost].",
            examples=[True],
        ),
    ] = False
    when_exhausted: Annotated[
        YesNo, Field(description="When no experiment is expected to improve the decision any more.")
    ] = True

    def build(self, cost: CostWords | None = None) -> tuple[StoppingRule, ...]:
        """The rules themselves; `when_exhausted` is an option of the study."""
        rules: list[StoppingRule] = []
        if self.trials is not None:
            rules.append(Budget(self.trials))
        if self.spend is not None:
            rules.append(Budget(cost=self.spend, unit="" if cost is None else cost.unit))
        if self.worth_its_cost:
            rules.append(GainBelowCost(price=1.0 if cost is None or cost.price is None else cost.price))
        if self.seconds is not None:
            rules.append(TimeLimit(self.seconds))
        if self.gain_below is not None:
            rules.append(GainBelow(self.gain_below, self.patience))
        if self.cost is not None:
            rules.append(GainBelowCost(self.cost))
        return tuple(rules)

    @model_validator(mode="after")
    def _fits_together(self) -> "StopWords":
        if self.patience != 1 and self.gain_below is None:
            raise InputError("patience counts gains below gain_below, which is not given")
        return self


RULES: Mapping[type[StoppingRule], Callable[[Any], dict[str, Any]]] = {
    Budget: lambda rule: {"trials": rule.trials, "spend": rule.cost},
    TimeLimit: lambda rule: {"seconds": rule.seconds},
    GainBelow: lambda rule: {"gain_below": rule.threshold, "patience": rule.patience},
    GainBelowCost: lambda rule: {"worth_its_cost": True} if rule.cost is None else {"cost": rule.cost},
}
"""What [stop] says for each rule: the inverse of `StopWords.build`."""


def rule_words(rule: StoppingRule) -> dict[str, Any] | None:
    """A rule in words; None where it has none."""
    if type(rule) not in RULES:
        return None
    try:
        words = {key: plain(value) for key, value in RULES[type(rule)](rule).items() if value is not None}
        StopWords.model_validate(words)
    except (TypeError, ValidationError):
        return None
    return words


def _known_database(url: str | None) -> str | None:
    if url is None:
        return None
    if not re.match(r"sqlite:///[^?]|postgresql(\+\w+)?://.", url):
        kind = url.partition(":")[0]  # the rest may hold a password
        raise InputError(
            f"a url that starts with {kind!r} is not known; write sqlite:///file.db or postgresql://host/database"
        )
    if url.startswith("sqlite:///:memory:"):
        raise InputError("a database in memory is gone when the process ends; name a file: sqlite:///file.db")
    return url


class StorageWords(Words):
    """Where the study is kept."""

    model_config = ConfigDict(title="Storage")

    url: Annotated[
        Label | None,
        AfterValidator(_known_database),
        Field(
            description='The database, such as "sqlite:///lab.db" (a path from the folder of the study file) or'
            ' "postgresql://user@host/database". If left out: hentropy.db next to the study file.',
            examples=["sqlite:///hentropy.db"],
        ),
    ] = None


class ObjectiveWords(Words):
    """How experiments are run, and how often they are tried again."""

    retries: Annotated[Whole, Field(ge=0, description="How often a failed experiment is retried.")] = 0
    lost_retries: Annotated[
        Whole,
        Field(ge=0, description="How often an experiment whose worker was lost is retried; then it is withdrawn."),
    ] = 3
    lease: Annotated[
        Number, Field(gt=0, description="Seconds after which the experiment of a silent worker is given to another.")
    ] = 60.0


_TIMEOUT = Field(gt=0, description="Seconds after which an experiment is ended and counts as failed.", examples=[600])


class Manual(ObjectiveWords):
    """You run the experiments and tell their values."""

    type: Annotated[Literal["manual"], Field(description="You run the experiments yourself.")]


class PythonFunction(ObjectiveWords):
    """A Python function runs the experiments."""

    model_config = ConfigDict(title="Python function")

    type: Annotated[Literal["python"], Field(description="A Python function runs the experiments.")]
    function: Annotated[
        Reference,
        Field(description='The function, as "module:function"; modules next to the study file are found.'),
    ]
    timeout: Annotated[Number | None, _TIMEOUT] = None


class Command(ObjectiveWords):
    """A program runs the experiments."""

    type: Annotated[Literal["command"], Field(description="A program runs the experiments.")]
    command: Annotated[
        tuple[Label, ...],
        Field(min_length=1, description='The program and its arguments, such as ["./measure", "--fast"].'),
    ]
    timeout: Annotated[Number | None, _TIMEOUT] = None


AnyObjective = Annotated[Manual | PythonFunction | Command, Field(discriminator="type")]

OBJECTIVES: dict[str, type[ObjectiveWords]] = {
    get_args(words.model_fields["type"].annotation)[0]: words for words in get_args(get_args(AnyObjective)[0])
}
"""The words of every way to run experiments, by its type."""
