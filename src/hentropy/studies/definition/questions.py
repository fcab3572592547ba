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


def _yes_no(text: str) -> bool:
    words = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
    return words[text.strip().lower()]


_KINDS: dict[str, Callable[[str], Any]] = {
    "whole number": plain_whole,
    "number": plain_number,
    "numbers": _numbers,
    "yes or no": _yes_no,
    "word": str.strip,
}

_WANTED = {
    "whole number": "give a whole number, such as 5",
    "number": "give a number, such as 2.5",
    "numbers": "give numbers, such as 1 2.5",
    "yes or no": "please answer yes or no",
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
    """An answer to "what will you decide?": a key, the answer in plain words, the decision, the options to ask for."""

    key: str
    answer: str
    decision: str
    asks: tuple[Question, ...] = ()


_LARGEST = Question("largest", "Are large values good?", True, "yes or no")

CHOICES: tuple[Goal, ...] = (
    Goal("maximize", "one design with the greatest value", "maximize"),
    Goal("minimize", "one design with the least value", "minimize"),
    Goal("best_observed", "the best of the designs that were really measured", "best_observed", (_LARGEST,)),
    Goal(
        "improve",
        "one design that passes a threshold, soon",
        "improve",
        (
            Question("threshold", "Which value has to be passed?", 0.0, "number"),
            Question("above", "Should values be above it?", True, "yes or no"),
        ),
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
    ),
    Goal(
        "k_guesses",
        "a few candidates, only the best of which counts",
        "k_guesses",
        (Question("k", "How many candidates?", 3, "whole number"), _LARGEST),
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
        ),
    ),
    Goal(
        "sequence",
        "designs whose values run through a list of targets",
        "sequence",
        (
            Question("targets", "Which values, in their order?", [0.0, 1.0], "numbers"),
            Question("link", "What does a step of length 1 between two designs cost?", 0.0, "number"),
        ),
    ),
    Goal("min_max", "the range: the design with the least value and the one with the greatest", "min_max"),
    Goal("estimate", "good predictions everywhere, or at points that you list in the file", "estimate"),
    Goal(
        "identify",
        "knowledge of where the greatest value is, or of how great it is",
        "identify",
        (Question("what", "Where it is (argmax), or how great (max)?", "argmax", "word", ("argmax", "max")),),
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
