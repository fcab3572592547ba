"""From what a person wants to end with to a decision: what `hentropy init` asks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hentropy.core.spaces import Parameter
from hentropy.errors import InputError
from hentropy.studies.records.numbers import plain_number, plain_whole


def _numbers(text: str) -> list[float]:
    found = [plain_number(part) for part in text.replace(",", " ").split()]
    if not found:
        raise ValueError("there are no numbers")
    return found


def _probability(text: str) -> float:
    found = plain_number(text)
    if not 0.0 < found < 1.0:
        raise ValueError(f"{found} is no probability")
    return found


def _yes_no(text: str) -> bool:
    words = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
    return words[text.strip().lower()]


def _by_name(text: str) -> dict[str, str]:
    """ "yield max, impurity min" as a table."""
    pairs = [part.split(maxsplit=1) for part in text.split(",")]
    return {name: rest.strip() for name, rest in pairs}


def _aims(text: str) -> dict[str, Any]:
    """ "hardness 55, gloss 80 to 90, cost <= 3" as a table of values, bands and limits."""
    found: dict[str, Any] = {}
    for name, rest in _by_name(text).items():
        band = [plain_number(part) for part in rest.split(" to ")] if rest[:1] not in "<>" else []
        found[name] = rest if not band else band[0] if len(band) == 1 else band
    return found


_KINDS: dict[str, Callable[[str], Any]] = {
    "whole number": plain_whole,
    "number": plain_number,
    "numbers": _numbers,
    "probability": _probability,
    "yes or no": _yes_no,
    "word": str.strip,
    "ways": _by_name,
    "aims": _aims,
}

_WANTED = {
    "whole number": "give a whole number, such as 5",
    "number": "give a number, such as 2.5",
    "numbers": "give numbers, such as 1 2.5",
    "probability": "give a number between 0 and 1, such as 0.95",
    "yes or no": "please answer yes or no",
    "ways": "give outcomes and which way they count, such as yield max, impurity min",
    "aims": "give outcomes and what is wanted of them, such as hardness 55, gloss 80 to 90, cost <= 3",
}


@dataclass(frozen=True)
class Question:
    """An option to ask for: its key in the file, the question, a default, what kind of answer (and which words)."""

    option: str
    question: str
    default: Any
    kind: str
    words: tuple[str, ...] = ()

    def value(self, text: str) -> Any:
        """The answer as a value; an empty one is the default."""
        if not text.strip():
            return self.default
        try:
            value = _KINDS[self.kind](text)
        except (ValueError, KeyError):
            raise InputError(f"{text!r} is not an answer; {_WANTED[self.kind]}") from None
        if self.words and value not in self.words:
            raise InputError(f"{text!r} is not an answer; give one of {', '.join(self.words)}")
        return value


@dataclass(frozen=True)
class Goal:
    """An answer to "what will you decide?": a key, the answer in plain words, the decision, the options to ask for.

    `said` is the answer once the options are known, by their names in braces; {best} and {side} are what `largest` and
    `above` mean.
    """

    key: str
    answer: str
    decision: str
    asks: tuple[Question, ...] = ()
    said: str = ""


_LARGEST = Question("largest", "Are large values good?", True, "yes or no")

CHOICES: tuple[Goal, ...] = (
    Goal("maximize", "one design with the greatest value", "maximize"),
    Goal("minimize", "one design with the least value", "minimize"),
    Goal(
        "best_observed",
        "the best of the designs that were really measured",
        "best_observed",
        (_LARGEST,),
        "the design with the {best} value of those that were really measured",
    ),
    Goal(
        "improve",
        "one design that passes a threshold, soon",
        "improve",
        (
            Question("threshold", "Which value has to be passed?", 0.0, "number"),
            Question("above", "Should values be above it?", True, "yes or no"),
        ),
        "one design whose value is {side} {threshold}, soon",
    ),
    Goal(
        "top_k",
        "several good designs that differ from each other",
        "top_k",
        (
            Question("k", "How many designs?", 5, "whole number"),
            Question(
                "cap", "From which distance on, adding up all parameters, do designs differ enough?", 1.0, "number"
            ),
            Question(
                "weight", "How much is a distance of 1 between designs worth, in units of the value?", 1.0, "number"
            ),
            _LARGEST,
        ),
        "{k} designs with the {best} values that differ from each other",
    ),
    Goal(
        "k_guesses",
        "a few candidates, only the best of which counts",
        "k_guesses",
        (Question("k", "How many candidates?", 3, "whole number"), _LARGEST),
        "{k} candidates, of which only the one with the {best} value counts",
    ),
    Goal(
        "level_sets",
        "a map of where the value is above some levels",
        "level_sets",
        (
            Question("thresholds", "Which levels, in rising order?", [0.0], "numbers"),
            Question(
                "relation",
                "Does a point far above its level count for more (difference), or each wrong label the same?",
                "difference",
                "word",
                ("difference", "misclassification"),
            ),
            Question(
                "confidence",
                'Which probability does the label "above" need, such as 0.95 (nothing: no particular one)?',
                None,
                "probability",
            ),
        ),
        "a map of where the value is above {thresholds}",
    ),
    Goal(
        "sequence",
        "designs whose values run through a list of targets",
        "sequence",
        (
            Question("targets", "Which values, in their order?", [0.0, 1.0], "numbers"),
            Question("link", "What does a step of length 1 between two designs cost?", 0.0, "number"),
        ),
        "designs whose values run through {targets}",
    ),
    Goal(
        "pareto",
        "a front of designs that trade several outcomes off against each other",
        "pareto",
        (
            Question("k", "How many designs?", 5, "whole number"),
            Question(
                "outcomes",
                "Which outcomes, and which way do they count (max or min)?",
                {"yield": "max", "impurity": "min"},
                "ways",
            ),
        ),
        "a front of {k} designs that trade off {outcomes}",
    ),
    Goal(
        "target",
        "one design whose outcomes are near stated values, inside bands or within limits",
        "target",
        (Question("targets", "Which values, bands or limits?", {"yield": 80.0, "impurity": "<= 3"}, "aims"),),
        "one design that comes near to {targets}",
    ),
    Goal("min_max", "the range: the design with the least value and the one with the greatest", "min_max"),
    Goal("estimate", "good predictions everywhere, or at points that you list in the file", "estimate"),
    Goal(
        "identify",
        "knowledge of where the greatest value is, or of how great it is",
        "identify",
        (Question("what", "Where it is (argmax), or how great (max)?", "argmax", "word", ("argmax", "max")),),
        "knowledge of {what}",
    ),
)
"""All answers, the usual ones first."""

REACH = 0.1
"""Designs differ enough from this share of the largest distance on, unless something else is said."""


def asks_for(decision: str, parameters: Mapping[str, Parameter]) -> tuple[Question, ...]:
    """The options to ask for, with defaults that go with the sizes of the parameters.

    Distances are in the units of the parameters, and 1 between two options: designs that differ enough are worth 1 by
    default, in any units.
    """
    asks = next((choice.asks for choice in CHOICES if choice.decision == decision), ())
    fields = [field for name, p in parameters.items() for field in p.fields(name)]
    reach = REACH * sum(1.0 if field.options and not field.ordered else field.high - field.low for field in fields)
    if not reach:
        return asks
    sizes = {"cap": _rounded(reach), "weight": _rounded(1.0 / reach)}
    return tuple(replace(ask, default=sizes.get(ask.option, ask.default)) for ask in asks)


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")
