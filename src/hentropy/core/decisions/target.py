"""`Target`: a design whose outcomes are near stated values, inside bands, above or below."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hentropy.core.beliefs import Belief, Moments, Needs
from hentropy.core.beliefs.normal import distribution
from hentropy.core.decisions.actions import Points
from hentropy.core.decisions.base import Decision, Stated, totals
from hentropy.core.decisions.headlines import Quantity, percent, probable, roughly
from hentropy.core.decisions.limits import Limit, numbers_by_name, seen
from hentropy.core.given import is_finite
from hentropy.core.spaces.expressions import Name
from hentropy.errors import DecisionError, InputError
from hentropy.lazy import Tensor, torch

Aim = float | tuple[float, float] | str
"""A value, a band from one value to another, or a limit such as "<= 3"."""


class Target(Decision):
    """One design whose outcomes are near their targets: loss sum of weight x distance / scale.

    `targets` are values, bands or limits: {"hardness": 55, "gloss": (80, 90), "price": "<= 3"}. The distance is how far
    an outcome is from its value, from its band, or beyond its limit, and 0 inside: twice as far costs twice as much.
    `scale` is the distance that counts as 1, for all outcomes or for some; by default it is the standard deviation of
    the values seen, so that outcomes in different units are comparable. A single outcome is measured in its own units.
    `weights` are 1 by default.
    """

    actions = Points(1, as_set=True)
    needs = Needs.VARIANCE
    recommends_one = True

    def __init__(
        self,
        targets: Mapping[str, Aim],
        weights: Mapping[str, float] | None = None,
        scale: Mapping[str, float] | None = None,
    ) -> None:
        if not isinstance(targets, Mapping) or not targets:
            raise InputError(f'targets are given by outcome, such as {{"hardness": 55}}, got {targets!r}')
        self.targets = {name: tuple(aim) if isinstance(aim, list) else aim for name, aim in targets.items()}
        self.outcomes = tuple(targets)
        self.weights = None if weights is None else _positive("the weights", weights, self.outcomes)
        self.scale = None if scale is None else _positive("the scale", scale, self.outcomes)
        self._limits = tuple(_aimed(name, aim) for name, aim in targets.items())
        self._scales: Tensor | None = None
        if set(self.scale or {}) == set(targets) or len(targets) == 1:
            self._scales = torch.tensor([(self.scale or {}).get(name, 1.0) for name in targets], dtype=torch.float64)

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The upper ends of the targets."""
        ends = [(limit.outcome, limit.high) for limit in (_aimed(*item) for item in self.targets.items())]
        return tuple(Stated("the target", name, high) for name, high in ends if high < math.inf)

    def informed(self, belief: Belief) -> "Decision":
        """With the standard deviations of the values seen as default scales, in the belief's terms."""
        limits = tuple(_aimed(name, aim).believed(belief) for name, aim in self.targets.items())
        said = self.scale or ({} if len(self.outcomes) > 1 else {self.outcomes[0]: 1.0})
        scales = [said[name] if name in said else _spread(belief, name) for name in self.outcomes]
        return self.settled(_limits=limits, _scales=torch.tensor(scales, dtype=torch.float64))

    def _sum(self, distances: list[Tensor]) -> Tensor:
        """Distances of each outcome (...) weighted and in units of their scales: ... ."""
        if self._scales is None:
            raise DecisionError(f"{self!r} has no scales yet; give scale=..., or use it with a belief")
        weights = [(self.weights or {}).get(name, 1.0) for name in self.outcomes]
        count = torch.tensor(weights, dtype=torch.float64).to(distances[0]) / self._scales.to(distances[0])
        return (torch.stack(distances, -1) * count).sum(-1)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """sum weight x distance / scale."""
        each = f.unsqueeze(-1) if len(self.outcomes) == 1 else f  # ... x 1 x m
        return self._sum([limit.distance(f) for limit, f in zip(self._limits, each[..., 0, :].unbind(-1), strict=True)])

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """The expected excess on either side of the targets."""
        if moments.latent is not None:
            [limit] = self._limits
            return self._sum([limit.expected_distance_of(moments.latent)[..., 0]])
        rows = zip(self._limits, moments.mean.unbind(-1), moments.variance.unbind(-1), strict=True)
        return self._sum([limit.expected_distance(mean, var) for limit, mean, var in rows])

    def headline_of_several(self, each: Sequence[Moments], about: Sequence[Quantity]) -> str:
        """The outcomes beside their targets, and with which probability they are inside a band or a limit."""
        rows = zip(self.targets.items(), self._limits, each, about, strict=True)
        said = [_beside(_aimed(*item), own, moments, one) for item, own, moments, one in rows]
        return f"The design nearest to the target{'s' if len(said) > 1 else ''}: {', '.join(said)}."

    def headline(self, a: Any, moments: Moments, expected_loss: float, about: Quantity) -> str:
        """The same about one outcome."""
        return self.headline_of_several([moments], [about])

    def saving(self, amount: float, error: float, about: Quantity) -> str:
        """How much closer it comes: in units, if the loss is the distance of a single outcome."""
        if self._in_units(about):
            return f"{about.difference(amount, error)}, nearer to the target"
        targets = "targets" if len(self.outcomes) > 1 else "target"
        return f"{roughly(amount, error)} of the distance to the {targets}, as scaled"

    def better(self, amount: float, about: Quantity) -> str:
        """How much nearer it is: in units, if the loss is the distance of a single outcome."""
        if self._in_units(about):
            return f"nearer to the target by {about.change(amount)}"
        targets = "targets" if len(self.outcomes) > 1 else "target"
        return f"nearer to the {targets} by {Quantity().change(amount)} (as scaled)"

    def _in_units(self, about: Quantity) -> bool:
        """Whether the loss is the distance of a single outcome."""
        return len(self.outcomes) == 1 and not self.scale and not self.weights and not about.event


def _beside(wanted: Limit, own: Limit, moments: Moments, about: Quantity) -> str:
    """An outcome and its target: yield 64.5 ± 1.8 % (target 60 to 70 %, met with 99 % probability).

    The target is `wanted` in units, and its `own` numbers are in the terms of the moments (H x 1).
    """
    [mean], [sd] = totals(moments, about)
    target = {
        (True, False): f"at least {about.level(wanted.low)}",
        (False, True): f"at most {about.level(wanted.high)}",
        (True, True): about.with_unit(f"{wanted.low:g} to {wanted.high:g}"),
    }[math.isfinite(wanted.low), math.isfinite(wanted.high)]
    if wanted.low == wanted.high:
        return f"{about.of(mean, sd)} (target {about.level(wanted.low)})"
    if about.event:
        return f"{about.of(mean, sd)} (target {target})"
    s = moments.variance.clamp_min(1e-300).sqrt()
    inside = distribution((own.high - moments.mean) / s) - distribution((own.low - moments.mean) / s)
    # what is computed may be exactly at the end of a band
    inside = torch.where(moments.variance > 0, inside, own.holds(moments.mean).to(inside))
    share = float(moments.expect(inside[..., 0]))
    met = probable(share) if bool((moments.variance > 0).any()) else percent(share)
    return f"{about.of(mean, sd)} (target {target}, met with {met} probability)"


def _aimed(name: str, aim: Any) -> Limit:
    """What is wanted of an outcome, as the values at distance zero."""
    if isinstance(aim, str):
        return Limit.parse(f"{Name(name)} {aim}")
    band = aim if isinstance(aim, tuple | list) else (aim, aim)
    if len(band) != 2 or not all(is_finite(value) for value in band):
        raise InputError(f'the target of {name} is a number, a band (low, high) or a limit such as "<= 3", got {aim!r}')
    return Limit(name, float(band[0]), float(band[1]))


def _positive(what: str, given: Mapping[str, float], names: tuple[str, ...]) -> dict[str, float]:
    """Numbers above zero for some of the outcomes."""
    found = numbers_by_name(what, given, names, some=True)
    for name, value in found.items():
        if not value > 0:
            raise InputError(f"{what} of {name} must be above 0, got {value:g}; leave {name} out if it does not count")
    return found


def _spread(belief: Belief, outcome: str) -> float:
    """The standard deviation of the values seen; 1 where they do not differ."""
    values = seen(belief, outcome, f"the scale of {outcome}")
    spread = float(values.std(correction=0))
    return spread if spread > 0 else 1.0
