"""What is wrong with a study file, a line per mistake: the key, the value given, what is allowed, the nearest word."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from hentropy.errors import DocPage, InputError
from hentropy.studies.definition.decisions import DECISIONS, OwnClass
from hentropy.studies.definition.designs import PARAMETERS, DecideOnWords, PoolWords
from hentropy.studies.definition.importing import Place, dotted, nearest, shown
from hentropy.studies.definition.parts import (
    OBJECTIVES,
    AssayWords,
    CostWords,
    ModelWords,
    OutcomeWords,
    SolverWords,
    StopWords,
    StorageWords,
)
from hentropy.studies.definition.schema import Description

MAX_MISTAKES = 100
"""Mistakes that are told: whoever reads them begins with the first."""

_FORMS: dict[str, tuple[int, Mapping[str, type[BaseModel]]]] = {
    "space": (2, PARAMETERS),
    "objective": (1, OBJECTIVES),
    "decision": (1, {**DECISIONS, "python": OwnClass}),
}
"""Tables with several forms: where in the place of an error the form is named, and the words of each."""

_TABLES: dict[str, type[BaseModel]] = {
    "pool": PoolWords,
    "decide_on": DecideOnWords,
    "outcomes": OutcomeWords,
    "assays": AssayWords,
    "cost": CostWords,
    "model": ModelWords,
    "solver": SolverWords,
    "stop": StopWords,
    "storage": StorageWords,
}

_MUST_BE = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "a text",
    "tuple_type": "a list",
    "dict_type": "a table of keys and values",
    "model_type": "a table of keys and values",
    "model_attributes_type": "a table of keys and values",
    "finite_number": "a finite number",
    "greater_than": "above {gt:.12g}",
    "greater_than_equal": "at least {ge:.12g}",
    "less_than": "below {lt:.12g}",
    "less_than_equal": "at most {le:.12g}",
    "too_short": "not empty",
    "none_required": "left out",
}


@dataclass(frozen=True)
class _Mistake:
    """A mistake at a key: a sentence of its own, or what its value must be (with the words that are allowed)."""

    path: Place
    given: Any
    sentence: str = ""
    must_be: str = ""
    words: tuple[str, ...] = ()


def validated(words: Any, where: str) -> Description:
    """The description with these words, or one `InputError` that names every mistake; `where` is the file."""
    try:
        return Description.model_validate(words)
    except ValidationError as error:
        raise InputError(told(where, mistakes(error, words)), page=_page(error, words)) from None


EXPLAINED = {
    "space": DocPage.DESIGNS,
    "where": DocPage.CONSTRAINTS,
    "tables": DocPage.CONSTRAINTS,
    "same_in_batch": DocPage.DESIGNS,
    "pool": DocPage.CANDIDATES,
    "outcomes": DocPage.OUTCOMES,
    "assays": DocPage.ASSAYS,
    "decision": DocPage.DECISIONS,
    "cost": DocPage.COSTS,
    "model": DocPage.MODELS,
    "storage": DocPage.STORES,
}
"""The pages on some tables of a study file."""


def _page(error: ValidationError, words: Any) -> DocPage:
    """The page on the table that is wrong; where several are, the one on the whole file."""
    tables = {str(place[0]) if place else "" for place, _ in _placed(error, words)}
    return EXPLAINED.get(tables.pop(), DocPage.STUDY_FILE) if len(tables) == 1 else DocPage.STUDY_FILE


def misplaced(words: Any) -> list[tuple[Place, str]]:
    """What is wrong with a description, each mistake with the keys that lead to it; for forms, which say it there."""
    try:
        Description.model_validate(words)
    except ValidationError as error:
        return _placed(error, words)
    return []


def _placed(error: ValidationError, words: Any) -> list[tuple[Place, str]]:
    return [_led(path, line) for path, line in _found(error, words, Description)]


def _led(path: Place, line: str) -> tuple[Place, str]:
    """What is wrong with parts that do not fit together says in its words which part that is."""
    key, colon, rest = line.partition(": ")
    keys = tuple(key.split("."))
    return (keys, rest) if not path and colon and keys[0] in Description.model_fields else (path, line)


def told(where: str, lines: Iterable[str]) -> str:
    """The message for mistakes in a file."""
    return "\n".join([f"{where} cannot be used:", *(f"  {line}" for line in lines)])


def mistakes(
    error: ValidationError, words: Any, top: type[BaseModel] = Description, under: tuple[str, ...] = ()
) -> list[str]:
    """One line per mistake; `top` is what was validated, `under` the keys that lead to it."""
    found = _found(error, words, top)
    lines = [f"{dotted(under + path)}: {line}" if under + path else line for path, line in found]
    more = error.error_count()
    return lines if more <= MAX_MISTAKES else [*lines, f"... and more: {more} in all"]


def _found(error: ValidationError, words: Any, top: type[BaseModel]) -> list[tuple[Place, str]]:
    """The mistakes, each with the keys that lead to it."""
    details = error.errors(include_url=False)
    found = [_mistake(detail["type"], detail, words, top) for detail in details[:MAX_MISTAKES]]
    # where several types are allowed, the one that got furthest is the one that was meant
    deepest = [m for m in found if not any(len(o.path) > len(m.path) == _shared(o.path, m.path) for o in found)]
    paths = list(dict.fromkeys(m.path for m in deepest))
    return [(path, line) for path in paths for line in _lines([m for m in deepest if m.path == path])]


def _shared(a: Place, b: Place) -> int:
    return next((i for i, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _lines(found: list[_Mistake]) -> list[str]:
    """What is wrong at one place."""
    sentences = [m.sentence for m in found if m.sentence]
    if sentences:
        return [line for sentence in sentences for line in sentence.split("\n")]
    finite = [m for m in found if m.must_be == _MUST_BE["finite_number"]]  # where texts are allowed too
    must_be = " or ".join(dict.fromkeys(m.must_be for m in finite or found))
    given = found[0].given
    known = [word for m in found for word in m.words]
    hint = nearest(given, known) if isinstance(given, str) else ""
    return [f"got {shown(given)}; it must be {must_be}{hint}"]


def _mistake(kind: str, detail: Any, words: Any, top: type[BaseModel]) -> _Mistake:
    place, given = detail["loc"], detail["input"]
    context = detail.get("ctx", {})
    path = _path(place, words, missing=kind == "missing", tagged=top is Description)
    if kind == "missing":
        return _Mistake(path, given, f"it is missing. {_words_at(place, top).model_fields[place[-1]].description}")
    if kind == "extra_forbidden":
        known = [key for key in _words_at(place, top).model_fields if key != "own"]
        can_be = f"the keys here are {', '.join(known)}" if known else "there are no options here"
        return _Mistake(path, given, f"unknown key; {can_be}{nearest(str(place[-1]), known)}")
    if kind in ("union_tag_invalid", "union_tag_not_found") and isinstance(given, Mapping):
        return _form(path, given)
    if kind == "literal_error":
        allowed = tuple(re.findall(r"'([^']*)'", context["expected"]))
        return _Mistake(path, given, must_be=context["expected"].replace("'", '"'), words=allowed)
    if kind == "union_tag_not_found":
        return _Mistake(path, given, must_be=_MUST_BE["model_type"])
    if kind == "too_short" and path == ("space",):
        return _Mistake(path, given, "give at least one parameter, [space.NAME]")
    if kind in _MUST_BE:
        return _Mistake(path, given, must_be=_MUST_BE[kind].format(**context))
    if "error" in context:
        return _Mistake(path, given, str(context["error"]))
    return _Mistake(path, given, f"got {shown(given)}; {detail['msg'][:1].lower()}{detail['msg'][1:]}")


def _form(path: Place, given: Mapping[str, Any]) -> _Mistake:
    """A table that does not say which form it has, or one that does not exist."""
    section = str(path[0])
    key = "name" if section == "decision" else "type"
    forms = list(DECISIONS if section == "decision" else _FORMS[section][1])
    other = ', or python = "module:Class" for one of your own' if section == "decision" else ""
    if key not in given:
        return _Mistake((*path, key), None, f"it is missing; it can be {', '.join(forms)}{other}")
    return _Mistake((*path, key), given[key], must_be=f"one of {', '.join(forms)}{other}", words=tuple(forms))


def _words_at(place: Place, top: type[BaseModel]) -> type[BaseModel]:
    """The words of the table in which a key stands."""
    if len(place) == 1:
        return top
    section = str(place[0])
    if section == "decide_on" and len(place) > 2:  # it has a space or a pool of its own
        return _words_at(place[1:], top)
    if section in _FORMS:
        index, forms = _FORMS[section]
        return forms[str(place[index])]
    return _TABLES[section]


def _path(place: Place, words: Any, missing: bool, tagged: bool) -> Place:
    """The place of an error as keys of the file: without the names of forms and types."""
    if tagged and place and place[0] in _FORMS:
        index = _FORMS[str(place[0])][0]
        place = place[:index] + place[index + 1 :]
    path: list[str | int] = []
    here = words
    for number, part in enumerate(place):
        keys = here if isinstance(here, Mapping) else range(len(here)) if isinstance(here, list | tuple) else ()
        if part in keys:
            here = here[part]
        elif not (missing and number == len(place) - 1):
            continue
        path.append(part)
    return tuple(path)
