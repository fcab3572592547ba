"""From the type hints of a decision's constructor to what a study file may say there."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import JsonValue

from hentropy.studies.definition.base import Number, Places, Text, Whole, YesNo


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
        left_out = "none" if self.default is None else json.dumps(self.default, default=repr)
        return f"{words[0].upper()}{words[1:]}. If left out: {left_out}."


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
