"""From a gain to the next designs: screening, one-shot, nested, finite, auto."""

from hentropy.core.solvers.ascent import Nested, OneShot
from hentropy.core.solvers.assays import Assay, AssayProposal, observing, propose_assay
from hentropy.core.solvers.base import Cost, CostFunction, Finalists, NetOfCost, Outlay, PerCost, Solver
from hentropy.core.solvers.finite import Finite
from hentropy.core.solvers.propose import Auto, Outlook, Proposal, propose

__all__ = [
    "Assay",
    "AssayProposal",
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
    "observing",
    "propose",
    "propose_assay",
]
