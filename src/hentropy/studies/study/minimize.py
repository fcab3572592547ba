"""`minimize`: a function of a list of numbers made small, called as in SciPy and scikit-optimize."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hentropy.core.decisions import BestObserved
from hentropy.core.given import is_count, is_number
from hentropy.core.spaces import Choice, Parameter, Params, Real, Space
from hentropy.errors import InputError
from hentropy.studies.records import State, Trial, in_state
from hentropy.studies.stopping import GainBelow, StoppingRule
from hentropy.studies.study.running import check_run
from hentropy.studies.study.search import search
from hentropy.studies.study.study import Study


@dataclass(frozen=True)
class Minimum:
    """What `minimize` found.

    `x` (d) is the design to use: of all measured ones, that with the least expected value. `fun` is what was measured
    there (the mean, if that was done several times), and `expected_loss` its expected value, with the noise averaged
    out; None while the search continues. `x_iters` and `func_vals` are all evaluations in their order, without failed
    ones, `nfev` counts calls of the function, and `records` are all trials.
    """

    x: Any
    fun: float
    expected_loss: float | None
    nfev: int
    message: str
    x_iters: list[Any] = field(repr=False)
    func_vals: np.ndarray = field(repr=False)
    records: tuple[Trial, ...] = field(repr=False)
    study: Study = field(repr=False)


def minimize(
    fun: Callable[..., Any],
    bounds: Any,
    args: tuple[Any, ...] = (),
    *,
    budget: int = 30,
    x0: Any = None,
    y0: Any = None,
    tol: float | None = None,
    callback: Callable[[Minimum], object] | None = None,
    seed: int = 0,
    progress: bool = False,
    deterministic: bool = False,
    **options: Any,
) -> Minimum:
    """Minimise an expensive function `fun(x, *args)` with at most `budget` calls.

    `bounds` is a list with (low, high) for each coordinate of x, or a `scipy.optimize.Bounds`; a pair can also be
    a parameter, such as `Integer(1, 9)` or `Real(1e-4, 1, log=True)`, or a list of options. x is an array of numbers,
    or a list if one of its coordinates is not a number. fun returns a number or (value, standard error); a call that
    raises counts as failed, and the model learns from it.

    `x0` is one x or a list of them, to be evaluated first; with `y0`, what was measured there, they are earlier data
    and cost nothing. The search ends early when the next call is expected to improve the result by less than `tol`, or
    when `callback` returns True or raises StopIteration; it is called with the result so far after each call.
    `deterministic` says that fun returns the same value whenever it is called with the same x: the same as `noise=0`.
    `options` are those of `Study`.
    """
    space = _space(bounds)
    as_x = _reader(space)
    starts = _starts(x0, space)
    measured = _measured(y0, starts)
    if not is_count(budget) or (measured is None and len(starts) >= budget):
        raise InputError(f"the budget is {budget!r}; it must be a whole number above that of x0, {len(starts)}")
    check_run(fun, budget, deterministic)
    calls = 0

    def evaluate(**params: Any) -> Any:
        nonlocal calls
        calls += 1
        return fun(as_x(params), *args)

    data = list(zip(starts, [evaluate(**start) for start in starts] if measured is None else measured, strict=True))
    stop: tuple[StoppingRule, ...] = (*options.pop("stop", ()), *([] if tol is None else [GainBelow(tol)]))
    ended = search(
        evaluate,
        space,
        BestObserved(largest=False),
        budget - calls,
        data=data,
        callback=None if callback is None else lambda study: callback(_result(study, as_x, calls)),
        progress=progress,
        worth=False,
        deterministic=deterministic,
        seed=seed,
        stop=stop,
        **options,
    )
    chosen = {name: ended.verdict.action[0][name] for name in space.names}
    return _result(ended.study, as_x, calls, chosen, ended.verdict.expected_loss)


def _result(
    study: Study,
    as_x: Callable[[Params], Any],
    calls: int,
    chosen: Params | None = None,
    expected_loss: float | None = None,
) -> Minimum:
    """What is known so far; unless a design was chosen, that with the least measured value."""
    done = in_state(study.records, State.COMPLETE)
    values = np.array([trial.value for trial in done], dtype=float)
    if chosen is None:
        chosen = done[int(values.argmin())].params if done else {}
    own = [value for trial, value in zip(done, values, strict=True) if trial.params == chosen]
    return Minimum(
        as_x(chosen) if chosen else None,
        float(np.mean(own)) if own else float("nan"),
        expected_loss,
        calls,
        study.stopped or "the budget is used up, or the callback stopped it",
        [as_x(trial.params) for trial in done],
        values,
        study.records,
        study,
    )


def _space(bounds: Any) -> Space:
    if isinstance(bounds, Space):
        raise InputError("bounds is a Space, whose designs have names: use he.search(f, space, he.Minimize(), budget)")
    try:
        from_scipy = not isinstance(bounds, Sequence | np.ndarray)
        rows = np.column_stack([bounds.lb, bounds.ub]).tolist() if from_scipy else list(bounds)
    except AttributeError:
        raise InputError(f"bounds is {bounds!r}; it must be a list with (low, high) for each coordinate") from None
    return Space(**{f"x{number}": _parameter(number, row) for number, row in enumerate(rows)})


def _parameter(number: int, given: Any) -> Parameter:
    if isinstance(given, Parameter):
        return given
    values = list(given) if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else []
    if len(values) == 2 and all(is_number(value) for value in values):
        return Real(float(values[0]), float(values[1]))
    if values and all(isinstance(value, str) for value in values):
        return Choice(values)
    raise InputError(
        f"the bounds of coordinate {number} are {given!r}; they must be (low, high), a parameter such as Integer(1, 9),"
        " or a list of texts to choose from"
    )


def _reader(space: Space) -> Callable[[Params], Any]:
    """From a design by names to x."""
    if all(field.is_number for field in space.fields):
        return lambda params: np.array([params[name] for name in space.names], dtype=float)
    return lambda params: [params[name] for name in space.names]


def _starts(x0: Any, space: Space) -> list[Params]:
    if x0 is None:
        return []
    rows = list(x0)
    if not all(isinstance(row, Sequence | np.ndarray) and not isinstance(row, str) for row in rows):
        rows = [rows]  # one x alone
    if any(len(row) != len(space.names) for row in rows):
        raise InputError(f"each x of x0 must have {len(space.names)} coordinates, as many as the bounds; got {x0!r}")
    return [dict(zip(space.names, row, strict=True)) for row in rows]


def _measured(y0: Any, starts: list[Params]) -> list[Any] | None:
    if y0 is None:
        return None
    values = [y0] if is_number(y0) else list(y0)
    if len(values) != len(starts):
        raise InputError(f"y0 has {len(values)} values for the {len(starts)} designs of x0; give one for each")
    return values
