"""Parameters, tables and conditions as people type them, in flags and in answers.

20 to 120 °C in steps of 5     a number, also 20..120 or 20-120; `whole` and `log` may be added: 1 to 64 whole log
PPh3, XPhos, dppf              options without an order
0.5, 1, 2 mol%                 levels: numbers, or names from the least on: low < middle < high
A + B + C = 100 %              parts of a whole; of 1 if nothing else is said; `at most 2` may be added
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import typer

from hentropy.core.given import Tails
from hentropy.core.spaces import Choice, Fractions, Integer, Levels, Parameter, Real
from hentropy.errors import InputError
from hentropy.studies.definition import REPEATED
from hentropy.studies.definition.template import named_in
from hentropy.studies.outcomes import Outcome
from hentropy.studies.records.numbers import plain_number, plain_whole
from hentropy.views.text.typed_values import typed_number, typed_option, typed_table

FORM = (
    'NAME=VALUES, such as "t=20 to 120 °C in steps of 5", "n=1 to 8 whole", "rate=0.01 to 10 log",'
    ' "solvent=THF, water", "loading=0.5, 1, 2 mol%", "size=small < large", "mix=A + B + C = 100 %"'
)
VALUES = re.sub(r'"\w+=', '"', FORM.removeprefix("NAME=VALUES, such as "))
"""The same without names, where these are known."""
_NUMBER = r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\s*(?:to\b|\.\.)\s*({_NUMBER})(.*)", re.DOTALL)
_DASH = re.compile(rf"({_NUMBER})\s*[-\u2013]\s*({_NUMBER})((?:\s[^,<+]*)?)", re.DOTALL)
"""20-90 °C: nothing that may be a name, such as 6-31G or 64-17-5."""
_STEP = re.compile(rf"\b(?:in )?steps? (?:of )?({_NUMBER})")
_PRECISE = re.compile(r"(.*)=((?:real|integer):.*)", re.DOTALL)
_PARTS = re.compile(rf"([^,+=]+(?:\+[^,+=]+)+)(?:=\s*({_NUMBER})\s*([^,]*))?(?:,?\s*at most (\d+))?")


def read_parameters(texts: Sequence[str]) -> dict[str, Parameter]:
    """Parameters by name."""
    found: dict[str, Parameter] = {}
    for text in texts:
        precise = _PRECISE.fullmatch(text)
        name, words = precise.groups() if precise else text.partition("=")[::2]
        try:
            if not name.strip() or not words.strip():
                raise InputError(f"write it as {FORM}")
            if name.strip() in found:
                raise InputError("this name appears twice")
            found[name.strip()] = parameter(words)
        except InputError as error:
            raise typer.BadParameter(f"{text!r}: {error}", param_hint="--parameter") from None
    return found


def parameter(words: str) -> Parameter:
    """A parameter from its values as they are typed, or from real:0:10, integer:1:8, real:0.01:10:log."""
    text = words.strip()
    if text.startswith(("real:", "integer:")):
        return _precise(text)
    if (number := _RANGE.fullmatch(text)) and not _RANGE.search(number[3]):
        return _number(*number.groups())
    if dashed := _DASH.fullmatch(text):
        return _number(*dashed.groups())
    if parts := _PARTS.fullmatch(text):
        names, total, unit, at_most = parts.groups()
        return Fractions(
            [name.strip() for name in names.split("+")],
            total=1.0 if total is None else typed_number(total),
            at_most=None if at_most is None else int(at_most),
            unit=(unit or "").strip(),
        )
    for mark in ("<", ","):
        if mark in text:
            return _listed([each.strip() for each in text.split(mark) if each.strip()], ordered=mark == "<")
    raise InputError(f"{text!r} is not understood; write {VALUES}")


def _precise(text: str) -> Parameter:
    kind, *bounds = text.split(":")
    log = bounds[2:] == ["log"]
    if len(bounds) != 2 + log:
        raise InputError(f"write it as NAME={kind}:LOW:HIGH, with :log at the end for a logarithmic one")
    return _made(bounds[0], bounds[1], whole=kind == "integer", log=log)


def _number(low: str, high: str, more: str) -> Parameter:
    """A number, with what is said after its bounds: a step, whole, log, and what is left is the unit."""
    step = _STEP.search(more)
    said = _STEP.sub(" ", more).replace(",", " ").split()
    unit = " ".join(word for word in said if word not in ("whole", "log"))
    return _made(low, high, whole="whole" in said, log="log" in said, step=step[1] if step else None, unit=unit)


def _made(low: str, high: str, *, whole: bool, log: bool, step: str | None = None, unit: str = "") -> Parameter:
    try:
        if whole:
            return Integer(plain_whole(low), plain_whole(high), log, None if step is None else plain_whole(step), unit)
        return Real(plain_number(low), plain_number(high), log, None if step is None else plain_number(step), unit)
    except InputError:
        raise
    except OverflowError:
        raise InputError("the range is too wide for double precision") from None
    except ValueError:
        raise InputError(f"the bounds {low} and {high} must be {'whole numbers' if whole else 'numbers'}") from None


def _listed(items: list[str], ordered: bool) -> Parameter:
    """Numbers, the last one perhaps with the unit of all, are levels; names are if they are put in order."""
    if not items:
        raise InputError(f"there are no values; write {FORM.removeprefix('NAME=VALUES, such as ')}")
    last = re.fullmatch(rf"({_NUMBER})\s*(.*)", items[-1])
    others = [typed_option(each) for each in items[:-1]]
    if last is not None and not any(isinstance(each, str) for each in others):
        if re.match(r"to\b|\.\.|[-\u2013]\s*\d", last[2]):
            raise InputError(f"{', '.join(items)!r} looks like a decimal comma; write numbers with a point")
        return Levels([*others, typed_option(last[1])], unit=last[2])
    options = [*others, typed_option(items[-1])]
    return Levels(options) if ordered else Choice(options)


def read_outcomes(texts: Sequence[str]) -> dict[str, Outcome]:
    """Outcomes by name, from NAME, NAME=UNIT, NAME=UNIT log, or NAME=UNIT 0 to 100 noise 0.5 heavy tails."""
    found: dict[str, Outcome] = {}
    for text in texts:
        name, _, words = (part.strip() for part in text.partition("="))
        if not name or name in found:
            wrong = (
                "this name appears twice" if name else 'write it as NAME=UNIT, such as "yield=%" or "impurity=% log"'
            )
            raise typer.BadParameter(f"{text!r}: {wrong}", param_hint="--outcome")
        try:
            found[name] = _outcome(words)
        except InputError as error:
            raise typer.BadParameter(f"{text!r}: {error}", param_hint="--outcome") from None
    return found


def outcomes(text: str) -> dict[str, Outcome]:
    """Outcomes by name, as they are answered: yield %, impurity % log."""
    found: dict[str, Outcome] = {}
    for part in text.split(",") if text.strip() else []:
        name, _, words = part.strip().partition(" ")
        if not name or name in found:
            raise InputError(f"{text!r} is not understood; give names that differ, such as yield %, impurity % log")
        found[name] = _outcome(words)
    return found


_STATED = (
    (re.compile(rf"\bnoise ({_NUMBER})(?!\S)"), ("noise",)),
    (re.compile(rf"(?<!\S)({_NUMBER}) to ({_NUMBER})(?!\S)"), ("low", "high")),
    (re.compile(rf"\bat least ({_NUMBER})(?!\S)"), ("low",)),
    (re.compile(rf"\bat most ({_NUMBER})(?!\S)"), ("high",)),
)
"""How numbers are stated of an outcome, and which these are."""


def _outcome(words: str) -> Outcome:
    """An outcome from its unit, with what may be said after it.

    That is log, 0 to 100, at least 0, at most 100, noise 0.5, heavy tails.
    """
    words, heavy = re.subn(r"\bheavy tails\b", " ", words)
    stated: dict[str, float] = {}
    for mark, keys in _STATED:
        found = mark.search(words)
        stated |= {} if found is None else dict(zip(keys, map(typed_number, found.groups()), strict=True))
        words = mark.sub(" ", words)
    said = words.split()
    if "noise" in said:
        raise InputError("noise needs a number, such as noise 0.5")
    unit = " ".join(word for word in said if word != "log")
    low, high = stated.get("low"), stated.get("high")
    tails: Tails | None = "heavy" if heavy else None
    return Outcome(unit, log="log" in said, noise=stated.get("noise"), low=low, high=high, tails=tails)


def read_noise(text: str | None) -> float | None:
    """By how much results differ, as it is given by a flag."""
    try:
        found: float | None = None if text is None else REPEATED.value(text)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="--noise") from None
    return found


def with_noise(known: Mapping[str, Outcome], options: Mapping[str, Any], noise: float | None) -> Mapping[str, Outcome]:
    """Outcomes with the noise of the only one: the one that is known, that options of the decision name, or "value"."""
    if noise is None:
        return known
    names = list(known) or list(named_in(options)) or ["value"]
    if len(names) > 1:
        raise typer.BadParameter(
            f"there are several outcomes ({', '.join(names)}); say it of each, such as"
            f' --outcome "{names[0]}=% noise {noise:g}"',
            param_hint="--noise",
        )
    one = known.get(names[0], Outcome())
    if one.noise not in (None, noise):
        raise typer.BadParameter(f"the noise of {names[0]} is stated twice", param_hint="--noise")
    return {names[0]: replace(one, noise=noise)}


def read_tables(texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """Tables by name, from NAME=OPTION:NUMBER,OPTION:NUMBER."""
    found: dict[str, dict[str, float]] = {}
    for text in texts:
        try:
            name, rows = typed_table(text)
        except InputError as error:
            raise typer.BadParameter(f"{text!r}: {error}", param_hint="--table") from None
        found[name] = rows
    return found
