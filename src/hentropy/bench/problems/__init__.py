"""Test functions and real data, each with the decision it is used with and the best that can be decided."""

from hentropy.bench.problems.alpine import Alpine, alpine, alpine_levels
from hentropy.bench.problems.base import Best, Problem, UnitL1
from hentropy.bench.problems.catalogue import PROBLEMS, problem
from hentropy.bench.problems.crash import crash_region
from hentropy.bench.problems.fidelities import FidelityProblem, two_fidelities
from hentropy.bench.problems.lab import fullerenes_levels, fullerenes_top_k, photo_pce10_levels, photo_pce10_top_k
from hentropy.bench.problems.maps import night_light, vaccination, vaccination_sequence
from hentropy.bench.problems.measurements import Measurements, lab_table, table
from hentropy.bench.problems.multihills import Multihills, multihills_level, multihills_levels, multihills_sequence
from hentropy.bench.problems.published_minima import published_minimum
from hentropy.bench.problems.reactions import reaction
from hentropy.bench.problems.standard import standard

__all__ = [
    "PROBLEMS",
    "Alpine",
    "Best",
    "FidelityProblem",
    "Measurements",
    "Multihills",
    "Problem",
    "UnitL1",
    "alpine",
    "alpine_levels",
    "crash_region",
    "fullerenes_levels",
    "fullerenes_top_k",
    "lab_table",
    "multihills_level",
    "multihills_levels",
    "multihills_sequence",
    "night_light",
    "photo_pce10_levels",
    "photo_pce10_top_k",
    "problem",
    "published_minimum",
    "reaction",
    "standard",
    "table",
    "two_fidelities",
    "vaccination",
    "vaccination_sequence",
]
