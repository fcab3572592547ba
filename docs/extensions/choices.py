"""What the page *Which decision?* asks, and the files that follow from each combination of answers.

A file is a list of paragraphs. The page only looks them up: it makes no text of its own, so that all it can show is
checked by the tests.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from hentropy.studies.definition import ASKED, CHOICES, NOISE_ANSWERS, WHO, goal_of, takes
from hentropy.studies.definition.decisions import DECISIONS, options_of_class
from hentropy.studies.definition.template import named_in

OWN = "own"
"""The answer that only the documentation has: a loss of one's own is code."""

EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "top_k": {"k": 3, "weight": 1.0, "cap": 0.3, "scaled": True},
    "k_guesses": {"k": 3},
    "level_sets": {"thresholds": [50.0]},
    "sequence": {"targets": [20.0, 50.0, 80.0]},
    "pareto": {"k": 3, "outcomes": {"yield": "max", "impurity": "min"}},
    "target": {"targets": {"yield": [70.0, 80.0], "impurity": "<= 3"}},
    "improve": {"threshold": 50.0},
}
"""Options that suit the example, by decision; of others, those that have to be given have their defaults."""

PAGES = {**{goal.decision: goal.page for goal in CHOICES}, OWN: "own-decisions.html#a-decision-of-your-own"}
"""Where each decision is described."""

QUESTIONS: dict[str, dict[str, str]] = {
    "goal": {**{goal.decision: goal.answer for goal in CHOICES}, OWN: "something else, with a loss of my own"},
    "vary": {
        "numbers": "numbers",
        "options": "numbers and options",
        "table": "nothing: candidates are rows of a table",
    },
    "limits": {"no": "no", "yes": "yes, such as an impurity of at most 3 %"},
    "noise": {**NOISE_ANSWERS, "about": "about 0.5, a standard deviation"},
    "who": dict(WHO),
}
"""The answers to each of the questions that are `ASKED`, by key."""

NOISE = {"unknown": None, "none": 0.0, "about": 0.5}
"""What the answers about noise mean."""

HAS_LIMITS = tuple(goal.decision for goal in CHOICES if takes(goal.decision, "subject_to"))

SPACES = {
    "numbers": '[space.temperature]\ntype = "real"\nlow = 20\nhigh = 90\nunit = "°C"\n\n'
    '[space.minutes]\ntype = "integer"\nlow = 5\nhigh = 60\nunit = "min"',
    "options": '[space.solvent]\ntype = "choice"\noptions = ["THF", "ethanol", "water"]\n\n'
    '[space.temperature]\ntype = "real"\nlow = 20\nhigh = 90\nunit = "°C"',
    "table": '[pool]\nfile = "candidates.csv"\nid = "sample"',
}
SPACES_IN_PYTHON = {
    "numbers": 'space = he.Space(temperature=he.Real(20, 90, unit="°C"), minutes=he.Integer(5, 60, unit="min"))',
    "options": 'space = he.Space(solvent=["THF", "ethanol", "water"], temperature=he.Real(20, 90, unit="°C"))',
    "table": 'import pandas\n\nspace = he.Pool(pandas.read_csv("candidates.csv"), id="sample")',
}
CANDIDATES = """sample,metal,doping,temperature
A-001,Al,0.01,600
A-002,Al,0.05,900
A-003,Co,0.02,700
A-004,Co,0.08,1100
A-005,Zn,0.03,800
A-006,Zn,0.10,1000"""

OWN_DECISION = '''"""A value of 50 is promised: what is missing costs three times as much as what is too much."""

import torch

import hentropy as he


class Promise(he.Decision):
    """One design, by the cost of missing the promise."""

    actions = he.Points(1)

    def loss(self, f, a):  # f: ... x 1, a: ... x 1 x d, returns ...
        missing = torch.relu(50.0 - f[..., 0])
        surplus = torch.relu(f[..., 0] - 50.0)
        return 3.0 * missing + surplus'''

FORMULAS = {
    "numbers": ("temperature, minutes", "80 - ((temperature - 62) / 7) ** 2 - ((minutes - 33) / 5) ** 2"),
    "options": (
        "solvent, temperature",
        '{"THF": 80, "ethanol": 70, "water": 60}[solvent] - ((temperature - 62) / 7) ** 2',
    ),
    "table": ("sample, metal, doping, temperature", "80 - 500 * abs(doping - 0.05) - 0.05 * abs(temperature - 800)"),
}
"""Experiments to play with: what they are given, and the value."""

BY_HAND = {
    "one": '    study.tell(trial, float(input("value? ")))',
    "several": '    study.tell(trial, {"yield": float(input("yield? ")), "impurity": float(input("impurity? "))})',
}


def combinations() -> Iterator[dict[str, str]]:
    """All combinations of answers; limits are asked for only where the decision takes them."""
    for answers in product(*QUESTIONS.values()):
        found = dict(zip(QUESTIONS, answers, strict=True))
        if found["limits"] == "no" or found["goal"] in HAS_LIMITS:
            yield found


def files(goal: str, vary: str, limits: str, noise: str, who: str) -> dict[str, str]:
    """The files that follow from the answers, by name."""
    options = _options(goal)
    if limits == "yes":
        options |= {"outcome": "yield", "subject_to": ["impurity <= 3"]}
    outcomes = named_in(options)
    found = {"study.toml": _study_file(goal, options, outcomes, vary, NOISE[noise], who)}
    found["study.py"] = _script(goal, options, outcomes, vary, NOISE[noise], who)
    if goal == OWN:
        found["promise.py"] = OWN_DECISION
    if vary == "table":
        found["candidates.csv"] = CANDIDATES
    if who == "python":
        found["experiment.py"] = _function(vary, bool(outcomes))
    if who == "command":
        reads = "import json\nimport sys"
        ends = "print(json.dumps(measure(**json.load(sys.stdin))))"
        found["experiment.py"] = f"{reads}\n\n\n{_function(vary, bool(outcomes))}\n\n\n{ends}"
    return {name: f"{text}\n" for name, text in found.items()}


def _options(decision: str) -> dict[str, Any]:
    """Options for the example: those that suit it, or the defaults of those that have to be given."""
    goal = goal_of(decision)
    if goal is None:
        return {}
    required = {option.name for option in options_of_class(DECISIONS[decision].kind) if option.required}
    asked = {ask.option: ask.default for ask in goal.asks if ask.option in required}
    return {**asked, **EXAMPLES.get(decision, {})}


def _function(vary: str, several: bool) -> str:
    names, value = FORMULAS[vary]
    returned = f'{{"yield": {value}, "impurity": temperature / 30}}' if several else value
    return f"def measure({names}):  # replace this by your experiment\n    return {returned}"


def _study_file(
    goal: str, options: dict[str, Any], outcomes: tuple[str, ...], vary: str, noise: float | None, who: str
) -> str:
    name = 'python = "promise:Promise"' if goal == OWN else f'name = "{goal}"'
    objective = {
        "manual": 'type = "manual"',
        "python": 'type = "python"\nfunction = "experiment:measure"',
        "command": 'type = "command"\ncommand = ["python", "experiment.py"]',
    }
    return "\n\n".join(
        [
            'version = 1\nname = "study"',
            SPACES[vary],
            *(f'[outcomes.{each}]\nunit = "%"{_noise(noise)}' for each in outcomes),
            *([f"[outcomes.value]{_noise(noise)}"] if noise is not None and not outcomes else []),
            "\n".join(["[decision]", name, *(f"{key} = {_toml(value)}" for key, value in options.items())]),
            f"[objective]\n{objective[who]}",
            "[stop]\ntrials = 40",
        ]
    )


def _noise(noise: float | None) -> str:
    """A line with the stated noise; nothing if it is not known."""
    return "" if noise is None else f"\nnoise = {noise:g}"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value).replace("'", '"')


def _script(
    goal: str, options: dict[str, Any], outcomes: tuple[str, ...], vary: str, noise: float | None, who: str
) -> str:
    form = "several" if outcomes else "one"
    kind = "Promise" if goal == OWN else f"he.{DECISIONS[goal].kind.__name__}"
    given = ", ".join(f"{name}={_python(value)}" for name, value in options.items())
    stated = "" if noise is None else f", noise={noise:g}"
    named = ", ".join(f'"{each}": he.Outcome(unit="%"{stated})' for each in outcomes)
    more = f", outcomes={{{named}}}" if outcomes else stated
    imports = ["import hentropy as he"]
    if who == "python":
        imports.append("from experiment import measure")
    if goal == OWN:
        imports.append("from promise import Promise")
    parts = ["\n".join(imports)]
    if who == "command":
        parts = [
            "import json\nfrom subprocess import check_output",
            *parts,
            "\ndef measure(**design):\n"
            '    return json.loads(check_output(["python", "experiment.py"], input=json.dumps(design), text=True))\n',
        ]
    parts.append(f"{SPACES_IN_PYTHON[vary]}\ndecision = {kind}({given})")
    if who == "manual":
        parts.append(f"study = he.Study(space, decision, stop=[he.Budget(40)]{more})")
        parts.append(
            "while not study.stopped:\n    trial = study.ask()\n    print(trial.params)\n"
            + BY_HAND[form]
            + "\nprint(study.decide())"
        )
    else:
        parts.append(f"found = he.search(measure, space, decision, budget=40{more})\nprint(found.verdict)")
    return "\n\n".join(parts)


def _python(value: Any) -> str:
    return repr(value).replace("'", '"')


def looked_up() -> dict[str, Any]:
    """All of it as plain values: questions, paragraphs, and for each combination the paragraphs of its files."""
    paragraphs: dict[str, int] = {}
    found = {
        "|".join(answers.values()): {
            name: [paragraphs.setdefault(part, len(paragraphs)) for part in text.split("\n\n")]
            for name, text in files(**answers).items()
        }
        for answers in combinations()
    }
    return {
        "questions": [{"key": key, "question": question, "answers": QUESTIONS[key]} for key, question in ASKED.items()],
        "limited": HAS_LIMITS,
        "pages": PAGES,
        "paragraphs": list(paragraphs),
        "files": found,
    }
