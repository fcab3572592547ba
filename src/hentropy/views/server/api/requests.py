"""What the API is asked: bodies of requests."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from hentropy.studies.records import Failed, Values
from hentropy.views.server.settings import MAX_NOTE_LENGTH

MAX_ROWS = 10_000


def _whole(value: Any) -> Any:
    """3.0 is a whole number in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Finite = Annotated[float, Field(allow_inf_nan=False)]
Note = Annotated[str, Field(max_length=MAX_NOTE_LENGTH)]
Replace = Annotated[bool, Field(description="Correct an earlier result, which stays in the history.")]


class RequestBody(BaseModel):
    """A body; a key that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Ask(RequestBody):
    """The batch size: how many experiments to run side by side."""

    count: Annotated[int, Field(ge=1, description="How many."), BeforeValidator(_whole)] = 1
    anyway: Annotated[bool, Field(description="Ask even if a stopping rule is met.")] = False
    measures: Annotated[
        str | list[str] | None,
        Field(description="The assay to ask for: its name, or the outcomes that it measures. If left out: the best."),
    ] = None


class Decide(RequestBody):
    """Nothing more has to be said: {}."""


class Worth(RequestBody):
    """Whether one more experiment is worth it."""

    price: Annotated[Finite | None, Field(ge=0, description="What an experiment costs, in units of the loss.")] = None


class Predict(RequestBody):
    """Designs of which something is expected."""

    designs: Annotated[
        list[dict[str, bool | Finite | str | None]],
        Field(min_length=1, max_length=MAX_ROWS, description="Designs: a value for each parameter of each."),
    ]
    noise: Annotated[
        bool, Field(description="Predict what experiments would show, with the noise of a measurement.")
    ] = False


ToldCost = Annotated[
    Annotated[Finite, Field(gt=0)] | Literal["unknown"] | None,
    Field(description='What it cost; "unknown" deletes what was told.'),
]


Seen = Annotated[bool | Finite | str, Field(description="A number; of yes and no, or of grades, the word.")]


class MeasuredValue(RequestBody):
    """A measured value and its standard error."""

    value: Seen
    std_error: Annotated[Finite | None, Field(ge=0)] = None


class WithValues(RequestBody):
    """What was measured: a value where there is one outcome, or measurements by outcome."""

    value: Annotated[Seen | None, Field(description="What was measured, where there is one outcome.")] = None
    std_error: Annotated[Finite | None, Field(ge=0, description="The standard error of the value.")] = None
    measurements: Annotated[
        dict[str, Seen | MeasuredValue | None] | None,
        Field(description="What was measured, by outcome: a number or a word, or a value with its standard error."),
    ] = None

    @model_validator(mode="after")
    def _once(self) -> Self:
        if sum(said is not None for said in self._ways.values()) != 1:
            raise ValueError(f"give either {' or '.join(self._ways)}")
        if self.std_error is not None and self.value is None:
            raise ValueError("std_error goes with value; in measurements, each has its own")
        return self

    @property
    def _ways(self) -> dict[str, Any]:
        """How it may be said, one of them."""
        return {"value": self.value, "measurements by outcome": self.measurements}

    @property
    def values(self) -> Values:
        """What is told."""
        if self.measurements is None:
            return (self.value, self.std_error) if self.std_error is not None else self.value  # type: ignore[return-value]
        return {
            name: (one.value, one.std_error) if isinstance(one, MeasuredValue) else one
            for name, one in self.measurements.items()
        }


class Tell(WithValues):
    """What an experiment measured."""

    note: Annotated[Note | None, Field(description="A note that is stored with it.")] = None
    replace: Replace = False
    cost: ToldCost = None


class WhatIf(WithValues):
    """A design, and what it might measure."""

    params: Annotated[dict[str, bool | Finite | str | None], Field(description="The design, by parameter.")]


class Fail(RequestBody):
    """That an experiment was run and failed."""

    why: Annotated[Note, Field(description="What went wrong.")] = ""
    replace: Replace = False
    cost: ToldCost = None


class Withdraw(RequestBody):
    """That an experiment will not be run after all."""

    note: Annotated[Note, Field(description="A note that is stored with it.")] = ""


class EarlierRow(WithValues):
    """An earlier experiment: what it measured, or why it failed."""

    params: Annotated[dict[str, bool | Finite | str | None], Field(description="The design, by parameter.")]
    failed: Annotated[Note | None, Field(description="Why it failed, if it gave no value; may be empty.")] = None

    @property
    def _ways(self) -> dict[str, Any]:
        return {**super()._ways, "failed": self.failed}

    @property
    def outcome(self) -> Values | Failed:
        """What came of it."""
        return self.values if self.failed is None else Failed(self.failed)


class Attach(RequestBody):
    """Earlier experiments: all are added, or none if one of them cannot be used."""

    rows: Annotated[list[EarlierRow], Field(min_length=1, max_length=MAX_ROWS)]
    again: Annotated[bool, Field(description="Attach rows that are in the study already.")] = False


class Definition(BaseModel):
    """A study in words, as in a study file: see `GET /api/schema`. Nothing in it may run code or name a file."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "version": 1,
                    "name": "lab",
                    "space": {"x": {"type": "real", "low": 0.0, "high": 1.0}},
                    "decision": {"name": "maximize"},
                }
            ]
        },
    )
    __pydantic_extra__: dict[str, Any]

    version: Annotated[Any, Field(description="1.")] = None
    name: Annotated[Any, Field(description="The name of the study.")] = None

    def words(self) -> dict[str, Any]:
        """What was given, and only that."""
        return self.model_dump(exclude_unset=True)
