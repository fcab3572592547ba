"""The tables of a study file but for its decision: parameters, pool, model, solver, objective, stop, storage."""

import re
from typing import Annotated, Literal

from hentropy.clock import Limits
from hentropy.description.base import Label, Number, Reference, Rows, Text, Whole, Words, YesNo
from hentropy.description.memory import bytes_of
from hentropy.errors import InputError, MissingExtra
from hentropy.models.gp import Treatment
from hentropy.spaces import Integer, Parameter, Pool, Real
from hentropy.stopping import Budget, GainBelow, GainBelowCost, StoppingRule, TimeLimit

try:
    from pydantic import AfterValidator, ConfigDict, Field, model_validator
except ImportError:
    raise MissingExtra("pydantic", "storage") from None

_LOG = "Whether equal ratios count as equal steps, as for rates and concentrations; low must then be above 0."


class RealWords(Words):
    """A parameter that can have any value between two bounds."""

    model_config = ConfigDict(title="Real parameter")

    type: Annotated[Literal["real"], Field(description="A real number.")]
    low: Annotated[Number, Field(description="The least value that can be run.")]
    high: Annotated[Number, Field(description="The greatest value that can be run.")]
    log: Annotated[YesNo, Field(description=_LOG)] = False

    def made(self) -> Parameter:
        """The parameter itself."""
        return Real(self.low, self.high, self.log)

    @model_validator(mode="after")
    def _can_be_made(self) -> "RealWords":
        self.made()
        return self


class IntegerWords(Words):
    """A parameter that is a whole number from one bound to the other, both included."""

    model_config = ConfigDict(title="Integer parameter")

    type: Annotated[Literal["integer"], Field(description="A whole number.")]
    low: Annotated[Whole, Field(description="The least value that can be run.")]
    high: Annotated[Whole, Field(description="The greatest value that can be run.")]
    log: Annotated[YesNo, Field(description=_LOG)] = False

    def made(self) -> Parameter:
        """The parameter itself."""
        return Integer(self.low, self.high, self.log)

    @model_validator(mode="after")
    def _can_be_made(self) -> "IntegerWords":
        self.made()
        return self


ParameterWords = Annotated[RealWords | IntegerWords, Field(discriminator="type")]


class PoolWords(Words):
    """A list of the designs that can be run: in a CSV file, or row by row."""

    model_config = ConfigDict(title="Pool")

    file: Annotated[
        Label | None,
        Field(description="A CSV file with a header; its path is taken from the folder of the study file."),
    ] = None
    names: Annotated[tuple[Label, ...] | None, Field(description="The names of the parameters, for rows.")] = None
    rows: Annotated[Rows | None, Field(description="The designs, each a list of numbers in the order of names.")] = None

    def made(self) -> Pool:
        """The pool itself."""
        if self.rows is None:
            raise InputError(f"the designs in {self.file} have not been read; read the study file with `read`")
        return Pool(self.rows, self.names)

    @model_validator(mode="after")
    def _can_be_made(self) -> "PoolWords":
        if self.file is None and self.rows is None:
            raise InputError('give file = "designs.csv", or names and rows')
        if self.file is not None and (self.rows is not None or self.names is not None):
            raise InputError("give either a file, or names and rows, not both")
        if self.rows is not None:
            self.made()
        return self


class ModelWords(Words):
    """How the model of the outcomes is fitted."""

    model_config = ConfigDict(title="Model")

    hyperparameters: Annotated[
        Treatment,
        Field(
            description='"map" fits one model, "mixture" averages over several, "auto" takes the mixture while data are'
            " few."
        ),
    ] = "auto"


def _enough_memory(amount: int | str | None) -> int | str | None:
    if amount is not None:
        Limits(max_memory=bytes_of(amount))
    return amount


class SolverWords(Words):
    """Bounds on the search for the next experiment."""

    model_config = ConfigDict(title="Solver")

    max_seconds: Annotated[Number | None, Field(gt=0, description="The most seconds that one proposal may take.")] = (
        None
    )
    max_memory: Annotated[
        Whole | Text | None,
        AfterValidator(_enough_memory),
        Field(description='The most memory of the largest arrays: bytes, or a text such as "512 MiB".'),
    ] = None

    @property
    def memory(self) -> int | None:
        """The bound on memory in bytes."""
        return None if self.max_memory is None else bytes_of(self.max_memory)


class ObjectiveWords(Words):
    """How experiments are run, and how often they are tried again."""

    retries: Annotated[Whole, Field(ge=0, description="How often a failed experiment is tried again.")] = 0
    lost_retries: Annotated[
        Whole, Field(ge=0, description="How often an experiment whose worker was lost is tried again.")
    ] = 3
    lease: Annotated[
        Number, Field(gt=0, description="Seconds after which the experiment of a silent worker is given to another.")
    ] = 60.0


_TIMEOUT = Field(gt=0, description="Seconds after which an experiment is ended and counts as failed.")


class Manual(ObjectiveWords):
    """You run the experiments and tell their values."""

    type: Annotated[Literal["manual"], Field(description="You run the experiments yourself.")]


class PythonFunction(ObjectiveWords):
    """A Python function runs the experiments."""

    model_config = ConfigDict(title="Python function")

    type: Annotated[Literal["python"], Field(description="A Python function runs the experiments.")]
    function: Annotated[
        Reference,
        Field(description='The function, as "module:function"; modules beside the study file are found.'),
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


class StopWords(Words):
    """When the study ends: as soon as one of these holds."""

    model_config = ConfigDict(title="Stop")

    trials: Annotated[Whole | None, Field(ge=1, description="After so many experiments, failed ones included.")] = None
    seconds: Annotated[Number | None, Field(gt=0, description="After so many seconds.")] = None
    gain_below: Annotated[
        Number | None, Field(gt=0, description="When the gain of the best experiment is below this number.")
    ] = None
    patience: Annotated[
        Whole, Field(ge=1, description="How many times in a row the gain has to be below gain_below.")
    ] = 1
    cost: Annotated[
        Number | None,
        Field(
            gt=0, description="When the best experiment is expected to save less than this, in the units of the loss."
        ),
    ] = None

    def made(self) -> tuple[StoppingRule, ...]:
        """The rules themselves."""
        rules: list[StoppingRule] = []
        if self.trials is not None:
            rules.append(Budget(self.trials))
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
            ' "postgresql://user@host/database". If left out: hentropy.db beside the study file.'
        ),
    ] = None
