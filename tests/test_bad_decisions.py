"""What cannot be right is refused with one clear error that names the value and says what to change."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import hentropy as he
from support.beliefs import designs, gaussian, tensor
from support.decisions import POOL, SPACE, BothSides

pytestmark = pytest.mark.smoke

X = designs(2, seed=1)
NAN = math.nan


def own(loss: Callable[[Tensor, Any], Any], actions: Any = None) -> he.Decision:
    return he.decision(loss, he.Points(2) if actions is None else actions)


class NoPoints(he.Decision):
    """A box of actions that does not say where its loss looks at f."""

    actions = he.Box([0.0], [1.0])

    def loss(self, f: Tensor, a: Any) -> Tensor:
        return f[..., 0]


class Separable(BothSides):
    """Promises a closed form that it does not have."""

    needs = he.Needs.VARIANCE


class NotListed(he.BestObserved):
    def actions_given(self, observed: Tensor) -> Any:
        return he.Points(1)


def ask(decision: Any, space: Any = SPACE, **options: Any) -> Any:
    return he.propose(decision, gaussian(1), space, **options)


BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "k above a list": (lambda: ask(he.TopK(11), POOL), he.InputError, r"11 different designs.*only 10"),
    "guesses above a list": (lambda: ask(he.KGuesses(11), POOL), he.InputError, r"11 different designs.*only 10"),
    "k is zero": (lambda: he.TopK(0), he.InputError, r"at least 1, got 0"),
    "k is broken": (lambda: he.KGuesses(2.5), he.InputError, r"got 2\.5"),  # type: ignore[arg-type]
    "k is a float": (lambda: he.TopK(2.0), he.InputError, r"got 2\.0"),  # type: ignore[arg-type]
    "k is a word": (lambda: he.TopK("two"), he.InputError, r"got 'two'"),  # type: ignore[arg-type]
    "thresholds out of order": (lambda: he.LevelSets([2.0, 1.0]), he.InputError, r"rise.*\[2\.0, 1\.0\].*sort"),
    "thresholds twice": (lambda: he.LevelSets([1.0, 1.0]), he.InputError, r"drop repeats"),
    "no thresholds": (lambda: he.LevelSets([]), he.InputError, r"at least one threshold"),
    "threshold is NaN": (lambda: he.LevelSets([1.0, NAN]), he.InputError, r"finite, got \[1\.0, nan\]"),
    "confidence": (lambda: he.LevelSets(1.0, confidence=1.0), he.InputError, r"confidence.*between 0 and 1, got 1\.0"),
    "weights": (
        lambda: he.LevelSets(1.0, at=[[0.0, 0.0]], weights=[1.0, 2.0]),
        he.InputError,
        r"2 weights and 1 points",
    ),
    "no weight": (lambda: he.LevelSets(1.0, at=[[0.0, 0.0]], weights=[0.0]), he.InputError, r"not all of them 0"),
    "relation": (lambda: he.LevelSets(1.0, relation="x"), he.InputError, r"'x'.*misclassification"),  # type: ignore[arg-type]
    "improve threshold": (lambda: he.Improve(NAN), he.InputError, r"got nan"),
    "weight": (lambda: he.TopK(2, weight=-1.0), he.InputError, r"got -1\.0"),
    "cap": (lambda: he.TopK(2, cap=0.0), he.InputError, r"above 0, got 0\.0"),
    "distance": (lambda: he.TopK(2, distance="l3"), he.InputError, r"'l3'.*\"l1\", \"l2\""),  # type: ignore[arg-type]
    "distance shape": (
        lambda: ask(he.TopK(2, distance=lambda a, b: (a - b).sum())),
        he.DecisionError,
        r"last dimension",
    ),
    "no targets": (lambda: he.Sequence([]), he.InputError, r"at least one target"),
    "power": (lambda: he.Sequence([1.0], power=3), he.InputError, r"1 or 2, got 3"),
    "link": (lambda: he.Sequence([1.0], link=NAN), he.InputError, r"got nan"),
    "what to identify": (lambda: he.Identify("min"), he.InputError, r"'min'.*argmax|argmax.*'min'"),
    "candidates": (lambda: he.Identify("max", candidates=1), he.InputError, r"at least 2.*got 1"),
    "places are flat": (lambda: he.Estimate([1.0, 2.0]), he.InputError, r"m x d.*\(2,\)"),
    "places are NaN": (lambda: he.Estimate([[1.0, NAN]]), he.InputError, r"NaN or infinite.*drop"),
    "places of another space": (lambda: ask(he.Estimate([[1.0, 2.0, 3.0]])), he.InputError, r"3 values each.*2"),
    "loss is NaN": (lambda: ask(own(lambda f, a: f.sum(-1) * NAN)), he.DecisionError, r"NaN.*logarithms"),
    "loss is infinite": (lambda: ask(own(lambda f, a: f.sum(-1) - math.inf)), he.DecisionError, r"-inf.*bound it"),
    "loss keeps a dimension": (lambda: ask(own(lambda f, a: -f)), he.DecisionError, r"returned shape.*last dimension"),
    "loss reduces all": (lambda: ask(own(lambda f, a: f.sum())), he.DecisionError, r"returned shape \(\)"),
    "loss is a number": (lambda: ask(own(lambda f, a: 1.0)), he.DecisionError, r"returned float.*tensor"),
    "no points": (lambda: ask(NoPoints()), he.DecisionError, r"NoPoints.*points\(a\).*at="),
    "no closed form": (lambda: ask(Separable()), he.DecisionError, r"Needs\.VARIANCE.*expected_loss"),
    "own points, long list": (
        lambda: ask(LongList(), he.Pool(designs(100, seed=1))),
        he.DecisionError,
        r"Listed\(rows\)",
    ),
    "actions follow data as points": (lambda: ask(NotListed()), he.DecisionError, r"must return Listed.*not Points"),
    "actions are a list": (lambda: he.decision(lambda f, a: f, [1, 2]), he.InputError, r"Points\(k\)"),  # type: ignore[arg-type]
    "no options": (lambda: he.Options([]), he.InputError, r"at least one option"),
    "box of actions": (lambda: he.Box([1.0], [0.0]), he.InputError, r"1\.0, 0\.0.*in order"),
    "listed rows": (lambda: he.Listed(torch.zeros(3, 2)), he.InputError, r"m x k x d.*\(3, 2\)"),
    "points of an option": (
        lambda: ask(own(lambda f, a: f[..., 0], he.Options(["a"], at=[[1.0]]))),
        he.DecisionError,
        r"'a'.*\(1, 1\).*K x 2",
    ),
    "not a decision": (lambda: ask("maximize"), he.InputError, r"'maximize' is not a decision.*he\.Maximize"),
    "not a belief": (lambda: he.entropy(he.Maximize(), X, SPACE), he.InputError, r"Tensor is not a belief.*he\.fit"),  # type: ignore[arg-type]
    "not a space": (lambda: ask(he.Maximize(), [(0, 1)]), he.InputError, r"not a space.*he\.Space"),
    "space of another size": (lambda: ask(he.Maximize(), he.Space(x=he.Real(0, 1))), he.InputError, r"2 values.*has 1"),
    "x is flat": (lambda: he.gain(he.Maximize(), gaussian(1), X[0], SPACE), he.InputError, r"b x 2.*got \(2,\)"),
    "x is wide": (
        lambda: he.gain(he.Maximize(), gaussian(1), tensor([[1.0, 2, 3]]), SPACE),
        he.InputError,
        r"got \(1, 3\)",
    ),
    "x is NaN": (
        lambda: he.gain(he.Maximize(), gaussian(1), tensor([[1.0, 2], [1, NAN]]), SPACE),
        he.InputError,
        r"row 1 of x has x2 = nan",
    ),
    "x is text": (lambda: he.gain(he.Maximize(), gaussian(1), [["a", "b"]], SPACE), he.InputError, r"table of numbers"),  # type: ignore[arg-type]
    "pending is NaN": (
        lambda: ask(he.Maximize(), pending=tensor([[NAN, 1.0]])),
        he.InputError,
        r"row 0 of pending has x1 = nan",
    ),
    "pending is wide": (lambda: ask(he.Maximize(), pending=tensor([[1.0]])), he.InputError, r"pending.*\(1, 1\)"),
    "q is zero": (lambda: ask(he.Maximize(), q=0), he.InputError, r"at least 1, got 0"),
    "q is broken": (lambda: ask(he.Maximize(), q=1.5), he.InputError, r"whole number.*got 1\.5"),
    "max_seconds": (lambda: ask(he.Maximize(), max_seconds=0), he.InputError, r"above 0, got 0"),
    "max_memory": (lambda: ask(he.Maximize(), max_memory=1000), he.InputError, r"1 MiB.*got 1000"),
    "cost shape": (lambda: ask(he.Maximize(), cost=lambda x: x.sum(-1).abs()), he.InputError, r"cost.*reduce over"),
    "cost of zero": (
        lambda: ask(he.Maximize(), cost=lambda x: x.sum((-1, -2)) * 0),
        he.InputError,
        r"cost is 0.*above 0",
    ),
    "one-shot on a list": (lambda: ask(he.Maximize(), POOL, solver=he.OneShot()), he.InputError, r"use Auto"),
    "nested on a list": (
        lambda: ask(he.Maximize(), POOL, solver=he.Nested()),
        he.InputError,
        r"Finite\(\) or Auto\(\)",
    ),
    "finite on a box": (lambda: ask(he.Maximize(), solver=he.Finite()), he.InputError, r"Pool.*Auto\(\)"),
}


class LongList(he.Decision):
    """Looks beside its three points, and has a million actions on a list of a hundred designs."""

    actions = he.Points(3)

    def points(self, a: Any) -> Tensor:
        return a + 0.01

    def loss(self, f: Tensor, a: Any) -> Tensor:
        return -f.sum(-1)


@pytest.mark.parametrize("name", BAD)
def test_refused(name: str) -> None:
    call, kind, message = BAD[name]
    with pytest.raises(he.HentropyError, match=f"(?s){message}") as caught:
        call()
    assert type(caught.value) is kind


def test_nothing_observed_yet() -> None:
    for decision in (he.BestObserved(), he.Improve(1.0)):
        with pytest.raises(he.DecisionError, match="nothing has been observed yet"):
            decision.actions_given(torch.zeros(0, 2))
