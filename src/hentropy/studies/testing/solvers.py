"""What every solver must do."""

import torch

from hentropy.core.beliefs import Belief
from hentropy.core.decisions import Decision
from hentropy.core.gain import gain
from hentropy.core.solvers import Solver, propose
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.studies.testing.relations import SIGMAS, require


def check_solver(
    solver: Solver,
    decision: Decision,
    belief: Belief,
    space: DesignSpace,
    *,
    q: int = 1,
    rivals: int = 8,
    max_seconds: float = 0.05,
    grace: float = 5.0,
    seed: int = 0,
) -> None:
    """Raise an `AssertionError` if the solver does not work on this problem.

    The same seed gives the same proposal; designs lie in the space; the gain is at least that of the best of a few
    random sets of designs, up to errors; with `max_seconds` it ends within `grace` of it and says that it ended early.
    """
    first, again = (propose(decision, belief, space, q=q, solver=solver, seed=seed) for _ in range(2))
    require(
        tuple(first.x.shape) == (q, space.dim), f"{q} designs were asked for, the proposal has {tuple(first.x.shape)}"
    )
    require(torch.equal(first.x, again.x), f"the same seed gave {first.x.tolist()} and then {again.x.tolist()}")
    require(first.gain == again.gain, f"the same seed gave the gains {first.gain} and {again.gain}")
    try:
        space.check(first.x)
    except InputError as error:
        raise AssertionError(f"the proposal is not in the space: {error}") from error
    others = space.sample(rivals * q, seed + 17).to(belief.X).reshape(rivals, q, -1)
    found = gain(decision, belief, others, space, seed=seed)
    best = int(found.value.argmax())
    slack = SIGMAS * (first.std_error + float(found.std_error[best])) + 1e-9 * (1.0 + abs(first.entropy))
    require(
        first.gain >= float(found.value[best]) - slack,
        f"the proposal has the gain {first.gain:.6g}, the random designs {others[best].tolist()} have"
        f" {float(found.value[best]):.6g}",
    )
    short = propose(decision, belief, space, q=q, solver=solver, seed=seed, max_seconds=max_seconds)
    require(
        short.seconds <= max_seconds + grace,
        f"max_seconds = {max_seconds:g}, but the proposal took {short.seconds:.3g} s",
    )
    late = short.seconds > max_seconds
    require(short.complete or bool(short.note), "a proposal that was cut short does not say so in its note")
    require(
        not (late and short.complete),
        f"the proposal took {short.seconds:.3g} s of {max_seconds:g} and says it is complete",
    )
