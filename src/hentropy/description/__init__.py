"""A study in words: the study file, what it means, and the words for a study made in Python."""

from hentropy.description.building import decision_of, options_of, space_of, stopping_of, store_url_of
from hentropy.description.describing import describe
from hentropy.description.importing import imported
from hentropy.description.json_schema import json_schema
from hentropy.description.mistakes import validated
from hentropy.description.questions import CHOICES, Ask, Choice, asks_for
from hentropy.description.reading import read
from hentropy.description.schema import Description
from hentropy.description.template import template

__all__ = [
    "CHOICES",
    "Ask",
    "Choice",
    "Description",
    "asks_for",
    "decision_of",
    "describe",
    "imported",
    "json_schema",
    "options_of",
    "read",
    "space_of",
    "stopping_of",
    "store_url_of",
    "template",
    "validated",
]
