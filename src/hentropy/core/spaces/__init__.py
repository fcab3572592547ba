"""Designs: parameters, boxes, pools. The unit cube is known only here."""

from hentropy.core.spaces.base import DesignSpace, Params, sobol, usual_first
from hentropy.core.spaces.parameters import Integer, Parameter, Real
from hentropy.core.spaces.pool import Pool
from hentropy.core.spaces.space import Space

__all__ = ["DesignSpace", "Integer", "Parameter", "Params", "Pool", "Real", "Space", "sobol", "usual_first"]
