"""From a gain to the next designs: screening, one-shot, nested, finite, auto."""

from hentropy.core.solvers.ascent import Nested, OneShot
from hentropy.core.solvers.assays import Assay, AssayProposal, observing, propose_assay
from hentropy.core.solvers.base import Cost, CostFunction, CostModel, Finalists, NetOfCost, PerCost, Solver
from hentropy.core.solvers.finite import Finite
from hentropy.core.solvers.propose import Auto, Outlook, Proposal, propose

__all__ = [
    "Assay",
    "AssayProposal",
    "Auto",
    "Cost",
    "CostFunction",
    "CostModel",
    "Finalists",
    "Finite",
    "Nested",
    "NetOfCost",
    "OneShot",
    "Outlook",
    "PerCost",
    "Proposal",
    "Solver",
    "observing",
    "propose",
    "propose_assay",
]
