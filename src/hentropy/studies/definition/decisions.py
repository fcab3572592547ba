"""Decisions in words. The schema of each follows from the hints of its constructor: a new one needs nothing here."""

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

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
from hentropy.studies.definition.base import Number, Places, Reference, Text, Whole, Words, YesNo


@dataclass(frozen=True)
class Kind:
    """The type that is checked, what one and several are in words, and an example (None: a list of designs)."""

    annotation: Any
    words: str
    plural: str
    example: Any


@dataclass(frozen=True)
class Option:
    """An option of a decision; `kind` is None where it cannot be said in words, such as a function."""

    name: str
    kind: Kind | None
    default: Any

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.default is inspect.Parameter.empty

    @property
    def description(self) -> str:
        """What may be given, for a person."""
        words = "a function, which a file cannot give" if self.kind is None else self.kind.words
        if self.required:
            return f"{words[0].upper()}{words[1:]}. It has to be given."
        words = OPTION_NOTES.get(self.name, words)
        left_out = "none" if self.default is None else json.dumps(self.default, default=repr)
        return f"{words[0].upper()}{words[1:]}. If left out: {left_out}."


OPTION_NOTES: Mapping[str, str] = {
    "outcome": "the outcome that counts, where there are several",
    "subject_to": 'limits on outcomes that every design has to hold, such as ["impurity <= 3"]',
    "fallback": "what a design is worth that violates a limit; none is as little as the worst one measured",
    "among": '"measured" recommends only designs that were measured',
    "confidence": 'the probability that the label "above" needs: the conservative set',
    "weights": "a number for each outcome",
    "scale": "a number for each outcome",
}
"""What options are for whose kind does not tell."""


def options_of_class(cls: type) -> tuple[Option, ...]:
    """The options of a class, from the signature of its constructor."""
    try:
        signature = inspect.signature(cls, eval_str=True)
    except NameError:  # hints that only a type checker can follow
        signature = inspect.signature(cls)
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = signature.parameters.values()
    return tuple(Option(p.name, kind_of(p.annotation), p.default) for p in parameters if p.kind in named)


_SIMPLE = {
    bool: Kind(YesNo, "true or false", "true or false", True),
    int: Kind(Whole, "a whole number", "whole numbers", 2),
    float: Kind(Number, "a number", "numbers", 1.0),
    str: Kind(Text, "a text", "texts", "value"),
    NoneType: Kind(None, "none", "none", None),
    Any: Kind(Places, "a list of designs, each a table of values by parameter, or an id", "such lists", None),
}

_ANYTHING = Kind(JsonValue, "a plain value", "plain values", 0)


def kind_of(hint: Any) -> Kind | None:
    """What a file may say where a constructor has this hint; `Any` are designs; None for functions."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Callable or origin is Callable:
        return None
    if origin is Literal:
        words = " or ".join(json.dumps(word) for word in inside)
        return Kind(hint, words, words, inside[0])
    if origin in (Union, UnionType):
        return _one_of([kind for part in inside if (kind := kind_of(part)) is not None])
    if origin in (Sequence, list) or (origin is tuple and inside[1:] == (...,)):
        each = kind_of(inside[0])
        if each is None:
            return None
        several = GenericAlias(tuple, (each.annotation, ...))
        return Kind(several, f"a list of {each.plural}", f"lists of {each.plural}", [each.example])
    if origin in (Mapping, dict):
        each = kind_of(inside[1])
        if each is None:
            return None
        table = GenericAlias(dict, (str, each.annotation))
        example = dict.fromkeys(("yield", "impurity"), each.example)
        return Kind(table, f"a table of {each.plural} by name", f"tables of {each.plural}", example)
    return _ANYTHING


def _one_of(kinds: list[Kind]) -> Kind | None:
    """Any of several; "none" goes without saying."""
    said = [kind for kind in kinds if kind.annotation is not None]
    if not said:
        return None
    return Kind(
        annotation=reduce(or_, [kind.annotation for kind in kinds]),
        words=" or ".join(kind.words for kind in said),
        plural=" or ".join(kind.plural for kind in said),
        example=said[0].example,
    )


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
    def instance(self) -> Decision:
        """The decision itself."""
        return self.kind(**{key: value for key, value in self if key != "name"})

    @model_validator(mode="after")
    def _can_be_built(self) -> "Named":
        self.instance  # noqa: B018 (it is built and kept)
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
