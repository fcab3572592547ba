"""Designs: parameters, boxes, pools. The unit cube is known only here."""

from hentropy.core.spaces.first_designs import usual_first
from hentropy.core.spaces.fractions import Fractions
from hentropy.core.spaces.options import Choice, Levels
from hentropy.core.spaces.parameters import Field, Integer, Parameter, Real
from hentropy.core.spaces.pool import Pool
from hentropy.core.spaces.space import DesignSpace, Params, Space, sobol

__all__ = [
    "Choice",
    "DesignSpace",
    "Field",
    "Fractions",
    "Integer",
    "Levels",
    "Parameter",
    "Params",
    "Pool",
    "Real",
    "Space",
    "sobol",
    "usual_first",
]
