"""`Pareto`: k designs that trade outcomes off against each other; the hypervolume that they dominate."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hentropy.core.beliefs import Belief, Moments, Needs
from hentropy.core.decisions.actions import Points
from hentropy.core.decisions.base import Decision, Stated, in_belief, monte_carlo_loss, shares_of_draws
from hentropy.core.decisions.boxes import positive_product
from hentropy.core.decisions.headlines import Quantity, roughly
from hentropy.core.decisions.hypervolume import area, area_with, hypervolume
from hentropy.core.decisions.limits import numbers_by_name, seen
from hentropy.core.decisions.normal import excess
from hentropy.core.decisions.several_designs import by_value
from hentropy.errors import DecisionError, InputError
from hentropy.lazy import Tensor, torch

MOST = 20
"""Designs of a front: more would have to be searched in another way."""


class Pareto(Decision):
    """k designs (1 to 20) whose outcomes together dominate the largest hypervolume: loss -hypervolume.

    `outcomes` gives the direction of each outcome: {"yield": "max", "impurity": "min"}. The volume is measured from
    `reference`, a number for each outcome below which (above, for "min") nothing counts; by default, the worst values
    seen. Its unit is the product of the outcomes' units.
    """

    def __init__(
        self, k: int, outcomes: Mapping[str, Literal["max", "min"]], reference: Mapping[str, float] | None = None
    ) -> None:
        self.actions = Points(k, as_set=True)
        if k > MOST:
            raise InputError(f"a front has at most {MOST} designs, got k = {k}")
        if not isinstance(outcomes, Mapping) or len(outcomes) < 2:
            raise InputError(
                'a front needs at least two outcomes, such as {"yield": "max", "impurity": "min"}, got'
                f" {outcomes!r}; for one, use Maximize or KGuesses"
            )
        for name, way in outcomes.items():
            if way not in ("max", "min"):
                raise InputError(f'the outcome {name} counts "max" or "min", got {way!r}')
        self.k = k
        self.ways = dict(outcomes)
        self.outcomes = tuple(outcomes)
        self.reference = None if reference is None else numbers_by_name("the reference", reference, self.outcomes)
        self.needs = Needs.VARIANCE if k == 1 else Needs.JOINT
        self._signs = torch.tensor([1.0 if way == "max" else -1.0 for way in outcomes.values()], dtype=torch.float64)
        self._origin: Tensor | None = None
        if self.reference is not None:
            self._origin = torch.tensor([self.reference[name] for name in outcomes], dtype=torch.float64)

    @property
    def given(self) -> dict[str, Any]:
        """The outcomes as they were given."""
        return {"outcomes": self.ways}

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The reference."""
        return tuple(Stated("the reference", name, value) for name, value in (self.reference or {}).items())

    def in_order(self, a: Tensor, belief: Belief) -> Tensor:
        """Along the front, the best value of the first outcome first."""
        first = self.outcomes[0]
        return by_value(a, belief.of(first), self.ways[first] == "max")

    def headline_of_several(self, each: Sequence[Moments], about: Sequence[Quantity]) -> str:
        """The range of each outcome over the front."""
        said = super().headline_of_several(each, about)
        return said if self.k == 1 else f"A front of {said[0].lower()}{said[1:]}"

    def saving(self, amount: float, error: float, about: Quantity) -> str:
        """In the product of all units."""
        return f"{roughly(amount, error)} of hypervolume"

    def informed(self, belief: Belief) -> "Decision":
        """With the worst values seen as the default reference, in the belief's terms."""
        if self.reference is not None:
            origin = [in_belief(belief, name, value) for name, value in self.reference.items()]
            return self.settled(_origin=torch.tensor(origin, dtype=torch.float64))
        signs = self._signs.tolist()
        values = [seen(belief, name, "the reference of the front") for name in self.outcomes]
        worst = [each.min() if sign > 0 else each.max() for each, sign in zip(values, signs, strict=True)]
        return self.settled(_origin=torch.stack(worst))

    @property
    def origin(self) -> Tensor:
        """The reference, once it is known: m."""
        if self._origin is None:
            raise DecisionError(f"{self!r} has no reference yet; give reference=..., or use it with a belief")
        return self._origin

    def _above(self, f: Tensor) -> Tensor:
        """How much better than the reference values are (... x m)."""
        return self._signs.to(f) * (f - self.origin.to(f))

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """Minus the hypervolume of k outcomes: f ... x k x m."""
        return -hypervolume(self._above(f).clamp_min(0.0))

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """For one design the expected product of improvements on the reference, base samples beyond."""
        if self.k > 1:
            few = len(self.outcomes) == 2
            return self._drawn_loss(moments, draws) if few else monte_carlo_loss(self, moments, a, draws)
        if moments.between is not None:
            signs = self._signs.to(moments.mean)
            turned = signs.unsqueeze(-1) * signs * moments.between.squeeze(-3)
            return -positive_product(self._above(moments.mean), turned)
        random = moments.variance > 0
        s = torch.where(random, moments.variance, 1.0).sqrt() * random
        return -excess(-self._above(moments.mean), s).prod(-1)

    def losses_with(self, kept: Tensor, new: Tensor) -> Tensor | None:
        """What a new corner adds to those that are kept, for two outcomes."""
        if len(self.outcomes) > 2:
            return None
        return -area_with(self._above(kept).clamp_min(0.0), self._above(new).clamp_min(0.0))

    def _drawn_loss(self, moments: Moments, draws: Tensor) -> Tensor:
        """The expected loss of k designs by base samples M x 2k, two outcomes: moments H x ... x 2k to H x ... .

        The values of each design and outcome are kept apart, for `area`. Roots lack the dimensions in which only means
        differ.
        """
        signs = self._signs.to(moments.mean)
        means = ((moments.mean - self.origin.to(signs).repeat(self.k)) * signs.repeat(self.k)).unflatten(-1, (-1, 2))
        means = means.movedim((-1, -2), (1, 2))  # H x 2 x k x ...
        if moments.point_mass:
            return -area(*_corners(means))
        noise = shares_of_draws(draws, len(moments.covariance)).movedim(0, -1).unflatten(1, (-1, 2))  # H x k x 2 x M'
        if moments.apart:
            roots = moments.roots_apart.movedim((-3, -2), (1, 2))  # H x 2 x k x ... x k
            own = noise.transpose(1, 2)
        else:
            roots = moments.root.unflatten(-2, (-1, 2)).movedim((-2, -3), (1, 2))  # H x 2 x k x ... x 2k
            own = noise.flatten(1, 2).unsqueeze(1).expand(-1, 2, -1, -1)
        moves = roots.flatten(2, -2) @ (signs[:, None, None] * own)  # H x 2 x (k ...) x M'
        values = moves.reshape(*roots.shape[:-1], -1) + means.unsqueeze(-1)
        return -area(*_corners(values)).mean(-1)

    def __repr__(self) -> str:
        return f"Pareto(k={self.k}, outcomes={self.ways}, reference={self.reference})"


def _corners(values: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """How far the corners reach in either outcome, each corner by itself: H x 2 x k x ... to 2 x k of H x ... ."""
    wide, high = values.clamp_min(0.0).unbind(1)
    return wide.unbind(1), high.unbind(1)
