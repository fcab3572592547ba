"""Test functions and real data, each with the decision it is used with and the best that can be decided."""

from hentropy.problems.alpine import Alpine, alpine, alpine_levels
from hentropy.problems.base import Best, Problem
from hentropy.problems.catalogue import PROBLEMS, problem
from hentropy.problems.multihills import Multihills, multihills_level, multihills_levels, multihills_sequence
from hentropy.problems.night_light import night_light
from hentropy.problems.unit_distance import UnitL1
from hentropy.problems.vaccination import vaccination, vaccination_sequence

__all__ = [
    "PROBLEMS",
    "Alpine",
    "Best",
    "Multihills",
    "Problem",
    "UnitL1",
    "alpine",
    "alpine_levels",
    "multihills_level",
    "multihills_levels",
    "multihills_sequence",
    "night_light",
    "problem",
    "vaccination",
    "vaccination_sequence",
]
