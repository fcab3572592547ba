"""From a gain to the next designs: screening, one-shot, nested, finite, auto."""

from hentropy.core.solvers.auto import Auto
from hentropy.core.solvers.base import Cost, Finalists, Solver
from hentropy.core.solvers.finite import Finite
from hentropy.core.solvers.nested import Nested
from hentropy.core.solvers.one_shot import OneShot
from hentropy.core.solvers.propose import Outlook, Proposal, propose

__all__ = ["Auto", "Cost", "Finalists", "Finite", "Nested", "OneShot", "Outlook", "Proposal", "Solver", "propose"]
