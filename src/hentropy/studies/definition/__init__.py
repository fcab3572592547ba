"""A study in words: the study file, what it means, and the words for a study made in Python."""

from hentropy.errors import require

require("pydantic", "storage")
require("yaml", "storage", package="pyyaml")

from hentropy.studies.definition.building import (
    decision_of,
    describe,
    made_outcomes,
    model_of,
    options_of,
    space_of,
    stopping_of,
    store_url_of,
    verdict_units_of,
)
from hentropy.studies.definition.importing import imported
from hentropy.studies.definition.mistakes import validated
from hentropy.studies.definition.questions import (
    ASKED,
    CHOICES,
    NOISE_ANSWERS,
    REPEATED,
    WHO,
    Goal,
    Question,
    asks_for,
    goal_of,
    takes,
)
from hentropy.studies.definition.reading import read
from hentropy.studies.definition.schema import Description, json_schema
from hentropy.studies.definition.template import template

__all__ = [
    "ASKED",
    "CHOICES",
    "NOISE_ANSWERS",
    "REPEATED",
    "WHO",
    "Description",
    "Goal",
    "Question",
    "asks_for",
    "decision_of",
    "describe",
    "goal_of",
    "imported",
    "json_schema",
    "made_outcomes",
    "model_of",
    "options_of",
    "read",
    "space_of",
    "stopping_of",
    "store_url_of",
    "takes",
    "template",
    "validated",
    "verdict_units_of",
]
