"""Objects and words: studies made in Python, classes of one's own, templates, and the published schema."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.studies.definition import (
    Description,
    decision_of,
    describe,
    imported,
    options_of,
    read,
    space_of,
    stopping_of,
    validated,
)
from hentropy.studies.definition.decisions import DECISIONS, Own, named_words
from hentropy.studies.stopping import Standing, StoppingRule
from support.decisions import POOL, ROWS, SEVERAL_ROWS, SPACE
from support.words import with_changes, written

pytestmark = pytest.mark.smoke

TABLE = ROWS | {f"several {name}": row for name, row in SEVERAL_ROWS.items()}
LIBRARY = sorted(name for name in TABLE if "own" not in name)
MIXED = he.Space(x=he.Real(0, 5), rate=he.Real(1e-4, 1e-1, log=True), steps=he.Integer(1, 6))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for modules, which are forgotten afterwards."""
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def stored(description: Description) -> Description:
    """As it comes out of a store."""
    return validated(json.loads(json.dumps(description.model_dump(mode="json"))), "the store")


@pytest.mark.parametrize("space", [SPACE, POOL], ids=["box", "pool"])
@pytest.mark.parametrize("name", LIBRARY)
def test_decisions_of_the_library_survive_being_stored(name: str, space: he.Space | he.Pool) -> None:
    decision = TABLE[name].make(0.25)
    outcomes: dict[str, he.Outcome | he.Computed] = {name: he.Outcome() for name in decision.outcomes}
    d = describe("study", space, decision, outcomes=outcomes)
    again = decision_of(stored(d), trusted=False)
    assert d.own == ()
    assert type(again) is type(decision)
    assert repr(again) == repr(decision)
    assert describe("study", space_of(stored(d)), again, outcomes=outcomes) == d
    for key, value in vars(decision).items():
        if isinstance(value, Tensor):
            assert torch.equal(value, torch.as_tensor(vars(again)[key], dtype=value.dtype))


def test_every_decision_of_the_library_has_words() -> None:
    exported = {getattr(he, name) for name in he.__all__ if isinstance(getattr(he, name), type)}
    finished = {cls for cls in exported if issubclass(cls, he.Decision) and not cls.__abstractmethods__}
    assert {words.kind for words in DECISIONS.values()} == finished
    assert {type(TABLE[name].make(0.0)) for name in LIBRARY} == finished


@pytest.mark.parametrize("space", [MIXED, POOL], ids=["box", "pool"])
def test_a_study_survives_being_stored(space: he.Space | he.Pool) -> None:
    rules = (he.Budget(9), he.TimeLimit(60), he.GainBelow(0.1, patience=2), he.GainBelowCost(0.3))
    options = {"seed": 3, "first": 7, "hyperparameters": "map", "max_seconds": 2.5, "max_memory": 2**21}
    outcomes = {"yield": he.Outcome("%", noise=0.5, low=0.0, high=100.0), "speed": he.Outcome(log=True, noise=0.0)}
    options |= {"stop_when_exhausted": False, "outcomes": outcomes, "failures": "ignore", "at_least": 0.9}
    d = stored(describe("lab 7", space, he.Maximize("yield"), stop=rules, **options))  # type: ignore[arg-type]
    again = space_of(d)
    assert (d.name, again.names) == ("lab 7", space.names)
    assert torch.equal(again.bounds, space.bounds)
    assert torch.equal(again.to_unit(space.sample(4, 0)), space.to_unit(space.sample(4, 0)))
    assert torch.equal(again.sample(4, 1), space.sample(4, 1))
    settings: dict[str, object] = {"assays": {}, "decide_on": None, "cost": None, "price": None, "cost_unit": ""}
    assert (stopping_of(d), options_of(d), d.own) == (rules, options | settings, ())


def test_numbers_of_other_libraries_become_plain() -> None:
    decision = he.LevelSets(np.array([1.0, 2.0]), at=np.array([[0.5, 0.5]]))  # type: ignore[arg-type]
    d = stored(describe("study", SPACE, decision, max_seconds=float("inf")))
    assert d.own == ()
    assert repr(decision_of(d, trusted=False)) == repr(decision)
    assert options_of(d)["max_seconds"] is None
    guesses = describe("study", SPACE, he.KGuesses(np.int64(2)))  # type: ignore[arg-type]
    assert guesses == describe("study", SPACE, he.KGuesses(2))


class Whim(StoppingRule):
    """A rule of one's own."""

    def reason(self, standing: Standing) -> str | None:
        return "enough"


class Strict(he.Budget):
    """A rule that derives from one of the library."""


class Narrow(he.Space):
    """A space of one's own."""


def local_class() -> he.Decision:
    class Inner(he.Maximize):
        """Nobody can import this one."""

    return Inner()


def spread(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).abs().sum(-1)


@pytest.mark.parametrize(
    "decision",
    [
        he.decision(lambda f, a: -f[..., 0], he.Points(1)),
        he.TopK(2, distance=spread),
        he.TopK(2, cap=float("inf")),
        local_class(),
    ],
    ids=["function", "distance", "infinite", "local class"],
)
def test_decisions_without_words(decision: he.Decision) -> None:
    d = stored(describe("study", SPACE, decision))
    assert d.own == ("decision",)
    assert isinstance(d.decision, Own)
    assert d.decision.own == repr(decision)
    with pytest.raises(he.InputError, match="was made in Python and has no stored form"):
        decision_of(d, trusted=True)


@pytest.mark.parametrize(
    ("stop", "kept", "own"),
    [
        ([], (), ()),
        ([Whim()], (), ("stop",)),
        ([Whim(), he.Budget(3)], (he.Budget(3),), ("stop",)),
        ([Strict(3)], (), ("stop",)),
        ([he.Budget(3), he.Budget(5)], (he.Budget(3),), ("stop",)),
        ([he.GainBelow(0.5), he.Budget(3)], (he.Budget(3), he.GainBelow(0.5)), ()),
    ],
)
def test_stopping_rules_without_words(stop: Any, kept: tuple[StoppingRule, ...], own: tuple[str, ...]) -> None:
    d = describe("study", SPACE, he.Maximize(), stop=stop)
    assert (stopping_of(d), d.own) == (kept, own)


def test_solver_and_cost_without_words() -> None:
    d = describe("study", SPACE, he.Maximize(), stop=[Whim()], solver_is_own=True, cost=len)
    assert stored(d).own == ("solver", "cost", "stop")


def test_what_cannot_be_described() -> None:
    with pytest.raises(he.InputError, match="cannot be described in a study file; use a Space or a Pool"):
        describe("study", Narrow(x=he.Real(0, 1)), he.Maximize())
    with pytest.raises(he.InputError, match=r"the study '' cannot be used:\n  name: it is empty"):
        describe("", SPACE, he.Maximize())
    with pytest.raises(he.InputError, match="own: it has to name"):
        validated(with_changes(decision={"own": "x"}), "words")


class Shop(he.Decision):
    """A class of one's own with options of many kinds."""

    actions = he.Points(2)

    def __init__(
        self,
        prices: Sequence[float],
        at: Any = None,
        *,
        mode: Literal["fast", "slow"] | Callable[[], str] = "fast",
        call: Callable[[], None] | None = None,
        free=(1, 2),
    ) -> None:
        self.prices = tuple(prices)
        self.at = at
        self.mode = mode
        self.call = call
        self.free = free

    def loss(self, f: Tensor, a: Any) -> Tensor:
        return f.sum(-1)


def test_a_class_of_ones_own_survives_where_it_is_trusted() -> None:
    decision = Shop([1, 2.5], at=torch.tensor([[0.5, 1.0]]), mode="slow", free=[3])
    d = stored(describe("study", SPACE, decision))
    assert d.own == ()
    again = decision_of(d, trusted=True)
    assert isinstance(again, Shop)
    assert (again.prices, again.at, again.mode, list(again.free)) == ((1.0, 2.5), ((0.5, 1.0),), "slow", [3])
    assert describe("study", SPACE, again) == d
    with pytest.raises(he.InputError, match=r"is test_description_objects:Shop, which runs code"):
        decision_of(d, trusted=False)
    for without_words in (Shop([1], call=lambda: None), Shop([float("inf")]), Shop([1], free={1: 2})):
        assert describe("study", SPACE, without_words).own == ("decision",)


def test_a_new_decision_needs_no_table() -> None:
    words = named_words(Shop)
    assert words.model_validate({"name": "shop", "prices": [1], "mode": "slow"}).instance.__class__ is Shop
    assert set(words.model_fields) == {"name", "prices", "at", "mode", "free"}
    with pytest.raises(ValueError, match="Input should be 'fast' or 'slow'"):
        words.model_validate({"name": "shop", "prices": [1], "mode": "quick"})


MINE = """
from __future__ import annotations

import hentropy as he
from neighbour import POINTS

class Pair(he.Decision):
    actions = he.Points(POINTS)

    def __init__(self, weight: float, kind="a"):
        self.weight, self.kind = weight, kind

    def loss(self, f, a):
        return self.weight * f.sum(-1)

class Picky(Pair):
    def __init__(self, size: int):
        raise ValueError(f"{size} is too small")

def measure(x):
    return x
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"python": "mine:Pair", "weight": 2, "kind": [1, {"a": None}]}, None),
        (
            {"python": "mine:Pair", "wight": 2},
            r"decision\.wight: .*did you mean weight\?",
        ),
        ({"python": "mine:Pair", "weight": "2"}, r'decision\.weight: got "2"; it must be a number'),
        ({"python": "mine:Pear"}, r"mine:Pear: .*mine\.py has no Pear; did you mean Pair\?"),
        ({"python": "mine:Picky", "size": 2}, "the decision mine:Picky cannot be made: ValueError: 2 is too small"),
        ({"python": "mine:measure"}, "must be a class that derives from Decision"),
        ({"python": "mime:Pair"}, r"mime:Pair: there is no module mime in .* did you mean mine\?"),
        ({"python": "mine.deep:Pair"}, r"there is no module mine\.deep"),
        ({"python": "broken:Pair"}, r"failed with ZeroDivisionError: .* \(.*broken\.py, line 2\)"),
        ({"python": "lacking:Pair"}, r"failed with ModuleNotFoundError: .*no_such_package.* \(.*lacking\.py, line 1\)"),
        ({"python": "seeking:Pair"}, r"failed with ModuleNotFoundError: .*gone.* \(.*seeking\.py, line 2\)"),
        ({"python": "typo:Pair"}, r"failed with SyntaxError: .* \(.*typo\.py, line 3\)"),
        ({"python": "leaving:Pair"}, r"failed with SystemExit: 3 \(.*leaving\.py, line 2\)"),
        ({"python": "json:Pair"}, r"another module json is loaded already, from .*not .*json\.py; rename"),
    ],
)
def test_classes_beside_the_study_file(words: dict[str, Any], said: str | None, folder: Path) -> None:
    modules = {
        "mine": MINE,
        "neighbour": "POINTS = 2",
        "broken": "a = 0\n1 / a",
        "lacking": "import no_such_package",
        "seeking": "import importlib\nimportlib.import_module('gone')",
        "typo": "\n\ndef f(:",
        "leaving": "import sys\nsys.exit(3)",
        "json": "",
    }
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    d = read(written(folder, json.dumps(with_changes(decision=words)), "study.json"))
    if said is None:
        assert repr(decision_of(d, True, folder)) == "Pair(weight=2.0, kind=[1, {'a': None}])"
        assert imported("mine:measure", folder)(3) == 3
        assert str(folder) not in sys.path
        return
    with pytest.raises(he.InputError, match=said):
        decision_of(d, True, folder)


def test_two_folders_with_the_same_module(folder: Path) -> None:
    for name, value in (("one", 1), ("two", 2)):
        (folder / name).mkdir()
        (folder / name / "twin.py").write_text(f"VALUE = {value}")
    assert [imported("twin:VALUE", folder / name) for name in ("one", "two", "one")] == [1, 2, 1]
