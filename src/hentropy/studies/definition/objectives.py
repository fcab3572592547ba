"""The objective of a study in words: who runs the experiments."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from hentropy.studies.definition.base import Label, Number, Reference, Whole, Words


class ObjectiveWords(Words):
    """How experiments are run, and how often they are tried again."""

    retries: Annotated[Whole, Field(ge=0, description="How often a failed experiment is retried.")] = 0
    lost_retries: Annotated[
        Whole, Field(ge=0, description="How often an experiment whose worker was lost is retried.")
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
