"""Test functions and real data, each with the decision it is used with and the best that can be decided."""

from hentropy.problems.alpine import Alpine, alpine, alpine_levels
from hentropy.problems.base import Best, Problem

__all__ = ["Alpine", "Best", "Problem", "alpine", "alpine_levels"]
