"""From a gain to the next designs: screening, one-shot, nested, finite, auto."""

from hentropy.core.solvers.ascent import Nested, OneShot
from hentropy.core.solvers.base import Cost, CostFunction, Finalists, NetOfCost, Outlay, PerCost, Solver
from hentropy.core.solvers.finite import Finite
from hentropy.core.solvers.propose import Auto, Outlook, Proposal, propose

__all__ = [
    "Auto",
    "Cost",
    "CostFunction",
    "Finalists",
    "Finite",
    "Nested",
    "NetOfCost",
    "OneShot",
    "Outlay",
    "Outlook",
    "PerCost",
    "Proposal",
    "Solver",
    "propose",
]
