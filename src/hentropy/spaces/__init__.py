"""Designs: parameters, boxes, pools. The unit cube is known only here."""

from hentropy.spaces.base import DesignSpace, Params, sobol, usual_first
from hentropy.spaces.parameters import Integer, Parameter, Real
from hentropy.spaces.pool import Pool
from hentropy.spaces.space import Space

__all__ = ["DesignSpace", "Integer", "Parameter", "Params", "Pool", "Real", "Space", "sobol", "usual_first"]
