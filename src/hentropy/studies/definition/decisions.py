"""Decisions in words. The schema of each follows from its class: a new decision needs nothing here."""

import inspect
import json
import re
from collections.abc import Mapping
from functools import cached_property, reduce
from operator import or_
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    GetPydanticSchema,
    JsonValue,
    Tag,
    create_model,
    model_validator,
)

from hentropy.core import decisions as library
from hentropy.core.decisions import Decision
from hentropy.errors import InputError
from hentropy.studies.definition.base import Reference, Text, Words
from hentropy.studies.definition.kinds import Option, options_of_class


class DecisionWords(Words):
    """What will be decided, in words."""

    @property
    def tag(self) -> str:
        """Which of the forms it has: the name of a decision, "python" or "own"."""
        raise NotImplementedError


class Named(DecisionWords):
    """A decision of the library by its name, with its options."""

    kind: ClassVar[type[Decision]]
    name: str

    @property
    def tag(self) -> str:
        """The name."""
        return self.name

    @cached_property
    def made(self) -> Decision:
        """The decision itself."""
        return self.kind(**{key: value for key, value in self if key != "name"})

    @model_validator(mode="after")
    def _can_be_made(self) -> "Named":
        self.made  # noqa: B018 (it is made and kept)
        return self


class OwnClass(DecisionWords):
    """A decision class of your own in a Python module, with its options. It runs the code of that module."""

    model_config = ConfigDict(extra="allow", title="A class of your own")
    __pydantic_extra__: dict[str, JsonValue]

    python: Annotated[
        Reference,
        Field(description='The class, as "package.module:Class"; modules next to the study file are found.'),
    ]

    @model_validator(mode="after")
    def _finite(self) -> "OwnClass":
        try:
            json.dumps(self.__pydantic_extra__, allow_nan=False)
        except ValueError:
            raise InputError("an option is NaN or infinite, which cannot be kept; leave it out") from None
        return self

    @property
    def tag(self) -> str:
        """python."""
        return "python"

    @property
    def options(self) -> dict[str, Any]:
        """What is handed to the class."""
        return dict(self.__pydantic_extra__)


class Own(DecisionWords):
    """A decision made in Python that cannot be put in words: only how it shows itself is known."""

    own: Annotated[Text, Field(description="How the decision shows itself.")]

    @property
    def tag(self) -> str:
        """own."""
        return "own"


def snake_case(name: str) -> str:
    """TopK to top_k."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Za-z0-9])(?=[A-Z][a-z])", "_", name).lower()


def _fields(options: tuple[Option, ...]) -> dict[str, Any]:
    """The options that can be said, as fields of a model."""
    fields: dict[str, Any] = {}
    for option in options:
        if option.kind is None:
            continue
        hint = option.kind.annotation if option.default is not None else option.kind.annotation | None
        default = ... if option.required else option.default
        fields[option.name] = (hint, Field(default, description=option.description))
    return fields


def named_words(cls: type[Decision]) -> type[Named]:
    """The words of a decision that is called by its name."""
    name = snake_case(cls.__name__)

    class Bound(Named):
        kind: ClassVar[type[Decision]] = cls

    fields = {
        "name": (Literal[name], Field(description=f"The decision {name}.")),
        **_fields(options_of_class(cls)),
    }
    return create_model(cls.__name__, __base__=Bound, __doc__=inspect.getdoc(cls), **fields)


def option_words(cls: type[Decision]) -> type[Words]:
    """The words of the options of a class alone."""
    return create_model(cls.__name__, __base__=Words, **_fields(options_of_class(cls)))


def _sayable(value: Any) -> bool:
    """Whether an export of the library is a finished decision, and nothing that it needs is a function."""
    if not (isinstance(value, type) and issubclass(value, Decision)) or inspect.isabstract(value):
        return False
    return not any(option.required and option.kind is None for option in options_of_class(value))


DECISIONS: Mapping[str, type[Named]] = {
    snake_case(name): named_words(vars(library)[name]) for name in library.__all__ if _sayable(vars(library)[name])
}
"""The words of every decision of the library, by name."""


def which(value: Any) -> str | None:
    """Which form of a decision this is; None where it does not say."""
    if isinstance(value, DecisionWords):
        return value.tag
    if not isinstance(value, Mapping):
        return None
    if "name" in value and "python" not in value:
        return str(value["name"])
    return next((form for form in ("python", "own") if form in value), None)


_FORMS: list[Any] = [Annotated[words, Tag(name)] for name, words in DECISIONS.items()]
_FORMS += [Annotated[OwnClass, Tag("python")], Annotated[Own, Tag("own")]]
_UNION: Any = Annotated[reduce(or_, _FORMS), Discriminator(which)]

AnyDecision = Annotated[DecisionWords, GetPydanticSchema(lambda _, handler: handler.generate_schema(_UNION))]
"""One of the forms, told apart by `which`."""
