"""Test functions with their spaces."""

from hentropy.problems.alpine import Alpine, alpine

__all__ = ["Alpine", "alpine"]
