"""Parameters and options of a decision as they are typed: x1=real:0:10, k=5."""

import tomllib
from collections.abc import Sequence
from typing import Any

import typer

from hentropy.core.spaces import Integer, Parameter, Real
from hentropy.errors import InputError
from hentropy.studies.definition import CHOICES

FORM = "NAME=real:LOW:HIGH or NAME=integer:LOW:HIGH, with :log at the end for a logarithmic one"


def read_parameters(texts: Sequence[str]) -> dict[str, Parameter]:
    """Parameters by name."""
    found: dict[str, Parameter] = {}
    for text in texts:
        name, _, words = text.rpartition("=")
        try:
            if not name.strip():
                raise InputError(f"write it as {FORM}")
            if name.strip() in found:
                raise InputError("its name is there twice")
            found[name.strip()] = parameter(words)
        except InputError as error:
            raise typer.BadParameter(f"{text!r}: {error}", param_hint="--parameter") from None
    return found


def parameter(words: str) -> Parameter:
    """A parameter from real:0:10, integer:1:8, or real:0.01:10:log."""
    kind, *bounds = words.split(":")
    log = bounds[2:] == ["log"]
    if kind not in ("real", "integer") or len(bounds) != 2 + log:
        raise InputError(f"write it as {FORM}")
    try:
        if kind == "integer":
            return Integer(int(bounds[0]), int(bounds[1]), log)
        return Real(float(bounds[0]), float(bounds[1]), log)
    except InputError:
        raise
    except OverflowError:
        raise InputError("the range is too wide for double precision") from None
    except ValueError:
        whole = "whole numbers" if kind == "integer" else "numbers"
        raise InputError(f"the bounds {bounds[0]} and {bounds[1]} must be {whole}") from None


def read_options(decision: str | None, texts: Sequence[str]) -> dict[str, Any]:
    """Options of a decision by name."""
    asks = {ask.option: ask for choice in CHOICES if choice.decision == decision for ask in choice.asks}
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter(f"{text!r} is not of the form KEY=VALUE", param_hint="--option")
        name = key.strip()
        try:
            found[name] = asks[name].value(value) if name in asks else _plain(value)
        except InputError:
            found[name] = _plain(value)
    return found


def _plain(text: str) -> Any:
    """A value as TOML has it; what is none is taken for a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return text
