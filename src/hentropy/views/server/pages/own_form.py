"""The form for an experiment of one's own: a field for each value of a design, and the design that was typed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hentropy.core.spaces import DesignSpace, Field, Params, Pool
from hentropy.core.spaces.parameters import written
from hentropy.errors import InputError
from hentropy.studies.records.csv_tables import number_in
from hentropy.views.server.pages.forms import WHOLE
from hentropy.views.server.problems import sentence
from hentropy.views.text.formats import counted
from hentropy.views.text.sentences import field_text

LISTED = 500
"""The ids of a list that are offered while somebody types; any other can be typed as well."""


@dataclass(frozen=True)
class DesignField:
    """A field of the form: `options` to choose from, or what may be typed; `offered` are ids that help to type one."""

    key: str
    title: str
    hint: str = ""
    options: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()


def design_fields(space: DesignSpace) -> tuple[DesignField, ...]:
    """The fields of a design; one of a list with ids is known by its id alone."""
    if isinstance(space, Pool) and space.id is not None:
        ids = space.shown[space.id]
        hint = f"one of {counted(len(ids), 'design')}"
        return (DesignField("p0", space.id, hint, offered=tuple(str(one) for one in ids[:LISTED])),)
    return tuple(_field(key, field) for key, field in _by_key(space).items())


def _by_key(space: DesignSpace) -> dict[str, Field]:
    # not by their names: a parameter may be called as another field of the form
    return {f"p{i}": field for i, field in enumerate(space.fields)}


def _field(key: str, field: Field) -> DesignField:
    if field.options:
        return DesignField(key, field.title, options=tuple(written(option) for option in field.options))
    return DesignField(key, field.title, field_text(field))


def design_in(typed: Mapping[str, str], space: DesignSpace, mistakes: dict[str, str]) -> Params | None:
    """The design that was typed; None with all mistakes, by field."""
    if isinstance(space, Pool) and space.id is not None:
        return _cleaned({space.id: typed.get("p0", "").strip()}, space, "p0", mistakes)
    keys = {field.name: key for key, field in _by_key(space).items()}
    params: Params = {}
    for key, field in _by_key(space).items():
        try:
            params[field.name] = _value(field, typed.get(key, "").strip())
        except InputError as error:
            mistakes[key] = sentence(str(error))
            continue
        if not field.options and not field.low <= params[field.name] <= field.high:
            mistakes[key] = f"{typed[key].strip()} is not from {field_text(field)}."
    for name, parameter in space.parameters.items():
        columns = parameter.columns(name)
        if any(column not in params or keys[column] in mistakes for column in columns):
            continue
        try:
            parameter.check(name, parameter.encode(name, [[params[column]] for column in columns]))
        except InputError as error:
            mistakes[keys[name] if columns == (name,) else WHOLE] = sentence(str(error))
    return None if mistakes else _cleaned(params, space, WHOLE, mistakes)


def _value(field: Field, text: str) -> Any:
    if not text:
        raise InputError("choose one" if field.options else "enter a number")
    return field.read(text) if field.options else number_in("it", text)


def _cleaned(params: Params, space: DesignSpace, key: str, mistakes: dict[str, str]) -> Params | None:
    try:
        return space.cleaned(params)
    except InputError as error:
        mistakes[key] = sentence(str(error))
        return None
