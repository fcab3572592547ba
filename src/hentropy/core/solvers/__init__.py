"""From a gain to the next designs: screening, one-shot, nested, finite, auto."""

from hentropy.core.solvers.ascent import Nested, OneShot
from hentropy.core.solvers.base import Cost, Finalists, Solver
from hentropy.core.solvers.finite import Finite
from hentropy.core.solvers.propose import Auto, Outlook, Proposal, propose

__all__ = ["Auto", "Cost", "Finalists", "Finite", "Nested", "OneShot", "Outlook", "Proposal", "Solver", "propose"]
