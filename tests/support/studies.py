"""Small studies that tests share: cheap to fit, cheap to search."""

import math
from typing import Any

import torch

import hentropy as he

LINE = he.Space(x=he.Real(-1.0, 3.0))
MIXED = he.Space(x=he.Real(0.0, 5.0), rate=he.Real(1e-4, 1e-1, log=True), steps=he.Integer(1, 6))
PLANE = he.Space(x=he.Real(0.0, 5.0), rate=he.Real(1e-4, 1e-1, log=True))
AT = torch.tensor([[1.0, 1e-3], [2.0, 1e-2], [3.0, 5e-2]], dtype=torch.float64)


def hill(x: float, **others: float) -> float:
    """One top near x = 1.3, slightly tilted by any other parameter."""
    tilt = sum(0.1 * math.log10(abs(value) + 1e-9) for value in others.values())
    return 3.0 * math.exp(-((x - 1.3) ** 2)) + tilt


def study(space: he.Space | he.Pool | he.Pool = LINE, decision: he.Decision | None = None, **options: Any) -> he.Study:
    chosen = he.Maximize() if decision is None else decision
    return he.Study(space, chosen, **{"hyperparameters": "map", **options})


def begun(
    space: he.Space | he.Pool = LINE, decision: he.Decision | None = None, count: int = 6, **options: Any
) -> he.Study:
    """A study that knows `count` values of the hill."""
    made = study(space, decision, **options)
    for row in space.sample(count, seed=7):
        params = space.decode(row)
        made.attach(params, hill(**params))
    return made


def measured(value: float, error: float | None = None, name: str = "value") -> dict[str, he.Measurement]:
    """What a trial with one value has measured."""
    return {name: he.Measurement(value, error)}


class Worst(he.Decision):
    """A decision of one's own: two designs, the worse one counts."""

    actions = he.Points(2)

    def loss(self, f: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return -f.min(-1).values


def price(f: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
    return (f.mean(-1) - a[..., 0]).abs()


def ship(f: torch.Tensor, a: str) -> torch.Tensor:
    return {"ship": -f.mean(-1), "wait": torch.zeros_like(f[..., 0])}[a]


DECISIONS = {
    "maximize": he.Maximize(),
    "minimize": he.Minimize(),
    "best observed": he.BestObserved(),
    "improve": he.Improve(2.0),
    "identify argmax": he.Identify("argmax", candidates=24),
    "identify max": he.Identify("max", candidates=48),
    "identify values": he.Identify(AT),
    "k guesses": he.KGuesses(2),
    "top k": he.TopK(3, weight=1.0, cap=0.5),
    "top k, own distance": he.TopK(2, distance=lambda a, b: (a - b).abs().sum(-1)),
    "level sets": he.LevelSets([0.0, 2.0]),
    "level sets at points": he.LevelSets(1.0, AT, "misclassification"),
    "sequence": he.Sequence([-1.0, 0.0, 1.0]),
    "min max": he.MinMax(),
    "estimate": he.Estimate(AT),
    "estimate everywhere": he.Estimate(),
    "own class": Worst(),
    "own function, box": he.decision(price, actions=he.Box([-2.0], [5.0], at=AT)),
    "own function, options": he.decision(ship, actions=he.Options(["ship", "wait"], at=AT)),
    "own function, listed": he.decision(lambda f, a: -f.sum(-1), actions=he.Listed(torch.stack([AT[:2], AT[1:]]))),
}
