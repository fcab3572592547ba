"""From a gain to the next designs: screening, one-shot, nested, finite, auto."""

from hentropy.solvers.auto import Auto
from hentropy.solvers.base import Cost, Finalists, Solver
from hentropy.solvers.finite import Finite
from hentropy.solvers.nested import Nested
from hentropy.solvers.one_shot import OneShot
from hentropy.solvers.propose import Outlook, Proposal, propose

__all__ = ["Auto", "Cost", "Finalists", "Finite", "Nested", "OneShot", "Outlook", "Proposal", "Solver", "propose"]
