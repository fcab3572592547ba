"""From what a person wants to end with to a decision.

The one list of questions that `hentropy init`, the form *New study* of the page and the chooser of the documentation
share.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hentropy.core.spaces import Parameter
from hentropy.errors import InputError
from hentropy.studies.definition.decisions import DECISIONS
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


NOISE = {
    "i do not know": None,
    "unknown": None,
    "?": None,
    "not at all": 0.0,
    "no": 0.0,
    "none": 0.0,
}
"""Answers in words to how much results differ."""


def _noise(text: str) -> float | None:
    """By how much results differ: "0.5", "about 0.5 %", "± 0.5"; 0.0 for "not at all", None for "I do not know"."""
    said = text.strip().lower().rstrip(".")
    if said in NOISE:
        return NOISE[said]
    number = re.fullmatch(
        r"(?:by )?(?:about |ca\.? )?(?:± ?|\+/- ?)?([0-9.]+(?:e[-+]?[0-9]+)?)(?: ?[^\s\d.,].*)?", said
    )
    found = float(number[1]) if number else math.inf
    if not math.isfinite(found):
        raise ValueError(f"{text!r} is no noise")
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
    "noise": _noise,
}

_WANTED = {
    "whole number": "give a whole number, such as 5",
    "number": "give a number, such as 2.5",
    "numbers": "give numbers, such as 1 2.5",
    "probability": "give a number between 0 and 1, such as 0.95",
    "yes or no": "please answer yes or no",
    "noise": "give a number, such as 0.5, 0 for not at all, or nothing if you do not know",
    "ways": "give outcomes and which way they count, such as yield max, impurity min",
    "aims": "give outcomes and what is wanted of them, such as hardness 55, gloss 80 to 90, cost <= 3",
}


@dataclass(frozen=True)
class Question:
    """An option to ask for: its key in the file, the question, a default, what kind of answer (and which words).

    The default of one that is `needed` is an example, which suits nobody: where people can be asked again, it is asked.
    """

    option: str
    question: str
    default: Any
    kind: str
    words: tuple[str, ...] = ()
    needed: bool = False

    @property
    def wanted(self) -> str:
        """What kind of answer is wanted, with an example."""
        return f"give one of {', '.join(self.words)}" if self.words else _WANTED[self.kind]

    def value(self, text: str) -> Any:
        """The answer as a value; an empty one is the default."""
        if not text.strip():
            return self.default
        try:
            value = _KINDS[self.kind](text)
        except (ValueError, KeyError):
            raise InputError(f"{text!r} is not an answer; {self.wanted}") from None
        if self.words and value not in self.words:
            raise InputError(f"{text!r} is not an answer; {self.wanted}")
        return value


@dataclass(frozen=True)
class Goal:
    """An answer to "What will you have at the end?": in plain words, the decision, the options to ask for.

    `said` is the answer once the options are known, by their names in braces; {best} and {side} are what `largest` and
    `above` mean, {value} and {values} those of the outcome, {designs} and {candidates} as many as `k`. `section` is
    where docs/decisions.md describes the decision, if its heading is not its name.
    """

    answer: str
    decision: str
    asks: tuple[Question, ...] = ()
    said: str = ""
    section: str = ""

    @property
    def page(self) -> str:
        """Where the documentation describes the decision."""
        return f"decisions.html#{self.section or self.decision.replace('_', '')}"


_LARGEST = Question("largest", "Are large values good?", True, "yes or no")

CHOICES: tuple[Goal, ...] = (
    Goal(
        "one design with the highest value",
        "maximize",
        said="one design with the highest {value}",
        section="maximize-minimize",
    ),
    Goal(
        "one design with the lowest value",
        "minimize",
        said="one design with the lowest {value}",
        section="maximize-minimize",
    ),
    Goal(
        "the best design among those measured",
        "best_observed",
        (_LARGEST,),
        "the design with the {best} {value} among those measured",
    ),
    Goal(
        "several high-scoring, diverse designs",
        "top_k",
        (
            Question("k", "How many designs?", 5, "whole number"),
            Question(
                "scaled",
                "Do distances between designs count as shares of the ranges (yes), or in the parameters' units (no)?",
                False,
                "yes or no",
            ),
            Question(
                "cap", "From which distance on, adding up all parameters, do designs differ enough?", 1.0, "number"
            ),
            Question(
                "weight", "How much is a distance of 1 between designs worth, in units of the value?", 1.0, "number"
            ),
            _LARGEST,
        ),
        "{k} diverse {designs} with the {best} {values}",
    ),
    Goal(
        "a few candidates, only the best of which counts",
        "k_guesses",
        (Question("k", "How many candidates?", 3, "whole number"), _LARGEST),
        "{k} {candidates}, of which only the one with the {best} {value} counts",
    ),
    Goal(
        "a map of where the value is above a threshold",
        "level_sets",
        (
            Question("thresholds", "Which thresholds, in rising order?", [0.0], "numbers", needed=True),
            Question(
                "relation",
                "Does a point far from its threshold count for more (difference), or each wrong label the same?",
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
        "a map of where the {value} is above {thresholds}",
    ),
    Goal(
        "designs whose values match a list of targets",
        "sequence",
        (
            Question("targets", "Which values, in their order?", [0.0, 1.0], "numbers", needed=True),
            Question("link", "What does a step of length 1 between two designs cost?", 0.0, "number"),
        ),
        "designs whose {values} match {targets}",
    ),
    Goal(
        "designs that trade off several outcomes: a Pareto front",
        "pareto",
        (
            Question("k", "How many designs?", 5, "whole number"),
            Question(
                "outcomes",
                "Which outcomes, and which way do they count (max or min)?",
                {"yield": "max", "impurity": "min"},
                "ways",
                needed=True,
            ),
        ),
        "a front of {k} {designs} that trade off {outcomes}",
    ),
    Goal(
        "one design that meets a specification",
        "target",
        (
            Question(
                "targets",
                "Which values, bands or limits?",
                {"yield": 80.0, "impurity": "<= 3"},
                "aims",
                needed=True,
            ),
        ),
        "one design that comes near to {targets}",
    ),
    Goal(
        "one design that passes a threshold, soon",
        "improve",
        (
            Question("threshold", "Which value has to be passed?", 0.0, "number", needed=True),
            Question("above", "Should values be above it?", True, "yes or no"),
        ),
        "one design whose {value} is {side} {threshold}, soon",
    ),
    Goal("accurate predictions at given points or everywhere", "estimate"),
    Goal(
        "knowledge of where the maximum is, or how high",
        "identify",
        (Question("what", "Where it is (argmax), or how high (max)?", "argmax", "word", ("argmax", "max")),),
        "knowledge of {what}",
    ),
    Goal(
        "the range: the lowest and the highest value",
        "min_max",
        said="the range: the lowest and the highest {value}",
    ),
)
"""All answers, the usual ones first."""

ASKED = {
    "goal": "What will you have at the end?",
    "vary": "What can you vary from one experiment to the next?",
    "limits": "Does another outcome have to stay within a limit?",
    "noise": "If you repeat an experiment, by how much does the result differ?",
    "who": "Who runs the experiments?",
}
"""The questions themselves."""

WHO = {"manual": "people, who enter the results", "python": "a Python function", "command": "a program"}
"""The answers to the last one, by the type of the objective."""


REPEATED = Question("noise", ASKED["noise"], None, "noise")
"""The noise of an outcome. Nobody has to know it: then it is learned from the data."""

NOISE_ANSWERS = {"unknown": "I do not know", "none": "not at all", "about": "about ..., a standard deviation"}
"""The answers to that question, where they are chosen from a list."""


def goal_of(decision: str) -> Goal | None:
    """The answer that leads to a decision."""
    return next((goal for goal in CHOICES if goal.decision == decision), None)


def takes(decision: str, option: str) -> bool:
    """Whether a decision has an option, such as limits on other outcomes (`subject_to`)."""
    return option in DECISIONS[decision].model_fields


REACH = 0.1
"""Designs differ enough from this share of the largest distance on, unless something else is said."""


def asks_for(decision: str, parameters: Mapping[str, Parameter], scaled: bool | None = None) -> tuple[Question, ...]:
    """The options to ask for, with defaults that go with the parameters.

    Distances are in the units of the parameters, or shares of their ranges if they are `scaled`, and 1 between two
    options: designs that differ enough are worth 1 by default, in any units. Unless it is said, distances are shares
    where there are options without an order, or numbers with different units.
    """
    goal = goal_of(decision)
    asks = goal.asks if goal else ()
    fields = [field for name, p in parameters.items() for field in p.fields(name)]
    options = [field for field in fields if field.options and not field.ordered]
    shares = bool(options) or len({field.unit for field in fields}) > 1
    scaled = shares if scaled is None else scaled
    reach = REACH * sum(1.0 if scaled or field in options else field.high - field.low for field in fields)
    if not reach:
        return asks
    sizes: dict[str, Any] = {"scaled": shares, "cap": _rounded(reach), "weight": _rounded(1.0 / reach)}
    return tuple(replace(ask, default=sizes.get(ask.option, ask.default)) for ask in asks)


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")
