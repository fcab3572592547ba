"""`fit_outcomes`: a belief about outcomes with names, each fitted to the designs of which it was measured."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hentropy.core.beliefs import Belief, Correlated, Gaussian, Graded, Several, Transformed
from hentropy.core.beliefs.base import check_names
from hentropy.core.beliefs.kernels import Profile
from hentropy.core.given import Tails, as_device, as_table
from hentropy.core.models.correlated import OutcomeData
from hentropy.core.models.families import evened, evenly
from hentropy.core.models.gp import MIXTURE_LIMIT, Observations, Treatment, as_profile, check_finite, fit, settled
from hentropy.core.models.many import FITTED
from hentropy.core.models.success import fit_grades
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch


def fit_outcomes(
    X: Any,
    Y: Any,
    outcomes: Sequence[str],
    *,
    log: Collection[str] = (),
    grades: Mapping[str, tuple[int, int]] | None = None,
    space: DesignSpace | None = None,
    noise: Mapping[str, Any] | None = None,
    tails: Mapping[str, Tails | None] | None = None,
    hyperparameters: Treatment = "auto",
    draws: int = 8,
    profile: Profile | str | None = None,
    seed: int = 0,
    correlated: bool | None = None,
    earlier: Belief | None = None,
    device: Any = None,
) -> Gaussian | Graded | Several | Transformed:
    """The belief after observing outcomes Y (n x o, NaN where one was not measured) at designs X (n x d).

    Outcomes in `log` are modelled as their natural logarithms, and losses see these. `noise` are standard errors by
    name, in units of Y, for each as in `fit`; the noise of the others is fitted. `tails` says by name which have
    "heavy" ones, as in `fit`: these are modelled separately. A single outcome has a `Gaussian`.
    `grades` names outcomes that are yes or no, or ordered grades, which Y counts from 0, each with the number of grades
    and the lowest wanted one: (2, 1) for yes and no. These are modelled as probabilities, by `Graded`,
    independently of the others.

    Outcomes are modelled jointly where the evidence prefers it (see `correlated`), and separately otherwise;
    `correlated=True` or `False` overrides this. More than 1,000 observations are modelled separately by default.
    `earlier` is the belief of a fit with the same options to the first of these data, and `device` is where to compute,
    as in `fit`.
    """
    names = (outcomes,) if isinstance(outcomes, str) else tuple(outcomes)
    check_names(names, names)
    logs = {log} if isinstance(log, str) else set(log)
    if not logs <= set(names):
        raise InputError(f"log names outcomes, which are {', '.join(names)}; got {log!r}")
    where = as_device(device)
    designs, values = as_table("X", X).to(device=where), as_table("Y", Y).to(device=where)
    values = values.unsqueeze(-1) if values.dim() == 1 and len(names) == 1 else values
    measured, errors = _measured(designs, values, names), _by_name(noise, names, len(values))
    heavy = dict(tails or {})
    if not set(heavy) <= set(names):
        raise InputError(f"tails are given by the names of outcomes, which are {', '.join(names)}; got {tails!r}")
    few = int(measured.sum(0).max()) <= MIXTURE_LIMIT
    if hyperparameters == "auto" and len(names) > 1 and not few:
        hyperparameters = "map"  # the same for all: components are paired
    hyperparameters = settled(hyperparameters, profile, few)
    if hyperparameters == "transformed" and len(names) > 1:
        hyperparameters = "families"  # components of all outcomes are paired, and have one transform or none
    probabilities: dict[str, Graded] = {}
    for i, name in enumerate(names):
        if name in (grades or {}):
            rows, own_grades = measured[:, i], (grades or {})[name]
            parts_of = (designs[rows], values[rows, i], errors[name], name, own_grades, space)
            probabilities[name] = _graded(*parts_of, hyperparameters, seed)
    if len(names) == 1 and probabilities:
        return probabilities[names[0]]
    told = values.clone()
    numbers = [i for i, name in enumerate(names) if name not in probabilities]
    for i in numbers:
        name = names[i]
        rows, error = measured[:, i], errors[name]
        error = error if error is None or error.dim() == 0 else error[rows]
        if name in logs:
            told[rows, i], error = _logarithms(values[rows, i], error, name)
        errors[name] = error

    def alone(i: int) -> Gaussian | Transformed:
        return fit(
            designs[measured[:, i]],
            told[measured[:, i], i],
            space=space,
            noise=errors[names[i]],
            tails=heavy.get(names[i]),
            hyperparameters=hyperparameters,
            draws=draws,
            profile=profile,
            seed=seed,
            earlier=_of_one(earlier, names[i]),
        )

    groups: list[tuple[int, ...]] = [(i,) for i in numbers]
    joint = [i for i in numbers if heavy.get(names[i]) is None]
    if len(joint) > 1 and (correlated or (correlated is None and len(designs) <= FITTED)):
        each = tuple(
            Observations.of(designs[measured[:, i]], told[measured[:, i], i], errors[names[i]], space) for i in joint
        )
        scales = None if space is None else space.scales
        own_names = tuple(names[i] for i in joint)
        data = OutcomeData(own_names, designs, told[:, joint], each, as_profile(profile), scales)
        found = [tuple(range(len(joint)))] if correlated else data.groups(seed)
        groups = [tuple(joint[i] for i in group) for group in found] + [(i,) for i in numbers if i not in joint]
    parts: list[Gaussian | Correlated | Graded] = []
    for group in groups:
        own = frozenset(logs & {names[i] for i in group})
        if len(group) == 1:
            fitted = alone(group[0])
            if isinstance(fitted, Transformed):  # of a single outcome only
                return replace(fitted, outcomes=names, logs=own)
            if hyperparameters == "families" and len(names) > 1:
                fitted = evened(fitted, max(draws, 2))  # the weights of all outcomes must be the same
            part: Gaussian | Correlated | Graded = replace(fitted, outcomes=(names[group[0]],), logs=own)
        else:
            some = data.some(tuple(joint.index(i) for i in group))
            part = replace(some.fit(hyperparameters != "map", max(draws, 2), seed), logs=own)
        if parts and part.components > 1:
            # components come in an order of their own: pairs by it would not be arbitrary
            order = torch.randperm(part.components, generator=torch.Generator().manual_seed(group[0]))
            part = part.some(order.tolist())
        parts.append(part)
    # grades have weights of their own, and the weights of all outcomes must be the same
    H = max((part.components for part in (*parts, *probabilities.values())), default=1)
    if any(part.components > 1 for part in parts):
        H = max(part.components for part in parts)
    for i, (name, one) in enumerate(probabilities.items()):
        order = torch.randperm(H, generator=torch.Generator().manual_seed(len(names) + i))
        evenly = one if one.components == 1 else _evened_grades(one, H).some(order.tolist())
        parts.append(replace(evenly, outcomes=(name,)))
    return parts[0] if isinstance(parts[0], Gaussian) and len(parts) == 1 else Several(tuple(parts), names)


def _evened_grades(belief: Graded, count: int) -> Graded:
    """As `evened`, with the cuts that belong to the components."""
    return belief.some(evenly(belief.weights, count)).weighted(belief.weights.new_full((count,), 1.0 / count))


def _of_one(belief: Belief | None, name: str) -> Gaussian | None:
    """The Gaussian belief about one outcome among those of a belief, if there is one."""
    parts = () if belief is None else belief.split()
    return next((part.process for part in parts if part.process and part.normal and part.outcomes == (name,)), None)


def _graded(
    X: Tensor,
    seen: Tensor,
    error: Tensor | None,
    name: str,
    grades: tuple[int, int],
    space: DesignSpace | None,
    hyperparameters: Treatment,
    seed: int,
) -> Graded:
    """The belief about an outcome whose grades were seen."""
    count, wanted = grades
    if space is None:
        raise InputError(f"{name!r} has grades; give the space of the designs as well")
    if error is not None:
        raise InputError(f"{name!r} has grades, which have no standard errors; leave its noise out")
    if not 1 <= wanted < count or bool(((seen < 0) | (seen >= count) | (seen != seen.round())).any()):
        raise InputError(f"the {count} grades of {name!r} are 0 to {count - 1}, and one from 1 on is wanted: {wanted}")
    single = hyperparameters == "map"
    fitted = fit_grades(X, seen, space=space, count=count, wanted=wanted, single=single, seed=seed)
    return replace(fitted, outcomes=(name,))


def _logarithms(values: Tensor, error: Tensor | None, name: str) -> tuple[Tensor, Tensor | None]:
    """Outcomes and their standard errors as those of the logarithms (to first order)."""
    bad = (values <= 0).nonzero()
    if len(bad):
        raise InputError(
            f"a value of {name!r} is {float(values[bad[0, 0]]):g}, which has no logarithm; give what is above 0, such"
            " as the limit of detection, or take the outcome as it is"
        )
    return values.log(), None if error is None else error / values


def _measured(designs: Tensor, values: Tensor, names: tuple[str, ...]) -> Tensor:
    """Which outcomes were measured: n x o."""
    if designs.dim() != 2 or tuple(values.shape) != (designs.shape[0], len(names)):
        raise InputError(
            f"Y must have a row for each row of X and a column for each of {', '.join(names)}, NaN where one was not"
            f" measured; got shapes {tuple(designs.shape)} and {tuple(values.shape)}"
        )
    measured = ~torch.isnan(values)
    check_finite(torch.where(measured, values, 0.0), "Y")
    for name, some in zip(names, measured.any(0).tolist(), strict=True):
        if not some:
            raise InputError(f"{name!r} was never measured; leave it out, or give at least one value of it")
    return measured


def _by_name(noise: Mapping[str, Any] | None, names: tuple[str, ...], n: int) -> dict[str, Tensor | None]:
    """The standard errors of each outcome as a table: None, one, or n."""
    errors: dict[str, Tensor | None] = dict.fromkeys(names)
    if noise is None:
        return errors
    if not isinstance(noise, Mapping) or not set(noise) <= set(names):
        raise InputError(
            f"the noise of several outcomes is given by name, such as {{{names[0]!r}: 0.1}}; got {noise!r}"
        )
    for name, given in noise.items():
        if given is not None:
            table = as_table("noise", given)
            if table.numel() not in (1, n):
                raise InputError(f"the noise of {name!r} must be one standard error, or {n}; got {table.numel()}")
            errors[name] = table.reshape(()) if table.numel() == 1 else table.reshape(n)
    return errors
