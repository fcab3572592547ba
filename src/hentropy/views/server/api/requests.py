"""What the API is asked: bodies of requests."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from hentropy.views.server.settings import LONGEST_NOTE

MOST = 10_000


def _whole(value: Any) -> Any:
    """3.0 is a whole number in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Finite = Annotated[float, Field(allow_inf_nan=False)]
Note = Annotated[str, Field(max_length=LONGEST_NOTE)]
Replace = Annotated[bool, Field(description="Correct what was told before; that is kept too.")]


class RequestBody(BaseModel):
    """A body; a key that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Ask(RequestBody):
    """How many experiments to run side by side."""

    count: Annotated[int, Field(ge=1, description="How many."), BeforeValidator(_whole)] = 1
    anyway: Annotated[bool, Field(description="Ask even if the study has enough by its rules.")] = False


class Decide(RequestBody):
    """Nothing more has to be said: {}."""


ToldCost = Annotated[Finite | None, Field(gt=0, description="What it cost.")]


class Tell(RequestBody):
    """What an experiment measured."""

    value: Annotated[Finite, Field(description="What was measured.")]
    std_error: Annotated[Finite | None, Field(ge=0, description="The standard error of the value.")] = None
    note: Annotated[Note | None, Field(description="A remark that is kept with it.")] = None
    replace: Replace = False
    cost: ToldCost = None


class Fail(RequestBody):
    """That an experiment was run and failed."""

    why: Annotated[Note, Field(description="What went wrong.")] = ""
    replace: Replace = False
    cost: ToldCost = None


class Withdraw(RequestBody):
    """That an experiment will not be run after all."""

    note: Annotated[Note, Field(description="A remark that is kept with it.")] = ""


class EarlierRow(RequestBody):
    """An earlier measurement."""

    params: Annotated[dict[str, bool | Finite | str | None], Field(description="The design, by parameter.")]
    value: Finite
    std_error: Annotated[Finite | None, Field(ge=0)] = None


class Attach(RequestBody):
    """Earlier measurements: all are added, or none if one of them cannot be used."""

    rows: Annotated[list[EarlierRow], Field(min_length=1, max_length=MOST)]
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
