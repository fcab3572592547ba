"""`Outcome`: something that experiments measure: a number, yes or no, or one of several grades; and its name."""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from hentropy.core.given import Tails, check_tails, is_finite
from hentropy.errors import InputError
from hentropy.studies.records.numbers import number_told
from hentropy.studies.records.trial import Trial

MAX_NAME_LENGTH = 100
"""Letters of a name, a unit or a grade."""

MOST_GRADES = 20

RESERVED = frozenset(
    [
        *(field.name for field in fields(Trial)),
        *("std_error", "failed", "status", "trial", "design", "measured", "asked_at", "ended_at"),
        *("mean", "sd", "probability"),
    ]
)
"""What outcomes cannot be called: other columns of tables and files have these names."""

ERROR_COLUMN = "{}_se"
"""The column of the standard errors of an outcome."""

Kind = Literal["number", "yes/no", "grades"]
"""What is seen of an experiment: a number, whether something happens, or one of several grades in their order."""

YES = {"y": 1.0, "n": 0.0, "true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
"""What else yes and no are called."""


@dataclass(frozen=True)
class Outcome:
    """Something that is measured: its unit, and whether it is positive and modelled on a log scale (`log`).

    `noise` is by how much a result differs when the experiment is repeated: the standard deviation of one measurement,
    in the unit of the outcome; 0 if a repeated experiment gives the same result, None if nobody knows. A standard error
    that is told with a value takes its place. `low` and `high` are the least and the greatest value that the outcome
    can have, such as 0 and 100 for a yield in %. With tails="heavy", results may be grossly wrong now and then, and
    those that others contradict count for little; `noise` is then that of usual results.

    With `log`, the model and the loss of a decision use the natural logarithm; limits and thresholds
    stay in the units of the outcome.

    With kind="yes/no", the result is yes or no, and the model and decisions are about the probability of yes. With
    kind="grades", it is one of `grades`, from the worst to the best, and they are about the probability of the grade
    `at_least` (by default the best) or a better one.
    """

    unit: str = ""
    log: bool = False
    kind: Kind = "number"
    grades: tuple[str, ...] = ()
    at_least: str | None = None
    noise: float | None = None
    low: float | None = None
    high: float | None = None
    tails: Tails | None = None

    def __post_init__(self) -> None:
        check_unit(self.unit)
        if not isinstance(self.log, bool):
            raise InputError(f"log must be True or False, got {self.log!r}")
        if self.kind not in get_args(Kind):
            raise InputError(f"the kind of an outcome is {', '.join(get_args(Kind))}; got {self.kind!r}")
        object.__setattr__(self, "grades", (self.grades,) if isinstance(self.grades, str) else tuple(self.grades))
        if self.kind != "grades" and (self.grades or self.at_least is not None):
            raise InputError(f'grades and at_least go with kind="grades"; the kind is {self.kind!r}')
        if self.kind != "number" and (self.unit or self.log):
            raise InputError(f"an outcome of kind {self.kind!r} has no unit and no logarithm; leave unit and log out")
        if self.kind != "number" and (not self.noise is self.low is self.high is None or self.tails):
            raise InputError(
                f"an outcome of kind {self.kind!r} has no noise and no bounds, as its model is of probabilities; leave"
                " noise, tails, low and high out"
            )
        check_noise(self.noise)
        check_tails(self.tails)
        if self.noise == 0 and self.tails:
            raise InputError(
                "noise=0 means that a repeated experiment gives the same result, tails='heavy' that a result may be"
                " grossly wrong; leave one of them out"
            )
        _check_bounds(self.low, self.high, self.log)
        if self.kind == "grades":
            _check_grades(self.grades)
            if self.at_least is not None and self.at_least not in self.grades[1:]:
                raise InputError(f"at_least is one of {', '.join(self.grades[1:])}; got {self.at_least!r}")

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value that it can have; infinite where nobody said."""
        return (-math.inf if self.low is None else self.low, math.inf if self.high is None else self.high)

    @property
    def words(self) -> tuple[str, ...]:
        """The possible results, from the worst to the best; none for a number."""
        return ("no", "yes") if self.kind == "yes/no" else self.grades

    @property
    def wanted(self) -> int:
        """The word such that the probability is about it or a better one."""
        return len(self.words) - 1 if self.at_least is None else self.grades.index(self.at_least)

    def event(self, name: str) -> str:
        """What the probability is about, for an outcome of this name."""
        if self.kind == "yes/no":
            return name
        return f"{name} {'' if self.wanted == len(self.words) - 1 else 'at least '}{self.words[self.wanted]}"

    def grade(self, told: Any, name: str) -> float:
        """The index of a result among the words: given as a word or, unless words are numbers, as an index."""
        value, error = told if isinstance(told, tuple | list) and len(told) == 2 else (told, None)
        if error is not None:
            raise InputError(f"{name} is one of {', '.join(self.words)}, which has no standard error; leave it out")
        number = None if isinstance(value, str) else number_told(value)
        whole = number is not None and number in range(MOST_GRADES)
        text = str(int(number) if whole and number is not None else value).strip().casefold()
        for place, word in enumerate(self.words):
            if text == word.casefold():
                return float(place)
        if self.kind == "yes/no" and text in YES:
            return YES[text]
        if whole and number in range(len(self.words)) and not any(word.isdecimal() for word in self.words):
            return float(number or 0.0)
        raise InputError(f"the value told for {name} is {value!r}; it must be one of {', '.join(self.words)}")


def check_noise(noise: Any) -> None:
    """Refuse what is no standard deviation of a measurement."""
    if noise is not None and not (is_finite(noise) and noise >= 0):
        raise InputError(
            "the noise of an outcome is the standard deviation of one measurement: a finite number, at least 0 (a"
            f" repeated experiment gives the same result); got {noise!r}; leave it out if it is not known"
        )


def _check_bounds(low: Any, high: Any, log: bool) -> None:
    for word, bound in (("low", low), ("high", high)):
        if bound is not None and not is_finite(bound):
            raise InputError(f"{word} must be a finite number, got {bound!r}; leave it out if there is no such bound")
    if low is not None and high is not None and not low < high:
        raise InputError(f"low must be below high, got {low:g} and {high:g}")
    if log and high is not None and high <= 0:
        raise InputError(f"an outcome with log is above 0, but high is {high:g}; leave log out, or change high")


def _check_grades(grades: tuple[Any, ...]) -> None:
    if not all(isinstance(one, str) and one == one.strip() and one.isprintable() and one for one in grades):
        raise InputError(f"grades are names, from the worst to the best; got {list(grades)}")
    if not 2 <= len(grades) <= MOST_GRADES or len({one.casefold() for one in grades}) < len(grades):
        raise InputError(f"an outcome has 2 to {MOST_GRADES} different grades; got {list(grades)}")
    if any(len(one) > MAX_NAME_LENGTH for one in grades):
        raise InputError(f"the name of a grade has at most {MAX_NAME_LENGTH} letters")


def check_unit(unit: Any) -> None:
    """Refuse what is no unit."""
    if not isinstance(unit, str) or len(unit) > MAX_NAME_LENGTH or (unit and not unit.isprintable()):
        raise InputError(f"the unit of an outcome must be a short text, such as '%', got {unit!r}")


def check_text(what: str, name: Any) -> None:
    """An `InputError` unless an outcome or an assay can have such a name at all."""
    if not isinstance(name, str) or not name.strip() or name != name.strip() or not name.isprintable():
        raise InputError(f"an {what} is called {name!r}; its name must be a text without spaces around it")
    if len(name) > MAX_NAME_LENGTH:
        raise InputError(
            f"the name of the {what} {name[:20]}... has {len(name)} letters; at most {MAX_NAME_LENGTH} are kept"
        )


def check_name(name: Any, others: Collection[Any], parameters: Collection[str]) -> None:
    """An `InputError` unless an outcome can have this name beside other outcomes and parameters."""
    check_text("outcome", name)
    if name in RESERVED or name.startswith("param_") or not re.fullmatch(r"[^=±'+@-][^=±]*", name):
        raise InputError(
            f"an outcome cannot be called {name!r}: columns of tables have this name, or the command line would not"
            " understand it; give it another name"
        )
    if name in parameters:
        raise InputError(f"{name!r} is a parameter and an outcome; give one of them another name")
    if ERROR_COLUMN.format(name) in others:
        raise InputError(
            f"{ERROR_COLUMN.format(name)!r} is the column of the standard errors of {name}; give that outcome another"
            " name"
        )
